/* The charts, drawn by gnuplot into the report's folder and then put into the page. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/text.h"
#include "record/table/atlas_table.h"
#include "record/chart/matrix.h"
#include "base/tree.h"
#include "report/page.h"

/* More cases than this make bars of a hair's breadth, and gnuplot slow. */
enum { CASES_MOST = 2000, SAMPLES_MOST = 3 };

struct drawing {
    struct page *page;
    const struct page_file *file;
    const char *folder;
    size_t made;
    bool no_gnuplot;
};

/* A link for each of the files that belong to a chart. `made`: their common path. */
static void print_links(struct page *page, const char *made)
{
    static const char *const suffixes[] = {"dat", "gp", "svg", "png"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        struct text path = {0};
        struct stat status;
        text_add(&path, "%s.%s", made, suffixes[i]);
        if (stat(path.data, &status) == 0) {
            fputs(" <a href=\"", page->out);
            html_path(page->out, path.data + strlen(page->work) + 1);
            html_print(page->out, "\">%s</a>", suffixes[i]);
        }
        text_free(&path);
    }
}

/* gnuplot's colours of paper, text, axes and grid for a screen that is dark; those of data stay. An
 * image does not see the style sheet of its page, so that each chart carries this. */
static const char dark_style[] =
    "\n<style>@media screen and (prefers-color-scheme:dark){"
    "[fill='#ffffff']{fill:#181c22}"
    "[fill='black'],[fill='rgb(64,64,64)'],[fill='rgb(0,0,0)']{fill:#e4e8ed}"
    "[fill='rgb(96,96,96)']{fill:#98a3b1}"
    "[color='black'],[color='rgb(  0,   0,   0)']{color:#e4e8ed}"
    "[stroke='black'],[stroke='rgb(  0,   0,   0)']{stroke:#e4e8ed}"
    "[stroke='rgb( 64,  64,  64)']{stroke:#98a3b1}"
    "[stroke='rgb(221, 221, 221)']{stroke:#2d343e}"
    "[style*='fill:rgb(0,0,0)']{fill:#e4e8ed!important}"
    "[style*='fill:rgb(255,255,255)']{fill:#181c22!important}}</style>";

/* Adds the dark style to gnuplot's SVG file and reads its size in points. ERR_IO; ERR_PARSE where
 * the file is not gnuplot's. */
static int finish_svg(const char *path, unsigned *width, unsigned *height, struct error *error)
{
    struct text svg = {0}, finished = {0};
    int code = text_read_file(&svg, path, error);
    const char *root = svg.data ? strstr(svg.data, "<svg") : NULL;
    const char *box = root ? strstr(root, "viewBox=\"") : NULL,
               *end = box ? strchr(box, '>') : NULL;
    if (!code && (!end || sscanf(box, "viewBox=\"0 0 %u %u", width, height) != 2))
        code = error_set(error, ERR_PARSE, "gnuplot made no SVG image of it");
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

/* Shows the chart as an image, with links to its files. `made`: their common path. */
static void print_figure(struct drawing *drawing, const char *made, const char *title)
{
    struct page *page = drawing->page;
    struct text path = {0};
    struct error error = {0};
    unsigned width, height;
    text_add(&path, "%s.svg", made);
    html_print(page->out, "<figure><figcaption><strong>%s</strong>", title);
    print_links(page, made);
    fputs("</figcaption>\n", page->out);
    if (finish_svg(path.data, &width, &height, &error)) {
        html_print(page->out, "<p class=\"bad\">This chart could not be put in: %s</p>",
                   error.text);
    } else {
        fputs("<div class=\"scroll\"><img src=\"", page->out);
        html_path(page->out, path.data + strlen(page->work) + 1);
        html_print(page->out,
                   "\" alt=\"Chart: %s\" loading=\"lazy\" width=\"%zu\" height=\"%zu\"/></div>",
                   title, (size_t)width, (size_t)height);
    }
    fputs("</figure>\n", page->out);
    drawing->made++;
    text_free(&path);
}

/* "Wall time of raw over ... on cuda:0, under pool" */
static void add_title(const struct chart *chart, const struct chart_subject *of, struct text *out)
{
    text_add(out, "%c%s; %s", toupper((unsigned char)chart->help[0]), chart->help + 1, of->device);
    if (of->strategy)
        text_add(out, ", %s", of->strategy);
    if (of->workload)
        text_add(out, ", %s %s", of->workload, of->dataset);
}

static void draw(struct drawing *drawing, const struct chart *chart, const struct chart_subject *of)
{
    struct page *page = drawing->page;
    const struct chart_options options = {
        .scripts = page->options->scripts, .folder = drawing->folder, .terminals = "svg"};
    struct text made = {0}, title = {0};
    struct error error = {0};
    int code = chart_draw(chart, of, &options, &made, &error);
    add_title(chart, of, &title);
    if (code == 0)
        print_figure(drawing, made.data, title.data);
    else if (code == ERR_UNSUPPORTED)
        drawing->no_gnuplot = true;
    else if (code != ERR_NOT_FOUND) /* a chart that there are no cases for is none that failed */
        html_print(page->out, "<p class=\"soft\">Not drawn: %s: %s</p>\n", title.data, error.text);
    text_free(&made);
    text_free(&title);
}

/* The pictures of one chart for a device: the first is shown, more of them when asked for. */
static void draw_chart(struct drawing *drawing, const struct chart *chart, const char *device)
{
    struct chart_subject *subjects;
    const size_t count = chart_subjects(chart, drawing->file->root, &subjects);
    size_t of_device = 0, drawn = 0;
    for (size_t i = 0; i < count; i++)
        of_device += strcmp(subjects[i].device, device) == 0;
    for (size_t i = 0; i < count && !drawing->no_gnuplot; i++) {
        if (strcmp(subjects[i].device, device) != 0)
            continue;
        if (++drawn == 2)
            html_print(drawing->page->out, "<details><summary>%zu more: %s</summary>\n",
                       of_device - 1, chart->help);
        draw(drawing, chart, &subjects[i]);
    }
    fputs(drawn > 1 ? "</details>\n" : "", drawing->page->out);
    free(subjects);
}

/* ---- charts of which there would be too many: those where there is most to see -------------- */

struct ranked_subject {
    const struct chart_subject *of;
    double excess; /* the most memory that a case of it held, over the least it could have */
};

static double excess_of_case(const json_t *one)
{
    const double over =
        case_peak(one, "peak_reserved_bytes") / case_peak(one, "live_lower_bound_bytes");
    return isfinite(over) ? over : 0;
}

static double excess_of(const struct chart_subject *of)
{
    double excess = 0;
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(of->root, "cases"), i, each)
    {
        if (case_is_of(json_object_get(each, "key"), of))
            excess = fmax(excess, excess_of_case(each));
    }
    return excess;
}

static int by_excess(const void *a, const void *b)
{
    const struct ranked_subject *x = a, *y = b;
    if (x->excess != y->excess)
        return (x->excess < y->excess) - (x->excess > y->excess);
    return (x->of > y->of) - (x->of < y->of); /* as in the file */
}

static void draw_ranked(struct drawing *drawing, const struct chart *chart,
                        const struct ranked_subject *ranked, size_t count)
{
    struct page *page = drawing->page;
    FILE *out = page->out;
    char *figures = NULL;
    size_t length;
    const size_t made_before = drawing->made;
    page->out = open_memstream(&figures, &length);
    for (size_t i = 0; i < count && drawing->made - made_before < SAMPLES_MOST; i++)
        if (!drawing->no_gnuplot)
            draw(drawing, chart, ranked[i].of);
    fclose(page->out);
    page->out = out;
    const size_t made = drawing->made - made_before;
    if (made) {
        html_print(out,
                   "<details><summary>%s: %zu of %zu, where most was held over the lower bound"
                   "</summary>\n<p class=\"about\">gamut plot --chart %s draws all.</p>\n",
                   chart->help, made, count, chart->name);
        fwrite(figures, 1, length, out);
        fputs("</details>\n", out);
    }
    free(figures);
}

static void draw_samples(struct drawing *drawing, const struct chart *chart, const char *device)
{
    struct chart_subject *subjects;
    const size_t count = chart_subjects(chart, drawing->file->root, &subjects);
    struct ranked_subject *ranked = must_alloc((count + 1) * sizeof *ranked);
    size_t of_device = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(subjects[i].device, device) == 0)
            ranked[of_device++] = (struct ranked_subject){&subjects[i], excess_of(&subjects[i])};
    qsort(ranked, of_device, sizeof *ranked, by_excess);
    draw_ranked(drawing, chart, ranked, of_device);
    free(ranked);
    free(subjects);
}

static void draw_device(struct drawing *drawing, const char *device)
{
    const struct chart *chart;
    for (size_t c = 0; !drawing->no_gnuplot && (chart = chart_at(c)); c++)
        (chart->on_request ? draw_samples : draw_chart)(drawing, chart, device);
}

/* What the atlas of each device says in numbers. */
static void print_atlases(struct page *page, const json_t *root)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(root, "atlas"), i, each)
    {
        struct atlas atlas;
        char *text = NULL;
        size_t length;
        if (atlas_from_json(each, &atlas, NULL))
            continue;
        FILE *buffer = open_memstream(&text, &length);
        atlas_print(&atlas, buffer);
        fclose(buffer);
        html_print(
            page->out,
            "<details><summary>All calls of %s in numbers</summary>\n<pre>%s</pre></details>\n",
            tree_get_text(each, "device"), text);
        free(text);
        atlas_free(&atlas);
    }
}

int page_charts(struct page *page, const struct page_file *file, struct error *error)
{
    const json_t *devices = json_object_get(json_object_get(file->root, "context"), "devices");
    const size_t cases = json_array_size(json_object_get(file->root, "cases"));
    const size_t atlases = json_array_size(json_object_get(file->root, "atlas"));
    const size_t experiments = json_array_size(json_object_get(file->root, "experiments"));
    struct text folder = {0};
    struct drawing drawing = {.page = page, .file = file};
    if (!cases && !atlases && !experiments)
        return 0;
    text_add(&folder, "%s/charts", page->work);
    if (mkdir(folder.data, 0777) != 0 && errno != EEXIST)
        return error_set(error, ERR_IO, "the folder %s could not be made: %s", folder.data,
                         strerror(errno));
    if (page->file_count > 1)
        text_add(&folder, "/%s", file->id);
    drawing.folder = folder.data;
    page_section(page, file, "charts", "Charts", NULL);
    if (cases > CASES_MOST) {
        html_print(page->out,
                   "<p>%zu cases are too many for a chart to show: draw a part of them "
                   "with <code>gamut run</code> and <code>gamut plot</code>.</p>\n",
                   cases);
    } else {
        for (size_t d = 0; d < json_array_size(devices) && !drawing.no_gnuplot; d++)
            draw_device(&drawing, tree_get_text(json_array_get(devices, d), "id"));
    }
    if (drawing.no_gnuplot)
        fputs("<p>No charts: gnuplot was not installed where this report was made.</p>\n",
              page->out);
    print_atlases(page, file->root);
    fputs("</section>\n", page->out);
    text_free(&folder);
    return 0;
}
