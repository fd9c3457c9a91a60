/* The section about stability: how far apart the rounds of each case lie, the widest first. */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "results/file/measured.h"
#include "pages/sections.h"

enum { SHOWN_MOST = 15, ROUNDS_MOST = 256 };

struct spread {
    double range; /* from the fastest round to the slowest, over the median */
    size_t count;
    double rounds[ROUNDS_MOST]; /* median of each round over that of the case */
};

static const struct statistics *wall_of(const struct result_case *one)
{
    return &measured_stat(one, "wall_ns")->over;
}

static struct spread spread_of(const struct result_case *one)
{
    const double median = wall_of(one)->median;
    struct spread spread = {0};
    double least = INFINITY, most = 0;
    struct arena arena = {0};
    const struct measured_series medians = measured_medians(&arena, one, "wall_ns");
    for (size_t i = 0; i < medians.count && i < ROUNDS_MOST; i++) {
        const double ratio = medians.value[i] / median;
        if (!isfinite(ratio))
            continue;
        spread.rounds[spread.count++] = ratio;
        least = fmin(least, ratio);
        most = fmax(most, ratio);
    }
    arena_free(&arena);
    spread.range = spread.count ? most - least : NAN;
    return spread;
}

static double measure_of(const struct result_case *one)
{
    const struct statistics *wall = wall_of(one);
    const double half = fmax(wall->median - wall->ci_lo, wall->ci_hi - wall->median);
    /* Without intervals: how far rounds lie from the median. */
    return (isnan(half) ? wall->mad : half) / wall->median;
}

struct ranked {
    const struct result_case *one;
    double measure;
};

static int by_measure(const void *a, const void *b)
{
    const double x = ((const struct ranked *)a)->measure, y = ((const struct ranked *)b)->measure;
    return (x < y) - (x > y);
}

static struct ranked *rank_cases(const struct result *result, size_t *count)
{
    struct ranked *ranked = must_alloc((result->case_count + 1) * sizeof *ranked);
    *count = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *each = &result->cases[i];
        const double measure = each->status == CASE_ok ? measure_of(each) : NAN;
        if (isfinite(measure))
            ranked[(*count)++] = (struct ranked){each, measure};
    }
    qsort(ranked, *count, sizeof *ranked, by_measure);
    return ranked;
}

/* Draws the rounds from left to right, and the median of the case as a line. */
static void print_strip(FILE *out, const struct spread *spread)
{
    const double width = 150, height = 26, room = fmax(spread->range, 0.02);
    fprintf(out,
            "<svg class=\"strip\" viewBox=\"0 0 150 26\" role=\"img\" aria-label=\"medians of "
            "%zu rounds\"><line x1=\"0\" x2=\"150\" y1=\"13\" y2=\"13\"/>",
            spread->count);
    for (size_t i = 0; i < spread->count; i++) {
        const double x = (double)(i + 1) / (double)(spread->count + 1) * width;
        const double y = height / 2 - (spread->rounds[i] - 1) / (2 * room) * (height - 6);
        fprintf(
            out,
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\"><title>round %zu: %+.1f %%</title></circle>",
            x, fmax(2.5, fmin(y, height - 2.5)), i + 1, 100 * (spread->rounds[i] - 1));
    }
    fputs("</svg>", out);
}

static void print_share(FILE *out, double share)
{
    if (isnan(share))
        fputs("<td class=\"soft\">–</td>", out);
    else
        html_print(out, "<td>%.1f %%</td>", 100 * share);
}

static void print_case(FILE *out, const struct result_case *one)
{
    const struct spread spread = spread_of(one);
    char words[MEASURED_WORDS];
    html_print(out, "<tr><th scope=\"row\">%s</th>", measured_words(words, one));
    print_share(out, wall_of(one)->mad / wall_of(one)->median);
    print_share(out, spread.range);
    fputs("<td>", out);
    print_strip(out, &spread);
    fputs("</td></tr>\n", out);
}

void section_stability(const struct page *page, const struct page_file *file)
{
    static const struct text_grid_column columns[] = {
        {.title = "the least stable"},
        {.title = "median deviation", .kind = GRID_NUMBER},
        {.title = "range", .kind = GRID_NUMBER},
        {.title = "rounds"}};
    size_t count;
    struct ranked *ranked = rank_cases(&file->result, &count);
    if (count && file->result.run.rounds > 1) {
        page_section(page, file, "stability", "Stability",
                     "The cases with the widest intervals. A round is a fresh process, and its dot "
                     "is the median of its samples. Dots "
                     "that rise or fall from left to right mean that the machine changed during "
                     "the measurement.");
        html_print(page->out,
                   "<p>%s: %.1f %% in the middle case, %.1f %% or more in one case of ten, %.1f %% "
                   "at most.</p>\n",
                   isnan(wall_of(ranked[0].one)->ci_lo)
                       ? "Median deviation of the rounds over the time"
                       : "Half the width of the interval over the time",
                   100 * ranked[count / 2].measure, 100 * ranked[count / 10].measure,
                   100 * ranked[0].measure);
        page_table(page->out, columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < count && i < SHOWN_MOST; i++)
            print_case(page->out, ranked[i].one);
        page_table_end(page->out);
        fputs("</section>\n", page->out);
    }
    free(ranked);
}
