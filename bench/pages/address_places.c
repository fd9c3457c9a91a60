#include "pages/address_places.h"

#include <string.h>

/* ---- orders ---------------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_pieces(const struct treap_node *a, const struct treap_node *b)
{
    const struct place *x = (const struct place *)a, *y = (const struct place *)b;
    const int by_memory = compare_numbers(x->memory, y->memory);
    return by_memory ? by_memory : compare_numbers(x->offset + x->bytes, y->offset + y->bytes);
}

static int compare_gaps(const struct treap_node *a, const struct treap_node *b)
{
    const struct place *x = (const struct place *)a, *y = (const struct place *)b;
    const int by_bytes = compare_numbers(x->bytes, y->bytes);
    return by_bytes ? by_bytes : compare_numbers(x->address, y->address);
}

void places_open(struct address_places *p)
{
    memset(p, 0, sizeof *p);
    p->pieces.compare = compare_pieces;
    p->gaps.compare = compare_gaps;
    p->tail = (struct place){.bytes = UINT64_MAX, .is_gap = true};
    for (size_t i = 0; i < PLACES_MOST; i++) {
        p->room[i].next = p->spare;
        p->spare = &p->room[i];
    }
}

/* ---- the axis -------------------------------------------------------------------------------- */

/* A place before `next` on the axis. The caller has made sure that there is a spare one. */
static struct place *insert_before(struct address_places *p, struct place *next)
{
    struct place *place = p->spare;
    p->spare = place->next;
    *place = (struct place){.prev = next->prev, .next = next};
    if (next->prev)
        next->prev->next = place;
    next->prev = place;
    return place;
}

static void unlink_place(struct address_places *p, struct place *place)
{
    if (place->prev)
        place->prev->next = place->next;
    place->next->prev = place->prev; /* the tail is always behind */
    place->next = p->spare;
    p->spare = place;
}

/* Takes the first bytes of a gap away; an empty one vanishes. */
static void shrink_gap(struct address_places *p, struct place *gap, uint64_t bytes)
{
    if (gap != &p->tail)
        treap_remove(&p->gaps, &gap->node);
    gap->address += bytes;
    if (gap == &p->tail)
        return;
    gap->bytes -= bytes;
    if (gap->bytes)
        treap_insert(&p->gaps, &gap->node);
    else
        unlink_place(p, gap);
}

/* Makes a piece, which is in no tree, a gap, and joins it with the gaps beside it. */
static void make_gap(struct address_places *p, struct place *place)
{
    struct place *before = place->prev, *after = place->next;
    place->is_gap = true;
    if (before && before->is_gap) {
        treap_remove(&p->gaps, &before->node);
        place->address = before->address;
        place->bytes += before->bytes;
        unlink_place(p, before);
    }
    if (after == &p->tail) {
        after->address = place->address;
        unlink_place(p, place);
        return;
    }
    if (after->is_gap) {
        treap_remove(&p->gaps, &after->node);
        place->bytes += after->bytes;
        unlink_place(p, after);
    }
    treap_insert(&p->gaps, &place->node);
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* The first piece of the memory that ends at this byte or behind it; NULL: there is none. */
static struct place *first_end(const struct address_places *p, uint64_t memory, uint64_t end)
{
    const struct place key = {.memory = memory, .offset = end};
    struct place *found = (struct place *)treap_from(&p->pieces, &key.node);
    return found && found->memory == memory ? found : NULL;
}

/* Lengthens the piece before, if these bytes follow it and there is room behind it. */
static struct place *lengthen(struct address_places *p, uint64_t memory, uint64_t offset,
                              uint64_t bytes)
{
    struct place *before = first_end(p, memory, offset);
    if (!before || before->offset + before->bytes != offset || !before->next->is_gap ||
        before->next->bytes < bytes)
        return NULL;
    treap_remove(&p->pieces, &before->node);
    shrink_gap(p, before->next, bytes);
    before->bytes += bytes;
    treap_insert(&p->pieces, &before->node);
    return before;
}

bool places_add(struct address_places *p, uint64_t memory, uint64_t offset, uint64_t bytes,
                place_heard *added, void *context)
{
    struct place *place = lengthen(p, memory, offset, bytes);
    if (!place) {
        const struct place key = {.bytes = bytes};
        struct place *gap = (struct place *)treap_from(&p->gaps, &key.node);
        if (!p->spare)
            return false;
        gap = gap ? gap : &p->tail;
        place = insert_before(p, gap);
        place->memory = memory;
        place->offset = offset;
        place->bytes = bytes;
        place->address = gap->address;
        shrink_gap(p, gap, bytes);
        treap_insert(&p->pieces, &place->node);
        p->count++;
    }
    added(context, place->address + offset - place->offset, bytes);
    return true;
}

/* ---- removing and finding -------------------------------------------------------------------- */

static uint64_t end_of(const struct place *place)
{
    return place->offset + place->bytes;
}

/* Cuts a piece in two at this byte, which is within it, and returns the second; NULL: there is no
 * room for it. */
static struct place *cut(struct address_places *p, struct place *place, uint64_t at)
{
    if (!p->spare)
        return NULL;
    struct place *second = insert_before(p, place->next);
    second->memory = place->memory;
    second->offset = at;
    second->bytes = end_of(place) - at;
    second->address = place->address + at - place->offset;
    treap_remove(&p->pieces, &place->node);
    place->bytes = at - place->offset;
    treap_insert(&p->pieces, &place->node);
    treap_insert(&p->pieces, &second->node);
    p->count++;
    return second;
}

/* Without room to cut, the whole piece goes. */
void places_remove(struct address_places *p, uint64_t memory, uint64_t offset, uint64_t bytes,
                   place_heard *removed, void *context)
{
    const uint64_t end = offset + bytes;
    struct place *place;
    while ((place = first_end(p, memory, offset + 1)) && place->offset < end) {
        struct place *from = place->offset < offset ? cut(p, place, offset) : NULL;
        place = from ? from : place;
        if (end < end_of(place))
            cut(p, place, end);
        removed(context, place->address, place->bytes);
        treap_remove(&p->pieces, &place->node);
        p->count--;
        make_gap(p, place);
    }
}

uint64_t places_find(const struct address_places *p, uint64_t memory, uint64_t offset,
                     uint64_t bytes, place_heard *found, void *context)
{
    const uint64_t end = offset + bytes;
    uint64_t sum = 0, at = offset;
    const struct place *place;
    while (at < end && (place = first_end(p, memory, at + 1)) && place->offset < end) {
        const uint64_t from = at > place->offset ? at : place->offset;
        const uint64_t to = end < end_of(place) ? end : end_of(place);
        found(context, place->address + from - place->offset, to - from);
        sum += to - from;
        at = to;
    }
    return sum;
}
