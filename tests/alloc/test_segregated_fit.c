/* Compares segregated fit with a slow implementation of its rule: all free pieces are in one array
 * and are looked at one by one. */

#include "alloc/segregated_fit.h"
#include "base/random.h"
#include "tests/base/cmocka.h"

enum { PIECES_MOST = 400, STEP_COUNT = 20000 };

/* A piece of the range that is free, and not its tail. */
struct piece {
    uint64_t start, size;
    unsigned when; /* it became as it is */
};

struct model {
    struct piece pieces[PIECES_MOST];
    size_t count;
    uint64_t tail_start, size;
    unsigned now;
};

/* The smallest size of the list that a size belongs to: six leading bits, or all. */
static uint64_t list_start(uint64_t size)
{
    uint64_t step = 1;
    while (size / step >= 64)
        step *= 2;
    return size / step * step;
}

static void model_add(struct model *m, uint64_t start, uint64_t size)
{
    if (start + size == m->tail_start)
        m->tail_start = start;
    else
        m->pieces[m->count++] = (struct piece){start, size, m->now++};
}

static struct piece model_take(struct model *m, size_t i)
{
    struct piece taken = m->pieces[i];
    m->pieces[i] = m->pieces[--m->count];
    return taken;
}

/* The piece that was freed last of the list that `own` or else the next one that surely fits names;
 * m->count where there is none. */
static size_t model_in_list(const struct model *m, uint64_t size, bool own)
{
    size_t best = m->count;
    for (size_t i = 0; i < m->count; i++) {
        const struct piece *p = &m->pieces[i], *b = &m->pieces[best];
        if (own ? list_start(p->size) != list_start(size) || p->size < size
                : list_start(p->size) < size)
            continue;
        if (best == m->count || list_start(p->size) < list_start(b->size) ||
            (list_start(p->size) == list_start(b->size) && p->when > b->when))
            best = i;
    }
    return best;
}

/* Returns where the request is put, or UINT64_MAX. */
static uint64_t model_alloc(struct model *m, enum fit_order order, uint64_t size)
{
    size_t i = model_in_list(m, size, order == FIT_TIGHT);
    if (i == m->count && m->size - m->tail_start >= size) {
        m->tail_start += size;
        return m->tail_start - size;
    }
    if (i == m->count)
        i = model_in_list(m, size, order != FIT_TIGHT);
    if (i == m->count)
        return UINT64_MAX;
    struct piece p = model_take(m, i);
    if (p.size > size)
        m->pieces[m->count++] = (struct piece){p.start + size, p.size - size, m->now++};
    return p.start;
}

static void model_free(struct model *m, uint64_t start, uint64_t size)
{
    for (size_t i = m->count; i-- > 0;) {
        if (m->pieces[i].start + m->pieces[i].size == start) {
            struct piece before = model_take(m, i);
            start = before.start;
            size += before.size;
        } else if (start + size == m->pieces[i].start) {
            size += model_take(m, i).size;
        }
    }
    model_add(m, start, size);
}

static void run(enum fit_order order, uint64_t size, uint64_t seed)
{
    static struct fit_range range;
    static struct model m;
    struct fit_node *live[PIECES_MOST];
    size_t live_count = 0;
    struct slab nodes = {.item_bytes = sizeof(struct fit_node)};
    struct random random = {seed};
    m = (struct model){.size = size};
    fit_open(&range, size, &nodes);
    for (unsigned step = 0; step < STEP_COUNT; step++) {
        if (live_count < PIECES_MOST / 2 &&
            random_below(&random, 100) < (step / 500 % 2 ? 60 : 45)) {
            uint64_t want = 1 + random_below(&random, UINT64_C(1) << random_below(&random, 10));
            struct fit_node *n = fit_take(&range, order, want);
            uint64_t expected = model_alloc(&m, order, want);
            assert_int_equal(n ? n->start : UINT64_MAX, expected);
            if (n)
                live[live_count++] = n;
        } else if (live_count > 0) {
            size_t i = random_below(&random, live_count);
            model_free(&m, live[i]->start, live[i]->size);
            fit_put_back(live[i]);
            live[i] = live[--live_count];
        }
        assert_int_equal(range.tail->start, m.tail_start);
        if (step % 64 == 0)
            assert_int_equal(fit_check(&range), 0);
    }
    while (live_count > 0)
        fit_put_back(live[--live_count]);
    assert_true(fit_is_empty(&range));
    assert_int_equal(fit_check(&range), 0);
    assert_int_equal(range.first_level, 0);
    fit_close(&range);
    slab_free(&nodes);
}

static void test_as_the_rule_says(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {300, 3000, 30000};
    for (uint64_t seed = 0; seed < 12; seed++)
        run(seed % 2 ? FIT_TIGHT : FIT_QUICK, sizes[seed % 3], seed);
}

/* Pieces of any size: each goes into a list, and a request of the size finds it. */
static void test_sizes_up_to_the_largest(void **state)
{
    (void)state;
    struct slab nodes = {.item_bytes = sizeof(struct fit_node)};
    for (unsigned bits = 0; bits < 62; bits++)
        for (int more = -1; more <= 1; more++) {
            uint64_t size = (UINT64_C(1) << bits) + (uint64_t)more;
            if (size == 0)
                continue;
            static struct fit_range range;
            fit_open(&range, size + 1, &nodes);
            struct fit_node *first = fit_take(&range, FIT_QUICK, size);
            struct fit_node *last = fit_take(&range, FIT_QUICK, 1);
            assert_null(fit_take(&range, FIT_QUICK, 1));
            fit_put_back(first);
            assert_int_equal(fit_check(&range), 0);
            assert_null(fit_take(&range, FIT_QUICK, size + 1));
            first = fit_take(&range, FIT_QUICK, size);
            assert_int_equal(first->start, 0);
            fit_put_back(last);
            fit_put_back(first);
            assert_true(fit_is_empty(&range));
            fit_close(&range);
        }
    slab_free(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_rule_says),
        cmocka_unit_test(test_sizes_up_to_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
