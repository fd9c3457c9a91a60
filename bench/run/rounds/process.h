/* A worker: a fresh process of this same binary that does one job and answers in lines. The parent
 * never opens a driver: every round starts from a clean one, and a driver that crashes takes one
 * item with it instead of the run.
 *
 * The worker reads {KIND: JOB} on its stdin; KIND names a function that does such jobs. It answers
 * with JSON objects, one a line:
 *
 *   {"start": NUMBER}                       the item of this number begins (items.h)
 *   {"done": NUMBER, "round": {…}}          it has ended; the round is a record of what happened
 *   {"done": NUMBER, "round": {…}, "lost": true}    it has lost its device, and the worker ends
 *   {"device": {…}}                         a device that was found (devices.h)
 *   {"missing": "opencl", "why": "…"}       an API that offers no device
 *   {"doing": "…", "atlas": {…}}            progress of an atlas (atlas_run.h); "atlas" is optional
 *   {"error": CODE, "text": "…"}            the job could not be done
 */
#pragma once

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"

/* ---- the worker's side ---- */

/* A kind of job, and the function that does such jobs. It writes its answers to `out`. An error
 * that it returns is sent to the parent. `job` is borrowed. */
struct worker_job {
    const char *kind; /* NULL ends a table */
    int (*work)(const json_t *job, FILE *out, struct error *error);
};

/* The hidden command `worker`: reads a job from stdin and does it by the function that the table
 * `jobs` has for its kind. Returns the exit status. */
int worker_main(const struct worker_job *jobs);

/* Writes one line to the parent at once; takes the reference to `line`. */
void worker_send(FILE *out, json_t *line);

/* ---- the parent's side ---- */

struct process {
    pid_t id;
    int lines;        /* the pipe's reading end */
    bool ended;       /* the worker closed its end: it has exited, or is about to */
    struct text text; /* read, but not yet handed out */
    char *folder;     /* TMPDIR of the worker, or NULL: it shares that of the parent */
};

enum process_event {
    PROCESS_LINE,      /* a line came; the caller owns *line */
    PROCESS_ENDED,     /* no line will come any more */
    PROCESS_QUIET,     /* nothing happened until `until_ns` */
    PROCESS_INTERRUPT, /* a signal arrived on the signal descriptor */
};

/* Starts a worker on a job, whose reference it takes. The worker leads a process group of its own,
 * so that a compiler that it starts is killed with it. It dies with its parent. With `own_folder`
 * its TMPDIR is a new folder, which process_end removes, so that a compiler that is killed leaves
 * nothing: only for callers that catch signals. ERR_IO. */
int process_start(struct process *process, const char *kind, json_t *job, bool own_folder,
                  struct error *error);

/* Waits for the next event, at most until clock_ns() reaches until_ns. `signals` is a signalfd, or
 * -1. A line that is not JSON is dropped: the worker cannot have written it. */
enum process_event process_wait(struct process *process, int signals, uint64_t until_ns,
                                json_t **line);

/* Kills the worker if it still runs, waits for its end, removes its folder and writes to `how` how
 * it ended: "exited with status 1", "died from SIGSEGV (Segmentation fault)". */
void process_end(struct process *process, char how[128]);

/* Gives one worker a job, whose reference it takes, and calls `hear` with each line (borrowed)
 * until the worker ends. Returns the error that the worker sent; ERR_DEVICE if it sent nothing
 * for `silence_ns` or died; ERR_IO. A caught signal ends it early: it sets *interrupted and
 * returns 0. With `interrupted` NULL signals are not caught. */
int process_ask(const char *kind, json_t *job, uint64_t silence_ns,
                void (*hear)(void *context, const json_t *line), void *context, bool *interrupted,
                struct error *error);

/* While SIGINT, SIGTERM and SIGHUP (a closed terminal) are caught they wait on a descriptor, so
 * that they interrupt no work in the middle. A SIGHUP that nohup ignores stays ignored. */
struct caught_signals {
    int descriptor; /* a signalfd for process_wait, or -1 */
    sigset_t old_mask;
};
/* Begins to catch signals. The caller ends that with process_release_signals. */
void process_catch_signals(struct caught_signals *caught);
/* Takes the signals that have arrived, and returns whether any did. From then on a signal ends the
 * process, as by default. May be called again. */
bool process_release_signals(struct caught_signals *caught);
