/* The charts of an atlas: the cost of memory by its size, a line for each method of getting it. */
#include <math.h>
#include <string.h>

#include "results/show/gnuplot.h"
#include "results/show/table.h"

/* A logarithmic axis has no 0. */
static unsigned long long at_least_1(uint64_t ns)
{
    return ns ? ns : 1;
}

/* A line a point that was measured with no other memory alive: bytes and median ns, `with_spread`
 * also p10 and p90; NaN where there is none. */
static void print_points(const struct atlas_curve *curve, bool with_spread, FILE *out)
{
    size_t shown = 0;
    for (size_t i = 0; curve && i < curve->point_count; i++) {
        const struct atlas_point *p = &curve->points[i];
        if (p->sample_count == 0 || p->live_count || p->bytes == 0)
            continue;
        fprintf(out, "%llu %llu", (unsigned long long)p->bytes, at_least_1(p->p50_ns));
        if (with_spread)
            fprintf(out, " %llu %llu", at_least_1(p->p10_ns), at_least_1(p->p90_ns));
        fputc('\n', out);
        shown++;
    }
    if (!shown)
        fputs(with_spread ? "NaN NaN NaN NaN\n" : "NaN NaN\n", out);
}

/* "raw: 45.1 µs + 812 GiB/s", or "raw" where there is no line. */
static void add_legend(const char *method, const struct atlas_curve *curve, struct text *out)
{
    struct text fit = {0};
    if (curve)
        atlas_fit_text(curve, &fit);
    text_add(out, "%s%s%s", method, fit.length ? ": " : "", fit.length ? fit.data : "");
    text_free(&fit);
}

/* ---- atlas: cost against size, a panel a call -----------------------------------------------
 *
 * For each panel and each method a block: bytes, then median, p10 and p90 in ns. A method without
 * such a call has one line of NaN. */

static const struct {
    const char *call, *title;
} panels[] = {
    {"alloc", "alloc"},
    {"first_use", "first use, a word a page"},
    {"free", "free on an idle device"},
};
enum { PANELS = sizeof panels / sizeof *panels };

/* The methods that have something to show, in the order of the atlas. */
static struct labels methods_of(const struct atlas *atlas)
{
    struct labels methods = {0};
    for (size_t c = 0; c < atlas->curve_count; c++) {
        const struct atlas_curve *curve = &atlas->curves[c];
        for (size_t i = 0; strcmp(curve->call, "alloc") == 0 && i < curve->point_count; i++)
            if (curve->points[i].sample_count > 0)
                labels_add(&methods, curve->method);
    }
    return methods;
}

static void print_panel(const struct atlas *atlas, const struct labels *methods, size_t panel,
                        struct text *legends, FILE *out)
{
    for (size_t m = 0; m < methods->count; m++) {
        const char *method = methods->name[m];
        const struct atlas_curve *curve = atlas_find(atlas, method, panels[panel].call);
        struct text legend = {0};
        gnuplot_comment(out, "%s %s: bytes p50_ns p10_ns p90_ns", method, panels[panel].call);
        print_points(curve, true, out);
        fputs("\n\n", out);
        add_legend(method, curve, &legend);
        gnuplot_word(legends, legend.data);
        text_free(&legend);
    }
}

static int atlas_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                       struct text *variables, struct error *error)
{
    struct atlas atlas;
    struct labels titles = {0};
    struct text legends = {0};
    TRY(atlas_from_list(of->result->atlas, of->device, &atlas, error));
    struct labels methods = methods_of(&atlas);
    gnuplot_comment(data, "gamut %s of %s", chart->name, atlas.device);
    for (size_t panel = 0; panel < PANELS; panel++) {
        print_panel(&atlas, &methods, panel, &legends, data);
        labels_add(&titles, panels[panel].title);
    }
    gnuplot_labels(variables, "series", &methods);
    gnuplot_labels(variables, "titles", &titles);
    gnuplot_words(variables, "legends", &legends);
    labels_free(&methods);
    labels_free(&titles);
    text_free(&legends);
    atlas_free(&atlas);
    return 0;
}

const struct chart chart_atlas = {
    .name = "atlas",
    .help = "time of alloc, first use and free by size, a line for each method to get memory",
    .scope = CHART_OF_DEVICE,
    .write = atlas_write,
};

/* ---- cost: alloc, first use and free added up, on an idle device -----------------------------
 *
 * A block a method: bytes and ns, medians of the atlas added up. The last block is the time of a
 * copy of as many bytes within the device: a program does at least that with memory it allocates.
 */

/* The median at a size; NaN where it was not measured at this size. 0 where the method has no such
 * call: one that touches its memory when it is made has no first use of its own. */
static double median_at(const struct atlas_curve *curve, uint64_t bytes)
{
    for (size_t i = 0; curve && i < curve->point_count; i++) {
        const struct atlas_point *p = &curve->points[i];
        if (p->bytes == bytes && p->live_count == 0 && p->sample_count > 0)
            return (double)p->p50_ns;
    }
    return curve ? NAN : 0;
}

/* Adds the sum of the medians to the curves of `sums`: as a curve, it has a line fitted, too. */
static void add_sums(const struct atlas *atlas, const struct atlas_curve *alloc, struct atlas *sums)
{
    const struct atlas_curve *first_use = atlas_find(atlas, alloc->method, "first_use");
    const struct atlas_curve *freed = atlas_find(atlas, alloc->method, "free");
    for (size_t i = 0; freed && i < alloc->point_count; i++) {
        const struct atlas_point *p = &alloc->points[i];
        if (p->live_count > 0 || p->sample_count == 0)
            continue;
        const double ns =
            (double)p->p50_ns + median_at(first_use, p->bytes) + median_at(freed, p->bytes);
        struct atlas_point sum = {.bytes = p->bytes};
        uint64_t whole = isnan(ns) ? 0 : (uint64_t)ns;
        if (!isnan(ns)) {
            atlas_summarise(&sum, &whole, 1);
            atlas_add_point(atlas_curve_of(sums, alloc->method, "life"), &sum);
        }
    }
}

static void print_sums(const struct atlas *atlas, struct atlas *sums, FILE *data,
                       struct text *variables)
{
    struct labels methods = {0}, legends = {0};
    gnuplot_comment(data, "gamut cost on %s", atlas->device);
    for (size_t c = 0; c < sums->curve_count; c++) {
        struct atlas_curve *curve = &sums->curves[c];
        struct text legend = {0};
        atlas_finish_curve(curve);
        add_legend(curve->method, curve, &legend);
        labels_add(&methods, curve->method);
        labels_add(&legends, legend.data);
        fputs(c ? "\n\n" : "\n", data);
        gnuplot_comment(data, "%s: bytes ns", curve->method);
        print_points(curve, false, data);
        text_free(&legend);
    }
    fputs("\n\n# copy: bytes ns\n", data);
    print_points(atlas_find(atlas, "command", "copy"), false, data);
    gnuplot_labels(variables, "series", &methods);
    gnuplot_labels(variables, "legends", &legends);
    labels_free(&methods);
    labels_free(&legends);
}

static int cost_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                      struct text *variables, struct error *error)
{
    struct atlas atlas, sums = {0};
    TRY(atlas_from_list(of->result->atlas, of->device, &atlas, error));
    int code = 0;
    for (size_t c = 0; c < atlas.curve_count; c++)
        if (strcmp(atlas.curves[c].call, "alloc") == 0)
            add_sums(&atlas, &atlas.curves[c], &sums);
    if (sums.curve_count == 0)
        code = error_set(error, ERR_NOT_FOUND,
                         "the atlas of %s has no method with both an alloc and a free, whose cost "
                         "the chart %s adds up",
                         of->device, chart->name);
    else
        print_sums(&atlas, &sums, data, variables);
    atlas_free(&sums);
    atlas_free(&atlas);
    return code;
}

const struct chart chart_cost = {
    .name = "cost",
    .help =
        "cost of a memory from alloc to free by its size, compared with a copy of as many bytes",
    .scope = CHART_OF_DEVICE,
    .write = cost_write,
};
