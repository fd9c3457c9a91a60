#include "pages/summary.h"

#include <stdlib.h>

#include "base/arena.h"

void summary_open(struct view_summary *s, uint32_t first, uint32_t last)
{
    const uint64_t moments = (uint64_t)last - first + 1;
    uint64_t stride = 1;
    while ((moments + stride - 1) / stride > SUMMARY_BASE)
        stride *= 2;
    *s = (struct view_summary){.first = first, .last = last};
    do {
        struct view_level *level = &s->levels[s->level_count++];
        level->stride = (uint32_t)stride;
        level->count = (uint32_t)((moments + stride - 1) / stride);
        level->buckets = must_alloc(level->count * sizeof *level->buckets);
        stride *= 2;
    } while (s->levels[s->level_count - 1].count > SUMMARY_TOP && s->level_count < SUMMARY_LEVELS);
}

void summary_add(struct view_summary *s, uint32_t moment, uint64_t time_ns, uint64_t requested)
{
    if (moment < s->first || moment > s->last)
        return;
    const uint32_t inside = moment - s->first, stride = s->levels[0].stride;
    struct view_bucket *b = &s->levels[0].buckets[inside / stride];
    if (inside % stride == 0)
        *b = (struct view_bucket){.requested = requested, .time_ns = time_ns, .at = moment};
    else if (requested > b->requested)
        b->requested = requested, b->at = moment;
}

void summary_finish(struct view_summary *s)
{
    for (unsigned l = 1; l < s->level_count; l++) {
        const struct view_level *below = &s->levels[l - 1];
        for (uint32_t i = 0; i < below->count; i++) {
            struct view_bucket *b = &s->levels[l].buckets[i / 2];
            const struct view_bucket *from = &below->buckets[i];
            if (i % 2 == 0)
                *b = *from;
            else if (from->requested > b->requested)
                b->requested = from->requested, b->at = from->at;
        }
    }
}

void summary_free(struct view_summary *s)
{
    for (unsigned l = 0; l < s->level_count; l++)
        free(s->levels[l].buckets);
    *s = (struct view_summary){0};
}

/* ---- a strategy ---- */

void strategy_summary_open(struct view_strategy_summary *of, const struct view_summary *s)
{
    for (unsigned l = 0; l < s->level_count; l++) {
        of->granted[l] = must_alloc(s->levels[l].count * sizeof *of->granted[l]);
        of->reserved[l] = must_alloc(s->levels[l].count * sizeof *of->reserved[l]);
    }
}

static void raise_to(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

void strategy_summary_add(struct view_strategy_summary *of, const struct view_summary *s,
                          uint32_t moment, uint64_t granted, uint64_t reserved)
{
    if (moment < s->first || moment > s->last)
        return;
    const uint32_t bucket = (moment - s->first) / s->levels[0].stride;
    raise_to(&of->granted[0][bucket], granted);
    raise_to(&of->reserved[0][bucket], reserved);
}

void strategy_summary_finish(struct view_strategy_summary *of, const struct view_summary *s)
{
    for (unsigned l = 1; l < s->level_count; l++)
        for (uint32_t i = 0; i < s->levels[l - 1].count; i++) {
            raise_to(&of->granted[l][i / 2], of->granted[l - 1][i]);
            raise_to(&of->reserved[l][i / 2], of->reserved[l - 1][i]);
        }
}

void strategy_summary_free(struct view_strategy_summary *of)
{
    for (unsigned l = 0; l < SUMMARY_LEVELS; l++) {
        free(of->granted[l]);
        free(of->reserved[l]);
    }
    *of = (struct view_strategy_summary){0};
}
