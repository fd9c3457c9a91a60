/* Shows on stderr how far a run is. On a terminal this is one line that is overwritten. Elsewhere
 * it is a plain line for the first case that is ok, for each finished round, and every ten seconds
 * for the case that has just ended or still runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/terminal.h"

#include "run/rounds/rounds.h"

/* PROGRESS_ALWAYS: the overwritten line. PROGRESS_PLAIN: the plain lines. PROGRESS_AUTO: the first
 * on a terminal that can move its cursor, the second elsewhere. */
enum progress_mode { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER, PROGRESS_PLAIN };

struct progress {
    struct status_line line; /* the overwritten one, if it redraws */
    bool plain;
    unsigned rounds;
    /* The estimate of the time left counts the work done since this moment: the begin of the run,
     * and later of its second round, because the first also computes references and compiles
     * kernels. */
    uint64_t since_ns;
    size_t done_before;
    /* The last plain line, and the case that runs: how many ended before it, and since when. */
    uint64_t told_ns, at_since_ns;
    size_t at_done;
};

/* A run of `rounds` rounds begins. */
void progress_begin(struct progress *progress, enum progress_mode mode, unsigned rounds);
/* A case runs, which is said again twice a second: draws the line. */
void progress_working(struct progress *progress, const struct items_state *state,
                      const struct case_key *key);
/* A case has ended, and `state` is still its own. */
void progress_case(struct progress *progress, const struct items_state *state,
                   const struct case_round *round);
/* A round has ended: prints the plain line. */
void progress_round(struct progress *progress, const struct items_state *state);
/* Erases the line, so that something else can be printed. */
void progress_clear(struct progress *progress);

/* Writes "03:10" or "1:02:03" for a number of nanoseconds; returns `out`. */
char *progress_duration(char out[16], uint64_t ns);
/* Adds the line's text. */
void progress_text(const struct progress *progress, const struct items_state *state,
                   const struct case_key *key, uint64_t now_ns, struct text *text);
