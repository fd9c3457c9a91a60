#include "results/show/chart.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/digest.h"
#include "results/show/gnuplot.h"

#define CHART(name) &chart_##name,
static const struct chart *const charts[] = {CHART_LIST(CHART)};
enum { CHARTS = sizeof charts / sizeof *charts };

const struct chart *chart_at(size_t i)
{
    return i < CHARTS ? charts[i] : NULL;
}

TEXT_NAMES(nth_name, CHARTS, charts[i]->name)

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

/* Adds the subject that a case belongs to, unless it is in the list. */
static void add_subject(const struct chart *chart, struct chart_subject subject,
                        const struct case_key *key, struct chart_subject **list, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (key && case_is_of(key, &(*list)[i]))
            return;
    if (chart->scope == CHART_OF_STRATEGY)
        subject.strategy = key->strategy;
    *list = must_realloc(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = subject;
}

size_t chart_subjects(const struct chart *chart, const struct result *result, const char *device,
                      struct chart_subject **subjects)
{
    const struct result_case *one;
    size_t count = 0;
    *subjects = NULL;
    for (size_t d = 0; d < result->context.device_count; d++) {
        const struct chart_subject of = {.result = result, .device = result->context.devices[d].id};
        if (device && strcmp(of.device, device) != 0)
            continue;
        if (chart->scope == CHART_OF_DEVICE)
            add_subject(chart, of, NULL, subjects, &count);
        for (size_t i = 0; chart->scope != CHART_OF_DEVICE && (one = case_next(&of, &i));)
            add_subject(chart, of, &one->key, subjects, &count);
    }
    return count;
}

/* ---- names of files ---- */

static const char *strategy_of(const struct chart_subject *of)
{
    return of->strategy ? of->strategy : "";
}

static uint64_t digest_of(const struct chart_subject *of)
{
    const uint64_t digest = digest_bytes(0, of->device, strlen(of->device) + 1);
    return digest_bytes(digest, strategy_of(of), strlen(strategy_of(of)) + 1);
}

/* Adds the names of the chart, the device and the strategy if there is one. Other characters than
 * letters, digits, '.', '_' and '-' become '-'. */
static void add_mapped(const struct chart *chart, const struct chart_subject *of, struct text *out)
{
    text_add(out, "%s-%s%s%s", chart->name, of->device, of->strategy ? "-" : "", strategy_of(of));
    for (char *c = out->data; *c; c++)
        *c = (unsigned char)*c < 128 && (isalnum(*c) || strchr("._", *c)) ? *c : '-';
}

/* Is there another subject that add_mapped gives this name? */
static bool is_shared(const struct chart *chart, const struct chart_subject *of, const char *mapped)
{
    struct chart_subject *subjects;
    bool shared = false;
    const size_t count = chart_subjects(chart, of->result, NULL, &subjects);
    for (size_t i = 0; i < count && !shared; i++) {
        struct text other = {0};
        add_mapped(chart, &subjects[i], &other);
        shared = digest_of(&subjects[i]) != digest_of(of) && strcmp(other.data, mapped) == 0;
        text_free(&other);
    }
    free(subjects);
    return shared;
}

/* Adds a file name without its ending: "speedup-cuda-0", "merging-host-pool". Subjects that
 * would share a name have a digest of their names in it too. */
static void add_file_name(const struct chart *chart, const struct chart_subject *of,
                          struct text *out)
{
    add_mapped(chart, of, out);
    if (is_shared(chart, of, out->data))
        text_add(out, "-%016" PRIx64, digest_of(of));
}

/* ---- files ---- */

int chart_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                struct text *variables, struct error *error)
{
    struct text name = {0}, file = {0}, caption = {0};
    add_file_name(chart, of, &name);
    text_add(&file, "%s.dat", name.data);
    gnuplot_caption(of, &caption);
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
    struct text name;   /* name of its files, without an ending */
    struct text data;   /* contents of the .dat file */
    struct text script; /* contents of the .gp file */
};

static int make_drawing(const struct chart *chart, const struct chart_subject *of,
                        const char *scripts, struct drawing *drawing, struct error *error)
{
    struct text variables = {0};
    add_file_name(chart, of, &drawing->name);
    FILE *data = open_memstream(&drawing->data.data, &drawing->data.length);
    if (!data)
        return error_set(error, ERR_HOST_MEMORY, "no memory for the chart %s", chart->name);
    int code = chart_write(chart, of, data, &variables, error);
    fclose(data);
    THEN(code, gnuplot_script(scripts, chart->name, variables.data, &drawing->script, error));
    text_free(&variables);
    return code;
}

/* Puts the files into the folder and runs gnuplot there. `in_passing`: the chart goes to the
 * terminal alone, and the files are removed again. */
static int draw_in(const char *folder, bool in_passing, const struct drawing *drawing,
                   const struct chart_options *options, struct error *error)
{
    struct text data = {0}, script = {0};
    text_add(&data, "%s/%s.dat", folder, drawing->name.data);
    text_add(&script, "%s/%s.gp", folder, drawing->name.data);
    int code = text_write_file(&drawing->data, data.data, error);
    THEN(code, text_write_file(&drawing->script, script.data, error));
    THEN(code,
         gnuplot_run(folder, drawing->name.data, options->terminals, options->columns, error));
    if (in_passing) {
        unlink(data.data);
        unlink(script.data);
    }
    text_free(&data);
    text_free(&script);
    return code;
}

/* Makes the folder of a chart: a new one in the system's folder for temporary files, or the one of
 * the options, which may exist. */
static int make_folder(bool in_passing, const struct chart_options *options, struct text *folder,
                       struct error *error)
{
    const char *parent = getenv("TMPDIR");
    if (in_passing)
        text_add(folder, "%s/gamut-chart-XXXXXX", parent && *parent ? parent : "/tmp");
    else
        text_add(folder, "%s", options->folder);
    if (in_passing ? mkdtemp(folder->data) != NULL
                   : mkdir(folder->data, 0777) == 0 || errno == EEXIST)
        return 0;
    return error_set(error, ERR_IO, "the folder %s could not be made: %s", folder->data,
                     strerror(errno));
}

int chart_draw(const struct chart *chart, const struct chart_subject *of,
               const struct chart_options *options, struct text *made, struct error *error)
{
    const bool in_passing = strcmp(options->terminals, "dumb") == 0;
    struct drawing drawing = {0};
    struct text folder = {0};
    int code = make_drawing(chart, of, options->scripts, &drawing, error);
    THEN(code, make_folder(in_passing, options, &folder, error));
    if (code == 0) {
        code = draw_in(folder.data, in_passing, &drawing, options, error);
        if (in_passing)
            rmdir(folder.data);
        else if (code == 0 && made)
            text_add(made, "%s/%s", folder.data, drawing.name.data);
    }
    text_free(&drawing.name);
    text_free(&drawing.data);
    text_free(&drawing.script);
    text_free(&folder);
    return code;
}
