/* What the whole life of a memory costs by its size: alloc, first use and free on an idle device,
 * a line for each method to get memory; and what copying as many bytes within the device takes, which
 * is the least that a program which allocates them does with them.
 *
 *     bytes ns
 *
 * One block a method, medians of the atlas added up; the copy's is the last.
 */
#include <math.h>
#include <string.h>

#include "record/table/atlas_table.h"
#include "record/chart/matrix.h"
#include "record/chart/gnuplot.h"

/* A method that touches its memory when it is made has no first use of its own. */
static double median_at(const struct atlas_curve *curve, uint64_t bytes)
{
    for (size_t i = 0; curve && i < curve->point_count; i++) {
        const struct atlas_point *p = &curve->points[i];
        if (p->bytes == bytes && p->live_count == 0 && p->sample_count > 0)
            return (double)p->p50_ns;
    }
    return curve ? NAN : 0;
}

/* The sum of the medians as a curve, so that it has a line fitted too. The caller frees it by the
 * atlas that holds it. */
static void add_method(const struct atlas *atlas, const struct atlas_curve *alloc,
                       struct atlas *sums)
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

static void write_curve(const char *name, const struct atlas_curve *curve, FILE *out)
{
    fprintf(out, "\n\n# %s: bytes ns\n", name);
    bool any = false;
    for (size_t i = 0; curve && i < curve->point_count; i++) {
        const struct atlas_point *p = &curve->points[i];
        if (p->sample_count == 0 || p->live_count > 0 || p->bytes == 0)
            continue;
        fprintf(out, "%llu %llu\n", (unsigned long long)p->bytes,
                (unsigned long long)(p->p50_ns ? p->p50_ns : 1));
        any = true;
    }
    if (!any)
        fputs("NaN NaN\n", out);
}

static void write_sums(const struct atlas *atlas, struct atlas *sums, FILE *data,
                       struct text *variables)
{
    struct labels methods = {0}, legends = {0};
    fprintf(data, "# gamut cost on %s", atlas->device);
    for (size_t c = 0; c < sums->curve_count; c++) {
        struct atlas_curve *curve = &sums->curves[c];
        struct text fit = {0}, legend = {0};
        atlas_finish_curve(curve);
        atlas_fit_text(curve, &fit);
        text_add(&legend, "%s%s%s", curve->method, fit.length ? ": " : "",
                 fit.length ? fit.data : "");
        labels_add(&methods, curve->method);
        labels_add(&legends, legend.data);
        write_curve(curve->method, curve, data);
        text_free(&fit);
        text_free(&legend);
    }
    write_curve("copy", atlas_find(atlas, "command", "copy"), data);
    labels_variable(&methods, "series", variables);
    labels_variable(&legends, "legends", variables);
    labels_free(&methods);
    labels_free(&legends);
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    struct atlas atlas, sums = {0};
    int code = atlas_of_result(of->root, of->device, &atlas, error);
    if (code)
        return code;
    for (size_t c = 0; c < atlas.curve_count; c++)
        if (strcmp(atlas.curves[c].call, "alloc") == 0)
            add_method(&atlas, &atlas.curves[c], &sums);
    if (sums.curve_count == 0)
        code =
            error_set(error, ERR_NOT_FOUND,
                      "the atlas of %s has no method with both an alloc and a free, whose cost the "
                      "chart %s adds up",
                      of->device, chart_cost.name);
    else
        write_sums(&atlas, &sums, data, variables);
    atlas_free(&sums);
    atlas_free(&atlas);
    return code;
}

const struct chart chart_cost = {
    .name = "cost",
    .help = "what a memory costs from alloc to free by its size, beside a copy of as many bytes",
    .scope = CHART_OF_DEVICE,
    .write = write,
};
