/* gamut plot: draws the charts of result files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "results/show/chart.h"
#include "results/file/result.h"

static const struct flag flags[] = {
    {"chart", 'c', FLAG_LIST, .help = "the charts [all that FILE has data for]"},
    FLAG_ONLY_WORKLOADS,
    FLAG_ONLY_STRATEGIES,
    {"term", 't', FLAG_LIST, .fallback = "svg,png",
     .help = "svg, png, dumb: dumb is text on stdout"},
    {"out", 'o', FLAG_TEXT, .value = "DIR",
     .help = "the folder of the charts [FILE without its suffix]; with several files, DIR has a "
             "folder for each"},
    FLAGS_END,
};

static void default_out(const char *file, struct text *folder)
{
    static const char *const suffixes[] = {".json", ".json.gz"};
    const size_t length = strlen(file);
    size_t stem = length;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (length > strlen(suffixes[i]) &&
            strcmp(file + length - strlen(suffixes[i]), suffixes[i]) == 0)
            stem = length - strlen(suffixes[i]);
    text_add(folder, "%.*s%s", (int)stem, file, stem < length ? "" : "-charts");
}

enum { CHARTS_MOST = 64 };

struct plot {
    const struct chart *charts[CHARTS_MOST]; /* those asked for, then NULL */
    bool by_name;                            /* the user named them */
    struct chart_options options;
    const struct result *result;
    unsigned made, failed;
    int over; /* the error after which nothing can be drawn: no gnuplot, or nowhere to write */
};

static bool has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0))
            return true;
    return false;
}

static void tell_files(const struct plot *plot, const char *base)
{
    static const char *const images[] = {"svg", "png"};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        if (has_word(plot->options.terminals, images[i]))
            printf("%s.%s\n", base, images[i]);
}

/* Draws all pictures of one chart. A lack of data for it is an error only if the chart was named;
 * draw_file reports a result from which nothing at all was drawn. */
static void draw_chart(struct plot *plot, const struct chart *chart)
{
    struct chart_subject *subjects;
    const size_t count = chart_subjects(chart, plot->result, NULL, &subjects);
    const unsigned made_before = plot->made;
    struct error nothing = {0};
    if (count == 0)
        error_set(&nothing, ERR_NOT_FOUND, "the result has no cases for the chart %s to show",
                  chart->name);
    for (size_t i = 0; i < count && !plot->over; i++) {
        struct error error = {0};
        struct text made = {0};
        int code = chart_draw(chart, &subjects[i], &plot->options, &made, &error);
        if (code == ERR_NOT_FOUND) {
            nothing = error;
        } else if (code) {
            report_error(&error);
            /* One picture may be too large while the others are fine. */
            plot->failed += plot->by_name || code != ERR_USAGE;
            plot->over = code == ERR_UNSUPPORTED || code == ERR_IO ? code : 0;
        } else {
            plot->made++;
            if (made.length)
                tell_files(plot, made.data);
        }
        text_free(&made);
    }
    if (plot->by_name && nothing.code && plot->made == made_before) {
        report_error(&nothing);
        plot->failed++;
    }
    free(subjects);
}

static void draw_file(struct plot *plot)
{
    const unsigned made_before = plot->made, failed_before = plot->failed;
    for (size_t c = 0; plot->charts[c] && !plot->over; c++)
        draw_chart(plot, plot->charts[c]);
    if (plot->made == made_before && plot->failed == failed_before) {
        struct error error;
        error_set(&error, ERR_NOT_FOUND,
                  "the result has nothing to draw: no case with a number, and no atlas");
        report_error(&error);
        plot->failed++;
    }
}

/* The charts that the flag names; without it all. */
static int choose_charts(const char *list, struct plot *plot, struct error *error)
{
    const struct chart *chart;
    size_t count = 0;
    plot->by_name = list != NULL;
    for (size_t c = 0; !plot->by_name && (chart = chart_at(c)); c++)
        plot->charts[count++] = chart;
    char name[64];
    while (plot->by_name && text_next_item(&list, name, sizeof name)) {
        if (chart_find(name, &chart, error))
            return error->code = ERR_USAGE;
        if (count + 1 < CHARTS_MOST)
            plot->charts[count++] = chart;
    }
    return 0;
}

/* "svg,dumb" as gnuplot's scripts read it: "svg dumb". */
static int choose_terminals(const char *list, struct text *terminals, struct error *error)
{
    char name[64];
    while (text_next_item(&list, name, sizeof name)) {
        if (!has_word("svg png dumb", name))
            return error_set(error, ERR_USAGE, "--term is '%s': it can be svg, png and dumb", name);
        text_add(terminals, "%s%s", terminals->length ? " " : "", name);
    }
    return 0;
}

/* Keeps the chosen cases. Means include other workloads, so they go. */
static int choose_cases(const struct command_line *line, struct result *result, struct error *error)
{
    const char *workloads = flag_text(line, "workload");
    const char *strategies = flag_text(line, "strategy");
    const size_t count = result->case_count;
    result->case_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct case_key *key = &result->cases[i].key;
        if (text_is_listed(workloads, key->workload) && text_is_listed(strategies, key->strategy))
            result->cases[result->case_count++] = result->cases[i];
    }
    if (flag_is_given(line, "workload"))
        result->mean_count = 0;
    if (count > 0 && result->case_count == 0)
        return error_set(error, ERR_USAGE,
                         "none of the %zu cases is of workload %s and strategy %s", count,
                         workloads, strategies);
    return 0;
}

static int plot_file(struct plot *plot, const struct command_line *line, const char *file,
                     struct error *error)
{
    struct result result;
    struct text out = {0};
    TRY(result_open(file, &result, error));
    int code = 0;
    const char *folder = flag_text(line, "out");
    if (folder && line->positional_count > 1) {
        text_add(&out, "%s/", folder);
        default_out(text_file_name(file), &out);
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            code = error_set(error, ERR_IO, "the folder %s could not be made: %s", folder,
                             strerror(errno));
    } else if (folder) {
        text_add(&out, "%s", folder);
    } else {
        default_out(file, &out);
    }
    THEN(code, choose_cases(line, &result, error));
    plot->result = &result;
    plot->options.folder = out.data;
    if (code == 0)
        draw_file(plot);
    text_free(&out);
    result_release(&result);
    return code;
}

static int plot_command(const struct command_line *line)
{
    struct plot plot = {0};
    struct error error = {0};
    struct text scripts = {0}, terminals = {0};
    text_own_folder(&scripts, "plots");
    int code = choose_charts(flag_text(line, "chart"), &plot, &error);
    THEN(code, choose_terminals(flag_text(line, "term"), &terminals, &error));
    plot.options.scripts = scripts.data;
    plot.options.terminals = terminals.data;
    /* A chart of text is as wide as the terminal, unless that width is unknown or of no use. */
    const size_t columns = terminal_columns(STDOUT_FILENO);
    plot.options.columns = columns >= 40 && columns <= 1000 ? (unsigned)columns : 100;
    for (size_t i = 0; i < line->positional_count && code == 0 && !plot.over; i++)
        code = plot_file(&plot, line, line->positional[i], &error);
    text_free(&scripts);
    text_free(&terminals);
    if (code)
        return report_error(&error);
    return plot.over == ERR_UNSUPPORTED ? EXIT_NOTHING_RAN : plot.failed ? EXIT_INPUT : EXIT_OK;
}

const struct command command_plot = {
    .name = "plot",
    .summary = "draw the charts of result files: speed-up, memory, where time goes, atlas and more",
    .arguments = "FILE...",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .run = plot_command,
};
