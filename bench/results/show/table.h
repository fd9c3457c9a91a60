/* A result as text: tables for people, Markdown, CSV or the JSON of the file itself. */
#pragma once

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
    TABLE_JSON_LINES, /* these and the next: export_lines and so on, below */
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

/* The rows of a table for people, in the order in which --show lists them. */
enum table_show {
    TABLE_CASES, /* each case, then the means */
    TABLE_MEANS, /* the means, and of a device without means its cases; cases that are not ok */
};

/* Prints a summarised result. A case that is not ok has its status in capitals in place of numbers.
 * A column with the same value in every row is left out, and the value is printed once. Only
 * TABLE_TEXT on a terminal has colour, unless NO_COLOR is set or TERM is "dumb". ERR_IO: writing
 * failed. */
int table_print(const struct result *result, enum table_format format, enum table_show show,
                FILE *out, struct error *error);
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
/* Prints advice (result.advice) as a table: a line for each program, the most bytes to save first,
 * and a last one with the sums. What is for all programs together is left out. The format must not
 * be TABLE_JSON. CSV has bytes, and no line with sums. */
void advice_table_print(const json_t *advice, enum table_format format, FILE *out);
/* Prints what each strategy costs over all programs of a list of fits (results/file/standings.h),
 * the least regret first, and below it, where kinds and times are known, the best strategies of
 * each kind. The format is TABLE_TEXT, TABLE_MARKDOWN or TABLE_CSV; CSV has the first table alone.
 * */
void standings_print(const json_t *fits, enum table_format format, FILE *out);
/* Prints, for each other strategy of the fits, the programs in which it reserves more or less than
 * the strategy `base`, needs another least capacity, or spends other time in the driver's calls, by
 * more than the part `bound`: worse ones first. A program in which one of these is better and one
 * is worse is mixed. CSV has all programs. Returns how many are worse or mixed. */
size_t against_print(const json_t *fits, const char *base, double bound, enum table_format format,
                     FILE *out);
/* Puts a list of advice, each for one program, into the order of the table. */
void advice_sort(json_t *advice);
/* Prints one experiment, as TABLE_TEXT or TABLE_MARKDOWN. */
void experiment_table_print(const struct result_experiment *experiment, enum table_format format,
                            FILE *out);

/* A result in the formats that dashboards and other tools read. Each has one number for a time of a
 * case, or one a round; the result file has the rest. A case that is not ok has no number in any of
 * them. Names of cases are the members of their keys, joined by '/'.
 *
 *   JSON lines   an object a line for each case, flat: the run, the key, the status, for a time its
 *                median and interval (wall_ns, wall_ns_lo, wall_ns_hi), for a counter its warm
 *                count and, as cold_NAME, its cold one
 *   Google Benchmark   the JSON of its reporter, which its compare.py reads: an entry of the type
 *                "iteration" for each round, with its median as the time, then the aggregates. A
 *                round is a process of its own, as a repetition is meant to be. gamut measures no
 *                time of the processor, and compare.py skips entries without one: cpu_time repeats
 *                real_time, and the context says so. Cases that are not ok stand in the context.
 *                (google/benchmark, src/json_reporter.cc, tools/gbench/report.py, commit 058fb588;
 *                compare.py of 1.7.1 reads it)
 *   BMF          Bencher's metric format: for each case its measures, each with a value and, where
 *                there is one, its interval. wall_ns is Bencher's own measure "latency", which is
 *                in nanoseconds. (bencher.dev/docs/reference/bencher-metric-format)
 *   Otava        what the importer of the type "json" of Apache Otava 0.8.0 reads: an array with an
 *                object for each result, in the order of the results. It has the time of the run,
 *                the attributes "commit" and "run", and a list of metrics. A metric is named after
 *                its case and its key in the JSON lines; a time also has the id of its machine,
 *                "…/wall_ns@6827db66", because times of two machines are no series. The importer
 *                wants every metric in every result: a result without it has null, which Otava
 *                fills with the value before it. A result without any number is left out.
 */

/* Prints a summarised result as JSON lines. */
void export_lines(const struct result *result, FILE *out);
/* Prints it as Google Benchmark's JSON. */
void export_google_benchmark(const struct result *result, FILE *out);
/* Prints it as BMF. */
void export_bmf(const struct result *result, FILE *out);
/* Prints summarised results as one history for Otava. */
void export_otava(const struct result *results, size_t count, FILE *out);
