#include "record/table/table_cells.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "base/tree.h"

const char *const column_titles[COLUMNS] = {
#define X(name, title) title,
    COLUMN_LIST(X)
#undef X
};

enum { CELL_BYTES = sizeof((struct table_row *)0)->cell[0] };

static void set(struct table_row *row, enum column column, const char *text)
{
    snprintf(row->cell[column], CELL_BYTES, "%s", text);
}

/* "4.31 ms ±0.6%": the larger half of the interval, as a part of the median. */
static void set_wall(struct table_row *row, const json_t *stats)
{
    double median = tree_get_number(stats, "median");
    double below = median - tree_get_number(stats, "ci_lo");
    double above = tree_get_number(stats, "ci_hi") - median;
    char time[32];
    if (isnan(median))
        return;
    text_ns(time, median);
    if (isnan(below) || isnan(above) || median <= 0)
        set(row, COLUMN_WALL, time);
    else
        snprintf(row->cell[COLUMN_WALL], CELL_BYTES, "%s ±%.1f%%", time,
                 100 * (below > above ? below : above) / median);
}

static void set_speedup(struct table_row *row, const json_t *speedup)
{
    double median = tree_get_number(speedup, "median");
    double lo = tree_get_number(speedup, "ci_lo"), hi = tree_get_number(speedup, "ci_hi");
    char *cell = row->cell[COLUMN_SPEEDUP];
    if (isnan(median))
        return;
    if (isnan(lo) || isnan(hi))
        snprintf(cell, CELL_BYTES, "%.2fx", median);
    else
        snprintf(cell, CELL_BYTES, "%.2fx [%.2f, %.2f]", median, lo, hi);
    row->change = lo > 1 ? CHANGE_BETTER : hi < 1 ? CHANGE_WORSE : CHANGE_NONE;
}

static void set_model(struct table_row *row, const json_t *model)
{
    double predicted = tree_get_number(model, "predicted_ns");
    double error = tree_get_number(model, "error");
    if (!isnan(predicted))
        text_ns(row->cell[COLUMN_PREDICTED], predicted);
    if (!isnan(error))
        snprintf(row->cell[COLUMN_ERROR], CELL_BYTES, "%+.1f %%", 100 * error);
}

static void set_bytes(struct table_row *row, enum column column, double bytes)
{
    if (!isnan(bytes))
        text_bytes(row->cell[column], (uint64_t)bytes);
}

/* NaN where there are no counts at all; a file from before a counter was there has none of it. */
static double driver_calls(const json_t *counts)
{
    static const char *const names[] = {
        "driver_alloc_count", "driver_touch_count", "driver_free_count",
        "driver_map_count",   "driver_unmap_count", "driver_sync_count",
    };
    double calls = tree_get_number(counts, names[0]);
    for (size_t i = 1; i < sizeof names / sizeof *names; i++) {
        double more = tree_get_number(counts, names[i]);
        calls += isnan(more) ? 0 : more;
    }
    return calls;
}

/* "6 (184 MiB)" over all kinds of copies. */
static void set_copies(struct table_row *row, enum column column, const json_t *counts,
                       const char *prefix)
{
    static const char *const kinds[] = {
#define X(name, help) #name,
        COPY_KIND_LIST(X)
#undef X
    };
    double count = 0, bytes = 0;
    char name[64], size[32];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(name, sizeof name, "%s_%s_count", prefix, kinds[i]);
        count += tree_get_number(counts, name);
        snprintf(name, sizeof name, "%s_%s_bytes", prefix, kinds[i]);
        bytes += tree_get_number(counts, name);
    }
    if (count == 0)
        set(row, column, "0");
    else if (!isnan(count) && !isnan(bytes))
        snprintf(row->cell[column], CELL_BYTES, "%.0f (%s)", count,
                 text_bytes(size, (uint64_t)bytes));
}

static void set_counters(struct table_row *row, const json_t *one_case)
{
    const json_t *counters = json_object_get(one_case, "counters");
    const json_t *cold = json_object_get(counters, "cold");
    const json_t *warm = json_object_get(counters, "warm");
    set_bytes(row, COLUMN_REQUESTED, case_peak(one_case, "peak_requested_bytes"));
    set_bytes(row, COLUMN_RESERVED, case_peak(one_case, "peak_reserved_bytes"));
    set_bytes(row, COLUMN_LOWER_BOUND, case_peak(one_case, "live_lower_bound_bytes"));
    double first = driver_calls(cold), then = driver_calls(warm);
    if (first == then)
        snprintf(row->cell[COLUMN_DRIVER_CALLS], CELL_BYTES, "%.0f", first);
    else if (!isnan(first) && !isnan(then))
        snprintf(row->cell[COLUMN_DRIVER_CALLS], CELL_BYTES, "%.0f → %.0f", first, then);
    double hits = tree_get_number(warm, "hit_count");
    double requests = hits + tree_get_number(warm, "miss_count");
    if (requests > 0)
        snprintf(row->cell[COLUMN_HITS], CELL_BYTES, "%.0f%%", 100 * hits / requests);
    set_copies(row, COLUMN_COPIES, warm, "copy");
    set_copies(row, COLUMN_ELIDED, warm, "elided");
}

static void set_floor(struct table_row *row, const json_t *one_case)
{
    double floor_ns = tree_get_number(one_case, "floor_ns");
    double part = tree_get_number(one_case, "of_floor");
    if (!isnan(floor_ns))
        text_ns(row->cell[COLUMN_FLOOR], floor_ns);
    if (!isnan(part))
        snprintf(row->cell[COLUMN_OF_FLOOR], CELL_BYTES, "%.0f%%", 100 * part);
}

static void fill_case(struct table_row *row, const json_t *one_case)
{
    const json_t *key = json_object_get(one_case, "key");
    for (int c = 0; c < COLUMNS; c++)
        set(row, (enum column)c, c < FIRST_MEASURED ? tree_get_text(key, column_titles[c]) : "-");
    const char *status = tree_get_text(one_case, "status");
    row->is_ok = case_is_ok(one_case);
    row->reason = row->is_ok ? "" : tree_get_text(one_case, "reason");
    if (!row->is_ok) {
        char *cell = row->cell[COLUMN_WALL];
        set(row, COLUMN_WALL, status);
        for (; *cell; cell++)
            *cell = (char)toupper((unsigned char)*cell);
        return;
    }
    const json_t *wall = json_object_get(json_object_get(one_case, "stats"), "wall_ns");
    set_wall(row, wall);
    set_model(row, json_object_get(one_case, "model"));
    set_speedup(row, json_object_get(one_case, "speedup_over_raw"));
    set_counters(row, one_case);
    double over_best = tree_get_number(one_case, "peak_over_best");
    if (!isnan(over_best))
        snprintf(row->cell[COLUMN_OVER_BEST], CELL_BYTES, "%+.1f %%", 100 * (over_best - 1));
    set_floor(row, one_case);
}

static void fill_mean(struct table_row *row, const json_t *mean)
{
    row->is_mean = row->is_ok = true;
    row->reason = "";
    set(row, COLUMN_WORKLOAD, "geometric mean");
    for (int c = COLUMN_DEVICE; c <= COLUMN_STRATEGY; c++)
        if (c != COLUMN_WORKLOAD)
            set(row, (enum column)c, tree_get_text(mean, column_titles[c]));
    double cases = tree_get_number(mean, "cases"), missing = tree_get_number(mean, "missing");
    if (missing > 0)
        snprintf(row->cell[COLUMN_WALL], CELL_BYTES, "of %.0f, %.0f missing", cases, missing);
    else
        snprintf(row->cell[COLUMN_WALL], CELL_BYTES, "of %.0f", cases);
    set(row, COLUMN_SPEEDUP, "-");
    set_speedup(row, mean);
}

static bool same_group(const struct table_row *a, const struct table_row *b)
{
    return strcmp(a->cell[COLUMN_WORKLOAD], b->cell[COLUMN_WORKLOAD]) == 0 &&
           strcmp(a->cell[COLUMN_DATASET], b->cell[COLUMN_DATASET]) == 0 &&
           strcmp(a->cell[COLUMN_DEVICE], b->cell[COLUMN_DEVICE]) == 0;
}

/* A mean over one case repeats the case. */
static bool mean_says_something(const json_t *mean)
{
    return tree_get_number(mean, "cases") + tree_get_number(mean, "missing") > 1;
}

struct table_cells table_cells_of(const json_t *root)
{
    const json_t *cases = json_object_get(root, "cases");
    const json_t *means = json_object_get(root, "summary");
    size_t case_count = json_array_size(cases), mean_count = json_array_size(means);
    struct table_cells cells = {0};
    cells.rows = must_alloc((case_count + mean_count) * sizeof *cells.rows);
    for (size_t i = 0; i < case_count; i++) {
        struct table_row *row = &cells.rows[cells.row_count++];
        fill_case(row, json_array_get(cases, i));
        if (i > 0)
            row->group = row[-1].group + !same_group(row, &row[-1]);
    }
    for (size_t i = 0; i < mean_count; i++) {
        if (!mean_says_something(json_array_get(means, i)))
            continue;
        struct table_row *row = &cells.rows[cells.row_count++];
        fill_mean(row, json_array_get(means, i));
        if (cells.row_count > 1)
            row->group = row[-1].group + !same_group(row, &row[-1]);
    }
    return cells;
}

void table_cells_free(struct table_cells *cells)
{
    free(cells->rows);
    *cells = (struct table_cells){0};
}

bool row_counts(const struct table_row *row, enum column column)
{
    return !row->is_mean && (row->is_ok || column < FIRST_MEASURED);
}

const char *column_value(const struct table_cells *cells, enum column column, size_t group)
{
    for (size_t i = 0; i < cells->row_count; i++) {
        const struct table_row *row = &cells->rows[i];
        if (row_counts(row, column) && (group == ALL_GROUPS || group == row->group))
            return row->cell[column];
    }
    return NULL;
}

bool column_is_constant(const struct table_cells *cells, enum column column, bool by_group)
{
    for (size_t i = 0; i < cells->row_count; i++) {
        const struct table_row *row = &cells->rows[i];
        size_t group = by_group ? row->group : ALL_GROUPS;
        if (row_counts(row, column) &&
            strcmp(row->cell[column], column_value(cells, column, group)) != 0)
            return false;
    }
    return true;
}

/* A column can only be constant in an interesting way where rows stand beside each other. */
static bool some_group_has_two(const struct table_cells *cells, enum column column)
{
    size_t in_group = 0;
    for (size_t i = 0; i < cells->row_count; i++) {
        if (i > 0 && cells->rows[i].group != cells->rows[i - 1].group)
            in_group = 0;
        in_group += row_counts(&cells->rows[i], column);
        if (in_group > 1)
            return true;
    }
    return false;
}

enum column_place column_placement(const struct table_cells *cells, enum column column,
                                   bool grouped)
{
    const char *value = column_value(cells, column, ALL_GROUPS);
    bool constant = column_is_constant(cells, column, false);
    if (column == COLUMN_STRATEGY || column == COLUMN_WALL)
        return PLACE_AS_COLUMN;
    if (column <= COLUMN_DATASET && grouped)
        return PLACE_NOWHERE; /* the group's heading says it */
    if (constant && value && !*value)
        return PLACE_NOWHERE; /* no case has it */
    if (column < FIRST_MEASURED)
        return constant ? PLACE_ONCE : PLACE_AS_COLUMN;
    if (!value || (constant && strcmp(value, "-") == 0))
        return PLACE_NOWHERE;
    if (column == COLUMN_SPEEDUP || !some_group_has_two(cells, column))
        return PLACE_AS_COLUMN;
    if (constant)
        return PLACE_ONCE;
    return grouped && column_is_constant(cells, column, true) ? PLACE_BY_GROUP : PLACE_AS_COLUMN;
}
