/* The stability of a run: the time of each case in each round over its median of all rounds. Drift bends
 * all cases, a disturbance lifts those of one moment, and a case that is noisy by nature scatters alone.
 *
 * Thousands of marks would cover each other, so a round is cut into up to PIECES_MOST pieces, in the order of
 * measurement, and the cases that scatter most are shown by themselves, the farthest first.
 *
 * Block 0, a line a piece: round, its begin and end as fractions of the round, then median, p10 and p90 of all
 * deviations in it; 0 is the case's own median. Block 1: number and name of the cases that scatter most. Block 2,
 * a line a round of these: number of the case, and its deviation. The file does not record clock rates, so
 * the chart cannot show them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/chart/gnuplot.h"
#include "record/statistics/statistics.h"

enum { CASES_MOST = 12, PIECES_MOST = 10, PIECES_IN_ALL = 240, MARKS_IN_A_PIECE = 10 };

struct mark {
    double round, slot; /* any numbers: nothing counts up to them */
    double deviation;
    const json_t *one_case;
};

struct stability {
    unsigned count, room;
    struct mark *mark;
    double rounds, slots; /* one more than the largest of the marks */
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
                              .one_case = one_case};
    }
    free(values);
    return found;
}

static void add_marks(struct stability *all, const json_t *one_case)
{
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
        all->rounds = fmax(all->rounds, number + 1);
        all->slots = fmax(all->slots, slot + 1);
        all->mark = must_grow(all->mark, all->count, &all->room, sizeof mark);
        all->mark[all->count++] = mark;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct mark *p = a, *q = b;
    if (p->round != q->round)
        return p->round > q->round ? 1 : -1;
    return (p->slot > q->slot) - (p->slot < q->slot);
}

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
static double farthest(const struct stability *all, const json_t *one_case)
{
    double far = NAN;
    for (size_t i = 0; i < all->count; i++)
        if (all->mark[i].one_case == one_case)
            far = fmax(far, fabs(all->mark[i].deviation));
    return far;
}

static void print_case(const struct chart_subject *of, const struct stability *all,
                       const json_t *one_case, size_t number, FILE *names, FILE *marks)
{
    const struct naming naming = naming_of(of);
    const json_t *key = json_object_get(one_case, "key");
    struct text name = {0};
    naming_row(&naming, key, &name);
    text_add(&name, ", ");
    naming_column(&naming, true, key, &name);
    fprintf(names, "%zu", number);
    gnuplot_data_text(name.data, names);
    fputc('\n', names);
    for (size_t i = 0; i < all->count; i++)
        if (all->mark[i].one_case == one_case)
            fprintf(marks, "%zu %.6g\n", number, all->mark[i].deviation);
    text_free(&name);
}

/* Prints the blocks of the cases that scatter most. Returns how many there are. */
static size_t print_cases(const struct chart_subject *of, const struct stability *all, FILE *out)
{
    const json_t *cases = json_object_get(of->root, "cases");
    const size_t count = json_array_size(cases);
    double *far = must_alloc(count * sizeof *far);
    size_t *order = must_alloc(count * sizeof *order), shown = 0, length;
    char *marks;
    FILE *later = open_memstream(&marks, &length);
    for (size_t i = 0; i < count; i++)
        far[i] = farthest(all, json_array_get(cases, i));
    matrix_order(far, count, order);
    fputs("\n\n# number name\n", out);
    for (; later && shown < count && shown < CASES_MOST && far[order[shown]] > 0; shown++)
        print_case(of, all, json_array_get(cases, order[shown]), shown + 1, out, later);
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
    const json_t *one_case;
    for (size_t i = 0; (one_case = case_next(of, &i));)
        add_marks(&all, one_case);
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
