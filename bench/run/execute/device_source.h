/* The device as a source of memory for allocators, and as a result file describes it. */
#pragma once

#include "alloc/source.h"
#include "device/device.h"
#include "results/facts/context.h"

/* A source with fresh counts over an open device. It passes the device's optional tables on.
 * capacity_bytes 0 leaves the limit to the driver. */
struct source device_source(struct device *device, uint64_t capacity_bytes);

/* All that the info says. What is measured is unknown: free bytes, rate of copies, settings. */
struct record_device device_record(const struct device_info *info);
