#include "replay/exactness.h"

#include <string.h>

/* At a request, both have made the calls that it took. */
static void compare(struct exactness *x, const struct replay_state *state)
{
    const uint64_t played = state->reserved_bytes, logged = x->logged_bytes;
    const uint64_t apart = played > logged ? played - logged : logged - played;
    const double share = logged ? (double)apart / (double)logged : apart ? 1 : 0;
    x->call_count += x->open_count;
    x->equal_count += apart ? 0 : x->open_count;
    x->open_count = 0;
    if (apart && !x->first_event)
        x->first_event = state->event;
    x->most_bytes = apart > x->most_bytes ? apart : x->most_bytes;
    x->most_share = share > x->most_share ? share : x->most_share;
}

void exactness_follow(struct exactness *x, const struct trace_event *e,
                      const struct replay_state *state)
{
    trace_hold(&x->logged_bytes, e);
    x->has_private |= trace_is_driver_call(e->kind) && e->pool;
    if (x->logged_bytes > x->logged_peak_bytes)
        x->logged_peak_bytes = x->logged_bytes;
    x->open_count += trace_is_driver_call(e->kind);
    if (e->kind == TRACE_start)
        x->open_count = 0;
    if (e->kind == TRACE_alloc)
        compare(x, state);
}

const char *exactness_doubt(const struct exactness *x, const struct trace_info *info,
                            const struct trace_totals *totals, bool adopted, bool knows_limit)
{
    const bool has_start = totals->by_kind[TRACE_start] > 0;
    if (info->lost_beginning && !has_start)
        return "the log does not say what was there when it began";
    if (has_start && !adopted)
        return "the log does not say well enough where the memory was that was there when it "
               "began: its blocks are placed anew";
    const bool collects = strstr(info->allocator, "garbage_collection_threshold") != NULL;
    if (collects && !knows_limit)
        return "the log does not say the memory limit, above a share of which "
               "garbage_collection_threshold collects";
    if (x->has_private && !info->knows[TRACE_KNOWS_pools])
        return "the log does not say to which pools the released segments belonged: private ones "
               "are a guess";
    if (info->limit_most_bytes && !knows_limit)
        return "the log does not say the memory limit: it is inferred from requests that were "
               "refused";
    if (has_start && collects && !strstr(info->allocator, "expandable_segments:True"))
        return "the log does not say for how long memory had been free when it began, by which "
               "garbage_collection_threshold chooses";
    return NULL;
}
