#include "merge/bound.h"

#include <stdlib.h>
#include <string.h>

static int64_t highest(const int64_t *live, unsigned count)
{
    int64_t peak = 0;
    for (unsigned p = 0; p < count; p++)
        peak = live[p] > peak ? live[p] : peak;
    return peak;
}

void bound_begin(struct bound *b)
{
    memcpy(b->trial, b->live, b->count * sizeof *b->live);
}

void bound_add(struct bound *b, const struct spans *spans, int64_t bytes)
{
    for (unsigned i = 0; i < spans->count; i++)
        for (unsigned p = spans->items[i].first; p <= spans->items[i].last && p < b->count; p++)
            b->trial[p] += bytes;
}

bool bound_keep(struct bound *b)
{
    if (highest(b->trial, b->count) > b->peak)
        return false;
    memcpy(b->live, b->trial, b->count * sizeof *b->live);
    b->peak = highest(b->live, b->count);
    return true;
}

void bound_open(struct bound *b, const struct memory_map *map, const struct numbers *numbers)
{
    b->count = map->outline->position_count;
    b->live = must_alloc(b->count * sizeof *b->live);
    b->trial = must_alloc(b->count * sizeof *b->trial);
    for (unsigned i = 0; i < map->block_count; i++) {
        int64_t bytes = numbers->bytes[map->blocks[i]];
        if (bytes != UNKNOWN_BYTES)
            bound_add(b, &map->of[map->blocks[i]].spans, bytes);
    }
    b->peak = highest(b->trial, b->count);
    memcpy(b->live, b->trial, b->count * sizeof *b->live);
}

void bound_close(struct bound *b)
{
    free(b->live);
    free(b->trial);
}
