/* Memory, streams and events of the fake driver.
 *
 * Without FAKE_CUDA_WORKS commands do nothing and are done at once. With it they are carried out
 * later, by a thread that takes the next command of a random stream, or by a call that waits. What
 * a program must not do then ends it with a sentence:
 *
 *   - a command uses memory that is not allocated, or not mapped, when it is carried out;
 *   - fake_check finds other bytes than it expects: another stream got the memory too early;
 *   - memory is given back that was never taken.
 *
 * FAKE_CUDA_BYTES is the memory of a device [1 GiB], FAKE_CUDA_REFUSE=N refuses about every Nth
 * call that takes memory, FAKE_CUDA_SEED is the seed of both kinds of chance, and FAKE_CUDA_TWICE=1
 * gives the first memory again while it is held.
 *
 * Captures: commands of a captured stream go to its graph. A wait for the device, cuMemFree, and in
 * a thread that does not relax it cuMemAlloc and cuEventQuery too, end the captures with an error,
 * as in the real driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "fake_driver.h"

enum { ARENA_BYTES_LOG = 36, GRANULARITY = 1 << 21 };
enum kind { FILL, CHECK, READ, RECORD, WAIT, FREE };

/* Where an event was recorded last; waits for an earlier place keep that one. */
struct point {
    struct point *next; /* of all that ever were */
    bool is_done;
};
struct CUevent_st {
    struct CUevent_st *next; /* of all, where commands may still name a destroyed one */
    struct point *point;     /* NULL: nowhere */
    bool is_captured;
};

struct command {
    struct command *next;
    enum kind kind;
    uint64_t address, bytes;
    uint8_t value;
    void *host;
    struct point *point;
};

struct queue {
    struct command *first, **end;
    uint64_t capture; /* the number of its capture; 0: none */
    bool is_broken;   /* its capture was ended by an error */
    struct command *graph, **graph_end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range {
    uint64_t address, bytes;
    uint64_t used; /* of these, by the memory that is there */
    bool is_used;
} ranges[DEVICES][ROOM];
static struct mapping {
    uint64_t address, bytes;
    bool is_accessible;
} mappings[ROOM];
static unsigned mapping_count;
static struct {
    uint64_t bytes; /* 0: there is none */
    int device;
} chunks[ROOM]; /* by handle - 1 */
static uint64_t used_bytes[DEVICES];
static struct pool {
    uint64_t bytes, peak_bytes;
} pools[DEVICES]; /* one a device */
static unsigned char *arenas[DEVICES];
static char streams[ROOM][16];
static bool stream_is_used[ROOM];
static struct queue queues[ROOM + 1]; /* by stream; the last is the default one */
static unsigned queue_count = 1;      /* streams that were ever made, and the default one */
static uint64_t captures, seed = 1;
static unsigned captured_now;
static bool is_forked;
static struct point *points;
static struct CUevent_st *events;
static _Thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static _Noreturn void wrong(const char *what, uint64_t address, uint64_t bytes)
{
    fprintf(stderr, "fake driver: %s: %llu bytes at %#llx\n", what, (unsigned long long)bytes,
            (unsigned long long)address);
    abort();
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static bool works(void)
{
    static int known = -1;
    int value = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (value < 0)
        __atomic_store_n(&known, value = setting("FAKE_CUDA_WORKS", 0) != 0, __ATOMIC_RELAXED);
    return value;
}

static uint64_t chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static bool refuses(int device, uint64_t bytes)
{
    const uint64_t every = setting("FAKE_CUDA_REFUSE", 0);
    return used_bytes[device] + bytes > setting("FAKE_CUDA_BYTES", DEVICE_BYTES) ||
           (every && chance() % every == 0);
}

/* ---- commands ---- */

/* A process that is forked off has no thread that works, and no device. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    is_forked = true;
}

static struct queue *queue_of(CUstream stream)
{
    if (is_forked)
        wrong("a forked process calls the driver", 0, 0);
    const char *at = (const char *)stream;
    return at >= streams[0] && at < streams[ROOM] ? &queues[(at - streams[0]) / 16] : &queues[ROOM];
}

static bool is_held(uint64_t address, uint64_t bytes)
{
    for (unsigned d = 0; d < DEVICES; d++)
        for (struct range *r = ranges[d]; r->bytes; r++)
            if (r->is_used && address >= r->address && address + bytes <= r->address + r->used)
                return true;
    /* Neighbouring mappings are one. */
    while (bytes) {
        unsigned i = 0;
        while (i < mapping_count && !(mappings[i].is_accessible && address >= mappings[i].address &&
                                      address < mappings[i].address + mappings[i].bytes))
            i++;
        if (i == mapping_count)
            return false;
        const uint64_t rest = mappings[i].address + mappings[i].bytes - address;
        if (rest >= bytes)
            return true;
        address += rest;
        bytes -= rest;
    }
    return true;
}

static void give(uint64_t address)
{
    for (unsigned d = 0; d < DEVICES; d++)
        for (struct range *r = ranges[d]; r->bytes; r++)
            if (r->address == address && r->is_used) {
                r->is_used = false;
                used_bytes[d] -= r->used;
                return;
            }
    if (works())
        wrong("memory is freed that was not allocated", address, 0);
}

static void carry_out(const struct command *c)
{
    unsigned char *at = (unsigned char *)(uintptr_t)c->address;
    if ((c->kind == FILL || c->kind == CHECK || c->kind == READ) && !is_held(c->address, c->bytes))
        wrong("a command uses memory that is not held", c->address, c->bytes);
    if (c->kind == FILL)
        memset(at, c->value, c->bytes);
    if (c->kind == CHECK && (at[0] != c->value || memcmp(at, at + 1, c->bytes - 1) != 0))
        wrong("a block has the bytes of another", c->address, c->bytes);
    if (c->kind == READ)
        memcpy(c->host, at, c->bytes);
    if (c->kind == RECORD)
        c->point->is_done = true;
    if (c->kind == FREE) {
        for (unsigned d = 0; d < DEVICES; d++)
            for (struct range *r = ranges[d]; r->bytes; r++)
                if (r->address == c->address)
                    pools[d].bytes -= r->used;
        give(c->address);
    }
}

/* Carries out the next command of a queue, if it has one that waits for nothing. */
static bool step(struct queue *q)
{
    struct command *c = q->first;
    if (!c || (c->kind == WAIT && c->point && !c->point->is_done))
        return false;
    q->first = c->next;
    if (!q->first)
        q->end = &q->first;
    carry_out(c);
    free(c);
    return true;
}

static void drain_all(void)
{
    bool any = true;
    while (any) {
        any = false;
        for (unsigned i = 0; i < queue_count; i++)
            any |= step(&queues[i]);
        any |= step(&queues[ROOM]);
    }
}

static void drain(struct queue *q)
{
    while (q->first)
        if (!step(q))
            drain_all();
}

static void *work(void *nothing)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        for (unsigned i = 0; i < 4; i++) {
            const unsigned at = (unsigned)(chance() % (queue_count + 1));
            step(&queues[at == queue_count ? ROOM : at]);
        }
        pthread_mutex_unlock(&lock);
        usleep(20);
    }
    return nothing;
}

static void begin_work(void)
{
    static bool has_begun;
    pthread_t thread;
    if (has_begun || !works())
        return;
    has_begun = true;
    pthread_atfork(NULL, NULL, after_fork);
    seed = setting("FAKE_CUDA_SEED", 1) * 2654435761u + 1;
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_detach(thread);
}

static void add(struct command **first, struct command ***end, const struct command *command)
{
    struct command *c = malloc(sizeof *c);
    *c = *command;
    c->next = NULL;
    if (!*first)
        *end = first;
    **end = c;
    *end = &c->next;
}

/* With the lock held. */
static void queue_command(CUstream stream, const struct command *command)
{
    struct queue *q = queue_of(stream);
    begin_work();
    if (q->capture)
        add(&q->graph, &q->graph_end, command);
    else
        add(&q->first, &q->end, command);
}

static void put(CUstream stream, const struct command *command)
{
    if (!works())
        return;
    pthread_mutex_lock(&lock);
    queue_command(stream, command);
    pthread_mutex_unlock(&lock);
}

void fake_read(CUstream stream, void *to, CUdeviceptr from, size_t bytes)
{
    put(stream, &(struct command){.kind = READ, .address = from, .bytes = bytes, .host = to});
}

void fake_check(CUstream stream, CUdeviceptr address, size_t bytes, unsigned char value)
{
    put(stream,
        &(struct command){.kind = CHECK, .address = address, .bytes = bytes, .value = value});
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    ENTER(cuMemsetD8Async, NULL, to, value, bytes, stream);
    put(stream, &(struct command){.kind = FILL, .address = to, .bytes = bytes, .value = value});
    COMMAND(MEMCPY);
}

/* ---- captures ---- */

/* A call that a capture does not allow. `always`: in all threads and modes. */
static bool breaks_capture(bool always)
{
    if (!works() || !captured_now || (!always && mode == CU_STREAM_CAPTURE_MODE_RELAXED))
        return false;
    for (unsigned i = 0; i < queue_count; i++)
        queues[i].is_broken |= queues[i].capture != 0;
    return true;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *other)
{
    const CUstreamCaptureMode old = mode;
    mode = *other;
    *other = old;
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode how)
{
    ENTER(cuStreamBeginCapture_v2, NULL, stream, how);
    pthread_mutex_lock(&lock);
    struct queue *q = queue_of(stream);
    q->capture = ++captures;
    q->is_broken = false;
    captured_now++;
    pthread_mutex_unlock(&lock);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    ENTER(cuStreamEndCapture, NULL, stream, graph);
    pthread_mutex_lock(&lock);
    struct queue *q = queue_of(stream);
    *graph = (CUgraph)q->graph;
    q->graph = NULL;
    q->capture = 0;
    captured_now--;
    const bool broken = q->is_broken;
    pthread_mutex_unlock(&lock);
    LEAVE(broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
}

/* A graph is its list of commands, and so is what is launched. */
CUresult fake_launch_graph(CUgraphExec graph, CUstream stream)
{
    pthread_mutex_lock(&lock);
    for (const struct command *c = (const struct command *)graph; c && works(); c = c->next)
        queue_command(stream, c);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    pthread_mutex_lock(&lock);
    const struct queue *q = queue_of(stream);
    *status = q->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
                                   cuuint64_t *number, CUgraph *graph,
                                   const CUgraphNode **dependencies, size_t *count);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
                                   cuuint64_t *number, CUgraph *graph,
                                   const CUgraphNode **dependencies, size_t *count)
{
    (void)graph, (void)dependencies, (void)count;
    cuStreamIsCapturing(stream, status);
    *number = queue_of(stream)->capture;
    return CUDA_SUCCESS;
}

/* ---- memory ---- */

/* `ordered`: in the order of a stream, which a capture allows. */
static CUresult take(CUdeviceptr *address, size_t bytes, bool ordered)
{
    const int device = fake_current->device;
    pthread_mutex_lock(&lock);
    begin_work();
    if (!ordered && breaks_capture(false)) {
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (bytes > DEVICE_BYTES || refuses(device, bytes)) {
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct range *all = ranges[device], *r = all;
    if (works() && !arenas[device])
        arenas[device] = mmap(NULL, (size_t)1 << ARENA_BYTES_LOG, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    while (r->is_used || (r->bytes && r->bytes < bytes))
        r++;
    if (!r->bytes) {
        const uint64_t first = works() ? (uint64_t)(uintptr_t)arenas[device]
                                       : UINT64_C(0x7f0000000000) + ((uint64_t)device << 36);
        r->address = r > all ? (r[-1].address + r[-1].bytes + 511) & ~UINT64_C(511) : first;
        r->bytes = bytes;
    }
    r->is_used = true;
    r->used = bytes;
    used_bytes[device] += bytes;
    *address = setting("FAKE_CUDA_TWICE", 0) ? all->address : r->address;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    ENTER(cuMemAlloc_v2, NULL, address, bytes);
    LEAVE(take(address, bytes, false));
}

static CUresult free_waiting(CUdeviceptr address)
{
    if (is_forked)
        return CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&lock);
    const bool breaks = breaks_capture(true);
    if (!breaks && address) {
        drain_all();
        give(address);
    }
    pthread_mutex_unlock(&lock);
    return breaks ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    ENTER(cuMemFree_v2, NULL, address);
    LEAVE(free_waiting(address));
}

bool fake_range(CUdeviceptr address, CUdeviceptr *base, size_t *bytes)
{
    bool is = false;
    pthread_mutex_lock(&lock);
    for (unsigned d = 0; d < DEVICES; d++)
        for (struct range *r = ranges[d]; r->bytes; r++)
            if (r->is_used && address >= r->address && address < r->address + r->bytes) {
                is = true;
                *base = r->address;
                *bytes = r->bytes;
            }
    for (unsigned i = 0; i < mapping_count; i++)
        if (address >= mappings[i].address && address < mappings[i].address + mappings[i].bytes) {
            is = true;
            *base = mappings[i].address;
            *bytes = mappings[i].bytes;
        }
    pthread_mutex_unlock(&lock);
    return is;
}

size_t fake_held(int device)
{
    pthread_mutex_lock(&lock);
    const size_t bytes = used_bytes[device];
    pthread_mutex_unlock(&lock);
    return bytes;
}

void fake_reset(int device)
{
    pthread_mutex_lock(&lock);
    drain_all();
    for (struct range *r = ranges[device]; r->bytes; r++)
        r->is_used = false;
    used_bytes[device] = 0;
    pthread_mutex_unlock(&lock);
}

CUresult cuMemGetInfo_v2(size_t *left, size_t *all)
{
    pthread_mutex_lock(&lock);
    *all = setting("FAKE_CUDA_BYTES", DEVICE_BYTES);
    *left = *all - used_bytes[fake_current->device];
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    CUdeviceptr address = 0;
    (void)flags;
    const CUresult result = take(&address, bytes, false);
    *host = (void *)(uintptr_t)address;
    return result;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags)
{
    (void)flags;
    *device = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *host)
{
    return free_waiting((CUdeviceptr)(uintptr_t)host);
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    (void)flags;
    return take(address, bytes, false);
}

/* ---- pools: memory of the device that is freed in the order of a stream ---- */

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    ENTER(cuMemAllocAsync, NULL, address, bytes, stream);
    LEAVE(take(address, bytes, true));
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    ENTER(cuMemFreeAsync, NULL, address, stream);
    pthread_mutex_lock(&lock);
    if (works())
        queue_command(stream, &(struct command){.kind = FREE, .address = address});
    else
        give(address);
    pthread_mutex_unlock(&lock);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    *pool = (CUmemoryPool)&pools[properties->location.id];
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    (void)pool;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute what, void *value)
{
    struct pool *p = (struct pool *)pool;
    (void)value;
    pthread_mutex_lock(&lock);
    if (what == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        p->peak_bytes = p->bytes;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute what, void *value)
{
    const struct pool *p = (const struct pool *)pool;
    pthread_mutex_lock(&lock);
    *(cuuint64_t *)value = what == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ? p->peak_bytes : p->bytes;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    (void)pool, (void)keep;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream)
{
    struct pool *p = (struct pool *)pool;
    (void)stream;
    const CUresult result = take(address, bytes, true);
    pthread_mutex_lock(&lock);
    for (struct range *r = ranges[p - pools]; result == CUDA_SUCCESS && r->bytes; r++)
        if (r->address == *address)
            p->bytes += r->used;
    if (p->bytes > p->peak_bytes)
        p->peak_bytes = p->bytes;
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- virtual memory ---- */

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags which)
{
    (void)properties, (void)which;
    *bytes = GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr near,
                             unsigned long long flags)
{
    (void)alignment, (void)near, (void)flags;
    void *range = mmap(NULL, bytes + GRANULARITY, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *address = ((uint64_t)(uintptr_t)range + GRANULARITY - 1) & ~(uint64_t)(GRANULARITY - 1);
    return range == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* The addresses stay taken: no later range may be mistaken for this one. */
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < mapping_count; i++)
        if (mappings[i].address >= address && mappings[i].address < address + bytes)
            wrong("a range is given back that has mappings", address, bytes);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *properties, unsigned long long flags)
{
    const int device = properties->location.id;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    (void)flags;
    pthread_mutex_lock(&lock);
    begin_work();
    if (!refuses(device, bytes)) {
        unsigned i = 0;
        while (chunks[i].bytes)
            i++;
        chunks[i].bytes = bytes;
        chunks[i].device = device;
        *handle = i + 1;
        used_bytes[device] += bytes;
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    pthread_mutex_lock(&lock);
    if (!chunks[handle - 1].bytes)
        wrong("a chunk is released that there is not", handle, 0);
    used_bytes[chunks[handle - 1].device] -= chunks[handle - 1].bytes;
    chunks[handle - 1].bytes = 0;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    ENTER(cuMemMap, NULL, address, bytes, offset, handle, flags);
    pthread_mutex_lock(&lock);
    const bool refused = refuses(0, 0);
    if (!refused)
        mappings[mapping_count++] = (struct mapping){address, bytes, false};
    pthread_mutex_unlock(&lock);
    LEAVE(refused ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *who, size_t count)
{
    (void)who, (void)count;
    pthread_mutex_lock(&lock);
    const bool refused = refuses(0, 0);
    for (unsigned i = 0; i < mapping_count && !refused; i++)
        if (mappings[i].address >= address && mappings[i].address < address + bytes)
            mappings[i].is_accessible = true;
    pthread_mutex_unlock(&lock);
    return refused ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    ENTER(cuMemUnmap, NULL, address, bytes);
    pthread_mutex_lock(&lock);
    uint64_t unmapped = 0;
    for (unsigned i = mapping_count; i-- > 0;)
        if (mappings[i].address >= address && mappings[i].address < address + bytes) {
            unmapped += mappings[i].bytes;
            mappings[i] = mappings[--mapping_count];
        }
    if (works() && unmapped != bytes)
        wrong("a range is unmapped that was not mapped", address, bytes);
    pthread_mutex_unlock(&lock);
    LEAVE(CUDA_SUCCESS);
}

/* ---- streams and events ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    ENTER(cuStreamCreate, NULL, stream, flags);
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (stream_is_used[i])
        i++;
    stream_is_used[i] = true;
    if (queue_count <= i)
        queue_count = i + 1;
    *stream = (CUstream)streams[i];
    pthread_mutex_unlock(&lock);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    ENTER(cuStreamDestroy_v2, NULL, stream);
    pthread_mutex_lock(&lock);
    stream_is_used[((char *)stream - streams[0]) / (ptrdiff_t)sizeof *streams] = false;
    pthread_mutex_unlock(&lock);
    LEAVE(CUDA_SUCCESS);
}

static CUresult wait_for(struct queue *q)
{
    pthread_mutex_lock(&lock);
    const bool breaks = q ? works() && q->capture != 0 : breaks_capture(true);
    if (!breaks && q)
        drain(q);
    else if (!breaks)
        drain_all();
    pthread_mutex_unlock(&lock);
    return breaks ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    ENTER(cuStreamSynchronize, NULL, stream);
    LEAVE(wait_for(queue_of(stream)));
}

CUresult cuCtxSynchronize_v2(CUcontext context)
{
    ENTER(cuCtxSynchronize_v2, NULL, context);
    LEAVE(wait_for(NULL));
}

CUresult cuCtxSynchronize(void)
{
    struct call c;
    fake_enter(&c, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, NULL, NULL);
    return fake_leave(&c, wait_for(NULL));
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    if (!works())
        return CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    (*event)->next = events;
    events = *event;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    ENTER(cuEventRecord, NULL, event, stream);
    pthread_mutex_lock(&lock);
    event->is_captured = queue_of(stream)->capture != 0;
    event->point = calloc(1, sizeof *event->point);
    event->point->is_done = !works();
    event->point->next = points;
    points = event->point;
    if (works())
        queue_command(stream, &(struct command){.kind = RECORD, .point = event->point});
    pthread_mutex_unlock(&lock);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuEventQuery(CUevent event)
{
    pthread_mutex_lock(&lock);
    const CUresult result = event->is_captured      ? CUDA_ERROR_CAPTURED_EVENT
                            : breaks_capture(false) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                            : event->point && !event->point->is_done ? CUDA_ERROR_NOT_READY
                                                                     : CUDA_SUCCESS;
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    ENTER(cuStreamWaitEvent, NULL, stream, event, flags);
    pthread_mutex_lock(&lock);
    if (works())
        queue_command(stream, &(struct command){.kind = WAIT, .point = event->point});
    pthread_mutex_unlock(&lock);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuEventSynchronize(CUevent event)
{
    ENTER(cuEventSynchronize, NULL, event);
    pthread_mutex_lock(&lock);
    while (event->point && !event->point->is_done)
        drain_all();
    pthread_mutex_unlock(&lock);
    LEAVE(CUDA_SUCCESS);
}

/* A command may still name it. */
CUresult cuEventDestroy_v2(CUevent event)
{
    ENTER(cuEventDestroy_v2, NULL, event);
    if (!works())
        free(event);
    LEAVE(CUDA_SUCCESS);
}
