/* The verdict: a banner at the top of the page says which configuration is the fastest, which one
 * holds the least memory, what failed or became worse, as the exit code does, and what is unsure.
 * Another section shows the changes from the base. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "results/compare/compare.h"
#include "results/file/measured.h"
#include "pages/sections.h"

/* The page is for reading; `gamut compare` prints all rows. */
enum { NAMED_MOST = 12, ROWS_MOST = 400, ROWS_OPEN = 60 };

struct verdict {
    size_t counts[CASE_STATUSES]; /* cases by status */
    size_t cases, failed, unchecked;
    size_t atlases;
    size_t rows, failed_rows; /* rows of experiments */
    bool only_replays;
};

static struct verdict verdict_of(const struct page *page)
{
    struct verdict v = {.only_replays = page->file_count > 0};
    for (size_t f = 0; f < page->file_count; f++) {
        const struct result *result = &page->files[f].result;
        v.only_replays &= page_is_replay(&page->files[f]);
        for (size_t i = 0; i < result->case_count; i++) {
            const struct result_case *one = &result->cases[i];
            v.cases++;
            v.counts[one->status]++;
            v.failed += one->status > CASE_skipped;
            v.unchecked += one->status == CASE_ok && one->check == CHECK_NONE;
        }
        v.atlases += json_array_size(result->atlas);
        for (size_t i = 0; i < result->experiment_count; i++)
            for (size_t r = 0; r < result->experiments[i].row_count; r++) {
                v.rows++;
                v.failed_rows += result->experiments[i].rows[r].status > CASE_skipped;
            }
    }
    return v;
}

/* ---- the banner ------------------------------------------------------------------------------ */

static void name_failure(FILE *out, const struct result_case *one)
{
    char words[MEASURED_WORDS];
    html_print(out, "<li><strong>%s</strong>: %s", case_status_name(one->status),
               measured_words(words, one));
    if (one->reason)
        html_print(out, " <span class=\"soft\">%s</span>", one->reason);
    fputs("</li>\n", out);
}

/* Names the first NAMED_MOST cases that failed, worst first. */
static void name_failures(const struct page *page, size_t failed)
{
    size_t named = 0;
    fputs("<ul>\n", page->out);
    for (int status = CASE_STATUSES - 1; status > CASE_skipped; status--)
        for (size_t f = 0; f < page->file_count; f++) {
            const struct result *result = &page->files[f].result;
            for (size_t i = 0; i < result->case_count; i++)
                if (result->cases[i].status == (enum case_status)status && named++ < NAMED_MOST)
                    name_failure(page->out, &result->cases[i]);
        }
    if (failed > NAMED_MOST)
        html_print(page->out, "<li>and %zu more, below</li>\n", failed - NAMED_MOST);
    fputs("</ul>\n", page->out);
}

static void print_counts(FILE *out, const struct verdict *v)
{
    const char *before = "";
    html_print(out, "<dt>cases</dt><dd>%zu: ", v->cases);
    for (int s = 0; s < CASE_STATUSES; s++)
        if (v->counts[s]) {
            html_print(out, "%s%zu %s", before, v->counts[s],
                       case_status_name((enum case_status)s));
            before = ", ";
        }
    if (!v->failed && v->counts[CASE_ok])
        fputs(v->only_replays ? "; no block overlapped another in any replay"
              : v->unchecked  ? ""
                              : "; every answer was checked and right",
              out);
    fputs("</dd>\n", out);
}

static void open_banner(FILE *out, const char *mood, const char *mark, const char *word)
{
    html_print(out, "<div class=\"banner %s\"><p><strong class=\"word\">%s %s</strong></p>\n", mood,
               mark, word);
}

/* ---- the answer in words --------------------------------------------------------------------- */

/* Is there a device with several configurations to choose from? */
static bool has_answer(const struct page *page)
{
    bool is_any = false;
    for (size_t f = 0; f < page->file_count; f++) {
        const struct answer *answer = &page->files[f].result.answer;
        for (size_t i = 0; i < answer->device_count; i++)
            is_any |= answer->devices[i].ranked_count > 1 && answer->devices[i].least_memory_count;
    }
    return is_any;
}

/* The sentences of each device on which there is something to compare, as the terminal has them. */
static void print_answer(const struct page *page)
{
    size_t devices = 0;
    for (size_t f = 0; f < page->file_count; f++) {
        const struct answer *answer = &page->files[f].result.answer;
        for (size_t i = 0; i < answer->device_count; i++) {
            const struct answer_device *device = &answer->devices[i];
            if (device->ranked_count < 2 || devices++ >= NAMED_MOST)
                continue;
            fputs(page->comparison ? "<p>" : "<p class=\"headline\">", page->out);
            if (page->file_count > 1)
                html_print(page->out, "%s: ", page->files[f].name);
            for (size_t j = device->omission_count; j < device->sentence_count; j++)
                html_print(page->out, "%s%s", j > device->omission_count ? " " : "",
                           device->sentences[j]);
            fputs("</p>\n", page->out);
        }
    }
    if (devices > NAMED_MOST)
        html_print(page->out, "<p>and %zu more devices, below</p>\n", devices - NAMED_MOST);
}

/* ---- what is unsure -------------------------------------------------------------------------- */

/* Prints reasons to doubt the figures of a file, and returns how many there are. */
static size_t print_doubts(const struct page *page, const struct page_file *file)
{
    const struct record_tool *tool = &file->result.context.tool;
    const struct result_run *run = &file->result.run;
    struct text of = {0};
    size_t count = 0;
    if (page->file_count > 1)
        text_add(&of, "%s: ", file->name);
    const char *prefix = of.length ? of.data : "";
    if (run->status != RUN_COMPLETE && ++count)
        html_print(page->out, "<p>%sthe run is %s: it did not finish</p>\n", prefix,
                   run_status_name(run->status));
    if (tool->git_dirty > 0 && ++count)
        html_print(page->out,
                   "<p>%sthe source had uncommitted changes: this build cannot be made again</p>\n",
                   prefix);
    if (tool->build && strcmp(tool->build, "release") != 0 && ++count)
        html_print(page->out, "<p>%sthe build is “%s”: its times are not those of a release</p>\n",
                   prefix, tool->build);
    if (result_has_times(&file->result, NULL) && run->rounds < 6 && ++count)
        html_print(page->out,
                   "<p>%sfewer than 6 rounds give no intervals, so no difference is "
                   "established</p>\n",
                   prefix);
    text_free(&of);
    return count;
}

static void print_unsure(const struct page *page, const struct verdict *v)
{
    size_t count = 0;
    fputs("<dt>doubts</dt><dd>", page->out);
    if (v->unchecked && ++count)
        html_print(page->out, "<p>%zu answer%s not checked: the program has no reference</p>\n",
                   v->unchecked, v->unchecked == 1 ? " was" : "s were");
    for (size_t f = 0; f < page->file_count; f++)
        count += print_doubts(page, &page->files[f]);
    fputs(count ? "</dd>\n" : "none is known</dd>\n", page->out);
}

/* ---- the first line -------------------------------------------------------------------------- */

/* Without a base: did the cases go well? If they did and there is an answer, the answer is the
 * first line. */
static void open_for_cases(FILE *out, const struct verdict *v, bool has_answer)
{
    if (v->failed)
        open_banner(out, "bad", "✗", v->failed == 1 ? "A case failed" : "Cases failed");
    else if (v->failed_rows)
        open_banner(out, "bad", "✗", "A row of an experiment failed");
    else if (v->counts[CASE_ok] && has_answer)
        fputs("<div class=\"banner good\">\n", out);
    else if (v->counts[CASE_ok])
        open_banner(out, "good", "✓",
                    v->only_replays ? "Every replay was sound"
                    : v->unchecked  ? "No case failed"
                                    : "Every answer was right");
    else if (v->rows)
        open_banner(out, "good", "✓", "Every answer of the experiments was checked and right");
    else if (v->atlases)
        open_banner(out, "good", "✓", "The cost of driver calls; there are no cases");
    else
        open_banner(out, "warn", "!", "Nothing was run");
}

static void open_for_comparison(FILE *out, const json_t *comparison)
{
    /* clang-format off */
    static const struct {
        const char *mood, *mark;
    } looks[] = {
        [COMPARE_incomparable] = {"bad",  "✗"},
        [COMPARE_failed]       = {"bad",  "✗"},
        [COMPARE_regression]   = {"bad",  "✗"},
        [COMPARE_unsure]       = {"warn", "?"},
        [COMPARE_ok]           = {"good", "✓"},
    };
    /* clang-format on */
    const enum compare_outcome outcome = compare_outcome(comparison);
    const char *finding;
    struct text words = {0};
    text_add(&words, "%s: %s", tree_get_text(comparison, "verdict"),
             tree_get_text(comparison, "sentence"));
    open_banner(out, looks[outcome].mood, looks[outcome].mark, words.data);
    fputs(compare_finding(comparison, 0) ? "<ul>\n" : "", out);
    for (size_t i = 0; (finding = compare_finding(comparison, i)); i++)
        html_print(out, "<li>%s</li>\n", finding);
    fputs(compare_finding(comparison, 0) ? "</ul>\n" : "", out);
    text_free(&words);
}

void section_banner(const struct page *page)
{
    const struct verdict v = verdict_of(page);
    if (page->comparison)
        open_for_comparison(page->out, page->comparison);
    else
        open_for_cases(page->out, &v, has_answer(page));
    print_answer(page);
    if (v.failed)
        name_failures(page, v.failed);
    fputs("<dl>\n", page->out);
    if (v.cases && !page->comparison)
        fputs("<dt>changed</dt><dd>no base was given: <code>gamut report FILE --against "
              "BASE</code> compares with one</dd>\n",
              page->out);
    print_unsure(page, &v);
    if (v.cases)
        print_counts(page->out, &v);
    fputs("</dl>\n</div>\n", page->out);
}

/* ---- what changed from the base -------------------------------------------------------------- */

static void print_rows(FILE *out, const json_t *comparison)
{
    json_t *rows = compare_select(comparison, COMPARE_SHOW_CHANGED);
    struct text_grid grid = compare_grid_of(comparison, rows);
    if (grid.row_count)
        page_grid(out, &grid,
                  &(struct page_rows){.open = ROWS_OPEN,
                                      .most = ROWS_MOST,
                                      .rest = "gamut compare prints all of them.",
                                      .what = "rows that changed, or are gated and unsure",
                                      .can_sort = true});
    text_grid_free(&grid);
    json_decref(rows);
}

void section_comparison(const struct page *page)
{
    struct page_capture files;
    if (!page->comparison)
        return;
    page_section(
        page, NULL, "comparison", "Compared with the base",
        "Exact counters must be equal. A time counts as slower or faster if its rounds "
        "establish a change beyond its limit, as the same if the whole interval lies within "
        "the limit, and as unsure otherwise. A pooled row covers all cases of a "
        "configuration: it shows a change that most of them share and no single case can show.");
    compare_print_files(page->comparison, "\n", page_capture(&files));
    page_captured(&files, "<pre>", "</pre>\n", page->out);
    print_rows(page->out, page->comparison);
    fputs("</section>\n", page->out);
}
