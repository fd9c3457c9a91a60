/* Shared by the sections of a page: its data, and functions that print headings, tables, text. */
#ifndef GAMUT_REPORT_PAGE_H
#define GAMUT_REPORT_PAGE_H

#include <jansson.h>
#include <stdio.h>

#include "record/table/text_grid.h"
#include "report/html.h"
#include "report/report.h"

struct page_file {
    const char *path; /* as the user named it */
    char name[256];   /* of its copy in data/, without folders */
    char id[24];      /* prefix of the ids of its sections: "f1" */
    json_t *root;     /* the result in the file */
};

struct page {
    FILE *out;
    const struct report_options *options;
    const char *work; /* the folder that the report is made in */
    size_t file_count;
    struct page_file *files;
    json_t *comparison; /* NULL without a base */
};

/* Were all its cases, of which there are some, traces that were replayed? They have no answers that
 * could be wrong. */
bool page_is_replay(const struct page_file *file);

/* Begins a section: prints its heading and below it the text `about` (NULL: none). `file` is NULL
 * for a section of all files. The caller ends the section with "</section>". */
void page_section(const struct page *page, const struct page_file *file, const char *id,
                  const char *title, const char *about);

/* Begins a table: prints the titles of the columns that are not hidden. page_table_end ends it. */
void page_table(FILE *out, const struct text_grid_column *columns, size_t count);
/* Ends a table that page_table began. */
void page_table_end(FILE *out);
/* Prints a grid as a table of at most `most` rows, and above it the columns with one value in all
 * rows. A table of more than `open` rows is folded under a line "120 rows"; `what` is the word
 * after the number. */
void page_grid(FILE *out, const struct text_grid *grid, size_t open, size_t most, const char *what);

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

/* The lines of the style sheet, then NULL. */
extern const char *const page_style[];

#endif
