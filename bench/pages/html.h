/* Writes HTML in which nothing from a result file can act as markup. */
#pragma once

#include <stdio.h>

/* Like printf: the format is markup, and the arguments are text, which html_text escapes. It knows
 * %s, %d, %zu, %f, %g, %e with flags, width and precision, and %%; any other conversion is a
 * bug of the caller and ends the process. */
void html_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the text of an element, or of an attribute in double quotes. Bytes that are not UTF-8 and
 * characters that HTML forbids become U+FFFD. */
void html_text(FILE *out, const char *text);

/* Prints the path of a file of the report, relative to the page, as the value of href or src.
 * Bytes other than letters, digits and "/-._~" become %XX. */
void html_path(FILE *out, const char *path);
