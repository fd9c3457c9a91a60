/* What the two files of the fake driver share: fake_cuda.c has CUPTI, modules and launches,
 * fake_memory.c memory, streams and events, fake_names.c what tells functions and blocks apart. */
#pragma once

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEVICES = 2, ROOM = 4096 };
#define DEVICE_BYTES (UINT64_C(1) << 30)

struct CUctx_st {
    int device;
};
extern _Thread_local struct CUctx_st *fake_current;

/* A call, as CUPTI's callbacks see it. */
struct call {
    CUpti_CallbackData data;
    CUpti_CallbackId id;
    uint64_t kept;
    CUresult result;
};
void fake_enter(struct call *c, CUpti_CallbackId id, const void *parameters, const char *symbol);
CUresult fake_leave(struct call *c, CUresult result);
/* One more command that was timed. */
void fake_activity(CUpti_ActivityKind kind, uint32_t number);

/* Begins a call: its parameters are those of the struct that CUPTI has for it. */
#define ENTER(name, symbol, ...)                                                                   \
    const name##_params p_ = {__VA_ARGS__};                                                        \
    struct call c_;                                                                                \
    fake_enter(&c_, CUPTI_DRIVER_TRACE_CBID_##name, &p_, symbol)
#define LEAVE(result) return fake_leave(&c_, result)
#define COMMAND(kind)                                                                              \
    do {                                                                                           \
        fake_activity(CUPTI_ACTIVITY_KIND_##kind, c_.data.correlationId);                          \
        LEAVE(CUDA_SUCCESS);                                                                       \
    } while (0)

/* Queues a copy to the host, if commands are carried out. */
void fake_read(CUstream stream, void *to, CUdeviceptr from, size_t bytes);
CUresult fake_launch_graph(CUgraphExec graph, CUstream stream);
/* The memory that an address lies in. */
bool fake_range(CUdeviceptr address, CUdeviceptr *base, size_t *bytes);
/* A device's memory is gone. */
void fake_reset(int device);
