/* The planner's model: items instead of buffers, and sections instead of times. Only this folder
 * includes this header.
 *
 * An item is a buffer that is ever alive. A section is a maximal set of items that are alive at
 * once, so there are at most as many sections as intervals. Each interval of an item's life is an
 * unbroken range of sections. If all alignments have a common divisor, sizes are rounded up to it,
 * because the item above starts there anyway; only the topmost item does not need its `pad`.
 */
#pragma once

#include "base/random.h"
#include "merge/pack/pack.h"

/* Sections from `first` up to, but without, `end`. */
struct pack_range {
    unsigned first, end;
};

struct pack_item {
    int64_t size, pad, alignment;
    double duration;
    const struct pack_range *ranges; /* ascending; the model owns them */
    unsigned range_count;
    struct pack_range hull; /* from the first section to the last */
    size_t source;          /* the caller's buffer */
};

static inline size_t pack_interval_count(const struct pack_buffer *buffer)
{
    return buffer->intervals ? buffer->interval_count : 1;
}

static inline struct pack_interval pack_interval_at(const struct pack_buffer *buffer, size_t i)
{
    return buffer->intervals ? buffer->intervals[i]
                             : (struct pack_interval){buffer->lower, buffer->upper};
}

struct pack_model {
    struct pack_item *items; /* by first section, then as the caller has them */
    unsigned count, section_count;
    struct pack_range *ranges;
};

/* Builds the model of verified buffers (pack_verify). Free with pack_model_free. */
void pack_model_build(struct pack_model *model, const struct pack_buffer *buffers, size_t count);
void pack_model_free(struct pack_model *model);

/* The start or the end of a life. A buffer of size 0 has no lives, and an empty interval is none.
 * Lives are numbered in the order of the buffers and their intervals. */
struct pack_event {
    int64_t time;
    bool is_start;
    unsigned life;
    size_t buffer;
};

/* The events of verified buffers in time order; at one time ends come first, because a life
 * excludes its upper end. The caller frees *events. Returns their number. */
size_t pack_events(const struct pack_buffer *buffers, size_t count, struct pack_event **events);

/* One more than the last section that an item is alive in. */
unsigned pack_section_count(const struct pack_item *items, unsigned count);

/* By section: the bytes alive in it, and the largest pad of an item in it. */
void pack_section_loads(const struct pack_item *items, unsigned count, int64_t *total,
                        int64_t *pad);

/* No plan of these items is lower than this: the height of the fullest section. That section is
 * *peak, unless NULL. */
int64_t pack_load_bound(const struct pack_item *items, unsigned count, unsigned *peak);

/* No plan of these items is lower than this: the height of items of which any two are alive at
 * once. Items of several intervals can do so though never all are. Large items are chosen first, so
 * the bound can be lower than that of the load. */
int64_t pack_clique_bound(const struct pack_item *items, unsigned count);

/* Are both alive in some section? */
bool pack_items_meet(const struct pack_item *a, const struct pack_item *b);

/* The height of a plan. */
int64_t pack_height(const struct pack_item *items, unsigned count, const int64_t *offset);

static inline int64_t pack_align(int64_t offset, int64_t alignment)
{
    int64_t over = alignment == 1 ? 0 : offset % alignment;
    return over ? offset + (alignment - over) : offset;
}

static inline int64_t pack_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t pack_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- greedy orders --- */

/* What deadlines are compared with: the time, or, in a solve that is limited by steps, the steps
 * that the thread has counted. */
extern _Thread_local uint64_t pack_steps;
extern _Thread_local bool pack_counts_steps;
uint64_t pack_now(void);

/* One pass over the buffers in some order, each put where it fits among those placed before. */
enum pack_order {
    PACK_SIZE,
    PACK_DURATION,
    PACK_AREA,
    PACK_TIME,
    PACK_ORDER_COUNT,
    /* Items of like size in the order of time, for many items: those that are placed one after the
     * other are near in time, which takes at most the time of the order by size. */
    PACK_CLASS = PACK_ORDER_COUNT,
    PACK_END, /* the order of time, by ends */
};
enum pack_gap {
    PACK_FIRST_GAP,
    PACK_BEST_GAP, /* the smallest; of equals, the lowest */
    PACK_GAP_COUNT,
    PACK_HIGHEST_BEST_GAP = PACK_GAP_COUNT, /* of equals, the highest */
};

/* The name of an order with a gap rule: "size, first gap". */
const char *pack_greedy_name(enum pack_order order, enum pack_gap gap);

/* Fills `out` with the numbers of the items in the given order. */
void pack_order_fill(const struct pack_item *items, unsigned count, enum pack_order order,
                     unsigned *out);

/* Puts items into gaps between those before; keeps its memory from run to run. */
struct pack_placer; /* pack_place.c */
struct pack_run {
    int64_t below; /* the run ends at the first item that reaches this height */
    uint64_t deadline_ns;
    unsigned fixed;  /* so many first items of the order have their offsets */
    unsigned placed; /* answer: the items that were placed, without the one that was too high */
};
struct pack_placer *pack_placer_open(const struct pack_item *items, unsigned count);
/* Places the items of `order`; returns the height, or INT64_MAX if the run was ended. */
int64_t pack_placer_run(struct pack_placer *placer, const unsigned *order, unsigned count,
                        enum pack_gap gap, struct pack_run *run, int64_t *offset);
void pack_placer_close(struct pack_placer *placer);

/* Plans items in the order of time from their peak on, again and again, until the plan is as low as
 * `enough`, or that does not help, or the time is over. Returns the height. */
int64_t pack_sweep(const struct pack_item *items, unsigned count, int64_t enough,
                   uint64_t deadline_ns, int64_t *offset); /* pack_sweep.c */

/* The squeaky wheel: one better order after another. */
struct pack_squeaky; /* pack_squeaky.c */
struct pack_squeaky *pack_squeaky_open(const struct pack_item *items, unsigned count);
/* Tries the next order; returns the height of its plan, or INT64_MAX if that is not below `below`,
 * or the deadline came first. */
int64_t pack_squeaky_round(struct pack_squeaky *squeaky, int64_t below, uint64_t deadline_ns,
                           int64_t *offset);
void pack_squeaky_close(struct pack_squeaky *squeaky);

/* --- the exact searches: is there a plan no higher than a capacity? --- */

enum pack_verdict {
    PACK_SOLVED,     /* `offset` is such a plan */
    PACK_IMPOSSIBLE, /* proved: there is none */
    PACK_GAVE_UP,    /* nodes or time ran out */
};

struct pack_question {
    int64_t capacity;
    uint64_t node_limit, deadline_ns;
    int64_t *offset;       /* answer, one an item */
    int64_t next_capacity; /* PACK_IMPOSSIBLE: the least capacity that is not ruled out */
    uint64_t nodes;        /* items placed for this question */
};

/* Two searches. Each copies what it needs of the items; `order` is the static order that breaks
 * ties. An _ask answers one question. */
struct pack_search; /* pack_search.c: in order of offset */
struct pack_search *pack_search_open(const struct pack_item *items, unsigned count,
                                     const unsigned *order);
enum pack_verdict pack_search_ask(struct pack_search *search, struct pack_question *question);
void pack_search_close(struct pack_search *search);

struct pack_skyline;
/* May pack_skyline be used? Each item must have one interval, and all the same alignment. */
bool pack_skyline_fits(const struct pack_item *items, unsigned count);
struct pack_skyline *pack_skyline_open(const struct pack_item *items, unsigned count,
                                       const unsigned *order);
enum pack_verdict pack_skyline_ask(struct pack_skyline *skyline, struct pack_question *question);
void pack_skyline_close(struct pack_skyline *skyline);
