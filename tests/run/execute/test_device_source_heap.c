/* The allocator device_heap over real devices: whether the host reads places back or mirrors the
 * heap, they are the same, apart and aligned, and the device agrees. */
#include "alloc/registry.h"
#include "base/random.h"
#include "tests/device/device_subjects.h"
#include "run/execute/device_source.h"

enum { LIVE_MOST = 40, STEPS = 300 };

struct heap_user {
    struct source source;
    struct allocator allocator;
    struct block block[LIVE_MOST];
    uint64_t requested[LIVE_MOST]; /* 0: not live */
};

static void open_user(struct subject *s, struct heap_user *u, const char *spec)
{
    const struct allocator_ops *ops;
    struct option_values options;
    *u = (struct heap_user){.source = device_source(s->device, 0)};
    ok(s, allocator_parse(spec, &ops, &options, &s->error));
    ok(s, allocator_open(&u->allocator, ops, &options, &u->source, &s->error));
}

static void require_sound(struct subject *s, const struct heap_user *u)
{
    if (allocator_check(&u->allocator) != 0)
        fail_msg("%s: the heap and its mirror, or the heap itself, are broken: %s",
                 device_info(s->device)->id, u->source.error.text);
}

static void close_user(struct subject *s, struct heap_user *u)
{
    for (unsigned i = 0; i < LIVE_MOST; i++)
        if (u->requested[i])
            assert_int_equal(allocator_free(&u->allocator, &u->block[i], "tag", u->requested[i]),
                             0);
    require_sound(s, u);
    assert_int_equal(allocator_trim(&u->allocator), 0);
    assert_int_equal(u->source.counts.reserved_bytes, 0);
    allocator_close(&u->allocator);
}

static void require_apart(const struct heap_user *u, unsigned which)
{
    const struct block *b = &u->block[which];
    for (unsigned i = 0; i < LIVE_MOST; i++) {
        const struct block *other = &u->block[i];
        if (i != which && u->requested[i] && other->memory == b->memory)
            assert_true(other->offset + other->size <= b->offset ||
                        b->offset + b->size <= other->offset);
    }
    assert_int_equal(b->offset % u->source.alignment, 0);
    assert_true(b->size >= u->requested[which]);
}

static void step(struct heap_user *u, unsigned which, uint64_t bytes)
{
    const struct alloc_request request = {.size = bytes, .alignment = 4, .tag = "tag"};
    if (u->requested[which]) {
        assert_int_equal(
            allocator_free(&u->allocator, &u->block[which], "tag", u->requested[which]), 0);
        u->requested[which] = 0;
        return;
    }
    assert_int_equal(allocator_alloc(&u->allocator, &request, &u->block[which]), 0);
    u->requested[which] = bytes;
    require_apart(u, which);
}

static void check_places(struct subject *s)
{
    struct heap_user asks, mirrors;
    struct random random = {9};
    const uint64_t unit = device_info(s->device)->alignment_bytes;
    open_user(s, &asks, "device_heap:arena=1MiB:blocks=12");
    open_user(s, &mirrors, "device_heap:arena=1MiB:blocks=12:learn=mirror");
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned which = (unsigned)random_below(&random, LIVE_MOST);
        uint64_t bytes = 1 + random_below(&random, 20 * unit);
        step(&asks, which, bytes);
        step(&mirrors, which, bytes);
        if (asks.requested[which])
            assert_int_equal(asks.block[which].offset, mirrors.block[which].offset);
        if (i % 25 == 0) {
            require_sound(s, &asks);
            require_sound(s, &mirrors);
        }
    }
    assert_true(asks.source.counts.sync_count > 0);
    assert_int_equal(mirrors.source.counts.sync_count, 0);
    close_user(s, &asks);
    close_user(s, &mirrors);
}

static void places_are_the_same(void **state)
{
    (void)state;
    on_each_device(check_places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_are_the_same)};
    print_missing_devices();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
