#include "results/statistics/shared_shift.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/random.h"
#include "base/sort.h"
#include "results/statistics/statistics.h"

enum { DEALS_LEAST = 1999, DEALS_MOST = 99999, WORD_BITS = 64 };

static const double precision = 1e-4; /* precision of the ends of the interval */
/* The order of additions changes a value by less than this. */
static const double rounding = 1e-9;
static const double widest = 100; /* a factor of e^100 */

/* A set of rounds is a row of bits, one for each round of both sets. The order of the bits does not
 * depend on which set is the first. */
struct test {
    const struct shared_rounds *rounds;
    size_t units, words; /* rounds of both sets, and words that hold a bit for each */
    unsigned *position;  /* each round's bit */
    uint64_t *deals;     /* deal after deal; each is a possible first set */
    size_t deal_count;
    bool has_all;       /* `deals` has every possible deal, the actual one too */
    double *difference; /* one for each case */
    uint64_t *leaders;  /* for each case, the rounds about as fast as its fastest */
};

/* ---- the rounds and their deals ------------------------------------------------------------- */

struct unit {
    size_t index;
    double sum;
};

ORDER_BY(by_sum, struct unit, sum)

/* Rounds in the order of their sums over cases. */
static void order_rounds(struct test *t)
{
    struct unit *unit = must_alloc(t->units * sizeof *unit);
    for (size_t u = 0; u < t->units; u++) {
        unit[u].index = u;
        for (size_t c = 0; c < t->rounds->cases; c++)
            unit[u].sum += t->rounds->value[c * t->units + u];
    }
    qsort(unit, t->units, sizeof *unit, by_sum);
    for (size_t u = 0; u < t->units; u++)
        t->position[unit[u].index] = (unsigned)u;
    free(unit);
}

static void set_bit(uint64_t *bits, size_t bit)
{
    bits[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
}

/* C(n, k), or more than `most`. */
static double combinations(size_t n, size_t k, double most)
{
    double ways = 1;
    for (size_t i = 1; i <= k && ways <= most; i++)
        ways = ways * (double)(n - k + i) / (double)i;
    return ways;
}

/* All ways to choose half of few rounds: the next larger number with as many bits (Gosper, in
 * HAKMEM, 1972). */
static void deal_all(struct test *t)
{
    uint64_t deal = (UINT64_C(1) << t->rounds->count) - 1;
    for (size_t d = 0; d < t->deal_count; d++) {
        t->deals[d] = deal;
        const uint64_t lowest = deal & -deal, carried = deal + lowest;
        deal = carried | ((deal ^ carried) >> 2) / lowest;
    }
}

static void deal_some(struct test *t)
{
    struct random random = {1};
    size_t *order = must_alloc(t->units * sizeof *order);
    for (size_t u = 0; u < t->units; u++)
        order[u] = u;
    for (size_t d = 0; d < t->deal_count; d++)
        for (size_t i = 0; i < t->rounds->count; i++) {
            const size_t j = i + random_below(&random, t->units - i), chosen = order[j];
            order[j] = order[i];
            order[i] = chosen;
            set_bit(t->deals + d * t->words, chosen);
        }
    free(order);
}

static void make_deals(struct test *t, double finest)
{
    const double wanted = fmin(fmax(ceil(4 / finest), DEALS_LEAST), DEALS_MOST);
    const double ways = combinations(t->units, t->rounds->count, wanted);
    t->has_all = ways <= wanted;
    t->deal_count = (size_t)lround(t->has_all ? ways : wanted);
    t->deals = must_alloc(t->deal_count * t->words * sizeof *t->deals);
    if (t->has_all)
        deal_all(t);
    else
        deal_some(t);
}

/* ---- the estimate --------------------------------------------------------------------------- */

/* A round's value without the shift. Each set gives up half of it, so that swapping the sets
 * mirrors the result. */
static double less_shift(const struct test *t, const double *value, size_t unit, double shift)
{
    return unit < t->rounds->count ? value[unit] + shift / 2 : value[unit] - shift / 2;
}

static double estimate_at(struct test *t, double shift)
{
    const size_t cases = t->rounds->cases, count = t->rounds->count;
    for (size_t c = 0; c < cases; c++) {
        const double *value = t->rounds->value + c * t->units;
        double fastest[2] = {INFINITY, INFINITY};
        for (size_t u = 0; u < t->units; u++)
            fastest[u >= count] = fmin(fastest[u >= count], less_shift(t, value, u, shift));
        t->difference[c] = fastest[1] - fastest[0];
    }
    const double lower = statistics_select(t->difference, cases, (cases - 1) / 2);
    const double upper = statistics_select(t->difference, cases, cases / 2);
    return lower > 0 ? lower : upper < 0 ? upper : 0;
}

/* ---- the test ------------------------------------------------------------------------------- */

/* Finds the leaders of each case: the rounds less than `distance` slower than its fastest. The sets
 * of a deal differ by `distance` in a case exactly if all its leaders are in the same set. */
static void find_leaders(struct test *t, double shift, double distance)
{
    for (size_t i = 0; i < t->rounds->cases * t->words; i++)
        t->leaders[i] = 0;
    for (size_t c = 0; c < t->rounds->cases; c++) {
        const double *value = t->rounds->value + c * t->units;
        double fastest = INFINITY;
        for (size_t u = 0; u < t->units; u++)
            fastest = fmin(fastest, less_shift(t, value, u, shift));
        for (size_t u = 0; u < t->units; u++)
            if (less_shift(t, value, u, shift) - fastest < distance)
                set_bit(t->leaders + c * t->words, t->position[u]);
    }
}

/* Counts the cases in [first, end) whose leaders are all in the deal, and those with all of them
 * outside. */
static void count_cases(const struct test *t, const uint64_t *deal, size_t first, size_t end,
                        size_t counts[2])
{
    for (size_t c = first; c < end && t->words == 1; c++) { /* the usual case, and faster */
        counts[0] += !(t->leaders[c] & ~*deal);
        counts[1] += !(t->leaders[c] & *deal);
    }
    for (size_t c = first; c < end && t->words > 1; c++) {
        uint64_t inside = 0, outside = 0;
        for (size_t w = 0; w < t->words; w++) {
            const uint64_t leaders = t->leaders[c * t->words + w];
            inside |= leaders & deal[w];
            outside |= leaders & ~deal[w];
        }
        counts[0] += !outside;
        counts[1] += !inside;
    }
}

/* Is the estimate of a deal at least as far from 0, to either side? Counts cases until the answer
 * cannot change. */
static bool is_as_far(const struct test *t, const uint64_t *deal)
{
    enum { AT_ONCE = 128 };
    const size_t cases = t->rounds->cases, needed = cases / 2 + 1;
    size_t counts[2] = {0, 0}, more = 0, end;
    for (size_t c = 0; c < cases && more < needed && more + (cases - c) >= needed; c = end) {
        end = c + AT_ONCE < cases ? c + AT_ONCE : cases;
        count_cases(t, deal, c, end, counts);
        more = counts[0] > counts[1] ? counts[0] : counts[1];
    }
    return more >= needed;
}

/* p at a shift. A p above `most` is not exact: counting stops there. */
static double p_at(struct test *t, double shift, double most)
{
    const double distance = fabs(estimate_at(t, shift)) - rounding;
    const double all = (double)t->deal_count + !t->has_all;
    double count = !t->has_all; /* the actual deal counts too */
    if (distance <= 0)
        return 1;
    find_leaders(t, shift, distance);
    for (size_t d = 0; d < t->deal_count && count <= most * all; d++)
        count += is_as_far(t, t->deals + d * t->words);
    return count / all;
}

/* The reach of the interval to one side. `at_0` is p without a shift. */
static double end_of_interval(struct test *t, double estimate, double at_0, double alpha, int side)
{
    const bool has_0 = side * estimate < 0; /* 0 lies on this side of the estimate */
    double inside = has_0 && at_0 > alpha ? 0 : estimate, outside = 0, step = 10 * precision;
    if (!has_0 || at_0 > alpha) {
        outside = inside + side * step;
        while (p_at(t, outside, alpha) > alpha) {
            inside = outside;
            step *= 2;
            outside += side * step;
            if (step > widest)
                return side * INFINITY;
        }
    }
    while (fabs(outside - inside) > precision) {
        const double middle = (inside + outside) / 2;
        *(p_at(t, middle, alpha) > alpha ? &inside : &outside) = middle;
    }
    return inside;
}

static struct test test_of(const struct shared_rounds *rounds)
{
    struct test t = {.rounds = rounds, .units = 2 * rounds->count};
    t.words = (t.units + WORD_BITS - 1) / WORD_BITS;
    t.position = must_alloc(t.units * sizeof *t.position);
    t.difference = must_alloc(rounds->cases * sizeof *t.difference);
    t.leaders = must_alloc(rounds->cases * t.words * sizeof *t.leaders);
    return t;
}

static void test_free(struct test *t)
{
    free(t->position);
    free(t->deals);
    free(t->difference);
    free(t->leaders);
}

double shared_shift_estimate(const struct shared_rounds *rounds)
{
    struct test t = test_of(rounds);
    const double estimate = estimate_at(&t, 0);
    test_free(&t);
    return estimate;
}

struct rank_shift shared_shift(const struct shared_rounds *rounds, double alpha, double finest)
{
    struct test t = test_of(rounds);
    order_rounds(&t);
    make_deals(&t, finest);
    struct rank_shift shift = {.estimate = estimate_at(&t, 0), .level = 1 - alpha};
    shift.p = p_at(&t, 0, 1);
    shift.lo = end_of_interval(&t, shift.estimate, shift.p, alpha, -1);
    shift.hi = end_of_interval(&t, shift.estimate, shift.p, alpha, 1);
    test_free(&t);
    return shift;
}
