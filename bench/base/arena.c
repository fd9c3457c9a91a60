#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size;
    max_align_t data[];
};

static void *must(void *p)
{
    if (!p) {
        fputs("gamut: the host is out of memory\n", stderr);
        abort();
    }
    return p;
}

void *must_alloc(size_t bytes)
{
    return must(calloc(1, bytes ? bytes : 1));
}

void *must_realloc(void *old, size_t bytes)
{
    return must(realloc(old, bytes ? bytes : 1));
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

void *arena_alloc(struct arena *a, size_t bytes)
{
    const size_t unit = sizeof(max_align_t);
    bytes = (bytes + unit - 1) / unit * unit;
    struct arena_chunk *chunk = a->chunks;
    if (!chunk || chunk->size - chunk->used < bytes) {
        size_t size = bytes > 64 * 1024 ? bytes : 64 * 1024;
        chunk = must(malloc(sizeof *chunk + size));
        *chunk = (struct arena_chunk){.next = a->chunks, .size = size};
        a->chunks = chunk;
    }
    char *p = (char *)chunk->data + chunk->used;
    chunk->used += bytes;
    return memset(p, 0, bytes);
}

void *arena_grow(struct arena *a, void *items, unsigned count, unsigned *capacity, size_t each)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity ? 2 * *capacity : 4;
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
