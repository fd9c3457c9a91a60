#include "results/show/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/tree.h"
#include "results/file/measured.h"

enum { DIGITS = JSON_REAL_PRECISION(12) };

/* "canny/medium/none/last-use/pool/cuda:0": unique within a result. */
static void add_name(struct text *out, const struct result_case *one)
{
#define X(member)                                                                                  \
    if (*one->key.member)                                                                          \
        text_add(out, "%s%s", out->length ? "/" : "", one->key.member);
    CASE_KEY_ALL_LIST(X)
#undef X
}

static json_t *fact_of(const struct record_tool *tool, const char *name)
{
    return json_field_value(record_tool_struct.fields, name, tool);
}

/* ---- JSON lines ----------------------------------------------------------------------------- */

static void put_run(json_t *out, const struct result *result)
{
    const struct result_context *context = &result->context;
    tree_put(out, "schema_version", tree_text(result->version));
    tree_put(out, "run", tree_text(result->run.id));
    tree_put(out, "started_at", tree_text(result->run.started_at));
    tree_put(out, "git_rev", fact_of(&context->tool, "git_rev"));
    tree_put(out, "git_dirty", fact_of(&context->tool, "git_dirty"));
    tree_put(out, "machine_id", tree_text(context->host.machine_id));
}

static void put_member(json_t *out, const char *format, const char *name, double value)
{
    char member[96];
    snprintf(member, sizeof member, format, name);
    tree_put(out, member, tree_number(value));
}

static void put_metrics(json_t *out, const struct result_case *one)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        const struct statistics *s = &measured_stat(one, list[i].name)->over;
        if (list[i].kind == KIND_SAMPLED) {
            put_member(out, "%s", list[i].name, s->median);
            put_member(out, "%s_lo", list[i].name, s->ci_lo);
            put_member(out, "%s_hi", list[i].name, s->ci_hi);
        } else {
            put_member(out, "%s", list[i].name, counter_at(measured_warm(one), i));
            put_member(out, "cold_%s", list[i].name, counter_at(measured_cold(one), i));
        }
    }
}

void export_lines(const struct result *result, FILE *out)
{
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        json_t *line = tree_object();
        put_run(line, result);
        tree_put(line, "id", tree_text(one->id));
#define X(member) tree_put(line, #member, tree_text(one->key.member));
        CASE_KEY_LIST(X)
#undef X
#define X(member) tree_put(line, #member, tree_text_or_null(one->key.member));
        CASE_KEY_OPTIONAL_LIST(X)
#undef X
        tree_put(line, "status", tree_text(case_status_name(one->status)));
        tree_put(line, "reason", tree_text_or_null(one->reason));
        if (one->status == CASE_ok)
            put_metrics(line, one);
        tree_print(line, DIGITS | JSON_COMPACT, out);
    }
}

/* ---- Google Benchmark ----------------------------------------------------------------------- */

/* The context has what its reader shows or ignores; an unknown fact is left out. */
static json_t *google_context(const struct result *result)
{
    const struct record_tool *tool = &result->context.tool;
    const struct record_host *host = &result->context.host;
    json_t *out = tree_object(), *failed = tree_object();
    tree_put(out, "date", tree_text(result->run.started_at));
    tree_put(out, "executable", tree_text("gamut"));
    if (host->cpus)
        tree_put(out, "num_cpus", tree_count(host->cpus));
    if (!isnan(host->load1))
        tree_put(out, "load_avg", tree_pack("[o]", tree_number(host->load1)));
    tree_put(out, "library_version", tree_text(tool->version));
    tree_put(out, "library_build_type", fact_of(tool, "build"));
    tree_put(out, "json_schema_version", json_integer(1));
    tree_put(out, "git_rev", fact_of(tool, "git_rev"));
    tree_put(out, "git_dirty", fact_of(tool, "git_dirty"));
    tree_put(out, "machine_id", tree_text(host->machine_id));
    tree_put(out, "cpu_time",
             tree_text("repeats real_time: gamut measures no time of the processor"));
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        struct text name = {0};
        add_name(&name, one);
        if (one->status != CASE_ok)
            tree_put(failed, name.data, tree_text(case_status_name(one->status)));
        text_free(&name);
    }
    tree_put(out, "without_time", failed);
    return out;
}

/* The members that an entry of a round and an aggregate have in common. */
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
static size_t samples_of(const struct result_case *one, double number)
{
    for (size_t i = 0; i < one->round_count; i++) {
        const struct result_numbers *samples = measured_samples(&one->rounds[i], "wall_ns");
        if (one->rounds[i].round == number)
            return samples ? samples->count : 0;
    }
    return 0;
}

static void add_google_case(json_t *all, const struct result_case *one, size_t family)
{
    struct arena arena = {0};
    const struct measured_series medians = measured_medians(&arena, one, "wall_ns");
    size_t count;
    const struct counter_info *list = counter_list(&count);
    const size_t rounds = medians.count;
    struct text name = {0};
    add_name(&name, one);
    for (size_t r = 0; r < rounds; r++) {
        json_t *entry = google_entry(name.data, name.data, "iteration", family, rounds);
        tree_put(entry, "repetition_index", tree_count(r));
        put_google_time(entry, samples_of(one, medians.round[r]), medians.value[r]);
        for (size_t i = 0; i < count; i++) { /* as the user's counters of Google Benchmark stand */
            const double value = counter_at(measured_warm(one), i);
            if (!isnan(value))
                tree_put(entry, list[i].name, tree_number(value));
        }
        tree_append(all, entry);
    }
    add_google_aggregates(all, name.data, family, medians.value, rounds);
    text_free(&name);
    arena_free(&arena);
}

void export_google_benchmark(const struct result *result, FILE *out)
{
    json_t *all = tree_array();
    for (size_t i = 0; i < result->case_count; i++)
        add_google_case(all, &result->cases[i], i);
    tree_print(tree_pack("{s:o, s:o}", "context", google_context(result), "benchmarks", all),
               DIGITS | JSON_INDENT(2), out);
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

/* The median of a time, or a warm count; NaN if the case has none. */
static double measure_of(const struct result_case *one, const char *metric)
{
    const struct statistics *s = &measured_stat(one, metric)->over;
    return s->count ? s->median : counter_value(measured_warm(one), metric);
}

static void put_measure(json_t *measures, const struct result_case *one, const char *metric,
                        const char *measure)
{
    const struct statistics *s = &measured_stat(one, metric)->over;
    const double value = measure_of(one, metric);
    if (isnan(value))
        return;
    json_t *out = tree_pack("{s:o}", "value", tree_number(value));
    if (!isnan(s->ci_lo)) {
        tree_put(out, "lower_value", tree_number(s->ci_lo));
        tree_put(out, "upper_value", tree_number(s->ci_hi));
    }
    tree_put(measures, measure, out);
}

void export_bmf(const struct result *result, FILE *out)
{
    json_t *all = tree_object();
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        struct text name = {0};
        json_t *measures = tree_object();
        if (one->status == CASE_ok) {
#define X(metric, measure) put_measure(measures, one, #metric, measure);
            MEASURE_LIST(X)
#undef X
        }
        add_name(&name, one);
        if (json_object_size(measures))
            tree_put(all, name.data, json_incref(measures));
        json_decref(measures);
        text_free(&name);
    }
    tree_print(all, DIGITS | JSON_INDENT(2), out);
}

/* ---- Otava's JSON --------------------------------------------------------------------------- */

/* Puts a number of a case into `values`, named after the case and the metric. */
static void put_point(json_t *values, const struct result_case *one, const char *metric,
                      const char *machine)
{
    const double value = measure_of(one, metric);
    struct text name = {0};
    add_name(&name, one);
    text_add(&name, "/%s", metric);
    if (measured_stat(one, metric)->over.count)
        text_add(&name, "@%s", machine);
    if (!isnan(value))
        tree_put(values, name.data, tree_number(value));
    text_free(&name);
}

static json_t *points_of(const struct result *result)
{
    json_t *values = tree_object();
    for (size_t i = 0; i < result->case_count; i++) {
        if (result->cases[i].status != CASE_ok)
            continue;
#define X(metric, measure)                                                                         \
    put_point(values, &result->cases[i], #metric, result->context.host.machine_id);
        MEASURE_LIST(X)
#undef X
    }
    return values;
}

/* The commit of a point. A revision with changes is no commit, and is named as `git describe`
 * does. */
static json_t *run_of(const struct result *result, json_t *metrics)
{
    const struct record_tool *tool = &result->context.tool;
    const double started = text_to_seconds(result->run.started_at);
    return tree_pack("{s:o, s:{s:o, s:o}, s:o}", "timestamp",
                     json_integer(isnan(started) ? 0 : (json_int_t)started), "attributes", "commit",
                     json_sprintf("%s%s", tool->git_rev ? tool->git_rev : "",
                                  tool->git_dirty > 0 ? "-dirty" : ""),
                     "run", json_string(result->run.id), "metrics", metrics);
}

void export_otava(const struct result *results, size_t count, FILE *out)
{
    json_t *points = tree_array(), *names = tree_object(), *all = tree_array();
    for (size_t i = 0; i < count; i++) {
        json_t *values = points_of(&results[i]);
        json_object_update_missing(names, values);
        tree_append(points, values);
    }
    for (size_t i = 0; i < count; i++) {
        json_t *values = json_array_get(points, i), *metrics = tree_array(), *unused;
        const char *name;
        json_object_foreach(names, name, unused) tree_append(
            metrics, tree_pack("{s:s, s:o}", "name", name, "value", tree_share(values, name)));
        if (json_object_size(values))
            tree_append(all, run_of(&results[i], json_incref(metrics)));
        json_decref(metrics);
    }
    tree_print(all, DIGITS | JSON_INDENT(1), out);
    json_decref(points);
    json_decref(names);
}
