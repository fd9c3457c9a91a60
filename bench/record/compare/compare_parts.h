/* What the parts of a comparison share; the rest of the program sees compare.h. */
#ifndef GAMUT_RECORD_COMPARE_PARTS_H
#define GAMUT_RECORD_COMPARE_PARTS_H

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
    size_t file;                          /* which of the new files */
    size_t cases;                         /* of a row over all cases of a way; 0: it is of one */
    const json_t *one_case;               /* whose key the row has */
    const json_t *experiment;             /* of which it is a row; NULL: it is a case */
    const json_t *base_case, *fresh_case; /* NULL where a file lacks it */
    const struct counter_info *metric;    /* NULL: the case as a whole */
    const struct gate *gate;              /* NULL: none */
    bool is_cold;                         /* of an exact counter: of which run */
    double base, fresh;                   /* NaN: unknown */
    size_t base_rounds, fresh_rounds;     /* of a sampled metric: with a median */
    struct rank_shift shift;              /* of logarithms */
    double limit;                         /* of the gate, likewise */
    double floor;                         /* the noise floor, likewise; 0: none is known */
    bool has_test;                        /* enough rounds for a p */
    double p_adjusted;                    /* of a gated test; else NaN */
    unsigned rounds_needed;               /* that would settle an unsure row; 0: not known */
    enum verdict verdict;
    enum change effect;
    bool is_regression;
    const char *reason; /* NULL, or why it is unsure: of the arena */
};

struct comparer {
    const struct compare_options *options;
    const char *by, *by_value; /* within a file: member and value; else NULL */
    bool leave_out_times;      /* they are not comparable here */
    bool leaves_out_counters;  /* by the options, some */
    const json_t *roots[2];    /* base and new, where a noise floor is between them; else NULL */
    size_t file, file_count;   /* the new file of the pairs that come next */
    json_t *way_keys;          /* of the rows over cases */
    const json_t *experiment;  /* whose rows come next; NULL: cases do */
    struct arena arena;
    struct rank_table table;
    double *numbers; /* room for the rounds of two cases, four times */
    size_t number_room;
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

/* compare_case.c: adds the rows of a case. `fresh` or `base` is NULL where a file lacks it. */
void compare_case(struct comparer *c, const json_t *base, const json_t *fresh);
struct compare_row *compare_add_row(struct comparer *c, const struct compare_row *row);
/* What compare_experiment.c does with two rows as well. A row of nothing but whose it is: */
struct compare_row *compare_new_row(struct comparer *c, const json_t *base, const json_t *fresh);
/* Are both ok? Else adds the row that says so, if that is a change. */
bool compare_status(struct comparer *c, const json_t *base, const json_t *fresh);
/* Adds the row of a time, unless nobody needs it; is the metric known? `gate` need not be set. */
bool compare_samples(struct comparer *c, const json_t *base, const json_t *fresh,
                     const struct counter_info *info, const struct gate *gate);
void compare_set_change(struct compare_row *row, double base, double fresh);
/* The noise floor of a metric of a case or a way (record/compare/noise.h) by both files, as a logarithm; 0
 * where none is known or needed. */
double compare_floor(const struct comparer *c, const json_t *one_case, const char *metric);

/* compare_experiment.c: adds the rows of all experiments. */
void compare_experiments(struct comparer *c, const json_t *base, const json_t *fresh);
size_t compare_experiment_rows(const json_t *root);
/* How many rows both have. */
size_t compare_experiment_pairs(const json_t *base, const json_t *fresh);
/* Which row it is, as a comparison has it. */
void compare_put_experiment(json_t *out, const json_t *experiment, const json_t *row);

/* compare_way.c: adds the rows over the cases of a file whose rows have all been added. */
void compare_ways(struct comparer *c);

/* compare_verdict.c: Holm's adjustment over all gated tests of a family, then the verdict of every
 * row with samples. */
void compare_judge(struct comparer *c);
/* The part of alpha that each gated test of the row's family has at least. */
double compare_least_alpha(const struct comparer *c, const struct compare_row *row);
/* 2 % as it is in logarithms: as far up as down. */
double compare_log_limit(double part);

/* compare_context.c: the differences between the files in what a comparison holds constant, for
 * the cases that both have: an array of {"file", "subject", "base", "new", "matters"}, where
 * matters is "everything", "times" or "nothing". */
json_t *compare_context(const struct compare_file *base, const struct compare_file *fresh,
                        size_t file, const json_t *base_index);
bool compare_context_has(const json_t *differences, const char *matters);

/* compare_tree.c */
json_t *compare_tree(const struct comparer *c, const struct compare_file *base,
                     const struct compare_file *fresh, size_t fresh_count,
                     const json_t *differences, bool is_comparable);

#endif
