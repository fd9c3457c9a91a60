/* The data of a page: columns that are packed by zlib, each an element of its own, and an object
 * that says which is which.
 *
 *   {"first", "last", "has_times", "has_sites", "names": {"count", "texts": number,
 *    "frames": number}, "phase_count", "phases": number,
 *    "levels",
 *    "summary": [{"stride", "count", "data"}, ...]        the finest level first
 *    "blocks": [[level, first, last, count, number], ...]  chunks (levels.h)
 *    "strategies": [{"name", "unit", "top", "reserved", "measured", "limit" (or null),
 *                    "summary": [number, ...], "blocks": [number, ...],
 *                    "cover": history.h, "held": [[level, first, last, count, number], ...],
 *                    ...}, ...]}
 *
 * A number names an element. The columns stand one behind the other:
 *
 *   texts     of all names, each with a NUL behind it, those that the page does not use empty
 *   frames    by name, of a frame: twice the way to its caller (0: it has none), and 1, or 2 if it
 *             is hidden; else 0. Then by name, of the innermost frame of a stack: its label, or 0
 *   phases    moment (difference), name
 *   summary   requested (signed difference), its moment in the bucket, time in ns (difference)
 *   summary of a strategy     granted, reserved (signed differences)
 *   blocks    birth (signed difference), moments of life, bytes, the innermost frame of the stack,
 *             or else the name
 *   blocks of a strategy      address + unit (signed difference in units; 0: nowhere), bytes
 *                             granted beyond the requested ones
 *   held      birth (signed difference), moments of life, bytes, address (signed difference, units)
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "pages/history.h"
#include "pages/levels.h"

struct view_data {
    FILE *out;
    unsigned count; /* elements so far */
};

/* The data that all strategies share. The caller owns the object. */
json_t *data_of_history(struct view_data *data, const struct view_history *history,
                        const struct view_levels *levels);
/* The data of one strategy. The caller owns the object. */
json_t *data_of_strategy(struct view_data *data, const struct view_history *history,
                         const struct view_levels *levels, const char *name,
                         uint64_t measured_bytes, const struct view_strategy *strategy);
