#include "record/chart/chart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/chart/gnuplot.h"
#include "base/tree.h"

static const struct chart *const charts[] = {
#define X(name) &chart_##name,
    CHART_LIST(X)
#undef X
};
enum { CHARTS = sizeof charts / sizeof *charts };

const struct chart *chart_at(size_t i)
{
    return i < CHARTS ? charts[i] : NULL;
}

static const char *nth_name(void *context, size_t i)
{
    (void)context;
    return i < CHARTS ? charts[i]->name : NULL;
}

int chart_find(const char *name, const struct chart **chart, struct error *error)
{
    for (size_t i = 0; i < CHARTS; i++)
        if (strcmp(name, charts[i]->name) == 0) {
            *chart = charts[i];
            return 0;
        }
    text_unknown(error, name, nth_name, NULL, "there is no chart");
    return error->code = ERR_NOT_FOUND;
}

/* ---- subjects ---- */

struct subjects {
    struct chart_subject *list;
    size_t count;
};

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void add_subject(struct subjects *all, const struct chart_subject *subject)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct chart_subject *known = &all->list[i];
        if (is_same(known->device, subject->device) &&
            is_same(known->strategy, subject->strategy) &&
            is_same(known->workload, subject->workload) &&
            is_same(known->dataset, subject->dataset))
            return;
    }
    all->list = must_realloc(all->list, (all->count + 1) * sizeof *all->list);
    all->list[all->count++] = *subject;
}

size_t chart_subjects(const struct chart *chart, const json_t *root,
                      struct chart_subject **subjects)
{
    const json_t *devices = json_object_get(json_object_get(root, "context"), "devices");
    const json_t *device, *one_case;
    struct subjects all = {0};
    for (size_t d = 0; (device = json_array_get(devices, d)); d++) {
        const struct chart_subject of = {.root = root, .device = tree_get_text(device, "id")};
        if (chart->scope == CHART_OF_DEVICE)
            add_subject(&all, &of);
        for (size_t i = 0; chart->scope != CHART_OF_DEVICE && (one_case = case_next(&of, &i));) {
            const json_t *key = json_object_get(one_case, "key");
            struct chart_subject subject = of;
            if (chart->scope == CHART_OF_STRATEGY) {
                subject.strategy = tree_get_text(key, "strategy");
            } else {
                subject.workload = tree_get_text(key, "workload");
                subject.dataset = tree_get_text(key, "dataset");
            }
            add_subject(&all, &subject);
        }
    }
    *subjects = all.list;
    return all.count;
}

/* Adds a file name without its ending: "speedup-cuda-0", "merging-host-pool",
 * "latency-host-canny-medium". */
static void add_file_name(const struct chart *chart, const struct chart_subject *of,
                          struct text *out)
{
    const char *const words[] = {of->device, of->workload, of->dataset, of->strategy};
    text_add(out, "%s", chart->name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i] && *words[i])
            text_add(out, "-%s", words[i]);
    for (char *c = out->data; *c; c++)
        *c = strchr(":/ |=+", *c) ? '-' : *c;
}

/* ---- files ---- */

int chart_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                struct text *variables, struct error *error)
{
    struct text name = {0}, file = {0}, caption = {0};
    add_file_name(chart, of, &name);
    text_add(&file, "%s.dat", name.data);
    gnuplot_caption(of->root, of->device, &caption);
    gnuplot_variable(variables, "data", file.data);
    gnuplot_variable(variables, "out", name.data);
    gnuplot_variable(variables, "caption", caption.data);
    gnuplot_variable(variables, "note", "");
    int code = chart->write(chart, of, data, variables, error);
    if (code == 0 && (fflush(data) != 0 || ferror(data)))
        code = error_set(error, ERR_IO, "the data of %s could not be written: %s", chart->name,
                         strerror(errno));
    text_free(&name);
    text_free(&file);
    text_free(&caption);
    return code;
}

/* A chart in memory. A chart that cannot be made leaves nothing on disk. */
struct drawing {
    struct text data;   /* of the .dat */
    struct text script; /* of the .gp */
};

static int make_drawing(const struct chart *chart, const struct chart_subject *of,
                        const char *scripts, struct drawing *drawing, struct error *error)
{
    struct text variables = {0};
    FILE *data = open_memstream(&drawing->data.data, &drawing->data.length);
    if (!data)
        return error_set(error, ERR_HOST_MEMORY, "no memory for the chart %s", chart->name);
    int code = chart_write(chart, of, data, &variables, error);
    fclose(data);
    if (code == 0)
        code = gnuplot_script(scripts, chart->name, variables.data, &drawing->script, error);
    text_free(&variables);
    return code;
}

/* Puts the files into the folder, and runs gnuplot there. */
static int draw_in(const char *folder, const char *name, const struct drawing *drawing,
                   const struct chart_options *options, struct text *base, struct error *error)
{
    struct text data = {0}, script = {0};
    text_add(base, "%s/%s", folder, name);
    text_add(&data, "%s.dat", base->data);
    text_add(&script, "%s.gp", base->data);
    int code = text_write_file(&drawing->data, data.data, error);
    if (code == 0)
        code = text_write_file(&drawing->script, script.data, error);
    if (code == 0)
        code = gnuplot_run(folder, name, options->terminals, options->columns, error);
    text_free(&data);
    text_free(&script);
    return code;
}

/* For a chart that goes to the terminal alone: draws it in a folder that is removed again. */
static int draw_in_passing(const char *name, const struct drawing *drawing,
                           const struct chart_options *options, struct error *error)
{
    static const char *const endings[] = {".dat", ".gp"};
    struct text folder = {0}, base = {0};
    const char *parent = getenv("TMPDIR");
    text_add(&folder, "%s/gamut-chart-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder.data)) {
        error_set(error, ERR_IO, "%s could not be made: %s", folder.data, strerror(errno));
        text_free(&folder);
        return ERR_IO;
    }
    int code = draw_in(folder.data, name, drawing, options, &base, error);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct text path = {0};
        text_add(&path, "%s%s", base.data, endings[i]);
        unlink(path.data);
        text_free(&path);
    }
    rmdir(folder.data);
    text_free(&folder);
    text_free(&base);
    return code;
}

int chart_draw(const struct chart *chart, const struct chart_subject *of,
               const struct chart_options *options, struct text *made, struct error *error)
{
    struct drawing drawing = {0};
    struct text name = {0}, base = {0};
    add_file_name(chart, of, &name);
    int code = make_drawing(chart, of, options->scripts, &drawing, error);
    if (code == 0 && strcmp(options->terminals, "dumb") == 0) {
        code = draw_in_passing(name.data, &drawing, options, error);
    } else if (code == 0) {
        if (mkdir(options->folder, 0777) != 0 && errno != EEXIST)
            code = error_set(error, ERR_IO, "the folder %s could not be made: %s", options->folder,
                             strerror(errno));
        if (code == 0)
            code = draw_in(options->folder, name.data, &drawing, options, &base, error);
    }
    if (code == 0 && made && base.length)
        text_add(made, "%s", base.data);
    text_free(&drawing.data);
    text_free(&drawing.script);
    text_free(&name);
    text_free(&base);
    return code;
}
