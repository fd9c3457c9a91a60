/* Finds the strategies that can serve an application, and their options. */
#pragma once

#include "alloc/planned/plans.h"

/* Abilities of an application's driver in addition to plain memory. */
enum serving_api {
    SERVING_CUDA,   /* its pool, virtual memory, other kinds of memory: the device decides */
    SERVING_OPENCL, /* nothing */
};

/* allocator_parse_planned for an application. A strategy also fails that serves no application
 * (ERR_USAGE), that rejects its options, or that needs what no driver of the API has
 * (ERR_UNSUPPORTED). What is left to the device is known when the strategy is opened there. */
int serving_parse(struct allocator_plans *plans, const char *spec, enum serving_api api,
                  const struct allocator_ops **ops, struct option_values *options,
                  struct error *error);
