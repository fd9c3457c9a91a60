/* Where a buffer lives when there are several devices.
 *
 * A group makes one device of several: whoever uses it hands it buffers and commands as to any
 * other device, in one order, and says of each launch which member runs it. Behind a buffer stands
 * a memory on each member, a *copy*, as long as one is needed there. The strategy says when a copy
 * is made, which contents move when another member needs them, by which way, and who waits for
 * whom.
 *
 * The model is PoCL's: contents have versions; a copy is current if its version is the latest one;
 * there are many readers and one writer; what has to move is found out when a command is enqueued,
 * and moves whenever events allow. Nobody ever asks of a version but whether it is the latest, so
 * what is kept is the set of members whose copies are.
 */
#ifndef GAMUT_RESIDENCY_RESIDENCY_H
#define GAMUT_RESIDENCY_RESIDENCY_H

#include "base/options.h"
#include "device/device.h"

/* Members are numbered as kernels name them: DEVICE_NUMBER_MAX of program.h is the last. */
enum { RESIDENCY_MEMBERS_MAX = 8, RESIDENCY_QUEUES_MAX = 4 };

/* By which way contents go to another member. */
enum residency_route {
    ROUTE_HOST,   /* to the host and from there */
    ROUTE_DIRECT, /* from member to member, where there is a way */
    ROUTE_BEST, /* likewise, unless that may move all of a memory for a part of it (peers_whole) */
};

/* What a strategy decides. */
struct residency {
    bool eager;    /* a copy on every member from the buffer's creation; else from its first use */
    bool by_range; /* contents are known by ranges of bytes; else a buffer's all together */
    bool shared;   /* several copies may be current; else that of the last user alone */
    bool discards; /* contents that mean nothing any more are not moved */
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
/* Reads "versioned:grain=memory". ERR_USAGE says what there is. */
int residency_parse(const char *spec, struct residency *residency, struct error *error);

struct residency_options {
    struct residency residency;
    /* The members can copy from each other and wait for each other's events: device_ops'
     * open_together has opened them, or their commands are done when the calls return. */
    bool together;
    unsigned queues; /* of the group, for use_queue: not ordered among each other; 0 is 1 */
    /* Commands of different queues that use the same bytes, one of them writing, and that nobody
     * has ordered are ERR_PROGRAM. Who does not ask has undefined contents there, as in OpenCL. */
    bool check_order;
};

/* What a group of these is as a device. ERR_UNSUPPORTED where they can't be one. */
int residency_describe(const struct device_info *const *members, unsigned count,
                       struct device_info *info, struct error *error);

/* Makes a group of open devices of one kernel language; they are its own from now on and are closed
 * with it, or, should this fail, at once. Member i is number i of `kernel ... on i`. Writes of the
 * host go to member 0. A command that copies or fills is run as MEMBER_OF_CONTENTS says. */
int residency_open(struct device *const *members, unsigned count,
                   const struct residency_options *options, struct device **group,
                   struct error *error);

/* No member holds more than this from now on: commands that would need more are ERR_OOM. 0: as much
 * as there is. */
void residency_limit(struct device *group, uint64_t bytes);

/* Since the group was opened, over all members. Memory is that of copies, in calls of the driver;
 * a migration is what one transfer brings to a member, counted once if it goes through the host. */
struct residency_counts {
    uint64_t alloc_count, alloc_ns, free_count, free_ns, refused_count;
    uint64_t held_bytes, peak_held_bytes;
    uint64_t migration_count, migration_bytes;
};
const struct residency_counts *residency_counts(const struct device *group);
/* The peak starts again from what is held now. */
void residency_reset_peak(struct device *group);
/* Of what is kept about contents and order: the number of broken invariants. */
unsigned residency_check(const struct device *group);

#endif
