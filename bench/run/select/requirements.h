/* What a workload's dataset needs of a device, found out before anything is made or asked for. */
#ifndef GAMUT_RUN_REQUIREMENTS_H
#define GAMUT_RUN_REQUIREMENTS_H

#include "device/device.h"
#include "run/select/catalogue.h"

/* 0 if the device may be able to run it. ERR_UNSUPPORTED with what is missing: 64-bit floats, or
 * memory, where the inputs alone are more than the device has, than `capacity_bytes` (0: no limit),
 * or one of them more than a single memory can be. Whether the rest fits too, the run will tell:
 * ERR_OOM. Other errors are the dataset's. */
int requirements_check(const struct entry *entry, const struct dataset *dataset,
                       const struct device_info *device, uint64_t capacity_bytes,
                       struct error *error);

#endif
