#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/tree.h"
#include "cli/commands.h"
#include "cli/traces.h"
#include "record/table/text_grid.h"
#include "run/replay/cases.h"
#include "run/replay/fit.h"
#include "run/replay/parallel.h"
#include "run/select/select.h"

enum fit_flag { FIT_STRATEGY, FIT_FREE_AT, FIT_TIME_LIMIT, FIT_JOBS, FIT_FORMAT };

static const struct flag flags[] = {
    [FIT_STRATEGY] =
        {"strategy", 's', FLAG_LIST, "LIST", NULL, NULL, 0, 0,
         "allocators: all, recorded (the trace's own), pool, 'caching:max_split=64MiB', "
         "… [all]"},
    [FIT_FREE_AT] = {"free-at", 0, FLAG_CHOICE, "WHEN", "done", "done|let-go", 0, 0,
                     "when a freed block may be used again: when its last command is done, or "
                     "when the application lets it go"},
    [FIT_TIME_LIMIT] = {"time-limit", 0, FLAG_TIME, "TIME", "10s", NULL, 0, 0,
                        "how long the planner looks for the optimum of a trace"},
    [FIT_JOBS] = {"jobs", 'j', FLAG_COUNT, "N", "0", NULL, 0, 1024,
                  "searches at once; 0: one for each processor"},
    [FIT_FORMAT] = {"format", 0, FLAG_CHOICE, "FORMAT", "table", "table|md|csv|json", 0, 0,
                    "what is printed on stdout"},
    {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
};

struct fitted_trace {
    const char *path;
    char name[64];
    struct lifetimes lifetimes;
    struct optimum optimum;
};

/* One strategy on one trace. */
struct fitting {
    struct session *session;
    size_t index, trace;
    const char *strategy;
    struct fit fit;
};

struct session {
    const struct command_line *line;
    struct traces named;
    struct trace_strategies strategies;
    enum replay_free_at free_at;
    size_t trace_count, fit_count;
    struct fitted_trace *traces;
    struct fitting *fits; /* by trace, then by strategy */
    struct status_line status;
    bool interrupted;
};

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
    if (index >= s->trace_count)
        return fit_one(&s->fits[index - s->trace_count], stop, error);
    struct fitted_trace *trace = &s->traces[index];
    lifetimes_optimum(&trace->lifetimes, (int64_t)s->line->flag[FIT_TIME_LIMIT].number,
                      &trace->optimum);
    return 0;
}

static int fit_all(struct session *s, struct error *error)
{
    const unsigned jobs = (unsigned)s->line->flag[FIT_JOBS].number;
    const struct parallel reading = {
        .count = s->trace_count, .jobs = jobs, .context = s, .work = read_trace};
    const struct parallel fitting = {
        .count = s->trace_count + s->fit_count, .jobs = jobs, .context = s, .work = work};
    TRY(parallel_run(&reading, &s->interrupted, error));
    if (s->interrupted)
        return 0;
    status_line_open(&s->status, stderr);
    int code = parallel_run(&fitting, &s->interrupted, error);
    status_line_clear(&s->status);
    return code;
}

/* ---- output ---- */

static double ratio(uint64_t bytes, uint64_t to)
{
    return to ? (double)bytes / (double)to : 1;
}

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
    if (f->index == 0 || f[-1].trace != f->trace)
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
        add_fit(&grid, &s->fits[i]);
    const struct terminal terminal = terminal_of(stdout);
    struct terminal_page page;
    terminal_page_open(&page, stdout);
    text_grid_print(&grid, format, &terminal, page.out);
    terminal_page_close(&page);
    text_grid_free(&grid);
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

static void print_json(const struct session *s)
{
    json_t *root = tree_object(), *fits = tree_array();
    for (size_t i = 0; i < s->fit_count; i++)
        tree_append(fits, fit_to_json(&s->fits[i]));
    tree_put(root, "fits", fits);
    json_dumpf(root, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(root);
}

/* ---- the command ---- */

static int prepare(struct session *s, struct error *error)
{
    const struct command_line *line = s->line;
    const char *list = line->flag[FIT_STRATEGY].text;
    s->free_at = line->flag[FIT_FREE_AT].number ? FREE_AT_LET_GO : FREE_AT_DONE;
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
            s->fits[s->fit_count] =
                (struct fitting){s, s->fit_count, s->trace_count, strategies.items[i], {0}};
    }
    return 0;
}

static int finish(const struct session *s)
{
    const uint64_t format = s->line->flag[FIT_FORMAT].number;
    size_t ok = 0, failed = 0;
    for (size_t i = 0; i < s->fit_count; i++) {
        ok += s->fits[i].fit.status == CASE_ok;
        failed += s->fits[i].fit.status > CASE_skipped;
    }
    if (ok + failed == 0) {
        fprintf(stderr, "gamut: none of these allocators can serve a trace without a device: %s\n",
                s->fits[0].fit.reason);
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
    int exit_code = code ? report_error(&error) : s.interrupted ? EXIT_INTERRUPTED : finish(&s);
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
    .most_positionals = POSITIONALS_MAX,
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
