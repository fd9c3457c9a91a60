/* The stability of a run: the time of each case in each round over its median of all rounds. Drift
 * bends all cases, a disturbance lifts those of one moment, and a case that is noisy by nature
 * scatters alone.
 *
 * Thousands of marks would cover each other, so a round is cut into up to PIECES_MOST pieces, in
 * the order of measurement, and the cases that scatter most are shown by themselves, the farthest
 * first.
 *
 * Block 0, a line a piece: round, its begin and end as fractions of the round, then median, p10 and
 * p90 of all deviations in it; 0 is the case's own median. Block 1: number and name of the cases
 * that scatter most. Block 2, a line a round of these: number of the case, and its deviation. The
 * file does not record clock rates, so the chart cannot show them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "results/show/gnuplot.h"
#include "results/statistics/statistics.h"

enum { CASES_MOST = 12, PIECES_MOST = 10, PIECES_IN_ALL = 240, MARKS_IN_A_PIECE = 10 };

struct mark {
    double round, slot; /* any numbers: nothing counts up to them */
    double deviation;
    const struct result_case *of;
};

struct stability {
    unsigned count, room;
    struct mark *mark;
    double rounds; /* one more than the largest of the marks */
};

static bool find_mark(const struct result_case *one, const struct result_round *round,
                      struct mark *mark)
{
    const struct result_numbers *samples = measured_samples(round, "wall_ns");
    const double median = measured_wall_ns(one);
    double *values = must_alloc((samples ? samples->count : 0) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; samples && i < samples->count; i++)
        if (!isnan(samples->values[i]))
            values[count++] = samples->values[i];
    const bool found = count > 0 && median > 0;
    if (found)
        *mark = (struct mark){.round = round->round,
                              .slot = round->slot,
                              .deviation = statistics_median(values, count) / median - 1,
                              .of = one};
    free(values);
    return found;
}

static void add_marks(struct stability *all, const struct result_case *one)
{
    for (size_t i = 0; i < one->round_count && one->status == CASE_ok; i++) {
        struct mark mark;
        if (!find_mark(one, &one->rounds[i], &mark))
            continue;
        all->rounds = fmax(all->rounds, mark.round + 1);
        all->mark = must_grow(all->mark, all->count, &all->room, sizeof mark);
        all->mark[all->count++] = mark;
    }
}

ORDER_BY_BOTH(by_time, struct mark, round, slot)

/* A line for the marks from `begin` on, the piece of the round from one fraction to another. */
static void print_piece(const struct mark *begin, size_t count, double from, double to, FILE *out)
{
    double *values = must_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = begin[i].deviation;
    statistics_sort(values, count);
    fprintf(out, "%.0f %.4g %.4g", begin->round, from, to);
    gnuplot_data(statistics_quantile(values, count, 0.5), out);
    gnuplot_data(statistics_quantile(values, count, 0.1), out);
    gnuplot_data(statistics_quantile(values, count, 0.9), out);
    fputc('\n', out);
    free(values);
}

/* The pieces of a round have equal counts of marks. */
static void print_pieces(const struct stability *all, FILE *out)
{
    gnuplot_comment(out, "round begin end median p10 p90");
    for (size_t i = 0, end; i < all->count; i = end) {
        for (end = i; end < all->count && all->mark[end].round == all->mark[i].round;)
            end++;
        const size_t in_round = end - i, wanted = in_round / MARKS_IN_A_PIECE;
        size_t pieces = wanted < 1 ? 1 : wanted < PIECES_MOST ? wanted : PIECES_MOST;
        if ((double)pieces * all->rounds > PIECES_IN_ALL)
            pieces = 1;
        for (size_t p = 0; p < pieces; p++) {
            const size_t first = i + p * in_round / pieces, last = i + (p + 1) * in_round / pieces;
            print_piece(&all->mark[first], last - first, (double)p / (double)pieces,
                        (double)(p + 1) / (double)pieces, out);
        }
    }
}

/* The farthest deviation of a case; NaN without a mark. */
static double farthest(const struct stability *all, const struct result_case *one)
{
    double far = NAN;
    for (size_t i = 0; i < all->count; i++)
        if (all->mark[i].of == one)
            far = fmax(far, fabs(all->mark[i].deviation));
    return far;
}

static void print_case(const struct chart_subject *of, const struct stability *all,
                       const struct result_case *one, size_t number, FILE *names, FILE *marks)
{
    const struct naming naming = naming_of(of);
    struct text name = {0};
    naming_row(&naming, &one->key, &name);
    text_add(&name, ", ");
    naming_column(&naming, true, &one->key, &name);
    fprintf(names, "%zu", number);
    gnuplot_data_text(name.data, names);
    fputc('\n', names);
    for (size_t i = 0; i < all->count; i++)
        if (all->mark[i].of == one)
            fprintf(marks, "%zu %.6g\n", number, all->mark[i].deviation);
    text_free(&name);
}

/* Prints the blocks of the cases that scatter most. Returns how many there are. */
static size_t print_cases(const struct chart_subject *of, const struct stability *all, FILE *out)
{
    const struct result_case *cases = of->result->cases;
    const size_t count = of->result->case_count;
    double *far = must_alloc(count * sizeof *far);
    size_t *order = must_alloc(count * sizeof *order), shown = 0, length;
    char *marks;
    FILE *later = open_memstream(&marks, &length);
    for (size_t i = 0; i < count; i++)
        far[i] = farthest(all, &cases[i]);
    matrix_order(far, count, order);
    fputs("\n\n# number name\n", out);
    for (; later && shown < count && shown < CASES_MOST && far[order[shown]] > 0; shown++)
        print_case(of, all, &cases[order[shown]], shown + 1, out, later);
    if (!shown)
        fputs("0 \"\"\n", out);
    if (later)
        fclose(later);
    fprintf(out, "\n\n# number deviation\n%s", shown ? marks : "0 0\n");
    free(later ? marks : NULL);
    free(order);
    free(far);
    return shown;
}

/* The deviation that this share of the times does not exceed. */
static double within(const struct stability *all, double share)
{
    double *values = must_alloc(all->count * sizeof *values);
    for (size_t i = 0; i < all->count; i++)
        values[i] = fabs(all->mark[i].deviation);
    statistics_sort(values, all->count);
    const double most = statistics_quantile(values, all->count, share);
    free(values);
    return most;
}

static int stability_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                           struct text *variables, struct error *error)
{
    struct stability all = {0};
    int code = 0;
    const struct result_case *one;
    for (size_t i = 0; (one = case_next(of, &i));)
        add_marks(&all, one);
    if (all.rounds < 2) {
        code = error_set(error, ERR_NOT_FOUND,
                         "the chart %s needs two rounds with samples, and %s has %.0f", chart->name,
                         of->device, all.rounds);
    } else {
        qsort(all.mark, all.count, sizeof *all.mark, by_time);
        gnuplot_comment(data, "gamut stability on %s", of->device);
        print_pieces(&all, data);
        gnuplot_number(variables, "rows", (double)print_cases(of, &all, data));
        gnuplot_number(variables, "rounds", all.rounds);
        gnuplot_number(variables, "times", (double)all.count);
        gnuplot_number(variables, "half", within(&all, 0.5));
        gnuplot_number(variables, "nine_tenths", within(&all, 0.9));
    }
    free(all.mark);
    return code;
}

const struct chart chart_stability = {
    .name = "stability",
    .help = "times over their case's median in the order of measurement, and the cases that "
            "scatter most",
    .scope = CHART_OF_DEVICE,
    .write = stability_write,
};
