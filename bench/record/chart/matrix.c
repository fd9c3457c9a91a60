#include "record/chart/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
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

/* ---- cases ---- */

static bool is_text(const json_t *object, const char *member, const char *text)
{
    return strcmp(tree_get_text(object, member), text) == 0;
}

bool case_is_unmerged(const json_t *one_case)
{
    return is_text(json_object_get(one_case, "key"), "merge", "none");
}

bool case_is_baseline(const json_t *one_case)
{
    const json_t *speedup = json_object_get(one_case, "speedup_over_raw");
    return is_text(speedup, "baseline", tree_get_text(one_case, "id"));
}

bool case_is_of(const json_t *key, const struct chart_subject *of)
{
    return is_text(key, "device", of->device) &&
           (!of->strategy || is_text(key, "strategy", of->strategy));
}

const json_t *case_next(const struct chart_subject *of, size_t *i)
{
    const json_t *one_case;
    while ((one_case = json_array_get(json_object_get(of->root, "cases"), (*i)++)))
        if (case_is_of(json_object_get(one_case, "key"), of))
            return one_case;
    return NULL;
}

struct naming naming_of(const struct chart_subject *of)
{
    return (struct naming){
        .dataset = case_keys_differ(of->root, of->device, "dataset"),
        .merge = case_keys_differ(of->root, of->device, "merge"),
        .release = case_keys_differ(of->root, of->device, "release"),
        .residency = case_keys_differ(of->root, of->device, "residency"),
    };
}

void naming_row(const struct naming *naming, const json_t *key, struct text *out)
{
    text_add(out, "%s", tree_get_text(key, "workload"));
    if (naming->dataset)
        text_add(out, " %s", tree_get_text(key, "dataset"));
}

void naming_column(const struct naming *naming, bool with_strategy, const json_t *key,
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

/* ---- the matrix ---- */

const json_t *matrix_cell(const struct matrix *matrix, size_t row, size_t column)
{
    return matrix->cell[row * matrix->columns.count + column];
}

size_t matrix_row_count(const struct matrix *matrix)
{
    return matrix->rows.count - matrix->has_mean;
}

static const char mean_name[] = "geometric mean";

/* Finds the names of the row and the column of a case, or of a mean from `summary`. */
static void name_cell(const struct matrix *matrix, bool is_mean, const json_t *key,
                      struct text *row, struct text *column)
{
    if (is_mean)
        text_add(row, "%s", mean_name);
    else
        naming_row(&matrix->naming, key, row);
    naming_column(&matrix->naming, !matrix->of->strategy, key, column);
}

/* Adds the labels of every case. */
static void matrix_label(struct matrix *matrix, const struct matrix_rules *rules)
{
    const json_t *one_case;
    for (size_t i = 0; (one_case = case_next(matrix->of, &i));) {
        struct text row = {0}, column = {0};
        const bool is_skipped = !rules->with_skipped && case_is_skipped(one_case);
        name_cell(matrix, false, json_object_get(one_case, "key"), &row, &column);
        labels_add(&matrix->rows, row.data);
        if (!rules->is_baseline || !rules->is_baseline(one_case))
            labels_add(is_skipped ? &matrix->skipped : &matrix->columns, column.data);
        text_free(&row);
        text_free(&column);
    }
    matrix->has_mean = rules->has_mean && matrix->rows.count > 1;
    if (matrix->has_mean)
        labels_add(&matrix->rows, mean_name);
}

static void set_cell(struct matrix *matrix, bool is_mean, const json_t *key, const json_t *cell)
{
    struct text row = {0}, column = {0};
    name_cell(matrix, is_mean, key, &row, &column);
    const size_t r = labels_find(&matrix->rows, row.data);
    const size_t c = labels_find(&matrix->columns, column.data);
    text_free(&row);
    text_free(&column);
    if (c == matrix->columns.count)
        return;
    matrix->cell[r * matrix->columns.count + c] = cell;
}

static void matrix_fill(struct matrix *matrix, const struct matrix_rules *rules)
{
    const json_t *cell;
    for (size_t i = 0; (cell = case_next(matrix->of, &i));)
        set_cell(matrix, false, json_object_get(cell, "key"), cell);
    if (!matrix->has_mean || !rules->mean_of_summary)
        return;
    const json_t *summary = json_object_get(matrix->of->root, "summary");
    for (size_t i = 0; (cell = json_array_get(summary, i)); i++)
        if (case_is_of(cell, matrix->of))
            set_cell(matrix, true, cell, cell);
}

int matrix_make(const char *name, const struct chart_subject *of, const struct matrix_rules *rules,
                struct matrix *matrix, struct error *error)
{
    *matrix = (struct matrix){.of = of, .naming = naming_of(of)};
    matrix_label(matrix, rules);
    const size_t columns = matrix->columns.count;
    matrix->cell = must_alloc((matrix->rows.count * columns + 1) * sizeof *matrix->cell);
    matrix_fill(matrix, rules);
    if (columns > 0 && (!rules->columns_most || columns <= rules->columns_most))
        return 0;
    matrix_free(matrix);
    if (columns > 0)
        return error_set(error, ERR_USAGE,
                         "the chart %s of %s would have %zu bars a workload, more than the %zu "
                         "that can be told apart: choose some with -s, or draw the chart matrix",
                         name, of->device, columns, rules->columns_most);
    return error_set(error, ERR_NOT_FOUND, "the result has no case on %s for the chart %s to show",
                     of->device, name);
}

void matrix_order(const double *value, size_t count, size_t *order)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && !isnan(value[i]); at--) {
            const double before = value[order[at - 1]];
            if (!isnan(before) && before >= value[i])
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

void matrix_free(struct matrix *matrix)
{
    labels_free(&matrix->rows);
    labels_free(&matrix->columns);
    labels_free(&matrix->skipped);
    free(matrix->cell);
    matrix->cell = NULL;
}
