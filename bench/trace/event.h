/* An event of a trace: one thing that an application did with memory.
 *
 * A trace is a list of events in one order. Calls that create something stand where they end, all
 * others where they begin, so that nothing is used before it was created. What a recorder or a log
 * does not know is not in the trace; trace_info says which facts are (trace.h).
 *
 * A free has two stamps. At `free` the application gives the block up; its commands may still run.
 * At `done` the last of them has ended. A log that knows one of the two has that one only.
 */
#pragma once

#include <stdint.h>

/* X(name): the kinds of events. The order is part of the file format: new kinds come last. */
#define TRACE_KIND_LIST(X)                                                                         \
    X(held)    /* a block that lived before the trace began */                                     \
    X(alloc)   /* a request for a block, which was served */                                       \
    X(free)    /* the application frees a block */                                                 \
    X(done)    /* the last command that uses a freed block has ended */                            \
    X(refused) /* a request that was refused: out of memory */                                     \
    X(launch)  /* a command: a kernel */                                                           \
    X(copy)    /* a command: a copy within the device */                                           \
    X(fill)    /* a command: a fill */                                                             \
    X(write)   /* a copy from the host */                                                          \
    X(read)    /* a copy to the host */                                                            \
    X(map)     /* the host gets access to a block */                                               \
    X(unmap)   /* the host gives that access up */                                                 \
    X(wait)    /* the host waits for the queue's commands, but for the latest: see `behind` */     \
    X(order)   /* later commands of the queue wait for those that another queue has now */         \
    X(begin)   /* a phase begins */                                                                \
    X(end)     /* a phase ends */                                                                  \
    X(driver_alloc) /* the recorded allocator got memory from the driver */                        \
    X(driver_free)  /* the recorded allocator gave memory back */                                  \
    X(driver_map)   /* the recorded allocator mapped memory to an address */                       \
    X(driver_unmap) /* the recorded allocator unmapped memory */                                   \
    X(trim)         /* the application has the allocator give back what it can */                  \
    X(pool_begin)   /* a private pool begins, which keeps its memory: captured graphs use it */    \
    X(pool_end)     /* the private pool gives its memory back */                                   \
    X(start) /* what stands before it was there when the recording began: blocks, and memory. A    \
              * driver_map of 0 bytes there is the begin of a range of addresses; `granted`: the   \
              * bytes that are mapped at a time */

#define TRACE_KIND(name) TRACE_##name,
enum trace_kind { TRACE_KIND_LIST(TRACE_KIND) TRACE_KINDS };

/* A command's use of a block. A recorder that cannot tell has both bits set. */
enum trace_access { TRACE_READS = 1, TRACE_WRITES = 2 };

struct trace_use {
    unsigned slot;   /* slot of the block */
    unsigned access; /* bits of enum trace_access */
};

/* Members that do not concern a kind are 0. Times are in nanoseconds. */
struct trace_event {
    enum trace_kind kind;
    unsigned queue;   /* index of the queue. In an `order` event: the queue that waits */
    unsigned thread;  /* index of the thread that made the call */
    uint64_t time_ns; /* since the trace began; 0 in a trace without times. See trace_time_ns */
    /* A block of held, alloc, free and done. `slot` is a small number that another block may get
     * after the last event of this one; `block` counts held and alloc events from 1 on. A reader
     * sets `block`, a writer ignores it. */
    unsigned slot;
    uint64_t block;
    uint64_t bytes;     /* requested, refused, copied, mapped, or of the driver's memory */
    uint64_t granted;   /* bytes of the block as the recorded allocator rounded them; 0: unknown */
    uint64_t alignment; /* alignment of the request; 0: unknown */
    uint64_t address;   /* address of the block or the driver's memory; 0: unknown */
    unsigned name;      /* index of a name: call site, kernel or phase; 0: unknown */
    unsigned stack;     /* call stack: the index of its innermost frame (trace.h); 0: unknown */
    unsigned memory;    /* enum driver_memory: where the block lives */
    unsigned pool;      /* number of a private pool; 0: the common one */
    unsigned other;     /* `order`: index of the queue whose commands are waited for */
    /* `wait`, `order`: the number of the queue's latest commands that are not waited for */
    uint64_t behind;
    uint64_t call_ns;   /* host time of the call; 0: unknown */
    uint64_t device_ns; /* time that the command kept the device busy; 0: unknown */
    uint64_t ended_ns;  /* time at which the device had ended the command, as time_ns; 0: unknown */
    unsigned use_count;
    const struct trace_use *uses; /* blocks that a command uses */
};

/* Does an event of this kind keep the device busy? */
static inline int trace_is_command(enum trace_kind kind)
{
    return kind == TRACE_launch || kind == TRACE_copy || kind == TRACE_fill;
}

/* A call that the recorded allocator made to the driver. */
static inline int trace_is_driver_call(enum trace_kind kind)
{
    return kind >= TRACE_driver_alloc && kind <= TRACE_driver_unmap;
}

/* Follows the bytes that the recorded allocator holds from the driver; other events change nothing.
 * What it gives back without having got it in the trace does not count. */
static inline void trace_hold(uint64_t *held_bytes, const struct trace_event *e)
{
    if (e->kind == TRACE_driver_alloc || e->kind == TRACE_driver_map)
        *held_bytes += e->bytes;
    else if (trace_is_driver_call(e->kind))
        *held_bytes -= e->bytes < *held_bytes ? e->bytes : *held_bytes;
}

/* Has the device anything to do for an event? A copy of 0 bytes is none. */
static inline int trace_has_work(const struct trace_event *e)
{
    return e->kind == TRACE_launch || (e->kind > TRACE_launch && e->kind <= TRACE_read && e->bytes);
}

/* Of an event of a trace that knows device_times: is its time missing? One that ended within a tick
 * of the device's clock took none. */
static inline int trace_lacks_time(const struct trace_event *e)
{
    return trace_has_work(e) && !e->device_ns && !e->ended_ns;
}

/* The time_ns of an event whose call began at begin_ns: an alloc has the time at which it
 * returned. */
static inline uint64_t trace_time_ns(enum trace_kind kind, uint64_t begin_ns, uint64_t call_ns)
{
    return kind == TRACE_alloc ? begin_ns + call_ns : begin_ns;
}

/* When the call of an event began, and when it returned. */
static inline uint64_t trace_begin_ns(const struct trace_event *e)
{
    const uint64_t ahead = e->kind == TRACE_alloc ? e->call_ns : 0;
    return e->time_ns > ahead ? e->time_ns - ahead : 0;
}
static inline uint64_t trace_end_ns(const struct trace_event *e)
{
    return trace_begin_ns(e) + e->call_ns;
}
