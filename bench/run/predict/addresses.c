#include "run/predict/addresses.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"

static const uint64_t range_bytes = UINT64_C(32) << 20;
static const uint64_t page_bytes = UINT64_C(2) << 20; /* memories are multiples of it */
static const uint64_t top = UINT64_C(1) << 46;        /* below the addresses of real processes */

static uint64_t up_to(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static void remove_hole(struct addresses *a, unsigned i)
{
    memmove(a->holes + i, a->holes + i + 1, (--a->count - i) * sizeof *a->holes);
}

/* Frees a range whose bytes are all in use, and merges it with the holes next to it. */
static void add_hole(struct addresses *a, uint64_t start, uint64_t bytes)
{
    unsigned i;
    FIND_PLACE(i, a->count, a->holes[i].start < start);
    struct address_range *before = i > 0 ? &a->holes[i - 1] : NULL;
    struct address_range *after = i < a->count ? &a->holes[i] : NULL;
    const bool joins_before = before && before->start + before->bytes == start;
    const bool joins_after = after && start + bytes == after->start;
    if (joins_before) {
        before->bytes += bytes + (joins_after ? after->bytes : 0);
        if (joins_after)
            remove_hole(a, i);
    } else if (joins_after) {
        *after = (struct address_range){start, bytes + after->bytes};
    } else {
        a->holes = must_grow(a->holes, a->count, &a->capacity, sizeof *a->holes);
        memmove(a->holes + i + 1, a->holes + i, (a->count++ - i) * sizeof *a->holes);
        a->holes[i] = (struct address_range){start, bytes};
    }
}

uint64_t addresses_take(struct addresses *a, uint64_t bytes)
{
    bytes = up_to(bytes, page_bytes);
    unsigned i = 0;
    while (i < a->count && a->holes[i].bytes < bytes)
        i++;
    if (i < a->count) {
        struct address_range *hole = &a->holes[i];
        const uint64_t start = hole->start;
        *hole = (struct address_range){start + bytes, hole->bytes - bytes};
        if (hole->bytes == 0)
            remove_hole(a, i);
        return start;
    }
    const uint64_t reserved = up_to(bytes, range_bytes);
    a->lowest = (a->lowest ? a->lowest : top) - reserved;
    if (reserved > bytes)
        add_hole(a, a->lowest + bytes, reserved - bytes);
    return a->lowest;
}

void addresses_give(struct addresses *a, uint64_t address, uint64_t bytes)
{
    add_hole(a, address, up_to(bytes, page_bytes));
}

void addresses_free(struct addresses *a)
{
    free(a->holes);
    *a = (struct addresses){0};
}
