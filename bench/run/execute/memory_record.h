/* The memory of a run or a replay, as a result keeps it: a timeline of bytes, and where blocks lie.
 *
 * What it keeps is bounded, and allocated when it is opened. Of a long run the map keeps the largest
 * blocks; the cover then shows all of them, each cell with the least and the most that is in use.
 */
#ifndef GAMUT_RUN_EXECUTE_MEMORY_RECORD_H
#define GAMUT_RUN_EXECUTE_MEMORY_RECORD_H

#include <jansson.h>

#include "alloc/allocator.h"
#include "record/facts/address_cover.h"
#include "record/facts/address_map.h"
#include "record/facts/address_places.h"
#include "record/facts/timeline.h"

enum { RECORD_SOURCE_EVENTS = 1024 };

struct memory_record {
    uint64_t step; /* of what happens now */
    struct timeline timeline;
    struct address_map map;
    struct address_places places;
    struct address_cover cover;
    bool lacks_places;  /* more pieces were held at once than there is room for */
    bool holds, begins; /* the meaning of the places_… call in progress */
    /* Within one call of the allocator. The source may take the memory of a block back before the
     * caller reports that the block is freed. */
    size_t waiting_count;
    struct {
        enum source_event event;
        uint64_t memory, offset, bytes;
    } waiting[RECORD_SOURCE_EVENTS];
};

/* A block that is recorded; the caller keeps it as long as the block lives. */
struct recorded_block {
    uint64_t memory, offset, bytes;
    uint64_t born;
    int row;        /* in the map, or MAP_NONE */
    bool is_memory; /* no source said that it holds the block's bytes */
};

struct memory_record *memory_record_open(void);
void memory_record_close(struct memory_record *record);

/* All calls below are about this step; steps never decrease. */
void memory_record_step(struct memory_record *record, uint64_t step);
/* The bytes after the step: `point` has all but its step. */
void memory_record_bytes(struct memory_record *record, struct timeline_point point);
/* A block is handed out. `tag` outlives the record. */
struct recorded_block memory_record_alloc(struct memory_record *record, const struct block *block,
                                          uint64_t requested_bytes, const char *tag);
void memory_record_free(struct memory_record *record, const struct recorded_block *block);
/* Is the block in the map still? A larger one may have taken its row. */
bool memory_record_has(const struct memory_record *record, const struct recorded_block *block);
/* For struct source_listener: a source got or gave back memory, in the call of the allocator that
 * is reported next. */
void memory_record_source(void *record, enum source_event event, uint64_t memory, uint64_t offset,
                          uint64_t bytes);

/* Adds "steps", "timeline" and "map" to an object; `steps`: where the run ended. */
void memory_record_to_json(struct memory_record *record, uint64_t steps, json_t *memory);

#endif
