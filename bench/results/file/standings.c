#include "results/file/standings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "results/statistics/ranks.h"

/* The typical one of positive values, with its interval; NaN if one of them is unknown. */
static struct statistics typical_of(const double *values, size_t count, struct arena *arena)
{
    struct rank_table table = {0};
    struct statistics typical = {.count = count, .median = NAN, .ci_lo = NAN, .ci_hi = NAN};
    double *logs = arena_alloc(arena, (count + 1) * sizeof *logs);
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i]))
            return typical;
        logs[i] = log(fmax(values[i], 1e-3));
    }
    const struct rank_shift shift = rank_shift_paired(&table, logs, count, 0.05);
    typical.median = exp(shift.estimate);
    if (count >= RANKS_LEAST_ROUNDS && isfinite(shift.lo) && isfinite(shift.hi)) {
        typical.ci_lo = exp(shift.lo);
        typical.ci_hi = exp(shift.hi);
    }
    rank_table_free(&table);
    return typical;
}

static struct standing standing_of(const char *strategy, const json_t *fits, struct arena *arena)
{
    const size_t count = json_array_size(fits);
    struct standing s = {.strategy = strategy};
    double *regret = arena_alloc(arena, 3 * (count + 1) * sizeof *regret);
    double *capacity = regret + count, *request_ns = capacity + count;
    for (size_t i = 0; i < count; i++) {
        const json_t *fit = json_array_get(fits, i);
        regret[i] = tree_get_number(fit, "regret");
        capacity[i] =
            tree_get_number(fit, "capacity_bytes") / tree_get_number(fit, "optimum_bytes");
        request_ns[i] = tree_get_number(fit, "driver_ns") / tree_get_number(fit, "request_count");
        s.hit_share += tree_get_number(fit, "hit_share") / (double)count;
        s.idle_share += tree_get_number(fit, "idle_share") / (double)count;
        s.driver_calls += tree_get_number(fit, "driver_calls");
        if (regret[i] > s.worst_regret) {
            s.worst_regret = regret[i];
            s.worst = tree_get_text(fit, "trace");
        }
    }
    s.regret = typical_of(regret, count, arena);
    s.capacity = typical_of(capacity, count, arena);
    s.request_ns = typical_of(request_ns, count, arena);
    return s;
}

static int by_regret(const void *a, const void *b)
{
    const struct standing *x = a, *y = b;
    if (x->regret.median != y->regret.median)
        return x->regret.median < y->regret.median ? -1 : 1;
    return strcmp(x->strategy, y->strategy);
}

static void find_front(struct standings *all)
{
    for (size_t i = 0; i < all->count; i++) {
        struct standing *s = &all->each[i];
        s->on_front = all->has_times;
        for (size_t j = 0; j < all->count && s->on_front; j++) {
            const struct standing *other = &all->each[j];
            const double regret = other->regret.median - s->regret.median;
            const double ns = other->request_ns.median - s->request_ns.median;
            s->on_front = !(regret <= 0 && ns <= 0 && (regret < 0 || ns < 0));
        }
    }
}

struct standings standings_of(const json_t *fits, const char *kind, struct arena *arena)
{
    struct standings all = {0};
    json_t *programs = tree_object(), *rows = tree_object(), *fit, *row;
    const char *strategy;
    size_t i;
    json_array_foreach((json_t *)fits, i, fit)
    {
        strategy = tree_get_text(fit, "strategy");
        if (kind && strcmp(tree_get_text(fit, "kind"), kind) != 0)
            continue;
        if (!json_object_get(rows, strategy))
            tree_put(rows, strategy, tree_array());
        /* A fit counts if it has what all columns need. */
        if (!(tree_get_number(fit, "capacity_bytes") > 0 && tree_get_number(fit, "regret") > 0))
            continue;
        tree_append(json_object_get(rows, strategy), json_incref(fit));
        tree_put(programs, tree_get_text(fit, "trace"), json_true());
    }
    all.program_count = json_object_size(programs);
    all.has_times = all.program_count > 0;
    all.each = arena_alloc(arena, (json_object_size(rows) + 1) * sizeof *all.each);
    all.left_out = arena_alloc(arena, (json_object_size(rows) + 1) * sizeof *all.left_out);
    json_object_foreach(rows, strategy, row)
    {
        const char *name = arena_printf(arena, "%s", strategy);
        const size_t served = json_array_size(row);
        if (served < all.program_count)
            all.left_out[all.left_out_count++] =
                arena_printf(arena, "%s (%zu of %zu)", name, served, all.program_count);
        else if (served)
            all.each[all.count++] = standing_of(name, row, arena);
    }
    for (i = 0; i < all.count; i++)
        all.has_times &= !isnan(all.each[i].request_ns.median);
    qsort(all.each, all.count, sizeof *all.each, by_regret);
    find_front(&all);
    json_decref(programs);
    json_decref(rows);
    return all;
}

const char **standings_kinds(const json_t *fits, size_t *count, struct arena *arena)
{
    const char **kinds = arena_alloc(arena, (json_array_size(fits) + 1) * sizeof *kinds);
    json_t *seen = tree_object(), *fit;
    size_t i;
    *count = 0;
    json_array_foreach((json_t *)fits, i, fit)
    {
        const char *kind = tree_get_text(fit, "kind");
        const size_t at = *kind ? tree_index_of(seen, kind, *count) : 0;
        if (*kind && at == *count)
            kinds[(*count)++] = kind;
    }
    json_decref(seen);
    return kinds;
}
