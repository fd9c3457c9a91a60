/* Gives each piece of memory that is held from the driver an address on one axis, in bounded memory.
 *
 * A driver's handle need not be an address, so memories are placed where there is room while they
 * are held: at the lowest free address. A part of virtual memory that is mapped behind another one
 * is placed behind it, if there is room. Addresses within a piece are true.
 */
#ifndef GAMUT_RECORD_FACTS_ADDRESS_PLACES_H
#define GAMUT_RECORD_FACTS_ADDRESS_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLACES_MOST = 8192 }; /* pieces at once; the bytes of more are not placed */

/* Bytes [offset, offset + bytes) of a memory, at `address` on the axis. */
struct place {
    uint64_t memory, offset, bytes, address;
};

struct address_places {
    size_t count;
    struct place by_offset[PLACES_MOST]; /* ordered by memory and offset */
    /* Ordered by address. */
    struct gap_after {
        uint64_t address, bytes;
    } by_address[PLACES_MOST];
};

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

#endif
