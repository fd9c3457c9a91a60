/* An atlas as JSON and back. results/README.md describes it; what is read is checked in full, so
 * that who uses an atlas need not. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record/facts/atlas.h"
#include "base/tree.h"

/* ---- writing ---- */

#define QUANTILE_LIST(X) X(min_ns) X(p10_ns) X(p50_ns) X(p90_ns) X(p99_ns) X(max_ns)
#define MEDIAN_LIST(X)   X(idle_ns) X(own_queue_ns) X(other_queue_ns) X(spin_ns)

static json_t *point_to_json(const struct atlas_point *point)
{
    json_t *json = tree_object();
    bool known = point->sample_count > 0;
    tree_put(json, "bytes", tree_count(point->bytes));
    tree_put(json, "live_count", tree_count(point->live_count));
    tree_put(json, "sample_count", tree_count(point->sample_count));
#define X(name) tree_put(json, #name, known ? tree_count(point->name) : json_null());
    QUANTILE_LIST(X)
#undef X
    if (*point->skipped)
        tree_put(json, "skipped", tree_text(point->skipped));
    return json;
}

static json_t *probe_to_json(const struct atlas_probe *probe)
{
    json_t *json = tree_object();
    tree_put(json, "bytes", tree_count(probe->bytes));
    tree_put(json, "waits", tree_text(atlas_wait_name(probe->waits)));
#define X(name) tree_put(json, #name, tree_number(probe->name));
    MEDIAN_LIST(X)
#undef X
    return json;
}

static json_t *line_to_json(const struct atlas_line *line)
{
    json_t *json = tree_object();
    tree_put(json, "from_bytes", tree_count(line->from_bytes));
    tree_put(json, "a_ns", tree_number(line->a_ns));
    tree_put(json, "b_ns_per_byte", tree_number(line->b_ns_per_byte));
    return json;
}

static json_t *curve_to_json(const struct atlas_curve *curve)
{
    json_t *json = tree_object(), *lines = tree_array(), *probes = tree_array(),
           *points = tree_array();
    for (unsigned i = 0; i < curve->line_count; i++)
        tree_append(lines, line_to_json(&curve->lines[i]));
    for (size_t i = 0; i < curve->probe_count; i++)
        tree_append(probes, probe_to_json(&curve->probes[i]));
    for (size_t i = 0; i < curve->point_count; i++)
        tree_append(points, point_to_json(&curve->points[i]));
    tree_put(json, "method", tree_text(curve->method));
    tree_put(json, "call", tree_text(curve->call));
    tree_put(json, "waits", tree_text(atlas_wait_name(curve->waits)));
    tree_put(json, "lines", lines);
    tree_put(json, "fit_error", tree_number(curve->fit_error));
    tree_put(json, "probes", probes);
    tree_put(json, "points", points);
    return json;
}

json_t *atlas_to_json(const struct atlas *atlas)
{
    json_t *json = tree_object(), *curves = tree_array();
    for (size_t i = 0; i < atlas->curve_count; i++)
        tree_append(curves, curve_to_json(&atlas->curves[i]));
    tree_put(json, "device", tree_text(atlas->device));
    tree_put(json, "name", tree_text(atlas->name));
    tree_put(json, "driver", tree_text_or_null(atlas->driver));
    tree_put(json, "timer_ns", tree_number(atlas->timer_ns));
    tree_put(json, "curves", curves);
    return json;
}

/* ---- reading ---- */

/* Where the reader is, for messages, and the first fault it met. */
struct reader {
    char place[96]; /* "curves[3].points[7]" */
    struct error *error;
    int code;
};

static void fault(struct reader *r, const char *key, const char *what)
{
    if (!r->code)
        r->code = error_set(r->error, ERR_PARSE, "%s%s%s: %s", r->place,
                            *r->place && *key ? "." : "", key, what);
}

static void read_text(struct reader *r, const json_t *object, const char *key, bool may_be_empty,
                      char *out, size_t size)
{
    const json_t *value = json_object_get(object, key);
    const char *text =
        may_be_empty && (!value || json_is_null(value)) ? "" : json_string_value(value);
    *out = 0;
    if (!text || (!*text && !may_be_empty))
        fault(r, key, "expected a text");
    else if (strlen(text) >= size)
        fault(r, key, "the text is too long");
    else
        strcpy(out, text);
}

static uint64_t read_count(struct reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) >= (json_int_t)1 << 53) {
        fault(r, key, "expected a count below 2^53");
        return 0;
    }
    return (uint64_t)json_integer_value(value);
}

/* NaN for null. */
static double read_number(struct reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_null(value))
        return NAN;
    double number = tree_to_number(value);
    if (!(number >= 0))
        fault(r, key, "expected a number from 0 up, or null");
    return number;
}

static enum atlas_wait read_wait(struct reader *r, const json_t *object)
{
    const char *name = tree_get_text(object, "waits");
#define X(wait, help)                                                                              \
    if (strcmp(name, #wait) == 0)                                                                  \
        return ATLAS_WAITS_##wait;
    ATLAS_WAIT_LIST(X)
#undef X
    fault(r, "waits", "not a class of waiting");
    return ATLAS_WAITS_unknown;
}

static struct atlas_point read_point(struct reader *r, const json_t *json)
{
    struct atlas_point p = {.bytes = read_count(r, json, "bytes"),
                            .live_count = read_count(r, json, "live_count")};
    uint64_t samples = read_count(r, json, "sample_count");
    if (samples > UINT32_MAX)
        fault(r, "sample_count", "expected a count below 2^32");
    p.sample_count = (unsigned)samples;
    read_text(r, json, "skipped", true, p.skipped, sizeof p.skipped);
    if (samples == 0) {
        if (!*p.skipped)
            fault(r, "skipped", "a point without samples says why");
        return p;
    }
    uint64_t before = 0;
#define X(name)                                                                                    \
    p.name = read_count(r, json, #name);                                                           \
    if (p.name < before)                                                                           \
        fault(r, #name, "below the quantile before it");                                           \
    before = p.name;
    QUANTILE_LIST(X)
#undef X
    return p;
}

static struct atlas_probe read_probe(struct reader *r, const json_t *json)
{
    struct atlas_probe p = {.bytes = read_count(r, json, "bytes"), .waits = read_wait(r, json)};
#define X(name) p.name = read_number(r, json, #name);
    MEDIAN_LIST(X)
#undef X
    if (!r->code && p.waits != atlas_classify(&p))
        fault(r, "waits", "does not follow from the medians beside it");
    return p;
}

static const json_t *array_of(struct reader *r, const json_t *object, const char *key)
{
    const json_t *array = json_object_get(object, key);
    if (!json_is_array(array))
        fault(r, key, "expected an array");
    return array;
}

static bool in_order(const struct atlas_point *a, const struct atlas_point *b)
{
    return a->live_count < b->live_count || (a->live_count == b->live_count && a->bytes < b->bytes);
}

static void read_points(struct reader *r, const json_t *points, size_t number,
                        struct atlas_curve *curve)
{
    for (size_t i = 0; i < json_array_size(points) && !r->code; i++) {
        snprintf(r->place, sizeof r->place, "curves[%zu].points[%zu]", number, i);
        struct atlas_point p = read_point(r, json_array_get(points, i));
        if (i > 0 && !r->code && !in_order(&curve->points[i - 1], &p))
            fault(r, "bytes", "points are in the order of live_count, then bytes");
        if (!r->code)
            atlas_add_point(curve, &p);
    }
}

static void read_probes(struct reader *r, const json_t *probes, size_t number,
                        struct atlas_curve *curve)
{
    for (size_t i = 0; i < json_array_size(probes) && !r->code; i++) {
        snprintf(r->place, sizeof r->place, "curves[%zu].probes[%zu]", number, i);
        struct atlas_probe p = read_probe(r, json_array_get(probes, i));
        if (i > 0 && !r->code && p.bytes <= curve->probes[i - 1].bytes)
            fault(r, "bytes", "probes are in the order of bytes");
        if (!r->code)
            atlas_add_probe(curve, &p);
    }
}

static void read_lines(struct reader *r, const json_t *lines, size_t number,
                       struct atlas_curve *curve)
{
    enum { MOST = sizeof curve->lines / sizeof *curve->lines };
    if (json_array_size(lines) > MOST)
        fault(r, "lines", "expected two lines at most");
    for (size_t i = 0; i < json_array_size(lines) && !r->code; i++) {
        snprintf(r->place, sizeof r->place, "curves[%zu].lines[%zu]", number, i);
        const json_t *json = json_array_get(lines, i);
        struct atlas_line line = {.from_bytes = read_count(r, json, "from_bytes"),
                                  .a_ns = read_number(r, json, "a_ns"),
                                  .b_ns_per_byte = read_number(r, json, "b_ns_per_byte")};
        if (isnan(line.a_ns) || isnan(line.b_ns_per_byte))
            fault(r, isnan(line.a_ns) ? "a_ns" : "b_ns_per_byte", "a line has numbers");
        if (i > 0 ? line.from_bytes <= curve->lines[i - 1].from_bytes : line.from_bytes != 0)
            fault(r, "from_bytes", "the first line is from 0 on, the second from more");
        curve->lines[i] = line;
        curve->line_count = (unsigned)i + 1;
    }
}

static void read_curve(struct reader *r, const json_t *json, size_t number, struct atlas *atlas)
{
    struct atlas_curve head = {.waits = read_wait(r, json)};
    read_text(r, json, "method", false, head.method, sizeof head.method);
    read_text(r, json, "call", false, head.call, sizeof head.call);
    const json_t *lines = array_of(r, json, "lines"), *points = array_of(r, json, "points"),
                 *probes = array_of(r, json, "probes");
    if (!r->code && atlas_find(atlas, head.method, head.call))
        fault(r, "call", "this method and call came before");
    head.fit_error = read_number(r, json, "fit_error");
    if (r->code)
        return;
    struct atlas_curve *curve = atlas_curve_of(atlas, head.method, head.call);
    *curve = head;
    read_lines(r, lines, number, curve);
    read_points(r, points, number, curve);
    read_probes(r, probes, number, curve);
}

int atlas_from_json(const json_t *json, struct atlas *atlas, struct error *error)
{
    struct reader r = {.error = error};
    *atlas = (struct atlas){.timer_ns = NAN};
    if (!json_is_object(json))
        fault(&r, "", "expected an object");
    read_text(&r, json, "device", false, atlas->device, sizeof atlas->device);
    read_text(&r, json, "name", false, atlas->name, sizeof atlas->name);
    read_text(&r, json, "driver", true, atlas->driver, sizeof atlas->driver);
    atlas->timer_ns = read_number(&r, json, "timer_ns");
    const json_t *curves = array_of(&r, json, "curves");
    for (size_t i = 0; i < json_array_size(curves) && !r.code; i++) {
        snprintf(r.place, sizeof r.place, "curves[%zu]", i);
        read_curve(&r, json_array_get(curves, i), i, atlas);
    }
    if (r.code)
        atlas_free(atlas);
    return r.code;
}

const json_t *atlas_json_find(const json_t *atlases, const char *device)
{
    for (size_t i = 0; i < json_array_size(atlases); i++)
        if (strcmp(tree_get_text(json_array_get(atlases, i), "device"), device) == 0)
            return json_array_get(atlases, i);
    return NULL;
}

int atlas_of_result(const json_t *root, const char *device, struct atlas *atlas,
                    struct error *error)
{
    const json_t *all = json_object_get(root, "atlas");
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
                     device ? "none of " : "so say of which device", device ? device : "");
}
