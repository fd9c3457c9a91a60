/* The device as a source of memory for allocators. */
#pragma once

#include "alloc/source.h"
#include "device/device.h"

/* A source with fresh counts over an open device. It passes the device's optional tables on.
 * capacity_bytes 0 leaves the limit to the driver. */
struct source device_source(struct device *device, uint64_t capacity_bytes);
