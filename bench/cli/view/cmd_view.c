/* gamut view: makes one page of a trace, a log or the cases of a result file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file_kind.h"
#include "base/gzip_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/traces.h"
#include "replay/advise.h"
#include "results/file/result.h"
#include "results/file/result_file.h"
#include "replay/cases.h"
#include "pages/view_cases.h"
#include "pages/view.h"

static const struct flag flags[] = {
    {"strategy", 's', FLAG_LIST,
     .help = "allocators whose address maps are drawn: recorded (the trace's own), 'caching', … "
             "[caching,vmm,tlsf; of two panes recorded; of a result file those of the cases]"},
    {"beside", 0, FLAG_LIST, .value = "STRATEGY",
     .help = "a second pane with these allocators, of the same trace or of AFTER: advised (the "
             "setting that gamut advise names), recorded, or as for --strategy"},
    {"workload", 'w', FLAG_LIST, .fallback = "*",
     .help = "of a result file, cases of these workloads, * and ? allowed"},
    {"dataset", 'd', FLAG_LIST, .fallback = "*", .help = "… with these datasets, * and ? allowed"},
    {"merge", 'm', FLAG_LIST, .fallback = "*", .help = "… with these merge sets, * and ? allowed"},
    {"release", 0, FLAG_LIST, .fallback = "*",
     .help = "… with these release policies, * and ? allowed"},
    {"device", 'D', FLAG_LIST, .fallback = "*", .help = "… on these devices, * and ? allowed"},
    {"from", 0, FLAG_COUNT, .fallback = "0", .most = UINT32_MAX - 2,
     .help = "leave out what is over before event N"},
    {"to", 0, FLAG_COUNT, .value = "M", .least = 1, .most = UINT32_MAX - 2,
     .help = "leave out what begins after event M [the last]"},
    {"out", 'o', FLAG_TEXT, .help = "the page [NAME.html]"},
    FLAG_FORCE,
    FLAGS_END,
};

/* A pane shows a trace, or the trace that was made of a log or of cases. */
struct subject {
    unsigned trace; /* of the list */
    char name[128]; /* for the heading */
    struct viewed_cases cases;
    struct trace_strategies strategies;
    struct names names;
    const char *word, *what, *caution; /* of two panes, as in struct view_options */
};

struct viewed {
    const struct command_line *line;
    struct traces traces; /* owns the words too */
    struct trace_reader *readers[PANES_MOST];
    struct result result; /* root NULL: it is no result file */
    size_t count;
    struct subject panes[PANES_MOST];
};

/* The flags that choose cases; of the environment they are meant for runs. */
static const char *patterns(const struct command_line *line, const char *name)
{
    return flag_of(line, name)->in_environment ? "*" : flag_text(line, name);
}

static int make_cases(struct viewed *v, bool second, struct error *error)
{
    const struct command_line *line = v->line;
    struct subject *s = &v->panes[second];
    const struct case_choice choice = {.workloads = patterns(line, "workload"),
                                       .datasets = patterns(line, "dataset"),
                                       .merges = patterns(line, "merge"),
                                       .releases = patterns(line, "release"),
                                       .devices = patterns(line, "device"),
                                       .id_count = line->positional_count - 1,
                                       .ids = line->positional + 1,
                                       .second = second,
                                       .may_run = true,
                                       .notes = stderr};
    const char *path = line->positional[0], *made;
    TRY(traces_make(&v->traces, second ? "cases.2" : "cases", &made, error));
    TRY(view_cases(&v->result, path, &choice, made, &s->cases, error));
    snprintf(s->name, sizeof s->name, "%s", s->cases.name);
    s->trace = second;
    v->count = 1 + (second || s->cases.has_second);
    return 0;
}

static int add_file(struct viewed *v, unsigned i, struct error *error)
{
    struct subject *s = &v->panes[i];
    const char *path = v->line->positional[i];
    TRY(traces_add_one(&v->traces, path, error));
    s->trace = i;
    if (v->line->positional_count > 1) {
        s->word = i ? "after" : "before";
        s->what = path;
    }
    return replay_trace_name(v->traces.paths[i], s->name, error);
}

static int open_panes(struct viewed *v, struct error *error)
{
    const struct command_line *line = v->line;
    const char *path = line->positional[0];
    const size_t count = line->positional_count;
    if (file_is(path, "result")) {
        TRY(result_open(path, &v->result, error));
        TRY(make_cases(v, false, error));
        if (v->count > 1)
            TRY(make_cases(v, true, error));
    } else {
        TRY(flags_refuse(
            line, "workload,dataset,merge,release,device",
            arena_printf(&v->traces.arena, "chooses cases, and %s is no result file", path),
            error));
        if (count > PANES_MOST)
            return error_set(error, ERR_USAGE,
                             "view makes a page of one trace or of two; these are %zu", count);
        v->count = count;
        for (unsigned i = 0; i < count; i++)
            TRY(add_file(v, i, error));
    }
    for (unsigned i = 0; i < v->count; i++)
        TRY(trace_open(v->traces.paths[i], &v->readers[i], error));
    if (v->count == 1 && flag_is_given(line, "beside")) {
        memcpy(v->panes[1].name, v->panes[0].name, sizeof v->panes[1].name);
        v->count = 2;
    }
    return 0;
}

/* The one setting that gamut advise names for the trace of a pane. */
static int advise_pane(struct viewed *v, struct subject *s, struct error *error)
{
    const struct advise_options options = {
        .application = "auto", .free_at = FREE_AT_DONE, .own_only = true};
    struct arena *arena = &v->traces.arena;
    struct advise advise = {0};
    struct text spec = {0}, words = {0};
    bool interrupted = false;
    int code = advise_traces(&v->traces.paths[s->trace], 1, &options, &advise, &interrupted, error);
    const struct advice *advice = advise.advices;
    if (!code && advice->leave)
        code = error_set(error, ERR_USAGE,
                         "%s: gamut advise names no other setting: none of %zu is better; --beside "
                         "STRATEGY draws another allocator",
                         s->name, advice->tried_count);
    if (!code) {
        setting_spec(&advice->best.setting, &spec);
        setting_words(&advice->best.setting, &words);
        const char *known = view_words(spec.data);
        s->names.items = arena_alloc(arena, sizeof *s->names.items);
        s->names.items[s->names.count++] = arena_printf(arena, "%s", spec.data);
        s->word = s->word ? s->word : "advised";
        s->what = arena_printf(arena, "%s%s%s", known, *known ? ", " : "", words.data);
        if (advise.traces[0].began_before)
            s->caution = "The log does not say what the advised setting would have held when it "
                         "began: its bytes are estimates.";
    }
    text_free(&spec);
    text_free(&words);
    advise_free(&advise);
    return code;
}

/* Names the allocators of a pane, and says what they are. */
static int name_strategies(struct viewed *v, size_t pane, struct error *error)
{
    struct subject *s = &v->panes[pane];
    const struct trace_info *info = trace_reader_info(v->readers[s->trace]);
    const char *list =
        flag_text(v->line, pane && flag_is_given(v->line, "beside") ? "beside" : "strategy");
    const char *word = NULL;
    if (list && strcmp(list, "advised") == 0 && pane)
        return advise_pane(v, s, error);
    if (v->result.root && !list) {
        s->names = s->cases.strategies;
    } else {
        if (!list && v->count == 1)
            list = "caching,vmm,tlsf";
        else if (!list)
            word = *info->allocator ? "recorded" : "assumed";
        if (word)
            list = *info->allocator ? word : application_find("auto", info->source)->unlogged;
        TRY(trace_strategies_named(list, &s->strategies, error));
        TRY(trace_strategies_of(&s->strategies, &v->traces, s->trace, &s->names, error));
    }
    const char *first = s->names.items[0];
    word = list && strcmp(list, "recorded") == 0 ? list : word ? word : first;
    s->word = s->word ? s->word : word;
    s->what = s->what ? s->what : *view_words(first) ? view_words(first) : first;
    return 0;
}

/* The words of two programs: what their cases differ in. */
static void name_programs(struct viewed *v)
{
    const struct case_key *keys[PANES_MOST];
    for (size_t i = 0; i < PANES_MOST; i++)
        keys[i] = &v->panes[i].cases.chosen[0]->key;
    for (size_t i = 0; i < PANES_MOST; i++) {
        const struct case_key *key = keys[i], *other = keys[!i];
        v->panes[i].word = strcmp(key->merge, other->merge) != 0       ? key->merge
                           : strcmp(key->release, other->release) != 0 ? key->release
                           : strcmp(key->device, other->device) != 0   ? key->device
                           : strcmp(key->dataset, other->dataset) != 0 ? key->dataset
                                                                       : key->workload;
        v->panes[i].what =
            arena_printf(&v->traces.arena, "%s %s, merge set %s, release policy %s, on %s",
                         key->workload, key->dataset, key->merge, key->release, key->device);
    }
}

static int write_page(const struct viewed *v, const char *path, struct view_report *reports,
                      struct error *error)
{
    const struct command_line *line = v->line;
    struct view_options options[PANES_MOST] = {0};
    struct arena arena = {0};
    char *bytes = NULL;
    size_t length = 0;
    for (size_t i = 0; i < v->count; i++) {
        const struct subject *s = &v->panes[i];
        uint64_t *measured = arena_alloc(&arena, s->names.count * sizeof *measured);
        for (size_t k = 0; k < s->names.count; k++)
            measured[k] = viewed_cases_reserved(&s->cases, s->names.items[k]);
        options[i] = (struct view_options){
            .reader = v->readers[s->trace],
            .name = s->name,
            .word = s->word,
            .what = s->what,
            .caution = s->caution,
            .strategy_count = s->names.count,
            .strategies = s->names.items,
            .about = s->cases.about,
            .measured_bytes = measured,
            .free_at = FREE_AT_DONE,
            .first = (uint32_t)flag_number(line, "from"),
            .last = flag_is_given(line, "to") ? (uint32_t)flag_number(line, "to") : UINT32_MAX};
    }
    FILE *out = open_memstream(&bytes, &length);
    int code = view_write(options, v->count, out, reports, error);
    fclose(out);
    arena_free(&arena);
    THEN(code, gzip_write_file(path, bytes, length, !flag_number(line, "force"), NULL, error));
    free(bytes);
    return code == ERR_EXISTS ? error_set(error, ERR_USAGE, "%s exists: --force replaces it", path)
                              : code;
}

static void say_written(const struct viewed *v, const struct view_report *reports, const char *out)
{
    char peak[32];
    for (size_t i = 0; i < v->count; i++)
        for (size_t k = 0; k < v->panes[i].names.count; k++)
            if (*reports[i].strategies[k].reason)
                fprintf(stderr, "gamut: %s is not in the page: %s\n", v->panes[i].names.items[k],
                        reports[i].strategies[k].reason);
    if (v->count > 1)
        fprintf(stderr, "gamut: %s Wrote %s\n", reports->difference, out);
    else
        fprintf(stderr, "gamut: %zu blocks; %s requested at event %zu, the peak; wrote %s\n",
                (size_t)reports->blocks, text_bytes(peak, reports->peak_bytes),
                (size_t)reports->peak_event, out);
    printf("%s\n", out);
}

/* "stencil small" is written to stencil-small.html, two traces to BEFORE-AFTER.html. */
static void name_page(char path[160], const struct viewed *v)
{
    const struct subject *a = &v->panes[0], *b = &v->panes[v->count - 1];
    if (v->count > 1 && strcmp(a->name, b->name) == 0)
        snprintf(path, 160, "%.60s-%.40s-%.40s.html", a->name, a->word, b->word);
    else
        snprintf(path, 160, "%.70s%s%.70s.html", a->name, v->count > 1 ? "-" : "",
                 v->count > 1 ? b->name : "");
    for (char *c = path; *c; c++)
        *c = strchr(" /:", *c) ? '-' : *c;
}

static int view_panes(struct viewed *v, struct error *error)
{
    struct view_report reports[PANES_MOST] = {0};
    char path[160];
    TRY(open_panes(v, error));
    if (v->result.root && v->panes[0].cases.has_second)
        name_programs(v);
    for (size_t i = 0; i < v->count; i++)
        TRY(name_strategies(v, i, error));
    name_page(path, v);
    const char *out = flag_text(v->line, "out") ? flag_text(v->line, "out") : path;
    TRY(result_file_check(out, flag_is_on(v->line, "force"), error));
    const int code = write_page(v, out, reports, error);
    if (!code)
        say_written(v, reports, out);
    for (size_t i = 0; i < v->count; i++)
        free(reports[i].strategies);
    return code;
}

static int view_command(const struct command_line *line)
{
    struct error error = {0};
    struct viewed v = {.line = line};
    const int code = view_panes(&v, &error);
    traces_name_logs(&v.traces, &error);
    for (size_t i = 0; i < PANES_MOST; i++) {
        if (v.readers[i])
            trace_close(v.readers[i]);
        viewed_cases_free(&v.panes[i].cases);
        select_free(&v.panes[i].strategies.selection);
    }
    result_release(&v.result);
    traces_free(&v.traces);
    return code ? report_error(&error) : EXIT_OK;
}

const struct command command_view = {
    .name = "view",
    .summary = "make one page of a trace, a log or a case: its blocks over time, address maps",
    .arguments = "FILE [AFTER | CASE...]",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .run = view_command,
};
