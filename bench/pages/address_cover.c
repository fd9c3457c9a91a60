#include "pages/history.h"

#include <string.h>

#include "base/sort.h"
#include "base/tree.h"

static void begin_column(struct address_cover *c)
{
    memcpy(c->most[c->count++], c->used, sizeof c->used);
}

void cover_open(struct address_cover *c)
{
    memset(c, 0, sizeof *c);
    c->stride = c->row_bytes = 1;
    begin_column(c);
}

/* ---- fewer columns, fewer rows --------------------------------------------------------------- */

static void join_columns(struct address_cover *c)
{
    for (size_t i = 0; i < COVER_COLUMNS; i += 2)
        for (size_t r = 0; r < COVER_ROWS; r++)
            c->most[i / 2][r] = larger(c->most[i][r], c->most[i + 1][r]);
    c->count /= 2;
    c->stride *= 2;
}

static void join_rows_of(uint64_t rows[COVER_ROWS])
{
    for (size_t r = 0; r < COVER_ROWS; r++)
        rows[r] = 2 * r < COVER_ROWS ? rows[2 * r] + rows[2 * r + 1] : 0;
}

static void join_rows(struct address_cover *c)
{
    join_rows_of(c->used);
    for (size_t i = 0; i < c->count; i++)
        join_rows_of(c->most[i]);
    c->row_bytes *= 2;
}

void cover_advance(struct address_cover *c, uint64_t step)
{
    while (step / c->stride >= c->count) {
        if (c->count == COVER_COLUMNS)
            join_columns(c);
        else
            begin_column(c);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

void cover_use(struct address_cover *c, uint64_t address, uint64_t bytes, bool begins)
{
    const uint64_t end = address + bytes;
    c->top_bytes = larger(c->top_bytes, end);
    while (end > COVER_ROWS * c->row_bytes)
        join_rows(c);
    for (uint64_t r = address / c->row_bytes; r < COVER_ROWS && r * c->row_bytes < end; r++) {
        const uint64_t low = r * c->row_bytes, high = low + c->row_bytes;
        const uint64_t part = (end < high ? end : high) - larger(address, low);
        uint64_t *most = &c->most[c->count - 1][r];
        c->used[r] += begins ? part : -part;
        *most = larger(*most, c->used[r]);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* The digit of a share of a row: fourteenths, rounded up; f is all of it. */
static char digit_of(uint64_t bytes, uint64_t row_bytes)
{
    static const char digits[] = "0123456789abcdef";
    enum { PARTS = 14 };
    if (bytes >= row_bytes)
        return digits[PARTS + 1];
    const double level = (double)bytes / (double)row_bytes * PARTS;
    const int whole = (int)level;
    return digits[whole < level ? whole + 1 : whole];
}

json_t *cover_to_json(const struct address_cover *c)
{
    json_t *most = tree_array();
    char text[COVER_COLUMNS + 1];
    for (uint64_t r = 0; r * c->row_bytes < c->top_bytes; r++) {
        for (size_t i = 0; i < c->count; i++)
            text[i] = digit_of(c->most[i][r], c->row_bytes);
        text[c->count] = 0;
        tree_append(most, tree_text(text));
    }
    return tree_pack("{s:o, s:o, s:o}", "stride", tree_count(c->stride), "row_bytes",
                     tree_count(c->row_bytes), "most", most);
}
