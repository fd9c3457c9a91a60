/* Constants of the trace file (trace.h) that its reader and its writer share. */
#pragma once

#define TRACE_MAGIC "gamuttrc"
enum {
    TRACE_MAGIC_BYTES = 8,
    TRACE_CHUNK_EVENTS = 65536,
    TRACE_CHUNK_BYTES = 1 << 20,   /* a chunk ends when it has so many events or bytes */
    TRACE_CHUNK_MOST = 1 << 24,    /* no chunk is larger: the last event may have many uses */
    TRACE_INFO_MOST = 1 << 24,     /* bytes of the info */
    TRACE_NAMES_MAX = 1 << 24,     /* names, queues or threads */
    TRACE_NAME_BYTES = 4096,       /* longer names are cut */
    TRACE_HEAD_NUMBERS_BYTES = 16, /* the part of a chunk's header before its CRC */
    TRACE_CHUNK_HEAD_BYTES = 20,
    TRACE_ZSTD_LEVEL = 3,
};
