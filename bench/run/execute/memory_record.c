#include "run/execute/memory_record.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/tree.h"

struct memory_record *memory_record_open(void)
{
    struct memory_record *r = must_alloc(sizeof *r);
    r->timeline.stride = 1;
    map_open(&r->map);
    cover_open(&r->cover);
    places_open(&r->places);
    return r;
}

void memory_record_close(struct memory_record *r)
{
    free(r);
}

void memory_record_step(struct memory_record *r, uint64_t step)
{
    r->step = step;
    cover_advance(&r->cover, step);
}

void memory_record_bytes(struct memory_record *r, struct timeline_point point)
{
    point.step = r->step;
    timeline_add(&r->timeline, &point);
}

/* ---- places on the axis ---------------------------------------------------------------------- */

static void cover_piece(void *context, uint64_t address, uint64_t bytes)
{
    struct memory_record *r = context;
    (r->holds ? cover_hold : cover_use)(&r->cover, address, bytes, r->begins);
}

static void hold(struct memory_record *r, uint64_t memory, uint64_t offset, uint64_t bytes,
                 bool begins)
{
    r->holds = true;
    r->begins = begins;
    if (!begins)
        places_remove(&r->places, memory, offset, bytes, cover_piece, r);
    else if (!places_add(&r->places, memory, offset, bytes, cover_piece, r))
        r->lacks_places = true;
}

static uint64_t use(struct memory_record *r, const struct recorded_block *b, bool begins)
{
    r->holds = false;
    r->begins = begins;
    return places_find(&r->places, b->memory, b->offset, b->bytes, cover_piece, r);
}

static void apply_source_events(struct memory_record *r)
{
    for (size_t i = 0; i < r->waiting_count; i++) {
        const enum source_event event = r->waiting[i].event;
        const uint64_t memory = r->waiting[i].memory;
        hold(r, memory, r->waiting[i].offset, r->waiting[i].bytes,
             event == SOURCE_HELD || event == SOURCE_MAPPED);
        if (event == SOURCE_GIVEN_BACK)
            map_end_memory(&r->map, memory, r->step);
    }
    r->waiting_count = 0;
}

void memory_record_source(void *record, enum source_event event, uint64_t memory, uint64_t offset,
                          uint64_t bytes)
{
    struct memory_record *r = record;
    if (r->waiting_count == RECORD_SOURCE_EVENTS)
        apply_source_events(r);
    const size_t i = r->waiting_count++;
    r->waiting[i].event = event;
    r->waiting[i].memory = memory;
    r->waiting[i].offset = offset;
    r->waiting[i].bytes = bytes;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Memory that was held before the record began becomes known with its first block. */
static void place_block(struct memory_record *r, struct recorded_block *b)
{
    if (use(r, b, true) > 0)
        return;
    b->is_memory = true;
    hold(r, b->memory, b->offset, b->bytes, true);
    use(r, b, true);
}

struct recorded_block memory_record_alloc(struct memory_record *r, const struct block *block,
                                          uint64_t requested_bytes, const char *tag)
{
    struct recorded_block recorded = {.memory = block->memory,
                                      .offset = block->offset,
                                      .bytes = block->size,
                                      .born = r->step,
                                      .row = MAP_NONE};
    apply_source_events(r);
    if (!block->memory)
        return recorded;
    recorded.row = map_add_block(&r->map, &(struct map_block){.memory = block->memory,
                                                              .offset = block->offset,
                                                              .bytes = block->size,
                                                              .requested = requested_bytes,
                                                              .born = r->step,
                                                              .tag = tag});
    place_block(r, &recorded);
    return recorded;
}

void memory_record_free(struct memory_record *r, const struct recorded_block *b)
{
    if (b->memory)
        use(r, b, false);
    if (b->is_memory)
        hold(r, b->memory, b->offset, b->bytes, false);
    apply_source_events(r);
    if (memory_record_has(r, b))
        map_end_block(&r->map, b->row, r->step);
}

bool memory_record_has(const struct memory_record *r, const struct recorded_block *b)
{
    const struct map_block *row = b->row == MAP_NONE ? NULL : &r->map.blocks[b->row];
    return row && row->born == b->born && row->memory == b->memory && row->offset == b->offset;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void memory_record_to_json(struct memory_record *r, uint64_t steps, json_t *memory)
{
    apply_source_events(r);
    json_t *map = map_to_json(&r->map);
    if (r->map.blocks_out && !r->lacks_places)
        tree_put(map, "cover", cover_to_json(&r->cover));
    tree_put(memory, "steps", tree_count(steps));
    tree_put(memory, "timeline", timeline_to_json(&r->timeline));
    tree_put(memory, "map", map);
}
