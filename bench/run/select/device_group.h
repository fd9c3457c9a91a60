/* Opens a device group ("host+host") as one device and adds up its members' counts. */
#ifndef GAMUT_RUN_DEVICE_GROUP_H
#define GAMUT_RUN_DEVICE_GROUP_H

#include "record/facts/counters.h"
#include "residency/residency.h"

/* The residency of a group for which none is named. */
#define DEFAULT_RESIDENCY "versioned"

/* Whether a selector, or an id, names several devices. */
bool device_group_is_named(const char *selector);

/* Copies the member of a number, from 0, of "a+b" to `member`, cut to size - 1 bytes. False after
 * the last. */
bool device_group_member(const char *selector, unsigned number, char *member, size_t size);

/* Resolves "cuda:0+opencl:*" among the `count` devices of this machine. A member that is an id
 * means that device, which may come twice. A member that matches several devices means the first
 * that is not in the group yet; so does an API's name, unless it is an id. A member that no device
 * is left for stays as it is: the group cannot be opened then, and its cases say so. ERR_NOT_FOUND
 * where no member means a device, ERR_USAGE for a group that is too large. */
int device_group_select(const char *selector, const struct device_info *devices, size_t count,
                        struct device_info *group, struct error *error);

/* Opens a device or a group by its id; the caller closes it. `residency` is that of a group, "" for
 * the default. ERR_UNSUPPORTED where a member is missing. */
int device_group_open(const char *id, const char *residency, struct device **device,
                      struct error *error);

/* The counts of a group so far; zeros for a single device. */
struct residency_counts device_group_counts(const struct device *device);
/* Replaces the counts that a source has seen by what the members of a group did since `before`.
 * Leaves the counts of a single device as they are. */
void device_group_count_since(const struct device *device, const struct residency_counts *before,
                              struct sample *sample, struct exact_counts *counts);

#endif
