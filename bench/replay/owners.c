#include "replay/owners.h"

struct range {
    struct treap_node node; /* first: in owners.ranges */
    uint64_t memory, offset, end;
    unsigned queue;
    bool live, used; /* `used`: a block was here, whose queue is `queue` */
};

static int by_place(const struct treap_node *left, const struct treap_node *right)
{
    const struct range *a = (const struct range *)left, *b = (const struct range *)right;
    if (a->memory != b->memory)
        return a->memory < b->memory ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

void owners_open(struct owners *o)
{
    *o = (struct owners){.ranges.compare = by_place, .nodes.item_bytes = sizeof(struct range)};
}

void owners_close(struct owners *o)
{
    slab_free(&o->nodes);
}

static void add(struct owners *o, const struct range *range)
{
    struct range *new = slab_take(&o->nodes);
    *new = *range;
    treap_insert(&o->ranges, &new->node);
}

/* The first range of a memory that ends after `offset`. Ranges do not overlap, so at most one that
 * begins before `offset` reaches beyond it: the one that holds it. */
static struct range *first_after(struct owners *o, uint64_t memory, uint64_t offset)
{
    const struct range key = {.memory = memory, .offset = offset};
    struct treap_node *before = NULL;
    for (struct treap_node *at = o->ranges.root; at;) {
        const bool is_before = by_place(at, &key.node) < 0;
        before = is_before ? at : before;
        at = is_before ? at->right : at->left;
    }
    struct range *r = (struct range *)before;
    if (r && r->memory == memory && r->end > offset)
        return r;
    r = (struct range *)treap_from(&o->ranges, &key.node);
    return r && r->memory == memory ? r : NULL;
}

/* Cuts [offset, end) out of the ranges of a memory. Returns the first sentence that `judge` has
 * about one of them. */
static const char *cut_out(struct owners *o, uint64_t memory, uint64_t offset, uint64_t end,
                           const char *(*judge)(const struct range *range, unsigned queue),
                           unsigned queue)
{
    const char *wrong = NULL;
    struct range *r;
    while ((r = first_after(o, memory, offset)) && r->offset < end) {
        const struct range old = *r;
        if (judge && !wrong)
            wrong = judge(r, queue);
        treap_remove(&o->ranges, &r->node);
        slab_give(&o->nodes, r);
        if (old.offset < offset) {
            struct range left = old;
            left.end = offset;
            add(o, &left);
        }
        if (old.end > end) {
            struct range right = old;
            right.offset = end;
            add(o, &right);
        }
    }
    return wrong;
}

static const char *judge_take(const struct range *range, unsigned queue)
{
    if (range->live)
        return "it overlaps a live block";
    if (range->used && range->queue != queue)
        return "it has bytes that another queue used last, and nothing waited for that queue";
    return NULL;
}

void owners_got(struct owners *o, uint64_t memory, uint64_t offset, uint64_t bytes)
{
    const struct range range = {.memory = memory, .offset = offset, .end = offset + bytes};
    if (bytes == 0)
        return;
    cut_out(o, memory, offset, range.end, NULL, 0);
    add(o, &range);
}

const char *owners_take(struct owners *o, const struct block *block, unsigned queue)
{
    const struct range range = {.memory = block->memory,
                                .offset = block->offset,
                                .end = block->offset + block->size,
                                .queue = queue,
                                .live = true,
                                .used = true};
    if (block->size == 0)
        return NULL;
    const char *wrong = cut_out(o, range.memory, range.offset, range.end, judge_take, queue);
    add(o, &range);
    return wrong;
}

void owners_give(struct owners *o, const struct block *block)
{
    struct range *r = block->size ? first_after(o, block->memory, block->offset) : NULL;
    if (r && r->offset == block->offset)
        r->live = false;
}

void owners_forget(struct owners *o, uint64_t memory, uint64_t offset, uint64_t bytes)
{
    const uint64_t end = bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
    cut_out(o, memory, offset, end, NULL, 0);
}

void owners_walk(const struct owners *o,
                 void (*see)(void *context, uint64_t memory, uint64_t bytes, bool is_live,
                             unsigned queue),
                 void *context)
{
    uint64_t piece = 0;
    for (struct treap_node *at = treap_first(&o->ranges), *after; at; at = after) {
        after = treap_after(&o->ranges, at);
        const struct range *r = (const struct range *)at, *next = (const struct range *)after;
        piece += r->end - r->offset;
        if (!r->live && next && next->memory == r->memory && next->offset == r->end && !next->live)
            continue;
        see(context, r->memory, piece, r->live, r->queue);
        piece = 0;
    }
}
