/* A comparison as text. Everything is read from the tree. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "record/facts/case.h"
#include "record/compare/compare_grid.h"
#include "record/result/result.h"
#include "base/tree.h"

/* ---- what stands around the rows ------------------------------------------------------------ */

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static void print_file(const char *which, const json_t *file, const char *end, FILE *out)
{
    const double cases = tree_get_number(file, "cases"),
                 rows = tree_get_number(file, "experiment_rows");
    fprintf(out, "%s %s: rev %.12s%s, %.0f rounds", which, tree_get_text(file, "name"),
            *tree_get_text(file, "git_rev") ? tree_get_text(file, "git_rev") : "unknown",
            is_true(file, "git_dirty") ? "-dirty" : "", tree_get_number(file, "rounds"));
    if (cases > 0 || rows == 0)
        fprintf(out, ", %.0f case%s", cases, cases == 1 ? "" : "s");
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

static void print_differences(const json_t *comparison, const char *end, FILE *out)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(comparison, "context_diff"), i, one)
    {
        fprintf(out, "! %s: ", tree_get_text(one, "subject"));
        print_fact(json_object_get(one, "base"), out);
        fputs(" in the base, ", out);
        print_fact(json_object_get(one, "new"), out);
        fprintf(out, " in the new file (matters for %s)%s", tree_get_text(one, "matters"), end);
    }
    json_array_foreach(json_object_get(comparison, "notes"), i, one)
        fprintf(out, "! %s%s", json_string_value(one), end);
}

static void print_preface(const json_t *comparison, const struct text_grid *grid, const char *end,
                          FILE *out)
{
    const json_t *by = json_object_get(comparison, "by"), *files;
    print_file("base", json_object_get(comparison, "base"), end, out);
    files = json_object_get(comparison, "new");
    for (size_t i = 0; i < json_array_size(files) && !json_is_object(by); i++)
        print_file("new ", json_array_get(files, i), end, out);
    if (json_is_object(by))
        fprintf(out, "base of every case: the one with the %s %s, paired by round%s",
                tree_get_text(by, "member"), tree_get_text(by, "value"), end);
    print_differences(comparison, end, out);
    text_grid_print_once(grid, end, out);
}

/* "41 same, 1 slower"; false where there is nothing to count. */
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

static void print_means(const json_t *comparison, const char *end, FILE *out)
{
    const json_t *files = json_object_get(comparison, "new");
    size_t i;
    json_t *mean;
    json_array_foreach(json_object_get(comparison, "means"), i, mean)
    {
        const double ratio = tree_get_number(mean, "ratio");
        if (isnan(ratio) || json_is_object(json_object_get(comparison, "by")))
            continue;
        fprintf(out, "geometric mean of wall_ns");
        if (json_array_size(files) > 1)
            fprintf(out, ", %s", tree_get_text(json_array_get(files, i), "name"));
        fprintf(out, ": %.4fx of the base's, %.0f cases%s", ratio, tree_get_number(mean, "cases"),
                end);
    }
}

static void print_outcome(const json_t *comparison, const char *end, FILE *out)
{
    static const char *const sentences[] = {
#define X(name, help) help,
        COMPARE_OUTCOME_LIST(X)
#undef X
    };
    const json_t *gated = json_object_get(comparison, "gated_verdicts");
    if (print_counts("gated: ", gated, NULL, out))
        fputs(end, out);
    if (print_counts("not gated: ", json_object_get(comparison, "verdicts"), gated, out))
        fputs(end, out);
    print_means(comparison, end, out);
    fprintf(out, "%s: %s\n", tree_get_text(comparison, "verdict"),
            sentences[compare_outcome(comparison)]);
}

/* ---- formats -------------------------------------------------------------------------------- */

static void print_people(const json_t *comparison, const json_t *rows, enum table_format format,
                         FILE *out)
{
    struct text_grid grid = compare_grid_of(comparison, rows);
    const char *end = format == TABLE_MARKDOWN ? "  \n" : "\n";
    struct terminal_page page;
    terminal_page_open(&page, out);
    print_preface(comparison, &grid, end, page.out);
    if (grid.row_count) {
        fputc('\n', page.out);
        text_grid_print(&grid, format, &page.terminal, page.out);
    }
    fputc('\n', page.out);
    print_outcome(comparison, end, page.out);
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

static int print_json(const json_t *comparison, json_t *rows, FILE *out, struct error *error)
{
    json_t *copy = json_copy((json_t *)comparison);
    tree_put(copy, "rows", json_incref(rows));
    int code = result_print(copy, out, error);
    json_decref(copy);
    return code;
}

int compare_print(const json_t *comparison, enum table_format format, enum compare_show show,
                  FILE *out, struct error *error)
{
    json_t *rows = compare_select(comparison, show);
    int code = 0;
    if (format == TABLE_JSON)
        code = print_json(comparison, rows, out, error);
    else if (format == TABLE_CSV)
        print_csv(comparison, rows, out);
    else
        print_people(comparison, rows, format, out);
    json_decref(rows);
    if (code == 0 && (fflush(out) != 0 || ferror(out)))
        code = error_set(error, ERR_IO, "the comparison could not be written: %s", strerror(errno));
    return code;
}
