/* A history as text, Markdown, CSV and JSON lines. Everything is read from the tree. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/compare/history.h"
#include "record/facts/case.h"
#include "record/result/result.h"
#include "record/table/export.h"

static const char *const key_members[] = {
#define X(member) #member,
    CASE_KEY_ALL_LIST(X)
#undef X
};
enum { KEY_MEMBERS = sizeof key_members / sizeof *key_members, REMARKS_MOST = 64 };

static bool is_true(const json_t *object, const char *member)
{
    return json_is_true(json_object_get(object, member));
}

static bool has_word(const json_t *object, const char *member, const char *word)
{
    return strcmp(tree_get_text(object, member), word) == 0;
}

static const json_t *run_of(const json_t *history, const json_t *object, const char *member)
{
    return json_array_get(json_object_get(history, "runs"),
                          (size_t)tree_get_number(object, member));
}

/* ---- which series --------------------------------------------------------------------------- */

/* Does the newest run have a step for the worse, or a failure? */
static bool is_bad(const json_t *series)
{
    const json_t *points = json_object_get(series, "points"), *step;
    size_t i;
    json_array_foreach(json_object_get(series, "steps"), i, step)
    {
        if (is_true(step, "newest") && has_word(step, "effect", "worse"))
            return true;
    }
    return json_object_get(json_array_get(points, json_array_size(points) - 1), "status");
}

/* Does it have a step, or may it have one at the newest run? */
static bool has_changed(const json_t *series)
{
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(series, "steps"), i, step)
    {
        if (!has_word(step, "verdict", "unsure") || is_true(step, "newest"))
            return true;
    }
    return false;
}

static bool is_shown(const json_t *series, enum compare_show show)
{
    return show == COMPARE_SHOW_ALL || is_bad(series) ||
           (show == COMPARE_SHOW_CHANGED && has_changed(series));
}

/* ---- cells ---------------------------------------------------------------------------------- */

static void add_value(struct text_grid *grid, const json_t *series, const json_t *value)
{
    const double number = tree_to_number(value);
    if (isnan(number))
        text_grid_skip(grid, 1);
    else if (has_word(series, "unit", "ns"))
        text_grid_add_ns(grid, number);
    else if (has_word(series, "unit", "bytes"))
        text_grid_add_bytes(grid, (uint64_t)number);
    else
        text_grid_add(grid, "%.0f", number);
}

/* The first or the last point with a value; NULL: there is none. */
static const json_t *known_point(const json_t *series, bool last)
{
    const json_t *points = json_object_get(series, "points");
    const size_t count = json_array_size(points);
    for (size_t i = 0; i < count; i++) {
        const json_t *point = json_array_get(points, last ? count - 1 - i : i);
        if (json_is_number(json_object_get(point, "value")))
            return point;
    }
    return NULL;
}

static void part_text(char out[32], double ratio)
{
    if (ratio >= 10)
        snprintf(out, 32, "x%.3g", ratio);
    else
        snprintf(out, 32, "%+.1f %%", 100 * (ratio - 1));
}

/* "+10.2 %"; for exact counters the amount: "+512 B", "-3". */
static void change_text(char out[40], const json_t *series, double from, double to)
{
    char amount[32];
    if (has_word(series, "unit", "ns"))
        part_text(out, to / from);
    else if (has_word(series, "unit", "bytes"))
        snprintf(out, 40, "%s%s", to < from ? "-" : "+",
                 text_bytes(amount, (uint64_t)fabs(to - from)));
    else
        snprintf(out, 40, "%+.0f", to - from);
}

static void add_revision(struct text *out, const json_t *run)
{
    const char *rev = tree_get_text(run, "git_rev");
    text_add(out, "%.9s%s", *rev ? rev : "unknown", is_true(run, "git_dirty") ? "-dirty" : "");
}

/* "- slower +10.2 % in 8d0e21b4a..3f2a9c1d0": git log takes the range as it stands. */
static void add_step(struct text *out, const json_t *history, const json_t *series,
                     const json_t *step)
{
    const json_t *before = run_of(history, step, "before"), *run = run_of(history, step, "run");
    const bool is_unsure = has_word(step, "verdict", "unsure");
    const bool is_same_commit =
        json_equal(json_object_get(before, "git_rev"), json_object_get(run, "git_rev"));
    const bool is_dirty = is_true(run, "git_dirty") || is_true(before, "git_dirty");
    char part[40];
    if (has_word(series, "unit", "ns"))
        part_text(part, tree_get_number(step, "ratio"));
    else
        change_text(part, series, tree_get_number(step, "old"), tree_get_number(step, "new"));
    text_add(out, "%s %s %s in ",
             is_unsure                           ? "?"
             : has_word(step, "effect", "worse") ? "-"
                                                 : "+",
             tree_get_text(step, "verdict"), part);
    if (!is_same_commit) {
        add_revision(out, before);
        text_add(out, "..");
    }
    add_revision(out, run);
    if (is_same_commit)
        text_add(out, is_dirty ? " (uncommitted changes)" : " (the same commit: not the code)");
    if (is_unsure)
        text_add(out, ": %s", tree_get_text(step, "reason"));
    else if (is_true(step, "newest"))
        text_add(out, ", the newest run");
}

static size_t count_points(const json_t *series, const char *member)
{
    size_t i, count = 0;
    json_t *point;
    json_array_foreach(json_object_get(series, "points"), i, point) count +=
        json_object_get(point, member) != NULL;
    return count;
}

/* What is to be said of a series, a line each. */
struct remarks {
    size_t count;
    const char *text[REMARKS_MOST];
    enum text_grid_mood mood[REMARKS_MOST];
};

static void add_remark(struct remarks *all, struct arena *arena, struct text *text,
                       enum text_grid_mood mood)
{
    if (text->length && all->count < REMARKS_MOST) {
        all->mood[all->count] = mood;
        all->text[all->count++] = arena_copy(arena, text->data, text->length);
    }
    text_free(text);
}

static enum text_grid_mood mood_of(const json_t *step)
{
    return has_word(step, "effect", "worse")     ? GRID_WORSE
           : has_word(step, "effect", "better")  ? GRID_BETTER
           : has_word(step, "verdict", "unsure") ? GRID_UNSURE
                                                 : GRID_PLAIN;
}

/* The steps, then what has no value. Differences that may be steps are only counted, unless they are
 * at the newest run or all is shown. */
static struct remarks remarks_of(const json_t *history, const json_t *series, bool all,
                                 struct arena *arena)
{
    const json_t *points = json_object_get(series, "points");
    const json_t *last = json_array_get(points, json_array_size(points) - 1), *step;
    const size_t outliers = count_points(series, "outlier");
    const char *status = tree_get_text(last, "status"), *begins = tree_get_text(series, "begins");
    struct remarks out = {0};
    struct text line = {0};
    size_t i, unsure = 0;
    char count[48];
    json_array_foreach(json_object_get(series, "steps"), i, step)
    {
        const bool is_unsure = has_word(step, "verdict", "unsure");
        if (is_unsure && !all && !is_true(step, "newest")) {
            unsure++;
            continue;
        }
        add_step(&line, history, series, step);
        add_remark(&out, arena, &line, mood_of(step));
    }
    if (unsure)
        text_add(&line, "? unsure in %s", text_count(count, (double)unsure, "place"));
    if (outliers)
        text_add(&line, "%s%s", line.length ? "; " : "",
                 text_count(count, (double)outliers, "outlier"));
    if (*begins)
        text_add(&line, "%sbegins anew: %s", line.length ? "; " : "", begins);
    add_remark(&out, arena, &line, GRID_PLAIN);
    if (*status) {
        text_add(&line, "! %s in the newest run", status);
        add_remark(&out, arena, &line, GRID_WORSE);
    }
    return out;
}

/* ---- rows ----------------------------------------------------------------------------------- */

enum {
    COLUMN_STRATEGY = 4,
    COLUMN_MACHINE = KEY_MEMBERS,
    COLUMN_METRIC,
    COLUMN_RUNS,
    COLUMN_FIRST,
    COLUMN_LAST,
    COLUMN_CHANGE,
    COLUMN_STEPS
};

static void add_names(struct text_grid *grid, const json_t *series)
{
    struct text machines = {0};
    json_t *machine;
    size_t i;
    for (i = 0; i < KEY_MEMBERS; i++)
        text_grid_add(grid, "%s", tree_get_text(series, key_members[i]));
    json_array_foreach(json_object_get(series, "machines"), i, machine)
        text_add(&machines, "%s%s", i ? ", " : "", json_string_value(machine));
    text_grid_add(grid, "%s", machines.data ? machines.data : "");
    text_free(&machines);
}

/* A row with the values and, on lines of their own or in the last cell, what happened. */
static void add_row(struct text_grid *grid, const json_t *history, const json_t *series,
                    enum compare_show show, bool in_lines)
{
    const json_t *first = known_point(series, false), *last = known_point(series, true);
    const double from = tree_get_number(first, "value"), to = tree_get_number(last, "value");
    const double known = tree_get_number(series, "known"),
                 all = known + tree_get_number(series, "missing") +
                       (double)count_points(series, "status");
    const struct remarks remarks =
        remarks_of(history, series, show == COMPARE_SHOW_ALL, &grid->arena);
    struct text joined = {0};
    char change[40];
    text_grid_add_row(grid);
    add_names(grid, series);
    text_grid_add(grid, "%s%s", tree_get_text(series, "metric"),
                  has_word(series, "phase", "cold") ? " (cold)" : "");
    text_grid_add(grid, known < all ? "%.0f of %.0f" : "%.0f", known, all);
    add_value(grid, series, json_object_get(first, "value"));
    add_value(grid, series, json_object_get(last, "value"));
    change_text(change, series, from, to);
    text_grid_add(grid, "%s", first == last ? "-" : from == to ? "0" : change);
    for (size_t i = 0; i < remarks.count && !in_lines; i++)
        text_add(&joined, "%s%s", i ? "; " : "", remarks.text[i]);
    text_grid_add(grid, "%s", joined.data ? joined.data : "");
    for (size_t i = 0; i < remarks.count && in_lines; i++) {
        struct text_grid_row *row = text_grid_add_row(grid);
        row->cells = 0;
        row->mood = remarks.mood[i];
        row->remark = remarks.text[i];
        add_names(grid, series); /* rows are grouped by these */
    }
    text_free(&joined);
}

struct text_grid history_grid_of(const json_t *history, enum table_format format,
                                 enum compare_show show)
{
    struct text_grid grid = text_grid_of(
        "workload|dataset^2|merge^3|release^7|strategy|device^2|residency^5|machine^4|metric|"
        ">runs^6|>first|>last|>change^1|~steps");
    size_t i;
    json_t *series;
    grid.indent = 2;
    grid.complete = "--format csv has all";
    grid.column[COLUMN_STEPS].hidden = format == TABLE_TEXT;
    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        if (is_shown(series, show))
            add_row(&grid, history, series, show, format == TABLE_TEXT);
    }
    for (size_t c = 0; c <= COLUMN_MACHINE; c++) {
        const bool is_name = c == 0 || c == COLUMN_STRATEGY;
        const char *once = is_name ? NULL : text_grid_constant(&grid, c);
        grid.column[c].hidden = once;
        grid.column[c].once = once && *once ? once : NULL;
    }
    return grid;
}

/* ---- what stands around the table ----------------------------------------------------------- */

static void print_preface(const json_t *history, const char *end, FILE *out)
{
    const json_t *runs = json_object_get(history, "runs"), *one;
    const size_t count = json_array_size(runs);
    size_t i, dirty = 0;
    char text[48];
    struct text from = {0}, to = {0};
    json_array_foreach(runs, i, one) dirty += is_true(one, "git_dirty");
    add_revision(&from, json_array_get(runs, 0));
    add_revision(&to, json_array_get(runs, count - 1));
    if (count)
        fprintf(out, "%s, rev %s to %s, in the order of their %s%s",
                text_count(text, (double)count, "run"), from.data, to.data,
                has_word(history, "order", "commits") ? "commits" : "times, not of their commits",
                end);
    if (dirty)
        fprintf(out, "! %s of a changed working tree (-dirty): its code is not its revision's%s",
                text_count(text, (double)dirty, "run"), end);
    json_array_foreach(json_object_get(history, "left_out"), i, one) fprintf(
        out, "! left out: %s: %s%s", tree_get_text(one, "name"), tree_get_text(one, "reason"), end);
    const double without = tree_get_number(history, "without_cases");
    if (without > 0)
        fprintf(out, "%s without a case that was measured and chosen%s",
                text_count(text, without, "more file"), end);
    text_free(&from);
    text_free(&to);
}

void history_counts(const json_t *history, struct text *out)
{
    size_t i, with_steps = 0, unsure = 0, steady = 0, single = 0;
    json_t *series;
    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        size_t k, certain = 0, doubtful = 0;
        json_t *step;
        json_array_foreach(json_object_get(series, "steps"), k, step)
        {
            const bool is_unsure = has_word(step, "verdict", "unsure");
            certain += !is_unsure;
            doubtful += is_unsure;
        }
        with_steps += certain > 0;
        unsure += certain == 0 && doubtful > 0;
        single += tree_get_number(series, "known") < 2;
        steady += !certain && !doubtful && tree_get_number(series, "known") >= 2;
    }
    text_add(out, "%zu series: %zu with steps, %zu unsure, %zu steady, %zu with fewer than 2 runs",
             i, with_steps, unsure, steady, single);
}

static void print_outcome(const json_t *history, const char *end, FILE *out)
{
    struct text counts = {0};
    history_counts(history, &counts);
    fprintf(out, "%s%s", counts.data, end);
    text_free(&counts);
    fprintf(out, "%s: %s\n", tree_get_text(history, "verdict"), tree_get_text(history, "sentence"));
}

static void print_people(const json_t *history, enum table_format format, enum compare_show show,
                         FILE *out)
{
    struct text_grid grid = history_grid_of(history, format, show);
    const char *end = format == TABLE_MARKDOWN ? "  \n" : "\n";
    struct terminal_page page;
    terminal_page_open(&page, out);
    print_preface(history, end, page.out);
    if (grid.row_count) {
        text_grid_print_once(&grid, end, page.out);
        fputc('\n', page.out);
        text_grid_print(&grid, format, &page.terminal, page.out);
    }
    fputc('\n', page.out);
    print_outcome(history, end, page.out);
    terminal_page_close(&page);
    text_grid_free(&grid);
}

/* ---- a line a point ------------------------------------------------------------------------- */

/* The step at a point; NULL: there is none. */
static const json_t *step_at(const json_t *series, const json_t *point)
{
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(series, "steps"), i, step)
    {
        if (json_equal(json_object_get(step, "run"), json_object_get(point, "run")))
            return step;
    }
    return NULL;
}

/* A point with everything that its series and its run say. */
static json_t *flat_point(const json_t *history, const json_t *series, const json_t *point)
{
    static const char *const of_run[] = {"name",      "started_at",   "git_rev",
                                         "git_dirty", "committed_at", "machine_id"};
    static const char *const of_series[] = {"metric", "phase", "unit"};
    static const char *const of_point[] = {"value", "lo", "hi", "rounds"};
    const json_t *run = run_of(history, point, "run"), *step = step_at(series, point);
    const char *status = tree_get_text(point, "status");
    json_t *out = tree_object();
    size_t i;
    for (i = 0; i < sizeof of_run / sizeof *of_run; i++)
        tree_put(out, of_run[i], tree_share(run, of_run[i]));
    tree_put(out, "id", tree_share(series, "id"));
    for (i = 0; i < KEY_MEMBERS; i++)
        tree_put(out, key_members[i], tree_share(series, key_members[i]));
    for (i = 0; i < sizeof of_series / sizeof *of_series; i++)
        tree_put(out, of_series[i], tree_share(series, of_series[i]));
    for (i = 0; i < sizeof of_point / sizeof *of_point; i++)
        tree_put(out, of_point[i], tree_share(point, of_point[i]));
    tree_put(out, "status", tree_text(*status ? status : "ok"));
    tree_put(out, "outlier", json_boolean(is_true(point, "outlier")));
    tree_put(out, "step", tree_share(step, "verdict"));
    tree_put(out, "step_ratio", tree_share(step, "ratio"));
    return out;
}

static void print_points(const json_t *history, enum table_format format, FILE *out)
{
#define X(member) "|" #member
    struct text_grid grid = text_grid_of(
        "name|started_at|git_rev|git_dirty|committed_at|machine_id|id" CASE_KEY_ALL_LIST(
            X) "|metric|phase|unit|value|lo|hi|rounds|status|outlier|step|step_ratio");
#undef X
    size_t i, k;
    json_t *series, *point;
    json_array_foreach(json_object_get(history, "series"), i, series)
        json_array_foreach(json_object_get(series, "points"), k, point)
    {
        json_t *flat = flat_point(history, series, point);
        if (format == TABLE_CSV) {
            text_grid_add_row(&grid);
            for (size_t c = 0; c < grid.column_count; c++)
                text_grid_add_json(&grid, json_object_get(flat, grid.column[c].title));
        } else {
            export_line(flat, out);
        }
        json_decref(flat);
    }
    if (format == TABLE_CSV)
        text_grid_print(&grid, TABLE_CSV, NULL, out);
    text_grid_free(&grid);
}

int history_print(const json_t *history, enum table_format format, enum compare_show show,
                  FILE *out, struct error *error)
{
    int code = 0;
    if (format == TABLE_JSON)
        code = result_print(history, out, error);
    else if (format == TABLE_CSV || format == TABLE_JSON_LINES)
        print_points(history, format, out);
    else
        print_people(history, format, show, out);
    if (code == 0 && (fflush(out) != 0 || ferror(out)))
        code = error_set(error, ERR_IO, "stdout could not be written: %s", strerror(errno));
    return code;
}
