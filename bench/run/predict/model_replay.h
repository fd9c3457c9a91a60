/* A replay of the cost model, shared by its parts: events and runs (model.c), the source with its
 * plain calls (model_source.c), the driver's pool (model_pool.c) and virtual memory (model_vm.c).
 */
#ifndef GAMUT_RUN_MODEL_REPLAY_H
#define GAMUT_RUN_MODEL_REPLAY_H

#include "base/arena.h"
#include "run/predict/model.h"
#include "run/predict/model_chunks.h"

/* As many commands may wait in a queue; the next call waits for the oldest. Drivers do not say how
 * many: NVIDIA's hold 1024. It matters to what the host does meanwhile alone. */
enum { QUEUE_DEPTH = 1024 };

/* Costs of commands that have no size. */
struct command_costs {
    double launch_ns;  /* host: the call */
    double latency_ns; /* from the end of the call until an idle device begins */
    double mark_ns, mark_device_ns;
    double sync_ns; /* host: when there is nothing to wait for */
};

struct memory {
    uint64_t bytes;
    const char *method; /* of the atlas, by which it was got */
    bool used;     /* some command has used it, or what lies there now is a pool's spare piece */
    bool again;    /* one of this size had been given back before, in this run */
    unsigned next; /* handle of the next one that is not live */
    struct fit_node *piece; /* of a pool's chunk, or of a page; NULL: none, or none yet */
};

/* The driver's pool. */
struct model_pool {
    bool is_open;
    uint64_t threshold_bytes, capacity_bytes; /* capacity 0: none */
    struct model_chunks chunks;
    uint64_t peak_bytes; /* of what they reserve, since it was reset */
};

struct block_state {
    struct block block;
    uint64_t requested;
    const char *tag;
};

struct replay {
    const struct model *model;
    const struct trace *trace;
    struct command_costs costs;
    struct source_ops source_ops;
    struct source source;
    struct allocator allocator;
    struct block_state *blocks; /* by number */
    size_t memory_count, memory_capacity;
    struct memory *memories; /* handle - 1 */
    size_t freed_count, freed_capacity;
    uint64_t *freed_bytes; /* of memories given back in this run and not given out again */
    unsigned spare;        /* handle of a memory that is not live; 0: none */

    struct model_pool pool;
    struct model_chunks pages; /* that the driver cuts small memories from */

    double host_ns, device_ns;    /* the two clocks */
    double ended_ns[QUEUE_DEPTH]; /* of the last commands */
    size_t command_count;
    double busy_ns, driver_ns, waiting_ns, first_use_ns, allocator_ns;
    bool lacks; /* some cost; `error` says which */
    struct error *error;
};

/* Notes that the atlas has no such cost; the first that a run needs is the error. */
int replay_lack(struct replay *replay, const char *what, const char *method, const char *call);
/* Median of a call: of the device's time, and of the host's, less what reading the clock took. What
 * the atlas lacks costs 0 and is noted. */
double replay_device_cost(struct replay *replay, const char *method, const char *call,
                          uint64_t bytes);
double replay_cost(struct replay *replay, const char *method, const char *call, uint64_t bytes);
/* Returns how long the host waited. */
double replay_wait(struct replay *replay);
/* A call for memory that takes `ns`: waits before if the atlas says that it is one that does. */
void replay_driver_call(struct replay *replay, const char *method, const char *call, uint64_t bytes,
                        double ns);
/* How much longer the first command takes that uses a memory than the next one. */
double replay_first_use_cost(struct replay *replay, struct memory *memory);

/* A memory that the source hands out, and its handle; the end of one. */
struct memory *replay_add_memory(struct replay *replay, uint64_t *handle);
void replay_drop_memory(struct replay *replay, uint64_t handle);

/* Somebody has waited for the device: what the pool gives back then takes so long. */
double replay_pool_waited(struct replay *replay);
extern const struct source_pool_ops replay_pool_ops;
extern const struct source_vm_ops replay_vm_ops;

struct source replay_source(struct replay *replay);

static inline double more_than(double ns, double part)
{
    return ns > part ? ns - part : 0;
}

#endif
