#include "run/predict/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static const uint64_t range_bytes = UINT64_C(32) << 20;
static const uint64_t page_bytes = UINT64_C(2) << 20; /* memories are multiples of it */
static const uint64_t top = UINT64_C(1) << 46;        /* below the addresses of real processes */

static uint64_t up_to(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* ---- holes ----------------------------------------------------------------------------------- */

static void remove_hole(struct address_holes *h, unsigned i)
{
    memmove(h->ranges + i, h->ranges + i + 1, (--h->count - i) * sizeof *h->ranges);
}

bool holes_take(struct address_holes *h, uint64_t bytes, uint64_t *start)
{
    for (unsigned i = 0; i < h->count; i++) {
        struct address_range *hole = &h->ranges[i];
        if (hole->bytes < bytes)
            continue;
        *start = hole->start;
        hole->start += bytes;
        hole->bytes -= bytes;
        if (hole->bytes == 0)
            remove_hole(h, i);
        return true;
    }
    return false;
}

/* The number of holes that begin before an address. */
static unsigned holes_below(const struct address_holes *h, uint64_t address)
{
    unsigned first = 0, count = h->count;
    while (count > 0) {
        const unsigned half = count / 2;
        const bool is_below = h->ranges[first + half].start < address;
        first = is_below ? first + half + 1 : first;
        count = is_below ? count - half - 1 : half;
    }
    return first;
}

void holes_give(struct address_holes *h, uint64_t start, uint64_t bytes)
{
    const unsigned i = holes_below(h, start);
    struct address_range *before = i > 0 ? &h->ranges[i - 1] : NULL;
    struct address_range *after = i < h->count ? &h->ranges[i] : NULL;
    const bool joins_before = before && before->start + before->bytes == start;
    const bool joins_after = after && start + bytes == after->start;
    if (joins_before) {
        before->bytes += bytes + (joins_after ? after->bytes : 0);
        if (joins_after)
            remove_hole(h, i);
    } else if (joins_after) {
        *after = (struct address_range){start, bytes + after->bytes};
    } else {
        h->ranges = must_grow(h->ranges, h->count, &h->capacity, sizeof *h->ranges);
        memmove(h->ranges + i + 1, h->ranges + i, (h->count++ - i) * sizeof *h->ranges);
        h->ranges[i] = (struct address_range){start, bytes};
    }
}

void holes_free(struct address_holes *h)
{
    free(h->ranges);
    *h = (struct address_holes){0};
}

/* ---- the addresses of memories --------------------------------------------------------------- */

uint64_t addresses_take(struct addresses *a, uint64_t bytes)
{
    uint64_t start;
    bytes = up_to(bytes, page_bytes);
    if (holes_take(&a->holes, bytes, &start))
        return start;
    const uint64_t reserved = up_to(bytes, range_bytes);
    a->lowest = (a->lowest ? a->lowest : top) - reserved;
    if (reserved > bytes)
        holes_give(&a->holes, a->lowest + bytes, reserved - bytes);
    return a->lowest;
}

void addresses_give(struct addresses *a, uint64_t address, uint64_t bytes)
{
    holes_give(&a->holes, address, up_to(bytes, page_bytes));
}

void addresses_free(struct addresses *a)
{
    holes_free(&a->holes);
    *a = (struct addresses){0};
}
