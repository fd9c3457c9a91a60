/* gamut fit: finds the least memory in which each allocator can serve a trace. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/tree.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/session.h"
#include "results/compare/gates.h"
#include "results/show/text_grid.h"
#include "replay/cases.h"
#include "replay/fit.h"
#include "replay/parallel.h"
#include "run/select/select.h"

static const struct flag flags[] = {
    FLAG_TRACE_STRATEGIES,
    FLAG_SUITE,
    FLAG_ATLAS,
    FLAG_FREE_AT("done|let-go"),
    {"time-limit", 0, FLAG_TIME, .fallback = "10s",
     .help = "how long the planner looks for the optimum of a trace"},
    FLAG_JOBS,
    FLAG_SHARD,
    FLAG_FORMAT("table", "table|md|csv|json"),
    {"show", 0, FLAG_CHOICE, .value = "WHAT", .fallback = "fits", .choices = "fits|means",
     .help = "the rows of a table: each fit, or what each allocator costs over all programs"},
    {"against", 0, FLAG_TEXT, .value = "STRATEGY",
     .help = "print in which programs the others are better or worse than this one, the worst "
             "first; exit 1 if one is worse"},
    {"bound", 0, FLAG_TEXT, .value = "PART", .fallback = "1%",
     .help = "--against: the largest difference that does not matter"},
    FLAGS_ALSO_RESULT_FILE,
    FLAGS_END,
};

struct fitted_trace {
    const char *path;
    char name[64];
    bool is_needed, is_planned; /* by a fit that is to be made; the optimum is found */
    struct lifetimes lifetimes;
    struct optimum optimum;
};

/* One strategy on one trace. */
struct fitting {
    struct fit_session *session;
    size_t index, trace;
    const char *strategy;
    bool is_own, has_ended;
    bool is_first; /* of its trace in the table */
    struct fit fit;
    json_t *json; /* as in a file, when it and the plan of its trace have ended; or NULL */
};

struct fit_session {
    struct session common;
    size_t fit_count;
    struct fitted_trace *traces;
    struct fitting *fits; /* by trace, then by strategy */
    double bound;         /* of --bound */
};

/* ---- a fit as JSON ---- */

static double ratio(uint64_t bytes, uint64_t to)
{
    return to ? (double)bytes / (double)to : 1;
}

static json_t *refusal_to_json(const struct fit *fit)
{
    const struct replay_refusal *r = &fit->refusal;
    if (fit->cause == FIT_none)
        return json_null();
    json_t *json = tree_object();
    tree_put(json, "cause", tree_text(fit_cause_name(fit->cause)));
    tree_put(json, "event", tree_count(r->event));
    tree_put(json, "block", tree_count(r->block));
    tree_put(json, "bytes", tree_count(r->bytes));
    tree_put(json, "site", tree_text_or_null(r->site));
    tree_put(json, "live_bytes", tree_count(r->requested_bytes));
    tree_put(json, "granted_bytes", tree_count(r->granted_bytes));
    tree_put(json, "reserved_bytes", tree_count(r->reserved_bytes));
    tree_put(json, "free_bytes", tree_known(r->knows_free, r->free_bytes));
    tree_put(json, "free_pieces", tree_known(r->knows_free, r->free_pieces));
    tree_put(json, "largest_free_bytes", tree_known(r->knows_free, r->largest_free_bytes));
    return json;
}

/* What the replay without a limit costs. */
static void add_costs(json_t *json, const struct fit *fit, bool ok)
{
    const struct exact_counts *c = &fit->unlimited;
    const double reserved = (double)c->peak_reserved_bytes;
    const double idle = reserved > 0 ? 1 - (double)fit->requested_at_peak_bytes / reserved : 0;
    tree_put(json, "request_count", tree_known(ok, c->alloc_count));
    tree_put(json, "hit_share",
             tree_number(ok ? (double)c->hit_count / (double)c->alloc_count : NAN));
    tree_put(json, "idle_share", ok ? tree_number(idle) : json_null());
    tree_put(json, "driver_calls",
             tree_known(ok, c->driver_alloc_count + c->driver_free_count + c->driver_map_count +
                                c->driver_unmap_count));
    tree_put(json, "driver_ns", tree_known(ok && fit->times.asked, fit->times.driver_ns));
}

static json_t *fit_to_json(const struct fitting *f)
{
    const struct fitted_trace *trace = &f->session->traces[f->trace];
    const struct optimum *optimum = &trace->optimum;
    const struct demand *demand = &trace->lifetimes.demand;
    const struct fit *fit = &f->fit;
    const bool ok = fit->status == CASE_ok;
    json_t *json = tree_object();
    tree_put(json, "id", tree_text(f->session->common.work.items[f->index].id));
    tree_put(json, "trace", tree_text(trace->name));
    const json_t *corpus = json_object_get(f->session->common.traces.corpus, "traces");
    tree_put(json, "kind", tree_share(json_object_get(corpus, trace->name), "kind"));
    tree_put(json, "strategy", tree_text(f->strategy));
    tree_put(json, "status", tree_text(case_status_name(fit->status)));
    tree_put(json, "reason", tree_text_or_null(fit->reason));
    tree_put(json, "capacity_bytes", tree_known(ok, fit->capacity_bytes));
    tree_put(json, "refused_bytes", tree_known(ok, fit->refused_bytes));
    tree_put(json, "lowest_bytes", tree_known(ok, fit->lowest_bytes));
    tree_put(json, "reads_capacity", ok ? json_boolean(fit->reads_capacity) : json_null());
    tree_put(json, "needed_bytes", tree_known(fit->knows_needed, fit->needed_bytes));
    tree_put(json, "dispensable_requests", tree_count(demand->dispensable_count));
    tree_put(json, "dispensable_most_bytes", tree_count(demand->dispensable_most_bytes));
    tree_put(json, "refused_requests", tree_count(demand->refused_count));
    tree_put(json, "ends_refused", json_boolean(demand->ends_refused));
    tree_put(json, "refused_requests_served",
             tree_known(ok, demand->refused_count - fit->unserved_count));
    tree_put(json, "lower_bound_bytes", tree_count(trace->lifetimes.demand.peak_bytes));
    tree_put(json, "optimum_bytes", tree_known(optimum->known, optimum->bytes));
    tree_put(json, "optimum_bound_bytes", tree_count(optimum->bound_bytes));
    tree_put(json, "proven", json_boolean(optimum->proven));
    tree_put(json, "reserved_bytes", tree_known(ok, fit->unlimited.peak_reserved_bytes));
    tree_put(json, "regret",
             tree_number(ok && optimum->known
                             ? ratio(fit->unlimited.peak_reserved_bytes, optimum->bytes)
                             : NAN));
    add_costs(json, fit, ok);
    tree_put(json, "driver_alloc_count", tree_known(ok, fit->limited.driver_alloc_count));
    tree_put(json, "driver_free_count", tree_known(ok, fit->limited.driver_free_count));
    tree_put(json, "replays", tree_count(fit->replays));
    tree_put(json, "refusal", refusal_to_json(fit));
    return json;
}

/* ---- the work ---- */

static void show_step(void *context, unsigned replays, uint64_t refused, uint64_t served)
{
    const struct fitting *f = context;
    struct fit_session *s = f->session;
    char low[32], high[32];
    char found[80] = "";
    if (served) /* nothing is known before the first replay has ended */
        snprintf(found, sizeof found, ": between %s and %s", text_bytes(low, refused),
                 text_bytes(high, served));
    status_line_show(&s->common.status, "fit %zu/%zu, %s of %s, replay %u%s", f->index + 1,
                     s->fit_count, f->strategy, s->traces[f->trace].name, replays, found);
}

static int read_trace(void *context, size_t index, const volatile sig_atomic_t *stop,
                      struct error *error)
{
    const struct fit_session *s = context;
    struct fitted_trace *trace = &s->traces[index];
    struct trace_reader *reader;
    if (!trace->is_needed)
        return 0;
    TRY(trace_open(trace->path, &reader, error));
    int code = lifetimes_read(reader, &trace->lifetimes, error);
    trace_close(reader);
    return code;
}

static int fit_one(struct fitting *f, const volatile sig_atomic_t *stop, struct error *error)
{
    const struct fit_session *s = f->session;
    const struct fitted_trace *trace = &s->traces[f->trace];
    const struct fit_options options = {.strategy = f->strategy,
                                        .plans = &f->session->common.strategies.selection.plans,
                                        .free_at = s->common.free_at,
                                        .atlas = s->common.atlas,
                                        .demand = trace->lifetimes.demand,
                                        .stop = stop,
                                        .step = show_step,
                                        .context = f};
    struct trace_reader *reader;
    TRY(trace_open(trace->path, &reader, error));
    int code = fit_trace(reader, &options, &f->fit, error);
    trace_close(reader);
    return code;
}

/* First the plans, which may take longest, and then the fits. */
static int work(void *context, size_t index, const volatile sig_atomic_t *stop, struct error *error)
{
    struct fit_session *s = context;
    if (index >= s->common.traces.count) {
        struct fitting *f = &s->fits[index - s->common.traces.count];
        return f->is_own ? fit_one(f, stop, error) : 0;
    }
    struct fitted_trace *trace = &s->traces[index];
    if (trace->is_needed)
        lifetimes_optimum(&trace->lifetimes, (int64_t)flag_number(s->common.line, "time-limit"),
                          &trace->optimum);
    return 0;
}

static void put_fits(struct fit_session *s)
{
    json_t *fits = s->common.recording.draft.result.fits;
    json_array_clear(fits);
    for (size_t i = 0; i < s->fit_count; i++) {
        struct fitting *f = &s->fits[i];
        if (f->is_own && f->has_ended && !f->json && s->traces[f->trace].is_planned)
            f->json = fit_to_json(f);
        if (f->json)
            tree_append(fits, json_incref(f->json));
    }
}

static void ended(void *context, size_t index)
{
    struct fit_session *s = context;
    if (index < s->common.traces.count)
        s->traces[index].is_planned = true;
    else
        s->fits[index - s->common.traces.count].has_ended = true;
    put_fits(s);
    recording_save_now_and_then(&s->common.recording);
}

static int fit_all(struct fit_session *s, struct error *error)
{
    const unsigned jobs = s->common.jobs;
    const struct parallel reading = {
        .count = s->common.traces.count, .jobs = jobs, .context = s, .work = read_trace};
    const struct parallel fitting = {.count = s->common.traces.count + s->fit_count,
                                     .jobs = jobs,
                                     .context = s,
                                     .work = work,
                                     .done = ended};
    TRY(parallel_run(&reading, &s->common.interrupted, error));
    if (s->common.interrupted)
        return 0;
    status_line_open(&s->common.status, stderr);
    int code = parallel_run(&fitting, &s->common.interrupted, error);
    status_line_clear(&s->common.status);
    return code;
}

/* ---- output ---- */

static void explain(struct text *why, const struct fit *fit)
{
    const struct replay_refusal *r = &fit->refusal;
    char bytes[32], live[32], granted[32], free_bytes[32], largest[32];
    text_add(why, "%s: %s at event %" PRIu64, fit_cause_name(fit->cause),
             text_bytes(bytes, r->bytes), r->event);
    const char *called = strstr(r->site, " > "); /* holders.h: the site itself stands before it */
    if (*r->site)
        text_add(why, " (%.*s)", called ? (int)(called - r->site) : 60, r->site);
    text_add(why, "; %s live", text_bytes(live, r->requested_bytes));
    if (fit->cause == FIT_rounding)
        text_add(why, ", which take %s", text_bytes(granted, r->granted_bytes));
    if (fit->cause != FIT_demand && r->knows_free && r->free_pieces)
        text_add(why, ", %s free in %" PRIu64 " piece%s, the largest %s",
                 text_bytes(free_bytes, r->free_bytes), r->free_pieces,
                 r->free_pieces == 1 ? "" : "s", text_bytes(largest, r->largest_free_bytes));
}

/* What the least capacity does not say. */
static void add_remarks(struct text *why, const struct fit *fit)
{
    char lowest[32], count[48];
    if (fit->lowest_bytes < fit->refused_bytes)
        text_add(why, "%sa hole: %s serves too, and some capacities above it do not",
                 why->length ? "; " : "", text_bytes(lowest, fit->lowest_bytes));
    if (fit->reads_capacity)
        text_add(why,
                 "%sthe least found: the allocator reads the capacity, so less may serve too, and "
                 "more may not",
                 why->length ? "; " : "");
    if (fit->unserved_count)
        text_add(why, "%swithout %s of the log", why->length ? "; " : "",
                 text_count(count, (double)fit->unserved_count, "refused request"));
}

static const char *heading_of(const struct fitted_trace *trace, struct arena *arena)
{
    const struct optimum *optimum = &trace->optimum;
    const struct demand *demand = &trace->lifetimes.demand;
    char optimum_bytes[32], peak[32], most[32], count[48];
    const char *refused = "", *dispensable = "";
    if (demand->refused_count)
        refused = arena_printf(arena, "; %s%s",
                               text_count(count, (double)demand->refused_count, "refused request"),
                               demand->ends_refused ? ", at which the log ends" : "");
    if (demand->dispensable_count)
        dispensable = arena_printf(
            arena, "; %s, the largest of %s",
            text_count(count, (double)demand->dispensable_count, "dispensable request"),
            text_bytes(most, demand->dispensable_most_bytes));
    return arena_printf(arena, "%s: lower bound %s, optimum %s%s%s%s", trace->name,
                        text_bytes(peak, demand->peak_bytes),
                        optimum->known ? text_bytes(optimum_bytes, optimum->bytes) : "unknown: ",
                        !optimum->known   ? optimum->why_not
                        : optimum->proven ? " (proven)"
                                          : " (the best found)",
                        refused, dispensable);
}

static void add_fit(struct text_grid *grid, const struct fitting *f)
{
    const struct fitted_trace *trace = &f->session->traces[f->trace];
    const struct optimum *optimum = &trace->optimum;
    const struct fit *fit = &f->fit;
    struct text_grid_row *row = text_grid_add_row(grid);
    struct text why = {0};
    if (f->is_first)
        row->heading = heading_of(trace, &grid->arena);
    text_grid_add(grid, "%s", trace->name);
    text_grid_add(grid, "%s", f->strategy);
    if (fit->status != CASE_ok) {
        text_grid_skip(grid, 6);
        text_grid_add(grid, "%s: %s", case_status_name(fit->status), fit->reason);
        return;
    }
    text_grid_add_bytes(grid, fit->capacity_bytes);
    grid->column[3].hidden &= !fit->knows_needed;
    if (fit->knows_needed)
        text_grid_add_bytes(grid, fit->needed_bytes);
    else
        text_grid_skip(grid, 1);
    if (optimum->known)
        text_grid_add(grid, "%.3f", ratio(fit->capacity_bytes, optimum->bytes));
    else
        text_grid_skip(grid, 1);
    text_grid_add_bytes(grid, fit->unlimited.peak_reserved_bytes);
    if (optimum->known)
        text_grid_add(grid, "%.3f", ratio(fit->unlimited.peak_reserved_bytes, optimum->bytes));
    else
        text_grid_skip(grid, 1);
    text_grid_add(grid, "%u", fit->replays);
    if (fit->cause != FIT_none)
        explain(&why, fit);
    add_remarks(&why, fit);
    text_grid_add(grid, "%s", why.data ? why.data : "");
    text_free(&why);
}

static void print_table(const struct fit_session *s, enum table_format format)
{
    struct text_grid grid = text_grid_of("trace^3|strategy|>least capacity|>may run from^5|"
                                         ">of optimum|>no limit|>regret|>replays^4|"
                                         "~refused below it");
    grid.indent = format == TABLE_TEXT ? 2 : 0;
    grid.column[0].hidden = format == TABLE_TEXT;
    grid.complete = "--format csv has all";
    grid.column[3].hidden = true;
    for (size_t i = 0; i < s->fit_count; i++)
        if (s->fits[i].is_own)
            add_fit(&grid, &s->fits[i]);
    const struct terminal terminal = terminal_of(stdout);
    struct terminal_page page;
    terminal_page_open(&page, stdout);
    text_grid_print(&grid, format, &terminal, page.out);
    terminal_page_close(&page);
    text_grid_free(&grid);
}

/* ---- the command ---- */

/* An item is a fit. Those of a trace stay together: they share its optimum. */
static int make_work(struct fit_session *s, struct error *error)
{
    session_divide(&s->common, s->fit_count);
    for (size_t i = 0; i < s->fit_count; i++) {
        const struct fitting *f = &s->fits[i];
        const char *name = s->traces[f->trace].name;
        const char *sentence =
            arena_printf(&s->common.traces.arena, "fit %s %s", name, f->strategy);
        TRY(session_item(&s->common, i, sentence, name, f->trace, error));
    }
    return 0;
}

/* Takes the fits that an earlier try has made. */
static void take_earlier(struct fit_session *s)
{
    json_t *all = s->common.recording.draft.result.fits, *by_id = tree_object();
    json_t *one;
    size_t k;
    json_array_foreach(all, k, one)
    {
        tree_put(by_id, tree_get_text(one, "id"), json_incref(one));
    }
    for (size_t i = 0; i < s->fit_count; i++)
        s->fits[i].json = json_incref(json_object_get(by_id, s->common.work.items[i].id));
    json_decref(by_id);
}

static int start(struct fit_session *s, struct error *error)
{
    TRY(make_work(s, error));
    TRY(session_start(&s->common, "fits", error));
    take_earlier(s);
    for (size_t i = 0; i < s->fit_count; i++) {
        struct fitting *f = &s->fits[i];
        f->is_own = s->common.work.own[i];
        f->is_first = f->is_own && !s->traces[f->trace].is_needed;
        s->traces[f->trace].is_needed |= f->is_own;
    }
    put_fits(s);
    return 0;
}

static int make_fits(struct fit_session *s, struct error *error)
{
    struct session *c = &s->common;
    const size_t most = c->strategies.selection.strategies.count + c->strategies.recorded;
    s->traces = must_alloc(c->traces.count * sizeof *s->traces);
    s->fits = must_alloc(c->traces.count * most * sizeof *s->fits);
    for (size_t t = 0; t < c->traces.count; t++) {
        struct fitted_trace *trace = &s->traces[t];
        struct names strategies;
        trace->path = c->traces.paths[t];
        TRY(replay_trace_name(trace->path, trace->name, error));
        TRY(trace_strategies_of(&c->strategies, &c->traces, t, &strategies, error));
        for (size_t i = 0; i < strategies.count; i++, s->fit_count++)
            s->fits[s->fit_count] = (struct fitting){
                .session = s, .index = s->fit_count, .trace = t, .strategy = strategies.items[i]};
    }
    return 0;
}

static int run(struct fit_session *s, const struct command_line *line, struct error *error)
{
    const char *bound = flag_text(line, "bound");
    if (!gate_parse_part(bound, &s->bound))
        return error_set(error, ERR_USAGE, "--bound is '%s', expected a percentage such as 1%%",
                         bound);
    TRY(session_open(&s->common, line, error));
    TRY(make_fits(s, error));
    if (flag_text(line, "against") && s->fit_count == s->common.traces.count)
        return error_set(error, ERR_USAGE, "--against needs another allocator in -s");
    TRY(start(s, error));
    const int code = fit_all(s, error);
    put_fits(s);
    return session_finish(&s->common, code, error);
}

static int print_fits(struct fit_session *s)
{
    const uint64_t format = flag_number(s->common.line, "format");
    const char *against = flag_text(s->common.line, "against");
    const json_t *all = s->common.recording.draft.result.fits;
    size_t ok = 0, failed = 0, worse = 0;
    const char *why = NULL;
    for (size_t i = 0; i < s->fit_count; i++) {
        if (!s->fits[i].is_own)
            continue;
        why = why ? why : s->fits[i].fit.reason;
        ok += s->fits[i].fit.status == CASE_ok;
        failed += s->fits[i].fit.status > CASE_skipped;
    }
    if (why && ok + failed == 0) {
        fprintf(stderr, "gamut: none of these allocators can serve a trace without a device: %s\n",
                why);
        return EXIT_NOTHING_RAN;
    }
    if (format == TABLE_JSON)
        session_print_json(&s->common, "fits");
    else if (against)
        worse = against_print(all, against, s->bound, (enum table_format)format, stdout);
    else if (flag_number(s->common.line, "show"))
        standings_print(all, (enum table_format)format, stdout);
    else
        print_table(s, (enum table_format)format);
    return worse ? EXIT_REGRESSION : failed ? EXIT_CASE_FAILED : EXIT_OK;
}

static int fit_command(const struct command_line *line)
{
    struct fit_session s = {0};
    struct error error = {0};
    const int exit_code = run(&s, line, &error)  ? session_error(&s.common, &error)
                          : s.common.interrupted ? EXIT_INTERRUPTED
                                                 : print_fits(&s);
    for (size_t i = 0; i < s.fit_count; i++)
        json_decref(s.fits[i].json);
    for (size_t i = 0; s.traces && i < s.common.traces.count; i++)
        lifetimes_free(&s.traces[i].lifetimes);
    free(s.traces);
    free(s.fits);
    session_close(&s.common);
    return exit_code;
}

const struct command command_fit = {
    .name = "fit",
    .summary = "find the least memory in which each allocator can serve a trace",
    .arguments = "[TRACE|LOG...]",
    .most_positionals = POSITIONALS_ANY,
    .flags = flags,
    .run = fit_command,
};
