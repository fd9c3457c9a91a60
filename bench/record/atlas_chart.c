#include "record/atlas_chart.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "record/atlas_table.h"
#include "record/gnuplot.h"

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

/* Ways that have something to show, in the order of the atlas. */
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

void atlas_chart_write(const struct atlas *atlas, FILE *out)
{
    fprintf(out, "# gamut atlas of %s\n", atlas->device);
    for (size_t panel = 0; panel < PANELS; panel++)
        for (size_t c = 0; c < atlas->curve_count; c++) {
            const char *way = atlas->curves[c].way;
            if (!is_drawn(atlas, c))
                continue;
            fprintf(out, "# %s %s: bytes p50_ns p10_ns p90_ns\n", way, panels[panel].call);
            write_block(atlas_find(atlas, way, panels[panel].call), out);
            fputs("\n\n", out);
        }
}

/* "raw: 45.1 us + 812 GiB/s", for each panel and way. */
static void add_legends(const struct atlas *atlas, struct text *out)
{
    for (size_t panel = 0; panel < PANELS; panel++)
        for (size_t c = 0; c < atlas->curve_count; c++) {
            const char *way = atlas->curves[c].way;
            if (!is_drawn(atlas, c))
                continue;
            const struct atlas_curve *curve = atlas_find(atlas, way, panels[panel].call);
            struct text fit = {0};
            if (curve)
                atlas_fit_text(curve, &fit);
            text_add(out, "\"%s%s%s\" ", way, fit.length ? ": " : "", fit.length ? fit.data : "");
            text_free(&fit);
        }
}

static void add_variables(const json_t *root, const struct atlas *atlas, const char *data,
                          const char *name, const char *scripts, struct text *out)
{
    struct text ways = {0}, titles = {0}, legends = {0}, caption = {0};
    for (size_t c = 0; c < atlas->curve_count; c++)
        if (is_drawn(atlas, c))
            text_add(&ways, "\"%s\" ", atlas->curves[c].way);
    for (size_t panel = 0; panel < PANELS; panel++)
        text_add(&titles, "\"%s\" ", panels[panel].title);
    add_legends(atlas, &legends);
    gnuplot_caption(root, atlas->device, &caption);
    gnuplot_variable(out, "data", data);
    gnuplot_variable(out, "out", name);
    gnuplot_variable(out, "scripts", scripts);
    gnuplot_variable(out, "series", ways.data ? ways.data : "");
    gnuplot_variable(out, "titles", titles.data);
    gnuplot_variable(out, "legends", legends.data ? legends.data : "");
    gnuplot_variable(out, "caption", caption.data);
    struct text *texts[] = {&ways, &titles, &legends, &caption};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_free(texts[i]);
}

static int write_data(const struct atlas *atlas, const char *path, struct error *error)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return error_set(error, ERR_IO, "%s could not be made: %s", path, strerror(errno));
    atlas_chart_write(atlas, file);
    bool failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return error_set(error, ERR_IO, "%s could not be written: %s", path, strerror(errno));
    return 0;
}

int atlas_chart_draw(const json_t *root, const char *device, const char *scripts,
                     const char *folder, struct text *made, struct error *error)
{
    struct atlas atlas;
    struct text name = {0}, data = {0}, script = {0}, variables = {0};
    int rc = atlas_of_result(root, device, &atlas, error);
    if (rc)
        return rc;
    gnuplot_name(folder, "atlas", device, NULL, &name);
    text_add(&data, "%s.dat", name.data);
    text_add(&script, "%s/atlas.gp", scripts);
    add_variables(root, &atlas, data.data, name.data, scripts, &variables);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        rc = error_set(error, ERR_IO, "the folder %s could not be made: %s", folder,
                       strerror(errno));
    if (rc == 0)
        rc = write_data(&atlas, data.data, error);
    if (rc == 0)
        rc = gnuplot_run(variables.data, script.data, data.data, error);
    if (rc == 0 && made)
        text_add(made, "%s", name.data);
    struct text *texts[] = {&name, &data, &script, &variables};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_free(texts[i]);
    atlas_free(&atlas);
    return rc;
}
