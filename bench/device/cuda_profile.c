/* The time of each command: an event before and one after it.
 *
 * A kernel that is shorter than its launch would be timed as long as the launch takes, because the
 * device, done with the first event, waits for the host. So the queue is held back by a function of
 * the host that waits until some hundred commands stand behind it, and again and again: a device
 * that has been let go works through them while the host queues the next ones behind the next gate.
 */
#include "device/device.h"

#ifdef GAMUT_WITH_CUDA

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "device/cuda_device.h"

enum {
    /* Entries behind a gate. The driver's queue holds about a thousand commands, and each entry is
     * three of them: the call that finds it full waits for a device that waits for the host. */
    BEHIND_A_GATE = 200,
    /* Should the queue be shorter, or some call wait for the device unnoticed, the gate opens by
     * itself: times are then worse, and nothing hangs. */
    GATE_SECONDS_MAX = 2,
};

struct cuda_profile {
    unsigned most, count;
    bool inside; /* between start and stop */
    bool closed;
    unsigned behind; /* entries since the gate was closed */
    sem_t gate;
    CUevent *start, *stop;
};

static void CUDA_CB wait_at_gate(void *profile)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += GATE_SECONDS_MAX;
    while (sem_timedwait(&((struct cuda_profile *)profile)->gate, &until) != 0 && errno == EINTR)
        ;
}

void cuda_profile_let_go(struct cuda_device *d)
{
    struct cuda_profile *p = d->profile;
    if (p->closed)
        sem_post(&p->gate);
    p->closed = false;
}

static int close_gate(struct cuda_device *d, struct error *error)
{
    struct cuda_profile *p = d->profile;
    CUresult result = d->api.cuLaunchHostFunc(d->stream, wait_at_gate, p);
    p->closed = result == CUDA_SUCCESS;
    p->behind = 0;
    return cuda_check(&d->api, result, "cuLaunchHostFunc", 0, error);
}

static void free_profile(struct cuda_device *d)
{
    struct cuda_profile *p = d->profile;
    for (unsigned i = 0; i < p->most; i++) {
        if (p->start[i])
            d->api.cuEventDestroy_v2(p->start[i]);
        if (p->stop[i])
            d->api.cuEventDestroy_v2(p->stop[i]);
    }
    sem_destroy(&p->gate);
    free(p->start);
    free(p->stop);
    free(p);
    d->profile = NULL;
}

int cuda_profile_begin(struct device *device, unsigned most, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    const struct cuda_api *api = &d->api;
    int code = cuda_use(d, error);
    if (code)
        return code;
    struct cuda_profile *p = d->profile = must_alloc(sizeof *p);
    *p = (struct cuda_profile){.most = most};
    sem_init(&p->gate, 0, 0);
    p->start = must_alloc(most * sizeof *p->start);
    p->stop = must_alloc(most * sizeof *p->stop);
    for (unsigned i = 0; i < most && !code; i++) {
        code = cuda_check(api, api->cuEventCreate(&p->start[i], CU_EVENT_DEFAULT), "cuEventCreate",
                          0, error);
        if (!code)
            code = cuda_check(api, api->cuEventCreate(&p->stop[i], CU_EVENT_DEFAULT),
                              "cuEventCreate", 0, error);
    }
    if (code)
        free_profile(d);
    return code;
}

int cuda_profile_start(struct device *device, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    struct cuda_profile *p = d->profile;
    if (p->count == p->most)
        return 0;
    int code = cuda_use(d, error);
    if (p->closed && p->behind == BEHIND_A_GATE)
        cuda_profile_let_go(d);
    if (!code && !p->closed)
        code = close_gate(d, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuEventRecord(p->start[p->count], d->stream),
                          "cuEventRecord", 0, error);
    p->inside = !code;
    return code;
}

int cuda_profile_stop(struct device *device, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    struct cuda_profile *p = d->profile;
    if (!p->inside)
        return 0;
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuEventRecord(p->stop[p->count], d->stream),
                          "cuEventRecord", 0, error);
    p->inside = false;
    p->count++;
    p->behind++;
    return code;
}

int cuda_profile_end(struct device *device, uint64_t *ns, unsigned *count, bool *marked,
                     struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    struct cuda_profile *p = d->profile;
    cuda_profile_let_go(d);
    int code = device->ops->sync(device, error);
    for (unsigned i = 0; i < p->count && ns && !code; i++) {
        float ms = 0;
        code = cuda_check(&d->api, d->api.cuEventElapsedTime(&ms, p->start[i], p->stop[i]),
                          "cuEventElapsedTime", 0, error);
        ns[i] = (uint64_t)((double)ms * 1e6);
    }
    *count = p->count;
    *marked = true;
    free_profile(d);
    return code;
}

#endif
