#include "experiment/event_objects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/random.h"

/* The last word of a record, but for nodes, is the number at its beginning too: whoever is given a
 * record that another one still has overwrites that. */
struct event {
    uint64_t number;
    atomic_uint holders;
    bool is_complete; /* only whoever completes looks at it */
    struct command *command;
    struct node *waits;
    struct queue *queue; /* NULL in a storm without */
    struct event *next;  /* on the queue */
};
struct command {
    uint64_t number;
    struct event *event;
};
struct node {
    struct event *on;
    struct node *next;
};
struct queue {
    uint64_t number;
    pthread_mutex_t lock; /* of all that follows */
    unsigned holders, command_count;
    struct event *first, *last; /* that are not complete */
    struct driver *driver;
};
/* What a driver keeps for a queue: where threads sleep until it is empty. */
struct driver {
    uint64_t number;
    pthread_cond_t empty;
};
_Static_assert(sizeof(struct event) <= STORM_RECORD_BYTES, "an event has room in its record");
_Static_assert(sizeof(struct node) == STORM_NODE_BYTES, "a node is what the header says");
_Static_assert(sizeof(struct queue) + 8 <= STORM_QUEUE_BYTES, "a queue has room in its record");
_Static_assert(sizeof(struct driver) + 8 <= STORM_DRIVER_BYTES, "so has the driver's part");

struct records event_records_of(const struct event_storm *storm)
{
    /* An event is taken again when those that it was the last to wait for it have completed, a
     * queue when its last event has. */
    const uint64_t most = storm->live + storm->depends + 2;
    const uint64_t queues = storm->commands ? storm->live / storm->commands + 2 : 0;
    return (struct records){
        .source = storm->source,
        .bytes = {[EVENT_RECORD] = storm->event_bytes,
                  [COMMAND_RECORD] = storm->command_bytes,
                  [NODE_RECORD] = STORM_NODE_BYTES,
                  [QUEUE_RECORD] = storm->queue_bytes,
                  [DRIVER_RECORD] = STORM_DRIVER_BYTES},
        .fixed_count = {[EVENT_RECORD] = most,
                        [COMMAND_RECORD] = most,
                        [NODE_RECORD] = most * (storm->depends ? storm->depends : 1),
                        [QUEUE_RECORD] = queues,
                        [DRIVER_RECORD] = queues},
    };
}

static uint64_t *last_word(const struct worker *w, enum record kind, void *record)
{
    return (uint64_t *)((char *)record + w->records->bytes[kind]) - 1;
}

/* A record of zeros that begins and ends with its number. */
static void *take(struct worker *w, enum record kind, uint64_t number)
{
    uint64_t *record = records_take(w->records, kind, number);
    memset(record, 0, w->records->bytes[kind]);
    *record = *last_word(w, kind, record) = number;
    w->taken++;
    return record;
}

static void give(struct worker *w, enum record kind, void *record)
{
    records_give(w->records, kind, record);
    w->given++;
}

/* ---- queues --------------------------------------------------------------------------------- */

static struct queue *create_queue(struct worker *w, uint64_t number)
{
    struct queue *q = take(w, QUEUE_RECORD, number);
    q->driver = take(w, DRIVER_RECORD, number);
    q->holders = 1;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->driver->empty, NULL);
    return q;
}

/* Nobody holds it any more. */
static void destroy_queue(struct worker *w, struct queue *q)
{
    struct driver *d = q->driver;
    w->wrong_count += q->first != NULL || q->command_count != 0 || d->number != q->number ||
                      *last_word(w, QUEUE_RECORD, q) != q->number ||
                      *last_word(w, DRIVER_RECORD, d) != q->number;
    pthread_cond_destroy(&d->empty);
    pthread_mutex_destroy(&q->lock);
    give(w, DRIVER_RECORD, d);
    give(w, QUEUE_RECORD, q);
}

static void release_queue(struct worker *w, struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    const unsigned holders = --q->holders;
    pthread_mutex_unlock(&q->lock);
    if (holders == 0)
        destroy_queue(w, q);
}

static void enqueue(struct queue *q, struct event *e)
{
    e->queue = q;
    pthread_mutex_lock(&q->lock);
    q->holders++;
    q->command_count++;
    *(q->first ? &q->last->next : &q->first) = e;
    q->last = e;
    pthread_mutex_unlock(&q->lock);
}

/* Its first command is done. */
static void dequeue(struct worker *w, struct event *e)
{
    struct queue *q = e->queue;
    pthread_mutex_lock(&q->lock);
    w->wrong_count += q->first != e;
    q->first = e->next;
    if (--q->command_count == 0)
        pthread_cond_broadcast(&q->driver->empty);
    pthread_mutex_unlock(&q->lock);
    release_queue(w, q);
}

/* ---- events --------------------------------------------------------------------------------- */

static void let_go(struct worker *w, struct event *e)
{
    if (atomic_fetch_sub(&e->holders, 1) != 1)
        return;
    w->wrong_count += *last_word(w, EVENT_RECORD, e) != e->number;
    give(w, EVENT_RECORD, e);
}

static void add_waits(struct worker *w, struct event *e)
{
    const unsigned depends = w->storm->depends;
    for (unsigned i = 0; i < depends && i < e->number; i++) {
        struct node *n = records_take(w->records, NODE_RECORD, e->number * depends + i);
        n->on = w->recent[(e->number - 1 - i) % depends];
        atomic_fetch_add(&n->on->holders, 1);
        n->next = e->waits;
        e->waits = n;
        w->taken++;
    }
}

struct event *event_create(struct worker *w, uint64_t number)
{
    const struct event_storm *s = w->storm;
    if (s->commands && number % s->commands == 0) {
        if (w->queue)
            release_queue(w, w->queue);
        w->queue = create_queue(w, number / s->commands);
    }
    struct event *e = take(w, EVENT_RECORD, number);
    struct command *c = take(w, COMMAND_RECORD, number);
    atomic_init(&e->holders, s->depends ? 2 : 1);
    e->command = c;
    c->event = e;
    add_waits(w, e);
    if (w->queue)
        enqueue(w->queue, e);
    if (s->depends) {
        struct event **oldest = &w->recent[number % s->depends];
        if (*oldest)
            let_go(w, *oldest);
        *oldest = e;
    }
    return e;
}

void event_complete(struct worker *w, struct event *e)
{
    struct command *c = e->command;
    w->digest = random_mix(w->digest ^ e->number);
    w->wrong_count +=
        c->event != e || c->number != e->number || *last_word(w, COMMAND_RECORD, c) != e->number;
    for (struct node *n = e->waits, *next; n; n = next) {
        next = n->next;
        w->wrong_count += !n->on->is_complete;
        w->digest = random_mix(w->digest ^ n->on->number);
        let_go(w, n->on);
        give(w, NODE_RECORD, n);
    }
    give(w, COMMAND_RECORD, c);
    e->is_complete = true;
    if (e->queue)
        dequeue(w, e);
    let_go(w, e);
}

void events_let_go(struct worker *w)
{
    for (unsigned i = 0; i < w->storm->depends; i++)
        if (w->recent[i])
            let_go(w, w->recent[i]);
    memset(w->recent, 0, sizeof w->recent);
    if (w->queue)
        release_queue(w, w->queue);
    w->queue = NULL;
}
