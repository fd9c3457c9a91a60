/* Compares machines: which configuration is the fastest where, and what of a time is the machine's and
 * what the strategy's.
 *
 * A machine is a device of a host under a driver, as files name them: machine_id, id and name of the
 * device, driver. The cases of several files are put together if they are of one machine and no case
 * is in two of them; else each file is a machine of its own, because rounds of different runs are not
 * mixed. A configuration is a case's key without workload, dataset and device. Configurations and
 * programs that not all machines have cases of are left out, and so are programs with another
 * digest.
 *
 * On each machine the answer to each program (record/result/answer.h) is computed by itself. The fastest
 * configurations of a program are the first one and those that are `within` or not told apart
 * (`unsure`). Of all machines together a program is
 *
 *   same     a configuration is among the fastest on every machine
 *   differs  none is
 *   unsure   on a machine no order is established: fewer than 6 rounds
 *
 * The loss of a configuration is its time over that of the fastest of the machine; 1 is none. The safest
 * configuration is the one whose largest loss in any program on any machine is the least.
 *
 * A time is split into
 *
 *   work         the time of the fastest configuration that makes no driver calls in a warm run, with
 *                the same merge set, release policy and residency
 *   calls        what the calls cost by the machine's atlas, as the cost model has recorded it with the case:
 *                driver_ns - waiting_ns + first_use_ns
 *   own          what the strategy's own work takes longer than that of the former configuration
 *   overlap      what the model adds beyond these: waits that calls cause; below 0 the part of calls and own that
 *                the device's work hides
 *   unexplained  the rest, positive or negative
 *
 * The number of calls is the strategy's: the same on every machine, or the tree says where it is not.
 * What a call costs is the machine's. Without a configuration that makes no calls there is no `work`, and
 * without a prediction neither `calls`, `own`, `overlap` nor `unexplained`: these are null.
 *
 * The tree is results/schema/gamut-machines-1.schema.json; everything that is printed comes from it.
 */
#ifndef GAMUT_RECORD_COMPARE_MACHINES_H
#define GAMUT_RECORD_COMPARE_MACHINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "record/compare/compare.h"
#include "record/table/text_grid.h"

#define MACHINES_SCHEMA "gamut.machines/1"

/* X(name, title, about): the tables, in their order. */
#define MACHINES_TABLE_LIST(X)                                                                     \
    X(programs, "The fastest configuration of each program",                                       \
      "Others that are within 2 % or not told apart are counted. Programs on which one choice "    \
      "for all machines costs most come first.")                                                   \
    X(losses, "What each configuration loses",                                                     \
      "Its time over that of the fastest on the machine: the geometric mean over programs, and "   \
      "the worst one.")                                                                            \
    X(calls, "Driver calls, and what a call costs",                                                \
      "The number of calls in warm runs is the strategy's. What a call costs by the machine's "    \
      "atlas, all calls as a part of the whole time, and the part that nothing explains.")         \
    X(splits, "Where the time goes",                                                               \
      "work: the fastest run without driver calls. calls: by the machine's atlas. own: the "       \
      "strategy's own work. overlap: waits that calls cause, or below 0 what is hidden.")          \
    X(prices, "What a call costs by size", "Medians of each machine's atlas, on an idle device.")

enum machines_table {
#define X(name, title, about) MACHINES_##name,
    MACHINES_TABLE_LIST(X)
#undef X
        MACHINES_TABLES
};
/* Titles, and a sentence below them. */
extern const char *const machines_titles[MACHINES_TABLES], *const machines_abouts[MACHINES_TABLES];

/* The comparison of all machines of the files as a tree, which the caller owns. Files with an atlas alone
 * give its prices. ERR_USAGE where there is one machine alone. */
int machines_compare(const struct compare_file *files, size_t count, json_t **tree,
                     struct error *error);
/* Adds what a machine of the tree is: its device, driver and files. */
void machines_describe(const json_t *machine, struct text *words);
/* Could anything be compared: a program, or a price? */
bool machines_have_any(const json_t *tree);

/* Sentences about what is left out, what machines differ in, and where they make other calls; the caller owns
 * the array. */
json_t *machines_remarks(const json_t *tree);

/* A table as a grid, without rows if there is nothing to show. `show` selects programs: the worst are
 * those that differ; the splits are of all programs or of those that differ, and the prices of all
 * methods or of `raw`. The tree must outlive the grid; text_grid_free frees it. */
struct text_grid machines_grid_of(const json_t *tree, enum machines_table table,
                                  enum compare_show show);
/* Prints the tree as JSON, all splits as CSV, or all tables. ERR_IO: writing failed. */
int machines_print(const json_t *tree, enum table_format format, enum compare_show show, FILE *out,
                   struct error *error);

#endif
