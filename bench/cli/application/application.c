/* Runs another program with a library of gamut inside. */
#include "cli/application/application.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
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

/* The application's processes inherit the lock: a folder without it is left of processes that were
 * all killed at once. -1: another one has it. */
static int lock_folder(const char *folder)
{
    const int low = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int lock = fcntl(low, F_DUPFD, 100); /* low numbers are the application's */
    close(low);
    if (flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock;
    close(lock);
    return -1;
}

/* What was recorded stays. A minute: a new folder has no lock yet. */
static void remove_abandoned(struct arena *arena, const char *path)
{
    glob_t found = {0};
    struct stat now;
    glob(arena_printf(arena, "%s.??????", path), GLOB_NOSORT, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const bool is_old = lstat(found.gl_pathv[i], &now) == 0 && now.st_mtime + 60 < time(NULL) &&
                            now.st_mode == (S_IFDIR | 0700) && now.st_uid == geteuid();
        const int lock = is_old ? lock_folder(found.gl_pathv[i]) : -1;
        if (lock >= 0)
            application_remove(arena, found.gl_pathv[i]);
        close(lock);
    }
    globfree(&found);
}

int application_folder(struct arena *arena, const char *path, const char **folder,
                       struct error *error)
{
    char *made = arena_printf(arena, "%s.XXXXXX", path), whole[PATH_MAX];
    remove_abandoned(arena, path);
    if (!mkdtemp(made) || !realpath(made, whole))
        return error_set(error, ERR_IO, "%s: no folder can be made beside it: %s", path,
                         strerror(errno));
    (void)lock_folder(whole);
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
    if (file)
        fprintf(file, "%s\n", library);
    return file && fclose(file) == 0 ? 0
                                     : error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
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

/* ---- the application's processes ---- */

/* The first process only waits. The second starts the application and does all else. If one of the
 * two is killed, the other goes on: no SIGKILL of one leaves files. A process whose parent ends
 * becomes a child of the nearest of the two, which so knows when the last one has ended. */

static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
static struct sigaction signals_before[sizeof signals / sizeof *signals];
static volatile sig_atomic_t child; /* gets TERM and HUP */
static int to_first = -1; /* the second tells which child it has, and with which code to end */
static bool has_others;   /* processes that outlive the application */

static void pass_on(int number)
{
    if (child > 0)
        kill((pid_t)child, number);
}

static void take_signals(bool taken)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const struct sigaction take = {.sa_handler = i < 2 ? SIG_IGN : pass_on,
                                       .sa_flags = SA_RESTART};
        sigaction(signals[i], taken ? &take : &signals_before[i],
                  taken ? &signals_before[i] : NULL);
    }
}

static void tell_first(int value)
{
    (void)!send(to_first, &value, sizeof value, MSG_NOSIGNAL);
}

/* The second process: starts the application. ERR_USAGE: it cannot be started. */
static int start(char **program, struct error *error)
{
    volatile int why = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    child = vfork();
    if (child == 0) {
        execvp(program[0], program);
        why = errno;
        _exit(127);
    }
    if (why || child < 0)
        return error_set(error, ERR_USAGE, "%s cannot be started: %s", program[0],
                         strerror(why ? why : errno));
    tell_first(child);
    return 0;
}

/* The first process: ends as the second does. If that one was killed, the application is this one's
 * child, and the function returns. */
static void watch(pid_t second, int from)
{
    int application = 0, code, status;
    child = second;
    if (read(from, &application, sizeof application) == sizeof application &&
        read(from, &code, sizeof code) == sizeof code)
        _exit(code);
    waitpid(second, &status, 0);
    if (status != SIGKILL)
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    child = application;
}

/* Processes that were killed with the application have a moment to end. */
static void wait_for_child(int *status)
{
    int one;
    pid_t id;
    while ((id = wait(&one)) > 0 && id != child)
        continue;
    *status = id > 0 ? one : SIGKILL;
    child = 0;
    for (int tries = 0; id >= 0 && tries < 100; tries++)
        if ((id = waitpid(-1, NULL, WNOHANG)) == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    has_others = id >= 0;
}

int application_run(char **program, int *status, struct error *error)
{
    int ends[2] = {-1, -1}, code = 0;
    fflush(NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const bool has_ends = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
    const pid_t second = has_ends ? fork() : -1;
    if (second < 0)
        return error_set(error, ERR_IO, "a process of gamut: %s", strerror(errno));
    close(ends[second > 0]);
    to_first = ends[1];
    if (second == 0)
        code = start(program, error);
    take_signals(true);
    if (second > 0)
        watch(second, ends[0]);
    if (!code)
        wait_for_child(status);
    take_signals(false);
    return code;
}

bool application_outlived(int code)
{
    if (has_others) {
        take_signals(true);
        tell_first(code);
        while (wait(NULL) > 0)
            continue;
    }
    return has_others;
}
