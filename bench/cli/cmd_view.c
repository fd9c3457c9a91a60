#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/arena.h"
#include "base/gzip_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/traces.h"
#include "run/replay/cases.h"
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

static int write_page(const struct command_line *line, struct traces *traces,
                      const struct names *strategies, const char *name, const char *path,
                      struct view_report *report, struct error *error)
{
    const struct flag_value *flag = line->flag;
    const struct view_options options = {
        .name = name,
        .strategy_count = strategies->count,
        .strategies = strategies->items,
        .free_at = FREE_AT_DONE,
        .first = (uint32_t)flag[VIEW_FROM].number,
        .last = flag[VIEW_TO].given ? (uint32_t)flag[VIEW_TO].number : UINT32_MAX};
    struct trace_reader *reader;
    char *bytes = NULL;
    size_t length = 0;
    TRY(trace_open(traces->paths[0], &reader, error));
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

static int view_one(const struct command_line *line, struct traces *traces,
                    struct trace_strategies *strategies, struct error *error)
{
    const char *list = line->flag[VIEW_STRATEGY].text;
    struct names of_trace;
    struct view_report report = {0};
    char name[64], path[80], peak[32];
    TRY(traces_named(line, traces, error));
    if (traces->count != 1)
        return error_set(error, ERR_USAGE, "view makes a page of one trace; these are %u",
                         traces->count);
    TRY(trace_strategies_named(list ? list : "caching,vmm,tlsf", strategies, error));
    TRY(replay_trace_name(traces->paths[0], name, error));
    TRY(trace_strategies_of(strategies, traces, 0, &of_trace, error));
    snprintf(path, sizeof path, "%s.html", name);
    const char *out = line->flag[VIEW_OUT].text ? line->flag[VIEW_OUT].text : path;
    const int code = write_page(line, traces, &of_trace, name, out, &report, error);
    for (size_t i = 0; !code && i < of_trace.count; i++)
        if (*report.strategies[i].reason)
            fprintf(stderr, "gamut: %s is not in the page: %s\n", of_trace.items[i],
                    report.strategies[i].reason);
    if (!code)
        fprintf(stderr, "gamut: %zu blocks; %s requested at event %zu, the peak; wrote %s\n",
                (size_t)report.blocks, text_bytes(peak, report.peak_bytes),
                (size_t)report.peak_event, out);
    if (!code)
        printf("%s\n", out);
    free(report.strategies);
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
    .arguments = "TRACE",
    .least_positionals = 1,
    .most_positionals = 1,
    .flags = flags,
    .notes =
        "The page is one file without a network: blocks as stacked bands over the events, the\n"
        "bytes that each allocator reserves, and where it puts the blocks. Zoom with the wheel,\n"
        "the buttons or the keys + and -, down to one event; point at a block for its size, site,\n"
        "phase and lifetime; search sites; colour by site, size or phase. Without scripts the\n"
        "page shows the bytes over time, and who holds what at their peak.\n",
    .run = view_command,
};
