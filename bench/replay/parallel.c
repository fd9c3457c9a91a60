#include "replay/parallel.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"

static volatile sig_atomic_t stop;

static void note_signal(int number)
{
    stop = 1;
}

struct crew {
    const struct parallel *all;
    pthread_mutex_t lock; /* of what follows, and of all->done */
    size_t next;
    int code;
    struct error *error;
};

static void *work(void *context)
{
    struct crew *c = context;
    pthread_mutex_lock(&c->lock);
    while (c->next < c->all->count && !c->code && !stop) {
        const size_t index = c->next++;
        struct error error = {0};
        pthread_mutex_unlock(&c->lock);
        int code = c->all->work(c->all->context, index, &stop, &error);
        pthread_mutex_lock(&c->lock);
        if (code && !c->code)
            c->code = error_set(c->error, code, "%s", error.text);
        else if (!code && !stop && c->all->done)
            c->all->done(c->all->context, index);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static unsigned thread_count(const struct parallel *all)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned count = all->jobs ? all->jobs : processors > 0 ? (unsigned)processors : 1;
    return count < all->count ? count : (unsigned)all->count;
}

int parallel_run(const struct parallel *all, bool *interrupted, struct error *error)
{
    struct crew crew = {.all = all, .error = error};
    const struct sigaction note = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction old[3];
    static const int signals[3] = {SIGINT, SIGTERM, SIGHUP};
    const unsigned count = thread_count(all);
    pthread_t *threads = must_alloc(count * sizeof *threads + 1);
    unsigned started = 0;
    stop = 0;
    pthread_mutex_init(&crew.lock, NULL);
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &note, &old[i]);
    while (started + 1 < count && pthread_create(&threads[started], NULL, work, &crew) == 0)
        started++;
    work(&crew); /* this thread works too */
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &old[i], NULL);
    pthread_mutex_destroy(&crew.lock);
    free(threads);
    *interrupted = stop != 0;
    return crew.code;
}
