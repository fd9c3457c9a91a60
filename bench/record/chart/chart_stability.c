/* The stability of a run: the time of each case in each round over its median of all rounds, in the
 * order of measurement. Drift bends all cases, a disturbance lifts those of one moment, and a case
 * that is noisy by nature scatters alone.
 *
 * Block 0, a line a round, of all its cases:
 *     round median p10 p90
 * Then a block a strategy:
 *     when deviation spread_lo spread_hi name
 * where `when` is the round and, as its fraction, the position within the round; `deviation` is 0
 * for the case's own median; the spread is from p10 to p90 of the round's samples of the case; and
 * the few that are farthest have names. The file does not record clock rates, so the chart cannot
 * show them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/chart/gnuplot.h"
#include "record/statistics/statistics.h"

/* The farthest NAMED marks have names if they are farther off than far_off. */
enum { NAMED = 6 };
static const double far_off = 0.05;

struct mark {
    double round, slot; /* any numbers: nothing counts up to them */
    double deviation, lo, hi;
    size_t strategy;
    const json_t *one_case;
    bool named;
};

struct stability {
    size_t count;
    struct mark *mark;
    double rounds, slots; /* one more than the largest of the marks */
    struct labels strategies;
};

static bool find_mark(const json_t *one_case, const json_t *round, struct mark *mark)
{
    const json_t *samples = json_object_get(json_object_get(round, "samples"), "wall_ns");
    const double median = case_stat(one_case, "wall_ns", "median");
    double *values = must_alloc(json_array_size(samples) * sizeof *values);
    size_t i, count = 0;
    json_t *sample;
    json_array_foreach(samples, i, sample)
    {
        if (json_is_number(sample))
            values[count++] = json_number_value(sample);
    }
    const bool found = count > 0 && median > 0;
    if (found) {
        statistics_sort(values, count);
        *mark = (struct mark){.deviation = statistics_quantile(values, count, 0.5) / median - 1,
                              .lo = statistics_quantile(values, count, 0.1) / median - 1,
                              .hi = statistics_quantile(values, count, 0.9) / median - 1,
                              .one_case = one_case};
    }
    free(values);
    return found;
}

static void add_marks(struct stability *all, const json_t *one_case)
{
    const json_t *key = json_object_get(one_case, "key");
    size_t i;
    json_t *round;
    json_array_foreach(json_object_get(one_case, "rounds"), i, round)
    {
        struct mark mark;
        const double number = tree_get_number(round, "round");
        const double slot = tree_get_number(round, "slot");
        if (!case_is_ok(one_case) || !(number >= 0) || !(slot >= 0) ||
            !find_mark(one_case, round, &mark))
            continue;
        mark.round = number;
        mark.slot = slot;
        mark.strategy = labels_add(&all->strategies, tree_get_text(key, "strategy"));
        all->rounds = fmax(all->rounds, number + 1);
        all->slots = fmax(all->slots, slot + 1);
        all->mark = must_realloc(all->mark, (all->count + 1) * sizeof mark);
        all->mark[all->count++] = mark;
    }
}

static void name_farthest(struct stability *all)
{
    for (int n = 0; n < NAMED; n++) {
        struct mark *farthest = NULL;
        for (size_t i = 0; i < all->count; i++) {
            struct mark *mark = &all->mark[i];
            if (!mark->named && (!farthest || fabs(mark->deviation) > fabs(farthest->deviation)))
                farthest = mark;
        }
        if (!farthest || fabs(farthest->deviation) < far_off)
            return;
        farthest->named = true;
    }
}

static int by_round(const void *a, const void *b)
{
    const struct mark *p = a, *q = b;
    return (p->round > q->round) - (p->round < q->round);
}

static void print_rounds(const struct stability *all, FILE *out)
{
    struct mark *sorted = must_alloc(all->count * sizeof *sorted);
    double *values = must_alloc(all->count * sizeof *values);
    memcpy(sorted, all->mark, all->count * sizeof *sorted);
    qsort(sorted, all->count, sizeof *sorted, by_round);
    gnuplot_comment(out, "round median p10 p90");
    for (size_t i = 0, end; i < all->count; i = end) {
        for (end = i; end < all->count && sorted[end].round == sorted[i].round; end++)
            values[end - i] = sorted[end].deviation;
        const size_t count = end - i;
        statistics_sort(values, count);
        fprintf(out, "%.0f", sorted[i].round);
        gnuplot_data(statistics_quantile(values, count, 0.5), out);
        gnuplot_data(statistics_quantile(values, count, 0.1), out);
        gnuplot_data(statistics_quantile(values, count, 0.9), out);
        fputc('\n', out);
    }
    free(values);
    free(sorted);
}

static void print_marks(const struct chart_subject *of, const struct stability *all, FILE *out)
{
    const struct naming naming = naming_of(of);
    for (size_t s = 0; s < all->strategies.count; s++) {
        fputs("\n\n", out);
        gnuplot_comment(out, "%s: when deviation spread_lo spread_hi name",
                        all->strategies.name[s]);
        for (size_t i = 0; i < all->count; i++) {
            const struct mark *mark = &all->mark[i];
            const json_t *key = json_object_get(mark->one_case, "key");
            struct text name = {0};
            if (mark->strategy != s)
                continue;
            if (mark->named) {
                naming_row(&naming, key, &name);
                text_add(&name, " ");
                naming_column(&naming, true, key, &name);
            }
            fprintf(out, "%.6g %.6g %.6g %.6g", mark->round + mark->slot / all->slots,
                    mark->deviation, mark->lo, mark->hi);
            gnuplot_data_text(name.data ? name.data : "", out);
            fputc('\n', out);
            text_free(&name);
        }
    }
}

static int stability_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                           struct text *variables, struct error *error)
{
    struct stability all = {0};
    int code = 0;
    const json_t *one_case;
    for (size_t i = 0; (one_case = case_next(of, &i));)
        add_marks(&all, one_case);
    if (all.rounds < 2) {
        code = error_set(error, ERR_NOT_FOUND,
                         "the chart %s needs two rounds with samples, and %s has %.0f", chart->name,
                         of->device, all.rounds);
    } else {
        name_farthest(&all);
        gnuplot_comment(data, "gamut stability on %s", of->device);
        print_rounds(&all, data);
        print_marks(of, &all, data);
        gnuplot_labels(variables, "series", &all.strategies);
        gnuplot_number(variables, "rounds", all.rounds);
        gnuplot_number(variables, "marks", (double)all.count);
    }
    free(all.mark);
    labels_free(&all.strategies);
    return code;
}

const struct chart chart_stability = {
    .name = "stability",
    .help = "each case's time in each round over its median, in the order of measurement",
    .scope = CHART_OF_DEVICE,
    .write = stability_write,
};
