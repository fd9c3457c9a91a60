/* The hooks of a CUDA device whose process is an application's. */
#include "device/cuda_guest.h"

#ifdef GAMUT_WITH_CUDA

#include <dlfcn.h>

#include "base/arena.h"
#include "device/cuda_device.h"

/* Memory whose release waits for the end of a capture. */
struct kept {
    uint64_t memory, bytes;
};

struct cuda_guest {
    bool is_inside; /* the thread's context and capture mode are the guest's */
    CUcontext before;
    CUstreamCaptureMode mode_before;
    CUstream streams[CUDA_GUEST_QUEUES];
    unsigned spare_count, spare_capacity;
    CUevent *spare;
    bool capturing;
    unsigned kept_count, kept_capacity;
    struct kept *kept;
    /* The header gives the plain name to another version in each release; this one is in all. */
    CUresult (*capture_info)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, void *, void *,
                             void *);
};

struct cuda_guest *cuda_guest_make(void)
{
    return must_alloc(sizeof(struct cuda_guest));
}

int cuda_guest_use(struct cuda_device *d, struct error *error)
{
    struct cuda_guest *g = d->guest;
    if (g->is_inside)
        return 0;
    TRY(CUDA_CALL(&d->api, cuCtxGetCurrent, 0, error, &g->before));
    if (g->before != d->context)
        TRY(CUDA_CALL(&d->api, cuCtxSetCurrent, 0, error, d->context));
    g->mode_before = CU_STREAM_CAPTURE_MODE_RELAXED;
    const int code =
        CUDA_CALL(&d->api, cuThreadExchangeStreamCaptureMode, 0, error, &g->mode_before);
    g->is_inside = !code;
    return code;
}

void cuda_guest_leave(void *device)
{
    struct cuda_device *d = cuda_self(device);
    struct cuda_guest *g = d->guest;
    if (!g->is_inside)
        return;
    g->is_inside = false;
    d->api.cuThreadExchangeStreamCaptureMode(&g->mode_before);
    if (g->before != d->context)
        d->api.cuCtxSetCurrent(g->before);
}

/* ---- queues ---- */

static CUstream stream_of(uint64_t stream)
{
    return (CUstream)(uintptr_t)stream;
}

CUstream cuda_guest_stream_of(const struct cuda_device *d, unsigned queue)
{
    return d->guest->streams[queue];
}

void cuda_guest_stream(void *device, unsigned queue, uint64_t stream)
{
    cuda_self(device)->guest->streams[queue] = stream_of(stream);
}

void cuda_guest_commands_go_to(struct device *device, uint64_t stream)
{
    cuda_self(device)->stream = stream_of(stream);
}

/* ---- captures ---- */

static int find_capture_info(struct cuda_guest *g, struct error *error)
{
    void *library = g->capture_info ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library)
        *(void **)&g->capture_info = dlsym(library, "cuStreamGetCaptureInfo_v2");
    return g->capture_info
               ? 0
               : error_set(error, ERR_UNSUPPORTED,
                           "libcuda.so.1 has no cuStreamGetCaptureInfo_v2: it is too old for "
                           "serving captured graphs (11.3 is needed)");
}

/* The default stream cannot be captured. The driver answers that another one is with IMPLICIT. */
int cuda_guest_capture(void *device, uint64_t stream, uint64_t *capture, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t number = 0;
    *capture = 0;
    if (stream_of(stream) == NULL || stream_of(stream) == CU_STREAM_LEGACY)
        return 0;
    const CUresult result = d->api.cuStreamIsCapturing(stream_of(stream), &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status == CU_STREAM_CAPTURE_STATUS_NONE)
        return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
                   ? 0
                   : cuda_check(&d->api, result, "cuStreamIsCapturing", 0, error);
    TRY(find_capture_info(d->guest, error));
    TRY(cuda_check(&d->api,
                   d->guest->capture_info(stream_of(stream), &status, &number, NULL, NULL, NULL),
                   "cuStreamGetCaptureInfo", 0, error));
    *capture = status == CU_STREAM_CAPTURE_STATUS_NONE ? 0 : number + 1;
    return 0;
}

static int free_kept(struct cuda_device *d, struct error *error)
{
    struct cuda_guest *g = d->guest;
    int code = g->kept_count ? cuda_guest_use(d, error) : 0;
    while (g->kept_count && !code) {
        const struct kept k = g->kept[--g->kept_count];
        code = CUDA_CALL(&d->api, cuMemFree_v2, k.bytes, error, k.memory);
    }
    return code;
}

int cuda_guest_capturing(void *device, bool capturing, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    d->guest->capturing = capturing;
    return capturing ? 0 : free_kept(d, error);
}

/* The driver's free waits for the device, which ends a capture. */
int cuda_guest_free(struct cuda_device *d, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct cuda_guest *g = d->guest;
    TRY(cuda_guest_use(d, error));
    if (!g->capturing)
        return CUDA_CALL(&d->api, cuMemFree_v2, bytes, error, memory);
    g->kept = must_grow(g->kept, g->kept_count, &g->kept_capacity, sizeof *g->kept);
    g->kept[g->kept_count++] = (struct kept){memory, bytes};
    return 0;
}

/* A wait for the device ends captures, and a captured stream, which cannot be waited for, may have
 * commands from before its capture. So nothing is given back: the caller is out of memory. */
int cuda_guest_sync(struct cuda_device *d, struct error *error)
{
    struct cuda_guest *g = d->guest;
    TRY(cuda_guest_use(d, error));
    if (g->capturing)
        return error_set(error, ERR_OOM,
                         "no memory can be given back while a stream of %s is captured",
                         d->info.id);
    return cuda_check(&d->api, d->api.cuCtxSynchronize(), "cuCtxSynchronize", 0, error);
}

/* ---- marks ---- */

int cuda_guest_mark(void *device, uint64_t stream, uint64_t *event, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    struct cuda_guest *g = d->guest;
    CUevent mark = NULL;
    TRY(cuda_guest_use(d, error));
    if (g->spare_count)
        mark = g->spare[--g->spare_count];
    else
        TRY(CUDA_CALL(&d->api, cuEventCreate, 0, error, &mark, CU_EVENT_DISABLE_TIMING));
    *event = (uint64_t)(uintptr_t)mark;
    const int code = CUDA_CALL(&d->api, cuEventRecord, 0, error, mark, stream_of(stream));
    if (code)
        cuda_guest_unmark(device, *event);
    return code;
}

int cuda_guest_passed(void *device, uint64_t event, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    TRY(cuda_guest_use(d, error));
    const CUresult result = d->api.cuEventQuery((CUevent)(uintptr_t)event);
    if (result == CUDA_ERROR_NOT_READY)
        return 0;
    const int code = cuda_check(&d->api, result, "cuEventQuery", 0, error);
    return code ? code : 1;
}

void cuda_guest_unmark(void *device, uint64_t event)
{
    struct cuda_guest *g = cuda_self(device)->guest;
    g->spare = must_grow(g->spare, g->spare_count, &g->spare_capacity, sizeof *g->spare);
    g->spare[g->spare_count++] = (CUevent)(uintptr_t)event;
}

#endif
