#include "cli/plan/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "cli/plan/plan_values.h"
#include "record/table/text_grid.h"
#include "run/select/merging.h"
#include "run/select/select.h"

#define TEXT(name, column)          column,
#define NUMBER(name, column, title) column,
static const char *const columns[PUBLISHED_TEXTS + PUBLISHED_BYTES] = {
    PUBLISHED_TEXT_LIST(TEXT) PUBLISHED_BYTES_LIST(NUMBER)};
#undef TEXT
#undef NUMBER
enum { COLUMN_COUNT = PUBLISHED_TEXTS + PUBLISHED_BYTES, CELLS_MAX = 32, VALUES_MAX = 16 };

/* ---- the file ------------------------------------------------------------------------------- */

struct reader {
    struct published_table *table;
    unsigned line;
    unsigned cell_count;         /* how many cells every line has */
    unsigned cell[COLUMN_COUNT]; /* index of each column's cell in a line */
    struct error *error;
};

#define FAIL(r, ...) fail_line(r, error_set((r)->error, ERR_PARSE, __VA_ARGS__))
static int fail_line(const struct reader *r, int code)
{
    error_prefix(r->error, "%s:%u: ", r->table->path, r->line);
    return code;
}

/* Cuts `text` at each `separator`. Returns the number of parts, which may be more than `most`. */
static unsigned split_cells(char *text, char separator, const char **parts, unsigned most)
{
    unsigned count = 0;
    for (char *at = text; at; count++) {
        char *end = strchr(at, separator);
        if (end)
            *end++ = '\0';
        if (count < most)
            parts[count] = at;
        at = end;
    }
    return count;
}

static int read_header(struct reader *r, char *line)
{
    const char *cells[CELLS_MAX];
    r->cell_count = split_cells(line, ',', cells, CELLS_MAX);
    if (r->cell_count > CELLS_MAX)
        return FAIL(r, "there are %u columns, expected at most %d", r->cell_count, CELLS_MAX);
    for (unsigned c = 0; c < COLUMN_COUNT; c++) {
        r->cell[c] = 0;
        while (r->cell[c] < r->cell_count && strcmp(cells[r->cell[c]], columns[c]) != 0)
            r->cell[c]++;
        if (r->cell[c] == r->cell_count)
            return FAIL(r, "there is no column '%s'; the first line has to name them", columns[c]);
    }
    return 0;
}

static int read_row(struct reader *r, char *line, struct published_row *row)
{
    const char *cells[CELLS_MAX];
    unsigned count = split_cells(line, ',', cells, CELLS_MAX);
    *row = (struct published_row){.line = r->line};
    if (count != r->cell_count)
        return FAIL(r, "there are %u cells, expected %u as in the first line", count,
                    r->cell_count);
    for (unsigned t = 0; t < PUBLISHED_TEXTS; t++)
        row->text[t] = cells[r->cell[t]];
    for (unsigned b = 0; b < PUBLISHED_BYTES; b++) {
        const char *cell = cells[r->cell[PUBLISHED_TEXTS + b]];
        if (*cell && !text_to_u64(cell, &row->bytes[b]))
            return FAIL(r, "%s is '%s', expected a whole number or nothing",
                        columns[PUBLISHED_TEXTS + b], cell);
    }
    row->has_fun = *row->text[PUBLISHED_FUN];
    if (row->has_fun != (*row->text[PUBLISHED_FUN_DATASET] != '\0'))
        return FAIL(r, "fun and fun_dataset go together: fill in both or none");
    return 0;
}

static int read_lines(struct reader *r, const char *text)
{
    struct published_table *table = r->table;
    int code = 0;
    for (const char *line = text; *line && !code; line += strcspn(line, "\n"), line += *line != 0) {
        const size_t length = strcspn(line, "\r\n");
        char *kept = arena_copy(&table->arena, line, length);
        r->line++;
        if (!r->cell_count) {
            code = read_header(r, kept);
        } else if (length) {
            table->rows = must_realloc(table->rows, (table->count + 1) * sizeof *table->rows);
            code = read_row(r, kept, &table->rows[table->count++]);
        }
    }
    if (!code && !r->cell_count)
        code = error_set(r->error, ERR_PARSE, "%s: there is nothing; expected a line with columns",
                         table->path);
    return code;
}

int published_read(const char *path, struct published_table *table, struct error *error)
{
    *table = (struct published_table){.path = path};
    struct reader r = {.table = table, .error = error};
    struct text text = {0};
    int code = text_read_file(&text, path, error);
    if (!code && strlen(text.data) != text.length)
        code = error_set(error, ERR_PARSE, "%s: the file holds a NUL byte; expected a CSV", path);
    if (!code)
        code = read_lines(&r, text.data);
    text_free(&text);
    if (code)
        published_free(table);
    return code;
}

void published_free(struct published_table *table)
{
    free(table->rows);
    arena_free(&table->arena);
    *table = (struct published_table){0};
}

/* ---- our programs --------------------------------------------------------------------------- */

static const char *const sets[] = {"inplace", "coalesce+reuse", "none", "plan", "best"};
enum { SET_COUNT = sizeof sets / sizeof *sets };

static const struct {
    const char *set;
    size_t run; /* offset of the dry run in a report's row */
} ours[OURS_COUNT] = {
#define X(name, column, title, set, policy) {set, offsetof(struct merge_report_row, policy)},
    OURS_LIST(X)
#undef X
};

static void take_peaks(const struct merge_report *report, struct published_row *row)
{
    for (unsigned o = 0; o < OURS_COUNT; o++)
        for (size_t i = 0; i < report->row_count; i++) {
            const struct merge_report_row *merged = &report->rows[i];
            if (strcmp(merged->set, ours[o].set) != 0)
                continue;
            const struct dry_run *run = (const void *)((const char *)merged + ours[o].run);
            row->ours[o] = run->peak_requested_bytes;
            row->packing[o] = !merged->merge->packed  ? PACKING_NONE
                              : merged->merge->proven ? PACKING_OPTIMAL
                                                      : PACKING_NOT_PROVEN;
        }
}

static int count_row(struct published_table *table, struct published_row *row,
                     const struct catalogue *catalogue, int64_t time_limit_ns, struct error *error)
{
    const char *words[VALUES_MAX], *given = row->text[PUBLISHED_FUN_VALUES];
    char *copy = arena_copy(&table->arena, given, strlen(given));
    unsigned word_count = *copy ? split_cells(copy, ';', words, VALUES_MAX) : 0;
    if (word_count > VALUES_MAX)
        return error_set(error, ERR_USAGE, "fun_values has %u values, expected at most %d",
                         word_count, VALUES_MAX);
    const struct entry *entry;
    struct plan_values values;
    struct merge_report report;
    int code = select_workload(catalogue, row->text[PUBLISHED_FUN], &entry, error);
    if (!code)
        code = plan_values_make(entry, row->text[PUBLISHED_FUN_DATASET], words, word_count, &values,
                                error);
    if (code)
        return code;
    code = merge_report_make(entry->fun, values.known, sets, SET_COUNT, RELEASE_LAST_USE,
                             time_limit_ns, &report, error);
    if (!code) {
        if (report.counted) {
            take_peaks(&report, row);
        } else {
            *error = report.not_counted;
            code = error->code;
        }
        merge_report_free(&report);
    }
    plan_values_free(&values);
    return code;
}

int published_count(struct published_table *table, int64_t time_limit_ns, struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    if (code)
        return code;
    for (size_t i = 0; i < table->count && !code; i++) {
        struct published_row *row = &table->rows[i];
        if (row->has_fun)
            code = count_row(table, row, &catalogue, time_limit_ns, error);
        if (code)
            error_prefix(error, "%s:%u: ", table->path, row->line);
    }
    catalogue_close(&catalogue);
    return code;
}

/* The least published number of a row: a peak or a bound. */
static uint64_t least_of(const struct published_row *row)
{
    uint64_t least = 0;
    for (unsigned b = 0; b < PUBLISHED_BYTES; b++)
        if (row->bytes[b] && (!least || row->bytes[b] < least))
            least = row->bytes[b];
    return least;
}

const char *published_verdict(const struct published_row *row, enum published_verdict verdict)
{
    const struct {
        uint64_t published, ours;
    } pairs[VERDICTS] = {
        [VERDICT_BEFORE] = {row->bytes[PUBLISHED_BEFORE], row->ours[OURS_BEFORE]},
        [VERDICT_AFTER] = {row->bytes[PUBLISHED_AFTER], row->ours[OURS_AFTER]},
        [VERDICT_BEST] = {least_of(row), row->ours[OURS_BEST]},
    };
    const uint64_t published = pairs[verdict].published, bytes = pairs[verdict].ours;
    return !row->has_fun || !published ? ""
           : bytes < published         ? "fewer"
           : bytes == published        ? "equal"
                                       : "more";
}

static const char *const packing_words[] = {
    [PACKING_NONE] = "not packed",
    [PACKING_NOT_PROVEN] = "not proven",
    [PACKING_OPTIMAL] = "optimal",
};
#define TEXT(name, column)                     column,
#define NUMBER(name, column, title)            column,
#define OURS(name, column, title, set, policy) column,
static const char *const text_keys[] = {PUBLISHED_TEXT_LIST(TEXT)};
static const char *const bytes_keys[] = {PUBLISHED_BYTES_LIST(NUMBER)};
static const char *const ours_keys[] = {OURS_LIST(OURS)};
static const char *const verdict_keys[] = {VERDICT_LIST(NUMBER)};
#undef TEXT
#undef NUMBER
#undef OURS

/* ---- for people ----------------------------------------------------------------------------- */

/* "3,210,820"; "-" if it is not known. */
static char *grouped(char out[32], uint64_t bytes)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)bytes);
    char *to = out;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return bytes ? out : strcpy(out, "-");
}

static void add_row(struct text_grid *grid, const struct published_row *row)
{
    char number[32];
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", row->text[PUBLISHED_PROGRAM]);
    text_grid_add(grid, "%s", row->text[PUBLISHED_DATASET]);
    text_grid_add(grid, "%s", row->text[PUBLISHED_VARIANT]);
    text_grid_add(grid, "%s %s", row->text[PUBLISHED_FUN], row->text[PUBLISHED_FUN_DATASET]);
    for (size_t b = 0; b < PUBLISHED_BYTES; b++)
        text_grid_add(grid, "%s", grouped(number, row->bytes[b]));
    for (size_t o = 0; o < OURS_COUNT; o++)
        if (o == OURS_PLAN || o == OURS_BEST)
            text_grid_add(grid, "%s %-10s", grouped(number, row->ours[o]),
                          packing_words[row->packing[o]]);
        else
            text_grid_add(grid, "%s", grouped(number, row->ours[o]));
    for (size_t v = 0; v < VERDICTS; v++) {
        const char *verdict = published_verdict(row, (enum published_verdict)v);
        text_grid_add(grid, "%s", *verdict ? verdict : "-");
    }
}

static void print_table(const struct published_table *table)
{
#define NUMBER(name, column, title)            "|>" title
#define OURS(name, column, title, set, policy) "|>" title
    struct text_grid grid = text_grid_of("program|dataset|variant^1|ours" PUBLISHED_BYTES_LIST(
        NUMBER) OURS_LIST(OURS) VERDICT_LIST(NUMBER));
#undef NUMBER
#undef OURS
    struct terminal_page page;
    size_t without = 0;
    terminal_page_open(&page, stdout);
    grid.indent = 2;
    grid.complete = "--format csv has all";
    /* The published peaks and the verdicts are never dropped: the table is about them. */
    for (size_t c = grid.column_count - VERDICTS - 1; c > 5; c--)
        grid.column[c].drop = (unsigned)(grid.column_count - c);
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].has_fun)
            add_row(&grid, &table->rows[i]);
    text_grid_print(&grid, TABLE_TEXT, &page.terminal, page.out);
    text_grid_free(&grid);
    for (size_t i = 0; i < table->count; i++) {
        const struct published_row *row = &table->rows[i];
        if (!row->has_fun)
            fprintf(page.out, "%s%s %s %s",
                    without++ ? ", " : "\nno program of ours: ", row->text[PUBLISHED_PROGRAM],
                    row->text[PUBLISHED_DATASET], row->text[PUBLISHED_VARIANT]);
    }
    fputs(without ? "\n" : "", page.out);
    terminal_page_close(&page);
}

/* ---- for programs --------------------------------------------------------------------------- */

static json_t *packing_json(const struct published_row *row, enum published_ours o)
{
    return row->has_fun ? tree_text(packing_words[row->packing[o]]) : json_null();
}

static json_t *row_json(const struct published_row *row)
{
    json_t *json = tree_object();
    for (int t = 0; t < PUBLISHED_TEXTS; t++)
        tree_put(json, text_keys[t], tree_text_or_null(row->text[t]));
    for (int b = 0; b < PUBLISHED_BYTES; b++)
        tree_put(json, bytes_keys[b], tree_count_or_null(row->bytes[b]));
    for (int o = 0; o < OURS_COUNT; o++)
        tree_put(json, ours_keys[o], tree_count_or_null(row->ours[o]));
    tree_put(json, "plan_packing", packing_json(row, OURS_PLAN));
    tree_put(json, "best_packing", packing_json(row, OURS_BEST));
    for (int v = 0; v < VERDICTS; v++)
        tree_put(json, verdict_keys[v],
                 tree_text_or_null(published_verdict(row, (enum published_verdict)v)));
    return json;
}

/* Prints the rows, JSON objects whose keys become the columns. */
static void print_csv(const json_t *rows)
{
    struct text_grid grid = {0};
    size_t i, c;
    json_t *row, *value;
    const char *key;
    json_object_foreach(json_array_get(rows, 0), key, value)
        text_grid_add_column(&grid, (struct text_grid_column){.title = key});
    json_array_foreach(rows, i, row)
    {
        text_grid_add_row(&grid);
        for (c = 0; c < grid.column_count; c++)
            text_grid_add_json(&grid, json_object_get(row, grid.column[c].title));
    }
    text_grid_print(&grid, TABLE_CSV, NULL, stdout);
    text_grid_free(&grid);
}

static void print_tree(const struct published_table *table, enum plan_format format)
{
    json_t *root = tree_object(), *rows = tree_array();
    for (size_t i = 0; i < table->count; i++)
        tree_append(rows, row_json(&table->rows[i]));
    tree_put(root, "published", rows);
    if (format == PLAN_AS_CSV) {
        print_csv(rows);
    } else {
        json_dumpf(root, stdout, JSON_INDENT(1));
        putchar('\n');
    }
    json_decref(root);
}

int plan_published(const char *path, enum plan_format format, int64_t time_limit_ns,
                   struct error *error)
{
    struct published_table table;
    int code = published_read(path, &table, error);
    if (code)
        return code;
    code = published_count(&table, time_limit_ns, error);
    if (!code && format == PLAN_AS_TABLE)
        print_table(&table);
    else if (!code)
        print_tree(&table, format);
    published_free(&table);
    return code;
}
