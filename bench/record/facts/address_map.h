/* Where the blocks of a run lie, how long they live, and which arrays lie in them; in bounded
 * memory.
 *
 * The largest blocks are kept, of those that are equally large the first; and the first arrays of
 * blocks that are kept. What is left out is counted. Steps are numbers of events of the run
 * (requests, releases, commands, transfers): what is born in step a and dies in step b exists in
 * [a, b).
 */
#ifndef GAMUT_RECORD_ADDRESS_MAP_H
#define GAMUT_RECORD_ADDRESS_MAP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAP_BLOCKS = 192, MAP_ARRAYS = 256, MAP_NONE = -1 };
#define MAP_ALIVE UINT64_MAX /* of a death: at the end of the run it has not come */

struct map_block {
    uint64_t memory;        /* the source's handle */
    uint64_t offset, bytes; /* of what was granted */
    uint64_t requested;     /* bytes */
    uint64_t born, died;
    const char *tag; /* outlives the map */
    uint64_t
        memory_number;   /* of the memory as long as it was held, whatever comes under its handle */
    uint64_t given_back; /* the step in which the driver has the memory again, or MAP_ALIVE */
    int last_array;      /* in it, or MAP_NONE */
};

/* Fresh contents in a part of a block. `died` is the end of its last use. */
struct map_array {
    int block;             /* its row, or MAP_NONE: the block has been left out */
    const char *name;      /* outlives the map */
    uint64_t first, bytes; /* within the block */
    uint64_t born, died;
    int before;       /* the array that came before it in the same block, or MAP_NONE */
    bool overwritten; /* another has been put in its place */
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

void map_open(struct address_map *map);

/* A block is born. Its row, or MAP_NONE if it is left out. Once all rows are taken it may take over
 * the row of a smaller block, dead or alive, which is left out then. `died` and what follows `tag`
 * are filled in here. */
int map_add_block(struct address_map *map, const struct map_block *block);
void map_end_block(struct address_map *map, int row, uint64_t step);
/* The driver has the memory of a block again: what comes under the same handle is another one. */
void map_end_memory(struct address_map *map, int row, uint64_t step);

/* Fresh contents named `name` in [first, first + bytes) of a block. */
void map_add_array(struct address_map *map, int row, const char *name, uint64_t first,
                   uint64_t bytes, uint64_t step);
/* That part of the block is used in `step` by way of `name`, which may be a view or a parameter of
 * a loop: then it is the newest array there that is meant. */
void map_use_array(struct address_map *map, int row, const char *name, uint64_t first,
                   uint64_t bytes, uint64_t step);

/* {"blocks": {"memory": [...], "offset_bytes", "bytes", "requested_bytes", "born", "died", "tag"},
 *  "arrays": {"block": [...], "offset_bytes", "bytes", "born", "died", "name"},
 *  "memories": {"died": [...]}, "names": [...], "blocks_left_out", "arrays_left_out",
 * "left_out_from"} in columns. Memories are numbered as they appear in blocks; "block" is a row of
 * blocks; "tag" and "name" are places in "names"; "died" is null for what is alive at the end.
 * Arrays stand there only where a block has several. */
json_t *map_to_json(const struct address_map *map);

#endif
