#include "results/file/standings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "results/statistics/ranks.h"

/* A fit counts if it has what all columns need. */
static bool is_served(const json_t *fit)
{
    return tree_get_number(fit, "capacity_bytes") > 0 && tree_get_number(fit, "regret") > 0;
}

static bool is_of_kind(const json_t *fit, const char *kind)
{
    return !kind || strcmp(tree_get_text(fit, "kind"), kind) == 0;
}

/* A column of the table: the programs by the strategies. */
struct cells {
    size_t programs, strategies;
    const char **program, **strategy;
    const json_t **fit; /* by strategy, then by program; NULL: none, or not served */
};

static struct cells cells_of(const json_t *fits, const char *kind, struct arena *arena)
{
    const size_t most = json_array_size(fits) + 1;
    struct cells c = {.program = arena_alloc(arena, most * sizeof *c.program),
                      .strategy = arena_alloc(arena, most * sizeof *c.strategy)};
    size_t *at = arena_alloc(arena, 2 * most * sizeof *at);
    json_t *programs = tree_object(), *strategies = tree_object(), *fit;
    size_t i;
    json_array_foreach((json_t *)fits, i, fit)
    {
        if (!is_of_kind(fit, kind))
            continue;
        const char *strategy = tree_get_text(fit, "strategy"),
                   *program = tree_get_text(fit, "trace");
        at[2 * i + 1] = tree_index_of(strategies, strategy, c.strategies);
        c.strategy[at[2 * i + 1]] = strategy;
        c.strategies += at[2 * i + 1] == c.strategies;
        if (!is_served(fit))
            continue;
        at[2 * i] = tree_index_of(programs, program, c.programs);
        c.program[at[2 * i]] = program;
        c.programs += at[2 * i] == c.programs;
    }
    c.fit = arena_alloc(arena, (c.programs * c.strategies + 1) * sizeof *c.fit);
    json_array_foreach((json_t *)fits, i, fit)
    {
        if (is_of_kind(fit, kind) && is_served(fit))
            c.fit[at[2 * i + 1] * c.programs + at[2 * i]] = fit;
    }
    json_decref(programs);
    json_decref(strategies);
    return c;
}

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

static double sum_of(const json_t *const *fits, size_t count, const char *member)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += tree_get_number(fits[i], member);
    return sum;
}

static struct standing standing_of(const char *strategy, const json_t *const *fits, size_t count,
                                   struct arena *arena)
{
    struct standing s = {.strategy = strategy};
    double *regret = arena_alloc(arena, 3 * (count + 1) * sizeof *regret);
    double *capacity = regret + count, *request_ns = capacity + count;
    for (size_t i = 0; i < count; i++) {
        regret[i] = tree_get_number(fits[i], "regret");
        capacity[i] =
            tree_get_number(fits[i], "capacity_bytes") / tree_get_number(fits[i], "optimum_bytes");
        request_ns[i] =
            tree_get_number(fits[i], "driver_ns") / tree_get_number(fits[i], "request_count");
        if (regret[i] > s.worst_regret) {
            s.worst_regret = regret[i];
            s.worst = tree_get_text(fits[i], "trace");
        }
    }
    s.regret = typical_of(regret, count, arena);
    s.capacity = typical_of(capacity, count, arena);
    s.request_ns = typical_of(request_ns, count, arena);
    s.hit_share = sum_of(fits, count, "hit_share") / (double)count;
    s.idle_share = sum_of(fits, count, "idle_share") / (double)count;
    s.driver_calls = sum_of(fits, count, "driver_calls");
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
    const struct cells c = cells_of(fits, kind, arena);
    struct standings all = {.program_count = c.programs, .has_times = c.programs > 0};
    all.each = arena_alloc(arena, (c.strategies + 1) * sizeof *all.each);
    all.left_out = arena_alloc(arena, (c.strategies + 1) * sizeof *all.left_out);
    for (size_t s = 0; s < c.strategies && c.programs; s++) {
        const json_t *const *row = &c.fit[s * c.programs];
        size_t served = 0;
        for (size_t p = 0; p < c.programs; p++)
            served += row[p] != NULL;
        if (served < c.programs) {
            all.left_out[all.left_out_count++] =
                arena_printf(arena, "%s (%zu of %zu)", c.strategy[s], served, c.programs);
            continue;
        }
        all.each[all.count++] = standing_of(c.strategy[s], row, c.programs, arena);
        all.has_times &= !isnan(all.each[all.count - 1].request_ns.median);
    }
    qsort(all.each, all.count, sizeof *all.each, by_regret);
    find_front(&all);
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

const struct standing *standings_find(const struct standings *s, const char *strategy)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->each[i].strategy, strategy) == 0)
            return &s->each[i];
    return NULL;
}
