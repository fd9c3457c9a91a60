/* The bench: kernels (a text for each language), cells, and the commands, whose costs are curves of
 * the method "command":
 *
 *   launch           host time of launching an empty kernel into a queue that is not full
 *   launch_device    device time of an empty kernel in a queue that is never empty
 *   launch_sync      host time of an empty kernel and of waiting for it
 *   sync             host time of waiting for a device that is idle
 *   mark             host time of a mark
 *   mark_device      device time that marks around an empty kernel add to it
 *   copy, fill       device time, by size; *_call: host time of enqueuing one of 4 KiB
 *   read, write      host time, blocking, to and from pageable memory, by size
 *
 * Device times are taken after a spinning kernel, so that the device never waits for the host.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "run/atlas/atlas_bench.h"

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 4 };

/* A chain of shifts, each of which needs the one before: no compiler and no processor shortens
 * it. */
#define SPIN_BODY                                                                                  \
    "for (i = 0; i < iterations; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } out[0] = x;"

static const char opencl_text[] =
    "kernel void empty(void) { }\n"
    "kernel void spin(global ulong *out, long iterations)\n"
    "{ if (get_global_id(0) == 0) { ulong x = out[0] | 1; long i; " SPIN_BODY " } }\n"
    "kernel void touch_pages(global uint *memory, long pages)\n"
    "{ size_t i = get_global_id(0); if (i < (size_t)pages) memory[i * 1024] = (uint)i; }\n";

static const char cuda_text[] =
    "#define KERNEL extern \"C\" __global__ void\n"
    "typedef long long i64;\n"
    "__device__ size_t item() { return (size_t)blockIdx.x * blockDim.x + threadIdx.x; }\n"
    "KERNEL empty() { }\n"
    "KERNEL spin(unsigned long long *out, i64 iterations)\n"
    "{ if (item() == 0) { unsigned long long x = out[0] | 1; i64 i; " SPIN_BODY " } }\n"
    "KERNEL touch_pages(unsigned *memory, i64 pages)\n"
    "{ size_t i = item(); if (i < (size_t)pages) memory[i * 1024] = (unsigned)i; }\n";

/* ---- the same for the host ---- */

static void *address(union launch_value value)
{
    return (void *)(uintptr_t)value.memory;
}

static void host_empty(const union launch_value *arguments, int64_t begin, int64_t end) {}

static void host_spin(const union launch_value *arguments, int64_t begin, int64_t end)
{
    volatile uint64_t *out = address(arguments[0]);
    uint64_t x = out[0] | 1;
    if (begin == end)
        return;
    for (int64_t i = 0; i < arguments[1].i64; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    out[0] = x;
}

static void host_touch(const union launch_value *arguments, int64_t begin, int64_t end)
{
    volatile uint32_t *memory = address(arguments[0]);
    for (int64_t i = begin; i < end; i++)
        memory[i * PAGE_WORDS] = (uint32_t)i;
}

static const char *const names[] = {
    [BENCH_EMPTY] = "empty",
    [BENCH_SPIN] = "spin",
    [BENCH_TOUCH] = "touch_pages",
};

static const struct host_kernel host_kernels[] = {
    [BENCH_EMPTY] = {"empty", host_empty},
    [BENCH_SPIN] = {"spin", host_spin},
    [BENCH_TOUCH] = {"touch_pages", host_touch},
};

static int bench_build(struct bench *b, struct error *error)
{
    const enum kernel_language language = b->device->info->language;
    const struct kernel_source source = {
        .name = "atlas",
        .text = language == KERNEL_OPENCL_C ? opencl_text
                : language == KERNEL_CUDA_C ? cuda_text
                                            : "",
        .kernel_count = BENCH_KERNELS,
        .kernel_names = names,
        .host_kernels = language == KERNEL_HOST_C ? host_kernels : NULL,
    };
    return b->ops->build(b->device, &source, &b->program, error);
}

/* ---- launches ---- */

static int bench_launch(struct bench *b, enum bench_kernel kernel, int64_t items, size_t count,
                        const enum launch_arg_kind *kinds, const union launch_value *arguments,
                        struct error *error)
{
    const struct launch shape = {.extent = {items, 1, 1}, .rank = 1};
    return b->ops->launch(b->device, b->program, kernel, &shape, count, kinds, arguments, error);
}

static int spin_iterations(struct bench *b, int64_t iterations, struct error *error)
{
    static const enum launch_arg_kind kinds[] = {ARG_MEMORY, ARG_I64};
    const union launch_value arguments[] = {{.memory = b->scratch}, {.i64 = iterations}};
    return bench_launch(b, BENCH_SPIN, 1, 2, kinds, arguments, error);
}

int bench_spin(struct bench *b, uint64_t ns, struct error *error)
{
    return spin_iterations(b, (int64_t)((double)ns * b->iterations_per_ns), error);
}

int bench_touch(struct bench *b, uint64_t memory, uint64_t bytes, struct error *error)
{
    static const enum launch_arg_kind kinds[] = {ARG_MEMORY, ARG_I64};
    int64_t pages = (int64_t)((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
    const union launch_value arguments[] = {{.memory = memory}, {.i64 = pages}};
    return bench_launch(b, BENCH_TOUCH, pages, 2, kinds, arguments, error);
}

int bench_sync(struct bench *b, struct error *error)
{
    return b->ops->sync(b->device, error);
}

/* ---- obstacles ---- */

static int put_in_the_way(struct bench *b, struct error *error)
{
    const struct obstacle *o = &b->obstacle;
    TRY(b->ops->queues->use(b->device, o->queue, error));
    TRY(bench_spin(b, o->ns, error));
    TRY(o->use ? bench_touch(b, o->use, o->use_bytes, error) : 0);
    /* Leaving the queue submits it. */
    TRY(b->ops->queues->use(b->device, 1, error));
    return b->ops->queues->use(b->device, 0, error);
}

uint64_t bench_begin(struct bench *b)
{
    if (b->obstacle.stands && !b->obstacle_error.code)
        put_in_the_way(b, &b->obstacle_error);
    return clock_ns();
}

/* ---- open and close ---- */

static int time_spin(struct bench *b, int64_t iterations, uint64_t *ns, struct error *error)
{
    uint64_t start = clock_ns();
    TRY(spin_iterations(b, iterations, error));
    TRY(bench_sync(b, error));
    *ns = clock_ns() - start;
    return 0;
}

/* Raises the iterations until they take much longer than their launch. Then takes the least of a
 * few times, because clocks go up under load and any disturbance makes a try slower. */
static int bench_calibrate(struct bench *b, struct error *error)
{
    enum { TRIES = 5, LONG_NS = 4000000 };
    int64_t iterations = 1024;
    uint64_t ns = 0, least_ns = UINT64_MAX;
    while (ns < LONG_NS) {
        iterations *= 2;
        TRY(time_spin(b, iterations, &ns, error));
    }
    for (int i = 0; i < TRIES; i++) {
        TRY(time_spin(b, iterations, &ns, error));
        least_ns = ns < least_ns ? ns : least_ns;
    }
    b->iterations_per_ns = (double)iterations / (double)(least_ns ? least_ns : 1);
    return 0;
}

static int bench_allocate(struct bench *b, struct error *error)
{
    const uint64_t mib = 1 << 20;
    const struct device_info *info = b->device->info;
    uint64_t left = b->ops->free_bytes(b->device);
    uint64_t most = smaller(info->max_alloc_bytes, (left ? left : info->memory_bytes) / 8);
    uint64_t enough = b->options->quick          ? 4 * mib
                      : info->kind == DEVICE_CPU ? 512 * mib
                                                 : 4096 * mib;
    b->moved_bytes = smaller(most, enough);
    b->host_bytes = smaller(b->moved_bytes, 256 * mib);
    b->host = must_alloc(b->host_bytes);
    memset(b->host, 1, b->host_bytes);
    TRY(b->ops->alloc(b->device, BENCH_SCRATCH_BYTES, &b->scratch, error));
    TRY(b->ops->fill(b->device, b->scratch, 0, 1, BENCH_SCRATCH_BYTES, error));
    for (int side = 0; side < 2; side++) {
        TRY(b->ops->alloc(b->device, b->moved_bytes, &b->moved[side], error));
        TRY(b->ops->fill(b->device, b->moved[side], 0, 1, b->moved_bytes, error));
    }
    return bench_sync(b, error);
}

int bench_open(struct bench *b, struct error *error)
{
    b->is_synchronous = b->device->info->language == KERNEL_HOST_C;
    b->random.state = b->options->seed;
    b->atlas->timer_ns = (double)clock_reading_ns();
    b->launch_ns = b->launch_device_ns = NAN;
    TRY(bench_build(b, error));
    TRY(bench_allocate(b, error));
    return bench_calibrate(b, error);
}

void bench_close(struct bench *b)
{
    if (b->scratch)
        b->ops->free(b->device, b->scratch, BENCH_SCRATCH_BYTES, NULL);
    for (int side = 0; side < 2; side++)
        if (b->moved[side])
            b->ops->free(b->device, b->moved[side], b->moved_bytes, NULL);
    if (b->program)
        b->ops->unbuild(b->device, b->program);
}

/* ---- cells ---- */

void cell_open(struct cell *cell, unsigned most_samples)
{
    cell->most_samples = most_samples;
    for (size_t i = 0; i < CELL_CALLS && cell->calls[i]; i++) {
        cell->samples[i] = must_alloc(most_samples * sizeof *cell->samples[i]);
        cell->paced[i] = must_alloc(most_samples * sizeof *cell->paced[i]);
    }
}

void cell_close(struct cell *cell)
{
    for (size_t i = 0; i < CELL_CALLS; i++)
        free(cell->samples[i]), free(cell->paced[i]);
}

void cell_take_waited(struct cell *cell, size_t call, uint64_t ns, uint64_t waited_ns)
{
    const size_t n = cell->counts[call];
    const uint64_t waited = waited_ns < ns ? waited_ns : ns;
    if (n == cell->most_samples)
        return;
    cell->samples[call][n] = ns;
    cell->is_paced[call] = cell->pace > 0 && (n == 0 || cell->is_paced[call]);
    if (cell->is_paced[call])
        cell->paced[call][n] = waited + (uint64_t)((double)(ns - waited) / cell->pace + 0.5);
    cell->counts[call]++;
}

void cell_take(struct cell *cell, size_t call, uint64_t ns)
{
    cell_take_waited(cell, call, ns, 0);
}

struct atlas_point cell_point(const struct cell *cell, size_t call)
{
    size_t count = cell->counts[call];
    struct atlas_point paced = {0}, point = {.bytes = cell->bytes};
    uint64_t *sorted = must_alloc((count + 1) * sizeof *sorted);
    if (count && cell->is_paced[call]) {
        memcpy(sorted, cell->paced[call], count * sizeof *sorted);
        atlas_summarise(&paced, sorted, count);
    }
    if (count)
        memcpy(sorted, cell->samples[call], count * sizeof *sorted);
    atlas_summarise(&point, sorted, count);
    point.paced_ns = paced.p50_ns;
    free(sorted);
    return point;
}

double cell_median(const struct cell *cell, size_t call)
{
    struct atlas_point point = cell_point(cell, call);
    return point.sample_count ? (double)point.p50_ns : NAN;
}

/* ---- commands ---- */

enum { LAUNCHES = 100, SHORT_SPIN_NS = 200000, CALL_BYTES = 4096, CALLS = 16 };

/* Gives a command to the device. `turn` counts from 0. */
typedef int command_call(struct bench *b, uint64_t bytes, unsigned turn, struct error *error);

struct command {
    const char *name;
    command_call *call;
    unsigned calls; /* number of calls in a visit, timed one by one on the host; 0: device time */
    bool has_size;
    bool reads_host; /* sizes up to host_bytes, else up to moved_bytes */
    /* Takes a sample in the command's own way, or NULL. */
    int (*run)(struct bench *b, struct cell *cell, struct error *error);
};

static int call_launch(struct bench *b, uint64_t bytes, unsigned turn, struct error *error)
{
    return bench_launch(b, BENCH_EMPTY, 1, 0, NULL, NULL, error);
}

static int call_many_launches(struct bench *b, uint64_t bytes, unsigned turn, struct error *error)
{
    for (int i = 0; i < LAUNCHES; i++)
        TRY(call_launch(b, bytes, turn, error));
    return 0;
}

static int call_launch_sync(struct bench *b, uint64_t bytes, unsigned turn, struct error *error)
{
    TRY(call_launch(b, bytes, turn, error));
    return bench_sync(b, error);
}

static int call_sync(struct bench *b, uint64_t bytes, unsigned turn, struct error *error)
{
    return bench_sync(b, error);
}

static int call_mark(struct bench *b, uint64_t bytes, unsigned turn, struct error *error)
{
    return b->ops->mark(b->device, turn % 2 ? MARK_END : MARK_START, error);
}

static int call_copy(struct bench *b, uint64_t bytes, unsigned turn, struct error *error)
{
    return b->ops->copy(b->device, b->moved[1], 0, b->moved[0], 0, bytes ? bytes : CALL_BYTES,
                        error);
}

static int call_fill(struct bench *b, uint64_t bytes, unsigned turn, struct error *error)
{
    return b->ops->fill(b->device, b->moved[1], 0, (uint8_t)(bytes ? 1 : turn),
                        bytes ? bytes : CALL_BYTES, error);
}

static int call_read(struct bench *b, uint64_t bytes, unsigned turn, struct error *error)
{
    return b->ops->read(b->device, b->host, b->moved[0], 0, bytes, error);
}

static int call_write(struct bench *b, uint64_t bytes, unsigned turn, struct error *error)
{
    return b->ops->write(b->device, b->moved[0], 0, b->host, bytes, error);
}

/* With an obstacle a call is timed once, because each would need an obstacle of its own. */
static int time_calls(struct bench *b, struct cell *cell, command_call *call, unsigned calls,
                      struct error *error)
{
    for (unsigned i = 0; i < (b->obstacle.stands ? 1 : calls); i++) {
        uint64_t began = bench_begin(b);
        TRY(call(b, cell->bytes, i, error));
        cell_take(cell, 0, bench_end(began));
    }
    return bench_sync(b, error);
}

static int device_time(struct bench *b, uint64_t spin_ns, command_call *call, uint64_t bytes,
                       uint64_t *ns, struct error *error)
{
    TRY(b->is_synchronous ? 0 : bench_spin(b, spin_ns, error));
    TRY(b->ops->mark(b->device, MARK_START, error));
    TRY(call(b, bytes, 0, error));
    TRY(b->ops->mark(b->device, MARK_END, error));
    TRY(bench_sync(b, error));
    return b->ops->elapsed_ns(b->device, ns, error);
}

static int run_launch_device(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t ns;
    uint64_t spin_ns = SHORT_SPIN_NS + (uint64_t)(2 * LAUNCHES * b->launch_ns);
    TRY(device_time(b, spin_ns, call_many_launches, 0, &ns, error));
    cell_take(cell, 0, ns / LAUNCHES);
    return 0;
}

static int run_mark_device(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t ns, launch_ns = (uint64_t)b->launch_device_ns;
    TRY(device_time(b, SHORT_SPIN_NS, call_launch, 0, &ns, error));
    cell_take(cell, 0, ns > launch_ns ? ns - launch_ns : 0);
    return 0;
}

static int run_command(struct bench *b, struct cell *cell, struct error *error)
{
    const struct command *c = cell->subject;
    uint64_t ns;
    if (c->run)
        return c->run(b, cell, error);
    if (c->calls)
        return time_calls(b, cell, c->call, c->calls, error);
    TRY(device_time(b, SHORT_SPIN_NS, c->call, cell->bytes, &ns, error));
    cell_take(cell, 0, ns);
    return 0;
}

/* clang-format off */
static const struct command commands[] = {
    {"launch",        call_launch,      CALLS, false, false, NULL},
    {"launch_device", NULL,             0,     false, false, run_launch_device},
    {"launch_sync",   call_launch_sync, 1,     false, false, NULL},
    {"sync",          call_sync,        1,     false, false, NULL},
    {"mark",          call_mark,        CALLS, false, false, NULL},
    {"mark_device",   NULL,             0,     false, false, run_mark_device},
    {"copy_call",     call_copy,        CALLS, false, false, NULL},
    {"fill_call",     call_fill,        CALLS, false, false, NULL},
    {"copy",          call_copy,        0,     true,  false, NULL},
    {"fill",          call_fill,        0,     true,  false, NULL},
    {"read",          call_read,        1,     true,  true,  NULL},
    {"write",         call_write,       1,     true,  true,  NULL},
};
/* clang-format on */

size_t command_cells(const struct bench *b, uint64_t bytes, struct cell *cells)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const struct command *c = &commands[i];
        if (c->has_size != (bytes > 0) || bytes > (c->reads_host ? b->host_bytes : b->moved_bytes))
            continue;
        cells[count++] = (struct cell){.method = "command",
                                       .calls = {c->name},
                                       .bytes = bytes,
                                       .run = run_command,
                                       .subject = c};
    }
    return count;
}

static int command_median(struct bench *b, const char *name, double *ns, struct error *error)
{
    enum { TIMES = 21 };
    struct cell cells[COMMANDS_MAX], *cell = cells;
    int code = 0;
    command_cells(b, 0, cells);
    while (strcmp(cell->calls[0], name) != 0)
        cell++;
    cell_open(cell, TIMES * CALLS);
    for (int i = 0; i < TIMES && !code; i++)
        code = run_command(b, cell, error);
    *ns = cell_median(cell, 0);
    cell_close(cell);
    return code;
}

int commands_prepare(struct bench *b, struct error *error)
{
    TRY(command_median(b, "launch", &b->launch_ns, error));
    return command_median(b, "launch_device", &b->launch_device_ns, error);
}
