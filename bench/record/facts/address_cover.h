/* A picture of an address space over the steps of a run, in bounded memory: how much of each row of
 * addresses is in blocks, and is held from the driver.
 *
 * A cell stands for `stride` steps and `row_bytes` addresses, and keeps the least and the most bytes
 * that blocks took of it (an envelope), so nothing is left out, however long the run. When all
 * columns are taken, each pair of neighbours becomes one and the stride doubles; when an address is
 * above the last row, each pair of rows becomes one. The least of a pair of rows is then at least
 * the sum of both, and the most is at most that sum.
 */
#ifndef GAMUT_RECORD_FACTS_ADDRESS_COVER_H
#define GAMUT_RECORD_FACTS_ADDRESS_COVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COVER_COLUMNS = 128, COVER_ROWS = 64 }; /* even */

struct cover_cell {
    uint64_t least, most; /* bytes in blocks */
    uint64_t held;        /* the most bytes held from the driver */
};

struct address_cover {
    uint64_t stride, row_bytes;
    uint64_t top_bytes; /* above the highest address so far */
    size_t count;       /* columns */
    struct cover_cell cells[COVER_COLUMNS][COVER_ROWS];
    uint64_t used[COVER_ROWS], held[COVER_ROWS]; /* at present */
};

/* Makes an empty cover, at step 0. */
void cover_open(struct address_cover *cover);
/* Time passes until `step`, which never decreases. */
void cover_advance(struct address_cover *cover, uint64_t step);
/* From this step on, bytes [address, address + bytes) are used by a block, or no longer. */
void cover_use(struct address_cover *cover, uint64_t address, uint64_t bytes, bool begins);
/* From this step on, they are held from the driver, or no longer. */
void cover_hold(struct address_cover *cover, uint64_t address, uint64_t bytes, bool begins);

/* {"stride", "row_bytes", "least": [text a row], "most": [...], "held": [...]}, the lowest row
 * first. A character of a text is a column: '0' none of the row's bytes, '1' to 'e' fourteenths,
 * rounded up for most and held, and down for least; 'f' all. The caller owns it. */
json_t *cover_to_json(const struct address_cover *cover);
/* The share of a cell, from a character: 0 to 1. */
double cover_share(char digit);

#endif
