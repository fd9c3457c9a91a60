#include "report/history_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/chart/chart.h"
#include "record/compare/history.h"
#include "record/result/result.h"
#include "report/folder.h"
#include "report/page.h"

/* With more rows a table is folded, and after the most it ends. */
enum { ROWS_OPEN = 60, ROWS_MOST = 3000 };

struct history_page {
    const struct history_page_options *options;
    const char *work; /* the folder that the page is made in */
    FILE *out;
};

static void print_banner(const struct history_page *page)
{
    const json_t *history = page->options->history, *file;
    const enum compare_outcome outcome = compare_outcome(history);
    const char *mood = outcome == COMPARE_ok                                        ? "good"
                       : outcome == COMPARE_regression || outcome == COMPARE_failed ? "bad"
                                                                                    : "warn";
    struct text counts = {0};
    size_t i;
    html_print(page->out, "<div class=\"banner %s\"><p><strong class=\"word\">%s</strong></p>",
               mood, tree_get_text(history, "verdict"));
    html_print(page->out, "<p>%s</p>", tree_get_text(history, "sentence"));
    history_counts(history, &counts);
    html_print(page->out, "<p class=\"soft\">%s</p>", counts.data);
    text_free(&counts);
    if (json_array_size(json_object_get(history, "left_out")))
        fputs("<ul>", page->out);
    json_array_foreach(json_object_get(history, "left_out"), i, file)
        html_print(page->out, "<li>left out: %s: %s</li>", tree_get_text(file, "name"),
                   tree_get_text(file, "reason"));
    fputs(i ? "</ul></div>\n" : "</div>\n", page->out);
}

static void begin_section(const struct history_page *page, const char *title, const char *about)
{
    html_print(page->out, "<section><h3>%s</h3>\n", title);
    if (*about)
        html_print(page->out, "<p class=\"about\">%s</p>\n", about);
}

static void print_series(const struct history_page *page, enum compare_show show)
{
    const bool is_all = show == COMPARE_SHOW_ALL;
    struct text_grid grid = history_grid_of(page->options->history, TABLE_MARKDOWN, show);
    begin_section(page, is_all ? "All series" : "Steps",
                  is_all
                      ? ""
                      : "A time has a step where it changed and stayed so, a counter wherever it "
                        "changes. The range of commits is what git log takes.");
    if (grid.row_count)
        page_grid(page->out, &grid,
                  &(struct page_rows){.open = is_all ? 0 : ROWS_OPEN,
                                      .most = ROWS_MOST,
                                      .rest = "data/history.json has all of them.",
                                      .what = "series",
                                      .can_sort = true});
    else
        fputs("<p>No series has a step.</p>\n", page->out);
    fputs("</section>\n", page->out);
    text_grid_free(&grid);
}

static void print_runs(const struct history_page *page)
{
    const json_t *runs = json_object_get(page->options->history, "runs"), *run;
    struct text_grid grid = text_grid_of("revision|started at|machine|>rounds|file");
    begin_section(page, "Runs",
                  strcmp(tree_get_text(page->options->history, "order"), "commits") == 0
                      ? "In the order of their commits."
                      : "In the order of their times: the git history was not there, or lacked one "
                        "of the commits.");
    for (size_t i = 0; (run = json_array_get(runs, i)); i++) {
        const char *rev = tree_get_text(run, "git_rev"), *name = tree_get_text(run, "name");
        const char *slash = strrchr(name, '/');
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%.12s%s", *rev ? rev : "unknown",
                      json_is_true(json_object_get(run, "git_dirty")) ? "-dirty" : "");
        text_grid_add(&grid, "%s", tree_get_text(run, "started_at"));
        text_grid_add(&grid, "%s", tree_get_text(run, "machine_id"));
        text_grid_add(&grid, "%.0f", tree_get_number(run, "rounds"));
        text_grid_add(&grid, "%s", slash ? slash + 1 : name);
    }
    page_grid(page->out, &grid,
              &(struct page_rows){.open = ROWS_OPEN,
                                  .most = ROWS_MOST,
                                  .rest = "data/history.json has all of them.",
                                  .what = "runs"});
    fputs("</section>\n", page->out);
    text_grid_free(&grid);
}

static void print_charts(const struct history_page *page)
{
    struct text folder = {0};
    struct chart_subject *subjects;
    json_t *root = chart_history_root(page->options->history);
    const size_t count = chart_subjects(&chart_history, root, NULL, &subjects);
    size_t room = PAGE_VALUES_MOST;
    struct error error = {0};
    int code = 0;
    text_add(&folder, "%s/charts", page->work);
    const struct chart_options options = {
        .scripts = page->options->scripts, .folder = folder.data, .terminals = "svg"};
    begin_section(page, "Charts", "");
    for (size_t i = 0; i < count && code != ERR_UNSUPPORTED; i++) {
        struct text made = {0}, title = {0};
        text_add(&title, "Metrics over the first result of each series, on %s", subjects[i].device);
        code = chart_draw(&chart_history, &subjects[i], &options, &made, &error);
        if (code == 0)
            page_figure(page->out, page->work, made.data, title.data, &room);
        else
            html_print(page->out, "<p class=\"soft\">Not drawn: %s: %s</p>\n", title.data,
                       error.text);
        text_free(&made);
        text_free(&title);
    }
    fputs("</section>\n", page->out);
    text_free(&folder);
    free(subjects);
    json_decref(root);
}

static void print_page(const struct history_page *page)
{
    page_begin(page->out, "History");
    html_print(page->out,
               "<header><h1>History</h1><p class=\"soft\">Metrics of %zu results over commits and "
               "machines</p>\n</header>\n<main>\n",
               json_array_size(json_object_get(page->options->history, "runs")));
    print_banner(page);
    print_series(page, COMPARE_SHOW_CHANGED);
    print_charts(page);
    print_runs(page);
    print_series(page, COMPARE_SHOW_ALL);
    fputs(
        "</main>\n<footer>Made by <code>gamut history</code> from <a "
        "href=\"data/history.json\">history.json</a>. The page loads nothing but the charts in its "
        "own folder, and can be read without its script.</footer>\n",
        page->out);
    page_end(page->out);
}

/* Writes the page or the data. */
static int write_file(struct history_page *page, const char *name, bool is_page,
                      struct error *error)
{
    struct text path = {0};
    int code = 0;
    text_add(&path, "%s/%s", page->work, name);
    page->out = fopen(path.data, "w");
    if (!page->out)
        code = error_set(error, ERR_IO, "%s could not be made: %s", path.data, strerror(errno));
    else if (is_page)
        print_page(page);
    else
        code = result_print(page->options->history, page->out, error);
    const bool failed = page->out && ferror(page->out);
    if (page->out && (fclose(page->out) != 0 || failed) && !code)
        code = error_set(error, ERR_IO, "%s could not be written: %s", path.data, strerror(errno));
    text_free(&path);
    return code;
}

int history_page_make(const struct history_page_options *options, struct error *error)
{
    struct text work = {0}, data = {0};
    int code = report_folder_begin(options->out, options->force, &work, error);
    if (!code) {
        struct history_page page = {.options = options, .work = work.data};
        text_add(&data, "%s/data", work.data);
        if (mkdir(data.data, 0777) != 0)
            code = error_set(error, ERR_IO, "the folder %s could not be made: %s", data.data,
                             strerror(errno));
        if (!code)
            code = write_file(&page, "index.html", true, error);
        if (!code)
            code = write_file(&page, "data/history.json", false, error);
        if (!code)
            code = report_folder_finish(work.data, options->out, error);
        if (code)
            report_folder_remove(work.data);
    }
    text_free(&work);
    text_free(&data);
    return code;
}
