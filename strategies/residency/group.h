/* Inside the residency strategies: what their files share. Not for others. */
#ifndef GAMUT_RESIDENCY_GROUP_H
#define GAMUT_RESIDENCY_GROUP_H

#include "base/slab.h"
#include "residency/residency.h"

enum {
    NOBODY = -1,
    /* A number of its own beside the members': the shadow that a buffer has on the host once its
     * contents have gone through there. */
    HOST_SHADOW = RESIDENCY_MEMBERS_MAX,
    /* Points of a lane that can be waited for one by one. Who waits for an earlier one waits for
     * the next of these instead. */
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

/* What a lane does: the commands that were asked for, or transfers, which may overtake them. */
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
    uint32_t current; /* a bit for each member (and HOST_SHADOW) whose copy is; 0: no contents */
    int writer;       /* the member whose command wrote it last, or NOBODY */
    /* The last use of each copy by each lane: order.c. */
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

struct group {
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
    uint64_t *known; /* of lane, by other lane: the ticket that it has waited for */
    struct slab pieces, buffers;
    struct buffer *first; /* of all buffers */
    uint64_t capacity_bytes;
    struct residency_counts counts;
    size_t argument_capacity, use_capacity;
    union launch_value *arguments; /* of a launch, as the member gets them */
    struct use *uses;
};

static inline uint32_t bit(int place)
{
    return (uint32_t)1 << place;
}

static inline struct buffer *buffer_of(uint64_t handle)
{
    return (struct buffer *)(uintptr_t)handle;
}

/* Passes on what a member's driver said, with the member's name in front; takes note of a loss. */
int group_member_said(struct group *g, unsigned member, int code, struct error *error);

/* buffer.c: copies, and pieces of contents */
struct buffer *buffer_make(struct group *g, uint64_t bytes);
/* Frees all copies. The buffer is gone even if a driver complains. */
int buffer_destroy(struct group *g, struct buffer *b, struct error *error);
/* Makes the copy on a member if there is none. */
int buffer_need(struct group *g, struct buffer *b, unsigned member, struct error *error);
/* Cuts at begin and end, and returns the piece that begins at `begin`. */
struct piece *pieces_cut(struct group *g, struct buffer *b, uint64_t begin, uint64_t end);
/* Makes one piece of all in [begin, end), with the latest of their tickets. */
struct piece *pieces_merge(struct group *g, struct buffer *b, uint64_t begin, uint64_t end);
/* Merges neighbours around [begin, end) whose contents are in the same state. */
void pieces_join(struct group *g, struct buffer *b, uint64_t begin, uint64_t end);
/* The first piece that reaches beyond `begin`. */
struct piece *piece_at(const struct buffer *b, uint64_t begin);

/* order.c: who waits for whom */
int order_open(struct group *g, struct error *error);
void order_close(struct group *g);
/* The lane of the group's current queue on a member. */
unsigned order_lane(const struct group *g, unsigned member, enum lane_work work);
/* Commands of the lane's member go to the lane from now on. */
int order_use(struct group *g, unsigned lane, struct error *error);
/* The lane goes on after what uses the copy of [begin, end) on a member: its writers, and for a
 * command that writes its readers too. */
int order_before(struct group *g, unsigned lane, const struct buffer *b, unsigned copy,
                 uint64_t begin, uint64_t end, bool writes, struct error *error);
/* ERR_PROGRAM if a lane of another queue of the group may still use these bytes, on whatever
 * member, and one of the two writes; where that is to be checked. */
int order_check(const struct group *g, unsigned lane, const struct buffer *b, uint64_t begin,
                uint64_t end, bool writes, struct error *error);
/* A command was given to the lane: its ticket. */
int order_issued(struct group *g, unsigned lane, uint64_t *ticket, struct error *error);
/* It reads, or it writes, the copy of a piece. */
void order_note(const struct group *g, unsigned lane, uint64_t ticket, struct piece *p,
                unsigned copy, bool writes);
/* One lane goes on after all that were given to another. */
int order_join(struct group *g, unsigned lane, unsigned other, struct error *error);
/* The host waits until nobody but `copy` itself uses that copy of the buffer. */
int order_wait_for_others(struct group *g, const struct buffer *b, unsigned copy,
                          struct error *error);
/* The host has waited for a member, or for one lane. */
void order_completed_member(struct group *g, unsigned member);
void order_completed_lane(struct group *g, unsigned lane);
static inline uint64_t *order_tickets(const struct group *g, struct piece *p, unsigned copy,
                                      bool writes)
{
    return p->tickets + (copy * 2 + writes) * g->lane_count;
}

/* command.c: before and after a command */
struct command {
    unsigned member, lane;
    const struct use *uses;
    size_t use_count;
};
static inline struct command command_on(const struct group *g, unsigned member,
                                        const struct use *uses, size_t use_count)
{
    return (struct command){member, order_lane(g, member, LANE_COMMANDS), uses, use_count};
}
/* Where a command runs that nobody has placed. */
unsigned command_member(const struct use *uses, size_t count);
/* Contents are void to the strategy only where it keeps track of just these bytes. */
bool use_replaces(const struct group *g, const struct use *u);
/* Makes the copies that it uses, brings their contents, and waits for whom it must. */
int command_before(struct group *g, const struct command *c, struct error *error);
/* The member `said` (a code) how it took the command: takes note of what it does. */
int command_after(struct group *g, const struct command *c, int said, struct error *error);

/* migrate.c */
/* Brings what is missing of [begin, end) to a member that has a copy. */
int migrate_to(struct group *g, struct buffer *b, unsigned member, uint64_t begin, uint64_t end,
               struct error *error);
/* Reads [begin, begin + bytes) to the host, from wherever it is current. What has no contents reads
 * as zeros. */
int migrate_read(struct group *g, struct buffer *b, uint64_t begin, uint64_t bytes, void *host,
                 struct error *error);

#endif
