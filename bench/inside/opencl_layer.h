/* A layer between an application of OpenCL and its drivers.
 *
 * The layer's entries (opencl_entries.c) call those of the driver, and tell a listener of each
 * call. A library has one listener: the recorder (record_opencl.c), or the server
 * (bench/inside/serve_opencl.h).
 *
 * Loaders that know layers (OPENCL_LAYERS) ask the library for its entries. For other loaders the
 * library is a driver in front of the drivers (opencl_loader.c). Entries that are NULL pass
 * through. Functions of extensions by-pass all layers.
 */
#pragma once

#include <CL/cl_icd.h>
#include <stdbool.h>

#include "trace/raw.h"

#define HANDLE(pointer) ((uint64_t)(uintptr_t)(pointer))
/* The place in the application from which an entry was called: the loader jumps to the entry. */
#define CALLER() __builtin_return_address(0)
/* A slot of a table of entries: the function that stands in front of the driver's. */
#define ENTRY(name) .name = on_##name

/* ---- calls, as the listener is told of them ---- */

/* A buffer or an image that the application asks for. */
struct opencl_request {
    enum opencl_maker {
        OPENCL_BUFFER,
        OPENCL_BUFFER_WITH_PROPERTIES,
        OPENCL_IMAGE,
        OPENCL_IMAGE_WITH_PROPERTIES,
        OPENCL_IMAGE_2D,
        OPENCL_IMAGE_3D,
    } maker;
    void *caller;
    cl_context context;
    cl_mem_flags flags;
    void *host;
    const cl_mem_properties *properties;
    size_t bytes; /* 0 for an image */
    const cl_image_format *format;
    const cl_image_desc *shape; /* NULL for a buffer */
};

/* An object that the application releases. */
struct opencl_release {
    enum raw_class class;
    void *object;
    uint64_t begin, note; /* the listener's */
};

/* A command that the application gives to a queue. */
struct opencl_command {
    enum raw_kind kind;
    cl_command_queue queue;
    cl_kernel kernel; /* whose arguments it uses, or NULL */
    bool runs_host;   /* it calls a function of the application, which may do anything */
    unsigned flags;   /* RAW_COMMAND flags */
    uint64_t bytes;
    size_t origins[2]; /* where they begin in the first two blocks; a region of rows has 0 */
    cl_mem image;      /* NULL, or the image whose region is meant instead of `bytes` */
    const size_t *region;
    const void *const *blocks; /* handles, or addresses of shared virtual memory */
    cl_uint block_count, wait_count;
    const cl_event *waits;
    cl_event *event; /* the driver writes the event here; NULL: it makes none */
    /* The listener's. */
    uint64_t begin;
    cl_event own;
};

/* Hooks without "(optional)" are always set. They are called after the driver's entry has
 * succeeded, unless it is said otherwise; `begin` is the time at which the entry was called. */
struct opencl_listener {
    const char *name;     /* for the loader */
    const char *variable; /* of the environment: without it the layer does nothing */
    /* Begins, or goes on with a further driver; false: there is nothing to do. It may still change
     * the listener. `via` as in struct raw_head. */
    bool (*begin)(const char *via);
    cl_icd_dispatch
        own; /* entries that take the place of the common ones; NULL: the common one stays */
    cl_command_queue_properties queue_properties; /* each queue gets these in addition */

    uint64_t (*now)(void);                                    /* (optional) NULL: all times are 0 */
    void (*context_made)(cl_context context, uint64_t begin); /* (optional) */
    void (*queue_made)(cl_command_queue queue, cl_context context,
                       cl_command_queue_properties properties, uint64_t begin);
    void (*kernel_made)(cl_kernel kernel, const char *name); /* NULL: the driver knows the name */
    void (*kernel_cloned)(cl_kernel kernel, cl_kernel source, uint64_t begin);
    void (*event_made)(cl_event event, cl_context context, uint64_t begin); /* a user event */
    /* `value` is a handle, an address of shared virtual memory, or any other eight bytes. */
    void (*argument_set)(cl_kernel kernel, cl_uint index, const void *value);
    void (*retained)(enum raw_class class, void *object);
    /* Before the driver's entry, and after it, if it has failed too. */
    void (*releasing)(struct opencl_release *release);
    void (*released)(const struct opencl_release *release, cl_int status);
    /* Makes a buffer or an image, by opencl_make or in another way. */
    cl_mem (*make)(const struct opencl_request *request, cl_int *error);
    /* (optional) Before the driver's entry. A status other than CL_SUCCESS refuses the command.
     * NULL: commands, kernels, events and extensions are the driver's alone. */
    cl_int (*before)(struct opencl_command *command);
    void (*after)(struct opencl_command *command, cl_int status); /* (optional) also of a failure */
    /* The application asks for a function of an extension. Returns one that stands in its place, or
     * NULL. */
    void *(*function)(const char *name);
};

/* ---- opencl_entries.c ---- */

enum { OPENCL_DRIVERS_MOST = 8 };

/* The tables of the next layer or of the drivers. */
struct opencl_next {
    cl_icd_dispatch *own; /* objects of this driver begin with its address; NULL: all objects */
    const cl_icd_dispatch *table;
};
extern struct opencl_next opencl_nexts[OPENCL_DRIVERS_MOST];

/* The table that an object's calls go to. */
static inline const cl_icd_dispatch *next_of(const void *object)
{
    unsigned i = 0;
    if (opencl_nexts[0].own && object)
        while (i + 1 < OPENCL_DRIVERS_MOST && opencl_nexts[i + 1].own &&
               opencl_nexts[i].own != *(cl_icd_dispatch *const *)object)
            i++;
    return opencl_nexts[i].table;
}

/* The entries of the layer, with those that are the listener's own. The listener has begun. */
const cl_icd_dispatch *opencl_entries(const struct opencl_listener *listener);
/* Copies the entries that are not NULL. */
void opencl_put_entries(cl_icd_dispatch *to, const cl_icd_dispatch *from);
/* Calls the driver's entry that the application has called. */
cl_mem opencl_make(const struct opencl_request *request, cl_int *error);
/* The bytes that the driver has for a buffer or an image. */
size_t opencl_bytes_of(cl_mem object);

/* ---- opencl_loader.c ---- */

/* Hands in the library's listener, when the library is loaded. */
void opencl_listen(const struct opencl_listener *listener);
