#include "device/host_build.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"

extern char **environ;

enum { ARGUMENTS_MAX = 48 };

static const char source_file[] = "kernels.c";
static const char library_file[] = "kernels.so";
static const char log_file[] = "log";

/* Contraction is off because the other devices round after each operation too. Kernels never look
 * at errno, which without its flag would keep sqrtf from being vectorised. */
static const char *const flags[] = {
    "-std=gnu11",      "-O3",       "-march=native", "-ffp-contract=off",
    "-fno-math-errno", "-fPIC",     "-shared",       "-o",
    library_file,      source_file, "-lm",
};

static void path_in(char path[PATH_MAX], const char *folder, const char *file)
{
    snprintf(path, PATH_MAX, "%s/%s", folder, file);
}

static int write_text(const char *folder, const char *text, struct error *error)
{
    char path[PATH_MAX];
    path_in(path, folder, source_file);
    FILE *file = fopen(path, "w");
    if (!file)
        return error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    int failed = fputs(text, file) < 0;
    failed |= fclose(file) != 0;
    return failed ? error_set(error, ERR_IO, "%s: %s", path, strerror(errno)) : 0;
}

/* Runs the compiler, a command of one or more words, in the folder; its messages go to the log.
 * Returns errno's value if it could not be started, else 0 and its wait status. */
static int run_compiler(const char *command, const char *folder, int *status)
{
    char words[1024], *rest = words, *word;
    char *arguments[ARGUMENTS_MAX];
    size_t count = 0;
    snprintf(words, sizeof words, "%s", command);
    arguments[count++] = strtok_r(rest, " \t", &rest);
    if (!arguments[0])
        return ENOENT;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        arguments[count++] = (char *)flags[i];
    /* The user's own flags come last, so that they win: CC="gcc -march=x86-64-v3". */
    while (count + 1 < ARGUMENTS_MAX && (word = strtok_r(rest, " \t", &rest)))
        arguments[count++] = word;
    arguments[count] = NULL;

    /* Run inside the folder, so that the log names the file without the folder's random name. */
    posix_spawn_file_actions_t actions;
    TRY(posix_spawn_file_actions_init(&actions));
    pid_t child;
    int failed = posix_spawn_file_actions_addchdir_np(&actions, folder);
    THEN(failed, posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log_file,
                                                  O_WRONLY | O_CREAT | O_TRUNC, 0600));
    THEN(failed, posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO));
    THEN(failed, posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ));
    posix_spawn_file_actions_destroy(&actions);
    TRY(failed);
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR)
            return errno;
    /* An emulated spawn of a command that does not exist shows up as a shell's exit code. */
    return WIFEXITED(*status) && WEXITSTATUS(*status) == 127 ? ENOENT : 0;
}

/* The message for a compiler that printed none. Its messages and its own files go to
 * the folder's disk, so the usual reason is that this is full. Some of it may be free again. */
static int compiler_was_silent(const char *name, const char *compiler, const char *folder,
                               struct error *error)
{
    enum { LITTLE_BYTES = 1 << 20 };
    char left[32];
    struct statvfs disk;
    const uint64_t free_bytes =
        statvfs(folder, &disk) ? UINT64_MAX : (uint64_t)disk.f_bavail * disk.f_frsize;
    if (free_bytes > LITTLE_BYTES)
        return error_set(error, ERR_BUILD,
                         "%s: the kernels did not compile with %s, which said nothing", name,
                         compiler);
    return error_set(
        error, ERR_BUILD,
        "%s: the kernels did not compile with %s: the disk of %s has %s free, which is "
        "too little; set TMPDIR to a folder with more",
        name, compiler, folder, text_bytes(left, free_bytes));
}

static int compiler_failed(const char *name, const char *compiler, const char *folder,
                           struct error *error)
{
    char path[PATH_MAX], messages[3500] = "";
    path_in(path, folder, log_file);
    FILE *file = fopen(path, "r");
    if (file) {
        messages[fread(messages, 1, sizeof messages - 1, file)] = 0;
        fclose(file);
    }
    if (!messages[0])
        return compiler_was_silent(name, compiler, folder, error);
    return error_set(error, ERR_BUILD, "%s: the kernels did not compile with %s:\n%s", name,
                     compiler, messages);
}

void host_compilers(const char *commands[4])
{
    static const char *const usual[4] = {"cc", "gcc", "clang", NULL};
    const char *chosen = getenv("CC");
    memcpy(commands, usual, sizeof usual);
    if (chosen && *chosen) {
        commands[0] = chosen;
        commands[1] = NULL;
    }
}

static int compile_text(const char *name, const char *folder, struct error *error)
{
    const char *chosen = getenv("CC"), *commands[4];
    host_compilers(commands);
    for (const char **c = commands; *c; c++) {
        int status, failed = run_compiler(*c, folder, &status);
        if (failed == ENOENT)
            continue;
        if (failed)
            return error_set(error, ERR_IO, "%s: running the C compiler %s: %s", name, *c,
                             strerror(failed));
        return status == 0 ? 0 : compiler_failed(name, *c, folder, error);
    }
    if (chosen && *chosen)
        return error_set(error, ERR_UNSUPPORTED,
                         "%s: the host device compiles these kernels with $CC, but there is no "
                         "'%s': unset CC or install that compiler",
                         name, chosen);
    return error_set(error, ERR_UNSUPPORTED,
                     "%s: the host device needs a C compiler for kernels that are not built in, "
                     "and there is no cc, gcc or clang: install one (Debian: apt install gcc "
                     "libc6-dev), or set CC",
                     name);
}

static int load_library(const char *name, const char *folder, void **library, struct error *error)
{
    char path[PATH_MAX];
    path_in(path, folder, library_file);
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library)
        return error_set(error, ERR_BUILD, "%s: loading the compiled kernels: %s", name, dlerror());
    return 0;
}

static void remove_folder(const char *folder)
{
    const char *files[] = {source_file, library_file, log_file};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[PATH_MAX];
        path_in(path, folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

int host_build(const char *name, const char *text, void **library, struct error *error)
{
    const char *parent = getenv("TMPDIR");
    char folder[PATH_MAX / 2];
    snprintf(folder, sizeof folder, "%s/gamut-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        return error_set(error, ERR_IO, "%s: a folder to compile in (%s): %s", name, folder,
                         strerror(errno));
    int code = write_text(folder, text, error);
    THEN(code, compile_text(name, folder, error));
    THEN(code, load_library(name, folder, library, error));
    remove_folder(folder); /* the loaded library stays mapped */
    return code;
}
