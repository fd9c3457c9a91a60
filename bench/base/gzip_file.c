#include "base/gzip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static int read_error(gzFile file, const char *path, struct error *error)
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
    if (!code)
        code = read_error(file, path, error);
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

int gzip_replace_file(const char *path, const char *bytes, size_t length, struct error *error)
{
    struct text temporary = {0};
    text_add(&temporary, "%s.%ld.tmp", path, (long)getpid());
    const size_t name_length = strlen(path);
    const bool compressed = name_length > 3 && strcmp(path + name_length - 3, ".gz") == 0;
    int code = 0;
    const int fd = open(temporary.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        code =
            error_set(error, ERR_IO, "%s could not be made: %s", temporary.data, strerror(errno));
    } else {
        if (!write_all(fd, compressed, bytes, length))
            code = error_set(error, ERR_IO, "%s could not be written: %s", path, strerror(errno));
        if (close(fd) != 0 && !code)
            code = error_set(error, ERR_IO, "%s could not be written: %s", path, strerror(errno));
        if (!code && rename(temporary.data, path) != 0)
            code = error_set(error, ERR_IO, "%s could not be replaced: %s", path, strerror(errno));
        if (code)
            unlink(temporary.data);
    }
    text_free(&temporary);
    return code;
}
