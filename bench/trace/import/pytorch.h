/* PyTorch's allocator history in any form: the snapshot (pickle or JSON) and the CSV.
 *
 * The history is read twice: pytorch_look at every entry, then pytorch_add. It does not say what
 * made the allocator give memory back, so trims (empty_cache, which the begin of a graph's capture
 * calls too) are inferred. A run of segment_free or segment_unmap is a trim, unless:
 *   - it goes in another order than a trim (large before small, then by stream, size and address),
 *     or a wholly free segment of the common pool is left: that was a collection by age, or a
 *     release of a few oversize blocks;
 *   - the next entry is a segment_alloc or segment_map outside of private pools, and with what was
 *     held before the run the process would hold more than it ever did: that was a retry after the
 *     driver refused. In a capture the allocator does not retry. An oom says the same. A retry
 *     that takes from private pools too is noted as a trim all the same.
 * A run with a segment that would have served the request after it is a trim, whatever else.
 * Call stacks decide where they are recorded: releases of a retry have the stack of the request
 * (malloc hands its context on), those of empty_cache their own, or without one the
 * stack that made the segment (c10/cuda/CUDACachingAllocator.cpp, release_block). Without stacks a
 * trim at the very peak may be taken for a retry. Where blocks are collected by age, and it is not
 * known which segments are wholly free, a trim right before a segment_alloc is taken for that.
 *
 * A collection by age says what the allocator could hold: before a segment_alloc it goes through
 * the wholly free large segments if more than a share of the limit is held, and the oldest goes
 * (garbage_collect_cached_blocks). So more was held before each, and no more where some were left.
 * A refusal says it too: less than it held and asked for together, or what it held and the driver
 * had left. So does a retry, unless a collection by age may have gone before it. An expandable
 * segment maps more than is asked for, or less, and PyTorch's own limit is one of what is asked
 * for: a segment as it would be without expandable ones.
 */
#pragma once

#include "trace/import.h"
#include "trace/import/pytorch_start.h"

/* An entry of `device_traces`; torch/cuda/memory.py, _snapshot, describes them. Texts are
 * borrowed. */
struct pytorch_entry {
    const char *action;
    uint64_t address, size, stream;
    uint64_t time_us;                /* wall clock, if has_time */
    bool has_time, has_pool;         /* has_pool: the log says the entry's pool */
    unsigned pool;                   /* number of the private pool; 0: the common one */
    const struct pytorch_call *site; /* NULL: unknown */
    uint64_t device_free;            /* of an oom: bytes that the driver had left; 0: unknown */
};

/* A segment that lives. */
struct pytorch_segment {
    uint64_t address, bytes, blocks; /* blocks: the number of live ones */
    unsigned pool, name;             /* name: the call site, 0: unknown */
};

struct pytorch_trace {
    struct import *log;
    struct import_stream *stream;
    uint64_t first_us; /* time of the first entry that has one */
    bool began;
    const struct pytorch_call *site_before; /* of blocks from before the history, or NULL */
    const struct trace_names *frames; /* that the stacks of sites are of; NULL: there are none */
    struct trace_known known;
    struct start start;
    bool is_expandable;
    uint64_t large_segment_bytes, max_split_bytes;
    uint64_t divisions; /* see alloc/divisions.h */
    /* Free segments are collected by age above this share of the limit, 0: never. The log shows
     * that this is from collect_least_bytes to collect_most_bytes; UINT64_MAX: none was. */
    double collect_share;
    uint64_t collect_least_bytes, collect_most_bytes;
    bool has_early; /* blocks from before the history, outside of any segment */
    int64_t risen_bytes, most_risen_bytes; /* held from the driver, more than at the start */
    /* The same before the current run of releases; the least that was held before one and asked for
     * after it, together. */
    int64_t run_risen_bytes, least_run_bytes;
    bool look_in_run, trims_before_requests;
    uint64_t peak_bytes;    /* the most bytes held from the driver */
    uint64_t held_bytes;    /* after the entries that were added */
    uint64_t given_address; /* of the block that was given up last, by the latest entry */
    bool has_waited;        /* the latest entry frees a block that was given up before */
    /* What is held and a segment for a request together were at most, where that was granted. */
    uint64_t granted_bytes;
    /* A request for which an expandable segment is mapped. */
    struct pytorch_request {
        bool is_open;
        uint64_t held_bytes;    /* when it was mapped */
        uint64_t refused_bytes; /* when the driver refused it; 0: it did not */
    } request;
    struct pytorch_segment *segments; /* by address */
    unsigned segment_count, segment_capacity;
    uint64_t *streams; /* by queue */
    unsigned stream_count, stream_capacity;
    struct trace_event *run; /* driver_free or driver_unmap events that are held back */
    unsigned run_count, run_capacity;
};

/* The strategy of gamut that works as PyTorch's allocator does under these settings
 * (allocator_settings of a snapshot; NULL: the default). */
void pytorch_strategy(const json_t *settings, char *strategy, size_t size);

/* Begins the trace of a device. `settings` (allocator_settings, or NULL) is borrowed. */
int pytorch_begin(struct pytorch_trace *trace, struct import *log, const char *device,
                  const char *source, json_t *settings, struct error *error);
/* Begins the trace's time, if no entry has begun it; 0: unknown. */
void pytorch_begin_time(struct pytorch_trace *trace, uint64_t time_us);
/* Adds what was there when the history began. Called after all entries were looked at, and
 * trace->start knows what is there at the end; before the first entry is added. */
void pytorch_add_start(struct pytorch_trace *trace);
/* Before it, for a snapshot, which one lock has made: ERR_PARSE where it contradicts itself. */
int pytorch_check_start(const struct pytorch_trace *trace, struct error *error);
/* Adds the begin or the end of a phase. */
void pytorch_add_phase(struct pytorch_trace *trace, const char *name, bool begins,
                       uint64_t time_us);
/* Both get the entries in the order of the history. ERR_PARSE for an unknown action. */
void pytorch_look(struct pytorch_trace *trace, const struct pytorch_entry *entry);
int pytorch_add(struct pytorch_trace *trace, const struct pytorch_entry *entry,
                struct error *error);
/* After the last entry, and after an error. */
void pytorch_end(struct pytorch_trace *trace);
