/* Serves an application of OpenCL. These are the contexts, queues, memory objects and kernels that
 * its listener (serve_opencl.c) knows.
 *
 * A buffer is a memory that a strategy has asked for, if it begins there, and else a sub-buffer of
 * one. Under raw alone (opencl_counts) the driver serves all, and buffers are only counted: what is
 * said below is for the other strategies. The application gets the driver's own
 * handle, so commands pass through. The server keeps two things: how many references the
 * application holds, and which queue uses which block. clCreateBuffer names no queue. The block
 * belongs to the queue that blocks of its call site were used on before, or else to the last queue
 * of the thread. A wrong guess costs a wait on the device, and never an answer.
 *
 * The driver is never asked whether the memory of a block may be used again: PoCL 3.1 calls the
 * destructor of a sub-buffer while commands use it.
 *
 * A context keeps its order as long as all of its queues do. Queues without order, user events,
 * native kernels and commands of extensions end its order. Then a freed block waits for marks in
 * all queues, and no queue waits for a command that only the host may start.
 *
 * Locks: that of a server (server.h), then opencl_lock. Driver calls that may wait are made under
 * neither.
 */
#pragma once

#include <pthread.h>

#include "inside/opencl_layer.h"
#include "device/device.h"
#include "inside/block_table.h"
#include "inside/serve_process.h"

/* A queue's place in its context. After the queue's end the next new queue takes it, with the
 * strategy's memory. */
struct queue {
    struct block_entry entry; /* the queue's handle; 0: the place is free */
    struct queue *next;
    struct context *context;
    unsigned number;     /* in its context, from 0 on */
    uint64_t references; /* that the application holds */
    cl_event end;        /* NULL, or the mark of the last queue's end */
    cl_event before;     /* NULL, or the mark made when the context lost its order */
};

struct memory {
    struct block_entry entry; /* an address that no other memory has or had */
    cl_mem handle;
};

struct context {
    struct block_entry entry; /* its handle */
    struct context *next;
    uint64_t references; /* by the application, queues and served objects; 0: it has ended */
    cl_device_id device; /* NULL: it has several, and is not served */
    uint64_t alignment, most_bytes;
    struct server *_Atomic server; /* NULL: nothing was asked for so far */
    struct device_info info;
    struct queue *queues, *last; /* the one that was used last */
    _Atomic unsigned queue_count;
    _Atomic bool has_lost_order;
    cl_command_queue own; /* NULL, or a queue for first contents */
    struct block_table memories;
    uint64_t next_address;
    struct source_counts counts; /* of its buffers, where opencl_counts */
};

/* A function that the application wants to be called when an object is destroyed. */
struct destructor {
    struct destructor *next; /* called after this one */
    void(CL_CALLBACK *call)(cl_mem object, void *data);
    void *data;
};

/* A block, or a view of one: a sub-buffer or an image. */
struct object {
    struct block_entry entry; /* its handle */
    struct context *context;
    struct object *whole; /* NULL: this is the block */
    uint64_t references;  /* of the application and of views */
    cl_mem_flags flags;
    bool is_image;
    cl_mem shown;    /* the buffer that an image was made of */
    uint64_t origin; /* of a sub-buffer, in its whole */
    struct destructor *destructors;
    /* These are set for a block only. */
    size_t bytes;
    bool is_memory;   /* the handle is that of the memory, which the source releases */
    uint64_t address; /* for the server */
    struct queue *owner;
    struct site *site;
    bool is_used;
    uint64_t used; /* bit by queue's number: it has waited for the owner */
};

/* A place in the application that asks for blocks. */
struct site {
    struct block_entry entry; /* the place */
    struct queue *queue;      /* its blocks were first used on this one */
    unsigned trust;           /* how often that held, less how often it did not; at most 3 */
    char tag[20];
};

/* X(name, help): requests that the driver itself served. */
#define PASSED_LIST(X)                                                                             \
    X(host_pointer, "buffers in memory of the host (USE_HOST_PTR, ALLOC_HOST_PTR)")                \
    X(image, "images")                                                                             \
    X(shared, "shared virtual memory")                                                             \
    X(property, "buffers with properties or flags that a sub-buffer cannot have")                  \
    X(several_devices, "buffers of contexts with several devices")

enum passed {
#define X(name, help) PASSED_##name,
    PASSED_LIST(X)
#undef X
        PASSED_COUNT
};

extern pthread_mutex_t opencl_lock; /* of all that is declared here */
extern bool opencl_counts;          /* raw without a limit, a recording or the debug mode */

/* ---- serve_opencl_state.c; the caller has the lock, unless it is said otherwise ---- */

/* The object of a handle. An unknown context or queue is added, with one reference. */
struct context *opencl_context(cl_context handle);
struct queue *opencl_queue(cl_command_queue handle);
struct object *opencl_object(const void *handle); /* NULL: not served */

/* `properties` as the queue was given. */
void opencl_add_queue(cl_command_queue handle, cl_context context,
                      cl_command_queue_properties properties);
/* Call before the driver releases the queue for the last time: this marks the end of its
 * commands. */
void opencl_end_queue(struct queue *queue);
void opencl_add_object(struct object *object, cl_mem handle);
/* The caller frees it. */
void opencl_remove_object(const struct object *object);

/* From here on blocks of this context, or of all (NULL), wait for all queues when they are
 * freed. */
void opencl_lose_order(struct context *context);

/* The site of a place in the application. */
struct site *opencl_site(void *place);
/* The queue that a new block of the site belongs to. */
struct queue *opencl_guess(struct context *context, const struct site *site);

void opencl_retain_kernel(cl_kernel kernel);
void opencl_release_kernel(cl_kernel kernel);

/* Without the lock. */
void opencl_drop_context(struct context *context);
void opencl_add_kernel(cl_kernel kernel, const char *name);
void opencl_clone_kernel(cl_kernel kernel, cl_kernel source, uint64_t begin);
/* `value` may be the handle of a block. */
void opencl_set_argument(cl_kernel kernel, cl_uint index, const void *value);
/* Call before a command: it uses its objects, or the arguments of its kernel. CL_SUCCESS or
 * CL_OUT_OF_RESOURCES. */
cl_int opencl_use(const struct opencl_command *command);

/* ---- serve_opencl_driver.c; without the lock ---- */

/* Describes a context that has one device. */
void opencl_describe_context(struct context *context);
/* The context's server; the first request opens it. Where that fails, the process ends with a
 * sentence. */
struct server *opencl_server(struct context *context);
/* A marker, which is done when all commands of the queue so far are. NULL: the driver refused. */
cl_event opencl_marker(cl_command_queue queue);
bool opencl_is_complete(cl_event event);
/* Calls and frees the destructors, when all commands of the context's queues so far are done. */
void opencl_destroy_later(struct context *context, cl_mem object, struct destructor *list);
/* The first contents of a block; the host waits for them. */
cl_int opencl_fill_block(struct object *object, const void *host, size_t bytes);
/* The memory that an address of the server is in, and the offset there. */
cl_mem opencl_memory_of(struct context *context, uint64_t address, uint64_t *offset);
