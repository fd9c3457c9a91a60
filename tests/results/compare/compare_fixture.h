/* Made-up results to be compared. */
#pragma once

#include "results/compare/compare.h"
#include "tests/results/file/result_tree.h"

/* A result of two cases: fft under raw, which is always the same, and canny under pool, to which
 * the spec applies. */
struct spec {
    unsigned rounds;         /* 0: 10 */
    uint64_t wall_ns;        /* time of canny; 0: 1 ms */
    unsigned spread;         /* differences between rounds, in thousandths; 0: 1 */
    uint64_t reserved_bytes; /* 0: 64 MiB */
    uint64_t hit_count, free_count;
    uint64_t varying_bytes; /* added to the reserved bytes in every other round */
    enum case_status status;
    bool lacks_canny, lacks_fft;
    const char *driver; /* NULL: "1" */
    unsigned alignment_bytes;
    uint64_t program_digest; /* 0: 1 */
    uint64_t seed;           /* seed of the spread; 0: evenly spread */
};

/* The result that the spec describes. The caller owns it. */
json_t *compare_fixture(const struct spec *spec);
/* Adds a round of one case as the spec says. */
void compare_fixture_round(struct result_draft *result, const char *workload, const char *strategy,
                           unsigned round, const struct spec *spec);

/* Removes what depends on the machine and the day. */
void compare_fixture_settle(json_t *root);

/* The options that `gamut compare` has without flags. */
struct compare_options default_options(void);

/* Compares base and fresh, and drops both references. */
json_t *compare_roots(json_t *base, json_t *fresh, const struct compare_options *options);
