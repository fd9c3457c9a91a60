/* The child's side of a run; process.h and rounds.h are the parent's. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "experiment/rounds.h"
#include "record/result/case_json.h"
#include "base/tree.h"
#include "run/atlas/atlas.h"
#include "run/select/group.h"
#include "run/rounds/process.h"
#include "run/select/select.h"
#include "run/rounds/wire.h"

static void send_error(FILE *out, const struct error *error)
{
    json_t *line = tree_object();
    tree_put(line, "error", json_integer(error->code));
    tree_put(line, "text", tree_text(error->text));
    wire_send(out, line);
}

/* ---- the devices --------------------------------------------------------------------------- */

struct survey {
    FILE *out;
    const char *api;
    size_t count;
    struct found_device *devices;
    size_t selected_count;
    size_t *selected; /* positions in devices, in the order of the selectors */
};

static void note_found(void *context, const struct device_info *info, const char *why_not)
{
    struct survey *s = context;
    if (!info) {
        json_t *line = tree_object();
        tree_put(line, "missing", tree_text(s->api));
        tree_put(line, "why", tree_text(why_not));
        wire_send(s->out, line);
        return;
    }
    s->devices = must_realloc(s->devices, (s->count + 1) * sizeof *s->devices);
    s->devices[s->count++] = (struct found_device){.info = *info};
}

static void note_selected(void *context, const struct device_info *info, const char *why_not)
{
    struct survey *s = context;
    (void)why_not;
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->devices[i].info.id, info->id) == 0 && !s->devices[i].selected) {
            s->devices[i].selected = true;
            s->selected = must_realloc(s->selected, (s->selected_count + 1) * sizeof *s->selected);
            s->selected[s->selected_count++] = i;
        }
}

/* A group is a device of its own behind those that were found. */
static int select_group(struct survey *s, const char *selector, struct error *error)
{
    struct device_info *infos = must_alloc((s->count + 1) * sizeof *infos), group;
    for (size_t i = 0; i < s->count; i++)
        infos[i] = s->devices[i].info;
    int code = group_select(selector, infos, s->count, &group, error);
    free(infos);
    if (code)
        return code;
    note_found(s, &group, NULL);
    note_selected(s, &group, NULL);
    return 0;
}

static int select_all(struct survey *s, const char *selectors, struct error *error)
{
    char *list = must_alloc(strlen(selectors) + 1), *rest = strcpy(list, selectors);
    int code = 0;
    for (char *selector; !code && (selector = strsep(&rest, ","));)
        if (group_is_named(selector))
            code = select_group(s, selector, error);
        else if (*selector)
            code = device_select(selector, note_selected, s, error);
    free(list);
    return code;
}

static int look_at_device(struct found_device *found, bool copy_rate, struct error *error)
{
    struct device *device;
    int code = group_open(found->info.id, "", &device, error);
    if (code)
        return group_is_named(found->info.id) && code == ERR_UNSUPPORTED ? 0 : code;
    found->info = *device_info(device);
    found->free_bytes = device->ops->free_bytes(device);
    /* A device that can't say how fast it copies may still run the cases, or say why it can't. */
    if (copy_rate && device_copy_rate(device, &found->copy_rate, NULL))
        found->copy_rate = 0;
    device->ops->close(device);
    return 0;
}

static void send_device(FILE *out, const struct found_device *device)
{
    json_t *line = tree_object();
    tree_put(line, "device", device_to_json(device));
    wire_send(out, line);
}

static int do_devices(const struct job *job, FILE *out, struct error *error)
{
    struct survey s = {.out = out};
    size_t count;
    const struct device_ops *const *apis = device_api_list(&count);
    for (size_t i = 0; i < count; i++) {
        s.api = apis[i]->name;
        apis[i]->enumerate(note_found, &s);
    }
    int code = select_all(&s, job->devices, error);
    for (size_t i = 0; !code && i < s.selected_count; i++) {
        code = look_at_device(&s.devices[s.selected[i]], job->copy_rate, error);
        if (!code)
            send_device(out, &s.devices[s.selected[i]]);
    }
    for (size_t i = 0; !code && i < s.count; i++)
        if (!s.devices[i].selected)
            send_device(out, &s.devices[i]);
    free(s.selected);
    free(s.devices);
    return code;
}

/* ---- an atlas ------------------------------------------------------------------------------ */

static void send_atlas(void *context, const char *doing, const struct atlas *atlas)
{
    json_t *line = tree_object();
    tree_put(line, "doing", tree_text(doing));
    if (atlas)
        tree_put(line, "atlas", atlas_to_json(atlas));
    wire_send(context, line);
}

static int do_atlas(const struct job *job, FILE *out, struct error *error)
{
    struct device *device;
    struct atlas atlas;
    int code = device_open(job->atlas_device, &device, error);
    if (code)
        return code;
    code = atlas_measure(device, &job->atlas, send_atlas, out, &atlas, error);
    send_atlas(out, code ? "failed" : "done", &atlas);
    atlas_free(&atlas);
    if (code != ERR_DEVICE_LOST)
        device->ops->close(device);
    return code;
}

/* ---- a round ------------------------------------------------------------------------------- */

struct open_device {
    const char *id, *residency;
    struct device *device; /* NULL: it could not be opened */
    struct measure *measure;
    struct atlas atlas; /* without curves: there is none of this device */
    int code;
    struct error error;
};

struct worker {
    const struct job *job;
    FILE *out;
    struct catalogue catalogue;
    size_t device_count;
    struct open_device **devices;
};

/* Opens a device at its first case, so that what opening does to the process is that case's. */
static struct open_device *device_of(struct worker *w, const struct case_key *key)
{
    for (size_t i = 0; i < w->device_count; i++)
        if (strcmp(w->devices[i]->id, key->device) == 0 &&
            strcmp(w->devices[i]->residency, key->residency) == 0)
            return w->devices[i];
    w->devices = must_realloc(w->devices, (w->device_count + 1) * sizeof *w->devices);
    struct open_device *d = w->devices[w->device_count++] = must_alloc(sizeof *d);
    *d = (struct open_device){.id = key->device, .residency = key->residency};
    d->code = group_open(key->device, key->residency, &d->device, &d->error);
    if (d->code) {
        d->device = NULL;
        return d;
    }
    d->measure = measure_open(d->device);
    const json_t *atlas = atlas_json_find(w->job->atlases, key->device);
    if (atlas && atlas_from_json(atlas, &d->atlas, NULL) == 0)
        measure_predict(d->measure, &d->atlas);
    return d;
}

static void close_devices(struct worker *w)
{
    for (size_t i = 0; i < w->device_count; i++) {
        struct open_device *d = w->devices[i];
        if (d->device) {
            measure_close(d->measure);
            atlas_free(&d->atlas);
            d->device->ops->close(d->device);
        }
        free(d);
    }
    free(w->devices);
}

static struct measure_options options_of(const struct job *job, const struct job_case *c)
{
    const struct case_key *key = &c->key;
    struct measure_options options = job->options;
    options.log_memory &= job->round == 0; /* once tells enough */
    for (size_t i = 0; i < job->known_count; i++)
        if (strcmp(job->known[i].workload, key->workload) == 0 &&
            strcmp(job->known[i].dataset, key->dataset) == 0) {
            options.known_digest_count = job->known[i].count;
            options.known_digests = job->known[i].digests;
        }
    return options;
}

/* ERR_DEVICE_LOST: the process is of no more use. */
static int run_case(struct worker *w, const struct job_case *c, struct case_round *round)
{
    const struct case_key *key = &c->key;
    const struct entry *entry = select_entry(&w->catalogue, key->workload);
    const struct dataset *dataset = entry ? select_dataset(entry, key->dataset) : NULL;
    round->status = CASE_error;
    if (!dataset) {
        snprintf(round->reason, sizeof round->reason, "%s/%s is gone: has its file changed?",
                 key->workload, key->dataset);
        return 0;
    }
    struct open_device *d = device_of(w, key);
    if (!d->device) {
        round->status = d->code == ERR_UNSUPPORTED ? CASE_skipped : CASE_error;
        snprintf(round->reason, sizeof round->reason, "%.*s", (int)sizeof round->reason - 1,
                 d->error.text);
        return d->code == ERR_DEVICE_LOST ? d->code : 0;
    }
    const struct measure_options options = options_of(w->job, c);
    round->status = CASE_ok;
    return measure_case(d->measure, entry, dataset, &options, round);
}

static int do_round(const struct job *job, FILE *out, struct error *error)
{
    struct worker w = {.job = job, .out = out};
    int code = catalogue_open(&w.catalogue, error);
    if (code)
        return code;
    for (size_t i = 0; !code && i < job->file_count; i++)
        code = catalogue_add_file(&w.catalogue, job->files[i], error);
    int lost = 0;
    for (size_t i = 0; !code && !lost && i < job->case_count; i++) {
        const struct job_case *c = &job->cases[i];
        struct case_round round = {.key = c->key, .round = job->round, .slot = c->slot};
        json_t *start = tree_object(), *done = tree_object();
        tree_put(start, "start", json_integer(c->index));
        wire_send(out, start);
        lost = run_case(&w, c, &round);
        tree_put(done, "done", json_integer(c->index));
        tree_put(done, "round", case_round_to_json(&round));
        if (lost)
            tree_put(done, "lost", json_true());
        wire_send(out, done);
        case_round_free(&round);
    }
    /* Closing a lost device can hang; the end of the process closes it as well. */
    if (!lost)
        close_devices(&w);
    else
        free(w.devices);
    catalogue_close(&w.catalogue);
    return code;
}

int worker_main(void)
{
    FILE *out = fcntl(WIRE_FD, F_GETFD) >= 0 ? fdopen(WIRE_FD, "w") : NULL;
    if (!out) {
        fputs("gamut: worker is started by run, it is not a command of its own\n", stderr);
        return 2;
    }
    /* What this process starts (a compiler) must not hold the pipe open, and a parent that went
     * away is no reason to die in the middle of a driver call. */
    fcntl(WIRE_FD, F_SETFD, FD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    struct error error = {0};
    struct job job;
    json_t *json = json_loadf(stdin, 0, NULL);
    int code = job_from_json(json, &job, &error);
    if (!code)
        code = job.devices        ? do_devices(&job, out, &error)
               : job.atlas_device ? do_atlas(&job, out, &error)
               : job.experiment   ? experiment_work(job.experiment, out, &error)
                                  : do_round(&job, out, &error);
    if (code)
        send_error(out, &error);
    job_free(&job);
    json_decref(json);
    /* The pipe stays open until the process is gone: should a driver hang in its own clean-up, the
     * parent still waits for the end of the pipe, with its time limit. */
    return code ? 2 : 0;
}
