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
#include "experiment/event_objects.h"

const char *const storm_threads_names[] = {"alone", "each", "handed"};

/* ---- one thread, and several of them -------------------------------------------------------- */

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
    events_let_go(w);
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
        records[t] = event_records_of(storm);
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

/* ---- from one thread to another ------------------------------------------------------------- */

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
    events_let_go(&h->creator);
}

static int storm_handed(const struct event_storm *storm, struct event_storm_result *result,
                        struct error *error)
{
    struct hand_over h = {.under_way = must_alloc(storm->live * sizeof *h.under_way)};
    struct records records = event_records_of(storm);
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
        code = check(&h.creator, &h.completer, error);
    records_close(&records);
    free(h.under_way);
    return code;
}

int event_storm_run(const struct event_storm *storm, struct event_storm_result *result,
                    struct error *error)
{
    if (storm->source == RECORDS_SLAB && storm->threads == STORM_HANDED)
        return error_set(error, ERR_UNSUPPORTED,
                         "a slab without a lock is of one thread, and here two give records back");
    int code = storm->threads == STORM_HANDED ? storm_handed(storm, result, error)
                                              : storm_each(storm, result, error);
    if (code)
        return code;
    const uint64_t c = storm->commands;
    result->queue_ns =
        c ? result->event_ns * (double)storm->events / (double)((storm->events + c - 1) / c) : NAN;
    return 0;
}
