/* The records of a raw recording in the order of their stamps. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "trace/raw.h"

struct raw_chunk_place {
    uint64_t offset, sequence, used;
    unsigned thread;
};

/* A thread's records that were read and not delivered, in the order of their stamps. Calls that are
 * made within a call (callbacks) are recorded before it and stamped after it, so a thread's records
 * are sorted, a chunk ahead. */
struct raw_queue {
    uint32_t number;                 /* the recorder's, of the thread */
    size_t first_chunk, chunk_count; /* in the sorted places */
    const struct raw_record **records;
    unsigned begin, end, capacity;
};

struct raw_records {
    const char *path;
    const unsigned char *bytes; /* mapped */
    size_t length;
    const struct raw_head *head;
    struct raw_chunk_place *chunks; /* by thread and sequence */
    size_t chunk_count;
    unsigned thread_count;
    struct raw_queue *threads;
    uint64_t first_ticks;
    double ns_per_tick;
};

/* Maps a recording and finds its chunks. ERR_IO; ERR_PARSE with the place. The caller closes it in
 * any case. */
int raw_records_open(struct raw_records *records, const char *path, struct error *error);
/* The next record, its words after it, and the index of its thread: 1, 0 at the end, or ERR_PARSE.
 * Valid until the close. */
int raw_records_next(struct raw_records *records, const struct raw_record **record,
                     unsigned *thread, struct error *error);
void raw_records_rewind(struct raw_records *records);
void raw_records_close(struct raw_records *records);
/* Nanoseconds from the first record to this moment, and of a duration. */
uint64_t raw_records_time(const struct raw_records *records, uint64_t ticks);
uint64_t raw_records_span(const struct raw_records *records, uint64_t ticks);
