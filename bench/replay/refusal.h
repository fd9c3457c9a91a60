/* Why an allocator refused a request: the free memory that it had, and where that lay. */
#pragma once

#include "base/text.h"
#include "replay/owners.h"

/* X(name, words): where free bytes are, as the request sees them. */
#define FREE_PLACE_LIST(X)                                                                         \
    X(own_pool, "in its own pool")                                                                 \
    X(other_sizes, "in the pool for blocks of other sizes")                                        \
    X(other_queues, "on other streams")                                                            \
    X(other_pools, "in other pools, such as those of captured graphs")
#define FREE_PLACE(name, ...) FREE_##name,
enum free_place { FREE_PLACE_LIST(FREE_PLACE) FREE_PLACES };
extern const char *const free_places[FREE_PLACES][2]; /* name and words */

/* The request, and the state after the allocator gave back what it could. */
struct replay_refusal {
    uint64_t event, block, bytes; /* its number, block and size; event 0: none was refused */
    uint64_t time_ns;
    uint64_t requested_bytes, granted_bytes; /* of the live blocks at that moment */
    uint64_t reserved_bytes, limit_bytes;
    /* With `explain`, and where the source shows its memories: what is held and not handed out. */
    bool knows_free;
    uint64_t free_bytes, free_pieces, largest_free_bytes, largest_own_bytes;
    uint64_t place_bytes[FREE_PLACES];
    char site[256]; /* of the request; "": unknown */
};

/* Finds what is free. `owner`: of the request, as owners_take has it, which is its queue plus
 * ALLOCATOR_QUEUES_MAX times its pool. Blocks of up to `small_most_bytes` share no memory with
 * larger ones. */
void refusal_find_free(struct replay_refusal *refusal, const struct owners *owners, unsigned owner,
                       uint64_t small_most_bytes);
/* Adds why nothing that is free serves: a part of a sentence. It needs knows_free. */
void refusal_add_reason(struct text *out, const struct replay_refusal *refusal);
