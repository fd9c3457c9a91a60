/* Gives each piece of memory that is held from the driver an address on one axis, in bounded
 * memory.
 *
 * A driver's handle need not be an address, so memories are placed where there is room while they
 * are held: in the smallest gap, or above all others. A part of virtual memory that is mapped
 * behind another one is placed behind it, if there is room. Addresses within a piece are true.
 * Every call takes logarithmic time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/treap.h"

enum { PLACES_MOST = 1 << 14 }; /* pieces and gaps at once; the bytes of more are not placed */

/* A piece of the axis: bytes [offset, offset + bytes) of a memory, or a gap. */
struct place {
    struct treap_node node; /* in `pieces` or in `gaps`; the tail is in neither */
    struct place *prev,
        *next;               /* by address; of a place that is not in use, next is the next such */
    uint64_t memory, offset; /* of a piece */
    uint64_t bytes, address;
    bool is_gap;
};

struct address_places {
    struct treap pieces; /* by memory and end: offset + bytes */
    struct treap gaps;   /* by bytes and address */
    struct place tail;   /* the gap above all pieces, without end */
    struct place *spare;
    size_t count; /* pieces */
    struct place room[PLACES_MOST];
};

/* Makes an empty axis. The struct may not move. */
void places_open(struct address_places *places);

/* Called for each piece that a call adds, removes or finds. */
typedef void place_heard(void *context, uint64_t address, uint64_t bytes);

/* Places bytes of a memory, none of which are placed. False: there is no room in the tables. */
bool places_add(struct address_places *places, uint64_t memory, uint64_t offset, uint64_t bytes,
                place_heard *added, void *context);
/* Removes what is placed of these bytes. */
void places_remove(struct address_places *places, uint64_t memory, uint64_t offset, uint64_t bytes,
                   place_heard *removed, void *context);
/* Finds where these bytes are. Returns how many of them are placed. */
uint64_t places_find(const struct address_places *places, uint64_t memory, uint64_t offset,
                     uint64_t bytes, place_heard *found, void *context);
