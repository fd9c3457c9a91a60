/* Looks for atlases and noise floors in results of earlier runs. */
#include "cli/earlier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/terminal.h"
#include "base/tree.h"
#include "results/compare/noise.h"
#include "results/facts/atlas.h"

/* ---- the atlases that a run predicts its cases by ------------------------------------------- */

static bool of_same_driver(const json_t *atlas, const struct device_info *info)
{
    return strcmp(tree_get_text(atlas, "name"), info->name) == 0 &&
           strcmp(tree_get_text(atlas, "driver"), info->driver) == 0;
}

/* An atlas is checked here, so that a worker need not say why it cannot use it. `run` made its
 * file. */
static int take_atlas(struct known_atlases *known, const json_t *json, const char *path,
                      const struct result_run *run, struct error *error)
{
    struct atlas atlas;
    int code = atlas_from_json(json, &atlas, error);
    if (!code) {
        const char *folder = strrchr(path, '/');
        tree_append(known->atlases, json_incref((json_t *)json));
        tree_append(known->sources, tree_pack("{s:s, s:o, s:s, s:s}", "device", atlas.device,
                                              "file", tree_text(folder ? folder + 1 : path), "run",
                                              run->id, "started_at", run->started_at));
    }
    if (!code && atlas_is_idle(&atlas))
        terminal_print(stderr,
                       "gamut: the atlas of %s has no prices of a busy device: those of an idle "
                       "one stand in; gamut atlas measures both\n",
                       atlas.device);
    atlas_free(&atlas);
    return code;
}

int atlas_path(const char *name, struct text *path, struct error *error)
{
    if (strpbrk(name, "./") || access(name, F_OK) == 0) {
        text_add(path, "%s", name);
        return 0;
    }
    text_own_folder(path, ATLAS_FOLDER);
    text_add(path, "/%s" ATLAS_SUFFIX, name);
    return access(path->data, F_OK) == 0
               ? 0
               : error_set(error, ERR_USAGE,
                           "there is no atlas or file '%s'; gamut list atlases names the atlases",
                           name);
}

/* ---- a file that was named ------------------------------------------------------------------ */

static int atlases_of_file(const char *path, const struct found_device *devices, size_t count,
                           struct known_atlases *known, struct error *error)
{
    struct result result;
    TRY(result_open(path, &result, error));
    int code = 0;
    const json_t *all = result.atlas;
    for (size_t i = 0; i < count && !code; i++) {
        const struct device_info *info = &devices[i].info;
        const json_t *atlas = atlas_json_find(all, info->id);
        if (!devices[i].selected)
            continue;
        if (!atlas) {
            terminal_print(stderr, "gamut: %s has no atlas of %s: nothing is predicted there\n",
                           path, info->id);
            continue;
        }
        if (!of_same_driver(atlas, info))
            terminal_print(stderr,
                           "gamut: the atlas of %s in %s was made on %s, driver %s; this is %s, "
                           "driver %s\n",
                           info->id, path, tree_get_text(atlas, "name"),
                           tree_get_text(atlas, "driver"), info->name, info->driver);
        code = take_atlas(known, atlas, path, &result.run, error);
    }
    THEN(code,
         json_array_size(all) == 0
             ? error_set(error, ERR_NOT_FOUND, "the file has no atlas: `gamut atlas` makes one")
             : 0);
    if (code)
        error_prefix(error, "%s: ", path);
    result_release(&result);
    return code;
}

/* ---- the newest file ------------------------------------------------------------------------ */

struct search {
    const struct found_device *devices;
    size_t count;
    struct known_atlases *known;
    bool *has; /* for each device */
};

static bool take_missing(void *context, const char *path, const struct result *result)
{
    const struct search *s = context;
    bool has_all = true;
    for (size_t i = 0; i < s->count; i++) {
        const struct device_info *info = &s->devices[i].info;
        const json_t *atlas = atlas_json_find(result->atlas, info->id);
        if (!s->devices[i].selected || s->has[i])
            continue;
        s->has[i] = atlas && of_same_driver(atlas, info) &&
                    take_atlas(s->known, atlas, path, &result->run, NULL) == 0;
        has_all &= s->has[i];
        if (s->has[i])
            terminal_print(stderr, "gamut: cases on %s are predicted by the atlas in %s\n",
                           info->id, path);
    }
    return has_all;
}

int run_atlases(const char *path, const char *results, const struct found_device *devices,
                size_t count, struct known_atlases *known, struct error *error)
{
    *known = (struct known_atlases){tree_array(), tree_array()};
    if (path) {
        struct text file = {0};
        int code = atlas_path(path, &file, error);
        THEN(code, atlases_of_file(file.data, devices, count, known, error));
        text_free(&file);
        return code;
    }
    struct search search = {devices, count, known, must_alloc(count * sizeof(bool))};
    newest_results(results, "atlas", take_missing, &search);
    free(search.has);
    return 0;
}

/* ---- the noise floor, measured by the run or known from an earlier one ---------------------- */

/* The decimals of a percentage with three digits. */
static int decimals(double percent)
{
    return percent < 10 ? 2 : percent < 100 ? 1 : 0;
}

/* `how` and `when` go between the figures and the end of the line. */
static void tell_noise(const struct result_noise *noise, const char *how, const char *when)
{
    const struct noise_metric *wall = noise_metric_of(noise, "wall_ns");
    double of_configurations = NAN;
    for (size_t i = 0; wall && i < wall->configuration_count; i++)
        of_configurations = fmax(of_configurations, wall->by_configuration[i].value);
    const double of_case = 100 * (wall ? wall->floor : NAN);
    terminal_print(stderr, "gamut: the noise floor of %s is %.*f %%", noise->device,
                   decimals(of_case), of_case);
    if (!isnan(of_configurations))
        terminal_print(stderr, " for a case, %.*f %% for all cases of a strategy",
                       decimals(100 * of_configurations), 100 * of_configurations);
    terminal_print(stderr, "%s%s\n", how, when);
}

static bool take_noise(void *context, const char *path, const struct result *other)
{
    struct result *result = context;
    for (size_t i = noise_take(result, other); i < result->noise_count; i++)
        tell_noise(&result->noise[i], ", measured at ", result->noise[i].measured_at);
    return result->noise_count == result->context.device_count;
}

void run_noise_known(struct result *result, const char *results)
{
    newest_results(results, "noise", take_noise, result);
}

void run_noise_measured(struct result *result)
{
    struct error error = {0};
    if (noise_measure(result, &error))
        terminal_print(stderr, "gamut: %s\n", error.text);
    for (size_t i = 0; i < result->noise_count; i++)
        tell_noise(&result->noise[i], ", the difference between runs of one build", "");
}
