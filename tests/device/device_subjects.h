/* The devices that the device tests run on: the host, and the first device of each other API. */
#pragma once

#include "device/device.h"
#include "tests/base/cmocka.h"

struct subject {
    struct device *device;
    const struct device_ops *ops;
    bool built_in; /* use the kernels built into the test, where the device can */
    struct error error;
};

/* Fails with the device's own message. */
#define ok(s, call)                                                                                \
    do {                                                                                           \
        if ((call) != 0)                                                                           \
            fail_msg("%s: %s: %s", (s)->device->info->id, #call, (s)->error.text);                 \
    } while (0)

/* Prints the reason for each API that has no device to test. */
void print_missing_devices(void);
/* Opens one device after the other and runs the check on it; on the host twice, with kernels built
 * in and with kernels compiled at run time. */
void on_each_device(void (*check)(struct subject *));
/* Allocates memory, and fails the test if that is not possible. */
uint64_t allocate(struct subject *s, uint64_t bytes);
