/* One static page of a trace: its blocks over time, and where each strategy puts them.
 *
 * A page has one pane, or two side by side: of one trace with different strategies, or of two
 * traces. Both have one scale and one axis, and the page says how they differ.
 *
 * The page needs no network. Without scripts it shows a picture of the bytes over time and who
 * holds what at their peak; a script of its own draws the rest from levels of detail (levels.h,
 * summary.h).
 */
#pragma once

#include "pages/history.h"

/* A pane. */
struct view_options {
    struct trace_reader *reader; /* two panes of one trace have the same one */
    const char *name;            /* of the trace, for the heading */
    /* Of two panes: a word for this one, as in "before", and what it shows. */
    const char *word, *what;
    const char *caution; /* a sentence about the numbers of this pane; NULL: none */
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
    char reason[1024];    /* why it is not in the page; "": it is */
    uint64_t limit_bytes; /* of the replay: what the log shows; 0: none */
};

struct view_report {
    uint64_t blocks, events, peak_bytes, peak_event;
    struct view_result *strategies; /* as in the options; the caller frees it */
    /* Of the first of two panes: how much less the other one reserves. */
    char difference[768];
};

enum { PANES_MOST = 2 };

/* Plays the trace of each pane under its strategies, and writes the page. A strategy that cannot
 * serve the trace is named there with the reason. ERR_USAGE: no strategy can; errors of
 * view_record. There is a report for each pane; the caller frees reports[i].strategies in any
 * case. */
int view_write(const struct view_options *options, size_t count, FILE *out,
               struct view_report *reports, struct error *error);

/* A pane after its replays. */
struct view_pane {
    const struct view_options *options;
    struct view_history *history; /* two panes of one trace have the same one */
    struct view_strategy *strategies;
    struct view_report *report;
};

/* The parts of the page that need no script. */

/* The head, and the place where the script draws. */
void view_page_begin(FILE *out, const struct view_pane *panes, size_t count);
/* The words over two panes, and how they differ, which also goes into the first one's report. */
void view_page_difference(FILE *out, const struct view_pane *panes, size_t count);
/* A picture of the bytes over time and of what each strategy reserved, for each pane. */
void view_page_picture(FILE *out, const struct view_pane *panes, size_t count);
/* The blocks that live when the last request is refused; without one, at the peak. */
void view_page_peak(FILE *out, const struct view_pane *panes, size_t count);
/* A legend of the page, its limits, and the end. */
void view_page_end(FILE *out, const struct view_pane *panes, size_t count);
/* options->measured_bytes of a strategy; 0: unknown. */
uint64_t view_measured(const struct view_options *options, size_t strategy);
/* What users of PyTorch call a strategy, "PyTorch's default"; "": nothing. */
const char *view_words(const char *strategy);
/* The bucket with the peak. */
const struct view_bucket *view_peak(const struct view_history *history);
