/* The experiments of a result as text. */
#pragma once

#include <stdio.h>

#include "results/show/table.h"

/* Prints the experiments of a summarised result, one table for each. A row has its parameters and
 * the medians of its metrics over the rounds; if it is not ok, it has its status and the reason
 * instead. CSV has a line for each row and metric. The format must not be
 * TABLE_JSON, which result_print prints. */
void experiment_tables_print(const struct result *result, enum table_format format, FILE *out);
/* Prints one experiment, as TABLE_TEXT or TABLE_MARKDOWN. */
void experiment_table_print(const struct result_experiment *experiment, enum table_format format,
                            FILE *out);
