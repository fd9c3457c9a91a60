/* The time of each command, from the events that the queue keeps anyway.
 *
 * A command is as long as it ran. What lies between two of them is longer than in a run in which
 * nobody asks for events: an H200's driver takes some 3 us more for each.
 */
#include "device/device.h"

#ifdef GAMUT_WITH_OPENCL

#include <stdlib.h>

#include "base/arena.h"
#include "device/opencl_device.h"

enum { COMMANDS_OF_AN_ENTRY = 2 }; /* room on the average: nearly all have one */

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

int opencl_profile_begin(struct device *device, unsigned most, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    (void)error;
    struct opencl_profile *p = d->profile = must_alloc(sizeof *p);
    *p = (struct opencl_profile){.most = most,
                                 .event_capacity = (size_t)most * COMMANDS_OF_AN_ENTRY};
    p->events = must_alloc(p->event_capacity * sizeof *p->events);
    p->entry_of = must_alloc(p->event_capacity * sizeof *p->entry_of);
    return 0;
}

int opencl_profile_start(struct device *device, struct error *error)
{
    struct opencl_profile *p = opencl_self(device)->profile;
    (void)error;
    p->inside = p->count < p->most;
    return 0;
}

int opencl_profile_stop(struct device *device, struct error *error)
{
    struct opencl_profile *p = opencl_self(device)->profile;
    (void)error;
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

int opencl_profile_end(struct device *device, uint64_t *ns, unsigned *count, bool *marked,
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

#endif
