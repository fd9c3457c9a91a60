#include "cli/recording.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "record/tree.h"

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

static void record_device(const struct found_device *found, struct record_device *record)
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

void record_devices(struct result *result, const struct found_device *devices, size_t count)
{
    struct record_device *records = must_alloc(count * sizeof *records);
    for (size_t i = 0; i < count; i++)
        record_device(&devices[i], &records[i]);
    result_set_devices(result, records, count);
    free(records);
}
