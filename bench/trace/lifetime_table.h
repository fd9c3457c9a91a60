/* The CSV that offset planners exchange, as MiniMalloc reads it: a line with the columns' names,
 * then a line a buffer.
 *
 *     id,lower,upper,size,alignment
 *     0,0,3,4096,256
 *
 * The columns id, lower, upper and size are required, in any order; alignment is optional. Lower is
 * the first time at which the buffer is needed, upper the first after that at which it is not.
 * Other columns are copied unread. A column `offset` is a plan to judge; it is not copied, and the
 * planned one is written last. A cell is quoted as a whole or not at all. Ids are compared as they
 * are written.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/text.h"

struct lifetime {
    int64_t lower, upper, size, alignment;
};

/* The most that sizes and alignments may add up to, so that no sum of two offsets overflows. */
#define LIFETIMES_SUM_MOST (INT64_MAX / 4)

struct lifetime_table {
    struct lifetime *buffers;
    int64_t *offset; /* one a buffer; NULL if there is no such column */
    size_t count;
    struct lifetime_row *header, *rows;
    size_t column_count, id_column;
    struct arena arena; /* owns all of it */
};

/* Reads a file, or `length` bytes of text that were read from `path`. Returns 0, ERR_IO, or
 * ERR_PARSE with "PATH:LINE: " for: a missing or repeated column, too many or too few cells, a cell
 * that is not a whole number of 64 bits, an end before its start, a negative size, an alignment
 * below 1, a repeated id, sizes that add up to too much. On an error there is nothing to free. */
int lifetime_table_read_file(const char *path, struct lifetime_table *table, struct error *error);
int lifetime_table_read_text(const char *path, const char *text, size_t length,
                             struct lifetime_table *table, struct error *error);

/* Adds the id of a buffer, without quotes, to a text. */
void lifetime_table_id(const struct lifetime_table *table, size_t buffer, struct text *id);

/* Writes the rows that were read, with a new column `offset` in place of an old one. */
void lifetime_table_write(const struct lifetime_table *table, const int64_t *offset, FILE *out);
/* Frees all that the table owns and empties it. */
void lifetime_table_free(struct lifetime_table *table);
