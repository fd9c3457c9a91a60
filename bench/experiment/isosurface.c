/* The cost of memory for results of unknown size. The results are the triangles of a surface in a
 * window of window^3 chunks of cells^3 cells each. In each frame the window moves by a layer:
 * window^2 chunks leave and window^2 others enter, whose number of triangles only the device knows.
 * isosurface_march.c has the methods of getting memory for them.
 *
 * Before a row is timed, the same frames are run and checked:
 *
 *   - every chunk that leaves the window, by a hash of its triangles in memory; the sum of the
 *     hashes is the same for all methods and devices;
 *   - some chunks, chosen by the seed, by count and hash against a computation on the host that
 *     shares no code.
 *
 * The timed frames must leave the same triangles in the window as the checked ones.
 *
 * The example comes from an account of a memory heap in shader code (polygons of marching cubes).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/sort.h"
#include "experiment/isosurface.h"
#include "experiment/list.h"

enum { OPTION_CELLS, OPTION_WINDOW, OPTION_FRAMES, OPTION_CHECKED, OPTION_HEAP };
static const struct option_spec options[] = {
    [OPTION_CELLS] = {"cells", OPTION_COUNT, "8", NULL, 4, 64,
                      "cells of a chunk in each direction"},
    [OPTION_WINDOW] = {"window", OPTION_COUNT, "3", NULL, 2, 32,
                       "chunks of the window in each direction"},
    [OPTION_FRAMES] = {"frames", OPTION_COUNT, "6", NULL, 1, 100000, "frames that are timed"},
    [OPTION_CHECKED] = {"checked", OPTION_COUNT, "32", NULL, 0, 1000000,
                        "chunks that are compared with a computation on the host"},
    [OPTION_HEAP] = {"heap", OPTION_BYTES, "16MiB", NULL, 4096, 1ull << 34,
                     "size of the arena of the method heap"},
    {NULL, OPTION_COUNT, NULL, NULL, 0, 0, NULL},
};

enum { PARAMETER_METHOD, PARAMETER_STRATEGY };
static const struct experiment_parameter parameters[] = {
    [PARAMETER_METHOD] = {"method", false, UNIT_COUNT, "worst, readback, scratch, batch, heap"},
    [PARAMETER_STRATEGY] = {"strategy", false, UNIT_COUNT, "the allocator on the host, or -"},
    {NULL, false, UNIT_COUNT, NULL},
};

/* clang-format off */
#define METRIC_LIST(X)                                                                             \
    X(frame_ns, NS, SAMPLED, LOWER, "time of all frames until the device is idle, over their number") \
    X(blocked_ns, NS, SAMPLED, LOWER, "host time of a frame in read-backs and in the allocator") \
    X(readback_ns, NS, SAMPLED, LOWER, "the part of that in read-backs, mean over frames")           \
    X(memory_ns, NS, SAMPLED, LOWER, "the part of that in the allocator, mean over frames")           \
    X(enqueue_ns, NS, SAMPLED, LOWER, "host time of a frame in enqueuing commands; the driver may wait there until its queue has room")                  \
    X(peak_reserved_bytes, BYTES, EXACT, LOWER, "most bytes held for triangles at once")             \
    X(peak_used_bytes, BYTES, EXACT, NEITHER, "most bytes of triangles in the window at once")       \
    X(driver_call_count, COUNT, EXACT, LOWER, "calls of the driver for memory, in the timed frames") \
    X(refused_count, COUNT, EXACT, LOWER, "requests that were refused at first")                     \
    X(launch_count, COUNT, EXACT, LOWER, "kernels launched in the timed frames")                     \
    X(copy_bytes, BYTES, EXACT, LOWER, "bytes copied from one place to another, in the timed frames") \
    X(empty_ratio, RATIO, EXACT, NEITHER, "chunks without a triangle, over all chunks")              \
    X(chunk_bytes, BYTES, EXACT, NEITHER, "mean bytes of a chunk's triangles")                       \
    X(largest_chunk_bytes, BYTES, EXACT, NEITHER, "bytes of the triangles of the largest chunk")
/* clang-format on */
EXPERIMENT_METRICS(METRIC_LIST);

enum { SAMPLES_MOST = 100 }; /* frames whose times are kept, evenly spread */

/* ---- the field ------------------------------------------------------------------------------- */

/* About a third of the chunks of a window have triangles. */
static struct isosurface_field hills_of(uint32_t window, uint32_t cells, uint64_t seed)
{
    uint32_t octave = 0;
    while (2u << octave <= cells)
        octave++;
    /* The first octave is four chunks wide. At 2500 a cell of height (of 32 in a chunk) seven of
     * ten chunks of a window of ten are empty. */
    return (struct isosurface_field){.top = octave + 2,
                                     .middle = (int32_t)(window * cells / 2),
                                     .slope = (int32_t)(2500 * 32 / cells),
                                     .seed = (uint32_t)(seed ^ seed >> 32)};
}

/* ---- the device ------------------------------------------------------------------------------ */

/* A chunk that is compared with the host's own computation. */
struct probe {
    uint32_t layer, chunk;
    struct isosurface_answer answer;
};

struct isosurface {
    struct marcher marcher;
    struct experiment_settings settings;
    struct isosurface_field hills;
    uint32_t window, cells, frames;
    size_t probe_count;
    struct probe *probes; /* in order of layer and chunk */
    uint32_t *counts;     /* triangles of the chunks of all layers, from the last checked march */
};

ORDER_BY_BOTH(compare_probes, struct probe, layer, chunk)

/* All chunks if there are no more than were asked for; else random ones, some perhaps twice. */
static void choose_probes(struct isosurface *s)
{
    const uint64_t chunks = s->window * s->window, all = (s->frames + s->window) * chunks;
    const uint64_t wanted = s->settings.options.value[OPTION_CHECKED];
    struct random random = {s->settings.seed};
    s->probe_count = wanted < all ? wanted : all;
    s->probes = must_alloc((s->probe_count + 1) * sizeof *s->probes);
    for (size_t i = 0; i < s->probe_count; i++) {
        const uint64_t which = s->probe_count < all ? random_below(&random, all) : i;
        struct probe *p = &s->probes[i];
        p->layer = (uint32_t)(which / chunks);
        p->chunk = (uint32_t)(which % chunks);
    }
    qsort(s->probes, s->probe_count, sizeof *s->probes, compare_probes);
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < s->probe_count; i++) {
        struct probe *p = &s->probes[i];
        p->answer = isosurface_reference(&s->hills, s->cells, p->layer, p->chunk % s->window,
                                         p->chunk / s->window);
    }
}

static void surface_close(void *state)
{
    struct isosurface *s = state;
    marcher_close(&s->marcher);
    free(s->probes);
    free(s->counts);
    free(s);
}

static int surface_open(struct device *device, const struct experiment_settings *settings,
                        void **state, struct error *error)
{
    struct isosurface *s = must_alloc(sizeof *s);
    const uint64_t *value = settings->options.value;
    *s = (struct isosurface){.settings = *settings,
                             .window = (uint32_t)value[OPTION_WINDOW],
                             .cells = (uint32_t)value[OPTION_CELLS],
                             .frames = (uint32_t)value[OPTION_FRAMES]};
    s->hills = hills_of(s->window, s->cells, settings->seed);
    int code = marcher_open(device, s->window, s->cells, s->frames + s->window, &s->marcher, error);
    if (code) {
        free(s);
        return code;
    }
    s->marcher.capacity_bytes = settings->capacity_bytes;
    s->marcher.heap_bytes = value[OPTION_HEAP] / 4 * 4;
    s->counts =
        must_alloc((size_t)(s->frames + s->window) * s->window * s->window * sizeof *s->counts);
    choose_probes(s);
    *state = s;
    return 0;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int check_probe(struct march *m, const struct probe *p, const uint32_t *counts,
                       struct error *error)
{
    const uint32_t count = counts[p->chunk];
    if (count != p->answer.count)
        return error_set(error, ERR_WRONG,
                         "chunk %u of layer %u has %u triangles; the host finds %u", p->chunk,
                         p->layer, count, p->answer.count);
    int32_t *triangles = must_alloc((size_t)(count + 1) * TRIANGLE_BYTES);
    int code = march_read_chunk(m, p->layer, p->chunk, counts, triangles, error);
    THEN(code, isosurface_hash(triangles, count) != p->answer.hash
                   ? error_set(error, ERR_WRONG,
                               "chunk %u of layer %u has other triangles than the host finds",
                               p->chunk, p->layer)
                   : 0);
    free(triangles);
    return code;
}

/* Checks the triangles of a layer in memory before it leaves the window. */
static int check_layer(struct isosurface *s, struct march *m, uint32_t layer, struct error *error)
{
    uint32_t *counts = s->counts + (size_t)layer * march_chunks(m);
    TRY(march_hash_layer(m, layer, counts, error));
    for (size_t i = 0; i < s->probe_count; i++)
        if (s->probes[i].layer == layer)
            TRY(check_probe(m, &s->probes[i], counts, error));
    return 0;
}

/* Hashes of the layers that have left the window, and of the layers that are still in it. */
struct hashes {
    uint64_t gone, left;
};

static int hash_window(struct isosurface *s, struct march *m, uint64_t *hash, struct error *error)
{
    for (uint32_t layer = s->frames; layer < m->layers; layer++)
        TRY(check_layer(s, m, layer, error));
    return march_take_hash(&s->marcher, hash, error);
}

static int checked_march(struct isosurface *s, struct march *m, struct hashes *hashes,
                         struct error *error)
{
    int code = 0;
    for (uint32_t layer = 0; layer < m->layers && !code; layer++) {
        if (layer >= m->window)
            code = check_layer(s, m, layer - m->window, error);
        THEN(code, march_frame(m, layer, error));
    }
    THEN(code, march_take_hash(&s->marcher, &hashes->gone, error));
    return code ? code : hash_window(s, m, &hashes->left, error);
}

/* ---- the measurement ------------------------------------------------------------------------- */

static void take_frame(struct isosurface *s, struct march *m, uint32_t frame, uint64_t ns,
                       struct experiment_record *record)
{
    const uint32_t step = (s->frames + SAMPLES_MOST - 1) / SAMPLES_MOST;
    const uint64_t blocked_ns = m->readback_ns + m->memory_ns;
    if (frame % step == 0) {
        experiment_take(record, METRIC_blocked_ns, (double)blocked_ns);
        experiment_take(record, METRIC_enqueue_ns, (double)(ns - blocked_ns));
    }
}

static uint64_t driver_calls(const struct march *m)
{
    const struct source_counts *c = &m->source.counts;
    return c->alloc_count + c->free_count + c->map_count + c->unmap_count;
}

static int timed_march(struct isosurface *s, struct march *m, struct experiment_record *record,
                       struct error *error)
{
    const struct device_ops *ops = s->marcher.ops;
    uint64_t readback_ns = 0, memory_ns = 0;
    int code = 0;
    for (uint32_t layer = 0; layer < m->window && !code; layer++)
        code = march_frame(m, layer, error);
    THEN(code, ops->sync(s->marcher.device, error));
    const uint64_t calls = driver_calls(m), launches = m->launch_count, copied = m->copy_bytes;
    const uint64_t began = clock_ns();
    uint64_t before = began;
    for (uint32_t frame = 0; frame < s->frames && !code; frame++) {
        code = march_frame(m, m->window + frame, error);
        const uint64_t now = clock_ns();
        take_frame(s, m, frame, now - before, record);
        readback_ns += m->readback_ns;
        memory_ns += m->memory_ns;
        before = now;
    }
    THEN(code, ops->sync(s->marcher.device, error));
    const double frames = (double)s->frames, ns = (double)(clock_ns() - began);
    source_update(&m->source);
    experiment_take(record, METRIC_frame_ns, ns / frames);
    experiment_take(record, METRIC_readback_ns, (double)readback_ns / frames);
    experiment_take(record, METRIC_memory_ns, (double)memory_ns / frames);
    experiment_take(record, METRIC_driver_call_count, (double)(driver_calls(m) - calls));
    experiment_take(record, METRIC_launch_count, (double)(m->launch_count - launches));
    experiment_take(record, METRIC_copy_bytes, (double)(m->copy_bytes - copied));
    experiment_take(record, METRIC_refused_count, (double)m->source.counts.refused_count);
    experiment_take(record, METRIC_peak_reserved_bytes,
                    (double)(m->source.counts.peak_reserved_bytes + m->held_bytes));
    return code;
}

/* Facts about the surface, from the counts of the checked march. */
static void take_surface(struct isosurface *s, struct experiment_record *record)
{
    const size_t chunks = s->window * s->window, layers = s->frames + s->window;
    uint64_t live = 0, peak = 0, total = 0, largest = 0, empty = 0;
    for (size_t layer = 0; layer < layers; layer++) {
        const uint32_t *come = s->counts + layer * chunks;
        for (size_t c = 0; c < chunks; c++) {
            live += come[c];
            if (layer >= s->window)
                live -= *(come + c - s->window * chunks);
            total += come[c];
            largest = come[c] > largest ? come[c] : largest;
            empty += !come[c];
        }
        peak = live > peak ? live : peak;
    }
    const double all = (double)(layers * chunks);
    experiment_take(record, METRIC_peak_used_bytes, (double)(peak * TRIANGLE_BYTES));
    experiment_take(record, METRIC_empty_ratio, (double)empty / all);
    experiment_take(record, METRIC_chunk_bytes, (double)(total * TRIANGLE_BYTES) / all);
    experiment_take(record, METRIC_largest_chunk_bytes, (double)(largest * TRIANGLE_BYTES));
}

static int surface_measure(void *state, const struct experiment_row *row,
                           struct experiment_record *record, struct error *error)
{
    struct isosurface *s = state;
    const struct isosurface_method *method = isosurface_find_method(row->word[PARAMETER_METHOD]);
    const char *strategy = row->word[PARAMETER_STRATEGY];
    struct hashes hashes = {0};
    uint64_t left = 0, rest;
    struct march m;
    /* A failed row may have left sums on the device. */
    TRY(march_take_hash(&s->marcher, &rest, error));
    int code = march_open(&s->marcher, method, strategy, &s->hills, &m, error);
    THEN(code, checked_march(s, &m, &hashes, error));
    march_close(&m);
    if (code)
        return code;
    code = march_open(&s->marcher, method, strategy, &s->hills, &m, error);
    THEN(code, timed_march(s, &m, record, error));
    THEN(code, hash_window(s, &m, &left, error));
    march_close(&m);
    THEN(code, left != hashes.left
                   ? error_set(error, ERR_WRONG,
                               "the timed frames left other triangles in the window "
                               "than the checked ones")
                   : 0);
    take_surface(s, record);
    snprintf(record->digest, sizeof record->digest, "%016llx",
             (unsigned long long)(hashes.gone + hashes.left));
    return code;
}

/* ---- the rows -------------------------------------------------------------------------------- */

static int surface_plan(const struct experiment_settings *settings, struct experiment_plan *out,
                        struct error *error)
{
    char strategy[EXPERIMENT_WORD_MAX];
    for (const struct isosurface_method *const *m = isosurface_methods; *m; m++)
        for (size_t i = 0; experiment_strategy(settings, (*m)->uses_allocator, i, strategy); i++) {
            struct experiment_row *row = experiment_add_row(out);
            experiment_put_word(row, PARAMETER_METHOD, (*m)->name);
            experiment_put_word(row, PARAMETER_STRATEGY, strategy);
        }
    return 0;
}

const struct experiment experiment_isosurface = {
    .name = "isosurface",
    .summary = "memory whose size only the device knows: the triangles of a surface in chunks",
    .options = options,
    .parameters = parameters,
    .metrics = metrics,
    .metric_count = METRICS,
    .plan = surface_plan,
    .open = surface_open,
    .measure = surface_measure,
    .close = surface_close,
};
