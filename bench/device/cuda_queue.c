/* The queues of a CUDA device: streams, events, marks, and the time of each command. */
#include "device/device.h"

#ifdef GAMUT_WITH_CUDA

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "device/cuda_device.h"

/* ---- streams ---- */

int cuda_stream(struct cuda_device *d, unsigned queue, CUstream *stream, struct error *error)
{
    int code = 0;
    if (d->guest) {
        *stream = cuda_guest_stream_of(d, queue);
        return 0;
    }
    if (queue >= DEVICE_QUEUES_MAX)
        return error_set(error, ERR_INTERNAL, "queue %u: there are %d", queue, DEVICE_QUEUES_MAX);
    if (!d->streams[queue])
        code = CUDA_CALL(&d->api, cuStreamCreate, 0, error, &d->streams[queue],
                         CU_STREAM_NON_BLOCKING);
    if (!code)
        *stream = d->streams[queue];
    return code;
}

static int use_queue(struct device *device, unsigned queue, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    TRY(cuda_use(d, error));
    return cuda_stream(d, queue, &d->stream, error);
}

static int sync_queue(struct device *device, unsigned queue, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (queue >= DEVICE_QUEUES_MAX)
        return error_set(error, ERR_INTERNAL, "queue %u: there are %d", queue, DEVICE_QUEUES_MAX);
    cuda_profile_open(d);
    int code = cuda_use(d, error);
    if (!code && d->streams[queue])
        code = CUDA_CALL(&d->api, cuStreamSynchronize, 0, error, d->streams[queue]);
    return code;
}

const struct device_queue_ops cuda_queues = {.use = use_queue, .sync = sync_queue};

/* ---- events ---- */

static int event_create(struct device *device, uint64_t *event, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    CUevent created = NULL;
    TRY(cuda_use(d, error));
    int code = CUDA_CALL(&d->api, cuEventCreate, 0, error, &created, CU_EVENT_DISABLE_TIMING);
    *event = (uint64_t)(uintptr_t)created;
    return code;
}

static void event_destroy(struct device *device, uint64_t event)
{
    struct cuda_device *d = cuda_self(device);
    if (cuda_use(d, NULL) == 0)
        d->api.cuEventDestroy_v2((CUevent)(uintptr_t)event);
}

static int event_record(struct device *device, uint64_t event, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuEventRecord, 0, error, (CUevent)(uintptr_t)event, d->stream);
}

/* The event may belong to another context. */
static int event_wait(struct device *device, struct device *of, uint64_t event, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuStreamWaitEvent, 0, error, d->stream, (CUevent)(uintptr_t)event, 0);
}

static int event_sync(struct device *device, uint64_t event, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuEventSynchronize, 0, error, (CUevent)(uintptr_t)event);
}

const struct device_event_ops cuda_events = {.create = event_create,
                                             .destroy = event_destroy,
                                             .record = event_record,
                                             .wait = event_wait,
                                             .sync = event_sync};

/* ---- marks ---- */

int cuda_mark(struct device *device, enum device_mark which, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuEventRecord, 0, error, d->marks[which], d->stream);
}

int cuda_elapsed_ns(struct device *device, uint64_t *ns, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    float ms = 0;
    TRY(cuda_use(d, error));
    int code = CUDA_CALL(&d->api, cuEventElapsedTime, 0, error, &ms, d->marks[MARK_START],
                         d->marks[MARK_END]);
    *ns = (uint64_t)((double)ms * 1e6);
    return code;
}

/* ---- profile ----
 *
 * A kernel that is shorter than its launch would be timed as long as the launch takes, because the
 * device, done with the first event, waits for the host. So a gate holds the queue back: a function
 * of the host that waits until some hundred commands are queued after it. When a gate opens, the
 * device works through these commands while the host queues the next ones after the next gate.
 */

enum {
    /* Entries after a gate. The driver's queue holds about a thousand commands, and an entry has
     * three. A call that finds the queue full would wait for a device that waits for the host. */
    ENTRIES_OF_A_GATE = 200,
    /* If the queue is shorter, or a call waits for the device unnoticed, the gate opens by itself
     * after this time: the times are then less exact, but nothing hangs. */
    GATE_SECONDS_MAX = 2,
};

struct cuda_profile {
    unsigned most, count;
    bool inside; /* between start and stop */
    bool closed;
    unsigned entries; /* entries since the gate was closed */
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

void cuda_profile_release(struct cuda_device *d)
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
    p->entries = 0;
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

static int profile_begin(struct device *device, unsigned most, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    const struct cuda_api *api = &d->api;
    TRY(cuda_use(d, error));
    int code = 0;
    struct cuda_profile *p = d->profile = must_alloc(sizeof *p);
    *p = (struct cuda_profile){.most = most};
    sem_init(&p->gate, 0, 0);
    p->start = must_alloc(most * sizeof *p->start);
    p->stop = must_alloc(most * sizeof *p->stop);
    for (unsigned i = 0; i < most && !code; i++) {
        code = CUDA_CALL(api, cuEventCreate, 0, error, &p->start[i], CU_EVENT_DEFAULT);
        THEN(code, CUDA_CALL(api, cuEventCreate, 0, error, &p->stop[i], CU_EVENT_DEFAULT));
    }
    if (code)
        free_profile(d);
    return code;
}

static int profile_start(struct device *device, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    struct cuda_profile *p = d->profile;
    if (p->count == p->most)
        return 0;
    int code = cuda_use(d, error);
    if (p->closed && p->entries == ENTRIES_OF_A_GATE)
        cuda_profile_release(d);
    if (!code && !p->closed)
        code = close_gate(d, error);
    THEN(code, CUDA_CALL(&d->api, cuEventRecord, 0, error, p->start[p->count], d->stream));
    p->inside = !code;
    return code;
}

static int profile_stop(struct device *device, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    struct cuda_profile *p = d->profile;
    if (!p->inside)
        return 0;
    int code = cuda_use(d, error);
    THEN(code, CUDA_CALL(&d->api, cuEventRecord, 0, error, p->stop[p->count], d->stream));
    p->inside = false;
    p->count++;
    p->entries++;
    return code;
}

static int profile_end(struct device *device, uint64_t *ns, unsigned *count, bool *marked,
                       struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    struct cuda_profile *p = d->profile;
    cuda_profile_release(d);
    int code = device->ops->sync(device, error);
    for (unsigned i = 0; i < p->count && ns && !code; i++) {
        float ms = 0;
        code = CUDA_CALL(&d->api, cuEventElapsedTime, 0, error, &ms, p->start[i], p->stop[i]);
        ns[i] = (uint64_t)((double)ms * 1e6);
    }
    *count = p->count;
    *marked = true;
    free_profile(d);
    return code;
}

const struct device_profile_ops cuda_profile = {
    .begin = profile_begin, .start = profile_start, .stop = profile_stop, .end = profile_end};

#endif
