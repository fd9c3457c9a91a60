#include "record/result/suite_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "base/tree.h"

static const char *const key_members[] = {"device", "workload", "dataset",
                                          "merge",  "release",  "strategy"};
enum { KEY_MEMBERS = sizeof key_members / sizeof *key_members };

void suite_result_set(json_t *root, const char *name, const json_t *suite)
{
    json_t *copy = json_deep_copy(suite);
    tree_put(copy, "name", tree_text(name));
    tree_put(root, "suite", copy);
}

/* ---- pairs of cases ------------------------------------------------------------------------- */

static const char *compared_member(const json_t *suite)
{
    const char *member = json_object_iter_key(json_object_iter(json_object_get(suite, "compare")));
    return member ? member : "";
}

static const char *side(const json_t *suite, size_t which)
{
    const json_t *pair = json_object_get(json_object_get(suite, "compare"), compared_member(suite));
    const char *value = json_string_value(json_array_get(pair, which));
    return value ? value : "";
}

/* Is the case the first side of a row's pair? */
static bool is_first(const json_t *suite, const json_t *row, const json_t *key)
{
    const char *member = compared_member(suite);
    if (strcmp(tree_get_text(key, member), side(suite, 0)) != 0)
        return false;
    for (size_t p = 0; p < KEY_MEMBERS; p++) {
        const char *named = tree_get_text(row, key_members[p]);
        if (*named && strcmp(named, tree_get_text(key, key_members[p])) != 0)
            return false;
    }
    return !json_object_get(row, "missing");
}

/* The case that differs from `first` in the compared member alone; NULL where there is none. */
static const json_t *second_of(const json_t *root, const json_t *suite, const json_t *first)
{
    const char *member = compared_member(suite);
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(root, "cases"), i, other)
    {
        const json_t *a = json_object_get(first, "key"), *b = json_object_get(other, "key");
        bool same = strcmp(tree_get_text(b, member), side(suite, 1)) == 0;
        for (size_t p = 0; p < KEY_MEMBERS; p++)
            same &= strcmp(key_members[p], member) == 0 ||
                    strcmp(tree_get_text(a, key_members[p]), tree_get_text(b, key_members[p])) == 0;
        if (same)
            return other;
    }
    return NULL;
}

/* ---- what a row says ------------------------------------------------------------------------ */

static double predicted_of(const json_t *one_case)
{
    return tree_get_number(json_object_get(one_case, "model"), "predicted_ns");
}

/* Is the published figure claimed of this strategy? Some are claimed only of cheap allocators. */
static bool is_claimed(const json_t *row, const json_t *key)
{
    const char *list = tree_get_text(row, "not_under");
    char pattern[160];
    while (text_next_item(&list, pattern, sizeof pattern))
        if (text_glob(pattern, tree_get_text(key, "strategy")))
            return false;
    return json_object_get(row, "published");
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

static void put_status(json_t *entry, const json_t *first, const json_t *second)
{
    static const char *const keys[] = {"status", "reason"};
    const json_t *worse = case_is_ok(first) && second ? second : first;
    for (size_t k = 0; k < 2; k++)
        tree_put(entry, keys[k], tree_share(worse, keys[k]));
}

static json_t *interval_or_null(const struct statistics *s)
{
    if (!s->count)
        return json_null();
    json_t *out = tree_object();
    case_put_interval(out, s);
    return out;
}

static json_t *measured(const json_t *suite, const json_t *row, const json_t *first,
                        const json_t *second)
{
    const json_t *key = json_object_get(first, "key");
    const struct statistics s = case_ratio(first, second);
    const double published = is_claimed(row, key) ? tree_get_number(row, "published") : NAN;
    const char *verdict = verdict_of(published, &s);
    json_t *out = tree_object();
    for (size_t p = 0; p < KEY_MEMBERS; p++)
        if (strcmp(key_members[p], compared_member(suite)) != 0)
            tree_put(out, key_members[p], tree_share(key, key_members[p]));
    put_status(out, first, second);
    tree_put(out, "first", tree_share(first, "id"));
    tree_put(out, "second", tree_share(second, "id"));
    tree_put(out, "first_wall_ns", tree_number(case_stat(first, "wall_ns", "median")));
    tree_put(out, "second_wall_ns", tree_number(case_stat(second, "wall_ns", "median")));
    tree_put(out, "ratio", interval_or_null(&s));
    tree_put(out, "predicted_ratio", tree_number(predicted_of(first) / predicted_of(second)));
    tree_put(out, "published", tree_number(published));
    tree_put(out, "than_published", tree_text_or_null(verdict));
    return out;
}

/* ---- means over rows ------------------------------------------------------------------------ */

/* A mean is over entries that share these members: they differ in workload and dataset alone. */
static const char *const shared[] = {"device", "merge", "release", "strategy"};
enum { SHARED = sizeof shared / sizeof *shared };

static bool same_configuration(const json_t *a, const json_t *b)
{
    for (size_t i = 0; i < SHARED; i++)
        if (strcmp(tree_get_text(a, shared[i]), tree_get_text(b, shared[i])) != 0)
            return false;
    return true;
}

/* The geometric means of medians and of published figures, over the rows that have both. */
static json_t *mean_like(const json_t *rows, const json_t *entry_like)
{
    const size_t most = json_array_size(rows);
    double *ours = must_alloc(most * sizeof *ours), *theirs = must_alloc(most * sizeof *theirs);
    size_t count = 0, r, m;
    json_t *row, *entry;
    json_array_foreach(rows, r, row) json_array_foreach(json_object_get(row, "measured"), m, entry)
    {
        const double median = tree_get_number(json_object_get(entry, "ratio"), "median");
        const double published = tree_get_number(entry, "published");
        if (!same_configuration(entry, entry_like) || isnan(median) || isnan(published))
            continue;
        ours[count] = median;
        theirs[count++] = published;
    }
    json_t *out = tree_object();
    for (size_t i = 0; i < SHARED; i++)
        if (json_object_get(entry_like, shared[i]))
            tree_put(out, shared[i], tree_share(entry_like, shared[i]));
    tree_put(out, "rows", tree_count(count));
    tree_put(out, "ours", tree_number(statistics_geometric_mean(ours, count)));
    tree_put(out, "published", tree_number(statistics_geometric_mean(theirs, count)));
    free(ours);
    free(theirs);
    return out;
}

static json_t *means_of(const json_t *rows)
{
    json_t *means = tree_array(), *row, *entry;
    size_t r, m;
    json_array_foreach(rows, r, row) json_array_foreach(json_object_get(row, "measured"), m, entry)
    {
        bool known = false;
        for (size_t i = 0; i < json_array_size(means); i++)
            known |= same_configuration(json_array_get(means, i), entry);
        if (!known)
            tree_append(means, mean_like(rows, entry));
    }
    return means;
}

void suite_result_summarise(json_t *root)
{
    json_t *suite = json_object_get(root, "suite"), *row, *one_case;
    size_t r, i;
    if (!suite)
        return;
    json_array_foreach(json_object_get(suite, "rows"), r, row)
    {
        json_t *entries = tree_array();
        json_array_foreach(json_object_get(root, "cases"), i, one_case)
        {
            if (is_first(suite, row, json_object_get(one_case, "key")))
                tree_append(entries,
                            measured(suite, row, one_case, second_of(root, suite, one_case)));
        }
        tree_put(row, "measured", entries);
    }
    tree_put(suite, "means", means_of(json_object_get(suite, "rows")));
}
