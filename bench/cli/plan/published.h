/* A table of published peaks, and the peaks of gamut's programs. No device is used.
 *
 * The table is CSV without quotes. Its first line names the columns, in any order; columns that are
 * not listed below are ignored. `fun` and `fun_dataset` name gamut's version of the published
 * program ("ours"), or are both empty. `fun_values` has values for it in addition to the dataset, as
 * on the command line but separated by ';': "n=100000;moved=1". Bytes that were not published are
 * empty.
 */
#ifndef GAMUT_CLI_PLAN_PUBLISHED_H
#define GAMUT_CLI_PLAN_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* X(NAME, column) */
#define PUBLISHED_TEXT_LIST(X)                                                                     \
    X(PROGRAM, "program")                                                                          \
    X(DATASET, "dataset")                                                                          \
    X(VARIANT, "variant")                                                                          \
    X(FUN, "fun")                                                                                  \
    X(FUN_DATASET, "fun_dataset")                                                                  \
    X(FUN_VALUES, "fun_values")

/* X(NAME, column, title). A bound is the peak of a run that frees every block at its last use
 * and packs the rest. */
/* clang-format off */
#define PUBLISHED_BYTES_LIST(X)                                                                    \
    X(BEFORE,       "before_bytes",       "published before")                                      \
    X(AFTER,        "after_bytes",        "after")                                                 \
    X(BOUND_BEFORE, "bound_before_bytes", "bound of before")                                       \
    X(BOUND_AFTER,  "bound_after_bytes",  "of after")

/* X(NAME, column, title, merge set, release policy): peaks of our programs. BEFORE and AFTER mean the
 * same as the published columns of these names; the others free every block at its last use. */
#define OURS_LIST(X)                                                                               \
    X(BEFORE,     "ours_before_bytes",     "ours before", "inplace",        scope)                 \
    X(AFTER,      "ours_after_bytes",      "after",       "coalesce+reuse", scope)                 \
    X(AS_WRITTEN, "ours_as_written_bytes", "as written",  "none",           last_use)              \
    X(MERGED,     "ours_merged_bytes",     "merged",      "coalesce+reuse", last_use)              \
    X(PLAN,       "ours_plan_bytes",       "plan",        "plan",           last_use)              \
    X(BEST,       "ours_best_bytes",       "best",        "best",           last_use)

/* X(NAME, column, title): comparisons of ours with a published number; BEST is compared with the least
 * published number of its row. */
#define VERDICT_LIST(X)                                                                            \
    X(BEFORE, "before_is", "before is")                                                            \
    X(AFTER,  "after_is",  "after is")                                                             \
    X(BEST,   "best_is",   "best is")
/* clang-format on */

#define X(name, ...) PUBLISHED_##name,
enum published_text { PUBLISHED_TEXT_LIST(X) PUBLISHED_TEXTS };
enum published_bytes { PUBLISHED_BYTES_LIST(X) PUBLISHED_BYTES };
#undef X
#define X(name, ...) OURS_##name,
enum published_ours { OURS_LIST(X) OURS_COUNT };
#undef X
#define X(name, ...) VERDICT_##name,
enum published_verdict { VERDICT_LIST(X) VERDICTS };
#undef X

/* How far the offsets of an arena were searched. */
enum published_packing { PACKING_NONE, PACKING_NOT_PROVEN, PACKING_OPTIMAL };

struct published_row {
    unsigned line;
    const char *text[PUBLISHED_TEXTS]; /* never NULL */
    uint64_t bytes[PUBLISHED_BYTES];   /* 0: not published */
    bool has_fun;
    /* Set by published_count if has_fun: */
    uint64_t ours[OURS_COUNT];
    enum published_packing packing[OURS_COUNT];
};

struct published_table {
    const char *path;
    size_t count;
    struct published_row *rows; /* as in the file */
    struct arena arena;
};

/* Reads the file at `path`. Returns 0, ERR_IO, or ERR_PARSE with "PATH:LINE: " before the message. On
 * an error there is nothing to free. */
int published_read(const char *path, struct published_table *table, struct error *error);
/* Frees what published_read and published_count made. */
void published_free(struct published_table *table);

/* Merges and dry-runs the programs of all rows that have one. `time_limit_ns` limits the
 * exact planner; 0: its default. Errors are prefixed with "PATH:LINE: ". ERR_USAGE: a fun, dataset
 * or value does not exist, or a value is missing. */
int published_count(struct published_table *table, int64_t time_limit_ns, struct error *error);

/* Does our program need "fewer", "equal" or "more" bytes than published? "" if no bytes were
 * published or there is no fun. */
const char *published_verdict(const struct published_row *row, enum published_verdict verdict);

enum plan_format { PLAN_AS_TABLE, PLAN_AS_JSON, PLAN_AS_CSV };

/* Prints the table of the file at `path` to stdout. On an error of published_read or
 * published_count it prints nothing. */
int plan_published(const char *path, enum plan_format format, int64_t time_limit_ns,
                   struct error *error);

#endif
