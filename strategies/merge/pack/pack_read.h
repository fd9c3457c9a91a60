/* The CSV that offset planners exchange: a line with the names of the columns, then one a buffer.
 *
 *     id,lower,upper,size,alignment
 *     0,0,3,4096,256
 *
 * id, lower, upper and size must be there, in any order; alignment may be. Lower is the first time
 * at which the buffer is needed, upper the first at which it is not. Other columns are kept as they
 * are and mean nothing, but for `offset`: the one read is dropped, the planned one comes last.
 * Cells may be quoted if that is all there is in them; ids are compared as they are written.
 */
#ifndef GAMUT_MERGE_PACK_READ_H
#define GAMUT_MERGE_PACK_READ_H

#include <stdio.h>

#include "base/arena.h"
#include "merge/pack/pack.h"

struct pack_table {
    struct pack_buffer *buffers;
    size_t count;
    struct pack_row *header, *rows;
    size_t column_count;
    struct arena arena; /* owns all of it */
};

/* 0, ERR_IO, or ERR_PARSE and "PATH:LINE: ": a column that is missing or there twice, cells too
 * many or too few, what is not a whole number of 64 bits, an end before its start, a negative size,
 * an alignment below 1, an id that was there before, sizes that add up to too much. On an error
 * there is nothing to free. */
int pack_read_file(const char *path, struct pack_table *table, struct error *error);
int pack_read_text(const char *path, const char *text, size_t length, struct pack_table *table,
                   struct error *error);

/* The same rows with the offsets: what was read but for an old `offset`, and a new one. */
void pack_write(const struct pack_table *table, const int64_t *offset, FILE *out);
void pack_table_free(struct pack_table *table);

#endif
