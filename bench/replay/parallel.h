/* Work on several things at once, each in a thread: replays do not know of each other. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct parallel {
    size_t count;  /* things to do */
    unsigned jobs; /* threads; 0: one for each processor */
    void *context;
    /* Does the i-th thing. *stop becomes true when it should end early. An error ends all. */
    int (*work)(void *context, size_t index, const volatile sig_atomic_t *stop,
                struct error *error);
    /* Optional. The i-th thing has been done; never called twice at once, nor for a thing that a
     * signal may have ended early. */
    void (*done)(void *context, size_t index);
};

/* Does all things, in the order of their numbers as far as threads are free. SIGINT, SIGTERM and
 * SIGHUP end them early, and no other is begun: *interrupted is set. Returns the first error. */
int parallel_run(const struct parallel *all, bool *interrupted, struct error *error);
