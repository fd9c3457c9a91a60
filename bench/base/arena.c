#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LINE_BYTES = 64, /* the processor's cache lines: items of a multiple of this begin with one */
    CHUNK_LEAST_BYTES = 64 * 1024,
    CHUNK_MOST_BYTES = 32 * 1024 * 1024, /* unless an item is larger */
    PAGE_BYTES = 2 * 1024 * 1024,        /* a huge one */
};

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size;
    _Alignas(LINE_BYTES) char data[];
};

void *must_have(void *p)
{
    if (!p) {
        fputs("gamut: the host is out of memory\n", stderr);
        abort();
    }
    return p;
}

void *must_alloc(size_t bytes)
{
    return must_have(calloc(1, bytes ? bytes : 1));
}

void *must_realloc(void *old, size_t bytes)
{
    return must_have(realloc(old, bytes ? bytes : 1));
}

void *must_grow(void *items, unsigned count, unsigned *capacity, size_t each)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity ? 2 * *capacity : 16;
    return must_realloc(items, *capacity * each);
}

void *must_reach(void *items, unsigned index, unsigned *capacity, size_t each)
{
    if (index < *capacity)
        return items;
    const unsigned wider = index + index / 2 + 64;
    void *room = must_alloc(wider * each);
    if (items)
        memcpy(room, items, *capacity * each);
    free(items);
    *capacity = wider;
    return room;
}

/* A chunk twice as large as the last one. A large one gets huge pages where the kernel has them:
 * with small ones the processor also misses the page of nearly every item in an arena of 100 MB. */
static struct arena_chunk *new_chunk(const struct arena_chunk *last, size_t bytes)
{
    size_t size = last ? 2 * last->size : CHUNK_LEAST_BYTES;
    if (size > CHUNK_MOST_BYTES)
        size = CHUNK_MOST_BYTES;
    if (size < bytes)
        size = bytes;
    const size_t unit = size < PAGE_BYTES ? LINE_BYTES : PAGE_BYTES;
    size = (sizeof(struct arena_chunk) + size + unit - 1) / unit * unit;
    struct arena_chunk *chunk = must_have(aligned_alloc(unit, size));
#ifdef MADV_HUGEPAGE
    if (unit == PAGE_BYTES)
        madvise(chunk, size, MADV_HUGEPAGE); /* a wish: small pages do as well */
#endif
    *chunk = (struct arena_chunk){.size = size - sizeof *chunk};
    return chunk;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    const size_t unit = sizeof(max_align_t);
    bytes = (bytes + unit - 1) / unit * unit;
    struct arena_chunk *chunk = a->chunks;
    if (!chunk || chunk->size - chunk->used < bytes) {
        chunk = new_chunk(chunk, bytes);
        chunk->next = a->chunks;
        a->chunks = chunk;
    }
    char *p = chunk->data + chunk->used;
    chunk->used += bytes;
    return memset(p, 0, bytes);
}

void *arena_grow(struct arena *a, void *items, unsigned count, unsigned *capacity, size_t each)
{
    if (count < *capacity)
        return items;
    *capacity = count > 1 ? 2 * count : 4;
    void *grown = arena_alloc(a, *capacity * each);
    if (count)
        memcpy(grown, items, count * each);
    return grown;
}

char *arena_copy(struct arena *a, const char *text, size_t length)
{
    char *copy = arena_alloc(a, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = arena_alloc(a, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

void arena_take(struct arena *a, struct arena *from)
{
    struct arena_chunk **link = &a->chunks;
    while (*link)
        link = &(*link)->next;
    *link = from->chunks;
    from->chunks = NULL;
}

void arena_free(struct arena *a)
{
    while (a->chunks) {
        struct arena_chunk *next = a->chunks->next;
        free(a->chunks);
        a->chunks = next;
    }
}
