/* A result as text: a table for people, Markdown, CSV or the JSON of the file itself. */
#ifndef GAMUT_RECORD_TABLE_H
#define GAMUT_RECORD_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/* In the order in which --format lists them: table|md|csv|json. */
enum table_format {
    TABLE_TEXT,     /* for a terminal, grouped by workload, dataset and device */
    TABLE_MARKDOWN, /* one Markdown table */
    TABLE_CSV,      /* one line a case and metric, times in ns, sizes in bytes */
    TABLE_JSON,     /* the result file itself */
    TABLE_FORMATS
};

/* Prints a summarised result. A case that is not ok has its status in capitals in place of numbers.
 * Columns that say nothing (the same in every row) are left out and named once. Colour is used for
 * TEXT alone, on a terminal, unless NO_COLOR is set or TERM is "dumb". ERR_IO. */
int table_print(const json_t *root, enum table_format format, FILE *out, struct error *error);

/* Prints "56 cases: 54 ok, 2 skipped", how good the cost model was, and why there are no intervals,
 * one line each. table_print ends with it. */
void table_print_verdict(const json_t *root, FILE *out);

#endif
