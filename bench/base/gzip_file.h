/* Files that may be compressed with gzip. zlib does the work. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <zlib.h>

#include "base/error.h"
#include "base/text.h"

/* Adds the contents of a file, unpacked if its first bytes (not its name) show that gzip has
 * compressed it. The caller frees `t` in any case. ERR_IO: the system's words. ERR_PARSE: the
 * compressed file is cut off or damaged, or the contents have more than most_bytes. Every message
 * names the file. */
int gzip_read_file(struct text *t, const char *path, size_t most_bytes, struct error *error);

/* The error of the last read of `file`; 0: there was none, or the file has ended. */
int gzip_error(gzFile file, const char *path, struct error *error);

/* Writes a file atomically: a reader sees either the old or the new contents. They are compressed
 * if the name ends in ".gz". A symbolic link stays, and the file that it names is replaced. SIGINT,
 * SIGTERM and SIGHUP wait until it is done. The folder has to exist. With `only_new` ERR_EXISTS if
 * there is a file or a link at `path`, which stays. Unless `held` is NULL the file is locked with
 * flock, from before it has its name until the caller closes *held (-1 after an error); the lock is
 * missing where the file system has none. ERR_IO. */
int gzip_write_file(const char *path, const char *bytes, size_t length, bool only_new, int *held,
                    struct error *error);
