#include "run/rounds/atlas_run.h"

#include <math.h>

#include "base/tree.h"
#include "run/rounds/process.h"

/* A worker that sends nothing for this long hangs in its driver: single calls take seconds at most,
 * a first one may compile for a minute. */
static const uint64_t atlas_silence_ns = 180000000000;

/* ---- the parent's side ----------------------------------------------------------------------- */

struct talk {
    struct atlas *atlas;
    atlas_listener *listener;
    void *context;
};

static void hear_atlas(void *context, const json_t *line)
{
    struct talk *talk = context;
    const json_t *doing = json_object_get(line, "doing"), *json = json_object_get(line, "atlas");
    struct atlas atlas;
    if (json && atlas_from_json(json, &atlas, NULL) == 0) {
        atlas_free(talk->atlas);
        *talk->atlas = atlas;
    }
    if (doing)
        talk->listener(talk->context, json_string_value(doing), json ? talk->atlas : NULL);
}

int atlas_run(const char *id, const struct atlas_options *options, atlas_listener *listener,
              void *context, struct atlas *atlas, bool *interrupted, struct error *error)
{
    struct talk talk = {.atlas = atlas, .listener = listener, .context = context};
    json_t *job = tree_object();
    tree_put(job, "device", tree_text(id));
    tree_put(job, "quick", json_boolean(options->quick));
    tree_put(job, "seed", tree_count(options->seed));
    *atlas = (struct atlas){.timer_ns = NAN};
    int code = process_ask("atlas", job, atlas_silence_ns, hear_atlas, &talk, interrupted, error);
    if (code)
        error_prefix(error, "%s: ", id);
    return code;
}

/* ---- the worker's side ----------------------------------------------------------------------- */

static void send_atlas(void *context, const char *doing, const struct atlas *atlas)
{
    json_t *line = tree_object();
    tree_put(line, "doing", tree_text(doing));
    if (atlas)
        tree_put(line, "atlas", atlas_to_json(atlas));
    worker_send(context, line);
}

int atlas_work(const json_t *job, FILE *out, struct error *error)
{
    const struct atlas_options options = {
        .quick = json_is_true(json_object_get(job, "quick")),
        .seed = (uint64_t)json_integer_value(json_object_get(job, "seed"))};
    struct device *device;
    struct atlas atlas;
    TRY(device_open(tree_get_text(job, "device"), &device, error));
    int code = atlas_measure(device, &options, send_atlas, out, &atlas, error);
    send_atlas(out, code ? "failed" : "done", &atlas);
    atlas_free(&atlas);
    if (code != ERR_DEVICE_LOST)
        device->ops->close(device);
    return code;
}
