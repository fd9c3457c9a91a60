#include <stdio.h>

#include "base/text.h"
#include "cli/commands.h"
#include "record/chart/gnuplot.h"
#include "report/report.h"

enum report_flag { REPORT_OUT, REPORT_AGAINST, REPORT_TITLE, REPORT_FORCE, REPORT_SCRIPTS };

static const struct flag flags[] = {
    [REPORT_OUT] = {"out", 'o', FLAG_TEXT, "DIR", NULL, NULL, 0, 0,
                    "the folder of the report; an older report in it is replaced"},
    [REPORT_AGAINST] = {"against", 0, FLAG_TEXT, "BASE", NULL, NULL, 0, 0,
                        "a result file to compare each FILE with"},
    [REPORT_TITLE] = {"title", 0, FLAG_TEXT, "TEXT", NULL, NULL, 0, 0,
                      "the page's heading [the devices' names]"},
    [REPORT_FORCE] = {"force", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
                      "write into a folder that holds other files too"},
    [REPORT_SCRIPTS] = {"scripts", 0, FLAG_TEXT, "DIR", NULL, NULL, 0, 0,
                        "the folder of the gnuplot scripts [those of this build]"},
    {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
};

static int report_command(const struct command_line *line)
{
    const struct flag_value *flag = line->flag;
    struct error error = {0};
    struct text scripts = {0};
    if (!flag[REPORT_OUT].text) {
        error_set(&error, ERR_USAGE, "report needs --out DIR, the folder to be made");
        return report_error(&error);
    }
    if (flag[REPORT_SCRIPTS].text)
        text_add(&scripts, "%s", flag[REPORT_SCRIPTS].text);
    else
        text_own_folder(&scripts, "plots");
    const struct report_options options = {
        .files = line->positional,
        .file_count = line->positional_count,
        .against = flag[REPORT_AGAINST].text,
        .title = flag[REPORT_TITLE].text,
        .out = flag[REPORT_OUT].text,
        .scripts = scripts.data,
        .force = flag[REPORT_FORCE].number,
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
    .notes = "The report is a folder: the page index.html, charts/ with the charts and their\n"
             "data, and data/ with copies of the result files. Send the whole folder. The\n"
             "page needs no network, and can be read with scripts off. Its name goes to\n"
             "stdout. Charts need gnuplot.\n",
    .run = report_command,
};
