/* A table of published peaks, and the peaks of gamut's own programs. No device is used.
 *
 * The table is CSV without quotes; its first line names the columns, in any order, and columns that
 * are not listed below mean nothing. `fun` and `fun_dataset` say which program of ours has that
 * memory (both empty: none), and `fun_values` what it is to be given besides the dataset, as on the
 * command line but with ';' between them: "n=100000;moved=1". Bytes that were not published are
 * empty.
 */
#ifndef GAMUT_CLI_PUBLISHED_H
#define GAMUT_CLI_PUBLISHED_H

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

/* X(NAME, column, title). The bounds are what a run could do with that frees every block at its
 * last use and packs the rest. */
/* clang-format off */
#define PUBLISHED_BYTES_LIST(X)                                                                    \
    X(BEFORE,       "before_bytes",       "published before")                                      \
    X(AFTER,        "after_bytes",        "after")                                                 \
    X(BOUND_BEFORE, "bound_before_bytes", "bound of before")                                       \
    X(BOUND_AFTER,  "bound_after_bytes",  "of after")

/* X(NAME, column, title, merge set, release policy): peaks of our programs. BEFORE and AFTER are what
 * the published ones of these names mean; the others free every block at its last use. */
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
    /* Where it has one, after published_count: */
    uint64_t ours[OURS_COUNT];
    enum published_packing packing[OURS_COUNT];
};

struct published_table {
    const char *path;
    size_t count;
    struct published_row *rows; /* as in the file */
    struct arena arena;
};

/* 0, ERR_IO, or ERR_PARSE and "PATH:LINE: ". On an error there is nothing to free. */
int published_read(const char *path, struct published_table *table, struct error *error);
void published_free(struct published_table *table);

/* Merges and dry-runs the programs of all rows that have one. `time_limit_ns` is the exact
 * planner's, 0 for its default. Errors are prefixed with "PATH:LINE: ": ERR_USAGE where a fun, a
 * dataset or a value does not exist or one is missing. */
int published_count(struct published_table *table, int64_t time_limit_ns, struct error *error);

/* "fewer", "equal" or "more" bytes than published; "" where nothing was, or there is no fun. */
const char *published_verdict(const struct published_row *row, enum published_verdict verdict);

enum plan_format { PLAN_AS_TABLE, PLAN_AS_JSON, PLAN_AS_CSV };

/* Prints the table of the file at `path` to stdout. On an error, of published_read or of
 * published_count, it prints nothing. */
int plan_published(const char *path, enum plan_format format, int64_t time_limit_ns,
                   struct error *error);

#endif
