/* Looks for atlases and noise floors in results of earlier runs. */
#include "cli/earlier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/terminal.h"
#include "base/tree.h"
#include "record/compare/noise.h"
#include "record/facts/atlas.h"

/* ---- the atlases that a run predicts its cases by ------------------------------------------- */

static bool of_same_driver(const json_t *atlas, const struct device_info *info)
{
    return strcmp(tree_get_text(atlas, "name"), info->name) == 0 &&
           strcmp(tree_get_text(atlas, "driver"), info->driver) == 0;
}

/* An atlas is checked here, so that a worker need not say why it cannot use it. `root` is its
 * file. */
static int take_atlas(struct known_atlases *known, const json_t *json, const char *path,
                      const json_t *root, struct error *error)
{
    struct atlas atlas;
    int code = atlas_from_json(json, &atlas, error);
    if (!code) {
        const json_t *run = json_object_get(root, "run");
        const char *folder = strrchr(path, '/');
        tree_append(known->atlases, json_incref((json_t *)json));
        tree_append(known->sources,
                    tree_pack("{s:s, s:s, s:o, s:o}", "device", atlas.device, "file",
                              folder ? folder + 1 : path, "run", tree_share(run, "id"),
                              "started_at", tree_share(run, "started_at")));
    }
    if (!code && atlas_is_idle(&atlas))
        terminal_print(stderr,
                       "gamut: the atlas of %s has no prices of a busy device: those of an idle "
                       "one stand in; gamut atlas measures both\n",
                       atlas.device);
    atlas_free(&atlas);
    return code;
}

/* ---- a file that was named ------------------------------------------------------------------ */

static int atlases_of_file(const char *path, const struct found_device *devices, size_t count,
                           struct known_atlases *known, struct error *error)
{
    json_t *root;
    int code = result_load(path, &root, error);
    if (code)
        return code;
    const json_t *all = json_object_get(root, "atlas");
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
        code = take_atlas(known, atlas, path, root, error);
    }
    if (!code && json_array_size(all) == 0)
        code = error_set(error, ERR_NOT_FOUND, "the file has no atlas: `gamut atlas` makes one");
    if (code)
        error_prefix(error, "%s: ", path);
    json_decref(root);
    return code;
}

/* ---- the newest file ------------------------------------------------------------------------ */

struct search {
    const struct found_device *devices;
    size_t count;
    struct known_atlases *known;
    bool *has; /* for each device */
};

static bool take_missing(void *context, const char *path, const json_t *root)
{
    const struct search *s = context;
    bool has_all = true;
    for (size_t i = 0; i < s->count; i++) {
        const struct device_info *info = &s->devices[i].info;
        const json_t *atlas = atlas_json_find(json_object_get(root, "atlas"), info->id);
        if (!s->devices[i].selected || s->has[i])
            continue;
        s->has[i] = atlas && of_same_driver(atlas, info) &&
                    take_atlas(s->known, atlas, path, root, NULL) == 0;
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
    if (path)
        return atlases_of_file(path, devices, count, known, error);
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
static void tell_noise(const json_t *noise, const char *how, const char *when)
{
    const json_t *wall = json_object_get(json_object_get(noise, "metrics"), "wall_ns");
    const char *configuration;
    json_t *floor;
    double of_configurations = NAN;
    json_object_foreach(json_object_get(wall, "by_configuration"), configuration, floor)
    {
        of_configurations = fmax(of_configurations, json_number_value(floor));
    }
    double of_case = 100 * tree_get_number(wall, "floor");
    terminal_print(stderr, "gamut: the noise floor of %s is %.*f %%",
                   tree_get_text(noise, "device"), decimals(of_case), of_case);
    if (!isnan(of_configurations))
        terminal_print(stderr, " for a case, %.*f %% for all cases of a strategy",
                       decimals(100 * of_configurations), 100 * of_configurations);
    terminal_print(stderr, "%s%s\n", how, when);
}

static size_t devices_of(const json_t *root)
{
    return json_array_size(json_object_get(json_object_get(root, "context"), "devices"));
}

static bool take_noise(void *context, const char *path, const json_t *root)
{
    struct result_draft *result = context;
    (void)path;
    size_t i = noise_take(result->root, root);
    const json_t *all = json_object_get(result->root, "noise"), *noise;
    for (; (noise = json_array_get(all, i)); i++)
        tell_noise(noise, ", measured at ", tree_get_text(noise, "measured_at"));
    return json_array_size(all) == devices_of(result->root);
}

void run_noise_known(struct result_draft *result, const char *results)
{
    newest_results(results, "noise", take_noise, result);
}

void run_noise_measured(struct result_draft *result)
{
    struct error error = {0};
    const json_t *noise;
    if (noise_measure(result->root, &error)) {
        terminal_print(stderr, "gamut: %s\n", error.text);
        return;
    }
    for (size_t i = 0; (noise = json_array_get(json_object_get(result->root, "noise"), i)); i++)
        tell_noise(noise, ", the difference between runs of one build", "");
}
