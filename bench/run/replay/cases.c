#include "run/replay/cases.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/registry.h"
#include "base/arena.h"

int replay_trace_name(const char *path, char name[64], struct error *error)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strlen(base);
    const size_t suffix = strlen(TRACE_SUFFIX);
    if (length > suffix && strcmp(base + length - suffix, TRACE_SUFFIX) == 0)
        length -= suffix;
    if (length > 63)
        return error_set(error, ERR_USAGE, "%s: the name is longer than 63 characters", path);
    memcpy(name, base, length);
    name[length] = 0;
    return 0;
}

static volatile sig_atomic_t stop;

static void note_signal(int number)
{
    (void)number;
    stop = 1;
}

struct pool {
    const struct replay_cases *all;
    void (*ended)(void *context, size_t index, const struct case_round *round);
    void *context;
    pthread_mutex_t lock; /* of what follows, and of `ended` */
    size_t next;
    int code;
    struct error *error;
};

static int replay_one(const struct replay_cases *all, const struct replay_case *one,
                      struct replay_outcome *outcome, struct error *error)
{
    struct option_values values;
    struct replay_options options = {
        .options = &values,
        .device = replay_device(all->capacity_bytes, all->atlas),
        .free_at = strcmp(one->key.release, "let-go") == 0 ? FREE_AT_LET_GO : FREE_AT_DONE,
        .own_time = all->own_time,
        .check = all->check,
        .stop = &stop};
    struct trace_reader *reader;
    TRY(allocator_parse(one->key.strategy, &options.strategy, &values, error));
    TRY(trace_open(one->path, &reader, error));
    int code = replay_trace(reader, &options, NULL, outcome, error);
    trace_close(reader);
    return code;
}

/* A strategy that this trace or device cannot have is a skipped case, as in a run. */
static int play(const struct replay_cases *all, size_t index, struct case_round *round,
                struct error *error)
{
    const struct replay_case *one = &all->cases[index];
    struct replay_outcome outcome = {.status = CASE_skipped};
    struct error why = {0};
    int code = replay_one(all, one, &outcome, &why);
    *round = (struct case_round){.key = one->key,
                                 .slot = (unsigned)index,
                                 .status = code ? case_status_of(code) : outcome.status,
                                 .check = CHECK_BLOCKS,
                                 .program_digest = outcome.digest,
                                 .inputs_digest = outcome.digest,
                                 .worst_error = NAN,
                                 .traffic_bytes = NAN,
                                 .cold = outcome.counts,
                                 .model = outcome.model};
    snprintf(round->reason, sizeof round->reason, "%.1023s", code ? why.text : outcome.reason);
    memset(&round->warm, 0xff, sizeof round->warm);
    memset(&round->cold_sample, 0xff, sizeof round->cold_sample);
    if (code == ERR_IO || code == ERR_PARSE || code == ERR_USAGE)
        return error_set(error, code, "%s", why.text);
    return 0;
}

static void *work(void *context)
{
    struct pool *p = context;
    pthread_mutex_lock(&p->lock);
    while (p->next < p->all->count && !p->code) {
        const size_t index = p->next++;
        struct case_round round;
        struct error error = {0};
        pthread_mutex_unlock(&p->lock);
        int code = play(p->all, index, &round, &error);
        pthread_mutex_lock(&p->lock);
        if (!code)
            p->ended(p->context, index, &round);
        else if (!p->code)
            p->code = error_set(p->error, code, "%s", error.text);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static unsigned thread_count(const struct replay_cases *all)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned count = all->jobs ? all->jobs : processors > 0 ? (unsigned)processors : 1;
    return count < all->count ? count : (unsigned)all->count;
}

int replay_cases(const struct replay_cases *all,
                 void (*ended)(void *context, size_t index, const struct case_round *round),
                 void *context, bool *interrupted, struct error *error)
{
    struct pool pool = {.all = all, .ended = ended, .context = context, .error = error};
    const struct sigaction note = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction old[3];
    static const int signals[3] = {SIGINT, SIGTERM, SIGHUP};
    const unsigned count = thread_count(all);
    pthread_t *threads = must_alloc(count * sizeof *threads);
    unsigned started = 0;
    stop = 0;
    pthread_mutex_init(&pool.lock, NULL);
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &note, &old[i]);
    while (started + 1 < count && pthread_create(&threads[started], NULL, work, &pool) == 0)
        started++;
    work(&pool); /* this thread works too */
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &old[i], NULL);
    pthread_mutex_destroy(&pool.lock);
    free(threads);
    *interrupted = stop != 0;
    return pool.code;
}
