/* Facts about the folder of results and about the programs that gamut starts. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "device/host_build.h"
#include "doctor/collect.h"
#include "record/chart/gnuplot.h"

/* ---- the folder of results ------------------------------------------------------------------- */

/* The numbers by which Linux tells filesystems apart (statfs(2)). */
static const struct {
    unsigned long type;
    const char *name;
} filesystems[] = {
    {0xEF53, "ext4"},        {0x58465342, "xfs"},   {0x9123683E, "btrfs"}, {0x2FC12FC1, "zfs"},
    {0x794C7630, "overlay"}, {0x01021994, "tmpfs"}, {0x858458F6, "ramfs"}, {0x6969, "nfs"},
    {0xFF534D42, "cifs"},    {0xFE534D42, "smb2"},  {0x65735546, "fuse"},  {0x0BD00BD0, "lustre"},
    {0x47504653, "gpfs"},    {0x00C36400, "ceph"},  {0x5346414F, "afs"},   {0x01021997, "9p"},
};
enum { FILESYSTEMS = sizeof filesystems / sizeof *filesystems };

/* The nearest folder above one that is not there. */
static void go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        strcpy(path, ".");
    else
        slash[slash == path] = 0;
}

void doctor_collect_folder(const char *path, struct doctor_folder *folder)
{
    struct stat status;
    struct statfs system;
    char nearest[sizeof folder->path];
    *folder = (struct doctor_folder){.exists = true, .free_bytes = -1};
    snprintf(folder->path, sizeof folder->path, "%s", path);
    snprintf(nearest, sizeof nearest, "%s", *path ? path : ".");
    while (stat(nearest, &status) != 0 && errno == ENOENT && strcmp(nearest, ".") != 0) {
        folder->exists = false;
        go_up(nearest);
    }
    int why = stat(nearest, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
    if (!why && access(nearest, W_OK | X_OK) != 0)
        why = errno;
    if (why)
        snprintf(folder->why_not, sizeof folder->why_not, "%s", strerror(why));
    if (statfs(nearest, &system) != 0)
        return;
    folder->free_bytes = (int64_t)system.f_bavail * (int64_t)system.f_bsize;
    for (size_t i = 0; i < FILESYSTEMS; i++)
        if (filesystems[i].type == (unsigned long)system.f_type)
            snprintf(folder->filesystem, sizeof folder->filesystem, "%s", filesystems[i].name);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* The child's stdout is the pipe; the rest of what it says goes nowhere. */
static int start(char *const argv[], int output, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!failed)
        failed =
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failed)
        failed = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

bool doctor_program_version(const char *command, char *out, size_t size)
{
    enum { WORDS_MAX = 32 };
    char words[1024], *rest = words, *word, *argv[WORDS_MAX + 2];
    size_t count = 0;
    int ends[2], status = -1;
    pid_t child;
    out[0] = 0;
    snprintf(words, sizeof words, "%s", command);
    while (count < WORDS_MAX && (word = strtok_r(rest, " \t", &rest)))
        argv[count++] = word;
    argv[count] = (char *)"--version";
    argv[count + 1] = NULL;
    if (count == 0 || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    int failed = start(argv, ends[1], &child);
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    if (!failed && output && fgets(out, (int)size, output))
        out[strcspn(out, "\n")] = 0;
    while (!failed && output && fgetc(output) != EOF)
        ; /* it must not meet a closed pipe */
    if (output)
        fclose(output);
    else
        close(ends[0]);
    while (!failed && waitpid(child, &status, 0) < 0)
        failed = errno != EINTR;
    if (failed || status != 0)
        out[0] = 0;
    return *out;
}

void doctor_collect_programs(struct doctor_facts *facts)
{
    struct doctor_program *gnuplot = &facts->gnuplot, *compiler = &facts->compiler;
    snprintf(gnuplot->command, sizeof gnuplot->command, "gnuplot");
    doctor_program_version(gnuplot->command, gnuplot->version, sizeof gnuplot->version);
    struct text scripts = {0};
    gnuplot_scripts(&scripts);
    if (access(scripts.data, R_OK) == 0)
        snprintf(facts->scripts, sizeof facts->scripts, "%s", scripts.data);
    text_free(&scripts);
    const char *commands[4];
    host_compilers(commands);
    for (const char **c = commands; *c && !*compiler->version; c++) {
        const bool is_there =
            doctor_program_version(*c, compiler->version, sizeof compiler->version);
        if (is_there || !commands[1]) /* $CC alone, named also where it does not start */
            snprintf(compiler->command, sizeof compiler->command, "%s", *c);
    }
}
