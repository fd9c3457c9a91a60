/* HTML that nothing in a result file can break out of. */
#ifndef GAMUT_REPORT_HTML_H
#define GAMUT_REPORT_HTML_H

#include <stddef.h>
#include <stdio.h>

/* printf in which the format is markup and what is put into it is not: every %s is escaped (see
 * html_text). Known are %s, %d, %zu, %f, %g, %e with flags, width and precision, and %%; another
 * one ends the process, being a bug of the caller's. */
void html_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text as text of an element or of an attribute in double quotes. Bytes that are not UTF-8, and
 * characters that HTML forbids, become U+FFFD. */
void html_text(FILE *out, const char *text);

/* The name of a file below the page as the value of href="": all but letters, digits and "/-._~" as
 * %XX. */
void html_path(FILE *out, const char *path);

/* The length of the UTF-8 sequence at s (ending in NUL), of a character that HTML allows; 0 where
 * there is none. */
size_t html_character(const char *s);

#endif
