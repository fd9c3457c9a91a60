/* The inputs and the reference of option_pricing_2022.mem are those of option_pricing.mem. */
#include "workloads/option_pricing.h"

const struct workload workload_option_pricing_2022 = {.fill = option_fill, .check = option_check};
