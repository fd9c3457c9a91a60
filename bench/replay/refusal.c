#include "replay/refusal.h"

const char *const free_places[][2] = {FREE_PLACE_LIST(TEXT_BOTH)};

/* A walk through all memories. Free pieces are of the pool of the live blocks in their memory. */
struct walk {
    struct replay_refusal *refusal;
    unsigned owner, lives_owner; /* of the request, and of a live block in the memory */
    bool has_live, lives_small;
    uint64_t small_most_bytes, known_bytes, memory;
    uint64_t free_bytes, largest_bytes; /* of the memory so far */
};

static void end_memory(struct walk *w)
{
    const bool is_other_pool =
        !w->has_live || w->lives_owner / ALLOCATOR_QUEUES_MAX != w->owner / ALLOCATOR_QUEUES_MAX;
    const enum free_place place = is_other_pool                ? FREE_other_pools
                                  : w->lives_owner != w->owner ? FREE_other_queues
                                  : w->lives_small != (w->refusal->bytes <= w->small_most_bytes)
                                      ? FREE_other_sizes
                                      : FREE_own_pool;
    struct replay_refusal *r = w->refusal;
    r->place_bytes[place] += w->free_bytes;
    if (place == FREE_own_pool && w->largest_bytes > r->largest_own_bytes)
        r->largest_own_bytes = w->largest_bytes;
    w->free_bytes = w->largest_bytes = 0;
    w->has_live = false;
}

static void see(void *context, uint64_t memory, uint64_t bytes, bool is_live, unsigned owner)
{
    struct walk *w = context;
    struct replay_refusal *r = w->refusal;
    if (memory != w->memory)
        end_memory(w);
    w->memory = memory;
    w->known_bytes += bytes;
    if (is_live) {
        w->has_live = true;
        w->lives_owner = owner;
        w->lives_small = bytes <= w->small_most_bytes;
        return;
    }
    w->free_bytes += bytes;
    r->free_bytes += bytes;
    r->free_pieces++;
    if (bytes > w->largest_bytes)
        w->largest_bytes = bytes;
    if (bytes > r->largest_free_bytes)
        r->largest_free_bytes = bytes;
}

void refusal_find_free(struct replay_refusal *r, const struct owners *owners, unsigned owner,
                       uint64_t small_most_bytes)
{
    struct walk w = {.refusal = r, .owner = owner, .small_most_bytes = small_most_bytes};
    owners_walk(owners, see, &w);
    end_memory(&w);
    r->knows_free = w.known_bytes == r->reserved_bytes;
}

void refusal_add_reason(struct text *out, const struct replay_refusal *r)
{
    const uint64_t most = r->limit_bytes > r->reserved_bytes ? r->limit_bytes : r->reserved_bytes,
                   rest = most - r->reserved_bytes + r->free_bytes;
    char bytes[32], more[32];
    if (rest < r->bytes)
        text_add(out,
                 "the rest of the limit, %s, is less than the request; the live blocks are %s "
                 "larger than their requests",
                 text_bytes(bytes, rest), text_bytes(more, r->granted_bytes - r->requested_bytes));
    else if (r->largest_own_bytes >= r->bytes)
        text_add(out, "the settings keep the free piece of %s from a request of this size",
                 text_bytes(bytes, r->largest_own_bytes));
    else
        text_add(out, "the largest free piece of its pool has %s",
                 text_bytes(bytes, r->largest_own_bytes));
    text_add(out, rest < r->bytes ? "" : ", and more memory would exceed the limit");
    for (unsigned i = FREE_own_pool + 1; i < FREE_PLACES; i++)
        if (r->place_bytes[i])
            text_add(out, "; %s of the free bytes are %s", text_bytes(bytes, r->place_bytes[i]),
                     free_places[i][1]);
}
