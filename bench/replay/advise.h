/* Finds the best setting of an application: a search by replays of its traces.
 *
 *   1. The current setting is replayed: that of the log, or the application's default.
 *   2. For each strategy that the application has, one option after the other takes each of its
 *      values, and keeps the best; this is repeated until nothing changes (coordinate descent).
 *   3. Better is what holds at least 1 % less. On several traces the trace counts on which a
 *      setting holds most, compared with the current one. In any case, a setting is better that
 *      serves more of the requests that were refused in the log.
 *      Where a trace begins in the middle, the recorded strategy starts with its memory, under any
 *      setting, and others without. Others are compared with the current one placed anew, if that
 *      holds less: else they would be better by the start alone.
 *   4. A setting counts only if it calls the driver at most twice as often as the current one (and
 *      ten times), and at most in every tenth request (and ten). Most calls get memory for the
 *      first time: they do not come again in a longer run. With an atlas, the calls also take at
 *      most a hundredth of the trace's time longer, or twice the time if the trace has no times.
 *   5. The best one is advised if it holds at least 1 % less than the current one, or if the
 *      current one calls the driver too often or is refused a request. Otherwise the advice is to
 *      leave everything as it is.
 *   6. Where the current setting is refused requests of one trace, and one option alone serves all
 *      of them, that option is advised instead: before all one that serves them under the least
 *      limit which the log proves, then one that counts, then one that leaves most to spare.
 *
 * The search has no chance and no clock in it. What the strategies of gamut that the application
 * does not have would hold is searched for in the same way.
 */
#pragma once

#include <signal.h>

#include "replay/exactness.h"
#include "replay/fit.h"
#include "replay/settings.h"
#include "trace/holders.h"

struct advise_options {
    const char *application; /* a name, or "auto" */
    const char *current;     /* the strategy that the application has now; NULL: as logged */
    enum replay_free_at free_at;
    uint64_t capacity_bytes;   /* of the device; 0: no limit */
    const struct atlas *atlas; /* prices, or NULL */
    unsigned jobs;             /* replays at once; 0: one for each processor */
    /* Optional. It becomes true when the search should end early; the search then stays in the
     * caller's thread, because the caller has several at once. */
    const volatile sig_atomic_t *stop;
    bool own_only; /* `other` is not searched for */
    /* Optional. Called when a replay has ended, by several threads at once: how many have so far,
     * and what the search does: "settings: caching:max_split=64MiB". */
    void (*step)(void *context, uint64_t replays, const char *doing);
    void *context;
};

/* The result of a setting on a trace. */
struct measure {
    bool ok;
    uint64_t reserved_bytes; /* the peak */
    uint64_t call_count; /* of the driver; adjacent parts that are mapped at once are one call */
    uint64_t function_count; /* of the driver's functions, each call of one, as a replay's table */
    uint64_t logged_call_count; /* of the recorded allocator, by the log */
    bool calls_are_logged;      /* both are the same, in the same order and with the same bytes */
    struct exactness exactness;
    struct replay_refused refused;
    bool adopted;                  /* as in struct replay_outcome */
    struct replay_refusal refusal; /* of the current setting: the last request of these */
    uint64_t spare_bytes; /* a limit that is so much lower serves the same; 0 without a limit */
    const char *doubt;    /* exactness_doubt */
    uint64_t driver_ns;   /* time in the driver's calls; UNKNOWN_NS without an atlas */
    uint64_t run_ns;      /* of the whole log; UNKNOWN_NS without an atlas or the device's times */
};

struct advised_trace {
    const char *path;
    char name[64], source[64], current[256];
    char program[256]; /* " COMMAND" of the recorded application, or " ..." */
    char notes[1024];  /* of pytorch_recorded, and of words that hurt together: a line for each */
    bool is_logged;    /* the log says what the current setting is */
    struct demand demand;
    uint64_t request_count;
    /* Inferred from the trace: replays have a limit between these without --mem-limit. 0: none. */
    uint64_t limit_bytes, least_limit_bytes;
    uint64_t duration_ns; /* 0: unknown */
    bool knows_calls;     /* the log has all driver calls of the recorded allocator */
    struct measure now; /* with the current setting; without the limit, if that refuses a request */
    bool is_refused;    /* it does */
    struct holders holders; /* at the peak of the log; 0 of them without sites */
    uint64_t live_bytes;    /* at once, at most: without what was refused */
    bool began_before;      /* the program ran before the trace begins, and the trace lacks that */
    /* With the current setting, and the live blocks of the start placed anew; at most what it holds
     * with the memory of the start. 0: that memory was not adopted. */
    uint64_t anew_bytes;
};

/* A setting, and what it does on the traces that an advice is for. */
struct advised_setting {
    bool is_known;
    /* Of a single option: + 1: it counts; + 2: it serves all under the least limit. */
    unsigned rank;
    struct allocator_setting setting;
    struct measure *on;    /* by trace */
    uint64_t served_count; /* requests that were refused in the logs, and are served */
    double cost;           /* bytes held over those of the current setting, on the worst trace */
    struct fit fit;        /* advice for one trace: the least capacity */
};

/* For one trace, or for all. */
struct advice {
    size_t first, count; /* traces */
    bool leave;          /* nothing is better than the current setting */
    bool is_bad; /* the current setting calls the driver too often, or is refused a request */
    struct advised_setting best; /* of the application's own; unknown: none counts */
    bool is_single; /* rule 6 has chosen it: it may call the driver too often to count */
    struct advised_setting other; /* of all of gamut's: known if it is better than the best */
    struct fit current_fit;
    size_t tried_count; /* settings of the application's own */
};

struct advise {
    const struct application *application;
    size_t trace_count, advice_count;
    struct advised_trace *traces;
    struct advice *advices; /* one for each trace, and if there are several, one for all */
};

/* Finds advice. ERR_USAGE, ERR_PARSE, ERR_IO. The caller calls advise_free in any case. */
int advise_traces(const char *const *paths, size_t count, const struct advise_options *options,
                  struct advise *advise, bool *interrupted, struct error *error);
/* Between which bytes the peak of a measure of this trace is. They are equal if it is as the replay
 * says. With the current setting they say how far replay and log are apart, also within a request.
 * *most is UINT64_MAX if it is not known: that of other settings in a trace which begins in the
 * middle, and of all if it lost the memory from before. *least always holds. */
void advise_bounds(const struct advised_trace *trace, const struct measure *measure,
                   uint64_t *least, uint64_t *most);
void advise_free(struct advise *advise);
