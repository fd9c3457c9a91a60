/* The time of each command, from the events that the queue keeps anyway.
 *
 * A command that was submitted before the one in front of it had ended kept the queue busy from
 * that end to its own: what lies between the two is the device's own changing over, which a program
 * pays too. One that came later is as long as it ran.
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

/* When a command was submitted to the device, began and ended, by the device's clock. */
struct command_times {
    cl_ulong submit, start, end;
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

static int times_of(struct opencl_device *d, cl_event event, struct command_times *t,
                    struct error *error)
{
    const struct {
        cl_profiling_info what;
        cl_ulong *to;
    } questions[] = {{CL_PROFILING_COMMAND_SUBMIT, &t->submit},
                     {CL_PROFILING_COMMAND_START, &t->start},
                     {CL_PROFILING_COMMAND_END, &t->end}};
    cl_int status = CL_SUCCESS;
    for (size_t i = 0; i < sizeof questions / sizeof *questions && status == CL_SUCCESS; i++)
        status = d->api.clGetEventProfilingInfo(event, questions[i].what, sizeof(cl_ulong),
                                                questions[i].to, NULL);
    return opencl_check(status, "clGetEventProfilingInfo", OPENCL_ASKS, 0, error);
}

static int sum_up(struct opencl_device *d, uint64_t *ns, struct error *error)
{
    const struct opencl_profile *p = d->profile;
    cl_ulong before = 0; /* the end of the command in front */
    for (unsigned i = 0; i < p->count; i++)
        ns[i] = 0;
    for (size_t i = 0; i < p->event_count; i++) {
        struct command_times t;
        int code = p->events[i] ? times_of(d, p->events[i], &t, error) : 0;
        if (code)
            return code;
        if (!p->events[i] || p->entry_of[i] >= p->count)
            continue; /* the command failed */
        cl_ulong from = i > 0 && t.submit <= before && before <= t.start ? before : t.start;
        ns[p->entry_of[i]] += t.end > from ? t.end - from : 0;
        before = t.end;
    }
    return 0;
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
