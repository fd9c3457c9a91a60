#include "inside/server.h"

#include "base/driver_memory.h"
#include "inside/recorder.h"

static _Atomic bool is_on;

/* Handles of the recording: an application's queues may have the same on two devices. */
static uint64_t context_of(unsigned device)
{
    return UINT64_C(1) << 61 | (uint64_t)device << 56;
}

static uint64_t queue_of(unsigned device, uint64_t queue, uint64_t ticks)
{
    const uint64_t context = context_of(device), handle = context + 1 + queue;
    if (recorder_is_new(handle))
        recorder_put(RAW_queue, handle, 0, ticks, ticks, (uint64_t[]){context, RAW_QUEUE_SEEN}, 2);
    return handle;
}

void serve_record_open(const char *folder, const char *api)
{
    is_on = recorder_open_in(folder, api, "serve");
}

void serve_record_end(void)
{
    is_on = false;
}

void serve_record_device(unsigned device, const char *name, uint64_t memory_bytes,
                         uint64_t alignment)
{
    if (!is_on)
        return;
    const uint64_t now = recorder_ticks(), number = (uint64_t)device + 1;
    recorder_device(number, now, name, memory_bytes, alignment);
    recorder_put(RAW_context, context_of(device), 0, now, now, &number, 1);
}

void serve_record_block(unsigned device, uint64_t address, uint64_t bytes, uint64_t alignment,
                        uint64_t queue, unsigned pool)
{
    if (!is_on)
        return;
    const uint64_t now = recorder_ticks();
    const uint64_t flags = MEMORY_DEVICE | RAW_BLOCK_ADDRESS | RAW_BLOCK_GONE_FOLLOWS |
                           (uint64_t)__builtin_ctzll(alignment) << RAW_BLOCK_ALIGNMENT_SHIFT;
    const uint64_t words[] = {context_of(device), bytes, flags, queue_of(device, queue, now), pool};
    recorder_put(address ? RAW_block : RAW_refused, address, 0, now, now, words, 5);
}

/* A record of this moment. */
static void put(enum raw_kind kind, uint64_t object, const uint64_t *words, unsigned count)
{
    if (!is_on)
        return;
    const uint64_t now = recorder_ticks();
    recorder_put(kind, object, 0, now, now, words, count);
}

void serve_record_pool(unsigned device, unsigned pool, bool begins)
{
    put(begins ? RAW_pool_begin : RAW_pool_end, context_of(device), &(uint64_t){pool}, 1);
}

void serve_record_free(uint64_t address)
{
    put(RAW_free, address, (uint64_t[]){0, 0}, 2);
}

void serve_record_gone(uint64_t address)
{
    put(RAW_gone, address, NULL, 0);
}

void serve_record_trim(unsigned device)
{
    put(RAW_trim, context_of(device), NULL, 0);
}

/* One phase ends where the next begins. */
void serve_record_mark(const char *name)
{
    static uint64_t range; /* 0: no phase has begun */
    if (!is_on)
        return;
    if (range)
        put(RAW_end, RAW_PHASE_RANGE | range, NULL, 0);
    recorder_text(RAW_begin, RAW_PHASE_RANGE | ++range, recorder_ticks(), name);
}
