/* The history of metrics (record/compare/history.h): a panel for each program, metric and group of machines,
 * a line for each configuration, over the runs in their order. Values are over the first one of their
 * series, so that lines of any size share an axis. The panels with the largest steps come first.
 *
 *   block 0: a line a run: place, revision
 *   a block for each panel and configuration: place value lo hi outlier; NaN is a gap
 *   a block a panel: place value text of its steps
 *   a block a panel: place text of what failed
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/chart/gnuplot.h"

enum { PANELS_MOST = 8, LINES_MOST = 9 };

struct line {
    const json_t *series;
    size_t panel, label;
    double step; /* the largest step, as a logarithm; 0: none */
    size_t order;
};

struct picture {
    const json_t *history;
    const char *device;
    size_t count, left_out;
    struct line *line;
    struct labels panels, labels;
    bool names_machines;
    struct naming naming;
    double *place; /* of each run on the axis; NaN: it is not shown */
    size_t places;
};

static bool has_word(const json_t *object, const char *member, const char *word)
{
    return strcmp(tree_get_text(object, member), word) == 0;
}

static bool is_step(const json_t *step)
{
    return !has_word(step, "verdict", "unsure");
}

static double ratio_of(const json_t *step)
{
    const double ratio = tree_get_number(step, "ratio");
    return ratio > 0 ? ratio : NAN;
}

/* ---- what is shown -------------------------------------------------------------------------- */

static double largest_step(const json_t *series)
{
    double largest = 0;
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(series, "steps"), i, step)
    {
        if (is_step(step))
            largest = fmax(largest, fabs(log(ratio_of(step))));
    }
    return largest;
}

static int largest_first(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

static void collect(struct picture *p)
{
    const json_t *all = json_object_get(p->history, "series"), *series, *first = NULL;
    p->line = must_alloc((json_array_size(all) + 1) * sizeof *p->line);
    for (size_t i = 0; (series = json_array_get(all, i)); i++) {
        if (!has_word(series, "device", p->device) || !(tree_get_number(series, "known") >= 2))
            continue;
        first = first ? first : series;
        p->naming.dataset |= !has_word(series, "dataset", tree_get_text(first, "dataset"));
        p->naming.merge |= !has_word(series, "merge", tree_get_text(first, "merge"));
        p->naming.release |= !has_word(series, "release", tree_get_text(first, "release"));
        p->naming.residency |= !has_word(series, "residency", tree_get_text(first, "residency"));
        p->names_machines |=
            !json_equal(json_object_get(series, "machines"), json_object_get(first, "machines"));
        p->line[p->count] =
            (struct line){.series = series, .step = largest_step(series), .order = p->count};
        p->count++;
    }
    if (p->count)
        qsort(p->line, p->count, sizeof *p->line, largest_first);
}

static void add_panel_name(const struct picture *p, const json_t *series, struct text *out)
{
    size_t i;
    json_t *machine;
    naming_row(&p->naming, series, out);
    text_add(out, ": %s%s", tree_get_text(series, "metric"),
             has_word(series, "phase", "cold") ? " (cold)" : "");
    json_array_foreach(json_object_get(series, "machines"), i, machine)
    {
        if (p->names_machines)
            text_add(out, "%s %s", i ? "," : " on", json_string_value(machine));
    }
}

/* Adds a name unless there is no room for more. Returns whether it is in the list. */
static bool add_within(struct labels *labels, const char *name, size_t most, size_t *index)
{
    *index = labels_find(labels, name);
    if (*index == labels->count && labels->count == most)
        return false;
    *index = labels_add(labels, name);
    return true;
}

/* Gives each line its panel and its name, and leaves out those that find no room. */
static void arrange(struct picture *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct line line = p->line[i];
        struct text panel = {0}, label = {0};
        add_panel_name(p, line.series, &panel);
        naming_column(&p->naming, true, line.series, &label);
        if (add_within(&p->labels, label.data, LINES_MOST, &line.label) &&
            add_within(&p->panels, panel.data, PANELS_MOST, &line.panel))
            p->line[kept++] = line;
        text_free(&panel);
        text_free(&label);
    }
    p->left_out = p->count - kept;
    p->count = kept;
}

/* Gives every run that a line has a point of its place, from 1. */
static void find_places(struct picture *p)
{
    const size_t runs = json_array_size(json_object_get(p->history, "runs"));
    size_t k;
    json_t *point;
    p->place = must_alloc((runs + 1) * sizeof *p->place);
    for (size_t i = 0; i < p->count; i++)
        json_array_foreach(json_object_get(p->line[i].series, "points"), k, point)
        {
            const double run = tree_get_number(point, "run");
            if (run >= 0 && run < (double)runs)
                p->place[(size_t)run] = 1;
        }
    for (size_t r = 0; r < runs; r++)
        p->place[r] = p->place[r] > 0 ? (double)++p->places : NAN;
}

static double place_of(const struct picture *p, const json_t *object)
{
    const double run = tree_get_number(object, "run");
    const size_t runs = json_array_size(json_object_get(p->history, "runs"));
    return run >= 0 && run < (double)runs ? p->place[(size_t)run] : NAN;
}

/* ---- data ----------------------------------------------------------------------------------- */

/* What has no value, and what parts two series in a block. */
static const char gap[] = "NaN NaN NaN NaN 0\n";

struct range {
    double least, most;
};

static void widen(struct range *range, double value)
{
    range->least = fmin(range->least, value);
    range->most = fmax(range->most, value);
}

static double first_value(const json_t *series)
{
    size_t i;
    json_t *point;
    json_array_foreach(json_object_get(series, "points"), i, point)
    {
        const double value = tree_get_number(point, "value");
        if (value > 0)
            return value;
    }
    return NAN;
}

static void print_line(const struct picture *p, const json_t *series, struct range *range,
                       FILE *out)
{
    const double first = first_value(series);
    size_t i;
    json_t *point;
    json_array_foreach(json_object_get(series, "points"), i, point)
    {
        const double value = tree_get_number(point, "value") / first;
        const double lo = tree_get_number(point, "lo") / first,
                     hi = tree_get_number(point, "hi") / first;
        if (isnan(value) || isnan(place_of(p, point))) {
            fputs(gap, out);
            continue;
        }
        if (isfinite(value))
            widen(range, value);
        gnuplot_data(place_of(p, point), out);
        gnuplot_data(value, out);
        gnuplot_data(isnan(lo) ? value : lo, out);
        gnuplot_data(isnan(hi) ? value : hi, out);
        fprintf(out, " %d\n", json_is_true(json_object_get(point, "outlier")));
    }
    fputs(gap, out);
}

static double value_at(const json_t *series, double run)
{
    size_t i;
    json_t *point;
    json_array_foreach(json_object_get(series, "points"), i, point)
    {
        if (tree_get_number(point, "run") == run)
            return tree_get_number(point, "value") / first_value(series);
    }
    return NAN;
}

/* Has another line of the panel a larger step at the run, or as large a one before? Its text is enough. */
static bool is_named_elsewhere(const struct picture *p, size_t line, const json_t *step)
{
    const double size = fabs(log(ratio_of(step)));
    for (size_t i = 0; i < p->count; i++) {
        const json_t *steps = json_object_get(p->line[i].series, "steps"), *other;
        for (size_t k = 0; p->line[i].panel == p->line[line].panel && i != line &&
                           (other = json_array_get(steps, k));
             k++) {
            const double own = fabs(log(ratio_of(other)));
            if (is_step(other) && tree_get_number(other, "run") == tree_get_number(step, "run") &&
                (own > size || (own == size && i < line)))
                return true;
        }
    }
    return false;
}

/* gnuplot 5.4 crashes on a plot of a single label at NaN: an empty block has a label without text. */
static void print_steps(const struct picture *p, size_t panel, FILE *out)
{
    gnuplot_comment(out, "steps of %s: place value text", p->panels.name[panel]);
    fputs("1 1 \"\"\n", out);
    for (size_t i = 0; i < p->count; i++) {
        const json_t *series = p->line[i].series, *step;
        const json_t *steps = json_object_get(series, "steps");
        for (size_t k = 0; p->line[i].panel == panel && (step = json_array_get(steps, k)); k++) {
            const double ratio = ratio_of(step), place = place_of(p, step);
            const double value = value_at(series, tree_get_number(step, "run"));
            char text[32];
            if (!is_step(step) || isnan(ratio) || isnan(place) || isnan(value))
                continue;
            snprintf(text, sizeof text, ratio >= 10 ? "×%.3g" : "%+.3g %%",
                     ratio >= 10 ? ratio : 100 * (ratio - 1));
            gnuplot_data(place, out);
            gnuplot_data(value, out);
            gnuplot_data_text(is_named_elsewhere(p, i, step) ? " " : text, out);
            fputc('\n', out);
        }
    }
    fputs("\n\n", out);
}

static void print_failures(const struct picture *p, size_t panel, FILE *out)
{
    size_t k;
    json_t *point;
    gnuplot_comment(out, "failures of %s: place text", p->panels.name[panel]);
    fputs("1 \"\"\n", out);
    for (size_t i = 0; i < p->count; i++)
        json_array_foreach(json_object_get(p->line[i].series, "points"), k, point)
        {
            char status[16];
            snprintf(status, sizeof status, "%s", tree_get_text(point, "status"));
            if (p->line[i].panel != panel || !*status || isnan(place_of(p, point)))
                continue;
            for (char *c = status; *c; c++)
                *c = (char)toupper((unsigned char)*c);
            gnuplot_data(place_of(p, point), out);
            gnuplot_data_text(status, out);
            fputc('\n', out);
        }
    fputs("\n\n", out);
}

static void print_runs(const struct picture *p, FILE *out)
{
    const json_t *runs = json_object_get(p->history, "runs"), *run;
    gnuplot_comment(out, "place revision");
    for (size_t r = 0; (run = json_array_get(runs, r)); r++) {
        char rev[16];
        const char *own = tree_get_text(run, "git_rev");
        if (isnan(p->place[r]))
            continue;
        snprintf(rev, sizeof rev, "%.7s%s", *own ? own : "unknown",
                 json_is_true(json_object_get(run, "git_dirty")) ? "*" : "");
        gnuplot_data(p->place[r], out);
        gnuplot_data_text(rev, out);
        fputc('\n', out);
    }
    fputs("\n\n", out);
}

static void print_lines(const struct picture *p, struct range *ranges, FILE *out)
{
    for (size_t panel = 0; panel < p->panels.count; panel++)
        for (size_t l = 0; l < p->labels.count; l++) {
            gnuplot_comment(out, "%s, %s: place value lo hi outlier", p->panels.name[panel],
                            p->labels.name[l]);
            fputs(gap, out); /* a block needs a line */
            for (size_t i = 0; i < p->count; i++)
                if (p->line[i].panel == panel && p->line[i].label == l)
                    print_line(p, p->line[i].series, &ranges[panel], out);
            fputs("\n\n", out);
        }
}

/* ---- the chart ------------------------------------------------------------------------------ */

static void put_variables(const struct picture *p, const struct range *ranges,
                          struct text *variables)
{
    struct text lows = {0}, highs = {0}, note = {0}, caption = {0};
    for (size_t i = 0; i < p->panels.count; i++) {
        const double pad = fmax(0.12 * (ranges[i].most - ranges[i].least), 0.03);
        text_add(&lows, "%.6g ", ranges[i].least - pad);
        text_add(&highs, "%.6g ", ranges[i].most + pad);
    }
    if (p->left_out)
        text_add(&note, "; %zu series with smaller steps or none are left out: choose with -w, -s",
                 p->left_out);
    text_add(&caption, "%s, %zu runs in the order of their %s; * changed working tree", p->device,
             p->places, has_word(p->history, "order", "commits") ? "commits" : "times");
    gnuplot_labels(variables, "series", &p->labels);
    gnuplot_labels(variables, "titles", &p->panels);
    gnuplot_number(variables, "panels", (double)p->panels.count);
    gnuplot_number(variables, "runs", (double)p->places);
    gnuplot_variable(variables, "lows", lows.data);
    gnuplot_variable(variables, "highs", highs.data);
    gnuplot_variable(variables, "caption", caption.data);
    gnuplot_variable(variables, "note", note.data ? note.data : "");
    text_free(&lows);
    text_free(&highs);
    text_free(&note);
    text_free(&caption);
}

static int history_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                         struct text *variables, struct error *error)
{
    struct picture p = {.history = json_object_get(of->root, "history"), .device = of->device};
    struct range ranges[PANELS_MOST];
    if (!p.history)
        return error_set(error, ERR_NOT_FOUND,
                         "the chart %s needs what gamut history --format json prints", chart->name);
    collect(&p);
    arrange(&p);
    find_places(&p);
    const bool any = p.places > 0;
    for (size_t i = 0; i < PANELS_MOST; i++)
        ranges[i] = (struct range){1, 1};
    if (any) {
        gnuplot_comment(data, "gamut history on %s", of->device);
        print_runs(&p, data);
        print_lines(&p, ranges, data);
        for (size_t i = 0; i < p.panels.count; i++)
            print_steps(&p, i, data);
        for (size_t i = 0; i < p.panels.count; i++)
            print_failures(&p, i, data);
        put_variables(&p, ranges, variables);
    }
    labels_free(&p.panels);
    labels_free(&p.labels);
    free(p.line);
    free(p.place);
    return any ? 0 : error_set(error, ERR_NOT_FOUND, "no series on %s has two results", of->device);
}

const struct chart chart_history = {
    .name = "history",
    .help = "metrics over the runs of a history, with their steps",
    .scope = CHART_OF_DEVICE,
    .write = history_write,
};

/* ---- a history as a root -------------------------------------------------------------------- */

static bool is_device_known(const json_t *devices, const char *id)
{
    size_t i;
    json_t *device;
    json_array_foreach((json_t *)devices, i, device)
    {
        if (has_word(device, "id", id))
            return true;
    }
    return false;
}

json_t *chart_history_root(json_t *history)
{
    json_t *devices = tree_array(), *series;
    size_t i;
    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        const char *id = tree_get_text(series, "device");
        if (*id && !is_device_known(devices, id))
            tree_append(devices, tree_pack("{s:o}", "id", tree_text(id)));
    }
    return tree_pack("{s:O, s:{s:o}}", "history", history, "context", "devices", devices);
}
