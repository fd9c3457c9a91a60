/* The one list of the kinds of files that users give to gamut: those that it reads, and those that
 * it refuses by name. A file is known by its first bytes, not by its name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct file_kind {
    const char *name;          /* "trace", "result", …; of a log the importer */
    const char *begins;        /* the first bytes, which white space and lines of # may precede */
    const char *has, *and_has; /* texts that stand after them; NULL: any */
    bool in_line;              /* they stand in the same line */
    const char *is;            /* "a zip archive …", with what reads it or what to do instead */
};

/* The kind of a file that begins with these bytes; NULL: none of the list. */
const struct file_kind *file_kind_of(const char *start, size_t length);
/* Is the file at `path`, plain or compressed with gzip, of the kind of this name? Reads at most 64
 * KiB of it. False too if it is no regular file (a pipe gives its bytes once) or cannot be read. */
bool file_is(const char *path, const char *name);
/* What is said instead of the error `code` of reading the file as a "result" or as a "program",
 * which the list has not, where the file is of another kind: ERR_PARSE with what it is. Else
 * returns `code` and leaves the error as it is. */
int file_explain(const char *path, const char *name, int code, struct error *error);
