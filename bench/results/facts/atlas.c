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
#include "base/tree.h"

/* ---- what a call waits for ---- */

/* The words by class, then NULL. */
static const char *const atlas_wait_names[] = {
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

/* ---- JSON ------------------------------------------------------------------------------------ */

static const struct json_field atlas_fields[] = {
    JSON_FIELD(TEXT, struct atlas, device),
    JSON_FIELD(TEXT, struct atlas, name),
    JSON_FIELD(TEXT_OR_NULL, struct atlas, driver),
    JSON_FIELD(NUMBER, struct atlas, timer_ns),
    JSON_FIELDS_END,
};
static const struct json_field curve_fields[] = {
    JSON_FIELD(TEXT, struct atlas_curve, method),
    JSON_FIELD(TEXT, struct atlas_curve, call),
    JSON_WORD(struct atlas_curve, waits, atlas_wait_names),
    JSON_FIELDS_END,
};
static const struct json_field fit_fields[] = {
    JSON_FIELD(NUMBER, struct atlas_curve, fit_error),
    JSON_FIELDS_END,
};
static const struct json_field line_fields[] = {
    JSON_FIELD(COUNT, struct atlas_line, from_bytes),
    JSON_FIELD(NUMBER, struct atlas_line, a_ns),
    JSON_FIELD(NUMBER, struct atlas_line, b_ns_per_byte),
    JSON_FIELDS_END,
};
static const struct json_field probe_fields[] = {
    JSON_FIELD(COUNT, struct atlas_probe, bytes),
    JSON_WORD(struct atlas_probe, waits, atlas_wait_names),
    JSON_FIELD(NUMBER, struct atlas_probe, idle_ns),
    JSON_FIELD(NUMBER, struct atlas_probe, own_queue_ns),
    JSON_FIELD(NUMBER, struct atlas_probe, other_queue_ns),
    JSON_FIELD(NUMBER, struct atlas_probe, spin_ns),
    JSON_FIELDS_END,
};
static const struct json_field point_fields[] = {
    JSON_FIELD(COUNT, struct atlas_point, bytes),
    JSON_FIELD(COUNT, struct atlas_point, live_count),
    JSON_FIELD(COUNT, struct atlas_point, sample_count),
    JSON_FIELDS_END,
};
/* Null if there are no samples. */
static const struct json_field quantile_fields[] = {
    JSON_FIELD(COUNT, struct atlas_point, min_ns),
    JSON_FIELD(COUNT, struct atlas_point, p10_ns),
    JSON_FIELD(COUNT, struct atlas_point, p50_ns),
    JSON_FIELD(COUNT, struct atlas_point, p90_ns),
    JSON_FIELD(COUNT, struct atlas_point, p99_ns),
    JSON_FIELD(COUNT, struct atlas_point, max_ns),
    JSON_FIELDS_END,
};
/* Absent if it is unknown. */
static const struct json_field paced_fields[] = {
    JSON_FIELD(COUNT, struct atlas_point, paced_ns),
    JSON_FIELDS_END,
};
static const struct json_field skipped_fields[] = {
    JSON_FIELD(TEXT_OR_NULL, struct atlas_point, skipped),
    JSON_FIELDS_END,
};

static json_t *point_to_json(const struct atlas_point *point)
{
    json_t *json = tree_object();
    json_put_fields(json, point_fields, point);
    if (point->sample_count > 0)
        json_put_fields(json, quantile_fields, point);
    else
        for (const struct json_field *f = quantile_fields; f->name; f++)
            tree_put(json, f->name, json_null());
    if (point->paced_ns)
        json_put_fields(json, paced_fields, point);
    if (*point->skipped)
        tree_put(json, "skipped", tree_text(point->skipped));
    return json;
}

static void append_fields(json_t *array, const struct json_field *fields, const void *from)
{
    json_t *json = tree_object();
    json_put_fields(json, fields, from);
    tree_append(array, json);
}

static json_t *curve_to_json(const struct atlas_curve *curve)
{
    json_t *json = tree_object(), *lines = tree_array(), *probes = tree_array(),
           *points = tree_array();
    for (unsigned i = 0; i < curve->line_count; i++)
        append_fields(lines, line_fields, &curve->lines[i]);
    for (size_t i = 0; i < curve->probe_count; i++)
        append_fields(probes, probe_fields, &curve->probes[i]);
    for (size_t i = 0; i < curve->point_count; i++)
        tree_append(points, point_to_json(&curve->points[i]));
    json_put_fields(json, curve_fields, curve);
    tree_put(json, "lines", lines);
    json_put_fields(json, fit_fields, curve);
    tree_put(json, "probes", probes);
    tree_put(json, "points", points);
    return json;
}

json_t *atlas_to_json(const struct atlas *atlas)
{
    json_t *json = tree_object(), *curves = tree_array();
    for (size_t i = 0; i < atlas->curve_count; i++)
        tree_append(curves, curve_to_json(&atlas->curves[i]));
    json_put_fields(json, atlas_fields, atlas);
    tree_put(json, "curves", curves);
    return json;
}

/* ---- reading it ------------------------------------------------------------------------------ */

static const struct json_rule atlas_rules[] = {
    {"", RULE_OBJECT},
    {"device", RULE_TEXT | RULE_PRINTABLE},
    {"name", RULE_TEXT | RULE_PRINTABLE},
    {"curves", RULE_ARRAY},
    {"curves[]", RULE_OBJECT},
    {"curves[].method", RULE_TEXT | RULE_PRINTABLE},
    {"curves[].call", RULE_TEXT | RULE_PRINTABLE},
    {"curves[].lines", RULE_ARRAY},
    {"curves[].points", RULE_ARRAY},
    {"curves[].probes", RULE_ARRAY},
    {NULL, 0},
};

static int fault(struct error *error, const char *path, const char *key, const char *what)
{
    return error_set(error, ERR_PARSE, "%s.%s: %s", path, key, what);
}

static int read_point(const json_t *json, const char *path, struct atlas_curve *curve,
                      struct error *error)
{
    struct atlas_point p = {0};
    int code = json_get_fields(json, path, point_fields, &p, error);
    THEN(code, json_get_fields(json, path, skipped_fields, &p, error));
    if (!code && p.sample_count)
        code = json_get_fields(json, path, quantile_fields, &p, error);
    if (!code && json_object_get(json, paced_fields->name))
        code = json_get_fields(json, path, paced_fields, &p, error);
    if (code)
        return code;
    if (!p.sample_count && !*p.skipped)
        return fault(error, path, "skipped", "a point without samples says why");
    const uint64_t ns[] = {p.min_ns, p.p10_ns, p.p50_ns, p.p90_ns, p.p99_ns, p.max_ns};
    for (size_t i = 1; i < sizeof ns / sizeof *ns; i++)
        if (ns[i] < ns[i - 1])
            return fault(error, path, quantile_fields[i].name, "below the quantile before it");
    if (curve->point_count && !point_before(&curve->points[curve->point_count - 1], &p))
        return fault(error, path, "bytes", "points are in the order of live_count, then bytes");
    atlas_add_point(curve, &p);
    return 0;
}

static int read_probe(const json_t *json, const char *path, struct atlas_curve *curve,
                      struct error *error)
{
    struct atlas_probe p;
    TRY(json_get_fields(json, path, probe_fields, &p, error));
    if (p.waits != atlas_classify(&p))
        return fault(error, path, "waits", "does not follow from the medians next to it");
    if (curve->probe_count && p.bytes <= curve->probes[curve->probe_count - 1].bytes)
        return fault(error, path, "bytes", "probes are in the order of bytes");
    atlas_add_probe(curve, &p);
    return 0;
}

static int read_line(const json_t *json, const char *path, struct atlas_curve *curve,
                     struct error *error)
{
    enum { MOST = sizeof curve->lines / sizeof *curve->lines };
    struct atlas_line line;
    int code = json_get_fields(json, path, line_fields, &line, error);
    const unsigned i = curve->line_count;
    if (code)
        return code;
    if (i == MOST)
        return error_set(error, ERR_PARSE, "%s: a curve has two lines at most", path);
    if (isnan(line.a_ns) || isnan(line.b_ns_per_byte))
        return fault(error, path, isnan(line.a_ns) ? "a_ns" : "b_ns_per_byte",
                     "a line has numbers");
    if (i > 0 ? line.from_bytes <= curve->lines[i - 1].from_bytes : line.from_bytes != 0)
        return fault(error, path, "from_bytes",
                     "the first line is from 0 on, the second from more");
    curve->lines[curve->line_count++] = line;
    return 0;
}

static int read_curve(const json_t *json, size_t number, struct atlas *atlas, struct error *error)
{
    static const struct {
        const char *name;
        int (*read)(const json_t *json, const char *path, struct atlas_curve *curve,
                    struct error *error);
    } lists[] = {{"lines", read_line}, {"points", read_point}, {"probes", read_probe}};
    struct atlas_curve head = {0};
    char path[64];
    snprintf(path, sizeof path, "curves[%zu]", number);
    int code = json_get_fields(json, path, curve_fields, &head, error);
    THEN(code, json_get_fields(json, path, fit_fields, &head, error));
    if (!code && atlas_find(atlas, head.method, head.call))
        code = fault(error, path, "call", "this method and call came before");
    if (code)
        return code;
    struct atlas_curve *curve = atlas_curve_of(atlas, head.method, head.call);
    *curve = head;
    for (size_t l = 0; l < sizeof lists / sizeof *lists && !code; l++) {
        const json_t *list = json_object_get(json, lists[l].name);
        for (size_t i = 0; i < json_array_size(list) && !code; i++) {
            snprintf(path, sizeof path, "curves[%zu].%s[%zu]", number, lists[l].name, i);
            code = lists[l].read(json_array_get(list, i), path, curve, error);
        }
    }
    return code;
}

int atlas_from_json(const json_t *json, struct atlas *atlas, struct error *error)
{
    *atlas = (struct atlas){.timer_ns = NAN};
    int code = json_check(json, atlas_rules, error);
    THEN(code, json_get_fields(json, "", atlas_fields, atlas, error));
    const json_t *curves = json_object_get(json, "curves");
    for (size_t i = 0; i < json_array_size(curves) && !code; i++)
        code = read_curve(json_array_get(curves, i), i, atlas, error);
    if (code)
        atlas_free(atlas);
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
