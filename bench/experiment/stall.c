/* What a read-back costs a host that has work of its own.
 *
 * A frame queues `spin` of work, then a kernel whose result says how much memory the next one
 * needs.
 *
 *   readback   the host reads that number, which waits for everything queued, asks an allocator for
 *              the memory, and queues the kernel that fills it
 *
 * and then does `host_work` of its own. The claim that is measured: a read-back makes a frame take
 * spin + host_work, because neither works while the other does; without it, it is the larger one.
 * (The account of a memory heap in shader code argues so, without numbers.)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/allocator.h"
#include "base/arena.h"
#include "base/clock.h"
#include "experiment/kernels.h"
#include "experiment/list.h"
#include "run/atlas_bench.h"
#include "run/device_source.h"

#define GAMUT_SOURCE(...) __VA_ARGS__
#include "experiment/stall_source.h"
#undef GAMUT_SOURCE
#define GAMUT_SOURCE(...) #__VA_ARGS__
static const char source_text[] =
#include "experiment/stall_source.h"
    ;

enum { STALL_FRAMES, STALL_LONGEST, STALL_WORDS };
static const struct option_spec options[] = {
    [STALL_FRAMES] = {"frames", OPTION_COUNT, "10", NULL, 2, 100000, "frames of a row"},
    [STALL_LONGEST] = {"longest_us", OPTION_COUNT, "500", NULL, 1, 1000000,
                       "the longest queued work, in microseconds; also a tenth of it, and so on"},
    [STALL_WORDS] = {"words", OPTION_COUNT, "65536", NULL, 1, 1 << 28,
                     "most words of memory that a frame needs"},
    {NULL, OPTION_COUNT, NULL, NULL, 0, 0, NULL},
};

enum { PARAMETER_WAY, PARAMETER_STRATEGY, PARAMETER_SPIN, PARAMETER_WORK };
static const struct experiment_parameter parameters[] = {
    [PARAMETER_WAY] = {"way", false, UNIT_COUNT, "readback"},
    [PARAMETER_STRATEGY] = {"strategy", false, UNIT_COUNT, "the allocator on the host, or -"},
    [PARAMETER_SPIN] = {"spin_ns", true, UNIT_NS, "work that each frame queues first"},
    [PARAMETER_WORK] = {"host_work_ns", true, UNIT_NS, "the host's own work in each frame"},
    {NULL, false, UNIT_COUNT, NULL},
};

/* clang-format off */
#define METRIC_LIST(X)                                                                             \
    X(frame_ns, NS, SAMPLED, LOWER, "time of all frames until the device is idle, over their number") \
    X(claim_ns, NS, SAMPLED, NEITHER, "what is claimed of it: queued work + the host's, or the longer of the two") \
    X(blocked_ns, NS, SAMPLED, LOWER, "host time of a frame in the read-back and in the allocator")  \
    X(readback_ns, NS, SAMPLED, LOWER, "the read-back's part of that")                               \
    X(enqueue_ns, NS, SAMPLED, LOWER, "host time of a frame in giving commands")                     \
    X(driver_call_count, COUNT, EXACT, LOWER, "calls of the driver for memory, over all frames")     \
    X(peak_reserved_bytes, BYTES, EXACT, LOWER, "most bytes held from the driver at once")
/* clang-format on */
#define X(name, unit, kind, better, help) METRIC_##name,
enum metric { METRIC_LIST(X) METRICS };
#undef X
#define X(name, unit, kind, better, help) {#name, UNIT_##unit, KIND_##kind, BETTER_##better, help},
static const struct counter_info metrics[] = {METRIC_LIST(X)};
#undef X

enum { LIVE_FRAMES = 4 }; /* a frame's memory is freed so many frames later */

/* ---- kernels --------------------------------------------------------------------------------- */

static void host_produce(const union launch_value *a, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        produce_item(item, kernel_memory(a[0]), a[1].u32, a[2].u32);
}

static void host_consume(const union launch_value *a, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        consume_item(item, kernel_memory(a[0]), a[1].i64, a[2].u32);
}

enum { KERNEL_PRODUCE, KERNEL_CONSUME, KERNELS };
static const struct source_kernel kernels[] = {
    [KERNEL_PRODUCE] = {"produce", "u32 *counts, u32 frame, u32 words", host_produce},
    [KERNEL_CONSUME] = {"consume", "u32 *block, i64 offset, u32 frame", host_consume},
};

/* ---- the device ------------------------------------------------------------------------------ */

struct stall {
    struct device *device;
    const struct device_ops *ops;
    struct experiment_settings settings;
    struct kernels_built built;
    struct atlas_options bench_options;
    struct atlas atlas; /* the bench wants one to write into */
    struct bench bench; /* for its calibrated spin */
    uint64_t counts;    /* a word a frame */
    uint64_t frames;
};

static void close_stall(void *state)
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

static int open_stall(struct device *device, const struct experiment_settings *settings,
                      void **state, struct error *error)
{
    struct stall *s = must_alloc(sizeof *s);
    *s = (struct stall){.device = device,
                        .ops = device->ops,
                        .settings = *settings,
                        .bench_options = {.quick = true, .seed = settings->seed},
                        .frames = settings->options.value[STALL_FRAMES]};
    s->bench = (struct bench){
        .device = device, .ops = device->ops, .options = &s->bench_options, .atlas = &s->atlas};
    int code = kernels_build(device, "stall", source_text, kernels, KERNELS, &s->built, error);
    if (!code)
        code = bench_open(&s->bench, error);
    if (!code)
        code = s->ops->alloc(device, s->frames * 4, &s->counts, error);
    if (code)
        close_stall(s);
    else
        *state = s;
    return code;
}

/* ---- a row ----------------------------------------------------------------------------------- */

struct run {
    struct stall *s;
    const struct experiment_row *row;
    struct experiment_record *record;
    struct source source;
    struct allocator allocator;
    struct block block[LIVE_FRAMES];
    uint64_t bytes[LIVE_FRAMES];      /* asked for; 0: not live */
    uint64_t blocked_ns, readback_ns; /* of this frame */
};

static void host_work(uint64_t ns)
{
    const uint64_t until = clock_ns() + ns;
    while (ns && clock_ns() < until)
        ;
}

static int free_slot(struct run *r, unsigned slot, struct error *error)
{
    if (!r->bytes[slot])
        return 0;
    const uint64_t bytes = r->bytes[slot];
    r->bytes[slot] = 0;
    int code = allocator_free(&r->allocator, &r->block[slot], "frame", bytes);
    return code ? error_set(error, code, "%s", r->source.error.text) : 0;
}

static int readback_frame(struct run *r, u32 frame, struct error *error)
{
    struct stall *s = r->s;
    const unsigned slot = frame % LIVE_FRAMES;
    u32 count;
    const uint64_t began = clock_ns();
    int code = s->ops->read(s->device, &count, s->counts, (uint64_t)frame * 4, 4, error);
    r->readback_ns = clock_ns() - began;
    if (!code)
        code = free_slot(r, slot, error);
    if (!code) {
        const struct alloc_request request = {
            .size = (uint64_t)count * 4, .alignment = 4, .tag = "frame"};
        code = allocator_alloc(&r->allocator, &request, &r->block[slot]);
        if (code)
            return error_set(error, code, "%s", r->source.error.text);
        r->bytes[slot] = request.size;
    }
    r->blocked_ns = clock_ns() - began;
    if (code)
        return code;
    const union launch_value arguments[] = {
        {.memory = r->block[slot].memory}, {.i64 = (i64)r->block[slot].offset / 4}, {.u32 = frame}};
    return kernels_launch(&s->built, KERNEL_CONSUME, count, arguments, error);
}

static int frame(struct run *r, u32 number, struct error *error)
{
    struct stall *s = r->s;
    const uint64_t spin_ns = r->row->number[PARAMETER_SPIN], began = clock_ns();
    const union launch_value arguments[] = {{.memory = s->counts},
                                            {.u32 = number},
                                            {.u32 = (u32)s->settings.options.value[STALL_WORDS]}};
    int code = spin_ns ? bench_spin(&s->bench, spin_ns, error) : 0;
    if (!code)
        code = kernels_launch(&s->built, KERNEL_PRODUCE, 1, arguments, error);
    if (!code)
        code = readback_frame(r, number, error);
    const uint64_t ns = clock_ns() - began;
    experiment_take(r->record, METRIC_enqueue_ns, (double)(ns - r->blocked_ns));
    experiment_take(r->record, METRIC_blocked_ns, (double)r->blocked_ns);
    experiment_take(r->record, METRIC_readback_ns, (double)r->readback_ns);
    host_work(r->row->number[PARAMETER_WORK]);
    return code;
}

/* What the last frames left in memory, word by word. */
static int check(struct run *r, struct error *error)
{
    struct stall *s = r->s;
    const u32 words = (u32)s->settings.options.value[STALL_WORDS];
    u32 *content = must_alloc(words * sizeof *content);
    int code = 0;
    for (u32 f = (u32)s->frames - 1; !code && f + LIVE_FRAMES >= s->frames; f--) {
        const u32 count = stall_size(f, words);
        const struct block *block = &r->block[f % LIVE_FRAMES];
        if (r->bytes[f % LIVE_FRAMES] != (uint64_t)count * 4)
            code = error_set(error, ERR_WRONG, "frame %u has %llu bytes, %llu expected", f,
                             (unsigned long long)r->bytes[f % LIVE_FRAMES],
                             (unsigned long long)count * 4);
        if (!code)
            code =
                s->ops->read(s->device, content, block->memory, block->offset, count * 4ull, error);
        for (u32 i = 0; !code && i < count; i++)
            if (content[i] != f * 65536 + i)
                code = error_set(error, ERR_WRONG, "word %u of frame %u is %u, %u expected", i, f,
                                 content[i], f * 65536 + i);
        if (f == 0)
            break;
    }
    free(content);
    return code;
}

static int run_frames(struct run *r, struct error *error)
{
    struct stall *s = r->s;
    int code = s->ops->sync(s->device, error);
    const uint64_t began = clock_ns();
    for (u32 f = 0; f < s->frames && !code; f++)
        code = frame(r, f, error);
    if (!code)
        code = s->ops->sync(s->device, error);
    const double frame_ns = (double)(clock_ns() - began) / (double)s->frames;
    const double spin_ns = (double)r->row->number[PARAMETER_SPIN];
    const double work_ns = (double)r->row->number[PARAMETER_WORK];
    experiment_take(r->record, METRIC_frame_ns, frame_ns);
    experiment_take(r->record, METRIC_claim_ns, spin_ns + work_ns);
    return code;
}

static void take_counts(struct run *r)
{
    const struct source_counts *c = &r->source.counts;
    source_update(&r->source);
    experiment_take(r->record, METRIC_driver_call_count,
                    (double)(c->alloc_count + c->free_count + c->map_count + c->unmap_count));
    experiment_take(r->record, METRIC_peak_reserved_bytes, (double)c->peak_reserved_bytes);
}

static int measure(void *state, const struct experiment_row *row, struct experiment_record *record,
                   struct error *error)
{
    struct stall *s = state;
    struct run r = {.s = s, .row = row, .record = record};
    const struct allocator_ops *ops;
    struct option_values values;
    r.source = device_source(s->device, s->settings.capacity_bytes);
    int code = allocator_parse(row->word[PARAMETER_STRATEGY], &ops, &values, error);
    if (!code)
        code = allocator_open(&r.allocator, ops, &values, &r.source, error);
    if (code)
        return code;
    code = run_frames(&r, error);
    if (!code)
        take_counts(&r);
    if (!code)
        code = check(&r, error);
    for (unsigned slot = 0; slot < LIVE_FRAMES; slot++)
        free_slot(&r, slot, NULL);
    allocator_close(&r.allocator);
    return code;
}

/* ---- the rows -------------------------------------------------------------------------------- */

static void add_rows(struct experiment_plan *plan, const char *way, const char *strategy,
                     uint64_t longest_ns)
{
    const uint64_t spins[] = {0, longest_ns / 100, longest_ns / 10, longest_ns};
    const uint64_t works[] = {0, longest_ns / 10, longest_ns / 2};
    for (size_t i = 0; i < sizeof spins / sizeof *spins; i++)
        for (size_t j = 0; j < sizeof works / sizeof *works; j++) {
            struct experiment_row *row = experiment_add_row(plan);
            snprintf(row->word[PARAMETER_WAY], EXPERIMENT_WORD_MAX, "%s", way);
            snprintf(row->word[PARAMETER_STRATEGY], EXPERIMENT_WORD_MAX, "%s", strategy);
            row->number[PARAMETER_SPIN] = spins[i];
            row->number[PARAMETER_WORK] = works[j];
        }
}

static int plan(const struct experiment_settings *settings, struct experiment_plan *out,
                struct error *error)
{
    const uint64_t longest_ns = settings->options.value[STALL_LONGEST] * 1000;
    char strategy[EXPERIMENT_WORD_MAX];
    (void)error;
    for (size_t i = 0; experiment_strategy(settings, i, strategy); i++)
        add_rows(out, "readback", strategy, longest_ns);
    return 0;
}

const struct experiment experiment_stall = {
    .version = EXPERIMENT_API_VERSION,
    .name = "stall",
    .summary = "what a frame takes where the host reads back how much memory it needs",
    .options = options,
    .parameters = parameters,
    .metrics = metrics,
    .metric_count = METRICS,
    .plan = plan,
    .open = open_stall,
    .measure = measure,
    .close = close_stall,
};
