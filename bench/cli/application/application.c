/* Runs another program with a library of gamut inside. */
#include "cli/application/application.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"

const char *application_library(struct arena *arena, const char *name)
{
    static const char *const places[] = {"", "../lib/gamut/"};
    char program[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    const char *slash = strrchr(program, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        const char *path =
            arena_printf(arena, "%.*s/%s%s", (int)(slash - program), program, places[i], name);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

int application_folder(struct arena *arena, const char *path, const char **folder,
                       struct error *error)
{
    char *made = arena_printf(arena, "%s.XXXXXX", path), whole[PATH_MAX];
    if (!mkdtemp(made) || !realpath(made, whole))
        return error_set(error, ERR_IO, "%s: %s", made, strerror(errno));
    *folder = arena_printf(arena, "%s", whole);
    return 0;
}

/* A folder that names the library as the only driver. */
static int write_vendors(struct arena *arena, const char *library, const char *folder,
                         const char **vendors, struct error *error)
{
    *vendors = arena_printf(arena, "%s/vendors", folder);
    const char *path = arena_printf(arena, "%s/gamut.icd", *vendors);
    FILE *file = mkdir(*vendors, 0777) == 0 ? fopen(path, "we") : NULL;
    if (!file)
        return error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    fprintf(file, "%s\n", library);
    return fclose(file) == 0 ? 0 : error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
}

/* Puts the library in front of what a variable has. */
static void put_first(struct arena *arena, const char *variable, const char *library)
{
    const char *old = getenv(variable);
    setenv(variable, old && *old ? arena_printf(arena, "%s:%s", library, old) : library, 1);
}

/* Whether the loader of OpenCL that programs find on this machine knows layers. Where it does not,
 * it may also take its drivers from elsewhere (OCL_ICD_FILENAMES, as in NVIDIA's containers).
 * Without a loader: yes, because the application may bring its own. */
static bool loader_has_layers(void)
{
    void *loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
    struct link_map *map = NULL;
    FILE *file =
        loader && dlinfo(loader, RTLD_DI_LINKMAP, &map) == 0 ? fopen(map->l_name, "re") : NULL;
    bool has = !file;
    char *text = NULL;
    size_t size = 0;
    /* The name of a variable ends with a zero. */
    while (file && !has && getdelim(&text, &size, 0, file) >= 0)
        has = strcmp(text, "OPENCL_LAYERS") == 0;
    free(text);
    if (file)
        fclose(file);
    if (loader)
        dlclose(loader);
    return has;
}

int application_inject(struct arena *arena, const char *library, enum application_via via,
                       const char *folder, struct error *error)
{
    const char *vendors = getenv("OCL_ICD_VENDORS");
    if (vendors && *vendors)
        setenv("GAMUT_OPENCL_VENDORS", vendors, 1);
    if (via == APPLICATION_VIA_PRELOAD || (via == APPLICATION_VIA_AUTO && !loader_has_layers())) {
        put_first(arena, "LD_PRELOAD", library);
        return 0;
    }
    if (via != APPLICATION_VIA_ICD)
        put_first(arena, "OPENCL_LAYERS", library);
    if (via == APPLICATION_VIA_LAYER)
        return 0;
    TRY(write_vendors(arena, library, folder, &vendors, error));
    setenv("OCL_ICD_VENDORS", vendors, 1);
    return 0;
}

bool application_remove(struct arena *arena, const char *folder)
{
    unlink(arena_printf(arena, "%s/vendors/gamut.icd", folder));
    rmdir(arena_printf(arena, "%s/vendors", folder));
    return rmdir(folder) == 0;
}

int application_exit_code(int status, int code, const struct error *error)
{
    const int own = code ? report_error(error) : EXIT_OK;
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    return WEXITSTATUS(status)       ? WEXITSTATUS(status)
           : code == ERR_UNSUPPORTED ? EXIT_NOTHING_RAN
                                     : own;
}

static volatile sig_atomic_t child;

static void pass_on(int number)
{
    if (child > 0)
        kill((pid_t)child, number);
}

int application_run(char **program, int *status, struct error *error)
{
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0)
        return error_set(error, ERR_IO, "a pipe: %s", strerror(errno));
    static const int signals[] = {SIGINT, SIGQUIT, SIGTERM,
                                  SIGHUP}; /* two ignored, two passed on */
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = pass_on};
    struct sigaction old[4];
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &ignore, &old[i]);
    const pid_t id = fork();
    if (id == 0) {
        for (int i = 0; i < 2; i++)
            sigaction(signals[i], &old[i], NULL);
        execvp(program[0], program);
        const int why = errno;
        if (write(failure[1], &why, sizeof why) < 0)
            _exit(126);
        _exit(127);
    }
    child = id;
    for (int i = 2; i < 4; i++)
        sigaction(signals[i], &pass, &old[i]);
    close(failure[1]);
    int why = 0;
    const bool failed = id > 0 && read(failure[0], &why, sizeof why) == sizeof why;
    close(failure[0]);
    while (id > 0 && waitpid(id, status, 0) < 0 && errno == EINTR)
        continue;
    child = 0;
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &old[i], NULL);
    if (failed)
        *status = 0;
    if (id < 0 || failed)
        return error_set(error, ERR_USAGE, "%s cannot be started: %s", program[0],
                         strerror(failed ? why : errno));
    return 0;
}
