/* Sorted dots (Cleveland 1985): a row a configuration, a panel a workload, the least bytes first,
 * with the lower bound and the optimum as lines. `held` shows the peaks of cases, `capacity` what
 * gamut fit found.
 *
 *   block 0: a line a panel: number, title, lower bound, optimum, rows
 *   then a block a panel, a line a row:
 *     row name bytes other_bytes: the second is a ring
 *   Bytes of 0 are unknown.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "base/tree.h"
#include "results/show/gnuplot.h"

enum { PANELS_MOST = 12, ROWS_MOST = 40 };

struct dot {
    size_t series, order; /* order: in the file */
    double bytes, other_bytes;
};

struct dots_panel {
    struct text title;
    double bound, optimum; /* bytes; NaN: unknown */
    unsigned count, room;
    struct dot *dots;
};

struct dots {
    size_t count, panels_out, rows_out;
    struct dots_panel panels[PANELS_MOST];
    struct labels series;
};

/* ---- collecting ---- */

/* The panel with this title, which is made if there is room; else NULL. */
static struct dots_panel *panel_of(struct dots *d, const char *title)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->panels[i].title.data, title) == 0)
            return &d->panels[i];
    if (d->count == PANELS_MOST)
        return NULL;
    struct dots_panel *panel = &d->panels[d->count++];
    *panel = (struct dots_panel){.bound = NAN, .optimum = NAN};
    text_add(&panel->title, "%s", title);
    return panel;
}

static void add_dot(struct dots *d, struct dots_panel *panel, const char *name, double bytes,
                    double other_bytes)
{
    panel->dots = must_grow(panel->dots, panel->count, &panel->room, sizeof *panel->dots);
    panel->dots[panel->count] = (struct dot){.series = labels_add(&d->series, name),
                                             .order = panel->count,
                                             .bytes = bytes,
                                             .other_bytes = other_bytes};
    panel->count++;
}

static void dots_free(struct dots *d)
{
    for (size_t i = 0; i < d->count; i++) {
        text_free(&d->panels[i].title);
        free(d->panels[i].dots);
    }
    labels_free(&d->series);
}

/* ---- writing ---- */

ORDER_BY_BOTH(by_bytes, struct dot, bytes, order)

/* gnuplot's statistics leave out a line with NaN, so unknown is 0. */
static void print_bytes(double bytes, FILE *out)
{
    fprintf(out, " %.0f", isfinite(bytes) ? bytes : 0);
}

static void print_panel(struct dots *d, struct dots_panel *panel, FILE *out)
{
    qsort(panel->dots, panel->count, sizeof *panel->dots, by_bytes);
    fputs("\n\n", out);
    gnuplot_comment(out, "%s", panel->title.data);
    gnuplot_comment(out, "row name bytes other_bytes");
    for (size_t i = 0; i < panel->count && i < ROWS_MOST; i++) {
        fprintf(out, "%zu", i + 1);
        gnuplot_data_text(d->series.name[panel->dots[i].series], out);
        print_bytes(panel->dots[i].bytes, out);
        print_bytes(panel->dots[i].other_bytes, out);
        fputc('\n', out);
    }
    if (panel->count > ROWS_MOST)
        d->rows_out += panel->count - ROWS_MOST;
}

static void add_note(const struct dots *d, const char *device, struct text *variables)
{
    struct text note = {0};
    if (d->rows_out)
        text_add(&note, "; %zu more rows are not shown", d->rows_out);
    if (d->panels_out)
        text_add(&note, "; %zu more cases of other workloads are not shown", d->panels_out);
    gnuplot_variable(variables, "note", note.length ? note.data : "");
    gnuplot_variable(variables, "where", device);
    text_free(&note);
}

static void dots_write(struct dots *d, const char *device, FILE *data, struct text *variables)
{
    gnuplot_comment(data, "panel title bound optimum rows");
    for (size_t i = 0; i < d->count; i++) {
        const struct dots_panel *panel = &d->panels[i];
        fprintf(data, "%zu", i);
        gnuplot_data_text(panel->title.data, data);
        print_bytes(panel->bound, data);
        print_bytes(panel->optimum, data);
        fprintf(data, " %u\n", panel->count < ROWS_MOST ? panel->count : ROWS_MOST);
    }
    struct text titles = {0};
    for (size_t i = 0; i < d->count; i++) {
        print_panel(d, &d->panels[i], data);
        gnuplot_word(&titles, d->panels[i].title.data);
    }
    gnuplot_labels(variables, "series", &d->series);
    gnuplot_words(variables, "titles", &titles);
    add_note(d, device, variables);
    text_free(&titles);
}

/* ---- held ---- */

static void add_case(struct dots *d, const struct naming *naming, const struct result_case *one)
{
    const struct case_key *key = &one->key;
    const double held = measured_peak(one, "peak_reserved_bytes");
    const double bound = measured_peak(one, "live_lower_bound_bytes");
    struct text title = {0}, name = {0};
    if (!(held > 0))
        return;
    text_add(&title, "%s %s", key->workload, key->dataset);
    naming_column(naming, true, key, &name);
    struct dots_panel *panel = panel_of(d, title.data);
    if (panel) {
        panel->bound = fmin(panel->bound, bound); /* merging lowers it */
        add_dot(d, panel, name.data, held, NAN);
    }
    d->panels_out += panel == NULL;
    text_free(&title);
    text_free(&name);
}

static int held_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                      struct text *variables, struct error *error)
{
    const struct naming naming = naming_of(of);
    const struct result_case *one;
    struct dots d = {0};
    for (size_t i = 0; (one = case_next(of, &i));)
        add_case(&d, &naming, one);
    gnuplot_comment(data, "gamut held on %s", of->device);
    if (d.count)
        dots_write(&d, of->device, data, variables);
    dots_free(&d);
    return d.count
               ? 0
               : error_set(error, ERR_NOT_FOUND, "no good case on %s has bytes for the chart %s",
                           of->device, chart->name);
}

const struct chart chart_held = {
    .name = "held",
    .help = "the most memory held from the driver by strategy and setting, over the lower bound",
    .scope = CHART_OF_DEVICE,
    .write = held_write,
};

/* ---- capacity ---- */

static int capacity_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                          struct text *variables, struct error *error)
{
    const json_t *fits = of->result->fits, *fit;
    struct dots d = {0};
    bool proven = true;
    for (size_t i = 0; (fit = json_array_get(fits, i)); i++) {
        const double bytes = tree_get_number(fit, "capacity_bytes");
        struct dots_panel *panel = bytes > 0 ? panel_of(&d, tree_get_text(fit, "trace")) : NULL;
        d.panels_out += bytes > 0 && !panel;
        if (!panel)
            continue;
        panel->bound = tree_get_number(fit, "lower_bound_bytes");
        panel->optimum = tree_get_number(fit, "optimum_bytes");
        proven &= json_is_true(json_object_get(fit, "proven"));
        add_dot(&d, panel, tree_get_text(fit, "strategy"), bytes,
                tree_get_number(fit, "reserved_bytes"));
    }
    gnuplot_comment(data, "gamut capacity");
    if (d.count)
        dots_write(&d, of->device, data, variables);
    gnuplot_variable(variables, "caption", "gamut fit");
    gnuplot_variable(variables, "optimum_name", proven ? "optimum" : "best known");
    dots_free(&d);
    return d.count
               ? 0
               : error_set(error, ERR_NOT_FOUND,
                           "the chart %s shows what `gamut fit --out FILE` writes", chart->name);
}

const struct chart chart_capacity = {
    .name = "capacity",
    .help = "the least memory under which each strategy serves a trace, and what it holds without "
            "a limit",
    .scope = CHART_OF_DEVICE,
    .write = capacity_write,
};
