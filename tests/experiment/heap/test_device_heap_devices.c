/* The device heap through its interface, on each device: the same words as on the host, real
 * memory behind the blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "experiment/heap/heap.h"
#include "tests/experiment/heap/host_heap.h"
#include "tests/device/device_subjects.h"
#include "tests/experiment/heap/heap_oracle.h"
#include "tests/experiment/heap/heap_stream.h"
#include "program/prelude.h"

/* ---- a kernel that uses blocks: writes each one's number all over it, or counts other words - */

static const char payload_text[] =
    "GAMUT_KERNEL(256) void payload(GAMUT_GLOBAL u32 *arena, const GAMUT_GLOBAL u32 *slots,\n"
    "                               GAMUT_GLOBAL u32 *wrong, u32 slot_count, u32 stamp)\n"
    "{\n"
    "    u32 slot = (u32)GAMUT_X, i, from, words;\n"
    "    if (slot < slot_count) {\n"
    "        from = slots[4 * slot + 1] * slots[4 * slot + 3];\n"
    "        words = slots[4 * slot + 2] * slots[4 * slot + 3];\n"
    "        if (slots[4 * slot] != 0)\n"
    "            for (i = 0; i < words; i++) {\n"
    "                if (stamp) arena[from + i] = slot + 1;\n"
    "                else if (arena[from + i] != slot + 1) wrong[slot]++;\n"
    "            }\n"
    "    }\n"
    "}\n";

static void payload(uint32_t *arena, const uint32_t *slots, uint32_t *bad, uint32_t slot,
                    bool stamp)
{
    const uint32_t *s = slots + (size_t)slot * SLOT_WORDS;
    for (uint32_t i = 0; s[SLOT_BLOCK] && i < s[SLOT_COUNT] * s[SLOT_STRIDE]; i++) {
        uint32_t *word = arena + s[SLOT_INDEX] * s[SLOT_STRIDE] + i;
        if (stamp)
            *word = slot + 1;
        else if (*word != slot + 1)
            bad[slot]++;
    }
}

static void host_payload(const union launch_value *a, int64_t begin, int64_t end)
{
    for (int64_t slot = begin; slot < end; slot++)
        payload((uint32_t *)(uintptr_t)a[0].memory, (const uint32_t *)(uintptr_t)a[1].memory,
                (uint32_t *)(uintptr_t)a[2].memory, (uint32_t)slot, a[4].u32 != 0);
}

/* ---- a heap on a device, and the same on the host ---- */

enum { SLOTS = 300, WORDS = 20000, BATCH_MOST = 400 };

struct pair {
    struct subject *s;
    struct device_heap *heap;
    struct heap_oracle mirror; /* for its memories; commands come in batches */
    struct device_program *program;
    struct text text;
    uint64_t wrong; /* device memory */
    uint32_t *words;
};

static void compare(struct pair *p, const char *what, uint64_t memory, const uint32_t *expected,
                    uint64_t words)
{
    ok(p->s, p->s->ops->read(p->s->device, p->words, memory, 0, words * 4, &p->s->error));
    for (uint64_t i = 0; i < words; i++)
        if (p->words[i] != expected[i])
            fail_msg("%s, policy %d, %s: word %llu is %x, on the host %x", p->s->device->info->id,
                     p->mirror.heap.policy, what, (unsigned long long)i, p->words[i], expected[i]);
}

static void compare_all(struct pair *p)
{
    struct device_heap_parts parts = device_heap_parts(p->heap);
    const struct host_heap *h = &p->mirror.heap;
    compare(p, "index", parts.index, h->index, p->mirror.index_words);
    compare(p, "slots", device_heap_slots(p->heap), h->slots, (uint64_t)h->slot_count * SLOT_WORDS);
    compare(p, "arena", parts.arena, h->arena, h->words);
}

static void run_payload(struct pair *p, bool stamp)
{
    static const enum launch_arg_kind kinds[] = {ARG_MEMORY, ARG_MEMORY, ARG_MEMORY, ARG_U32,
                                                 ARG_U32};
    struct subject *s = p->s;
    const union launch_value values[] = {{.memory = device_heap_parts(p->heap).arena},
                                         {.memory = device_heap_slots(p->heap)},
                                         {.memory = p->wrong},
                                         {.u32 = SLOTS},
                                         {.u32 = stamp}};
    const struct launch shape = {.extent = {SLOTS, 1, 1}, .rank = 1};
    ok(s, s->ops->fill(s->device, p->wrong, 0, 0, SLOTS * 4, &s->error));
    ok(s, s->ops->launch(s->device, p->program, 0, &shape, 5, kinds, values, &s->error));
    ok(s, s->ops->read(s->device, p->words, p->wrong, 0, SLOTS * 4, &s->error));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        if (p->words[slot])
            fail_msg("%s, policy %d: %u words of the block of slot %u are another's",
                     s->device->info->id, p->mirror.heap.policy, p->words[slot], slot);
        if (stamp)
            payload(p->mirror.heap.arena, p->mirror.heap.slots, NULL, slot, true);
    }
}

static void open_pair(struct pair *p, struct subject *s, enum device_heap_policy policy,
                      enum device_heap_padding padding)
{
    static const char *const names[] = {"payload"};
    static const struct host_kernel host_kernels[] = {{"payload", host_payload}};
    const struct device_heap_options options = {
        .policy = policy, .padding = padding, .arena_bytes = WORDS * 4, .slots = SLOTS};
    enum kernel_language language = s->device->info->language;
    *p = (struct pair){.s = s, .words = must_alloc(WORDS * 4 * 4)};
    ok(s, device_heap_open(s->device, &options, &p->heap, &s->error));
    struct device_heap_parts parts = device_heap_parts(p->heap);
    oracle_open(&p->mirror, policy, padding, parts.words, parts.capacity, parts.slot_count);
    /* The mirror begins with the device's words, and writes its tags over them. */
    ok(s, s->ops->read(s->device, p->mirror.heap.arena, parts.arena, 0, WORDS * 4, &s->error));
    memset(p->mirror.heap.index, 0, p->mirror.index_words * 4);
    host_heap_init(&p->mirror.heap);
    text_add(&p->text, "%s%s", prelude_text(language), payload_text);
    const struct kernel_source source = {.name = "payload",
                                         .text = p->text.data,
                                         .kernel_count = 1,
                                         .kernel_names = names,
                                         .host_kernels =
                                             language == KERNEL_HOST_C ? host_kernels : NULL};
    ok(s, s->ops->build(s->device, &source, &p->program, &s->error));
    p->wrong = allocate(s, SLOTS * 4);
}

static void close_pair(struct pair *p)
{
    ok(p->s, p->s->ops->free(p->s->device, p->wrong, SLOTS * 4, &p->s->error));
    p->s->ops->unbuild(p->s->device, p->program);
    device_heap_close(p->heap);
    oracle_close(&p->mirror);
    text_free(&p->text);
    free(p->words);
}

/* One command to both; the device's heap chooses the slot, the stream's slots are names for it. */
static void give_command(struct pair *p, const struct heap_command *c, uint32_t *slots,
                         uint32_t *batch)
{
    struct subject *s = p->s;
    if (c->is_free)
        ok(s, device_heap_free(p->heap, slots[c->slot], &s->error));
    else
        ok(s, device_heap_alloc(p->heap, c->count, c->stride, &slots[c->slot], &s->error));
    batch[COMMAND_DO] = (c->is_free ? (uint32_t)HEAP_FREE : (uint32_t)HEAP_ALLOC) | slots[c->slot];
    batch[COMMAND_COUNT] = c->is_free ? 0 : c->count;
    batch[COMMAND_STRIDE] = c->is_free ? 0 : c->stride;
}

static void must_be_sound(struct pair *p)
{
    uint32_t report[REPORT_WORDS], broken;
    ok(p->s, device_heap_check(p->heap, report, &broken, &p->s->error));
    assert_int_equal(broken, 0);
}

static void run_stream(struct subject *s, enum device_heap_policy policy,
                       enum device_heap_padding padding)
{
    struct pair p;
    struct heap_stream stream;
    uint32_t slots[SLOTS], batch[BATCH_MOST * COMMAND_WORDS];
    struct random random = {policy};
    const struct heap_profile profile = {
        .sizes = SIZES_LOGNORMAL, .scale_words = 100, .strides = true};
    open_pair(&p, s, policy, padding);
    heap_stream_open(&stream, &profile, SLOTS, 11 + policy);
    compare_all(&p);
    for (unsigned round = 0; round < 60; round++) {
        uint32_t count = round % 3 ? 1 + (uint32_t)random_below(&random, BATCH_MOST) : 1;
        for (uint32_t i = 0; i < count; i++) {
            struct heap_command c = heap_stream_next(&stream);
            give_command(&p, &c, slots, batch + i * COMMAND_WORDS);
        }
        run_payload(&p, false);
        ok(s, device_heap_submit(p.heap, 0, 0, &s->error));
        host_heap_ops(&p.mirror.heap, batch, count, NULL, 0);
        compare_all(&p);
        run_payload(&p, true);
        if (round % 20 == 19)
            must_be_sound(&p);
    }
    heap_stream_close(&stream);
    close_pair(&p);
}

static void check_same_words(struct subject *s)
{
    for (unsigned policy = 0; policy < DEVICE_HEAP_POLICIES; policy++)
        run_stream(s, policy, policy % 2 ? DEVICE_HEAP_TIGHT : DEVICE_HEAP_SEED);
}

static void same_words(void **state)
{
    (void)state;
    on_each_device(check_same_words);
}

/* ---- counts that only the device knows; a ring that is used up ---- */

static void check_counts(struct subject *s)
{
    const struct device_heap_options options = {
        .policy = DEVICE_HEAP_TLSF, .padding = DEVICE_HEAP_TIGHT, .arena_bytes = 40000, .slots = 4};
    const uint32_t counts[] = {11, 0, 70000};
    struct device_heap *heap;
    uint32_t slot[4], words[SLOT_WORDS];
    uint32_t header[HEAP_HEADER_WORDS];
    uint64_t memory = allocate(s, sizeof counts);
    ok(s, s->ops->write(s->device, memory, 0, counts, sizeof counts, &s->error));
    ok(s, device_heap_open(s->device, &options, &heap, &s->error));
    for (uint32_t i = 0; i < 4; i++)
        ok(s, device_heap_alloc_counted(heap, i, 3, &slot[i], &s->error));
    assert_int_equal(device_heap_alloc(heap, 1, 1, slot, &s->error), ERR_OOM);
    assert_int_equal(device_heap_alloc(heap, 1, 0, slot, &s->error), ERR_PROGRAM);
    ok(s, device_heap_submit(heap, memory, 3, &s->error));
    ok(s, device_heap_read_slot(heap, slot[0], words, &s->error));
    assert_int_equal(words[SLOT_COUNT], 11);
    assert_int_equal(words[SLOT_INDEX], 2); /* word 6 */
    for (uint32_t i = 1; i < 4; i++) {
        ok(s, device_heap_read_slot(heap, slot[i], words, &s->error));
        assert_int_equal(words[SLOT_BLOCK], 0);
        assert_int_equal(words[SLOT_COUNT], 0);
    }
    ok(s, device_heap_read_header(heap, header, &s->error));
    assert_int_equal(header[HEAP_STATUS],
                     DEVICE_HEAP_OUT_OF_MEMORY | DEVICE_HEAP_BAD_ARGUMENT | DEVICE_HEAP_EMPTY);
    for (uint32_t i = 0; i < 4; i++)
        ok(s, device_heap_free(heap, slot[i], &s->error));
    assert_int_equal(device_heap_free(heap, slot[2], &s->error), ERR_PROGRAM);
    assert_int_equal(device_heap_free(heap, 4, &s->error), ERR_PROGRAM);
    ok(s, device_heap_submit(heap, 0, 0, &s->error));
    ok(s, device_heap_read_header(heap, header, &s->error));
    assert_int_equal(header[HEAP_LIVE_BLOCKS], 0);
    assert_int_equal(header[HEAP_FAILED], 2); /* their slots were free to be freed */
    device_heap_close(heap);
    ok(s, s->ops->free(s->device, memory, sizeof counts, &s->error));
}

static void counts_of_the_device(void **state)
{
    (void)state;
    on_each_device(check_counts);
}

/* More commands than the ring holds, in batches that do not divide it. */
static void check_ring(struct subject *s)
{
    const struct device_heap_options options = {.policy = DEVICE_HEAP_TLSF,
                                                .padding = DEVICE_HEAP_TIGHT,
                                                .arena_bytes = 1 << 20,
                                                .slots = 64,
                                                .ring_commands = 10000};
    enum { EACH = 3000, BATCHES = 21 };
    struct device_heap *heap;
    uint32_t slot, kept[BATCHES], words[SLOT_WORDS];
    uint32_t header[HEAP_HEADER_WORDS];
    ok(s, device_heap_open(s->device, &options, &heap, &s->error));
    for (uint32_t b = 0; b < BATCHES; b++) {
        for (unsigned i = 0; i < EACH / 2 - 1; i++) {
            ok(s, device_heap_alloc(heap, 1 + i % 100, 1, &slot, &s->error));
            ok(s, device_heap_free(heap, slot, &s->error));
        }
        ok(s, device_heap_alloc(heap, 1000 + b, 1, &kept[b], &s->error));
        ok(s, device_heap_alloc(heap, 0, 1, &slot, &s->error));
        ok(s, device_heap_submit(heap, 0, 0, &s->error));
    }
    ok(s, device_heap_read_header(heap, header, &s->error));
    assert_int_equal(header[HEAP_STATUS], DEVICE_HEAP_EMPTY);
    assert_int_equal(header[HEAP_OPS], EACH * BATCHES);
    /* Every batch was its own, whatever had been at its place in the ring. */
    for (uint32_t b = 0; b < BATCHES; b++) {
        ok(s, device_heap_read_slot(heap, kept[b], words, &s->error));
        assert_int_equal(words[SLOT_COUNT], 1000 + b);
    }
    device_heap_close(heap);
}

static void ring_of_commands(void **state)
{
    (void)state;
    on_each_device(check_ring);
}

/* ---- a heap that cannot be ---- */

static void check_refusals(struct subject *s)
{
    struct device_heap *heap;
    struct device_heap_options o = {.arena_bytes = 3, .slots = 4};
    assert_int_equal(device_heap_open(s->device, &o, &heap, &s->error), ERR_USAGE);
    o = (struct device_heap_options){.arena_bytes = 4000};
    assert_int_equal(device_heap_open(s->device, &o, &heap, &s->error), ERR_USAGE);
    o = (struct device_heap_options){.arena_bytes = 4000, .slots = 1 << 28};
    assert_int_equal(device_heap_open(s->device, &o, &heap, &s->error), ERR_USAGE);
    o = (struct device_heap_options){.arena_bytes = UINT64_MAX - 3, .slots = 4};
    assert_int_equal(device_heap_open(s->device, &o, &heap, &s->error), ERR_UNSUPPORTED);
    o = (struct device_heap_options){.arena_bytes = 12, .slots = 4}; /* three words */
    uint32_t slot;
    uint32_t header[HEAP_HEADER_WORDS];
    ok(s, device_heap_open(s->device, &o, &heap, &s->error));
    ok(s, device_heap_alloc(heap, 1, 1, &slot, &s->error));
    ok(s, device_heap_submit(heap, 0, 0, &s->error));
    ok(s, device_heap_read_header(heap, header, &s->error));
    assert_int_equal(header[HEAP_STATUS], DEVICE_HEAP_BAD_ARGUMENT | DEVICE_HEAP_OUT_OF_MEMORY);
    device_heap_close(heap);
}

static void refusals(void **state)
{
    (void)state;
    on_each_device(check_refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_words),
        cmocka_unit_test(counts_of_the_device),
        cmocka_unit_test(ring_of_commands),
        cmocka_unit_test(refusals),
    };
    print_missing_devices();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
