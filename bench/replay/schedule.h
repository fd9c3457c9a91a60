/* Facts about a trace that a replay on a device needs before it begins: the calls that wait for
 * their own command, the points of a queue that later calls wait for, and the blocks that must be
 * there when the clock starts. */
#pragma once

#include "device/device.h"
#include "trace/trace.h"

/* Kernels that stand in for recorded ones: they use the same blocks, and take as long.
 *
 * Where the record says how long a kernel took, its stand-in writes a word of each page that no
 * command has used (on a device with memory of its own: one word), and spins until that time is
 * over. Where it does not, the stand-in reads and writes all bytes of its blocks once, as a kernel
 * would that waits for memory alone. There is a kernel for each number of blocks, so that a
 * recorder sees the same arguments.
 */

/* A launch has three arguments a block, and OpenCL promises room for 1024 bytes. */
enum { STANDIN_USES_MAX = 40 };

/* A range of bytes that a launch uses. */
struct standin_use {
    uint64_t memory, offset, bytes;
    bool is_fresh; /* no command has used it */
};

struct standins;
/* Builds the kernels for the numbers of blocks that `wanted` has set, and measures how fast they
 * spin. The caller closes *standins. ERR_BUILD, ERR_OOM, ERR_DEVICE. */
int standins_open(struct device *device, const bool wanted[STANDIN_USES_MAX + 1],
                  struct standins **standins, struct error *error);
/* Launches one in the current queue. device_ns 0: unknown. */
int standins_launch(struct standins *standins, const struct standin_use *uses, unsigned count,
                    uint64_t device_ns, struct error *error);
void standins_close(struct standins *standins);

struct schedule_queue {
    uint64_t commands; /* that the queue is given */
    unsigned capacity;
    /* By number of the command, from 1 on: how many waits name it (at most 65535). */
    uint16_t *waits;
};

/* A memory that the replay asks an allocator of its own for. */
struct schedule_part {
    unsigned pool, memory; /* as in struct trace_event */
    bool keeps;            /* it begins within the replay: TRACE_pool_begin */
};

enum { SCHEDULE_PARTS_MAX = 64 };

struct schedule {
    uint64_t recorded_ns; /* from the begin of the first call to the end of the last; 0: unknown */
    uint64_t began_ns;    /* of the first call */
    bool has_times;
    unsigned queue_count, queue_capacity;
    struct schedule_queue *queues;
    unsigned part_count;
    struct schedule_part parts[SCHEDULE_PARTS_MAX];
    bool wanted[STANDIN_USES_MAX + 1]; /* kernels, by number of blocks */
    uint64_t most_bytes;               /* of a read, write or map */
    uint64_t timed_launches, launches;
    unsigned char *blocking; /* a bit for each event: the next event is the wait for this command */
};

/* Reads the trace and goes back to its first event. ERR_PARSE, ERR_IO. The caller calls
 * schedule_free in any case. */
int schedule_read(struct trace_reader *reader, struct schedule *schedule, struct error *error);
void schedule_free(struct schedule *schedule);

/* The number of an event, from 0 on: is the next event the wait for this command? */
static inline bool schedule_blocks(const struct schedule *s, uint64_t event)
{
    return s->blocking[event / 8] >> event % 8 & 1;
}

/* Commands by which a recorder counts what a wait is for: all that a queue is given. */
static inline bool schedule_is_command(enum trace_kind kind)
{
    return kind >= TRACE_launch && kind <= TRACE_unmap;
}
