/* What a container or service may use of the machine, from the control groups of Linux (both
 * versions of their file system). */
#ifndef GAMUT_RECORD_CGROUP_H
#define GAMUT_RECORD_CGROUP_H

#include <stdint.h>

struct cgroup_limits {
    double cpu_quota;         /* CPUs' worth of time in each period; NaN: no limit, or unknown */
    double throttled_periods; /* of all periods so far, the part in which the quota ran out; NaN */
    uint64_t memory_bytes;    /* 0: no limit, or unknown */
    uint64_t memory_used_bytes; /* of the group with that limit, caches of files left out */
};

/* The least limits of this process's groups and all above them that can be seen. `root` is put in
 * front of /proc and /sys: "" for the machine, a folder for a test. */
void cgroup_read(const char *root, struct cgroup_limits *limits);

#endif
