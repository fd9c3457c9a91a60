/* The kernels of the atlas, one text a language, and the bench that launches them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/statistics/statistics.h"
#include "run/atlas/atlas_bench.h"

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 4 };

/* A chain of shifts, each of which needs the one before: no compiler and no processor shortens it.
 */
#define SPIN_BODY                                                                                  \
    "for (i = 0; i < iterations; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } out[0] = x;"
#define SIXTEEN_BODY                                                                               \
    "if (i + j + k + l + m + n + o + p == -1) a[0] = b[0] + c[0] + d[0] + e[0] + f[0] + g[0] + "   \
    "h[0];"

static const char opencl_text[] =
    "kernel void empty(void) { }\n"
    "kernel void spin(global ulong *out, long iterations)\n"
    "{ if (get_global_id(0) == 0) { ulong x = out[0] | 1; long i; " SPIN_BODY " } }\n"
    "kernel void touch_pages(global uint *memory, long pages)\n"
    "{ size_t i = get_global_id(0); if (i < (size_t)pages) memory[i * 1024] = (uint)i; }\n"
    "kernel void sixteen(global int *a, global int *b, global int *c, global int *d,\n"
    "                    global int *e, global int *f, global int *g, global int *h,\n"
    "                    long i, long j, long k, long l, long m, long n, long o, long p)\n"
    "{ if (get_global_id(0) == 0) { " SIXTEEN_BODY " } }\n";

static const char cuda_text[] =
    "#define KERNEL extern \"C\" __global__ void\n"
    "typedef long long i64;\n"
    "__device__ size_t item() { return (size_t)blockIdx.x * blockDim.x + threadIdx.x; }\n"
    "KERNEL empty() { }\n"
    "KERNEL spin(unsigned long long *out, i64 iterations)\n"
    "{ if (item() == 0) { unsigned long long x = out[0] | 1; i64 i; " SPIN_BODY " } }\n"
    "KERNEL touch_pages(unsigned *memory, i64 pages)\n"
    "{ size_t i = item(); if (i < (size_t)pages) memory[i * 1024] = (unsigned)i; }\n"
    "KERNEL sixteen(int *a, int *b, int *c, int *d, int *e, int *f, int *g, int *h,\n"
    "               i64 i, i64 j, i64 k, i64 l, i64 m, i64 n, i64 o, i64 p)\n"
    "{ if (item() == 0) { " SIXTEEN_BODY " } }\n";

/* ---- the same for the host ---- */

static void *address(union launch_value value)
{
    return (void *)(uintptr_t)value.memory;
}

static void host_empty(const union launch_value *arguments, int64_t begin, int64_t end)
{
    (void)arguments, (void)begin, (void)end;
}

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
    [BENCH_SIXTEEN] = "sixteen",
};

static const struct host_kernel host_kernels[] = {
    [BENCH_EMPTY] = {"empty", host_empty},
    [BENCH_SPIN] = {"spin", host_spin},
    [BENCH_TOUCH] = {"touch_pages", host_touch},
    [BENCH_SIXTEEN] = {"sixteen", host_empty},
};

static int build(struct bench *b, struct error *error)
{
    const enum kernel_language language = device_info(b->device)->language;
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

static int launch(struct bench *b, enum bench_kernel kernel, int64_t items, size_t count,
                  const enum launch_arg_kind *kinds, const union launch_value *arguments,
                  struct error *error)
{
    const struct launch shape = {.extent = {items, 1, 1}, .rank = 1};
    return b->ops->launch(b->device, b->program, kernel, &shape, count, kinds, arguments, error);
}

int bench_launch_empty(struct bench *b, struct error *error)
{
    return launch(b, BENCH_EMPTY, 1, 0, NULL, NULL, error);
}

int bench_launch_sixteen(struct bench *b, unsigned turn, struct error *error)
{
    enum { HALF = 8 };
    enum launch_arg_kind kinds[2 * HALF];
    union launch_value arguments[2 * HALF];
    for (unsigned i = 0; i < HALF; i++) {
        kinds[i] = ARG_MEMORY;
        arguments[i].memory = b->moved[(turn + i) % 2];
        kinds[HALF + i] = ARG_I64;
        arguments[HALF + i].i64 = turn + i;
    }
    return launch(b, BENCH_SIXTEEN, 1, 2 * HALF, kinds, arguments, error);
}

static int spin_iterations(struct bench *b, int64_t iterations, struct error *error)
{
    static const enum launch_arg_kind kinds[] = {ARG_MEMORY, ARG_I64};
    const union launch_value arguments[] = {{.memory = b->scratch}, {.i64 = iterations}};
    return launch(b, BENCH_SPIN, 1, 2, kinds, arguments, error);
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
    return launch(b, BENCH_TOUCH, pages, 2, kinds, arguments, error);
}

int bench_sync(struct bench *b, struct error *error)
{
    return b->ops->sync(b->device, error);
}

int bench_mark(struct bench *b, int which, struct error *error)
{
    return b->ops->mark(b->device, which, error);
}

int bench_elapsed(struct bench *b, uint64_t *ns, struct error *error)
{
    return b->ops->elapsed_ns(b->device, ns, error);
}

/* ---- what is put in the way ---- */

static int put_in_the_way(struct bench *b, struct error *error)
{
    const struct obstacle *o = &b->obstacle;
    int code = b->ops->use_queue(b->device, o->queue, error);
    if (!code)
        code = bench_spin(b, o->ns, error);
    if (!code && o->use)
        code = bench_touch(b, o->use, o->use_bytes, error);
    /* Leaving the queue submits it. */
    if (!code)
        code = b->ops->use_queue(b->device, 1, error);
    return code ? code : b->ops->use_queue(b->device, 0, error);
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
    int code = spin_iterations(b, iterations, error);
    if (!code)
        code = bench_sync(b, error);
    *ns = clock_ns() - start;
    return code;
}

/* More iterations until they take longer than what launching them costs; then the least of a few,
 * because clocks go up under load and anything else only makes it slower. */
static int calibrate(struct bench *b, struct error *error)
{
    enum { TRIES = 5, LONG_NS = 4000000 };
    int64_t iterations = 1024;
    uint64_t ns = 0, least_ns = UINT64_MAX;
    int code = 0;
    while (!code && ns < LONG_NS) {
        iterations *= 2;
        code = time_spin(b, iterations, &ns, error);
    }
    for (int i = 0; i < TRIES && !code; i++) {
        code = time_spin(b, iterations, &ns, error);
        least_ns = ns < least_ns ? ns : least_ns;
    }
    b->iterations_per_ns = (double)iterations / (double)(least_ns ? least_ns : 1);
    return code;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int allocate(struct bench *b, struct error *error)
{
    const uint64_t mib = 1 << 20;
    const struct device_info *info = device_info(b->device);
    uint64_t left = b->ops->free_bytes(b->device);
    uint64_t most = smaller(info->max_alloc_bytes, (left ? left : info->memory_bytes) / 8);
    uint64_t enough = b->options->quick          ? 4 * mib
                      : info->kind == DEVICE_CPU ? 512 * mib
                                                 : 4096 * mib;
    b->moved_bytes = smaller(most, enough);
    b->host_bytes = smaller(b->moved_bytes, 256 * mib);
    b->host = must_alloc(b->host_bytes);
    memset(b->host, 1, b->host_bytes);
    int code = b->ops->alloc(b->device, BENCH_SCRATCH_BYTES, &b->scratch, error);
    if (!code)
        code = b->ops->fill(b->device, b->scratch, 0, 1, BENCH_SCRATCH_BYTES, error);
    for (int side = 0; side < 2 && !code; side++) {
        code = b->ops->alloc(b->device, b->moved_bytes, &b->moved[side], error);
        if (!code)
            code = b->ops->fill(b->device, b->moved[side], 0, 1, b->moved_bytes, error);
    }
    return code ? code : bench_sync(b, error);
}

int bench_open(struct bench *b, struct error *error)
{
    b->is_synchronous = device_info(b->device)->language == KERNEL_HOST_C;
    b->random.state = b->options->seed;
    b->atlas->timer_ns = (double)clock_reading_ns(NULL);
    b->launch_ns = b->launch_device_ns = NAN;
    int code = build(b, error);
    if (!code)
        code = allocate(b, error);
    return code ? code : calibrate(b, error);
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
