#include "cli/plan/plan_published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plan/published.h"
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

enum column {
    COLUMN_PROGRAM,
    COLUMN_DATASET,
    COLUMN_VARIANT,
    COLUMN_FUN,
    COLUMN_PUBLISHED,
    COLUMN_OURS = COLUMN_PUBLISHED + PUBLISHED_BYTES,
    COLUMN_VERDICT = COLUMN_OURS + OURS_COUNT,
    COLUMNS = COLUMN_VERDICT + VERDICTS
};
#define NUMBER(name, column, title)            title,
#define OURS(name, column, title, set, policy) title,
/* clang-format off */
static const char *const titles[COLUMNS] = {
    "program", "dataset", "variant", "ours",
    PUBLISHED_BYTES_LIST(NUMBER) OURS_LIST(OURS) VERDICT_LIST(NUMBER)
};
/* clang-format on */
#undef NUMBER
#undef OURS

struct cells {
    char text[COLUMNS][80];
};

#define SET(column, ...) snprintf(c->text[column], sizeof c->text[column], __VA_ARGS__)

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

static void fill(struct cells *c, const struct published_row *row)
{
    char number[32];
    SET(COLUMN_PROGRAM, "%s", row->text[PUBLISHED_PROGRAM]);
    SET(COLUMN_DATASET, "%s", row->text[PUBLISHED_DATASET]);
    SET(COLUMN_VARIANT, "%s", row->text[PUBLISHED_VARIANT]);
    SET(COLUMN_FUN, "%s %s", row->text[PUBLISHED_FUN], row->text[PUBLISHED_FUN_DATASET]);
    for (int b = 0; b < PUBLISHED_BYTES; b++)
        SET(COLUMN_PUBLISHED + b, "%s", grouped(number, row->bytes[b]));
    for (int o = 0; o < OURS_COUNT; o++)
        if (o == OURS_PLAN || o == OURS_BEST)
            SET(COLUMN_OURS + o, "%s %-10s", grouped(number, row->ours[o]),
                packing_words[row->packing[o]]);
        else
            SET(COLUMN_OURS + o, "%s", grouped(number, row->ours[o]));
    for (int v = 0; v < VERDICTS; v++) {
        const char *verdict = published_verdict(row, (enum published_verdict)v);
        SET(COLUMN_VERDICT + v, "%s", *verdict ? verdict : "-");
    }
}

static void print_cells(const struct cells *cells, size_t count)
{
    int width[COLUMNS] = {0};
    for (size_t r = 0; r < count; r++)
        for (int k = 0; k < COLUMNS; k++) {
            int length = (int)strlen(cells[r].text[k]);
            width[k] = length > width[k] ? length : width[k];
        }
    for (size_t r = 0; r < count; r++) {
        for (int k = 0; k < COLUMNS; k++)
            printf("  %*s", k < COLUMN_PUBLISHED ? -width[k] : width[k], cells[r].text[k]);
        putchar('\n');
    }
}

static void print_table(const struct published_table *table)
{
    struct cells *cells = must_alloc((table->count + 1) * sizeof *cells);
    size_t count = 1, without = 0;
    for (int k = 0; k < COLUMNS; k++)
        snprintf(cells[0].text[k], sizeof cells[0].text[k], "%s", titles[k]);
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].has_fun)
            fill(&cells[count++], &table->rows[i]);
    print_cells(cells, count);
    free(cells);
    for (size_t i = 0; i < table->count; i++) {
        const struct published_row *row = &table->rows[i];
        if (!row->has_fun)
            printf("%s%s %s %s",
                   without++ ? ", " : "\nno program of ours: ", row->text[PUBLISHED_PROGRAM],
                   row->text[PUBLISHED_DATASET], row->text[PUBLISHED_VARIANT]);
    }
    if (without)
        putchar('\n');
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

/* The keys of a row are the columns. No cell needs quotes: those that were read had none. */
static void print_csv(const json_t *rows)
{
    size_t i;
    json_t *row, *value;
    const char *key, *separator = "";
    json_object_foreach(json_array_get(rows, 0), key, value)
    {
        printf("%s%s", separator, key);
        separator = ",";
    }
    putchar('\n');
    json_array_foreach(rows, i, row)
    {
        separator = "";
        json_object_foreach(row, key, value)
        {
            fputs(separator, stdout);
            if (json_is_integer(value))
                printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
            else if (json_is_string(value))
                fputs(json_string_value(value), stdout);
            separator = ",";
        }
        putchar('\n');
    }
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
