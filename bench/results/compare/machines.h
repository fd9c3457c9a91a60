/* Compares machines: which configuration is the fastest where, and what a wrong choice costs.
 *
 * A machine is a device of a file: rounds of different runs are not mixed. A configuration is a
 * case's key without workload, dataset and device. It counts in a program if every machine has
 * tried it. A program is left out if its text or its data differ between machines.
 *
 * On each machine the answer to each program (results/file/answer.h) is computed by itself. The
 * fastest configurations of a program are the first one and those that are `within` or not told
 * apart (`unsure`). Of all machines together a program is
 *
 *   same     a configuration is among the fastest on every machine
 *   differs  none is
 *   unsure   on a machine no order is established: fewer than 6 rounds
 *
 * The loss of a configuration is its time over that of the fastest of the machine; 1 is none. The
 * safest configuration is the one whose largest loss in any program on any machine is the least.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "results/compare/compare.h"
#include "results/show/text_grid.h"

/* X(name, title, about): the tables, in their order. */
#define MACHINES_TABLE_LIST(X)                                                                     \
    X(programs, "The fastest configuration of each program",                                       \
      "Others that are within 2 % or not told apart are counted. Programs on which one choice "    \
      "for all machines costs most come first.")                                                   \
    X(losses, "What a wrong choice costs",                                                         \
      "The time of each configuration over that of the fastest on the machine: the geometric "     \
      "mean over programs, and the worst one.")

#define MACHINES_TABLE(name, ...) MACHINES_##name,
enum machines_table { MACHINES_TABLE_LIST(MACHINES_TABLE) MACHINES_TABLES };
/* Titles, and a sentence below them. */
extern const char *const machines_titles[MACHINES_TABLES], *const machines_abouts[MACHINES_TABLES];

struct machines;

/* Compares all machines of the files, which must outlive the result; the caller frees it. ERR_USAGE
 * where there is one machine alone. */
int machines_compare(const struct compare_file *files, size_t count, struct machines **machines,
                     struct error *error);
/* Frees a comparison; NULL is none. */
void machines_free(struct machines *m);

/* Could a program be compared? */
bool machines_have_any(const struct machines *m);

/* Sentences, as arrays of strings. */
struct machines_words {
    json_t *machines; /* what each machine is: its device, driver and file */
    json_t *remarks;  /* what is left out */
    json_t *answer;   /* what the tables say together */
};
const struct machines_words *machines_words(const struct machines *m);

/* A table as a grid, without rows if there is nothing to show. `show` selects programs: the worst
 * are those that differ. The comparison must outlive the grid; text_grid_free frees it. */
struct text_grid machines_grid_of(const struct machines *m, enum machines_table table,
                                  enum compare_show show);
/* Prints both tables, or as CSV a line for each program, machine and configuration. ERR_IO: writing
 * failed. */
int machines_print(const struct machines *m, enum table_format format, enum compare_show show,
                   FILE *out, struct error *error);
