/* Made-up results to be compared. */
#ifndef GAMUT_TESTS_COMPARE_FIXTURE_H
#define GAMUT_TESTS_COMPARE_FIXTURE_H

#include "record/compare/compare.h"
#include "record/result/result.h"

/* A result of two cases: fft under raw, which is always the same, and canny under pool, which is as
 * the spec says. */
struct spec {
    unsigned rounds;         /* 0: 10 */
    uint64_t wall_ns;        /* of canny; 0: 1 ms */
    unsigned spread;         /* how far rounds are apart, in thousandths; 0: 1 */
    uint64_t reserved_bytes; /* 0: 64 MiB */
    uint64_t hit_count, free_count;
    uint64_t varying_bytes; /* so much more is reserved in every other round */
    enum case_status status;
    bool lacks_canny, lacks_fft;
    const char *driver; /* NULL: "1" */
    unsigned alignment_bytes;
    uint64_t program_digest; /* 0: 1 */
    uint64_t seed;           /* of the spread; 0: evenly spread */
};

/* The caller owns it. */
json_t *compare_fixture(const struct spec *spec);
/* Adds a round of one case as the spec says. */
void compare_fixture_round(struct result *result, const char *workload, const char *strategy,
                           unsigned round, const struct spec *spec);

/* Takes out what differs from machine to machine and day to day. */
void compare_fixture_settle(json_t *root);

struct compare_options default_options(void);

/* Compares base and fresh, which it gives up. */
json_t *compare_roots(json_t *base, json_t *fresh, const struct compare_options *options);

#endif
