/* gamut advise: says which allocator settings an application should have. */
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
#include "cli/session.h"
#include "replay/advise.h"
#include "replay/cases.h"

enum advise_format { ADVISE_TEXT, ADVISE_MARKDOWN, ADVISE_JSON };

static const struct flag flags[] = {
    {"for", 0, FLAG_CHOICE, .value = "APPLICATION", .fallback = "auto",
     .choices = "auto|pytorch|rmm|pyopencl|gamut",
     .help = "whose settings are tried, in whose words; auto: as the trace says"},
    {"current", 0, FLAG_TEXT, .value = "STRATEGY",
     .help = "the allocator that the application has now [as the trace says]"},
    FLAG_FREE_AT("done|let-go"),
    FLAG_MEM_LIMIT,
    FLAG_ATLAS,
    FLAG_JOBS,
    FLAG_SHARD,
    FLAG_FORMAT("text", "text|md|json"),
    FLAGS_ALSO_RESULT_FILE,
    FLAGS_END,
};

/* ---- sentences ---- */

/* The lines of an advice, each with a label. */
struct page {
    enum advise_format format;
    FILE *out;
};

static void line(const struct page *page, const char *label, struct text *sentence)
{
    if (page->format == ADVISE_MARKDOWN)
        terminal_print(page->out, "- **%s**: %s\n", label, sentence->data);
    else
        terminal_print(page->out, "  %-9s %s\n", label, sentence->data);
    text_free(sentence);
}

static char *words_of(const struct allocator_setting *setting, struct text *words)
{
    setting_words(setting, words);
    return words->data;
}

/* "1.84 GiB instead of 4.44 GiB (58.5 % less)" */
static void add_memory(struct text *out, uint64_t now_bytes, uint64_t then_bytes)
{
    char now[32], then[32];
    text_add(out, "%s instead of %s", text_bytes(then, then_bytes), text_bytes(now, now_bytes));
    if (then_bytes < now_bytes)
        text_add(out, " (%.1f %% less)",
                 100 * (double)(now_bytes - then_bytes) / (double)now_bytes);
}

static void add_calls(struct text *out, const struct measure *now, const struct measure *then)
{
    char before[32], after[32];
    text_add(out, "%" PRIu64 " instead of %" PRIu64, then->call_count, now->call_count);
    if (now->driver_ns != UNKNOWN_NS && then->driver_ns != UNKNOWN_NS)
        text_add(out, ", which take %s instead of %s", text_ns(after, (double)then->driver_ns),
                 text_ns(before, (double)now->driver_ns));
    else
        text_add(out, "; their time is unknown without --atlas");
}

/* The purpose of the advice. */
static const char *gain_of(const struct measure *now, const struct measure *then, bool is_refused)
{
    const bool holds_less = then->reserved_bytes < now->reserved_bytes;
    return is_refused                                         ? "every request within the limit"
           : holds_less && then->call_count < now->call_count ? "less memory and fewer driver calls"
           : holds_less                                       ? "less memory"
                                                              : "fewer driver calls";
}

static void add_certainty(struct text *out, const struct advised_trace *trace)
{
    const struct exactness *x = &trace->now.exactness;
    char bytes[32];
    if (!trace->is_logged)
        text_add(out, "the log does not say which allocator was used; %s is assumed",
                 trace->current);
    else if (!trace->knows_calls)
        text_add(out, "the log has no driver calls that the replay of %s could be compared with",
                 trace->current);
    else if (trace->now.calls_are_logged)
        text_add(out, "the replay of the recorded setting makes the same %" PRIu64 " driver calls",
                 trace->now.call_count);
    else if (x->most_bytes == 0)
        text_add(out,
                 "the replay of the recorded setting holds the log's bytes at each of its %" PRIu64
                 " driver calls",
                 x->call_count);
    else
        text_add(
            out,
            "the replay of the recorded setting holds the log's bytes at %" PRIu64 " of %" PRIu64
            " driver calls, and else up to %s (%.2g %%) more or less: bytes are estimates",
            x->equal_count, x->call_count, text_bytes(bytes, x->most_bytes), 100 * x->most_share);
}

/* ---- text and Markdown ---- */

static void print_head(const struct page *page, const struct advice *advice, const char *name)
{
    struct text words = {0};
    const bool is_markdown = page->format == ADVISE_MARKDOWN;
    const bool fails = advice->leave && advice->is_bad;
    const char *quote = is_markdown && !advice->leave ? "`" : "";
    terminal_print(page->out, "%s%s: %s%s%s\n%s", is_markdown ? "### " : "", name, quote,
                   fails           ? "no setting helps"
                   : advice->leave ? "leave it as it is"
                                   : words_of(&advice->best.setting, &words),
                   quote, is_markdown ? "\n" : "");
    text_free(&words);
}

static const char *application_title(const struct application *application)
{
    return application->source ? application->source : application->name;
}

/* Prints the settings that were compared, and a better one that the application lacks. */
static void print_search(const struct page *page, const struct advise *advise,
                         const struct advice *advice)
{
    const struct advised_trace *trace = &advise->traces[advice->first];
    struct text compared = {0}, spec = {0}, other = {0};
    char bytes[32], calls[48];
    text_add(&compared, "%s, and %zu settings of %s in replays of all %" PRIu64 " requests",
             trace->current, advice->tried_count, application_title(advise->application),
             trace->request_count);
    if (advice->leave && advice->best.is_known)
        text_add(&compared, ": none holds 1 %% less");
    line(page, "compared", &compared);
    if (!advice->other.is_known)
        return;
    setting_spec(&advice->other.setting, &spec);
    text_add(&other, "%s of gamut would hold %s with %s", spec.data,
             text_bytes(bytes, advice->other.on[0].reserved_bytes),
             text_count(calls, (double)advice->other.on[0].call_count, "driver call"));
    text_free(&spec);
    line(page, "elsewhere", &other);
}

static void print_fits(const struct page *page, const struct advised_trace *trace,
                       const struct advice *advice)
{
    const struct fit *now = &advice->current_fit, *then = &advice->best.fit;
    char after[32], before[32], bound[32];
    struct text fits = {0};
    if (!advice->leave && then->status == CASE_ok)
        text_add(&fits, "into %s; ", text_bytes(after, then->capacity_bytes));
    if (now->status == CASE_ok)
        text_add(&fits, "into %s as it is; ", text_bytes(before, now->capacity_bytes));
    text_add(&fits, "the live blocks alone are %s", text_bytes(bound, trace->lower_bound_bytes));
    line(page, "fits", &fits);
}

static void print_one(const struct page *page, const struct advise *advise,
                      const struct advice *advice)
{
    const struct advised_trace *trace = &advise->traces[advice->first];
    const struct measure *now = &trace->now, *then = &advice->best.on[0];
    struct text gain = {0}, memory = {0}, calls = {0}, sure = {0};
    char bytes[32];
    print_head(page, advice, trace->name);
    if (advice->leave) {
        text_add(&memory, "%s%s", text_bytes(bytes, now->reserved_bytes),
                 trace->is_refused ? " without the limit, which refuses a request" : "");
        text_add(&calls, "%" PRIu64, now->call_count);
    } else {
        text_add(&gain, "%s", gain_of(now, then, trace->is_refused));
        line(page, "for", &gain);
        add_memory(&memory, now->reserved_bytes, then->reserved_bytes);
        add_calls(&calls, now, then);
    }
    line(page, "memory", &memory);
    line(page, "calls", &calls);
    print_fits(page, trace, advice);
    print_search(page, advise, advice);
    add_certainty(&sure, trace);
    line(page, "sure", &sure);
    if (advice->leave)
        return;
    const struct fit *fit = &advice->current_fit, *advised = &advice->best.fit;
    if (fit->status == CASE_ok && advised->status == CASE_ok &&
        advised->capacity_bytes > fit->capacity_bytes + fit->capacity_bytes / 100) {
        text_add(&sure, "where memory is short, it needs %s more than the current setting",
                 text_bytes(bytes, advised->capacity_bytes - fit->capacity_bytes));
        line(page, "but", &sure);
    }
    if (advice->best.setting.family.note) {
        text_add(&sure, "%s", advice->best.setting.family.note);
        line(page, "but", &sure);
    }
}

/* The setting for all traces has a line for each of them. */
static void print_all(const struct page *page, const struct advise *advise,
                      const struct advice *advice)
{
    char name[48];
    snprintf(name, sizeof name, "all %zu traces", advice->count);
    print_head(page, advice, name);
    for (size_t i = 0; i < advice->count && !advice->leave; i++) {
        const struct advised_trace *trace = &advise->traces[advice->first + i];
        const struct measure *then = &advice->best.on[i];
        struct text sentence = {0};
        char calls[48];
        text_add(&sentence, "%s: ", trace->name);
        add_memory(&sentence, trace->now.reserved_bytes, then->reserved_bytes);
        text_add(&sentence, ", %s instead of %" PRIu64,
                 text_count(calls, (double)then->call_count, "driver call"), trace->now.call_count);
        line(page, i ? "" : "memory", &sentence);
    }
    struct text compared = {0};
    text_add(&compared, "%zu settings of %s, each by the trace on which it does worst",
             advice->tried_count, application_title(advise->application));
    line(page, "compared", &compared);
}

/* *printed: how much advice was printed before, and now. */
static void print_text(const struct advise *advise, enum advise_format format, size_t *printed)
{
    struct terminal_page folded;
    terminal_page_open(&folded, stdout);
    const struct page page = {format, folded.out};
    for (size_t i = 0; i < advise->advice_count; i++) {
        const struct advice *advice = &advise->advices[i];
        if (!advice->is_wanted)
            continue;
        if ((*printed)++)
            fputc('\n', page.out);
        (advice->count > 1 ? print_all : print_one)(&page, advise, advice);
    }
    terminal_page_close(&folded);
}

/* ---- JSON ---- */

static json_t *measure_to_json(const char *spec, const char *words, const struct measure *m,
                               const struct fit *fit)
{
    json_t *json = tree_object();
    tree_put(json, "strategy", tree_text(spec));
    tree_put(json, "words", tree_text_or_null(words));
    tree_put(json, "reserved_bytes", tree_count(m->reserved_bytes));
    tree_put(json, "driver_calls", tree_count(m->call_count));
    tree_put(json, "driver_ns", tree_count(m->driver_ns));
    if (fit)
        tree_put(json, "capacity_bytes",
                 fit->status == CASE_ok ? tree_count(fit->capacity_bytes) : json_null());
    return json;
}

static json_t *setting_to_json(const struct advised_setting *setting, size_t trace,
                               const struct fit *fit)
{
    struct text spec = {0}, words = {0};
    if (!setting->is_known)
        return json_null();
    setting_spec(&setting->setting, &spec);
    json_t *json =
        measure_to_json(spec.data, words_of(&setting->setting, &words), &setting->on[trace], fit);
    text_free(&spec);
    text_free(&words);
    return json;
}

static json_t *advice_to_json(const struct advise *advise, const struct advice *advice,
                              const char *id)
{
    json_t *json = tree_object(), *traces = tree_array();
    for (size_t i = 0; i < advice->count; i++) {
        const struct advised_trace *trace = &advise->traces[advice->first + i];
        const bool is_one = advice->count == 1;
        json_t *one = tree_object();
        tree_put(one, "trace", tree_text(trace->name));
        tree_put(one, "requests", tree_count(trace->request_count));
        tree_put(one, "lower_bound_bytes", tree_count(trace->lower_bound_bytes));
        tree_put(one, "current",
                 measure_to_json(trace->current, NULL, &trace->now,
                                 is_one ? &advice->current_fit : NULL));
        tree_put(one, "current_is_refused", json_boolean(trace->is_refused));
        tree_put(one, "current_is_logged", json_boolean(trace->is_logged));
        tree_put(one, "logged_driver_calls",
                 trace->knows_calls ? tree_count(trace->now.logged_call_count) : json_null());
        tree_put(one, "calls_are_logged",
                 trace->knows_calls ? json_boolean(trace->now.calls_are_logged) : json_null());
        tree_put(one, "advised",
                 advice->leave
                     ? json_null()
                     : setting_to_json(&advice->best, i, is_one ? &advice->best.fit : NULL));
        tree_put(one, "elsewhere", setting_to_json(&advice->other, i, NULL));
        tree_append(traces, one);
    }
    tree_put(json, "id", tree_text(id));
    tree_put(json, "application", tree_text(advise->application->name));
    tree_put(json, "leave", json_boolean(advice->leave));
    tree_put(json, "settings_tried", tree_count(advice->tried_count));
    tree_put(json, "traces", traces);
    return json;
}

/* ---- the command ---- */

static void show_step(void *context, uint64_t replays, const char *doing)
{
    char count[48];
    status_line_show(context, "%s, %s", text_count(count, (double)replays, "replay"), doing);
}

struct advice_session {
    struct session common;
    struct advise_options options;
    size_t printed;
};

/* An item is the advice for a trace, or that for all. */
static int make_work(struct session *s, struct error *error)
{
    const size_t count = s->traces.count;
    session_divide(s, count + (count > 1));
    for (size_t i = 0; i < count; i++) {
        char name[64];
        TRY(replay_trace_name(s->traces.paths[i], name, error));
        TRY(session_item(s, i, arena_printf(&s->traces.arena, "advice: %s", name), NULL, i, error));
    }
    return count > 1 ? session_item(s, count, "advice for all", NULL, EVERY_TRACE, error) : 0;
}

/* Finds the wanted advice, prints it, and puts it into the result. */
static int find(struct advice_session *a, const bool *wanted, struct error *error)
{
    struct session *s = &a->common;
    const enum advise_format format = (enum advise_format)flag_number(s->line, "format");
    json_t *all = s->recording.draft.result.advice;
    struct advise advise = {0};
    a->options.wanted = wanted;
    status_line_open(&s->status, stderr);
    int code = advise_traces(s->traces.paths, s->traces.count, &a->options, &advise,
                             &s->interrupted, error);
    status_line_clear(&s->status);
    if (!code && !s->interrupted) {
        for (size_t i = 0; i < advise.advice_count; i++)
            if (advise.advices[i].is_wanted)
                tree_append(all, advice_to_json(&advise, &advise.advices[i], s->work.items[i].id));
        if (format != ADVISE_JSON)
            print_text(&advise, format, &a->printed);
    }
    advise_free(&advise);
    return code;
}

/* The advice of a shard is found piece by piece: each is in the file when it is known. Together,
 * pieces share replays. */
static int find_own(struct advice_session *a, struct error *error)
{
    struct session *s = &a->common;
    bool *wanted = must_alloc(s->work.count + 1);
    int code = 0;
    if (!flag_text(s->line, "shard"))
        code = find(a, s->work.own, error);
    else
        for (size_t i = 0; i < s->work.count && !code && !s->interrupted; i++) {
            if (!s->work.own[i])
                continue;
            wanted[i] = true;
            code = find(a, wanted, error);
            wanted[i] = false;
            recording_save_now_and_then(&s->recording);
        }
    free(wanted);
    return session_finish(s, code, error);
}

static int run(struct advice_session *a, const struct command_line *line, struct error *error)
{
    static const char *const applications[] = {"auto", "pytorch", "rmm", "pyopencl", "gamut"};
    struct session *s = &a->common;
    TRY(session_open(s, line, error));
    a->options = (struct advise_options){.application = applications[flag_number(line, "for")],
                                         .current = flag_text(line, "current"),
                                         .free_at = s->free_at,
                                         .capacity_bytes = s->capacity_bytes,
                                         .atlas = s->atlas,
                                         .jobs = s->jobs,
                                         .step = show_step,
                                         .context = &s->status};
    TRY(make_work(s, error));
    TRY(session_start(s, "advice", error));
    return find_own(a, error);
}

static int advise_command(const struct command_line *line)
{
    struct advice_session a = {0};
    struct error error = {0};
    int exit_code = EXIT_OK;
    if (run(&a, line, &error))
        exit_code = session_error(&a.common, &error);
    else if (a.common.interrupted)
        exit_code = EXIT_INTERRUPTED;
    else if (flag_number(line, "format") == ADVISE_JSON)
        session_print_json(&a.common, "advice");
    session_close(&a.common);
    return exit_code;
}

const struct command command_advise = {
    .name = "advise",
    .summary = "suggest allocator settings that need less memory, as the application spells them",
    .arguments = "TRACE|LOG...",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_ANY,
    .flags = flags,
    .notes = "Settings that the application has are replayed: for each of its allocators, one\n"
             "option after the other takes each of its values, and keeps the best. Better is\n"
             "what holds at least 1 % less, calls the driver at most twice as often as the\n"
             "current setting (and ten times), and in at most every tenth request. With --atlas,\n"
             "the calls may also take a hundredth of the trace's time longer, not more. For\n"
             "several traces, a setting counts by the trace on which it does worst.\n"
             "\n"
             "Adjacent parts of memory that are mapped for one request are one driver call, as\n"
             "PyTorch counts them.\n" NOTE_ON_TRACES,
    .run = advise_command,
};
