/* Flags that several commands have. Each has one help text, which stands here. A command's table
 * lists the groups and its own flags. */
#pragma once

#include "cli/flags.h"
#include "results/show/table.h"

/* clang-format off */

/* ---- output ---- */

/* `first` is one of `words`, "table|json". */
#define FLAG_FORMAT(first, words)                                                                  \
    {"format", 'f', FLAG_CHOICE, .value = "FORMAT", .fallback = first, .choices = words,           \
     .help = "what is printed on stdout"}
/* All formats of table_print. */
#define FLAG_FORMAT_OF_CASES                                                                       \
    {"format", 'f', FLAG_CHOICE, .value = "FORMAT", .fallback = "table",                           \
     .choices = TABLE_FORMAT_CHOICES, .help = TABLE_FORMAT_HELP},                                  \
    {"show", 0, FLAG_CHOICE, .value = "WHAT", .fallback = "cases", .choices = "cases|means",       \
     .help = "the rows of a table: all cases and the means, or the means and what failed"}

#define FLAG_FORCE {"force", 0, FLAG_SWITCH, .help = "replace FILE if it exists"}
#define FLAG_RESULTS                                                                               \
    {"results", 0, FLAG_TEXT, .value = "RESULTS", .fallback = "results",                           \
     .help = "the folder of result files"}

/* The result file of a command that measures. */
#define FLAGS_RESULT_FILE                                                                          \
    {"out", 'o', FLAG_TEXT,                                                                        \
     .help = "the result file; FILE.gz is compressed [RESULTS/<machine>/<time>-<rev>.json]"},      \
    FLAG_FORCE,                                                                                    \
    FLAG_RESULTS,                                                                                  \
    {"no-save", 0, FLAG_SWITCH, .help = "write no result file"}
/* The result file of a command that prints an answer. */
#define FLAGS_ALSO_RESULT_FILE                                                                     \
    {"out", 'o', FLAG_TEXT,                                                                        \
     .help = "also write a result file, with what --format json prints; FILE.gz is compressed"},   \
    FLAG_FORCE

/* ---- what is measured ---- */

#define FLAG_DEVICES                                                                               \
    {"device", 'D', FLAG_LIST, .fallback = "best",                                                 \
     .help = "host, cuda, opencl:1, opencl:NVIDIA, all, …"}
#define FLAG_SEED(whose)                                                                           \
    {"seed", 0, FLAG_COUNT, .fallback = "42", .most = (1ull << 53) - 1, .help = whose}
#define FLAG_MEM_LIMIT                                                                             \
    {"mem-limit", 0, FLAG_BYTES,                                                                   \
     .help = "the most device memory that an allocator may hold; requests beyond it are refused"}
#define FLAG_TIMEOUT(time)                                                                         \
    {"timeout", 0, FLAG_TIME, .fallback = time, .least = 1000000,                                  \
     .help = "the longest that a case may take in a round, checking included"}
/* The flag of commands that divide their work. */
#define FLAG_SHARD                                                                                 \
    {"shard", 0, FLAG_TEXT, .value = "K/N",                                                        \
     .help = "do only the K-th of N parts of the list, and go on with --out where an earlier try " \
             "left it"}

/* ---- which cases of result files ---- */

#define FLAG_ONLY(name, letter, whose)                                                             \
    {name, letter, FLAG_LIST, .fallback = "*", .help = "only cases " whose ", * and ? allowed"}
#define FLAG_ONLY_WORKLOADS FLAG_ONLY("workload", 'w', "of these workloads")
#define FLAG_ONLY_STRATEGIES                                                                       \
    FLAG_ONLY("strategy", 's', "of these strategies, with their options")

/* ---- replays without a device ---- */

#define FLAG_TRACE_STRATEGIES                                                                      \
    {"strategy", 's', FLAG_LIST, .help =                                                           \
     "allocators: all, recorded (the trace's own), pool, 'caching:max_split=64MiB', … [all]"}
#define FLAG_SUITE                                                                                 \
    {"suite", 0, FLAG_TEXT, .value = "NAME", .help =                                               \
     "also the traces of a suite: real, corpus, or a part of it: corpus:judge, corpus:training"}
#define FLAG_FREE_AT(words)                                                                        \
    {"free-at", 0, FLAG_CHOICE, .value = "WHEN", .fallback = "done", .choices = words,             \
     .help = "when a freed block may be used again: when its last command is done, or when the "   \
             "application frees it"}
#define FLAG_ATLAS                                                                                 \
    {"atlas", 0, FLAG_TEXT,                                                                        \
     .help = "an atlas by name (gamut list atlases) or a result file with one, whose prices driver "  \
             "calls have; of several, cuda:0"}
#define FLAG_JOBS                                                                                  \
    {"jobs", 'j', FLAG_COUNT, .fallback = "0", .most = 1024,                                       \
     .help = "replays at once; 0: one for each processor"}

/* clang-format on */
