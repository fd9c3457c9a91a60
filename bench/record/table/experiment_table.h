/* Experiments as text. */
#ifndef GAMUT_RECORD_EXPERIMENT_TABLE_H
#define GAMUT_RECORD_EXPERIMENT_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "record/table/table.h"

/* Prints the experiments of a summarised result, a table each: a line a row, a column a parameter
 * and a metric, medians over rounds. A row that is not ok has its status and the reason in place of
 * numbers. CSV has a line a row and metric instead; JSON is result_print's. */
void experiment_tables_print(const json_t *root, enum table_format format, FILE *out);
/* One of them. */
void experiment_table_print(const json_t *experiment, enum table_format format, FILE *out);

#endif
