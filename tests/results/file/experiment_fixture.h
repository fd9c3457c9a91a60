/* Experiments with made-up numbers that are the same everywhere. */
#pragma once

#include "tests/results/file/result_tree.h"

/* A round of a row: {metric: [value, value + 2, ...]}, of three samples; `status` other than "ok"
 * has a reason and no samples. */
json_t *experiment_fixture_round(const char *status, unsigned round, const char *digest,
                                 const char *metric, double value);

/* An isosurface experiment of the device: two methods that are ok, in two rounds, and one that is
 * skipped; a stall experiment of two methods, two amounts of work and one of the host's;
 * and an overflow experiment of two numbers of chunks and two sizes. */
void experiment_fixture_add(struct result_tree *tree, const char *device);
