/* A result as text: a table for people, Markdown, CSV or the JSON of the file itself. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "results/file/result.h"

/* The formats, in the order in which --format lists them. A command that prints something else than
 * a result offers the first ones of them. */
enum table_format {
    TABLE_TEXT,       /* for a terminal, grouped by workload, dataset and device */
    TABLE_MARKDOWN,   /* one Markdown table */
    TABLE_CSV,        /* one line per case and metric, times in ns, sizes in bytes */
    TABLE_JSON,       /* the result file itself */
    TABLE_JSON_LINES, /* these and the next: results/show/export.h */
    TABLE_GOOGLE_BENCHMARK,
    TABLE_BMF,
    TABLE_OTAVA,
    TABLE_FORMATS
};
/* The --format of a command that prints results. */
#define TABLE_FORMAT_CHOICES "table|md|csv|json|jsonl|gbench|bmf|otava"
#define TABLE_FORMAT_HELP                                                                          \
    "what is printed on stdout; gbench, bmf and otava are the JSON of Google Benchmark, Bencher, " \
    "Otava"

/* Prints a summarised result. A case that is not ok has its status in capitals in place of numbers.
 * A column with the same value in every row is left out, and the value is printed once. Only
 * TABLE_TEXT on a terminal has colour, unless NO_COLOR is set or TERM is "dumb". ERR_IO: writing
 * failed. */
int table_print(const struct result *result, enum table_format format, FILE *out,
                struct error *error);
/* Prints summarised results, in their order, as one history for Otava. ERR_IO. */
int table_print_history(const struct result *results, size_t count, FILE *out, struct error *error);

/* Prints a line that says how good the cost model was; nothing if no time was predicted. */
void table_print_model(const struct result *result, FILE *out);
