/* Compares `caching` with a slow implementation of its policy: the same blocks in the same places,
 * and the same driver calls in the same order. */
#include <stdio.h>
#include <string.h>

#include "alloc/allocator.h"
#include "base/random.h"
#include "tests/alloc/fake_source.h"
#include "tests/base/cmocka.h"

enum { SEGMENTS_MOST = 300, PIECES_MOST = 64, LIVE_MOST = 60, STEP_COUNT = 3000, QUEUE_COUNT = 2 };
static const uint64_t kib = 1024;

struct piece {
    uint64_t offset, size;
    bool is_free;
};

struct model_segment {
    bool exists, is_small;
    unsigned queue;
    uint64_t bytes;
    struct piece pieces[PIECES_MOST]; /* by address */
    size_t count;
};

/* Segments stand at the number of their memory. */
struct model {
    uint64_t small, large, max_split, divisions, capacity_bytes;
    struct model_segment segments[SEGMENTS_MOST];
    uint64_t made_count, reserved_bytes;
    struct text calls;
};

/* A free piece: segments[segment].pieces[piece]; segment 0: none. */
struct spot {
    size_t segment, piece;
};

static void call(struct model *m, char what, uint64_t bytes)
{
    text_add(&m->calls, "%s%c%llu", m->calls.length ? " " : "", what, (unsigned long long)bytes);
}

static uint64_t model_size(const struct model *m, uint64_t requested)
{
    uint64_t step = 512;
    if (m->divisions > 1 && requested > 512 * m->divisions) {
        step = 1;
        while (step * 2 * m->divisions <= requested)
            step *= 2;
    }
    return (requested + step - 1) / step * step;
}

/* The least, or the most, of the free pieces of a pool by (size, segment, offset), from a size on.
 */
static struct spot model_find(const struct model *m, unsigned queue, bool is_small, uint64_t least,
                              bool want_most)
{
    struct spot best = {0, 0};
    uint64_t best_size = 0;
    for (size_t s = 1; s <= m->made_count; s++) {
        const struct model_segment *segment = &m->segments[s];
        if (!segment->exists || segment->queue != queue || segment->is_small != is_small)
            continue;
        for (size_t p = 0; p < segment->count; p++) {
            uint64_t size = segment->pieces[p].size;
            if (!segment->pieces[p].is_free || size < least)
                continue;
            if (best.segment && (want_most ? size < best_size : size >= best_size))
                continue;
            best = (struct spot){s, p};
            best_size = size;
        }
    }
    return best;
}

static void model_release(struct model *m, size_t segment)
{
    m->segments[segment].exists = false;
    m->reserved_bytes -= m->segments[segment].bytes;
    call(m, '-', m->segments[segment].bytes);
}

static uint64_t size_at(const struct model *m, struct spot at)
{
    return m->segments[at.segment].pieces[at.piece].size;
}

static bool model_release_oversize(struct model *m, unsigned queue, bool is_small, uint64_t size)
{
    uint64_t needed = size < m->max_split ? m->max_split : size, released = 0;
    struct spot at = model_find(m, queue, is_small, needed, false);
    if (!at.segment)
        at = model_find(m, queue, is_small, m->max_split, true);
    while (at.segment && released < needed) {
        released += size_at(m, at);
        model_release(m, at.segment);
        at = model_find(m, queue, is_small, m->max_split, true);
    }
    return released >= needed;
}

static void model_release_all(struct model *m)
{
    for (unsigned pool = 0; pool < 2 * QUEUE_COUNT; pool++)
        for (;;) {
            size_t best = 0;
            for (size_t s = m->made_count; s > 0; s--) {
                const struct model_segment *segment = &m->segments[s];
                if (segment->exists && segment->is_small == (pool >= QUEUE_COUNT) &&
                    segment->queue == pool % QUEUE_COUNT && segment->count == 1 &&
                    segment->pieces[0].is_free &&
                    (!best || segment->bytes <= m->segments[best].bytes))
                    best = s;
            }
            if (!best)
                break;
            model_release(m, best);
        }
}

static bool model_ask(struct model *m, uint64_t bytes)
{
    bool granted = m->reserved_bytes + bytes <= m->capacity_bytes;
    call(m, granted ? '+' : '?', bytes);
    return granted;
}

/* What did not suffice alone may suffice with what is released after it. */
static bool model_release_and_ask(struct model *m, unsigned queue, bool is_small, uint64_t size,
                                  uint64_t bytes)
{
    const uint64_t reserved_bytes = m->reserved_bytes;
    if (m->max_split && model_release_oversize(m, queue, is_small, size) && model_ask(m, bytes))
        return true;
    model_release_all(m);
    return m->reserved_bytes < reserved_bytes && model_ask(m, bytes);
}

static size_t model_segment(struct model *m, unsigned queue, bool is_small, uint64_t size)
{
    uint64_t bytes = is_small              ? m->small
                     : size < m->large / 2 ? m->large
                                           : (size + m->small - 1) / m->small * m->small;
    if (!model_ask(m, bytes) && !model_release_and_ask(m, queue, is_small, size, bytes))
        return 0;
    assert_true(m->made_count + 1 < SEGMENTS_MOST);
    m->segments[++m->made_count] = (struct model_segment){.exists = true,
                                                          .is_small = is_small,
                                                          .queue = queue,
                                                          .bytes = bytes,
                                                          .pieces = {{0, bytes, true}},
                                                          .count = 1};
    m->reserved_bytes += bytes;
    return m->made_count;
}

static struct spot model_alloc(struct model *m, unsigned queue, uint64_t requested)
{
    uint64_t size = model_size(m, requested), max = m->max_split ? m->max_split : UINT64_MAX;
    bool is_small = size <= m->small / 2;
    struct spot at = model_find(m, queue, is_small, size, false);
    if (at.segment && (size < max ? size_at(m, at) >= max : size_at(m, at) >= size + m->large))
        at.segment = 0;
    if (!at.segment)
        at = (struct spot){model_segment(m, queue, is_small, size), 0};
    if (!at.segment)
        return at;
    struct model_segment *s = &m->segments[at.segment];
    struct piece *p = &s->pieces[at.piece];
    uint64_t left = p->size - size;
    p->is_free = false;
    if (is_small ? left >= 512 : size < max && left > m->small / 2) {
        assert_true(s->count < PIECES_MOST);
        memmove(p + 2, p + 1, (s->count++ - at.piece - 1) * sizeof *p);
        p[1] = (struct piece){p->offset + size, left, true};
        p->size = size;
    }
    return at;
}

static void model_free(struct model *m, const struct block *block)
{
    struct model_segment *s = &m->segments[block->memory];
    size_t i = 0;
    while (s->pieces[i].offset != block->offset)
        i++;
    s->pieces[i].is_free = true;
    for (i = 0; i + 1 < s->count;) {
        struct piece *p = &s->pieces[i];
        if (!p[0].is_free || !p[1].is_free) {
            i++;
            continue;
        }
        p->size += p[1].size;
        memmove(p + 1, p + 2, (s->count - i - 2) * sizeof *p);
        s->count--;
    }
}

static uint64_t random_size(struct random *random)
{
    return 1 + random_below(random, UINT64_C(1) << (4 + random_below(random, 13)));
}

static void run_beside_model(uint64_t divisions, uint64_t max_split, uint64_t capacity_bytes,
                             uint64_t seed)
{
    static struct model m;
    m = (struct model){.small = 8 * kib,
                       .large = 20 * kib,
                       .max_split = max_split,
                       .divisions = divisions,
                       .capacity_bytes = capacity_bytes};
    char spec[128];
    snprintf(spec, sizeof spec,
             "caching:small_segment=8KiB:large_segment=20KiB:divisions=%llu:max_split=%llu",
             (unsigned long long)divisions, (unsigned long long)max_split);
    struct fake_source fake;
    fake_source_open(&fake, 64, true);
    fake.capacity_bytes = capacity_bytes;
    struct allocator allocator;
    fake_source_allocator(&fake, spec, &allocator);
    struct random random = {seed};
    struct block live[LIVE_MOST];
    size_t live_count = 0;
    for (unsigned step = 0; step < STEP_COUNT && m.made_count + 2 < SEGMENTS_MOST; step++) {
        bool alloc = random_below(&random, 10) < (step / 200 % 2 ? 3 : 7);
        if (live_count == 0 || (alloc && live_count < LIVE_MOST)) {
            struct alloc_request request = {.size = random_size(&random),
                                            .alignment = 64,
                                            .queue = (unsigned)random_below(&random, QUEUE_COUNT)};
            struct block *b = &live[live_count];
            struct spot expected = model_alloc(&m, request.queue, request.size);
            int code = allocator_alloc(&allocator, &request, b);
            assert_int_equal(code, expected.segment ? 0 : ERR_OOM);
            if (code)
                continue;
            live_count++;
            assert_int_equal(b->memory, expected.segment);
            assert_int_equal(b->offset, m.segments[expected.segment].pieces[expected.piece].offset);
            assert_int_equal(b->size, size_at(&m, expected));
        } else {
            size_t i = random_below(&random, live_count);
            model_free(&m, &live[i]);
            assert_int_equal(allocator_free(&allocator, &live[i], NULL, 0), 0);
            live[i] = live[--live_count];
        }
        assert_int_equal(allocator_check(&allocator), 0);
    }
    if (strcmp(m.calls.data, fake.log.data) != 0)
        fail_msg("%s, seed %llu: other calls of the driver", spec, (unsigned long long)seed);
    while (live_count > 0)
        assert_int_equal(allocator_free(&allocator, &live[--live_count], NULL, 0), 0);
    allocator_close(&allocator);
    assert_int_equal(fake.live_count, 0);
    fake_source_close(&fake);
    text_free(&m.calls);
}

static void test_as_the_policy_says(void **state)
{
    (void)state;
    static const uint64_t max_splits[] = {0, 24 * 1024, 40 * 1024};
    static const uint64_t capacities[] = {UINT64_C(1) << 40, 400 * 1024, 200 * 1024};
    for (uint64_t seed = 0; seed < 27; seed++)
        run_beside_model(seed / 9 == 0 ? 1 : UINT64_C(1) << seed / 9, max_splits[seed % 3],
                         capacities[seed / 3 % 3], seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_policy_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
