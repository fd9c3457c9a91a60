#include "results/show/text_grid.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "results/file/answer.h"
#include "results/file/measured.h"

/* X(NAME, title): first the columns that name a row, then the measured ones. '^2' says how early a
 * narrow terminal drops the column (see text_grid_of). */
#define COLUMN_LIST(X)                                                                             \
    X(DEVICE, "device")                                                                            \
    X(WORKLOAD, "workload")                                                                        \
    X(DATASET, "dataset")                                                                          \
    X(MERGE, "merge")                                                                              \
    X(RELEASE, "release^3")                                                                        \
    X(RESIDENCY, "residency^3")                                                                    \
    X(STRATEGY, "strategy")                                                                        \
    X(WALL, ">wall")                                                                               \
    X(PREDICTED, ">predicted^14")                                                                  \
    X(ERROR, ">error^15")                                                                          \
    X(UNEXPLAINED, ">unexplained^17")                                                              \
    X(SPEEDUP, ">vs raw")                                                                          \
    X(FLOOR, ">floor^13")                                                                          \
    X(OF_FLOOR, ">of floor^12")                                                                    \
    X(REQUESTED, ">requested^8")                                                                   \
    X(OVER_BEST, ">over best^7")                                                                   \
    X(RESERVED, ">reserved^5")                                                                     \
    X(OVER_BOUND, ">over bound^4")                                                                 \
    X(LOWER_BOUND, ">lower bound^11")                                                              \
    X(DRIVER_CALLS, ">driver calls^6")                                                             \
    X(DRIVER_TIME, ">driver time^6")                                                               \
    X(HITS, ">hits^10")                                                                            \
    X(COPIES, ">copies^9")                                                                         \
    X(ELIDED, ">elided^16")

#define COLUMN_OF(name, title) COLUMN_##name,
enum column { COLUMN_LIST(COLUMN_OF) COLUMNS, FIRST_MEASURED = COLUMN_WALL };

/* ---- the cells of a case --------------------------------------------------------------------- */

/* "4.31 ms ±0.6%": the median, and the larger half of its interval as a part of it. */
static void add_wall(struct text_grid *grid, const struct statistics *wall)
{
    const double below = wall->median - wall->ci_lo, above = wall->ci_hi - wall->median;
    char time[32];
    if (isnan(below) || isnan(above) || wall->median <= 0)
        text_grid_add_ns(grid, wall->median);
    else
        text_grid_add(grid, "%s ±%.1f%%", text_ns(time, wall->median),
                      100 * fmax(below, above) / wall->median);
}

/* A row is better or worse only if its whole interval is on one side of 1. */
static void add_speedup(struct text_grid *grid, struct text_grid_row *row,
                        const struct statistics *s)
{
    row->mood_of = COLUMN_SPEEDUP;
    row->mood = s->ci_lo > 1 ? GRID_BETTER : s->ci_hi < 1 ? GRID_WORSE : GRID_PLAIN;
    text_grid_add_interval(grid, s);
}

static void add_bytes(struct text_grid *grid, double bytes)
{
    if (isnan(bytes))
        text_grid_skip(grid, 1);
    else
        text_grid_add_bytes(grid, (uint64_t)bytes);
}

/* Adds a number; `format` has one conversion, for a double. */
static void add_number(struct text_grid *grid, const char *format, double number)
{
    char text[32];
    snprintf(text, sizeof text, format, number);
    text_grid_add(grid, "%s", isnan(number) ? "-" : text);
}

/* "80", or "3 → 0" where the warm run makes fewer than the cold one. A replay has no warm run. */
static void add_driver_calls(struct text_grid *grid, const struct result_case *one)
{
    const double first = measured_driver_calls(measured_cold(one));
    const double then = measured_driver_calls(measured_warm(one));
    if (isnan(first))
        text_grid_skip(grid, 1);
    else if (first == then || isnan(then))
        text_grid_add(grid, "%.0f", first);
    else
        text_grid_add(grid, "%.0f → %.0f", first, then);
}

/* "6 (184 MiB)" over all kinds of copies. */
static void add_copies(struct text_grid *grid, const struct exact_counts *counts,
                       const char *prefix)
{
    static const char *const kinds[] = {COPY_KIND_LIST(TEXT_NAME)};
    double count = 0, bytes = 0;
    char name[64], size[32];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(name, sizeof name, "%s_%s_count", prefix, kinds[i]);
        count += counter_value(counts, name);
        snprintf(name, sizeof name, "%s_%s_bytes", prefix, kinds[i]);
        bytes += counter_value(counts, name);
    }
    if (isnan(count) || (count != 0 && isnan(bytes)))
        text_grid_skip(grid, 1);
    else if (count == 0)
        text_grid_add(grid, "0");
    else
        text_grid_add(grid, "%.0f (%s)", count, text_bytes(size, (uint64_t)bytes));
}

static void add_measured(struct text_grid *grid, struct text_grid_row *row,
                         const struct result_case *one)
{
    const struct exact_counts *cold = measured_cold(one), *warm = measured_warm(one);
    const struct exact_counts *last = isnan(counter_value(warm, "hit_count")) ? cold : warm;
    const double hits = counter_value(last, "hit_count");
    const double requests = hits + counter_value(last, "miss_count");
    const double bound = measured_peak(one, "live_lower_bound_bytes");
    const double reserved = measured_peak(one, "peak_reserved_bytes");
    add_wall(grid, &measured_stat(one, "wall_ns")->over);
    text_grid_add_ns(grid, one->model ? one->model->predicted_ns : NAN);
    add_number(grid, "%+.1f %%", 100 * (one->model ? one->model->error : NAN));
    add_number(grid, "%.1f %%", 100 * measured_unexplained(one));
    add_speedup(grid, row, measured_speedup(one));
    text_grid_add_ns(grid, one->floor_ns);
    add_number(grid, "%.0f%%", 100 * one->of_floor);
    add_bytes(grid, measured_peak(one, "peak_requested_bytes"));
    add_number(grid, "%+.1f %%", 100 * (one->peak_over_best - 1));
    add_bytes(grid, reserved);
    add_number(grid, "%.2f×", reserved / bound);
    add_bytes(grid, bound);
    add_driver_calls(grid, one);
    text_grid_add_ns(grid,
                     one->model && isnan(one->model->predicted_ns) ? one->model->driver_ns : NAN);
    add_number(grid, "%.0f%%", requests > 0 ? 100 * hits / requests : NAN);
    add_copies(grid, last, "copy");
    add_copies(grid, last, "elided");
}

static void add_failure(struct text_grid *grid, struct text_grid_row *row,
                        const struct result_case *one, enum table_shape shape)
{
    const char *reason = one->reason ? one->reason : "";
    char status[32];
    snprintf(status, sizeof status, "%s", case_status_name(one->status));
    for (char *c = status; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    row->mood_of = COLUMN_WALL;
    row->mood = GRID_WORSE;
    text_grid_add(grid, "%s%s%s", status, shape == SHAPE_FLAT && *reason ? ": " : "",
                  shape == SHAPE_FLAT ? reason : "");
    if (shape == SHAPE_GROUPED) {
        row->cells = COLUMN_WALL;
        row->remark = arena_printf(&grid->arena, "%s  %s", status, reason);
    }
}

/* The cells that name a row, in the order of the columns. */
static void add_key(struct text_grid *grid, const struct case_key *key)
{
    const char *const cells[] = {key->device,  key->workload,  key->dataset, key->merge,
                                 key->release, key->residency, key->strategy};
    for (int c = 0; c < FIRST_MEASURED; c++)
        text_grid_add(grid, "%s", cells[c]);
}

static void add_case(struct text_grid *grid, const struct result_case *one, enum table_shape shape)
{
    struct text_grid_row *row = text_grid_add_row(grid);
    row->id = one->id;
    add_key(grid, &one->key);
    if (one->status == CASE_ok)
        add_measured(grid, row, one);
    else
        add_failure(grid, row, one, shape);
}

static void add_mean(struct text_grid *grid, const struct answer_device *device,
                     const struct answer_ranked *ranked)
{
    struct text_grid_row *row = text_grid_add_row(grid);
    struct case_key key = ranked->key;
    snprintf(key.workload, sizeof key.workload, "geometric mean");
    snprintf(key.device, sizeof key.device, "%s", device->device);
    row->is_mean = true;
    add_key(grid, &key);
    for (int c = FIRST_MEASURED; c < COLUMNS; c++)
        row->cell[c] = "";
    if (device->rounds > 0) {
        text_grid_add(grid, "of %" PRIu64, device->cases);
        text_grid_skip(grid, COLUMN_SPEEDUP - COLUMN_WALL - 1);
        add_speedup(grid, row, &ranked->speedup);
    } else {
        row->cell[COLUMN_RESERVED] = arena_printf(&grid->arena, "of %" PRIu64, device->cases);
    }
    if (!isnan(ranked->memory_over_bound))
        row->cell[COLUMN_OVER_BOUND] =
            arena_printf(&grid->arena, "%.2f×", ranked->memory_over_bound);
}

/* A mean over one case would repeat the case. */
static bool has_means(const struct answer_device *device)
{
    return device->cases > 1 && device->ranked_count > 0 &&
           (device->rounds > 0 || !isnan(device->ranking[0].memory_over_bound));
}

/* The means of a device are over the same cases, so they can be compared; the fastest is first, and
 * without times the one that holds the least. */
static void add_means(struct text_grid *grid, const struct answer_device *device)
{
    for (size_t i = 0; i < device->ranked_count && has_means(device); i++)
        add_mean(grid, device, &device->ranking[i]);
}

/* ---- what columns say ------------------------------------------------------------------------ */

/* In a measured column the cells of cases that are not ok do not count; geometric means count in
 * no column. */
static bool counts(const struct text_grid_row *row, size_t column)
{
    return !row->is_mean && (row->mood_of != COLUMN_WALL || column < FIRST_MEASURED);
}

/* The first cell that counts in a group; NULL if none does. */
#define ALL_GROUPS SIZE_MAX
static const char *value_of(const struct text_grid *grid, size_t column, size_t group)
{
    for (size_t r = 0; r < grid->row_count; r++) {
        const struct text_grid_row *row = &grid->row[r];
        if (counts(row, column) && (group == ALL_GROUPS || group == row->group))
            return row->cell[column];
    }
    return NULL;
}

/* Are the cells that count the same in all rows, or in all rows of each group? */
static bool is_constant(const struct text_grid *grid, size_t column, bool by_group)
{
    for (size_t r = 0; r < grid->row_count; r++) {
        const struct text_grid_row *row = &grid->row[r];
        if (counts(row, column) &&
            strcmp(row->cell[column], value_of(grid, column, by_group ? row->group : ALL_GROUPS)) !=
                0)
            return false;
    }
    return true;
}

/* Has any group several rows? Only then is a constant column worth a word. */
static bool some_group_has_two(const struct text_grid *grid, size_t column)
{
    size_t in_group = 0;
    for (size_t r = 0; r < grid->row_count; r++) {
        if (r > 0 && grid->row[r].group != grid->row[r - 1].group)
            in_group = 0;
        in_group += counts(&grid->row[r], column);
        if (in_group > 1)
            return true;
    }
    return false;
}

/* Hides a column that says nothing. Returns true if the headings have to print its value. */
static bool place_column(struct text_grid *grid, size_t c, bool grouped)
{
    struct text_grid_column *column = &grid->column[c];
    const char *value = value_of(grid, c, ALL_GROUPS);
    const bool constant = is_constant(grid, c, false);
    const bool measured = c >= FIRST_MEASURED;
    if (c == COLUMN_STRATEGY || c == COLUMN_WALL || column->hidden)
        return false;
    column->hidden = true;
    if ((c <= COLUMN_DATASET && grouped) || (constant && value && !*value))
        return false; /* the heading names it, or no case has it */
    if (measured && (!value || (constant && strcmp(value, "-") == 0)))
        return false;
    if (constant && (!measured || (c != COLUMN_SPEEDUP && some_group_has_two(grid, c)))) {
        column->once = value;
        return false;
    }
    column->hidden = measured && grouped && c != COLUMN_SPEEDUP && some_group_has_two(grid, c) &&
                     is_constant(grid, c, true);
    return column->hidden;
}

/* Without times the share of the bound takes their place. A flat table needs the column of times
 * for what failed. */
static void place_time_columns(struct text_grid *grid, bool has_times, bool grouped)
{
    bool failed = false;
    if (has_times) {
        grid->column[COLUMN_OVER_BOUND].hidden = true;
        return;
    }
    for (size_t r = 0; r < grid->row_count; r++)
        failed |= grid->row[r].mood_of == COLUMN_WALL && grid->row[r].mood == GRID_WORSE;
    grid->column[COLUMN_WALL].hidden = grouped || !failed;
    grid->column[COLUMN_WALL].title = "status";
    for (size_t r = 0; r < grid->row_count; r++)
        if (strcmp(grid->row[r].cell[COLUMN_WALL], "-") == 0)
            grid->row[r].cell[COLUMN_WALL] = "ok";
}

/* "stencil small on host: floor 3.36 ms" */
static const char *heading_of(struct text_grid *grid, const struct text_grid_row *row,
                              const bool *by_group)
{
    const char *dataset = row->cell[COLUMN_DATASET], *before = ": ";
    char *heading = arena_printf(&grid->arena, "%s%s%s on %s", row->cell[COLUMN_WORKLOAD],
                                 *dataset ? " " : "", dataset, row->cell[COLUMN_DEVICE]);
    for (size_t c = 0; c < COLUMNS; c++) {
        const char *value = value_of(grid, c, row->group);
        if (!by_group[c] || !value)
            continue;
        heading =
            arena_printf(&grid->arena, "%s%s%s %s", heading, before, grid->column[c].title, value);
        before = ", ";
    }
    return heading;
}

static bool same_group(const struct text_grid_row *a, const struct text_grid_row *b)
{
    return strcmp(a->cell[COLUMN_WORKLOAD], b->cell[COLUMN_WORKLOAD]) == 0 &&
           strcmp(a->cell[COLUMN_DATASET], b->cell[COLUMN_DATASET]) == 0 &&
           strcmp(a->cell[COLUMN_DEVICE], b->cell[COLUMN_DEVICE]) == 0;
}

/* Leaves out the rows of cases that are ok on devices with means, and the columns that only these
 * have. */
static void keep_means(struct text_grid *grid, const struct result *result)
{
    size_t kept = 0;
    for (size_t r = 0; r < grid->row_count; r++) {
        const struct text_grid_row *row = &grid->row[r];
        const struct answer_device *device = answer_find(&result->answer, row->cell[COLUMN_DEVICE]);
        if (row->is_mean || row->mood_of == COLUMN_WALL || !device || !has_means(device))
            grid->row[kept++] = *row;
    }
    grid->row_count = kept;
    grid->column[COLUMN_OVER_BOUND].hidden = false;
    for (size_t c = FIRST_MEASURED; c < COLUMNS; c++) {
        bool is_any = false;
        for (size_t r = 0; r < kept; r++)
            is_any |= *grid->row[r].cell[c] && grid->row[r].mood_of != COLUMN_WALL;
        grid->column[c].hidden |= !is_any;
    }
}

struct text_grid table_grid_of(const struct result *result, enum table_shape shape,
                               enum table_show show)
{
#define X(name, title) title "|"
    struct text_grid grid = text_grid_of(COLUMN_LIST(X));
#undef X
    bool by_group[COLUMNS];
    const struct answer *answer = &result->answer;
    grid.indent = 2;
    grid.complete = "--format csv has all";
    grid.column[COLUMN_SPEEDUP].title = arena_printf(&grid.arena, "vs %s", answer_against(answer));
    for (size_t i = 0; i < result->case_count; i++)
        if (!answer_tells_skipped(answer, &result->cases[i]))
            add_case(&grid, &result->cases[i], shape);
    for (size_t i = 0; i < answer->device_count && shape != SHAPE_PLAIN; i++)
        add_means(&grid, &answer->devices[i]);
    for (size_t r = 1; r < grid.row_count; r++)
        grid.row[r].group = grid.row[r - 1].group + !same_group(&grid.row[r], &grid.row[r - 1]);
    place_time_columns(&grid, result_has_times(result, NULL), shape == SHAPE_GROUPED);
    if (shape == SHAPE_PLAIN)
        grid.column[COLUMN_SPEEDUP].hidden = grid.column[COLUMN_OVER_BOUND].hidden = true;
    for (size_t c = 0; c < COLUMNS; c++)
        by_group[c] = place_column(&grid, c, shape == SHAPE_GROUPED);
    if (show == TABLE_MEANS)
        keep_means(&grid, result);
    for (size_t r = 0; r < grid.row_count && shape == SHAPE_GROUPED; r++)
        if (r == 0 || grid.row[r].group != grid.row[r - 1].group)
            grid.row[r].heading = heading_of(&grid, &grid.row[r], by_group);
    return grid;
}
