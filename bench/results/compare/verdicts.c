/* The verdicts of a comparison's rows, by all of them together.
 *
 * A claim that something changed is made where its p, adjusted by Holm over all gated tests of its
 * family and by the number of families, is at most alpha, and the estimate is beyond D. So the
 * probability of one false claim or more among all gated rows is at most alpha, and D keeps out
 * what is real but does not matter. The interval that is printed, and that decides `same`, is each
 * row's own, at 1 - alpha: a verdict `same` cannot fail a build, and at the level of the smallest
 * adjusted alpha a few rounds would give no interval at all. A row that is beyond D by its own
 * interval, but not by its adjusted p, is unsure.
 *
 * Rows without a gate are judged by the same rule with their own p; they decide nothing.
 */
#include <math.h>
#include <stdlib.h>

#include "results/compare/comparer.h"

const char *const verdict_names[VERDICTS] = {COMPARE_VERDICT_LIST(TEXT_NAME)};

/* More rounds than these are too many to wait for. */
static const unsigned most_rounds = 1000;

static bool is_gated_test(const struct compare_row *row)
{
    return row->has_test && row->gate;
}

/* A claim about all cases is as likely to be false as one about single cases. */
static double families(const struct comparer *c)
{
    return c->family[0] && c->family[1] ? 2 : 1;
}

double compare_least_alpha(const struct comparer *c, const struct compare_row *row)
{
    const unsigned tests = row->gate ? c->family[row->cases > 0] : 0;
    return COMPARE_ALPHA / (tests ? tests * families(c) : 1);
}

static void adjust_family(struct comparer *c, bool is_over_cases)
{
    double *p = must_alloc(2 * c->row_count * sizeof *p), *adjusted = p + c->row_count;
    size_t count = 0;
    for (size_t i = 0; i < c->row_count; i++)
        if (is_gated_test(&c->rows[i]) && (c->rows[i].cases > 0) == is_over_cases)
            p[count++] = c->rows[i].shift.p;
    rank_holm(p, count, adjusted);
    for (size_t i = 0; i < c->row_count; i++)
        if (is_gated_test(&c->rows[i]) && (c->rows[i].cases > 0) == is_over_cases)
            c->rows[i].p_adjusted = fmin(*adjusted++ * families(c), 1);
    free(p);
}

/* The distance from 0 that a standard normal variable exceeds, to either side, with this
 * probability. */
static double normal_distance(double probability)
{
    double lo = 0, hi = 40;
    for (int i = 0; i < 60; i++) {
        const double middle = (lo + hi) / 2;
        *(erfc(middle / sqrt(2)) > probability ? &lo : &hi) = middle;
    }
    return lo;
}

/* The rounds that would settle a row, if its estimate stays where it is: the interval shrinks with
 * the square root of the rounds. 0 if that is too many to wait for. */
static unsigned rounds_needed(const struct comparer *c, const struct compare_row *row)
{
    const struct rank_shift *s = &row->shift;
    const double alpha = COMPARE_ALPHA, size = fabs(s->estimate);
    const double rounds = 2 / (1 / (double)row->base_rounds + 1 / (double)row->candidate_rounds);
    const double least_alpha = compare_least_alpha(c, row);
    const bool paired = c->by && !row->cases;
    unsigned least = rank_least_rounds(alpha, paired);
    double scale;
    if (size > row->limit) {
        const double towards_0 = s->estimate > 0 ? s->estimate - s->lo : s->hi - s->estimate;
        scale = towards_0 / size * normal_distance(least_alpha) / normal_distance(alpha);
        least = rank_least_rounds(least_alpha, paired);
    } else {
        scale = fmax((s->hi - s->estimate) / (row->limit - s->estimate),
                     (s->estimate - s->lo) / (row->limit + s->estimate));
    }
    double needed = isfinite(scale) ? ceil(rounds * scale * scale) : 0;
    needed = fmax(fmax(needed, least), fmax(ceil(rounds) + 1, RANKS_LEAST_ROUNDS));
    /* From an interval without an end nothing follows about how it shrinks. */
    const bool has_end = isfinite(s->lo) || isfinite(s->hi);
    return needed > most_rounds || (has_end && !isfinite(scale)) ? 0 : (unsigned)needed;
}

static void set_unsure(struct comparer *c, struct compare_row *row, bool is_clear_alone)
{
    row->verdict = VERDICT_unsure;
    if (row->cases && (row->base_rounds == 0 || row->candidate_rounds == 0)) {
        row->reason = "no round has all of its cases";
        return;
    }
    if (row->base_rounds == 0 || row->candidate_rounds == 0) {
        row->reason = c->by ? "no round has both" : "not measured in one of the files";
        return;
    }
    if (!row->has_test) {
        row->rounds_needed = RANKS_LEAST_ROUNDS;
        row->reason = arena_printf(
            &c->arena, "needs %d rounds, has %zu", RANKS_LEAST_ROUNDS,
            row->base_rounds < row->candidate_rounds ? row->base_rounds : row->candidate_rounds);
        return;
    }
    if (fabs(row->shift.estimate) > row->limit && fabs(row->shift.estimate) <= row->floor) {
        row->reason =
            arena_printf(&c->arena,
                         "not beyond the noise floor, %.3g %%: rounds in turns (gamut run "
                         "--add) need none",
                         100 * expm1(row->floor));
        return;
    }
    row->rounds_needed = rounds_needed(c, row);
    const char *alone = is_clear_alone ? "clear alone, not among all gated times: " : "";
    if (row->rounds_needed)
        row->reason =
            arena_printf(&c->arena, "%sabout %u rounds would settle it", alone, row->rounds_needed);
    else
        row->reason = arena_printf(&c->arena, "%sneeds more than %u rounds", alone, most_rounds);
}

static void judge(struct comparer *c, struct compare_row *row)
{
    const struct rank_shift *s = &row->shift;
    const double p = row->gate ? row->p_adjusted : s->p;
    const bool is_beyond = fabs(s->estimate) > fmax(row->limit, row->floor);
    if (!row->has_test) {
        set_unsure(c, row, false);
    } else if (is_beyond && p <= COMPARE_ALPHA) {
        row->verdict = s->estimate > 0 ? VERDICT_slower : VERDICT_faster;
        row->effect = s->estimate > 0 ? CHANGE_WORSE : CHANGE_BETTER;
        row->is_regression = row->gate && row->effect == CHANGE_WORSE;
    } else if (-row->limit < s->lo && s->hi < row->limit) {
        row->verdict = VERDICT_same;
    } else if (s->lo == 0 && s->hi == 0) {
        row->verdict = VERDICT_same; /* the limit is 0, and all rounds are equal */
    } else {
        set_unsure(c, row, is_beyond && s->p <= COMPARE_ALPHA);
    }
}

void compare_judge(struct comparer *c)
{
    for (size_t i = 0; i < c->row_count; i++)
        if (is_gated_test(&c->rows[i]))
            c->family[c->rows[i].cases > 0]++;
    adjust_family(c, false);
    adjust_family(c, true);
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].metric && c->rows[i].metric->kind == KIND_SAMPLED)
            judge(c, &c->rows[i]);
}
