/* Several CUDA devices: events between their streams, and copies from one to another.
 *
 * A copy goes straight from memory to memory where the one context may use the other's, which has
 * to be asked for; else the driver takes it through the host.
 */
#include "device/device.h"

#ifdef GAMUT_WITH_CUDA

#include "device/cuda_device.h"
#include "device/list.h"

/* Where two devices have no link, copies work as well. */
static int enable_access(struct cuda_device *d, const struct cuda_device *peer, struct error *error)
{
    int can = 0;
    if (d->device == peer->device)
        return 0;
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuDeviceCanAccessPeer(&can, d->device, peer->device),
                          "cuDeviceCanAccessPeer", 0, error);
    if (code || !can)
        return code;
    CUresult result = d->api.cuCtxEnablePeerAccess(peer->context, 0);
    if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        return 0; /* primary contexts are shared: another group has asked */
    return cuda_check(&d->api, result, "cuCtxEnablePeerAccess", 0, error);
}

int cuda_open_together(const char *const *ids, unsigned count, struct device **devices,
                       struct error *error)
{
    unsigned opened = 0;
    int code = 0;
    while (opened < count && !code) {
        code = device_cuda.open(ids[opened], &devices[opened], error);
        opened += code == 0;
    }
    for (unsigned i = 0; i < count && !code; i++)
        for (unsigned j = 0; j < count && !code; j++)
            code = enable_access(cuda_self(devices[i]), cuda_self(devices[j]), error);
    for (unsigned i = 0; i < opened && code; i++)
        devices[i]->ops->close(devices[i]);
    return code;
}

int cuda_peer_copy(struct device *device, uint64_t to, uint64_t to_offset, struct device *of,
                   uint64_t from, uint64_t from_offset, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    int code = cuda_use(d, error);
    if (code)
        return code;
    CUresult result = d->api.cuMemcpyPeerAsync(to + to_offset, d->context, from + from_offset,
                                               cuda_self(of)->context, bytes, d->stream);
    return cuda_check(&d->api, result, "cuMemcpyPeerAsync", bytes, error);
}

/* ---- events --------------------------------------------------------------------------------- */

int cuda_event_create(struct device *device, uint64_t *event, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    CUevent created = NULL;
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuEventCreate(&created, CU_EVENT_DISABLE_TIMING),
                          "cuEventCreate", 0, error);
    *event = (uint64_t)(uintptr_t)created;
    return code;
}

void cuda_event_destroy(struct device *device, uint64_t event)
{
    struct cuda_device *d = cuda_self(device);
    if (cuda_use(d, NULL) == 0)
        d->api.cuEventDestroy_v2((CUevent)(uintptr_t)event);
}

int cuda_event_record(struct device *device, uint64_t event, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    return code ? code
                : cuda_check(&d->api, d->api.cuEventRecord((CUevent)(uintptr_t)event, d->stream),
                             "cuEventRecord", 0, error);
}

/* The event may be of another context. */
int cuda_event_wait(struct device *device, struct device *of, uint64_t event, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    (void)of;
    int code = cuda_use(d, error);
    return code ? code
                : cuda_check(&d->api,
                             d->api.cuStreamWaitEvent(d->stream, (CUevent)(uintptr_t)event, 0),
                             "cuStreamWaitEvent", 0, error);
}

#endif
