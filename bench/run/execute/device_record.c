#include "run/execute/device_source.h"

#include <math.h>
#include <stdio.h>

struct record_device device_record(const struct device_info *info)
{
    static const char *const kinds[] = {
        [DEVICE_CPU] = "cpu", [DEVICE_GPU] = "gpu", [DEVICE_OTHER] = "other"};
    struct record_device record = {
        .memory_bytes = info->memory_bytes,
        .max_alloc_bytes = info->max_alloc_bytes,
        .alignment_bytes = info->alignment_bytes,
        .l2_bytes = info->l2_bytes,
        .compute_units = info->compute_units,
        .max_group_items = info->max_group_items,
        .has_f64 = info->has_f64,
        .can_split = info->can_split,
        .copy_bytes_per_second = NAN,
    };
    snprintf(record.id, sizeof record.id, "%s", info->id);
    snprintf(record.api, sizeof record.api, "%s", info->api);
    snprintf(record.name, sizeof record.name, "%s", info->name);
    snprintf(record.platform, sizeof record.platform, "%s", info->platform);
    snprintf(record.driver, sizeof record.driver, "%s", info->driver);
    snprintf(record.arch, sizeof record.arch, "%s", info->arch);
    snprintf(record.kind, sizeof record.kind, "%s", kinds[info->kind]);
    return record;
}
