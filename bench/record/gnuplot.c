#include "record/gnuplot.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/tree.h"

void gnuplot_name(const char *folder, const char *chart, const char *device, const char *strategy,
                  struct text *out)
{
    text_add(out, "%s/%s-%s%s%s", folder, chart, device, strategy ? "-" : "",
             strategy ? strategy : "");
    for (char *c = out->data + strlen(folder) + 1; *c; c++)
        *c = strchr(":/ |=", *c) ? '-' : *c;
}

void gnuplot_caption(const json_t *root, const char *id, struct text *out)
{
    const json_t *run = json_object_get(root, "run"), *context = json_object_get(root, "context");
    const json_t *tool = json_object_get(context, "tool"), *device;
    const char *rev = tree_get_text(tool, "git_rev");
    for (size_t i = 0; (device = json_array_get(json_object_get(context, "devices"), i)); i++) {
        if (strcmp(tree_get_text(device, "id"), id) != 0)
            continue;
        const char *driver = tree_get_text(device, "driver");
        text_add(out, "%s (%s)%s%s, ", tree_get_text(device, "name"), id,
                 *driver ? ", driver " : "", driver);
    }
    text_add(out, "rev %.12s%s, %.0f %s, %.10s", *rev ? rev : "unknown",
             json_is_true(json_object_get(tool, "git_dirty")) ? "-dirty" : "",
             tree_get_number(run, "rounds"),
             tree_get_number(run, "rounds") == 1 ? "round" : "rounds",
             tree_get_text(run, "started_at"));
}

void gnuplot_variable(struct text *out, const char *name, const char *text)
{
    text_add(out, "%s='", name);
    for (; *text; text++)
        text_add(out, *text == '\'' ? "''" : "%c", *text);
    text_add(out, "'; ");
}

void gnuplot_scripts(struct text *folder)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    const char *binary_folder = dirname(path);
    text_add(folder, "%s/../plots", binary_folder);
    if (access(folder->data, F_OK) == 0)
        return;
    folder->length = 0;
    text_add(folder, "%s/../share/gamut/plots", binary_folder);
}

int gnuplot_run(const char *variables, const char *script, const char *data, struct error *error)
{
    char *const argv[] = {
        "gnuplot", "--default-settings", "-e", (char *)variables, (char *)script, NULL,
    };
    pid_t child;
    int status = 0, rc = posix_spawnp(&child, "gnuplot", NULL, NULL, argv, environ);
    while (rc == 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return error_set(error, ERR_IO, "gnuplot was lost: %s", strerror(errno));
    /* A missing program may also show as a child that exits with 127. */
    if (rc == ENOENT || (rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127))
        return error_set(error, ERR_UNSUPPORTED,
                         "gnuplot is not installed, so %s was not drawn: install it (apt install "
                         "gnuplot-nox) and try again",
                         data);
    if (rc)
        return error_set(error, ERR_IO, "gnuplot could not be started: %s", strerror(rc));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(error, ERR_IO, "gnuplot failed on %s with %s; it says why above", script,
                         data);
    return 0;
}
