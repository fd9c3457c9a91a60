/* Residency: where a buffer lives when there are several devices.
 *
 * A device group makes one device of several. Its user hands it buffers and commands as to any
 * other device, in one order, and names the member that runs each launch. Each member has a memory
 * for a buffer, a *copy*, as long as one is needed there. The strategy decides when a copy is made,
 * which contents move when another member needs them, by which route, and who waits for whom.
 *
 * The model is PoCL's: contents have versions; a copy is current if its version is the latest one;
 * there are many readers and one writer. When a command is enqueued, the group finds out which
 * contents have to move; they move as soon as events allow. A version is only ever compared with
 * the latest, so only the set of members whose copies are current is stored.
 */
#pragma once

#include "base/options.h"
#include "device/device.h"

/* Members are numbered as kernels name them: DEVICE_NUMBER_MAX of program.h is the last. */
enum { RESIDENCY_MEMBERS_MAX = 8, RESIDENCY_QUEUES_MAX = 4 };

/* The route on which contents go to another member. */
enum residency_route {
    ROUTE_HOST,   /* to the host and from there */
    ROUTE_DIRECT, /* from member to member, where the devices can copy so */
    ROUTE_BEST,   /* as ROUTE_DIRECT, except where peers_whole: there as ROUTE_HOST */
};

/* The decisions of a strategy. */
struct residency {
    bool eager; /* every member has a copy from the buffer's creation; else from its first use */
    bool
        by_range; /* the state of contents is known by ranges of bytes; else for the whole buffer */
    bool shared;  /* several copies may be current; else only the last user's */
    bool discards; /* contents that are about to be replaced are not moved */
    enum residency_route route;
    bool by_events; /* queues wait for each other; else the host waits for them */
};

struct residency_strategy {
    const char *name, *summary, *origin;
    const struct option_spec *options; /* NULL-terminated table, or NULL */
    struct residency residency;        /* with the options' defaults */
};

/* The strategies that exist; *count receives their number. */
const struct residency_strategy *residency_list(size_t *count);
/* Reads a strategy with its options: "versioned:grain=memory". ERR_USAGE names those that exist. */
int residency_parse(const char *spec, struct residency *residency, struct error *error);

struct residency_options {
    struct residency residency;
    /* The members can copy from each other and wait for each other's events, as device_open_all
     * reports. */
    bool together;
    unsigned queues; /* number of the group's queues, not ordered among each other; 0 means 1 */
    /* Report two commands of different queues that use the same bytes, one of them writing, without
     * a wait in between: ERR_PROGRAM. If not set, such contents are undefined, as in OpenCL. */
    bool check_order;
};

/* Fills in the device_info of a group of these members: the features that all of them have, and the
 * smallest of their limits. ERR_UNSUPPORTED where they cannot be a group. */
int residency_describe(const struct device_info *const *members, unsigned count,
                       struct device_info *info, struct error *error);

/* Makes a group of open devices of one kernel language. The group owns them: they are closed with
 * it, or at once if this call fails. Member i is number i of `kernel ... on i`. Writes of the host
 * go to member 0. Copies and fills run as launches with MEMBER_OF_CONTENTS do. */
int residency_open(struct device *const *members, unsigned count,
                   const struct residency_options *options, struct device **group,
                   struct error *error);

/* Limits the bytes that each member may hold from now on: commands that need more return ERR_OOM.
 * 0: no limit. */
void residency_limit(struct device *group, uint64_t bytes);

/* Counts over all members since the group was opened. alloc, free and refused: driver calls for
 * copies. held: bytes of the copies. A migration is one transfer to a member; one that goes through
 * the host counts once. */
struct residency_counts {
    uint64_t alloc_count, alloc_ns, free_count, free_ns, refused_count;
    uint64_t held_bytes, peak_held_bytes;
    uint64_t migration_count, migration_bytes;
};
/* The group's counts; valid until the group is closed. */
const struct residency_counts *residency_counts(const struct device *group);
/* Sets peak_held_bytes to held_bytes. */
void residency_reset_peak(struct device *group);
/* The number of broken invariants of copies and contents. Debug builds ask for it at each sync. */
unsigned residency_check(const struct device *group);
