/* What a group of devices is, as one: what all of them can, and the least of what they have. */
#include <string.h>

#include "residency/residency.h"

int residency_describe(const struct device_info *const *members, unsigned count,
                       struct device_info *info, struct error *error)
{
    *info = *members[0];
    info->members = count;
    info->bus_id[0] = 0;
    for (unsigned m = 1; m < count; m++) {
        const struct device_info *d = members[m];
        if (d->language != info->language || d->adds_offsets != info->adds_offsets)
            return error_set(
                error, ERR_UNSUPPORTED,
                "%s and %s can't be one group: their kernels are of different languages",
                members[0]->id, d->id);
        if (strlen(info->id) + strlen(d->id) + 2 > sizeof info->id)
            return error_set(error, ERR_UNSUPPORTED, "a group of too many devices");
        strcat(strcat(info->id, "+"), d->id);
        if (d->kind != info->kind)
            info->kind = DEVICE_OTHER;
        if (d->memory_bytes < info->memory_bytes)
            info->memory_bytes = d->memory_bytes;
        if (d->max_alloc_bytes < info->max_alloc_bytes)
            info->max_alloc_bytes = d->max_alloc_bytes;
        if (d->alignment_bytes > info->alignment_bytes)
            info->alignment_bytes = d->alignment_bytes;
        if (d->max_group_items &&
            (!info->max_group_items || d->max_group_items < info->max_group_items))
            info->max_group_items = d->max_group_items;
        info->compute_units += d->compute_units;
        info->has_f64 &= d->has_f64;
        info->can_split &= d->can_split;
        info->peers_whole |= d->peers_whole;
    }
    return 0;
}
