/* The commands of a trace on a real device: its queues, uses, copies, maps and waits, and the gaps
 * between the calls of each thread. replay.c calls it, and has the strategies.
 *
 * All threads are played from one, in the order of the trace. A gap is the time from the end of one
 * call of a thread to the begin of its next: in a replay the next call waits until that time has passed
 * since the end of the one before. Time spent in a call is no gap, so what the host waited for the device comes out
 * again by itself, or not.
 *
 * What differs from the recorded commands is counted: struct live_counts.
 */
#ifndef GAMUT_RUN_REPLAY_LIVE_H
#define GAMUT_RUN_REPLAY_LIVE_H

#include "alloc/allocator.h"
#include "device/device.h"
#include "run/replay/schedule.h"

struct live_options {
    bool gaps;               /* keep them; false: each call follows the one before at once */
    uint64_t capacity_bytes; /* of the sources; 0: the driver decides */
};

/* A block that an event uses, or that of the event. */
struct live_use {
    const struct block *block;
    unsigned slot; /* as in struct trace_use */
    uint64_t requested_bytes;
    unsigned access; /* bits of enum trace_access */
    bool *used;      /* a command has used the block; live_command sets it */
};

/* Commands that are not what was recorded. */
struct live_counts {
    uint64_t blocking;  /* transfers that the host waits for here, and did not in the record */
    uint64_t shortened; /* transfers of more bytes than the block has */
    uint64_t unmapped;  /* maps and unmaps on a device without them */
    uint64_t wide;      /* kernels with more blocks than STANDIN_USES_MAX */
    uint64_t lost;      /* commands whose block the record does not have */
};

struct live;
/* Prepares what is needed before the clock starts: kernels, and memory on the host. Both pointers
 * are borrowed. The caller closes *live before the device. ERR_UNSUPPORTED, ERR_OOM, ERR_DEVICE. */
int live_open(struct device *device, const struct schedule *schedule,
              const struct live_options *options, struct live **live, struct error *error);
void live_close(struct live *live);
/* Whether the replays that begin from here on keep the gaps. */
void live_keep_gaps(struct live *live, bool gaps);

const struct schedule *live_schedule(const struct live *live);
/* A source over the device. */
struct source live_source(struct live *live);
/* Where the device has memory of kind `memory` (enum driver_memory): itself, or MEMORY_DEVICE where the device's memory is
 * the host's. */
enum driver_memory live_kind(const struct live *live, unsigned memory);

/* A replay begins on an idle device: the clock starts. */
int live_begin(struct live *live, struct error *error);
/* The call of an event begins: waits until its gap has passed. */
void live_call(struct live *live, const struct trace_event *event);
/* Gives the device the command of event number `number`, from 0 on; other kinds do nothing. ERR_OOM where memory that is made at
 * its first use could not be made. */
int live_command(struct live *live, const struct trace_event *event, uint64_t number,
                 const struct live_use *uses, unsigned count, struct error *error);
/* The call has ended. */
void live_return(struct live *live, const struct trace_event *event);
/* The host waits for all commands. */
int live_wait(struct live *live, struct error *error);
/* Waits for all commands, and stops the clock: *wall_ns. */
int live_end(struct live *live, uint64_t *wall_ns, struct error *error);
/* Of the replay that ended last. */
const struct live_counts *live_counts(const struct live *live);

#endif
