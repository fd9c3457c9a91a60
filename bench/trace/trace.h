/* The trace file: written and read as a stream, in memory that grows with the blocks that live at
 * once and not with the events.
 *
 *     "gamuttrc"  version (u32)  length (u32)  info (JSON, `length` bytes)  CRC-32 of info (u32)
 *     chunk*      stored bytes (u32)  unpacked bytes (u32)  events (u32)  CRC-32 of contents (u32)
 *                 CRC-32 of the four numbers before it (u32)  contents
 *     end         the same header with 0 events and stored bytes > 0; contents: totals (JSON)
 *
 * All numbers are little-endian. The contents of a chunk are packed with zstd; their CRC is that of
 * the packed bytes. The CRC of a header begins with the version, and tells a damaged length from a
 * cut. A file without an end was cut off: the reader delivers all whole chunks, and says that the
 * rest is missing. Files of other versions are refused.
 *
 * In a chunk an event is a byte (kind, and whether time and queue change) followed by numbers of
 * seven bits a byte (LEB128): only what the event has, as a difference where that is smaller. Names
 * are defined where they are first used, and so are the frames of call stacks. `trace show` prints
 * the same as text (text.h).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "trace/event.h"

/* The length of a path without the ending of traces. */
size_t trace_stem(const char *path);

enum { TRACE_VERSION = 4 };
#define TRACE_SUFFIX ".trace"

/* X(name): facts that a log may know; a trace has them for all of its events or for none. */
#define TRACE_FACT_LIST(X)                                                                         \
    X(times)        /* when each event happened */                                                 \
    X(frees)        /* when the application freed a block */                                       \
    X(done)         /* when the last command that uses a freed block had ended */                  \
    X(queues)       /* the queue of each block */                                                  \
    X(pools)        /* the private pool of each block */                                           \
    X(threads)      /* the thread of each call */                                                  \
    X(sites)        /* where in the application a block was asked for */                           \
    X(granted)      /* the bytes that the recorded allocator rounded a request to */               \
    X(addresses)    /* the address of each block */                                                \
    X(driver)       /* the driver calls of the recorded allocator */                               \
    X(uses)         /* the commands, and the blocks that each of them uses */                      \
    X(device_times) /* how long each command kept the device busy */                               \
    X(ends)         /* when the device had ended each command */                                   \
    X(phases)       /* where phases of the application begin and end */

#define TRACE_FACT(name) TRACE_KNOWS_##name,
enum trace_fact { TRACE_FACT_LIST(TRACE_FACT) TRACE_FACTS };
const char *trace_fact_name(enum trace_fact fact);
const char *trace_kind_name(enum trace_kind kind);

/* The head of a trace. Texts are "" where they are unknown. */
struct trace_info {
    char source[64];         /* the tool that wrote the log: "PyTorch snapshot" */
    char application[128];   /* the recorded program */
    char device[128];        /* the device, as the log names it */
    char began[32];          /* UTC time of the first event: "2026-11-22T10:00:00.000000Z" */
    char allocator[256];     /* the recorded allocator as a gamut strategy: "caching:…" */
    uint64_t time_unit_ns;   /* all times are multiples of it; at least 1 */
    uint64_t capacity_bytes; /* memory of the device; 0: unknown */
    /* What the recorded allocator could hold, inferred from requests that the driver refused: at
     * least what it held at its most, at most what the tightest refusal leaves. 0: no refusal was
     * seen. If the least is above the most, the limit changed while the log was written. */
    uint64_t limit_least_bytes, limit_most_bytes;
    /* All memories and blocks begin at multiples of this; 0: unknown. */
    uint64_t alignment_bytes;
    bool lost_beginning; /* blocks lived before the log: it was a ring and lost its first
                              * events, or it began late */
    bool knows[TRACE_FACTS];
    json_t *settings; /* an object: settings of the recorded allocator in its own words; or NULL */
    json_t *unseen; /* an object: kinds of calls that the trace lacks, with their counts; or NULL */
};
/* Whether a device may have this alignment: a power of two below 2^32, or 0. */
static inline bool trace_can_align(uint64_t bytes)
{
    return (bytes & (bytes - 1)) == 0 && bytes <= UINT64_C(1) << 31;
}
/* The inferred limit that a replay can run under: the most that no refusal contradicts; 0: none. */
static inline uint64_t trace_limit(const struct trace_info *info)
{
    return info->limit_least_bytes <= info->limit_most_bytes ? info->limit_most_bytes : 0;
}
/* Frees what the info owns. */
/* Notes when the log began, in microseconds since 1970. */
void trace_info_begin(struct trace_info *info, uint64_t us);
void trace_info_free(struct trace_info *info);
/* The info as an object; the caller owns it. */
json_t *trace_info_to_json(const struct trace_info *info);
/* Reads an info. ERR_PARSE names the member. The caller frees it in any case. */
int trace_info_from_json(const json_t *json, struct trace_info *info, struct error *error);

/* Sums of bytes and times end at this number, the largest that JSON carries exactly. */
#define TRACE_TOTAL_MOST ((UINT64_C(1) << 53) - 1)

/* Sums over all events. The end of a file has them, so that `trace info` need not read the rest. */
struct trace_totals {
    uint64_t events, blocks;         /* all events; held and alloc events */
    uint64_t live_at_end;            /* blocks that were never freed */
    uint64_t peak_bytes;             /* most requested bytes live at once (until free) */
    uint64_t slots, queues, threads; /* how many are used */
    uint64_t requested_bytes;        /* sum over all requests */
    uint64_t last_ns;                /* time of the last event */
    uint64_t by_kind[TRACE_KINDS];
    /* Of all events, with names as texts and without call stacks: equal for equal events in any
     * file. */
    uint64_t digest;
};

/* The sums as an object; the caller owns it. */
json_t *trace_totals_to_json(const struct trace_totals *totals);
/* Reads them. ERR_PARSE names the member. */
int trace_totals_from_json(const json_t *json, struct trace_totals *totals, struct error *error);

/* ---- names ---- */

enum { TRACE_STACK_MOST = 1024 }; /* frames of one call stack */

/* A text with an index. The frames of call stacks are among the names, as a tree: stacks share the
 * frames that they begin with, and a stack is named by its innermost frame. */
struct trace_name {
    char *text; /* NULL: there is no such name */
    uint64_t digest;
    unsigned caller;      /* of a frame: the frame that called it; 0: none is known */
    unsigned short depth; /* of a frame: the number of frames of its stack; 0: it is no frame */
    bool is_hidden;     /* of the allocator, the unwinder or the interpreter: all stacks have it */
    bool is_defined[2]; /* in the chunks; for a writer also: in the front, which precedes them */
};

/* Names that are being collected: an open hash table finds them. All zeros: none. */
struct trace_names {
    unsigned count, capacity, buckets; /* buckets: a power of two, or 0 */
    struct trace_name *items;
    unsigned *bucket; /* index + 1; 0: empty */
};
/* The index of a name; adds it if it is new. Bytes that are not UTF-8 become "?", and a name ends
 * after 4096 bytes. */
unsigned trace_names_add(struct trace_names *names, const char *text);
/* The same for a frame. Behind a caller with TRACE_STACK_MOST frames there is none: the index is
 * the caller's. */
unsigned trace_names_add_frame(struct trace_names *names, unsigned caller, const char *text,
                               bool is_hidden);
void trace_names_free(struct trace_names *names);

/* ---- writing ---- */

struct trace_writer;
/* Begins a file in the folder of `path`; trace_finish gives it that name. Copies the info.
 * ERR_IO. */
int trace_create(const char *path, const struct trace_info *info, struct trace_writer **writer,
                 struct error *error);
/* The index of a name, queue or thread (trace_names_add). 0 is the index of the name "". Queues and
 * threads count from 0. */
unsigned trace_name(struct trace_writer *writer, const char *name);
unsigned trace_queue(struct trace_writer *writer, const char *name);
/* The index of a frame (trace_names_add_frame), which is one of a name. */
unsigned trace_frame(struct trace_writer *writer, unsigned caller, const char *text,
                     bool is_hidden);
/* The same for a frame of other names, after those that called it. `known` is of these names and
 * this writer, and begins as zeros; the caller frees the items. */
struct trace_known {
    unsigned capacity, *index; /* by index of the other names; 0: not copied yet */
};
unsigned trace_copy_frame(struct trace_writer *writer, const struct trace_name *names,
                          unsigned frame, struct trace_known *known);
unsigned trace_thread(struct trace_writer *writer, const char *name);
/* Adds an event. Slots must be consistent: a slot is taken by held or alloc, and free until then.
 * The caller takes them from trace_take_slot. */
void trace_put(struct trace_writer *writer, const struct trace_event *event);
/* A slot for a new block; the one given back last. */
unsigned trace_take_slot(struct trace_writer *writer);
void trace_give_slot(struct trace_writer *writer, unsigned slot);
/* A slot that no block has had. */
unsigned trace_new_slot(struct trace_writer *writer);
/* Adds a block that lived before the trace began, whenever that is found out: it goes to the
 * front of the file. Its slot is a new one, because it was taken from the start. */
void trace_put_held(struct trace_writer *writer, const struct trace_event *event);
/* The info, which the caller may change until trace_finish. */
struct trace_info *trace_writer_info(struct trace_writer *writer);
/* Another name for the file. */
void trace_set_path(struct trace_writer *writer, const char *path);
/* Writes the rest, and gives the file its name. Frees the writer in any case. *totals (or NULL)
 * receives the sums. ERR_IO; ERR_USAGE if `path` is there and `replace` is not set. */
int trace_finish(struct trace_writer *writer, bool replace, struct trace_totals *totals,
                 struct error *error);
/* Drops the file. NULL: nothing. */
void trace_abandon(struct trace_writer *writer);

/* ---- reading ---- */

struct trace_reader;
/* Opens a file and reads its info. ERR_IO, ERR_PARSE with the place. */
int trace_open(const char *path, struct trace_reader **reader, struct error *error);
/* Reads the next event, valid until the next call: 1, or 0 at the end, or a negative code.
 * ERR_PARSE names the file, the event and what is wrong with it. Every block of a free, done or use
 * lives, and slots are below the totals' count of what was read. */
int trace_next(struct trace_reader *reader, struct trace_event *event, struct error *error);
/* Goes back to the first event. */
int trace_rewind(struct trace_reader *reader, struct error *error);
const struct trace_info *trace_reader_info(const struct trace_reader *reader);
const char *trace_reader_path(const struct trace_reader *reader);
/* Names by index; valid until the reader is closed. "" for an index that is not defined yet. */
const char *trace_name_of(const struct trace_reader *reader, unsigned name);
/* The category (holders.h) of sites whose requests a program can do without: it asks for less where
 * one is refused. */
#define TRACE_SITE_WORKSPACE "cuDNN workspaces"
static inline bool trace_is_dispensable(const struct trace_reader *reader,
                                        const struct trace_event *e)
{
    return !strncmp(trace_name_of(reader, e->name), TRACE_SITE_WORKSPACE,
                    sizeof TRACE_SITE_WORKSPACE - 1);
}
const char *trace_queue_of(const struct trace_reader *reader, unsigned queue);
/* The names and frames that were read so far, by index, until the next call of trace_next. All
 * frames of the stack of an event that was read are there. */
const struct trace_name *trace_reader_names(const struct trace_reader *reader);
const char *trace_thread_of(const struct trace_reader *reader, unsigned thread);
/* The sums over the events that were read so far. */
const struct trace_totals *trace_reader_totals(const struct trace_reader *reader);
/* Reads the totals at the end of the file, without its events: false if it was cut off. Goes back
 * to the first event. */
bool trace_read_totals(struct trace_reader *reader, struct trace_totals *totals);
/* After trace_next returned 0: was the file cut off? *lost_bytes: what follows the last whole
 * chunk. */
bool trace_was_cut(const struct trace_reader *reader, uint64_t *lost_bytes);
/* The number of the block in a slot, and its event; 0: the slot is free. */
uint64_t trace_block_in(const struct trace_reader *reader, unsigned slot);
/* Requested bytes of the blocks that live after the event that was read last. */
uint64_t trace_live_bytes(const struct trace_reader *reader);
void trace_close(struct trace_reader *reader);
