#include "results/file/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "results/file/shard.h"

/* ---- locks ----------------------------------------------------------------------------------- */

static bool is_at(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

/* Locks an open file. A run that makes the file or adds rounds to it has the lock until it ends. */
static int wait_for_lock(int fd, const char *path, bool wait, struct error *error)
{
    enum { TRIES_BEFORE_NOTE = 100 };
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return error_set(error, ERR_IO,
                             "%s could not be locked, which keeps other runs out of it: %s: copy "
                             "it to a local file system",
                             path, strerror(errno));
        if (!wait)
            return error_set(error, ERR_IO,
                             "%s is being written by another gamut: wait for it, or use another "
                             "name",
                             path);
        if (i == TRIES_BEFORE_NOTE)
            fprintf(stderr, "gamut: waiting for another gamut that writes %s\n", path);
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Locks the file that has this name. The caller closes *fd. */
static int lock_file(const char *path, bool wait, int *fd, struct error *error)
{
    struct stat status;
    for (;;) {
        /* NFS locks only what is open for writing. */
        *fd = open(path, O_RDWR | O_CLOEXEC);
        if (*fd < 0 && errno == EACCES)
            *fd = open(path, O_RDONLY | O_CLOEXEC);
        if (*fd < 0)
            return error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
        int code = fstat(*fd, &status) == 0 && S_ISREG(status.st_mode)
                       ? wait_for_lock(*fd, path, wait, error)
                       : error_set(error, ERR_IO, "%s is no plain file", path);
        if (!code && is_at(*fd, path))
            return 0;
        close(*fd); /* replaced by the process that had the lock */
        if (code)
            return code;
    }
}

/* ---- a new file ------------------------------------------------------------------------------ */

int result_file_check(const char *path, bool replace, struct error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return 0;
    if (!S_ISREG(status.st_mode))
        return error_set(error, ERR_IO, "%s is no plain file: use another name", path);
    return replace ? 0
                   : error_set(error, ERR_IO,
                               "%s exists: use --force to replace it, or another name", path);
}

/* Writes the file and keeps its lock instead of that of the file that it replaces. */
static int write_and_hold(struct result_file *file, struct result_draft *draft, const char *path,
                          bool only_new, struct error *error)
{
    int held;
    TRY(draft_write_held(draft, path, only_new, &held, error));
    if (file->is_held)
        close(file->held);
    file->held = held;
    file->is_held = true;
    return 0;
}

int result_file_create(struct result_file *file, struct result_draft *draft, const char *path,
                       bool replace, struct error *error)
{
    struct stat status;
    int older = -1;
    TRY(result_file_check(path, replace, error));
    const bool is_there = lstat(path, &status) == 0;
    if (stat(path, &status) == 0)
        TRY(lock_file(path, false, &older, error));
    int code = write_and_hold(file, draft, path, !(replace && is_there), error);
    if (older >= 0)
        close(older);
    if (code == ERR_EXISTS)
        code =
            error_set(error, ERR_IO, "%s exists: use --force to replace it, or another name", path);
    if (!code)
        text_add(&file->path, "%s", path);
    return code;
}

/* Adds "_02" to a name before its suffixes: a list of names stays in the order of time. */
static void add_numbered(struct text *out, const char *path, unsigned number)
{
    const char *name = text_file_name(path);
    const char *dot = *name ? strchr(name + 1, '.') : NULL;
    const size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    if (number > 1)
        text_add(out, "%.*s_%02u%s", (int)stem, path, number, path + stem);
    else
        text_add(out, "%s", path);
}

/* Writes a file with this name, or the first number that makes it new. */
static int create_numbered(struct result_file *file, struct result_draft *draft, const char *path,
                           struct error *error)
{
    int code = ERR_EXISTS;
    for (unsigned number = 1; code == ERR_EXISTS; number++) {
        struct text name = {0};
        add_numbered(&name, path, number);
        code = write_and_hold(file, draft, name.data, true, error);
        if (code) {
            text_free(&name);
        } else {
            text_free(&file->path);
            file->path = name;
        }
    }
    return code;
}

int result_file_create_in(struct result_file *file, struct result_draft *draft, const char *folder,
                          struct error *error)
{
    struct text path = {0};
    result_path(&draft->result, folder, &path);
    int code = create_numbered(file, draft, path.data, error);
    text_free(&path);
    return code;
}

/* ---- rounds that are added ------------------------------------------------------------------- */

static int continue_locked(struct result_draft *draft, const char *path, const struct result *like,
                           unsigned rounds, struct error *error)
{
    struct result loaded;
    TRY(result_open(path, &loaded, error));
    if (strcmp(loaded.run.id, like->run.id) != 0) {
        result_release(&loaded);
        return error_set(error, ERR_USAGE, "%s: the file of another run has taken its place", path);
    }
    int code = draft_continue(draft, &loaded, rounds, error);
    if (code)
        error_prefix(error, "%s: ", path);
    return code;
}

int result_file_continue(struct result_file *file, struct result_draft *draft, const char *path,
                         const struct result *like, unsigned rounds, struct error *error)
{
    int fd;
    TRY(lock_file(path, true, &fd, error));
    int code = continue_locked(draft, path, like, rounds, error);
    THEN(code, write_and_hold(file, draft, path, false, error));
    close(fd);
    if (!code)
        text_add(&file->path, "%s", path);
    return code;
}

/* ---- a shard that was interrupted ------------------------------------------------------------ */

static int check_shard(const char *path, const struct result *loaded, const struct result *ours,
                       struct error *error)
{
    const struct result_shard *a = loaded->run.shard, *b = ours->run.shard;
    int code = a ? shard_check_alike(loaded, ours, error)
                 : error_set(error, ERR_USAGE, "it was made without --shard");
    if (!code && (a->number != b->number || a->own != b->own))
        code = error_set(error, ERR_USAGE, "it is shard %u, this one is shard %u", a->number,
                         b->number);
    if (code) {
        error_prefix(error, "%s cannot be gone on with: ", path);
        error_suffix(error, ": use another name, or --force to replace it");
    }
    return code;
}

/* Takes `loaded`. */
static int go_on(struct result_draft *draft, struct result *loaded, unsigned *first_round,
                 struct error *error)
{
    const unsigned planned = loaded->run.rounds;
    struct text machine = {0};
    shard_machine(loaded, &machine);
    *first_round = machine.length ? result_drop_unfinished(loaded) : 0;
    text_free(&machine);
    draft_free(draft);
    const unsigned done = result_rounds(loaded);
    return draft_continue(draft, loaded, planned > done ? planned - done : 0, error);
}

int result_file_resume(struct result_file *file, struct result_draft *draft, const char *path,
                       unsigned *first_round, struct error *error)
{
    struct result loaded;
    int fd;
    *first_round = 0;
    TRY(lock_file(path, false, &fd, error));
    int code = result_open(path, &loaded, error);
    THEN(code, check_shard(path, &loaded, &draft->result, error));
    const bool is_same = !code && shard_same_machine(&draft->result, &loaded);
    if (is_same) {
        code = go_on(draft, &loaded, first_round, error);
        file->held = fd;
        file->is_held = true;
        text_add(&file->path, "%s", path);
    } else {
        close(fd);
    }
    result_release(&loaded);
    if (code || is_same)
        return code;
    fprintf(stderr, "gamut: %s is of another machine: its rounds are dropped\n", path);
    return result_file_create(file, draft, path, true, error);
}

/* ---- saving ---------------------------------------------------------------------------------- */

int result_file_save(struct result_file *file, struct result_draft *draft, struct error *error)
{
    struct stat status;
    const char *path = file->path.data;
    if (!file->path.length)
        return 0;
    const bool is_gone = stat(path, &status) != 0 && errno == ENOENT;
    if (!is_gone && !is_at(file->held, path))
        return error_set(error, ERR_USAGE, "%s: the file of another run has taken its place", path);
    return write_and_hold(file, draft, path, is_gone, error);
}

int result_file_move(struct result_file *file, struct result_draft *draft, struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    const char *const folders[] = {temporary && *temporary ? temporary : "/tmp", "."};
    const char *name = text_file_name(file->path.data);
    int code = ERR_IO;
    for (size_t i = 0; code && i < sizeof folders / sizeof *folders; i++) {
        struct text path = {0};
        text_add(&path, "%s/%s", folders[i], name);
        code = create_numbered(file, draft, path.data, error);
        text_free(&path);
    }
    file->has_moved |= !code;
    return code;
}

void result_file_close(struct result_file *file)
{
    if (file->is_held)
        close(file->held);
    text_free(&file->path);
    *file = (struct result_file){0};
}
