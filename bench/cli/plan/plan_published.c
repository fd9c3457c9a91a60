#include "cli/plan/plan_published.h"

#include <stdio.h>
#include <string.h>

#include "cli/plan/published.h"
#include "record/table/text_grid.h"
#include "base/tree.h"

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

/* "3,210,820"; "-" for what is not known. */
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
    /* The published peaks and the verdicts stay: they are what the table is for. */
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

/* The keys of a row are the columns. */
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
