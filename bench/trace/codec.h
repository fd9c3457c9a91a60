/* Encodes an event as bytes, and decodes it. trace.h describes the file around it.
 *
 *     first byte    bits 0-4: the kind, or DEFINE_*; bit 5: the time differs from the last event's;
 *                   bit 6: queue or thread differ; bit 7: a mask of optional members follows
 *     [mask] [time] [queue, thread] [slot] [bytes] [optional members, in the order of the mask]
 *
 * Slot and bytes stand where the kind has them. Numbers are LEB128; differences that may be
 * negative are folded (0, -1, 1, -2, ... become 0, 1, 2, 3, ...).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "trace/event.h"
#include "trace/trace.h"

/* Definitions stand between events: index, length, text. A frame has its index as a folded
 * difference to 1 more than that of the last frame in the chunk, and then twice its distance from
 * its caller, and 1 if it is hidden. */
enum { DEFINE_FRAME = 28, DEFINE_NAME, DEFINE_QUEUE, DEFINE_THREAD };
enum { TRACE_USES_MAX = 65536 }; /* most blocks of one command */

/* The values that differences refer to. Every chunk begins with all zeros. */
struct codec_state {
    uint64_t time; /* in units */
    uint64_t address, ended_ns;
    unsigned queue, thread;
    unsigned frame; /* that was defined last */
};

/* Bytes that are being decoded. */
struct cursor {
    const unsigned char *at, *end;
    bool failed; /* there were too few bytes, or a number was too large */
};

/* Room for the uses of the event that was decoded last. */
struct codec_uses {
    struct trace_use *uses;
    unsigned capacity;
};

void codec_put_number(struct text *out, uint64_t number);
uint64_t codec_get_number(struct cursor *in);
/* The same for a folded difference. */
void codec_put_difference(struct text *out, uint64_t difference);
uint64_t codec_get_difference(struct cursor *in);
/* Adds an event whose time is `time` units. */
void codec_put(struct text *out, struct codec_state *state, const struct trace_event *event,
               uint64_t time);
/* Decodes the event after its first byte; time_ns receives units. in->failed: it is damaged. */
void codec_get(struct cursor *in, unsigned char first, struct codec_state *state,
               struct trace_event *event, struct codec_uses *uses);

/* Constants of the file. */
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

/* Follows the blocks of a trace: which slot holds which block, and the totals. Reader and writer
 * use it, so that both accept the same sequences of events. */

/* More blocks than that cannot live at once. */
enum { TRACE_SLOTS_MAX = 1 << 24 };

enum slot_state { SLOT_FREE, SLOT_LIVE, SLOT_LET_GO };

struct trace_slot {
    uint64_t block, bytes; /* number and requested bytes */
    enum slot_state state;
};

/* All zeros, but for knows_done: no blocks. */
struct trace_slots {
    struct trace_slot *slots;
    unsigned capacity;
    bool knows_done; /* a slot is free after `done`; false: after `free` */
    uint64_t live_bytes;
    struct trace_totals totals; /* without digest */
};

/* Follows an event, and sets event->block. Returns NULL, or what is wrong with the event: it then
 * has no effect. */
const char *slots_follow(struct trace_slots *slots, struct trace_event *event);
/* Forgets all blocks; keeps the memory. */
void slots_restart(struct trace_slots *slots);
void slots_free(struct trace_slots *slots);
