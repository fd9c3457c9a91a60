/* The recorder: writes raw recordings (trace/raw.h) from inside an application.
 *
 * A call takes no lock and makes no system call, except the first of a thread and one in some 500, when a
 * chunk is full. A process that forks goes on with a file of its own. If the disk is full, recording
 * stops, and the file says how many records are missing; the application goes on.
 *
 * GAMUT_RECORD names the folder of the files (NAME-PROCESS.raw, the first free of NAME-PROCESS_02.raw and
 * so on). Without it nothing is recorded. GAMUT_RECORD_OPTIONS is a list of `anonymous` (no names) and
 * `times` (commands are timed by the device, which costs).
 */
#ifndef GAMUT_CAPTURE_RECORDER_H
#define GAMUT_CAPTURE_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/raw.h"

/* Begins. `api` and `via` as in struct raw_head; the last `via` before the first record counts. False: nothing is to
 * be recorded. */
bool recorder_open(const char *api, const char *via);
/* Whether an option was given. */
bool recorder_wants(const char *option);
/* Ticks of the recorder's clock: the processor's counter where it runs evenly, else nanoseconds. */
uint64_t recorder_ticks(void);

/* A record of `words` numbers: returns where they go, or NULL if nothing is recorded. The caller
 * fills all of them, and calls recorder_commit before the thread's next record. `begin`, `end`: ticks. */
uint64_t *recorder_begin(enum raw_kind kind, uint64_t object, uint64_t result, uint64_t begin,
                         uint64_t end, unsigned words);
void recorder_commit(void);
/* The same with the numbers at hand. */
void recorder_put(enum raw_kind kind, uint64_t object, uint64_t result, uint64_t begin,
                  uint64_t end, const uint64_t *words, unsigned count);
/* A record whose words are a text; longer ones are cut. Anonymous recordings have "" instead. */
void recorder_text(enum raw_kind kind, uint64_t object, uint64_t ticks, const char *text);
/* Whether this thread has not described a handle so far; false from then on, but for a small part of handles, which
 * are described again. */
bool recorder_is_new(uint64_t handle);
/* The handle was destroyed, and may be that of another object next. */
void recorder_forget(uint64_t handle);
/* An address in the application, whose name is written once for each thread. Returns the address. */
uint64_t recorder_site(void *address);
/* A call that is not recorded. `name` is a literal. */
void recorder_unseen(const char *name);
/* A device and its memory. */
void recorder_device(uint64_t device, uint64_t ticks, const char *name, uint64_t bytes);

#endif
