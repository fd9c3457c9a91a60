/* The device heap's kernels as C of the host, judged after every command. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"

#include "tests/device/device_subjects.h"
#include "tests/experiment/heap/heap_oracle.h"
#include "tests/experiment/heap/heap_stream.h"

static void must(struct heap_oracle *o, bool good)
{
    if (!good)
        fail_msg("policy %d, padding %d: %s", o->heap.policy, o->heap.padding, o->message);
}

static void each_kind(void (*check)(enum device_heap_policy, enum device_heap_padding))
{
    for (unsigned policy = 0; policy < DEVICE_HEAP_POLICIES; policy++)
        for (unsigned padding = DEVICE_HEAP_SEED; padding <= DEVICE_HEAP_TIGHT; padding++)
            check(policy, padding);
}

/* ---- single rules ---- */

/* I10, and where the first block lies. */
static void check_one(enum device_heap_policy policy, enum device_heap_padding padding)
{
    struct heap_oracle o;
    oracle_open(&o, policy, padding, 1000, 8, 4);
    must(&o, oracle_walk(&o));
    assert_int_equal(oracle_largest_free(&o), 1000 - 9);
    must(&o, oracle_alloc(&o, 2, 10, 6) && oracle_walk(&o));
    const uint32_t *slot = o.heap.slots + 2 * SLOT_WORDS;
    assert_int_equal(slot[SLOT_BLOCK], 5);
    assert_int_equal(slot[SLOT_INDEX], 1); /* word 6 */
    assert_int_equal(o.heap.arena[4], padding == DEVICE_HEAP_SEED ? 66 : 61);
    must(&o, oracle_free(&o, 2) && oracle_walk(&o));
    assert_int_equal(oracle_largest_free(&o), 1000 - 9);
    oracle_close(&o);
}

static void one_block(void **state)
{
    (void)state;
    each_kind(check_one);
}

/* All of the arena; with the last word of padding missing it does not fit. */
static void check_exact(enum device_heap_policy policy, enum device_heap_padding padding)
{
    struct heap_oracle o;
    oracle_open(&o, policy, padding, 1000, 8, 4);
    uint32_t most = padding == DEVICE_HEAP_SEED ? 990 : 991;
    must(&o, oracle_alloc(&o, 0, most + 1, 1));
    assert_int_equal(o.status, DEVICE_HEAP_OUT_OF_MEMORY);
    must(&o, oracle_alloc(&o, 1, most, 1) && oracle_walk(&o));
    assert_int_equal(o.heap.index[HEAP_FREE_BLOCKS], 0);
    must(&o, oracle_alloc(&o, 2, 1, 1)); /* from an empty index */
    must(&o, oracle_free(&o, 0) && oracle_free(&o, 1) && oracle_free(&o, 2) && oracle_walk(&o));
    assert_int_equal(oracle_largest_free(&o), 991);
    assert_int_equal(o.failed, 2);
    oracle_close(&o);
}

static void exact_fit(void **state)
{
    (void)state;
    each_kind(check_exact);
}

/* Four free blocks of 8, 16, 30 and 60 words and the rest of the arena: which one is cut for 12? */
static void placement(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {8, 16, 30, 60};
    static const uint32_t expected[DEVICE_HEAP_POLICIES] = {
        [DEVICE_HEAP_LARGER] = 30, /* the larger child of the root; its own are too small */
        [DEVICE_HEAP_SMALLER] = 16,
        [DEVICE_HEAP_BEST] = 16,
        [DEVICE_HEAP_TLSF] = 16,
    };
    for (unsigned policy = 0; policy < DEVICE_HEAP_POLICIES; policy++) {
        struct heap_oracle o;
        oracle_open(&o, policy, DEVICE_HEAP_TIGHT, 9 + 8 + 16 + 30 + 60 + 7 * 3 + 3 + 200, 16, 16);
        uint32_t starts[4];
        for (unsigned i = 0; i < 4; i++) {
            must(&o, oracle_alloc(&o, 2 * i, sizes[i], 1));
            starts[i] = o.slots[2 * i].block;
            must(&o, oracle_alloc(&o, 2 * i + 1, 1, 1)); /* keeps them apart */
        }
        must(&o, oracle_alloc(&o, 8, oracle_largest_free(&o), 1));
        for (unsigned i = 0; i < 4; i++)
            must(&o, oracle_free(&o, 2 * i));
        must(&o, oracle_alloc(&o, 9, 12, 1) && oracle_walk(&o));
        uint32_t block = o.slots[9].block;
        for (unsigned i = 0; i < 4; i++)
            if (sizes[i] == expected[policy])
                assert_int_equal(block, starts[i]);
        oracle_close(&o);
    }
}

/* The first of the list of one size is too small, the next fits, and no larger list has any. */
static void last_resort(void **state)
{
    (void)state;
    struct heap_oracle o;
    oracle_open(&o, DEVICE_HEAP_TLSF, DEVICE_HEAP_TIGHT, 9 + 131 + 3 + 1 + 3 + 128 + 3 + 1, 8, 8);
    must(&o, oracle_alloc(&o, 0, 131, 1) && oracle_alloc(&o, 1, 1, 1));
    must(&o, oracle_alloc(&o, 2, 128, 1) && oracle_alloc(&o, 3, 1, 1));
    must(&o, oracle_free(&o, 0) && oracle_free(&o, 2) && oracle_walk(&o));
    must(&o, oracle_alloc(&o, 4, 130, 1) && oracle_walk(&o));
    assert_int_equal(o.failed, 0);
    oracle_close(&o);
}

/* As many words as 32 bits address, of which hardly a page is touched. */
static void check_largest(enum device_heap_policy policy, enum device_heap_padding padding)
{
    enum { SLOTS = 8, EACH = 1 << 30 };
    const uint32_t words = UINT32_MAX - 1024;
    void *arena = mmap(NULL, words * 4ull, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) {
        print_message("16 GiB of addresses: %s\n", strerror(errno));
        return;
    }
    const struct host_heap h = {.index = must_alloc(heap_index_words(policy, SLOTS + 1) * 4),
                                .arena = arena,
                                .slots = must_alloc(SLOTS * SLOT_WORDS * 4),
                                .words = words,
                                .capacity = SLOTS + 1,
                                .slot_count = SLOTS,
                                .policy = policy,
                                .padding = padding};
    const uint32_t seed = padding == DEVICE_HEAP_SEED;
    /* The last but one fits exactly; then nothing does. */
    const uint32_t commands[] = {(uint32_t)HEAP_ALLOC | 0,
                                 EACH,
                                 1,
                                 (uint32_t)HEAP_ALLOC | 1,
                                 EACH / 64,
                                 64,
                                 (uint32_t)HEAP_ALLOC | 2,
                                 EACH,
                                 1,
                                 (uint32_t)HEAP_ALLOC | 3,
                                 EACH,
                                 1,
                                 (uint32_t)HEAP_FREE | 1,
                                 0,
                                 0,
                                 (uint32_t)HEAP_FREE | 0,
                                 0,
                                 0,
                                 (uint32_t)HEAP_FREE | 2,
                                 0,
                                 0,
                                 (uint32_t)HEAP_FREE | 3,
                                 0,
                                 0,
                                 (uint32_t)HEAP_ALLOC | 4,
                                 words - 9 - seed,
                                 1,
                                 (uint32_t)HEAP_ALLOC | 5,
                                 1,
                                 1};
    uint32_t report[REPORT_WORDS];
    host_heap_init(&h);
    for (uint32_t i = 0; i < sizeof commands / sizeof *commands / COMMAND_WORDS; i++) {
        host_heap_ops(&h, commands + (size_t)i * COMMAND_WORDS, 1, NULL, 0);
        host_heap_check(&h, report);
        for (unsigned k = 0; k < REPORT_INVARIANTS; k++)
            if (report[k])
                fail_msg("policy %d, padding %d: I%u is broken after command %u", policy, padding,
                         k + 1, i);
    }
    assert_int_equal(h.index[HEAP_STATUS], DEVICE_HEAP_OUT_OF_MEMORY);
    assert_int_equal(h.index[HEAP_FAILED], 2);
    assert_int_equal(h.slots[4 * SLOT_WORDS + SLOT_BLOCK], 5);
    free(h.index);
    free(h.slots);
    munmap(arena, words * 4ull);
}

static void largest_arena(void **state)
{
    (void)state;
    each_kind(check_largest);
}

/* ---- mistakes ---- */

static void check_mistakes(enum device_heap_policy policy, enum device_heap_padding padding)
{
    struct heap_oracle o;
    oracle_open(&o, policy, padding, 500, 8, 6);
    must(&o, oracle_alloc(&o, 0, 0, 4)); /* nothing is asked for: granted */
    assert_int_equal(o.status, DEVICE_HEAP_EMPTY);
    must(&o, oracle_free(&o, 0));
    assert_int_equal(o.failed, 0);
    must(&o, oracle_free(&o, 0)); /* twice */
    assert_int_equal(o.status & DEVICE_HEAP_FAILURES, DEVICE_HEAP_STALE_SLOT);
    must(&o, oracle_alloc(&o, 1, 5, 0) && oracle_alloc(&o, 6, 5, 1) && oracle_free(&o, 6));
    assert_int_equal(o.status & DEVICE_HEAP_FAILURES,
                     DEVICE_HEAP_STALE_SLOT | DEVICE_HEAP_BAD_ARGUMENT);
    must(&o, oracle_alloc(&o, 2, UINT32_MAX, 1) && oracle_alloc(&o, 3, UINT32_MAX / 6, 6));
    must(&o, oracle_alloc(&o, 4, 1u << 31, 2) && oracle_alloc(&o, 5, 2, 1u << 31));
    must(&o, oracle_alloc(&o, 2, 1, 1)); /* into a taken slot */
    must(&o, oracle_walk(&o));
    assert_int_equal(o.live_blocks, 0);
    oracle_close(&o);
}

static void bad_arguments(void **state)
{
    (void)state;
    each_kind(check_mistakes);
}

/* Unknown commands and counts that are not in the array. */
static void bad_commands(void **state)
{
    (void)state;
    struct heap_oracle o;
    oracle_open(&o, DEVICE_HEAP_TLSF, DEVICE_HEAP_TIGHT, 500, 8, 6);
    const uint32_t counts[] = {7, 0};
    const uint32_t commands[] = {(uint32_t)HEAP_ALLOC_COUNTED | 0,
                                 0,
                                 2, /* 7 elements */
                                 (uint32_t)HEAP_ALLOC_COUNTED | 1,
                                 1,
                                 2, /* none */
                                 (uint32_t)HEAP_ALLOC_COUNTED | 2,
                                 2,
                                 2,
                                 (uint32_t)HEAP_ALLOC_COUNTED | 3,
                                 UINT32_MAX,
                                 2,
                                 (uint32_t)(5 << 28) | 4,
                                 1,
                                 1,
                                 0,
                                 1,
                                 1,
                                 UINT32_MAX,
                                 1,
                                 1};
    host_heap_ops(&o.heap, commands, 7, counts, 2);
    assert_int_equal(o.heap.index[HEAP_STATUS], DEVICE_HEAP_BAD_ARGUMENT | DEVICE_HEAP_EMPTY);
    assert_int_equal(o.heap.index[HEAP_FAILED], 5);
    assert_int_equal(o.heap.index[HEAP_LIVE_BLOCKS], 1);
    assert_int_equal(o.heap.slots[SLOT_COUNT], 7);
    assert_int_equal(o.heap.slots[2 * SLOT_WORDS + SLOT_STRIDE], 2); /* taken, and nothing in it */
    assert_int_equal(o.heap.slots[SLOT_WORDS + SLOT_STRIDE], 2);
    must(&o, oracle_guards(&o));
    oracle_close(&o);
}

static void check_small(enum device_heap_policy policy, enum device_heap_padding padding)
{
    for (uint32_t words = 0; words <= 12; words++) {
        struct heap_oracle o;
        oracle_open(&o, policy, padding, words, 4, 4);
        if (words < HEAP_ARENA_LEAST_WORDS)
            o.status = DEVICE_HEAP_BAD_ARGUMENT;
        uint32_t fits = words < 10 ? 0 : words - 9 - (padding == DEVICE_HEAP_SEED);
        must(&o, oracle_guards(&o));
        if (words < 6) { /* not even the ends have room: the map has nothing to say */
            const uint32_t alloc[] = {(uint32_t)HEAP_ALLOC, 1, 1};
            host_heap_ops(&o.heap, alloc, 1, NULL, 0);
            assert_int_equal(o.heap.index[HEAP_STATUS],
                             DEVICE_HEAP_BAD_ARGUMENT | DEVICE_HEAP_OUT_OF_MEMORY);
            must(&o, oracle_guards(&o));
        } else if (words >= 10 && fits) {
            must(&o, oracle_alloc(&o, 0, fits, 1) && oracle_walk(&o));
            assert_int_equal(o.live_blocks, 1);
            must(&o, oracle_alloc(&o, 1, 1, 1) && oracle_free(&o, 0) && oracle_walk(&o));
        }
        oracle_close(&o);
    }
}

static void small_arenas(void **state)
{
    (void)state;
    each_kind(check_small);
}

/* More free blocks than entries: the free that needs one is refused, nothing else. */
static void check_full_index(enum device_heap_policy policy, enum device_heap_padding padding)
{
    struct heap_oracle o;
    oracle_open(&o, policy, padding, 2000, 3, 32);
    for (uint32_t i = 0; i < 20; i++)
        must(&o, oracle_alloc(&o, i, 4, 1));
    must(&o, oracle_free(&o, 0) && oracle_free(&o, 2) && oracle_walk(&o));
    assert_int_equal(o.heap.index[HEAP_FREE_BLOCKS], 3);
    const uint32_t refused[] = {(uint32_t)HEAP_FREE | 4, 0, 0};
    host_heap_ops(&o.heap, refused, 1, NULL, 0);
    o.ops++, o.failed++, o.status |= DEVICE_HEAP_INDEX_FULL;
    must(&o, oracle_walk(&o));
    must(&o, oracle_free(&o, 1) && oracle_walk(&o)); /* joins two: now there is room */
    must(&o, oracle_free(&o, 4) && oracle_walk(&o));
    oracle_close(&o);
}

static void full_index(void **state)
{
    (void)state;
    each_kind(check_full_index);
}

static uint32_t broken(const struct heap_oracle *o, uint32_t report[REPORT_WORDS])
{
    uint32_t sum = 0;
    host_heap_check(&o->heap, report);
    for (unsigned i = 0; i < REPORT_INVARIANTS; i++)
        sum += report[i];
    return sum;
}

/* A kernel wrote one word too many: the free of a block next to it is refused. */
static void clobber(enum device_heap_policy policy, enum device_heap_padding padding,
                    bool free_neighbours)
{
    /* The last one, the next block's size, is of no use to a free while that block is allocated. */
    for (unsigned which = 0; which < (free_neighbours ? 6u : 5u); which++) {
        struct heap_oracle o;
        oracle_open(&o, policy, padding, 600, 16, 16);
        for (uint32_t i = 0; i < 5; i++)
            must(&o, oracle_alloc(&o, i, 20, 1));
        if (free_neighbours)
            must(&o, oracle_free(&o, 1) && oracle_free(&o, 3));
        uint32_t *arena = o.heap.arena, block = o.slots[2].block;
        uint32_t *clobbered[] = {&arena[block - 1],
                                 &arena[block + arena[block - 1]],
                                 &arena[block - 2],
                                 &arena[block - 3],
                                 &arena[block + arena[block - 1] + 1],
                                 &arena[block + arena[block - 1] + 2]};
        /* The last one makes the first block of all the one before. */
        const uint32_t rubbish[] = {
            0, 1, 21, 600, 0x3fffffff, UINT32_MAX, UINT32_MAX - 2, block - 3 - 5};
        uint32_t before = *clobbered[which], free[] = {(uint32_t)HEAP_FREE | 2, 0, 0};
        for (unsigned r = 0; r < sizeof rubbish / sizeof *rubbish; r++) {
            if (rubbish[r] == before)
                continue;
            *clobbered[which] = rubbish[r];
            uint32_t report[REPORT_WORDS];
            if (broken(&o, report) == 0)
                fail_msg("heap_check does not see word %u clobbered by %x", which, rubbish[r]);
            host_heap_ops(&o.heap, free, 1, NULL, 0);
            o.ops++, o.failed++, o.status |= DEVICE_HEAP_CORRUPT;
            *clobbered[which] = before;
            must(&o, oracle_walk(&o));
        }
        must(&o, oracle_guards(&o));
        oracle_close(&o);
    }
}

static void check_clobbered(enum device_heap_policy policy, enum device_heap_padding padding)
{
    clobber(policy, padding, true);
    clobber(policy, padding, false);
}

static void clobbered_tags(void **state)
{
    (void)state;
    each_kind(check_clobbered);
}

/* A kernel wrote over the address buffer: heap_check sees it. */
static void check_slots(enum device_heap_policy policy, enum device_heap_padding padding)
{
    static const uint32_t rubbish[] = {0, 1, 3, 13, 500, UINT32_MAX, 1u << 31};
    for (unsigned word = 0; word < SLOT_WORDS; word++)
        for (unsigned r = 0; r < sizeof rubbish / sizeof *rubbish; r++) {
            struct heap_oracle o;
            uint32_t report[REPORT_WORDS];
            oracle_open(&o, policy, padding, 500, 16, 8);
            must(&o, oracle_alloc(&o, 0, 7, 1) && oracle_alloc(&o, 1, 12, 2));
            must(&o, oracle_free(&o, 0));
            uint32_t *slot = o.heap.slots + SLOT_WORDS, before = slot[word];
            slot[word] = rubbish[r];
            if (before != rubbish[r] &&
                !(word == SLOT_COUNT && rubbish[r] < before && rubbish[r]) &&
                !(word == SLOT_STRIDE && rubbish[r] == 1)) {
                if (broken(&o, report) == 0)
                    fail_msg("heap_check does not see slot word %u being %x", word, rubbish[r]);
                slot[word] = before;
                must(&o, oracle_walk(&o));
            }
            oracle_close(&o);
        }
}

static void clobbered_slots(void **state)
{
    (void)state;
    each_kind(check_slots);
}

/* Two free blocks side by side, all else in order. */
static void adjacent_blocks(void **state)
{
    (void)state;
    struct heap_oracle o;
    uint32_t report[REPORT_WORDS];
    oracle_open(&o, DEVICE_HEAP_SMALLER, DEVICE_HEAP_TIGHT, 500, 16, 8);
    must(&o, oracle_alloc(&o, 0, 20, 1));
    uint32_t *index = o.heap.index;
    index[HEAP_FREE_BLOCKS] = 2;
    index[HEAP_LIVE_BLOCKS] = index[HEAP_LIVE_WORDS] = 0;
    index[HEAP_HEADER_WORDS + 4] = 5;
    index[HEAP_HEADER_WORDS + 5] = 20;
    o.heap.arena[3] = 2;
    memset(o.heap.slots, 0, SLOT_WORDS * 4);
    assert_int_equal(broken(&o, report), 2);
    assert_int_equal(report[REPORT_ADJACENT], 1);
    assert_int_equal(report[REPORT_FREE], 1);
    oracle_close(&o);
}

/* Whatever is in arena, slots and even the index: no word outside is written, and it ends. */
static void check_rubbish(enum device_heap_policy policy, enum device_heap_padding padding)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct heap_oracle o;
        struct random r = {seed};
        struct heap_stream stream;
        const struct heap_profile profile = {.scale_words = 8, .strides = true, .mistakes = true};
        oracle_open(&o, policy, padding, 256, 8, 16);
        heap_stream_open(&stream, &profile, 16, seed);
        for (unsigned step = 0; step < 400; step++) {
            struct heap_command c = heap_stream_next(&stream);
            const uint32_t command[] = {(c.is_free ? (uint32_t)HEAP_FREE : (uint32_t)HEAP_ALLOC) |
                                            c.slot,
                                        c.count, c.stride};
            host_heap_ops(&o.heap, command, 1, NULL, 0);
            uint64_t where = random_below(&r, 40);
            uint32_t what =
                random_below(&r, 2) ? (uint32_t)random_u64(&r) : (uint32_t)random_below(&r, 300);
            if (where < 4)
                o.heap.arena[random_below(&r, 256)] = what;
            else if (where == 4)
                o.heap.slots[random_below(&r, 16 * SLOT_WORDS)] = what;
            else if (where == 5)
                o.heap.index[random_below(&r, o.index_words)] = what;
            uint32_t report[REPORT_WORDS];
            host_heap_check(&o.heap, report);
        }
        must(&o, oracle_guards(&o));
        heap_stream_close(&stream);
        oracle_close(&o);
    }
}

static void rubbish_everywhere(void **state)
{
    (void)state;
    each_kind(check_rubbish);
}

/* ---- random streams ---- */

static void stream_commands(enum device_heap_policy policy, enum device_heap_padding padding,
                            const struct heap_profile *profile, uint32_t words, unsigned steps)
{
    enum { SLOTS = 64 };
    struct heap_oracle o;
    struct heap_stream stream;
    struct heap_command c;
    oracle_open(&o, policy, padding, words, SLOTS + 1, SLOTS);
    heap_stream_open(&stream, profile, SLOTS, words + 7 * profile->sizes + profile->order);
    for (unsigned step = 0; step < steps; step++) {
        c = heap_stream_next(&stream);
        must(&o, c.is_free ? oracle_free(&o, c.slot) : oracle_alloc(&o, c.slot, c.count, c.stride));
        must(&o, oracle_walk(&o));
    }
    while (heap_stream_drain(&stream, &c))
        must(&o, oracle_free(&o, c.slot) && oracle_walk(&o));
    assert_int_equal(oracle_largest_free(&o), words - 9); /* I10 */
    heap_stream_close(&stream);
    oracle_close(&o);
}

static void check_streams(enum device_heap_policy policy, enum device_heap_padding padding)
{
    for (unsigned sizes = 0; sizes < SIZES_KINDS; sizes++)
        for (unsigned order = 0; order < ORDER_KINDS; order++) {
            const struct heap_profile profile = {.sizes = sizes,
                                                 .order = order,
                                                 .scale_words = 40,
                                                 .strides = sizes != SIZES_SAME,
                                                 .steps =
                                                     sizes == SIZES_SAME && order == ORDER_RANDOM,
                                                 .mistakes = true};
            stream_commands(policy, padding, &profile, 1500, 400); /* often full */
            stream_commands(policy, padding, &profile, 6000, 400);
        }
}

static void random_streams(void **state)
{
    (void)state;
    each_kind(check_streams);
}

/* ---- what a policy is good for ---- */

static double filled(enum device_heap_policy policy, enum heap_sizes sizes, uint32_t scale_words)
{
    const struct heap_churn churn = {.policy = policy,
                                     .padding = DEVICE_HEAP_TIGHT,
                                     .sizes = sizes,
                                     .scale_words = scale_words,
                                     .stride_words = 1,
                                     .arena_words = 1 << 19,
                                     .seed = 3};
    const struct heap_churn_result result = heap_churn_run(&churn);
    assert_int_equal(result.broken, 0);
    return result.utilisation;
}

/* TLSF is within three points of best fit; the published placement is near to worst fit. */
static void arenas_are_filled(void **state)
{
    (void)state;
    static const uint32_t scale_words[] = {128, 52, 256};
    for (unsigned sizes = SIZES_UNIFORM; sizes <= SIZES_BIMODAL; sizes++) {
        double best = filled(DEVICE_HEAP_BEST, sizes, scale_words[sizes]);
        double tlsf = filled(DEVICE_HEAP_TLSF, sizes, scale_words[sizes]);
        double larger = filled(DEVICE_HEAP_LARGER, sizes, scale_words[sizes]);
        if (best < 0.75 || best > 1 || tlsf < best - 0.03 || larger > best - 0.03)
            fail_msg("%s: best fit fills %g, TLSF %g, larger %g", heap_size_names[sizes], best,
                     tlsf, larger);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block),       cmocka_unit_test(exact_fit),
        cmocka_unit_test(placement),       cmocka_unit_test(bad_arguments),
        cmocka_unit_test(bad_commands),    cmocka_unit_test(small_arenas),
        cmocka_unit_test(full_index),      cmocka_unit_test(clobbered_tags),
        cmocka_unit_test(clobbered_slots), cmocka_unit_test(adjacent_blocks),
        cmocka_unit_test(last_resort),     cmocka_unit_test(rubbish_everywhere),
        cmocka_unit_test(random_streams),  cmocka_unit_test(arenas_are_filled),
        cmocka_unit_test(largest_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
