/* The cost model's source where it offers more than plain memories: the driver's pool, and virtual
 * memory. */
#include <stdio.h>
#include <string.h>

#include "run/predict/stream_pool.h"
#include "tests/base/cmocka.h"
#include "tests/run/predict/model_fixture.h"

/* ---- the driver's pool ---------------------------------------------------------------------- */

static struct atlas atlas_with_pools(void)
{
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    put_pools(&atlas);
    return atlas;
}

/* Two lives of a block, and a wait before the second. */
static struct run_log two_lives(bool wait_between)
{
    struct run_log t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_free(&t, 0);
    if (wait_between)
        add_read(&t, 1);
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_free(&t, 0);
    return t;
}

static void a_pool_waits_for_nothing_and_keeps_what_it_may(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    const struct model model = model_with(&atlas);
    struct run_log t = two_lives(false), waiting = two_lives(true);
    struct case_model m = predicted_of(&model, &t, "stream:threshold=max");
    /* realloc 4, launch 2, 4 on the way: the kernels from 10 to 210 while the host frees, 1, asks
     * again, 4, launches, 2, frees, 1; sync 3 */
    check_us(&m, 213, 10, 0);
    /* the read waits for the first kernel until 110, takes 8 - 6 of its own: 112; realloc 4,
     * launch 2, 4 on the way, the kernel until 222; sync 3 */
    m = predicted_of(&model, &waiting, "stream:threshold=max");
    check_us(&m, 225, 10, 0);
    m = predicted_of(&model, &waiting, "stream:threshold=32MiB"); /* all that it ever held */
    check_us(&m, 225, 10, 0);
    run_log_close(&t);
    run_log_close(&waiting);
    atlas_free(&atlas);
}

static void a_pool_asked_again_without_a_wait_costs_less(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    put_cost(&atlas, "stream:threshold=max", "alloc_next", 1 * US, ATLAS_WAITS_unknown);
    const struct model model = model_with(&atlas);
    struct run_log t = two_lives(false), waiting = two_lives(true);
    /* As above, but the second allocation takes 1 instead of 4. The kernels hide it. */
    struct case_model m = predicted_of(&model, &t, "stream:threshold=max");
    check_us(&m, 213, 7, 0);
    m = predicted_of(&model, &waiting, "stream:threshold=max");
    check_us(&m, 225, 10, 0);
    run_log_close(&t);
    run_log_close(&waiting);
    atlas_free(&atlas);
}

static void a_pool_that_keeps_nothing_pays_at_each_wait(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    const struct model model = model_with(&atlas);
    struct run_log t = two_lives(false), waiting = two_lives(true);
    struct case_model m = predicted_of(&model, &t, "stream");
    /* alloc 50, 2, 4: the kernels from 56 to 256, the second life beside the first: 2 + 3 + 2 + 2;
     * sync 3 and 46 - 5 of giving back */
    check_us(&m, 256 + 3 + 41, 50 + 2 + 3 + 2, 0);
    m = predicted_of(&model, &waiting, "stream");
    /* the kernel until 156; the read's 2 and 41 of giving back: 199; again 50, 2, 4, 100: 355 */
    check_us(&m, 355 + 3 + 41, 2 * (50 + 2), 0);
    run_log_close(&t);
    run_log_close(&waiting);
    atlas_free(&atlas);
}

/* A step of 32 MiB stays as long as something lies in it, or behind it. */
static void what_lives_keeps_its_step(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    const struct model model = model_with(&atlas);
    struct run_log t = make_trace();
    add_alloc(&t, 2, KIB);
    t.run_begin = 1;
    add_alloc(&t, 0, 20 * MIB); /* 3 */
    add_read(&t, 2);            /* 8 */
    add_alloc(&t, 1, 20 * MIB); /* 50: a second step */
    add_free(&t, 1);            /* 2 */
    add_read(&t, 2);            /* 8, and 41 */
    add_free(&t, 0);            /* 2 */
    size_t end = t.event_count;
    add_free(&t, 2);
    t.run_end = end;
    struct case_model m = predicted_of(&model, &t, "stream");
    check_us(&m, 3 + 8 + 50 + 2 + 8 + 41 + 2 + 3, 3 + 50 + 2 + 2, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* Two blocks of 20 MiB lie side by side in two steps, and what is spare behind them is one piece. A
 * block that is larger than that adds what it lacks. */
static void a_pool_grows_by_what_a_block_lacks(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    const struct model model = model_with(&atlas);
    struct run_log t = make_trace();
    add_alloc(&t, 0, 20 * MIB);
    add_alloc(&t, 1, 20 * MIB);
    t.run_begin = 2;
    add_alloc(&t, 2, 16 * MIB); /* 4: 24 MiB are spare */
    add_free(&t, 2);            /* 1 */
    add_read(&t, 0);            /* 8: no step is free */
    add_alloc(&t, 2, 56 * MIB); /* 50: one more step */
    add_free(&t, 2);            /* 2 */
    add_read(&t, 0);            /* 8, and 41 */
    size_t end = t.event_count;
    add_free(&t, 0);
    add_free(&t, 1);
    t.run_end = end;
    struct case_model m = predicted_of(&model, &t, "stream");
    check_us(&m, 4 + 1 + 8 + 50 + 2 + 8 + 41 + 3, 4 + 1 + 50 + 2, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* The first command that uses a new chunk pays the difference of the pool's own curves; what was
 * spare has been used. */
static void the_pools_memory_has_a_first_use_of_its_own(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    put_cost(&atlas, "raw", "first_use", 90 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 6 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "stream:threshold=0", "first_use", 11 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "stream:threshold=0", "second_use", 6 * US, ATLAS_WAITS_unknown);
    const struct model model = model_with(&atlas);
    struct run_log t = one_kernel();
    struct case_model m = predicted_of(&model, &t, "stream");
    check_us(&m, 50 + 2 + 5 + 4 + 100 + 3 + 41, 52, 0);
    assert_int_equal(m.first_use_ns, 5 * US);
    m = predicted_of(&model, &t, "stream:threshold=max");
    check_us(&m, 4 + 2 + 4 + 100 + 3, 5, 0);
    assert_int_equal(m.first_use_ns, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* What is done to a pool in MiB: "a1 2 4 32" takes block 1 of 2 MiB and expects it at 4, with 32
 * reserved then; "f1 9" frees it behind queue 0, whose commands are done at 9; "n9" says that it is
 * 9, "w" waits. A, F: on queue 1. */
static void pieces_are_chosen_as_the_driver_does(void **state)
{
    (void)state;
    static const char *const cases[] = {
        /* of two equal pieces, the one that was freed first */
        "a0 2 0 32; a1 2 2 32; a2 2 4 32; a3 2 6 32; f2; f0; a4 2 4 32",
        /* one that the queue freed, before a smaller one that is free for all */
        "a0 4 0 32; a1 1 4 32; a2 6 5 32; a3 1 11 32; f0; w; f2; a4 3 5 32",
        /* both, joined, before the end; and what is free for all is joined with the end */
        "a0 4 0 32; a1 4 4 32; a2 1 8 32; f0; w; f1; a3 6 0 32; f2; w; a4 40 6 64",
        /* Three steps that are wholly free become memory of a block at the end, and two of those
         * above that of the next one, in whose place they were. */
        "a0 64 0 64; a1 48 64 128; a2 80 112 192; f0; f1; a3 128 192 224; w; f2; w; "
        "a4 64 0 224",
        /* of two equal pieces that became free for all at once, the one that was freed last */
        "a0 2 0 32; a1 2 2 32; a2 2 4 32; a3 4 6 32; a4 2 10 32; f0; f3; f1; w; a5 4 0 32",
        /* one that another queue freed, before its pieces are joined with those of this queue */
        "a0 4 0 32; A1 2 4 32; a2 4 6 32; a3 5 10 32; a4 1 15 32; f0; F1; f3; A5 3 0 32",
        /* none whose second step is not mapped, although the first would be enough */
        "a0 64 0 64; a1 16 64 96; a2 2 80 96; a3 2 82 96; a4 1 84 96; f0; w; a5 90 85 128; "
        "a6 8 0 160; f2; w; f3; a7 3 80 160",
        /* no step of a piece whose free is not done, unless the host waits */
        "a0 64 0 64; f0 9; a1 65 64 160; f1 9; w; n0; a2 70 0 160",
        /* none of another queue whose free is not done, alone or joined, until it is done */
        "a0 20 0 32; a1 20 20 64; f0; f1 9; A2 10 40 64; n9; A3 40 0 64",
        /* one freed before an event that the queue waits for through another, none freed later */
        "a0 4 0 32; a1 1 4 32; a2 4 5 32; a3 1 9 32; f0 9; o2 0; o1 2; f2 9; A4 4 0 32; A5 4 10 32",
        /* of another queue one whose free is done; but of a queue that never asked, none until its
         * latest free is done */
        "a0 4 0 32; a1 1 4 32; a2 4 5 32; f0 1; f2 9; n5; A3 4 0 32",
        "a0 4 0 32; a1 1 4 32; a2 4 5 32; F0 1; F2 9; n5; a3 4 9 32; n9; a4 4 0 32",
        /* After a wait for queue 1 alone, what another freed before an event that it waits for. */
        "a0 4 0 32; A1 4 4 32; a2 1 8 32; f0 9; o1 0; F1; W1; n0; a3 8 0 32",
        "a0 4 0 32; A1 4 4 32; a2 1 8 32; o1 0; f0 9; F1; W1; n0; a3 8 9 32",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stream_pool pool = {0};
        struct stream_piece *blocks[8];
        for (const char *step = cases[i]; step; step = strchr(step, ';')) {
            char what;
            unsigned name = 0, bytes = 0, at = 0, reserved = 0;
            step += strspn(step, "; ");
            sscanf(step, "%c%u %u %u %u", &what, &name, &bytes, &at, &reserved);
            const unsigned queue = what == 'A' || what == 'F';
            if (what == 'f' || what == 'F')
                stream_pool_give(&pool, queue, blocks[name], bytes);
            if (what == 'w')
                stream_pool_wait(&pool, ALLOCATOR_QUEUES_MAX);
            if (what == 'W')
                stream_pool_wait(&pool, name);
            if (what == 'o')
                stream_pool_order(&pool, name, bytes);
            if (what == 'n')
                pool.now_ns = name;
            if (what != 'a' && what != 'A')
                continue;
            stream_pool_take(&pool, queue, bytes * MIB, 0, &blocks[name]);
            if (blocks[name]->start != at * MIB || pool.reserved_bytes != reserved * MIB)
                fail_msg("case %zu, block %u: at %llu of %llu MiB", i, name,
                         (unsigned long long)(blocks[name]->start / MIB),
                         (unsigned long long)(pool.reserved_bytes / MIB));
        }
        stream_pool_free(&pool);
    }
}

/* The strategy waits, trims, and asks once more. */
static void a_pool_has_a_capacity(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    struct model model = model_with(&atlas);
    model.device.capacity_bytes = 12 * MIB;
    struct run_log t = make_trace();
    add_alloc(&t, 0, 8 * MIB);
    add_free(&t, 0);
    add_alloc(&t, 1, 8 * MIB);
    add_free(&t, 1);
    struct case_model m = predicted_of(&model, &t, "stream:threshold=max");
    check_us(&m, 2 * (4 + 1) + 3, 10, 0);
    add_alloc(&t, 1, 8 * MIB);
    add_alloc(&t, 2, 8 * MIB);
    struct error error = {0};
    assert_int_equal(predict(&model, &t, "stream:threshold=max", &m, &error), ERR_OOM);
    run_log_close(&t);
    atlas_free(&atlas);
}

static void a_pool_that_the_atlas_does_not_know_has_no_prediction(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct model model = model_with(&atlas);
    struct run_log t = one_kernel();
    struct case_model m;
    struct error error = {0};
    assert_int_equal(predict(&model, &t, "stream", &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "(stream:threshold=0, alloc)"));
    model.device.has_pool = false;
    assert_int_equal(predict(&model, &t, "stream", &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "no stream-ordered pool"));
    run_log_close(&t);
    atlas_free(&atlas);
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* Three memories of 1 MiB, of which two fit in a page of 2 MiB; each is used once. */
static struct run_log three_small(void)
{
    struct run_log t = make_trace();
    for (unsigned b = 0; b < 3; b++) {
        add_alloc(&t, b, MIB);
        add_read(&t, b); /* 8 */
    }
    for (unsigned b = 3; b-- > 0;)
        add_free(&t, b);
    return t;
}

static void small_memories_are_cut_from_pages(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    put_step(&atlas, "raw", "alloc", 3 * US, 50 * US, ATLAS_WAITS_nothing);
    put_step(&atlas, "raw", "realloc", 2 * US, 36 * US, ATLAS_WAITS_unknown);
    put_step(&atlas, "raw", "free", 4 * US, 30 * US, ATLAS_WAITS_device);
    struct model model = model_with(&atlas);
    struct run_log t = three_small();
    /* without pages: all three are small */
    struct case_model m = predicted_of(&model, &t, "raw");
    check_us(&m, 3 * (3 + 8 + 4) + 3, 3 * (3 + 4), 0);
    /* a page, a piece of it, a page; each page goes with the last in it */
    model.device.page_bytes = 2 * MIB;
    m = predicted_of(&model, &t, "raw");
    check_us(&m, 50 + 3 + 50 + 3 * 8 + 30 + 4 + 30 + 3, 50 + 3 + 50 + 30 + 4 + 30, 0);
    /* an input in the first page keeps it; the page that went comes back for less */
    struct run_log kept = make_trace();
    add_alloc(&kept, 0, 64 * KIB);
    kept.run_begin = 1;
    for (int i = 0; i < 2; i++) {
        add_alloc(&kept, 1, MIB);
        add_alloc(&kept, 2, MIB);
        add_free(&kept, 2);
        add_free(&kept, 1);
    }
    size_t end = kept.event_count;
    add_free(&kept, 0);
    kept.run_end = end;
    m = predicted_of(&model, &kept, "raw");
    check_us(&m, 3 + 50 + 30 + 4 + 2 + 36 + 30 + 4 + 3, 3 + 50 + 30 + 4 + 2 + 36 + 30 + 4, 0);
    run_log_close(&kept);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* Where memory becomes real at its first use, so do pages. */
static void pages_can_come_with_the_first_use(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    put_cost(&atlas, "raw", "alloc", 1 * US, ATLAS_WAITS_nothing);
    put_step(&atlas, "raw", "first_use", 10 * US, 60 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 9 * US, ATLAS_WAITS_unknown);
    put_step(&atlas, "raw", "free", 4 * US, 30 * US, ATLAS_WAITS_device);
    struct model model = model_with(&atlas);
    model.device.page_bytes = 2 * MIB;
    model.device.pages_at_use = true;
    struct run_log t = three_small();
    struct case_model m = predicted_of(&model, &t, "raw");
    /* 51 more for each of two pages, 1 for the piece */
    check_us(&m, 3 * (1 + 8) + 51 + 1 + 51 + 30 + 4 + 30 + 3, 3 + 30 + 4 + 30, 0);
    assert_int_equal(m.first_use_ns, (51 + 1 + 51) * US);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* ---- virtual memory ------------------------------------------------------------------------- */

static struct atlas atlas_with_vm(void)
{
    static const struct {
        const char *call;
        uint64_t us;
    } calls[] = {{"reserve", 1}, {"create", 10}, {"map", 2},      {"access", 20},
                 {"unmap", 15},  {"release", 8}, {"unreserve", 1}};
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        put_cost(&atlas, "vmm", calls[i].call, calls[i].us * US, ATLAS_WAITS_nothing);
    return atlas;
}

static struct model model_with_vm(const struct atlas *atlas, uint64_t capacity_bytes)
{
    struct model model = model_with(atlas);
    model.device.vm_granularity_bytes = 2 * MIB;
    model.device.memory_bytes = 64 * MIB;
    model.device.capacity_bytes = capacity_bytes;
    return model;
}

static const char *const small_segments = "vmm:large_chunk=4MiB";

/* A small block and one of 3 MiB, each in a kernel of 100 µs. Where there is room for 4 MiB, each
 * drives the chunk of the other away. */
static struct run_log two_classes(void)
{
    struct run_log t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_free(&t, 0);
    add_alloc(&t, 1, 3 * MIB);
    add_launch(&t, 1, 2, 100);
    add_free(&t, 1);
    return t;
}

static void mapped_chunks_cost_nothing_again(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_vm();
    put_cost(&atlas, "vmm", "first_use", 17 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "vmm", "second_use", 6 * US, ATLAS_WAITS_unknown);
    const struct model model = model_with_vm(&atlas, 0);
    struct run_log t = two_classes();
    struct case_model m = predicted_of(&model, &t, small_segments);
    check_us(&m, 2 + 4 + 200 + 3, 0, 0);
    assert_int_equal(m.first_use_ns, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

static void remapping_waits_for_the_device_and_pays_each_call(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_vm();
    const struct model model = model_with_vm(&atlas, 4 * MIB);
    struct run_log t = two_classes();
    struct case_model m = predicted_of(&model, &t, small_segments);
    /* a wait 3, unmap 15, release 8, create 10, map 2, access 20: 58; launch 2 and 4, the kernel
     * from 64 to 164; from 60 on a wait of 104 and 58 as before: 222; 2, 4, 100; sync 3 */
    check_us(&m, 331, 58 + 104 + 58, 104);
    put_cost(&atlas, "vmm", "first_use", 17 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "vmm", "second_use", 6 * US, ATLAS_WAITS_unknown);
    m = predicted_of(&model, &t, small_segments);
    check_us(&m, 331 + 2 * 11, 58 + 104 + 58, 104);
    assert_int_equal(m.first_use_ns, 2 * 11 * US);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* Chunks that are mapped for one block are used for the first time together. */
static void new_chunks_are_first_used_together(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_vm();
    struct atlas_curve *curve = atlas_curve_of(&atlas, "vmm", "first_use");
    for (uint64_t mib = 4; mib <= 8; mib += 4)
        atlas_add_point(curve, &(struct atlas_point){
                                   .bytes = mib * MIB, .sample_count = 1, .p50_ns = mib * 3 * US});
    put_cost(&atlas, "vmm", "second_use", 6 * US, ATLAS_WAITS_unknown);
    const struct model model = model_with_vm(&atlas, 8 * MIB);
    struct run_log t = make_trace();
    add_alloc(&t, 0, 64 * KIB); /* 3, two chunks go: 2 * 23, one comes: 32 */
    add_free(&t, 0);
    /* One of two chunks finds room, comes, 12, and goes again, 23; a wait, 3; the small one goes,
     * 23, and both come: 2 * 12 + 20. */
    add_alloc(&t, 1, 7 * MIB);
    add_launch(&t, 1, 2, 100); /* 2, 24 - 6, 4, 100 */
    add_free(&t, 1);
    struct case_model m = predicted_of(&model, &t, small_segments);
    check_us(&m, 81 + 35 + 70 + 2 + 18 + 4 + 100 + 3, 81 + 35 + 70, 0);
    assert_int_equal(m.first_use_ns, 18 * US);
    run_log_close(&t);
    atlas_free(&atlas);
}

static void virtual_memory_that_the_atlas_does_not_know_has_no_prediction(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct model model = model_with_vm(&atlas, 4 * MIB);
    struct run_log t = two_classes();
    struct case_model m;
    struct error error = {0};
    assert_int_equal(predict(&model, &t, small_segments, &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "(vmm, unmap)"));
    model.device.capacity_bytes = 0; /* it never asks */
    assert_int_equal(predict(&model, &t, small_segments, &m, &error), 0);
    model.device.vm_granularity_bytes = 0;
    assert_int_equal(predict(&model, &t, small_segments, &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "no virtual memory"));
    run_log_close(&t);
    atlas_free(&atlas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_waits_for_nothing_and_keeps_what_it_may),
        cmocka_unit_test(a_pool_asked_again_without_a_wait_costs_less),
        cmocka_unit_test(a_pool_that_keeps_nothing_pays_at_each_wait),
        cmocka_unit_test(what_lives_keeps_its_step),
        cmocka_unit_test(a_pool_grows_by_what_a_block_lacks),
        cmocka_unit_test(the_pools_memory_has_a_first_use_of_its_own),
        cmocka_unit_test(pieces_are_chosen_as_the_driver_does),
        cmocka_unit_test(a_pool_has_a_capacity),
        cmocka_unit_test(a_pool_that_the_atlas_does_not_know_has_no_prediction),
        cmocka_unit_test(small_memories_are_cut_from_pages),
        cmocka_unit_test(pages_can_come_with_the_first_use),
        cmocka_unit_test(mapped_chunks_cost_nothing_again),
        cmocka_unit_test(remapping_waits_for_the_device_and_pays_each_call),
        cmocka_unit_test(new_chunks_are_first_used_together),
        cmocka_unit_test(virtual_memory_that_the_atlas_does_not_know_has_no_prediction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
