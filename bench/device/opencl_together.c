/* Several devices in one context: events between their queues, and copies.
 *
 * A cl_mem belongs to a context, and which device has its contents is the driver's business. Here
 * each is used by commands of one device alone, but for the copy from one to another.
 */
#include "device/device.h"

#ifdef GAMUT_WITH_OPENCL

#include <stdlib.h>

#include "base/arena.h"
#include "device/opencl_device.h"

enum { TOGETHER_MAX = 16 };

static int create_context(const struct opencl_api *api, const char *const *ids, unsigned count,
                          cl_context *context, struct error *error)
{
    cl_device_id each[TOGETHER_MAX];
    cl_platform_id first = NULL, platform = NULL;
    cl_uint different = 0;
    if (count > TOGETHER_MAX)
        return error_set(error, ERR_UNSUPPORTED, "%u devices together: at most %d", count,
                         TOGETHER_MAX);
    for (unsigned i = 0; i < count; i++) {
        cl_device_id device;
        int code = opencl_find(api, ids[i], &platform, &device, error);
        if (code)
            return code;
        if (i > 0 && platform != first)
            return error_set(error, ERR_UNSUPPORTED, "%s and %s are of different platforms", ids[0],
                             ids[i]);
        first = platform;
        cl_uint at = 0;
        while (at < different && each[at] != device)
            at++;
        each[at] = device; /* a context has each device once */
        different += at == different;
    }
    cl_int status;
    *context = api->clCreateContext(NULL, different, each, NULL, NULL, &status);
    return *context ? 0 : opencl_check(status, "clCreateContext", OPENCL_ASKS, 0, error);
}

int opencl_open_together(const char *const *ids, unsigned count, struct device **devices,
                         struct error *error)
{
    struct opencl_api api;
    cl_context context = NULL;
    int code = opencl_api_load(&api, error);
    if (!code)
        code = create_context(&api, ids, count, &context, error);
    if (code)
        return code;
    for (unsigned i = 0; i < count && !code; i++) {
        code = opencl_open_in(ids[i], context, &devices[i], error);
        for (unsigned o = 0; o < i && code; o++)
            devices[o]->ops->close(devices[o]);
    }
    api.clReleaseContext(context); /* the devices have it */
    return code;
}

int opencl_peer_copy(struct device *device, uint64_t to, uint64_t to_offset, struct device *of,
                     uint64_t from, uint64_t from_offset, uint64_t bytes, struct error *error)
{
    if (opencl_self(device)->context != opencl_self(of)->context)
        return error_set(error, ERR_UNSUPPORTED, "%s and %s were not opened together",
                         device_info(device)->id, device_info(of)->id);
    return device->ops->copy(device, to, to_offset, from, from_offset, bytes, error);
}

/* ---- events --------------------------------------------------------------------------------- */

struct opencl_event {
    cl_event event; /* NULL: not recorded yet */
    cl_command_queue queue;
};

static struct opencl_event *event_of(uint64_t handle)
{
    return (struct opencl_event *)(uintptr_t)handle;
}

int opencl_event_create(struct device *device, uint64_t *event, struct error *error)
{
    (void)device, (void)error;
    *event = (uint64_t)(uintptr_t)must_alloc(sizeof(struct opencl_event));
    return 0;
}

void opencl_event_destroy(struct device *device, uint64_t event)
{
    if (event_of(event)->event)
        opencl_self(device)->api.clReleaseEvent(event_of(event)->event);
    free(event_of(event));
}

int opencl_event_record(struct device *device, uint64_t event, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    struct opencl_event *e = event_of(event);
    if (e->event)
        d->api.clReleaseEvent(e->event);
    e->event = NULL;
    e->queue = d->queue;
    cl_int status = d->api.clEnqueueMarkerWithWaitList(d->queue, 0, NULL, &e->event);
    return opencl_check(status, "clEnqueueMarkerWithWaitList", OPENCL_ASKS, 0, error);
}

/* A queue that waits for one whose commands nobody submits would wait for ever. */
int opencl_event_wait(struct device *device, struct device *of, uint64_t event, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    struct opencl_event *e = event_of(event);
    (void)of;
    if (!e->event)
        return 0;
    int code = opencl_check(d->api.clFlush(e->queue), "clFlush", OPENCL_WAITS, 0, error);
    if (code)
        return code;
    cl_int status = d->api.clEnqueueBarrierWithWaitList(d->queue, 1, &e->event, NULL);
    return opencl_check(status, "clEnqueueBarrierWithWaitList", OPENCL_ASKS, 0, error);
}

#endif
