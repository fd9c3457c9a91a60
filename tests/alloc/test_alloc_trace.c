/* Long random traces through every strategy, compared with an oracle that knows only which bytes
 * are taken, and through `tagged`, compared with the free list as it was published: all slots are
 * walked at every request. */
#include <stdio.h>
#include <string.h>

#include "alloc/allocator.h"
#include "base/random.h"
#include "tests/alloc/alloc_variants.h"
#include "tests/alloc/fake_source.h"
#include "tests/base/cmocka.h"

enum {
    LIVE_MOST = 80,
    TAG_COUNT = 50,
    SEED_COUNT = 4,
    STEP_COUNT = 1500,
    MODEL_SEED_COUNT = 50, /* times STEP_COUNT and four options: 300,000 decisions a version */
};
static const uint64_t alignment_bytes = 64;

struct live_block {
    struct block block;
    const char *tag;
    uint64_t requested;
};

struct trace {
    const char *spec;
    uint64_t seed;
    unsigned step;
    struct fake_source fake;
    struct allocator allocator;
    struct random random;
    struct live_block live[LIVE_MOST];
    size_t live_count;
};

#define REQUIRE(trace, condition)                                                                  \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s, seed %llu, step %u: %s", (trace)->spec,                                  \
                     (unsigned long long)(trace)->seed, (trace)->step, #condition);                \
    } while (0)

/* Programs ask for the same sizes at the same places, mostly; sometimes for something else. */
static struct alloc_request random_request(struct random *random)
{
    static const char tags[TAG_COUNT];
    uint64_t site = random_below(random, TAG_COUNT);
    uint64_t size = 1 + random_split(7, site) % (UINT64_C(1) << (2 + site % 15));
    if (random_below(random, 4) == 0)
        size = 1 + (random_u64(random) >> (64 - 1 - random_below(random, 17)));
    return (struct alloc_request){
        .size = size, .alignment = UINT64_C(1) << random_below(random, 7), .tag = &tags[site]};
}

static void open_trace(struct trace *t, const char *spec, uint64_t seed, uint64_t capacity_bytes)
{
    *t = (struct trace){.spec = spec, .seed = seed, .random = {seed}};
    fake_source_open(&t->fake, alignment_bytes, true);
    t->fake.capacity_bytes = capacity_bytes;
    fake_source_allocator(&t->fake, spec, &t->allocator);
}

static void close_trace(struct trace *t)
{
    allocator_close(&t->allocator);
    REQUIRE(t, t->fake.live_count == 0);
    REQUIRE(t, t->fake.misuse_count == 0);
    fake_source_close(&t->fake);
}

static void require_apart(const struct trace *t, const struct block *b)
{
    for (size_t i = 0; i < t->live_count; i++) {
        const struct block *other = &t->live[i].block;
        REQUIRE(t, other->memory != b->memory || other->offset + other->size <= b->offset ||
                       b->offset + b->size <= other->offset);
    }
}

static void require_granted(const struct trace *t, const struct alloc_request *request,
                            const struct block *b, bool may_overlap)
{
    REQUIRE(t, b->size >= request->size);
    REQUIRE(t, b->offset % request->alignment == 0);
    REQUIRE(t, b->offset % alignment_bytes == 0);
    REQUIRE(t, fake_source_holds(&t->fake, b->memory, b->offset, b->size));
    REQUIRE(t, fake_source_holds(&t->fake, block_memory(b), block_offset(b), b->size));
    if (!may_overlap)
        require_apart(t, b);
}

static void require_refused(struct trace *t, int code, const struct alloc_variant *variant)
{
    REQUIRE(t, code == ERR_OOM && t->fake.source.error.code == ERR_OOM);
    REQUIRE(t, t->fake.capacity_bytes != 0 || variant->flags & VARIANT_LIMITED);
    uint64_t reserved_bytes = t->fake.live_bytes;
    REQUIRE(t, allocator_trim(&t->allocator) == 0);
    if (variant->flags & VARIANT_RELEASES)
        REQUIRE(t, t->fake.live_bytes == reserved_bytes);
}

static void step_alloc(struct trace *t, const struct alloc_variant *variant)
{
    struct alloc_request request = random_request(&t->random);
    struct block block;
    int code = allocator_alloc(&t->allocator, &request, &block);
    if (code) {
        require_refused(t, code, variant);
        return;
    }
    REQUIRE(t, (block.sub_buffer != 0) == ((variant->flags & VARIANT_SUB_BUFFERS) != 0));
    require_granted(t, &request, &block, variant->flags & VARIANT_OVERLAPS);
    t->live[t->live_count++] =
        (struct live_block){.block = block, .tag = request.tag, .requested = request.size};
}

static void step_free(struct trace *t, size_t i)
{
    struct live_block victim = t->live[i];
    t->live[i] = t->live[--t->live_count];
    REQUIRE(t, allocator_free(&t->allocator, &victim.block, victim.tag, victim.requested) == 0);
}

static void require_counts(struct trace *t)
{
    const struct allocator_counts *c = &t->allocator.counts;
    uint64_t requested = 0, granted = 0;
    for (size_t i = 0; i < t->live_count; i++) {
        requested += t->live[i].requested;
        granted += t->live[i].block.size;
    }
    REQUIRE(t, c->requested_bytes == requested && c->peak_requested_bytes >= requested);
    REQUIRE(t, c->granted_bytes == granted && c->peak_granted_bytes >= granted);
    REQUIRE(t, c->hit_count + c->miss_count == c->alloc_count);
    REQUIRE(t, source_update(&t->fake.source) == 0);
    REQUIRE(t, t->fake.source.counts.reserved_bytes == t->fake.live_bytes);
}

/* The number of live blocks swings between none and LIVE_MOST, so that caches fill and drain. */
static void run_trace(const struct alloc_variant *variant, uint64_t seed, uint64_t capacity_bytes)
{
    struct trace t;
    open_trace(&t, variant->spec, seed, capacity_bytes);
    uint64_t want_alloc = 7; /* of 10 */
    for (t.step = 0; t.step < STEP_COUNT; t.step++) {
        if (t.step % 100 == 0)
            want_alloc = 3 + random_below(&t.random, 5);
        bool alloc = random_below(&t.random, 10) < want_alloc;
        if (random_below(&t.random, 300) == 0)
            REQUIRE(&t, allocator_trim(&t.allocator) == 0);
        else if (t.live_count == 0 || (alloc && t.live_count < LIVE_MOST))
            step_alloc(&t, variant);
        else
            step_free(&t, variant->flags & VARIANT_STACK ? t.live_count - 1
                                                         : random_below(&t.random, t.live_count));
        REQUIRE(&t, allocator_check(&t.allocator) == 0);
        require_counts(&t);
    }
    while (t.live_count > 0)
        step_free(&t, t.live_count - 1);
    REQUIRE(&t, allocator_check(&t.allocator) == 0);
    require_counts(&t);
    close_trace(&t);
}

static void test_no_overlap(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALLOC_VARIANT_COUNT; i++)
        for (uint64_t seed = 0; seed < SEED_COUNT; seed++)
            run_trace(&alloc_variants[i], seed, 0);
}

static void test_no_overlap_with_capacity(void **state)
{
    (void)state;
    static const uint64_t capacities[] = {100 * 1024, 300 * 1024};
    for (size_t i = 0; i < ALLOC_VARIANT_COUNT; i++)
        for (uint64_t seed = 0; seed < SEED_COUNT; seed++)
            run_trace(&alloc_variants[i], seed, capacities[seed % 2]);
}

/* The published free list, with more slots than are ever filled, and the driver built in. */
enum { SLOT_COUNT = 2048 };
struct slot {
    bool valid;
    uint64_t size, memory;
    const char *tag;
};
struct model {
    unsigned version; /* 0 v1, 1 v1c, 2 v2, 3 v3, 4 v4 */
    bool release, steal;
    struct slot slots[SLOT_COUNT];
    struct slot *end; /* after the last slot that was ever filled */
    uint64_t capacity_bytes, reserved_bytes, handles;
    struct text calls;
};

static void model_call(struct model *m, char what, uint64_t bytes)
{
    text_add(&m->calls, "%s%c%llu", m->calls.length ? " " : "", what, (unsigned long long)bytes);
}

static void model_release(struct model *m, struct slot *s)
{
    s->valid = false;
    m->reserved_bytes -= s->size;
    model_call(m, '-', s->size);
}

static bool model_size_rule(const struct model *m, uint64_t held, uint64_t size)
{
    return m->version == 0 ? size <= held && held <= 2 * size : size <= held;
}

static struct slot *model_best(struct model *m, uint64_t size, const char *tag)
{
    struct slot *best = NULL;
    for (struct slot *s = m->slots; s < m->end; s++)
        if (s->valid && size <= s->size && (!best || s->size < best->size) &&
            (m->version == 3 || s->size < 4096 || s->tag == tag || s->size < 2 * size))
            best = s;
    return best;
}

static struct slot *model_find(struct model *m, uint64_t size, const char *tag)
{
    if (m->version >= 3)
        return model_best(m, size, tag);
    struct slot *own = m->slots, *other = m->slots, *exact = NULL;
    for (; own < m->end && !(own->valid && own->tag == tag); own++)
        if (m->version == 2 && own->valid && own->size == size)
            exact = own; /* each match replaces the one before */
    if (own < m->end && model_size_rule(m, own->size, size))
        return own;
    if (own < m->end)
        model_release(m, own);
    else if (exact)
        return exact;
    while (m->steal && other < m->end && !(other->valid && model_size_rule(m, other->size, size)))
        other++;
    return m->steal && other < m->end ? other : NULL;
}

static bool model_alloc(struct model *m, uint64_t size, const char *tag, struct slot *granted)
{
    if (m->version >= 1 && size < 4)
        size = 4;
    struct slot *found = model_find(m, size, tag);
    if (found) {
        *granted = *found;
        found->valid = false;
        return true;
    }
    while (m->reserved_bytes + size > m->capacity_bytes) {
        model_call(m, '?', size);
        struct slot *first = m->slots;
        while (first < m->end && !first->valid)
            first++;
        if (first == m->end || (m->version == 0 && !m->release))
            return false;
        model_release(m, first);
    }
    model_call(m, '+', size);
    m->reserved_bytes += size;
    *granted = (struct slot){.size = size, .memory = ++m->handles};
    return true;
}

static void model_free(struct model *m, const struct block *block, const char *tag)
{
    if (m->version <= 2)
        for (struct slot *s = m->slots; s < m->end; s++)
            if (s->valid && s->tag == tag) {
                model_release(m, s);
                break;
            }
    struct slot *open = m->slots;
    while (open->valid)
        open++;
    if (open == m->end)
        m->end++;
    *open = (struct slot){.valid = true, .size = block->size, .memory = block->memory, .tag = tag};
}

static void run_beside_model(unsigned version, bool release, bool steal, uint64_t seed)
{
    static const char *const names[] = {"v1", "v1c", "v2", "v3", "v4"};
    char spec[64];
    snprintf(spec, sizeof spec, "tagged:policy=%s:release=%s:steal=%s", names[version],
             release ? "yes" : "no", steal ? "yes" : "no");
    static struct model m;
    m = (struct model){.version = version, .release = release, .steal = steal};
    m.end = m.slots;
    m.capacity_bytes = seed % 2 ? 300 * 1024 : UINT64_C(1) << 40;
    struct trace t;
    open_trace(&t, spec, seed, m.capacity_bytes);
    for (t.step = 0; t.step < STEP_COUNT; t.step++) {
        /* Up to LIVE_MOST and down again: then more blocks are free than the list has slots. */
        bool alloc = random_below(&t.random, 10) < (t.step / 150 % 2 ? 2 : 8);
        if (t.live_count == 0 || (alloc && t.live_count < LIVE_MOST)) {
            struct alloc_request request = random_request(&t.random);
            if (random_below(&t.random, 3) == 0) /* sizes that many sites share */
                request.size = 1 + random_below(&t.random, 12) * 1365;
            struct block block;
            struct slot expected;
            bool granted = model_alloc(&m, request.size, request.tag, &expected);
            REQUIRE(&t, (allocator_alloc(&t.allocator, &request, &block) == 0) == granted);
            if (!granted)
                continue;
            REQUIRE(&t, block.memory == expected.memory && block.size == expected.size);
            t.live[t.live_count++] =
                (struct live_block){.block = block, .tag = request.tag, .requested = request.size};
        } else {
            size_t i = random_below(&t.random, t.live_count);
            model_free(&m, &t.live[i].block, t.live[i].tag);
            step_free(&t, i);
        }
        REQUIRE(&t, t.step % 50 != 0 || allocator_check(&t.allocator) == 0);
    }
    REQUIRE(&t, strcmp(m.calls.data, t.fake.log.data) == 0);
    while (t.live_count > 0)
        step_free(&t, t.live_count - 1);
    close_trace(&t);
    text_free(&m.calls);
}

static void test_tagged_is_the_published_list(void **state)
{
    (void)state;
    for (unsigned version = 0; version <= 4; version++)
        for (unsigned options = 0; options < 4; options++)
            for (uint64_t seed = 0; seed < MODEL_SEED_COUNT; seed++)
                run_beside_model(version, options & 1, options & 2, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_overlap),
        cmocka_unit_test(test_no_overlap_with_capacity),
        cmocka_unit_test(test_tagged_is_the_published_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
