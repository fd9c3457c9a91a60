/* Columns of numbers as bytes in a page: seven bits a byte (LEB128), deflated by zlib, in
 * base64. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

/* Adds a number. */
void packed_number(struct text *bytes, uint64_t number);
/* Adds a difference, from -2^62 to 2^62. */
void packed_difference(struct text *bytes, int64_t difference);

/* The element of a page that holds packed bytes; the page's script finds it by its number. Empties
 * `bytes`. */
void packed_write(FILE *out, unsigned number, struct text *bytes);
