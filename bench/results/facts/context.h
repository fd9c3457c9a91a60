/* Facts about the machine and the build, as JSON. Only the facts below are recorded: no user name,
 * no host name, and only the environment variables that steer drivers. A fact that cannot be read
 * is null. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/json_rules.h"

/* Facts about this binary. "git_dirty" is below 0 if it is unknown. */
struct record_tool {
    const char *version, *git_rev;
    int git_dirty;
    const char *compiler, *cflags, *build;
};

/* Facts about a device, as in a result file. "" and 0 stand for unknown. */
struct record_device {
    char id[96]; /* the `device` of a case key */
    char api[16];
    char name[128];
    char platform[128];
    char driver[64];
    char arch[64];
    char kind[8]; /* "cpu", "gpu" or "other" */
    bool used;    /* the run has cases on it */
    uint64_t memory_bytes, memory_free_start_bytes, max_alloc_bytes, alignment_bytes, l2_bytes;
    unsigned compute_units, max_group_items;
    bool has_f64, can_split;
    double copy_bytes_per_second; /* measured by device_copy_rate */
    /* Settings of an administrator (ECC, clocks, limits): an object of numbers, null if unknown.
     * Borrowed; NULL if no setting is known. */
    json_t *settings;
};

/* The least limits of this process's control groups (both versions of Linux's file system) and of
 * all groups above them that can be seen. */
struct cgroup_limits {
    double cpu_quota;         /* CPU time over real time; NaN: no limit, or unknown */
    double throttled_periods; /* fraction of all periods in which the quota ran out; NaN: unknown */
    uint64_t memory_bytes;    /* 0: no limit, or unknown */
    uint64_t memory_used_bytes; /* use of the group with that limit, without file caches */
};

/* Facts about the host. "", 0, NaN and -1 stand for unknown; in limits they also stand for none. */
struct record_host {
    char machine_id[9]; /* of context_machine_id; "" as context_read_host leaves it */
    char os[128], kernel[128], arch[32], cpu[256];
    char governor[32];    /* governor of CPU 0's clock: "performance", "powersave", … */
    char clocksource[32]; /* clock that clock_gettime reads: "tsc", "hpet", … */
    int turbo;            /* 1: clocks may rise above the nominal one while power and heat allow */
    unsigned cpus;        /* online */
    unsigned usable_cpus; /* CPUs that this process may run on */
    uint64_t memory_bytes, memory_available_bytes;
    struct cgroup_limits limits;
    double load1; /* runnable processes of the whole machine, mean of the last minute */
};
/* Reads the host's facts. `root` stands before /proc, /sys and /etc: "" for the machine, a folder
 * in a test. */
void context_read_host(const char *root, struct record_host *host);

/* As files have them. */
extern const struct json_struct record_tool_struct, record_host_struct, record_device_struct,
    clock_cost_struct;

/* The caller owns each object that the functions below return. */

/* The facts about this binary. */
struct record_tool context_tool(void);
/* The environment variables CUDA_*, OCL_*, POCL_* and OMP_*. */
json_t *context_env(void);
/* A device as in a result file. */
json_t *context_device(const struct record_device *device);

/* Writes 8 hexadecimal digits that name a machine: a hash of the CPU model, the host's memory and
 * the names and memory sizes of its GPUs. It leaves clocks out and counts a GPU once, however many
 * APIs show it. It rounds memory to a quarter of a power of two, because kernels and drivers keep a
 * varying part of it to themselves. */
void context_machine_id(const char *cpu, uint64_t memory_bytes, const struct record_device *devices,
                        size_t count, char out[9]);
