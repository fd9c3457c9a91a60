#include "record/table/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/tree.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "record/result/result.h"

static const char *const key_members[] = {
#define X(member) #member,
    CASE_KEY_ALL_LIST(X)
#undef X
};
enum { KEY_MEMBERS = sizeof key_members / sizeof *key_members, DIGITS = 12 };

static void export_line(const json_t *object, FILE *out)
{
    json_dumpf(object, out, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    fputc('\n', out);
}

/* "canny/medium/none/last-use/pool/cuda:0": unique within a result. */
static void add_name(struct text *out, const json_t *one_case)
{
    const json_t *key = json_object_get(one_case, "key");
    for (size_t i = 0; i < KEY_MEMBERS; i++)
        if (*tree_get_text(key, key_members[i]))
            text_add(out, "%s%s", out->length ? "/" : "", tree_get_text(key, key_members[i]));
}

static json_t *counter_of(const json_t *one_case, const char *phase, const char *name)
{
    const json_t *counters = json_object_get(one_case, "counters");
    return tree_share(json_object_get(counters, phase), name);
}

/* ---- JSON lines ----------------------------------------------------------------------------- */

static void put_run(json_t *out, const json_t *root)
{
    const json_t *run = json_object_get(root, "run"), *context = json_object_get(root, "context");
    const json_t *tool = json_object_get(context, "tool"), *host = json_object_get(context, "host");
    tree_put(out, "schema_version", tree_share(json_object_get(root, "schema"), "version"));
    tree_put(out, "run", tree_share(run, "id"));
    tree_put(out, "started_at", tree_share(run, "started_at"));
    tree_put(out, "git_rev", tree_share(tool, "git_rev"));
    tree_put(out, "git_dirty", tree_share(tool, "git_dirty"));
    tree_put(out, "machine_id", tree_share(host, "machine_id"));
}

static void put_time(json_t *out, const json_t *one_case, const char *name)
{
    const json_t *stats = json_object_get(json_object_get(one_case, "stats"), name);
    char member[96];
    tree_put(out, name, tree_share(stats, "median"));
    snprintf(member, sizeof member, "%s_lo", name);
    tree_put(out, member, tree_share(stats, "ci_lo"));
    snprintf(member, sizeof member, "%s_hi", name);
    tree_put(out, member, tree_share(stats, "ci_hi"));
}

static void put_metrics(json_t *out, const json_t *one_case)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    char member[96];
    for (size_t i = 0; i < count; i++) {
        if (list[i].kind == KIND_SAMPLED) {
            put_time(out, one_case, list[i].name);
            continue;
        }
        snprintf(member, sizeof member, "cold_%s", list[i].name);
        tree_put(out, list[i].name, counter_of(one_case, "warm", list[i].name));
        tree_put(out, member, counter_of(one_case, "cold", list[i].name));
    }
}

void export_lines(const json_t *root, FILE *out)
{
    size_t i;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        const json_t *key = json_object_get(one_case, "key");
        json_t *line = tree_object();
        put_run(line, root);
        tree_put(line, "id", tree_share(one_case, "id"));
        for (size_t k = 0; k < KEY_MEMBERS; k++)
            tree_put(line, key_members[k], tree_share(key, key_members[k]));
        tree_put(line, "status", tree_share(one_case, "status"));
        tree_put(line, "reason", tree_share(one_case, "reason"));
        if (case_is_ok(one_case))
            put_metrics(line, one_case);
        export_line(line, out);
        json_decref(line);
    }
}

/* ---- Google Benchmark ----------------------------------------------------------------------- */

/* The context has what its reader shows or ignores; an unknown fact is left out. */
static json_t *google_context(const json_t *root)
{
    const json_t *context = json_object_get(root, "context"), *one_case;
    const json_t *tool = json_object_get(context, "tool"), *host = json_object_get(context, "host");
    json_t *out = tree_object(), *failed = tree_object();
    size_t i;
    tree_put(out, "date", tree_share(json_object_get(root, "run"), "started_at"));
    tree_put(out, "executable", tree_text("gamut"));
    if (json_is_integer(json_object_get(host, "cpus")))
        tree_put(out, "num_cpus", tree_share(host, "cpus"));
    if (json_is_number(json_object_get(host, "load1"))) {
        json_t *loads = tree_array();
        tree_append(loads, tree_share(host, "load1"));
        tree_put(out, "load_avg", loads);
    }
    tree_put(out, "library_version", tree_share(tool, "version"));
    tree_put(out, "library_build_type", tree_share(tool, "build"));
    tree_put(out, "json_schema_version", json_integer(1));
    tree_put(out, "git_rev", tree_share(tool, "git_rev"));
    tree_put(out, "git_dirty", tree_share(tool, "git_dirty"));
    tree_put(out, "machine_id", tree_share(host, "machine_id"));
    tree_put(out, "cpu_time",
             tree_text("repeats real_time: gamut measures no time of the processor"));
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        struct text name = {0};
        add_name(&name, one_case);
        if (!case_is_ok(one_case))
            tree_put(failed, name.data, tree_share(one_case, "status"));
        text_free(&name);
    }
    tree_put(out, "without_time", failed);
    return out;
}

/* What an entry of a round and an aggregate have in common. */
static json_t *google_entry(const char *name, const char *run_name, const char *type, size_t family,
                            size_t rounds)
{
    return tree_pack("{s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "name", tree_text(name), "family_index",
                     tree_count(family), "per_family_instance_index", tree_count(0), "run_name",
                     tree_text(run_name), "run_type", type, "repetitions", tree_count(rounds),
                     "threads", tree_count(1));
}

static void put_google_time(json_t *entry, size_t iterations, double time)
{
    tree_put(entry, "iterations", tree_count(iterations));
    tree_put(entry, "real_time", json_real(time));
    tree_put(entry, "cpu_time", json_real(time));
    tree_put(entry, "time_unit", tree_text("ns"));
}

static void add_google_aggregate(json_t *all, const char *run_name, size_t family, size_t rounds,
                                 const char *kind, double value)
{
    const bool is_part = strcmp(kind, "cv") == 0;
    struct text name = {0};
    text_add(&name, "%s_%s", run_name, kind);
    json_t *entry = google_entry(name.data, run_name, "aggregate", family, rounds);
    tree_put(entry, "aggregate_name", tree_text(kind));
    tree_put(entry, "aggregate_unit", tree_text(is_part ? "percentage" : "time"));
    put_google_time(entry, rounds, value);
    tree_append(all, entry);
    text_free(&name);
}

static void add_google_aggregates(json_t *all, const char *run_name, size_t family,
                                  const double *median, size_t rounds)
{
    double mean = 0, squares = 0;
    if (rounds < 2)
        return;
    for (size_t r = 0; r < rounds; r++)
        mean += median[r] / (double)rounds;
    for (size_t r = 0; r < rounds; r++)
        squares += (median[r] - mean) * (median[r] - mean);
    const double deviation = sqrt(squares / (double)(rounds - 1));
    add_google_aggregate(all, run_name, family, rounds, "mean", mean);
    add_google_aggregate(all, run_name, family, rounds, "median",
                         statistics_of(median, rounds).median);
    add_google_aggregate(all, run_name, family, rounds, "stddev", deviation);
    if (mean > 0)
        add_google_aggregate(all, run_name, family, rounds, "cv", deviation / mean);
}

/* The number of samples of the round with this number. */
static size_t samples_of(const json_t *one_case, double number)
{
    size_t i;
    json_t *round;
    json_array_foreach(json_object_get(one_case, "rounds"), i, round)
    {
        if (tree_get_number(round, "round") == number)
            return json_array_size(json_object_get(json_object_get(round, "samples"), "wall_ns"));
    }
    return 0;
}

/* Counters stand in an entry as the user's counters of Google Benchmark do. */
static void put_google_counters(json_t *entry, const json_t *one_case)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        json_t *value = counter_of(one_case, "warm", list[i].name);
        if (list[i].kind == KIND_EXACT && json_is_number(value))
            tree_put(entry, list[i].name, json_incref(value));
        json_decref(value);
    }
}

static void add_google_case(json_t *all, const json_t *one_case, size_t family)
{
    const size_t most = json_array_size(json_object_get(one_case, "rounds"));
    double *number = must_alloc(2 * most * sizeof *number), *median = number + most;
    const size_t rounds = case_round_medians(one_case, "wall_ns", number, median);
    struct text name = {0};
    add_name(&name, one_case);
    for (size_t r = 0; r < rounds; r++) {
        json_t *entry = google_entry(name.data, name.data, "iteration", family, rounds);
        tree_put(entry, "repetition_index", tree_count(r));
        put_google_time(entry, samples_of(one_case, number[r]), median[r]);
        put_google_counters(entry, one_case);
        tree_append(all, entry);
    }
    add_google_aggregates(all, name.data, family, median, rounds);
    text_free(&name);
    free(number);
}

void export_google_benchmark(const json_t *root, FILE *out)
{
    json_t *all = tree_array(), *one_case;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
        add_google_case(all, one_case, i);
    json_t *tree = tree_pack("{s:o, s:o}", "context", google_context(root), "benchmarks", all);
    json_dumpf(tree, out, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
    fputc('\n', out);
    json_decref(tree);
}

/* ---- Bencher's metric format ---------------------------------------------------------------- */

/* Few measures, because each is a plot and a threshold there. X(metric, measure) */
#define MEASURE_LIST(X)                                                                            \
    X(wall_ns, "latency")                                                                          \
    X(device_ns, "device-ns")                                                                      \
    X(peak_requested_bytes, "peak-requested-bytes")                                                \
    X(peak_reserved_bytes, "peak-reserved-bytes")                                                  \
    X(driver_alloc_count, "driver-alloc-count")                                                    \
    X(driver_free_count, "driver-free-count")

static const json_t *stats_of(const json_t *one_case, const char *metric)
{
    return json_object_get(json_object_get(one_case, "stats"), metric);
}

/* The median of a time, or a warm count; null if the case has none. The caller owns it. */
static json_t *measure_of(const json_t *one_case, const char *metric)
{
    const json_t *stats = stats_of(one_case, metric);
    return stats ? tree_share(stats, "median") : counter_of(one_case, "warm", metric);
}

static void put_measure(json_t *measures, const json_t *one_case, const char *metric,
                        const char *measure)
{
    const json_t *stats = stats_of(one_case, metric);
    json_t *value = measure_of(one_case, metric);
    if (json_is_number(value)) {
        json_t *out = tree_pack("{s:O}", "value", value);
        if (json_is_number(json_object_get(stats, "ci_lo"))) {
            tree_put(out, "lower_value", tree_share(stats, "ci_lo"));
            tree_put(out, "upper_value", tree_share(stats, "ci_hi"));
        }
        tree_put(measures, measure, out);
    }
    json_decref(value);
}

void export_bmf(const json_t *root, FILE *out)
{
    json_t *all = tree_object(), *one_case;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        struct text name = {0};
        json_t *measures = tree_object();
        if (case_is_ok(one_case)) {
#define X(metric, measure) put_measure(measures, one_case, #metric, measure);
            MEASURE_LIST(X)
#undef X
        }
        add_name(&name, one_case);
        if (json_object_size(measures))
            tree_put(all, name.data, json_incref(measures));
        json_decref(measures);
        text_free(&name);
    }
    json_dumpf(all, out, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
    fputc('\n', out);
    json_decref(all);
}

/* ---- Otava's JSON --------------------------------------------------------------------------- */

/* Puts a number of a case into `values`, named after the case and the metric. */
static void put_point(json_t *values, const json_t *one_case, const char *metric,
                      const char *machine)
{
    json_t *value = measure_of(one_case, metric);
    struct text name = {0};
    add_name(&name, one_case);
    text_add(&name, "/%s", metric);
    if (stats_of(one_case, metric))
        text_add(&name, "@%s", machine);
    if (json_is_number(value))
        tree_put(values, name.data, json_incref(value));
    text_free(&name);
    json_decref(value);
}

static json_t *points_of(const json_t *root)
{
    const json_t *host = json_object_get(json_object_get(root, "context"), "host");
    const char *machine = tree_get_text(host, "machine_id");
    json_t *values = tree_object(), *one_case;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        if (!case_is_ok(one_case))
            continue;
#define X(metric, measure) put_point(values, one_case, #metric, machine);
        MEASURE_LIST(X)
#undef X
    }
    return values;
}

/* What a point is of. A revision with changes is no commit, and is named as `git describe` does. */
static json_t *run_of(const json_t *root, json_t *metrics)
{
    const json_t *run = json_object_get(root, "run"), *context = json_object_get(root, "context");
    const json_t *tool = json_object_get(context, "tool");
    const bool is_dirty = json_is_true(json_object_get(tool, "git_dirty"));
    const double started = text_to_seconds(tree_get_text(run, "started_at"));
    return tree_pack("{s:o, s:{s:o, s:o}, s:o}", "timestamp",
                     json_integer(isnan(started) ? 0 : (json_int_t)started), "attributes", "commit",
                     json_sprintf("%s%s", tree_get_text(tool, "git_rev"), is_dirty ? "-dirty" : ""),
                     "run", json_string(tree_get_text(run, "id")), "metrics", metrics);
}

void export_otava(const json_t *const *roots, size_t count, FILE *out)
{
    json_t *points = tree_array(), *names = tree_object(), *all = tree_array();
    for (size_t i = 0; i < count; i++) {
        json_t *values = points_of(roots[i]);
        json_object_update_missing(names, values);
        tree_append(points, values);
    }
    for (size_t i = 0; i < count; i++) {
        json_t *values = json_array_get(points, i), *metrics = tree_array(), *unused;
        const char *name;
        json_object_foreach(names, name, unused) tree_append(
            metrics, tree_pack("{s:s, s:o}", "name", name, "value", tree_share(values, name)));
        if (json_object_size(values))
            tree_append(all, run_of(roots[i], json_incref(metrics)));
        json_decref(metrics);
    }
    json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS));
    fputc('\n', out);
    json_decref(points);
    json_decref(names);
    json_decref(all);
}
