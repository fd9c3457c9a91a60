#include "merge/pack_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct cell {
    const char *text;
    size_t length;
};

struct pack_row {
    unsigned line;
    struct cell *cells;
};

enum column { COLUMN_ID, COLUMN_LOWER, COLUMN_UPPER, COLUMN_SIZE, COLUMN_ALIGNMENT, COLUMN_COUNT };
static const char *const column_names[COLUMN_COUNT] = {"id", "lower", "upper", "size", "alignment"};
enum { ABSENT = -1 };

struct reader {
    const char *path, *next, *end;
    unsigned line; /* of the row that was read last */
    int at[COLUMN_COUNT];
    struct pack_table *table;
    struct error *error;
};

/* The cells of longest lines in messages are cut here. */
#define CELL_FORMAT          "%.*s"
#define CELL_ARGUMENTS(cell) ((cell)->length > 40 ? 40 : (int)(cell)->length), (cell)->text

static bool cell_is(const struct cell *cell, const char *name)
{
    return cell->length == strlen(name) && memcmp(cell->text, name, cell->length) == 0;
}

static int by_text(const struct cell *a, const struct cell *b)
{
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return memcmp(a->text, b->text, a->length);
}

/* The end of the cell at `text`; NULL if its quote has no end. */
static const char *cell_end(const char *text, const char *end)
{
    if (text < end && *text == '"') {
        for (text++; text < end; text++)
            if (*text == '"' && (text + 1 == end || *++text != '"'))
                return *text == '"' ? text + 1 : text;
        return NULL;
    }
    while (text < end && *text != ',')
        text++;
    return text;
}
