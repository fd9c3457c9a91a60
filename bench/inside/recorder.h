/* The recorder: writes raw recordings (trace/raw.h) from inside an application.
 *
 * A call takes no lock and makes no system call, except the first of a thread and one in some 500,
 * when a chunk is full. A process that forks goes on with a file of its own. If the disk is full,
 * recording stops, and the file says how many records are missing; the application goes on.
 *
 * GAMUT_RECORD names the folder of the files (NAME-PROCESS.raw, the first free of
 * NAME-PROCESS_02.raw and so on). Without it nothing is recorded. GAMUT_RECORD_OPTIONS is a list of
 * `anonymous` (no names) and `times` (commands are timed by the device, which costs).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/raw.h"

/* Begins to record into the folder GAMUT_RECORD. `api` and `via` are as in struct raw_head; the
 * last `via` before the first record counts. False: nothing is to be recorded. */
bool recorder_open(const char *api, const char *via);
/* The same into another folder; NULL or "": nothing is recorded. */
bool recorder_open_in(const char *folder, const char *api, const char *via);
/* Whether an option was given. */
bool recorder_wants(const char *option);

enum { RECORDER_SEEN = 2048 };

/* The recorder's state of one thread. A thread-local pointer finds it. */
struct recorder_thread {
    struct raw_chunk *chunk; /* mapped */
    uint64_t used;           /* bytes after the chunk's head, with the record in progress */
    uint64_t ending; /* the block that is being released; 0 once the driver says that it is gone */
    struct recorder_thread *next;
    uint64_t seen[RECORDER_SEEN]; /* handles that this thread has described */
};

/* The libraries have no other thread-local variable. All libraries that an application opens share
 * a few hundred bytes for variables of this model, and a library that does not fit is not
 * loaded. */
extern _Thread_local struct recorder_thread *recorder_self
    __attribute__((tls_model("initial-exec")));
extern bool recorder_even_ticks;

/* Nanoseconds of the system's clock. */
uint64_t recorder_clock(void);
/* The calling thread with room for a record; NULL: the record is not written. */
struct recorder_thread *recorder_room(unsigned words);

/* Ticks of the recorder's clock: the processor's counter where it runs evenly, else nanoseconds. */
static inline uint64_t recorder_ticks(void)
{
#if defined __x86_64__
    if (recorder_even_ticks)
        return __builtin_ia32_rdtsc();
#endif
    return recorder_clock();
}

/* A record of `words` numbers: returns where they go, or NULL if nothing is recorded. The caller
 * fills all of them, and calls recorder_commit before the thread's next record. `begin`, `end`:
 * ticks. */
static inline uint64_t *recorder_begin(enum raw_kind kind, uint64_t object, uint64_t result,
                                       uint64_t begin, uint64_t end, unsigned words)
{
    struct recorder_thread *t = recorder_self;
    const uint64_t bytes = sizeof(struct raw_record) + 8ull * words;
    if (__builtin_expect(!t || words > RAW_WORDS_MOST ||
                             t->used + bytes > RAW_CHUNK_BYTES - sizeof(struct raw_chunk),
                         0) &&
        !(t = recorder_room(words)))
        return NULL;
    struct raw_record *record = (void *)((char *)(t->chunk + 1) + t->used);
    const uint64_t duration = end - begin;
    *record = (struct raw_record){
        .ticks = raw_at_end(kind) ? end : begin,
        .duration = duration < RAW_DURATION_MOST ? duration : RAW_DURATION_MOST,
        .kind = kind,
        .words = words,
        .object = object,
        .result = result,
    };
    t->used += bytes;
    return (uint64_t *)(record + 1);
}

/* Completes the record: it is in the file, even if the application dies next. */
static inline void recorder_commit(void)
{
    const struct recorder_thread *t = recorder_self;
    __atomic_store_n(&t->chunk->used, t->used, __ATOMIC_RELEASE);
}

/* The same with the numbers at hand. */
static inline void recorder_put(enum raw_kind kind, uint64_t object, uint64_t result,
                                uint64_t begin, uint64_t end, const uint64_t *words, unsigned count)
{
    uint64_t *to = recorder_begin(kind, object, result, begin, end, count);
    if (!to)
        return;
    for (unsigned i = 0; i < count; i++)
        to[i] = words[i];
    recorder_commit();
}

/* A record whose words are a text; longer ones are cut. Anonymous recordings have "" instead. */
void recorder_text(enum raw_kind kind, uint64_t object, uint64_t ticks, const char *text);
/* Whether this thread has yet to describe a handle. A second call returns false, except for a few
 * handles, which are described again. */
bool recorder_is_new(uint64_t handle);
/* The handle was destroyed, and may be that of another object next. */
void recorder_forget(uint64_t handle);
/* An address in the application, whose name is written once for each thread. Returns the
 * address. */
uint64_t recorder_site(void *address);
/* A call that is not recorded. `name` is a literal. */
void recorder_unseen(const char *name);
/* A device, the bytes of its memory, and the alignment of its memories in bytes (0: unknown). */
void recorder_device(uint64_t device, uint64_t ticks, const char *name, uint64_t bytes,
                     uint64_t alignment);
