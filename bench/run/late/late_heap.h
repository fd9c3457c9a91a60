/* What the files on late blocks share: the heap of a run, and its books. */
#ifndef GAMUT_RUN_LATE_HEAP_H
#define GAMUT_RUN_LATE_HEAP_H

#include "device_heap/device_heap.h"
#include "run/late/late.h"

/* ---- books (late_books.c) ---- */

enum late_event_kind { LATE_ALLOC, LATE_USE_ENDS, LATE_FREE };

/* What is counted of live blocks: asked for, handed out, still to be used. */
enum late_series { LATE_REQUESTED, LATE_GRANTED, LATE_LIVE, LATE_SERIES };

/* Something happened to a block in the heap. */
struct late_event {
    enum late_event_kind kind;
    struct late_form bytes;       /* of the block */
    unsigned unit;                /* that it was granted a multiple of, in bytes */
    uint64_t others[LATE_SERIES]; /* what the other spaces held at most since the event before */
};

enum { LATE_EVENTS = 4096 }; /* then what is not known is waited for */

struct late_books {
    struct late_event *events; /* those that wait for a size to become known, in order */
    unsigned event_count;
    uint64_t live[LATE_SERIES],
        peak[LATE_SERIES]; /* of the heap; of all spaces; before the events */
};

/* A run begins: nothing is live. */
void late_books_begin(struct executor *e);
/* Makes room for an event, with a wait if need be. */
int late_books_make_room(struct executor *e);
int late_books_note(struct executor *e, enum late_event_kind kind, const struct held_block *block);
/* All sizes are known. */
int late_books_fold(struct executor *e);

/* ---- the heap ---- */

struct late_heap {
    struct device_heap_kernels *kernels;
    struct device_heap *heap;    /* NULL: between runs */
    uint64_t arena, arena_bytes; /* of the source */
    uint64_t held_bytes;         /* besides */
    uint64_t slots;              /* the address buffer */
    struct device_heap_parts parts;
    bool must_submit;      /* there are allocations that the device was not given yet */
    unsigned char *widest; /* by memory name: bytes of the largest element of an array in it */
    struct late_books books;
};

#endif
