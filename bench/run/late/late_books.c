/* What blocks of sizes that are not known yet make of the peaks: events are noted in their order,
 * each with what the other spaces held at most since the one before, and added up when the sizes
 * are known. */
#include <string.h>

#include "run/execute/executor.h"
#include "run/late/late_heap.h"

/* The peaks of the other spaces, which begin again from what is live now. */
static void take_peaks(struct executor *e, uint64_t peaks[LATE_SERIES])
{
    struct allocator_counts *c = e->all_counts;
    peaks[LATE_REQUESTED] = c->peak_requested_bytes;
    peaks[LATE_GRANTED] = c->peak_granted_bytes;
    peaks[LATE_LIVE] = e->counts.peak_live_bytes;
    c->peak_requested_bytes = c->requested_bytes;
    c->peak_granted_bytes = c->granted_bytes;
    e->counts.peak_live_bytes = e->counts.live_bytes;
}

static void raise(uint64_t *peak, uint64_t bytes)
{
    *peak = bytes > *peak ? bytes : *peak;
}

static void raise_peaks(struct late_books *b, const uint64_t others[LATE_SERIES])
{
    for (unsigned s = 0; s < LATE_SERIES; s++)
        raise(&b->peak[s], others[s] + b->live[s]);
}

void late_books_begin(struct executor *e)
{
    struct late_books *b = &e->heap->books;
    b->event_count = 0;
    memset(b->live, 0, sizeof b->live);
    memset(b->peak, 0, sizeof b->peak);
}

int late_books_make_room(struct executor *e)
{
    return e->heap->books.event_count < LATE_EVENTS ? 0 : late_settle(e, true);
}

static void count(struct allocator_counts *c, enum late_event_kind kind)
{
    c->alloc_count += kind == LATE_ALLOC;
    c->hit_count += kind == LATE_ALLOC;
    c->free_count += kind == LATE_FREE;
}

static int add(struct executor *e, struct late_books *b, struct late_event *event)
{
    union scalar bytes = {.i64 = event->bytes.add};
    int code = late_resolve(e, &event->bytes, &bytes, ELEMENT_i64);
    if (code)
        return code;
    raise_peaks(b, event->others);
    if (bytes.i64 > 0) { /* as everywhere, a block of no bytes is none */
        count(e->all_counts, event->kind);
        count(e->heap_counts, event->kind);
    }
    const uint64_t requested = (uint64_t)bytes.i64;
    const uint64_t granted = (requested + event->unit - 1) / event->unit * event->unit;
    if (event->kind == LATE_ALLOC) {
        b->live[LATE_REQUESTED] += requested;
        b->live[LATE_GRANTED] += granted;
        b->live[LATE_LIVE] += requested;
        raise(&e->heap_counts->peak_requested_bytes, b->live[LATE_REQUESTED]);
        raise(&e->heap_counts->peak_granted_bytes, b->live[LATE_GRANTED]);
    } else if (event->kind == LATE_USE_ENDS) {
        b->live[LATE_LIVE] -= requested;
    } else {
        b->live[LATE_REQUESTED] -= requested;
        b->live[LATE_GRANTED] -= granted;
    }
    return 0;
}

int late_books_fold(struct executor *e)
{
    struct late_books *b = &e->heap->books;
    int code = 0;
    for (unsigned i = 0; i < b->event_count && !code; i++)
        code = add(e, b, &b->events[i]);
    b->event_count = 0;
    return code;
}

int late_books_note(struct executor *e, enum late_event_kind kind, const struct held_block *block)
{
    struct late_books *b = &e->heap->books;
    struct late_event *event = &b->events[b->event_count++];
    *event = (struct late_event){.kind = kind, .bytes = block->bytes, .unit = block->unit};
    take_peaks(e, event->others);
    return late_is_pending(e) ? 0 : late_books_fold(e);
}

void late_heap_finish(struct executor *e)
{
    if (!e->heap)
        return;
    struct late_books *b = &e->heap->books;
    struct allocator_counts *c = e->all_counts;
    uint64_t others[LATE_SERIES];
    take_peaks(e, others);
    raise_peaks(b, others);
    c->peak_requested_bytes = b->peak[LATE_REQUESTED];
    c->peak_granted_bytes = b->peak[LATE_GRANTED];
    e->counts.peak_live_bytes = b->peak[LATE_LIVE];
}
