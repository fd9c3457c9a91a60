/* What an allocation costs while many others are alive. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "run/atlas/atlas_bench.h"

enum { SMALL_BYTES = 4096, PAIRS = 50 };

static const uint64_t patience_ns = 5000000000; /* for one method's blocks to be made, or freed */

struct crowd {
    struct bench *b;
    const struct open_method *method;
    uint64_t bytes;
    size_t count, capacity;
    struct method_block *blocks;
    uint64_t until_ns;
    char why_fewer[200]; /* "" or why it stopped growing */
};

/* Until there are `wanted` blocks, or the time is over, or the device refuses. */
static int grow(struct crowd *c, size_t wanted, struct error *error)
{
    while (c->count < wanted && !*c->why_fewer) {
        struct error why = {0};
        struct method_block *block = &c->blocks[c->count];
        *block = (struct method_block){.bytes = c->bytes};
        int code = c->method->method->alloc(c->b, c->method->state, block, &why);
        if (code == ERR_DEVICE_LOST)
            return error_set(error, code, "%s", why.text);
        if (code)
            snprintf(c->why_fewer, sizeof c->why_fewer, "%.190s", why.text);
        else if (++c->count < wanted && clock_ns() > c->until_ns)
            snprintf(c->why_fewer, sizeof c->why_fewer, "that many took longer than %d s",
                     (int)(patience_ns / 1000000000));
    }
    return 0;
}

static int measure_beside(struct crowd *c, struct cell *cell, struct error *error)
{
    int code = 0;
    for (int i = 0; i < PAIRS && !code; i++) {
        struct method_block block = {.bytes = c->bytes};
        code = c->method->method->alloc(c->b, c->method->state, &block, error);
        if (code)
            break;
        uint64_t alloc_ns = method_ns(&block);
        memset(block.step_ns, 0, sizeof block.step_ns);
        code = c->method->method->free(c->b, c->method->state, &block, error);
        cell_take(cell, 0, alloc_ns);
        cell_take(cell, 1, method_ns(&block));
        if (!code)
            code = bench_sync(c->b, error);
    }
    return code;
}

static int measure_at(struct crowd *c, size_t wanted, struct error *error)
{
    struct cell cell = {
        .method = c->method->method->name, .calls = {"alloc", "free"}, .bytes = c->bytes};
    struct error why = {0};
    size_t before = c->count;
    int code = grow(c, wanted, error);
    if (code)
        return code;
    if (c->count > before) { /* as many as there could be */
        cell_open(&cell, PAIRS);
        cell.live_count = c->count;
        code = measure_beside(c, &cell, &why);
        if (code)
            snprintf(cell.skipped, sizeof cell.skipped, "%.250s", why.text);
        bench_file(c->b, &cell);
        cell_close(&cell);
    }
    if (c->count < wanted) {
        struct cell missing = {
            .method = cell.method, .calls = {"alloc"}, .bytes = c->bytes, .live_count = wanted};
        snprintf(missing.skipped, sizeof missing.skipped, "stopped at %zu: %s", c->count,
                 c->why_fewer);
        bench_file(c->b, &missing);
    }
    return code == ERR_DEVICE_LOST ? error_set(error, code, "%s", why.text) : 0;
}

/* Gives up where freeing takes too long: the process ends soon, and its memory with it. */
static int disperse(struct crowd *c, struct error *error)
{
    const uint64_t began = clock_ns();
    int code = bench_sync(c->b, error);
    while (c->count > 0 && !code && clock_ns() - began < 2 * patience_ns)
        code = c->method->method->free(c->b, c->method->state, &c->blocks[--c->count], error);
    return code ? code : bench_sync(c->b, error);
}

int atlas_live_counts(struct bench *b, const struct open_method *methods, size_t method_count,
                      struct error *error)
{
    static const size_t all_counts[] = {1, 1000, 100000}, quick_counts[] = {1, 100};
    const size_t *counts = b->options->quick ? quick_counts : all_counts;
    size_t steps = b->options->quick ? 2 : 3;
    int code = 0;
    for (size_t i = 0; i < method_count && !code; i++) {
        struct crowd c = {.b = b, .method = &methods[i], .bytes = SMALL_BYTES};
        char doing[96];
        snprintf(doing, sizeof doing, "live allocations: %s", methods[i].method->name);
        bench_say(b, doing, true);
        if (c.bytes < c.method->least_bytes)
            c.bytes = c.method->least_bytes;
        c.blocks = must_alloc(counts[steps - 1] * sizeof *c.blocks);
        c.until_ns = clock_ns() + patience_ns;
        for (size_t step = 0; step < steps && !code; step++)
            code = measure_at(&c, counts[step], error);
        int freed = disperse(&c, code ? NULL : error);
        code = code ? code : freed;
        free(c.blocks);
    }
    return code;
}
