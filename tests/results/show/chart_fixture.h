/* A made-up result with something for every chart. */
#pragma once

#include "tests/results/file/result_tree.h"

/* Merged cases under pool, an atlas and experiments of their device, and what their memory did. */
struct result_tree chart_fixture(void);
