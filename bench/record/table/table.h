/* A result as text: a table for people, Markdown, CSV or the JSON of the file itself. */
#ifndef GAMUT_RECORD_TABLE_TABLE_H
#define GAMUT_RECORD_TABLE_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/* In the order in which --format lists them. A command offers the first ones of them, as many as it
 * can print. */
enum table_format {
    TABLE_TEXT,       /* for a terminal, grouped by workload, dataset and device */
    TABLE_MARKDOWN,   /* one Markdown table */
    TABLE_CSV,        /* one line per case and metric, times in ns, sizes in bytes */
    TABLE_JSON,       /* the result file itself */
    TABLE_JSON_LINES, /* an object a line, with the columns of TABLE_CSV */
    TABLE_FORMATS
};

/* Prints a summarised result. A case that is not ok has its status in capitals in place of numbers.
 * A column with the same value in every row is left out, and the value is printed once. Only
 * TABLE_TEXT on a terminal has colour, unless NO_COLOR is set or TERM is "dumb". ERR_IO: writing
 * failed. */
int table_print(const json_t *root, enum table_format format, FILE *out, struct error *error);

/* Prints an object on a line of its own, as TABLE_JSON_LINES has it. */
void table_json_line(const json_t *object, FILE *out);

/* Prints a line that says how good the cost model was; nothing if no time was predicted. */
void table_print_model(const json_t *root, FILE *out);

#endif
