/* Atlases: curves, their fits, costs between points, the class of a call, and JSON. An atlas that
 * was read is complete and in order, so its users check nothing. */
#include "results/facts/atlas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json_rules.h"
#include "base/sort.h"
#include "base/text.h"
#include "base/tree.h"

/* ---- what a call waits for ---- */

/* The words by class, then NULL. */
static const char *const atlas_wait_names[] = {ATLAS_WAIT_LIST(TEXT_NAME) NULL};

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
    return count ? sorted[(size_t)(q * (double)(count - 1) + 0.5)] : UINT64_MAX;
}

static void set_quantiles(struct atlas_point *point, const uint64_t *sorted, size_t count)
{
    point->sample_count = (unsigned)count;
    point->min_ns = quantile(sorted, count, 0);
    point->p10_ns = quantile(sorted, count, 0.10);
    point->p50_ns = quantile(sorted, count, 0.50);
    point->p90_ns = quantile(sorted, count, 0.90);
    point->p99_ns = quantile(sorted, count, 0.99);
    point->max_ns = quantile(sorted, count, 1);
}

void atlas_summarise(struct atlas_point *point, uint64_t *ns, size_t count)
{
    sort_u64(ns, count);
    set_quantiles(point, ns, count);
}

/* Does the point give the cost of a call without other live allocations? */
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
    if (!(b > 0)) /* also if the determinant is lost in rounding */
        a = s1 / s2, b = 0;
    else if (a < 0)
        a = 0, b = sxy / sxx;
    *line = (struct atlas_line){points[begin]->bytes, a, b};
    for (size_t i = begin; i < end; i++)
        sum += miss(line, points[i]) * miss(line, points[i]);
    return sum;
}

/* Adds a second line if one line misses by more than a tenth (root of the mean square) and two
 * remove nine tenths of the squares: noise and gradual changes are not worth a second line. */
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
    c->lines = must_realloc(c->lines, 2 * sizeof *c->lines);
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

static double price(const struct atlas_point *point, bool paced)
{
    return (double)(paced && point->paced_ns ? point->paced_ns : point->p50_ns);
}

static double between(const struct atlas_point *low, const struct atlas_point *high, uint64_t bytes,
                      bool paced)
{
    /* A call faster than the clock is still a point on a logarithmic line. */
    double y0 = fmax(price(low, paced), 0.5), y1 = fmax(price(high, paced), 0.5);
    double x0 = log((double)low->bytes), x1 = log((double)high->bytes);
    double share = (log((double)bytes) - x0) / (x1 - x0);
    return exp(log(y0) + share * (log(y1) - log(y0)));
}

static double beyond(const struct atlas_curve *c, const struct atlas_point *outermost,
                     uint64_t bytes, bool paced)
{
    const struct atlas_line *line = line_at(c, outermost->bytes);
    double here = line ? on_line(line, outermost->bytes) : 0;
    double ns = price(outermost, paced);
    return here > 0 ? ns * on_line(line, bytes) / here : ns;
}

static bool cost_ns(const struct atlas *atlas, const char *method, const char *call, uint64_t bytes,
                    bool paced, double *ns)
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
        *ns = price(low, paced);
    else if (low && low->bytes > 0 && high)
        *ns = between(low, high, bytes, paced);
    else
        *ns = beyond(c, low ? low : high, bytes, paced);
    return true;
}

bool atlas_cost_ns(const struct atlas *atlas, const char *method, const char *call, uint64_t bytes,
                   double *ns)
{
    return cost_ns(atlas, method, call, bytes, false, ns);
}

bool atlas_paced_cost_ns(const struct atlas *atlas, const char *method, const char *call,
                         uint64_t bytes, double *ns)
{
    return cost_ns(atlas, method, call, bytes, true, ns);
}

bool atlas_is_idle(const struct atlas *atlas)
{
    const struct atlas_curve *sync = atlas_find(atlas, "command", "sync");
    return sync && sync->probe_count > 0 && !atlas_find(atlas, "raw", "alloc_busy");
}

uint64_t atlas_step_bytes(const struct atlas *atlas, const char *method, const char *call)
{
    const struct atlas_curve *c = atlas_find(atlas, method, call);
    uint64_t most_ns = 0; /* highest median of the smaller sizes */
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

static bool point_before(const struct atlas_point *a, const struct atlas_point *b)
{
    return a->live_count != b->live_count ? a->live_count < b->live_count : a->bytes < b->bytes;
}

void atlas_add_point(struct atlas_curve *curve, const struct atlas_point *point)
{
    size_t at = curve->point_count++;
    curve->points = must_realloc(curve->points, curve->point_count * sizeof *curve->points);
    for (; at > 0 && point_before(point, &curve->points[at - 1]); at--)
        curve->points[at] = curve->points[at - 1];
    curve->points[at] = *point;
    if (!point->sample_count)
        set_quantiles(&curve->points[at], NULL, 0);
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
        free(atlas->curves[i].lines);
        free(atlas->curves[i].points);
        free(atlas->curves[i].probes);
    }
    free(atlas->curves);
    *atlas = (struct atlas){.timer_ns = NAN};
}

/* ---- JSON ------------------------------------------------------------------------------------ */

JSON_STRUCT(static, line, struct atlas_line, JSON_FIELD(COUNT, struct atlas_line, from_bytes),
            JSON_FIELDS(NUMBER, struct atlas_line, a_ns, b_ns_per_byte));
JSON_STRUCT(static, probe, struct atlas_probe, JSON_FIELD(COUNT, struct atlas_probe, bytes),
            JSON_WORD(struct atlas_probe, waits, atlas_wait_names),
            JSON_FIELDS(NUMBER, struct atlas_probe, idle_ns, own_queue_ns, other_queue_ns,
                        spin_ns));
JSON_STRUCT(static, point, struct atlas_point,
            JSON_FIELDS(COUNT, struct atlas_point, bytes, live_count, sample_count),
            JSON_FIELDS(COUNT_OR_UNKNOWN, struct atlas_point, min_ns, p10_ns, p50_ns, p90_ns,
                        p99_ns, max_ns),
            JSON_OPTIONAL(COUNT_OR_NULL, struct atlas_point, paced_ns),
            JSON_OPTIONAL(TEXT_OR_NULL, struct atlas_point, skipped));
JSON_STRUCT(static, curve, struct atlas_curve, JSON_FIELDS(TEXT, struct atlas_curve, method, call),
            JSON_WORD(struct atlas_curve, waits, atlas_wait_names),
            JSON_MANY(LIST, struct atlas_curve, lines, line_count, &line_struct),
            JSON_FIELD(NUMBER, struct atlas_curve, fit_error),
            JSON_MANY(LIST, struct atlas_curve, probes, probe_count, &probe_struct),
            JSON_MANY(LIST, struct atlas_curve, points, point_count, &point_struct));
static const struct json_field atlas_fields[] = {
    JSON_FIELDS(TEXT, struct atlas, device, name),
    JSON_FIELD(TEXT_OR_NULL, struct atlas, driver),
    JSON_FIELD(NUMBER, struct atlas, timer_ns),
    JSON_MANY(LIST, struct atlas, curves, curve_count, &curve_struct),
    JSON_FIELDS_END,
};

json_t *atlas_to_json(const struct atlas *atlas)
{
    return json_of_fields(atlas_fields, atlas);
}

/* ---- reading it ------------------------------------------------------------------------------ */

/* An element of a list of a curve, for messages. */
struct place {
    size_t curve;
    const char *list;
    size_t element;
};

static int fault(struct error *error, struct place at, const char *key, const char *what)
{
    return error_set(error, ERR_PARSE, "curves[%zu].%s[%zu].%s: %s", at.curve, at.list, at.element,
                     key, what);
}

static int check_point(const struct atlas_point *p, struct place at, struct error *error)
{
    static const char *const names[] = {"min_ns", "p10_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"};
    const uint64_t ns[] = {p->min_ns, p->p10_ns, p->p50_ns, p->p90_ns, p->p99_ns, p->max_ns};
    if (!p->sample_count && !*p->skipped)
        return fault(error, at, "skipped", "a point without samples says why");
    for (size_t i = 0; i < sizeof ns / sizeof *ns && p->sample_count; i++) {
        if (ns[i] == UINT64_MAX)
            return fault(error, at, names[i], "expected a count: there are samples");
        if (i && ns[i] < ns[i - 1])
            return fault(error, at, names[i], "below the quantile before it");
    }
    return at.element && !point_before(p - 1, p)
               ? fault(error, at, "bytes", "points are in the order of live_count, then bytes")
               : 0;
}

static int check_probe(const struct atlas_probe *p, struct place at, struct error *error)
{
    if (p->waits != atlas_classify(p))
        return fault(error, at, "waits", "does not follow from the medians next to it");
    return at.element && p->bytes <= p[-1].bytes
               ? fault(error, at, "bytes", "probes are in the order of bytes")
               : 0;
}

static int check_line(const struct atlas_line *line, struct place at, struct error *error)
{
    if (isnan(line->a_ns) || isnan(line->b_ns_per_byte))
        return fault(error, at, isnan(line->a_ns) ? "a_ns" : "b_ns_per_byte", "a line has numbers");
    return at.element > 1 ||
                   (at.element ? line->from_bytes <= line[-1].from_bytes : line->from_bytes != 0)
               ? fault(error, at, "from_bytes",
                       "the first line is from 0 on, the second from more, and there is no third")
               : 0;
}

static int check_curve(const struct atlas *atlas, size_t number, struct error *error)
{
    const struct atlas_curve *c = &atlas->curves[number];
    if (atlas_find(atlas, c->method, c->call) != c)
        return error_set(error, ERR_PARSE, "curves[%zu].call: this method and call came before",
                         number);
    for (size_t i = 0; i < c->line_count; i++)
        TRY(check_line(&c->lines[i], (struct place){number, "lines", i}, error));
    for (size_t i = 0; i < c->point_count; i++)
        TRY(check_point(&c->points[i], (struct place){number, "points", i}, error));
    for (size_t i = 0; i < c->probe_count; i++)
        TRY(check_probe(&c->probes[i], (struct place){number, "probes", i}, error));
    return 0;
}

static void *copied(const void *items, size_t bytes)
{
    return bytes ? memcpy(must_alloc(bytes), items, bytes) : NULL;
}

int atlas_from_json(const json_t *json, struct atlas *atlas, struct error *error)
{
    static const struct json_rule rules[] = {
        {"device", RULE_TEXT | RULE_PRINTABLE},
        {"name", RULE_TEXT | RULE_PRINTABLE},
        {"curves[].method", RULE_TEXT | RULE_PRINTABLE},
        {"curves[].call", RULE_TEXT | RULE_PRINTABLE},
        {NULL, 0},
    };
    struct arena arena = {0};
    struct atlas read;
    int code = json_get_fields_in(&arena, json, "", atlas_fields, &read, error);
    THEN(code, json_check(json, rules, error));
    for (size_t i = 0; !code && i < read.curve_count; i++)
        code = check_curve(&read, i, error);
    for (size_t i = 0; !code && i < read.curve_count; i++) {
        struct atlas_curve *c = &read.curves[i];
        c->lines = copied(c->lines, c->line_count * sizeof *c->lines);
        c->points = copied(c->points, c->point_count * sizeof *c->points);
        c->probes = copied(c->probes, c->probe_count * sizeof *c->probes);
    }
    *atlas = code ? (struct atlas){.timer_ns = NAN} : read;
    atlas->curves = copied(atlas->curves, atlas->curve_count * sizeof *atlas->curves);
    arena_free(&arena);
    return code;
}

const json_t *atlas_json_find(const json_t *atlases, const char *device)
{
    for (size_t i = 0; i < json_array_size(atlases); i++)
        if (strcmp(tree_get_text(json_array_get(atlases, i), "device"), device) == 0)
            return json_array_get(atlases, i);
    return NULL;
}

int atlas_from_list(const json_t *all, const char *device, struct atlas *atlas, struct error *error)
{
    size_t count = json_array_size(all);
    const json_t *found = device       ? atlas_json_find(all, device)
                          : count == 1 ? json_array_get(all, 0)
                                       : NULL;
    *atlas = (struct atlas){.timer_ns = NAN};
    if (found)
        return atlas_from_json(found, atlas, error);
    if (count == 0)
        return error_set(error, ERR_NOT_FOUND, "the file has no atlas: `gamut atlas` makes one");
    return error_set(error, ERR_NOT_FOUND, "the file has %zu atlases, %s%s", count,
                     device ? "none of " : "name the device", device ? device : "");
}
