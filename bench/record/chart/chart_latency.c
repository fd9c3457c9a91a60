/* How long the allocator's calls take: cumulative distributions, a line for each way to run a
 * workload, in panels for cold and warm requests and releases.
 *
 *   four times, for cold alloc, cold free, warm alloc, warm free, a block a way to run:
 *     ns fraction                one line first with the least time and 0
 *   then a block for each of the four: p50 p99 most, a line a way to run
 */
#include <math.h>
#include <string.h>

#include "record/chart/chart_memory.h"
#include "record/chart/gnuplot.h"
#include "record/facts/latency.h"
#include "base/tree.h"

enum { LINES_MAX = 12, DISTRIBUTIONS = 4 };

static const struct {
    const char *phase, *call;
} distributions[DISTRIBUTIONS] = {
    {"cold", "alloc"}, {"cold", "free"}, {"warm", "alloc"}, {"warm", "free"}};

static const json_t *histogram(const struct memory_panel *panel, int d)
{
    const json_t *latency = json_object_get(panel->memory, "latency");
    return json_object_get(json_object_get(latency, distributions[d].phase), distributions[d].call);
}

/* The part of the calls below the end of each bucket; a line for its beginning where the bucket
 * before is empty, so that the curve stands still there. */
static void print_distribution(const json_t *h, FILE *out)
{
    const json_t *from = json_object_get(h, "from_ns"), *calls = json_object_get(h, "calls");
    const double count = tree_get_number(h, "count"), most_ns = tree_get_number(h, "most_ns");
    double sum = 0, reached_ns = NAN;
    if (!json_is_object(h))
        fputs("0.001 0\n", out); /* left of what is shown */
    else
        fprintf(out, "%.0f 0\n", fmax(1, tree_get_number(h, "least_ns")));
    for (size_t i = 0; i < json_array_size(from); i++) {
        const json_int_t ns = json_integer_value(json_array_get(from, i));
        size_t next = latency_bucket((uint64_t)ns) + 1;
        double end_ns = next < LATENCY_BUCKETS ? (double)latency_bucket_ns(next) : most_ns;
        if ((double)ns > reached_ns)
            fprintf(out, "%lld %.6g\n", (long long)ns, sum / count);
        sum += tree_to_number(json_array_get(calls, i));
        reached_ns = end_ns;
        fprintf(out, "%.0f %.6g\n", fmax(1, fmin(end_ns, most_ns)), sum / count);
    }
}

static void print_quantiles(const json_t *h, FILE *out)
{
    if (json_is_object(h))
        fprintf(out, "%.0f %.0f %.0f\n", fmax(1, latency_quantile(h, 0.5)),
                fmax(1, latency_quantile(h, 0.99)), fmax(1, tree_get_number(h, "most_ns")));
    else
        fputs("0.001 0.001 0.001\n", out);
}

/* "45 ns, 60 ns, 1.2 µs", or "no call". */
static void add_legend(const json_t *h, struct text *out)
{
    char p50[32], p99[32], most[32];
    if (!json_is_object(h))
        text_add(out, "\"no call\" ");
    else
        text_add(out, "\"%s, %s, %s\" ", text_ns(p50, latency_quantile(h, 0.5)),
                 text_ns(p99, latency_quantile(h, 0.99)),
                 text_ns(most, tree_get_number(h, "most_ns")));
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    struct memory_panels lines;
    struct text legends = {0}, note = {0};
    double least_ns = INFINITY, most_ns = 1;
    int code = memory_panels_make(&chart_latency, of, LINES_MAX, &lines, error);
    if (code)
        return code;
    fprintf(data, "# gamut latency of %s %s on %s\n", of->workload, of->dataset, of->device);
    for (int d = 0; d < DISTRIBUTIONS; d++)
        for (size_t i = 0; i < lines.count; i++) {
            fprintf(data, "%s# %s %s, %s\n# ns fraction\n", d || i ? "\n\n" : "",
                    distributions[d].phase, distributions[d].call, lines.panel[i].title.data);
            const json_t *h = histogram(&lines.panel[i], d);
            print_distribution(h, data);
            add_legend(h, &legends);
            least_ns = fmin(least_ns, tree_get_number(h, "least_ns")); /* of NaN the other */
            most_ns = fmax(most_ns, tree_get_number(h, "most_ns"));
        }
    for (int d = 0; d < DISTRIBUTIONS; d++) {
        fprintf(data, "\n\n# %s %s: p50_ns p99_ns most_ns\n", distributions[d].phase,
                distributions[d].call);
        for (size_t i = 0; i < lines.count; i++)
            print_quantiles(histogram(&lines.panel[i], d), data);
    }
    text_add(&note, "reading the clock takes %.0f ns",
             tree_get_number(lines.panel[0].memory, "timer_ns"));
    memory_panels_variables(&lines, of, note.data, variables);
    gnuplot_variable(variables, "legends", legends.data);
    gnuplot_number(variables, "least_ns", fmax(1, fmin(least_ns, most_ns)));
    gnuplot_number(variables, "most_ns", most_ns);
    text_free(&legends);
    text_free(&note);
    memory_panels_free(&lines);
    return 0;
}

const struct chart chart_latency = {
    .name = "latency",
    .help = "how long the allocator's calls take, cold and warm: distributions by strategy",
    .scope = CHART_OF_WORKLOAD,
    .on_request = true,
    .write = write,
};
