/* Time against memory, a panel a workload: shows which configurations are worth choosing. A case is
 * on the front if no other case of its panel is at least as good in both and better in one.
 *
 * Times are over the fastest of the panel. Peaks of reserved memory are over the least live lower
 * bound of the panel: over the bound of their own merge set they would all look alike.
 *
 * Block 0: panel and label. Then two blocks a panel: its points and its front by time,
 *     time memory strategy on_front name
 * where `strategy` is a number in `series` from 1 on, and `name` says what the strategy is combined
 * with, if there is room for it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/chart/gnuplot.h"

enum { PANELS_MOST = 48 };

struct point {
    double time, memory;
    size_t strategy;
    bool on_front;
    char name[160];
};

struct panel {
    size_t count;
    struct point *point;
};

struct pareto {
    struct labels panels, strategies;
    struct panel *panel; /* a panel for each label */
};

static bool dominates(const struct point *a, const struct point *b)
{
    return a->time <= b->time && a->memory <= b->memory &&
           (a->time < b->time || a->memory < b->memory);
}

static int by_time(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    if (p->time != q->time)
        return p->time < q->time ? -1 : 1;
    return (p->memory > q->memory) - (p->memory < q->memory);
}

/* Leaves out the name of a point that would cover the name of an earlier one. */
static void thin_names(struct panel *panel)
{
    double most_time = 1, most_memory = 1;
    for (size_t i = 0; i < panel->count; i++) {
        most_time = fmax(most_time, panel->point[i].time);
        most_memory = fmax(most_memory, panel->point[i].memory);
    }
    for (size_t i = 0; i < panel->count; i++)
        for (size_t j = 0; j < i; j++) {
            struct point *p = &panel->point[i], *q = &panel->point[j];
            const double apart = fabs(log(p->time / q->time)) / log(fmax(most_time, 1.01));
            const double above = fabs(log(p->memory / q->memory)) / log(fmax(most_memory, 1.01));
            if (p->on_front && q->on_front && *q->name && apart < 0.9 && above < 0.12)
                *p->name = 0;
        }
}

/* Divides times and bytes, and finds the front. */
static void finish_panel(struct panel *panel, double fastest, double bound)
{
    for (size_t i = 0; i < panel->count; i++) {
        panel->point[i].time /= fastest;
        panel->point[i].memory /= bound;
    }
    qsort(panel->point, panel->count, sizeof *panel->point, by_time);
    for (size_t i = 0; i < panel->count; i++) {
        bool dominated = false;
        for (size_t j = 0; j < panel->count && !dominated; j++)
            dominated = dominates(&panel->point[j], &panel->point[i]);
        panel->point[i].on_front = !dominated;
    }
    thin_names(panel);
}

/* Does a case have the numbers that make it a point? */
static bool is_point(const json_t *one_case)
{
    return case_stat(one_case, "wall_ns", "median") > 0 &&
           case_peak(one_case, "peak_reserved_bytes") > 0 &&
           case_peak(one_case, "live_lower_bound_bytes") > 0;
}

static void add_point(struct panel *panel, const json_t *one_case, const struct naming *naming,
                      size_t strategy)
{
    struct text name = {0};
    struct point point = {.time = case_stat(one_case, "wall_ns", "median"),
                          .memory = case_peak(one_case, "peak_reserved_bytes"),
                          .strategy = strategy};
    if (naming->merge || naming->release || naming->residency)
        naming_column(naming, false, json_object_get(one_case, "key"), &name);
    snprintf(point.name, sizeof point.name, "%s", name.data ? name.data : "");
    text_free(&name);
    panel->point = must_realloc(panel->point, (panel->count + 1) * sizeof point);
    panel->point[panel->count++] = point;
}

static bool is_in_panel(const struct naming *naming, const json_t *one_case, const char *label)
{
    struct text own = {0};
    naming_row(naming, json_object_get(one_case, "key"), &own);
    const bool is_it = strcmp(own.data, label) == 0;
    text_free(&own);
    return is_it;
}

static void fill_panel(const struct chart_subject *of, size_t p, struct pareto *pareto)
{
    const struct naming naming = naming_of(of);
    struct panel *panel = &pareto->panel[p];
    double fastest = NAN, bound = NAN;
    const json_t *one_case;
    for (size_t i = 0; (one_case = case_next(of, &i));) {
        const char *strategy = tree_get_text(json_object_get(one_case, "key"), "strategy");
        if (!is_point(one_case) || !is_in_panel(&naming, one_case, pareto->panels.name[p]))
            continue;
        add_point(panel, one_case, &naming, labels_add(&pareto->strategies, strategy) + 1);
        fastest = fmin(fastest, case_stat(one_case, "wall_ns", "median"));
        bound = fmin(bound, case_peak(one_case, "live_lower_bound_bytes"));
    }
    finish_panel(panel, fastest, bound);
}

/* Finds the panels that have a choice to show: two points or more. */
static void find_panels(const struct chart_subject *of, struct pareto *pareto)
{
    const struct naming naming = naming_of(of);
    struct labels seen = {0};
    const json_t *one_case;
    for (size_t i = 0; (one_case = case_next(of, &i));) {
        struct text label = {0};
        if (!is_point(one_case))
            continue;
        naming_row(&naming, json_object_get(one_case, "key"), &label);
        const size_t before = seen.count;
        if (labels_add(&seen, label.data) < before)
            labels_add(&pareto->panels, label.data);
        text_free(&label);
    }
    labels_free(&seen);
}

static void print_points(const struct panel *panel, bool front_only, FILE *out)
{
    for (size_t i = 0; i < panel->count; i++) {
        const struct point *p = &panel->point[i];
        if (front_only && !p->on_front)
            continue;
        fprintf(out, "%.6g %.6g %zu %d", p->time, p->memory, p->strategy, p->on_front);
        gnuplot_data_text(p->name, out);
        fputc('\n', out);
    }
}

static void print_pareto(const struct chart_subject *of, const struct pareto *pareto, FILE *out)
{
    gnuplot_comment(out, "gamut pareto on %s", of->device);
    gnuplot_label_block(&pareto->panels, "panel label", out);
    for (size_t p = 0; p < pareto->panels.count; p++) {
        fputs("\n\n", out);
        gnuplot_comment(out, "%s: time memory strategy on_front name", pareto->panels.name[p]);
        print_points(&pareto->panel[p], false, out);
        fprintf(out, "\n\n# its front\n");
        print_points(&pareto->panel[p], true, out);
    }
}

static int pareto_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                        struct text *variables, struct error *error)
{
    struct pareto pareto = {0};
    find_panels(of, &pareto);
    const size_t count = pareto.panels.count;
    pareto.panel = must_alloc(count * sizeof *pareto.panel);
    for (size_t p = 0; p < count; p++)
        fill_panel(of, p, &pareto);
    int code = 0;
    if (count == 0)
        code =
            error_set(error, ERR_NOT_FOUND,
                      "no workload on %s has two good cases, between which the chart %s would show "
                      "the choice",
                      of->device, chart_pareto.name);
    else if (count > PANELS_MOST)
        code = error_set(
            error, ERR_USAGE,
            "the chart %s of %s would have %zu panels, more than the %d that can be read: "
            "choose workloads with -w",
            chart->name, of->device, count, PANELS_MOST);
    if (code == 0) {
        print_pareto(of, &pareto, data);
        gnuplot_labels(variables, "series", &pareto.strategies);
        gnuplot_labels(variables, "titles", &pareto.panels);
    }
    for (size_t p = 0; p < count; p++)
        free(pareto.panel[p].point);
    free(pareto.panel);
    labels_free(&pareto.panels);
    labels_free(&pareto.strategies);
    return code;
}

const struct chart chart_pareto = {
    .name = "pareto",
    .help = "time against peak memory, a panel a workload, with the front of the best choices",
    .scope = CHART_OF_DEVICE,
    .write = pareto_write,
};
