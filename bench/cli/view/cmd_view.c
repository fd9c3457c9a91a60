/* gamut view: makes one page of a trace, a log or the cases of a result file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/gzip_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/traces.h"
#include "results/file/result.h"
#include "results/file/result_file.h"
#include "replay/cases.h"
#include "pages/view_cases.h"
#include "pages/view.h"

static const struct flag flags[] = {
    {"strategy", 's', FLAG_LIST,
     .help = "allocators whose address maps are drawn: recorded (the trace's own), 'caching', … "
             "[caching,vmm,tlsf; of a result file those of the cases]"},
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

/* A page shows a trace, or the trace that was made of a log or of cases. */
struct subject {
    struct traces traces; /* one */
    char name[128];       /* for the heading */
    struct result result; /* root NULL: it is no result file */
    struct viewed_cases cases;
};

static bool is_result(const char *path)
{
    char head[512];
    gzFile file = gzopen(path, "rb");
    const int length = file ? gzread(file, head, sizeof head - 1) : 0;
    head[length > 0 ? length : 0] = 0;
    if (file)
        gzclose(file);
    return strstr(head, "\"" RESULT_SCHEMA_NAME "\"") != NULL;
}

/* The flags that choose cases; of the environment they are meant for runs. */
static const char *patterns(const struct command_line *line, const char *name)
{
    return flag_of(line, name)->in_environment ? "*" : flag_text(line, name);
}

static int make_cases(struct subject *s, const struct command_line *line, struct error *error)
{
    const struct case_choice choice = {.workloads = patterns(line, "workload"),
                                       .datasets = patterns(line, "dataset"),
                                       .merges = patterns(line, "merge"),
                                       .releases = patterns(line, "release"),
                                       .devices = patterns(line, "device"),
                                       .id_count = line->positional_count - 1,
                                       .ids = line->positional + 1,
                                       .may_run = true,
                                       .notes = stderr};
    const char *path = line->positional[0], *made;
    TRY(traces_make(&s->traces, "cases", &made, error));
    TRY(result_open(path, &s->result, error));
    TRY(view_cases(&s->result, path, &choice, made, &s->cases, error));
    snprintf(s->name, sizeof s->name, "%s", s->cases.name);
    return 0;
}

/* Refuses the flags that are for result files. */
static int check_flags(const struct command_line *line, const char *path, struct error *error)
{
    const char *choosing = "workload,dataset,merge,release,device";
    char name[32];
    while (text_next_item(&choosing, name, sizeof name))
        if (flag_is_typed(line, name))
            return error_set(error, ERR_USAGE, "--%s chooses cases, and %s is no result file", name,
                             path);
    return 0;
}

static int open_subject(struct subject *s, const struct command_line *line, struct error *error)
{
    const char *path = line->positional[0];
    if (is_result(path))
        return make_cases(s, line, error);
    TRY(check_flags(line, path, error));
    if (line->positional_count != 1)
        return error_set(error, ERR_USAGE, "view makes a page of one trace; these are %zu",
                         line->positional_count);
    TRY(traces_add_one(&s->traces, path, error));
    return replay_trace_name(s->traces.paths[0], s->name, error);
}

static int write_page(const struct command_line *line, const struct subject *subject,
                      const struct names *strategies, const char *path, struct view_report *report,
                      struct error *error)
{
    uint64_t *measured = must_alloc(strategies->count * sizeof *measured);
    const struct view_options options = {
        .name = subject->name,
        .strategy_count = strategies->count,
        .strategies = strategies->items,
        .about = subject->cases.about,
        .measured_bytes = measured,
        .free_at = FREE_AT_DONE,
        .first = (uint32_t)flag_number(line, "from"),
        .last = flag_is_given(line, "to") ? (uint32_t)flag_number(line, "to") : UINT32_MAX};
    struct trace_reader *reader;
    char *bytes = NULL;
    size_t length = 0;
    for (size_t i = 0; i < strategies->count; i++)
        measured[i] = viewed_cases_reserved(&subject->cases, strategies->items[i]);
    int code = trace_open(subject->traces.paths[0], &reader, error);
    if (!code) {
        FILE *out = open_memstream(&bytes, &length);
        code = view_write(reader, &options, out, report, error);
        trace_close(reader);
        fclose(out);
    }
    free(measured);
    THEN(code, gzip_write_file(path, bytes, length, !flag_number(line, "force"), NULL, error));
    free(bytes);
    return code == ERR_EXISTS ? error_set(error, ERR_USAGE, "%s exists: --force replaces it", path)
                              : code;
}

static void say_written(const struct names *strategies, const struct view_report *report,
                        const char *out)
{
    char peak[32];
    for (size_t i = 0; i < strategies->count; i++)
        if (*report->strategies[i].reason)
            fprintf(stderr, "gamut: %s is not in the page: %s\n", strategies->items[i],
                    report->strategies[i].reason);
    fprintf(stderr, "gamut: %zu blocks; %s requested at event %zu, the peak; wrote %s\n",
            (size_t)report->blocks, text_bytes(peak, report->peak_bytes),
            (size_t)report->peak_event, out);
    printf("%s\n", out);
}

/* "stencil small" is written to stencil-small.html. */
static void name_page(char path[160], const char *name)
{
    snprintf(path, 160, "%s.html", name);
    for (char *c = path; *c; c++)
        *c = *c == ' ' ? '-' : *c;
}

static int view_subject(const struct command_line *line, struct subject *subject,
                        struct trace_strategies *strategies, struct error *error)
{
    const char *list = flag_text(line, "strategy");
    struct names names;
    struct view_report report = {0};
    char path[160];
    TRY(trace_strategies_named(list ? list : "caching,vmm,tlsf", strategies, error));
    TRY(open_subject(subject, line, error));
    if (subject->result.root && !list)
        names = subject->cases.strategies;
    else
        TRY(trace_strategies_of(strategies, &subject->traces, 0, &names, error));
    name_page(path, subject->name);
    const char *out = flag_text(line, "out") ? flag_text(line, "out") : path;
    TRY(result_file_check(out, flag_is_on(line, "force"), error));
    const int code = write_page(line, subject, &names, out, &report, error);
    if (!code)
        say_written(&names, &report, out);
    free(report.strategies);
    return code;
}

static int view_command(const struct command_line *line)
{
    struct error error = {0};
    struct subject subject = {0};
    struct trace_strategies strategies = {0};
    const int code = view_subject(line, &subject, &strategies, &error);
    traces_name_logs(&subject.traces, &error);
    viewed_cases_free(&subject.cases);
    result_release(&subject.result);
    traces_free(&subject.traces);
    select_free(&strategies.selection);
    return code ? report_error(&error) : EXIT_OK;
}

const struct command command_view = {
    .name = "view",
    .summary = "make one page of a trace, a log or a case: its blocks over time, address maps",
    .arguments = "FILE [CASE...]",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .notes =
        "FILE is a trace, a log that gamut trace import reads (a snapshot of PyTorch and others),\n"
        "or a result file. Of a result file the page shows one program; ids of cases or the\n"
        "flags choose it, and each of its cases is an allocator to be shown. The program is run\n"
        "again without a device, and must ask for what the case did. Cases of gamut replay are\n"
        "traces: view takes the trace itself.\n"
        "\n"
        "The page is one file without a network: blocks as stacked bands over the events, the\n"
        "bytes that each allocator reserves, and where it puts the blocks. Zoom with the wheel,\n"
        "the buttons or the keys + and -, down to one event; point at a block for its size, site,\n"
        "phase and lifetime; click for who holds what then; search sites; colour by category,\n"
        "site, size or phase; put events at their times. Without scripts the page shows the\n"
        "bytes over time, and who holds what at their peak.\n"
        "\n"
        "The page has every block: six to nine bytes an event, and three more for each further\n"
        "allocator. --from and --to make a smaller one of a part.\n",
    .run = view_command,
};
