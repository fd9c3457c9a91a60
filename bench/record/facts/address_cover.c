#include "record/facts/address_cover.h"

#include <string.h>

#include "base/tree.h"

static void begin_column(struct address_cover *c)
{
    struct cover_cell *column = c->cells[c->count++];
    for (size_t r = 0; r < COVER_ROWS; r++)
        column[r] = (struct cover_cell){c->used[r], c->used[r], c->held[r]};
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
        for (size_t r = 0; r < COVER_ROWS; r++) {
            struct cover_cell cell = c->cells[i][r];
            const struct cover_cell *other = &c->cells[i + 1][r];
            cell.least = other->least < cell.least ? other->least : cell.least;
            cell.most = other->most > cell.most ? other->most : cell.most;
            cell.held = other->held > cell.held ? other->held : cell.held;
            c->cells[i / 2][r] = cell;
        }
    c->count /= 2;
    c->stride *= 2;
}

static void join_rows(struct address_cover *c)
{
    for (size_t r = 0; r < COVER_ROWS; r++) {
        const bool exists = 2 * r + 1 < COVER_ROWS;
        c->used[r] = exists ? c->used[2 * r] + c->used[2 * r + 1] : 0;
        c->held[r] = exists ? c->held[2 * r] + c->held[2 * r + 1] : 0;
        for (size_t i = 0; i < c->count; i++) {
            const struct cover_cell *below = &c->cells[i][exists ? 2 * r : 0], *above = below + 1;
            c->cells[i][r] =
                exists ? (struct cover_cell){below->least + above->least, below->most + above->most,
                                             below->held + above->held}
                       : (struct cover_cell){0};
        }
    }
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

/* ---- blocks and memories --------------------------------------------------------------------- */

/* The rows of an address range: calls for each with the bytes in it. */
static void change(struct address_cover *c, uint64_t address, uint64_t bytes, bool begins,
                   uint64_t now[COVER_ROWS])
{
    const uint64_t end = address + bytes;
    c->top_bytes = end > c->top_bytes ? end : c->top_bytes;
    while (end > COVER_ROWS * c->row_bytes)
        join_rows(c);
    for (uint64_t r = address / c->row_bytes; r < COVER_ROWS && r * c->row_bytes < end; r++) {
        const uint64_t low = r * c->row_bytes, high = low + c->row_bytes;
        const uint64_t part = (end < high ? end : high) - (address > low ? address : low);
        struct cover_cell *cell = &c->cells[c->count - 1][r];
        now[r] += begins ? part : -part;
        cell->least = c->used[r] < cell->least ? c->used[r] : cell->least;
        cell->most = c->used[r] > cell->most ? c->used[r] : cell->most;
        cell->held = c->held[r] > cell->held ? c->held[r] : cell->held;
    }
}

void cover_use(struct address_cover *c, uint64_t address, uint64_t bytes, bool begins)
{
    change(c, address, bytes, begins, c->used);
}

void cover_hold(struct address_cover *c, uint64_t address, uint64_t bytes, bool begins)
{
    change(c, address, bytes, begins, c->held);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

enum { LEVELS = 15 }; /* the digits 0 to f */
static const char digits[] = "0123456789abcdef";

static char digit_of(uint64_t bytes, uint64_t row_bytes, bool up)
{
    if (bytes >= row_bytes)
        return digits[LEVELS];
    const double level = (double)bytes / (double)row_bytes * (LEVELS - 1);
    const int whole = (int)level;
    return digits[up && whole < level ? whole + 1 : whole];
}

double cover_share(char digit)
{
    const char *at = digit ? strchr(digits, digit) : NULL;
    const double level = at ? (double)(at - digits) : 0;
    return level == LEVELS ? 1 : level / (LEVELS - 1);
}

json_t *cover_to_json(const struct address_cover *c)
{
    json_t *least = tree_array(), *most = tree_array(), *held = tree_array();
    char text[3][COVER_COLUMNS + 1];
    for (uint64_t r = 0; r * c->row_bytes < c->top_bytes; r++) {
        for (size_t i = 0; i < c->count; i++) {
            const struct cover_cell *cell = &c->cells[i][r];
            text[0][i] = digit_of(cell->least, c->row_bytes, false);
            text[1][i] = digit_of(cell->most, c->row_bytes, true);
            text[2][i] = digit_of(cell->held, c->row_bytes, true);
        }
        for (size_t t = 0; t < 3; t++)
            text[t][c->count] = 0;
        tree_append(least, tree_text(text[0]));
        tree_append(most, tree_text(text[1]));
        tree_append(held, tree_text(text[2]));
    }
    return tree_pack("{s:o, s:o, s:o, s:o, s:o}", "stride", tree_count(c->stride), "row_bytes",
                     tree_count(c->row_bytes), "least", least, "most", most, "held", held);
}
