#include "record/facts/address_places.h"

#include <string.h>

/* ---- the two orders -------------------------------------------------------------------------- */

/* The first piece that ends after this byte of the memory, or begins in a later memory. */
static size_t first_after(const struct address_places *p, uint64_t memory, uint64_t offset)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct place *at = &p->by_offset[middle];
        if (at->memory < memory || (at->memory == memory && at->offset + at->bytes <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first piece at or after this address. */
static size_t from_address(const struct address_places *p, uint64_t address)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (p->by_address[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct address_places *p, size_t at, const struct place *place)
{
    const size_t above = from_address(p, place->address);
    memmove(&p->by_offset[at + 1], &p->by_offset[at], (p->count - at) * sizeof *p->by_offset);
    memmove(&p->by_address[above + 1], &p->by_address[above],
            (p->count - above) * sizeof *p->by_address);
    p->by_offset[at] = *place;
    p->by_address[above] = (struct gap_after){place->address, place->bytes};
    p->count++;
}

static void erase(struct address_places *p, size_t at)
{
    const size_t above = from_address(p, p->by_offset[at].address);
    p->count--;
    memmove(&p->by_offset[at], &p->by_offset[at + 1], (p->count - at) * sizeof *p->by_offset);
    memmove(&p->by_address[above], &p->by_address[above + 1],
            (p->count - above) * sizeof *p->by_address);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static uint64_t lowest_room(const struct address_places *p, uint64_t bytes)
{
    uint64_t end = 0;
    for (size_t i = 0; i < p->count && p->by_address[i].address - end < bytes; i++)
        end = p->by_address[i].address + p->by_address[i].bytes;
    return end;
}

/* Lengthens the piece before, if these bytes follow it and there is room behind it. */
static bool lengthen(struct address_places *p, size_t at, uint64_t memory, uint64_t offset,
                     uint64_t bytes, uint64_t *address)
{
    struct place *before = at > 0 ? &p->by_offset[at - 1] : NULL;
    if (!before || before->memory != memory || before->offset + before->bytes != offset)
        return false;
    const size_t above = from_address(p, before->address);
    *address = before->address + before->bytes;
    if (above + 1 < p->count && p->by_address[above + 1].address - *address < bytes)
        return false;
    before->bytes += bytes;
    p->by_address[above].bytes += bytes;
    return true;
}

bool places_add(struct address_places *p, uint64_t memory, uint64_t offset, uint64_t bytes,
                place_heard *added, void *context)
{
    const size_t at = first_after(p, memory, offset);
    uint64_t address;
    if (!lengthen(p, at, memory, offset, bytes, &address)) {
        if (p->count == PLACES_MOST)
            return false;
        address = lowest_room(p, bytes);
        insert(p, at, &(struct place){memory, offset, bytes, address});
    }
    added(context, address, bytes);
    return true;
}

/* ---- removing and finding -------------------------------------------------------------------- */

void places_remove(struct address_places *p, uint64_t memory, uint64_t offset, uint64_t bytes,
                   place_heard *removed, void *context)
{
    const uint64_t end = offset + bytes;
    size_t at = first_after(p, memory, offset);
    while (at < p->count && p->by_offset[at].memory == memory && p->by_offset[at].offset < end) {
        const struct place place = p->by_offset[at];
        const uint64_t place_end = place.offset + place.bytes;
        const uint64_t from = offset > place.offset ? offset : place.offset;
        const uint64_t to = end < place_end ? end : place_end;
        erase(p, at);
        if (place.offset < from)
            insert(p, at++,
                   &(struct place){memory, place.offset, from - place.offset, place.address});
        if (to < place_end && p->count < PLACES_MOST)
            insert(p, at++,
                   &(struct place){memory, to, place_end - to, place.address + to - place.offset});
        removed(context, place.address + from - place.offset, to - from);
    }
}

uint64_t places_find(const struct address_places *p, uint64_t memory, uint64_t offset,
                     uint64_t bytes, place_heard *found, void *context)
{
    const uint64_t end = offset + bytes;
    uint64_t sum = 0;
    for (size_t i = first_after(p, memory, offset);
         i < p->count && p->by_offset[i].memory == memory && p->by_offset[i].offset < end; i++) {
        const struct place *place = &p->by_offset[i];
        const uint64_t from = offset > place->offset ? offset : place->offset;
        const uint64_t to = end < place->offset + place->bytes ? end : place->offset + place->bytes;
        found(context, place->address + from - place->offset, to - from);
        sum += to - from;
    }
    return sum;
}
