/* Plays events of a trace under a strategy, without a device: the recorded run of a
 * program (model.h), or a trace (replay/replay.h). The caller keeps the blocks. */
#pragma once

#include "alloc/allocator.h"
#include "run/predict/dry.h"
#include "trace/event.h"

struct player {
    struct dry *dry;
    bool own_time;       /* the strategy's own work takes the time that it takes here; else none */
    double allocator_ns; /* that time */
    double host_factor;  /* the host's recorded work takes so many times as long now; 0: once */
    uint64_t ended_ns;   /* when the call before ended, by the trace */
};

/* The host works between two calls as long as it did. */
void player_gap(struct player *player, const struct trace_event *event);
/* As allocator_alloc and allocator_free. */
int player_alloc(struct player *player, struct allocator *allocator,
                 const struct alloc_request *request, struct block *block);
int player_free(struct player *player, struct allocator *allocator, struct block *block,
                const char *tag, uint64_t requested_bytes);
/* A command, a transfer or a wait; nothing for other kinds. `memory_of` has the memory of the block
 * in a slot; 0: there is none. */
void player_command(struct player *player, const struct trace_event *event,
                    uint64_t (*memory_of)(void *context, unsigned slot), void *context);
