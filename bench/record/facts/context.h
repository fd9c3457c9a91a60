/* Facts about the machine and the build, as JSON. An allow-list: no user name, no host name, no
 * environment variable but those that steer the drivers. A fact that can't be read is null. */
#ifndef GAMUT_RECORD_CONTEXT_H
#define GAMUT_RECORD_CONTEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a result file says about a device. Empty texts and zero numbers are unknown. */
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
    double copy_bytes_per_second; /* as device_copy_rate measures it */
    /* What an administrator has set (ECC, clocks, limits): an object of numbers, null if unknown.
     * Borrowed; NULL if nothing is known. */
    json_t *settings;
};

/* The least limits of this process's control groups (both versions of Linux's file system) and of all
 * groups above them that can be seen. */
struct cgroup_limits {
    double cpu_quota;         /* CPUs' worth of time in each period; NaN: no limit, or unknown */
    double throttled_periods; /* of all periods so far, the part in which the quota ran out; NaN */
    uint64_t memory_bytes;    /* 0: no limit, or unknown */
    uint64_t memory_used_bytes; /* of the group with that limit, caches of files left out */
};

/* The host's facts. "" and 0 are unknown, of limits also none; NaN and -1 likewise. */
struct record_host {
    char os[128], kernel[128], arch[32], cpu[256];
    char governor[32];    /* of CPU 0's clock: "performance", "powersave", … */
    char clocksource[32]; /* that clock_gettime reads: "tsc", "hpet", … */
    int turbo;            /* 1: clocks may rise above the nominal one while power and heat allow */
    unsigned cpus;        /* online */
    unsigned usable_cpus; /* that this process may run on */
    uint64_t memory_bytes, memory_available_bytes;
    struct cgroup_limits limits;
    double load1; /* processes that wanted to run, mean of the last minute; of the whole machine */
};
/* `root` is put in front of /proc, /sys and /etc: "" for the machine, a folder for a test. */
void context_read_host(const char *root, struct record_host *host);

json_t *context_tool(void); /* version, git revision, compiler, flags, kind of build */
json_t *context_env(void);  /* CUDA_*, OCL_*, POCL_* and OMP_* */
/* Operating system, CPU, memory, governor, load. `devices`: every device found on the machine, used
 * or not, so that the machine's id does not depend on what was selected. */
json_t *context_host(const struct record_device *devices, size_t count);
json_t *context_host_json(const struct record_host *host, const struct record_device *devices,
                          size_t count);
json_t *context_device(const struct record_device *device);

/* 8 hexadecimal digits that name a machine: a hash of the CPU model, the host's memory and the
 * names and memory sizes of its GPUs. Clocks are left out, a GPU that several APIs show counts
 * once, and memory is rounded to a quarter of a power of two, because kernels and drivers keep a
 * varying part of it to themselves. */
void context_machine_id(const char *cpu, uint64_t memory_bytes, const struct record_device *devices,
                        size_t count, char out[9]);

#endif
