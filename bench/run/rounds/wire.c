#include "run/rounds/wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/result/case_json.h"
#include "base/tree.h"

/* 64 bits do not fit a JSON number for all readers; a digest is not a quantity anyhow. */
static json_t *hex(uint64_t value)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    return json_string(text);
}

static uint64_t from_hex(const json_t *json)
{
    const char *text = json_string_value(json);
    return text ? strtoull(text, NULL, 16) : 0;
}

static uint64_t integer(const json_t *json, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(json, key));
}

static void copy_text(char *to, size_t size, const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    snprintf(to, size, "%s", text ? text : "");
}

/* ---- jobs ---------------------------------------------------------------------------------- */

static json_t *case_to_json(const struct job_case *c)
{
    return json_pack("{s:i, s:i, s:o}", "index", (int)c->index, "slot", (int)c->slot, "key",
                     case_key_to_json(&c->key));
}

static int case_from_json(const json_t *json, struct job_case *c, struct error *error)
{
    c->index = (unsigned)integer(json, "index");
    c->slot = (unsigned)integer(json, "slot");
    return case_key_from_json(json_object_get(json, "key"), &c->key, error);
}

static json_t *known_to_json(const struct known_answers *known)
{
    json_t *digests = json_array();
    for (size_t i = 0; i < known->count; i++)
        json_array_append_new(digests, hex(known->digests[i]));
    return json_pack("{s:s, s:s, s:o}", "workload", known->workload, "dataset", known->dataset,
                     "digests", digests);
}

json_t *job_to_json(const struct job *job)
{
    if (job->devices)
        return json_pack("{s:s, s:b}", "devices", job->devices, "copy_rate", job->copy_rate);
    if (job->atlas_device)
        return json_pack("{s:s, s:b, s:I}", "atlas_device", job->atlas_device, "quick",
                         job->atlas.quick, "seed", (json_int_t)job->atlas.seed);
    if (job->experiment)
        return json_pack("{s:O}", "experiment", job->experiment);
    json_t *files = json_array(), *cases = json_array(), *known = json_array();
    for (size_t i = 0; i < job->file_count; i++)
        json_array_append_new(files, json_string(job->files[i]));
    for (size_t i = 0; i < job->case_count; i++)
        json_array_append_new(cases, case_to_json(&job->cases[i]));
    for (size_t i = 0; i < job->known_count; i++)
        json_array_append_new(known, known_to_json(&job->known[i]));
    const struct measure_options *o = &job->options;
    return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:O*}", "round",
                     (int)job->round, "least_samples", (json_int_t)o->least_samples, "most_samples",
                     (json_int_t)o->most_samples, "least_ns", (json_int_t)o->least_ns, "seed",
                     (json_int_t)o->seed, "capacity_bytes", (json_int_t)o->capacity_bytes,
                     "log_memory", o->log_memory, "files", files, "cases", cases, "known", known,
                     "atlases", job->atlases);
}

int job_from_json(json_t *json, struct job *job, struct error *error)
{
    *job = (struct job){.devices = json_string_value(json_object_get(json, "devices"))};
    job->copy_rate = json_is_true(json_object_get(json, "copy_rate"));
    job->atlas_device = json_string_value(json_object_get(json, "atlas_device"));
    job->atlas = (struct atlas_options){.quick = json_is_true(json_object_get(json, "quick")),
                                        .seed = integer(json, "seed")};
    job->experiment = json_object_get(json, "experiment");
    if (job->devices || job->atlas_device || job->experiment)
        return 0;
    json_t *files = json_object_get(json, "files"), *cases = json_object_get(json, "cases");
    json_t *known = json_object_get(json, "known");
    if (!json_is_array(files) || !json_is_array(cases) || !json_is_array(known))
        return error_set(error, ERR_INTERNAL, "the worker's input is not a job");
    job->round = (unsigned)integer(json, "round");
    job->options = (struct measure_options){
        .least_samples = (unsigned)integer(json, "least_samples"),
        .most_samples = (unsigned)integer(json, "most_samples"),
        .least_ns = integer(json, "least_ns"),
        .seed = integer(json, "seed"),
        .capacity_bytes = integer(json, "capacity_bytes"),
        .log_memory = json_is_true(json_object_get(json, "log_memory")),
    };
    job->atlases = json_object_get(json, "atlases");
    job->file_count = json_array_size(files);
    job->files = must_alloc(job->file_count * sizeof *job->files);
    for (size_t i = 0; i < job->file_count; i++)
        job->files[i] = json_string_value(json_array_get(files, i));
    job->case_count = json_array_size(cases);
    job->cases = must_alloc(job->case_count * sizeof *job->cases);
    for (size_t i = 0; i < job->case_count; i++) {
        int code = case_from_json(json_array_get(cases, i), &job->cases[i], error);
        if (code) {
            job_free(job);
            return code;
        }
    }
    job->known_count = json_array_size(known);
    job->known = must_alloc(job->known_count * sizeof *job->known);
    for (size_t i = 0; i < job->known_count; i++) {
        const json_t *item = json_array_get(known, i);
        const json_t *digests = json_object_get(item, "digests");
        struct known_answers *k = &job->known[i];
        k->workload = json_string_value(json_object_get(item, "workload"));
        k->dataset = json_string_value(json_object_get(item, "dataset"));
        k->count = json_array_size(digests);
        k->digests = must_alloc(k->count * sizeof *k->digests);
        for (size_t d = 0; d < k->count; d++)
            k->digests[d] = from_hex(json_array_get(digests, d));
    }
    return 0;
}

void job_free(struct job *job)
{
    for (size_t i = 0; i < job->known_count; i++)
        free(job->known[i].digests);
    free(job->known);
    free(job->cases);
    free(job->files);
    *job = (struct job){0};
}

/* ---- devices ------------------------------------------------------------------------------- */

json_t *device_to_json(const struct found_device *device)
{
    const struct device_info *info = &device->info;
    json_t *json = tree_object();
    tree_put(json, "id", tree_text(info->id));
    tree_put(json, "api", tree_text(info->api));
    tree_put(json, "name", tree_text(info->name));
    tree_put(json, "platform", tree_text(info->platform));
    tree_put(json, "driver", tree_text(info->driver));
    tree_put(json, "arch", tree_text(info->arch));
    tree_put(json, "bus_id", tree_text(info->bus_id));
    tree_put(json, "kind", json_integer(info->kind));
    tree_put(json, "language", json_integer(info->language));
    tree_put(json, "memory_bytes", json_integer((json_int_t)info->memory_bytes));
    tree_put(json, "max_alloc_bytes", json_integer((json_int_t)info->max_alloc_bytes));
    tree_put(json, "alignment_bytes", json_integer((json_int_t)info->alignment_bytes));
    tree_put(json, "l2_bytes", json_integer((json_int_t)info->l2_bytes));
    tree_put(json, "compute_units", json_integer(info->compute_units));
    tree_put(json, "members", json_integer(info->members));
    tree_put(json, "max_group_items", json_integer(info->max_group_items));
    tree_put(json, "has_f64", json_boolean(info->has_f64));
    tree_put(json, "can_split", json_boolean(info->can_split));
    tree_put(json, "selected", json_boolean(device->selected));
    tree_put(json, "free_bytes", json_integer((json_int_t)device->free_bytes));
    tree_put(json, "copy_rate", json_real(device->copy_rate));
    return json;
}

bool device_from_json(const json_t *json, struct found_device *device)
{
    *device = (struct found_device){0};
    struct device_info *info = &device->info;
    copy_text(info->id, sizeof info->id, json, "id");
    copy_text(info->api, sizeof info->api, json, "api");
    copy_text(info->name, sizeof info->name, json, "name");
    copy_text(info->platform, sizeof info->platform, json, "platform");
    copy_text(info->driver, sizeof info->driver, json, "driver");
    copy_text(info->arch, sizeof info->arch, json, "arch");
    copy_text(info->bus_id, sizeof info->bus_id, json, "bus_id");
    info->kind = (enum device_kind)integer(json, "kind");
    info->language = (enum kernel_language)integer(json, "language");
    info->memory_bytes = integer(json, "memory_bytes");
    info->max_alloc_bytes = integer(json, "max_alloc_bytes");
    info->alignment_bytes = integer(json, "alignment_bytes");
    info->l2_bytes = integer(json, "l2_bytes");
    info->compute_units = (unsigned)integer(json, "compute_units");
    info->members = (unsigned)integer(json, "members");
    info->max_group_items = (unsigned)integer(json, "max_group_items");
    info->has_f64 = json_is_true(json_object_get(json, "has_f64"));
    info->can_split = json_is_true(json_object_get(json, "can_split"));
    device->selected = json_is_true(json_object_get(json, "selected"));
    device->free_bytes = integer(json, "free_bytes");
    device->copy_rate = json_number_value(json_object_get(json, "copy_rate"));
    return info->id[0] != 0;
}

void device_to_record(const struct found_device *found, struct record_device *record)
{
    static const char *const kinds[] = {
        [DEVICE_CPU] = "cpu", [DEVICE_GPU] = "gpu", [DEVICE_OTHER] = "other"};
    const struct device_info *info = &found->info;
    *record = (struct record_device){
        .used = found->selected,
        .memory_bytes = info->memory_bytes,
        .memory_free_start_bytes = found->free_bytes,
        .max_alloc_bytes = info->max_alloc_bytes,
        .alignment_bytes = info->alignment_bytes,
        .l2_bytes = info->l2_bytes,
        .compute_units = info->compute_units,
        .max_group_items = info->max_group_items,
        .has_f64 = info->has_f64,
        .can_split = info->can_split,
        .copy_bytes_per_second = found->copy_rate,
    };
    snprintf(record->id, sizeof record->id, "%s", info->id);
    snprintf(record->api, sizeof record->api, "%s", info->api);
    snprintf(record->name, sizeof record->name, "%s", info->name);
    snprintf(record->platform, sizeof record->platform, "%s", info->platform);
    snprintf(record->driver, sizeof record->driver, "%s", info->driver);
    snprintf(record->arch, sizeof record->arch, "%s", info->arch);
    snprintf(record->kind, sizeof record->kind, "%s", kinds[info->kind]);
}

/* ---- lines --------------------------------------------------------------------------------- */

void wire_send(FILE *out, json_t *json)
{
    json_dumpf(json, out, JSON_COMPACT);
    fputc('\n', out);
    fflush(out);
    json_decref(json);
}
