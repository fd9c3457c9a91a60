/* Groups of devices: random schedules against a plain array of bytes, what moves against what must,
 * and what happens when memory, a device or an order is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_devices.h"
#include "residency/residency.h"

enum { PEERS_WHOLE = 2 }; /* seeds that are this, modulo 7, have devices that move whole memories */
enum { BUFFERS = 4, BYTES_MAX = 96, COMMANDS = 400, SCHEDULES = 60 };

/* ---- a kernel ------------------------------------------------------------------------------- */

/* Arguments: to, its bytes, from, its bytes, salt, whether what was there counts. */
static void mix(const union launch_value *a, int64_t begin, int64_t end)
{
    uint8_t *to = (uint8_t *)(uintptr_t)a[0].memory;
    const uint8_t *from = (const uint8_t *)(uintptr_t)a[2].memory;
    (void)begin, (void)end;
    for (int64_t i = 0; i < a[1].i64; i++) {
        uint8_t before = a[5].i64 ? to[i] : 0;
        to[i] = (uint8_t)(before * 3 + from[i % a[3].i64] + a[4].i64 + i);
    }
}

static const struct host_kernel kernels[] = {{"mix", mix}};
static const char *const kernel_names[] = {"mix"};
static const struct kernel_source source = {
    .name = "test", .kernel_count = 1, .kernel_names = kernel_names, .host_kernels = kernels};

/* ---- a group and what it should do ---------------------------------------------------------- */

struct model_buffer {
    uint64_t handle, bytes;
    uint8_t content[BYTES_MAX];
    bool defined[BYTES_MAX];
    /* What a perfect strategy knows: where each byte's latest value is, and who wrote it. */
    uint8_t at[BYTES_MAX];
    int writer[BYTES_MAX];
};

struct range {
    unsigned buffer;
    uint64_t begin, bytes;
};

struct rig {
    struct fake_world world;
    struct random random; /* of the schedule: not of what runs when */
    struct device *group, *members[FAKE_DEVICES_MAX];
    unsigned count;
    struct device_program *program;
    struct model_buffer buffers[BUFFERS];
    uint64_t needed_bytes; /* that had to move */
};

static void must(int code, const struct error *error)
{
    if (code)
        fail_msg("%d: %s", code, error->text);
}

static void rig_open(struct rig *r, uint64_t seed, unsigned count, bool has_queues,
                     const char *residency, struct residency_options options)
{
    struct error error = {0};
    memset(r, 0, sizeof *r);
    fake_world_open(&r->world, seed * 7 + 1, has_queues);
    r->world.peers_whole = seed % 7 == PEERS_WHOLE;
    r->random.state = seed;
    r->count = count;
    for (unsigned m = 0; m < count; m++)
        r->members[m] = fake_world_add(&r->world);
    must(residency_parse(residency, &options.residency, &error), &error);
    must(residency_open(r->members, count, &options, &r->group, &error), &error);
    must(r->group->ops->build(r->group, &source, &r->program, &error), &error);
}

static void rig_close(struct rig *r)
{
    if (r->program)
        r->group->ops->unbuild(r->group, r->program);
    r->group->ops->close(r->group);
    assert_int_equal(r->world.stuck_count, 0);
    assert_int_equal(r->world.misuse_count, 0);
    fake_world_close(&r->world);
}

static void add_buffer(struct rig *r, unsigned b, uint64_t bytes)
{
    struct error error = {0};
    struct model_buffer *m = &r->buffers[b];
    memset(m, 0, sizeof *m);
    m->bytes = bytes;
    for (unsigned i = 0; i < BYTES_MAX; i++)
        m->writer[i] = -1;
    must(r->group->ops->alloc(r->group, bytes, &m->handle, &error), &error);
}

static void remove_buffer(struct rig *r, unsigned b)
{
    struct error error = {0};
    must(r->group->ops->free(r->group, r->buffers[b].handle, r->buffers[b].bytes, &error), &error);
    r->buffers[b].handle = 0;
}

static unsigned below(struct rig *r, unsigned bound)
{
    return (unsigned)random_below(&r->random, bound);
}

static struct range draw_range(struct rig *r)
{
    struct range range = {.buffer = below(r, BUFFERS)};
    uint64_t bytes = r->buffers[range.buffer].bytes;
    if (below(r, 4) == 0) { /* all of it */
        range.bytes = bytes;
    } else {
        range.begin = below(r, (unsigned)bytes);
        range.bytes = 1 + below(r, (unsigned)(bytes - range.begin));
    }
    return range;
}

static bool is_defined(const struct rig *r, struct range range)
{
    for (uint64_t i = 0; i < range.bytes; i++)
        if (!r->buffers[range.buffer].defined[range.begin + i])
            return false;
    return true;
}

static bool overlap(struct range a, struct range b)
{
    return a.buffer == b.buffer && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

/* The model's part: a member reads, or writes, a range. */
static void model_reads(struct rig *r, unsigned member, struct range range)
{
    struct model_buffer *b = &r->buffers[range.buffer];
    for (uint64_t i = range.begin; i < range.begin + range.bytes; i++)
        if (b->defined[i] && !(b->at[i] >> member & 1)) {
            b->at[i] |= (uint8_t)(1 << member);
            r->needed_bytes++;
        }
}

static void model_writes(struct rig *r, unsigned member, struct range range)
{
    struct model_buffer *b = &r->buffers[range.buffer];
    for (uint64_t i = range.begin; i < range.begin + range.bytes; i++) {
        b->at[i] = (uint8_t)(1 << member);
        b->writer[i] = (int)member;
        b->defined[i] = true;
    }
}

/* ---- commands ------------------------------------------------------------------------------- */

static int launch_mix(struct rig *r, unsigned member, struct range to, bool keeps,
                      struct range from, int64_t salt, struct error *error)
{
    const struct model_buffer *t = &r->buffers[to.buffer], *f = &r->buffers[from.buffer];
    const enum launch_arg_kind kinds[] = {ARG_MEMORY, ARG_I64, ARG_MEMORY,
                                          ARG_I64,    ARG_I64, ARG_I64};
    const union launch_value arguments[] = {{.memory = t->handle + to.begin},
                                            {.i64 = (int64_t)to.bytes},
                                            {.memory = f->handle + from.begin},
                                            {.i64 = (int64_t)from.bytes},
                                            {.i64 = salt},
                                            {.i64 = keeps}};
    const struct launch_array arrays[] = {
        {0, t->handle, to.begin, to.bytes, keeps ? USE_CHANGES : USE_REPLACES},
        {2, f->handle, from.begin, from.bytes, USE_READS}};
    const struct launch launch = {
        .extent = {1, 1, 1}, .rank = 1, .member = (int)member, .array_count = 2, .arrays = arrays};
    return r->group->ops->launch(r->group, r->program, 0, &launch, 6, kinds, arguments, error);
}

static void model_mix(struct rig *r, unsigned member, struct range to, bool keeps,
                      struct range from, int64_t salt)
{
    uint8_t *t = r->buffers[to.buffer].content, *f = r->buffers[from.buffer].content;
    const union launch_value arguments[] = {{.memory = (uintptr_t)(t + to.begin)},
                                            {.i64 = (int64_t)to.bytes},
                                            {.memory = (uintptr_t)(f + from.begin)},
                                            {.i64 = (int64_t)from.bytes},
                                            {.i64 = salt},
                                            {.i64 = keeps}};
    if (keeps)
        model_reads(r, member, to);
    model_reads(r, member, from);
    model_writes(r, member, to);
    mix(arguments, 0, 1);
}

static void do_launch(struct rig *r)
{
    struct error error = {0};
    struct range to = draw_range(r), from = draw_range(r);
    bool keeps = below(r, 3) == 0;
    unsigned member = below(r, r->count);
    int64_t salt = below(r, 256);
    if (!is_defined(r, from) || (keeps && !is_defined(r, to)))
        return;
    must(launch_mix(r, member, to, keeps, from, salt, &error), &error);
    model_mix(r, member, to, keeps, from, salt);
}

/* A copy runs where its source was written, a fill where what it overwrites was. */
static unsigned member_of(const struct rig *r, struct range range)
{
    int writer = r->buffers[range.buffer].writer[range.begin];
    return writer < 0 ? 0 : (unsigned)writer;
}

static void do_copy(struct rig *r)
{
    struct error error = {0};
    struct range from = draw_range(r), to = draw_range(r);
    struct model_buffer *f = &r->buffers[from.buffer], *t = &r->buffers[to.buffer];
    from.bytes = to.bytes = from.bytes < to.bytes ? from.bytes : to.bytes;
    if (overlap(from, to) || !is_defined(r, from))
        return;
    must(r->group->ops->copy(r->group, t->handle, to.begin, f->handle, from.begin, from.bytes,
                             &error),
         &error);
    unsigned member = member_of(r, from);
    model_reads(r, member, from);
    model_writes(r, member, to);
    memcpy(t->content + to.begin, f->content + from.begin, from.bytes);
}

static void do_fill(struct rig *r)
{
    struct error error = {0};
    struct range to = draw_range(r);
    struct model_buffer *t = &r->buffers[to.buffer];
    uint8_t byte = (uint8_t)below(r, 256);
    must(r->group->ops->fill(r->group, t->handle, to.begin, byte, to.bytes, &error), &error);
    model_writes(r, member_of(r, to), to);
    memset(t->content + to.begin, byte, to.bytes);
}

static void do_write(struct rig *r)
{
    struct error error = {0};
    struct range to = draw_range(r);
    struct model_buffer *t = &r->buffers[to.buffer];
    uint8_t bytes[BYTES_MAX];
    for (uint64_t i = 0; i < to.bytes; i++)
        bytes[i] = (uint8_t)below(r, 256);
    must(r->group->ops->write(r->group, t->handle, to.begin, bytes, to.bytes, &error), &error);
    model_writes(r, 0, to);
    memcpy(t->content + to.begin, bytes, to.bytes);
}

static void check_content(struct rig *r, struct range range)
{
    struct error error = {0};
    struct model_buffer *b = &r->buffers[range.buffer];
    uint8_t got[BYTES_MAX];
    must(r->group->ops->read(r->group, got, b->handle, range.begin, range.bytes, &error), &error);
    for (uint64_t i = 0; i < range.bytes; i++)
        if (b->defined[range.begin + i] && got[i] != b->content[range.begin + i])
            fail_msg("buffer %u, byte %llu is %u, expected %u", range.buffer,
                     (unsigned long long)(range.begin + i), got[i], b->content[range.begin + i]);
}

static void do_discard(struct rig *r)
{
    struct error error = {0};
    struct range range = draw_range(r);
    struct model_buffer *b = &r->buffers[range.buffer];
    must(r->group->ops->discard(r->group, b->handle, range.begin, range.bytes, &error), &error);
    for (uint64_t i = range.begin; i < range.begin + range.bytes; i++) {
        b->defined[i] = false;
        b->at[i] = 0;
        b->writer[i] = -1;
    }
}

static void do_command(struct rig *r)
{
    struct error error = {0};
    unsigned what = below(r, 100);
    if (what < 50)
        do_launch(r);
    else if (what < 62)
        do_copy(r);
    else if (what < 68)
        do_fill(r);
    else if (what < 78)
        do_write(r);
    else if (what < 86)
        check_content(r, draw_range(r));
    else if (what < 91)
        do_discard(r);
    else if (what < 93)
        must(r->group->ops->sync(r->group, &error), &error);
    else if (what < 95) {
        unsigned b = below(r, BUFFERS);
        remove_buffer(r, b);
        add_buffer(r, b, 1 + below(r, BYTES_MAX));
    }
    fake_world_run(&r->world, (unsigned)random_below(&r->world.random, 6));
}

/* Runs a schedule; returns what was counted. */
static struct residency_counts run_schedule(uint64_t seed, unsigned count, bool has_queues,
                                            bool together, const char *residency,
                                            uint64_t *needed_bytes)
{
    struct rig r;
    rig_open(&r, seed, count, has_queues, residency,
             (struct residency_options){.together = together, .check_order = seed % 2});
    for (unsigned b = 0; b < BUFFERS; b++)
        add_buffer(&r, b, 1 + below(&r, BYTES_MAX));
    for (unsigned i = 0; i < COMMANDS; i++) {
        do_command(&r);
        assert_int_equal(residency_check(r.group), 0);
    }
    for (unsigned b = 0; b < BUFFERS; b++) {
        check_content(&r, (struct range){b, 0, r.buffers[b].bytes});
        remove_buffer(&r, b);
    }
    struct residency_counts counts = *residency_counts(r.group);
    *needed_bytes = r.needed_bytes;
    rig_close(&r);
    assert_int_equal(counts.held_bytes, 0);
    assert_int_equal(counts.alloc_count, counts.free_count);
    return counts;
}

static const char *const specs[] = {
    "always",
    "eager",
    "lazy",
    "versioned",
    "versioned:grain=memory",
    "versioned:contents=all",
    "versioned:route=host",
    "versioned:route=direct",
    "versioned:order=wait",
    "versioned:grain=memory:contents=all:route=host",
    "versioned:route=host:order=wait",
};

/* Whatever the strategy, the answers are those of one memory; only the exact versions move exactly
 * what has to, and nobody moves less. */
static void random_schedules_give_the_same(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= SCHEDULES; seed++) {
        uint64_t needed_bytes, always_bytes = 0;
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
            bool has_queues = seed % 3, together = seed % 5;
            struct residency_counts counts =
                run_schedule(seed, 2 + seed % 3, has_queues, together, specs[s], &needed_bytes);
            bool exact = strncmp(specs[s], "versioned", 9) == 0 && !strstr(specs[s], "grain") &&
                         !strstr(specs[s], "contents");
            if (s == 0)
                always_bytes = counts.migration_bytes;
            if (exact)
                assert_int_equal(counts.migration_bytes, needed_bytes);
            assert_true(counts.migration_bytes >= needed_bytes);
            assert_true(counts.migration_bytes <= always_bytes);
        }
    }
}

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
    const struct model_buffer *b = &r->buffers[0];
    switch (e->what) {
    case WRITE_HOST:
        must(r->group->ops->write(r->group, b->handle, e->begin, bytes, e->bytes, &error), &error);
        break;
    case READ_ON:
        must(launch_mix(r, e->member, (struct range){1 + e->member, 0, 64}, false, x, 0, &error),
             &error);
        break;
    case CHANGE_ON:
    case REPLACE_ON:
        must(launch_mix(r, e->member, x, e->what == CHANGE_ON, y, 0, &error), &error);
        break;
    case DISCARD:
        must(r->group->ops->discard(r->group, b->handle, e->begin, e->bytes, &error), &error);
        break;
    case READ_HOST:
        must(r->group->ops->read(r->group, out, b->handle, e->begin, e->bytes, &error), &error);
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
            add_buffer(&r, b, 64);
        for (unsigned m = 0; m < 2; m++) /* each member has a buffer of its own to work with */
            must(launch_mix(&r, m, (struct range){1 + m, 0, 64}, false,
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

static void put(struct rig *r, unsigned buffer, uint8_t byte)
{
    struct error error = {0};
    uint8_t bytes[BYTES_MAX];
    memset(bytes, byte, sizeof bytes);
    must(r->group->ops->write(r->group, r->buffers[buffer].handle, 0, bytes,
                              r->buffers[buffer].bytes, &error),
         &error);
}

/* x, on member 0, is read by both others. */
static void read_by_others(struct rig *r, const char *residency, bool together, bool peers_whole)
{
    rig_open(r, peers_whole ? PEERS_WHOLE : 1, 3, true, residency,
             (struct residency_options){.together = together});
    for (unsigned b = 0; b < 3; b++)
        add_buffer(r, b, 64);
    put(r, 0, 7);
    for (unsigned m = 1; m < 3; m++)
        must(launch_mix(r, m, (struct range){m, 0, 64}, false, (struct range){0, 0, 64}, 0, NULL),
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
        add_buffer(r, b, 64);
        put(r, b, (uint8_t)b);
    }
    must(r->group->ops->sync(r->group, &error), &error);
    r->world.wait_count = 0;
    for (unsigned step = 0; step < 20; step++) {
        unsigned old = step % 2 * 2, new = 2 - old;
        for (unsigned half = 0; half < 2; half++) {
            const struct range mine = {old + half, 0, 64}, theirs = {old + 1 - half, 0, 8};
            must(launch_mix(r, half, (struct range){new + half, 0, 64}, false, mine, 1, &error),
                 &error);
            must(launch_mix(r, half, (struct range){new + half, 0, 64}, true, theirs, 1, &error),
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
    add_buffer(&r, 0, 64);
    add_buffer(&r, 1, 64);
    put(&r, 0, 1);
    assert_int_equal(launch_mix(&r, 1, y, false, x, 0, &error), ERR_OOM);
    assert_non_null(strstr(error.text, "device 1 of fake:0+fake:1 (fake:1): fakeAlloc"));
    assert_int_equal(residency_check(r.group), 0);
    assert_int_equal(launch_mix(&r, 0, y, false, x, 0, &error), 0); /* the other one has room */
    fake_behaviour_of(r.members[1])->capacity_bytes = 0;
    assert_int_equal(launch_mix(&r, 1, y, false, x, 0, &error), 0); /* and it can be tried again */
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
    add_buffer(&r, 0, 64);
    assert_int_equal(r.group->ops->alloc(r.group, 64, &memory, &error), ERR_OOM);
    assert_int_equal(residency_counts(r.group)->held_bytes, 128); /* nothing is left of it */
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
    add_buffer(&r, 0, 64);
    add_buffer(&r, 1, 64);
    put(&r, 0, 1);
    assert_int_equal(launch_mix(&r, 0, y, false, x, 0, &error), ERR_OOM);
    assert_non_null(strstr(error.text, "64 B of the limit of 100 B are held there"));
    assert_int_equal(residency_counts(r.group)->refused_count, 1);
    /* Each has room for one of the two, and together they have room for both. */
    assert_int_equal(launch_mix(&r, 1, y, false, y, 0, &error), 0);
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
            add_buffer(&r, b, 64);
        put(&r, 0, 5);
        assert_int_equal(launch_mix(&r, 1, y, false, x, 0, &error), 0); /* x is on 0 and 1 */
        fake_behaviour_of(r.members[1])->lost = true;
        assert_int_equal(launch_mix(&r, 2, z, false, y, 0, &error), ERR_DEVICE_LOST);
        assert_non_null(strstr(error.text, "fake:1"));
        assert_int_equal(residency_check(r.group), 0);
        assert_int_equal(r.group->ops->read(r.group, out, r.buffers[1].handle, 0, 64, &error),
                         ERR_DEVICE_LOST);
        assert_int_equal(r.group->ops->read(r.group, out, r.buffers[0].handle, 0, 64, &error), 0);
        assert_int_equal(out[63], 5);
        /* What is on the others goes on. */
        must(launch_mix(&r, 2, z, false, x, 0, &error), &error);
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
        add_buffer(&r, b, 64);
    put(&r, 1, 9);
    assert_int_equal(launch_mix(&r, 1, x, false, y, 0, &error), 0);
    assert_int_equal(launch_mix(&r, 2, z, false, x, 0, &error), 0);
    fake_behaviour_of(r.members[1])->lost = fake_behaviour_of(r.members[2])->lost = true;
    assert_int_equal(launch_mix(&r, 2, z, false, x, 0, &error), ERR_DEVICE_LOST);
    assert_int_equal(r.group->ops->read(r.group, out, r.buffers[0].handle, 0, 64, &error), 0);
    assert_int_equal(out[1], 9 + 1);
    assert_int_equal(launch_mix(&r, 0, y, false, x, 0, &error), 0);
    rig_close(&r);
}

/* ---- order ---------------------------------------------------------------------------------- */

static int use_queue(struct rig *r, unsigned queue)
{
    return r->group->ops->use_queue(r->group, queue, NULL);
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
                add_buffer(&r, b, 64);
            for (unsigned b = 0; b < 3; b++)
                put(&r, b, 1);
            must(r.group->ops->sync(r.group, &error), &error);
            const struct range own = {1, 0, 64}, other = {2, 0, 64};
            int code = cases[i].first_writes
                           ? launch_mix(&r, 0, cases[i].first, false, own, 0, &error)
                           : launch_mix(&r, 0, own, false, cases[i].first, 0, &error);
            assert_int_equal(code, 0);
            if (cases[i].waits)
                must(r.group->ops->sync_queue(r.group, 0, &error), &error);
            must(use_queue(&r, 1), &error);
            code = cases[i].second_writes
                       ? launch_mix(&r, member, cases[i].second, false, other, 0, &error)
                       : launch_mix(&r, member, other, false, cases[i].second, 0, &error);
            if (code != (cases[i].refused ? ERR_PROGRAM : 0))
                fail_msg("case %zu on member %u: %d %s", i, member, code, error.text);
            if (code)
                assert_non_null(strstr(error.text, "nobody has ordered two commands: queue 1"));
            must(r.group->ops->sync(r.group, &error), &error);
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
        {"versioned:grain=page", "option grain is 'page', expected one of range|memory"},
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
    must(device_null.open("null", &members[0], &error), &error);
    must(device_null.open("null", &members[8], &error), &error);
    assert_int_equal(residency_open(members, 9, &options, &group, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "2 to 8"));
    fake_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_schedules_give_the_same),
        cmocka_unit_test(each_strategy_moves_what_it_says),
        cmocka_unit_test(the_best_way_is_taken),
        cmocka_unit_test(with_events_nobody_waits_for_more_than_it_needs),
        cmocka_unit_test(memory_is_missing_at_the_first_use),
        cmocka_unit_test(memory_is_missing_from_the_start),
        cmocka_unit_test(no_member_goes_beyond_the_limit),
        cmocka_unit_test(what_was_on_a_lost_device_alone_is_lost),
        cmocka_unit_test(what_has_come_to_the_host_outlives_the_devices),
        cmocka_unit_test(writers_that_nobody_has_ordered_are_found),
        cmocka_unit_test(a_wrong_word_says_what_there_is),
        cmocka_unit_test(a_group_has_two_to_eight_members_of_one_language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
