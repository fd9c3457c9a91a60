/* gamut trace: makes traces of logs, and looks at, checks, cuts, compares and exports them. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc/pytorch_conf.h"
#include "base/text.h"
#include "base/tree.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/traces.h"
#include "results/file/result_file.h"
#include "results/show/text_grid.h"
#include "replay/plan.h"
#include "replay/waits.h"
#include "trace/edit.h"
#include "trace/holders.h"
#include "trace/import.h"
#include "trace/text.h"
#include "trace/trace.h"

enum trace_format { FORMAT_TEXT, FORMAT_JSON };

static const struct flag flags[] = {
    {"out", 'o', FLAG_TEXT,
     .help = "import, cut, plan, export: the file to write (export: default stdout). import writes "
             "FILE-DEVICE.trace if the log has several devices"},
    FLAG_FORCE,
    {"format", 'f', FLAG_CHOICE, .value = "FORMAT", .fallback = "text", .choices = "text|json",
     .help = "info, waits: what is printed on stdout"},
    {"log", 0, FLAG_TEXT, .value = "NAME",
     .help = "import: the kind of log, instead of finding it by the contents"},
    {"first", 0, FLAG_COUNT, .fallback = "1", .least = 1, .help = "cut: number of the first event"},
    {"last", 0, FLAG_COUNT, .least = 1,
     .help = "cut: number of the last event; default: that of the trace"},
    {"phase", 0, FLAG_TEXT, .value = "NAME",
     .help = "cut: the first phase of this name, instead of --first and --last; without the blocks "
             "from before that nothing in it uses or frees"},
    {"actions", 0, FLAG_SWITCH,
     .help = "diff: compare what was done, not when: requests, frees, commands with their blocks, "
             "waits; no times, names, threads or `done`"},
    {"lines", 0, FLAG_COUNT, .fallback = "20", .least = 1,
     .help = "diff: how many differences are printed. waits: how many places"},
    FLAGS_END,
};

/* ---- info ---- */

/* What `info` finds in the events. */
struct findings {
    uint64_t untimed; /* commands that lack the device's time, though the trace knows it */
    uint64_t refused_event, refused_bytes; /* the last request that was refused; 0: none was */
    /* Of the phases that are named as the first one: the last that came long after the one before,
     * what came since, and the longest time between two. */
    uint64_t warm_event, warm_ns, longest_ns, last_ns;
    unsigned phase, since, all;
    struct holders holders;
};

enum { LONG_TIMES = 10 };

static void add_phase(struct findings *f, const struct trace_event *e, uint64_t number)
{
    if (e->kind != TRACE_begin || (f->phase && f->phase != e->name))
        return;
    const uint64_t ns = e->time_ns - f->last_ns;
    f->phase = e->name;
    f->last_ns = e->time_ns;
    f->since++;
    f->all++;
    if (LONG_TIMES * ns < f->longest_ns)
        return;
    f->longest_ns = ns > f->longest_ns ? ns : f->longest_ns;
    f->warm_event = number;
    f->warm_ns = e->time_ns;
    f->since = 0;
}

/* Whether the log begins with seconds in which torch.compile or XLA compiles. *usual_ns: between
 * two phases later. */
static bool is_cold(const struct findings *f, uint64_t *usual_ns)
{
    *usual_ns = f->since ? (f->last_ns - f->warm_ns) / f->since : 0;
    return f->since > f->all / 2 && f->warm_ns >= UINT64_C(10000000000) &&
           f->longest_ns >= LONG_TIMES * *usual_ns;
}

/* Reads the whole trace, so that the totals are those of its events. */
static int read_all(struct trace_reader *reader, struct findings *f, struct error *error)
{
    const bool knows = trace_reader_info(reader)->knows[TRACE_KNOWS_device_times];
    struct trace_event event;
    int more;
    *f = (struct findings){0};
    while ((more = trace_next(reader, &event, error)) > 0) {
        f->untimed += knows && trace_lacks_time(&event);
        add_phase(f, &event, trace_reader_totals(reader)->events);
        if (event.kind != TRACE_refused)
            continue;
        f->refused_event = trace_reader_totals(reader)->events;
        f->refused_bytes = event.bytes;
    }
    return more;
}

static uint64_t command_count(const struct trace_totals *t)
{
    uint64_t count = 0;
    for (int k = TRACE_launch; k <= TRACE_read; k++)
        count += t->by_kind[k];
    return count;
}

static void add_fact(struct text_grid *grid, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add_fact(struct text_grid *grid, const char *name, const char *format, ...)
{
    char value[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    if (!*value)
        return;
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", name);
    text_grid_add(grid, "%s", value);
}

/* The questions that have no answer without a fact. */
static const char *const without[TRACE_FACTS] = {
    [TRACE_KNOWS_times] = "how long anything takes",
    [TRACE_KNOWS_frees] = "--free-at let-go",
    [TRACE_KNOWS_done] = "whether memory is reused too early on another queue; --free-at done",
    [TRACE_KNOWS_queues] = "what several queues cost: all events are on one",
    [TRACE_KNOWS_pools] = "what private pools hold: a block whose pool is unknown counts as one of "
                          "the common pool",
    [TRACE_KNOWS_threads] = "which thread asks",
    [TRACE_KNOWS_sites] = "strategies that use call sites (tagged); which site causes a peak",
    [TRACE_KNOWS_granted] = "what the recorded allocator rounded up",
    [TRACE_KNOWS_addresses] = "where the recorded allocator put each block",
    [TRACE_KNOWS_driver] = "what the recorded allocator held: no comparison with a replay",
    [TRACE_KNOWS_uses] = "the lower bound from last uses; first uses; waits for commands",
    [TRACE_KNOWS_device_times] = "how long the device works",
    [TRACE_KNOWS_ends] = "how long the host waits: only bounds",
    [TRACE_KNOWS_phases] = "plans by iteration",
};

static void print_facts(const struct trace_info *info, struct terminal_page *page)
{
    struct text_grid unknown = text_grid_of("fact|~help");
    struct text known = {0};
    unknown.indent = 2;
    unknown.no_titles = true;
    for (int f = 0; f < TRACE_FACTS; f++) {
        if (info->knows[f]) {
            text_add(&known, " %s", trace_fact_name((enum trace_fact)f));
            continue;
        }
        text_grid_add_row(&unknown);
        text_grid_add(&unknown, "%s", trace_fact_name((enum trace_fact)f));
        text_grid_add(&unknown, "%s", without[f]);
    }
    fprintf(page->out, "\nknown:%s\n", known.data ? known.data : " nothing");
    if (unknown.row_count)
        fprintf(page->out, "unknown, and so not answered:\n");
    text_grid_print(&unknown, TABLE_TEXT, &page->terminal, page->out);
    text_free(&known);
    text_grid_free(&unknown);
}

static void add_holders(struct text_grid *grid, const struct holders *holders)
{
    struct text words = {0};
    const char *label;
    for (unsigned i = 0; (label = holders_add_line(&words, holders, i)); i++) {
        add_fact(grid, label, "%s", words.data);
        words.length = 0;
    }
    text_free(&words);
}

static void print_info(const struct trace_reader *reader, const struct findings *f)
{
    const struct trace_info *info = trace_reader_info(reader);
    const struct trace_totals *t = trace_reader_totals(reader);
    struct terminal_page page;
    struct text_grid grid = text_grid_of("fact|~value");
    char peak[32], sum[32], capacity[32], alignment[32], duration[32], least[32], most[32];
    uint64_t lost, usual_ns;
    terminal_page_open(&page, stdout);
    grid.no_titles = true;
    add_fact(&grid, "source", "%s", info->source);
    add_fact(&grid, "application", "%s", info->application);
    add_fact(&grid, "device", "%s", info->device);
    add_fact(&grid, "capacity", "%s",
             info->capacity_bytes ? text_bytes(capacity, info->capacity_bytes) : "");
    if (info->limit_most_bytes)
        add_fact(&grid, "limit", "inferred from refusals: %s to %s%s",
                 text_bytes(least, info->limit_least_bytes),
                 text_bytes(most, info->limit_most_bytes),
                 trace_limit(info) ? "" : "; it changed, so replays have none");
    add_fact(&grid, "alignment", "%s",
             info->alignment_bytes ? text_bytes(alignment, info->alignment_bytes) : "");
    add_fact(&grid, "allocator", "%s", info->allocator);
    add_fact(&grid, "began", "%s", info->began);
    add_fact(&grid, "duration", "%s",
             info->knows[TRACE_KNOWS_times] ? text_ns(duration, (double)t->last_ns) : "");
    add_fact(&grid, "events", "%" PRIu64, t->events);
    add_fact(&grid, "blocks", "%" PRIu64 ", %s requested", t->blocks,
             text_bytes(sum, t->requested_bytes));
    add_fact(&grid, "peak", "%s (%" PRIu64 " bytes) requested at once",
             text_bytes(peak, t->peak_bytes), t->peak_bytes);
    add_fact(&grid, "from before", "%" PRIu64 " blocks lived when the trace began%s",
             t->by_kind[TRACE_held],
             t->by_kind[TRACE_start] ? "; replays of the recorded allocator begin with its memory"
             : info->lost_beginning
                 ? "; the log lost its beginning, so replays lack memory from before"
                 : "");
    add_fact(&grid, "at the end", "%" PRIu64 " blocks live", t->live_at_end);
    add_fact(&grid, "queues", "%" PRIu64, t->queues);
    add_holders(&grid, &f->holders);
    if (f->refused_event)
        add_fact(&grid, "refused", "%s at event %" PRIu64 "; gamut explain says why",
                 text_bytes(peak, f->refused_bytes), f->refused_event);
    if (is_cold(f, &usual_ns))
        add_fact(&grid, "cold",
                 "the first %s, in which something was compiled; later a phase comes every %s. "
                 "The requests of a warm run are those from event %" PRIu64 " on",
                 text_ns(duration, (double)f->warm_ns), text_ns(least, (double)usual_ns),
                 f->warm_event);
    if (f->untimed)
        add_fact(&grid, "untimed", "%" PRIu64 " of %" PRIu64 " commands have no device time",
                 f->untimed, command_count(t));
    if (trace_was_cut(reader, &lost))
        add_fact(&grid, "cut off",
                 "the file has no end: %" PRIu64 " bytes after the last whole "
                 "chunk are lost",
                 lost);
    text_grid_print(&grid, TABLE_TEXT, &page.terminal, page.out);
    print_facts(info, &page);
    if (info->unseen)
        fprintf(page.out, "\n");
    traces_say_unseen(info, page.out);
    terminal_page_close(&page);
    text_grid_free(&grid);
}

static int info_of(const struct command_line *line, struct trace_reader *reader,
                   struct error *error)
{
    struct findings found;
    struct holders holders = {0};
    uint64_t lost;
    int code = 0;
    if (trace_reader_info(reader)->knows[TRACE_KNOWS_sites])
        code = holders_at_peak(reader, &holders, error);
    THEN(code, read_all(reader, &found, error));
    found.holders = holders;
    if (!code && flag_number(line, "format") != FORMAT_JSON) {
        print_info(reader, &found);
    } else if (!code) {
        json_t *json = trace_info_to_json(trace_reader_info(reader));
        tree_put(json, "totals", trace_totals_to_json(trace_reader_totals(reader)));
        tree_put(json, "cut_off", json_boolean(trace_was_cut(reader, &lost)));
        tree_put(json, "untimed_commands", tree_count(found.untimed));
        tree_put(json, "holders", holders_to_json(&holders));
        tree_print(json, JSON_INDENT(1), stdout);
    }
    holders_free(&holders);
    return code;
}

/* ---- the others ---- */

static int show(const struct command_line *line, struct trace_reader *reader, struct error *error)
{
    return trace_print(reader, stdout, error);
}

/* The reader checks everything; what it accepts is sound, unless the file was cut off. */
static int check(const struct command_line *line, struct trace_reader *reader, struct error *error)
{
    struct findings found;
    uint64_t lost;
    TRY(read_all(reader, &found, error));
    const struct trace_totals *t = trace_reader_totals(reader);
    if (trace_was_cut(reader, &lost))
        return error_set(error, ERR_PARSE,
                         "%s: the file was cut off after event %" PRIu64 ": %" PRIu64
                         " bytes of the next chunk are lost, and perhaps more; the events before "
                         "are sound",
                         trace_reader_path(reader), t->events, lost);
    printf("ok: %" PRIu64 " events, %" PRIu64 " blocks, digest %016" PRIx64 "\n", t->events,
           t->blocks, t->digest);
    if (found.untimed)
        fprintf(stderr, "  %" PRIu64 " of %" PRIu64 " commands have no device time\n",
                found.untimed, command_count(t));
    traces_say_unseen(trace_reader_info(reader), stderr);
    return 0;
}

static void say_written(const char *path, const struct trace_totals *totals)
{
    char events[48], blocks[48], peak[32];
    fprintf(stderr, "wrote %s: %s, %s, at most %s at once\n", path,
            text_count(events, (double)totals->events, "event"),
            text_count(blocks, (double)totals->blocks, "block"),
            text_bytes(peak, totals->peak_bytes));
}

/* The file that an action writes, which must be given, and refused before the work is done. */
static int find_out(const struct command_line *line, const char **out, struct error *error)
{
    *out = flag_text(line, "out");
    if (!*out)
        return error_set(error, ERR_USAGE, "%s: --out FILE is missing", line->positional[0]);
    return result_file_check(*out, flag_number(line, "force"), error);
}

static int cut(const struct command_line *line, struct trace_reader *reader, struct error *error)
{
    const struct flag_value *first = flag_of(line, "first"), *last = flag_of(line, "last");
    const char *out, *phase = flag_text(line, "phase");
    struct trace_part part = {.first = first->number,
                              .last = last->given ? last->number : UINT64_MAX};
    struct trace_totals totals;
    TRY(find_out(line, &out, error));
    TRY(flags_exclude(line, "phase", "first,last", error));
    if (phase)
        TRY(trace_find_phase(reader, phase, &part, error));
    TRY(trace_cut(reader, &part, out, flag_number(line, "force"), &totals, error));
    say_written(out, &totals);
    return 0;
}

/* Writes a temporary file that then gets the name: a reader sees all of it or nothing. */
static int export_to_file(struct trace_reader *reader, const char *path, bool replace,
                          struct error *error)
{
    struct text temporary = {0};
    text_add(&temporary, "%s.%ld.tmp", path, (long)getpid());
    FILE *out = fopen(temporary.data, "w");
    int code = out ? trace_export_perfetto(reader, out, error)
                   : error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    if (out && fclose(out) != 0 && !code)
        code = error_set(error, ERR_IO, "%s could not be written: %s", path, strerror(errno));
    if (!code && (replace ? rename(temporary.data, path) : link(temporary.data, path)) != 0)
        code = errno == EEXIST
                   ? error_set(error, ERR_USAGE, "%s is there already: --force replaces it", path)
                   : error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    unlink(temporary.data);
    text_free(&temporary);
    return code;
}

static int export(const struct command_line *line, struct trace_reader *reader, struct error *error)
{
    const char *out;
    if (!flag_text(line, "out"))
        return trace_export_perfetto(reader, stdout, error);
    TRY(find_out(line, &out, error));
    return export_to_file(reader, out, flag_number(line, "force"), error);
}

static int plan(const struct command_line *line, struct trace_reader *reader, struct error *error)
{
    const char *out;
    struct offset_plan made;
    TRY(find_out(line, &out, error));
    TRY(plan_of_trace(trace_reader_path(reader), &made, error));
    int code = plan_write(&made, out, flag_number(line, "force"), error);
    for (unsigned i = 0; i < made.queue_count && !code; i++) {
        const struct plan_queue *q = &made.queues[i];
        char height[32];
        fprintf(stderr, "queue %u: %u requests, ", q->queue, q->count);
        if (q->round_count)
            fprintf(stderr, "the last %u in %u round%s; ", q->count - q->rounds[0], q->round_count,
                    q->round_count == 1 ? "" : "s");
        fprintf(stderr, "arena of %s, %.3f times the lower bound\n", text_bytes(height, q->height),
                q->bound ? (double)q->height / (double)q->bound : 1.0);
    }
    plan_free(&made);
    return code;
}

/* What there is to say about the words of the recorded setting. */
static void say_notes(const char *path)
{
    struct trace_reader *reader;
    struct text spec = {0}, notes = {0};
    if (trace_open(path, &reader, NULL))
        return;
    pytorch_recorded(trace_reader_info(reader)->allocator, &spec, &notes);
    fprintf(stderr, "%s", notes.data ? notes.data : "");
    text_free(&spec);
    text_free(&notes);
    trace_close(reader);
}

static void say_imported(const struct import_report *report)
{
    for (unsigned i = 0; i < report->trace_count; i++) {
        const struct imported *made = &report->traces[i];
        char count[48];
        say_written(made->path, &made->totals);
        if (made->moved_frees)
            fprintf(stderr, "  %s late: moved in front of the next owner of the address\n",
                    text_count(count, (double)made->moved_frees, "free"));
        if (made->dropped_frees)
            fprintf(stderr, "  %s left out: the log does not have the block\n",
                    text_count(count, (double)made->dropped_frees, "free"));
        say_notes(made->path);
    }
}

static int import(const struct command_line *line, struct error *error)
{
    struct text out = {0};
    struct import_report report;
    const char *log = line->positional[1], *given = flag_text(line, "out");
    if (!given) {
        traces_name_of_log(log, &out);
        text_add(&out, "%s", TRACE_SUFFIX);
    }
    int code = import_log(log, flag_text(line, "log"), given ? given : out.data,
                          flag_number(line, "force"), &report, error);
    say_imported(&report);
    import_report_free(&report);
    text_free(&out);
    return code;
}

static int diff(const struct command_line *line, struct trace_reader *left, const char *other,
                uint64_t *differences, struct error *error)
{
    struct trace_reader *right;
    TRY(trace_open(other, &right, error));
    const enum trace_view view = flag_number(line, "actions") ? TRACE_VIEW_ACTIONS : TRACE_VIEW_ALL;
    int code = trace_diff(left, right, view, (unsigned)flag_number(line, "lines"), stdout,
                          differences, error);
    if (!code)
        printf("%" PRIu64 " events differ\n", *differences);
    trace_close(right);
    return code;
}

/* ---- waits ---- */

static void add_share(struct text_grid *grid, const struct wait_sum *sum, uint64_t duration_ns)
{
    if (sum->unknown == sum->calls && sum->calls)
        text_grid_skip(grid, 2);
    else {
        text_grid_add_ns(grid, (double)sum->ns);
        text_grid_add(grid, "%.1f%%",
                      duration_ns ? 100 * (double)sum->ns / (double)duration_ns : 0.0);
    }
}

static void print_wait_kinds(const struct waits *w, struct terminal_page *page)
{
    struct text_grid grid =
        text_grid_of("call|asked for|>calls|>waited|>unknown|>time|>share|>longest");
    grid.indent = 2;
    for (int k = 0; k < WAIT_KINDS; k++) {
        const struct wait_sum *sum = &w->kinds[k];
        if (!sum->calls)
            continue;
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%s", wait_kind_title((enum wait_kind)k));
        text_grid_add(&grid, "%s", wait_is_hidden((enum wait_kind)k) ? "no" : "yes");
        text_grid_add(&grid, "%" PRIu64, sum->calls);
        text_grid_add(&grid, "%" PRIu64, sum->waited);
        text_grid_add(&grid, "%" PRIu64, sum->unknown);
        add_share(&grid, sum, w->duration_ns);
        text_grid_add_ns(&grid, sum->waited ? (double)sum->longest_ns : NAN);
    }
    text_grid_print(&grid, TABLE_TEXT, &page->terminal, page->out);
    text_grid_free(&grid);
}

/* Names of templates are longer than a line. */
static void add_name(struct text_grid *grid, const char *name)
{
    enum { MOST = 48 };
    text_grid_add(grid, "%.*s%s", MOST, name ? name : "", name && strlen(name) > MOST ? "..." : "");
}

static void print_wait_places(const struct waits *w, uint64_t most, struct terminal_page *page)
{
    struct text_grid grid = text_grid_of(">time|>share|>waits|call|at|waits for");
    grid.indent = 2;
    for (unsigned i = 0; i < w->place_count && i < most; i++) {
        const struct wait_place *p = &w->places[i];
        text_grid_add_row(&grid);
        add_share(&grid, &p->sum, w->duration_ns);
        text_grid_add(&grid, "%" PRIu64, p->sum.waited);
        text_grid_add(&grid, "%s", wait_kind_title(p->kind));
        add_name(&grid, p->at);
        add_name(&grid, p->last);
    }
    fprintf(page->out, "\n");
    text_grid_print(&grid, TABLE_TEXT, &page->terminal, page->out);
    if (w->place_count > most)
        fprintf(page->out, "  and %" PRIu64 " places more: --lines\n", w->place_count - most);
    text_grid_free(&grid);
}

/* The words in front of a sum of waits. */
static const char *bound_of(const struct waits *w, const struct wait_sum *sum)
{
    return !w->by_ends ? "at most " : sum->unknown ? "at least " : "";
}

static void print_waits(const char *path, const struct waits *w, uint64_t most)
{
    const struct wait_sum asked = waits_sum(w, false), hidden = waits_sum(w, true);
    struct terminal_page page;
    char one[32], two[32], all[32];
    terminal_page_open(&page, stdout);
    fprintf(page.out, "%s: of %s the host waited %s%s as asked for, and %s%s hidden\n", path,
            text_ns(all, (double)w->duration_ns), bound_of(w, &asked),
            text_ns(one, (double)asked.ns), bound_of(w, &hidden), text_ns(two, (double)hidden.ns));
    if (!w->by_ends)
        fprintf(page.out, "bounds: the record has no ends of commands (gamut record --times)\n");
    else
        fprintf(page.out, "by the ends of the commands\n");
    if (w->by_ends && w->without_end)
        fprintf(page.out,
                "%" PRIu64 " of %" PRIu64 " commands have no end in the record: calls in which one "
                "of them may have ended are unknown\n",
                w->without_end, w->commands);
    fprintf(page.out, "\n");
    print_wait_kinds(w, &page);
    if (w->place_count)
        print_wait_places(w, most, &page);
    terminal_page_close(&page);
}

static int waits_of(const struct command_line *line, const char *path, const char *given,
                    json_t *all, struct error *error)
{
    const uint64_t most = flag_number(line, "lines");
    struct trace_reader *reader;
    struct waits waits;
    TRY(trace_open(path, &reader, error));
    const int code = waits_read(reader, &waits, error);
    if (!code && all) {
        json_t *json = waits_to_json(&waits, most);
        tree_put(json, "trace", tree_text(given));
        tree_append(all, json);
    } else if (!code) {
        print_waits(given, &waits, most);
    }
    waits_free(&waits);
    trace_close(reader);
    return code;
}

static int waits(const struct command_line *line, const struct traces *traces, struct error *error)
{
    const bool as_json = flag_number(line, "format") == FORMAT_JSON;
    json_t *all = as_json ? tree_array() : NULL;
    int code = 0;
    for (unsigned i = 0; !code && i < traces->count; i++) {
        if (i && !as_json)
            putchar('\n');
        code = waits_of(line, traces->paths[i], line->positional[i + 1], all, error);
    }
    if (all && !code)
        tree_print(json_incref(all), JSON_INDENT(1), stdout);
    json_decref(all);
    return code;
}

/* ---- the command ---- */

enum { ANY_FILES = 0 }; /* one or more */

static const struct action {
    const char *name, *flags; /* those that it reads */
    size_t files;
    int (*run)(const struct command_line *line, struct trace_reader *reader, struct error *error);
} actions[] = {
    {"info", "format", 1, info_of},
    {"show", "", 1, show},
    {"check", "", 1, check},
    {"cut", "out,force,first,last,phase", 1, cut},
    {"diff", "actions,lines", 2, NULL},
    {"plan", "out,force", 1, plan},
    {"import", "out,force,log", 1, NULL},
    {"export", "out,force", 1, export},
    {"waits", "format,lines", ANY_FILES, NULL},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

TEXT_NAMES(action_name, ACTIONS, actions[i].name)

/* Refuses a flag that the action does not read, and names the actions that do. */
static int check_flags(const struct command_line *line, const struct action *action,
                       struct error *error)
{
    char readers[64] = "";
    for (const struct flag *f = flags; f->name; f++) {
        if (!flag_is_typed(line, f->name) || text_is_listed(action->flags, f->name))
            continue;
        for (size_t i = 0; i < ACTIONS; i++)
            if (text_is_listed(actions[i].flags, f->name))
                strcat(strcat(readers, *readers ? ", " : ""), actions[i].name);
        return error_set(error, ERR_USAGE, "trace %s does not read --%s, which is for %s",
                         action->name, f->name, readers);
    }
    return 0;
}

static int find_action(const struct command_line *line, const struct action **action,
                       struct error *error)
{
    const size_t files = line->positional_count - 1;
    size_t i = 0;
    while (i < ACTIONS && strcmp(actions[i].name, line->positional[0]) != 0)
        i++;
    if (i == ACTIONS)
        return text_unknown(error, line->positional[0], action_name, NULL,
                            "trace: there is no action");
    *action = &actions[i];
    if (actions[i].files == ANY_FILES && !files)
        return error_set(error, ERR_USAGE, "trace %s: expected a file", actions[i].name);
    if (actions[i].files != ANY_FILES && actions[i].files != files)
        return error_set(error, ERR_USAGE, "trace %s: expected %zu file%s, found %zu",
                         actions[i].name, actions[i].files, actions[i].files > 1 ? "s" : "", files);
    return check_flags(line, *action, error);
}

static int run_action(const struct command_line *line, struct traces *traces, uint64_t *differences,
                      struct error *error)
{
    const struct action *action = NULL;
    struct trace_reader *reader;
    TRY(find_action(line, &action, error));
    if (strcmp(action->name, "import") == 0)
        return import(line, error);
    for (size_t i = 1; i < line->positional_count; i++)
        TRY(traces_add_one(traces, line->positional[i], error));
    if (action->files == ANY_FILES)
        return waits(line, traces, error);
    TRY(trace_open(traces->paths[0], &reader, error));
    const int code = action->run ? action->run(line, reader, error)
                                 : diff(line, reader, traces->paths[1], differences, error);
    trace_close(reader);
    return code;
}

static int trace_command(const struct command_line *line)
{
    struct error error = {0};
    struct traces traces = {0};
    uint64_t differences = 0;
    const int code = run_action(line, &traces, &differences, &error);
    traces_name_logs(&traces, &error);
    traces_free(&traces);
    return code ? report_error(&error) : differences ? EXIT_REGRESSION : EXIT_OK;
}

const struct command command_trace = {
    .name = "trace",
    .summary = "import, look at, check, cut and export traces of applications",
    .arguments = "info|show|check|cut|diff|plan|import|export|waits TRACE|LOG",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .run = trace_command,
};
