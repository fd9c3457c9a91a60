/* The server of one device: a strategy over the live driver of an application.
 *
 * It owns an instance of the strategy (strategies/alloc, unchanged) over a source of that driver,
 * knows which block has which address, and keeps the rules that struct alloc_request states:
 *
 *   1. A block belongs to the queue that it was asked for on. Freed, it goes back to the strategy
 *      at once: the next owner on that queue comes after it.
 *   2. A block that other queues have used goes back when they are done: the free marks the end of
 *      each, and the block waits until all marks are passed. Later calls look, so no thread waits.
 *      An API that can make a queue wait for another on the device needs no such wait
 *      (serve_driver.join): the first use by another queue makes that queue wait for the owner,
 *      because the application cannot know of the block's earlier lives on the owner. The free
 *      makes the owner wait for the others, and the block goes back at once.
 *   3. Each queue has a number. When all ALLOCATOR_QUEUES_MAX are taken, that of a queue without
 *      blocks goes to the new one after a wait for the device. If all have blocks, the driver
 *      itself serves the request.
 *   4. Blocks for commands that are being captured come from a private pool, which has an instance
 *      of its own and gives nothing back until the pool is released (server_release_pool).
 *   5. Out of memory, the strategy gives back what is spare and asks again. Then the server waits
 *      for all blocks of rule 2 and asks again, or for all commands where the API has a wait of
 *      that kind (serve_driver.wait). Then it fails.
 *
 * One lock serves a device, because a strategy is one state. All functions may be called by any
 * thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "alloc/allocator.h"
#include "alloc/planned/planned.h"

/* In the place of a queue: commands of any queue may have used the block. */
#define SERVE_ALL_QUEUES UINT64_MAX
/* The queue that the block was asked for on. */
#define SERVE_OWN_QUEUE (UINT64_MAX - 1)

struct serve_state;
/* The functions of an API that the server calls. A queue is the application's handle as a number.
 * `context` is that of the table. */
struct serve_driver {
    void *context;
    const char *id;        /* of the device: "cuda:0" */
    const char *name;      /* the driver's word for it */
    uint64_t memory_bytes; /* 0: unknown */
    struct source source;  /* with fresh counts */
    uint64_t alignment;    /* of all blocks, in bytes */
    /* (optional) Queue `number` of the strategy is this one from here on. */
    void (*name_queue)(void *context, unsigned number, uint64_t queue);
    /* Marks the end of a queue, or of SERVE_ALL_QUEUES. */
    int (*mark)(void *context, uint64_t queue, uint64_t *mark, struct error *error);
    /* 1: the queue has passed its mark; 0: it has not; or a negative code. */
    int (*passed)(void *context, uint64_t mark, struct error *error);
    void (*unmark)(void *context, uint64_t mark);
    /* (optional) Commands that come to `queue` from here on wait, on the device, for those that
     * `other` has so far: 1; or 0, if the queue can't be made to, or a negative code. */
    int (*join)(void *context, uint64_t queue, uint64_t other, struct error *error);
    /* (optional) Waits for all commands of all queues, if that is sure to end. The server is not
     * locked. */
    void (*wait)(void *context);
    /* (optional) The number of the capture that the queue is part of, or 0. */
    int (*capture)(void *context, uint64_t queue, uint64_t *capture, struct error *error);
    /* (optional) There are captures, or none any more. */
    int (*capturing)(void *context, bool capturing, struct error *error);
    /* (optional) Whether a queue's handle stands for a queue of each thread. Requests on one are
     * served by the driver. */
    bool (*of_thread)(void *context, uint64_t queue);
    /* For the debug mode: fills bytes in the order of the queue, and begins to read bytes after all
     * its commands. They are there once `mark` is passed, or at once if it is 0. Nothing waits for
     * the queue: the caller may be a callback that the queue waits for. ERR_UNSUPPORTED: the queue
     * has no order, and nothing was done. */
    int (*fill)(void *context, uint64_t queue, uint64_t memory, uint64_t offset, uint8_t byte,
                uint64_t bytes, struct error *error);
    int (*read)(void *context, uint64_t queue, uint64_t memory, uint64_t offset, void *host,
                uint64_t bytes, uint64_t *mark, struct error *error);
    /* (optional) A call of the server ends. */
    void (*leave)(void *context);
    /* (optional) The API counts by itself, and asks the server for nothing: puts its counts. */
    void (*state)(void *context, struct serve_state *state);
};

struct serve_options {
    unsigned device; /* its number, in the recording */
    const struct allocator_ops *strategy;
    struct option_values values;
    uint64_t capacity_bytes; /* 0: the driver decides */
    bool debug;              /* fill, guard and check blocks; a fault ends the process */
    bool records;            /* what is served is recorded (serve_record_open) */
};

/* The application's name of a private pool. */
struct serve_pool {
    uint64_t first, second;
};

/* X(name, help): what a server counts in addition to what each source and allocator does. */
#define SERVE_LIST(X)                                                                              \
    X(queue_count, "queues that requests came from")                                               \
    X(queue_taken_count, "times that a queue got the number of another, after a wait")             \
    X(direct_count, "requests that the driver itself served: no number was left for their queue")  \
    X(used_elsewhere_count, "times that a block was used by another queue than its own")           \
    X(held_count, "frees that had to wait for other queues")                                       \
    X(held_bytes, "bytes of blocks that wait for other queues at present")                         \
    X(peak_held_bytes, "most of them at once")                                                     \
    X(captured_count, "requests served from private pools, such as those of captured graphs")      \
    X(pool_count, "private pools made")                                                            \
    X(retried_count, "requests that were served after blocks of other queues were waited for")     \
    X(refused_count, "requests that failed")                                                       \
    X(unknown_count, "frees of addresses that are no live block")

struct serve_counts {
#define X(name, help) uint64_t name;
    SERVE_LIST(X)
#undef X
};

struct server;

/* Opens a server, which copies driver and options. It lives until the process ends. */
int server_open(const struct serve_driver *driver, const struct serve_options *options,
                struct server **server, struct error *error);

/* Stores the address of a new block of the queue; 0 bytes have address 0. ERR_OOM, or another
 * negative code; `error` says what failed. `tag`: as in struct alloc_request. */
int server_alloc(struct server *server, uint64_t bytes, uint64_t queue, const char *tag,
                 uint64_t *address, struct error *error);
/* Frees a block; `queue` is the queue whose commands used it last, in general its own, which
 * SERVE_OWN_QUEUE says too, or SERVE_ALL_QUEUES. ERR_NOT_FOUND: no live block has that address. A
 * driver's failure is an error too; the block is gone then. */
int server_free(struct server *server, uint64_t address, uint64_t queue, struct error *error);
/* Another queue uses the block. ERR_NOT_FOUND as above. */
int server_use(struct server *server, uint64_t address, uint64_t queue, struct error *error);
/* The address and bytes of the memory or range that a live block is in. ERR_NOT_FOUND. */
int server_base(struct server *server, uint64_t address, uint64_t *base, uint64_t *bytes);
/* Gives spare memory back to the driver. */
int server_trim(struct server *server, struct error *error);
/* Holds at most so many bytes from here on; 0: the driver decides. */
void server_limit(struct server *server, uint64_t bytes);
/* A phase of the program begins. */
void server_mark(struct server *server, const char *name);

/* Requests of this thread, and those of captured queues, come from the private pool until
 * server_leave_pool. */
void server_enter_pool(struct server *server, struct serve_pool pool);
void server_leave_pool(struct server *server, struct serve_pool pool);
/* No graph uses the pool any more. Its memory goes back once its blocks are freed. */
int server_release_pool(struct server *server, struct serve_pool pool, struct error *error);

/* Counts of all that was served so far. */
struct serve_state {
    struct allocator_counts blocks;
    struct source_counts driver; /* of all sources; reserved bytes are those of all together */
    struct serve_counts serve;
    uint64_t live_count;
    unsigned broken; /* invariants of the strategy that do not hold */
    bool is_planned;
    struct planned_counts planned; /* if so: how the requests were served */
};
/* `checks`: whether `broken` is found out, which may be slow. */
void server_state(struct server *server, bool checks, struct serve_state *state);

/* The servers of the CUDA devices of a process. The first request opens each. */
enum { CUDA_SERVERS_MOST = 64 };

/* The server of a device. Without one the application has no memory at all: the process ends with a
 * sentence. */
struct server *cuda_server_of(int number);
/* Whether the process was forked from a served one. It has neither the device nor the threads that
 * may have been inside of a server: the servers and their blocks are its parent's. */
bool cuda_server_is_parents(void);
/* The server of a device if it is open, else NULL. */
struct server *cuda_server_at(unsigned number);
/* The memory of a device whose server is open. */
uint64_t cuda_server_memory_bytes(int number);

/* The record of what a server does: a raw recording (trace/raw.h) of which `gamut trace import`
 * makes a trace. */

/* Begins; `folder` gets the file of the process. `api` as in struct raw_head. */
void serve_record_open(const char *folder, const char *api);
/* Ends it: what is freed after the counters of a process were written is in neither. */
void serve_record_end(void);
/* All calls below write nothing before serve_record_open and after serve_record_end. `device`: its
 * number, from 0 on; a queue is a handle of that device. The caller's lock orders them. */
void serve_record_device(unsigned device, const char *name, uint64_t memory_bytes,
                         uint64_t alignment);
/* A block of `bytes` with this alignment is handed out, of a private pool or of the common memory
 * (0); `address` 0: the request was refused. */
void serve_record_block(unsigned device, uint64_t address, uint64_t bytes, uint64_t alignment,
                        uint64_t queue, unsigned pool);
/* A private pool begins, or ends. */
void serve_record_pool(unsigned device, unsigned pool, bool begins);
/* The application has freed the block; the strategy has it back. */
void serve_record_free(uint64_t address);
void serve_record_gone(uint64_t address);
/* The strategy gives spare memory back. */
void serve_record_trim(unsigned device);
/* A phase of the process begins; the one before it ends. Called by one thread at a time. */
void serve_record_mark(const char *name);
