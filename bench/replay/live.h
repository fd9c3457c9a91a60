/* The commands of a trace on a real device: its queues, uses, copies, maps and waits, and the gaps
 * between the calls of each thread. replay.c calls it, and has the strategies.
 *
 * All threads are played from one, in the order of the trace. A gap is the time from the end of a
 * call to the begin of the next, be it of another thread: threads that hand each other work, as
 * PyTorch's forward and backward do, get faster and slower together. Independent threads
 * would overlap differently; predictions for them are off by that much. A call that was made while
 * another thread was in a call comes after that call here, and the delay is not handed on.
 *
 * Time inside a call is not replayed as a gap. If the host waited for the device there, the replay
 * waits too, as long as the device takes. But a call that gives the device work takes as long as
 * the recorded one at least, since drivers load a kernel's code in the call that launches it first.
 *
 * A strategy hands memory out again on the queue that it was asked for on (enum queue_safety). An
 * application also uses it on others, and lets it go while they work. So a block's first use on
 * another queue waits for the commands of the first, and the first waits for the others when the
 * block is let go; both on the device. Where the driver frees the memory, it waits itself.
 *
 * What differs from the recorded commands is counted: struct live_counts.
 */
#pragma once

#include "alloc/allocator.h"
#include "device/device.h"
#include "replay/schedule.h"

/* A live block of a replay, and its memory. Moments are numbers of events, from 1 on. */
struct live_block {
    bool is_used;    /* by a command */
    bool is_reused;  /* the strategy may have had the memory back from a block of `queue` before */
    unsigned queue;  /* that it was asked for on */
    uint64_t since;  /* when it was handed out */
    uint32_t others; /* a bit for each other queue that has used it */
    uint64_t latest; /* such use */
};

/* A block that an event uses. */
struct live_use {
    const struct block *block;
    unsigned slot; /* as in struct trace_use */
    uint64_t requested_bytes;
    unsigned access; /* bits of enum trace_access */
    struct live_block *state;
};

/* Commands that are not what was recorded. */
struct live_counts {
    uint64_t blocking;  /* transfers that the host waits for here, and did not in the record */
    uint64_t shortened; /* transfers of more bytes than the block has */
    uint64_t unmapped;  /* maps and unmaps on a device without them */
    uint64_t wide;      /* kernels with more blocks than STANDIN_USES_MAX */
    uint64_t lost;      /* commands whose block the record does not have */
    uint64_t crossings; /* waits of a queue for another, because memory moves between them */
};

struct live;
/* Prepares what is needed before the clock starts: kernels, and memory on the host. Both pointers
 * are borrowed. `capacity_bytes` of the sources; 0: the driver decides. The caller closes *live
 * before the device. ERR_UNSUPPORTED, ERR_OOM, ERR_DEVICE. */
int live_open(struct device *device, const struct schedule *schedule, uint64_t capacity_bytes,
              struct live **live, struct error *error);
void live_close(struct live *live);
/* Whether the replays that begin from here on keep the gaps; else, and at first, each call follows
 * the one before at once. */
void live_keep_gaps(struct live *live, bool gaps);

const struct schedule *live_schedule(const struct live *live);
/* A source over the device. */
struct source live_source(struct live *live);
/* The kind of the device's memory for the recorded kind `memory` (enum driver_memory): itself, or
 * MEMORY_DEVICE where the device's memory is the host's. */
enum driver_memory live_kind(const struct live *live, unsigned memory);

/* A replay begins on an idle device: the clock starts. */
int live_begin(struct live *live, struct error *error);
/* The call of an event begins: waits until its gap has passed. */
void live_call(struct live *live, const struct trace_event *event);
/* Gives the device the command of event number `number`, from 1 on; other kinds do nothing. ERR_OOM
 * where memory that is made at its first use could not be made. */
int live_command(struct live *live, const struct trace_event *event, uint64_t number,
                 const struct live_use *uses, unsigned count, struct error *error);
/* The strategy gets a block back at event `number`, while commands may still use it: the queue that
 * it was asked for on, which may have the memory next, waits for the others that use it. The host
 * does not wait. */
int live_let_go(struct live *live, const struct live_block *block, uint64_t number,
                struct error *error);
/* The call has ended. */
void live_return(struct live *live, const struct trace_event *event);
/* The host waits for all commands. */
int live_wait(struct live *live, struct error *error);
/* Waits for all commands, and stops the clock: *wall_ns. */
int live_end(struct live *live, uint64_t *wall_ns, struct error *error);
/* Of the replay that ended last. */
const struct live_counts *live_counts(const struct live *live);
