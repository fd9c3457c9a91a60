/* Output for people: the width of a terminal's lines, whether it shows colour, and texts of files.
 *
 * A status line says how far a command is while it works.
 *
 * A page collects the output of a command, so that lines which are too long for the terminal can be
 * folded between words. Output to a file or a pipe is not folded.
 *
 * A text of a file may hold escape sequences, which would move the cursor or set the window's
 * title. Pages and terminal_print therefore write '?' for control characters (all but line breaks
 * and tabs), for characters that turn the direction of the text around and for bytes that are no
 * UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct terminal {
    size_t width; /* characters of a line; SIZE_MAX: no limit */
    bool colour;  /* escape sequences may be written */
};

/* The characters of a line: COLUMNS, or else the width of the terminal that the file descriptor
 * `file` is open on; 0 if neither is known. */
size_t terminal_columns(int file);

/* The terminal that `out` writes to, as wide as terminal_columns says. Colour needs
 * a TERM other than "dumb" and an empty or unset NO_COLOR. A stream that is no terminal has neither
 * limit nor colour. */
struct terminal terminal_of(FILE *out);

/* In a page, colours are bytes that no UTF-8 text has, so that no text can colour the terminal.
 * terminal_page_close writes them as escape sequences. */
#define TERMINAL_PLAIN  "\xf8"
#define TERMINAL_GREEN  "\xf9"
#define TERMINAL_RED    "\xfa"
#define TERMINAL_YELLOW "\xfb"
#define TERMINAL_BOLD   "\xfc"

/* The bytes of the character that `text` begins with; 0: it is no UTF-8, or it could move the
 * cursor, begin an escape sequence or turn the direction of the text around. */
size_t terminal_shown(const char *text, size_t bytes);

/* The number of characters of a UTF-8 text; colours count as none. */
size_t terminal_characters(const char *text, size_t bytes);

/* Writes a text of one line that begins at column `at`. Where it would exceed `width` it continues
 * in the next line, after `indent` blanks. A word that is longer than a line stays whole. */
void terminal_fold(const char *text, size_t bytes, size_t at, size_t indent, size_t width,
                   FILE *out);

struct terminal_page {
    struct terminal terminal;
    FILE *out;    /* print here; terminal_page_close closes it */
    FILE *target; /* the stream itself */
    char *text;
    size_t length;
};

/* Opens a page that ends up in `target`. The page must stay where it is until it is closed. */
void terminal_page_open(struct terminal_page *page, FILE *target);
/* Writes the collected output with long lines folded, and frees it. */
void terminal_page_close(struct terminal_page *page);

/* A line that says how far a command is. On a terminal that can move its cursor the line is
 * overwritten, at most ten times a second, because people read no more and lines slow terminals
 * over a network. Elsewhere it is a plain line every ten seconds, so that a log shows that the
 * command goes on. Several threads may call the functions for one line. */
struct status_line {
    FILE *out;
    bool redraws;
    bool drawn;        /* the terminal shows a line */
    uint64_t shown_ns; /* when a line was shown last; at first, when the command began */
};

void status_line_open(struct status_line *line, FILE *out);
/* Shows a text of one line, cut to the width of the terminal, unless it comes too soon. */
void status_line_show(struct status_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Erases the line, so that something else can be printed. */
void status_line_clear(struct status_line *line);

/* Prints a message that may contain texts of a file. */
void terminal_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
