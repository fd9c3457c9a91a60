/* A worker: a fresh process of this same binary that does one job and answers in lines. No driver
 * is ever opened in the parent, so that every round starts from a clean one and a driver that
 * crashes takes one case with it, not the run. */
#ifndef GAMUT_RUN_PROCESS_H
#define GAMUT_RUN_PROCESS_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"

struct process {
    pid_t id;
    int lines;        /* the pipe's reading end */
    bool ended;       /* the worker closed its end: it has exited, or is about to */
    struct text text; /* read, not yet handed out */
};

enum process_event {
    PROCESS_LINE,      /* *line is the caller's */
    PROCESS_ENDED,     /* no line will come any more */
    PROCESS_QUIET,     /* nothing happened until `until_ns` */
    PROCESS_INTERRUPT, /* a signal arrived on the signal descriptor */
};

/* Starts a worker on a job. It is the leader of a process group, so that a compiler it started goes
 * with it, and it dies with its parent. */
int process_start(struct process *process, const json_t *job, struct error *error);

/* Waits for the next event, at most until clock_ns() reaches until_ns. `signals` is a signalfd, or
 * -1. A line that is not JSON is left out: it cannot be the worker's. */
enum process_event process_wait(struct process *process, int signals, uint64_t until_ns,
                                json_t **line);

/* Kills the worker if it still runs, collects it and says in `how` what became of it: "exited with
 * status 1", "died from SIGSEGV (Segmentation fault)". */
void process_end(struct process *process, char how[128]);

/* SIGINT and SIGTERM wait on a descriptor while they are caught, so that nothing is torn in the
 * middle. */
struct caught_signals {
    int descriptor; /* a signalfd for process_wait, or -1 */
    sigset_t old_mask;
};
void process_catch_signals(struct caught_signals *caught);
/* Takes what has arrived, and says whether anything did; the next signal meets the default and ends
 * the process. May be called again. */
bool process_release_signals(struct caught_signals *caught);

/* The hidden command `worker`: does the job on stdin. */
int worker_main(void);

#endif
