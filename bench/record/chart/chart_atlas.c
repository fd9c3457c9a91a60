/* The chart of an atlas: cost against size, a panel a call, a line a method. For each panel (alloc,
 * first use, free) and each method one block: bytes, then median, p10 and p90 in ns. A method without
 * such a call has one line of NaN. */
#include <string.h>

#include "record/table/atlas_table.h"
#include "record/chart/matrix.h"
#include "record/chart/gnuplot.h"

/* X(call, title): the panels. */
#define PANEL_LIST(X)                                                                              \
    X(alloc, "alloc")                                                                              \
    X(first_use, "first use, a word a page")                                                       \
    X(free, "free on an idle device")

static const struct {
    const char *call, *title;
} panels[] = {
#define X(call, title) {#call, title},
    PANEL_LIST(X)
#undef X
};
enum { PANELS = sizeof panels / sizeof *panels };

/* Methods that have something to show, in the order of the atlas. */
static bool is_drawn(const struct atlas *atlas, size_t c)
{
    const struct atlas_curve *curve = &atlas->curves[c];
    if (strcmp(curve->call, "alloc") != 0)
        return false;
    for (size_t i = 0; i < curve->point_count; i++)
        if (curve->points[i].sample_count > 0)
            return true;
    return false;
}

static void write_block(const struct atlas_curve *curve, FILE *out)
{
    bool any = false;
    for (size_t i = 0; curve && i < curve->point_count; i++) {
        const struct atlas_point *p = &curve->points[i];
        if (p->sample_count == 0 || p->live_count > 0)
            continue;
        /* Less than a nanosecond has no place on a logarithmic axis. */
        fprintf(out, "%llu %llu %llu %llu\n", (unsigned long long)p->bytes,
                (unsigned long long)(p->p50_ns ? p->p50_ns : 1),
                (unsigned long long)(p->p10_ns ? p->p10_ns : 1),
                (unsigned long long)(p->p90_ns ? p->p90_ns : 1));
        any = true;
    }
    if (!any)
        fputs("NaN NaN NaN NaN\n", out);
}

static void write_data(const struct atlas *atlas, FILE *out)
{
    fprintf(out, "# gamut atlas of %s\n", atlas->device);
    for (size_t panel = 0; panel < PANELS; panel++)
        for (size_t c = 0; c < atlas->curve_count; c++) {
            const char *method = atlas->curves[c].method;
            if (!is_drawn(atlas, c))
                continue;
            fprintf(out, "# %s %s: bytes p50_ns p10_ns p90_ns\n", method, panels[panel].call);
            write_block(atlas_find(atlas, method, panels[panel].call), out);
            fputs("\n\n", out);
        }
}

/* "raw: 45.1 us + 812 GiB/s", for each panel and method. */
static void add_legends(const struct atlas *atlas, struct text *out)
{
    for (size_t panel = 0; panel < PANELS; panel++)
        for (size_t c = 0; c < atlas->curve_count; c++) {
            const char *method = atlas->curves[c].method;
            if (!is_drawn(atlas, c))
                continue;
            const struct atlas_curve *curve = atlas_find(atlas, method, panels[panel].call);
            struct text fit = {0};
            if (curve)
                atlas_fit_text(curve, &fit);
            text_add(out, "\"%s%s%s\" ", method, fit.length ? ": " : "",
                     fit.length ? fit.data : "");
            text_free(&fit);
        }
}

static void add_variables(const struct atlas *atlas, struct text *out)
{
    struct labels methods = {0}, titles = {0};
    struct text legends = {0};
    for (size_t c = 0; c < atlas->curve_count; c++)
        if (is_drawn(atlas, c))
            labels_add(&methods, atlas->curves[c].method);
    for (size_t panel = 0; panel < PANELS; panel++)
        labels_add(&titles, panels[panel].title);
    add_legends(atlas, &legends);
    labels_variable(&methods, "series", out);
    labels_variable(&titles, "titles", out);
    gnuplot_variable(out, "legends", legends.data ? legends.data : "");
    labels_free(&methods);
    labels_free(&titles);
    text_free(&legends);
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    struct atlas atlas;
    int code = atlas_of_result(of->root, of->device, &atlas, error);
    if (code)
        return code;
    write_data(&atlas, data);
    add_variables(&atlas, variables);
    atlas_free(&atlas);
    return 0;
}

const struct chart chart_atlas = {
    .name = "atlas",
    .help = "time of alloc, first use and free by size, a line for each method to get memory",
    .scope = CHART_OF_DEVICE,
    .write = write,
};
