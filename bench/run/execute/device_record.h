/* An open device, as a result file describes it. */
#pragma once

#include "device/device.h"
#include "results/facts/context.h"

/* All that the info says. What is measured is unknown: free bytes, rate of copies, settings. */
struct record_device device_record(const struct device_info *info);
