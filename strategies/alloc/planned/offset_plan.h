/* A plan of memory: where in one arena each block of a recorded program lies. `planned` serves from
 * it; bench/replay/plan.h makes it of a trace.
 *
 * Each queue has its own sequence of requests, its own times and its own arena. Time is counted in
 * requests of that queue: request i happens at time i. The slots before the first round are served
 * once. Each round is a kind of iteration, and any round may come after any other: what one leaves
 * to the next has bytes that no round needs before it ends. With two turns, rounds of turn 0 and of
 * turn 1 come alternately, so that what lives until after its counterpart of the next round has two
 * places.
 *
 * The file is text, a line an item:
 *
 *     gamut plan 2
 *     unit 512
 *     digest 00112233aabbccdd
 *     mark Optimizer.step#SGD.step
 *     tag model.py:12
 *     queue 0 height 4096 bound 4096 turns 1 rounds 1 marks 1 slots 4
 *     round 1
 *     at 1
 *     1024 0 forever 1
 *     2048 1024 3 0
 *     1024 3072 +1 0
 *     512 none 4 0
 *
 * A slot has its bytes, its offset (none: the fallback serves it), the time at which it is free
 * again (+N: N requests after the beginning of the next round), and its tag (0: unknown; else the
 * number of a tag line).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define PLAN_NOT_PLANNED UINT64_MAX /* an offset: this block is left to the fallback */
#define PLAN_FOREVER     UINT32_MAX /* an end: the block is never freed */

enum { PLAN_SLOTS_MOST = 1 << 28 };

struct plan_slot {
    uint64_t size, offset; /* bytes */
    /* The time of the first request after its free, at most the end of its round; PLAN_FOREVER; or,
     * if `carried`, counted from the beginning of the next round. */
    uint32_t end;
    uint32_t tag; /* 0, or the number of a tag */
    bool carried;
};

struct plan_queue {
    unsigned queue;         /* its index in the trace */
    uint64_t height, bound; /* bytes of the arena, and the least that any plan needs */
    uint32_t count;
    struct plan_slot *slots;
    unsigned round_count, turns; /* 0: the sequence has an end. Round i has turn i % turns */
    uint32_t *rounds;            /* times at which they begin, ascending; each ends with the next */
    uint32_t mark_count;
    uint32_t *marks; /* times at which an iteration begins, ascending */
};

/* The end of a round; of the slots before the first one for round -1. */
static inline uint32_t plan_round_end(const struct plan_queue *q, int round)
{
    return round + 1 < (int)q->round_count ? q->rounds[round + 1] : q->count;
}

/* A slot by its size. */
struct plan_sized {
    uint64_t size;
    uint32_t time;
};
/* All slots in order of size, then of time, and one of size 0 after them; for the caller to
 * free. */
struct plan_sized *plan_sort_by_size(const struct plan_queue *q);
/* The slots of a size from a time on: after the last of them comes one of another size. */
const struct plan_sized *plan_sized_from(const struct plan_sized *slots, uint32_t count,
                                         uint64_t size, uint32_t time);

/* The mark from `begin` to `end` that is nearest to a time. In a queue with rounds `end` counts as
 * a mark. Returns `time` if there is none. */
uint32_t plan_nearest_mark(const struct plan_queue *q, uint32_t begin, uint32_t end, uint32_t time);

struct offset_plan {
    uint64_t unit;    /* offsets are multiples of this power of two */
    uint64_t digest;  /* of the trace */
    const char *mark; /* name of the phase that begins an iteration, as plan_mark_name has it; "" */
    uint32_t tag_count;
    const char **tags; /* the first is "", for unknown */
    unsigned queue_count;
    struct plan_queue *queues;
    struct arena arena; /* owns all of it */
};

/* Reads a plan file and checks it. ERR_IO, or ERR_PARSE with "PATH:LINE: " or with the slots that
 * overlap. On an error there is nothing to free. */
int plan_read(const char *path, struct offset_plan *plan, struct error *error);
/* Whether the file begins as a plan does. */
bool plan_is_file(const char *path);
/* ERR_IO; ERR_USAGE if the file is there and `replace` is not set. */
int plan_write(const struct offset_plan *plan, const char *path, bool replace, struct error *error);
/* Checks that no two slots that live at once overlap, and that all numbers are in bounds: `planned`
 * relies on that. ERR_PARSE names what is wrong. */
int plan_verify(const struct offset_plan *plan, struct error *error);
void plan_free(struct offset_plan *plan);

/* Copies the name of a phase with each number in it replaced by '*', so that "step 3" and "step 4"
 * are one phase. */
void plan_mark_name(char out[128], const char *name);
