/* gamut advise: says which allocator settings an application should have; gamut explain: says the
 * same in a few sentences, and why a request was refused. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/tree.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/session.h"
#include "replay/advise.h"
#include "replay/cases.h"
#include "replay/parallel.h"
#include "replay/plan.h"
#include "results/show/table.h"

static const struct flag flags[] = {
    {"for", 0, FLAG_CHOICE, .value = "APPLICATION", .fallback = "auto",
     .choices = "auto|pytorch|pytorch-2.11|rmm|pyopencl|serve|gamut",
     .help = "whose settings are tried, in whose words; auto: as the trace says"},
    {"current", 0, FLAG_TEXT, .value = "STRATEGY",
     .help = "the allocator that the application has now [as the trace says]"},
    FLAG_FREE_AT("done|let-go"),
    FLAG_MEM_LIMIT,
    FLAG_ATLAS,
    FLAG_JOBS,
    FLAG_SHARD,
    {"long", 0, FLAG_SWITCH,
     .help = "several traces: the whole advice for each and one for all, instead of a table"},
    FLAG_FORMAT("text", "text|md|csv|json"),
    FLAGS_ALSO_RESULT_FILE,
    FLAGS_END,
};

/* ---- sentences ---- */

/* The lines of an advice, each with a label. */
struct page {
    enum table_format format;
    FILE *out;
};

static void line(const struct page *page, const char *label, struct text *sentence)
{
    if (page->format == TABLE_MARKDOWN)
        terminal_print(page->out, *label ? "- **%s**: %s\n" : "-%s %s\n", label, sentence->data);
    else
        terminal_print(page->out, "  %-9s %s\n", label, sentence->data);
    text_free(sentence);
}

static char *words_of(const struct allocator_setting *setting, struct text *words)
{
    setting_words(setting, words);
    return words->data;
}

/* "1.84 GiB", "586 MiB ± 132 MiB" or "about 984 MiB (at least 835 MiB)" */
static void add_held(struct text *out, const struct advised_trace *trace, const struct measure *m)
{
    char held[32], bound[32];
    uint64_t least, most;
    advise_bounds(trace, m, &least, &most);
    text_bytes(held, m->reserved_bytes);
    if (most == UINT64_MAX)
        text_add(out, "about %s (at least %s)", held, text_bytes(bound, least));
    else if (most > least)
        text_add(out, "%s ± %s", held, text_bytes(bound, most - m->reserved_bytes));
    else
        text_add(out, "%s", held);
}

/* "1.84 GiB instead of 4.44 GiB (58.5 % less)", "2.00 MiB instead of 1.18 MiB (835 KiB more)" */
static void add_memory(struct text *out, const struct advised_trace *trace,
                       const struct measure *then)
{
    const uint64_t now_bytes = trace->now.reserved_bytes, then_bytes = then->reserved_bytes;
    char more[32];
    add_held(out, trace, then);
    text_add(out, " instead of ");
    add_held(out, trace, &trace->now);
    if (then_bytes < now_bytes)
        text_add(out, " (%.1f %% less)",
                 100 * (double)(now_bytes - then_bytes) / (double)now_bytes);
    else if (then_bytes > now_bytes)
        text_add(out, " (%s more)", text_bytes(more, then_bytes - now_bytes));
}

static void add_calls(struct text *out, const struct measure *now, const struct measure *then)
{
    char before[32], after[32];
    text_add(out, "%" PRIu64 " instead of %" PRIu64, then->call_count, now->call_count);
    if (then->function_count != then->call_count || now->function_count != now->call_count)
        text_add(out,
                 " as the log counts them (%" PRIu64 " instead of %" PRIu64
                 " functions of the driver)",
                 then->function_count, now->function_count);
    if (now->driver_ns != UNKNOWN_NS && then->driver_ns != UNKNOWN_NS)
        text_add(out, ", which take %s instead of %s", text_ns(after, (double)then->driver_ns),
                 text_ns(before, (double)now->driver_ns));
    else
        text_add(out, "; their time is unknown without --atlas");
}

/* "107 ms instead of 143 ms by the atlas (about 1.34 times as fast)": the whole log, with the
 * program's work. */
static bool add_time(struct text *out, const struct measure *now, const struct measure *then)
{
    char before[32], after[32];
    if (now->run_ns == UNKNOWN_NS || then->run_ns == UNKNOWN_NS)
        return false;
    text_add(out, "%s instead of %s by the atlas (about %.2f times as fast)",
             text_ns(after, (double)then->run_ns), text_ns(before, (double)now->run_ns),
             (double)now->run_ns / (double)then->run_ns);
    return true;
}

/* The purpose of the advice. */
static const char *gain_of(const struct measure *now, const struct measure *then, bool is_refused)
{
    if (!is_refused && then->refused.served_count > now->refused.served_count)
        return "memory for a request that was refused";
    const bool holds_less = then->reserved_bytes < now->reserved_bytes;
    return is_refused                                         ? "every request within the limit"
           : holds_less && then->call_count < now->call_count ? "less memory and fewer driver calls"
           : holds_less                                       ? "less memory"
                                                              : "fewer driver calls";
}

static void add_difference(struct text *out, const struct advised_trace *trace)
{
    const struct exactness *x = &trace->now.exactness;
    char most[32], peak[32], share[32];
    text_add(out,
             "the replay of the recorded setting holds the log's bytes at %" PRIu64 " of %" PRIu64
             " driver calls, and is up to %s (%s) off: bytes are estimates. The log held %s "
             "at most",
             x->equal_count, x->call_count, text_bytes(most, x->most_bytes),
             text_percent(share, 100 * x->most_share), text_bytes(peak, x->logged_peak_bytes));
    if (trace->now.doubt)
        text_add(out, ". A possible reason: %s", trace->now.doubt);
}

static void add_certainty(struct text *out, const struct advised_trace *trace)
{
    const struct exactness *x = &trace->now.exactness;
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
        add_difference(out, trace);
}

/* ---- text and Markdown ---- */

static void print_head(const struct page *page, const struct advice *advice, const char *name,
                       const char *program)
{
    struct text words = {0};
    const bool is_markdown = page->format == TABLE_MARKDOWN;
    const bool fails = advice->leave && advice->is_bad;
    const char *quote = is_markdown && !advice->leave ? "`" : "";
    text_add(&words, fails ? "no setting helps" : advice->leave ? "leave it as it is" : "");
    if (!advice->leave)
        setting_words(&advice->best.setting, &words);
    terminal_print(page->out, "%s%s: %s%s%s%s\n%s", is_markdown ? "### " : "", name, quote,
                   words.data, advice->leave ? "" : program, quote, is_markdown ? "\n" : "");
    text_free(&words);
}

/* What follows "gamut serve --". */
static const char *program_of(const struct advise *advise, const struct advised_trace *trace)
{
    return strcmp(advise->application->name, "serve") == 0 ? trace->program : "";
}

static const char *application_title(const struct application *application)
{
    return strcmp(application->name, "serve") == 0 ? "gamut serve"
           : application->source                   ? application->source
                                                   : application->name;
}

/* Prints the settings that were compared, and a better one that the application lacks. */
static void print_search(const struct page *page, const struct advise *advise,
                         const struct advice *advice)
{
    const struct advised_trace *trace = &advise->traces[advice->first];
    struct text compared = {0}, spec = {0}, other = {0};
    char calls[48];
    text_add(&compared, "%s, and %s of %s in replays of all %" PRIu64 " requests", trace->current,
             text_count(calls, (double)advice->tried_count, "setting"),
             application_title(advise->application), trace->request_count);
    if (advice->leave && advice->best.is_known)
        text_add(&compared, ": none holds 1 %% less");
    line(page, "compared", &compared);
    if (!advice->other.is_known)
        return;
    setting_spec(&advice->other.setting, &spec);
    text_add(&other, "%s of gamut would hold ", spec.data);
    add_held(&other, trace, &advice->other.on[0]);
    text_add(&other, " with %s",
             text_count(calls, (double)advice->other.on[0].call_count, "driver call"));
    text_free(&spec);
    line(page, "elsewhere", &other);
}

/* "into 3.66 GiB as it is", and a smaller capacity that serves where one between does not. */
static void add_fit(struct text *out, const struct fit *fit, const char *how)
{
    char least[32], lowest[32];
    text_add(out, "into %s%s", text_bytes(least, fit->capacity_bytes), how);
    if (fit->lowest_bytes < fit->refused_bytes)
        text_add(out, " (a hole: into %s too, but not into all above it)",
                 text_bytes(lowest, fit->lowest_bytes));
}

static void print_fits(const struct page *page, const struct advised_trace *trace,
                       const struct advice *advice)
{
    const struct fit *now = &advice->current_fit, *then = &advice->best.fit;
    char needed[32], bound[32];
    struct text fits = {0};
    if (!advice->leave && then->status == CASE_ok) {
        add_fit(&fits, then, "");
        text_add(&fits, "; ");
    }
    if (now->status == CASE_ok) {
        add_fit(&fits, now, " as it is");
        text_add(&fits, "; ");
    }
    const struct fit *last = advice->leave || then->status != CASE_ok ? now : then;
    if (last->knows_needed && last->needed_bytes < last->capacity_bytes)
        text_add(&fits, "perhaps into %s with smaller workspaces of cuDNN; ",
                 text_bytes(needed, last->needed_bytes));
    text_add(&fits, "the live blocks%s alone are %s",
             trace->demand.refused_count ? " and the refused requests" : "",
             text_bytes(bound, trace->demand.peak_bytes));
    if (trace->demand.ends_refused)
        text_add(&fits, "; it may need more: the log ends where it was refused");
    line(page, "fits", &fits);
}

/* The requests that the log says were refused, with the setting that is advised. */
static void print_refused(const struct page *page, const struct advised_trace *trace,
                          const struct measure *m)
{
    char limit[32];
    struct text refused = {0};
    if (!m->refused.count)
        return;
    replay_add_refused(&refused, &m->refused);
    if (trace->limit_bytes)
        text_add(&refused, ", within %s", text_bytes(limit, trace->limit_bytes));
    if (trace->now.refusal.knows_free) {
        text_add(&refused, m == &trace->now ? ": " : "; without the setting, ");
        refusal_add_reason(&refused, &trace->now.refusal);
    }
    line(page, "refused", &refused);
}

/* Who holds what at the peak of the log. */
static void print_holders(const struct page *page, const struct holders *holders)
{
    struct text words = {0};
    const char *label;
    for (unsigned i = 0; (label = holders_add_line(&words, holders, i)); i++)
        line(page, label, &words);
}

#define WITHOUT_LIMIT " without the limit, which refuses a request"

static void print_one(const struct page *page, const struct advise *advise,
                      const struct advice *advice)
{
    const struct advised_trace *trace = &advise->traces[advice->first];
    const struct measure *now = &trace->now, *then = &advice->best.on[0];
    struct text gain = {0}, memory = {0}, calls = {0}, sure = {0};
    char bytes[32];
    print_head(page, advice, trace->name, program_of(advise, trace));
    if (advice->leave) {
        add_held(&memory, trace, now);
        text_add(&memory, "%s", trace->is_refused ? WITHOUT_LIMIT : "");
        text_add(&calls, "%" PRIu64, now->call_count);
    } else {
        text_add(&gain, "%s", gain_of(now, then, trace->is_refused));
        line(page, "for", &gain);
        add_memory(&memory, trace, then);
        add_calls(&calls, now, then);
    }
    line(page, "memory", &memory);
    line(page, "calls", &calls);
    if (!advice->leave && add_time(&gain, now, then))
        line(page, "time", &gain);
    print_fits(page, trace, advice);
    print_refused(page, trace, advice->leave ? now : then);
    print_holders(page, &trace->holders);
    print_search(page, advise, advice);
    add_certainty(&sure, trace);
    line(page, "sure", &sure);
    for (const char *note = trace->notes; *note; note += strcspn(note, "\n"), note += *note != 0) {
        text_add(&sure, "%.*s", (int)strcspn(note, "\n"), note);
        line(page, "but", &sure);
    }
    if (advice->leave)
        return;
    if (trace->began_before) {
        text_add(&sure, "the log does not say what the advised setting would have held when it "
                        "began: its bytes are estimates");
        line(page, "but", &sure);
    }
    const struct fit *fit = &advice->current_fit, *advised = &advice->best.fit;
    if (fit->status == CASE_ok && advised->status == CASE_ok &&
        advised->capacity_bytes > fit->capacity_bytes + fit->capacity_bytes / 100) {
        text_add(&sure, "where memory is short, it needs %s more than the current setting",
                 text_bytes(bytes, advised->capacity_bytes - fit->capacity_bytes));
        line(page, "but", &sure);
    }
}

/* The setting for all traces has a line for each of them. */
static void print_all(const struct page *page, const struct advise *advise,
                      const struct advice *advice)
{
    char name[48];
    snprintf(name, sizeof name, "all %zu traces", advice->count);
    print_head(page, advice, name, *program_of(advise, advise->traces) ? " ..." : "");
    for (size_t i = 0; i < advice->count && !advice->leave; i++) {
        const struct advised_trace *trace = &advise->traces[advice->first + i];
        const struct measure *then = &advice->best.on[i];
        struct text sentence = {0};
        char calls[48];
        text_add(&sentence, "%s: ", trace->name);
        add_memory(&sentence, trace, then);
        text_add(&sentence, ", %s instead of %" PRIu64,
                 text_count(calls, (double)then->call_count, "driver call"), trace->now.call_count);
        line(page, i ? "" : "memory", &sentence);
    }
    struct text compared = {0};
    text_add(&compared, "%zu settings of %s, each by the trace on which it does worst",
             advice->tried_count, application_title(advise->application));
    line(page, "compared", &compared);
}

static void print_text(const struct advise *advise, enum table_format format)
{
    struct terminal_page folded;
    terminal_page_open(&folded, stdout);
    const struct page page = {format, folded.out};
    for (size_t i = 0; i < advise->advice_count; i++) {
        const struct advice *advice = &advise->advices[i];
        fputs(i ? "\n" : "", page.out);
        (advice->count > 1 ? print_all : print_one)(&page, advise, advice);
    }
    terminal_page_close(&folded);
}

/* ---- explain ---- */

/* "With PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64", "Without PYTORCH_CUDA_ALLOC_CONF" */
static void add_with(struct text *out, const struct allocator_setting *setting)
{
    struct text words = {0};
    const bool is_unset = strncmp(words_of(setting, &words), "unset ", 6) == 0;
    text_add(out, "%s %s", is_unset ? "Without" : "With", words.data + (is_unset ? 6 : 0));
    text_free(&words);
}

static void add_refusal(struct text *out, const struct advised_trace *trace)
{
    const struct replay_refusal *r = &trace->now.refusal;
    char asked[32], limit[32], reserved[32], live[32], rest[32], largest[32], pieces[48];
    text_add(out,
             "Out of memory: %s asked for. Of a limit of %s%s, %s are reserved: %s by live blocks, "
             "and %s are free in %s, the largest %s.\n",
             text_bytes(asked, r->bytes), r->limit_bytes == trace->limit_bytes ? "at most " : "",
             text_bytes(limit, r->limit_bytes), text_bytes(reserved, r->reserved_bytes),
             text_bytes(live, r->granted_bytes), text_bytes(rest, r->free_bytes),
             text_count(pieces, (double)r->free_pieces, "piece"),
             text_bytes(largest, r->largest_free_bytes));
    text_add(out, *r->site ? "Where: %s.\nWhy: " : "%sWhy: ", r->site);
    refusal_add_reason(out, r);
}

/* What would have served it. Where the limit is inferred, it may be less than the replay's. */
static void add_help(struct text *out, const struct advise *advise, const struct advice *advice)
{
    const struct advised_trace *trace = &advise->traces[advice->first];
    const uint64_t most = trace->now.refusal.limit_bytes;
    const uint64_t least = most == trace->limit_bytes ? trace->least_limit_bytes : most;
    const struct advised_setting *best = &advice->best;
    uint64_t needed = most - best->on->spare_bytes;
    if (best->fit.status == CASE_ok && best->fit.capacity_bytes < needed)
        needed = best->fit.capacity_bytes;
    char bytes[32], bound[32];
    if (!advice->is_single)
        text_add(out, ".\nNo single option of %s serves it",
                 application_title(advise->application));
    if (!best->is_known || best->served_count < trace->now.refused.count)
        return;
    text_add(out, ".\n");
    add_with(out, &best->setting);
    if (needed <= least)
        text_add(out, " it is served, with %s to spare", text_bytes(bytes, least - needed));
    else
        text_add(out, " it is served if the limit is at least %s, %s more than the log proves",
                 text_bytes(bytes, needed), text_bytes(bound, needed - least));
    if (advice->is_single && !(best->rank & 1))
        text_add(out, ", but calls the driver %" PRIu64 " times instead of %" PRIu64,
                 best->on->call_count, trace->now.call_count);
    text_add(out, ". Later requests are not in the log, and may be refused");
}

static void add_losses(struct text *out, const struct advise *advise, const struct advice *advice)
{
    const struct advised_trace *trace = &advise->traces[advice->first];
    const uint64_t peak = trace->now.reserved_bytes, live = trace->demand.peak_bytes;
    const uint64_t lost_bytes = peak > live ? peak - live : 0;
    const struct fit *now = &advice->current_fit, *then = &advice->best.fit;
    char reserved[32], lived[32], lost[32], share[32];
    text_add(out,
             "%s reserves %s at its peak%s. Its live blocks are %s at most: %s (%s) are lost.\n",
             advise->application->source ? advise->application->source : "The allocator",
             text_bytes(reserved, peak), trace->is_refused ? WITHOUT_LIMIT : "",
             text_bytes(lived, live), text_bytes(lost, lost_bytes),
             text_percent(share, 100 * (double)lost_bytes / (double)(peak + !peak)));
    if (now->status == CASE_ok) {
        text_add(out, "It fits ");
        add_fit(out, now, "");
        text_add(out, ".\n");
    }
    if (advice->leave) {
        text_add(out,
                 trace->is_refused ? "None of %zu settings serves all requests under the limit"
                                   : "No setting helps: none of %zu reserves 1 %% less",
                 advice->tried_count);
        return;
    }
    add_with(out, &advice->best.setting);
    text_add(out, " it reserves ");
    add_held(out, trace, &advice->best.on[0]);
    if (then->status == CASE_ok) {
        text_add(out, ", and fits ");
        add_fit(out, then, "");
    }
}

static void add_explained(struct text *out, const struct advise *advise,
                          const struct advice *advice)
{
    const struct advised_trace *trace = &advise->traces[advice->first];
    if (trace->now.refusal.knows_free) {
        add_refusal(out, trace);
        add_help(out, advise, advice);
    } else {
        if (trace->now.refused.served_count) {
            text_add(out, "In the replay ");
            replay_add_refused(out, &trace->now.refused);
            text_add(out, ", so the reason is not known.\n");
        }
        add_losses(out, advise, advice);
    }
    text_add(out, trace->holders.count ? ".\nAt the peak the most is held by " : "");
    holders_add_line(out, &trace->holders, 1);
    text_add(out, ".\nSure: ");
    add_certainty(out, trace);
    text_add(out, ".\n");
    for (const char *note = trace->notes; *note; note += strcspn(note, "\n"), note += *note != 0)
        text_add(out, "But: %.*s.\n", (int)strcspn(note, "\n"), note);
}

/* `path`: the file as it was typed, if it is one. */
static void print_explained(const struct advise *advise, const char *path)
{
    struct terminal_page page;
    terminal_page_open(&page, stdout);
    for (size_t i = 0; i < advise->trace_count; i++) {
        struct text out = {0};
        add_explained(&out, advise, &advise->advices[i]);
        if (advise->trace_count > 1)
            terminal_print(page.out, "%s%s:\n", i ? "\n" : "", advise->traces[i].name);
        terminal_print(page.out, "%s", out.data);
        text_free(&out);
    }
    if (path)
        terminal_print(page.out, "Each block %s: gamut view %s\n",
                       advise->traces[0].now.refusal.knows_free ? "at that moment" : "over time",
                       path);
    terminal_page_close(&page);
}

/* ---- JSON ---- */

static json_t *measure_to_json(const struct advised_trace *trace, const char *spec,
                               const char *words, const struct measure *m, const struct fit *fit)
{
    json_t *json = tree_object();
    uint64_t least, most;
    advise_bounds(trace, m, &least, &most);
    tree_put(json, "strategy", tree_text(spec));
    tree_put(json, "words", tree_text_or_null(words));
    tree_put(json, "reserved_bytes", tree_count(m->reserved_bytes));
    tree_put(json, "reserved_least_bytes", tree_count(least));
    tree_put(json, "reserved_most_bytes", tree_count(most));
    tree_put(json, "driver_calls", tree_count(m->call_count));
    tree_put(json, "driver_ns", tree_count(m->driver_ns));
    tree_put(json, "refused_requests", tree_known(m->refused.count, m->refused.count));
    tree_put(json, "refused_requests_served",
             tree_known(m->refused.count, m->refused.served_count));
    if (fit) {
        tree_put(json, "capacity_bytes", tree_known(fit->status == CASE_ok, fit->capacity_bytes));
        tree_put(json, "lowest_bytes", tree_known(fit->status == CASE_ok, fit->lowest_bytes));
        tree_put(json, "needed_bytes", tree_known(fit->knows_needed, fit->needed_bytes));
    }
    return json;
}

static json_t *setting_to_json(const struct advised_trace *trace, size_t index,
                               const struct advised_setting *setting, const struct fit *fit)
{
    struct text spec = {0}, words = {0};
    if (!setting->is_known)
        return json_null();
    setting_spec(&setting->setting, &spec);
    json_t *json = measure_to_json(trace, spec.data, words_of(&setting->setting, &words),
                                   &setting->on[index], fit);
    text_free(&spec);
    text_free(&words);
    return json;
}

static json_t *refused_to_json(const struct advised_trace *trace, const struct advice *advice)
{
    const struct replay_refusal *r = &trace->now.refusal;
    struct text reason = {0};
    if (!r->event || !r->knows_free)
        return json_null();
    json_t *places = tree_object();
    json_t *json = tree_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "event", tree_count(r->event), "bytes",
        tree_count(r->bytes), "site", tree_text_or_null(r->site), "limit_bytes",
        tree_count(r->limit_bytes), "reserved_bytes", tree_count(r->reserved_bytes), "live_bytes",
        tree_count(r->granted_bytes), "free_pieces", tree_count(r->free_pieces),
        "largest_free_bytes", tree_count(r->largest_free_bytes));
    for (unsigned i = 0; i < FREE_PLACES; i++)
        tree_put(places, free_places[i][0], tree_count(r->place_bytes[i]));
    tree_put(json, "free_bytes", places);
    refusal_add_reason(&reason, r);
    tree_put(json, "reason", tree_text(reason.data));
    tree_put(json, "served_by",
             advice->is_single ? setting_to_json(trace, 0, &advice->best, &advice->best.fit)
                               : json_null());
    text_free(&reason);
    return json;
}

static json_t *advice_to_json(const struct advise *advise, const struct advice *advice,
                              const char *id)
{
    json_t *json = tree_object(), *traces = tree_array();
    for (size_t i = 0; i < advice->count; i++) {
        const struct advised_trace *trace = &advise->traces[advice->first + i];
        const struct measure *now = &trace->now;
        const bool is_one = advice->count == 1, is_compared = trace->knows_calls;
        json_t *one = tree_object();
        tree_put(one, "trace", tree_text(trace->name));
        tree_put(one, "requests", tree_count(trace->request_count));
        tree_put(one, "lower_bound_bytes", tree_count(trace->demand.peak_bytes));
        tree_put(one, "current",
                 measure_to_json(trace, trace->current, NULL, now,
                                 is_one ? &advice->current_fit : NULL));
        tree_put(one, "current_is_refused", json_boolean(trace->is_refused));
        tree_put(one, "current_is_logged", json_boolean(trace->is_logged));
        tree_put(one, "notes", tree_text_or_null(trace->notes));
        tree_put(one, "logged_driver_calls", tree_known(is_compared, now->logged_call_count));
        tree_put(one, "calls_are_logged",
                 is_compared ? json_boolean(now->calls_are_logged) : json_null());
        tree_put(one, "compared_driver_calls", tree_known(is_compared, now->exactness.call_count));
        tree_put(one, "equal_driver_calls", tree_known(is_compared, now->exactness.equal_count));
        tree_put(one, "most_off_bytes", tree_known(is_compared, now->exactness.most_bytes));
        tree_put(one, "logged_peak_bytes",
                 tree_known(is_compared, now->exactness.logged_peak_bytes));
        tree_put(one, "advised",
                 advice->leave
                     ? json_null()
                     : setting_to_json(trace, i, &advice->best, is_one ? &advice->best.fit : NULL));
        tree_put(one, "for",
                 advice->leave
                     ? json_null()
                     : tree_text(gain_of(&trace->now, &advice->best.on[i], trace->is_refused)));
        tree_put(one, "holders", holders_to_json(&trace->holders));
        if (is_one)
            tree_put(one, "refused", refused_to_json(trace, advice));
        tree_put(one, "elsewhere", setting_to_json(trace, i, &advice->other, NULL));
        tree_append(traces, one);
    }
    tree_put(json, "id", tree_text(id));
    tree_put(json, "application", tree_text(advise->application->name));
    tree_put(json, "leave", json_boolean(advice->leave));
    tree_put(json, "settings_tried", tree_count(advice->tried_count));
    tree_put(json, "traces", traces);
    return json;
}

/* ---- the whole advice ---- */

struct advice_session {
    struct session common;
    struct advise_options options;
    struct listed_file *files, **order; /* of a table; in which they are done */
};

static void show_step(void *context, uint64_t replays, const char *doing)
{
    char count[48];
    status_line_show(context, "%s, %s", text_count(count, (double)replays, "replay"), doing);
}

/* An item is the advice for a trace, or that for all. No shard has them. */
static int make_work(struct session *s, struct error *error)
{
    const size_t count = s->traces.count;
    session_divide(s, count + (count > 1));
    for (size_t i = 0; i < count; i++) {
        char name[64];
        TRY(replay_trace_name(s->traces.paths[i], name, error));
        shard_id(arena_printf(&s->traces.arena, "advice: %s", name), s->work.items[i].id);
    }
    if (count > 1)
        shard_id("advice for all", s->work.items[count].id);
    return 0;
}

/* Finds all advice, prints it, and puts it into the result. */
static int find(struct advice_session *a, struct error *error)
{
    struct session *s = &a->common;
    const enum table_format format = (enum table_format)flag_number(s->line, "format");
    json_t *all = s->recording.draft.result.advice;
    struct advise advise = {0};
    status_line_open(&s->status, stderr);
    int code = advise_traces(s->traces.paths, s->traces.count, &a->options, &advise,
                             &s->interrupted, error);
    status_line_clear(&s->status);
    if (!code && !s->interrupted) {
        for (size_t i = 0; i < advise.advice_count; i++)
            tree_append(all, advice_to_json(&advise, &advise.advices[i], s->work.items[i].id));
        if (s->line->command == &command_explain && format == TABLE_TEXT)
            print_explained(&advise, s->line->positional_count == 1 && advise.trace_count == 1
                                         ? s->line->positional[0]
                                         : NULL);
        else if (format != TABLE_JSON)
            print_text(&advise, format);
    }
    advise_free(&advise);
    return session_finish(s, code, error);
}

/* ---- a table ---- */

/* A trace, or a log, which has a line of the table for each of its devices. */
struct listed_file {
    const char *path, *name;
    size_t at; /* in the list */
    uint64_t bytes;
    json_t *found; /* the advice for each device; NULL: none yet */
};

static int by_name(const void *a, const void *b)
{
    const struct listed_file *const *one = a, *const *other = b;
    const int order = strcmp((*one)->name, (*other)->name);
    return order ? order : (*one)->at < (*other)->at ? -1 : 1;
}

/* Large files first, so that the last ones to end are small. */
static int by_size(const void *a, const void *b)
{
    const struct listed_file *const *one = a, *const *other = b;
    return (*one)->bytes != (*other)->bytes ? ((*one)->bytes > (*other)->bytes ? -1 : 1)
           : (*one)->at < (*other)->at      ? -1
                                            : 1;
}

/* The name is that of the file without folder and endings. Where several files have it, theirs are
 * paths from the byte `common` on, behind the folder that all are in; where these are the same too,
 * with a number. */
static void tell_apart(struct advice_session *a, size_t common, bool have_paths)
{
    struct arena *arena = &a->common.traces.arena;
    const size_t count = a->common.traces.count;
    qsort(a->order, count, sizeof *a->order, by_name);
    for (size_t i = 0, end; i < count; i = end) {
        const char *name = a->order[i]->name;
        for (end = i + 1; end < count && strcmp(a->order[end]->name, name) == 0;)
            end++;
        for (size_t k = i; k < end && end - i > 1; k++)
            a->order[k]->name = have_paths ? arena_printf(arena, "%s #%zu", name, k - i + 1)
                                           : a->order[k]->path + common;
    }
}

static void name_files(struct advice_session *a)
{
    struct traces *t = &a->common.traces;
    const char *first = t->paths[0];
    size_t common = strlen(first);
    for (size_t i = 0; i < t->count; i++) {
        struct text name = {0};
        while (common && (first[common - 1] != '/' || strncmp(t->paths[i], first, common) != 0))
            common--;
        traces_name_of_log(t->paths[i], &name);
        a->files[i].name = arena_printf(&t->arena, "%s", name.data);
        text_free(&name);
    }
    tell_apart(a, common, false);
    tell_apart(a, common, true);
}

/* An item is a file. The shards are made without reading it: its bytes stand for its events. */
static void list_files(struct advice_session *a)
{
    struct session *s = &a->common;
    const size_t count = s->traces.count;
    a->files = must_alloc(count * sizeof *a->files);
    a->order = must_alloc(count * sizeof *a->order);
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        a->files[i] = (struct listed_file){.path = s->traces.paths[i], .at = i};
        a->files[i].bytes = stat(a->files[i].path, &status) == 0 ? (uint64_t)status.st_size : 0;
        a->order[i] = &a->files[i];
    }
    name_files(a);
    qsort(a->order, count, sizeof *a->order, by_size);
    session_divide(s, count);
    for (size_t i = 0; i < count; i++) {
        struct shard_item *item = &s->work.items[i];
        shard_id(arena_printf(&s->traces.arena, "advice: %s", a->files[i].name), item->id);
        item->unit = item->id;
        item->cost = a->files[i].bytes;
    }
}

/* A line without advice. The message's path goes: the line has a name. */
static json_t *reason_to_json(const char *id, const struct listed_file *f, const char *name,
                              const char *reason)
{
    const size_t length = strlen(f->path);
    if (strncmp(reason, f->path, length) == 0 && strncmp(reason + length, ": ", 2) == 0)
        reason += length + 2;
    return tree_pack("{s:o, s:n, s:n, s:[{s:o, s:o}]}", "id", tree_text(id), "application", "leave",
                     "traces", "trace", tree_text(name), "reason", tree_text(reason));
}

/* Adds the line of one trace of a file; `name` is that of the line. */
static void add_line(struct advice_session *a, struct listed_file *f, const struct traces *traces,
                     unsigned i, const char *name, const volatile sig_atomic_t *stop)
{
    const char *id = a->common.work.items[f->at].id;
    struct advise_options options = a->options;
    struct advise advise = {0};
    struct error why = {0};
    bool interrupted;
    options.stop = stop;
    options.own_only = true;
    if (advise_traces(&traces->paths[i], 1, &options, &advise, &interrupted, &why)) {
        traces_name_logs(traces, &why);
        tree_append(f->found, reason_to_json(id, f, name, why.text));
    } else if (!interrupted) {
        json_t *one = advice_to_json(&advise, &advise.advices[0], id);
        tree_put(json_array_get(json_object_get(one, "traces"), 0), "trace", tree_text(name));
        tree_append(f->found, one);
    }
    advise_free(&advise);
}

/* The traces of a log are temporary files, and are gone before the next file is begun. */
static int advise_file(void *context, size_t index, const volatile sig_atomic_t *stop,
                       struct error *error)
{
    static const char made[] = "t"; /* a name of any length is good for the table */
    struct advice_session *a = context;
    struct listed_file *f = a->order[index];
    struct traces traces = {0};
    struct error why = {0};
    if (!a->common.work.own[f->at])
        return 0;
    status_line_show(&a->common.status, "advice %zu/%u, replays of %s", index + 1,
                     a->common.traces.count, f->name);
    f->found = tree_array();
    if (traces_add(&traces, f->path, made, &why))
        tree_append(f->found, reason_to_json(a->common.work.items[f->at].id, f, f->name, why.text));
    for (unsigned i = 0; !why.code && i < traces.count && !*stop; i++) {
        char of_trace[64] = "";
        struct text name = {0};
        replay_trace_name(traces.paths[i], of_trace, NULL);
        text_add(&name, "%s%s", f->name,
                 traces.made_count && *of_trace ? of_trace + strlen(made) : "");
        add_line(a, f, &traces, i, name.data, stop);
        text_free(&name);
    }
    traces_free(&traces);
    return 0;
}

static void keep_file(void *context, size_t index)
{
    struct advice_session *a = context;
    json_array_extend(a->common.recording.draft.result.advice, a->order[index]->found);
    recording_save_now_and_then(&a->common.recording);
}

/* A mistake on the command line is no line of the table. */
static int check_current(const char *current, struct error *error)
{
    struct allocator_plans plans = {.make = plan_of_trace};
    const struct allocator_ops *ops;
    struct option_values values;
    int code = current ? allocator_parse_planned(&plans, current, &ops, &values, error) : 0;
    allocator_plans_free(&plans);
    return code;
}

static int make_table(struct advice_session *a, struct error *error)
{
    struct session *s = &a->common;
    const struct parallel all = {.count = s->traces.count,
                                 .jobs = s->jobs,
                                 .context = a,
                                 .work = advise_file,
                                 .done = keep_file};
    TRY(check_current(a->options.current, error));
    a->options.jobs = 1;
    a->options.step = NULL;
    status_line_open(&s->status, stderr);
    const int code = parallel_run(&all, &s->interrupted, error);
    status_line_clear(&s->status);
    advice_sort(s->recording.draft.result.advice);
    return session_finish(s, code, error);
}

/* Prints the table, also of what was done until an interrupt, and returns the exit code. */
static int print_table(struct advice_session *a)
{
    const enum table_format format = (enum table_format)flag_number(a->common.line, "format");
    const struct session *s = &a->common;
    const json_t *all = s->recording.draft.result.advice;
    const size_t count = json_array_size(all);
    size_t failed = 0;
    for (size_t i = 0; i < count; i++)
        failed +=
            *tree_get_text(json_array_get(json_object_get(json_array_get(all, i), "traces"), 0),
                           "reason") != 0;
    if (format == TABLE_JSON)
        session_print_json(&a->common, "advice");
    else
        advice_table_print(all, format, stdout);
    if (s->interrupted)
        fprintf(stderr, "gamut: interrupted: the table has the %zu lines that were done\n", count);
    return s->interrupted ? EXIT_INTERRUPTED : failed ? EXIT_CASE_FAILED : EXIT_OK;
}

/* ---- the command ---- */

static int run(struct advice_session *a, const struct command_line *line, struct error *error)
{
    struct session *s = &a->common;
    const bool is_table = flag_number(line, "format") == TABLE_CSV || flag_text(line, "shard");
    TRY(flags_exclude(line, "long", "shard", error));
    s->list_from = is_table ? 1 : flag_is_on(line, "long") ? 0 : 2;
    TRY(session_open(s, line, error));
    a->options = (struct advise_options){.application = flag_text(line, "for"),
                                         .current = flag_text(line, "current"),
                                         .free_at = s->free_at,
                                         .capacity_bytes = s->capacity_bytes,
                                         .atlas = s->atlas,
                                         .jobs = s->jobs,
                                         .step = show_step,
                                         .context = &s->status};
    if (s->is_list)
        list_files(a);
    else
        TRY(make_work(s, error));
    TRY(session_start(s, "advice", error));
    return s->is_list ? make_table(a, error) : find(a, error);
}

static int advise_command(const struct command_line *line)
{
    struct advice_session a = {0};
    struct error error = {0};
    int exit_code = EXIT_OK;
    if (run(&a, line, &error))
        exit_code = session_error(&a.common, &error);
    else if (a.common.is_list)
        exit_code = print_table(&a);
    else if (a.common.interrupted)
        exit_code = EXIT_INTERRUPTED;
    else if (flag_number(line, "format") == TABLE_JSON)
        session_print_json(&a.common, "advice");
    for (size_t i = 0; a.files && i < a.common.traces.count; i++)
        json_decref(a.files[i].found);
    free(a.files);
    free(a.order);
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
    .run = advise_command,
};

const struct command command_explain = {
    .name = "explain",
    .summary = "say why PyTorch ran out of memory, or what it loses, and which setting helps",
    .arguments = "TRACE|LOG",
    .least_positionals = 1,
    .most_positionals = 1,
    .flags = flags,
    .run = advise_command,
};
