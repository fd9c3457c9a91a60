/* The values of a fun's parameters: from the dataset, from the workload's C, or random. */
#pragma once

#include "device/device.h"
#include "run/select/catalogue.h"

struct inputs {
    struct arena arena;
    struct arguments arguments;
    size_t bytes;         /* size of all arrays */
    double traffic_bytes; /* bytes that a run moves by the fun's `traffic`; NaN if it has none */
};

/* The name of the first scalar parameter of the fun that the dataset does not set; NULL: it sets
 * all. */
const char *inputs_lacking(const struct fun *fun, const struct dataset *dataset);

/* Makes all values; random ones follow from `seed`. The caller frees them with inputs_free.
 * ERR_USAGE with file, line and column if a value has the wrong type or shape or does not fit, or
 * the traffic is negative; ERR_HOST_MEMORY. */
int inputs_make(const struct entry *entry, const struct dataset *dataset, uint64_t seed,
                struct inputs *inputs, struct error *error);
/* The same, but the scalars in `given` win over the dataset's. Arrays get the sizes that follow
 * from them; ERR_USAGE if the dataset spells out an array of another size. */
int inputs_make_given(const struct entry *entry, const struct dataset *dataset,
                      const struct arguments *given, uint64_t seed, struct inputs *inputs,
                      struct error *error);
/* Makes the scalars only, which is enough for a dry run. */
int inputs_make_scalars(const struct entry *entry, const struct dataset *dataset,
                        struct inputs *inputs, struct error *error);
/* Checks that the numbers that the dataset gives and expects fit the types of the fun's parameters
 * and results, and that the traffic is not negative. ERR_USAGE with file, line and column. A
 * dataset that lacks a scalar of the fun is not checked. */
int inputs_check_values(const struct entry *entry, const struct dataset *dataset,
                        struct error *error);
/* Checks, before any input is made, that the device can run the dataset at all. ERR_UNSUPPORTED if
 * the program needs 64-bit floats and the device has none; if the inputs alone need more memory
 * than the device has or than `capacity_bytes` (0: no limit); or if one input is larger than a
 * single memory can be. A run that passes may still end with ERR_OOM. Other errors are the
 * dataset's. */
int inputs_check_device(const struct entry *entry, const struct dataset *dataset,
                        const struct device_info *device, uint64_t capacity_bytes,
                        struct error *error);
/* Frees all values. */
void inputs_free(struct inputs *inputs);

/* A digest of all values with their names and shapes. It is the same for the same data on every
 * machine, and never 0. */
uint64_t inputs_digest(const struct fun *fun, const struct inputs *inputs);

/* Whether there is a reference or an `expect` to compare results with. */
bool inputs_can_check(const struct entry *entry, const struct dataset *dataset);
/* Compares results with the workload's reference or the dataset's `expect`, as workload.check does:
 * *worst_error is the largest relative error; ERR_WRONG names the first wrong element. */
int inputs_check(const struct entry *entry, const struct dataset *dataset,
                 const struct inputs *inputs, const struct host_array *results, double *worst_error,
                 struct error *error);
