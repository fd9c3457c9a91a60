/* The terminal that a stream may be: how wide its lines are, and whether it shows colour.
 *
 * A page collects what a command prints, so that lines which are too long for the terminal can be
 * folded between words. What goes to a file or a pipe is written as it is.
 */
#ifndef GAMUT_BASE_TERMINAL_H
#define GAMUT_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct terminal {
    size_t width; /* characters of a line; SIZE_MAX: no limit */
    bool colour;  /* escape sequences may be written */
};

/* The width is that of COLUMNS, or else the terminal's own. Colour needs a TERM other than "dumb"
 * and an empty or unset NO_COLOR. A stream that is no terminal has neither limit nor colour. */
struct terminal terminal_of(FILE *out);

/* The characters, not bytes, of a UTF-8 text; escape sequences for colour count nothing. */
size_t terminal_characters(const char *text, size_t bytes);

/* Writes a text of one line that begins at column `at`. Where it would pass the terminal's width it
 * goes on in the next line, `indent` blanks in. A word that is longer than a line stays whole. */
void terminal_fold(const char *text, size_t bytes, size_t at, size_t indent, size_t width,
                   FILE *out);

struct terminal_page {
    struct terminal terminal;
    FILE *out;    /* where to print; closed by terminal_page_close unless it is `target` */
    FILE *target; /* the stream itself */
    char *text;
    size_t length;
};

/* Opens a page that ends up in `target`. The page must stay where it is until it is closed. */
void terminal_page_open(struct terminal_page *page, FILE *target);
/* Writes what was collected, each line that is too long folded, and frees it. */
void terminal_page_close(struct terminal_page *page);

#endif
