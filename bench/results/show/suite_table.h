/* The rows of a suite as a table: published ratios and measured ones. */
#pragma once

#include <stdio.h>

#include "results/show/table.h"

/* Prints the table of a result's suite, as TABLE_TEXT or TABLE_MARKDOWN. Prints nothing for other
 * formats, or if the result has no suite. */
void suite_table_print(const struct result *result, enum table_format format, FILE *out);
