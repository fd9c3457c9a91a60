/* An atlas as JSON and back. results/README.md describes it. An atlas that was read is complete and
 * in order, so that its users check nothing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_rules.h"
#include "base/tree.h"
#include "record/facts/atlas.h"

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
/* Null where there are no samples. */
static const struct json_field quantile_fields[] = {
    JSON_FIELD(COUNT, struct atlas_point, min_ns),
    JSON_FIELD(COUNT, struct atlas_point, p10_ns),
    JSON_FIELD(COUNT, struct atlas_point, p50_ns),
    JSON_FIELD(COUNT, struct atlas_point, p90_ns),
    JSON_FIELD(COUNT, struct atlas_point, p99_ns),
    JSON_FIELD(COUNT, struct atlas_point, max_ns),
    JSON_FIELDS_END,
};
static const struct json_field skipped_fields[] = {
    JSON_FIELD(TEXT_OR_NULL, struct atlas_point, skipped),
    JSON_FIELDS_END,
};

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *point_to_json(const struct atlas_point *point)
{
    json_t *json = tree_object();
    json_put_fields(json, point_fields, point);
    if (point->sample_count > 0)
        json_put_fields(json, quantile_fields, point);
    else
        for (const struct json_field *f = quantile_fields; f->name; f++)
            tree_put(json, f->name, json_null());
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

/* ---- reading --------------------------------------------------------------------------------- */

static const struct json_rule rules[] = {
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
    if (!code)
        code = json_get_fields(json, path, skipped_fields, &p, error);
    if (!code && p.sample_count)
        code = json_get_fields(json, path, quantile_fields, &p, error);
    if (code)
        return code;
    if (!p.sample_count && !*p.skipped)
        return fault(error, path, "skipped", "a point without samples says why");
    const uint64_t ns[] = {p.min_ns, p.p10_ns, p.p50_ns, p.p90_ns, p.p99_ns, p.max_ns};
    for (size_t i = 1; i < sizeof ns / sizeof *ns; i++)
        if (ns[i] < ns[i - 1])
            return fault(error, path, quantile_fields[i].name, "below the quantile before it");
    if (curve->point_count && !atlas_point_before(&curve->points[curve->point_count - 1], &p))
        return fault(error, path, "bytes", "points are in the order of live_count, then bytes");
    atlas_add_point(curve, &p);
    return 0;
}

static int read_probe(const json_t *json, const char *path, struct atlas_curve *curve,
                      struct error *error)
{
    struct atlas_probe p;
    int code = json_get_fields(json, path, probe_fields, &p, error);
    if (code)
        return code;
    if (p.waits != atlas_classify(&p))
        return fault(error, path, "waits", "does not follow from the medians beside it");
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
    if (!code)
        code = json_get_fields(json, path, fit_fields, &head, error);
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
    int code = json_check(json, rules, error);
    if (!code)
        code = json_get_fields(json, "", atlas_fields, atlas, error);
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
