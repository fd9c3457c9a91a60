/* What the files of this room share. Other rooms include compare.h. */
#ifndef GAMUT_RECORD_COMPARE_INTERNAL_H
#define GAMUT_RECORD_COMPARE_INTERNAL_H

#include "base/arena.h"
#include "record/compare/compare.h"
#include "record/statistics/ranks.h"

enum change { CHANGE_NONE, CHANGE_BETTER, CHANGE_WORSE };

enum verdict {
#define X(name, help) VERDICT_##name,
    COMPARE_VERDICT_LIST(X)
#undef X
        VERDICTS
};
extern const char *const verdict_names[VERDICTS];

/* What one metric of one case did. Verdict and effect are of the change itself; whether it is a
 * regression depends on the gate. */
struct compare_row {
    size_t file;              /* which of the new files */
    size_t cases;             /* of a row over all cases of a way; 0: it is of one */
    const json_t *one_case;   /* whose key the row has */
    const json_t *experiment; /* of which it is a row; NULL: it is a case */
    const json_t *base_case, *candidate_case; /* NULL where a file lacks it */
    const struct counter_info *metric;        /* NULL: the case as a whole */
    const struct gate *gate;                  /* NULL: none */
    bool is_cold;                             /* of an exact counter: of which run */
    double base, candidate;                   /* NaN: unknown */
    size_t base_rounds, candidate_rounds;     /* of a sampled metric: with a median */
    struct rank_shift shift;                  /* of logarithms */
    double limit;                             /* of the gate, likewise */
    double floor;                             /* the noise floor, likewise; 0: none is known */
    bool has_test;                            /* enough rounds for a p */
    double p_adjusted;                        /* of a gated test; else NaN */
    unsigned rounds_needed;                   /* that would settle an unsure row; 0: not known */
    enum verdict verdict;
    enum change effect;
    bool is_regression;
    const char *reason; /* NULL, or why it is unsure: of the arena */
};

struct comparer {
    const struct compare_options *options;
    const char *by, *by_value;  /* within a file: member and value; else NULL */
    bool leave_out_times;       /* they are not comparable here */
    bool leaves_out_counters;   /* by the options, some */
    const json_t *roots[2];     /* base and new, where a noise floor is between them; else NULL */
    size_t file, file_count;    /* the new file of the pairs that come next */
    json_t *configuration_keys; /* of the rows over cases */
    const json_t *experiment;   /* whose rows come next; NULL: cases do */
    struct arena arena;
    struct rank_table table;
    size_t row_count, row_room;
    struct compare_row *rows;
    size_t pair_count;  /* cases that both have and that are ok */
    size_t equal_count; /* exact counters that are, without a row */
    size_t gated_equal_count;
    size_t counted_members, counted_gates; /* of the last run whose counters were all equal */
    size_t alone_count;                    /* cases without a counterpart within the file */
    size_t other_bits_count;               /* pairs whose answers differ in bits */
    bool lacks[2][GATES_MAX]; /* the base, the new file: exact counters it does not know */
    unsigned family[2];       /* gated tests: of single cases, over cases */
};

/* ---- compare_rows.c ------------------------------------------------------------------------- */

/* Adds the rows of a case. `base` or `candidate` is NULL where a file lacks it. */
void compare_case(struct comparer *c, const json_t *base, const json_t *candidate);
/* Adds the rows over all cases of each configuration; those of the cases have all been added. */
void compare_configurations(struct comparer *c);
/* Adds the rows of all experiments of two results. */
void compare_experiments(struct comparer *c, const json_t *base, const json_t *candidate);
/* The number of rows that the experiments of a result have. */
size_t compare_experiment_rows(const json_t *root);
/* The number of rows of experiments that both results have. */
size_t compare_experiment_pairs(const json_t *base, const json_t *candidate);
/* Puts into the row of a comparison which row of an experiment it is. */
void compare_put_experiment(json_t *out, const json_t *experiment, const json_t *row);
/* Gives every row with samples its verdict. All rows must have been added. */
void compare_judge(struct comparer *c);
/* The smallest alpha that Holm's method leaves for a gated test of the row's family. */
double compare_least_alpha(const struct comparer *c, const struct compare_row *row);

/* ---- compare_tree.c ------------------------------------------------------------------------- */

/* The comparison as JSON (results/README.md, "Comparisons"). The caller owns it. */
json_t *compare_tree(const struct comparer *c, const struct compare_file *base,
                     const struct compare_file *candidate, size_t candidate_count,
                     const json_t *differences, bool is_comparable);

#endif
