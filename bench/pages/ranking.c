/* The section that ranks configurations: for each device a table of geometric means over the
 * programs that all of them ran, the fastest first, or without times the one that holds the
 * least. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "results/file/answer.h"
#include "pages/sections.h"

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

static bool holds_least(const struct answer_device *device, const char *name)
{
    bool is_any = false;
    for (size_t i = 0; i < device->least_memory_count; i++)
        is_any |= strcmp(device->least_memory[i], name) == 0;
    return is_any;
}

static bool is_any_unsure(const struct answer_device *device)
{
    bool is_any = false;
    for (size_t i = 0; i < device->ranked_count; i++)
        is_any |= answer_has_verdict(&device->ranking[i], "unsure");
    return is_any;
}

static bool makes_fewest_calls(const struct answer_device *device, const struct answer_ranked *one)
{
    bool is_fewest = !isnan(one->driver_calls);
    for (size_t i = 0; i < device->ranked_count; i++)
        is_fewest &= !(device->ranking[i].driver_calls < one->driver_calls);
    return is_fewest;
}

/* "within 2 %", "not told apart: up to 4 %", "slower", each in relation to the fastest; "least
 * memory". */
static void add_judgement(struct text_grid *grid, const struct answer_device *device,
                          const struct answer_ranked *one)
{
    const struct statistics *ratio = &one->over_fastest;
    const double farthest = fmax(1 - ratio->ci_lo, ratio->ci_hi - 1);
    struct text words = {0};
    if (answer_has_verdict(one, "within"))
        text_add(&words, "within %.0f %%", 100 * ANSWER_CLOSE);
    else if (answer_has_verdict(one, "unsure"))
        text_add(&words, "not told apart: up to %.0f %%", ceil(100 * farthest));
    else if (answer_has_verdict(one, "fastest") && is_any_unsure(device))
        text_add(&words, "leads");
    else if (device->rounds && one->verdict)
        text_add(&words, "%s", one->verdict);
    if (holds_least(device, one->name))
        text_add(&words, "%sleast memory", words.length ? ", " : "");
    if (!device->rounds && makes_fewest_calls(device, one))
        text_add(&words, "%sfewest driver calls", words.length ? ", " : "");
    text_grid_add(grid, "%s", words.data ? words.data : "");
    text_free(&words);
}

/* Prints the baseline of the means, and the cases that they are means of. */
static void print_basis(FILE *out, const struct answer_device *device)
{
    char count[48];
    html_print(out, "<p class=\"about\">Geometric means over %s",
               text_count(count, (double)device->cases, device->rounds ? "program" : "trace"));
    if (device->cases < device->of)
        html_print(out, " of %zu", (size_t)device->of);
    if (device->rounds)
        html_print(out, " and %s: how many times as fast as %s,",
                   text_count(count, (double)device->rounds, "round"), device->against);
    html_print(out, "%s the peak that was held over the least that is possible.</p>\n",
               device->rounds ? " and" : ":");
}

static void add_row(struct text_grid *grid, const struct answer_device *device,
                    const struct answer_ranked *each)
{
    const struct answer_gain *gain = each->over_none;
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", each->name);
    if (each->is_baseline)
        text_grid_add(grid, "baseline");
    else
        text_grid_add_interval(grid, &each->speedup);
    text_grid_add_ratio(grid, each->memory_over_bound);
    if (isnan(each->driver_calls))
        text_grid_skip(grid, 1);
    else
        text_grid_add(grid, "%.0f", each->driver_calls);
    /* If the unmerged one is the baseline, the speed over both is the same. */
    if (!gain || gain->speedup.median == each->speedup.median)
        text_grid_skip(grid, 1);
    else
        text_grid_add_interval(grid, &gain->speedup);
    text_grid_add_ratio(grid, gain ? gain->memory : NAN);
    add_judgement(grid, device, each);
}

static void print_device(FILE *out, const struct answer_device *device, bool is_named)
{
    struct text_grid grid =
        text_grid_of("configuration|>speed|>memory over bound|>driver calls|"
                     ">speed over unmerged|>memory over unmerged|compared with the first");
    bool has_memory = false, has_gain = false;
    for (size_t i = 0; i < device->ranked_count; i++) {
        has_memory |= !isnan(device->ranking[i].memory_over_bound);
        has_gain |= device->ranking[i].over_none != NULL;
        add_row(&grid, device, &device->ranking[i]);
    }
    grid.column[COLUMN_SPEEDUP].title = arena_printf(&grid.arena, "speed over %s", device->against);
    grid.column[COLUMN_SPEEDUP].hidden = !device->rounds;
    grid.column[COLUMN_CALLS].hidden = device->rounds;
    grid.column[COLUMN_MEMORY].hidden = !has_memory;
    grid.column[COLUMN_FASTER].hidden = !device->rounds || !has_gain;
    grid.column[COLUMN_SMALLER].hidden = !has_gain;
    if (is_named)
        html_print(out, "<h4>%s</h4>\n", device->device);
    print_basis(out, device);
    page_grid(out, &grid,
              &(struct page_rows){.open = RANKED_OPEN, .what = "configurations", .can_sort = true});
    text_grid_free(&grid);
}

void section_ranking(const struct page *page, const struct page_file *file)
{
    const struct answer *answer = &file->result.answer;
    bool is_any = false;
    for (size_t i = 0; i < answer->device_count; i++)
        is_any |= answer->devices[i].ranked_count > 0;
    if (!is_any)
        return;
    page_section(page, file, "ranking", "Which configuration is best", NULL);
    for (size_t i = 0; i < answer->device_count; i++) {
        const struct answer_device *device = &answer->devices[i];
        if (device->ranked_count)
            print_device(page->out, device, answer->device_count > 1);
        for (size_t s = 0; s < device->omission_count; s++)
            html_print(page->out, "<p class=\"about\">%s</p>\n", device->sentences[s]);
    }
    fputs("</section>\n", page->out);
}
