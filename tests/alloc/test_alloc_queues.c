/* Memory is reused only in order: random programs on several queues, under every strategy, on a
 * device that runs the queues against each other as it likes. */
#include <string.h>

#include "alloc/planned/plans.h"
#include "alloc/registry.h"
#include "tests/alloc/alloc_variants.h"
#include "tests/alloc/fake_queues.h"
#include "tests/base/cmocka.h"

enum { LIVE_MOST = 24, STEP_COUNT = 800, SEED_COUNT = 4, TAG_COUNT = 5 };
static const uint64_t device_bytes = 128 << 20;
static struct allocator_plans plans; /* of the variants, read once */

struct used_block {
    struct block block;
    const char *tag;
    uint64_t requested;
    struct fake_command check;
};

struct program {
    const char *spec;
    uint64_t seed;
    unsigned step;
    struct fake_queues device;
    struct allocator allocator;
    struct random random;
    struct used_block live[LIVE_MOST];
    size_t live_count;
    uint32_t stamp;
    unsigned granted_count, refused_count;
};

#define REQUIRE(p, condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s, seed %llu, step %u: %s", (p)->spec, (unsigned long long)(p)->seed,       \
                     (p)->step, #condition);                                                       \
    } while (0)

/* Mostly what was asked for before, so that caches answer; now and then something large. */
static uint64_t random_size(struct random *random)
{
    static const uint64_t usual[] = {256, 1000, 4096, 5000, 70000};
    if (random_below(random, 50) == 0)
        return 1 + random_below(random, 3 << 20);
    if (random_below(random, 10) == 0)
        return 1 + random_below(random, 20000);
    return usual[random_below(random, sizeof usual / sizeof *usual)];
}

/* Every block is written at once, in its queue. */
static void step_alloc(struct program *p)
{
    static const char tags[TAG_COUNT];
    struct alloc_request request = {.size = random_size(&p->random),
                                    .alignment = FAKE_GRANULE_BYTES,
                                    .tag = &tags[random_below(&p->random, TAG_COUNT)],
                                    .queue = (unsigned)random_below(&p->random, FAKE_QUEUE_COUNT)};
    struct used_block *b = &p->live[p->live_count];
    int code = allocator_alloc(&p->allocator, &request, &b->block);
    if (code) {
        REQUIRE(p, code == ERR_OOM);
        p->refused_count++;
        return;
    }
    REQUIRE(p, b->block.queue == request.queue);
    p->live_count++;
    p->granted_count++;
    b->tag = request.tag;
    b->requested = request.size;
    b->check = (struct fake_command){
        .first = fake_queues_address(&p->device, b->block.memory, b->block.offset),
        .count = (request.size + FAKE_GRANULE_BYTES - 1) / FAKE_GRANULE_BYTES,
        .stamp = ++p->stamp};
    fake_queues_granted(&p->device, request.queue, b->check.first, b->check.count);
    struct fake_command write = b->check;
    write.writes = true;
    fake_queues_submit(&p->device, request.queue, write);
}

static void step_use(struct program *p, const struct used_block *b)
{
    unsigned own = b->block.queue, other = (own + 1) % FAKE_QUEUE_COUNT;
    if (random_below(&p->random, 20) != 0) {
        fake_queues_submit(&p->device, own, b->check);
        return;
    }
    /* On another queue, in order: the host waits before and after. */
    fake_queues_sync(&p->device, own);
    fake_queues_submit(&p->device, other, b->check);
    fake_queues_sync(&p->device, other);
}

static void step_free(struct program *p, size_t i)
{
    if (strstr(p->spec, "pool=virtual"))
        i = p->live_count - 1; /* a stack */
    struct used_block victim = p->live[i];
    p->live[i] = p->live[--p->live_count];
    fake_queues_submit(&p->device, victim.block.queue, victim.check);
    REQUIRE(p, allocator_free(&p->allocator, &victim.block, victim.tag, victim.requested) == 0);
}

static void step(struct program *p)
{
    uint64_t choice = random_below(&p->random, 400);
    unsigned queue = (unsigned)random_below(&p->random, FAKE_QUEUE_COUNT);
    if (choice == 0)
        REQUIRE(p, allocator_trim(&p->allocator) == 0);
    else if (choice < 5)
        fake_queues_sync(&p->device, queue);
    else if (choice < 80)
        fake_queues_run_one(&p->device, queue);
    else if (p->live_count == 0 || (choice < 200 && p->live_count < LIVE_MOST))
        step_alloc(p);
    else if (choice < 280)
        step_use(p, &p->live[random_below(&p->random, p->live_count)]);
    else
        step_free(p, random_below(&p->random, p->live_count));
}

/* Whether the strategy can run over this device; where it cannot, that is said. */
static bool open_program(struct program *p, const struct allocator_ops *ops)
{
    const struct allocator_ops *parsed;
    struct option_values options;
    struct error error = {0};
    int code = allocator_parse_planned(&plans, p->spec, &parsed, &options, &error);
    if (!code)
        code =
            allocator_open(&p->allocator, ops ? ops : parsed, &options, &p->device.source, &error);
    if (code && code != ERR_UNSUPPORTED)
        fail_msg("%s: %s", p->spec, error.text);
    if (code)
        print_message("skipped %s: %s\n", p->spec, error.text);
    return code == 0;
}

/* Runs one program. `ops` NULL: those of the spec. False where the device lacks what they need. */
static bool run_program(struct program *p, const char *spec, const struct allocator_ops *ops,
                        uint64_t seed, enum fake_release release)
{
    *p = (struct program){.spec = spec, .seed = seed, .random = {seed}};
    fake_queues_open(&p->device, device_bytes, release);
    if (!open_program(p, ops)) {
        fake_queues_close(&p->device);
        return false;
    }
    for (p->step = 0; p->step < STEP_COUNT; p->step++) {
        step(p);
        if (p->step % 16 == 0)
            REQUIRE(p, allocator_check(&p->allocator) == 0);
    }
    while (p->live_count > 0)
        step_free(p, p->live_count - 1);
    for (unsigned q = 0; q < FAKE_QUEUE_COUNT; q++)
        fake_queues_sync(&p->device, q);
    REQUIRE(p, allocator_check(&p->allocator) == 0);
    allocator_close(&p->allocator);
    REQUIRE(p, p->device.source.counts.reserved_bytes == 0);
    REQUIRE(p, p->device.misuse_count == 0);
    REQUIRE(p, p->granted_count > STEP_COUNT / 5);
    fake_queues_close(&p->device);
    return true;
}

static void test_reuse_is_in_order(void **state)
{
    (void)state;
    static struct program p;
    for (size_t v = 0; v < ALLOC_VARIANT_COUNT; v++) {
        if (alloc_variants[v].flags & VARIANT_OVERLAPS)
            continue; /* blocks of one queue overlap already */
        for (unsigned seed = 0; seed < SEED_COUNT; seed++) {
            if (!run_program(&p, alloc_variants[v].spec, NULL, seed,
                             seed % 2 ? RELEASE_DEFERS : RELEASE_WAITS))
                break;
            REQUIRE(&p, p.device.unordered_count == 0);
            REQUIRE(&p, p.device.corrupted_count == 0);
        }
    }
}

/* Nobody is left out of the test above. */
static void test_every_strategy_has_a_variant(void **state)
{
    (void)state;
    size_t count;
    const struct allocator_ops *const *list = allocator_list(&count);
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t v = 0; v < ALLOC_VARIANT_COUNT; v++) {
            size_t length = strcspn(alloc_variants[v].spec, ":");
            found |= strlen(list[i]->name) == length &&
                     memcmp(list[i]->name, alloc_variants[v].spec, length) == 0;
        }
        if (!found)
            fail_msg("%s has no line in alloc_variants.h", list[i]->name);
    }
}

/* How many of the seeds end in a breach of order, and in damage. */
static bool count_breaches(const char *spec, const struct allocator_ops *ops,
                           enum fake_release release, unsigned *unordered, unsigned *corrupted)
{
    static struct program p;
    *unordered = *corrupted = 0;
    for (unsigned seed = 0; seed < SEED_COUNT; seed++) {
        if (!run_program(&p, spec, ops, seed, release))
            return false;
        *unordered += p.device.unordered_count > 0;
        *corrupted += p.device.corrupted_count > 0;
    }
    return true;
}

/* One instance of a strategy that knows of one queue only, shared by all queues. */
static void test_a_shared_cache_is_noticed(void **state)
{
    (void)state;
    for (size_t v = 0; v < ALLOC_VARIANT_COUNT; v++) {
        const struct allocator_ops *ops;
        struct option_values options;
        assert_int_equal(
            allocator_parse_planned(&plans, alloc_variants[v].spec, &ops, &options, NULL), 0);
        if (ops->queues != QUEUES_APART)
            continue;
        struct allocator_ops shared = *ops;
        shared.queues = QUEUES_WITHIN; /* a lie */
        unsigned unordered, corrupted;
        if (!count_breaches(alloc_variants[v].spec, &shared, RELEASE_WAITS, &unordered, &corrupted))
            continue;
        if (unordered != SEED_COUNT || corrupted == 0)
            fail_msg("%s shared by all queues: %u of %d programs out of order, %u damaged",
                     alloc_variants[v].spec, unordered, SEED_COUNT, corrupted);
    }
}

/* Under a driver that takes memory back without waiting nothing is safe that gives any back. */
static void test_an_early_release_is_noticed(void **state)
{
    (void)state;
    unsigned unordered, corrupted;
    assert_true(count_breaches("raw", NULL, RELEASE_UNSAFE, &unordered, &corrupted));
    assert_int_equal(unordered, SEED_COUNT);
    assert_true(corrupted > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse_is_in_order),
        cmocka_unit_test(test_every_strategy_has_a_variant),
        cmocka_unit_test(test_a_shared_cache_is_noticed),
        cmocka_unit_test(test_an_early_release_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
