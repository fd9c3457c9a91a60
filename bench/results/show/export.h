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
#pragma once

#include <stdio.h>

#include "results/file/result.h"

/* Prints a summarised result as JSON lines. */
void export_lines(const struct result *result, FILE *out);
/* Prints it as Google Benchmark's JSON. */
void export_google_benchmark(const struct result *result, FILE *out);
/* Prints it as BMF. */
void export_bmf(const struct result *result, FILE *out);
/* Prints summarised results as one history for Otava. */
void export_otava(const struct result *results, size_t count, FILE *out);
