/* A comparison as text, Markdown and CSV. Everything is read from the tree. */
#include "results/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "results/facts/case.h"
#include "results/file/draft.h"
#include "base/tree.h"

/* ---- which rows ----------------------------------------------------------------------------- */

static bool is_verdict(const json_t *row, const char *verdict)
{
    return strcmp(tree_get_text(row, "verdict"), verdict) == 0;
}

static bool is_true(const json_t *row, const char *key)
{
    return json_is_true(json_object_get(row, key));
}

static bool is_over_cases(const json_t *row)
{
    return json_object_get(row, "cases");
}

/* The rank of a row among those that decide the outcome, the largest first; 0: it decides nothing.
 */
static int severity(const json_t *row)
{
    if (is_verdict(row, "wrong"))
        return 4;
    if (is_verdict(row, "gone"))
        return 3;
    if (is_true(row, "regression"))
        return 2;
    return is_verdict(row, "dropped") || (is_verdict(row, "unsure") && is_true(row, "gated"));
}

static bool is_shown(const json_t *row, enum compare_show show)
{
    const bool is_exact = strcmp(tree_get_text(row, "kind"), "exact") == 0;
    if (show == COMPARE_SHOW_WORST)
        return severity(row) > 0;
    return show == COMPARE_SHOW_ALL ||
           (!is_verdict(row, "same") &&
            (!is_verdict(row, "unsure") || is_exact || is_true(row, "gated")));
}

/* The distance of a ratio from 1, to either side, as a logarithm. */
static double distance(const json_t *row)
{
    const double ratio = tree_get_number(row, "ratio");
    return ratio > 0 ? fabs(log(ratio)) : INFINITY;
}

static int worst_first(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    const int order = severity(y) - severity(x);
    const double far_x = distance(x), far_y = distance(y);
    if (order || far_x != far_y)
        return order ? order : (far_x < far_y) - (far_x > far_y);
    return strcmp(tree_get_text(x, "id"), tree_get_text(y, "id"));
}

json_t *compare_select(const json_t *comparison, enum compare_show show)
{
    const json_t *all = json_object_get(comparison, "rows");
    json_t *row, *selected = tree_array();
    const bool has_dropped_all = compare_outcome(comparison) == COMPARE_incomparable;
    const json_t **rows = must_alloc(json_array_size(all) * sizeof(json_t *));
    size_t i, count = 0;
    json_array_foreach(all, i, row)
    {
        /* If nothing was compared, the differences of the files are enough. */
        if (is_shown(row, show) &&
            !(has_dropped_all && is_verdict(row, "dropped") && show != COMPARE_SHOW_ALL))
            rows[count++] = row;
    }
    if (show == COMPARE_SHOW_WORST && count)
        qsort(rows, count, sizeof(json_t *), worst_first);
    for (i = 0; i < count; i++)
        tree_append(selected, json_incref((json_t *)rows[i]));
    free(rows);
    return selected;
}

/* ---- cells ---------------------------------------------------------------------------------- */

static void add_number(struct text_grid *grid, const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    const char *unit = tree_get_text(row, "unit");
    const double number = json_number_value(value);
    if (json_is_string(value))
        text_grid_add(grid, "%s", json_string_value(value));
    else if (!json_is_number(value))
        text_grid_skip(grid, 1);
    else if (strcmp(unit, "ns") == 0)
        text_grid_add_ns(grid, number);
    else if (strcmp(unit, "bytes") == 0)
        text_grid_add_bytes(grid, (uint64_t)number);
    else
        text_grid_add(grid, strcmp(unit, "ratio") == 0 ? "%.4g" : "%.0f", number);
}

/* "+1.4" and `unit`, or "x12.3" where a percentage says little. */
static void part_text(char out[32], double ratio, const char *unit)
{
    if (ratio >= 10)
        snprintf(out, 32, "x%.3g", ratio);
    else
        snprintf(out, 32, "%+.1f%s", 100 * (ratio - 1), unit);
}

static const char *change_cell(struct arena *arena, const json_t *row)
{
    const double base = tree_get_number(row, "base"), candidate = tree_get_number(row, "new");
    const double ratio = tree_get_number(row, "ratio");
    const json_t *ci = json_object_get(row, "ci");
    char part[32] = "", lo[32], hi[32], amount[32];
    if (!isnan(ratio))
        part_text(part, ratio, " %");
    if (strcmp(tree_get_text(row, "kind"), "sampled") == 0) {
        if (!json_is_array(ci))
            return *part ? arena_copy(arena, part, strlen(part)) : "-";
        part_text(lo, tree_to_number(json_array_get(ci, 0)), "");
        part_text(hi, tree_to_number(json_array_get(ci, 1)), "");
        return arena_printf(arena, "%s [%s, %s]", part, lo, hi);
    }
    if (isnan(base) || isnan(candidate))
        return "-";
    if (base == candidate || fabs(ratio - 1) >= 0.0005)
        return base == candidate ? "0" : arena_copy(arena, part, strlen(part));
    if (strcmp(tree_get_text(row, "unit"), "bytes") == 0)
        text_bytes(amount, (uint64_t)fabs(candidate - base));
    else
        snprintf(amount, sizeof amount,
                 strcmp(tree_get_text(row, "unit"), "ratio") == 0 ? "%.4g" : "%.0f",
                 fabs(candidate - base));
    return arena_printf(arena, "%s%s", candidate > base ? "+" : "-", amount);
}

static bool is_effect(const json_t *row, const char *effect)
{
    return strcmp(tree_get_text(row, "effect"), effect) == 0;
}

/* A sign, the verdict, and a remark or a reason. */
static const char *verdict_cell(struct arena *arena, const json_t *comparison, const json_t *row)
{
    const bool has_gates = json_object_size(json_object_get(comparison, "gates")) > 0;
    const char *sign = " ", *remark = "", *reason = tree_get_text(row, "reason");
    const double rounds = tree_get_number(row, "rounds_needed");
    if (rounds > 0)
        return arena_printf(arena, "? %.0f rounds", rounds);
    if (severity(row) > 2)
        sign = "!";
    else if (is_verdict(row, "unsure") || is_verdict(row, "dropped"))
        sign = "?";
    else if (is_true(row, "regression"))
        sign = "✗";
    else if (is_effect(row, "worse"))
        sign = "-";
    else if (is_effect(row, "better"))
        sign = "+";
    if (*sign == '-' && has_gates && is_true(row, "gated"))
        remark = ", within its limit";
    return arena_printf(arena, "%s %s%s%s%s%s", sign, tree_get_text(row, "verdict"), remark,
                        *reason ? " (" : "", reason, *reason ? ")" : "");
}

static enum text_grid_mood mood_of(const json_t *row)
{
    if (severity(row) > 2 || is_effect(row, "worse"))
        return GRID_WORSE;
    if (is_effect(row, "better"))
        return GRID_BETTER;
    return is_verdict(row, "unsure") || is_verdict(row, "dropped") ? GRID_UNSURE : GRID_PLAIN;
}

static void add_row(struct text_grid *grid, const json_t *comparison, const json_t *row)
{
    struct arena *arena = &grid->arena;
    struct text_grid_row *line = text_grid_add_row(grid);
    const json_t *files = json_object_get(comparison, "new");
    const size_t file = (size_t)json_integer_value(json_object_get(row, "file"));
    const char *metric = tree_get_text(row, "metric"), *unit = tree_get_text(row, "unit");
    int length = (int)strlen(*metric ? metric : "status");
    const bool is_cold = strcmp(tree_get_text(row, "phase"), "cold") == 0;
    line->mood_of = LINE_VERDICT;
    line->mood = mood_of(row);
    text_grid_add(grid, "%s", tree_get_text(json_array_get(files, file), "name"));
    for (const struct json_field *member = case_key_struct.fields; member->name; member++)
        text_grid_add(grid, "%s", tree_get_text(row, member->name));
    if (is_over_cases(row))
        line->cell[LINE_WORKLOAD] =
            arena_printf(arena, "all %.0f cases", tree_get_number(row, "cases"));
    if (json_object_get(row, "experiment"))
        line->cell[LINE_WORKLOAD] = arena_printf(arena, "%s %s", tree_get_text(row, "experiment"),
                                                 tree_get_text(row, "row"));
    if (strcmp(unit, "ns") == 0 || strcmp(unit, "bytes") == 0) /* the values say it */
        length -= strlen(unit) + 1;
    if (strncmp(metric, "peak_", 5) == 0)
        metric += 5, length -= 5;
    text_grid_add(grid, "%s%.*s", is_cold ? "cold " : "", length, *metric ? metric : "status");
    add_number(grid, row, "base");
    add_number(grid, row, "new");
    text_grid_add(grid, "%s", *metric ? change_cell(arena, row) : "-");
    text_grid_add(grid, "%s", verdict_cell(arena, comparison, row));
}

/* The value of all rows in a column that names them; NULL if they differ. Workload and strategy are
 * printed in every row even if they are the same, unless no row has them (rows of experiments). A
 * row over all cases has no dataset, so it does not count for that column. */
static const char *constant(const struct text_grid *grid, const json_t *rows, size_t column)
{
    const char *cell = NULL;
    for (size_t i = 0; i < grid->row_count; i++) {
        if (column == LINE_DATASET && is_over_cases(json_array_get(rows, i)))
            continue;
        if (cell && strcmp(grid->row[i].cell[column], cell) != 0)
            return NULL;
        cell = grid->row[i].cell[column];
    }
    if (!cell && grid->row_count)
        cell = grid->row[0].cell[column];
    const bool is_name = column == LINE_WORKLOAD || column == LINE_STRATEGY;
    return is_name && cell && *cell ? NULL : cell;
}

struct text_grid compare_grid_of(const json_t *comparison, const json_t *rows)
{
    struct text_grid grid = text_grid_of(
        "file|workload|dataset^1|merge^2|release^4|strategy|device^1|residency^3|metric|>base|"
        ">new|>change|~verdict");
    grid.indent = 2;
    grid.complete = "--format csv has all";
    for (size_t i = 0; i < json_array_size(rows); i++)
        add_row(&grid, comparison, json_array_get(rows, i));
    for (size_t c = LINE_FILE; c <= LINE_RESIDENCY; c++) {
        const char *once = constant(&grid, rows, c);
        grid.column[c].hidden = once;
        grid.column[c].once = c == LINE_FILE ? NULL : once;
    }
    return grid;
}

/* ---- what stands around the rows ------------------------------------------------------------ */

static void print_file(const char *which, const json_t *file, const char *end, FILE *out)
{
    const double cases = tree_get_number(file, "cases"),
                 rows = tree_get_number(file, "experiment_rows");
    char text[48];
    fprintf(out, "%s %s: rev %.12s%s, %s", which, tree_get_text(file, "name"),
            *tree_get_text(file, "git_rev") ? tree_get_text(file, "git_rev") : "unknown",
            is_true(file, "git_dirty") ? "-dirty" : "",
            text_count(text, tree_get_number(file, "rounds"), "round"));
    if (cases > 0 || rows == 0)
        fprintf(out, ", %s", text_count(text, cases, "case"));
    if (rows > 0)
        fprintf(out, ", %.0f row%s of experiments", rows, rows == 1 ? "" : "s");
    fprintf(out, ", run %s %s%s", tree_get_text(file, "started_at"), tree_get_text(file, "status"),
            end);
}

static void print_fact(const json_t *value, FILE *out)
{
    if (json_is_string(value))
        fprintf(out, "'%s'", json_string_value(value));
    else if (json_is_number(value))
        fprintf(out, "%.12g", json_number_value(value));
    else
        fputs(!value || json_is_null(value) ? "none" : json_is_true(value) ? "true" : "false", out);
}

static bool is_noted(const json_t *difference)
{
    return strcmp(tree_get_text(difference, "matters"), "nothing") == 0;
}

/* One line for all differences without an effect: memory and load differ between any two runs. */
static void print_noted(const json_t *differences, const char *end, FILE *out)
{
    const char *before = "differs, and matters for nothing: ";
    size_t i;
    json_t *one;
    json_array_foreach(differences, i, one)
    {
        if (!is_noted(one))
            continue;
        fprintf(out, "%s%s", before, tree_get_text(one, "subject"));
        before = ", ";
    }
    if (*before == ',')
        fputs(end, out);
}

static void print_differences(const json_t *comparison, const char *end, FILE *out)
{
    const json_t *differences = json_object_get(comparison, "context_diff");
    size_t i;
    json_t *one;
    json_array_foreach(differences, i, one)
    {
        if (is_noted(one))
            continue;
        fprintf(out, "! %s: ", tree_get_text(one, "subject"));
        print_fact(json_object_get(one, "base"), out);
        fputs(" in the base, ", out);
        print_fact(json_object_get(one, "new"), out);
        fprintf(out, " in the new file (matters for %s)%s", tree_get_text(one, "matters"), end);
    }
    print_noted(differences, end, out);
    json_array_foreach(json_object_get(comparison, "notes"), i, one)
        fprintf(out, "! %s%s", json_string_value(one), end);
}

/* Prints "41 same, 1 slower"; returns false if there is nothing to count. */
static bool print_counts(const char *lead, const json_t *counts, const json_t *less, FILE *out)
{
    const char *verdict, *before = lead;
    json_t *count;
    json_object_foreach((json_t *)counts, verdict, count)
    {
        const double number =
            json_number_value(count) - (less ? tree_get_number(less, verdict) : 0);
        if (number > 0) {
            fprintf(out, "%s%.0f %s", before, number, verdict);
            before = ", ";
        }
    }
    return before != lead;
}

void compare_print_files(const json_t *comparison, const char *end, FILE *out)
{
    const json_t *gated = json_object_get(comparison, "gated_verdicts");
    const json_t *by = json_object_get(comparison, "by"), *files;
    print_file("base", json_object_get(comparison, "base"), end, out);
    files = json_object_get(comparison, "new");
    for (size_t i = 0; i < json_array_size(files) && !json_is_object(by); i++)
        print_file("new ", json_array_get(files, i), end, out);
    if (json_is_object(by))
        fprintf(out, "base of every case: the one with the %s %s, paired by round%s",
                tree_get_text(by, "member"), tree_get_text(by, "value"), end);
    print_differences(comparison, end, out);
    if (print_counts("gated: ", gated, NULL, out))
        fputs(end, out);
    if (print_counts("not gated: ", json_object_get(comparison, "verdicts"), gated, out))
        fputs(end, out);
}

const char *compare_finding(const json_t *comparison, size_t i)
{
    const json_t *findings = json_object_get(comparison, "findings");
    const char *sentence = tree_get_text(comparison, "sentence");
    const char *first = json_string_value(json_array_get(findings, 0));
    const bool is_told = first && strncmp(sentence, first, strlen(first)) == 0;
    return json_string_value(json_array_get(findings, i + is_told));
}

static void print_verdict(const json_t *comparison, const char *mark, const char *before, FILE *out)
{
    const char *finding;
    fprintf(out, "%s%s%s: %s\n", mark, tree_get_text(comparison, "verdict"), mark,
            tree_get_text(comparison, "sentence"));
    for (size_t i = 0; (finding = compare_finding(comparison, i)); i++)
        fprintf(out, "%s%s\n", before, finding);
}

/* ---- formats -------------------------------------------------------------------------------- */

static void print_answer(const json_t *answer, const char *before, FILE *out)
{
    const json_t *device, *sentence;
    for (size_t i = 0; (device = json_array_get(answer, i)); i++)
        for (size_t j = 0; (sentence = json_array_get(json_object_get(device, "sentences"), j));
             j++)
            fprintf(out, "%s%s\n", before, json_string_value(sentence));
}

static void print_people(const json_t *comparison, const json_t *rows, enum table_format format,
                         FILE *out)
{
    struct text_grid grid = compare_grid_of(comparison, rows);
    const char *end = format == TABLE_MARKDOWN ? "  \n" : "\n";
    struct terminal_page page;
    char rows_shown[48];
    terminal_page_open(&page, out);
    if (format == TABLE_MARKDOWN) {
        print_verdict(comparison, "**", "- ", page.out);
        fprintf(page.out, "\n<details><summary>%s%swhat was compared</summary>\n\n",
                grid.row_count ? text_count(rows_shown, (double)grid.row_count, "row") : "",
                grid.row_count ? ", and " : "");
    }
    compare_print_files(comparison, end, page.out);
    text_grid_print_once(&grid, end, page.out);
    if (grid.row_count) {
        fputc('\n', page.out);
        text_grid_print(&grid, format, &page.terminal, page.out);
    }
    fputc('\n', page.out);
    if (format == TABLE_MARKDOWN)
        fputs("\n</details>\n", page.out);
    else
        print_verdict(comparison, "", "  ", page.out);
    print_answer(json_object_get(comparison, "answer"), format == TABLE_MARKDOWN ? "\n" : "",
                 page.out);
    terminal_page_close(&page);
    text_grid_free(&grid);
}

static void print_csv(const json_t *comparison, const json_t *rows, FILE *out)
{
#define X(member) "|" #member
    static const char columns[] =
        "file|id" CASE_KEY_ALL_LIST(X) "|metric|phase|kind|unit|base|new|ratio|p|p_adj|limit|cases|"
                                       "rounds_needed|verdict|effect|gated|regression|reason|"
                                       "ci_lo|ci_hi|experiment|row";
#undef X
    struct text_grid grid = text_grid_of(columns);
    const json_t *files = json_object_get(comparison, "new");
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const size_t file = (size_t)json_integer_value(json_object_get(row, "file"));
        const json_t *ci = json_object_get(row, "ci");
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%s", tree_get_text(json_array_get(files, file), "name"));
        for (size_t c = 1; c < grid.column_count;
             c++) { /* the others are called like the members */
            const char *title = grid.column[c].title;
            text_grid_add_json(&grid, strcmp(title, "ci_lo") == 0   ? json_array_get(ci, 0)
                                      : strcmp(title, "ci_hi") == 0 ? json_array_get(ci, 1)
                                                                    : json_object_get(row, title));
        }
    }
    text_grid_print(&grid, TABLE_CSV, NULL, out);
    text_grid_free(&grid);
}

int compare_print(const json_t *comparison, enum table_format format, enum compare_show show,
                  FILE *out, struct error *error)
{
    json_t *rows = compare_select(comparison, show);
    int code = 0;
    if (format == TABLE_JSON) {
        json_t *copy = json_copy((json_t *)comparison);
        tree_put(copy, "rows", json_incref(rows));
        code = result_print_json(copy, out, error);
        json_decref(copy);
    } else if (format == TABLE_CSV) {
        print_csv(comparison, rows, out);
    } else {
        print_people(comparison, rows, format, out);
    }
    json_decref(rows);
    return code ? code : text_flush(out, error);
}
