/* What the two files of a device group share: device_group.c, which calls coherence.c. */
#ifndef GAMUT_RESIDENCY_DEVICE_GROUP_H
#define GAMUT_RESIDENCY_DEVICE_GROUP_H

#include "base/slab.h"
#include "residency/residency.h"

enum {
    MEMBER_NONE = -1,
    /* Stands for the copy that a buffer has on the host once its contents have gone through there.
     */
    HOST_SHADOW = RESIDENCY_MEMBERS_MAX,
    /* The last commands of a lane that other lanes can wait for one by one. A wait for an earlier
     * command waits for a later one instead. */
    LANE_EVENTS = 64,
};

/* Commands that run one after the other: a queue of a member. Commands have tickets, from 1. */
struct lane {
    unsigned member, member_queue;
    unsigned queue; /* of the group, on whose behalf it runs */
    uint64_t issued;
    uint64_t completed; /* the host has waited for these */
    bool has_events;
    uint64_t events[LANE_EVENTS];
};

/* What a lane runs: the program's commands, or transfers, which may overtake them. */
enum lane_work { LANE_COMMANDS, LANE_TRANSFERS, LANE_WORKS };

struct member {
    struct device *device;
    const char *id;
    bool lost;
    unsigned queue; /* the one that its commands go to now */
    uint64_t held_bytes;
};

/* Bytes of a buffer whose contents are in the same state everywhere. */
struct piece {
    struct piece *next; /* begins where this one ends */
    uint64_t begin, end;
    uint32_t current; /* a bit for each member (and HOST_SHADOW) whose copy is current; 0: the piece
                       * has no contents */
    int writer;       /* the member whose command wrote it last, or MEMBER_NONE */
    /* The last use of each copy by each lane: order_tickets. */
    uint64_t tickets[];
};

/* What a handle of the group points to. */
struct buffer {
    struct buffer *next, *before;
    uint64_t bytes;
    uint64_t memory[RESIDENCY_MEMBERS_MAX]; /* 0: no copy there */
    char *shadow;                           /* all bytes, or NULL */
    struct piece *first;
};

/* A range of a buffer as a command uses it. */
struct use {
    struct buffer *buffer;
    uint64_t begin, end;
    enum launch_use use;
};

struct device_group {
    struct device base;
    struct device_info info;
    struct residency how;
    bool together, check_order;
    bool direct; /* transfers go from member to member */
    unsigned count;
    struct member members[RESIDENCY_MEMBERS_MAX];
    unsigned queues, queue;
    unsigned lane_count; /* 0: all members' commands are done when the calls return */
    struct lane *lanes;
    uint64_t *known; /* [lane][other lane]: the ticket that the lane has waited for */
    struct slab pieces, buffers;
    struct buffer *first; /* list of all buffers */
    uint64_t capacity_bytes;
    struct residency_counts counts;
    size_t argument_capacity, use_capacity;
    union launch_value *arguments; /* a launch's, with the member's memories */
    struct use *uses;
};

static inline uint32_t bit(int member)
{
    return (uint32_t)1 << member;
}

static inline struct buffer *buffer_of(uint64_t handle)
{
    return (struct buffer *)(uintptr_t)handle;
}

/* ---- coherence.c ---- */

/* Passes on what a member's driver returned (`code`), with the member's name in front of the
 * message; records a loss. */
int group_member_said(struct device_group *g, unsigned member, int code, struct error *error);

/* A new buffer without copies or contents. */
struct buffer *buffer_make(struct device_group *g, uint64_t bytes);
/* Frees all copies. The buffer is gone even if a driver complains. */
int buffer_destroy(struct device_group *g, struct buffer *b, struct error *error);
/* Makes the copy on a member if there is none. */
int buffer_need(struct device_group *g, struct buffer *b, unsigned member, struct error *error);
/* Cuts at begin and end, and returns the piece that begins at `begin`. */
struct piece *pieces_cut(struct device_group *g, struct buffer *b, uint64_t begin, uint64_t end);
/* Makes one piece of all in [begin, end), with the latest of their tickets. */
struct piece *pieces_merge(struct device_group *g, struct buffer *b, uint64_t begin, uint64_t end);

/* Makes the lanes, and their events where the strategy uses them; order_close after a failure too.
 */
int order_open(struct device_group *g, struct error *error);
void order_close(struct device_group *g);
/* The lane of the group's current queue on a member. */
unsigned order_lane(const struct device_group *g, unsigned member, enum lane_work work);
/* Commands of the lane's member go to the lane from now on. */
int order_use(struct device_group *g, unsigned lane, struct error *error);
/* ERR_PROGRAM if a lane of another queue of the group may still use these bytes, on whatever
 * member, and one of the two writes; where that is to be checked. */
int order_check(const struct device_group *g, unsigned lane, const struct buffer *b, uint64_t begin,
                uint64_t end, bool writes, struct error *error);
/* One lane goes on after all that were given to another. */
int order_join(struct device_group *g, unsigned lane, unsigned other, struct error *error);
/* The host has waited for a member, or for one lane. */
void order_completed_member(struct device_group *g, unsigned member);
void order_completed_lane(struct device_group *g, unsigned lane);

/* A command of a member, and what it uses. */
struct command {
    unsigned member, lane;
    const struct use *uses;
    size_t use_count;
};
static inline struct command command_on(const struct device_group *g, unsigned member,
                                        const struct use *uses, size_t use_count)
{
    return (struct command){member, order_lane(g, member, LANE_COMMANDS), uses, use_count};
}
/* Where a command runs for which the program names no member. */
unsigned command_member(const struct use *uses, size_t count);
/* Whether the old contents count as void: only where the strategy keeps track of just these bytes.
 */
bool use_replaces(const struct device_group *g, const struct use *u);
/* Makes the copies that the command uses, brings their contents, and waits for what it must. */
int command_before(struct device_group *g, const struct command *c, struct error *error);
/* `code` is what the member returned for the command. Records what the command does. */
int command_after(struct device_group *g, const struct command *c, int code, struct error *error);

/* Reads [begin, begin + bytes) to the host, from wherever it is current. Bytes without contents
 * read as zeros. */
int migrate_read(struct device_group *g, struct buffer *b, uint64_t begin, uint64_t bytes,
                 void *host, struct error *error);

#endif
