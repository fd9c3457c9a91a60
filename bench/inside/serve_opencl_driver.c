#include <stdlib.h>

#include "base/arena.h"
#include "device/opencl_api.h"
#include "inside/serve_opencl.h"

enum {
    /* as in a replay without a device (bench/replay/replay.c) */
    ALIGNMENT_BYTES = 512,
    GAP_BYTES = 4096, /* between the addresses of two memories */
};

pthread_mutex_t opencl_lock = PTHREAD_MUTEX_INITIALIZER;
bool opencl_counts;

static cl_command_queue handle_of(const struct queue *queue)
{
    return (cl_command_queue)(uintptr_t)queue->entry.address;
}

static cl_context context_handle(const struct context *context)
{
    return (cl_context)(uintptr_t)context->entry.address;
}

static const cl_icd_dispatch *next_of_context(const struct context *context)
{
    return next_of(context->device);
}

/* ---- marks ---- */

cl_event opencl_marker(cl_command_queue queue)
{
    cl_event event = NULL;
    const cl_icd_dispatch *next = next_of(queue);
    if (next->clEnqueueMarkerWithWaitList(queue, 0, NULL, &event) != CL_SUCCESS)
        return NULL;
    /* A queue that waits for a command of another one does so only once that is on its way. */
    next->clFlush(queue);
    return event;
}

bool opencl_is_complete(cl_event event)
{
    cl_int status = CL_QUEUED;
    return next_of(event)->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                          &status, NULL) != CL_SUCCESS ||
           status <= CL_COMPLETE;
}

/* Ends of queues. */
struct mark {
    unsigned count, capacity;
    cl_event *events;
};

static void add_event(struct mark *mark, cl_event event)
{
    mark->events = must_grow(mark->events, mark->count, &mark->capacity, sizeof *mark->events);
    mark->events[mark->count++] = event;
}

static int add_mark(struct mark *mark, const struct queue *queue, struct error *error)
{
    cl_event event = NULL;
    if (queue->entry.address && !(event = opencl_marker(handle_of(queue))))
        return error_set(error, ERR_DEVICE,
                         "clEnqueueMarkerWithWaitList: the driver refused a marker");
    if (!event && queue->end && next_of(queue->end)->clRetainEvent(queue->end) == CL_SUCCESS)
        event = queue->end;
    if (event)
        add_event(mark, event);
    return 0;
}

static void free_mark(struct mark *mark)
{
    for (unsigned i = 0; i < mark->count; i++)
        next_of(mark->events[i])->clReleaseEvent(mark->events[i]);
    free(mark->events);
    free(mark);
}

static int mark_queues(void *of, uint64_t queue, uint64_t *number, struct error *error)
{
    const struct context *context = of;
    struct mark *mark = must_alloc(sizeof *mark);
    int code = 0;
    pthread_mutex_lock(&opencl_lock);
    for (const struct queue *q = context->queues; q && !code; q = q->next)
        if (queue == SERVE_ALL_QUEUES || queue == HANDLE(q))
            code = add_mark(mark, q, error);
    pthread_mutex_unlock(&opencl_lock);
    if (code)
        free_mark(mark);
    *number = HANDLE(mark);
    return code;
}

static int passed_mark(void *context, uint64_t number, struct error *error)
{
    const struct mark *mark = (const struct mark *)(uintptr_t)number;
    for (unsigned i = 0; i < mark->count; i++)
        if (!opencl_is_complete(mark->events[i]))
            return 0;
    return 1;
}

static void unmark(void *context, uint64_t number)
{
    free_mark((struct mark *)(uintptr_t)number);
}

/* ---- queues ---- */

static int join(void *of, uint64_t queue, uint64_t other, struct error *error)
{
    const struct context *context = of;
    const struct queue *waits = (const struct queue *)(uintptr_t)queue,
                       *first = (const struct queue *)(uintptr_t)other;
    struct mark mark = {0};
    int joined = 1, code = 0;
    pthread_mutex_lock(&opencl_lock);
    cl_event event = NULL;
    if (context->has_lost_order) {
        event = first->before;
    } else {
        code = add_mark(&mark, first, error);
        event = mark.count ? mark.events[0] : NULL;
    }
    if (!code && event && !opencl_is_complete(event)) {
        joined = waits->entry.address != 0;
        if (joined && next_of(event)->clEnqueueBarrierWithWaitList(handle_of(waits), 1, &event,
                                                                   NULL) != CL_SUCCESS)
            code = error_set(error, ERR_DEVICE,
                             "clEnqueueBarrierWithWaitList: the driver refused a barrier");
    }
    for (unsigned i = 0; i < mark.count; i++)
        next_of(mark.events[i])->clReleaseEvent(mark.events[i]);
    free(mark.events);
    pthread_mutex_unlock(&opencl_lock);
    return code ? code : joined;
}

/* The handle of the n-th queue, retained; NULL: there are less. */
static cl_command_queue take_queue(const struct context *context, unsigned n)
{
    cl_command_queue handle = NULL;
    pthread_mutex_lock(&opencl_lock);
    for (const struct queue *q = context->queues; q; q = q->next)
        if (q->entry.address && n-- == 0) {
            handle = handle_of(q);
            next_of(handle)->clRetainCommandQueue(handle);
            break;
        }
    pthread_mutex_unlock(&opencl_lock);
    return handle;
}

/* A queue that waits for the host may never end, so none is waited for where that is possible. */
static void wait_for_queues(void *of)
{
    const struct context *context = of;
    for (unsigned n = 0; !context->has_lost_order; n++) {
        cl_command_queue queue = take_queue(context, n);
        if (!queue)
            return;
        next_of(queue)->clFinish(queue);
        next_of(queue)->clReleaseCommandQueue(queue);
    }
}

/* ---- memory ---- */

static int alloc_memory(void *of, uint64_t bytes, uint64_t *address, struct error *error)
{
    struct context *context = of;
    cl_int status = CL_SUCCESS;
    cl_mem handle = next_of_context(context)->clCreateBuffer(
        context_handle(context), CL_MEM_READ_WRITE, bytes, NULL, &status);
    TRY(opencl_check(status, "clCreateBuffer", OPENCL_ASKS, bytes, error));
    struct memory *memory = must_alloc(sizeof *memory);
    pthread_mutex_lock(&opencl_lock);
    *memory = (struct memory){.entry.address = context->next_address, .handle = handle};
    context->next_address += (bytes + 2 * GAP_BYTES - 1) / GAP_BYTES * GAP_BYTES;
    block_table_add(&context->memories, &memory->entry);
    pthread_mutex_unlock(&opencl_lock);
    *address = memory->entry.address;
    return 0;
}

/* NULL: no memory begins there. */
static cl_mem memory_at(struct context *context, uint64_t address)
{
    if (opencl_counts)
        return (cl_mem)(uintptr_t)address;
    pthread_mutex_lock(&opencl_lock);
    const struct memory *memory =
        (const struct memory *)block_table_find(&context->memories, address);
    pthread_mutex_unlock(&opencl_lock);
    return memory ? memory->handle : NULL;
}

/* Commands may still use it: the driver keeps the memory of what it has handles of. */
static int free_memory(void *of, uint64_t address, uint64_t bytes, struct error *error)
{
    struct context *context = of;
    const cl_mem handle = memory_at(context, address);
    pthread_mutex_lock(&opencl_lock);
    free(block_table_remove(&context->memories, address));
    pthread_mutex_unlock(&opencl_lock);
    const cl_int status = next_of_context(context)->clReleaseMemObject(handle);
    return opencl_check(status, "clReleaseMemObject", OPENCL_ASKS, bytes, error);
}

cl_mem opencl_memory_of(struct context *context, uint64_t address, uint64_t *offset)
{
    uint64_t base = address, bytes = 0;
    cl_mem memory = memory_at(context, address);
    if (!memory) {
        server_base(context->server, address, &base, &bytes);
        memory = memory_at(context, base);
    }
    *offset = address - base;
    return memory;
}

/* ---- a queue of gamut's own ---- */

/* The owner's handle, retained; NULL: it has none, or the context has no order. With the lock
 * held. */
static cl_command_queue owner_in_order(const struct context *context, const struct queue *owner)
{
    if (context->has_lost_order || !owner->entry.address)
        return NULL;
    next_of_context(context)->clRetainCommandQueue(handle_of(owner));
    return handle_of(owner);
}

/* The block's owner, if it has order. Otherwise gamut's own queue, after the commands that are left
 * of the time when the context had its order. The handle is retained. NULL: the driver makes no
 * queue. */
static cl_command_queue queue_for_contents(struct context *context, const struct queue *owner)
{
    const cl_icd_dispatch *next = next_of_context(context);
    pthread_mutex_lock(&opencl_lock);
    cl_command_queue handle = owner_in_order(context, owner);
    if (!handle) {
        if (!context->own)
            context->own =
                next->clCreateCommandQueue(context_handle(context), context->device, 0, NULL);
        handle = context->own;
        const cl_event before = owner->before ? owner->before : owner->end;
        if (handle && before && !opencl_is_complete(before))
            next->clEnqueueBarrierWithWaitList(handle, 1, &before, NULL);
        if (handle)
            next->clRetainCommandQueue(handle);
    }
    pthread_mutex_unlock(&opencl_lock);
    return handle;
}

/* Through the memory, because the application may have forbidden the host to write its buffer. */
cl_int opencl_fill_block(struct object *object, const void *host, size_t bytes)
{
    uint64_t offset;
    const cl_icd_dispatch *next = next_of_context(object->context);
    const cl_mem memory = opencl_memory_of(object->context, object->address, &offset);
    cl_command_queue queue = queue_for_contents(object->context, object->owner);
    if (!queue)
        return CL_OUT_OF_RESOURCES;
    const cl_int status =
        next->clEnqueueWriteBuffer(queue, memory, CL_TRUE, offset, bytes, host, 0, NULL, NULL);
    next->clReleaseCommandQueue(queue);
    return status;
}

/* ---- the debug mode ---- */

/* The queue whose order the debug mode's commands have, retained. */
static int queue_in_order(struct context *context, uint64_t number, cl_command_queue *queue,
                          struct error *error)
{
    pthread_mutex_lock(&opencl_lock);
    *queue = owner_in_order(context, (const struct queue *)(uintptr_t)number);
    pthread_mutex_unlock(&opencl_lock);
    return *queue ? 0 : error_set(error, ERR_UNSUPPORTED, "the queue has no order");
}

static int fill(void *of, uint64_t number, uint64_t address, uint64_t offset, uint8_t byte,
                uint64_t bytes, struct error *error)
{
    struct context *context = of;
    const cl_icd_dispatch *next = next_of_context(context);
    cl_command_queue queue;
    TRY(queue_in_order(context, number, &queue, error));
    const cl_int status = next->clEnqueueFillBuffer(queue, memory_at(context, address), &byte,
                                                    sizeof byte, offset, bytes, 0, NULL, NULL);
    next->clReleaseCommandQueue(queue);
    return opencl_check(status, "clEnqueueFillBuffer", OPENCL_ASKS, bytes, error);
}

static int read_back(void *of, uint64_t number, uint64_t address, uint64_t offset, void *host,
                     uint64_t bytes, uint64_t *to, struct error *error)
{
    struct context *context = of;
    const cl_icd_dispatch *next = next_of_context(context);
    cl_command_queue queue;
    cl_event event = NULL;
    TRY(queue_in_order(context, number, &queue, error));
    const cl_int status = next->clEnqueueReadBuffer(queue, memory_at(context, address), CL_FALSE,
                                                    offset, bytes, host, 0, NULL, &event);
    next->clFlush(queue);
    next->clReleaseCommandQueue(queue);
    TRY(opencl_check(status, "clEnqueueReadBuffer", OPENCL_ASKS, bytes, error));
    struct mark *mark = must_alloc(sizeof *mark);
    add_event(mark, event);
    *to = HANDLE(mark);
    return 0;
}

/* ---- destructors ---- */

struct ending {
    _Atomic unsigned count; /* markers that are not done, and one until all are there */
    cl_mem object;
    struct destructor *list;
};

static void count_down(struct ending *ending)
{
    if (--ending->count)
        return;
    for (struct destructor *d = ending->list, *next; d; d = next) {
        next = d->next;
        d->call(ending->object, d->data);
        free(d);
    }
    free(ending);
}

static void CL_CALLBACK marker_is_done(cl_event event, cl_int status, void *ending)
{
    next_of(event)->clReleaseEvent(event);
    count_down(ending);
}

void opencl_destroy_later(struct context *context, cl_mem object, struct destructor *list)
{
    struct mark mark = {0};
    struct ending *ending = must_alloc(sizeof *ending);
    ending->object = object;
    ending->list = list;
    ending->count = 1;
    pthread_mutex_lock(&opencl_lock);
    for (const struct queue *q = context->queues; q; q = q->next)
        add_mark(&mark, q, NULL);
    pthread_mutex_unlock(&opencl_lock);
    for (unsigned i = 0; i < mark.count; i++) {
        const cl_event event = mark.events[i];
        ending->count++;
        if (next_of(event)->clSetEventCallback(event, CL_COMPLETE, marker_is_done, ending) !=
            CL_SUCCESS)
            marker_is_done(event, CL_COMPLETE, ending);
    }
    free(mark.events);
    count_down(ending);
}

/* ---- the whole ---- */

static cl_ulong device_number(const struct context *context, cl_device_info what)
{
    cl_ulong number = 0; /* 32-bit answers fill the low half */
    next_of_context(context)->clGetDeviceInfo(context->device, what, sizeof number, &number, NULL);
    return number;
}

void opencl_describe_context(struct context *context)
{
    const cl_icd_dispatch *next = next_of_context(context);
    const struct opencl_api api = {.clGetPlatformIDs = next->clGetPlatformIDs,
                                   .clGetPlatformInfo = next->clGetPlatformInfo,
                                   .clGetDeviceIDs = next->clGetDeviceIDs,
                                   .clGetDeviceInfo = next->clGetDeviceInfo};
    opencl_describe(&api, context->device, &context->info);
    context->alignment = device_number(context, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    context->most_bytes = device_number(context, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
}

/* Each buffer is one request and one call of the driver. */
static void state_counts(void *context, struct serve_state *state)
{
    pthread_mutex_lock(&opencl_lock);
    const struct source_counts n = ((const struct context *)context)->counts;
    pthread_mutex_unlock(&opencl_lock);
    const uint64_t asked = n.alloc_count, live = n.reserved_bytes, peak = n.peak_reserved_bytes;
    state->driver = n;
    state->blocks =
        (struct allocator_counts){asked, n.free_count, 0, asked, live, peak, live, peak};
    state->serve.refused_count = n.refused_count;
    state->live_count = asked - n.refused_count - n.free_count;
}

static struct serve_driver driver_of(struct context *context)
{
    static const struct source_ops memories = {.alloc = alloc_memory, .free = free_memory};
    const uint64_t alignment = context->alignment ? context->alignment : 1;
    return (struct serve_driver){
        .context = context,
        .id = context->info.id,
        .name = context->info.name,
        .memory_bytes = context->info.memory_bytes,
        .source = {.ops = &memories,
                   .context = context,
                   .name = context->info.id,
                   .alignment = alignment > ALIGNMENT_BYTES ? alignment : ALIGNMENT_BYTES,
                   .can_split = true},
        .alignment = alignment,
        .mark = mark_queues,
        .passed = passed_mark,
        .unmark = unmark,
        .join = join,
        .wait = wait_for_queues,
        .fill = fill,
        .read = read_back,
        .state = opencl_counts ? state_counts : NULL};
}

struct server *opencl_server(struct context *context)
{
    static pthread_mutex_t opens = PTHREAD_MUTEX_INITIALIZER;
    static unsigned number;
    struct error error;
    if (context->server)
        return context->server;
    pthread_mutex_lock(&opens);
    if (!context->server) {
        struct serve_options options = process_settings()->options;
        const struct serve_driver driver = driver_of(context);
        struct server *server;
        options.device = number++;
        if (server_open(&driver, &options, &server, &error))
            process_die(&error);
        const struct served_device served = {options.device, server, &context->info, "let-go"};
        process_add(&served);
        context->server = server;
    }
    pthread_mutex_unlock(&opens);
    return context->server;
}
