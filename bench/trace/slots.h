/* Follows the blocks of a trace: which slot holds which block, and the totals. Reader and writer
 * use it, so that both accept the same sequences of events. */
#pragma once

#include "trace/trace.h"

/* More blocks than that cannot live at once. */
enum { TRACE_SLOTS_MAX = 1 << 24 };

enum slot_state { SLOT_FREE, SLOT_LIVE, SLOT_LET_GO };

struct trace_slot {
    uint64_t block, bytes; /* number and requested bytes */
    enum slot_state state;
};

/* All zeros, but for knows_done: no blocks. */
struct trace_slots {
    struct trace_slot *slots;
    unsigned capacity;
    bool knows_done; /* a slot is free after `done`; false: after `free` */
    uint64_t live_bytes;
    struct trace_totals totals; /* without digest */
};

/* Follows an event, and sets event->block. Returns NULL, or what is wrong with the event: it then
 * has no effect. */
const char *slots_follow(struct trace_slots *slots, struct trace_event *event);
/* Forgets all blocks; keeps the memory. */
void slots_restart(struct trace_slots *slots);
void slots_free(struct trace_slots *slots);
