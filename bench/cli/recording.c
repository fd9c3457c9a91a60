/* Makes the result files of commands: their head, their shard, their place and their saving. */
#include "cli/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/registry.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/tree.h"
#include "cli/earlier.h"
#include "device/nvml.h"
#include "replay/cases.h"
#include "replay/replay.h"
#include "run/select/select.h"

json_t *record_flags(const struct flag *flags, const struct flag_value *values)
{
    json_t *record = tree_object();
    for (const struct flag *f = flags; f->name; f++) {
        const struct flag_value *value = &values[f - flags];
        if (f->type == FLAG_SWITCH)
            tree_put(record, f->name, json_boolean(value->number));
        else if (f->type == FLAG_COUNT)
            tree_put(record, f->name, tree_count(value->number));
        else if (value->text)
            tree_put(record, f->name, tree_text(value->text));
    }
    return record;
}

static json_t *settings_of(const struct nvml_gpu *gpu)
{
    if (!gpu)
        return NULL;
    json_t *settings = tree_object();
#define X(fact) tree_put(settings, #fact, tree_count_if_known(gpu->fact));
    NVML_SETTING_LIST(X)
#undef X
    return settings;
}

void record_devices(struct result_draft *draft, const struct found_device *devices, size_t count)
{
    struct record_device *records = must_alloc(count * sizeof *records);
    struct nvml_api nvml;
    struct nvml_gpu *gpus = NULL;
    size_t gpu_count = 0;
    if (nvml_load(&nvml, NULL) == 0)
        nvml_survey(&nvml, &gpus, &gpu_count, NULL);
    for (size_t i = 0; i < count; i++) {
        device_to_record(&devices[i], &records[i]);
        records[i].settings = settings_of(nvml_find(gpus, gpu_count, devices[i].info.bus_id));
    }
    draft_set_devices(draft, records, count);
    for (size_t i = 0; i < count; i++)
        json_decref(records[i].settings);
    free(records);
    free(gpus);
}

/* The value of a flag; that of one that was not given where the command does not have it. */
static struct flag_value value_of(const struct command_line *line, const char *name)
{
    return flag_exists(line, name) ? *flag_of(line, name) : (struct flag_value){0};
}

static int check_file(const struct command_line *line, struct error *error)
{
    const char *out = value_of(line, "out").text;
    if (out && value_of(line, "no-save").number)
        return error_set(error, ERR_USAGE, "--out and --no-save exclude each other");
    if (value_of(line, "shard").text)
        return 0;
    return out ? result_file_check(out, value_of(line, "force").number, error) : 0;
}

static int check_devices(const struct recording *recording, struct error *error)
{
    for (size_t d = 0; d < recording->device_count; d++)
        if (recording->devices[d].selected && strchr(recording->devices[d].info.id, '+'))
            return error_set(error, ERR_USAGE,
                             "'%s' is a group: this command measures one device at a time; "
                             "separate several by commas",
                             recording->devices[d].info.id);
    return 0;
}

static int recording_begin(struct recording *recording, const struct command_line *line,
                           bool in_rounds, struct error *error)
{
    json_t *options = record_flags(line->command->flags, line->flag);
    const json_t *rounds = in_rounds ? json_object_get(options, "rounds") : NULL;
    const struct result_command run = {.argc = line->argc,
                                       .argv = line->argv,
                                       .seed = value_of(line, "seed").number,
                                       .rounds = rounds ? (unsigned)json_integer_value(rounds) : 1,
                                       .options = options};
    int code = draft_create(&recording->draft, &run, error);
    json_decref(options);
    return code;
}

static int create_file(struct result_draft *draft, struct result_file *file,
                       const struct command_line *line, struct error *error)
{
    const char *out = value_of(line, "out").text;
    if (out)
        return result_file_create(file, draft, out, value_of(line, "force").number, error);
    if (flag_exists(line, "results") && !value_of(line, "no-save").number)
        return result_file_create_in(file, draft, value_of(line, "results").text, error);
    return 0;
}

/* ---- work that is divided -------------------------------------------------------------------- */

static void leave_done(const struct result_draft *draft, struct work *work)
{
    json_t *done = shard_done(&draft->result);
    for (size_t i = 0; i < work->count; i++)
        if (work->own[i] && json_object_get(done, work->items[i].id)) {
            work->own[i] = false;
            work->done_count++;
        }
    json_decref(done);
}

static int begin_shard(struct shard shard, struct result_draft *draft, struct result_file *file,
                       const struct command_line *line, struct work *work, struct error *error)
{
    const char *out = value_of(line, "out").text;
    size_t own = 0;
    if (!out)
        return error_set(error, ERR_USAGE,
                         "--shard needs --out FILE: gamut join reads the files of all shards");
    shard_split(shard, work->items, work->count, work->own);
    for (size_t i = 0; i < work->count; i++)
        own += work->own[i];
    fprintf(stderr, "gamut: shard %u/%u has %zu of %zu items\n", shard.number, shard.of, own,
            work->count);
    shard_set(&draft->result, shard, work->items, work->count, work->own);
    if (value_of(line, "force").number || access(out, F_OK) != 0)
        return create_file(draft, file, line, error);
    TRY(result_file_resume(file, draft, out, &work->first_round, error));
    leave_done(draft, work);
    if (work->done_count)
        fprintf(stderr, "gamut: %s has %zu of them from an earlier try\n", out, work->done_count);
    return 0;
}

int begin_work(struct result_draft *draft, struct result_file *file,
               const struct command_line *line, struct work *work, struct error *error)
{
    struct shard shard;
    const char *text = value_of(line, "shard").text;
    work->own = must_alloc(work->count + 1);
    if (text) {
        TRY(shard_parse(text, &shard, error));
        return begin_shard(shard, draft, file, line, work, error);
    }
    memset(work->own, true, work->count);
    return create_file(draft, file, line, error);
}

int recording_start(struct recording *recording, const struct command_line *line, struct work *work,
                    struct error *error)
{
    recording->saved_ns = clock_ns();
    return work ? begin_work(&recording->draft, &recording->file, line, work, error)
                : create_file(&recording->draft, &recording->file, line, error);
}

int recorded_atlas(const char *path, struct atlas *atlas, struct error *error)
{
    struct result result;
    struct error several = {0};
    struct text file = {0};
    int code = atlas_path(path, &file, error);
    THEN(code, result_open(file.data, &result, error));
    text_free(&file);
    if (code)
        return code;
    code = atlas_from_list(result.atlas, NULL, atlas, &several);
    if (code && atlas_from_list(result.atlas, "cuda:0", atlas, NULL) == 0)
        code = 0;
    else if (code)
        error_set(error, code, "%s", several.text);
    result_release(&result);
    if (code)
        error_prefix(error, "%s: ", path);
    return code;
}

int recording_open(struct recording *recording, const struct command_line *line,
                   struct error *error)
{
    setenv("OMP_WAIT_POLICY", "passive",
           0); /* as in gamut run, so that the host device is the same */
    TRY(check_file(line, error));
    TRY(select_check_devices(value_of(line, "device").text, error));
    TRY(devices_find(value_of(line, "device").text, false, &recording->devices,
                     &recording->device_count, NULL, error));
    TRY(check_devices(recording, error));
    TRY(recording_begin(recording, line, true, error));
    record_devices(&recording->draft, recording->devices, recording->device_count);
    return 0;
}

int recording_open_dry(struct recording *recording, const struct command_line *line,
                       uint64_t capacity_bytes, const struct atlas *atlas, struct error *error)
{
    const struct dry_device dry = replay_device(capacity_bytes, atlas);
    struct record_device device = {.kind = "other",
                                   .used = true,
                                   .memory_bytes = capacity_bytes,
                                   .alignment_bytes = dry.alignment,
                                   .can_split = dry.can_split};
    snprintf(device.id, sizeof device.id, "%s", REPLAY_DEVICE);
    snprintf(device.api, sizeof device.api, "%s", REPLAY_DEVICE);
    snprintf(device.name, sizeof device.name, "%s",
             atlas ? atlas->name : "no device: calls are counted");
    TRY(check_file(line, error));
    TRY(recording_begin(recording, line, false, error));
    draft_set_devices(&recording->draft, &device, 1);
    return 0;
}

json_t *origins_of(const struct allocator_ops *strategy)
{
    json_t *origins = tree_array();
    for (const struct allocator_origin *o = strategy->origins; o && o->what; o++)
        tree_append(origins,
                    tree_pack("{s:s, s:o, s:o, s:o, s:o}", "what", o->what, "repository",
                              tree_text_or_null(o->repository), "file", tree_text_or_null(o->file),
                              "commit", tree_text_or_null(o->commit), "year",
                              tree_count_or_null(o->year)));
    return origins;
}

static void record_origins(struct result *result)
{
    if (!result->origins)
        result->origins = result_keep(result, tree_object());
    for (size_t i = 0; i < result->case_count; i++) {
        const char *spec = result->cases[i].key.strategy;
        const struct allocator_ops *ops;
        char name[sizeof result->cases[i].key.strategy];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(spec, ":"), spec);
        if (!json_object_get(result->origins, name) && allocator_find(name, &ops, NULL) == 0)
            tree_put(result->origins, name, origins_of(ops));
    }
}

int save_or_move(struct result_file *file, struct result_draft *draft, struct error *error)
{
    struct error why = {0};
    record_origins(&draft->result);
    int code = result_file_save(file, draft, &why);
    if (!code)
        return 0;
    if (result_file_move(file, draft, NULL))
        return error_set(error, code,
                         "%s; it has what was saved before, and neither $TMPDIR (/tmp) nor the "
                         "working folder takes the rest",
                         why.text);
    fprintf(stderr, "gamut: %s; it has what was saved before, and the whole result goes to %s\n",
            why.text, file->path.data);
    return 0;
}

int report_end(const char *what, const struct result_file *file, bool saved, bool interrupted)
{
    const bool wrote = file->path.length && saved;
    fprintf(stderr, "gamut: %s%s%s%s\n", what, interrupted ? ", interrupted" : "",
            wrote ? "; wrote " : "", wrote ? file->path.data : "");
    return !saved || file->has_moved ? EXIT_INPUT : interrupted ? EXIT_INTERRUPTED : EXIT_OK;
}

int report_cases(const struct result *result, const struct result_file *file, bool saved,
                 bool interrupted)
{
    size_t counts[CASE_STATUSES], failed = 0;
    struct text what = {0};
    result_status_counts(result, counts);
    text_add(&what, "%zu ok", counts[CASE_ok]);
    for (int s = CASE_ok + 1; s < CASE_STATUSES; s++) {
        if (counts[s])
            text_add(&what, ", %zu %s", counts[s], case_status_name((enum case_status)s));
        failed += s > CASE_skipped ? counts[s] : 0;
    }
    const int exit_code = report_end(what.data, file, saved, interrupted);
    const bool is_empty_shard = result->run.shard && result->case_count == 0;
    text_free(&what);
    return exit_code                           ? exit_code
           : failed                            ? EXIT_CASE_FAILED
           : counts[CASE_ok] || is_empty_shard ? EXIT_OK
                                               : EXIT_NOTHING_RAN;
}

void recording_save_now_and_then(struct recording *recording)
{
    enum { WORK_PER_SAVING = 20 };
    static const uint64_t least_ns = 1000000000;
    const uint64_t now_ns = clock_ns(), since_ns = now_ns - recording->saved_ns;
    if (since_ns < least_ns || since_ns < WORK_PER_SAVING * recording->saving_ns)
        return;
    recording_save(recording, NULL);
    recording->saved_ns = clock_ns();
    recording->saving_ns = recording->saved_ns - now_ns;
}

int recording_save(struct recording *recording, struct error *error)
{
    return save_or_move(&recording->file, &recording->draft, error);
}

int recording_finish(struct recording *recording, bool interrupted, bool failed,
                     struct error *error)
{
    draft_finish(&recording->draft, interrupted ? RUN_INTERRUPTED
                                    : failed    ? RUN_PARTIAL
                                                : RUN_COMPLETE);
    return recording_save(recording, error);
}

void recording_free(struct recording *recording)
{
    draft_free(&recording->draft);
    free(recording->devices);
    result_file_close(&recording->file);
}
