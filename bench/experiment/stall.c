/* The cost of a read-back to a host that has work of its own.
 *
 * A frame queues `spin` of work, then a kernel that computes how much memory the next kernel needs.
 * Memory comes by one of two methods:
 *
 *   readback   the host reads that number, which waits for everything queued, asks an allocator for
 *              the memory, and queues the kernel that fills it
 *   heap       a heap on the device takes the number from device memory; the kernel that fills the
 *              memory looks up where it is
 *
 * Then the host does `host_work` of its own. The claim that is tested: with a read-back a frame
 * takes spin + host_work, because host and device wait for each other; with the heap it takes the
 * longer of the two. (An account of a memory heap in shader code makes it, without numbers.)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "experiment/heap/heap.h"
#include "experiment/kernels.h"
#include "experiment/list.h"
#include "run/atlas/atlas_bench.h"
#include "run/execute/device_source.h"

#include "experiment/stall.kernel"

enum { STALL_FRAMES, STALL_LONGEST, STALL_WORDS };
static const struct option_spec options[] = {
    [STALL_FRAMES] = {"frames", OPTION_COUNT, "10", NULL, 1, 100000, "frames that are timed"},
    [STALL_LONGEST] =
        {"longest_us", OPTION_COUNT, "500", NULL, 1, 1000000,
         "longest queued work, in microseconds; a tenth of it and so on are measured too"},
    [STALL_WORDS] = {"words", OPTION_COUNT, "65536", NULL, 1, 1 << 28,
                     "most words of memory that a frame needs"},
    {NULL, OPTION_COUNT, NULL, NULL, 0, 0, NULL},
};

enum { PARAMETER_METHOD, PARAMETER_STRATEGY, PARAMETER_SPIN, PARAMETER_WORK };
static const struct experiment_parameter parameters[] = {
    [PARAMETER_METHOD] = {"method", false, UNIT_COUNT, "readback, heap"},
    [PARAMETER_STRATEGY] = {"strategy", false, UNIT_COUNT, "the allocator on the host, or -"},
    [PARAMETER_SPIN] = {"spin_ns", true, UNIT_NS, "work that each frame queues first"},
    [PARAMETER_WORK] = {"host_work_ns", true, UNIT_NS, "the host's own work in each frame"},
    {NULL, false, UNIT_COUNT, NULL},
};

/* clang-format off */
#define METRIC_LIST(X)                                                                             \
    X(frame_ns, NS, SAMPLED, LOWER, "time of the timed frames until the device is idle, over their number") \
    X(claim_ns, NS, SAMPLED, NEITHER, "claimed: queued work + host work for readback, the longer of the two for heap") \
    X(blocked_ns, NS, SAMPLED, LOWER, "host time of a frame in the read-back and in the allocator")  \
    X(readback_ns, NS, SAMPLED, LOWER, "the part of that in the read-back")                           \
    X(enqueue_ns, NS, SAMPLED, LOWER, "host time of a frame in enqueuing commands; the driver may wait there until its queue has room")                  \
    X(driver_call_count, COUNT, EXACT, LOWER, "calls of the driver for memory, over all frames")     \
    X(peak_reserved_bytes, BYTES, EXACT, LOWER, "most bytes held from the driver at once")
/* clang-format on */
EXPERIMENT_METRICS(METRIC_LIST);

enum {
    LIVE_FRAMES = 4
}; /* a frame's memory is freed this many frames later; the first ones warm up */

/* ---- kernels --------------------------------------------------------------------------------- */

KERNEL_ON_HOST(produce, kernel_memory(a[0]), a[1].u32, a[2].u32)
KERNEL_ON_HOST(consume, kernel_memory(a[0]), a[1].i64, a[2].u32)
KERNEL_ON_HOST(consume_slot, kernel_memory(a[0]), kernel_memory(a[1]), a[2].u32, a[3].u32)

enum { KERNEL_PRODUCE, KERNEL_CONSUME, KERNEL_CONSUME_SLOT, KERNELS };
static const struct source_kernel kernels[] = {
    [KERNEL_PRODUCE] = {"produce", "u32 *counts, u32 frame, u32 words", host_produce},
    [KERNEL_CONSUME] = {"consume", "u32 *block, i64 offset, u32 frame", host_consume},
    [KERNEL_CONSUME_SLOT] = {"consume_slot", "u32 *slots, u32 *arena, u32 number, u32 frame",
                             host_consume_slot},
};

/* ---- the device ------------------------------------------------------------------------------ */

struct stall {
    struct device *device;
    const struct device_ops *ops;
    struct experiment_settings settings;
    struct kernels_built built;
    struct atlas_options bench_options;
    struct atlas atlas; /* required by the bench */
    struct bench bench; /* for its calibrated spin kernel */
    uint64_t counts;    /* device memory: a word for each frame */
    uint64_t frames;    /* including those that are not timed */
};

static void stall_close(void *state)
{
    struct stall *s = state;
    if (s->counts)
        s->ops->free(s->device, s->counts, s->frames * 4, NULL);
    bench_close(&s->bench);
    free(s->bench.host);
    atlas_free(&s->atlas);
    kernels_unbuild(&s->built);
    free(s);
}

static int stall_open(struct device *device, const struct experiment_settings *settings,
                      void **state, struct error *error)
{
    struct stall *s = must_alloc(sizeof *s);
    *s = (struct stall){.device = device,
                        .ops = device->ops,
                        .settings = *settings,
                        .bench_options = {.quick = true, .seed = settings->seed},
                        .frames = LIVE_FRAMES + settings->options.value[STALL_FRAMES]};
    s->bench = (struct bench){
        .device = device, .ops = device->ops, .options = &s->bench_options, .atlas = &s->atlas};
    int code =
        kernels_build(device, "stall", kernel_text_stall, kernels, KERNELS, &s->built, error);
    THEN(code, bench_open(&s->bench, error));
    THEN(code, s->ops->alloc(device, s->frames * 4, &s->counts, error));
    if (code)
        stall_close(s);
    else
        *state = s;
    return code;
}

/* ---- a row ----------------------------------------------------------------------------------- */

struct stall_run {
    struct stall *s;
    const struct experiment_row *row;
    struct experiment_record *record;
    const struct stall_method *method;
    struct source source;
    struct allocator allocator;
    struct device_heap *heap;
    struct block block[LIVE_FRAMES];
    uint64_t bytes[LIVE_FRAMES]; /* requested; 0: not live */
    uint32_t slot[LIVE_FRAMES];
    uint64_t blocked_ns, readback_ns; /* this frame's times */
};

struct stall_method {
    const char *name;
    bool uses_allocator;
    double (*claim_ns)(double spin_ns, double host_work_ns);
    int (*open)(struct stall_run *r, struct error *error);
    /* Frees the memory of the frame LIVE_FRAMES earlier, gets memory for this one, whose need is
     * being computed, and queues the kernel that fills it. */
    int (*frame)(struct stall_run *r, uint32_t frame, struct error *error);
    /* Not timed. Finds the words of a frame; ERR_WRONG unless there are `count`. */
    int (*locate)(struct stall_run *r, uint32_t frame, uint32_t count, uint64_t *memory,
                  uint64_t *offset_words, struct error *error);
    void (*close)(struct stall_run *r);
};

static uint32_t most_words(const struct stall_run *r)
{
    return (uint32_t)r->s->settings.options.value[STALL_WORDS];
}

/* ---- readback ---- */

static double claim_sum(double spin_ns, double host_work_ns)
{
    return spin_ns + host_work_ns;
}

static int readback_open(struct stall_run *r, struct error *error)
{
    return experiment_open_allocator(&r->allocator, r->row->word[PARAMETER_STRATEGY], &r->source,
                                     error);
}

static int free_slot(struct stall_run *r, unsigned turn, struct error *error)
{
    const uint64_t bytes = r->bytes[turn];
    if (!bytes)
        return 0;
    r->bytes[turn] = 0;
    int code = allocator_free(&r->allocator, &r->block[turn], "frame", bytes);
    return code ? error_set(error, code, "%s", r->source.error.text) : 0;
}

static int take_slot(struct stall_run *r, unsigned turn, uint64_t bytes, struct error *error)
{
    const struct alloc_request request = {.size = bytes, .alignment = 4, .tag = "frame"};
    TRY(free_slot(r, turn, error));
    int code = allocator_alloc(&r->allocator, &request, &r->block[turn]);
    if (code)
        return error_set(error, code, "%s", r->source.error.text);
    r->bytes[turn] = bytes;
    return 0;
}

static int readback_frame(struct stall_run *r, uint32_t frame, struct error *error)
{
    struct stall *s = r->s;
    const unsigned turn = frame % LIVE_FRAMES;
    uint32_t count;
    const uint64_t began = clock_ns();
    int code = s->ops->read(s->device, &count, s->counts, (uint64_t)frame * 4, 4, error);
    r->readback_ns = clock_ns() - began;
    THEN(code, take_slot(r, turn, (uint64_t)count * 4, error));
    r->blocked_ns = clock_ns() - began;
    const union launch_value arguments[] = {{.memory = r->block[turn].memory},
                                            {.i64 = (int64_t)r->block[turn].offset / 4},
                                            {.u32 = frame}};
    return code ? code : kernels_launch(&s->built, KERNEL_CONSUME, count, arguments, error);
}

static int readback_locate(struct stall_run *r, uint32_t frame, uint32_t count, uint64_t *memory,
                           uint64_t *offset_words, struct error *error)
{
    const unsigned turn = frame % LIVE_FRAMES;
    if (r->bytes[turn] != (uint64_t)count * 4)
        return error_set(error, ERR_WRONG, "frame %u has %llu bytes for %u words", frame,
                         (unsigned long long)r->bytes[turn], count);
    *memory = r->block[turn].memory;
    *offset_words = r->block[turn].offset / 4;
    return 0;
}

static void readback_close(struct stall_run *r)
{
    if (!r->allocator.ops)
        return;
    for (unsigned turn = 0; turn < LIVE_FRAMES; turn++)
        free_slot(r, turn, NULL);
    allocator_close(&r->allocator);
}

/* ---- heap ---- */

static double claim_longer(double spin_ns, double host_work_ns)
{
    return fmax(spin_ns, host_work_ns);
}

static int heap_open(struct stall_run *r, struct error *error)
{
    /* Room for all live frames at their worst, and as much again for fragmentation. */
    const struct device_heap_options heap = {
        .policy = DEVICE_HEAP_TLSF,
        .padding = DEVICE_HEAP_TIGHT,
        .arena_bytes = (uint64_t)most_words(r) * 4 * (2 * LIVE_FRAMES) + 4096,
        .slots = LIVE_FRAMES + 1,
    };
    return device_heap_open(r->s->device, &heap, &r->heap, error);
}

static int heap_frame(struct stall_run *r, uint32_t frame, struct error *error)
{
    struct stall *s = r->s;
    const unsigned turn = frame % LIVE_FRAMES;
    TRY(frame < LIVE_FRAMES ? 0 : device_heap_free(r->heap, r->slot[turn], error));
    TRY(device_heap_alloc_counted(r->heap, frame, 1, &r->slot[turn], error));
    TRY(device_heap_submit(r->heap, s->counts, frame + 1, error));
    const union launch_value arguments[] = {
        {.memory = device_heap_slots(r->heap)},
        {.memory = device_heap_arena(r->heap)},
        {.u32 = r->slot[turn]},
        {.u32 = frame},
    };
    return kernels_launch(&s->built, KERNEL_CONSUME_SLOT, most_words(r), arguments, error);
}

static int heap_locate(struct stall_run *r, uint32_t frame, uint32_t count, uint64_t *memory,
                       uint64_t *offset_words, struct error *error)
{
    const uint32_t number = r->slot[frame % LIVE_FRAMES];
    uint32_t slot[SLOT_WORDS];
    int code = device_heap_read_slot(r->heap, number, slot, error);
    if (!code && (!slot[SLOT_BLOCK] || slot[SLOT_COUNT] != count))
        code = error_set(error, ERR_WRONG, "frame %u has %u words in block %u, %u expected", frame,
                         slot[SLOT_COUNT], slot[SLOT_BLOCK], count);
    *memory = device_heap_arena(r->heap);
    *offset_words = (uint64_t)slot[SLOT_INDEX] * slot[SLOT_STRIDE];
    return code;
}

static void heap_close(struct stall_run *r)
{
    device_heap_close(r->heap);
}

static const struct stall_method methods[] = {
    {"readback", true, claim_sum, readback_open, readback_frame, readback_locate, readback_close},
    {"heap", false, claim_longer, heap_open, heap_frame, heap_locate, heap_close},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* ---- all frames ---- */

static void host_work(uint64_t ns)
{
    const uint64_t until = clock_ns() + ns;
    while (ns && clock_ns() < until)
        ;
}

static int stall_frame(struct stall_run *r, uint32_t number, struct error *error)
{
    struct stall *s = r->s;
    const uint64_t spin_ns = r->row->number[PARAMETER_SPIN];
    const union launch_value arguments[] = {
        {.memory = s->counts}, {.u32 = number}, {.u32 = most_words(r)}};
    r->blocked_ns = r->readback_ns = 0;
    TRY(spin_ns ? bench_spin(&s->bench, spin_ns, error) : 0);
    TRY(kernels_launch(&s->built, KERNEL_PRODUCE, 1, arguments, error));
    return r->method->frame(r, number, error);
}

static int timed_frame(struct stall_run *r, uint32_t number, struct error *error)
{
    const uint64_t began = clock_ns();
    int code = stall_frame(r, number, error);
    const uint64_t ns = clock_ns() - began;
    experiment_take(r->record, METRIC_enqueue_ns, (double)(ns - r->blocked_ns));
    experiment_take(r->record, METRIC_blocked_ns, (double)r->blocked_ns);
    experiment_take(r->record, METRIC_readback_ns, (double)r->readback_ns);
    host_work(r->row->number[PARAMETER_WORK]);
    return code;
}

static int run_frames(struct stall_run *r, struct error *error)
{
    struct stall *s = r->s;
    const double spin_ns = (double)r->row->number[PARAMETER_SPIN];
    const double work_ns = (double)r->row->number[PARAMETER_WORK];
    int code = 0;
    for (uint32_t f = 0; f < LIVE_FRAMES && !code; f++)
        code = stall_frame(r, f, error);
    THEN(code, s->ops->sync(s->device, error));
    const uint64_t began = clock_ns();
    for (uint32_t f = LIVE_FRAMES; f < s->frames && !code; f++)
        code = timed_frame(r, f, error);
    THEN(code, s->ops->sync(s->device, error));
    experiment_take(r->record, METRIC_frame_ns,
                    (double)(clock_ns() - began) / (double)(s->frames - LIVE_FRAMES));
    experiment_take(r->record, METRIC_claim_ns, r->method->claim_ns(spin_ns, work_ns));
    return code;
}

static int check_frame(struct stall_run *r, uint32_t number, uint32_t *content, struct error *error)
{
    struct stall *s = r->s;
    const uint32_t count = stall_size(number, most_words(r));
    uint64_t memory, offset_words;
    TRY(r->method->locate(r, number, count, &memory, &offset_words, error));
    TRY(s->ops->read(s->device, content, memory, offset_words * 4, count * 4ull, error));
    for (uint32_t i = 0; i < count; i++)
        if (content[i] != number * 65536 + i)
            TRY(error_set(error, ERR_WRONG, "word %u of frame %u is %u, %u expected", i, number,
                          content[i], number * 65536 + i));
    return 0;
}

/* Checks the memory of the last frames word by word. */
static int stall_check(struct stall_run *r, struct error *error)
{
    const uint32_t frames = (uint32_t)r->s->frames;
    uint32_t *content = must_alloc(most_words(r) * sizeof *content);
    int code = 0;
    for (uint32_t f = frames - LIVE_FRAMES; f < frames && !code; f++)
        code = check_frame(r, f, content, error);
    free(content);
    return code;
}

static void take_counts(struct stall_run *r)
{
    const struct source_counts *c = &r->source.counts;
    const uint64_t held_bytes = r->heap ? device_heap_held_bytes(r->heap) : 0;
    source_update(&r->source);
    experiment_take(r->record, METRIC_driver_call_count,
                    (double)(c->alloc_count + c->free_count + c->map_count + c->unmap_count));
    experiment_take(r->record, METRIC_peak_reserved_bytes,
                    (double)(c->peak_reserved_bytes + held_bytes));
}

static int stall_measure(void *state, const struct experiment_row *row,
                         struct experiment_record *record, struct error *error)
{
    struct stall *s = state;
    struct stall_run r = {.s = s, .row = row, .record = record, .method = methods};
    while (strcmp(r.method->name, row->word[PARAMETER_METHOD]) != 0)
        r.method++;
    r.source = device_source(s->device, s->settings.capacity_bytes);
    int code = r.method->open(&r, error);
    THEN(code, run_frames(&r, error));
    if (!code)
        take_counts(&r);
    THEN(code, stall_check(&r, error));
    r.method->close(&r);
    return code;
}

/* ---- the rows -------------------------------------------------------------------------------- */

static void add_rows(struct experiment_plan *plan, const char *method, const char *strategy,
                     uint64_t longest_ns)
{
    const uint64_t spins[] = {0, longest_ns / 100, longest_ns / 10, longest_ns};
    const uint64_t works[] = {0, longest_ns / 10, longest_ns / 2};
    for (size_t i = 0; i < sizeof spins / sizeof *spins; i++)
        for (size_t j = 0; j < sizeof works / sizeof *works; j++) {
            struct experiment_row *row = experiment_add_row(plan);
            experiment_put_word(row, PARAMETER_METHOD, method);
            experiment_put_word(row, PARAMETER_STRATEGY, strategy);
            row->number[PARAMETER_SPIN] = spins[i];
            row->number[PARAMETER_WORK] = works[j];
        }
}

static int stall_plan(const struct experiment_settings *settings, struct experiment_plan *out,
                      struct error *error)
{
    const uint64_t longest_ns = settings->options.value[STALL_LONGEST] * 1000;
    char strategy[EXPERIMENT_WORD_MAX];
    (void)error;
    for (size_t m = 0; m < METHODS; m++)
        for (size_t i = 0; experiment_strategy(settings, methods[m].uses_allocator, i, strategy);
             i++)
            add_rows(out, methods[m].name, strategy, longest_ns);
    return 0;
}

const struct experiment experiment_stall = {
    .name = "stall",
    .summary = "the time of a frame in which the host reads back how much memory it needs",
    .options = options,
    .parameters = parameters,
    .metrics = metrics,
    .metric_count = METRICS,
    .plan = stall_plan,
    .open = stall_open,
    .measure = stall_measure,
    .close = stall_close,
};
