#include "record/compare/steps.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "record/statistics/statistics.h"

/* The runs on either side of a boundary whose rounds are compared. */
enum { NEAR_RUNS = 6 };

/* The runs from `begin` to `end`, exclusive. */
struct level {
    size_t begin, end;
    struct step before; /* the boundary to the level before; not set in the first one */
};

struct search {
    struct step_run *run;
    double spread;  /* see spread_of_runs */
    double *median; /* of each run */
    const struct step_rules *rules;
    size_t level_count;
    struct level *level;
    struct steps doubtful; /* boundaries that were merged although they are beyond the limit */
    unsigned doubtful_room;
    struct rank_table table;
    double *room[2]; /* for the values of both sides */
};

/* ---- a boundary ----------------------------------------------------------------------------- */

/* The rounds of the runs of a level that are nearest to the boundary at its begin or end. */
static size_t rounds_near(const struct search *s, const struct level *level, bool at_end,
                          double *out, double *floor)
{
    size_t count = 0, taken = 0;
    for (size_t i = level->begin; i < level->end && taken < NEAR_RUNS; i++) {
        const struct step_run *run = &s->run[at_end ? level->end - 1 - (i - level->begin) : i];
        if (run->is_outlier)
            continue;
        for (size_t r = 0; r < run->count; r++)
            out[count++] = run->value[r];
        *floor = fmax(*floor, run->floor);
        taken++;
    }
    return count;
}

/* The number of runs that rounds_near takes. */
static size_t runs_near(const struct search *s, const struct level *level)
{
    size_t count = 0;
    for (size_t i = level->begin; i < level->end && count < NEAR_RUNS; i++)
        count += !s->run[i].is_outlier;
    return count;
}

static enum step_doubt doubt_of(const struct search *s, const struct step *step, bool has_test)
{
    const double size = fabs(step->shift.estimate);
    if (!has_test)
        return STEP_FEW_ROUNDS;
    if (size <= step->floor)
        return STEP_IN_FLOOR;
    if (size <= step->spread)
        return STEP_IN_SPREAD;
    return step->shift.p > s->rules->alpha ? STEP_BY_CHANCE : STEP_CERTAIN;
}

static struct step boundary(struct search *s, const struct level *a, const struct level *b)
{
    struct step step = {.at = b->begin};
    const size_t n = rounds_near(s, a, true, s->room[0], &step.floor);
    const size_t m = rounds_near(s, b, false, s->room[1], &step.floor);
    if (s->run[b->begin].in_turns)
        step.floor = 0;
    step.spread = s->spread * sqrt(1 / (double)runs_near(s, a) + 1 / (double)runs_near(s, b));
    step.shift = rank_shift_between(&s->table, s->room[0], n, s->room[1], m, s->rules->alpha);
    step.doubt = doubt_of(s, &step, n >= RANKS_LEAST_ROUNDS && m >= RANKS_LEAST_ROUNDS);
    return step;
}

/* How far apart two levels are, in units of what chance alone would part levels of as many runs. */
static double distance(const struct search *s, const struct level *a, const struct level *b)
{
    const double n = (double)runs_near(s, a), m = (double)runs_near(s, b);
    return fabs(b->before.shift.estimate) * sqrt(n * m / (n + m));
}

static bool is_beyond(const struct search *s, const struct step *step)
{
    return fabs(step->shift.estimate) > s->rules->limit;
}

static bool is_step(const struct search *s, const struct step *step)
{
    return step->doubt == STEP_CERTAIN && is_beyond(s, step);
}

/* ---- the spread of runs --------------------------------------------------------------------- */

/* What a difference between two single runs must exceed. The median of the differences between
 * neighbours is the same with and without a few steps; over 0.6745 times the root of 2 it is the
 * standard deviation of normal runs. The largest of n such deviations is about sqrt(2 ln n) of them.
 * The half more, and the last factor for what a few differences know, are from simulations: they
 * give the rates in the header. */
static double spread_of_runs(const struct search *s, size_t count)
{
    if (count < STEP_SPREAD_RUNS)
        return 0;
    for (size_t i = 0; i + 1 < count; i++)
        s->room[0][i] = fabs(s->median[i + 1] - s->median[i]);
    const double deviation = statistics_median(s->room[0], count - 1) / (0.6745 * sqrt(2));
    const double series = s->rules->series ? (double)s->rules->series : 1;
    return deviation * (0.5 + sqrt(2 * log((double)count * series))) *
           (1 + 2 / (double)(count - 2));
}

/* ---- merging -------------------------------------------------------------------------------- */

/* Looks again at the boundaries on both sides of a level that changed. */
static void look_again(struct search *s, size_t i)
{
    for (size_t b = i; b <= i + 1; b++)
        if (b > 0 && b < s->level_count)
            s->level[b].before = boundary(s, &s->level[b - 1], &s->level[b]);
}

/* Makes `count` levels from the i-th on one. */
static void merge(struct search *s, size_t i, size_t count)
{
    s->level[i].end = s->level[i + count - 1].end;
    s->level_count -= count - 1;
    for (size_t k = i + 1; k < s->level_count; k++)
        s->level[k] = s->level[k + count - 1];
    look_again(s, i);
}

/* Merges the two neighbours that differ least without a step between them. */
static bool merge_nearest(struct search *s)
{
    size_t nearest = 0;
    double least = 0;
    for (size_t i = 1; i < s->level_count; i++)
        if (!is_step(s, &s->level[i].before)) {
            const double own = distance(s, &s->level[i - 1], &s->level[i]);
            nearest = !nearest || own < least ? i : nearest;
            least = nearest == i ? own : least;
        }
    if (!nearest)
        return false;
    if (is_beyond(s, &s->level[nearest].before)) {
        s->doubtful.step = must_grow(s->doubtful.step, (unsigned)s->doubtful.count,
                                     &s->doubtful_room, sizeof *s->doubtful.step);
        s->doubtful.step[s->doubtful.count++] = s->level[nearest].before;
    }
    merge(s, nearest - 1, 2);
    return true;
}

/* Merges two levels that a single run parts, if nothing else does. */
static bool merge_around_outlier(struct search *s)
{
    for (size_t i = 1; i + 1 < s->level_count; i++) {
        if (s->level[i].end - s->level[i].begin > 1)
            continue;
        const struct step across = boundary(s, &s->level[i - 1], &s->level[i + 1]);
        if (is_beyond(s, &across))
            continue;
        s->run[s->level[i].begin].is_outlier = true;
        merge(s, i - 1, 3);
        return true;
    }
    return false;
}

static int by_place(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static struct steps all_steps(struct search *s)
{
    struct steps all = {.step =
                            must_alloc((s->level_count + s->doubtful.count) * sizeof *all.step)};
    for (size_t i = 1; i < s->level_count; i++)
        all.step[all.count++] = s->level[i].before;
    for (size_t i = 0; i < s->doubtful.count; i++)
        all.step[all.count++] = s->doubtful.step[i];
    if (all.count)
        qsort(all.step, all.count, sizeof *all.step, by_place);
    return all;
}

struct steps steps_find(struct step_run *run, size_t count, const struct step_rules *rules)
{
    struct arena arena = {0};
    struct search s = {.run = run,
                       .median = arena_alloc(&arena, count * sizeof(double)),
                       .rules = rules,
                       .level_count = count,
                       .level = arena_alloc(&arena, count * sizeof(struct level))};
    size_t rounds = count;
    for (size_t i = 0; i < count; i++)
        rounds = run[i].count * NEAR_RUNS > rounds ? run[i].count * NEAR_RUNS : rounds;
    for (int side = 0; side < 2; side++)
        s.room[side] = arena_alloc(&arena, rounds * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        for (size_t r = 0; r < run[i].count; r++)
            s.room[0][r] = run[i].value[r];
        s.median[i] = statistics_median(s.room[0], run[i].count);
        s.run[i].is_outlier = false;
        s.level[i] = (struct level){.begin = i, .end = i + 1};
    }
    s.spread = spread_of_runs(&s, count);
    for (size_t i = 1; i < count; i++)
        s.level[i].before = boundary(&s, &s.level[i - 1], &s.level[i]);
    while (merge_nearest(&s) || merge_around_outlier(&s)) {
    }
    const struct steps all = all_steps(&s);
    rank_table_free(&s.table);
    free(s.doubtful.step);
    arena_free(&arena);
    return all;
}

void steps_free(struct steps *steps)
{
    free(steps->step);
    *steps = (struct steps){0};
}
