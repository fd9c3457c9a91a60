/* Groups of devices: from "host+host" to one device, and what it counts. */
#ifndef GAMUT_RUN_GROUP_H
#define GAMUT_RUN_GROUP_H

#include "record/facts/counters.h"
#include "residency/residency.h"

/* The residency of a group where none is named. */
#define DEFAULT_RESIDENCY "versioned"

/* Whether a selector, or an id, names several devices. */
bool group_is_named(const char *selector);

/* Part number `number` of "a+b", cut to size - 1 bytes. False behind the last. */
bool group_part(const char *selector, unsigned number, char *part, size_t size);

/* What "cuda:0+opencl:*" means of the `count` devices of this machine. A part that is an id means
 * that device, also twice; one that matches several (an API's name does, unless it is an id), the
 * first that no part has yet. A part that nothing is left for stays as it is: the group then can't
 * be opened, and its cases say so. ERR_NOT_FOUND where no part means anything. */
int group_select(const char *selector, const struct device_info *devices, size_t count,
                 struct device_info *group, struct error *error);

/* Opens a device, or a group, by its id; `residency` is that of a group ("": none is named).
 * ERR_UNSUPPORTED where a member is not there. */
int group_open(const char *id, const char *residency, struct device **device, struct error *error);

/* What a group has counted until now; zeros for a single device. */
struct residency_counts group_counts(const struct device *device);
/* Puts what the members of a group did since `before` in the place of what a source saw of it;
 * leaves the counts of a single device as they are. */
void group_count_since(const struct device *device, const struct residency_counts *before,
                       struct sample *sample, struct exact_counts *counts);

#endif
