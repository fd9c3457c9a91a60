/* The chart of the stall experiment: time of a frame against the work that is queued in it, a panel
 * for each amount of the host's own work. For each panel and each method a block: place of the queued
 * work on the axis, time of the frame, and what is claimed of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/result/case_tree.h"
#include "record/chart/matrix.h"
#include "record/result/experiment.h"
#include "record/chart/gnuplot.h"

/* Different numbers in ascending order. */
struct numbers {
    size_t count;
    double *value;
};

static void add_number(struct numbers *n, double value)
{
    size_t place = 0;
    while (place < n->count && n->value[place] < value)
        place++;
    if (place < n->count && n->value[place] == value)
        return;
    n->value = must_realloc(n->value, (n->count + 1) * sizeof *n->value);
    memmove(n->value + place + 1, n->value + place, (n->count - place) * sizeof *n->value);
    n->value[place] = value;
    n->count++;
}

struct stall {
    const json_t *rows;
    struct numbers spin_ns, work_ns;
    struct labels series; /* "pool readback", "heap": the colour is the strategy's */
};

static void name_of(const json_t *row, struct text *out)
{
    const char *strategy = experiment_word(row, "strategy");
    const char *method = experiment_word(row, "method");
    if (*strategy == '-')
        text_add(out, "%s", method);
    else
        text_add(out, "%s %s", strategy, method);
}

static struct stall stall_of(const json_t *experiment)
{
    struct stall s = {.rows = json_object_get(experiment, "rows")};
    size_t i;
    json_t *row;
    json_array_foreach(s.rows, i, row)
    {
        struct text name = {0};
        if (!case_is_ok(row))
            continue;
        add_number(&s.spin_ns, experiment_number(row, "spin_ns"));
        add_number(&s.work_ns, experiment_number(row, "host_work_ns"));
        name_of(row, &name);
        labels_add(&s.series, name.data);
        text_free(&name);
    }
    return s;
}

static const json_t *row_of(const struct stall *s, size_t series, double work_ns, double spin_ns)
{
    size_t i;
    json_t *row;
    json_array_foreach(s->rows, i, row)
    {
        struct text name = {0};
        name_of(row, &name);
        const bool is_it = strcmp(name.data, s->series.name[series]) == 0 &&
                           experiment_number(row, "host_work_ns") == work_ns &&
                           experiment_number(row, "spin_ns") == spin_ns;
        text_free(&name);
        if (is_it)
            return row;
    }
    return NULL;
}

static void write_block(const struct stall *s, size_t panel, size_t series, FILE *out)
{
    fprintf(out, "# host_work_ns %.0f, %s: place frame_ns claim_ns\n", s->work_ns.value[panel],
            s->series.name[series]);
    for (size_t i = 0; i < s->spin_ns.count; i++) {
        const json_t *row = row_of(s, series, s->work_ns.value[panel], s->spin_ns.value[i]);
        fprintf(out, "%zu", i);
        data_number(case_stat(row, "frame_ns", "median"), out);
        data_number(case_stat(row, "claim_ns", "median"), out);
        fputc('\n', out);
    }
    fputs("\n\n", out);
}

static void add_times(const char *name, const struct numbers *n, struct text *variables)
{
    struct text words = {0};
    for (size_t i = 0; i < n->count; i++) {
        char time[32];
        text_add(&words, "%s\"%s\"", i ? " " : "", n->value[i] ? text_ns(time, n->value[i]) : "0");
    }
    gnuplot_variable(variables, name, words.data);
    text_free(&words);
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    struct stall s = stall_of(experiment_find(of->root, "stall", of->device));
    int code = 0;
    if (!s.series.count)
        code = experiment_missing("stall", of->device, "", error);
    if (!code) {
        fprintf(data, "# gamut stall on %s\n", of->device);
        for (size_t panel = 0; panel < s.work_ns.count; panel++)
            for (size_t series = 0; series < s.series.count; series++)
                write_block(&s, panel, series, data);
        labels_variable(&s.series, "series", variables);
        add_times("spins", &s.spin_ns, variables);
        add_times("works", &s.work_ns, variables);
    }
    labels_free(&s.series);
    free(s.spin_ns.value);
    free(s.work_ns.value);
    return code;
}

const struct chart chart_stall = {
    .name = "stall",
    .help = "frame time with a read-back and with a heap on the device, and what is claimed of it",
    .scope = CHART_OF_DEVICE,
    .write = write,
};
