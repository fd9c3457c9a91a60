#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/registry.h"
#include "base/arena.h"
#include "base/gzip_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/traces.h"
#include "run/replay/cases.h"
#include "trace/import.h"
#include "view/view.h"

enum view_flag { VIEW_STRATEGY, VIEW_FROM, VIEW_TO, VIEW_OUT, VIEW_FORCE };

static const struct flag flags[] = {
    [VIEW_STRATEGY] =
        {"strategy", 's', FLAG_LIST, "LIST", NULL, NULL, 0, 0,
         "allocators whose address maps are drawn: recorded (the trace's own), 'caching', "
         "… [caching,vmm,tlsf]"},
    [VIEW_FROM] = {"from", 0, FLAG_COUNT, "N", "0", NULL, 0, UINT32_MAX - 2,
                   "leave out what is over before event N"},
    [VIEW_TO] = {"to", 0, FLAG_COUNT, "M", NULL, NULL, 1, UINT32_MAX - 2,
                 "leave out what begins after event M [the last]"},
    [VIEW_OUT] = {"out", 'o', FLAG_TEXT, "FILE", NULL, NULL, 0, 0, "the page [NAME.html]"},
    [VIEW_FORCE] = {"force", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, "replace FILE if it exists"},
    {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
};

/* What is viewed: a trace, or the trace that was made of a log. */
struct subject {
    const char *path;
    char name[64];
    char folder[128]; /* of the trace that was made; "": there is none */
    char made[160];
};

static bool is_trace(const char *path)
{
    char head[8] = "";
    FILE *file = fopen(path, "rb");
    const bool is = !file || (fread(head, 1, sizeof head, file) == sizeof head &&
                              memcmp(head, "gamuttrc", sizeof head) == 0);
    if (file)
        fclose(file);
    return is;
}

/* A log becomes a trace in a folder that close_subject removes. */
static int import_subject(struct subject *s, struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    struct import_report report;
    snprintf(s->folder, sizeof s->folder, "%.100s/gamut-view.XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(s->folder)) {
        const int code = error_set(error, ERR_IO, "%s: %s", s->folder, strerror(errno));
        s->folder[0] = 0;
        return code;
    }
    snprintf(s->made, sizeof s->made, "%s/made" TRACE_SUFFIX, s->folder);
    struct error why = {0};
    int code = import_log(s->path, NULL, s->made, false, &report, &why);
    if (code)
        error_set(
            error, code,
            "%s; view takes a trace or a log. Of a program that gamut runs, gamut record makes "
            "a trace: gamut record -o app.trace -- gamut run -w NAME -s raw -D opencl",
            why.text);
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

static int open_subject(struct subject *s, const char *path, struct error *error)
{
    s->path = path;
    TRY(replay_trace_name(path, s->name, error));
    if (is_trace(path))
        return 0;
    s->name[strcspn(s->name + 1, ".") + 1] = 0; /* logs have endings of their own */
    TRY(import_subject(s, error));
    s->path = s->made;
    return 0;
}

static void close_subject(struct subject *s)
{
    if (!*s->folder)
        return;
    unlink(s->made);
    rmdir(s->folder);
}

static int write_page(const struct command_line *line, const struct subject *subject,
                      const struct names *strategies, const char *path, struct view_report *report,
                      struct error *error)
{
    const struct flag_value *flag = line->flag;
    const struct view_options options = {
        .name = subject->name,
        .strategy_count = strategies->count,
        .strategies = strategies->items,
        .free_at = FREE_AT_DONE,
        .first = (uint32_t)flag[VIEW_FROM].number,
        .last = flag[VIEW_TO].given ? (uint32_t)flag[VIEW_TO].number : UINT32_MAX};
    struct trace_reader *reader;
    char *bytes = NULL;
    size_t length = 0;
    TRY(trace_open(subject->path, &reader, error));
    FILE *out = open_memstream(&bytes, &length);
    int code = view_write(reader, &options, out, report, error);
    trace_close(reader);
    fclose(out);
    if (!code)
        code = gzip_write_file(path, bytes, length, !flag[VIEW_FORCE].number, NULL, error);
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

static int view_subject(const struct command_line *line, struct subject *subject,
                        struct traces *traces, struct trace_strategies *strategies,
                        struct error *error)
{
    struct names of_trace;
    struct view_report report = {0};
    char path[80];
    TRY(open_subject(subject, traces->paths[0], error));
    traces->paths[0] = subject->path;
    TRY(trace_strategies_of(strategies, traces, 0, &of_trace, error));
    snprintf(path, sizeof path, "%s.html", subject->name);
    const char *out = line->flag[VIEW_OUT].text ? line->flag[VIEW_OUT].text : path;
    const int code = write_page(line, subject, &of_trace, out, &report, error);
    if (!code)
        say_written(&of_trace, &report, out);
    free(report.strategies);
    return code;
}

static int view_one(const struct command_line *line, struct traces *traces,
                    struct trace_strategies *strategies, struct error *error)
{
    const char *list = line->flag[VIEW_STRATEGY].text;
    struct subject subject = {0};
    TRY(traces_named(line, traces, error));
    if (traces->count != 1)
        return error_set(error, ERR_USAGE, "view makes a page of one trace; these are %u",
                         traces->count);
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
    .summary = "make one interactive page of a trace: its blocks over time, and address maps",
    .arguments = "FILE",
    .least_positionals = 1,
    .most_positionals = 1,
    .flags = flags,
    .notes =
        "FILE is a trace, or a log that gamut trace import reads: a snapshot of PyTorch and "
        "others.\n"
        "\n"
        "The page is one file without a network: blocks as stacked bands over the events, the\n"
        "bytes that each allocator reserves, and where it puts the blocks. Zoom with the wheel,\n"
        "the buttons or the keys + and -, down to one event; point at a block for its size, site,\n"
        "phase and lifetime; click for who holds what then; search sites; colour by site, size or "
        "phase. Without scripts the\n"
        "page shows the bytes over time, and who holds what at their peak.\n"
        "\n"
        "The page has every block: six to nine bytes an event, and three more for each further\n"
        "allocator. --from and --to make a smaller one of a part.\n",
    .run = view_command,
};
