/* The parent's side of an atlas: a worker measures, this listens. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "run/rounds/process.h"
#include "run/rounds/wire.h"

/* Without a word for so long a driver hangs: single calls take seconds at most, a first one may
 * compile for a minute. */
static const uint64_t silence_ns = 180000000000;

struct talk {
    struct atlas *atlas;
    atlas_listener *listener;
    void *context;
    struct error failure; /* the worker's own word on why it ends */
};

static void hear(struct talk *talk, const json_t *line)
{
    const json_t *doing = json_object_get(line, "doing"), *json = json_object_get(line, "atlas");
    const json_t *code = json_object_get(line, "error");
    struct atlas atlas;
    if (json && atlas_from_json(json, &atlas, &talk->failure) == 0) {
        atlas_free(talk->atlas);
        *talk->atlas = atlas;
    }
    if (doing)
        talk->listener(talk->context, json_string_value(doing), json ? talk->atlas : NULL);
    if (code)
        error_set(&talk->failure, (int)json_integer_value(code), "%s",
                  json_string_value(json_object_get(line, "text")));
}

static enum process_event listen_to(struct process *process, int signals, struct talk *talk)
{
    for (;;) {
        json_t *line;
        enum process_event event = process_wait(process, signals, clock_ns() + silence_ns, &line);
        if (event != PROCESS_LINE)
            return event;
        hear(talk, line);
        json_decref(line);
    }
}

int atlas_run(const char *id, const struct atlas_options *options, atlas_listener *listener,
              void *context, struct atlas *atlas, bool *interrupted, struct error *error)
{
    const struct job job = {.atlas_device = id, .atlas = *options};
    struct talk talk = {.atlas = atlas, .listener = listener, .context = context};
    struct caught_signals signals;
    struct process process;
    char how[128], limit[32];
    *atlas = (struct atlas){.timer_ns = NAN};
    json_t *json = job_to_json(&job);
    process_catch_signals(&signals);
    int code = process_start(&process, json, error);
    json_decref(json);
    enum process_event event =
        code ? PROCESS_ENDED : listen_to(&process, signals.descriptor, &talk);
    *interrupted = process_release_signals(&signals);
    if (code)
        return code;
    process_end(&process, how);
    if (*interrupted)
        return 0;
    if (talk.failure.code)
        return error_set(error, talk.failure.code, "%s: %s", id, talk.failure.text);
    if (event == PROCESS_QUIET)
        return error_set(error, ERR_DEVICE_LOST, "%s: no answer within %s", id,
                         text_ns(limit, (double)silence_ns));
    if (strcmp(how, "exited with status 0") != 0)
        return error_set(error, ERR_DEVICE, "%s: the process that measured %s", id, how);
    return 0;
}
