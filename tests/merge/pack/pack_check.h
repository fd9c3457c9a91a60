/* Checks an offset plan against the definition of a valid plan; shares no code with the planner. */
#pragma once

#include "merge/pack/pack_model.h"

/* The number of pairs of buffers that are alive at one time and overlap in memory (a pair counts
 * once for every interval at the start of which they do), and of offsets that are negative, not
 * aligned, or end above `height`; one more if no buffer reaches `height`. A buffer that is never
 * alive takes no room. */
size_t pack_check(const struct pack_buffer *buffers, size_t count, const int64_t *offset,
                  int64_t height);

/* The most bytes that are alive at any time. Buffers must be valid (pack_verify). */
int64_t pack_lower_bound(const struct pack_buffer *buffers, size_t count);

/* The height of one greedy order; PACK_ORDER_COUNT stands for pack_sweep. `offset` has room for one
 * number a buffer. Buffers are valid. */
int64_t pack_greedy(const struct pack_buffer *buffers, size_t count, enum pack_order order,
                    enum pack_gap gap, int64_t *offset);

/* Cuts a rectangle of `duration` time steps and `height` bytes into `count` buffers by random
 * guillotine cuts, in random order: each cut takes a random piece, at random in time or in memory,
 * at a place drawn uniformly. The plan is completely full, so the least height is `height`. */
void pack_guillotine(uint64_t seed, size_t count, int64_t duration, int64_t height,
                     struct pack_buffer *buffers);

/* Lifetimes like those of a training run: weights that live to the end, and steps of a forward and
 * a backward pass. A buffer of the forward pass lives until its turn in the backward pass comes, or
 * shortly. Batches differ in size, and so do buffers of the same layer. */
void pack_training(uint64_t seed, size_t count, struct pack_buffer *buffers);
