/* The market, the points and the reference of the programs that price options: those of
 * option_pricing.mem and of option_pricing_2022.mem. Arrays may be f32 or f64. */
#pragma once

#include "workload.h"

/* Fills a parameter, as struct workload says. `discounts`, if the program has it, is how many
 * dates are discounted: the first ones, but the last of them is the last date. */
int option_fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error);

/* Checks the one result, [1] of the type of `start`, as struct workload says. */
int option_check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error);
