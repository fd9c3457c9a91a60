/* The dry device: a source without a driver. It counts like every source, and if it has the atlas
 * of a device, its calls take the time that they take there, on a clock that only moves here.
 *
 * There are two clocks, the host's and that of the device's queue. A call for memory takes the time
 * that the atlas has for its size. If the atlas says that the call waits, the host's clock first
 * advances to the device's. While the device works a call costs its busy price, and the first calls
 * after the host has copied data are dearer, as in the atlas. A command begins once it has been
 * given and the device is done with the commands before it. Without an atlas the clocks stand
 * still.
 *
 * A driver's pool gives back its spare memory when the host waits; this makes the wait longer, and
 * does not count as `driver_ns`. Where the atlas has a step in the cost of memory, smaller memories
 * are assumed to be cut from pages of that size. The first memory in a page pays for the page, and
 * the last one that is freed pays for giving it back.
 */
#pragma once

#include "results/facts/case.h"
#include "run/atlas/pace.h"

struct dry_device {
    const char *name;          /* for messages */
    const struct atlas *atlas; /* its costs; NULL: calls take no time */
    struct pace pace;          /* of the host: its calls take the atlas's times this */
    bool synchronous;          /* commands are done when their calls return, as on the host */
    bool lazy_on_device; /* the device makes memory usable at its first use; false: the host */
    bool can_touch;      /* memory can be made resident ahead of its use */
    bool can_split;      /* as in struct source */
    bool has_pool;       /* the device has a stream-ordered pool */
    double *log_ns;      /* now, and when what is freed to the pool is done; NULL: by the clocks */
    uint64_t vm_granularity_bytes; /* 0: the device has no virtual memory */
    uint64_t page_bytes;     /* smaller memories are cut from pages of this size; 0: none are */
    bool pages_at_use;       /* ... when they are first used; false: when they are allocated */
    uint64_t memory_bytes;   /* the memory of the device */
    uint64_t alignment;      /* memories begin at multiples of this many bytes */
    uint64_t capacity_bytes; /* as in struct source */
    bool has_addresses;      /* memories have addresses, as under CUDA (addresses.h) */
};

/* Opens a device, which the caller closes after the allocators that use its source. The atlas must
 * outlive it. */
struct dry *dry_open(const struct dry_device *device);
void dry_close(struct dry *dry);
/* Its source, which it owns. */
struct source *dry_source(struct dry *dry);

/* Has `released` called when the source takes back a memory, or a part of one that was mapped. */
void dry_on_release(struct dry *dry,
                    void (*released)(void *context, uint64_t memory, uint64_t offset,
                                     uint64_t bytes),
                    void *context);
/* The recorded driver's next memory: the source's next one has its address if it has its size. From
 * the first one on that has not, addresses follow the rule. */
void dry_expect(struct dry *dry, uint64_t bytes, uint64_t address);

/* The next call takes the host `ns` in addition to its wait for the device, as the log says of the
 * same call; 0: what the atlas says. Commands, transfers and waits take no more than that, because
 * the recorder's own time is in the log's. */
void dry_logged(struct dry *dry, uint64_t ns);

/* A timed run begins on an idle device: both clocks and all times are 0. */
void dry_begin(struct dry *dry);
/* The host works for `ns`. */
void dry_pass(struct dry *dry, double ns);
/* The next command or transfer uses a memory of the source, and pays if that is the first use. */
void dry_use(struct dry *dry, uint64_t memory);
/* A command: the call takes `call_ns`, and the device works for `device_ns`. */
void dry_command(struct dry *dry, double call_ns, double device_ns);
/* A blocking transfer, "read" or "write": a call and a command for whose end the host waits. The
 * atlas has its time on an idle device; on a busy one the latency passes while the host waits. */
void dry_transfer(struct dry *dry, const char *call, uint64_t bytes);
/* The host waits for the device: for a queue or (ALLOCATOR_QUEUES_MAX) for all. The driver's pools
 * have that queue's frees back. */
void dry_wait(struct dry *dry, unsigned queue);
/* Later commands of a queue wait for those that another has now. The driver's pools know it. */
void dry_order(struct dry *dry, unsigned queue, unsigned other);
/* The run ends: a mark is made, and the host waits for it. */
void dry_end(struct dry *dry);
/* The times since dry_begin, except allocator_ns. ERR_UNSUPPORTED where the atlas lacks a cost that
 * the run needed; the message names it. */
int dry_times(const struct dry *dry, struct case_model *times, struct error *error);
