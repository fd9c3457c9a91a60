/* The doors of libgamut_alloc.so: what frameworks on CUDA call instead of their own allocator.
 * serve_process.h has the variables of the environment. A fault of a strategy, a wrong setting and
 * a driver that fails end the process with a sentence.
 *
 * `stream` is the stream whose commands use the block: a CUstream or cudaStream_t. A freed block
 * goes to the next request of its stream at once, because that request's commands come later. If
 * another stream uses a block, call gamut_record_stream, or free the block on that stream.
 *
 * PyTorch's functions and their parameters are those of torch/csrc/cuda/CUDAPluggableAllocator.h
 * (pytorch/pytorch, commit 00a1abb4ef74).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GAMUT_DOOR __attribute__((visibility("default")))

/* ---- any caller ---- */

/* Begins with this strategy; NULL: with that of GAMUT_SERVE. The first call of any other door
 * begins by itself. Returns NULL, or a sentence that says what is wrong, which stays until the next
 * call of this thread. */
GAMUT_DOOR const char *gamut_begin(const char *strategy);
/* NULL: the device is out of memory, and gamut_last_error says how. */
GAMUT_DOOR void *gamut_alloc_or_null(ssize_t size, int device, void *stream);
GAMUT_DOOR const char *gamut_last_error(void);
/* `ptr` NULL does nothing. */
GAMUT_DOOR void gamut_free(void *ptr, ssize_t size, int device, void *stream);
/* Gives spare memory back to the driver. */
GAMUT_DOOR void gamut_trim(void);
/* A phase of the program begins, such as an iteration. */
GAMUT_DOOR void gamut_mark(const char *name);
/* The statistics as JSON (serve_process.h); the caller frees the text with free. */
GAMUT_DOOR char *gamut_statistics(void);
/* Writes a result file now. Returns NULL, or a sentence. */
GAMUT_DOOR const char *gamut_write_result(const char *path);

/* ---- CuPy ---- */

/* The functions of cupy.cuda.CFunctionAllocator. `current` is a function without parameters that
 * returns the current stream as an intptr_t; NULL as of gamut_alloc_or_null. A block is freed on
 * the stream that it was asked for on. */
GAMUT_DOOR void *gamut_alloc_on_current(void *current, size_t size, int device);
GAMUT_DOOR void gamut_free_on_own(void *current, void *ptr, int device);

/* ---- PyTorch ---- */

/* Out of memory, throws std::runtime_error ("CUDA out of memory. ..."), because PyTorch takes NULL
 * for memory; NULL where no C++ library is loaded. */
GAMUT_DOOR void *gamut_alloc(ssize_t size, int device, void *stream);
GAMUT_DOOR void gamut_record_stream(void *ptr, void *stream);
GAMUT_DOOR void gamut_init(int device_count);
GAMUT_DOOR void gamut_memory_fraction(double fraction, int device);
GAMUT_DOOR void *gamut_base(void *ptr, size_t *size);
/* c10::cuda::MempoolId_t, which is a pair of numbers, and a std::function that is not called:
 * capture is seen in the stream. */
struct gamut_pool {
    uint64_t first, second;
};
GAMUT_DOOR void gamut_begin_pool(int device, struct gamut_pool pool, void *filter);
GAMUT_DOOR void gamut_end_pool(int device, struct gamut_pool pool);
GAMUT_DOOR void gamut_release_pool(int device, struct gamut_pool pool);
