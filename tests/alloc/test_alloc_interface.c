/* What is common to all strategies: finding one, opening one, and what the harness counts. */
#include <stdio.h>
#include <string.h>

#include "alloc/registry.h"
#include "tests/alloc/fake_source.h"
#include "tests/base/cmocka.h"

/* The names of the registry, as errors list them. */
static void add_names(struct text *text)
{
    size_t count;
    const struct allocator_ops *const *list = allocator_list(&count);
    for (size_t i = 0; i < count; i++)
        text_add(text, "%s%s", i ? ", " : "", list[i]->name);
}

static void test_spec_errors(void **state)
{
    (void)state;
    /* After "there are: " without more come the names of all strategies. */
    static const struct {
        const char *spec, *expected;
    } cases[] = {
        {"poool", "there is no strategy 'poool' (did you mean pool?); there are: "},
        {"zzzzzzzz:x=1", "there is no strategy 'zzzzzzzz'; there are: "},
        {"", "there is no strategy ''; there are: "},
        {"pool:leading_bit=4", "pool has no option 'leading_bit' (did you mean leading_bits?); "
                               "there are: leading_bits, first_use, kind, handle"},
        {"pool:leading_bits=8", "pool: option leading_bits is 8, expected a value from 0 to 7"},
        {"tagged:policy=v6",
         "tagged: option policy is 'v6' (did you mean v1?), expected one of v1|v1c|v2|v3|v4"},
        {"bufalloc:chunks=1", "bufalloc: option chunks is 1, expected a value from 2 to 1048576"},
        {"stream:threshold=most", "stream: option threshold is 'most', expected a size such as "
                                  "64MiB, or max"},
        {"vmm:large_chunk=max", "vmm: option large_chunk is 'max', expected a size such as 64MiB"},
        {"null:x=1", "null has no option 'x'; there are: kind, handle"},
        {"tlsf:kinds=pinned", "tlsf has no option 'kinds' (did you mean kind?); there are: parent, "
                              "strategy, dedicated, empty, follow, upper, kind, handle"},
        {"tagged:kind=host", "tagged: option kind is 'host', expected one of "
                             "device|pinned|coarse_svm|fine_svm|managed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct allocator_ops *ops;
        struct option_values options;
        struct error error = {0};
        struct text expected = {0};
        text_add(&expected, "%s", cases[i].expected);
        if (expected.data[expected.length - 1] == ' ')
            add_names(&expected);
        assert_int_equal(allocator_parse(cases[i].spec, &ops, &options, &error), ERR_USAGE);
        assert_string_equal(error.text, expected.data);
        text_free(&expected);
    }
}

/* A commit is of a repository, and is written as git writes one. */
static void require_origins(const struct allocator_ops *ops)
{
    if (!ops->origins || !ops->origins->what)
        fail_msg("%s has no origin", ops->name);
    for (const struct allocator_origin *o = ops->origins; o->what; o++) {
        const size_t digits = o->commit ? strspn(o->commit, "0123456789abcdef") : 7;
        if (!*o->what || (o->repository && !strchr(o->repository, '/')) ||
            (!o->repository && (o->file || o->commit)) || digits < 7 ||
            (o->commit && o->commit[digits]))
            fail_msg("%s: the origin '%s' is not whole", ops->name, o->what);
    }
}

static void test_list(void **state)
{
    (void)state;
    size_t count;
    const struct allocator_ops *const *list = allocator_list(&count);
    for (size_t i = 0; i < count; i++) {
        const struct allocator_ops *found;
        struct option_values options;
        assert_int_equal(allocator_parse(list[i]->name, &found, &options, NULL), 0);
        assert_ptr_equal(found, list[i]);
        assert_true(list[i]->summary[0]);
        require_origins(list[i]);
    }
}

static void test_planned_needs_a_plan(void **state)
{
    (void)state;
    const struct allocator_ops *ops;
    struct option_values options;
    struct fake_source fake;
    struct allocator allocator;
    struct error error;
    fake_source_open(&fake, 64, true);
    assert_int_equal(allocator_parse("planned", &ops, &options, &error), 0);
    assert_int_equal(allocator_open(&allocator, ops, &options, &fake.source, &error), ERR_USAGE);
    assert_non_null(strstr(error.text, "its caller handed it none"));
    fake_source_close(&fake);
}

static void test_broken_ops(void **state)
{
    (void)state;
    const struct allocator_ops *raw;
    struct option_values options;
    assert_int_equal(allocator_parse("raw", &raw, &options, NULL), 0);
    struct allocator_ops no_trim = *raw, old = *raw, unsafe = *raw, many = *raw;
    struct option_spec specs[OPTIONS_MAX + 2] = {{0}};
    for (unsigned i = 0; i <= OPTIONS_MAX; i++)
        specs[i].name = "o";
    many.options = specs;
    no_trim.name = "broken";
    no_trim.trim = NULL;
    old.name = "old";
    old.version = ALLOCATOR_API_VERSION - 1;
    unsafe.queues = QUEUES_UNSAFE;

    struct fake_source fake;
    fake_source_open(&fake, 64, true);
    struct allocator allocator;
    struct error error = {0};
    assert_int_equal(allocator_open(&allocator, &no_trim, &options, &fake.source, &error),
                     ERR_INTERNAL);
    assert_string_equal(error.text, "strategy broken lacks the required hook 'trim'");
    assert_int_equal(allocator_open(&allocator, &old, &options, &fake.source, &error),
                     ERR_INTERNAL);
    assert_non_null(strstr(error.text, "strategy old was written for version "));
    assert_int_equal(allocator_open(&allocator, &unsafe, &options, &fake.source, &error),
                     ERR_INTERNAL);
    assert_string_equal(error.text, "strategy raw may hand memory to a queue while another still "
                                    "uses it, and is not for the harness only");
    assert_int_equal(allocator_open(&allocator, &many, &options, &fake.source, &error),
                     ERR_INTERNAL);
    assert_string_equal(error.text, "strategy raw has 13 options, expected at most 12");
    allocator_close(&allocator);
    fake_source_close(&fake);
}

static void test_splitting_is_needed(void **state)
{
    (void)state;
    static const char *const specs[] = {"bufalloc", "tlsf", "caching"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const struct allocator_ops *ops;
        struct option_values options;
        struct fake_source fake;
        fake_source_open(&fake, 64, false);
        struct allocator allocator;
        struct error error = {0};
        char expected[200];
        snprintf(expected, sizeof expected,
                 "strategy %s could not start: %s hands out parts of a memory, and this device "
                 "takes only whole ones; use pool or tagged",
                 specs[i], specs[i]);
        assert_int_equal(allocator_parse(specs[i], &ops, &options, &error), 0);
        assert_int_equal(allocator_open(&allocator, ops, &options, &fake.source, &error),
                         ERR_UNSUPPORTED);
        assert_string_equal(error.text, expected);
        allocator_close(&allocator);
        fake_source_close(&fake);
    }
}

/* Whose memory is of another kind than the source has starts with the reason why not. */
static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *expected;
    } cases[] = {
        {"pool:kind=fine_svm", "strategy pool could not start: the fake driver has no fine SVM"},
        {"pool:handle=sub_buffer:kind=coarse_svm",
         "strategy pool could not start: the fake driver has no sub-buffers of coarse SVM"},
        {"stream:kind=pinned",
         "strategy stream could not start: the driver's pool has device memory alone"},
        {"vmm:kind=managed",
         "strategy vmm could not start: virtual memory is laid over device memory alone"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct allocator_ops *ops;
        struct option_values options;
        struct fake_source fake;
        struct allocator allocator;
        struct error error = {0};
        fake_source_open(&fake, 64, true);
        assert_int_equal(allocator_parse(cases[i].spec, &ops, &options, &error), 0);
        assert_int_equal(allocator_open(&allocator, ops, &options, &fake.source, &error),
                         ERR_UNSUPPORTED);
        assert_string_equal(error.text, cases[i].expected);
        allocator_close(&allocator);
        fake_source_close(&fake);
    }
}

/* A source that does not say which kinds it has shows it by a small allocation, which is not
 * counted. */
static void kinds_are_tried_where_they_are_not_listed(void **state)
{
    (void)state;
    struct fake_source fake;
    fake_source_open(&fake, 64, true);
    struct driver_memory_ops kinds = *fake.source.kinds;
    kinds.offered = NULL;
    fake.source.kinds = &kinds;
    assert_int_equal(source_use_kind(&fake.source, MEMORY_PINNED), 0);
    assert_int_equal(fake.source.kind, MEMORY_PINNED);
    assert_string_equal(fake.log.data, "+4096 -4096");
    assert_int_equal(fake.source.counts.alloc_count + fake.source.counts.free_count, 0);
    fake.alloc_refusal = (struct fake_refusal){.at = 2, .code = ERR_UNSUPPORTED};
    assert_int_equal(source_use_kind(&fake.source, MEMORY_MANAGED), ERR_UNSUPPORTED);
    assert_int_equal(fake.source.kind, MEMORY_PINNED);
    assert_int_equal(fake.live_count + fake.misuse_count, 0);
    fake_source_close(&fake);
}

static void test_memory_is_of_the_kind(void **state)
{
    (void)state;
    struct fake_source fake;
    struct allocator allocator;
    struct block block;
    const struct alloc_request request = {.size = 100, .alignment = 64, .tag = "x"};
    fake_source_open(&fake, 64, true);
    fake_source_allocator(&fake, "raw:first_use=resident:kind=coarse_svm", &allocator);
    assert_int_equal(allocator_alloc(&allocator, &request, &block), 0);
    assert_int_equal(fake.live[0].where, MEMORY_COARSE_SVM);
    assert_int_equal(allocator_free(&allocator, &block, "x", 100), 0);
    assert_string_equal(fake.log.data, "+100 *100 -100");
    assert_int_equal(fake.misuse_count, 0);
    allocator_close(&allocator);
    fake_source_close(&fake);
}

/* Each block of a parent gets a handle, which goes before the block does; a block of no bytes has
 * neither. */
static void test_sub_buffers(void **state)
{
    (void)state;
    struct fake_source fake;
    struct allocator allocator;
    struct block block[2], none;
    const struct alloc_request request = {.size = 100, .alignment = 4, .tag = "x"},
                               nothing = {.size = 0, .alignment = 4, .tag = "x"};
    fake_source_open(&fake, 128, true);
    fake_source_allocator(&fake, "tlsf:parent=4096:handle=sub_buffer", &allocator);
    assert_int_equal(allocator_alloc(&allocator, &nothing, &none), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(allocator_alloc(&allocator, &request, &block[i]), 0);
    assert_int_equal(block[0].memory, block[1].memory);
    assert_int_not_equal(block_memory(&block[0]), block_memory(&block[1]));
    assert_true(block[1].offset > 0 && block_offset(&block[1]) == 0);
    assert_int_equal(fake.source.counts.map_count, 2);
    assert_int_equal(allocator.counts.hit_count, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(allocator_free(&allocator, &block[i], "x", 100), 0);
    assert_int_equal(allocator_free(&allocator, &none, "x", 0), 0);
    assert_int_equal(fake.source.counts.unmap_count, 2);
    allocator_close(&allocator);
    assert_string_equal(fake.log.data, "+512 p0+128 p128+128 q128 q128 -512");
    assert_int_equal(fake.misuse_count, 0);
    assert_int_equal(fake.live_count, 0);
    fake_source_close(&fake);
}

static uint64_t last_alignment;

static int note_alignment(void *state, const struct alloc_request *request, struct block *block)
{
    (void)state, (void)block;
    last_alignment = request->alignment;
    return ERR_DEVICE;
}

/* A strategy need only heed the request: parts want what the source wants. */
static void test_sub_buffers_are_aligned(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint64_t expected;
    } cases[] = {{"raw", 4}, {"raw:handle=sub_buffer", 128}};
    const struct alloc_request request = {.size = 100, .alignment = 4, .tag = "x"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct allocator_ops *raw;
        struct option_values options;
        struct fake_source fake;
        struct allocator allocator;
        struct block block;
        fake_source_open(&fake, 128, true);
        assert_int_equal(allocator_parse(cases[i].spec, &raw, &options, NULL), 0);
        struct allocator_ops spy = *raw;
        spy.alloc = note_alignment;
        assert_int_equal(allocator_open(&allocator, &spy, &options, &fake.source, NULL), 0);
        assert_int_equal(allocator_alloc(&allocator, &request, &block), ERR_DEVICE);
        assert_int_equal(last_alignment, cases[i].expected);
        allocator_close(&allocator);
        fake_source_close(&fake);
    }
}

/* Where rounded sizes would contradict the refusal, the bytes are given as well. */
static void a_refusal_gives_the_bytes_that_rounding_hides(void **state)
{
    (void)state;
    static const struct {
        uint64_t size, capacity_bytes;
        const char *expected;
    } cases[] = {
        {2 << 20, (2 << 20) - 1,
         "asked for 2.00 MiB with 0 B of the capacity of 2.00 MiB (2097151 B) reserved"},
        {8193, 8192, "asked for 8.00 KiB (8193 B) with 0 B of the capacity of 8.00 KiB reserved"},
        {3000, 1000, "asked for 2.93 KiB (3000 B) with 0 B of the capacity of 1000 B reserved"},
        {1536, 1024, "asked for 1.50 KiB with 0 B of the capacity of 1.00 KiB reserved"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_source fake;
        struct allocator allocator;
        struct block block;
        const struct alloc_request request = {.size = cases[i].size, .alignment = 64};
        fake_source_open(&fake, 64, true);
        fake.source.capacity_bytes = cases[i].capacity_bytes;
        fake_source_allocator(&fake, "raw", &allocator);
        assert_int_equal(allocator_alloc(&allocator, &request, &block), ERR_OOM);
        assert_string_equal(fake.source.error.text, cases[i].expected);
        allocator_close(&allocator);
        fake_source_close(&fake);
    }
}

static void test_counts(void **state)
{
    (void)state;
    struct fake_source fake;
    fake_source_open(&fake, 64, false);
    fake.source.capacity_bytes = 1000;
    struct allocator allocator;
    fake_source_allocator(&fake, "pool", &allocator);
    const struct allocator_counts *counts = &allocator.counts;
    const struct alloc_request none = {.size = 0, .alignment = 64};
    const struct alloc_request hundred = {.size = 100, .alignment = 64};
    const struct alloc_request large = {.size = 900, .alignment = 64};
    struct block empty, a, b;

    assert_int_equal(allocator_alloc(&allocator, &none, &empty), 0);
    assert_int_equal(empty.memory, 0);
    assert_int_equal(allocator_free(&allocator, &empty, NULL, 0), 0);
    assert_int_equal(counts->alloc_count + counts->free_count, 0);

    assert_int_equal(allocator_alloc(&allocator, &hundred, &a), 0);
    assert_int_equal(allocator_alloc(&allocator, &hundred, &b), 0);
    assert_int_equal(allocator_free(&allocator, &a, NULL, 100), 0);
    assert_int_equal(allocator_alloc(&allocator, &hundred, &a), 0);
    assert_int_equal(counts->alloc_count, 3);
    assert_int_equal(counts->free_count, 1);
    assert_int_equal(counts->miss_count, 2);
    assert_int_equal(counts->hit_count, 1);
    assert_int_equal(counts->requested_bytes, 200);
    assert_int_equal(counts->granted_bytes, 206);
    assert_int_equal(counts->peak_requested_bytes, 200);
    assert_int_equal(counts->peak_granted_bytes, 206);

    /* Refused by the limit without a call to the driver: still a miss, and nothing is live of it.
     */
    assert_int_equal(allocator_alloc(&allocator, &large, &empty), ERR_OOM);
    assert_int_equal(counts->miss_count, 3);
    assert_int_equal(counts->peak_requested_bytes, 200);
    assert_int_equal(fake.alloc_calls, 2);

    assert_int_equal(allocator_free(&allocator, &a, NULL, 100), 0);
    assert_int_equal(allocator_free(&allocator, &b, NULL, 100), 0);
    assert_int_equal(counts->requested_bytes + counts->granted_bytes, 0);
    allocator_close(&allocator);
    assert_int_equal(fake.live_count, 0);
    fake_source_close(&fake);
}

static void get(struct allocator *allocator, unsigned queue, uint64_t size, int code,
                struct block *block)
{
    const struct alloc_request request = {.size = size, .alignment = 64, .queue = queue};
    assert_int_equal(allocator_alloc(allocator, &request, block), code);
    assert_int_equal(allocator_check(allocator), 0);
}

/* What one queue has freed another gets through the driver alone, and only when it must. */
static void test_queues_are_apart(void **state)
{
    (void)state;
    struct fake_source fake;
    fake_source_open(&fake, 64, true);
    fake.capacity_bytes = 300;
    struct allocator allocator;
    fake_source_allocator(&fake, "pool", &allocator);
    struct block a, b, c, refused;

    get(&allocator, 0, 103, 0, &a);
    assert_int_equal(a.queue, 0);
    assert_int_equal(allocator_free(&allocator, &a, NULL, 103), 0);
    get(&allocator, 7, 103, 0, &b);
    assert_int_equal(b.queue, 7);
    assert_string_equal(fake.log.data, "+103 +103");
    get(&allocator, 0, 103, 0, &a);
    assert_string_equal(fake.log.data, "+103 +103");
    assert_int_equal(allocator_free(&allocator, &a, NULL, 103), 0);

    /* Queue 0 holds what queue 7 lacks. */
    get(&allocator, 7, 183, 0, &c);
    assert_string_equal(fake.log.data, "+103 +103 ?183 -103 +183");
    get(&allocator, 3, 15, ERR_OOM, &refused);
    assert_string_equal(fake.log.data, "+103 +103 ?183 -103 +183 ?15");
    get(&allocator, ALLOCATOR_QUEUES_MAX, 15, ERR_INTERNAL, &refused);
    assert_string_equal(fake.source.error.text,
                        "a block was asked for on queue 32; there are 32 at most");

    assert_int_equal(allocator_free(&allocator, &b, NULL, 103), 0);
    assert_int_equal(allocator_free(&allocator, &c, NULL, 183), 0);
    assert_int_equal(allocator_trim(&allocator), 0);
    assert_int_equal(fake.live_count, 0);
    allocator_close(&allocator);
    fake_source_close(&fake);
}

/* check() has to see what it is there to see. */
static void test_check_sees_damage(void **state)
{
    (void)state;
    static const char *const specs[] = {"null",     "raw",  "pool",    "tagged", "tagged:policy=v4",
                                        "bufalloc", "tlsf", "caching", "vmm"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct fake_source fake;
        fake_source_open(&fake, 64, true);
        struct allocator allocator;
        fake_source_allocator(&fake, specs[i], &allocator);
        const struct alloc_request request = {.size = 100, .alignment = 64, .tag = "tag"};
        struct block block;
        assert_int_equal(allocator_alloc(&allocator, &request, &block), 0);
        assert_int_equal(allocator_check(&allocator), 0);
        fake.source.counts.reserved_bytes++;
        assert_int_equal(allocator_check(&allocator), 1);
        fake.source.counts.reserved_bytes--;
        assert_int_equal(allocator_free(&allocator, &block, request.tag, 100), 0);
        assert_int_equal(allocator_check(&allocator), 0);
        allocator_close(&allocator);
        fake_source_close(&fake);
    }
}

/* A driver's pool must report that it holds at least the live bytes. */
static void test_check_sees_a_pool_that_lost_memory(void **state)
{
    (void)state;
    struct fake_source fake;
    fake_source_open(&fake, 64, true);
    struct allocator allocator;
    fake_source_allocator(&fake, "stream", &allocator);
    const struct alloc_request request = {.size = 100, .alignment = 64, .tag = "tag"};
    struct block block;
    assert_int_equal(allocator_alloc(&allocator, &request, &block), 0);
    assert_int_equal(allocator_check(&allocator), 0);
    fake.live_bytes--;
    assert_int_equal(allocator_check(&allocator), 1);
    fake.live_bytes++;
    assert_int_equal(allocator_free(&allocator, &block, request.tag, 100), 0);
    assert_int_equal(allocator_check(&allocator), 0);
    allocator_close(&allocator);
    fake_source_close(&fake);
}

/* What a pool reserves is known by asking: reserved bytes, their peak, and the peak since. */
static void test_a_pool_is_counted_by_the_driver(void **state)
{
    (void)state;
    struct fake_source fake;
    fake_source_open(&fake, 64, true);
    fake.source.capacity_bytes = 1000;
    struct source *source = &fake.source;
    struct allocator allocator;
    fake_source_allocator(&fake, "stream:threshold=max", &allocator);
    const struct alloc_request large = {.size = 600, .alignment = 64, .tag = "a"};
    const struct alloc_request small = {.size = 500, .alignment = 64, .tag = "b"};
    struct block block;
    assert_int_equal(allocator_alloc(&allocator, &large, &block), 0);
    assert_int_equal(allocator_free(&allocator, &block, large.tag, large.size), 0);
    assert_int_equal(source_update(source), 0);
    assert_int_equal(source->counts.reserved_bytes, 600);
    assert_int_equal(source->counts.peak_reserved_bytes, 600);
    /* The capacity is the driver's to keep: both together are beyond it. */
    assert_int_equal(allocator_alloc(&allocator, &small, &block), 0);
    assert_int_equal(source->counts.sync_count, 1);
    assert_int_equal(source->counts.refused_count, 1);
    assert_int_equal(source_reset_peak(source), 0);
    assert_int_equal(source->counts.reserved_bytes, 500);
    assert_int_equal(source->counts.peak_reserved_bytes, 500);
    assert_int_equal(allocator_free(&allocator, &block, small.tag, small.size), 0);
    assert_int_equal(allocator.counts.hit_count, 0);
    assert_int_equal(source->counts.alloc_count, 3);
    assert_int_equal(source->counts.free_count, 3); /* one of them the trim */
    allocator_close(&allocator);
    assert_int_equal(source->counts.reserved_bytes, 0);
    assert_int_equal(fake.live_count + fake.misuse_count, 0);
    fake_source_close(&fake);
}

/* Chunks are reserved bytes like any memory: the limit holds, without a call to the driver. */
static void test_chunks_keep_to_the_capacity(void **state)
{
    (void)state;
    struct fake_source fake;
    fake_source_open(&fake, 64, true);
    fake.source.capacity_bytes = 5000;
    struct allocator allocator;
    fake_source_allocator(&fake, "vmm:small=0:large_chunk=2KiB", &allocator);
    const struct alloc_request two = {.size = 4096, .alignment = 64, .tag = "two"};
    const struct alloc_request one = {.size = 512, .alignment = 64, .tag = "one"};
    struct block block, none;
    assert_int_equal(allocator_alloc(&allocator, &two, &block), 0);
    assert_int_equal(allocator_alloc(&allocator, &one, &none), ERR_OOM);
    assert_int_equal(fake.alloc_calls, 2);
    assert_int_equal(fake.source.counts.refused_count, 1);
    assert_int_equal(fake.source.counts.map_count, 4); /* a range, two chunks, access */
    assert_int_equal(fake.source.counts.peak_reserved_bytes, 4096);
    assert_int_equal(allocator_free(&allocator, &block, two.tag, two.size), 0);
    assert_int_equal(allocator_trim(&allocator), 0);
    assert_int_equal(fake.source.counts.sync_count, 1);
    assert_int_equal(fake.source.counts.unmap_count, 2);
    assert_int_equal(fake.source.counts.reserved_bytes, 0);
    allocator_close(&allocator);
    assert_int_equal(fake.live_count + fake.misuse_count, 0);
    fake_source_close(&fake);
}

static void test_what_a_source_must_have_besides(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *expected;
    } cases[] = {
        {"stream", "strategy stream could not start: this source has no stream-ordered pool: only "
                   "single CUDA devices have one"},
        {"vmm", "strategy vmm could not start: this source has no virtual memory for programs to "
                "map: only single CUDA devices and the host have it"},
        {"pool:kind=pinned",
         "strategy pool could not start: this source has one kind of memory: OpenCL "
         "and CUDA devices have more"},
        {"raw:handle=sub_buffer",
         "strategy raw could not start: this source has no sub-buffers: only "
         "single OpenCL devices have them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct allocator_ops *ops;
        struct option_values options;
        struct fake_source fake;
        fake_source_open(&fake, 64, true);
        fake.source.kinds = NULL;
        fake.source.sub_buffers = NULL;
        fake.source.pools = NULL;
        fake.source.vm = NULL;
        struct allocator allocator;
        struct error error = {0};
        assert_int_equal(allocator_parse(cases[i].spec, &ops, &options, &error), 0);
        assert_int_equal(allocator_open(&allocator, ops, &options, &fake.source, &error),
                         ERR_UNSUPPORTED);
        assert_string_equal(error.text, cases[i].expected);
        allocator_close(&allocator);
        fake_source_close(&fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spec_errors),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_broken_ops),
        cmocka_unit_test(test_planned_needs_a_plan),
        cmocka_unit_test(test_splitting_is_needed),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(kinds_are_tried_where_they_are_not_listed),
        cmocka_unit_test(test_memory_is_of_the_kind),
        cmocka_unit_test(test_sub_buffers),
        cmocka_unit_test(test_sub_buffers_are_aligned),
        cmocka_unit_test(a_refusal_gives_the_bytes_that_rounding_hides),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_check_sees_damage),
        cmocka_unit_test(test_queues_are_apart),
        cmocka_unit_test(test_check_sees_a_pool_that_lost_memory),
        cmocka_unit_test(test_a_pool_is_counted_by_the_driver),
        cmocka_unit_test(test_chunks_keep_to_the_capacity),
        cmocka_unit_test(test_what_a_source_must_have_besides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
