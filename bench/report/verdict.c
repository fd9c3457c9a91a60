/* The verdict: a banner at the top of the page says whether anything failed or became worse, as the
 * exit code does, and a section shows the changes from the base. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/compare/compare_grid.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "record/result/result.h"
#include "report/sections.h"

/* The page is for reading; `gamut compare` prints all rows. */
enum { NAMED_MOST = 12, ROWS_MOST = 400, ROWS_OPEN = 60 };

struct verdict {
    size_t counts[CASE_STATUSES]; /* cases by status */
    size_t cases, failed, unchecked;
    size_t atlases;
    size_t rows, failed_rows; /* rows of experiments */
    bool only_replays;
};

static void count_rows(const json_t *experiments, struct verdict *v)
{
    size_t i, j;
    json_t *experiment, *row;
    json_array_foreach(experiments, i, experiment)
        json_array_foreach(json_object_get(experiment, "rows"), j, row)
    {
        v->rows++;
        v->failed_rows += !case_is_ok(row) && !case_is_skipped(row);
    }
}

static struct verdict verdict_of(const struct page *page)
{
    struct verdict v = {.only_replays = page->file_count > 0};
    for (size_t f = 0; f < page->file_count; f++) {
        const json_t *root = page->files[f].root;
        v.only_replays &= page_is_replay(&page->files[f]);
        size_t counts[CASE_STATUSES], i;
        json_t *each;
        result_status_counts(root, counts);
        for (int s = 0; s < CASE_STATUSES; s++) {
            v.counts[s] += counts[s];
            v.cases += counts[s];
            v.failed += s > CASE_skipped ? counts[s] : 0;
        }
        json_array_foreach(json_object_get(root, "cases"), i, each)
        {
            const char *check = tree_get_text(each, "check");
            v.unchecked += case_is_ok(each) && strcmp(check, case_check_name(CHECK_NONE)) == 0;
        }
        v.atlases += json_array_size(json_object_get(root, "atlas"));
        count_rows(json_object_get(root, "experiments"), &v);
    }
    return v;
}

/* ---- the banner ------------------------------------------------------------------------------ */

static void name_failure(FILE *out, const json_t *one_case)
{
    const char *reason = tree_get_text(one_case, "reason");
    char words[512];
    html_print(out, "<li><strong>%s</strong>: %s", tree_get_text(one_case, "status"),
               case_words(words, one_case));
    if (*reason)
        html_print(out, " <span class=\"soft\">%s</span>", reason);
    fputs("</li>\n", out);
}

/* Names the first NAMED_MOST cases that failed, worst first. */
static void name_failures(const struct page *page, size_t failed)
{
    size_t named = 0, i;
    json_t *each;
    fputs("<ul>\n", page->out);
    for (int status = CASE_STATUSES - 1; status > CASE_skipped; status--)
        for (size_t f = 0; f < page->file_count; f++)
            json_array_foreach(json_object_get(page->files[f].root, "cases"), i, each)
            {
                const char *name = case_status_name((enum case_status)status);
                if (strcmp(tree_get_text(each, "status"), name) == 0 && named++ < NAMED_MOST)
                    name_failure(page->out, each);
            }
    if (failed > NAMED_MOST)
        html_print(page->out, "<li>and %zu more, below</li>\n", failed - NAMED_MOST);
    fputs("</ul>\n", page->out);
}

static void print_counts(FILE *out, const struct verdict *v)
{
    const char *before = "";
    html_print(out, "<p>%zu case%s: ", v->cases, v->cases == 1 ? "" : "s");
    for (int s = 0; s < CASE_STATUSES; s++)
        if (v->counts[s]) {
            html_print(out, "%s%zu %s", before, v->counts[s],
                       case_status_name((enum case_status)s));
            before = ", ";
        }
    fputs(".", out);
    if (v->unchecked)
        html_print(out, " %zu answer%s not checked: the program has no reference.", v->unchecked,
                   v->unchecked == 1 ? " was" : "s were");
    fputs("</p>\n", out);
}

static void print_unfinished(const struct page *page)
{
    for (size_t f = 0; f < page->file_count; f++) {
        const char *status = tree_get_text(json_object_get(page->files[f].root, "run"), "status");
        if (strcmp(status, "complete") != 0)
            html_print(page->out, "<p><strong>%s</strong> is %s: the run did not finish.</p>\n",
                       page->files[f].name, status);
    }
}

static void open_banner(FILE *out, const char *mood, const char *mark, const char *word)
{
    html_print(out, "<div class=\"banner %s\"><p><strong class=\"word\">%s %s</strong></p>\n", mood,
               mark, word);
}

/* The banner without a base: did the cases go well? */
static void open_for_cases(FILE *out, const struct verdict *v)
{
    if (v->failed)
        open_banner(out, "bad", "✗", v->failed == 1 ? "A case failed" : "Cases failed");
    else if (v->failed_rows)
        open_banner(out, "bad", "✗", "A row of an experiment failed");
    else if (v->counts[CASE_ok])
        open_banner(out, "good", "✓",
                    v->only_replays ? "No block overlapped another in any replay"
                    : v->unchecked  ? "No case failed"
                                    : "Every answer was checked and right");
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
    struct text words = {0};
    text_add(&words, "%s: %s", tree_get_text(comparison, "verdict"),
             tree_get_text(comparison, "sentence"));
    open_banner(out, looks[outcome].mood, looks[outcome].mark, words.data);
    text_free(&words);
}

/* "gated: 41 same, 1 slower" */
static void print_verdicts(FILE *out, const json_t *comparison)
{
    const json_t *counts = json_object_get(comparison, "gated_verdicts");
    const char *name, *before = "<p>Gated metrics: ";
    json_t *count;
    json_object_foreach((json_t *)counts, name, count)
    {
        if (json_number_value(count) > 0) {
            fputs(before, out);
            html_print(out, "%.0f %s", json_number_value(count), name);
            before = ", ";
        }
    }
    if (*before == ',')
        fputs(".</p>\n", out);
}

/* Rows that are worse or gone; cases that failed are named with their reason further down. */
static bool is_named(const json_t *row)
{
    return json_is_true(json_object_get(row, "regression")) ||
           strcmp(tree_get_text(row, "verdict"), "gone") == 0;
}

static void name_regressions(FILE *out, const json_t *comparison)
{
    json_t *rows = compare_select(comparison, COMPARE_SHOW_WORST);
    struct text_grid grid = compare_grid_of(comparison, rows);
    size_t count = 0;
    for (size_t i = 0; i < grid.row_count; i++) {
        const char *const *cell = grid.row[i].cell;
        if (!is_named(json_array_get(rows, i)) || count++ >= NAMED_MOST)
            continue;
        fputs(count == 1 ? "<ul>\n" : "", out);
        html_print(out, "<li>%s %s %s %s %s %s: %s %s → %s, %s; %s</li>\n", cell[LINE_WORKLOAD],
                   cell[LINE_DATASET], cell[LINE_DEVICE], cell[LINE_MERGE], cell[LINE_RELEASE],
                   cell[LINE_STRATEGY], cell[LINE_METRIC], cell[LINE_BASE], cell[LINE_NEW],
                   cell[LINE_CHANGE], cell[LINE_VERDICT]);
    }
    if (count > NAMED_MOST)
        html_print(out, "<li>and %zu more, below</li>\n", count - NAMED_MOST);
    fputs(count ? "</ul>\n" : "", out);
    text_grid_free(&grid);
    json_decref(rows);
}

void section_banner(const struct page *page)
{
    const struct verdict v = verdict_of(page);
    if (page->comparison) {
        open_for_comparison(page->out, page->comparison);
        print_verdicts(page->out, page->comparison);
        name_regressions(page->out, page->comparison);
    } else {
        open_for_cases(page->out, &v);
    }
    if (v.cases)
        print_counts(page->out, &v);
    if (v.failed)
        name_failures(page, v.failed);
    print_unfinished(page);
    fputs("</div>\n", page->out);
}

/* ---- what changed from the base -------------------------------------------------------------- */

static void print_rows(FILE *out, const json_t *comparison)
{
    json_t *rows = compare_select(comparison, COMPARE_SHOW_CHANGED);
    struct text_grid grid = compare_grid_of(comparison, rows);
    if (grid.row_count)
        page_grid(out, &grid, ROWS_OPEN, ROWS_MOST, "rows that changed, or are gated and unsure");
    else if (tree_get_number(comparison, "pairs") > 0)
        fputs("<p>Nothing that was compared changed, and no gated metric is unsure.</p>\n", out);
    else
        html_print(out, "<p>%s.</p>\n", tree_get_text(comparison, "sentence"));
    if (grid.row_count > ROWS_MOST)
        html_print(out, "<p>and %zu more: gamut compare prints all of them</p>\n",
                   grid.row_count - ROWS_MOST);
    text_grid_free(&grid);
    json_decref(rows);
}

static void print_value(FILE *out, const json_t *value)
{
    if (json_is_string(value))
        html_print(out, "<code>%s</code>", json_string_value(value));
    else if (json_is_number(value))
        html_print(out, "<code>%.12g</code>", json_number_value(value));
    else
        fputs(json_is_true(value) ? "true" : json_is_false(value) ? "false" : "none", out);
}

static void print_differences(FILE *out, const json_t *comparison)
{
    const json_t *differences = json_object_get(comparison, "context_diff");
    const json_t *notes = json_object_get(comparison, "notes"), *each;
    size_t i;
    if (!json_array_size(differences) && !json_array_size(notes))
        return;
    fputs("<ul class=\"plain\">\n", out);
    json_array_foreach(differences, i, each)
    {
        html_print(out, "<li>%s<strong>%s</strong>: ", compare_is_noted(each) ? "" : "! ",
                   tree_get_text(each, "subject"));
        print_value(out, json_object_get(each, "base"));
        fputs(" in the base, ", out);
        print_value(out, json_object_get(each, "new"));
        html_print(out, " in the new file (%s%s)</li>\n",
                   compare_is_noted(each) ? "" : "matters for ",
                   compare_is_noted(each) ? "noted" : tree_get_text(each, "matters"));
    }
    json_array_foreach(notes, i, each)
        html_print(out, "<li>! %s</li>\n", json_string_value(each) ? json_string_value(each) : "");
    fputs("</ul>\n", out);
}

static void print_file(FILE *out, const char *which, const json_t *file)
{
    char rounds[48], cases[48];
    html_print(out, "<dt>%s</dt><dd>%s, revision %s%s, %s, %s, %s, %s</dd>\n", which,
               tree_get_text(file, "name"),
               *tree_get_text(file, "git_rev") ? tree_get_text(file, "git_rev") : "unknown",
               json_is_true(json_object_get(file, "git_dirty")) ? " with changes" : "",
               text_count(rounds, tree_get_number(file, "rounds"), "round"),
               text_count(cases, tree_get_number(file, "cases"), "case"),
               tree_get_text(file, "started_at"), tree_get_text(file, "status"));
}

static void print_files(FILE *out, const json_t *comparison)
{
    size_t i;
    json_t *each;
    fputs("<dl>\n", out);
    print_file(out, "base", json_object_get(comparison, "base"));
    json_array_foreach(json_object_get(comparison, "new"), i, each) print_file(out, "new", each);
    fputs("</dl>\n", out);
}

static void print_means(FILE *out, const json_t *comparison)
{
    const json_t *files = json_object_get(comparison, "new"), *mean;
    size_t i;
    json_array_foreach(json_object_get(comparison, "means"), i, mean)
    {
        if (isnan(tree_get_number(mean, "ratio")))
            continue;
        html_print(out,
                   "<p><strong>%.4f×</strong> the base's wall time in the geometric mean of "
                   "%.0f cases (%s)</p>\n",
                   tree_get_number(mean, "ratio"), tree_get_number(mean, "cases"),
                   tree_get_text(json_array_get(files, i), "name"));
    }
}

void section_comparison(const struct page *page)
{
    if (!page->comparison)
        return;
    page_section(
        page, NULL, "comparison", "Compared with the base",
        "Exact counters must be equal. A time counts as slower or faster if its rounds "
        "establish a change beyond its limit, as the same if the whole interval lies within "
        "the limit, and as unsure otherwise. A pooled row covers all cases of a "
        "configuration: it shows a change that most of them share and no single case can show.");
    print_files(page->out, page->comparison);
    print_differences(page->out, page->comparison);
    print_means(page->out, page->comparison);
    print_rows(page->out, page->comparison);
    fputs("</section>\n", page->out);
}
