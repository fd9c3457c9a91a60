/* A result as text: tables for people, Markdown, CSV or the JSON of the file itself. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "results/facts/atlas.h"
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

/* Prints the table of a result's suite, as TABLE_TEXT or TABLE_MARKDOWN. Prints nothing for other
 * formats, or if the result has no suite. */
void suite_table_print(const struct result *result, enum table_format format, FILE *out);

/* Prints what each call costs at a few sizes, its fit and what it waits for. Then prints the costs
 * of commands, and what was left out and why. */
void atlas_print(const struct atlas *atlas, FILE *out);

/* Adds a curve's fit: "45.1 µs + 812 GiB/s", "3 µs; from 2.00 MiB 45.1 µs + 17 TiB/s", or "45.1 µs"
 * if the size does not matter. Adds nothing if the curve has no line. */
void atlas_fit_text(const struct atlas_curve *curve, struct text *out);

/* Prints the experiments of a summarised result, one table for each. A row has its parameters and
 * the medians of its metrics over the rounds; if it is not ok, it has its status and the reason
 * instead. CSV has a line for each row and metric. The format must not be
 * TABLE_JSON, which result_print prints. */
void experiment_tables_print(const struct result *result, enum table_format format, FILE *out);
/* Prints one experiment, as TABLE_TEXT or TABLE_MARKDOWN. */
void experiment_table_print(const struct result_experiment *experiment, enum table_format format,
                            FILE *out);
