/* Time against memory: a point for each configuration.
 *
 * `pareto` has the geometric means over the programs that all of them ran (results/file/answer.h).
 * Times are over those of the fastest, with their interval over rounds; peaks of reserved memory
 * are over the lower bound. `regret` has what gamut fit found, of a typical program
 * (results/file/standings.h): microseconds in the driver's calls for each request, and reserved
 * memory over the optimum.
 *
 * The front are the points that no other is at least as good as in both and better in one. A point
 * is beaten if another holds no more and is faster by more than both intervals allow: a front of
 * measured means alone could be noise. Predicted times have no interval. Every point has its name
 * next to it, or at the end of a line where points are close to each other.
 *
 * Block 0, a line a point, the fastest first:
 *     number name time lo hi memory on_front beaten
 * Block 1: the front, as `time memory`. Block 2, a line a name: the logarithms to base 2 of the
 * point, and of where its name stands, the name, beaten, and where the line to it ends. Axes are
 * logarithmic, and their ranges are variables.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "results/show/gnuplot.h"
#include "results/file/answer.h"
#include "results/file/standings.h"

/* All points have names up to NAMED; of more, only the front. FAR: leave_out_far. The sizes are
 * those of the picture that plots/pareto.gp draws, in its points. */
enum { NAMED = 32, FAR = 32, WIDTH = 480, HEIGHT = 280, LETTER = 7, LINE = 14 };

struct box {
    double left, right, low, high;
};

struct point {
    const char *name; /* borrowed from the answer */
    double time, lo, hi, memory;
    bool on_front, beaten;
    double x, y; /* in the picture */
    bool has_name;
    struct box text; /* of its name */
};

struct pareto {
    size_t count;
    struct point *point;
    double low_x, high_x, low_y, high_y; /* the axes, in octaves */
};

/* ---- points ---- */

static bool dominates(const struct point *a, const struct point *b)
{
    return a->time <= b->time && a->memory <= b->memory &&
           (a->time < b->time || a->memory < b->memory);
}

static struct pareto points_of(const struct answer_device *answer)
{
    const size_t count = answer ? answer->ranked_count : 0;
    struct pareto all = {.point = must_alloc((count + 1) * sizeof *all.point)};
    for (size_t i = 0; i < count; i++) {
        const struct answer_ranked *each = &answer->ranking[i];
        struct point p = {.name = each->name,
                          .time = each->over_fastest.median,
                          .lo = each->over_fastest.ci_lo,
                          .hi = each->over_fastest.ci_hi,
                          .memory = each->memory_over_bound};
        if (!(p.time > 0) || !(p.memory > 0))
            continue;
        p.lo = p.lo > 0 ? p.lo : p.time;
        p.hi = p.hi > 0 ? p.hi : p.time;
        all.point[all.count++] = p;
    }
    return all;
}

ORDER_BY(by_time, struct point, time)

static struct pareto points_of_standings(const struct standings *standings)
{
    struct pareto all = {.point = must_alloc((standings->count + 1) * sizeof *all.point)};
    for (size_t i = 0; i < standings->count && standings->has_times; i++) {
        const struct standing *each = &standings->each[i];
        const double us = each->request_ns.median / 1000;
        all.point[all.count++] = (struct point){
            .name = each->strategy, .time = us, .lo = us, .hi = us, .memory = each->regret.median};
    }
    qsort(all.point, all.count, sizeof *all.point, by_time);
    return all;
}

static void find_front(struct pareto *all)
{
    for (size_t i = 0; i < all->count; i++) {
        struct point *p = &all->point[i];
        p->on_front = true;
        for (size_t j = 0; j < all->count; j++) {
            const struct point *other = &all->point[j];
            p->on_front &= !dominates(other, p);
            p->beaten |= other->memory <= p->memory && other->hi < p->lo;
        }
        p->has_name = all->count <= NAMED || p->on_front;
    }
}

/* Leaves out points that are beaten and hold FAR times the least: the others need the room. */
static void leave_out_far(struct pareto *all, struct text *variables)
{
    struct text note = {0};
    double least = INFINITY;
    size_t count = 0;
    find_front(all);
    for (size_t i = 0; i < all->count; i++)
        least = fmin(least, all->point[i].memory);
    for (size_t i = 0; i < all->count; i++) {
        const struct point p = all->point[i];
        if (p.on_front || p.memory < FAR * least)
            all->point[count++] = p;
        else
            text_add(&note, "%s%s, %.0f×", note.length ? ", " : "; not drawn: ", p.name, p.memory);
    }
    all->count = count;
    if (note.length)
        gnuplot_variable(variables, "note", note.data);
    text_free(&note);
}

/* The range of an axis: all values, at least a quarter of an octave, and room at both ends. */
static void widen(double *low, double *high)
{
    const double span = fmax(*high - *low, 0.25);
    *low -= 0.06 * span;
    *high = *low + 1.12 * span;
}

static void find_axes(struct pareto *all)
{
    all->low_x = all->low_y = INFINITY;
    all->high_x = all->high_y = -INFINITY;
    for (size_t i = 0; i < all->count; i++) {
        const struct point *p = &all->point[i];
        all->low_x = fmin(all->low_x, log2(p->lo));
        all->high_x = fmax(all->high_x, log2(p->hi));
        all->low_y = fmin(all->low_y, log2(p->memory));
        all->high_y = fmax(all->high_y, log2(p->memory));
    }
    widen(&all->low_x, &all->high_x);
    widen(&all->low_y, &all->high_y);
    for (size_t i = 0; i < all->count; i++) {
        struct point *p = &all->point[i];
        p->x = WIDTH * (log2(p->time) - all->low_x) / (all->high_x - all->low_x);
        p->y = HEIGHT * (log2(p->memory) - all->low_y) / (all->high_y - all->low_y);
    }
}

/* ---- names ---- */

static bool overlap(const struct box *a, const struct box *b)
{
    return a->left < b->right && b->left < a->right && a->low < b->high && b->low < a->high;
}

/* Does the box lie on the step of the front from point j to the next one on it? */
static bool is_on_front(const struct pareto *all, size_t j, const struct box *box)
{
    size_t next = j + 1;
    while (next < all->count && !all->point[next].on_front)
        next++;
    if (!all->point[j].on_front || next >= all->count)
        return false;
    const struct point *p = &all->point[j], *q = &all->point[next];
    const struct box level = {p->x, q->x, p->y - 2, p->y + 2};
    const struct box fall = {q->x - 2, q->x + 2, q->y, p->y};
    return overlap(box, &level) || overlap(box, &fall);
}

/* Where the line to a name ends: at its nearer end. */
static double end_of(const struct point *p, const struct box *box)
{
    return fmin(fmax(p->x, box->left), box->right);
}

/* Does the line from a point to its name pass through the mark of another one? */
static bool is_crossed(const struct point *p, const struct point *other, const struct box *box)
{
    enum { STEPS = 16, MARK = 6 };
    const double dx = end_of(p, box) - p->x, dy = (box->low + box->high) / 2 - p->y;
    bool crossed = false;
    for (int i = 1; i <= STEPS; i++)
        crossed |= hypot(p->x + dx * i / STEPS - other->x, p->y + dy * i / STEPS - other->y) < MARK;
    return crossed && hypot(p->x - other->x, p->y - other->y) > 2 * MARK;
}

/* Is the box within the picture, and free of all points, of the front, and of the names before
 * i? */
static bool is_free(const struct pareto *all, size_t i, const struct box *box)
{
    if (box->left < 0 || box->right > WIDTH || box->low < 0 || box->high > HEIGHT)
        return false;
    for (size_t j = 0; j < all->count; j++) {
        const struct point *p = &all->point[j];
        const double octave = WIDTH / (all->high_x - all->low_x);
        const struct box mark = {p->x - 6 - octave * log2(p->time / p->lo),
                                 p->x + 6 + octave * log2(p->hi / p->time), p->y - 6, p->y + 6};
        if (overlap(box, &mark) || is_on_front(all, j, box) || is_crossed(&all->point[i], p, box) ||
            (j < i && p->has_name && overlap(box, &p->text)))
            return false;
    }
    return true;
}

/* The nearest free place for a name: rings around the point, first to the right. A name without a
 * place has the first one. */
static void place_name(struct pareto *all, size_t i)
{
    enum { RINGS = 14, DIRECTIONS = 12 };
    struct point *p = &all->point[i];
    const double length = LETTER * (double)strlen(p->name) + 10;
    for (int ring = 0; ring <= RINGS; ring++)
        for (int d = 0; d < DIRECTIONS; d++) {
            /* 0, 1, -1, 2, -2, … twelfths of a turn. */
            const double turn = (d % 2 ? 1 : -1) * ((d + 1) / 2) * 2 * acos(-1) / DIRECTIONS;
            const double far = 9 + ring * LINE;
            const double x = p->x + far * cos(turn), y = p->y + far * sin(turn);
            const double left = cos(turn) < -0.1 ? x - length : x;
            const struct box box = {left, left + length, y - LINE / 2.0, y + LINE / 2.0};
            if (ring == 0 && d == 0)
                p->text = box;
            if (is_free(all, i, &box)) {
                p->text = box;
                return;
            }
        }
}

/* ---- data ---- */

static void print_points(const struct pareto *all, FILE *out)
{
    gnuplot_comment(out, "number name time lo hi memory on_front beaten");
    for (size_t i = 0; i < all->count; i++) {
        const struct point *p = &all->point[i];
        fprintf(out, "%zu", i + 1);
        gnuplot_data_text(p->name, out);
        fprintf(out, " %.6g %.6g %.6g %.6g %d %d\n", p->time, p->lo, p->hi, p->memory, p->on_front,
                p->beaten);
    }
    fputs("\n\n# the front: time memory\n", out);
    for (size_t i = 0; i < all->count; i++) /* the fastest is first, so they stand by time */
        if (all->point[i].on_front)
            fprintf(out, "%.6g %.6g\n", all->point[i].time, all->point[i].memory);
    fputs("\n\n# names: log2_time log2_memory log2_left log2_middle name beaten log2_end\n", out);
    for (size_t i = 0; i < all->count; i++) {
        const struct point *p = &all->point[i];
        const double left = all->low_x + (p->text.left + 2) / WIDTH * (all->high_x - all->low_x);
        const double middle =
            all->low_y + (p->text.low + p->text.high) / 2 / HEIGHT * (all->high_y - all->low_y);
        if (!p->has_name)
            continue;
        fprintf(out, "%.5g %.5g %.5g %.5g", log2(p->time), log2(p->memory), left, middle);
        gnuplot_data_text(p->name, out);
        fprintf(out, " %d %.5g\n", p->beaten,
                all->low_x + end_of(p, &p->text) / WIDTH * (all->high_x - all->low_x));
    }
}

/* What the picture says, in two lines. */
static void add_message(const struct pareto *all, unsigned programs, bool is_regret,
                        struct text *variables)
{
    const struct point *first = &all->point[0], *least = first;
    struct text heading = {0}, below = {0};
    for (size_t i = 0; i < all->count; i++)
        least = all->point[i].on_front ? &all->point[i] : least;
    text_add(&heading, "%s takes the least time%s, and holds %.2f× the %s", first->name,
             programs > 1 ? " in the mean" : "", first->memory,
             is_regret ? "optimum" : "lower bound");
    if (least != first)
        text_add(&below, "%s holds the least, %.2f×, and takes %.*f× as long", least->name,
                 least->memory, least->time < 10 * first->time ? 2 : 0, least->time / first->time);
    if (programs > 1)
        text_add(&below, "%s%s of %u programs", below.length ? "; " : "",
                 is_regret ? "a typical one" : "geometric means", programs);
    gnuplot_variable(variables, "heading", heading.data);
    gnuplot_variable(variables, "below", below.length ? below.data : "");
    text_free(&heading);
    text_free(&below);
}

static void add_note(const struct answer_device *answer, struct text *variables)
{
    struct text note = {0};
    for (size_t i = 0; i < answer->not_here_count; i++)
        text_add(&note, "%s%s", i ? ", " : "; skipped: ", answer->not_here[i]);
    for (size_t i = 0; i < answer->not_ranked_count; i++)
        text_add(&note, "%s%s", i ? ", " : "; not ranked: ", answer->not_ranked[i].name);
    gnuplot_variable(variables, "note", note.length ? note.data : "");
    text_free(&note);
}

static void add_variables(const struct pareto *all, struct text *variables)
{
    struct labels series = {0};
    for (size_t i = 0; i < all->count; i++)
        labels_add(&series, all->point[i].name);
    gnuplot_labels(variables, "series", &series);
    gnuplot_number(variables, "low_x", all->low_x);
    gnuplot_number(variables, "high_x", all->high_x);
    gnuplot_number(variables, "low_y", all->low_y);
    gnuplot_number(variables, "high_y", all->high_y);
    gnuplot_number(variables, "plot_width", WIDTH);
    gnuplot_number(variables, "plot_height", HEIGHT);
    labels_free(&series);
}

static void write_points(struct pareto *all, const char *heading, FILE *data,
                         struct text *variables)
{
    find_front(all);
    find_axes(all);
    for (size_t i = 0; i < all->count; i++)
        if (all->point[i].has_name)
            place_name(all, i);
    gnuplot_comment(data, "%s", heading);
    print_points(all, data);
    add_variables(all, variables);
}

static int pareto_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                        struct text *variables, struct error *error)
{
    struct arena arena = {0};
    const struct answer answers = answer_of(of->result, NULL, &arena);
    const struct answer_device *answer = answer_find(&answers, of->device);
    struct pareto all = points_of(answer);
    if (all.count >= 2) {
        char heading[128];
        snprintf(heading, sizeof heading, "gamut pareto on %s", of->device);
        write_points(&all, heading, data, variables);
        add_note(answer, variables);
        add_message(&all, answer->cases, false, variables);
    }
    free(all.point);
    arena_free(&arena);
    return all.count >= 2
               ? 0
               : error_set(error, ERR_NOT_FOUND,
                           "fewer than two configurations on %s have a time and a peak of "
                           "memory in the same programs, between which the chart %s would "
                           "show the choice",
                           of->device, chart->name);
}

const struct chart chart_pareto = {
    .name = "pareto",
    .help = "mean time against peak memory",
    .scope = CHART_OF_DEVICE,
    .write = pareto_write,
};

static int regret_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                        struct text *variables, struct error *error)
{
    struct arena arena = {0};
    const struct standings standings = standings_of(of->result->fits, NULL, &arena);
    struct pareto all = points_of_standings(&standings);
    if (all.count >= 2) {
        leave_out_far(&all, variables);
        write_points(&all, "gamut regret", data, variables);
        add_message(&all, (unsigned)standings.program_count, true, variables);
        gnuplot_variable(variables, "caption", "gamut fit");
    }
    free(all.point);
    arena_free(&arena);
    return all.count >= 2
               ? 0
               : error_set(error, ERR_NOT_FOUND,
                           "the chart %s shows two allocators or more of what `gamut fit --atlas "
                           "NAME --out FILE` writes",
                           chart->name);
}

const struct chart chart_regret = {
    .name = "regret",
    .help = "what each allocator holds over the optimum, against its time in the driver's calls",
    .scope = CHART_OF_DEVICE,
    .write = regret_write,
};
