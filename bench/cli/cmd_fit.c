#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/tree.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/recording.h"
#include "cli/traces.h"
#include "record/table/text_grid.h"
#include "run/replay/cases.h"
#include "run/replay/fit.h"
#include "run/replay/parallel.h"
#include "run/select/select.h"

static const struct flag flags[] = {
    FLAG_TRACE_STRATEGIES,
    FLAG_FREE_AT("done|let-go"),
    {"time-limit", 0, FLAG_TIME, .fallback = "10s",
     .help = "how long the planner looks for the optimum of a trace"},
    FLAG_JOBS,
    FLAG_SHARD,
    FLAG_FORMAT("table", "table|md|csv|json"),
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
    struct session *session;
    size_t index, trace;
    const char *strategy;
    bool is_own, has_ended;
    bool is_first; /* of its trace in the table */
    struct fit fit;
    json_t *json; /* as in a file, when it and the plan of its trace have ended; or NULL */
};

struct session {
    const struct command_line *line;
    struct traces named;
    struct trace_strategies strategies;
    enum replay_free_at free_at;
    size_t trace_count, fit_count;
    struct fitted_trace *traces;
    struct fitting *fits;       /* by trace, then by strategy */
    struct recording recording; /* without a file, if none was asked for */
    struct work work;
    struct status_line status;
    bool interrupted;
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
    tree_put(json, "free_bytes", r->knows_free ? tree_count(r->free_bytes) : json_null());
    tree_put(json, "free_pieces", r->knows_free ? tree_count(r->free_pieces) : json_null());
    tree_put(json, "largest_free_bytes",
             r->knows_free ? tree_count(r->largest_free_bytes) : json_null());
    return json;
}

static json_t *fit_to_json(const struct fitting *f)
{
    const struct fitted_trace *trace = &f->session->traces[f->trace];
    const struct optimum *optimum = &trace->optimum;
    const struct fit *fit = &f->fit;
    const bool ok = fit->status == CASE_ok;
    json_t *json = tree_object();
    tree_put(json, "id", tree_text(f->session->work.items[f->index].id));
    tree_put(json, "trace", tree_text(trace->name));
    tree_put(json, "strategy", tree_text(f->strategy));
    tree_put(json, "status", tree_text(case_status_name(fit->status)));
    tree_put(json, "reason", tree_text_or_null(fit->reason));
    tree_put(json, "capacity_bytes", ok ? tree_count(fit->capacity_bytes) : json_null());
    tree_put(json, "refused_bytes", ok ? tree_count(fit->refused_bytes) : json_null());
    tree_put(json, "lower_bound_bytes", tree_count(trace->lifetimes.peak_bytes));
    tree_put(json, "optimum_bytes", optimum->known ? tree_count(optimum->bytes) : json_null());
    tree_put(json, "optimum_bound_bytes", tree_count(optimum->bound_bytes));
    tree_put(json, "proven", json_boolean(optimum->proven));
    tree_put(json, "reserved_bytes",
             ok ? tree_count(fit->unlimited.peak_reserved_bytes) : json_null());
    tree_put(json, "regret",
             ok && optimum->known
                 ? tree_number(ratio(fit->unlimited.peak_reserved_bytes, optimum->bytes))
                 : json_null());
    tree_put(json, "driver_alloc_count",
             ok ? tree_count(fit->limited.driver_alloc_count) : json_null());
    tree_put(json, "driver_free_count",
             ok ? tree_count(fit->limited.driver_free_count) : json_null());
    tree_put(json, "replays", tree_count(fit->replays));
    tree_put(json, "refusal", refusal_to_json(fit));
    return json;
}

/* ---- the work ---- */

static void show_step(void *context, unsigned replays, uint64_t refused, uint64_t served)
{
    const struct fitting *f = context;
    struct session *s = f->session;
    char low[32], high[32];
    status_line_show(&s->status, "fit %zu/%zu, %s of %s, replay %u: between %s and %s",
                     f->index + 1, s->fit_count, f->strategy, s->traces[f->trace].name, replays,
                     text_bytes(low, refused), text_bytes(high, served));
}

static int read_trace(void *context, size_t index, const volatile sig_atomic_t *stop,
                      struct error *error)
{
    const struct session *s = context;
    struct fitted_trace *trace = &s->traces[index];
    struct trace_reader *reader;
    (void)stop;
    if (!trace->is_needed)
        return 0;
    TRY(trace_open(trace->path, &reader, error));
    int code = lifetimes_read(reader, &trace->lifetimes, error);
    trace_close(reader);
    return code;
}

static int fit_one(struct fitting *f, const volatile sig_atomic_t *stop, struct error *error)
{
    const struct session *s = f->session;
    const struct fitted_trace *trace = &s->traces[f->trace];
    const struct fit_options options = {.strategy = f->strategy,
                                        .free_at = s->free_at,
                                        .lower_bound_bytes = trace->lifetimes.peak_bytes,
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
    struct session *s = context;
    if (index >= s->trace_count) {
        struct fitting *f = &s->fits[index - s->trace_count];
        return f->is_own ? fit_one(f, stop, error) : 0;
    }
    struct fitted_trace *trace = &s->traces[index];
    if (trace->is_needed)
        lifetimes_optimum(&trace->lifetimes, (int64_t)flag_number(s->line, "time-limit"),
                          &trace->optimum);
    return 0;
}

static void put_fits(struct session *s)
{
    json_t *fits = tree_array();
    for (size_t i = 0; i < s->fit_count; i++) {
        struct fitting *f = &s->fits[i];
        if (f->is_own && f->has_ended && !f->json && s->traces[f->trace].is_planned)
            f->json = fit_to_json(f);
        if (f->json)
            tree_append(fits, json_incref(f->json));
    }
    tree_put(s->recording.result.root, "fits", fits);
}

static void ended(void *context, size_t index)
{
    struct session *s = context;
    if (index < s->trace_count)
        s->traces[index].is_planned = true;
    else
        s->fits[index - s->trace_count].has_ended = true;
    put_fits(s);
    recording_save_now_and_then(&s->recording);
}

static int fit_all(struct session *s, struct error *error)
{
    const unsigned jobs = (unsigned)flag_number(s->line, "jobs");
    const struct parallel reading = {
        .count = s->trace_count, .jobs = jobs, .context = s, .work = read_trace};
    const struct parallel fitting = {.count = s->trace_count + s->fit_count,
                                     .jobs = jobs,
                                     .context = s,
                                     .work = work,
                                     .done = ended};
    TRY(parallel_run(&reading, &s->interrupted, error));
    if (s->interrupted)
        return 0;
    status_line_open(&s->status, stderr);
    int code = parallel_run(&fitting, &s->interrupted, error);
    status_line_clear(&s->status);
    return code;
}

/* ---- output ---- */

static void explain(struct text_grid *grid, const struct fit *fit)
{
    const struct replay_refusal *r = &fit->refusal;
    char bytes[32], live[32], granted[32], free_bytes[32], largest[32];
    struct text why = {0};
    text_add(&why, "%s: %s at event %" PRIu64, fit_cause_name(fit->cause),
             text_bytes(bytes, r->bytes), r->event);
    if (*r->site)
        text_add(&why, " (%.60s)", r->site);
    text_add(&why, "; %s live", text_bytes(live, r->requested_bytes));
    if (fit->cause == FIT_rounding)
        text_add(&why, ", which take %s", text_bytes(granted, r->granted_bytes));
    if (fit->cause != FIT_demand && r->knows_free && r->free_pieces)
        text_add(&why, ", %s free in %" PRIu64 " piece%s, the largest %s",
                 text_bytes(free_bytes, r->free_bytes), r->free_pieces,
                 r->free_pieces == 1 ? "" : "s", text_bytes(largest, r->largest_free_bytes));
    text_grid_add(grid, "%s", why.data);
    text_free(&why);
}

static void add_fit(struct text_grid *grid, const struct fitting *f)
{
    const struct fitted_trace *trace = &f->session->traces[f->trace];
    const struct optimum *optimum = &trace->optimum;
    const struct fit *fit = &f->fit;
    struct text_grid_row *row = text_grid_add_row(grid);
    char optimum_bytes[32], peak[32];
    if (f->is_first)
        row->heading =
            arena_printf(&grid->arena, "%s: lower bound %s, optimum %s%s", trace->name,
                         text_bytes(peak, trace->lifetimes.peak_bytes),
                         optimum->known ? text_bytes(optimum_bytes, optimum->bytes) : "unknown: ",
                         optimum->known ? optimum->proven ? " (proven)" : " (the best found)"
                                        : optimum->why_not);
    text_grid_add(grid, "%s", trace->name);
    text_grid_add(grid, "%s", f->strategy);
    if (fit->status != CASE_ok) {
        text_grid_skip(grid, 5);
        text_grid_add(grid, "%s: %s", case_status_name(fit->status), fit->reason);
        return;
    }
    text_grid_add_bytes(grid, fit->capacity_bytes);
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
    if (fit->cause == FIT_none)
        text_grid_skip(grid, 1);
    else
        explain(grid, fit);
}

static void print_table(const struct session *s, enum table_format format)
{
    struct text_grid grid = text_grid_of("trace^3|strategy|>least capacity|>of optimum|>no "
                                         "limit|>regret|>replays^4|~refused below it");
    grid.indent = format == TABLE_TEXT ? 2 : 0;
    grid.column[0].hidden = format == TABLE_TEXT;
    grid.complete = "--format csv has all";
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

static void print_json(const struct session *s)
{
    json_t *root = tree_object();
    tree_put(root, "fits", tree_share(s->recording.result.root, "fits"));
    json_dumpf(root, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(root);
}

/* ---- the command ---- */

/* An item is a fit. Those of a trace stay together: they share its optimum. */
static int make_work(struct session *s, struct error *error)
{
    uint64_t events = 0;
    s->work = (struct work){.items = must_alloc((s->fit_count + 1) * sizeof *s->work.items),
                            .count = s->fit_count};
    for (size_t i = 0; i < s->fit_count; i++) {
        const struct fitted_trace *trace = &s->traces[s->fits[i].trace];
        struct text description = {0};
        if (flag_text(s->line, "shard") && (i == 0 || s->fits[i - 1].trace != s->fits[i].trace))
            TRY(trace_events(trace->path, &events, error));
        text_add(&description, "fit %s %s", trace->name, s->fits[i].strategy);
        shard_id(description.data, s->work.items[i].id);
        s->work.items[i].unit = trace->name;
        s->work.items[i].cost = events;
        text_free(&description);
    }
    return 0;
}

/* Takes the fits that an earlier try has made. */
static void take_earlier(struct session *s)
{
    json_t *all = json_object_get(s->recording.result.root, "fits"), *by_id = tree_object(), *one;
    size_t k;
    json_array_foreach(all, k, one)
    {
        tree_put(by_id, tree_get_text(one, "id"), json_incref(one));
    }
    for (size_t i = 0; i < s->fit_count; i++)
        s->fits[i].json = json_incref(json_object_get(by_id, s->work.items[i].id));
    json_decref(by_id);
}

static int start(struct session *s, struct error *error)
{
    TRY(make_work(s, error));
    TRY(recording_open_dry(&s->recording, s->line, 0, NULL, error));
    TRY(recording_start(&s->recording, s->line, &s->work, error));
    take_earlier(s);
    for (size_t i = 0; i < s->fit_count; i++) {
        struct fitting *f = &s->fits[i];
        f->is_own = s->work.own[i];
        f->is_first = f->is_own && !s->traces[f->trace].is_needed;
        s->traces[f->trace].is_needed |= f->is_own;
    }
    put_fits(s);
    return 0;
}

static int prepare(struct session *s, struct error *error)
{
    const struct command_line *line = s->line;
    const char *list = flag_text(line, "strategy");
    s->free_at = flag_number(line, "free-at") ? FREE_AT_LET_GO : FREE_AT_DONE;
    TRY(trace_strategies_named(list ? list : "all", &s->strategies, error));
    TRY(traces_named(line, &s->named, error));
    const size_t most = s->strategies.selection.strategies.count + s->strategies.recorded;
    s->traces = must_alloc(s->named.count * sizeof *s->traces);
    s->fits = must_alloc(s->named.count * most * sizeof *s->fits);
    for (; s->trace_count < s->named.count; s->trace_count++) {
        struct fitted_trace *trace = &s->traces[s->trace_count];
        struct names strategies;
        trace->path = s->named.paths[s->trace_count];
        TRY(replay_trace_name(trace->path, trace->name, error));
        TRY(trace_strategies_of(&s->strategies, &s->named, s->trace_count, &strategies, error));
        for (size_t i = 0; i < strategies.count; i++, s->fit_count++)
            s->fits[s->fit_count] = (struct fitting){.session = s,
                                                     .index = s->fit_count,
                                                     .trace = s->trace_count,
                                                     .strategy = strategies.items[i]};
    }
    return start(s, error);
}

static int finish(const struct session *s)
{
    const uint64_t format = flag_number(s->line, "format");
    size_t ok = 0, failed = 0;
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
        print_json(s);
    else
        print_table(s, (enum table_format)format);
    return failed ? EXIT_CASE_FAILED : EXIT_OK;
}

static int fit_command(const struct command_line *line)
{
    struct session s = {.line = line};
    struct error error = {0};
    int code = prepare(&s, &error);
    if (!code)
        code = fit_all(&s, &error);
    if (s.work.own) {
        put_fits(&s);
        const int saved =
            recording_finish(&s.recording, s.interrupted, code != 0, code ? NULL : &error);
        code = code ? code : saved;
    }
    int exit_code = code ? report_error(&error) : s.interrupted ? EXIT_INTERRUPTED : finish(&s);
    for (size_t i = 0; i < s.fit_count; i++)
        json_decref(s.fits[i].json);
    recording_free(&s.recording);
    free(s.work.items);
    free(s.work.own);
    for (size_t i = 0; i < s.trace_count; i++)
        lifetimes_free(&s.traces[i].lifetimes);
    select_free(&s.strategies.selection);
    traces_free(&s.named);
    free(s.traces);
    free(s.fits);
    return exit_code;
}

const struct command command_fit = {
    .name = "fit",
    .summary = "the least memory under which each allocator serves a trace",
    .arguments = "TRACE...",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_ANY,
    .flags = flags,
    .notes = "An allocator serves the trace with the least capacity, and refuses a request with\n"
             "512 bytes less: replays find it, in which the allocator releases what it can and\n"
             "asks again. The last column says which request that is and why: demand (the live\n"
             "blocks and the request are larger than the capacity), rounding (of what is lost,\n"
             "most is in blocks that are larger than requested) or fragmentation (most is free,\n"
             "in pieces that do not serve the request).\n"
             "\n"
             "The lower bound is the most bytes that live at once. The optimum is that of a\n"
             "planner that knows all requests in advance and has one memory; allocators that\n"
             "give each block a memory of its own, such as raw, may stay below it. Regret is\n"
             "what an allocator holds without a limit, over the optimum.\n",
    .run = fit_command,
};
