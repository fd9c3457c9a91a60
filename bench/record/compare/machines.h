/* Compares machines: which configuration is the fastest where, and what a wrong choice costs.
 *
 * A machine is a device of a host under a driver, as files name them: machine_id, id and name of the
 * device, driver. The cases of several files are put together if they are of one machine and no case
 * is in two of them. Else each file is a machine of its own, because rounds of different runs are
 * not mixed. A configuration is a case's key without workload, dataset and device. A configuration
 * counts in a program if every machine has tried it. A program is left out if its text or its data
 * differ between machines.
 *
 * On each machine the answer to each program (record/result/answer.h) is computed by itself. The
 * fastest configurations of a program are the first one and those that are `within` or not told
 * apart (`unsure`). Of all machines together a program is
 *
 *   same     a configuration is among the fastest on every machine
 *   differs  none is
 *   unsure   on a machine no order is established: fewer than 6 rounds
 *
 * The loss of a configuration is its time over that of the fastest of the machine; 1 is none. The
 * safest configuration is the one whose largest loss in any program on any machine is the least.
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
    X(losses, "What a wrong choice costs",                                                         \
      "The time of each configuration over that of the fastest on the machine: the geometric "     \
      "mean over programs, and the worst one.")

enum machines_table {
#define X(name, title, about) MACHINES_##name,
    MACHINES_TABLE_LIST(X)
#undef X
        MACHINES_TABLES
};
/* Titles, and a sentence below them. */
extern const char *const machines_titles[MACHINES_TABLES], *const machines_abouts[MACHINES_TABLES];

/* The comparison of all machines of the files as a tree, which the caller owns. ERR_USAGE where there
 * is one machine alone. */
int machines_compare(const struct compare_file *files, size_t count, json_t **tree,
                     struct error *error);
/* Adds what a machine of the tree is: its device, driver and files. */
void machines_describe(const json_t *machine, struct text *words);
/* Could a program be compared? */
bool machines_have_any(const json_t *tree);

/* Sentences about what is left out and what machines differ in; the caller owns the array. */
json_t *machines_remarks(const json_t *tree);

/* A table as a grid, without rows if there is nothing to show. `show` selects programs: the worst are
 * those that differ. The tree must outlive the grid; text_grid_free frees it. */
struct text_grid machines_grid_of(const json_t *tree, enum machines_table table,
                                  enum compare_show show);
/* Prints the tree as JSON, all times as CSV, or both tables. ERR_IO: writing failed. */
int machines_print(const json_t *tree, enum table_format format, enum compare_show show, FILE *out,
                   struct error *error);

#endif
