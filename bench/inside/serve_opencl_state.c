#include "inside/serve_opencl.h"

#include <stdio.h>
#include <stdlib.h>

/* The arguments of a kernel that were handles of blocks when they were set. */
struct kernel {
    struct block_entry entry;
    uint64_t references;
    unsigned count;
    const void **arguments; /* NULL: no block */
};

enum { TRUST_MOST = 3, BITS = 64, USES_AT_ONCE = 64 };

static struct block_table contexts, queues, objects, kernels, sites;
static struct context *all_contexts;
static bool has_no_order; /* contexts begin without order */

/* The queue of the thread's last command, as long as no queue has ended since. */
static _Thread_local struct {
    cl_command_queue handle;
    struct queue *queue;
    unsigned ends;
} last;
static _Atomic unsigned ends;

/* ---- contexts ---- */

static struct context *add_context(cl_context handle)
{
    cl_device_id devices[2];
    size_t bytes = 0;
    struct context *c = must_alloc(sizeof *c);
    *c =
        (struct context){.entry.address = HANDLE(handle), .references = 1, .next_address = 1 << 20};
    c->has_lost_order = has_no_order;
    if (next_of(handle)->clGetContextInfo(handle, CL_CONTEXT_DEVICES, sizeof devices, devices,
                                          &bytes) == CL_SUCCESS &&
        bytes == sizeof *devices)
        c->device = devices[0];
    if (c->device)
        opencl_describe_context(c);
    c->next = all_contexts;
    all_contexts = c;
    block_table_add(&contexts, &c->entry);
    return c;
}

struct context *opencl_context(cl_context handle)
{
    struct context *c = (struct context *)block_table_find(&contexts, HANDLE(handle));
    return c ? c : add_context(handle);
}

/* A context without references gives its memory back. Memory of blocks that wait for queues goes
 * back when a later context ends. */
void opencl_drop_context(struct context *context)
{
    struct server *ended[64];
    unsigned count = 0;
    cl_command_queue own = NULL;
    pthread_mutex_lock(&opencl_lock);
    if (--context->references == 0) {
        block_table_remove(&contexts, context->entry.address);
        own = context->own;
        context->own = NULL;
        for (struct context *c = all_contexts; c && count < 64; c = c->next)
            if (!c->references && c->server)
                ended[count++] = c->server;
    }
    pthread_mutex_unlock(&opencl_lock);
    if (own)
        next_of(own)->clReleaseCommandQueue(own);
    for (unsigned i = 0; i < count; i++)
        server_trim(ended[i], NULL);
}

/* ---- queues ---- */

static void drop_event(cl_event *event)
{
    if (*event)
        next_of(*event)->clReleaseEvent(*event);
    *event = NULL;
}

/* A place of the context that has no queue, and whose memory the new one may use. */
static struct queue *free_place(struct context *context, cl_command_queue handle)
{
    struct queue *q = context->queues;
    for (; q; q = q->next) {
        if (q->entry.address)
            continue;
        if (q->end && opencl_is_complete(q->end))
            drop_event(&q->end);
        if (!q->end)
            return q;
        if (context->has_lost_order ||
            next_of(handle)->clEnqueueBarrierWithWaitList(handle, 1, &q->end, NULL) != CL_SUCCESS)
            continue;
        drop_event(&q->end);
        return q;
    }
    return NULL;
}

static struct queue *make_place(struct context *context)
{
    struct queue *q = must_alloc(sizeof *q);
    *q =
        (struct queue){.context = context, .next = context->queues, .number = context->queue_count};
    context->queues = q;
    context->queue_count++;
    return q;
}

void opencl_add_queue(cl_command_queue handle, cl_context of,
                      cl_command_queue_properties properties)
{
    struct context *context = opencl_context(of);
    if (!context->device || properties & CL_QUEUE_ON_DEVICE)
        return;
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        opencl_lose_order(context);
    struct queue *q = free_place(context, handle);
    if (!q)
        q = make_place(context);
    q->entry.address = HANDLE(handle);
    q->references = 1;
    context->references++;
    block_table_add(&queues, &q->entry);
    if (!context->last)
        context->last = q;
}

struct queue *opencl_queue(cl_command_queue handle)
{
    struct queue *q = (struct queue *)block_table_find(&queues, HANDLE(handle));
    if (q || !handle)
        return q;
    /* It was made by an extension. */
    cl_context context = NULL;
    cl_command_queue_properties properties = 0;
    const cl_icd_dispatch *next = next_of(handle);
    if (next->clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) ||
        next->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                                    NULL))
        return NULL;
    opencl_add_queue(handle, context, properties);
    return (struct queue *)block_table_find(&queues, HANDLE(handle));
}

void opencl_end_queue(struct queue *q)
{
    drop_event(&q->end);
    q->end = opencl_marker((cl_command_queue)(uintptr_t)q->entry.address);
    block_table_remove(&queues, q->entry.address);
    q->entry.address = 0;
    if (q->context->last == q)
        q->context->last = NULL;
    ends++;
}

static void lose_order(struct context *context)
{
    if (context->has_lost_order)
        return;
    for (struct queue *q = context->queues; q; q = q->next) {
        if (q->entry.address)
            q->before = opencl_marker((cl_command_queue)(uintptr_t)q->entry.address);
        else if (q->end && next_of(q->end)->clRetainEvent(q->end) == CL_SUCCESS)
            q->before = q->end;
    }
    context->has_lost_order = true;
}

void opencl_lose_order(struct context *context)
{
    has_no_order |= !context;
    for (struct context *c = context ? context : all_contexts; c; c = context ? NULL : c->next)
        lose_order(c);
}

/* ---- whose block ---- */

struct site *opencl_site(void *place)
{
    struct site *s = (struct site *)block_table_find(&sites, HANDLE(place));
    if (s)
        return s;
    s = must_alloc(sizeof *s);
    *s = (struct site){.entry.address = HANDLE(place)};
    snprintf(s->tag, sizeof s->tag, "%p", place);
    block_table_add(&sites, &s->entry);
    return s;
}

struct queue *opencl_guess(struct context *context, const struct site *site)
{
    if (site->trust && site->queue->context == context && site->queue->entry.address)
        return site->queue;
    if (last.queue && last.ends == ends && last.queue->context == context)
        return last.queue;
    if (context->last)
        return context->last;
    struct queue *q = context->queues;
    while (q && !q->entry.address && q->end)
        q = q->next;
    return q ? q : make_place(context);
}

static void learn(struct site *site, struct queue *queue)
{
    if (site->trust && site->queue != queue) {
        site->trust--;
        return;
    }
    site->queue = queue;
    site->trust += site->trust < TRUST_MOST;
}

/* ---- objects ---- */

struct object *opencl_object(const void *handle)
{
    return (struct object *)block_table_find(&objects, HANDLE(handle));
}

void opencl_add_object(struct object *object, cl_mem handle)
{
    object->entry.address = HANDLE(handle);
    block_table_add(&objects, &object->entry);
}

void opencl_remove_object(const struct object *object)
{
    block_table_remove(&objects, object->entry.address);
}

/* ---- kernels ---- */

static struct kernel *find_kernel(cl_kernel handle)
{
    return (struct kernel *)block_table_find(&kernels, HANDLE(handle));
}

static struct kernel *add_kernel(cl_kernel handle)
{
    struct kernel *k = must_alloc(sizeof *k);
    *k = (struct kernel){.entry.address = HANDLE(handle), .references = 1};
    struct kernel *old = (struct kernel *)block_table_remove(&kernels, HANDLE(handle));
    if (old) {
        free(old->arguments);
        free(old);
    }
    block_table_add(&kernels, &k->entry);
    return k;
}

void opencl_add_kernel(cl_kernel handle, const char *name)
{
    pthread_mutex_lock(&opencl_lock);
    add_kernel(handle);
    pthread_mutex_unlock(&opencl_lock);
}

static void put_argument(struct kernel *k, unsigned index, const void *value)
{
    if (index >= k->count && value)
        k->arguments = must_reach(k->arguments, index, &k->count, sizeof *k->arguments);
    if (index < k->count)
        k->arguments[index] = value;
}

void opencl_clone_kernel(cl_kernel handle, cl_kernel source, uint64_t begin)
{
    pthread_mutex_lock(&opencl_lock);
    struct kernel *k = add_kernel(handle);
    const struct kernel *s = find_kernel(source);
    for (unsigned i = 0; s && i < s->count; i++)
        put_argument(k, i, s->arguments[i]);
    pthread_mutex_unlock(&opencl_lock);
}

void opencl_retain_kernel(cl_kernel handle)
{
    struct kernel *k = find_kernel(handle);
    if (k)
        k->references++;
}

void opencl_release_kernel(cl_kernel handle)
{
    struct kernel *k = find_kernel(handle);
    if (k && --k->references == 0) {
        block_table_remove(&kernels, HANDLE(handle));
        free(k->arguments);
        free(k);
    }
}

void opencl_set_argument(cl_kernel handle, cl_uint index, const void *value)
{
    pthread_mutex_lock(&opencl_lock);
    struct kernel *k = find_kernel(handle);
    const bool is_block = value && opencl_object(value);
    if (!k && is_block)
        k = add_kernel(handle);
    if (k)
        put_argument(k, index, is_block ? value : NULL);
    pthread_mutex_unlock(&opencl_lock);
}

/* ---- uses ---- */

/* Blocks whose owners the queue has yet to wait for. The server is told without the lock. */
struct uses {
    unsigned count;
    struct use {
        cl_mem handle;
        uint64_t address;
    } list[USES_AT_ONCE];
};

/* Whether a queue has yet to wait for the owner of a block. */
static bool has_to_wait(struct object *block, struct queue *queue)
{
    if (!block->is_used)
        learn(block->site, queue);
    block->is_used = true;
    if (block->owner == queue)
        return false;
    return queue->number >= BITS || !(block->used >> queue->number & 1);
}

static void look_at(const void *handle, struct queue *queue, struct uses *uses)
{
    struct object *object = handle ? opencl_object(handle) : NULL;
    if (!object)
        return;
    struct object *block = object->whole ? object->whole : object;
    if (block->context == queue->context && has_to_wait(block, queue))
        uses->list[uses->count++] =
            (struct use){(cl_mem)(uintptr_t)block->entry.address, block->address};
}

/* Makes the queue wait. Only then other threads may believe that it does. */
static cl_int wait_for_owners(struct queue *queue, struct uses *uses)
{
    struct error error;
    cl_int status = CL_SUCCESS;
    pthread_mutex_unlock(&opencl_lock);
    for (unsigned i = 0; i < uses->count; i++)
        if (server_use(queue->context->server, uses->list[i].address, HANDLE(queue), &error))
            status = CL_OUT_OF_RESOURCES;
    pthread_mutex_lock(&opencl_lock);
    for (unsigned i = 0; i < uses->count && status == CL_SUCCESS; i++) {
        struct object *block = opencl_object(uses->list[i].handle);
        if (block && queue->number < BITS)
            block->used |= UINT64_C(1) << queue->number;
    }
    uses->count = 0;
    return status;
}

/* The queue of a command, if uses of it have to be looked at: where there is one queue alone,
 * blocks are its own. */
static struct queue *queue_of_command(cl_command_queue handle)
{
    if (last.handle != handle || last.ends != ends) {
        pthread_mutex_lock(&opencl_lock);
        last.queue = opencl_queue(handle);
        last.handle = handle;
        last.ends = ends;
        pthread_mutex_unlock(&opencl_lock);
    }
    return last.queue && last.queue->context->queue_count > 1 ? last.queue : NULL;
}

static cl_int use_all(struct queue *queue, const void *const *list, unsigned count)
{
    struct uses uses = {0};
    cl_int status = CL_SUCCESS;
    queue->context->last = queue;
    for (unsigned i = 0; i < count && status == CL_SUCCESS; i++) {
        look_at(list[i], queue, &uses);
        if (uses.count == USES_AT_ONCE)
            status = wait_for_owners(queue, &uses);
    }
    return uses.count && status == CL_SUCCESS ? wait_for_owners(queue, &uses) : status;
}

cl_int opencl_use(const struct opencl_command *command)
{
    struct queue *queue = queue_of_command(command->queue);
    if (!queue)
        return CL_SUCCESS;
    pthread_mutex_lock(&opencl_lock);
    const struct kernel *k = command->kernel ? find_kernel(command->kernel) : NULL;
    const cl_int status = k ? use_all(queue, k->arguments, k->count)
                            : use_all(queue, command->blocks, command->block_count);
    pthread_mutex_unlock(&opencl_lock);
    return status;
}
