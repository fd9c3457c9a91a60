/* What the sections of a page share. Each section is a file; it prints nothing where it has nothing
 * to say. */
#ifndef GAMUT_REPORT_PAGE_H
#define GAMUT_REPORT_PAGE_H

#include <jansson.h>
#include <stdio.h>

#include "report/html.h"
#include "report/report.h"

struct page_file {
    const char *path; /* as the user named it */
    char name[256];   /* without folders; of the copy in data/ */
    char id[24];      /* before the ids of its sections: "f1" */
    json_t *root;     /* a result, as it is in the file */
};

struct page {
    FILE *out;
    const struct report_options *options;
    const char *work; /* the folder that is being made */
    size_t file_count;
    struct page_file *files;
    json_t *comparison; /* NULL without a base */
};

/* A section's beginning, "<section id=... ><h3>", with what the user reads below the heading (NULL:
 * nothing). It ends with "</section>". */
void page_section(struct page *page, const struct page_file *file, const char *id,
                  const char *title, const char *about);

/* In the order of the page. */
void page_banner(struct page *page);
void page_comparison(struct page *page);
void page_tiles(struct page *page, const struct page_file *file);
void page_machine(struct page *page, const struct page_file *file);
void page_matrix(struct page *page, const struct page_file *file);
int page_charts(struct page *page, const struct page_file *file, struct error *error);
void page_plans(struct page *page, const struct page_file *file);
void page_stability(struct page *page, const struct page_file *file);
void page_failures(struct page *page, const struct page_file *file);
void page_table(struct page *page, const struct page_file *file);
void page_experiments(struct page *page, const struct page_file *file);
void page_reproduce(struct page *page, const struct page_file *file);

/* The style sheet. */
extern const char *const page_style[]; /* lines, up to a NULL */

#endif
