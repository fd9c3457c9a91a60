/* How a suite's rows are printed; what is in them is suite_result.c's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "record/facts/case.h"
#include "record/table/print.h"
#include "record/result/suite_result.h"
#include "base/tree.h"

/* X(NAME, title); those up to STRATEGY name a line. */
/* clang-format off */
#define SUITE_COLUMN_LIST(X)                                                                       \
    X(ROW, "row")                                                                                  \
    X(DEVICE, "device")                                                                            \
    X(WORKLOAD, "workload")                                                                        \
    X(DATASET, "dataset")                                                                          \
    X(MERGE, "merge")                                                                              \
    X(RELEASE, "release")                                                                          \
    X(STRATEGY, "strategy")                                                                        \
    X(FIRST, "")                                                                                   \
    X(SECOND, "")                                                                                  \
    X(OURS, "ours")                                                                                \
    X(PREDICTED, "predicted")                                                                      \
    X(PUBLISHED, "published")                                                                      \
    X(VERDICT, "ours is")
/* clang-format on */

#define X(name, title) SUITE_##name,
enum suite_column { SUITE_COLUMN_LIST(X) SUITE_COLUMNS, FIRST_NUMBER = SUITE_FIRST };
#undef X
#define X(name, title) title,
static const char *const titles[SUITE_COLUMNS] = {SUITE_COLUMN_LIST(X)};
#undef X

struct line {
    char cell[SUITE_COLUMNS][160];
    const char *reason; /* what stands in place of numbers; NULL: the numbers */
    char status[16];
};

struct lines {
    size_t count;
    struct line *line; /* the first holds the titles */
};

#define SET(line, column, ...)                                                                     \
    snprintf((line)->cell[column], sizeof(line)->cell[column], __VA_ARGS__)

static struct line *add_line(struct lines *lines)
{
    lines->line = must_realloc(lines->line, (lines->count + 1) * sizeof *lines->line);
    struct line *line = &lines->line[lines->count++];
    *line = (struct line){0};
    for (int c = 0; c < SUITE_COLUMNS; c++)
        SET(line, c, "%s", c < FIRST_NUMBER ? "" : "-");
    return line;
}

static void set_ratio(struct line *line, enum suite_column column, double ratio)
{
    if (!isnan(ratio))
        SET(line, column, "%.2fx", ratio);
}

static void set_time(struct line *line, enum suite_column column, double ns)
{
    char time[32];
    if (!isnan(ns))
        SET(line, column, "%s", text_ns(time, ns));
}

static void set_ours(struct line *line, const json_t *ratio)
{
    const double median = tree_get_number(ratio, "median");
    const double lo = tree_get_number(ratio, "ci_lo"), hi = tree_get_number(ratio, "ci_hi");
    if (isnan(lo))
        set_ratio(line, SUITE_OURS, median);
    else
        SET(line, SUITE_OURS, "%.2fx [%.2f, %.2f]", median, lo, hi);
}

static void set_names(struct line *line, const json_t *entry)
{
    static const char *const keys[] = {
        [SUITE_DEVICE] = "device", [SUITE_WORKLOAD] = "workload", [SUITE_DATASET] = "dataset",
        [SUITE_MERGE] = "merge",   [SUITE_RELEASE] = "release",   [SUITE_STRATEGY] = "strategy"};
    for (int c = SUITE_DEVICE; c < FIRST_NUMBER; c++)
        SET(line, c, "%s", tree_get_text(entry, keys[c]));
}

static void add_entry(struct lines *lines, const json_t *row, const json_t *entry)
{
    struct line *line = add_line(lines);
    SET(line, SUITE_ROW, "%s", tree_get_text(row, "name"));
    set_names(line, entry);
    set_time(line, SUITE_FIRST, tree_get_number(entry, "first_wall_ns"));
    set_time(line, SUITE_SECOND, tree_get_number(entry, "second_wall_ns"));
    set_ours(line, json_object_get(entry, "ratio"));
    set_ratio(line, SUITE_PREDICTED, tree_get_number(entry, "predicted_ratio"));
    set_ratio(line, SUITE_PUBLISHED, tree_get_number(entry, "published"));
    const char *verdict = tree_get_text(entry, "than_published");
    if (*verdict)
        SET(line, SUITE_VERDICT, "%s", verdict);
    if (strcmp(tree_get_text(entry, "status"), case_status_name(CASE_ok)) != 0)
        line->reason = tree_get_text(entry, "reason");
}

static void add_row(struct lines *lines, const json_t *row)
{
    const char *missing = tree_get_text(row, "missing");
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(row, "measured"), i, entry) add_entry(lines, row, entry);
    if (i)
        return;
    struct line *line = add_line(lines);
    SET(line, SUITE_ROW, "%s", tree_get_text(row, "name"));
    set_ratio(line, SUITE_PUBLISHED, tree_get_number(row, "published"));
    line->reason = *missing ? missing : "was not run";
}

static void add_means(struct lines *lines, const json_t *suite)
{
    size_t i;
    json_t *mean;
    json_array_foreach(json_object_get(suite, "means"), i, mean)
    {
        const double rows = tree_get_number(mean, "rows");
        if (!(rows > 1))
            continue;
        struct line *line = add_line(lines);
        SET(line, SUITE_ROW, "geometric mean of %.0f", rows);
        set_names(line, mean);
        set_ratio(line, SUITE_OURS, tree_get_number(mean, "ours"));
        set_ratio(line, SUITE_PUBLISHED, tree_get_number(mean, "published"));
    }
}

static struct lines lines_of(const json_t *suite)
{
    const json_t *compare = json_object_get(suite, "compare");
    const char *part = json_object_iter_key(json_object_iter((json_t *)compare));
    const json_t *pair = part ? json_object_get(compare, part) : NULL;
    struct lines lines = {0};
    struct line *head = add_line(&lines);
    for (int c = 0; c < SUITE_COLUMNS; c++)
        SET(head, c, "%s", titles[c]);
    for (size_t s = 0; s < 2; s++) {
        const char *name = json_string_value(json_array_get(pair, s));
        SET(head, SUITE_FIRST + (int)s, "%s", name ? name : "");
    }
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(suite, "rows"), i, row) add_row(&lines, row);
    add_means(&lines, suite);
    return lines;
}

/* A name that is the same in every line that has one is said once, above. */
static const char *constant(const struct lines *lines, int column)
{
    const char *value = NULL;
    for (size_t i = 1; i < lines->count; i++) {
        const char *cell = lines->line[i].cell[column];
        if (*cell && value && strcmp(cell, value) != 0)
            return NULL;
        value = *cell ? cell : value;
    }
    return value;
}

static bool is_empty(const struct lines *lines, int column)
{
    for (size_t i = 1; i < lines->count; i++)
        if (*lines->line[i].cell[column])
            return false;
    return true;
}

static void print_text_line(const struct line *line, const bool *shown, const int *width, FILE *out)
{
    for (int c = 0; c < SUITE_COLUMNS; c++) {
        const int padding = width[c] - (int)print_width(line->cell[c]);
        const bool is_name = c < FIRST_NUMBER;
        if (shown[c])
            fprintf(out, "  %*s%s%*s", is_name ? 0 : padding, "", line->cell[c],
                    is_name ? padding : 0, "");
    }
    if (line->reason)
        fprintf(out, "  %.*s", (int)strcspn(line->reason, "\n"), line->reason);
    fputc('\n', out);
}

/* What went wrong stands in the last cell. */
static void print_markdown_line(const struct line *line, const bool *shown, FILE *out)
{
    for (int c = 0; c < SUITE_COLUMNS; c++) {
        if (!shown[c])
            continue;
        const char *text = c == SUITE_VERDICT && line->reason ? line->reason : line->cell[c];
        fputs("| ", out);
        print_markdown_cell(text, out);
        fputc(' ', out);
    }
    fputs("|\n", out);
}

static void print_lines(const struct lines *lines, const bool *shown, bool markdown, FILE *out)
{
    int width[SUITE_COLUMNS] = {0};
    for (size_t i = 0; i < lines->count; i++)
        for (int c = 0; c < SUITE_COLUMNS; c++) {
            const int length = (int)print_width(lines->line[i].cell[c]);
            width[c] = length > width[c] ? length : width[c];
        }
    for (size_t i = 0; i < lines->count; i++) {
        if (!markdown)
            print_text_line(&lines->line[i], shown, width, out);
        else
            print_markdown_line(&lines->line[i], shown, out);
        for (int c = 0; markdown && i == 0 && c < SUITE_COLUMNS; c++)
            if (shown[c])
                fputs(c < FIRST_NUMBER ? "| :-- " : "| --: ", out);
        if (markdown && i == 0)
            fputs("|\n", out);
    }
}

void suite_result_print(const json_t *root, enum table_format format, FILE *out)
{
    const json_t *suite = json_object_get(root, "suite");
    const bool markdown = format == TABLE_MARKDOWN;
    if (!suite || (format != TABLE_TEXT && !markdown))
        return;
    struct lines lines = lines_of(suite);
    bool shown[SUITE_COLUMNS];
    const char *end = markdown ? "  \n" : "\n", *before = "all: ";
    fprintf(out, "\nsuite %s: %s%spublished: %s%s", tree_get_text(suite, "name"),
            tree_get_text(suite, "title"), end, tree_get_text(suite, "source"), end);
    for (int c = 0; c < SUITE_COLUMNS; c++) {
        const char *same = c > SUITE_ROW && c < FIRST_NUMBER ? constant(&lines, c) : NULL;
        shown[c] = !same && !(c < FIRST_NUMBER && is_empty(&lines, c));
        if (same) {
            fprintf(out, "%s%s %s", before, titles[c], same);
            before = ", ";
        }
    }
    fprintf(out, "%s\n", *before == ',' ? end : "");
    print_lines(&lines, shown, markdown, out);
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(suite, "rows"), i, row)
    {
        if (*tree_get_text(row, "note"))
            fprintf(out, "%s: %s%s", tree_get_text(row, "name"), tree_get_text(row, "note"), end);
    }
    free(lines.line);
}
