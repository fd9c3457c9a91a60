#include "trace/import/pytorch_entries.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"

enum { CHUNK = 1 << 15 }; /* entries of a chunk; their bytes are whole pages */
static const size_t chunk_bytes = CHUNK * sizeof(struct pytorch_entry);

/* Moves the full chunk to the file. */
static int write_chunk(struct pytorch_entries *e, const struct import *log, struct error *error)
{
    if (!e->has_file)
        TRY(import_scratch(log, &e->file, error));
    e->has_file = true;
    const char *bytes = (const char *)e->last;
    for (size_t written = 0; written < chunk_bytes;) {
        const ssize_t n = write(e->file, bytes + written, chunk_bytes - written);
        if (n <= 0)
            return import_scratch_error(log, error);
        written += (size_t)n;
    }
    return 0;
}

int pytorch_entries_add(struct pytorch_entries *e, const struct pytorch_entry *entry,
                        const struct import *log, struct error *error)
{
    if (e->count == UINT_MAX - CHUNK)
        return import_error(log, error, "a device has more than %u entries", e->count);
    if (!e->last)
        e->last = must_alloc(chunk_bytes);
    else if (e->count % CHUNK == 0)
        TRY(write_chunk(e, log, error));
    e->last[e->count++ % CHUNK] = *entry;
    return 0;
}

struct pytorch_entry *pytorch_entry_at(struct pytorch_entries *e, unsigned index)
{
    const unsigned chunk = index / CHUNK;
    if (chunk == (e->count - 1) / CHUNK)
        return &e->last[index % CHUNK];
    if (!e->mapped || chunk != e->mapped_chunk) {
        if (e->mapped)
            munmap(e->mapped, chunk_bytes);
        void *mapped = mmap(NULL, chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, e->file,
                            (off_t)(chunk * chunk_bytes));
        e->mapped = must_have(mapped == MAP_FAILED ? NULL : mapped);
        e->mapped_chunk = chunk;
    }
    return &e->mapped[index % CHUNK];
}

void pytorch_entries_free(struct pytorch_entries *e)
{
    if (e->mapped)
        munmap(e->mapped, chunk_bytes);
    if (e->has_file)
        close(e->file);
    free(e->last);
}
