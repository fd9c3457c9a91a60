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

/* Adds a hole before the i-th one. */
static void insert_hole(struct addresses *a, unsigned i, uint64_t start, uint64_t bytes)
{
    a->holes = must_grow(a->holes, a->hole_count, &a->hole_capacity, sizeof *a->holes);
    memmove(a->holes + i + 1, a->holes + i, (a->hole_count++ - i) * sizeof *a->holes);
    a->holes[i] = (struct address_range){start, bytes};
}

static void remove_hole(struct addresses *a, unsigned i)
{
    memmove(a->holes + i, a->holes + i + 1, (--a->hole_count - i) * sizeof *a->holes);
}

uint64_t addresses_take(struct addresses *a, uint64_t bytes)
{
    bytes = up_to(bytes, page_bytes);
    for (unsigned i = 0; i < a->hole_count; i++) {
        struct address_range *hole = &a->holes[i];
        const uint64_t start = hole->start;
        if (hole->bytes < bytes)
            continue;
        hole->start += bytes;
        hole->bytes -= bytes;
        if (hole->bytes == 0)
            remove_hole(a, i);
        return start;
    }
    const uint64_t reserved = up_to(bytes, range_bytes);
    a->lowest = (a->lowest ? a->lowest : top) - reserved;
    if (reserved > bytes)
        insert_hole(a, 0, a->lowest + bytes, reserved - bytes);
    return a->lowest;
}

void addresses_give(struct addresses *a, uint64_t address, uint64_t bytes)
{
    bytes = up_to(bytes, page_bytes);
    unsigned i = 0;
    while (i < a->hole_count && a->holes[i].start < address)
        i++;
    insert_hole(a, i, address, bytes);
    if (i + 1 < a->hole_count && address + bytes == a->holes[i + 1].start) {
        a->holes[i].bytes += a->holes[i + 1].bytes;
        remove_hole(a, i + 1);
    }
    if (i > 0 && a->holes[i - 1].start + a->holes[i - 1].bytes == address) {
        a->holes[i - 1].bytes += a->holes[i].bytes;
        remove_hole(a, i);
    }
}

void addresses_free(struct addresses *a)
{
    free(a->holes);
    *a = (struct addresses){0};
}
