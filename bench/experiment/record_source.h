/* Where the records of a storm come from: made beforehand, malloc, or slabs, which never give
 * memory back to the host and hand out first what came back last, as the pools of PoCL's document
 * do. */
#ifndef GAMUT_EXPERIMENT_RECORD_SOURCE_H
#define GAMUT_EXPERIMENT_RECORD_SOURCE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slab.h"

enum record_source {
    RECORDS_FIXED,  /* made beforehand, used in turns: the storm's own cost, without allocation */
    RECORDS_MALLOC, /* malloc and free */
    RECORDS_SLAB,   /* a slab for each kind of record, of one thread alone */
    RECORDS_LOCKED, /* the same slabs for all threads, behind a lock for each, as PoCL's are */
    RECORD_SOURCES
};
extern const char *const record_source_names[RECORD_SOURCES];

enum record {
    EVENT_RECORD,
    COMMAND_RECORD,
    NODE_RECORD,  /* of a wait list */
    QUEUE_RECORD, /* a queue's, and ... */
    DRIVER_RECORD /* ... what the driver keeps for it */
};
enum { RECORDS = DRIVER_RECORD + 1 };

struct records {
    enum record_source source;
    size_t bytes[RECORDS];         /* of each kind */
    uint64_t fixed_count[RECORDS]; /* so many of each kind are in use at most */
    struct slab slabs[RECORDS];
    pthread_mutex_t locks[RECORDS];
    char *fixed[RECORDS];
};

/* The user sets source, bytes and fixed_count first. */
void records_open(struct records *r);
void records_close(struct records *r);

/* A record, with anything in it. `number` of the records of this kind so far, which fixed ones go
 * by. */
void *records_take(struct records *r, enum record kind, uint64_t number);
void records_give(struct records *r, enum record kind, void *record);

#endif
