#include "cli/run_atlas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/facts/atlas.h"
#include "record/result/result.h"
#include "base/tree.h"

static bool of_same_driver(const json_t *atlas, const struct device_info *info)
{
    return strcmp(tree_get_text(atlas, "name"), info->name) == 0 &&
           strcmp(tree_get_text(atlas, "driver"), info->driver) == 0;
}

/* Checked here, so that a worker need not say why it cannot use one. */
static int take(json_t *atlases, const json_t *json, struct error *error)
{
    struct atlas atlas;
    int code = atlas_from_json(json, &atlas, error);
    if (!code)
        tree_append(atlases, json_incref((json_t *)json));
    atlas_free(&atlas);
    return code;
}

/* ---- a file that was named ------------------------------------------------------------------ */

static int atlases_of_file(const char *path, const struct found_device *devices, size_t count,
                           json_t *atlases, struct error *error)
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
            fprintf(stderr, "gamut: %s has no atlas of %s: nothing is predicted there\n", path,
                    info->id);
            continue;
        }
        if (!of_same_driver(atlas, info))
            fprintf(stderr,
                    "gamut: the atlas of %s in %s was made on %s, driver %s; this is %s, "
                    "driver %s\n",
                    info->id, path, tree_get_text(atlas, "name"), tree_get_text(atlas, "driver"),
                    info->name, info->driver);
        code = take(atlases, atlas, error);
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
    json_t *atlases;
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
        s->has[i] = atlas && of_same_driver(atlas, info) && take(s->atlases, atlas, NULL) == 0;
        has_all &= s->has[i];
        if (s->has[i])
            fprintf(stderr, "gamut: cases on %s are predicted by the atlas in %s\n", info->id,
                    path);
    }
    return has_all;
}

int run_atlases(const char *path, const char *results, const struct found_device *devices,
                size_t count, json_t **atlases, struct error *error)
{
    *atlases = tree_array();
    if (path)
        return atlases_of_file(path, devices, count, *atlases, error);
    struct search search = {devices, count, *atlases, must_alloc(count * sizeof(bool))};
    newest_results(results, "atlas", take_missing, &search);
    free(search.has);
    return 0;
}
