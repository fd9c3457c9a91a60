#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "alloc/registry.h"
#include "base/arena.h"
#include "base/gzip_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/traces.h"
#include "cli/view/cases.h"
#include "record/result/result.h"
#include "record/result/result_file.h"
#include "run/replay/cases.h"
#include "trace/import.h"
#include "view/view.h"

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

/* What is viewed: a trace, or the trace that was made of a log or of cases. */
struct subject {
    const char *path;
    char name[128];   /* for the heading */
    char folder[128]; /* of the trace that was made; "": there is none */
    char made[160];
    struct viewed_cases cases; /* root NULL: none */
};

/* The first bytes of a file, unpacked; "" where it cannot be read. */
static void read_head(const char *path, char head[512])
{
    gzFile file = gzopen(path, "rb");
    const int length = file ? gzread(file, head, 511) : 0;
    head[length > 0 ? length : 0] = 0;
    if (file)
        gzclose(file);
}

/* A file that is not there is one: the error of opening it names it. */
static bool is_trace(const char *path, const char *head)
{
    return access(path, R_OK) != 0 || strncmp(head, "gamuttrc", 8) == 0;
}

static bool is_result(const char *head)
{
    return strstr(head, "\"" RESULT_SCHEMA_NAME "\"") != NULL;
}

/* Makes the folder for a trace that close_subject removes. */
static int make_folder(struct subject *s, struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%.100s/gamut-view.XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(s->folder)) {
        const int code = error_set(error, ERR_IO, "%s: %s", s->folder, strerror(errno));
        s->folder[0] = 0;
        return code;
    }
    snprintf(s->made, sizeof s->made, "%s/made" TRACE_SUFFIX, s->folder);
    return 0;
}

static int import_subject(struct subject *s, struct error *error)
{
    struct import_report report;
    struct error why = {0};
    TRY(make_folder(s, error));
    int code = import_log(s->path, NULL, s->made, false, &report, &why);
    if (code)
        error_set(error, code, "%s; view takes a trace, a log or a result file", why.text);
    if (!code && report.trace_count != 1)
        code = error_set(error, ERR_USAGE,
                         "%s: the log has %u devices: gamut trace import makes a trace of each",
                         s->path, report.trace_count);
    for (unsigned i = 0; i < report.trace_count; i++)
        if (strcmp(report.traces[i].path, s->made) != 0)
            unlink(report.traces[i].path);
    import_report_free(&report);
    return code;
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
                                       .ids = line->positional + 1};
    TRY(make_folder(s, error));
    TRY(view_cases(s->path, &choice, s->made, &s->cases, error));
    snprintf(s->name, sizeof s->name, "%s", s->cases.name);
    return 0;
}

/* What is for result files only. */
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

static int open_subject(struct subject *s, const struct command_line *line,
                        const struct traces *traces, struct error *error)
{
    char head[512];
    s->path = traces->paths[0];
    read_head(s->path, head);
    if (is_result(head)) {
        TRY(make_cases(s, line, error));
    } else {
        TRY(check_flags(line, s->path, error));
        if (traces->count != 1)
            return error_set(error, ERR_USAGE, "view makes a page of one trace; these are %u",
                             traces->count);
        TRY(replay_trace_name(s->path, s->name, error));
        if (is_trace(s->path, head))
            return 0;
        s->name[strcspn(s->name + 1, ".") + 1] = 0; /* logs have endings of their own */
        TRY(import_subject(s, error));
    }
    s->path = s->made;
    return 0;
}

static void close_subject(struct subject *s)
{
    viewed_cases_free(&s->cases);
    if (!*s->folder)
        return;
    unlink(s->made);
    rmdir(s->folder);
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
    int code = trace_open(subject->path, &reader, error);
    if (!code) {
        FILE *out = open_memstream(&bytes, &length);
        code = view_write(reader, &options, out, report, error);
        trace_close(reader);
        fclose(out);
    }
    free(measured);
    if (!code)
        code = gzip_write_file(path, bytes, length, !flag_number(line, "force"), NULL, error);
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
                        struct traces *traces, struct trace_strategies *strategies,
                        struct error *error)
{
    struct names names;
    struct view_report report = {0};
    char path[160];
    TRY(open_subject(subject, line, traces, error));
    traces->paths[0] = subject->path;
    if (subject->cases.root && !flag_text(line, "strategy"))
        names = subject->cases.strategies;
    else
        TRY(trace_strategies_of(strategies, traces, 0, &names, error));
    name_page(path, subject->name);
    const char *out = flag_text(line, "out") ? flag_text(line, "out") : path;
    TRY(result_file_check(out, flag_number(line, "force"), error));
    const int code = write_page(line, subject, &names, out, &report, error);
    if (!code)
        say_written(&names, &report, out);
    free(report.strategies);
    return code;
}

static int view_one(const struct command_line *line, struct traces *traces,
                    struct trace_strategies *strategies, struct error *error)
{
    const char *list = flag_text(line, "strategy");
    struct subject subject = {0};
    TRY(traces_named(line, traces, error));
    TRY(trace_strategies_named(list ? list : "caching,vmm,tlsf", strategies, error));
    const int code = view_subject(line, &subject, traces, strategies, error);
    close_subject(&subject);
    return code;
}

static int view_command(const struct command_line *line)
{
    struct error error = {0};
    struct traces traces = {0};
    struct trace_strategies strategies = {0};
    const int code = view_one(line, &traces, &strategies, &error);
    select_free(&strategies.selection);
    traces_free(&traces);
    return code ? report_error(&error) : EXIT_OK;
}

const struct command command_view = {
    .name = "view",
    .summary = "make one interactive page of a trace or a case: its blocks over time, address maps",
    .arguments = "FILE [CASE...]",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .notes =
        "FILE is a trace, a log that gamut trace import reads (a snapshot of PyTorch and others),\n"
        "or a result file. Of a result file the page shows one program; ids of cases or the\n"
        "flags choose it, and each of its cases is an allocator to be shown. A file keeps the\n"
        "192 largest blocks of a case: to have them all, the program is run again without a\n"
        "device, and must ask for what the case did. Cases of gamut replay are traces.\n"
        "\n"
        "The page is one file without a network: blocks as stacked bands over the events, the\n"
        "bytes that each allocator reserves, and where it puts the blocks. Zoom with the wheel,\n"
        "the buttons or the keys + and -, down to one event; point at a block for its size, site,\n"
        "phase and lifetime; click for who holds what then; search sites; colour by site, size or\n"
        "phase; put events at their times. Without scripts the page shows the bytes over time,\n"
        "and who holds what at their peak.\n"
        "\n"
        "The page has every block: six to nine bytes an event, and three more for each further\n"
        "allocator. --from and --to make a smaller one of a part.\n",
    .run = view_command,
};
