/* Cells of tables, in the three ways in which tables are printed. */
#ifndef GAMUT_RECORD_PRINT_H
#define GAMUT_RECORD_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What a terminal is told, where table_wants_colour says so. */
#define PRINT_BOLD   "\033[1m"
#define PRINT_RED    "\033[31m"
#define PRINT_GREEN  "\033[32m"
#define PRINT_YELLOW "\033[33m"
#define PRINT_PLAIN  "\033[0m"

/* Characters, not bytes, of a UTF-8 text. */
size_t print_width(const char *utf8);
/* Fills up with blanks to `width` characters. `colour` is one of the above or "". */
void print_padded(const char *text, size_t width, bool to_the_right, const char *colour, FILE *out);

/* The first line of a text, with bars escaped, as they would end the cell. */
void print_markdown_cell(const char *text, FILE *out);
/* RFC 4180: quoted where it has to be, quotes doubled. */
void print_csv_cell(const char *text, FILE *out);

#endif
