/* The queues of an OpenCL device: command queues, events, marks, and the time of each command. */
#include "device/device.h"

#ifdef GAMUT_WITH_OPENCL

#include <stdlib.h>

#include "base/arena.h"
#include "device/opencl_device.h"

/* ---- command queues ---- */

int opencl_use_queue(struct device *device, unsigned queue, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    cl_int status = CL_SUCCESS;
    if (queue >= DEVICE_QUEUES_MAX)
        return error_set(error, ERR_INTERNAL, "queue %u: there are %d", queue, DEVICE_QUEUES_MAX);
    if (!d->queues[queue])
        d->queues[queue] =
            d->api.clCreateCommandQueue(d->context, d->device, CL_QUEUE_PROFILING_ENABLE, &status);
    if (!d->queues[queue])
        return opencl_check(status, "clCreateCommandQueue", OPENCL_ASKS, 0, error);
    cl_command_queue left = d->queue;
    d->queue = d->queues[queue];
    if (!left || left == d->queue)
        return 0;
    /* Without this a driver may keep commands until the host waits for them. */
    return OPENCL_CALL(&d->api, clFlush, OPENCL_WAITS, 0, error, left);
}

static int sync_queue(struct device *device, unsigned queue, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (queue >= DEVICE_QUEUES_MAX)
        return error_set(error, ERR_INTERNAL, "queue %u: there are %d", queue, DEVICE_QUEUES_MAX);
    if (!d->queues[queue])
        return 0;
    return OPENCL_CALL(&d->api, clFinish, OPENCL_WAITS, 0, error, d->queues[queue]);
}

const struct device_queue_ops opencl_queues = {.use = opencl_use_queue, .sync = sync_queue};

/* ---- events ---- */

struct opencl_event {
    cl_event event; /* NULL: not recorded yet */
    cl_command_queue queue;
};

static struct opencl_event *event_of(uint64_t handle)
{
    return (struct opencl_event *)(uintptr_t)handle;
}

static int event_create(struct device *device, uint64_t *event, struct error *error)
{
    *event = (uint64_t)(uintptr_t)must_alloc(sizeof(struct opencl_event));
    return 0;
}

static void event_destroy(struct device *device, uint64_t event)
{
    if (event_of(event)->event)
        opencl_self(device)->api.clReleaseEvent(event_of(event)->event);
    free(event_of(event));
}

static int event_record(struct device *device, uint64_t event, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    struct opencl_event *e = event_of(event);
    if (e->event)
        d->api.clReleaseEvent(e->event);
    e->event = NULL;
    e->queue = d->queue;
    return OPENCL_CALL(&d->api, clEnqueueMarkerWithWaitList, OPENCL_ASKS, 0, error, d->queue, 0,
                       NULL, &e->event);
}

/* The event's queue is submitted first: a queue would wait for ever for commands that are never
 * submitted. */
static int event_wait(struct device *device, struct device *of, uint64_t event, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    struct opencl_event *e = event_of(event);
    if (!e->event)
        return 0;
    TRY(OPENCL_CALL(&d->api, clFlush, OPENCL_WAITS, 0, error, e->queue));
    return OPENCL_CALL(&d->api, clEnqueueBarrierWithWaitList, OPENCL_ASKS, 0, error, d->queue, 1,
                       &e->event, NULL);
}

static int event_sync(struct device *device, uint64_t event, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    struct opencl_event *e = event_of(event);
    return e->event ? OPENCL_CALL(&d->api, clWaitForEvents, OPENCL_WAITS, 0, error, 1, &e->event)
                    : 0;
}

const struct device_event_ops opencl_events = {.create = event_create,
                                               .destroy = event_destroy,
                                               .record = event_record,
                                               .wait = event_wait,
                                               .sync = event_sync};

/* ---- marks ---- */

int opencl_mark(struct device *device, enum device_mark which, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (d->marks[which])
        d->api.clReleaseEvent(d->marks[which]);
    d->marks[which] = NULL;
    return OPENCL_CALL(&d->api, clEnqueueMarkerWithWaitList, OPENCL_ASKS, 0, error, d->queue, 0,
                       NULL, &d->marks[which]);
}

int opencl_elapsed_ns(struct device *device, uint64_t *ns, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    cl_ulong end[2];
    for (int which = 0; which < 2; which++) {
        cl_int status = d->api.clGetEventProfilingInfo(d->marks[which], CL_PROFILING_COMMAND_END,
                                                       sizeof end[which], &end[which], NULL);
        if (status != CL_SUCCESS)
            return opencl_check(status, "clGetEventProfilingInfo", OPENCL_ASKS, 0, error);
    }
    *ns = end[MARK_END] - end[MARK_START];
    return 0;
}

/* ---- profile ----
 *
 * The times come from the commands' events: the time of a command is the time that it ran. The gaps
 * between commands are longer than in a run without events: an H200's driver takes some 3 µs more
 * for each command.
 */

enum { COMMANDS_OF_AN_ENTRY = 2 }; /* room for this average: nearly all entries have one command */

struct opencl_profile {
    unsigned most, count;
    bool inside;
    size_t event_count, event_capacity;
    cl_event *events;
    unsigned *entry_of; /* by event */
};

cl_event *opencl_profile_event(struct opencl_device *d)
{
    struct opencl_profile *p = d->profile;
    if (!p || !p->inside || p->event_count == p->event_capacity)
        return NULL;
    p->entry_of[p->event_count] = p->count;
    return &p->events[p->event_count++];
}

static int profile_begin(struct device *device, unsigned most, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    struct opencl_profile *p = d->profile = must_alloc(sizeof *p);
    *p = (struct opencl_profile){.most = most,
                                 .event_capacity = (size_t)most * COMMANDS_OF_AN_ENTRY};
    p->events = must_alloc(p->event_capacity * sizeof *p->events);
    p->entry_of = must_alloc(p->event_capacity * sizeof *p->entry_of);
    return 0;
}

static int profile_start(struct device *device, struct error *error)
{
    struct opencl_profile *p = opencl_self(device)->profile;
    p->inside = p->count < p->most;
    return 0;
}

static int profile_stop(struct device *device, struct error *error)
{
    struct opencl_profile *p = opencl_self(device)->profile;
    p->count += p->inside;
    p->inside = false;
    return 0;
}

static int add_time(struct opencl_device *d, cl_event event, uint64_t *ns, struct error *error)
{
    cl_ulong start = 0, end = 0;
    cl_int status = d->api.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start,
                                                   &start, NULL);
    if (status == CL_SUCCESS)
        status =
            d->api.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    *ns += end > start ? end - start : 0;
    return opencl_check(status, "clGetEventProfilingInfo", OPENCL_ASKS, 0, error);
}

static int sum_up(struct opencl_device *d, uint64_t *ns, struct error *error)
{
    const struct opencl_profile *p = d->profile;
    int code = 0;
    for (unsigned i = 0; i < p->count; i++)
        ns[i] = 0;
    for (size_t i = 0; i < p->event_count && !code; i++)
        if (p->events[i] && p->entry_of[i] < p->count) /* else the command failed */
            code = add_time(d, p->events[i], &ns[p->entry_of[i]], error);
    return code;
}

static int profile_end(struct device *device, uint64_t *ns, unsigned *count, bool *marked,
                       struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    struct opencl_profile *p = d->profile;
    int code = device->ops->sync(device, error);
    if (ns && !code)
        code = sum_up(d, ns, error);
    *count = p->count;
    *marked = false;
    for (size_t i = 0; i < p->event_count; i++)
        if (p->events[i])
            d->api.clReleaseEvent(p->events[i]);
    free(p->events);
    free(p->entry_of);
    free(p);
    d->profile = NULL;
    return code;
}

const struct device_profile_ops opencl_profile = {
    .begin = profile_begin, .start = profile_start, .stop = profile_stop, .end = profile_end};

#endif
