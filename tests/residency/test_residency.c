/* Groups of devices: what moves against what must, by which way, and what happens when memory, a
 * device or an order is missing. */
#include <string.h>

#include "tests/base/cmocka.h"
#include "tests/residency/residency_rig.h"

/* ---- what moves, strategy by strategy -------------------------------------------------------- */

/* A schedule over one buffer of 64 bytes, x, and another, y, on two members. */
enum story { WRITE_HOST, READ_ON, CHANGE_ON, REPLACE_ON, DISCARD, READ_HOST };
struct event {
    enum story what;
    unsigned member;
    uint64_t begin, bytes; /* of x */
};

/* One after the other; in each column, in the order of `moved`, bytes moved so far. */
static const struct {
    struct event event;
    uint64_t moved[5]; /* always, eager, lazy, versioned:grain=memory, versioned */
} stories[] = {
    {{WRITE_HOST, 0, 0, 64}, {0, 0, 0, 0, 0}},
    {{READ_ON, 0, 0, 64}, {0, 0, 0, 0, 0}},
    {{READ_ON, 1, 16, 16}, {64, 64, 64, 64, 16}},       /* only what is read, or all */
    {{READ_ON, 1, 0, 32}, {64, 64, 64, 64, 32}},        /* and of that only what is missing */
    {{READ_ON, 0, 0, 64}, {128, 64, 64, 64, 32}},       /* readers share */
    {{CHANGE_ON, 1, 0, 8}, {192, 64, 64, 64, 32}},      /* it has it */
    {{READ_ON, 0, 32, 8}, {256, 128, 128, 128, 32}},    /* the neighbour was written, not this */
    {{REPLACE_ON, 1, 0, 64}, {320, 128, 128, 128, 32}}, /* always moves what is overwritten */
    {{REPLACE_ON, 0, 0, 64}, {384, 192, 192, 128, 32}}, /* lazy does so too, others know better */
    {{REPLACE_ON, 1, 8, 8}, {448, 256, 256, 192, 32}},  /* a part of what is one to it */
    {{READ_ON, 0, 0, 8}, {512, 320, 320, 256, 32}},
    {{READ_ON, 0, 0, 16}, {512, 320, 320, 256, 40}},
    {{DISCARD, 0, 0, 64}, {512, 320, 320, 256, 40}},
    {{CHANGE_ON, 1, 32, 32},
     {576, 320, 320, 256, 40}}, /* there is nothing to be kept; lazy has it */
    {{READ_HOST, 0, 0, 64}, {576, 320, 320, 256, 40}},
    {{WRITE_HOST, 0, 0, 4}, {640, 384, 384, 320, 40}}, /* the host writes on member 0 */
};

static void tell(struct rig *r, const struct event *e)
{
    struct error error = {0};
    const uint8_t bytes[64] = {1};
    uint8_t out[64];
    const struct range x = {0, e->begin, e->bytes}, y = {1 + e->member, 0, 64};
    const uint64_t x_handle = r->buffers[0].handle;
    switch (e->what) {
    case WRITE_HOST:
        rig_must(r->group->ops->write(r->group, x_handle, e->begin, bytes, e->bytes, &error),
                 &error);
        break;
    case READ_ON:
        rig_must(
            rig_launch(r, e->member, (struct range){1 + e->member, 0, 64}, false, x, 0, &error),
            &error);
        break;
    case CHANGE_ON:
    case REPLACE_ON:
        rig_must(rig_launch(r, e->member, x, e->what == CHANGE_ON, y, 0, &error), &error);
        break;
    case DISCARD:
        rig_must(r->group->ops->discard(r->group, x_handle, e->begin, e->bytes, &error), &error);
        break;
    case READ_HOST:
        rig_must(r->group->ops->read(r->group, out, x_handle, e->begin, e->bytes, &error), &error);
        break;
    }
}

static void each_strategy_moves_what_it_says(void **state)
{
    (void)state;
    static const char *const columns[] = {"always", "eager", "lazy", "versioned:grain=memory",
                                          "versioned"};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        struct rig r;
        rig_open(&r, 1, 2, true, columns[c], (struct residency_options){.together = true});
        for (unsigned b = 0; b < 3; b++)
            rig_add(&r, b, 64);
        for (unsigned m = 0; m < 2; m++) /* each member has a buffer of its own to work with */
            rig_must(rig_launch(&r, m, (struct range){1 + m, 0, 64}, false,
                                (struct range){1 + m, 0, 64}, 0, NULL),
                     NULL);
        for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
            tell(&r, &stories[i].event);
            if (residency_counts(r.group)->migration_bytes != stories[i].moved[c])
                fail_msg("%s, step %zu: %llu bytes moved, expected %llu", columns[c], i,
                         (unsigned long long)residency_counts(r.group)->migration_bytes,
                         (unsigned long long)stories[i].moved[c]);
        }
        uint64_t copies = c == 1 ? 6 : 4; /* eager: of all three buffers on both */
        assert_int_equal(residency_counts(r.group)->peak_held_bytes, copies * 64);
        rig_close(&r);
    }
}

/* ---- by which way --------------------------------------------------------------------------- */

/* x, on member 0, is read by both others. */
static void read_by_others(struct rig *r, const char *residency, bool together, bool peers_whole)
{
    rig_open(r, peers_whole ? RIG_PEERS_WHOLE : 1, 3, true, residency,
             (struct residency_options){.together = together});
    for (unsigned b = 0; b < 3; b++)
        rig_add(r, b, 64);
    rig_put(r, 0, 7);
    for (unsigned m = 1; m < 3; m++)
        rig_must(
            rig_launch(r, m, (struct range){m, 0, 64}, false, (struct range){0, 0, 64}, 0, NULL),
            NULL);
}

static void the_best_way_is_taken(void **state)
{
    (void)state;
    static const struct {
        const char *residency;
        bool together, peers_whole;
        uint64_t peer_copies, reads;
    } cases[] = {
        {"versioned", true, false, 2, 0},
        {"versioned", false, false, 0, 1}, /* what has come to the host is there for the second */
        {"versioned", true, true, 0, 1},   /* the way would be a bad one */
        {"versioned:route=direct", true, true, 2, 0},
        {"versioned:route=host", true, false, 0, 1},
        {"lazy", true, false, 0, 1},
        {"always", true, false, 0,
         2}, /* member 0's copy, and then member 1's, which is current alone */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r;
        struct fake_counts sum = {0};
        read_by_others(&r, cases[i].residency, cases[i].together, cases[i].peers_whole);
        for (unsigned m = 0; m < 3; m++) {
            sum.peer_copies += fake_counts_of(r.members[m])->peer_copies;
            sum.reads += fake_counts_of(r.members[m])->reads;
        }
        assert_int_equal(sum.peer_copies, cases[i].peer_copies);
        assert_int_equal(sum.reads, cases[i].reads);
        assert_int_equal(residency_counts(r.group)->migration_count, 2);
        rig_close(&r);
    }
}

/* Two halves that need each other's border in every step. */
static void take_steps_of_halves(struct rig *r, const char *residency)
{
    struct error error = {0};
    rig_open(r, 3, 2, true, residency, (struct residency_options){.together = true});
    for (unsigned b = 0; b < 4; b++) {
        rig_add(r, b, 64);
        rig_put(r, b, (uint8_t)b);
    }
    rig_must(r->group->ops->sync(r->group, &error), &error);
    r->world.wait_count = 0;
    for (unsigned step = 0; step < 20; step++) {
        unsigned old = step % 2 * 2, new = 2 - old;
        for (unsigned half = 0; half < 2; half++) {
            const struct range mine = {old + half, 0, 64}, theirs = {old + 1 - half, 0, 8};
            rig_must(rig_launch(r, half, (struct range){new + half, 0, 64}, false, mine, 1, &error),
                     &error);
            rig_must(
                rig_launch(r, half, (struct range){new + half, 0, 64}, true, theirs, 1, &error),
                &error);
        }
    }
    /* Once the lower half and the upper's border, and then two borders a step. */
    assert_int_equal(residency_counts(r->group)->migration_bytes, 64 + 8 + 19 * 2 * 8);
}

static void with_events_nobody_waits_for_more_than_it_needs(void **state)
{
    (void)state;
    struct rig r;
    take_steps_of_halves(&r, "versioned");
    assert_int_equal(r.world.wait_count, 0); /* not the host, at any rate */
    /* The first half's step, and what of the second needs no border. */
    assert_int_equal(fake_device_run(r.members[0], 2), 2);
    /* Its border is enough for two steps of the other half, although the first half was given more
     * to do in between; the third overwrites a border that has not been fetched. */
    assert_int_equal(fake_device_run(r.members[1], 100), 4);
    assert_int_equal(fake_device_run(r.members[0], 100), 4);
    rig_close(&r);
    take_steps_of_halves(&r, "versioned:order=wait");
    assert_true(r.world.wait_count >= 19);
    rig_close(&r);
}

/* ---- what can be missing -------------------------------------------------------------------- */

static void memory_is_missing_at_the_first_use(void **state)
{
    (void)state;
    struct rig r;
    struct error error = {0};
    const struct range x = {0, 0, 64}, y = {1, 0, 64};
    rig_open(&r, 1, 2, true, "lazy", (struct residency_options){.together = true});
    fake_behaviour_of(r.members[1])->capacity_bytes = 64;
    rig_add(&r, 0, 64);
    rig_add(&r, 1, 64);
    rig_put(&r, 0, 1);
    assert_int_equal(rig_launch(&r, 1, y, false, x, 0, &error), ERR_OOM);
    assert_non_null(strstr(error.text, "device 1 of fake:0+fake:1 (fake:1): fakeAlloc"));
    assert_int_equal(residency_check(r.group), 0);
    assert_int_equal(rig_launch(&r, 0, y, false, x, 0, &error), 0); /* the other one has room */
    fake_behaviour_of(r.members[1])->capacity_bytes = 0;
    assert_int_equal(rig_launch(&r, 1, y, false, x, 0, &error), 0); /* and it can be tried again */
    rig_close(&r);
}

static void memory_is_missing_from_the_start(void **state)
{
    (void)state;
    struct rig r;
    struct error error = {0};
    uint64_t memory;
    rig_open(&r, 1, 2, true, "eager", (struct residency_options){.together = true});
    fake_behaviour_of(r.members[1])->capacity_bytes = 64;
    rig_add(&r, 0, 64);
    assert_int_equal(r.group->ops->alloc(r.group, 64, &memory, &error), ERR_OOM);
    assert_int_equal(residency_counts(r.group)->held_bytes, 128); /* nothing is left of it */
    rig_close(&r);
}

/* The fake devices have 1 GiB each. */
static void no_buffer_is_larger_than_the_largest_member(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, (1 << 30) + 1};
    struct rig r;
    rig_open(&r, 1, 2, true, "lazy", (struct residency_options){.together = true});
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct error error = {0};
        uint64_t memory = 0;
        assert_int_equal(r.group->ops->alloc(r.group, sizes[i], &memory, &error), ERR_OOM);
        assert_non_null(strstr(error.text, "no member of fake:0+fake:1 has more than 1073741824"));
        assert_int_equal(memory, 0);
    }
    rig_add(&r, 0, 64);
    assert_int_equal(residency_check(r.group), 0);
    rig_close(&r);
}

static void no_member_goes_beyond_the_limit(void **state)
{
    (void)state;
    struct rig r;
    struct error error = {0};
    const struct range x = {0, 0, 64}, y = {1, 0, 64};
    rig_open(&r, 1, 2, true, "versioned", (struct residency_options){.together = true});
    residency_limit(r.group, 100);
    rig_add(&r, 0, 64);
    rig_add(&r, 1, 64);
    rig_put(&r, 0, 1);
    assert_int_equal(rig_launch(&r, 0, y, false, x, 0, &error), ERR_OOM);
    assert_non_null(strstr(error.text, "64 B of the limit of 100 B are held there"));
    assert_int_equal(residency_counts(r.group)->refused_count, 1);
    /* Each has room for one of the two, and together they have room for both. */
    assert_int_equal(rig_launch(&r, 1, y, false, y, 0, &error), 0);
    rig_close(&r);
}

/* Member 1 is lost while y is on its way from there. */
static void what_was_on_a_lost_device_alone_is_lost(void **state)
{
    (void)state;
    static const char *const residencies[] = {"versioned", "versioned:route=host", "lazy"};
    for (size_t i = 0; i < sizeof residencies / sizeof *residencies; i++) {
        struct rig r;
        struct error error = {0};
        uint8_t out[64] = {0};
        const struct range x = {0, 0, 64}, y = {1, 0, 64}, z = {2, 0, 64};
        rig_open(&r, 1, 3, true, residencies[i], (struct residency_options){.together = true});
        for (unsigned b = 0; b < 3; b++)
            rig_add(&r, b, 64);
        rig_put(&r, 0, 5);
        assert_int_equal(rig_launch(&r, 1, y, false, x, 0, &error), 0); /* x is on 0 and 1 */
        fake_behaviour_of(r.members[1])->lost = true;
        assert_int_equal(rig_launch(&r, 2, z, false, y, 0, &error), ERR_DEVICE_LOST);
        assert_non_null(strstr(error.text, "fake:1"));
        assert_int_equal(residency_check(r.group), 0);
        assert_int_equal(r.group->ops->read(r.group, out, r.buffers[1].handle, 0, 64, &error),
                         ERR_DEVICE_LOST);
        assert_int_equal(r.group->ops->read(r.group, out, r.buffers[0].handle, 0, 64, &error), 0);
        assert_int_equal(out[63], 5);
        /* What is on the others goes on. */
        rig_must(rig_launch(&r, 2, z, false, x, 0, &error), &error);
        rig_close(&r);
    }
}

/* x was written on member 1, and read by member 2: by way of the host. */
static void what_has_come_to_the_host_outlives_the_devices(void **state)
{
    (void)state;
    struct rig r;
    struct error error = {0};
    uint8_t out[64] = {0};
    const struct range x = {0, 0, 64}, y = {1, 0, 64}, z = {2, 0, 64};
    rig_open(&r, 1, 3, true, "versioned:route=host", (struct residency_options){.together = true});
    for (unsigned b = 0; b < 3; b++)
        rig_add(&r, b, 64);
    rig_put(&r, 1, 9);
    assert_int_equal(rig_launch(&r, 1, x, false, y, 0, &error), 0);
    assert_int_equal(rig_launch(&r, 2, z, false, x, 0, &error), 0);
    fake_behaviour_of(r.members[1])->lost = fake_behaviour_of(r.members[2])->lost = true;
    assert_int_equal(rig_launch(&r, 2, z, false, x, 0, &error), ERR_DEVICE_LOST);
    assert_int_equal(r.group->ops->read(r.group, out, r.buffers[0].handle, 0, 64, &error), 0);
    assert_int_equal(out[1], 9 + 1);
    assert_int_equal(rig_launch(&r, 0, y, false, x, 0, &error), 0);
    rig_close(&r);
}

/* ---- order ---------------------------------------------------------------------------------- */

static int use_queue(struct rig *r, unsigned queue)
{
    return r->group->ops->queues->use(r->group, queue, NULL);
}

/* Two queues of the group and two members: who writes x, and who has waited. */
static void writers_that_nobody_has_ordered_are_found(void **state)
{
    (void)state;
    static const struct {
        struct range first, second;
        bool first_writes, second_writes, waits, refused;
    } cases[] = {
        {{0, 0, 64}, {0, 0, 64}, true, true, false, true},
        {{0, 0, 64}, {0, 0, 64}, true, true, true, false},
        {{0, 0, 64}, {0, 63, 1}, true, false, false, true},
        {{0, 63, 1}, {0, 0, 64}, false, true, false, true},
        {{0, 0, 64}, {0, 0, 64}, false, false, false, false}, /* readers need no order */
        {{0, 0, 32}, {0, 32, 32}, true, true, false, false},  /* nor do parts */
        {{0, 0, 32}, {0, 32, 32}, false, true, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned member = 0; member < 2; member++) {
            struct rig r;
            struct error error = {0};
            const struct residency_options options = {
                .together = true, .queues = 2, .check_order = true};
            rig_open(&r, 1, 2, true, "versioned", options);
            for (unsigned b = 0; b < 3; b++)
                rig_add(&r, b, 64);
            for (unsigned b = 0; b < 3; b++)
                rig_put(&r, b, 1);
            rig_must(r.group->ops->sync(r.group, &error), &error);
            const struct range own = {1, 0, 64}, other = {2, 0, 64};
            int code = cases[i].first_writes
                           ? rig_launch(&r, 0, cases[i].first, false, own, 0, &error)
                           : rig_launch(&r, 0, own, false, cases[i].first, 0, &error);
            assert_int_equal(code, 0);
            if (cases[i].waits)
                rig_must(r.group->ops->queues->sync(r.group, 0, &error), &error);
            rig_must(use_queue(&r, 1), &error);
            code = cases[i].second_writes
                       ? rig_launch(&r, member, cases[i].second, false, other, 0, &error)
                       : rig_launch(&r, member, other, false, cases[i].second, 0, &error);
            if (code != (cases[i].refused ? ERR_PROGRAM : 0))
                fail_msg("case %zu on member %u: %d %s", i, member, code, error.text);
            if (code)
                assert_non_null(strstr(error.text, "two commands are not ordered: queue 1"));
            rig_must(r.group->ops->sync(r.group, &error), &error);
            rig_close(&r);
        }
}

/* ---- words ---------------------------------------------------------------------------------- */

static void a_wrong_word_says_what_there_is(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *message;
    } cases[] = {
        {"versiond", "there is no residency 'versiond' (did you mean versioned?); there are: "
                     "always, eager, lazy, versioned"},
        {"lazy:grain=memory", "lazy has no options, so 'grain' cannot be set"},
        {"versioned:grain=page",
         "option grain is 'page' (did you mean range?), expected one of range|memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct residency residency;
        struct error error = {0};
        assert_int_equal(residency_parse(cases[i].spec, &residency, &error), ERR_USAGE);
        if (!strstr(error.text, cases[i].message))
            fail_msg("%s\ngave: %s", cases[i].spec, error.text);
    }
}

static void a_group_has_two_to_eight_members_of_one_language(void **state)
{
    (void)state;
    struct fake_world world;
    struct device *members[9], *group;
    struct error error = {0};
    struct residency_options options = {0};
    fake_world_open(&world, 1, true);
    for (unsigned m = 0; m < 8; m++)
        members[m] = fake_world_add(&world);
    assert_int_equal(residency_open(members, 1, &options, &group, &error), ERR_UNSUPPORTED);
    rig_must(device_null.open("null", &members[0], &error), &error);
    rig_must(device_null.open("null", &members[8], &error), &error);
    assert_int_equal(residency_open(members, 9, &options, &group, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "2 to 8"));
    fake_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_strategy_moves_what_it_says),
        cmocka_unit_test(the_best_way_is_taken),
        cmocka_unit_test(with_events_nobody_waits_for_more_than_it_needs),
        cmocka_unit_test(memory_is_missing_at_the_first_use),
        cmocka_unit_test(memory_is_missing_from_the_start),
        cmocka_unit_test(no_buffer_is_larger_than_the_largest_member),
        cmocka_unit_test(no_member_goes_beyond_the_limit),
        cmocka_unit_test(what_was_on_a_lost_device_alone_is_lost),
        cmocka_unit_test(what_has_come_to_the_host_outlives_the_devices),
        cmocka_unit_test(writers_that_nobody_has_ordered_are_found),
        cmocka_unit_test(a_wrong_word_says_what_there_is),
        cmocka_unit_test(a_group_has_two_to_eight_members_of_one_language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
