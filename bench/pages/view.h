/* One static page of a trace: its blocks over time, and where each strategy puts them.
 *
 * The page needs no network. Without scripts it shows a picture of the bytes over time and who
 * holds what at their peak; a script of its own draws the rest from levels of detail (levels.h,
 * summary.h).
 */
#pragma once

#include <stdbool.h>

#include "pages/history.h"

struct view_options {
    const char *name; /* of the trace, for the heading */
    size_t strategy_count;
    const char *const *strategies; /* with their options */
    const char *about;             /* what the page says of itself besides; NULL: nothing */
    const uint64_t
        *measured_bytes; /* what each strategy reserved at most elsewhere; 0, NULL: unknown */
    enum replay_free_at free_at;
    uint32_t first, last; /* moments; 0 and UINT32_MAX: all */
};

/* The outcome of a strategy. */
struct view_result {
    char reason[1024]; /* why it is not in the page; "": it is */
};

struct view_report {
    uint64_t blocks, events, peak_bytes, peak_event;
    struct view_result *strategies; /* as in the options; the caller frees it */
};

/* Plays the trace under each strategy, and writes the page. A strategy that cannot serve the trace
 * is named there with the reason. ERR_USAGE: none can; errors of view_record. The caller frees
 * report->strategies in any case. */
int view_write(struct trace_reader *reader, const struct view_options *options, FILE *out,
               struct view_report *report, struct error *error);

/* The parts of the page that need no script. */

/* The head, and the place where the script draws. */
void view_page_begin(FILE *out, const struct view_options *options,
                     const struct view_history *history);
/* A picture of the bytes over time and of what each strategy reserved. `strategies` and `results`
 * are those of the options. */
void view_page_picture(FILE *out, const struct view_options *options,
                       const struct view_history *history, const struct view_strategy *strategies,
                       const struct view_result *results);
/* The blocks that live when the last request is refused; without one, at the peak. */
void view_page_peak(FILE *out, const struct view_history *history);
/* A legend of the page, its limits, and the end. */
void view_page_end(FILE *out, const struct view_options *options,
                   const struct view_history *history, const struct view_result *results);
/* options->measured_bytes of a strategy; 0: unknown. */
uint64_t view_measured(const struct view_options *options, size_t strategy);
/* What users of PyTorch call a strategy, "PyTorch's default"; "": nothing. */
const char *view_words(const char *strategy);
/* The bucket with the peak. */
const struct view_bucket *view_peak(const struct view_history *history);
