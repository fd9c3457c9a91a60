/* An arena: memory that is freed all at once, for parsed programs and other things that die
 * together. */
#pragma once

#include <stddef.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *chunks;
};

/* Zeroed memory aligned for any type, owned by the arena. Where all items of an arena are multiples
 * of 64 bytes, each begins with a line of the processor's cache. The process ends with a message
 * when the host is out of memory: nothing that uses an arena could go on without it. */
void *arena_alloc(struct arena *a, size_t bytes);
/* Makes room for one more than `count` items of `each` bytes. Returns `items`, or a copy of them in
 * the arena; *capacity receives the number that fits. It may be 0 for items that another has
 * made. */
void *arena_grow(struct arena *a, void *items, unsigned count, unsigned *capacity, size_t each);
/* A copy of `length` bytes, with a final NUL, owned by the arena. */
char *arena_copy(struct arena *a, const char *text, size_t length);
/* A formatted text, owned by the arena. */
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Moves all that `from` owns to `a`; `from` is empty afterwards. */
void arena_take(struct arena *a, struct arena *from);
/* Frees all that the arena owns; it is empty afterwards. */
void arena_free(struct arena *a);

/* Returns `p`; if that is NULL, the process ends with the message that the host is out of
 * memory. */
void *must_have(void *p);
/* Zeroed memory for the caller to free. The process ends with a message if there is none. */
void *must_alloc(size_t bytes);
/* The same as realloc: added bytes are not zeroed. */
void *must_realloc(void *old, size_t bytes);
/* The same as arena_grow, for the caller to free. The new room is not zeroed. */
void *must_grow(void *items, unsigned count, unsigned *capacity, size_t each);
/* Makes room for the item with this index, for the caller to free. Items that were never set are
 * zero, and their pages untouched. `index` is below 2^31. */
void *must_reach(void *items, unsigned index, unsigned *capacity, size_t each);
