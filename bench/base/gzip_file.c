#include "base/gzip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int gzip_error(gzFile file, const char *path, struct error *error)
{
    int code;
    const char *why = gzerror(file, &code);
    switch (code) {
    case Z_OK:
    case Z_STREAM_END:
        return 0;
    case Z_ERRNO:
        return error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    case Z_BUF_ERROR:
        return error_set(error, ERR_PARSE,
                         "%s: the compressed file ends too early: copy it again, or make it again",
                         path);
    default:
        return error_set(error, ERR_PARSE,
                         "%s: the compressed file is damaged (%s): copy it again, or make it again",
                         path, why);
    }
}

int gzip_read_file(struct text *t, const char *path, size_t most_bytes, struct error *error)
{
    gzFile file = gzopen(path, "rb");
    if (!file)
        return error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    static const unsigned buffer_bytes = 128 << 10; /* zlib's 8 KiB take a fifth longer */
    gzbuffer(file, buffer_bytes);
    const size_t start = t->length;
    char chunk[16384], most[32];
    int n, code = 0;
    text_add(t, "%s", "");
    while (!code && (n = gzread(file, chunk, sizeof chunk)) > 0) {
        text_add_bytes(t, chunk, (size_t)n);
        if (t->length - start > most_bytes)
            code =
                error_set(error, ERR_PARSE, "%s: expected at most %s%s, and there is more to read",
                          path, text_bytes(most, most_bytes), gzdirect(file) ? "" : " unpacked");
    }
    THEN(code, gzip_error(file, path, error));
    gzclose_r(file);
    return code;
}

static bool write_all(int fd, bool compressed, const char *bytes, size_t length)
{
    /* zlib's T stands for transparent: the bytes as they are. The copy of the file's number stays
     * open after zlib has closed its own, for the sync. */
    const int copy = dup(fd);
    gzFile file = copy < 0 ? NULL : gzdopen(copy, compressed ? "wb" : "wbT");
    if (!file) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    bool good = true;
    while (good && length) {
        const unsigned part = length < INT_MAX ? (unsigned)length : INT_MAX;
        good = gzwrite(file, bytes, part) == (int)part;
        bytes += part;
        length -= part;
    }
    good &= gzclose_w(file) == Z_OK;
    /* Without the sync a power cut could leave the new name on an empty file. */
    return good && (fsync(fd) == 0 || errno == EINVAL);
}

/* Follows symbolic links, also to a file that is not there yet. */
static void follow_links(const char *path, struct text *target)
{
    enum { LINKS_MOST = 40 };
    char next[PATH_MAX];
    ssize_t length;
    text_add(target, "%s", path);
    for (int i = 0; i < LINKS_MOST; i++) {
        const char *slash = strrchr(target->data, '/');
        const int folder_length = slash ? (int)(slash - target->data) + 1 : 0;
        struct text joined = {0};
        if ((length = readlink(target->data, next, sizeof next)) < 0)
            return;
        text_add(&joined, "%.*s%.*s", next[0] == '/' ? 0 : folder_length, target->data, (int)length,
                 next);
        text_free(target);
        *target = joined;
    }
}

static bool put_in_place(const char *temporary, const char *path, bool only_new)
{
    if (!only_new)
        return rename(temporary, path) == 0;
    if (link(temporary, path) == 0)
        return unlink(temporary) == 0;
    if (errno == EEXIST)
        return false;
    /* On a file system without links (FAT) the name is taken by an empty file first. */
    const int claim = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (claim < 0)
        return false;
    close(claim);
    return rename(temporary, path) == 0 || (unlink(path), false);
}

static int write_and_place(int fd, const char *temporary, const char *path, const char *bytes,
                           size_t length, bool only_new, struct error *error)
{
    const size_t name_length = strlen(path);
    const bool compressed = name_length > 3 && strcmp(path + name_length - 3, ".gz") == 0;
    if (!write_all(fd, compressed, bytes, length))
        return error_set(error, ERR_IO, "%s could not be written: %s", path, strerror(errno));
    if (put_in_place(temporary, path, only_new))
        return 0;
    return errno == EEXIST
               ? error_set(error, ERR_EXISTS, "%s exists", path)
               : error_set(error, ERR_IO, "%s could not be replaced: %s", path, strerror(errno));
}

int gzip_write_file(const char *path, const char *bytes, size_t length, bool only_new, int *held,
                    struct error *error)
{
    struct text target = {0}, temporary = {0};
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    if (only_new)
        text_add(&target, "%s", path);
    else
        follow_links(path, &target);
    text_add(&temporary, "%s.%ld.tmp", target.data, (long)getpid());
    sigprocmask(SIG_BLOCK, &signals, &before);
    int code, fd = open(temporary.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        code =
            error_set(error, ERR_IO, "%s could not be made: %s", temporary.data, strerror(errno));
    } else {
        flock(fd, LOCK_EX | LOCK_NB);
        code = write_and_place(fd, temporary.data, target.data, bytes, length, only_new, error);
        if (code)
            unlink(temporary.data);
    }
    if (fd >= 0 && (code || !held)) {
        close(fd);
        fd = -1;
    }
    if (held)
        *held = fd;
    sigprocmask(SIG_SETMASK, &before, NULL);
    text_free(&target);
    text_free(&temporary);
    return code;
}
