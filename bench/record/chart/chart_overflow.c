/* The chart of the overflow experiment: how often a pool is too small against its size, a panel for
 * each number of chunks that share it. A block a panel: percent of the mean, then the chance
 * measured, of sizes drawn one by one, of separate buffers, and claimed. */
#include <math.h>

#include "record/result/case_tree.h"
#include "record/chart/matrix.h"
#include "record/result/experiment.h"
#include "record/chart/gnuplot.h"

static const char *const metrics[] = {"overflow_ratio", "drawn_ratio", "separate_ratio",
                                      "claim_ratio"};
enum { METRICS = sizeof metrics / sizeof *metrics };

static void print_row(const json_t *row, FILE *out)
{
    fprintf(out, "%.0f", experiment_number(row, "percent"));
    for (size_t i = 0; i < METRICS; i++)
        data_number(case_stat(row, metrics[i], "median"), out);
    fputc('\n', out);
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    const json_t *experiment = experiment_find(of->root, "overflow", of->device);
    struct labels panels = {0};
    size_t i;
    json_t *row;
    fprintf(data, "# gamut overflow on %s\n# percent", of->device);
    for (i = 0; i < METRICS; i++)
        fprintf(data, " %s", metrics[i]);
    fputc('\n', data);
    json_array_foreach(json_object_get(experiment, "rows"), i, row)
    {
        struct text title = {0};
        const size_t before = panels.count;
        if (!case_is_ok(row))
            continue;
        text_add(&title, "%.0f", experiment_number(row, "chunks"));
        labels_add(&panels, title.data);
        fputs(before && panels.count > before ? "\n\n" : "", data);
        print_row(row, data);
        text_free(&title);
    }
    const size_t count = panels.count;
    if (count)
        labels_variable(&panels, "chunks", variables);
    labels_free(&panels);
    return count ? 0 : experiment_missing("overflow", of->device, "", error);
}

const struct chart chart_overflow = {
    .name = "overflow",
    .help = "how often a shared pool is too small against its size, and what is claimed",
    .scope = CHART_OF_DEVICE,
    .write = write,
};
