/* The interface of a device: a table of functions that each API (host, OpenCL, CUDA) fills in.
 *
 * A device is one in-order queue on one processor with memory of its own. It knows nothing of
 * allocators or programs: it hands out raw memory, moves bytes, builds kernels from text and runs
 * them. All commands run in the order in which they were given; `read`, `write` and `sync` wait,
 * the others may return before the work is done.
 *
 * struct device_ops has the functions that every API must have. A feature that an API may lack
 * (more queues, events, pools, virtual memory, ...) is a table of its own, or NULL.
 *
 * Memory is named by a non-zero 64-bit handle: a pointer (host), a CUdeviceptr (cuda), a cl_mem
 * (opencl). Positions in it are byte offsets.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/driver_pool.h"
#include "base/driver_sub_buffer.h"
#include "base/driver_vm.h"
#include "base/error.h"
#include "base/kernel_language.h"

enum { DEVICE_QUEUES_MAX = 32 };

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
    uint64_t memory_bytes;    /* the memory of the device */
    uint64_t max_alloc_bytes; /* the largest single memory */
    uint64_t alignment_bytes; /* every raw memory begins at a multiple of this power of two */
    uint64_t l2_bytes;        /* last-level cache; 0: unknown */
    unsigned compute_units;   /* multiprocessors, cores */
    unsigned max_group_items; /* most work-items of a work-group; 0: any number */
    bool has_f64;             /* kernels can use 64-bit floats */
    bool can_split;           /* a kernel can be given an offset into a memory */
    /* The caller passes a kernel the sum of memory and byte offset, so that the kernel need not add
     * the offset at every access. */
    bool adds_offsets;
    /* peers->copy may move the whole memory that it copies from, and back at its next use. No other
     * command may use any part of that memory meanwhile. */
    bool peers_whole;
    /* Number of devices of a device group, each with memories of its own (residency/residency.h);
     * below 2: a single device. Launches of a group name the arrays that they use, and a member. */
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

/* The effect of a launch on the contents of an array. */
enum launch_use {
    USE_READS,   /* leaves them as they are */
    USE_CHANGES, /* reads or keeps some, writes some */
    USE_REPLACES /* overwrites them: the old contents mean nothing */
};
/* An array that a launch uses. */
struct launch_array {
    unsigned argument;              /* position of its ARG_MEMORY among the arguments */
    uint64_t memory, offset, bytes; /* bytes > 0; the range may hold more than the array */
    enum launch_use use;
};

enum { MEMBER_OF_CONTENTS = -1 };

/* The geometry of a launch. extent[0] is the innermost dimension. A plain kernel runs one item for
 * each point of extent[0] x extent[1] x extent[2]. A group kernel (group_items > 0) runs extent[0]
 * groups of group_items items that share local memory and barriers; its other extents are 1. */
struct launch {
    int64_t extent[3]; /* >= 1 each: callers skip empty launches */
    unsigned rank;     /* 1 to 3 */
    unsigned group_items;
    enum kernel_variant variant;
    /* Points that one thread runs: neighbours in y, or if rank is 1 points that are a block's width
     * apart in x. 0 means 1. */
    unsigned batch;
    /* The rest is for device groups alone. member: index of the device that runs the launch;
     * MEMBER_OF_CONTENTS picks the last writer of the data read (or, if nothing is read, of the
     * data overwritten). arrays: every non-empty array used; not NULL. */
    int member;
    unsigned array_count;
    const struct launch_array *arrays;
};

/* The largest index space that a launch in a variant but KERNEL_ANY may have, in points of each
 * dimension: a CUDA grid has at most 65535 blocks in y and z, of at least 4 points in y. */
enum { NEAR_X_MAX = 1 << 30, NEAR_Y_MAX = 65535 * 4, NEAR_Z_MAX = 65535 };

/* The work-groups of a plain kernel on a GPU: the shape of one, of at most 256 and items_max
 * points, and the number of them in each dimension. */
struct launch_grid {
    unsigned items[3];
    int64_t groups[3];
};
/* The grid of a plain launch whose kernel allows items_max items a work-group. */
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
    const char *name; /* the program's name, for messages and caches */
    /* Self-contained text in the device's language. Text and names must outlive the program: a
     * variant of it may be compiled when it is first launched. */
    const char *text;
    size_t kernel_count;
    const char *const *kernel_names;
    enum kernel_variant variant; /* compiled at once, others at their first launch */
    /* KERNEL_HOST_C: kernels compiled into this binary from the same text, or NULL: then the host
     * device compiles `text` with the machine's C compiler. In the order of kernel_names. */
    const struct host_kernel *host_kernels;
};

struct device;         /* an open device: below */
struct device_program; /* kernels built for a device */

/* Receives one device that was found, or (info == NULL) the reason why an API offers none. */
typedef void device_found(void *context, const struct device_info *info, const char *why_not);

/* More in-order queues. Queues are not ordered among each other; device_ops.sync waits for all. */
struct device_queue_ops {
    /* Later commands go to queue number `queue`, below DEVICE_QUEUES_MAX; a new device uses number
     * 0. A queue is made at its first use. The commands of the queue that is left are submitted,
     * so that they run without a wait. */
    int (*use)(struct device *device, unsigned queue, struct error *error);
    /* Waits for one queue. */
    int (*sync)(struct device *device, unsigned queue, struct error *error);
};

/* An event is a point in the order of a queue, which other queues can wait for. On a device without
 * events every command is done when its call returns. */
struct device_event_ops {
    int (*create)(struct device *device, uint64_t *event, struct error *error);
    void (*destroy)(struct device *device, uint64_t event);
    /* Moves the event to the end of the current queue. */
    int (*record)(struct device *device, uint64_t event, struct error *error);
    /* Later commands of the current queue of `device` begin after the event, which belongs to `of`:
     * `device` itself, or one that was opened together with it. The host does not wait. */
    int (*wait)(struct device *device, struct device *of, uint64_t event, struct error *error);
    /* The host waits for the event. */
    int (*sync)(struct device *device, uint64_t event, struct error *error);
};

/* The host's use of memory that it maps. */
enum device_access { DEVICE_READS = 1, DEVICE_WRITES = 2 };

/* Memory of the device that the host gets access to for a while. Both are commands of the current
 * queue. */
struct device_map_ops {
    /* Gives the host a range of a memory; `access` has bits of enum device_access. With `waits` the
     * host may use *host at once, else after it has waited for the queue. */
    int (*map)(struct device *device, uint64_t memory, uint64_t offset, uint64_t bytes,
               unsigned access, bool waits, void **host, struct error *error);
    /* Ends that access. */
    int (*unmap)(struct device *device, uint64_t memory, void *host, struct error *error);
};

/* Several devices of one API that can wait for each other's events and copy from each other. */
struct device_peer_ops {
    /* Optional. Opens the devices with these ids, in which one may come twice; on failure none is
     * open. ERR_UNSUPPORTED if these devices cannot work together. NULL: any devices of the API
     * can, however they were opened. */
    int (*open_together)(const char *const *ids, unsigned count, struct device **devices,
                         struct error *error);
    /* Copies as device_ops.copy, in the current queue of `device`, from a memory of `of`. */
    int (*copy)(struct device *device, uint64_t to, uint64_t to_offset, struct device *of,
                uint64_t from, uint64_t from_offset, uint64_t bytes, struct error *error);
};

/* Times each command on the device's own clock, in a run that is made for that alone. */
struct device_profile_ops {
    /* Begins a run of at most `most` entries; later ones are not kept. */
    int (*begin)(struct device *device, unsigned most, struct error *error);
    /* Starts an entry: the commands that the queue is given between start and stop. The device may
     * be held back until commands are queued, so that it need not wait for the host in an entry. */
    int (*start)(struct device *device, struct error *error);
    /* Ends the entry. */
    int (*stop)(struct device *device, struct error *error);
    /* Waits for all commands and ends the run, even if it failed. Stores how long each of the
     * *count entries kept the queue busy. `ns` has room for `most`, or is NULL. *marked: each time
     * includes the cost of a pair of marks. */
    int (*end)(struct device *device, uint64_t *ns, unsigned *count, bool *marked,
               struct error *error);
};

/* The two ends of a region that is timed. */
enum device_mark { MARK_START, MARK_END };

struct device_ops {
    const char *name; /* "host", "opencl", "cuda": the word before ':' of a selector */
    const char *summary;
    const char *missing; /* why this binary lacks the API, all of whose hooks are NULL; or NULL */

    /* Reports every device of this API, or one reason why there is none. */
    void (*enumerate)(device_found *found, void *context);
    /* Opens the device with this id (device_info.id). */
    int (*open)(const char *id, struct device **device, struct error *error);
    /* Releases the queues and all else that the device holds. The caller has freed its memories. */
    void (*close)(struct device *device);
    /* The free bytes that the driver reports; 0 where it reports none. */
    uint64_t (*free_bytes)(struct device *device);

    /* Allocates raw memory. ERR_OOM where the driver has none left: the implementation knows which
     * of its codes mean that. */
    int (*alloc)(struct device *device, uint64_t bytes, uint64_t *memory, struct error *error);
    /* Frees a memory. Queued commands may still use it: the call waits for them, or the memory is
     * released when they are done. */
    int (*free)(struct device *device, uint64_t memory, uint64_t bytes, struct error *error);

    /* read and write wait until the host memory may be used again. The ranges of copy must not
     * overlap. fill repeats one byte. With 0 bytes they do nothing. */
    int (*read)(struct device *device, void *host, uint64_t memory, uint64_t offset, uint64_t bytes,
                struct error *error);
    int (*write)(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                 uint64_t bytes, struct error *error);
    int (*copy)(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                uint64_t from_offset, uint64_t bytes, struct error *error);
    int (*fill)(struct device *device, uint64_t memory, uint64_t offset, uint8_t byte,
                uint64_t bytes, struct error *error);

    /* Builds kernels; the caller unbuilds *program. ERR_BUILD carries the compiler's log. */
    int (*build)(struct device *device, const struct kernel_source *source,
                 struct device_program **program, struct error *error);
    void (*unbuild)(struct device *device, struct device_program *program);
    /* Launches kernel number `kernel` of kernel_names. kinds[i] is the kind of arguments[i].
     * ERR_OOM where a lazily allocated argument could not be made resident. */
    int (*launch)(struct device *device, struct device_program *program, size_t kernel,
                  const struct launch *launch, size_t argument_count,
                  const enum launch_arg_kind *kinds, const union launch_value *arguments,
                  struct error *error);

    /* Waits for all queues; reports failures since the last wait. */
    int (*sync)(struct device *device, struct error *error);
    /* Marks an end of a region in the queue. */
    int (*mark)(struct device *device, enum device_mark which, struct error *error);
    /* After a sync: the time from MARK_START to MARK_END on the device's own clock. */
    int (*elapsed_ns)(struct device *device, uint64_t *ns, struct error *error);

    /* Everything below is optional. NULL: the API never has it. Otherwise it may still return
     * ERR_UNSUPPORTED, and the reason, on a particular device. */

    /* Makes lazily allocated memory resident and waits for that. The contents are lost. */
    int (*touch)(struct device *device, uint64_t memory, uint64_t bytes, struct error *error);
    /* Waits for the current queue and loads from MEMORY_PINNED that was allocated without its host
     * address; nothing is copied between host and device. Where host_memory is NULL, all memory is
     * the host's, and `load` works for all of it. */
    int (*load)(struct device *device, void *host, uint64_t memory, uint64_t offset, uint64_t bytes,
                struct error *error);
    /* Says that the contents of these bytes are not needed any more. */
    int (*discard)(struct device *device, uint64_t memory, uint64_t offset, uint64_t bytes,
                   struct error *error);
    /* A recorder of this process hears that a phase begins, or ends (name NULL); without one
     * nothing happens. */
    void (*phase)(struct device *device, const char *name);
    const struct device_queue_ops *queues;
    const struct device_event_ops *events;
    const struct device_map_ops *maps;
    const struct device_peer_ops *peers;
    const struct device_profile_ops *profile;
    /* The allocators' sources use these tables too. Their context is the struct device. */
    const struct driver_memory_ops *host_memory;
    const struct driver_sub_buffer_ops *sub_buffers;
    const struct driver_pool_ops *pools;
    const struct driver_vm_ops *vm;
};

/* An open device. Each API has a struct of its own that begins with this one. */
struct device {
    const struct device_ops *ops;
    const struct device_info *info; /* valid until close */
};

/* The APIs in the order of list.h; *count receives their number. */
const struct device_ops *const *device_api_list(size_t *count);

/* Reports every device of an API, or the reason (`missing`, or another) why there is none. */
void device_enumerate(const struct device_ops *api, device_found *found, void *context);

/* Turns a selector into ids: "host", "cuda", "opencl" (its first device), "opencl:1" (by number),
 * "opencl:NVIDIA" (a part of platform or device name, any case), "opencl:*" (a pattern of ids),
 * "all", "best" (a GPU through CUDA, else a GPU through OpenCL, else any OpenCL device, else the
 * host). Calls `found` for each match in order. ERR_NOT_FOUND: the message lists the devices that
 * exist, and why the other APIs have none. */
int device_select(const char *selector, device_found *found, void *context, struct error *error);

/* Whether a selector such as "opencl:NVIDIA" or "opencl:*" means this device. */
bool device_matches(const char *selector, const struct device_info *info);

/* Opens the device with this id. ERR_NOT_FOUND if no API has that name. */
int device_open(const char *id, struct device **device, struct error *error);
/* Opens several devices, or none if one fails. *together: they can copy from each other and wait
 * for each other's events. */
int device_open_all(const char *const *ids, unsigned count, struct device **devices, bool *together,
                    struct error *error);
/* The device that does nothing. No selector finds it: it is opened by its own `open`. */
extern const struct device_ops device_null;

/* Bytes per second of a large device-to-device copy, counting bytes read plus bytes written: the
 * ceiling that memory-bound kernels are compared with. It is the best of several copies between two
 * buffers of at least four times the last-level cache (less where memory is short). */
int device_copy_rate(struct device *device, double *bytes_per_second, struct error *error);
