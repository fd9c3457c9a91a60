/* gamut report: makes one static page of result files. */
#include <stdio.h>

#include "base/text.h"
#include "cli/commands.h"
#include "pages/report.h"

static const struct flag flags[] = {
    {"out", 'o', FLAG_TEXT, .value = "DIR",
     .help = "the folder of the report; an older report in it is replaced"},
    {"against", 0, FLAG_TEXT, .value = "BASE", .help = "a result file to compare each FILE with"},
    {"title", 0, FLAG_TEXT, .value = "TEXT",
     .help = "the page's heading [the names of devices or traces]"},
    {"force", 0, FLAG_SWITCH, .help = "write into a folder that holds other files too"},
    FLAGS_END,
};

static int report_command(const struct command_line *line)
{
    struct error error = {0};
    struct text scripts = {0};
    if (!flag_text(line, "out")) {
        error_set(&error, ERR_USAGE, "report needs --out DIR, the folder to be made");
        return report_error(&error);
    }
    text_own_folder(&scripts, "plots");
    const struct report_options options = {
        .files = line->positional,
        .file_count = line->positional_count,
        .against = flag_text(line, "against"),
        .title = flag_text(line, "title"),
        .out = flag_text(line, "out"),
        .scripts = scripts.data,
        .force = flag_number(line, "force"),
    };
    int code = report_make(&options, &error);
    text_free(&scripts);
    if (code)
        return report_error(&error);
    printf("%s/index.html\n", options.out);
    return EXIT_OK;
}

const struct command command_report = {
    .name = "report",
    .summary = "make one static page of result files: verdict, charts, tables",
    .arguments = "FILE...",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .run = report_command,
};
