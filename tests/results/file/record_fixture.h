/* A result with made-up numbers that are the same everywhere, for tests of code that reads
 * results. */
#pragma once

#include "tests/results/file/result_tree.h"

/* Two workloads on two devices under four strategies in `rounds` rounds. On "host" every case is ok
 * but for one that is wrong and one that ran out of memory; on "opencl:0" there is one strategy. */
struct result_tree record_fixture(unsigned rounds);

/* A round with a value of its own in every field and counter, and `samples` samples. The caller
 * frees its samples. */
struct case_round record_fixture_round(size_t samples);

/* An atlas of two methods: one with points, with a point left out and with probes, and one that the
 * device does not offer. The caller frees it. */
struct atlas atlas_fixture(void);
