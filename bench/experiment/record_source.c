#include "experiment/record_source.h"

#include <stdlib.h>

#include "base/arena.h"

const char *const record_source_names[] = {"fixed", "malloc", "slab", "locked"};

void records_open(struct records *r)
{
    for (int k = 0; k < RECORDS; k++) {
        r->slabs[k].item_bytes = r->bytes[k];
        pthread_mutex_init(&r->locks[k], NULL);
        if (r->source == RECORDS_FIXED)
            r->fixed[k] = must_alloc(r->fixed_count[k] * r->bytes[k]);
    }
}

void records_close(struct records *r)
{
    for (int k = 0; k < RECORDS; k++) {
        slab_free(&r->slabs[k]);
        pthread_mutex_destroy(&r->locks[k]);
        free(r->fixed[k]);
    }
}

static void *take_from_host(size_t bytes)
{
    void *record = malloc(bytes);
    if (!record)
        abort(); /* as all that must have memory here */
    return record;
}

void *records_take(struct records *r, enum record kind, uint64_t number)
{
    void *record;
    switch (r->source) {
    case RECORDS_MALLOC:
        return take_from_host(r->bytes[kind]);
    case RECORDS_SLAB:
        return slab_take(&r->slabs[kind]);
    case RECORDS_LOCKED:
        pthread_mutex_lock(&r->locks[kind]);
        record = slab_take(&r->slabs[kind]);
        pthread_mutex_unlock(&r->locks[kind]);
        return record;
    default:
        return r->fixed[kind] + number % r->fixed_count[kind] * r->bytes[kind];
    }
}

void records_give(struct records *r, enum record kind, void *record)
{
    switch (r->source) {
    case RECORDS_MALLOC:
        free(record);
        return;
    case RECORDS_SLAB:
        slab_give(&r->slabs[kind], record);
        return;
    case RECORDS_LOCKED:
        pthread_mutex_lock(&r->locks[kind]);
        slab_give(&r->slabs[kind], record);
        pthread_mutex_unlock(&r->locks[kind]);
        return;
    default:
        return;
    }
}
