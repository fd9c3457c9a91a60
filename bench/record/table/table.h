/* A result as text: a table for people, Markdown, CSV or the JSON of the file itself. */
#ifndef GAMUT_RECORD_TABLE_H
#define GAMUT_RECORD_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/* X(NAME, word, help) */
#define TABLE_FORMAT_LIST(X)                                                                       \
    X(TEXT, "table", "for a terminal, grouped by workload, dataset and device")                    \
    X(MARKDOWN, "md", "one Markdown table")                                                        \
    X(CSV, "csv", "one line a case and metric, times in ns, sizes in bytes")                       \
    X(JSON, "json", "the result file itself")

enum table_format {
#define X(name, word, help) TABLE_##name,
    TABLE_FORMAT_LIST(X)
#undef X
        TABLE_FORMATS
};
/* The word that --format has for a format. */
const char *table_format_name(enum table_format format);
/* The format that a word names. ERR_USAGE lists the formats. */
int table_format_parse(const char *word, enum table_format *format, struct error *error);

/* Prints a summarised result. A case that is not ok has its status in capitals in place of numbers.
 * Columns that say nothing (the same in every row) are left out and named once. Colour is used for
 * TEXT alone, on a terminal, unless NO_COLOR is set or TERM is "dumb". ERR_IO. */
int table_print(const json_t *root, enum table_format format, FILE *out, struct error *error);

/* Prints "56 cases: 54 ok, 2 skipped", how good the cost model was, and why there are no intervals,
 * one line each. table_print ends with it. */
void table_print_verdict(const json_t *root, FILE *out);

#endif
