#include "experiment/event_records.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/slab.h"

const char *const storm_threads_names[] = {"alone", "each", "handed"};
const char *const record_source_names[] = {"fixed", "malloc", "slab", "locked"};

/* ---- where records come from ----------------------------------------------------------------- */

enum record {
    EVENT_RECORD,
    COMMAND_RECORD,
    NODE_RECORD, /* an element of a wait list */
    QUEUE_RECORD,
    DRIVER_RECORD, /* what the driver keeps for a queue */
    RECORDS
};

struct records {
    enum record_source source;
    size_t bytes[RECORDS];         /* size of a record of each kind */
    uint64_t fixed_count[RECORDS]; /* at most this many of each kind are in use */
    struct slab slabs[RECORDS];
    pthread_mutex_t locks[RECORDS];
    char *fixed[RECORDS];
};

/* source, bytes and fixed_count are set. */
static void records_open(struct records *r)
{
    for (int k = 0; k < RECORDS; k++) {
        r->slabs[k].item_bytes = r->bytes[k];
        pthread_mutex_init(&r->locks[k], NULL);
        if (r->source == RECORDS_FIXED)
            r->fixed[k] = must_alloc(r->fixed_count[k] * r->bytes[k]);
    }
}

static void records_close(struct records *r)
{
    for (int k = 0; k < RECORDS; k++) {
        slab_free(&r->slabs[k]);
        pthread_mutex_destroy(&r->locks[k]);
        free(r->fixed[k]);
    }
}

/* Takes a record, whose content is undefined; `number` counts the records of this kind. */
static void *records_take(struct records *r, enum record kind, uint64_t number)
{
    void *record;
    switch (r->source) {
    case RECORDS_MALLOC:
        record = malloc(r->bytes[kind]);
        if (!record)
            abort(); /* as must_alloc does, which would also clear the record */
        return record;
    case RECORDS_SLAB:
        return slab_take(&r->slabs[kind]);
    case RECORDS_LOCKED:
        pthread_mutex_lock(&r->locks[kind]);
        record = slab_take(&r->slabs[kind]);
        pthread_mutex_unlock(&r->locks[kind]);
        return record;
    default:
        return r->fixed[kind] + number % r->fixed_count[kind] * r->bytes[kind];
    }
}

static void records_give(struct records *r, enum record kind, void *record)
{
    switch (r->source) {
    case RECORDS_MALLOC:
        free(record);
        return;
    case RECORDS_SLAB:
        slab_give(&r->slabs[kind], record);
        return;
    case RECORDS_LOCKED:
        pthread_mutex_lock(&r->locks[kind]);
        slab_give(&r->slabs[kind], record);
        pthread_mutex_unlock(&r->locks[kind]);
        return;
    default:
        return;
    }
}

/* ---- objects --------------------------------------------------------------------------------- */

/* Records begin and end with their number, except nodes: taking a record that is still in use
 * overwrites its last word. */
struct event {
    uint64_t number;
    atomic_uint holders;
    bool is_complete; /* used by the completing thread only */
    struct command *command;
    struct node *waits;
    struct queue *queue; /* NULL in a storm without queues */
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
    pthread_mutex_t lock; /* for all members below */
    unsigned holders, command_count;
    struct event *first, *last; /* events that are not complete */
    struct driver *driver;
};
/* The driver's part of a queue: where threads sleep until it is empty. */
struct driver {
    uint64_t number;
    pthread_cond_t empty;
};
_Static_assert(sizeof(struct event) <= STORM_RECORD_BYTES, "an event has room in its record");
_Static_assert(sizeof(struct node) == STORM_NODE_BYTES,
               "a node has the size that the header gives");
_Static_assert(sizeof(struct queue) + 8 <= STORM_QUEUE_BYTES, "a queue has room in its record");
_Static_assert(sizeof(struct driver) + 8 <= STORM_DRIVER_BYTES, "so has the driver's part");

/* One thread's part of a storm. */
struct worker {
    const struct event_storm *storm;
    struct records *records;
    struct event *recent[STORM_DEPENDS_MAX]; /* their creator holds these, and the queue */
    struct queue *queue;                     /* the queue for new events; NULL: none yet */
    uint64_t taken, given;                   /* records of all kinds */
    uint64_t digest; /* digest of the completed events and what they waited for */
    uint64_t wrong_count;
};

static struct records records_of(const struct event_storm *storm)
{
    /* A fixed event record is used again when the events that wait for it have completed; a fixed
     * queue record when the queue's last event has. */
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
static void *take_record(struct worker *w, enum record kind, uint64_t number)
{
    uint64_t *record = records_take(w->records, kind, number);
    memset(record, 0, w->records->bytes[kind]);
    *record = *last_word(w, kind, record) = number;
    w->taken++;
    return record;
}

static void give_record(struct worker *w, enum record kind, void *record)
{
    records_give(w->records, kind, record);
    w->given++;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static struct queue *create_queue(struct worker *w, uint64_t number)
{
    struct queue *q = take_record(w, QUEUE_RECORD, number);
    q->driver = take_record(w, DRIVER_RECORD, number);
    q->holders = 1;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->driver->empty, NULL);
    return q;
}

/* Called when no holder is left. */
static void destroy_queue(struct worker *w, struct queue *q)
{
    struct driver *d = q->driver;
    w->wrong_count += q->first != NULL || q->command_count != 0 || d->number != q->number ||
                      *last_word(w, QUEUE_RECORD, q) != q->number ||
                      *last_word(w, DRIVER_RECORD, d) != q->number;
    pthread_cond_destroy(&d->empty);
    pthread_mutex_destroy(&q->lock);
    give_record(w, DRIVER_RECORD, d);
    give_record(w, QUEUE_RECORD, q);
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

/* The event, which must be the first on its queue, is complete. */
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

/* ---- events ---------------------------------------------------------------------------------- */

static void release_event(struct worker *w, struct event *e)
{
    if (atomic_fetch_sub(&e->holders, 1) != 1)
        return;
    w->wrong_count += *last_word(w, EVENT_RECORD, e) != e->number;
    give_record(w, EVENT_RECORD, e);
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

/* Creates the event of a number, from 0 on. */
static struct event *event_create(struct worker *w, uint64_t number)
{
    const struct event_storm *s = w->storm;
    if (s->commands && number % s->commands == 0) {
        if (w->queue)
            release_queue(w, w->queue);
        w->queue = create_queue(w, number / s->commands);
    }
    struct event *e = take_record(w, EVENT_RECORD, number);
    struct command *c = take_record(w, COMMAND_RECORD, number);
    atomic_init(&e->holders, s->depends ? 2 : 1);
    e->command = c;
    c->event = e;
    add_waits(w, e);
    if (w->queue)
        enqueue(w->queue, e);
    if (s->depends) {
        struct event **oldest = &w->recent[number % s->depends];
        if (*oldest)
            release_event(w, *oldest);
        *oldest = e;
    }
    return e;
}

/* Completes an event, which another worker may have created. All events before it are complete. */
static void event_complete(struct worker *w, struct event *e)
{
    struct command *c = e->command;
    w->digest = random_mix(w->digest ^ e->number);
    w->wrong_count +=
        c->event != e || c->number != e->number || *last_word(w, COMMAND_RECORD, c) != e->number;
    for (struct node *n = e->waits, *next; n; n = next) {
        next = n->next;
        w->wrong_count += !n->on->is_complete;
        w->digest = random_mix(w->digest ^ n->on->number);
        release_event(w, n->on);
        give_record(w, NODE_RECORD, n);
    }
    give_record(w, COMMAND_RECORD, c);
    e->is_complete = true;
    if (e->queue)
        dequeue(w, e);
    release_event(w, e);
}

/* The creator releases the events and the queue that it holds. */
static void release_all(struct worker *w)
{
    for (unsigned i = 0; i < w->storm->depends; i++)
        if (w->recent[i])
            release_event(w, w->recent[i]);
    memset(w->recent, 0, sizeof w->recent);
    if (w->queue)
        release_queue(w, w->queue);
    w->queue = NULL;
}

/* ---- one thread, and several of them --------------------------------------------------------- */

static void storm_alone(struct worker *w, struct event **under_way)
{
    const struct event_storm *s = w->storm;
    uint64_t completed = 0;
    for (uint64_t number = 0; number < s->events; number++) {
        if (number - completed == s->live)
            event_complete(w, under_way[completed++ % s->live]);
        under_way[number % s->live] = event_create(w, number);
    }
    while (completed < s->events)
        event_complete(w, under_way[completed++ % s->live]);
    release_all(w);
}

/* Threads start their timed storms together. */
enum { GATE_CLOSED, GATE_OPEN, GATE_GIVEN_UP };
struct gate {
    atomic_uint ready, state;
};

struct thread {
    pthread_t id;
    struct worker worker;
    struct gate *gate;
    uint64_t ns;
};

/* Runs a storm that warms the records, then a timed one. The thread that opens the gate first waits
 * until the `others` other threads have reached it. */
static void run_storms(struct thread *t, bool opens, unsigned others)
{
    struct event **under_way = must_alloc(t->worker.storm->live * sizeof *under_way);
    storm_alone(&t->worker, under_way);
    t->worker.digest = 0;
    if (opens) {
        while (atomic_load(&t->gate->ready) != others)
            sched_yield();
        atomic_store(&t->gate->state, GATE_OPEN);
    } else {
        atomic_fetch_add(&t->gate->ready, 1);
        while (atomic_load(&t->gate->state) == GATE_CLOSED)
            sched_yield();
    }
    if (atomic_load(&t->gate->state) == GATE_OPEN) {
        const uint64_t began = clock_ns();
        storm_alone(&t->worker, under_way);
        t->ns = clock_ns() - began;
    }
    free(under_way);
}

static void *run_thread(void *context)
{
    run_storms(context, false, 0);
    return NULL;
}

/* Runs the first one on the calling thread. */
static int run_threads(struct thread *threads, unsigned count, struct error *error)
{
    unsigned started = 1;
    while (started < count &&
           pthread_create(&threads[started].id, NULL, run_thread, &threads[started]) == 0)
        started++;
    if (started == count)
        run_storms(&threads[0], true, count - 1);
    else
        atomic_store(&threads[0].gate->state, GATE_GIVEN_UP);
    for (unsigned t = 1; t < started; t++)
        pthread_join(threads[t].id, NULL);
    if (started == count)
        return 0;
    return error_set(error, ERR_HOST_MEMORY, "thread %u of %u could not be started", started + 1,
                     count);
}

static int check_records(const struct worker *w, const struct worker *other, struct error *error)
{
    const uint64_t taken = w->taken + (other ? other->taken : 0),
                   given = w->given + (other ? other->given : 0),
                   wrong_count = w->wrong_count + (other ? other->wrong_count : 0);
    if (wrong_count || taken != given)
        return error_set(error, ERR_WRONG,
                         "%llu records had lost their content or came too early; %llu records "
                         "taken and %llu given back",
                         (unsigned long long)wrong_count, (unsigned long long)taken,
                         (unsigned long long)given);
    return 0;
}

static int check_threads(const struct thread *threads, unsigned count,
                         struct event_storm_result *result, struct error *error)
{
    int code = 0;
    *result = (struct event_storm_result){.digest = threads[0].worker.digest};
    for (unsigned t = 0; t < count && !code; t++) {
        const double event_ns = (double)threads[t].ns / (double)threads[t].worker.storm->events;
        result->event_ns = event_ns > result->event_ns ? event_ns : result->event_ns;
        code = check_records(&threads[t].worker, NULL, error);
        if (!code && threads[t].worker.digest != result->digest)
            code = error_set(error, ERR_WRONG, "thread %u completed something else", t);
    }
    return code;
}

static int storm_each(const struct event_storm *storm, struct event_storm_result *result,
                      struct error *error)
{
    const unsigned count = storm->threads == STORM_EACH ? storm->thread_count : 1;
    const bool shared = storm->source == RECORDS_LOCKED;
    struct gate gate = {0};
    struct thread *threads = must_alloc(count * sizeof *threads);
    struct records *records = must_alloc(count * sizeof *records);
    for (unsigned t = 0; t < count; t++) {
        records[t] = records_of(storm);
        records_open(&records[t]);
        threads[t].gate = &gate;
        threads[t].worker = (struct worker){.storm = storm, .records = &records[shared ? 0 : t]};
    }
    int code = run_threads(threads, count, error);
    if (!code)
        code = check_threads(threads, count, result, error);
    for (unsigned t = 0; t < count; t++)
        records_close(&records[t]);
    free(records);
    free(threads);
    return code;
}

/* ---- from one thread to another -------------------------------------------------------------- */

struct hand_over {
    struct worker creator, completer;
    struct event **under_way; /* a ring */
    _Alignas(64) atomic_ullong created;
    _Alignas(64) atomic_ullong completed;
};

/* The other thread may run on another core, or need this one. */
static void wait_a_little(unsigned *tries)
{
    if (++*tries % 256 == 0)
        sched_yield();
}

static void *run_completer(void *context)
{
    struct hand_over *h = context;
    const uint64_t events = h->creator.storm->events, live = h->creator.storm->live;
    unsigned tries = 0;
    for (uint64_t number = 0; number < events; number++) {
        while (atomic_load_explicit(&h->created, memory_order_acquire) == number)
            wait_a_little(&tries);
        event_complete(&h->completer, h->under_way[number % live]);
        atomic_store_explicit(&h->completed, number + 1, memory_order_release);
    }
    return NULL;
}

static void run_creator(struct hand_over *h)
{
    const uint64_t events = h->creator.storm->events, live = h->creator.storm->live;
    unsigned tries = 0;
    for (uint64_t number = 0; number < events; number++) {
        while (number - atomic_load_explicit(&h->completed, memory_order_acquire) == live)
            wait_a_little(&tries);
        h->under_way[number % live] = event_create(&h->creator, number);
        atomic_store_explicit(&h->created, number + 1, memory_order_release);
    }
    release_all(&h->creator);
}

static int storm_handed(const struct event_storm *storm, struct event_storm_result *result,
                        struct error *error)
{
    struct hand_over h = {.under_way = must_alloc(storm->live * sizeof *h.under_way)};
    struct records records = records_of(storm);
    int code = 0;
    records_open(&records);
    h.creator = h.completer = (struct worker){.storm = storm, .records = &records};
    for (int run = 0; run < 2 && !code; run++) { /* the first one warms the records */
        pthread_t completer;
        h.completer.digest = 0;
        atomic_store(&h.created, 0);
        atomic_store(&h.completed, 0);
        const uint64_t began = clock_ns();
        if (pthread_create(&completer, NULL, run_completer, &h) != 0) {
            code = error_set(error, ERR_HOST_MEMORY, "no second thread could be started");
            break;
        }
        run_creator(&h);
        pthread_join(completer, NULL);
        *result = (struct event_storm_result){.event_ns = (double)(clock_ns() - began) /
                                                          (double)storm->events,
                                              .digest = h.completer.digest};
    }
    if (!code)
        code = check_records(&h.creator, &h.completer, error);
    records_close(&records);
    free(h.under_way);
    return code;
}

int event_storm_run(const struct event_storm *storm, struct event_storm_result *result,
                    struct error *error)
{
    if (storm->source == RECORDS_SLAB && storm->threads == STORM_HANDED)
        return error_set(error, ERR_UNSUPPORTED,
                         "slabs without locks serve one thread, and here two threads free records");
    TRY(storm->threads == STORM_HANDED ? storm_handed(storm, result, error)
                                       : storm_each(storm, result, error));
    const uint64_t c = storm->commands;
    result->queue_ns =
        c ? result->event_ns * (double)storm->events / (double)((storm->events + c - 1) / c) : NAN;
    return 0;
}
