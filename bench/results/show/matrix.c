#include "results/show/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

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

bool case_is_unmerged(const struct result_case *one)
{
    return strcmp(one->key.merge, "none") == 0;
}

bool case_is_baseline(const struct result_case *one)
{
    const char *baseline = one->speedup_over_raw.baseline;
    return baseline && strcmp(baseline, one->id) == 0;
}

bool case_is_of(const struct case_key *key, const struct chart_subject *of)
{
    return strcmp(key->device, of->device) == 0 &&
           (!of->strategy || strcmp(key->strategy, of->strategy) == 0);
}

const struct result_case *case_next(const struct chart_subject *of, size_t *i)
{
    while (*i < of->result->case_count) {
        const struct result_case *one = &of->result->cases[(*i)++];
        if (case_is_of(&one->key, of))
            return one;
    }
    return NULL;
}

struct naming naming_of(const struct chart_subject *of)
{
    const struct chart_subject all = {.result = of->result, .device = of->device};
    const struct result_case *first = NULL, *one;
    struct naming differ = {0};
    for (size_t i = 0; (one = case_next(&all, &i));) {
        first = first ? first : one;
        differ.dataset |= strcmp(one->key.dataset, first->key.dataset) != 0;
        differ.merge |= strcmp(one->key.merge, first->key.merge) != 0;
        differ.release |= strcmp(one->key.release, first->key.release) != 0;
        differ.residency |= strcmp(one->key.residency, first->key.residency) != 0;
    }
    return differ;
}

static void name_row(const struct naming *naming, const struct case_key *key, struct text *out)
{
    text_add(out, "%s", key->workload);
    if (naming->dataset)
        text_add(out, " %s", key->dataset);
}

void naming_column(const struct naming *naming, bool with_strategy, const struct case_key *key,
                   struct text *out)
{
    text_add(out, "%s", with_strategy ? key->strategy : key->merge);
    if (naming->merge && with_strategy)
        text_add(out, " %s", key->merge);
    if (naming->release)
        text_add(out, " %s", key->release);
    if (naming->residency)
        text_add(out, " %s", key->residency);
}

/* ---- the matrix ---- */

const struct result_case *matrix_cell(const struct matrix *matrix, size_t row, size_t column)
{
    return matrix->cell[row * matrix->columns.count + column];
}

size_t matrix_row_count(const struct matrix *matrix)
{
    return matrix->rows.count - matrix->has_mean;
}

static const char mean_name[] = "geometric mean";

static void name_column(const struct matrix *matrix, const struct case_key *key,
                        struct text *column)
{
    naming_column(&matrix->naming, !matrix->of->strategy, key, column);
}

/* Adds the labels of every case. */
static void matrix_label(struct matrix *matrix, const struct matrix_rules *rules)
{
    const struct result_case *one;
    for (size_t i = 0; (one = case_next(matrix->of, &i));) {
        struct text row = {0}, column = {0};
        const bool is_skipped = one->status == CASE_skipped;
        name_row(&matrix->naming, &one->key, &row);
        name_column(matrix, &one->key, &column);
        labels_add(&matrix->rows, row.data);
        if (!rules->is_baseline || !rules->is_baseline(one))
            labels_add(is_skipped ? &matrix->skipped : &matrix->columns, column.data);
        text_free(&row);
        text_free(&column);
    }
    matrix->has_mean = rules->has_mean && matrix->rows.count > 1;
    if (matrix->has_mean)
        labels_add(&matrix->rows, mean_name);
}

static size_t column_of(const struct matrix *matrix, const struct case_key *key)
{
    struct text column = {0};
    name_column(matrix, key, &column);
    const size_t at = labels_find(&matrix->columns, column.data);
    text_free(&column);
    return at;
}

static void set_cell(struct matrix *matrix, const struct result_case *cell)
{
    struct text row = {0};
    name_row(&matrix->naming, &cell->key, &row);
    const size_t r = labels_find(&matrix->rows, row.data);
    const size_t c = column_of(matrix, &cell->key);
    text_free(&row);
    if (c == matrix->columns.count)
        return;
    matrix->cell[r * matrix->columns.count + c] = cell;
}

static void matrix_fill(struct matrix *matrix)
{
    const struct result *result = matrix->of->result;
    const struct result_case *cell;
    for (size_t i = 0; (cell = case_next(matrix->of, &i));)
        set_cell(matrix, cell);
    for (size_t i = 0; i < result->mean_count && matrix->has_mean; i++) {
        const size_t c = column_of(matrix, &result->summary[i].key);
        if (c < matrix->columns.count &&
            strcmp(result->summary[i].key.device, matrix->of->device) == 0)
            matrix->mean[c] = &result->summary[i];
    }
}

int matrix_make(const char *name, const struct chart_subject *of, const struct matrix_rules *rules,
                struct matrix *matrix, struct error *error)
{
    *matrix = (struct matrix){.of = of, .naming = naming_of(of)};
    matrix_label(matrix, rules);
    const size_t columns = matrix->columns.count;
    matrix->cell = must_alloc((matrix->rows.count * columns + 1) * sizeof *matrix->cell);
    matrix->mean = must_alloc((columns + 1) * sizeof *matrix->mean);
    matrix_fill(matrix);
    if (columns > 0 && (!rules->columns_most || columns <= rules->columns_most))
        return 0;
    matrix_free(matrix);
    if (columns > 0)
        return error_set(
            error, ERR_USAGE,
            "the chart %s of %s would have %zu bars a workload, more than the %zu "
            "that can be told apart: choose some with -s, or see the tables of gamut report",
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
    free(matrix->mean);
    matrix->cell = NULL;
    matrix->mean = NULL;
}
