/* The chart of the heap-utilisation experiment: how full an arena gets, a panel for each
 * distribution of sizes, a bar for each policy. A block a panel: place, the mean, and the least. */
#include <string.h>

#include "record/result/case_tree.h"
#include "record/chart/matrix.h"
#include "record/result/experiment.h"
#include "record/chart/gnuplot.h"

/* "tlsf", or "tlsf seed" where both paddings were measured. */
static void name_of(const json_t *row, struct text *out)
{
    const char *padding = experiment_word(row, "padding");
    text_add(out, "%s%s", experiment_word(row, "policy"),
             strcmp(padding, "tight") == 0 ? "" : " seed");
}

static void write_panel(const json_t *rows, const char *sizes, const struct labels *series,
                        FILE *out)
{
    size_t i;
    json_t *row;
    fprintf(out, "# %s: place filled_ratio least_filled_ratio\n", sizes);
    json_array_foreach(rows, i, row)
    {
        struct text name = {0};
        if (!case_is_ok(row) || strcmp(experiment_word(row, "sizes"), sizes) != 0)
            continue;
        name_of(row, &name);
        fprintf(out, "%zu", labels_find(series, name.data));
        data_number(case_stat(row, "filled_ratio", "median"), out);
        data_number(case_stat(row, "least_filled_ratio", "median"), out);
        fputc('\n', out);
        text_free(&name);
    }
    fputs("\n\n", out);
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    const json_t *rows =
        json_object_get(experiment_find(of->root, "heap-utilisation", of->device), "rows");
    struct labels sizes = {0}, series = {0};
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        struct text name = {0};
        if (!case_is_ok(row))
            continue;
        name_of(row, &name);
        labels_add(&sizes, experiment_word(row, "sizes"));
        labels_add(&series, name.data);
        text_free(&name);
    }
    fprintf(data, "# gamut heap-utilisation on %s\n", of->device);
    for (i = 0; i < sizes.count; i++)
        write_panel(rows, sizes.name[i], &series, data);
    labels_variable(&sizes, "sizes", variables);
    labels_variable(&series, "series", variables);
    const size_t count = sizes.count;
    labels_free(&sizes);
    labels_free(&series);
    return count ? 0 : experiment_missing("heap-utilisation", of->device, " -D host", error);
}

const struct chart chart_heap_utilisation = {
    .name = "heap_utilisation",
    .help = "how full an arena of the device heap gets before a request fails, by policy",
    .scope = CHART_OF_DEVICE,
    .write = write,
};
