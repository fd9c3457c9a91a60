/* The chart of the heap-ops experiment: time of an operation against the size of a batch, a panel
 * for each number of live blocks. For each panel and each policy a block: place of the batch on the
 * axis, time of an operation, and the command's part of it as it was fitted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record/result/case_tree.h"
#include "record/chart/matrix.h"
#include "record/result/experiment.h"
#include "record/chart/gnuplot.h"

struct heap_ops {
    const json_t *rows;
    struct labels live, policies;
    struct labels batches, metrics; /* "64" and "op_64_ns" */
};

static void live_of(const json_t *row, struct text *out)
{
    text_add(out, "%.0f", experiment_number(row, "live_blocks"));
}

/* The metrics op_N_ns are of batches of N. */
static void find_batches(struct heap_ops *h, const json_t *experiment)
{
    const char *name;
    json_t *metric;
    json_object_foreach(json_object_get(experiment, "metrics"), name, metric)
    {
        char *end, batch[32];
        if (strncmp(name, "op_", 3) != 0)
            continue;
        unsigned long commands = strtoul(name + 3, &end, 10);
        if (end == name + 3 || strcmp(end, "_ns") != 0)
            continue;
        snprintf(batch, sizeof batch, "%lu", commands);
        labels_add(&h->batches, batch);
        labels_add(&h->metrics, name);
    }
}

static struct heap_ops heap_ops_of(const json_t *experiment)
{
    struct heap_ops h = {.rows = json_object_get(experiment, "rows")};
    size_t i;
    json_t *row;
    find_batches(&h, experiment);
    json_array_foreach(h.rows, i, row)
    {
        struct text live = {0};
        if (!case_is_ok(row))
            continue;
        live_of(row, &live);
        labels_add(&h.live, live.data);
        labels_add(&h.policies, experiment_word(row, "policy"));
        text_free(&live);
    }
    return h;
}

static const json_t *row_of(const struct heap_ops *h, size_t panel, size_t series)
{
    size_t i;
    json_t *row;
    json_array_foreach(h->rows, i, row)
    {
        struct text live = {0};
        live_of(row, &live);
        const bool is_it = strcmp(live.data, h->live.name[panel]) == 0 &&
                           strcmp(experiment_word(row, "policy"), h->policies.name[series]) == 0;
        text_free(&live);
        if (is_it)
            return row;
    }
    return NULL;
}

static void write_block(const struct heap_ops *h, size_t panel, size_t series, FILE *out)
{
    const json_t *row = row_of(h, panel, series);
    fprintf(out, "# live_blocks %s, %s: place op_ns command_ns\n", h->live.name[panel],
            h->policies.name[series]);
    for (size_t i = 0; i < h->batches.count; i++) {
        fprintf(out, "%zu", i);
        data_number(row ? case_stat(row, h->metrics.name[i], "median") : NAN, out);
        data_number(row ? case_stat(row, "command_ns", "median") : NAN, out);
        fputc('\n', out);
    }
    fputs("\n\n", out);
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    struct heap_ops h = heap_ops_of(experiment_find(of->root, "heap-ops", of->device));
    int code = 0;
    if (!h.policies.count || !h.batches.count)
        code = experiment_missing("heap-ops", of->device, "", error);
    if (!code) {
        fprintf(data, "# gamut heap-ops on %s\n", of->device);
        for (size_t panel = 0; panel < h.live.count; panel++)
            for (size_t series = 0; series < h.policies.count; series++)
                write_block(&h, panel, series, data);
        labels_variable(&h.policies, "series", variables);
        labels_variable(&h.live, "live", variables);
        labels_variable(&h.batches, "batches", variables);
    }
    labels_free(&h.live);
    labels_free(&h.policies);
    labels_free(&h.batches);
    labels_free(&h.metrics);
    return code;
}

const struct chart chart_heap_ops = {
    .name = "heap_ops",
    .help = "time of an operation of the device heap against the size of a batch, by live blocks",
    .scope = CHART_OF_DEVICE,
    .write = write,
};
