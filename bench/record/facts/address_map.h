/* Records where the blocks of a run lie, how long they live, and which arrays lie in them, in
 * bounded memory.
 *
 * The map keeps the largest blocks (of equally large ones the first), and the first arrays of the
 * blocks that it keeps. It counts what it leaves out. Steps number the events of the run (requests,
 * releases, commands, transfers): a block born in step a that dies in step b exists in [a, b).
 */
#ifndef GAMUT_RECORD_FACTS_ADDRESS_MAP_H
#define GAMUT_RECORD_FACTS_ADDRESS_MAP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAP_BLOCKS = 192, MAP_ARRAYS = 256, MAP_NONE = -1 };
#define MAP_ALIVE UINT64_MAX /* no death: still alive at the end of the run */

struct map_block {
    uint64_t memory;        /* the source's handle */
    uint64_t offset, bytes; /* the granted block within the memory */
    uint64_t requested;     /* bytes that the program asked for */
    uint64_t born, died;
    const char *tag; /* outlives the map */
    /* Serial number of this memory; distinguishes it from later memories that reuse the handle. */
    uint64_t memory_number;
    uint64_t given_back; /* step in which the driver got the memory back, or MAP_ALIVE */
    int last_array;      /* newest array in the block, or MAP_NONE */
};

/* An array: fresh contents in a part of a block. `died` is the end of its last use. */
struct map_array {
    int block;             /* row of its block, or MAP_NONE if the block is left out */
    const char *name;      /* outlives the map */
    uint64_t first, bytes; /* within the block */
    uint64_t born, died;
    int before;       /* previous array in the same block, or MAP_NONE */
    bool overwritten; /* another array covers its bytes */
};

struct address_map {
    size_t block_count, array_count; /* rows in use */
    uint64_t memories;               /* different ones so far */
    size_t blocks_out, arrays_out;   /* how many are left out */
    uint64_t left_out_from; /* the birth of the first that is left out; MAP_ALIVE: none is */
    struct map_block blocks[MAP_BLOCKS];
    struct map_array arrays[MAP_ARRAYS];
    int smallest; /* row of the block that would make room, or MAP_NONE: to be found */
};

/* Makes an empty map. */
void map_open(struct address_map *map);

/* Adds a block. Returns its row, or MAP_NONE if the block is left out. If all rows are taken, it
 * takes over the row of a smaller block, dead or alive, which is left out from then on. The map
 * sets `died` and the fields after `tag`. */
int map_add_block(struct address_map *map, const struct map_block *block);
/* The block in this row dies. */
void map_end_block(struct address_map *map, int row, uint64_t step);
/* The driver gets this memory back: a later memory may have the same handle. */
void map_end_memory(struct address_map *map, uint64_t memory, uint64_t step);

/* Adds an array named `name` in [first, first + bytes) of a block. */
void map_add_array(struct address_map *map, int row, const char *name, uint64_t first,
                   uint64_t bytes, uint64_t step);
/* Records a use of that part of the block in `step`, through `name`. The name may be that of a view
 * or of a loop's parameter: then the use is of the newest array there. */
void map_use_array(struct address_map *map, int row, const char *name, uint64_t first,
                   uint64_t bytes, uint64_t step);

/* {"blocks": {"memory": [...], "offset_bytes", "bytes", "requested_bytes", "born", "died", "tag"},
 *  "arrays": {"block": [...], "offset_bytes", "bytes", "born", "died", "name"},
 *  "memories": {"died": [...]}, "names": [...], "blocks_left_out", "arrays_left_out",
 * "left_out_from"} in columns; the caller owns it. Memories are numbered as they appear in blocks;
 * "block" is a row of blocks; "tag" and "name" are indices in "names"; "died" is null for what is
 * alive at the end. An array alone in its block is left out. */
json_t *map_to_json(const struct address_map *map);

#endif
