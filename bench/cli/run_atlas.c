#include "cli/run_atlas.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "record/atlas.h"
#include "record/result.h"
#include "record/tree.h"

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

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Names begin with the time. */
static int newest_first(const void *a, const void *b)
{
    return -strcmp(base_name(*(char *const *)a), base_name(*(char *const *)b));
}

/* Most result files have no atlas, and many megabytes of samples: each member of the root stands on
 * a line, so that this one is found without reading the rest as JSON. */
static json_t *load_with_atlas(const char *path)
{
    struct text text = {0};
    json_t *root = NULL;
    if (text_read_file(&text, path, NULL) == 0 && strstr(text.data, "\n\"atlas\": [") &&
        result_load(path, &root, NULL))
        root = NULL;
    text_free(&text);
    return root;
}

static void take_missing(const char *path, const struct found_device *devices, size_t count,
                         json_t *atlases, bool *has)
{
    json_t *root = load_with_atlas(path);
    for (size_t i = 0; i < count && root; i++) {
        const struct device_info *info = &devices[i].info;
        const json_t *atlas = atlas_json_find(json_object_get(root, "atlas"), info->id);
        if (!devices[i].selected || has[i] || !atlas || !of_same_driver(atlas, info) ||
            take(atlases, atlas, NULL))
            continue;
        has[i] = true;
        fprintf(stderr, "gamut: cases on %s are predicted by the atlas in %s\n", info->id, path);
    }
    json_decref(root);
}

static void newest_atlases(const char *results, const struct found_device *devices, size_t count,
                           json_t *atlases)
{
    struct text pattern = {0};
    glob_t files;
    text_add(&pattern, "%s/*/*.json", results);
    if (glob(pattern.data, GLOB_NOSORT, NULL, &files) == 0) {
        bool *has = must_alloc(count * sizeof *has);
        qsort(files.gl_pathv, files.gl_pathc, sizeof *files.gl_pathv, newest_first);
        for (size_t i = 0; i < files.gl_pathc; i++)
            take_missing(files.gl_pathv[i], devices, count, atlases, has);
        free(has);
        globfree(&files);
    }
    text_free(&pattern);
}

int run_atlases(const char *path, const char *results, const struct found_device *devices,
                size_t count, json_t **atlases, struct error *error)
{
    *atlases = tree_array();
    if (path)
        return atlases_of_file(path, devices, count, *atlases, error);
    newest_atlases(results, devices, count, *atlases);
    return 0;
}
