/* A CUDA device as a guest in a process that uses it already: bench/inside stands in an
 * application.
 *
 * A guest has the memory hooks of struct device_ops (alloc, free, sync, host_memory, pools, vm,
 * read, fill) and makes no streams: queues are the application's. It needs no NVRTC. The calling
 * thread's context, and whether its calls may end a capture, are the application's too: the first
 * driver call after cuda_guest_leave sets both, and cuda_guest_leave sets them back.
 *
 * The caller has a lock: no two threads use one guest at once. Functions that a caller has in a
 * table of hooks take the device as `void *`.
 */
#pragma once

#include <stdbool.h>

#include "device/device.h"

enum { CUDA_GUEST_QUEUES = 32 };

/* Opens device `number` with its primary context. It stays open until the process ends.
 * ERR_UNSUPPORTED without a driver, ERR_NOT_FOUND. */
int cuda_guest_open(unsigned number, struct device **device, struct error *error);
/* The caller's call ends. */
void cuda_guest_leave(void *device);
/* Queue `queue`, below CUDA_GUEST_QUEUES, is this stream from here on. `stream` is a CUstream as a
 * number, here and below. */
void cuda_guest_stream(void *device, unsigned queue, uint64_t stream);

/* read and fill use this stream from here on. */
void cuda_guest_commands_go_to(struct device *device, uint64_t stream);

/* The capture that the stream is part of: *capture is its number, or 0. */
int cuda_guest_capture(void *device, uint64_t stream, uint64_t *capture, struct error *error);
/* Tells the guest that a capture of commands begins or has ended. Meanwhile free keeps memory,
 * which cuda_guest_capturing(false) gives back, and sync fails with ERR_OOM. */
int cuda_guest_capturing(void *device, bool capturing, struct error *error);

/* An event at the end of a stream. The caller gives it back with cuda_guest_unmark. */
int cuda_guest_mark(void *device, uint64_t stream, uint64_t *event, struct error *error);
/* Has the stream passed the event? 1, 0 or a negative code. */
int cuda_guest_passed(void *device, uint64_t event, struct error *error);
void cuda_guest_unmark(void *device, uint64_t event);
