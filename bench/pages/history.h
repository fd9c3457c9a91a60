/* The contents of a page of a trace: every block of the application, the bytes over its events, and
 * where each strategy put the blocks.
 *
 * Moments count as events do: moment n is the state after the n-th event, and moment 0 is before
 * the first. A block that event b made and event d gave back exists in the moments b to d - 1.
 * Blocks, their requested bytes and their lifetimes are the application's own, so they are the same
 * under every strategy that refuses nothing.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/summary.h"
#include "replay/replay.h"

/* A picture of an address space over the steps of a replay, in bounded memory: how much of each row
 * of addresses is in blocks.
 *
 * A cell stands for `stride` steps and `row_bytes` addresses, and keeps the most bytes that blocks
 * took of it, so nothing is left out, however long the replay. When all columns are taken, each
 * pair of neighbours becomes one and the stride doubles; when an address is above the last row,
 * each pair of rows becomes one, whose most is at most the sum of both.
 */

enum { COVER_COLUMNS = 128, COVER_ROWS = 64 }; /* even */

struct address_cover {
    uint64_t stride, row_bytes;
    uint64_t top_bytes; /* above the highest address so far */
    size_t count;       /* columns */
    uint64_t most[COVER_COLUMNS][COVER_ROWS];
    uint64_t used[COVER_ROWS]; /* at present */
};

/* Makes an empty cover, at step 0. */
void cover_open(struct address_cover *cover);
/* Time passes until `step`, which never decreases. */
void cover_advance(struct address_cover *cover, uint64_t step);
/* From this step on, a block uses the bytes [address, address + bytes), or stops using them. */
void cover_use(struct address_cover *cover, uint64_t address, uint64_t bytes, bool begins);

/* {"stride", "row_bytes", "most": [text a row]}, the lowest row first. A character of a text is a
 * column: '0' none of the row's bytes, '1' to 'e' fourteenths, rounded up; 'f' all. The caller owns
 * it. */
json_t *cover_to_json(const struct address_cover *cover);

struct view_block {
    uint64_t bytes;      /* requested */
    uint32_t born, died; /* moments; `died` is behind the last moment if it lives at the end */
    uint32_t name, site; /* of the trace: the call site; its call stack, or else the name */
};

struct view_blocks {
    unsigned count, capacity;
    struct view_block *items; /* in the order of their births */
};

/* From this moment on, the innermost phase is this one. */
struct view_phase {
    uint32_t moment, name;
};

/* A request that the recorded allocator refused. Requests that the program can do without
 * (trace_is_dispensable) are none. */
struct view_refusal {
    uint32_t moment, name;     /* 0: none; of the trace: the call site */
    uint64_t bytes, requested; /* asked for; by the blocks that live then */
};

#define VIEW_NOWHERE UINT64_MAX

/* The place at which a strategy put a block. Addresses are on one axis (view/address_places.h). */
struct view_place {
    uint64_t address, granted; /* VIEW_NOWHERE: no address is known */
};

/* The result of a strategy on the trace. */
struct view_strategy {
    struct replay_outcome outcome;
    struct view_place *places; /* by block */
    unsigned place_count, place_capacity;
    struct view_blocks held; /* pieces of memory that the driver gave; no names */
    uint64_t *held_addresses;
    unsigned held_capacity;
    struct address_cover cover; /* by moments, of all blocks that have an address */
    uint64_t scattered;         /* blocks in several pieces of the axis: the first is kept */
    uint64_t nowhere;           /* blocks without an address */
    struct view_strategy_summary summary;
};

struct view_history {
    struct trace_reader *reader; /* open as long as the history is used; owns the names */
    bool has_times;
    uint32_t first, last; /* the moments that are kept */
    struct view_blocks blocks;
    unsigned phase_count, phase_capacity, name_count, label_capacity;
    uint32_t *labels; /* by the innermost frame of a call stack: the name of its blocks */
    struct view_phase *phases;
    struct view_refusal refusal; /* the last one: an error that the program survived is before it */
    struct view_summary summary;
};

/* Plays the trace under a strategy. The first call for a history fills in the history, all others
 * only *strategy. `history` is {reader, first, last}: of a trace with fewer moments, `last` is made
 * smaller. ERR_UNSUPPORTED: more events than a page can count, or none in the window; errors of
 * replay_trace. A strategy that cannot serve the trace is in the outcome. The caller frees both in
 * any case. */
int view_record(struct view_history *history, const struct replay_options *options,
                struct view_strategy *strategy, struct error *error);
void view_strategy_free(struct view_strategy *strategy);
void view_history_free(struct view_history *history);
