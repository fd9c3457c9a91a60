#include "experiment/event_records.h"

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

const char *const record_source_names[] = {"fixed", "malloc", "slab", "locked"};
const char *const storm_threads_names[] = {"alone", "each", "handed"};

/* The last word of an event and of a command is the event's number too: whoever is given a record
 * that another one still has overwrites that. */
struct event {
    uint64_t number;
    atomic_uint holders;
    bool is_complete; /* only whoever completes looks at it */
    struct command *command;
    struct node *waits;
};
struct command {
    uint64_t number;
    struct event *event;
};
struct node {
    struct event *on;
    struct node *next;
};
_Static_assert(sizeof(struct event) <= STORM_RECORD_BYTES, "an event has room in its record");
_Static_assert(sizeof(struct node) == STORM_NODE_BYTES, "a node is what the header says");

/* ---- where records come from ------------------------------------------------------------------
 */

enum record { EVENT, COMMAND, NODE, RECORDS };

struct records {
    enum record_source source;
    size_t bytes[RECORDS];
    struct slab slabs[RECORDS];
    pthread_mutex_t locks[RECORDS];
    char *fixed[RECORDS];
    uint64_t fixed_count[RECORDS];
};

static void records_open(struct records *r, const struct event_storm *storm)
{
    /* An event is taken again when those that it was the last to wait for it have completed. */
    const uint64_t most = storm->live + storm->depends + 2;
    *r = (struct records){
        .source = storm->source,
        .bytes = {storm->event_bytes, storm->command_bytes, STORM_NODE_BYTES},
        .fixed_count = {most, most, most * (storm->depends ? storm->depends : 1)},
    };
    for (int k = 0; k < RECORDS; k++) {
        r->slabs[k].item_bytes = r->bytes[k];
        pthread_mutex_init(&r->locks[k], NULL);
        if (storm->source == RECORDS_FIXED)
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

static void *take_from_host(size_t bytes)
{
    void *record = malloc(bytes);
    if (!record)
        abort(); /* as all that must have memory here */
    return record;
}

/* `number` of the records of this kind so far, which fixed ones go by. */
static void *take(struct records *r, enum record kind, uint64_t number)
{
    void *record;
    switch (r->source) {
    case RECORDS_MALLOC:
        return take_from_host(r->bytes[kind]);
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

static void give(struct records *r, enum record kind, void *record)
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

/* ---- events -----------------------------------------------------------------------------------
 */

/* One thread's part of a storm. */
struct worker {
    const struct event_storm *storm;
    struct records *records;
    struct event *recent[STORM_DEPENDS_MAX]; /* held by their creator */
    uint64_t taken, given;                   /* records of all kinds */
    uint64_t digest;
    uint64_t wrong_count;
};

static uint64_t *last_word(void *record, size_t bytes)
{
    return (uint64_t *)((char *)record + bytes) - 1;
}

static void let_go(struct worker *w, struct event *e)
{
    if (atomic_fetch_sub(&e->holders, 1) != 1)
        return;
    w->wrong_count += *last_word(e, w->storm->event_bytes) != e->number;
    give(w->records, EVENT, e);
    w->given++;
}

static struct event *create(struct worker *w, uint64_t number)
{
    const struct event_storm *s = w->storm;
    struct event *e = take(w->records, EVENT, number);
    struct command *c = take(w->records, COMMAND, number);
    memset(e, 0, s->event_bytes);
    memset(c, 0, s->command_bytes);
    e->number = c->number = number;
    *last_word(e, s->event_bytes) = *last_word(c, s->command_bytes) = number;
    atomic_init(&e->holders, s->depends ? 2 : 1);
    e->command = c;
    c->event = e;
    w->taken += 2;
    for (unsigned i = 0; i < s->depends && i < number; i++) {
        struct node *n = take(w->records, NODE, number * s->depends + i);
        n->on = w->recent[(number - 1 - i) % s->depends];
        atomic_fetch_add(&n->on->holders, 1);
        n->next = e->waits;
        e->waits = n;
        w->taken++;
    }
    if (s->depends) {
        struct event **oldest = &w->recent[number % s->depends];
        if (*oldest)
            let_go(w, *oldest);
        *oldest = e;
    }
    return e;
}

static void complete(struct worker *w, struct event *e)
{
    struct command *c = e->command;
    w->digest = random_mix(w->digest ^ e->number);
    w->wrong_count += c->event != e || c->number != e->number ||
                      *last_word(c, w->storm->command_bytes) != e->number;
    for (struct node *n = e->waits, *next; n; n = next) {
        next = n->next;
        w->wrong_count += !n->on->is_complete;
        w->digest = random_mix(w->digest ^ n->on->number);
        let_go(w, n->on);
        give(w->records, NODE, n);
        w->given++;
    }
    give(w->records, COMMAND, c);
    w->given++;
    e->is_complete = true;
    let_go(w, e);
}

/* The creator lets go of the last ones. */
static void let_all_go(struct worker *w)
{
    for (unsigned i = 0; i < w->storm->depends; i++)
        if (w->recent[i])
            let_go(w, w->recent[i]);
    memset(w->recent, 0, sizeof w->recent);
}

/* ---- one thread, and several of them ----------------------------------------------------------
 */

static void storm_alone(struct worker *w, struct event **under_way)
{
    const struct event_storm *s = w->storm;
    uint64_t completed = 0;
    for (uint64_t number = 0; number < s->events; number++) {
        if (number - completed == s->live)
            complete(w, under_way[completed++ % s->live]);
        under_way[number % s->live] = create(w, number);
    }
    while (completed < s->events)
        complete(w, under_way[completed++ % s->live]);
    let_all_go(w);
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

/* One storm that warms the records, and one that is timed. The thread that `opens` the gate waits
 * until all others, so many, are at it. */
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

/* The first one's thread is the calling one. */
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

static int check(const struct worker *w, const struct worker *other, struct error *error)
{
    const uint64_t taken = w->taken + (other ? other->taken : 0),
                   given = w->given + (other ? other->given : 0),
                   wrong_count = w->wrong_count + (other ? other->wrong_count : 0);
    if (wrong_count || taken != given)
        return error_set(error, ERR_WRONG,
                         "%llu records were not what had been written, or too early; %llu records "
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
        code = check(&threads[t].worker, NULL, error);
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
        records_open(&records[t], storm);
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

/* ---- from one thread to another ---------------------------------------------------------------
 */

struct hand_over {
    struct worker creator, completer;
    struct event **under_way; /* a ring */
    _Alignas(64) atomic_ullong created;
    _Alignas(64) atomic_ullong completed;
};

/* The other thread may be at work on another core, or waiting for this one. */
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
        complete(&h->completer, h->under_way[number % live]);
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
        h->under_way[number % live] = create(&h->creator, number);
        atomic_store_explicit(&h->created, number + 1, memory_order_release);
    }
    let_all_go(&h->creator);
}

static int storm_handed(const struct event_storm *storm, struct event_storm_result *result,
                        struct error *error)
{
    struct hand_over h = {.under_way = must_alloc(storm->live * sizeof *h.under_way)};
    struct records records;
    int code = 0;
    records_open(&records, storm);
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
        code = check(&h.creator, &h.completer, error);
    records_close(&records);
    free(h.under_way);
    return code;
}

int event_storm_run(const struct event_storm *storm, struct event_storm_result *result,
                    struct error *error)
{
    if (storm->threads != STORM_HANDED)
        return storm_each(storm, result, error);
    if (storm->source == RECORDS_SLAB)
        return error_set(error, ERR_UNSUPPORTED,
                         "a slab without a lock is of one thread, and here two give records back");
    return storm_handed(storm, result, error);
}
