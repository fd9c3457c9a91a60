/* Whether a replay of the recorded setting holds what the recorded allocator held from the driver:
 * compared at each driver call of the log, when the request that took the call is served. */
#pragma once

#include "replay/replay.h"

/* All zeros at first. */
struct exactness {
    uint64_t call_count, equal_count; /* calls of the log that were compared, and that agree */
    uint64_t most_bytes, first_event; /* the largest difference, and the first; event 0: none */
    double most_share;                /* of the log's bytes */
    uint64_t logged_bytes, logged_peak_bytes; /* held by the log's calls; now, and at most */
    uint64_t open_count;                      /* calls that are not yet compared */
    bool has_private;                         /* memory of a private pool was seen */
};

/* Follows an event that was played. */
void exactness_follow(struct exactness *exactness, const struct trace_event *event,
                      const struct replay_state *state);
/* What the log does not say, so that a replay of its setting may differ from it; NULL: nothing that
 * is known of. `exactness` is of the whole replay; `adopted`: as in struct replay_outcome.
 * `knows_limit`: the caller says what the limit was. */
const char *exactness_doubt(const struct exactness *exactness, const struct trace_info *info,
                            const struct trace_totals *totals, bool adopted, bool knows_limit);
