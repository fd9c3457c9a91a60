/* The first thing on the page: is everything as it should be, in the words of the exit code. */
#include <string.h>

#include "base/text.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "record/compare/compare_grid.h"
#include "record/result/result.h"
#include "base/tree.h"
#include "report/page.h"

enum { NAMED_MOST = 12 };

/* Names the cases with a status, worst first, as far as there is room. */
static void name_failures(struct page *page, size_t total)
{
    size_t named = 0;
    fputs("<ul>\n", page->out);
    for (int status = CASE_STATUSES - 1; status > CASE_skipped; status--)
        for (size_t f = 0; f < page->file_count; f++) {
            size_t i;
            json_t *each;
            json_array_foreach(json_object_get(page->files[f].root, "cases"), i, each)
            {
                char words[512];
                if (strcmp(tree_get_text(each, "status"),
                           case_status_name((enum case_status)status)) != 0 ||
                    named++ >= NAMED_MOST)
                    continue;
                const char *reason = tree_get_text(each, "reason");
                html_print(page->out, "<li><strong>%s</strong>: %s", tree_get_text(each, "status"),
                           case_words(words, each));
                if (*reason)
                    html_print(page->out, " <span class=\"soft\">%s</span>", reason);
                fputs("</li>\n", page->out);
            }
        }
    if (total > NAMED_MOST)
        html_print(page->out, "<li>and %zu more, below</li>\n", total - NAMED_MOST);
    fputs("</ul>\n", page->out);
}

static void count_cases(const struct page *page, size_t counts[CASE_STATUSES], size_t *unchecked)
{
    memset(counts, 0, CASE_STATUSES * sizeof *counts);
    *unchecked = 0;
    for (size_t f = 0; f < page->file_count; f++) {
        const json_t *root = page->files[f].root;
        size_t of_file[CASE_STATUSES], i;
        json_t *each;
        result_status_counts(root, of_file);
        for (int s = 0; s < CASE_STATUSES; s++)
            counts[s] += of_file[s];
        json_array_foreach(json_object_get(root, "cases"), i, each) *unchecked +=
            case_is_ok(each) &&
            strcmp(tree_get_text(each, "check"), case_check_name(CHECK_NONE)) == 0;
    }
}

static void print_counts(FILE *out, const size_t counts[CASE_STATUSES], size_t total,
                         size_t unchecked)
{
    const char *before = "";
    html_print(out, "<p>%zu case%s: ", total, total == 1 ? "" : "s");
    for (int s = 0; s < CASE_STATUSES; s++)
        if (counts[s]) {
            html_print(out, "%s%zu %s", before, counts[s], case_status_name((enum case_status)s));
            before = ", ";
        }
    fputs(".", out);
    if (unchecked)
        html_print(out, " %zu answer%s not checked: the program has no reference.", unchecked,
                   unchecked == 1 ? " was" : "s were");
    fputs("</p>\n", out);
}

static void print_unfinished(const struct page *page)
{
    for (size_t f = 0; f < page->file_count; f++) {
        const char *status = tree_get_text(json_object_get(page->files[f].root, "run"), "status");
        if (strcmp(status, "complete") != 0)
            html_print(page->out,
                       "<p><strong>%s</strong> is %s: the run did not get to its end.</p>\n",
                       page->files[f].name, status);
    }
}

static void open_banner(FILE *out, const char *mood, const char *mark, const char *word)
{
    html_print(out, "<div class=\"banner %s\"><p><strong class=\"word\">%s %s</strong></p>\n", mood,
               mark, word);
}

/* ---- what the banner says of the cases ------------------------------------------------------ */

struct verdict {
    size_t counts[CASE_STATUSES], unchecked, total, failed, atlases, rows, failed_rows;
};

static void count_rows(const json_t *experiments, struct verdict *v)
{
    size_t i, j;
    json_t *experiment, *row;
    json_array_foreach(experiments, i, experiment)
    {
        json_array_foreach(json_object_get(experiment, "rows"), j, row)
        {
            v->rows++;
            v->failed_rows += !case_is_ok(row) && !case_is_skipped(row);
        }
    }
}

static struct verdict verdict_of(const struct page *page)
{
    struct verdict v = {0};
    count_cases(page, v.counts, &v.unchecked);
    for (int s = 0; s < CASE_STATUSES; s++) {
        v.total += v.counts[s];
        v.failed += s > CASE_skipped ? v.counts[s] : 0;
    }
    for (size_t f = 0; f < page->file_count; f++) {
        v.atlases += json_array_size(json_object_get(page->files[f].root, "atlas"));
        count_rows(json_object_get(page->files[f].root, "experiments"), &v);
    }
    return v;
}

/* Without a base: did the cases go well? */
static void open_for_cases(FILE *out, const struct verdict *v)
{
    if (v->failed)
        open_banner(out, "bad", "✗", v->failed == 1 ? "A case failed" : "Cases failed");
    else if (v->failed_rows)
        open_banner(out, "bad", "✗", "A row of an experiment failed");
    else if (v->counts[CASE_ok])
        open_banner(out, "good", "✓",
                    v->unchecked ? "No case failed" : "Every answer was checked and right");
    else if (v->rows)
        open_banner(out, "good", "✓", "Every answer of the experiments was checked and right");
    else if (v->atlases)
        open_banner(out, "good", "✓", "What calls cost; there are no cases");
    else
        open_banner(out, "warn", "!", "Nothing was run");
}

/* ---- with a base ---------------------------------------------------------------------------- */

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
    static const char *const sentences[] = {
#define X(name, help) help,
        COMPARE_OUTCOME_LIST(X)
#undef X
    };
    const enum compare_outcome outcome = compare_outcome(comparison);
    struct text words = {0};
    text_add(&words, "%s: %s", tree_get_text(comparison, "verdict"), sentences[outcome]);
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

void page_banner(struct page *page)
{
    const struct verdict v = verdict_of(page);
    if (page->comparison) {
        open_for_comparison(page->out, page->comparison);
        print_verdicts(page->out, page->comparison);
        name_regressions(page->out, page->comparison);
    } else {
        open_for_cases(page->out, &v);
    }
    if (v.total)
        print_counts(page->out, v.counts, v.total, v.unchecked);
    if (v.failed)
        name_failures(page, v.failed);
    print_unfinished(page);
    fputs("</div>\n", page->out);
}
