/* The cache that the cases of one process share: built kernels, inputs with the answers known to be
 * right for them, and merged programs. The cache owns everything that it returns, valid until
 * case_cache_close unless said otherwise. */
#pragma once

#include "device/device.h"
#include "program/generate.h"
#include "run/select/catalogue.h"
#include "run/select/inputs.h"
#include "run/select/merging.h"
#include "run/select/readings.h"

/* Opens an empty cache; cannot fail. The caller closes it before the device, which it borrows. */
struct case_cache *case_cache_open(struct device *device);
/* Frees everything in it. */
void case_cache_close(struct case_cache *cache);

struct cached_kernels {
    struct kernels kernels;
    struct device_program *code;
    int status; /* error code of the build, whose message is in `error`; 0: built */
    struct error error;
};
/* The kernels of the entry's program, which merging does not change; built at the first call. */
const struct cached_kernels *case_cache_kernels(struct case_cache *cache,
                                                const struct entry *entry);

struct cached_inputs {
    struct inputs inputs;
    uint64_t program_digest, inputs_digest;
    size_t answer_count;
    uint64_t *answers; /* digests of answers that are known to be right */
    bool has_run; /* the unmerged program has run in this process and its answers were correct */
    struct readings readings; /* empty until a set that counts merges for these inputs */
};
/* The inputs of a dataset, made unless the cache has them; then it copies `answers`, the digests of
 * answers known to be right. *inputs is valid until the next call. Errors of inputs_make. */
int case_cache_inputs(struct case_cache *cache, const struct entry *entry,
                      const struct dataset *dataset, uint64_t seed, const uint64_t *answers,
                      size_t answer_count, struct cached_inputs **inputs, struct error *error);
/* Whether an answer with this digest is known to be right. */
bool cached_answer_is_right(const struct cached_inputs *inputs, uint64_t digest);
/* Adds a digest to those of right answers. */
void cached_note_answer(struct cached_inputs *inputs, uint64_t digest);

struct cached_merge {
    struct merge *merge; /* NULL if it failed */
    int status;          /* 0, or the code of `error` */
    struct error error;
    bool has_run; /* the merged program has run in this process and its answers were correct */
};
/* Merges an entry's fun by a set, for a dataset with its inputs and a release policy; once for each
 * of these. If the set chooses by bytes that depend on values that the program reads from arrays,
 * the unmerged program runs once before that, on the cache's device. Never NULL: a failure is in
 * its `status`. */
struct cached_merge *case_cache_merge(struct case_cache *cache, const struct entry *entry,
                                      const struct dataset *dataset, const char *set,
                                      enum release_policy policy, struct cached_inputs *inputs);
