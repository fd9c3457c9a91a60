/* The charts: gnuplot draws them into the report's folder, and the page shows them as images. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/tree.h"
#include "results/show/matrix.h"
#include "results/show/table.h"
#include "pages/sections.h"

/* CASES_MOST: with more, marks are too small to see and gnuplot is slow. */
enum { CASES_MOST = 2000 };

struct drawing {
    const struct page *page;
    const struct page_file *file;
    const char *folder; /* the folder of the charts */
    FILE *out;
    size_t made; /* figures so far */
    bool no_gnuplot;
};

/* Makes the folder of a file's charts, and adds its path to `folder`. */
static struct drawing begin_drawing(const struct page *page, const struct page_file *file,
                                    struct text *folder)
{
    text_add(folder, "%s/charts", page->work);
    mkdir(folder->data, 0777); /* if this fails, each chart reports it */
    if (page->file_count > 1)
        text_add(folder, "/%s", file->id);
    return (struct drawing){.page = page, .file = file, .folder = folder->data, .out = page->out};
}

/* Links to the files of a chart. `made`: their common path. */
static void print_links(FILE *out, const char *work, const char *made)
{
    static const char *const endings[] = {"dat", "gp", "svg"};
    static const char *const words[] = {"data", "script", "picture"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct text path = {0};
        text_add(&path, "%s.%s", made + strlen(work) + 1, endings[i]);
        fputs(" <a href=\"", out);
        html_path(out, path.data);
        html_print(out, "\">%s</a>", words[i]);
        text_free(&path);
    }
}

/* Dark-screen colours for gnuplot's paper, text, axes, grid and stripes; the colours of data stay.
 * An image does not see the style sheet of its page, so each chart carries these. */
static const char dark_style[] =
    "\n<style>@media screen and (prefers-color-scheme:dark){"
    "[fill='#ffffff']{fill:#181c22}"
    "[fill='black'],[fill='rgb(64,64,64)'],[fill='rgb(0,0,0)']{fill:#e4e8ed}"
    "[fill='rgb(243, 243, 243)']{fill:#222831}"
    "[fill='rgb(232, 232, 232)'],[fill='rgb(224, 224, 224)']{fill:#3a424e}"
    "[fill='rgb(221, 221, 221)']{fill:#5b6573}"
    "[fill='rgb(96,96,96)']{fill:#98a3b1}"
    "[color='black'],[color='rgb(  0,   0,   0)']{color:#e4e8ed}"
    "[stroke='black'],[stroke='rgb(  0,   0,   0)']{stroke:#e4e8ed}"
    "[stroke='rgb( 64,  64,  64)']{stroke:#98a3b1}"
    "[stroke='rgb(221, 221, 221)']{stroke:#2d343e}"
    "[style*='fill:rgb(0,0,0)']{fill:#e4e8ed!important}"
    "[style*='fill:rgb(255,255,255)']{fill:#181c22!important}}</style>";

/* Adds the dark style to the SVG file of a chart, and reads its width and height, in points.
 * ERR_IO; ERR_PARSE where the file is not gnuplot's. */
static int finish_svg(const char *path, unsigned *width, unsigned *height, struct error *error)
{
    struct text svg = {0}, finished = {0};
    int code = text_read_file(&svg, path, error);
    const char *root = svg.data ? strstr(svg.data, "<svg") : NULL;
    const char *box = root ? strstr(root, "viewBox=\"") : NULL,
               *end = box ? strchr(box, '>') : NULL;
    if (!code && (!end || sscanf(box, "viewBox=\"0 0 %u %u", width, height) != 2))
        code = error_set(error, ERR_PARSE, "gnuplot did not write it as SVG");
    if (!code) {
        text_add_bytes(&finished, svg.data, (size_t)(end + 1 - svg.data));
        text_add_bytes(&finished, dark_style, sizeof dark_style - 1);
        text_add_bytes(&finished, end + 1, svg.length - (size_t)(end + 1 - svg.data));
        code = text_write_file(&finished, path, error);
    }
    text_free(&svg);
    text_free(&finished);
    return code;
}

/* Shows a chart as an image, with links to its files. `made` is their common path, in the folder
 * `work`. */
static void print_figure(FILE *out, const char *work, const char *made, const char *title)
{
    struct text path = {0};
    struct error error = {0};
    unsigned width, height;
    text_add(&path, "%s.svg", made);
    html_print(out, "<figure><figcaption><strong>%s</strong>", title);
    print_links(out, work, made);
    fputs("</figcaption>\n", out);
    if (finish_svg(path.data, &width, &height, &error)) {
        html_print(out, "<p class=\"bad\">This chart could not be added: %s</p>", error.text);
    } else {
        fputs("<div class=\"scroll\"><div class=\"chart\"><img src=\"", out);
        html_path(out, path.data + strlen(work) + 1);
        html_print(out, "\" alt=\"Chart: %s\" loading=\"lazy\" width=\"%zu\" height=\"%zu\"/>",
                   title, (size_t)width, (size_t)height);
        fputs("</div></div>\n", out);
    }
    fputs("</figure>\n", out);
    text_free(&path);
}

static void draw_subject(struct drawing *drawing, const struct chart *chart,
                         const struct chart_subject *of)
{
    const struct chart_options options = {
        .scripts = drawing->page->options->scripts, .folder = drawing->folder, .terminals = "svg"};
    struct text made = {0}, title = {0};
    struct error error = {0};
    int code = chart_draw(chart, of, &options, &made, &error);
    /* "Wall time of raw over that of each strategy, by workload, with intervals; cuda:0" */
    text_add(&title, "%c%s; %s", toupper((unsigned char)chart->help[0]), chart->help + 1,
             of->device);
    if (of->strategy)
        text_add(&title, ", %s", of->strategy);
    if (code == 0) {
        print_figure(drawing->out, drawing->page->work, made.data, title.data);
        drawing->made++;
    } else if (code == ERR_UNSUPPORTED)
        drawing->no_gnuplot = true;
    else if (code != ERR_NOT_FOUND) /* a result without cases for a chart is no failure */
        html_print(drawing->out, "<p class=\"soft\">Not drawn: %s: %s</p>\n", title.data,
                   error.text);
    text_free(&made);
    text_free(&title);
}

/* Draws all pictures of a chart for a device; those after the first are folded. */
static void draw_all(struct drawing *drawing, const struct chart *chart, const char *device)
{
    FILE *out = drawing->out;
    struct chart_subject *subjects;
    char *folded = NULL;
    size_t length;
    const size_t count = chart_subjects(chart, &drawing->file->result, device, &subjects);
    const size_t made_before = drawing->made;
    FILE *more = open_memstream(&folded, &length);
    for (size_t i = 0; i < count && !drawing->no_gnuplot; i++) {
        if (chart == &chart_pareto && device == drawing->page->pictured)
            continue;
        drawing->out = drawing->made > made_before ? more : out;
        draw_subject(drawing, chart, &subjects[i]);
    }
    fclose(more);
    drawing->out = out;
    if (length) {
        const size_t made = drawing->made - made_before;
        html_print(out, "<details><summary>%zu more: %s</summary>\n", made ? made - 1 : 0,
                   chart->help);
        fwrite(folded, 1, length, out);
        fputs("</details>\n", out);
    }
    free(folded);
    free(subjects);
}

/* Draws the charts of a device that show all its cases. What is held is in the table of programs,
 * with the same figures; a replay has no other chart of it. */
static void draw_device(struct drawing *drawing, const char *device)
{
    const struct chart *chart;
    for (size_t c = 0; !drawing->no_gnuplot && (chart = chart_at(c)); c++)
        if (chart != &chart_held || page_is_replay(drawing->file))
            draw_all(drawing, chart, device);
}

/* ---- all devices ----------------------------------------------------------------------------- */

/* Prints the atlas of each device in numbers. */
static void print_atlases(const struct page *page, const json_t *atlases)
{
    size_t i;
    json_t *each;
    json_array_foreach((json_t *)atlases, i, each)
    {
        struct atlas atlas;
        struct page_capture text;
        if (atlas_from_json(each, &atlas, NULL))
            continue;
        atlas_print(&atlas, page_capture(&text));
        html_print(page->out, "<details><summary>All calls of %s in numbers</summary>\n",
                   tree_get_text(each, "device"));
        page_captured(&text, "<pre>", "</pre>", page->out);
        fputs("</details>\n", page->out);
        atlas_free(&atlas);
    }
}

void section_picture(struct page *page)
{
    for (size_t f = 0; f < page->file_count && !page->pictured; f++) {
        const struct result *result = &page->files[f].result;
        struct text folder = {0};
        struct drawing drawing = begin_drawing(page, &page->files[f], &folder);
        for (size_t d = 0; d < result->context.device_count && !page->pictured; d++) {
            const char *device = result->context.devices[d].id;
            if (result->case_count <= CASES_MOST && !drawing.no_gnuplot)
                draw_subject(&drawing, &chart_pareto,
                             &(struct chart_subject){.result = result, .device = device});
            page->pictured = drawing.made ? device : NULL;
        }
        text_free(&folder);
    }
}

void section_charts(const struct page *page, const struct page_file *file)
{
    const struct result *result = &file->result;
    const size_t cases = result->case_count;
    struct text folder = {0};
    if (!cases && !json_array_size(result->atlas) && !result->experiment_count)
        return;
    struct drawing drawing = begin_drawing(page, file, &folder);
    page_section(page, file, "charts", "Charts", NULL);
    if (cases > CASES_MOST)
        html_print(page->out,
                   "<p>%zu cases are too many for a chart to show. <code>gamut plot</code> draws "
                   "those that you choose with -w and -s.</p>\n",
                   cases);
    else
        for (size_t d = 0; d < result->context.device_count && !drawing.no_gnuplot; d++)
            draw_device(&drawing, result->context.devices[d].id);
    if (drawing.no_gnuplot)
        fputs("<p>No charts: gnuplot was not installed where this report was made.</p>\n",
              page->out);
    print_atlases(page, result->atlas);
    fputs("</section>\n", page->out);
    text_free(&folder);
}
