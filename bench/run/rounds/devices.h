/* The devices of this machine. A worker finds them, because the parent opens no driver. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "device/device.h"
#include "results/facts/context.h"

struct found_device {
    struct device_info info;
    bool selected;
    uint64_t free_bytes; /* free memory of a selected device; 0: unknown */
    /* Rate of a plain copy on a selected device, in bytes per second; 0: not measured. */
    double copy_rate;
};

/* Asks a worker for the devices of this machine. The worker also opens those that `selectors` names
 * (a comma list, "" for none) and finds their free memory. If `copy_rate` is set it measures how
 * fast they copy, which takes a second each. The selected devices come first, in the order of the
 * list. ERR_NOT_FOUND if a selector matches none. The caller frees *devices. `missing` (or NULL)
 * receives a line for each API that offers no device. An API whose driver ends the worker is left
 * out as one of these; ERR_DEVICE, with the reason, if a selector needs it. */
int devices_find(const char *selectors, bool copy_rate, struct found_device **devices,
                 size_t *count, struct text *missing, struct error *error);

/* The worker's side: the worker_job of the kind "devices". */
int devices_work(const json_t *job, FILE *out, struct error *error);

/* Fills in *record, the device as a result file has it. */
void device_to_record(const struct found_device *found, struct record_device *record);
