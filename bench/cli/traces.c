#include "cli/traces.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/trace.h"

static void add(struct traces *traces, unsigned *capacity, const char *path)
{
    traces->paths = arena_grow(&traces->arena, traces->paths, (unsigned)traces->count, capacity,
                               sizeof *traces->paths);
    traces->paths[traces->count++] = path;
}

static int is_trace(const struct dirent *file)
{
    const size_t length = strlen(file->d_name), suffix = strlen(TRACE_SUFFIX);
    return length > suffix && strcmp(file->d_name + length - suffix, TRACE_SUFFIX) == 0;
}

static int add_folder(struct traces *traces, unsigned *capacity, const char *folder,
                      struct error *error)
{
    struct dirent **files;
    const int count = scandir(folder, &files, is_trace, alphasort);
    if (count < 0)
        return error_set(error, ERR_IO, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        add(traces, capacity, arena_printf(&traces->arena, "%s/%s", folder, files[i]->d_name));
        free(files[i]);
    }
    free(files);
    return count ? 0
                 : error_set(error, ERR_USAGE, "%s: the folder has no file *%s", folder,
                             TRACE_SUFFIX);
}

int traces_named(const struct command_line *line, struct traces *traces, struct error *error)
{
    unsigned capacity = 0;
    *traces = (struct traces){0};
    for (size_t i = 0; i < line->positional_count; i++) {
        struct stat status;
        if (stat(line->positional[i], &status) == 0 && S_ISDIR(status.st_mode))
            TRY(add_folder(traces, &capacity, line->positional[i], error));
        else
            add(traces, &capacity, line->positional[i]);
    }
    return 0;
}

void traces_free(struct traces *traces)
{
    arena_free(&traces->arena);
    *traces = (struct traces){0};
}
