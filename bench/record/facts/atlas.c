/* What an atlas knows: curves, their fits, costs between points, what calls wait for. Its JSON is
 * in atlas_json.c. */
#include "record/facts/atlas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"

/* ---- what a call waits for ---- */

const char *const atlas_wait_names[] = {
#define X(name, help) #name,
    ATLAS_WAIT_LIST(X)
#undef X
        NULL};

const char *atlas_wait_name(enum atlas_wait wait)
{
    return atlas_wait_names[wait];
}

enum answer { NO, YES, UNCLEAR };

static enum answer waited(double idle_ns, double busy_ns, double spin_ns)
{
    double more_ns = busy_ns - idle_ns; /* NaN if either is */
    if (!(spin_ns > 0) || isnan(more_ns))
        return UNCLEAR;
    return more_ns >= spin_ns / 2 ? YES : more_ns <= spin_ns / 4 ? NO : UNCLEAR;
}

enum atlas_wait atlas_classify(const struct atlas_probe *p)
{
    enum answer own = waited(p->idle_ns, p->own_queue_ns, p->spin_ns);
    enum answer other = waited(p->idle_ns, p->other_queue_ns, p->spin_ns);
    if (own == NO && other == NO)
        return ATLAS_WAITS_nothing;
    if (own == YES && other == NO)
        return ATLAS_WAITS_own_queue;
    if (own == YES && other == YES)
        return ATLAS_WAITS_device;
    return ATLAS_WAITS_unknown;
}

static double distance(uint64_t a, uint64_t b)
{
    return fabs(log2((double)a + 1) - log2((double)b + 1));
}

enum atlas_wait atlas_waits(const struct atlas *atlas, const char *method, const char *call,
                            uint64_t bytes)
{
    const struct atlas_curve *curve = atlas_find(atlas, method, call);
    const struct atlas_probe *nearest = NULL;
    for (size_t i = 0; curve && i < curve->probe_count; i++)
        if (!nearest || distance(curve->probes[i].bytes, bytes) < distance(nearest->bytes, bytes))
            nearest = &curve->probes[i];
    return nearest ? nearest->waits : ATLAS_WAITS_unknown;
}

/* ---- points ---- */

/* A measured value, never one between two: a distribution of calls has steps. */
static uint64_t quantile(const uint64_t *sorted, size_t count, double q)
{
    return sorted[(size_t)(q * (double)(count - 1) + 0.5)];
}

void atlas_summarise(struct atlas_point *point, uint64_t *ns, size_t count)
{
    point->sample_count = (unsigned)count;
    if (count == 0)
        return;
    sort_u64(ns, count);
    point->min_ns = ns[0];
    point->p10_ns = quantile(ns, count, 0.10);
    point->p50_ns = quantile(ns, count, 0.50);
    point->p90_ns = quantile(ns, count, 0.90);
    point->p99_ns = quantile(ns, count, 0.99);
    point->max_ns = ns[count - 1];
}

/* Whether a point tells what the call costs with nothing else alive. */
static bool counts(const struct atlas_point *point)
{
    return point->live_count == 0 && point->sample_count > 0;
}

/* ---- the fit ---- */

static double on_line(const struct atlas_line *line, uint64_t bytes)
{
    return line->a_ns + line->b_ns_per_byte * (double)bytes;
}

/* Relative: a microsecond at 256 B weighs as much as a millisecond at 16 GiB. */
static double miss(const struct atlas_line *line, const struct atlas_point *p)
{
    return on_line(line, p->bytes) / (double)p->p50_ns - 1;
}

/* Minimises the sum of squared misses of the points [begin, end), and returns it. NaN: fewer than
 * three points, or of one size only. */
static double fit_line(const struct atlas_point *const *points, size_t begin, size_t end,
                       struct atlas_line *line)
{
    double s1 = 0, s2 = 0, sx = 0, sxx = 0, sxy = 0, sum = 0;
    if (end - begin < 3 || points[begin]->bytes == points[end - 1]->bytes)
        return NAN;
    for (size_t i = begin; i < end; i++) {
        double x = (double)points[i]->bytes, y = (double)points[i]->p50_ns;
        s1 += 1 / y, s2 += 1 / (y * y);
        sx += x / (y * y), sxx += x * x / (y * y), sxy += x / y;
    }
    double determinant = s2 * sxx - sx * sx;
    double a = (s1 * sxx - sx * sxy) / determinant, b = (s2 * sxy - sx * s1) / determinant;
    if (!(b > 0)) /* also where the determinant is lost in rounding */
        a = s1 / s2, b = 0;
    else if (a < 0)
        a = 0, b = sxy / sxx;
    *line = (struct atlas_line){points[begin]->bytes, a, b};
    for (size_t i = begin; i < end; i++)
        sum += miss(line, points[i]) * miss(line, points[i]);
    return sum;
}

/* A second line is for where one misses by more than a tenth (root of the mean square), and must
 * take nine tenths of the squares away: noise, and a method that changes gradually, are not worth a
 * size of their own. */
static void fit_lines(struct atlas_curve *c, const struct atlas_point *const *points, size_t count)
{
    struct atlas_line low, high;
    double best = fit_line(points, 0, count, &c->lines[0]);
    if (isnan(best))
        return;
    c->line_count = 1;
    c->lines[0].from_bytes = 0;
    if (best <= 0.1 * 0.1 * (double)count)
        return;
    best *= 0.1;
    for (size_t cut = 1; cut < count; cut++) {
        double sum = fit_line(points, 0, cut, &low) + fit_line(points, cut, count, &high);
        if (sum < best) { /* false for NaN */
            best = sum;
            c->line_count = 2;
            c->lines[0] = (struct atlas_line){0, low.a_ns, low.b_ns_per_byte};
            c->lines[1] = high;
        }
    }
}

static const struct atlas_line *line_at(const struct atlas_curve *c, uint64_t bytes)
{
    return c->line_count == 0                                      ? NULL
           : c->line_count == 2 && bytes >= c->lines[1].from_bytes ? &c->lines[1]
                                                                   : &c->lines[0];
}

/* A median of 0 has no relative error and is left out. */
static void fit(struct atlas_curve *c)
{
    const struct atlas_point **points = must_alloc((c->point_count + 1) * sizeof *points);
    size_t count = 0;
    for (size_t i = 0; i < c->point_count; i++)
        if (counts(&c->points[i]) && c->points[i].p50_ns > 0)
            points[count++] = &c->points[i];
    c->line_count = 0;
    c->fit_error = NAN;
    fit_lines(c, points, count);
    for (size_t i = 0; i < count && c->line_count; i++)
        c->fit_error = fmax(c->fit_error, fabs(miss(line_at(c, points[i]->bytes), points[i])));
    free(points);
}

void atlas_finish_curve(struct atlas_curve *c)
{
    fit(c);
    c->waits = ATLAS_WAITS_unknown;
    for (size_t i = 0; i < c->probe_count; i++) {
        c->probes[i].waits = atlas_classify(&c->probes[i]);
        if (c->probes[i].waits > c->waits)
            c->waits = c->probes[i].waits;
    }
}

/* ---- costs ---- */

static double between(const struct atlas_point *low, const struct atlas_point *high, uint64_t bytes)
{
    /* A call faster than the clock is still a point on a logarithmic line. */
    double y0 = low->p50_ns ? (double)low->p50_ns : 0.5;
    double y1 = high->p50_ns ? (double)high->p50_ns : 0.5;
    double x0 = log((double)low->bytes), x1 = log((double)high->bytes);
    double share = (log((double)bytes) - x0) / (x1 - x0);
    return exp(log(y0) + share * (log(y1) - log(y0)));
}

static double beyond(const struct atlas_curve *c, const struct atlas_point *outermost,
                     uint64_t bytes)
{
    const struct atlas_line *line = line_at(c, outermost->bytes);
    double here = line ? on_line(line, outermost->bytes) : 0;
    double ns = (double)outermost->p50_ns;
    return here > 0 ? ns * on_line(line, bytes) / here : ns;
}

bool atlas_cost_ns(const struct atlas *atlas, const char *method, const char *call, uint64_t bytes,
                   double *ns)
{
    const struct atlas_curve *c = atlas_find(atlas, method, call);
    const struct atlas_point *low = NULL, *high = NULL;
    for (size_t i = 0; c && i < c->point_count; i++) {
        const struct atlas_point *p = &c->points[i];
        if (!counts(p))
            continue;
        if (p->bytes <= bytes)
            low = p;
        else if (!high)
            high = p;
    }
    if (!low && !high)
        return false;
    if (low && low->bytes == bytes)
        *ns = (double)low->p50_ns;
    else if (low && low->bytes > 0 && high)
        *ns = between(low, high, bytes);
    else
        *ns = beyond(c, low ? low : high, bytes);
    return true;
}

uint64_t atlas_step_bytes(const struct atlas *atlas, const char *method, const char *call)
{
    const struct atlas_curve *c = atlas_find(atlas, method, call);
    uint64_t most_ns = 0; /* of the sizes before */
    for (size_t i = 0; c && i < c->point_count; i++) {
        if (!counts(&c->points[i]))
            continue;
        bool is_step = most_ns > 0;
        for (size_t j = i; j < c->point_count && is_step; j++)
            is_step = !counts(&c->points[j]) || c->points[j].p50_ns >= 3 * most_ns;
        if (is_step)
            return c->points[i].bytes;
        if (c->points[i].p50_ns > most_ns)
            most_ns = c->points[i].p50_ns;
    }
    return 0;
}

/* ---- curves ---- */

const struct atlas_curve *atlas_find(const struct atlas *atlas, const char *method,
                                     const char *call)
{
    for (size_t i = 0; i < atlas->curve_count; i++)
        if (strcmp(atlas->curves[i].method, method) == 0 &&
            strcmp(atlas->curves[i].call, call) == 0)
            return &atlas->curves[i];
    return NULL;
}

struct atlas_curve *atlas_curve_of(struct atlas *atlas, const char *method, const char *call)
{
    const struct atlas_curve *found = atlas_find(atlas, method, call);
    if (found)
        return &atlas->curves[found - atlas->curves];
    size_t count = atlas->curve_count++;
    atlas->curves = must_realloc(atlas->curves, (count + 1) * sizeof *atlas->curves);
    struct atlas_curve *curve = &atlas->curves[count];
    *curve = (struct atlas_curve){.fit_error = NAN};
    snprintf(curve->method, sizeof curve->method, "%s", method);
    snprintf(curve->call, sizeof curve->call, "%s", call);
    return curve;
}

bool atlas_point_before(const struct atlas_point *a, const struct atlas_point *b)
{
    return a->live_count != b->live_count ? a->live_count < b->live_count : a->bytes < b->bytes;
}

void atlas_add_point(struct atlas_curve *curve, const struct atlas_point *point)
{
    size_t at = curve->point_count++;
    curve->points = must_realloc(curve->points, curve->point_count * sizeof *curve->points);
    for (; at > 0 && atlas_point_before(point, &curve->points[at - 1]); at--)
        curve->points[at] = curve->points[at - 1];
    curve->points[at] = *point;
}

void atlas_add_probe(struct atlas_curve *curve, const struct atlas_probe *probe)
{
    size_t at = curve->probe_count++;
    curve->probes = must_realloc(curve->probes, curve->probe_count * sizeof *curve->probes);
    for (; at > 0 && probe->bytes < curve->probes[at - 1].bytes; at--)
        curve->probes[at] = curve->probes[at - 1];
    curve->probes[at] = *probe;
}

void atlas_free(struct atlas *atlas)
{
    for (size_t i = 0; i < atlas->curve_count; i++) {
        free(atlas->curves[i].points);
        free(atlas->curves[i].probes);
    }
    free(atlas->curves);
    *atlas = (struct atlas){.timer_ns = NAN};
}
