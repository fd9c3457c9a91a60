/* A picture of an address space over the steps of a replay, in bounded memory: how much of each row
 * of addresses is in blocks.
 *
 * A cell stands for `stride` steps and `row_bytes` addresses, and keeps the most bytes that blocks
 * took of it, so nothing is left out, however long the replay. When all columns are taken, each
 * pair of neighbours becomes one and the stride doubles; when an address is above the last row,
 * each pair of rows becomes one, whose most is at most the sum of both.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COVER_COLUMNS = 128, COVER_ROWS = 64 }; /* even */

struct address_cover {
    uint64_t stride, row_bytes;
    uint64_t top_bytes; /* above the highest address so far */
    size_t count;       /* columns */
    uint64_t most[COVER_COLUMNS][COVER_ROWS];
    uint64_t used[COVER_ROWS]; /* at present */
};

/* Makes an empty cover, at step 0. */
void cover_open(struct address_cover *cover);
/* Time passes until `step`, which never decreases. */
void cover_advance(struct address_cover *cover, uint64_t step);
/* From this step on, a block uses the bytes [address, address + bytes), or stops using them. */
void cover_use(struct address_cover *cover, uint64_t address, uint64_t bytes, bool begins);

/* {"stride", "row_bytes", "most": [text a row]}, the lowest row first. A character of a text is a
 * column: '0' none of the row's bytes, '1' to 'e' fourteenths, rounded up; 'f' all. The caller owns
 * it. */
json_t *cover_to_json(const struct address_cover *cover);
