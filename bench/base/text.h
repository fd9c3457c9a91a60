/* Text: buffers that grow, sizes with units, globs, and the nearest match for a misspelt name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* A text that grows; {0} is the empty text. `data` is NULL or NUL-terminated. Free with text_free.
 */
struct text {
    char *data;
    size_t length, capacity;
};
/* Adds a formatted text. */
void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds bytes as they are. */
void text_add_bytes(struct text *t, const char *bytes, size_t length);
/* Adds a word of a command, quoted where a shell would read it otherwise. */
void text_add_word(struct text *t, const char *word);
/* Frees the buffer; the text is empty afterwards. */
void text_free(struct text *t);
/* Files are read whole, up to this size. The largest result file that is kept has 8 MB, a program
 * with 10 MB of data takes seconds to parse, and a tree of JSON takes 20 times its text: what is
 * larger is a mistake, such as /dev/zero or a pipe without an end, and would fill the host. */
#define TEXT_MOST_BYTES ((size_t)128 << 20)
/* Adds the contents of a file. ERR_IO with the path and the system's words; ERR_PARSE if it has
 * more than TEXT_MOST_BYTES. The caller frees `t` in any case. */
int text_read_file(struct text *t, const char *path, struct error *error);
/* Adds the path of a folder that belongs to gamut, independent of the current folder: NAME/ in the
 * tree for a binary in its build folder, ../share/gamut/NAME for one that was installed in bin/.
 * The folder may be missing. */
void text_own_folder(struct text *t, const char *name);
/* Writes the text as the whole contents of a file. ERR_IO with the path and the system's words. */
int text_write_file(const struct text *t, const char *path, struct error *error);
/* The name of a file without its folders: a part of `path`. */
const char *text_file_name(const char *path);
/* Makes the folders that lead to `path` and are missing. ERR_IO. */
int text_make_folders(const char *path, struct error *error);

/* "64MiB", "4k", "1.5GB", "123" -> bytes. k, M, G and T count by 1024, and kB, MB, ... by 1000,
 * in capitals or small letters. False if it is not a size. */
bool text_to_bytes(const char *text, uint64_t *bytes);
/* "2s", "150ms", "20us" or "20µs", "3m" (minutes), "0" -> nanoseconds. False if it is not a time;
 * any number but 0 needs its unit. */
bool text_to_ns(const char *text, uint64_t *ns);
/* "123" -> 123. False if it is not a decimal integer and nothing else. */
bool text_to_u64(const char *text, uint64_t *value);
/* Flushes stdout, or a stream in its place. ERR_IO: something that was printed was not written. */
int text_flush(FILE *out, struct error *error);
/* "2026-11-25T08:30:00Z" -> seconds since 1970; NaN if it is no such text. */
double text_to_seconds(const char *date);

/* Writes a size for people: "1.50 MiB". Returns `out`. */
char *text_bytes(char out[32], uint64_t bytes);
/* The same, with the bytes where rounding hides some: "2.00 MiB (2097151 B)". For messages that
 * compare sizes. */
char *text_bytes_exact(char out[64], uint64_t bytes);
/* Writes a time for people: "2.31 ms". Returns `out`. */
char *text_ns(char out[32], double ns);
/* Writes percent with two digits, or all before the point: "0.12 %", "160 %", "<0.001 %". Returns
 * `out`. */
char *text_percent(char out[32], double percent);

/* Writes a number of things: "1 round", "3 rounds". Returns `out`. */
char *text_count(char out[48], double count, const char *thing);

/* Whether a pattern with * and ?, as in a shell, matches the whole name. */
bool text_glob(const char *pattern, const char *name);

/* The index of the name with the smallest edit distance to `word`, or -1 if all are too different.
 * `name(context, i)` returns the i-th name, NULL after the last. */
int text_nearest(const char *word, const char *(*name)(void *context, size_t i), void *context);
/* Defines such a function for a table of `count` items; `text` is the name of item i. */
#define TEXT_NAMES(function, count, text)                                                          \
    static const char *function(void *context, size_t i)                                           \
    {                                                                                              \
        return i < (count) ? (text) : NULL;                                                        \
    }

/* Rows of a list X(name, sentence): its names, its sentences, and both, as texts between braces. */
#define TEXT_NAME(name, ...)          #name,
#define TEXT_SENTENCE(name, sentence) sentence,
#define TEXT_BOTH(name, sentence)     {#name, sentence},

/* The bytes before the first character of `stops` that is not between braces; the whole length if
 * there is none. Braces keep an option's value together: "conf={a:1,b:2}:kind=device". */
size_t text_span(const char *text, const char *stops);

/* Copies the next item of a comma list, which text_span parts, to `item`, cut to size - 1 bytes,
 * and moves *list past it. False at the end of the list. */
bool text_next_item(const char **list, char *item, size_t size);

/* Whether one of the patterns (text_glob) of a comma list matches the name. */
bool text_is_listed(const char *list, const char *name);

/* Sets ERR_USAGE for a word that is none of these names: "there is no strategy 'pol' (did you mean
 * pool?); there are: raw, pool". The formatted text stands before the word. */
int text_unknown(struct error *error, const char *word,
                 const char *(*name)(void *context, size_t i), void *context, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));
