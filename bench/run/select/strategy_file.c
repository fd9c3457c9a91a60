#include "run/select/strategy_file.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "alloc/registry.h"
#include "base/text.h"

/* The paths, with a comma between two. */
static const char variable[] = "GAMUT_WORKER_STRATEGY_FILES";

static int add_file(const char *path, struct error *error)
{
    struct text name = {0};
    const struct allocator_ops *ops;
    if (allocator_find(path, &ops, NULL) == 0)
        return 0;
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!file)
        return error_set(error, ERR_USAGE, "the strategy %s cannot be loaded: %s", path, dlerror());
    const struct allocator_ops *const *found = dlsym(file, "gamut_strategy");
    if (!found || !*found)
        return error_set(
            error, ERR_USAGE,
            "%s exports no gamut_strategy; gamut new allocator writes a file that does", path);
    if ((*found)->version != ALLOCATOR_API_VERSION)
        return error_set(error, ERR_USAGE,
                         "%s was compiled for version %d of the interface of strategies, and this "
                         "gamut has version %d: compile it again with this gamut's headers",
                         path, (*found)->version, ALLOCATOR_API_VERSION);
    text_add(&name, "%s", path); /* the process owns it */
    return allocator_add(name.data, *found, error);
}

int strategy_file_load(const char *path, struct error *error)
{
    struct text all = {0};
    const char *before = getenv(variable);
    TRY(add_file(path, error));
    text_add(&all, "%s%s%s", before ? before : "", before ? "," : "", path);
    setenv(variable, all.data, 1);
    text_free(&all);
    return 0;
}

int strategy_files_of_parent(struct error *error)
{
    const char *paths = getenv(variable);
    char path[256];
    while (paths && text_next_item(&paths, path, sizeof path))
        TRY(add_file(path, error));
    return 0;
}
