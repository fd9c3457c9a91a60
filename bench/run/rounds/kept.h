/* What is kept between the cases of one process: built kernels, inputs with the answers known to be
 * right for them, and what merging made of programs. */
#ifndef GAMUT_RUN_KEPT_H
#define GAMUT_RUN_KEPT_H

#include "device/device.h"
#include "program/generate.h"
#include "run/select/catalogue.h"
#include "run/select/inputs.h"
#include "run/select/merging.h"

struct kept;
struct kept *kept_open(struct device *device);
void kept_close(struct kept *kept);

/* All that these hand out stays theirs. */

struct kept_kernels {
    struct kernels kernels;
    struct device_program *code;
    int status; /* of the build, with its message */
    struct error error;
};
const struct kept_kernels *kept_kernels(struct kept *kept, const struct entry *entry);

struct kept_inputs {
    struct inputs inputs;
    uint64_t program_digest, inputs_digest;
    size_t answer_count;
    uint64_t *answers; /* digests of those known to be right */
    bool has_run;      /* the program as written, in this process, with right answers */
};
/* `answers` are known to be right already; they are copied when the inputs are made. Valid until
 * the next call. */
int kept_inputs(struct kept *kept, const struct entry *entry, const struct dataset *dataset,
                uint64_t seed, const uint64_t *answers, size_t answer_count,
                struct kept_inputs **inputs, struct error *error);
bool kept_knows_answer(const struct kept_inputs *inputs, uint64_t digest);
void kept_note_answer(struct kept_inputs *inputs, uint64_t digest);

/* What a merge set made of an entry for the sizes of a dataset, whose inputs these are. */
struct kept_merge {
    struct merge *merge; /* NULL if it failed */
    int status;
    struct error error;
    bool has_run; /* as above */
};
struct kept_merge *kept_merge(struct kept *kept, const struct entry *entry,
                              const struct dataset *dataset, const char *set,
                              const struct kept_inputs *inputs);
/* The kernels for that: the entry's own, unless arrays lie in a heap of the device now, which
 * kernels find otherwise. `merge` is what kept_merge gave, and has not failed. */
const struct kept_kernels *kept_merged_kernels(struct kept *kept, const struct entry *entry,
                                               const struct kept_merge *merge);

#endif
