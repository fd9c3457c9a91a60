#include "record/result/newest.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip_file.h"
#include "record/result/result.h"

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

/* Most result files lack the member, and have many megabytes of samples: each member of the root
 * begins a line, so that this one is found without reading the rest as JSON. */
static json_t *load_with(const char *path, const char *member)
{
    struct text text = {0}, line = {0};
    json_t *root = NULL;
    text_add(&line, "\n\"%s\": [", member);
    if (gzip_read_file(&text, path, RESULT_MOST_BYTES, NULL) == 0 && strstr(text.data, line.data))
        result_parse(path, &text, &root, NULL);
    text_free(&text);
    text_free(&line);
    return root;
}

void newest_results(const char *results, const char *member,
                    bool (*take)(void *context, const char *path, const json_t *root),
                    void *context)
{
    static const char *const suffixes[] = {"json", "json.gz"};
    glob_t files = {0};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        struct text pattern = {0};
        text_add(&pattern, "%s/*/*.%s", results, suffixes[i]);
        glob(pattern.data, GLOB_NOSORT | (i ? GLOB_APPEND : 0), NULL, &files);
        text_free(&pattern);
    }
    if (files.gl_pathc)
        qsort(files.gl_pathv, files.gl_pathc, sizeof *files.gl_pathv, newest_first);
    bool has_all = false;
    for (size_t i = 0; i < files.gl_pathc && !has_all; i++) {
        json_t *root = load_with(files.gl_pathv[i], member);
        has_all = root && take(context, files.gl_pathv[i], root);
        json_decref(root);
    }
    globfree(&files);
}
