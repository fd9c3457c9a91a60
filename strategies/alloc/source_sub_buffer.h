/* Sub-buffers of a source: handles for parts of its memories. */
#pragma once

#include "alloc/source.h"
#include "base/driver_sub_buffer.h"

/* Checks that memories of the kind in use have sub-buffers: 0, or ERR_UNSUPPORTED and the
 * reason. */
int source_has_sub_buffers(struct source *source);

/* Makes a sub-buffer. The caller releases it before its memory is freed. */
static inline int source_create_sub_buffer(struct source *s, uint64_t memory, uint64_t offset,
                                           uint64_t bytes, uint64_t *sub_buffer)
{
    uint64_t start = clock_start();
    s->counts.map_count++;
    return source_took(
        s, start, s->sub_buffers->create(s->context, memory, offset, bytes, sub_buffer, &s->error));
}

/* Releases a sub-buffer. It counts as released even if the driver reports a failure. */
static inline int source_release_sub_buffer(struct source *s, uint64_t sub_buffer, uint64_t bytes)
{
    uint64_t start = clock_start();
    s->counts.unmap_count++;
    return source_gave(s, start, s->sub_buffers->release(s->context, sub_buffer, bytes, &s->error));
}
