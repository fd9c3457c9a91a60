/* The state of a comparison, and the functions of the files that fill it. Other rooms include
 * compare.h. */
#pragma once

#include "base/arena.h"
#include "results/compare/compare.h"
#include "results/statistics/ranks.h"

enum change { CHANGE_NONE, CHANGE_BETTER, CHANGE_WORSE };

#define COMPARE_VERDICT(name, ...) VERDICT_##name,
enum verdict { COMPARE_VERDICT_LIST(COMPARE_VERDICT) VERDICTS };

/* The change of one metric of a case, of all cases of a configuration, or of a row of an
 * experiment. `verdict` and `effect` describe the change itself; `is_regression` depends on the
 * gate too. */
struct compare_row {
    size_t file;                  /* index of the candidate */
    size_t cases;                 /* number of cases of the configuration; 0: one case */
    const struct result_case *of; /* the case or configuration whose key the row has */
    const struct result_experiment *experiment;           /* that of a row; NULL: it is a case */
    const struct result_case *base_case, *candidate_case; /* NULL where a file lacks it */
    const struct counter_info *metric; /* NULL: the row is about the status of the case */
    const struct gate *gate;           /* NULL: none */
    bool is_cold;                      /* an exact counter of the cold run, not of the warm one */
    double base, candidate;            /* NaN: unknown */
    size_t base_rounds, candidate_rounds; /* rounds in which a sampled metric has a median */
    struct rank_shift shift;              /* shift of the logarithms */
    double limit;                         /* limit of the gate, as a logarithm */
    double floor;                         /* noise floor, as a logarithm; 0: none is known */
    bool has_test;                        /* there are enough rounds for a p */
    double p_adjusted;                    /* p of a gated test, adjusted; else NaN */
    unsigned rounds_needed; /* number of rounds that would settle an unsure row; 0: unknown */
    enum verdict verdict;
    enum change effect;
    bool is_regression;
    const char *reason; /* why it is unsure, owned by the arena; or NULL */
};

/* The effect of a difference between two files (context_diff.c has the table). */
enum matters { MATTERS_NOTHING, MATTERS_TIMES, MATTERS_EVERYTHING };

/* The scope in which two cases can be compared, and the reason for its limit, owned by the arena.
 */
struct scope {
    enum matters matters; /* that which their differences matter for the most */
    const char *reason;
};

struct device_scope {
    const char *device;
    struct scope scope;
};

/* Counts of the cases, and of the rows of experiments, of one candidate. */
struct tally {
    size_t pairs;          /* ok in both files, and compared */
    size_t dropped;        /* ok in both files, and not comparable */
    size_t failed_in_both; /* not compared: neither has an answer */
    size_t failed_in_base; /* not compared: the base has no answer */
    size_t worse;          /* failed in the candidate alone, or gone */
};

struct comparer {
    const struct compare_options *options;
    const char *by, *by_value; /* member and value to compare by within a file; else NULL */
    bool leaves_out_counters;  /* the options leave out some exact counters */
    struct scope everywhere;   /* of the machine and the build: holds for every case */
    size_t device_count;
    struct device_scope *device_scopes; /* owned by the arena */
    bool leave_out_times;               /* the pair that is compared has no comparable times */
    size_t times_left_out;              /* times of pairs that were left out for that reason */
    size_t gated_times_left_out;        /* those of them that have a gate */
    struct tally now, all;              /* of this candidate, of all candidates */
    enum compare_outcome nothing;       /* what it means that a candidate has no pair; or ok */
    const char *nothing_because;        /* a sentence, owned by the arena; NULL: all have pairs */
    json_t *notes;                      /* owned */
    const struct result
        *noisy[2];           /* base and candidate if a noise floor holds between them; else NULL */
    size_t file, file_count; /* index of the candidate that is compared; number of candidates */
    const struct result_experiment
        *experiment; /* the experiment whose rows are compared; NULL: cases are */
    struct arena arena;
    struct rank_table table;
    unsigned row_count, row_room;
    struct compare_row *rows;
    size_t equal_count;       /* equal exact counters, which have no row */
    size_t gated_equal_count; /* those of them that have a gate */
    size_t alone_count;       /* cases without a counterpart within the file */
    size_t other_bits_count;  /* pairs whose answers differ in bits */
    bool lacks[2][GATES_MAX]; /* exact counters that the base [0] or the candidate [1] lacks */
    unsigned family[2]; /* number of gated tests: of single cases [0], of rows over cases [1] */
};

/* ---- comparer.c ----------------------------------------------------------------------------- */

/* A comparer of one candidate; free it with comparer_free. */
struct comparer comparer_of(const struct compare_options *options);
void comparer_free(struct comparer *c);
/* Adds a sentence about the comparison as a whole. */
void compare_note(struct comparer *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The ratio that a logarithm stands for. */
double compare_ratio_of(double logarithm);
/* New over base, of samples by the estimate; NaN where one of them is 0 or unknown. */
double compare_ratio(const struct compare_row *row);

/* ---- context_diff.c, which uses comparer.c -------------------------------------------------- */

/* Appends what the files differ in to `differences`, and sets the scopes of machine and devices.
 * `base_index` has the base's cases by id. Returns whether the files have a case or a row of an
 * experiment in common. */
bool compare_context(struct comparer *c, const struct result *base, const struct result *candidate,
                     const json_t *base_index, json_t *differences);
/* The scope in which two cases can be compared; either may be NULL. */
struct scope compare_case_scope(struct comparer *c, const struct result_case *base,
                                const struct result_case *candidate);
/* The same for all rows of two experiments; `base` may be NULL. */
struct scope compare_experiment_scope(struct comparer *c, const struct result_experiment *base,
                                      const struct result_experiment *candidate);

/* ---- rows.c, which uses context_diff.c ------------------------------------------------------ */

/* Adds the rows of a case. `base` or `candidate` is NULL where a file lacks it. */
void compare_case(struct comparer *c, const struct result_case *base,
                  const struct result_case *candidate);
/* Adds the rows over all cases of each configuration. The rows of single cases must have been
 * added. */
void compare_configurations(struct comparer *c);
/* Adds the rows of all experiments of two results. */
void compare_experiments(struct comparer *c, const struct result *base,
                         const struct result *candidate);

/* ---- verdicts.c ----------------------------------------------------------------------------- */

extern const char *const verdict_names[VERDICTS];
/* Gives every row with samples its verdict. All rows must have been added. */
void compare_judge(struct comparer *c);
/* The smallest alpha that Holm's method leaves for a gated test of the row's family. */
double compare_least_alpha(const struct comparer *c, const struct compare_row *row);

/* ---- findings.c, which uses comparer.c and verdicts.c ---------------------------------------- */

/* Sentences about what changed or is unsure in gated metrics, and about cases that fail: an array,
 * the worst first. The caller owns it. */
json_t *compare_findings(struct comparer *c, const struct compare_file *candidate);

/* ---- comparison_tree.c, which uses all of these ---------------------------------------------- */

/* The comparison as JSON (docs/comparisons.md). `differences` is an array of what the
 * files differ in. The caller owns the result. */
json_t *compare_tree(struct comparer *c, const struct compare_file *base,
                     const struct compare_file *candidate, size_t candidate_count,
                     const json_t *differences);
