/* What gamut asks of a device, as one table of functions an implementation fills in.
 *
 * A device is one in-order queue on one processor with memory of its own. It knows nothing of
 * allocators or programs: it hands out raw memory, moves bytes, builds kernels from text and runs
 * them. All commands run in the order in which they were given; `read`, `write` and `sync` wait,
 * the others may return before the work is done.
 *
 * Memory is named by a non-zero 64-bit handle: a pointer (host), a CUdeviceptr (cuda), a cl_mem
 * (opencl). Positions in it are byte offsets.
 */
#ifndef GAMUT_DEVICE_DEVICE_H
#define GAMUT_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/kernel_language.h"

enum { DEVICE_API_VERSION = 3 };

enum { DEVICE_QUEUES_MAX = 16 };

enum device_kind { DEVICE_CPU, DEVICE_GPU, DEVICE_OTHER };

struct device_info {
    char id[96];        /* how to select exactly this device: "host", "opencl:0", "cuda:1" */
    char api[16];       /* "host", "opencl", "cuda" */
    char name[128];     /* the driver's name for the device */
    char platform[128]; /* OpenCL platform, CUDA version; "" where there is none */
    char driver[64];    /* driver version; "" where unknown */
    char arch[64];      /* "sm_90", …; "" where unknown */
    char bus_id[32];    /* on the PCI bus, "0000:18:00.0"; "" where unknown */
    enum device_kind kind;
    enum kernel_language language;
    uint64_t memory_bytes;    /* in all */
    uint64_t max_alloc_bytes; /* the largest single memory */
    uint64_t alignment_bytes; /* of raw memory; a power of two */
    uint64_t l2_bytes;        /* last-level cache; 0: unknown */
    unsigned compute_units;   /* multiprocessors, cores */
    unsigned max_group_items; /* work-items in a group; 0: any */
    bool has_f64;             /* 64-bit floats in kernels */
    bool can_split;           /* a kernel can be given a part of a memory */
    /* Kernels take memory + offset in bytes for a memory, and no offsets into it: one sum less for
     * every access. */
    bool adds_offsets;
    /* peer_copy may move all of the memory that it copies from, and back at its next use: no other
     * command may use any part of that memory meanwhile. */
    bool peers_whole;
    /* Devices behind this one, each with memories of its own (residency/residency.h); below 2: it
     * is one device. A group has to be told which arrays a launch uses, and on which device. */
    unsigned members;
};

/* One scalar or memory argument of a kernel. */
enum launch_arg_kind { ARG_MEMORY, ARG_I32, ARG_U32, ARG_I64, ARG_U8, ARG_BOOL, ARG_F32, ARG_F64 };
union launch_value {
    uint64_t memory; /* a handle of this device, or 0 for an array of no bytes */
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint8_t u8;
    uint8_t boolean;
    float f32;
    double f64;
};

/* An array that a launch uses: where it lies, and what becomes of its contents. */
enum launch_use {
    USE_READS,   /* they stay as they are */
    USE_CHANGES, /* some are read or kept, some are written */
    USE_REPLACES /* what was there before means nothing */
};
struct launch_array {
    unsigned argument;              /* the number of its ARG_MEMORY */
    uint64_t memory, offset, bytes; /* bytes > 0; the range may hold more than the array */
    enum launch_use use;
};

enum { MEMBER_OF_CONTENTS = -1 };

/* The geometry of a launch. extent[0] is the innermost dimension. A plain kernel runs one item for
 * each point of extent[0] x extent[1] x extent[2]. A group kernel (group_items > 0) runs extent[0]
 * groups of group_items items that share local memory and barriers; its other extents are 1. */
struct launch {
    int64_t extent[3]; /* >= 1 each: an empty launch is the caller's to leave out */
    unsigned rank;     /* 1 to 3 */
    unsigned group_items;
    enum kernel_form form;
    unsigned batch; /* a thread runs so many points: neighbours in y, or block widths apart in x if
                       rank is 1; 0 is as 1 */
    /* For a group of devices alone: which of them runs it (MEMBER_OF_CONTENTS: the one that wrote
     * last what the launch reads, or else overwrites), and every array of some bytes; not NULL. */
    int member;
    unsigned array_count;
    const struct launch_array *arrays;
};

/* The largest index space that a launch in a form but KERNEL_ANY may have, in points of each
 * dimension: a CUDA grid has at most 65535 blocks in y and z, of at least 4 points in y. */
enum { NEAR_X_MAX = 1 << 30, NEAR_Y_MAX = 65535 * 4, NEAR_Z_MAX = 65535 };

/* The shape of the groups of a plain kernel on a GPU, of at most 256 points and items_max, and the
 * number of groups in each dimension. */
struct launch_grid {
    unsigned items[3];
    int64_t groups[3];
};
struct launch_grid launch_gpu_grid(const struct launch *launch, size_t items_max);

/* A kernel of the host device: runs the part [begin, end) of the launch's outermost loop, which is
 * extent[0] for rank 1 and for groups, and extent[1] * extent[2] otherwise (extent[1] fastest). */
typedef void host_kernel_function(const union launch_value *arguments, int64_t begin, int64_t end);
struct host_kernel {
    const char *name;
    host_kernel_function *run;
};

/* Text to build kernels from. */
struct kernel_source {
    const char *name; /* of the program, for messages and caches */
    /* In the device's language, self-contained. Text and names must outlive the program: forms of
     * it may be compiled when they are first launched. */
    const char *text;
    size_t kernel_count;
    const char *const *kernel_names;
    enum kernel_form form; /* to be compiled at once */
    /* KERNEL_HOST_C: kernels compiled into this binary from the same text, or NULL: then the host
     * device compiles `text` with the machine's C compiler. In the order of kernel_names. */
    const struct host_kernel *host_kernels;
};

/* How a stream-ordered pool behaves; the names are those of the CUDA driver's pool attributes. */
struct device_pool_options {
    uint64_t release_threshold_bytes; /* kept at a synchronisation; UINT64_MAX: everything */
    uint64_t most_bytes;              /* the pool refuses beyond this; 0: the driver decides */
    bool follow_event_dependencies, allow_opportunistic, allow_internal_dependencies;
};

/* Memory that the host can also address. */
enum host_memory {
    HOST_PINNED,     /* of the host, locked in place: the device copies from it at full speed */
    HOST_COARSE_SVM, /* OpenCL: one address for both, the host's while it is mapped */
    HOST_FINE_SVM,   /* OpenCL: the same without mapping, for whoever has waited for the device */
    HOST_MANAGED,    /* CUDA: one address for both, and pages that the driver moves to their user */
};

struct device;         /* an open device; its first member is `const struct device_ops *ops` */
struct device_program; /* kernels built for a device */

/* Receives one found device, or (info == NULL) the reason why an API offers none. */
typedef void device_found(void *context, const struct device_info *info, const char *why_not);

struct device_ops {
    int version;      /* DEVICE_API_VERSION */
    const char *name; /* "host", "opencl", "cuda": the word before ':' of a selector */
    const char *summary;

    /* Required. Reports every device of this API, or one reason why there is none. */
    void (*enumerate)(device_found *found, void *context);
    /* Required. Opens the device with this id (device_info.id). */
    int (*open)(const char *id, struct device **device, struct error *error);
    void (*close)(struct device *device);
    const struct device_info *(*info)(const struct device *device);

    /* Required. Bytes free now, as the driver tells; 0 where it does not. */
    uint64_t (*free_bytes)(struct device *device);

    /* Required. Raw memory. alloc returns ERR_OOM where the driver has none left: which of its
     * codes mean that is the implementation's knowledge. free may come while queued commands still
     * use the memory: it waits for them, or releases the memory when they are done. */
    int (*alloc)(struct device *device, uint64_t bytes, uint64_t *memory, struct error *error);
    int (*free)(struct device *device, uint64_t memory, uint64_t bytes, struct error *error);
    /* Optional. Makes lazily allocated memory resident and waits for it. What was in it is lost. */
    int (*touch)(struct device *device, uint64_t memory, uint64_t bytes, struct error *error);

    /* Required. read and write wait until the host memory may be used again. Ranges of copy must
     * not overlap. fill repeats one byte. All of 0 bytes do nothing. */
    int (*read)(struct device *device, void *host, uint64_t memory, uint64_t offset, uint64_t bytes,
                struct error *error);
    int (*write)(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                 uint64_t bytes, struct error *error);
    int (*copy)(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                uint64_t from_offset, uint64_t bytes, struct error *error);
    int (*fill)(struct device *device, uint64_t memory, uint64_t offset, uint8_t byte,
                uint64_t bytes, struct error *error);

    /* Required. ERR_BUILD carries the compiler's log. */
    int (*build)(struct device *device, const struct kernel_source *source,
                 struct device_program **program, struct error *error);
    void (*unbuild)(struct device *device, struct device_program *program);
    /* Required. Launches kernel number `kernel` of kernel_names. kinds[i] says what arguments[i]
     * is. Returns ERR_OOM where a lazily allocated argument could not be made resident. */
    int (*launch)(struct device *device, struct device_program *program, size_t kernel,
                  const struct launch *launch, size_t argument_count,
                  const enum launch_arg_kind *kinds, const union launch_value *arguments,
                  struct error *error);

    /* Required. Waits for everything; reports what failed since. */
    int (*sync)(struct device *device, struct error *error);
    /* Required. Device time: marks the start (which = 0) or the end (1) of a region in the queue;
     * elapsed_ns, after a sync, is the time between the two on the device's own clock. */
    int (*mark)(struct device *device, int which, struct error *error);
    int (*elapsed_ns)(struct device *device, uint64_t *ns, struct error *error);

    /* All that follow are optional. A hook is there where the API can have it; on a device that
     * cannot it returns ERR_UNSUPPORTED and says why. */

    /* More in-order queues: commands go to number `queue` from now on (0 at first; made on first
     * use; below DEVICE_QUEUES_MAX). Queues are not ordered among each other; sync waits for all of
     * them. What the queue that is left holds is submitted: it runs without being waited for. */
    int (*use_queue)(struct device *device, unsigned queue, struct error *error);
    /* Waits for one queue. */
    int (*sync_queue)(struct device *device, unsigned queue, struct error *error);
    /* Gives back a queue that is not the current one and whose commands are done: its next use
     * makes a new one. Events that were recorded on it are to be recorded anew, or destroyed. */
    int (*queue_close)(struct device *device, unsigned queue, struct error *error);

    /* A stream-ordered pool: alloc and free are commands of the queue they name. Memory of a pool
     * is used by read, copy, launch, … like any other. `reserved` tells what the driver holds for
     * the pool now, and held at most since pool_open or reset_peak. trim gives back what is spare
     * beyond keep_bytes; memory whose free has not come to its turn is not spare yet. close waits
     * for all queues, and so all memory is back when it returns. */
    int (*pool_open)(struct device *device, const struct device_pool_options *options,
                     uint64_t *pool, struct error *error);
    int (*pool_close)(struct device *device, uint64_t pool, struct error *error);
    int (*pool_alloc)(struct device *device, uint64_t pool, unsigned queue, uint64_t bytes,
                      uint64_t *memory, struct error *error);
    int (*pool_free)(struct device *device, uint64_t pool, unsigned queue, uint64_t memory,
                     uint64_t bytes, struct error *error);
    int (*pool_trim)(struct device *device, uint64_t pool, uint64_t keep_bytes,
                     struct error *error);
    int (*pool_reserved)(struct device *device, uint64_t pool, uint64_t *bytes,
                         uint64_t *peak_bytes, struct error *error);
    int (*pool_reset_peak)(struct device *device, uint64_t pool, struct error *error);

    /* Virtual memory: a range of addresses, physical chunks (non-zero handles), and which chunk
     * lies where. Bytes are multiples of the granularity; `address` of a range serves as a memory
     * handle, and address + offset as well. A chunk is mapped as a whole, and may be used once
     * vm_access has made the range readable and writable. unmap takes whole chunks and waits for
     * nothing: that no command still uses the range is the caller's business. A chunk is unmapped
     * before it is released. */
    int (*vm_granularity)(struct device *device, uint64_t *bytes, struct error *error);
    int (*vm_reserve)(struct device *device, uint64_t bytes, uint64_t *address,
                      struct error *error);
    int (*vm_unreserve)(struct device *device, uint64_t address, uint64_t bytes,
                        struct error *error);
    int (*vm_create)(struct device *device, uint64_t bytes, uint64_t *chunk, struct error *error);
    int (*vm_release)(struct device *device, uint64_t chunk, uint64_t bytes, struct error *error);
    int (*vm_map)(struct device *device, uint64_t address, uint64_t chunk, uint64_t bytes,
                  struct error *error);
    int (*vm_access)(struct device *device, uint64_t address, uint64_t bytes, struct error *error);
    int (*vm_unmap)(struct device *device, uint64_t address, uint64_t bytes, struct error *error);

    /* Points in the order of a queue, for other queues to wait for. event_record marks where the
     * current queue has come to, and forgets what the event was before. event_wait holds back what
     * is given to the current queue of `device` from now on until that point is reached; the event
     * is of `of`, which is `device` or was opened together with it. A device without these four has
     * done every command when the call returns. */
    int (*event_create)(struct device *device, uint64_t *event, struct error *error);
    void (*event_destroy)(struct device *device, uint64_t event);
    int (*event_record)(struct device *device, uint64_t event, struct error *error);
    int (*event_wait)(struct device *device, struct device *of, uint64_t event,
                      struct error *error);

    /* Opens devices that can then wait for each other's events and copy from each other's memories;
     * an id may come twice. On failure none is open; ERR_UNSUPPORTED: these can't. Not there, but
     * peer_copy is: all devices of this API can. */
    int (*open_together)(const char *const *ids, unsigned count, struct device **devices,
                         struct error *error);
    /* As copy, from a memory of another device that was opened together with `device`, in whose
     * current queue it is a command. */
    int (*peer_copy)(struct device *device, uint64_t to, uint64_t to_offset, struct device *of,
                     uint64_t from, uint64_t from_offset, uint64_t bytes, struct error *error);
    /* What lies there means nothing any more. */
    int (*discard)(struct device *device, uint64_t memory, uint64_t offset, uint64_t bytes,
                   struct error *error);

    /* A handle for a part of a memory, which serves as a memory that begins there; `offset` is a
     * multiple of alignment_bytes, bytes > 0. Its release may come while queued commands still use
     * it; it comes before the memory goes. Not of shared virtual memory. */
    int (*sub_buffer)(struct device *device, uint64_t memory, uint64_t offset, uint64_t bytes,
                      uint64_t *part, struct error *error);
    int (*release_sub_buffer)(struct device *device, uint64_t part, uint64_t bytes,
                              struct error *error);

    /* Memory of the host that the device knows. *host is its address on the host, *memory its
     * handle. The host may touch it only while no command uses it; HOST_COARSE_SVM not at all, only
     * by read and write, which map and unmap it. With a NULL `host` nobody will: OpenCL's pinned
     * memory is kept mapped only for those who do. HOST_MANAGED is refused (ERR_OOM) where with it
     * more would be managed than the device has free: it would take memory from other programs by
     * turns. */
    int (*host_alloc)(struct device *device, enum host_memory kind, uint64_t bytes,
                      uint64_t *memory, void **host, struct error *error);
    int (*host_free)(struct device *device, enum host_memory kind, uint64_t memory, uint64_t bytes,
                     struct error *error);
    /* Waits for the current queue and loads from HOST_PINNED memory that was asked for without its
     * address: nothing is copied between host and device. A device that has this and no host_alloc
     * has no memory but the host's, and this for all of it. */
    int (*load)(struct device *device, void *host, uint64_t memory, uint64_t offset, uint64_t bytes,
                struct error *error);

    /* The time of each command on the device's own clock, in a run that is made for that alone; the
     * four come together. What is given to the queue between a profile_start and its profile_stop
     * is one entry; entries beyond `most` are not kept. The device may be held back until commands
     * are queued, so that it does not wait for the host in the middle of an entry. profile_end,
     * which also ends a run that failed, waits for everything and stores for each of the *count
     * entries how long it kept the queue busy (ns has room for `most`, or is NULL); *marked says
     * that what a pair of marks costs is in each of them. */
    int (*profile_begin)(struct device *device, unsigned most, struct error *error);
    int (*profile_start)(struct device *device, struct error *error);
    int (*profile_stop)(struct device *device, struct error *error);
    int (*profile_end)(struct device *device, uint64_t *ns, unsigned *count, bool *marked,
                       struct error *error);
};

struct device {
    const struct device_ops *ops;
};

/* The APIs this binary was built with, in the order of list.h. */
const struct device_ops *const *device_api_list(size_t *count);

/* Turns a selector into ids: "host", "cuda", "opencl" (its first device), "opencl:1" (by number),
 * "opencl:NVIDIA" (a part of platform or device name, any case), "opencl:*" (a pattern of ids),
 * "all", "best" (a GPU through CUDA, else a GPU through OpenCL, else any OpenCL device, else the
 * host). Calls `found` for each match in order. ERR_NOT_FOUND with what exists and why the rest
 * does not. */
int device_select(const char *selector, device_found *found, void *context, struct error *error);

/* Whether "opencl:NVIDIA" or "opencl:*" means this device. */
bool device_matches(const char *selector, const struct device_info *info);

/* Opens by id. */
int device_open(const char *id, struct device **device, struct error *error);
/* Opens several, none if one fails. *together: they can copy from each other and wait for each
 * other. */
int device_open_all(const char *const *ids, unsigned count, struct device **devices, bool *together,
                    struct error *error);
/* Whether the word before ':' of a selector or an id names an API, and which. NULL: none. */
const struct device_ops *device_api_of(const char *selector);
/* The device that does nothing; only who names it here gets it. It is opened by its own `open`. */
extern const struct device_ops device_null;
/* The ops of an open device, called through here so that reading code stays short. */
static inline const struct device_info *device_info(const struct device *d)
{
    return d->ops->info(d);
}

/* Bytes per second of a large device-to-device copy, counting bytes read plus bytes written: the
 * ceiling that memory-bound kernels are compared with. Best of several copies of two buffers of at
 * least four times the last-level cache (less where memory is short). */
int device_copy_rate(struct device *device, double *bytes_per_second, struct error *error);

#endif
