#include "results/file/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "results/file/measured.h"

void suite_result_set(struct result *result, const char *name, const json_t *suite)
{
    json_t *copy = result_keep(result, json_deep_copy(suite));
    tree_put(copy, "name", tree_text(name));
    result->suite = arena_alloc(&result->arena, sizeof *result->suite);
    if (json_get_fields_in(&result->arena, copy, "suite", result_suite_struct.fields, result->suite,
                           NULL))
        result->suite = NULL; /* it was checked */
}

/* ---- pairs of cases ------------------------------------------------------------------------- */

static const char *value_of(const struct case_key *key, const struct json_field *member)
{
    return (const char *)key + member->offset;
}

static const struct json_field *compared_member(const struct result_suite *suite)
{
    for (const struct json_field *m = case_key_struct.fields; m->name && suite->compare_count; m++)
        if (strcmp(m->name, suite->compare->member) == 0 && suite->compare->count == 2)
            return m;
    return NULL;
}

/* Is the case the first side of a row's pair? */
static bool is_first(const struct result_suite *suite, const struct suite_row *row,
                     const struct case_key *key)
{
    return strcmp(value_of(key, compared_member(suite)), suite->compare->sides[0]) == 0 &&
           (!row->workload || strcmp(row->workload, key->workload) == 0) &&
           (!row->dataset || strcmp(row->dataset, key->dataset) == 0) && !row->missing;
}

/* The case that differs from `first` in the compared member alone; NULL where there is none. */
static const struct result_case *second_of(const struct result *result,
                                           const struct result_case *first)
{
    const struct json_field *member = compared_member(result->suite);
    for (size_t i = 0; i < result->case_count; i++) {
        const struct case_key *key = &result->cases[i].key;
        bool same = strcmp(value_of(key, member), result->suite->compare->sides[1]) == 0;
        for (const struct json_field *m = case_key_struct.fields; m->name; m++)
            same &= m == member || strcmp(value_of(key, m), value_of(&first->key, m)) == 0;
        if (same)
            return &result->cases[i];
    }
    return NULL;
}

/* ---- what a row says ------------------------------------------------------------------------ */

static double predicted_of(const struct result_case *one)
{
    return one && one->model ? one->model->predicted_ns : NAN;
}

/* Compares our interval with the published number; NULL without an interval. */
static const char *verdict_of(double published, const struct statistics *s)
{
    const double rounding = 0.005; /* figures are published to two decimals */
    if (isnan(published) || isnan(s->ci_lo))
        return NULL;
    return s->ci_lo > published + rounding   ? "more"
           : s->ci_hi < published - rounding ? "less"
                                             : "as much";
}

static struct suite_entry measured(const struct result *result, const struct suite_row *row,
                                   const struct result_case *first)
{
    const struct result_case *second = second_of(result, first);
    const struct result_case *worse = first->status == CASE_ok && second ? second : first;
    /* Some figures are claimed only of cheap allocators. */
    const bool is_claimed = !row->not_under || !text_is_listed(row->not_under, first->key.strategy);
    struct suite_entry out = {
        .key = first->key,
        .status = worse->status,
        .reason = worse->reason,
        .first = first->id,
        .second = second ? second->id : NULL,
        .first_wall_ns = measured_wall_ns(first),
        .second_wall_ns = second ? measured_wall_ns(second) : NAN,
        .ratio = measured_ratio(first, second),
        .predicted_ratio = predicted_of(first) / predicted_of(second),
        .published = is_claimed ? row->published : NAN,
    };
    *((char *)&out.key + compared_member(result->suite)->offset) = 0;
    out.than_published = verdict_of(out.published, &out.ratio);
    return out;
}

/* ---- means over rows ------------------------------------------------------------------------ */

/* A mean is over entries that differ in workload and dataset alone. */
static bool same_configuration(const struct case_key *a, const struct case_key *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->merge, b->merge) == 0 &&
           strcmp(a->release, b->release) == 0 && strcmp(a->strategy, b->strategy) == 0;
}

/* The geometric means of medians and of published figures, over the entries that have both. */
static struct suite_mean mean_like(const struct result_suite *suite, const struct case_key *key,
                                   double *ours, double *theirs)
{
    struct suite_mean out = {.key = *key};
    for (size_t r = 0; r < suite->row_count; r++)
        for (size_t m = 0; m < suite->rows[r].measured_count; m++) {
            const struct suite_entry *entry = &suite->rows[r].measured[m];
            if (!same_configuration(&entry->key, key) || isnan(entry->ratio.median) ||
                isnan(entry->published))
                continue;
            ours[out.rows] = entry->ratio.median;
            theirs[out.rows++] = entry->published;
        }
    *out.key.workload = *out.key.dataset = 0;
    out.ours = statistics_geometric_mean(ours, out.rows);
    out.published = statistics_geometric_mean(theirs, out.rows);
    return out;
}

static void set_means(struct result_suite *suite, size_t most, struct arena *arena)
{
    double *figures = must_alloc(2 * most * sizeof *figures);
    suite->means = arena_alloc(arena, (most + 1) * sizeof *suite->means);
    suite->mean_count = 0;
    for (size_t r = 0; r < suite->row_count; r++)
        for (size_t m = 0; m < suite->rows[r].measured_count; m++) {
            const struct case_key *key = &suite->rows[r].measured[m].key;
            bool known = false;
            for (size_t i = 0; i < suite->mean_count; i++)
                known |= same_configuration(&suite->means[i].key, key);
            if (!known)
                suite->means[suite->mean_count++] = mean_like(suite, key, figures, figures + most);
        }
    free(figures);
}

void suite_result_summarise(struct result *result)
{
    struct result_suite *suite = result->suite;
    size_t all = 0;
    if (!suite || !compared_member(suite))
        return;
    for (struct suite_row *row = suite->rows; row < suite->rows + suite->row_count; row++) {
        row->measured =
            arena_alloc(&result->derived, (result->case_count + 1) * sizeof *row->measured);
        row->measured_count = 0;
        for (size_t i = 0; i < result->case_count; i++)
            if (is_first(suite, row, &result->cases[i].key))
                row->measured[row->measured_count++] = measured(result, row, &result->cases[i]);
        all += row->measured_count;
    }
    set_means(suite, all, &result->derived);
}
