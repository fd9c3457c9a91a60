#include "record/chart/matrix.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/facts/case.h"
#include "record/chart/gnuplot.h"
#include "base/tree.h"

/* ---- labels ---- */

size_t labels_find(const struct labels *labels, const char *name)
{
    size_t i = 0;
    while (i < labels->count && strcmp(labels->name[i], name) != 0)
        i++;
    return i;
}

size_t labels_add(struct labels *labels, const char *name)
{
    size_t found = labels_find(labels, name);
    if (found < labels->count)
        return found;
    labels->name = must_realloc(labels->name, (labels->count + 1) * sizeof *labels->name);
    labels->name[labels->count] = must_alloc(strlen(name) + 1);
    strcpy(labels->name[labels->count], name);
    return labels->count++;
}

void labels_free(struct labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        free(labels->name[i]);
    free(labels->name);
    *labels = (struct labels){0};
}

void labels_variable(const struct labels *labels, const char *variable, struct text *out)
{
    struct text words = {0};
    for (size_t i = 0; i < labels->count; i++)
        text_add(&words, "%s\"%s\"", i ? " " : "", labels->name[i]);
    gnuplot_variable(out, variable, words.data ? words.data : "");
    text_free(&words);
}

/* ---- cases ---- */

static bool is_text(const json_t *object, const char *member, const char *text)
{
    return strcmp(tree_get_text(object, member), text) == 0;
}

bool case_is_unmerged(const json_t *one_case)
{
    return is_text(json_object_get(one_case, "key"), "merge", "none");
}

bool case_is_of(const json_t *key, const struct chart_subject *of)
{
    return is_text(key, "device", of->device) &&
           (!of->strategy || is_text(key, "strategy", of->strategy)) &&
           (!of->workload || is_text(key, "workload", of->workload)) &&
           (!of->dataset || is_text(key, "dataset", of->dataset));
}

static bool varies(const struct chart_subject *of, const char *name)
{
    const char *first = NULL;
    size_t i;
    json_t *one_case;
    json_array_foreach(json_object_get(of->root, "cases"), i, one_case)
    {
        const json_t *key = json_object_get(one_case, "key");
        if (!is_text(key, "device", of->device))
            continue;
        if (first && !is_text(key, name, first))
            return true;
        first = tree_get_text(key, name);
    }
    return false;
}

struct naming naming_of(const struct chart_subject *of)
{
    return (struct naming){varies(of, "dataset"), varies(of, "merge"), varies(of, "release"),
                           varies(of, "residency")};
}

void naming_cluster(const struct naming *naming, const json_t *key, struct text *out)
{
    text_add(out, "%s", tree_get_text(key, "workload"));
    if (naming->dataset)
        text_add(out, " %s", tree_get_text(key, "dataset"));
}

void naming_series(const struct naming *naming, bool with_strategy, const json_t *key,
                   struct text *out)
{
    text_add(out, "%s", tree_get_text(key, with_strategy ? "strategy" : "merge"));
    if (naming->merge && with_strategy)
        text_add(out, " %s", tree_get_text(key, "merge"));
    if (naming->release)
        text_add(out, " %s", tree_get_text(key, "release"));
    if (naming->residency)
        text_add(out, " %s", tree_get_text(key, "residency"));
}

/* ---- data ---- */

void data_number(double value, FILE *out)
{
    if (isfinite(value))
        fprintf(out, " %.12g", value);
    else
        fputs(" NaN", out);
}

bool data_status(const json_t *cell, double value, FILE *out)
{
    const char *status = tree_get_text(cell, "status");
    if (!isnan(value)) {
        fputs(" ok", out);
    } else if (!*status || case_is_ok(cell)) {
        fputs(" n/a", out);
    } else {
        fputc(' ', out);
        for (; *status; status++)
            fputc(toupper((unsigned char)*status), out);
    }
    return !isnan(value);
}

/* ---- grids ---- */

const json_t *grid_cell(const struct grid *grid, size_t cluster, size_t series)
{
    return grid->cell[cluster * grid->series.count + series];
}

bool grid_is_mean(const struct grid *grid, size_t cluster)
{
    return grid->has_mean && cluster + 1 == grid->clusters.count;
}

/* Calls `use` with the place of each case of the subject, or of each mean if `means`. */
typedef void use_cell(struct grid *grid, const struct grid_rules *rules, const json_t *cell,
                      const char *cluster, const char *series);

static const char mean_name[] = "geometric mean";

static void each_cell(struct grid *grid, const struct grid_rules *rules, bool means, use_cell *use)
{
    const struct naming naming = naming_of(grid->of);
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(grid->of->root, means ? "summary" : "cases"), i, cell)
    {
        const json_t *key = means ? cell : json_object_get(cell, "key");
        struct text cluster = {0}, series = {0};
        if (!case_is_of(key, grid->of))
            continue;
        if (means)
            text_add(&cluster, "%s", mean_name);
        else
            naming_cluster(&naming, key, &cluster);
        naming_series(&naming, !grid->of->strategy && !rules->any_strategy, key, &series);
        use(grid, rules, cell, cluster.data, series.data);
        text_free(&cluster);
        text_free(&series);
    }
}

static void collect(struct grid *grid, const struct grid_rules *rules, const json_t *cell,
                    const char *cluster, const char *series)
{
    labels_add(&grid->clusters, cluster);
    if (!rules->is_baseline || !rules->is_baseline(cell))
        labels_add(case_is_skipped(cell) ? &grid->skipped : &grid->series, series);
}

static void place(struct grid *grid, const struct grid_rules *rules, const json_t *cell,
                  const char *cluster, const char *series)
{
    size_t known = grid->series.count, s = labels_find(&grid->series, series);
    if (s == known)
        return;
    const json_t **at = &grid->cell[labels_find(&grid->clusters, cluster) * known + s];
    if (!rules->any_strategy || !*at || !case_is_ok(*at))
        *at = cell;
}

int grid_make(const struct chart *chart, const struct chart_subject *of,
              const struct grid_rules *rules, struct grid *grid, struct error *error)
{
    *grid = (struct grid){.of = of};
    each_cell(grid, rules, false, collect);
    grid->has_mean = rules->has_mean && grid->clusters.count > 1;
    if (grid->has_mean)
        labels_add(&grid->clusters, mean_name);
    grid->cell = must_alloc(grid->clusters.count * grid->series.count * sizeof(json_t *));
    each_cell(grid, rules, false, place);
    if (grid->has_mean && rules->mean_of_summary)
        each_cell(grid, rules, true, place);
    const size_t series = grid->series.count;
    if (series > 0 && !(rules->are_bars && series > SERIES_MOST))
        return 0;
    grid_free(grid);
    if (series > 0)
        return error_set(error, ERR_USAGE,
                         "the chart %s of %s would have %zu bars a workload, more than the %d that "
                         "can be told apart: choose some with -s, or draw the chart matrix",
                         chart->name, of->device, series, SERIES_MOST);
    return error_set(error, ERR_NOT_FOUND, "the result has no case on %s for the chart %s to show",
                     of->device, chart->name);
}

void grid_free(struct grid *grid)
{
    labels_free(&grid->clusters);
    labels_free(&grid->series);
    labels_free(&grid->skipped);
    free(grid->cell);
    grid->cell = NULL;
}

size_t grid_print(const struct grid *grid, const char *title, const char *columns,
                  grid_print_cell *print_cell, FILE *out)
{
    const size_t series_count = grid->series.count;
    size_t known = 0;
    fprintf(out, "# gamut %s on %s%s%s\n# x label\n", title, grid->of->device,
            grid->of->strategy ? " under " : "", grid->of->strategy ? grid->of->strategy : "");
    for (size_t c = 0; c < grid->clusters.count; c++)
        fprintf(out, "%zu \"%s\"\n", c, grid->clusters.name[c]);
    for (size_t s = 0; s < series_count; s++) {
        fprintf(out, "\n\n# %s\n# %s\n", grid->series.name[s], columns);
        for (size_t c = 0; c < grid->clusters.count; c++) {
            /* The bars of a cluster fill 0.8 of its place. */
            double offset = ((double)s - (double)(series_count - 1) / 2) * 0.8;
            fprintf(out, "%.6g", (double)c + offset / (double)series_count);
            known += print_cell(grid, c, s, out);
        }
    }
    return known;
}

int grid_is_empty(const struct chart *chart, const struct grid *grid, struct error *error)
{
    return error_set(error, ERR_NOT_FOUND,
                     "no case on %s has a number that the chart %s could show", grid->of->device,
                     chart->name);
}

/* "; skipped: stream, vmm": what is no series, because none of its cases was run. */
static void add_skipped(const struct grid *grid, struct text *out)
{
    const char *before = "; skipped: ";
    for (size_t i = 0; i < grid->skipped.count; i++)
        if (labels_find(&grid->series, grid->skipped.name[i]) == grid->series.count) {
            text_add(out, "%s%s", before, grid->skipped.name[i]);
            before = ", ";
        }
}

void grid_variables(const struct grid *grid, struct text *out)
{
    struct text note = {0};
    add_skipped(grid, &note);
    labels_variable(&grid->series, "series", out);
    gnuplot_variable(out, "strategy", grid->of->strategy ? grid->of->strategy : "");
    gnuplot_variable(out, "note", note.data ? note.data : "");
    text_free(&note);
}
