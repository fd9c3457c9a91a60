/* Shared by the sections of a page: its data, and functions that print headings, tables, text. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "pages/report.h"
#include "results/file/result.h"
#include "results/show/text_grid.h"

/* HTML in which nothing from a result file can act as markup. */

/* Like printf: the format is markup, and the arguments are text, which html_text escapes. It knows
 * %s, %d, %zu, %f, %g, %e with flags, width and precision, and %%; any other conversion is a
 * bug of the caller and ends the process. */
void html_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the text of an element, or of an attribute in double quotes. Bytes that are not UTF-8 and
 * characters that HTML forbids become U+FFFD. */
void html_text(FILE *out, const char *text);

/* Prints the policy of a page that has one script, whose hash this is, "sha256-" and 44 letters:
 * browsers run no other, and take pictures from the page's folder alone. */
void html_policy(FILE *out, const char *hash);

/* Prints the path of a file of the report, relative to the page, as the value of href or src.
 * Bytes other than letters, digits and "/-._~" become %XX. */
void html_path(FILE *out, const char *path);

/* The cases in the tables of a page, of all its files together. With its ratios a case has 450
 * bytes, and a page is to have less than a megabyte. */
enum { PAGE_CASES_MOST = 1500 };

struct page_file {
    const char *path; /* as the user named it */
    char name[256];   /* of its copy in data/, without folders */
    char id[24];      /* prefix of the ids of its sections: "f1" */
    /* The tables of the file show its first cases, this many, and say how many they leave out. */
    size_t cases_most;
    struct result result;
};

/* The sections that were begun so far, for the table of contents. */
struct page_contents {
    size_t count;
    struct page_heading {
        const struct page_file *file; /* NULL: of all files */
        const char *id, *title;
    } * headings;
};

struct page {
    FILE *out;
    struct page_contents *contents;
    const struct report_options *options;
    const char *work; /* the folder that the report is made in */
    size_t file_count;
    struct page_file *files;
    json_t *comparison;   /* NULL without a base */
    const char *pictured; /* the device whose picture stands beside the banner; NULL: none */
};

/* Were all its cases, of which there are some, traces that were replayed? They have no answers that
 * could be wrong. */
bool page_is_replay(const struct page_file *file);

/* Begins a page: prints its head, with the style sheet, and opens the body. page_end ends it. */
void page_begin(FILE *out, const char *title);
/* Prints the script of a page that page_begin began, and closes it. */
void page_end(FILE *out);

/* Begins a section: prints its heading and below it the text `about` (NULL: none), and adds the
 * heading to the contents. `file` is NULL for a section of all files. `id` and `title` are
 * borrowed. The caller ends the section with "</section>". */
void page_section(const struct page *page, const struct page_file *file, const char *id,
                  const char *title, const char *about);

/* Begins a table: prints the titles of the columns that are not hidden. page_table_end ends it. */
void page_table(FILE *out, const struct text_grid_column *columns, size_t count);
/* Ends a table that page_table began. */
void page_table_end(FILE *out);
/* Options of page_grid for the rows of a grid. */
struct page_rows {
    size_t open; /* a table of more rows is folded under a line "120 rows" */
    size_t most; /* rows after these are left out, which a sentence says; 0: none is */
    /* A sentence about what shows the rows that are left out; may be NULL if none can be. */
    const char *rest;
    const char *what; /* the word after the number */
    bool can_sort;    /* the script of the page sorts the table, and filters it if it is long */
    const struct page_file
        *file; /* each row is a case of this file, and has its id; NULL: none has */
};
/* Prints a grid as a table, and above it the columns with one value in all rows. */
void page_grid(FILE *out, const struct text_grid *grid, const struct page_rows *rows);

/* Text that other rooms print for a terminal, captured to be put into the page. */
struct page_capture {
    char *text;
    size_t length;
    FILE *stream;
};
/* Returns the stream to print to. */
FILE *page_capture(struct page_capture *capture);
/* Closes the stream and frees the text. Prints it between `before` and `after` (both markup), or
 * nothing if it is empty. */
void page_captured(struct page_capture *capture, const char *before, const char *after, FILE *out);
