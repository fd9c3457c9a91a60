#include "pages/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/slab.h"
#include "base/sort.h"
#include "base/treap.h"
#include "pages/address_places.h"

enum { PHASES_DEEP = 256 };

/* A block that lives now, by slot of the trace. */
struct living {
    uint64_t memory, offset, granted, address;
    unsigned block; /* + 1; 0: the slot is free */
    bool is_memory; /* no source said that it holds the block's bytes */
};

/* A piece of memory that is held now. */
struct piece {
    struct treap_node node; /* by address */
    uint64_t address;
    unsigned index; /* in `held` */
};

struct recording {
    struct view_history *history;
    struct view_strategy *strategy;
    struct address_places *places;
    bool is_first; /* of the history's strategies */
    uint32_t moment;
    uint64_t time_ns;
    struct living *living;
    unsigned living_capacity, block_count;
    struct treap pieces;
    struct slab piece_items;
    unsigned depth, phases[PHASES_DEEP]; /* names of the phases that have begun */
};

/* ---- memory from the driver ---- */

/* The highest first: the first piece from an address on is the one that holds it. */
static int by_address(const struct treap_node *a, const struct treap_node *b)
{
    const uint64_t left = ((const struct piece *)a)->address;
    const uint64_t right = ((const struct piece *)b)->address;
    return left > right ? -1 : left < right;
}

static void add_piece(void *context, uint64_t address, uint64_t bytes)
{
    struct recording *r = context;
    struct view_strategy *s = r->strategy;
    struct view_blocks *held = &s->held;
    held->items = must_grow(held->items, held->count, &held->capacity, sizeof *held->items);
    s->held_addresses =
        must_grow(s->held_addresses, held->count, &s->held_capacity, sizeof *s->held_addresses);
    struct piece *piece = slab_take(&r->piece_items);
    *piece = (struct piece){.address = address, .index = held->count};
    treap_insert(&r->pieces, &piece->node);
    s->held_addresses[held->count] = address;
    held->items[held->count++] =
        (struct view_block){.bytes = bytes, .born = r->moment, .died = UINT32_MAX};
}

static void end_piece(void *context, uint64_t address, uint64_t bytes)
{
    struct recording *r = context;
    const struct piece key = {.address = address};
    struct piece *piece = (struct piece *)treap_from(&r->pieces, &key.node);
    if (!piece)
        return;
    struct view_block *held = &r->strategy->held.items[piece->index];
    const uint64_t start = piece->address, end = start + held->bytes;
    held->died = r->moment;
    treap_remove(&r->pieces, &piece->node);
    slab_give(&r->piece_items, piece);
    if (start < address)
        add_piece(r, start, address - start);
    if (address + bytes < end)
        add_piece(r, address + bytes, end - address - bytes);
}

static void hear_source(void *context, enum source_event event, uint64_t memory, uint64_t offset,
                        uint64_t bytes)
{
    struct recording *r = context;
    r->moment++; /* the source is heard within the event that is told next */
    if (event == SOURCE_HELD || event == SOURCE_MAPPED)
        places_add(r->places, memory, offset, bytes, add_piece, r);
    else
        places_remove(r->places, memory, offset, bytes, end_piece, r);
    r->moment--;
}

/* ---- blocks ---- */

struct found {
    uint64_t address, bytes;
    unsigned parts;
};

/* Parts that follow one another on the axis are one. */
static void find_part(void *context, uint64_t address, uint64_t bytes)
{
    struct found *f = context;
    if (f->parts == 0)
        *f = (struct found){address, bytes, 1};
    else if (f->parts == 1 && f->address + f->bytes == address)
        f->bytes += bytes;
    else
        f->parts++;
}

static struct view_place place_of(struct recording *r, struct living *at)
{
    struct found found = {0};
    if (at->granted == 0)
        return (struct view_place){VIEW_NOWHERE, 0};
    places_find(r->places, at->memory, at->offset, at->granted, find_part, &found);
    if (found.parts == 0 &&
        places_add(r->places, at->memory, at->offset, at->granted, add_piece, r)) {
        at->is_memory = true;
        places_find(r->places, at->memory, at->offset, at->granted, find_part, &found);
    }
    r->strategy->nowhere += found.parts == 0;
    r->strategy->scattered += found.parts > 1;
    return (struct view_place){found.parts ? found.address : VIEW_NOWHERE, at->granted};
}

static struct living *living_at(struct recording *r, unsigned slot)
{
    r->living = must_reach(r->living, slot, &r->living_capacity, sizeof *r->living);
    return &r->living[slot];
}

static void note_name(struct view_history *h, unsigned name)
{
    h->name_count = name >= h->name_count ? name + 1 : h->name_count;
}

/* The stack of a block, or else its name: so where the blocks of a stack have several names. */
static uint32_t site_of(struct view_history *h, const struct trace_event *e)
{
    note_name(h, e->name);
    if (!e->stack)
        return e->name;
    note_name(h, e->stack);
    h->labels = must_reach(h->labels, e->stack, &h->label_capacity, sizeof *h->labels);
    uint32_t *label = &h->labels[e->stack];
    *label = *label ? *label : e->name;
    return *label == e->name ? e->stack : e->name;
}

static void begin_block(struct recording *r, const struct trace_event *e, const struct block *block)
{
    struct view_strategy *s = r->strategy;
    struct view_blocks *blocks = &r->history->blocks;
    struct living *at = living_at(r, e->slot);
    *at = (struct living){.memory = block->memory,
                          .offset = block->offset,
                          .granted = block->size,
                          .block = ++r->block_count};
    if (r->is_first) {
        blocks->items =
            must_grow(blocks->items, blocks->count, &blocks->capacity, sizeof *blocks->items);
        blocks->items[blocks->count++] =
            (struct view_block){e->bytes, r->moment, UINT32_MAX, e->name, site_of(r->history, e)};
    }
    s->places = must_grow(s->places, s->place_count, &s->place_capacity, sizeof *s->places);
    s->places[s->place_count] = place_of(r, at);
    at->address = s->places[s->place_count++].address;
    if (at->address != VIEW_NOWHERE)
        cover_use(&s->cover, at->address, at->granted, true);
}

static void end_block(struct recording *r, const struct trace_event *e)
{
    struct living *at = living_at(r, e->slot);
    if (!at->block)
        return;
    if (r->is_first)
        r->history->blocks.items[at->block - 1].died = r->moment;
    if (at->address != VIEW_NOWHERE)
        cover_use(&r->strategy->cover, at->address, at->granted, false);
    if (at->is_memory)
        places_remove(r->places, at->memory, at->offset, at->granted, end_piece, r);
    at->block = 0;
}

/* ---- phases ---- */

static void note_phase(struct recording *r, const struct trace_event *e)
{
    struct view_history *h = r->history;
    unsigned i = r->depth;
    if (e->kind == TRACE_begin && r->depth < PHASES_DEEP)
        r->phases[r->depth++] = e->name;
    while (e->kind == TRACE_end && i > 0 && r->phases[i - 1] != e->name)
        i--;
    if (e->kind == TRACE_end && i > 0) {
        memmove(&r->phases[i - 1], &r->phases[i], (r->depth - i) * sizeof *r->phases);
        r->depth--;
    }
    h->phases = must_grow(h->phases, h->phase_count, &h->phase_capacity, sizeof *h->phases);
    h->phases[h->phase_count++] =
        (struct view_phase){r->moment, r->depth ? r->phases[r->depth - 1] : 0};
    note_name(h, e->name);
}

/* ---- events ---- */

static void note_refusal(struct view_history *h, const struct trace_event *e, uint32_t moment,
                         uint64_t requested)
{
    if (moment < h->first || moment > h->last || trace_is_dispensable(h->reader, e))
        return;
    h->refusal = (struct view_refusal){moment, e->name, e->bytes, requested};
    note_name(h, e->name);
}

static void hear(void *context, const struct trace_event *e, const struct block *block,
                 const struct replay_state *state)
{
    struct recording *r = context;
    struct view_summary *summary = &r->history->summary;
    r->moment = (uint32_t)state->event;
    r->time_ns = larger(r->time_ns, e->time_ns);
    cover_advance(&r->strategy->cover, r->moment);
    if (block && (e->kind == TRACE_held || e->kind == TRACE_alloc))
        begin_block(r, e, block);
    else if (block)
        end_block(r, e);
    if (r->is_first && (e->kind == TRACE_begin || e->kind == TRACE_end))
        note_phase(r, e);
    if (r->is_first && e->kind == TRACE_refused)
        note_refusal(r->history, e, r->moment, state->requested_bytes);
    if (r->is_first)
        summary_add(summary, r->moment, r->time_ns, state->requested_bytes);
    strategy_summary_add(&r->strategy->summary, summary, r->moment, state->granted_bytes,
                         larger(state->most_reserved_bytes, state->reserved_bytes));
}

/* ---- the whole ---- */

/* The number of events of the trace; if it was cut off, they are counted. */
static int count_events(struct trace_reader *reader, uint64_t *events, struct error *error)
{
    struct trace_totals totals;
    struct trace_event event;
    int more = 1;
    *events = 0;
    if (trace_read_totals(reader, &totals)) {
        *events = totals.events;
        return 0;
    }
    TRY(trace_rewind(reader, error));
    while ((more = trace_next(reader, &event, error)) > 0)
        ++*events;
    return more;
}

static int open_history(struct view_history *h, struct error *error)
{
    uint64_t events;
    TRY(count_events(h->reader, &events, error));
    if (events >= UINT32_MAX - 1)
        return error_set(error, ERR_UNSUPPORTED,
                         "%s: it has more events than a page can count; gamut trace cut --first N "
                         "--last M makes a part of it",
                         trace_reader_path(h->reader));
    h->last = h->last < events ? h->last : (uint32_t)events;
    if (events == 0)
        return error_set(error, ERR_USAGE, "%s: the trace has no events",
                         trace_reader_path(h->reader));
    if (h->first > h->last)
        return error_set(error, ERR_USAGE, "%s: there are %" PRIu64 " events, and none from %u on",
                         trace_reader_path(h->reader), events, h->first);
    h->has_times = trace_reader_info(h->reader)->knows[TRACE_KNOWS_times];
    summary_open(&h->summary, h->first, h->last);
    return 0;
}

/* Blocks that live at the end outlast the last moment. */
static void end_living(struct view_blocks *blocks, uint32_t last)
{
    for (unsigned i = 0; i < blocks->count; i++)
        if (blocks->items[i].died > last)
            blocks->items[i].died = last + 1;
}

int view_record(struct view_history *h, const struct replay_options *options,
                struct view_strategy *s, struct error *error)
{
    struct recording r = {.history = h,
                          .strategy = s,
                          .is_first = h->summary.level_count == 0,
                          .pieces.compare = by_address,
                          .piece_items.item_bytes = sizeof(struct piece)};
    if (r.is_first)
        TRY(open_history(h, error));
    const struct source_listener source = {&r, hear_source};
    const struct replay_listener listener = {&r, hear, &source};
    strategy_summary_open(&s->summary, &h->summary);
    r.places = must_alloc(sizeof *r.places);
    places_open(r.places);
    cover_open(&s->cover);
    const int code = replay_trace(h->reader, options, &listener, &s->outcome, error);
    if (r.is_first)
        end_living(&h->blocks, h->last);
    if (r.is_first)
        summary_finish(&h->summary);
    end_living(&s->held, h->last);
    strategy_summary_finish(&s->summary, &h->summary);
    free(r.places);
    free(r.living);
    slab_free(&r.piece_items);
    return code;
}

void view_strategy_free(struct view_strategy *s)
{
    strategy_summary_free(&s->summary);
    free(s->places);
    free(s->held.items);
    free(s->held_addresses);
    *s = (struct view_strategy){0};
}

void view_history_free(struct view_history *h)
{
    summary_free(&h->summary);
    free(h->labels);
    free(h->blocks.items);
    free(h->phases);
    h->blocks = (struct view_blocks){0};
    h->phases = NULL;
}
