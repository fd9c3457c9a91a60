/* Whether a device can run a dataset at all, found out before any input is made. */
#ifndef GAMUT_RUN_REQUIREMENTS_H
#define GAMUT_RUN_REQUIREMENTS_H

#include "device/device.h"
#include "run/select/catalogue.h"

/* 0 if the device may be able to run it. ERR_UNSUPPORTED if it has no 64-bit floats, or if the
 * inputs alone need more memory than it has, more than `capacity_bytes` (0: no limit), or one input
 * more than a single memory can have. A run that fits so far may still end with ERR_OOM. Other
 * errors are the dataset's. */
int requirements_check(const struct entry *entry, const struct dataset *dataset,
                       const struct device_info *device, uint64_t capacity_bytes,
                       struct error *error);

#endif
