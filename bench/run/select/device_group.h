/* Opens a device group ("host+host") as one device and adds up its members' counts. */
#pragma once

#include "results/facts/counters.h"
#include "residency/residency.h"

/* The default residency of a group. */
#define DEFAULT_RESIDENCY "versioned"

/* Whether a selector, or an id, names several devices. */
bool device_group_is_named(const char *selector);

/* Copies member number `number` (from 0) of "a+b" to `member`, cut to size - 1 bytes. False after
 * the last. */
bool device_group_member(const char *selector, unsigned number, char *member, size_t size);

/* Resolves "cuda:0+opencl:*" among the `count` devices of this machine. A member that is an id
 * means that device, which may come twice. A member that matches several devices means the first
 * that is not in the group yet; so does an API's name, unless it is an id. A member without a
 * device left for it stays as it is: the group then cannot be opened, and its cases report that.
 * ERR_NOT_FOUND if no member means a device, ERR_USAGE for a group that is too large. */
int device_group_select(const char *selector, const struct device_info *devices, size_t count,
                        struct device_info *group, struct error *error);

/* Opens a device or a group by its id; the caller closes it. `residency` is for groups; "" is the
 * default. ERR_UNSUPPORTED if a member is missing. */
int device_group_open(const char *id, const char *residency, struct device **device,
                      struct error *error);

/* The counts of a group so far; zeros for a single device. */
struct residency_counts device_group_counts(const struct device *device);
/* For a group, replaces the counts that the source has taken by those of the members since
 * `before`. Leaves the counts of a single device as they are. */
void device_group_count_since(const struct device *device, const struct residency_counts *before,
                              struct sample *sample, struct exact_counts *counts);
