/* Cells: what is measured at one size, and the points made of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "run/atlas/atlas_bench.h"

void cell_open(struct cell *cell, unsigned most_samples)
{
    cell->most_samples = most_samples;
    for (size_t i = 0; i < CELL_CALLS && cell->calls[i]; i++)
        cell->samples[i] = must_alloc(most_samples * sizeof *cell->samples[i]);
}

void cell_close(struct cell *cell)
{
    for (size_t i = 0; i < CELL_CALLS; i++)
        free(cell->samples[i]);
}

void cell_take(struct cell *cell, size_t call, uint64_t ns)
{
    if (cell->counts[call] < cell->most_samples)
        cell->samples[call][cell->counts[call]++] = ns;
}

/* A point of the samples so far, which stay in their order. */
static struct atlas_point point_of(const struct cell *cell, size_t call)
{
    size_t count = cell->counts[call];
    struct atlas_point point = {.bytes = cell->bytes, .live_count = cell->live_count};
    uint64_t *sorted = must_alloc((count + 1) * sizeof *sorted);
    if (count)
        memcpy(sorted, cell->samples[call], count * sizeof *sorted);
    atlas_summarise(&point, sorted, count);
    free(sorted);
    return point;
}

double cell_median(const struct cell *cell, size_t call)
{
    struct atlas_point point = point_of(cell, call);
    return point.sample_count ? (double)point.p50_ns : NAN;
}

static void file_point(struct atlas_curve *curve, const struct atlas_point *point)
{
    for (size_t i = 0; i < curve->point_count; i++)
        if (curve->points[i].bytes == point->bytes &&
            curve->points[i].live_count == point->live_count) {
            curve->points[i] = *point; /* it is known better now */
            return;
        }
    atlas_add_point(curve, point);
}

void bench_file(struct bench *b, const struct cell *cell)
{
    for (size_t call = 0; call < CELL_CALLS && cell->calls[call]; call++) {
        struct atlas_point point = point_of(cell, call);
        if (point.sample_count == 0 && (!*cell->skipped || call > 0))
            continue; /* a size that was left out is said once, of its first call */
        snprintf(point.skipped, sizeof point.skipped, "%s", cell->skipped);
        struct atlas_curve *curve = atlas_curve_of(b->atlas, cell->method, cell->calls[call]);
        file_point(curve, &point);
        atlas_finish_curve(curve);
    }
}

void bench_say(struct bench *b, const char *doing, bool with_atlas)
{
    if (b->listener)
        b->listener(b->context, doing, with_atlas ? b->atlas : NULL);
}
