/* Groups of devices: random schedules against a plain array of bytes, and against what a perfect
 * strategy would move. */
#include <string.h>

#include "tests/base/cmocka.h"
#include "tests/residency/residency_rig.h"

enum { COMMANDS = 400, SCHEDULES = 60 };

/* A buffer as it should be. */
struct model {
    uint64_t handle, bytes;
    uint8_t content[RIG_BYTES_MAX];
    bool defined[RIG_BYTES_MAX];
    /* What a perfect strategy knows: where each byte's latest value is, and who wrote it. */
    uint8_t at[RIG_BYTES_MAX];
    int writer[RIG_BYTES_MAX];
};

struct schedule {
    struct rig rig;
    struct random random; /* of the schedule: not of what runs when */
    unsigned count;
    struct model model[RIG_BUFFERS];
    uint64_t needed_bytes; /* that had to move */
};

static void add(struct schedule *s, unsigned b, uint64_t bytes)
{
    struct model *m = &s->model[b];
    rig_add(&s->rig, b, bytes);
    *m = (struct model){.handle = s->rig.buffers[b].handle, .bytes = bytes};
    for (unsigned i = 0; i < RIG_BYTES_MAX; i++)
        m->writer[i] = -1;
}

static unsigned below(struct schedule *s, unsigned bound)
{
    return (unsigned)random_below(&s->random, bound);
}

static struct range draw_range(struct schedule *s)
{
    struct range range = {.buffer = below(s, RIG_BUFFERS)};
    uint64_t bytes = s->model[range.buffer].bytes;
    if (below(s, 4) == 0) { /* all of it */
        range.bytes = bytes;
    } else {
        range.begin = below(s, (unsigned)bytes);
        range.bytes = 1 + below(s, (unsigned)(bytes - range.begin));
    }
    return range;
}

static bool is_defined(const struct schedule *s, struct range range)
{
    for (uint64_t i = 0; i < range.bytes; i++)
        if (!s->model[range.buffer].defined[range.begin + i])
            return false;
    return true;
}

static bool overlap(struct range a, struct range b)
{
    return a.buffer == b.buffer && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

/* The model's part: a member reads, or writes, a range. */
static void model_reads(struct schedule *s, unsigned member, struct range range)
{
    struct model *b = &s->model[range.buffer];
    for (uint64_t i = range.begin; i < range.begin + range.bytes; i++)
        if (b->defined[i] && !(b->at[i] >> member & 1)) {
            b->at[i] |= (uint8_t)(1 << member);
            s->needed_bytes++;
        }
}

static void model_writes(struct schedule *s, unsigned member, struct range range)
{
    struct model *b = &s->model[range.buffer];
    for (uint64_t i = range.begin; i < range.begin + range.bytes; i++) {
        b->at[i] = (uint8_t)(1 << member);
        b->writer[i] = (int)member;
        b->defined[i] = true;
    }
}

/* ---- commands ------------------------------------------------------------------------------- */

static void model_mix(struct schedule *s, unsigned member, struct range to, bool keeps,
                      struct range from, int64_t salt)
{
    uint8_t *t = s->model[to.buffer].content, *f = s->model[from.buffer].content;
    const union launch_value arguments[] = {{.memory = (uintptr_t)(t + to.begin)},
                                            {.i64 = (int64_t)to.bytes},
                                            {.memory = (uintptr_t)(f + from.begin)},
                                            {.i64 = (int64_t)from.bytes},
                                            {.i64 = salt},
                                            {.i64 = keeps}};
    if (keeps)
        model_reads(s, member, to);
    model_reads(s, member, from);
    model_writes(s, member, to);
    rig_mix(arguments, 0, 1);
}

static void do_launch(struct schedule *s)
{
    struct error error = {0};
    struct range to = draw_range(s), from = draw_range(s);
    bool keeps = below(s, 3) == 0;
    unsigned member = below(s, s->count);
    int64_t salt = below(s, 256);
    if (!is_defined(s, from) || (keeps && !is_defined(s, to)))
        return;
    rig_must(rig_launch(&s->rig, member, to, keeps, from, salt, &error), &error);
    model_mix(s, member, to, keeps, from, salt);
}

/* A copy runs where its source was written, a fill where what it overwrites was. */
static unsigned member_of(const struct schedule *s, struct range range)
{
    int writer = s->model[range.buffer].writer[range.begin];
    return writer < 0 ? 0 : (unsigned)writer;
}

static void do_copy(struct schedule *s)
{
    struct error error = {0};
    struct range from = draw_range(s), to = draw_range(s);
    struct model *f = &s->model[from.buffer], *t = &s->model[to.buffer];
    from.bytes = to.bytes = from.bytes < to.bytes ? from.bytes : to.bytes;
    if (overlap(from, to) || !is_defined(s, from))
        return;
    rig_must(s->rig.group->ops->copy(s->rig.group, t->handle, to.begin, f->handle, from.begin,
                                     from.bytes, &error),
             &error);
    unsigned member = member_of(s, from);
    model_reads(s, member, from);
    model_writes(s, member, to);
    memcpy(t->content + to.begin, f->content + from.begin, from.bytes);
}

static void do_fill(struct schedule *s)
{
    struct error error = {0};
    struct range to = draw_range(s);
    struct model *t = &s->model[to.buffer];
    uint8_t byte = (uint8_t)below(s, 256);
    rig_must(s->rig.group->ops->fill(s->rig.group, t->handle, to.begin, byte, to.bytes, &error),
             &error);
    model_writes(s, member_of(s, to), to);
    memset(t->content + to.begin, byte, to.bytes);
}

static void do_write(struct schedule *s)
{
    struct error error = {0};
    struct range to = draw_range(s);
    struct model *t = &s->model[to.buffer];
    uint8_t bytes[RIG_BYTES_MAX];
    for (uint64_t i = 0; i < to.bytes; i++)
        bytes[i] = (uint8_t)below(s, 256);
    rig_must(s->rig.group->ops->write(s->rig.group, t->handle, to.begin, bytes, to.bytes, &error),
             &error);
    model_writes(s, 0, to);
    memcpy(t->content + to.begin, bytes, to.bytes);
}

static void check_content(struct schedule *s, struct range range)
{
    struct error error = {0};
    struct model *b = &s->model[range.buffer];
    uint8_t got[RIG_BYTES_MAX];
    rig_must(
        s->rig.group->ops->read(s->rig.group, got, b->handle, range.begin, range.bytes, &error),
        &error);
    for (uint64_t i = 0; i < range.bytes; i++)
        if (b->defined[range.begin + i] && got[i] != b->content[range.begin + i])
            fail_msg("buffer %u, byte %llu is %u, expected %u", range.buffer,
                     (unsigned long long)(range.begin + i), got[i], b->content[range.begin + i]);
}

static void do_discard(struct schedule *s)
{
    struct error error = {0};
    struct range range = draw_range(s);
    struct model *b = &s->model[range.buffer];
    rig_must(s->rig.group->ops->discard(s->rig.group, b->handle, range.begin, range.bytes, &error),
             &error);
    for (uint64_t i = range.begin; i < range.begin + range.bytes; i++) {
        b->defined[i] = false;
        b->at[i] = 0;
        b->writer[i] = -1;
    }
}

static void do_command(struct schedule *s)
{
    struct error error = {0};
    unsigned what = below(s, 100);
    if (what < 50)
        do_launch(s);
    else if (what < 62)
        do_copy(s);
    else if (what < 68)
        do_fill(s);
    else if (what < 78)
        do_write(s);
    else if (what < 86)
        check_content(s, draw_range(s));
    else if (what < 91)
        do_discard(s);
    else if (what < 93)
        rig_must(s->rig.group->ops->sync(s->rig.group, &error), &error);
    else if (what < 95) {
        unsigned b = below(s, RIG_BUFFERS);
        rig_remove(&s->rig, b);
        add(s, b, 1 + below(s, RIG_BYTES_MAX));
    }
    fake_world_run(&s->rig.world, (unsigned)random_below(&s->rig.world.random, 6));
}

/* Runs a schedule; returns what was counted. */
static struct residency_counts run_schedule(uint64_t seed, unsigned count, bool has_queues,
                                            bool together, const char *residency,
                                            uint64_t *needed_bytes)
{
    struct schedule s = {.random = {seed}, .count = count};
    rig_open(&s.rig, seed, count, has_queues, residency,
             (struct residency_options){.together = together, .check_order = seed % 2});
    for (unsigned b = 0; b < RIG_BUFFERS; b++)
        add(&s, b, 1 + below(&s, RIG_BYTES_MAX));
    for (unsigned i = 0; i < COMMANDS; i++) {
        do_command(&s);
        assert_int_equal(residency_check(s.rig.group), 0);
    }
    for (unsigned b = 0; b < RIG_BUFFERS; b++) {
        check_content(&s, (struct range){b, 0, s.model[b].bytes});
        rig_remove(&s.rig, b);
    }
    struct residency_counts counts = *residency_counts(s.rig.group);
    *needed_bytes = s.needed_bytes;
    rig_close(&s.rig);
    assert_int_equal(counts.held_bytes, 0);
    assert_int_equal(counts.alloc_count, counts.free_count);
    return counts;
}

/* ---- by every strategy ---------------------------------------------------------------------- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_schedules_give_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
