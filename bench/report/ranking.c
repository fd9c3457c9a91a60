/* The section that ranks configurations: for each device a table of geometric means over the programs
 * that all of them ran, the fastest first, or without times the one that holds the least. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/result/answer.h"
#include "report/sections.h"

enum { RANKED_OPEN = 40 };

enum column {
    COLUMN_NAME,
    COLUMN_SPEEDUP,
    COLUMN_MEMORY,
    COLUMN_CALLS,
    COLUMN_FASTER,
    COLUMN_SMALLER,
    COLUMN_JUDGED
};

/* Adds "3.98× [3.89, 4.07]". */
static void add_ratio(struct text_grid *grid, const json_t *ratio)
{
    const double median = tree_get_number(ratio, "median");
    const double lo = tree_get_number(ratio, "ci_lo"), hi = tree_get_number(ratio, "ci_hi");
    if (isnan(median))
        text_grid_skip(grid, 1);
    else if (isnan(lo))
        text_grid_add(grid, "%.2f×", median);
    else
        text_grid_add(grid, "%.2f× [%.2f, %.2f]", median, lo, hi);
}

static void add_factor(struct text_grid *grid, double factor)
{
    if (isnan(factor))
        text_grid_skip(grid, 1);
    else
        text_grid_add(grid, "%.2f×", factor);
}

static bool holds_least(const json_t *device, const char *name)
{
    const json_t *names = json_object_get(device, "least_memory");
    bool is_any = false;
    for (size_t i = 0; i < json_array_size(names); i++)
        is_any |= strcmp(json_string_value(json_array_get(names, i)), name) == 0;
    return is_any;
}

static bool is_any_unsure(const json_t *device)
{
    const json_t *ranking = json_object_get(device, "ranking"), *each;
    for (size_t i = 0; (each = json_array_get(ranking, i)); i++)
        if (strcmp(tree_get_text(each, "verdict"), "unsure") == 0)
            return true;
    return false;
}

static bool makes_fewest_calls(const json_t *device, const json_t *one)
{
    const json_t *ranking = json_object_get(device, "ranking"), *each;
    const double calls = tree_get_number(one, "driver_calls");
    bool is_fewest = !isnan(calls);
    for (size_t i = 0; (each = json_array_get(ranking, i)); i++)
        is_fewest &= !(tree_get_number(each, "driver_calls") < calls);
    return is_fewest;
}

/* "within 2 %", "not told apart: up to 4 %", "slower", each in relation to the fastest; "least memory". */
static void add_judgement(struct text_grid *grid, const json_t *device, const json_t *one)
{
    const char *verdict = tree_get_text(one, "verdict");
    const json_t *ratio = json_object_get(one, "over_fastest");
    const double farthest =
        fmax(1 - tree_get_number(ratio, "ci_lo"), tree_get_number(ratio, "ci_hi") - 1);
    struct text words = {0};
    if (strcmp(verdict, "within") == 0)
        text_add(&words, "within %.0f %%", 100 * ANSWER_CLOSE);
    else if (strcmp(verdict, "unsure") == 0)
        text_add(&words, "not told apart: up to %.0f %%", ceil(100 * farthest));
    else if (strcmp(verdict, "fastest") == 0 && is_any_unsure(device))
        text_add(&words, "leads");
    else if (tree_get_number(device, "rounds") > 0)
        text_add(&words, "%s", verdict);
    if (holds_least(device, tree_get_text(one, "name")))
        text_add(&words, "%sleast memory", words.length ? ", " : "");
    if (!(tree_get_number(device, "rounds") > 0) && makes_fewest_calls(device, one))
        text_add(&words, "%sfewest driver calls", words.length ? ", " : "");
    text_grid_add(grid, "%s", words.data ? words.data : "");
    text_free(&words);
}

static bool is_known(const json_t *ranking, const char *member)
{
    const json_t *each;
    for (size_t i = 0; (each = json_array_get(ranking, i)); i++)
        if (json_is_object(json_object_get(each, member)) || !isnan(tree_get_number(each, member)))
            return true;
    return false;
}

/* What the means are over, and what they are means of. */
static void print_basis(FILE *out, const json_t *device, bool has_times)
{
    char count[48];
    const double of = tree_get_number(device, "of"), cases = tree_get_number(device, "cases");
    html_print(out, "<p class=\"about\">Geometric means over %s",
               text_count(count, cases, has_times ? "program" : "trace"));
    if (cases < of)
        html_print(out, " of %.0f", of);
    if (has_times)
        html_print(out, " and %s: how many times as fast as %s,",
                   text_count(count, tree_get_number(device, "rounds"), "round"),
                   tree_get_text(device, "against"));
    html_print(out, "%s the peak that was held over the least that is possible.</p>\n",
               has_times ? " and" : ":");
}

static void print_device(FILE *out, const json_t *device, bool is_named)
{
    struct text_grid grid =
        text_grid_of("configuration|>speed|>memory over bound|>driver calls|"
                     ">speed over unmerged|>memory over unmerged|compared with the first");
    const json_t *ranking = json_object_get(device, "ranking"), *each;
    const bool has_times = tree_get_number(device, "rounds") > 0;
    grid.column[COLUMN_SPEEDUP].title =
        arena_printf(&grid.arena, "speed over %s", tree_get_text(device, "against"));
    grid.column[COLUMN_SPEEDUP].hidden = !has_times;
    grid.column[COLUMN_CALLS].hidden = has_times;
    grid.column[COLUMN_MEMORY].hidden = !is_known(ranking, "memory_over_bound");
    grid.column[COLUMN_FASTER].hidden = !has_times || !is_known(ranking, "over_none");
    grid.column[COLUMN_SMALLER].hidden = !is_known(ranking, "over_none");
    for (size_t i = 0; (each = json_array_get(ranking, i)); i++) {
        const json_t *gain = json_object_get(each, "over_none");
        const double calls = tree_get_number(each, "driver_calls");
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%s", tree_get_text(each, "name"));
        if (json_is_true(json_object_get(each, "is_baseline")))
            text_grid_add(&grid, "baseline");
        else
            add_ratio(&grid, json_object_get(each, "speedup"));
        add_factor(&grid, tree_get_number(each, "memory_over_bound"));
        if (isnan(calls))
            text_grid_skip(&grid, 1);
        else
            text_grid_add(&grid, "%.0f", calls);
        /* Where the unmerged one is the baseline, the speed over both is the same. */
        if (json_equal(json_object_get(gain, "speedup"), json_object_get(each, "speedup")))
            text_grid_skip(&grid, 1);
        else
            add_ratio(&grid, json_object_get(gain, "speedup"));
        add_factor(&grid, tree_get_number(gain, "memory"));
        add_judgement(&grid, device, each);
    }
    if (is_named)
        html_print(out, "<h4>%s</h4>\n", tree_get_text(device, "device"));
    print_basis(out, device, has_times);
    page_grid(out, &grid,
              &(struct page_rows){.open = RANKED_OPEN, .what = "configurations", .can_sort = true});
    text_grid_free(&grid);
}

static void print_omissions(FILE *out, const json_t *device)
{
    json_t *sentences = answer_omissions(device), *each;
    size_t i;
    json_array_foreach(sentences, i, each)
        html_print(out, "<p class=\"about\">%s</p>\n", json_string_value(each));
    json_decref(sentences);
}

void section_ranking(const struct page *page, const struct page_file *file)
{
    json_t *answer = answer_of(file->root, NULL), *device;
    size_t i, ranked = 0;
    json_array_foreach(answer, i, device) ranked +=
        json_array_size(json_object_get(device, "ranking")) > 0;
    if (ranked) {
        page_section(page, file, "ranking", "Which configuration is best", NULL);
        json_array_foreach(answer, i, device)
        {
            if (json_array_size(json_object_get(device, "ranking")))
                print_device(page->out, device, json_array_size(answer) > 1);
            print_omissions(page->out, device);
        }
        fputs("</section>\n", page->out);
    }
    json_decref(answer);
}
