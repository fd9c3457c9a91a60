/* The parts of the page that need no script. */
#pragma once

#include "pages/view.h"

/* The head, and the place where the script draws. */
void view_page_begin(FILE *out, const struct view_options *options,
                     const struct view_history *history);
/* A picture of the bytes over time and of what each strategy reserved. `strategies` and `results`
 * are those of the options. */
void view_page_picture(FILE *out, const struct view_options *options,
                       const struct view_history *history, const struct view_strategy *strategies,
                       const struct view_result *results);
/* The blocks that live at the peak. */
void view_page_peak(FILE *out, const struct view_history *history);
/* A legend of the page, its limits, and the end. */
void view_page_end(FILE *out, const struct view_options *options,
                   const struct view_history *history, const struct view_result *results);
/* options->measured_bytes of a strategy; 0: unknown. */
uint64_t view_measured(const struct view_options *options, size_t strategy);
/* The bucket with the peak. */
const struct view_bucket *view_peak(const struct view_history *history);
