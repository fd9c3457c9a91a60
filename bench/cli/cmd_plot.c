#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "record/atlas_chart.h"
#include "record/chart.h"
#include "record/gnuplot.h"
#include "record/result.h"
#include "record/tree.h"

enum plot_flag { PLOT_OUT, PLOT_SCRIPTS };

static const struct flag flags[] = {
    [PLOT_OUT] = {"out", 'o', FLAG_TEXT, "DIR", NULL, NULL, 0, 0,
                  "the folder of the charts [FILE without its suffix]"},
    [PLOT_SCRIPTS] = {"scripts", 0, FLAG_TEXT, "DIR", NULL, NULL, 0, 0,
                      "the gnuplot scripts [those of this build or installation]"},
    {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
};

static void default_out(const char *file, struct text *folder)
{
    size_t length = strlen(file);
    bool is_json = length > 5 && strcmp(file + length - 5, ".json") == 0;
    text_add(folder, "%.*s%s", (int)(is_json ? length - 5 : length), file,
             is_json ? "" : "-charts");
}

struct plot {
    const json_t *root;
    const char *scripts, *out;
    unsigned made, failed;
};

/* chart NULL: the device's atlas. */
static int draw(struct plot *plot, const char *chart, const char *device, const char *strategy)
{
    struct error error = {0};
    struct text made = {0};
    int code = chart
                   ? chart_draw(plot->root, chart, device, strategy, plot->scripts, plot->out,
                                &made, &error)
                   : atlas_chart_draw(plot->root, device, plot->scripts, plot->out, &made, &error);
    if (code == ERR_NOT_FOUND && strategy) {
        /* Most results have one merge set. */
    } else if (code) {
        report_error(&error);
        /* A chart that a device has no cases for is no failure of the others. */
        plot->failed += code != ERR_NOT_FOUND;
    } else {
        printf("%s.svg\n%s.png\n", made.data, made.data);
        plot->made++;
    }
    text_free(&made);
    return code;
}

/* A chart of a device, or its charts for each strategy. */
static int draw_chart(struct plot *plot, const char *chart, const char *device)
{
    const char *strategy;
    int code = 0;
    if (!chart_is_of_one_strategy(chart))
        return draw(plot, chart, device, NULL);
    for (size_t s = 0; (strategy = chart_strategy(plot->root, device, s)); s++)
        if ((code = draw(plot, chart, device, strategy)) == ERR_UNSUPPORTED)
            return code;
    return 0;
}

static int draw_all(struct plot *plot)
{
    /* A file of atlases alone has no charts of cases; one without either says so. */
    const json_t *atlases = json_object_get(plot->root, "atlas");
    const bool has_cases =
        json_array_size(json_object_get(plot->root, "cases")) > 0 || json_array_size(atlases) == 0;
    const json_t *devices = json_object_get(json_object_get(plot->root, "context"), "devices");
    for (size_t d = 0; d < json_array_size(devices); d++) {
        const char *device = tree_get_text(json_array_get(devices, d), "id");
        const char *chart;
        int code = atlas_json_find(atlases, device) ? draw(plot, NULL, device, NULL) : 0;
        for (size_t c = 0; has_cases && code != ERR_UNSUPPORTED && (chart = chart_name(c)); c++)
            code = draw_chart(plot, chart, device);
        if (code == ERR_UNSUPPORTED)
            return EXIT_NOTHING_RAN; /* no gnuplot */
    }
    return plot->failed || !plot->made ? EXIT_INPUT : EXIT_OK;
}

static int run(const struct command_line *line)
{
    const char *file = line->positional[0];
    struct error error = {0};
    json_t *root;
    if (result_load(file, &root, &error))
        return report_error(&error);
    struct text scripts = {0}, out = {0};
    if (line->flag[PLOT_SCRIPTS].text)
        text_add(&scripts, "%s", line->flag[PLOT_SCRIPTS].text);
    else
        gnuplot_scripts(&scripts);
    if (line->flag[PLOT_OUT].text)
        text_add(&out, "%s", line->flag[PLOT_OUT].text);
    else
        default_out(file, &out);
    struct plot plot = {.root = root, .scripts = scripts.data, .out = out.data};
    int exit_code = draw_all(&plot);
    text_free(&scripts);
    text_free(&out);
    json_decref(root);
    return exit_code;
}

const struct command command_plot = {
    .name = "plot",
    .summary = "draw the charts of a result file: speed-up over raw, peak memory, merging, atlas",
    .arguments = "FILE",
    .least_positionals = 1,
    .most_positionals = 1,
    .flags = flags,
    .notes = "Needs gnuplot. Each chart becomes an SVG, a PNG and the data that it shows; their\n"
             "names go to stdout.\n",
    .run = run,
};
