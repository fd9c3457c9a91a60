/* The state of a device group, which its two files share: device_group.c calls coherence.c. */
#pragma once

#include "base/slab.h"
#include "residency/residency.h"

enum {
    MEMBER_NONE = -1,
    /* Stands for the buffer's copy on the host, made when contents first move through the host. */
    HOST_SHADOW = RESIDENCY_MEMBERS_MAX,
    /* Each of a lane's last 64 commands has an event. A wait for an earlier command waits for a
     * later one instead. */
    LANE_EVENTS = 64,
};

/* A lane is a queue of a member. Its commands run one after the other; their tickets count from 1.
 */
struct lane {
    unsigned member, member_queue;
    unsigned queue;     /* the queue of the group that the lane serves */
    uint64_t issued;    /* ticket of the last command */
    uint64_t completed; /* ticket of the last command that the host has waited for */
    bool has_events;
    uint64_t events[LANE_EVENTS];
};

/* Kinds of lanes: for the program's commands, and for transfers, which may overtake them. */
enum lane_work { LANE_COMMANDS, LANE_TRANSFERS, LANE_WORKS };

struct member {
    struct device *device;
    const char *id;
    bool lost;
    unsigned queue; /* the member's queue that its commands go to at present */
    uint64_t held_bytes;
};

/* Bytes of a buffer whose contents are in the same state everywhere. */
struct piece {
    struct piece *next; /* begins where this one ends */
    uint64_t begin, end;
    uint32_t current; /* a bit for each member (and HOST_SHADOW) whose copy is current; 0: the piece
                       * has no contents */
    int writer;       /* the member whose command wrote it last, or MEMBER_NONE */
    /* For each copy and lane, the ticket of the lane's last read and of its last write of the copy:
     * order_tickets. */
    uint64_t tickets[];
};

/* A memory of the group: its handle is the address of this struct. */
struct buffer {
    struct buffer *next, *before;
    uint64_t bytes;
    uint64_t memory[RESIDENCY_MEMBERS_MAX]; /* each member's copy; 0: none */
    char *shadow;                           /* the copy on the host, of `bytes` bytes; or NULL */
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
    unsigned lane_count; /* 0: on every member, commands are done when the calls return */
    struct lane *lanes;
    uint64_t *known; /* [lane][other lane]: the ticket that the lane has waited for */
    struct slab pieces, buffers;
    struct buffer *first; /* list of all buffers */
    uint64_t capacity_bytes;
    struct residency_counts counts;
    size_t argument_capacity, use_capacity;
    union launch_value *arguments; /* arguments of a launch, with the member's memories */
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

/* Returns `code`, which a member's driver returned. Puts the member's name in front of the message,
 * and marks the member as lost if `code` says so. */
int group_member_said(struct device_group *g, unsigned member, int code, struct error *error);

/* A new buffer without copies or contents. */
struct buffer *buffer_make(struct device_group *g, uint64_t bytes);
/* Frees all copies. The buffer is gone even if a driver reports a failure. */
int buffer_destroy(struct device_group *g, struct buffer *b, struct error *error);
/* Makes the copy on a member if there is none. */
int buffer_need(struct device_group *g, struct buffer *b, unsigned member, struct error *error);
/* Cuts pieces at `begin` and `end`, and returns the piece that begins at `begin`. */
struct piece *pieces_cut(struct device_group *g, struct buffer *b, uint64_t begin, uint64_t end);
/* Makes one piece of [begin, end), with the latest ticket of the pieces that it replaces. */
struct piece *pieces_merge(struct device_group *g, struct buffer *b, uint64_t begin, uint64_t end);

/* Makes the lanes, and their events where the strategy uses them. The caller calls order_close,
 * after a failure too. */
int order_open(struct device_group *g, struct error *error);
/* Destroys the lanes and their events. */
void order_close(struct device_group *g);
/* The lane of the group's current queue on a member. */
unsigned order_lane(const struct device_group *g, unsigned member, enum lane_work work);
/* Later commands of the lane's member go to the lane. */
int order_use(struct device_group *g, unsigned lane, struct error *error);
/* If check_order is set: ERR_PROGRAM if a lane of another queue of the group may still use these
 * bytes, on any member, and one of the two writes. */
int order_check(const struct device_group *g, unsigned lane, const struct buffer *b, uint64_t begin,
                uint64_t end, bool writes, struct error *error);
/* Later commands of `lane` begin after all commands that were given to `other`. */
int order_join(struct device_group *g, unsigned lane, unsigned other, struct error *error);
/* Records that the host has waited for all lanes of a member. */
void order_completed_member(struct device_group *g, unsigned member);
/* Records that the host has waited for one lane. */
void order_completed_lane(struct device_group *g, unsigned lane);

/* A command of a member, and the ranges that it uses. */
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
/* The member that runs a command for which the program names none: the last writer of the contents
 * read, or else of those overwritten, or else member 0. */
unsigned command_member(const struct use *uses, size_t count);
/* Whether the command replaces the old contents, so that they need not move: only if the strategy
 * keeps track of exactly these bytes. */
bool use_replaces(const struct device_group *g, const struct use *u);
/* Makes the copies that the command uses, brings their contents, and waits for the commands that
 * must come first. */
int command_before(struct device_group *g, const struct command *c, struct error *error);
/* Records what the command reads and writes. `code` is the member's result for the command. */
int command_after(struct device_group *g, const struct command *c, int code, struct error *error);

/* Reads [begin, begin + bytes) to the host, from wherever it is current. Bytes without contents
 * read as zeros. */
int migrate_read(struct device_group *g, struct buffer *b, uint64_t begin, uint64_t bytes,
                 void *host, struct error *error);
