/* The server of OpenCL as a listener of the layer, and the entries that answer for memory objects.
 * serve_opencl.h has the rules. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slab.h"
#include "base/tree.h"
#include "inside/serve_opencl.h"

static _Atomic uint64_t passed_counts[PASSED_COUNT];
static struct opencl_listener listener;                           /* see the end */
static struct slab spare = {.item_bytes = sizeof(struct object)}; /* with the lock */

/* A forked process has neither the driver's threads nor those that held locks: the blocks are its
 * parent's, and the driver is not called for them. */
static bool is_forked;

/* ---- contexts, queues and kernels ---- */

static void queue_made(cl_command_queue queue, cl_context context,
                       cl_command_queue_properties properties, uint64_t begin)
{
    pthread_mutex_lock(&opencl_lock);
    opencl_add_queue(queue, context, properties);
    pthread_mutex_unlock(&opencl_lock);
}

static void event_made(cl_event event, cl_context context, uint64_t begin)
{
    pthread_mutex_lock(&opencl_lock);
    opencl_lose_order(opencl_context(context));
    pthread_mutex_unlock(&opencl_lock);
}

static void retained(enum raw_class class, void *object)
{
    if (class == RAW_CLASS_EVENT)
        return;
    pthread_mutex_lock(&opencl_lock);
    if (class == RAW_CLASS_KERNEL)
        opencl_retain_kernel(object);
    struct queue *queue = class == RAW_CLASS_QUEUE ? opencl_queue(object) : NULL;
    if (queue)
        queue->references++;
    if (class == RAW_CLASS_CONTEXT)
        opencl_context(object)->references++;
    pthread_mutex_unlock(&opencl_lock);
}

static struct context *release_queue(struct queue *queue)
{
    if (!queue || --queue->references)
        return NULL;
    opencl_end_queue(queue);
    return queue->context;
}

/* The note is the context that loses a reference. */
static void releasing(struct opencl_release *release)
{
    struct context *context = NULL;
    if (release->class == RAW_CLASS_EVENT)
        return;
    pthread_mutex_lock(&opencl_lock);
    if (release->class == RAW_CLASS_KERNEL)
        opencl_release_kernel(release->object);
    else if (release->class == RAW_CLASS_QUEUE)
        context = release_queue(opencl_queue(release->object));
    else if (release->object)
        context = opencl_context(release->object);
    pthread_mutex_unlock(&opencl_lock);
    release->note = HANDLE(context);
}

static void released(const struct opencl_release *release, cl_int status)
{
    if (release->note && (status == CL_SUCCESS || release->class == RAW_CLASS_QUEUE))
        opencl_drop_context((struct context *)(uintptr_t)release->note);
}

/* ---- blocks ---- */

#define ACCESS (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY)
#define HOST   (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)
#define WHERE  (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)

static bool at_most_one(cl_mem_flags flags)
{
    return !(flags & (flags - 1));
}

/* Whether the driver itself takes a request: it knows best what is wrong with one. */
static bool passes(const struct context *context, const struct opencl_request *r)
{
    const cl_mem_flags flags = r->flags;
    if (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR))
        passed_counts[PASSED_host_pointer]++;
    else if ((r->properties && *r->properties) || flags & ~(cl_mem_flags)(ACCESS | HOST | WHERE))
        passed_counts[PASSED_property]++;
    else if (!context->device)
        passed_counts[PASSED_several_devices]++;
    else
        return !r->bytes || r->bytes > context->most_bytes || !at_most_one(flags & ACCESS) ||
               !at_most_one(flags & HOST) || !r->host != !(flags & CL_MEM_COPY_HOST_PTR);
    return true;
}

static void end_object(struct object *object);

/* A part of the memory of a block, from `origin` in the block on. */
static cl_mem cut(const struct object *block, uint64_t origin, size_t bytes, cl_mem_flags flags,
                  cl_int *error)
{
    uint64_t offset;
    const cl_mem memory = opencl_memory_of(block->context, block->address, &offset);
    return next_of(memory)->clCreateSubBuffer(
        memory, flags & (ACCESS | HOST), CL_BUFFER_CREATE_TYPE_REGION,
        &(cl_buffer_region){(size_t)(offset + origin), bytes}, error);
}

/* The memory itself where the block begins it: some drivers run kernels on sub-buffers slowly
 * (NVIDIA). A memory may be larger than its block, and the host may do all with it: see
 * refusal_of. */
static cl_mem hand_out(struct object *block, cl_int *error)
{
    uint64_t offset;
    const cl_mem memory = opencl_memory_of(block->context, block->address, &offset);
    if (offset)
        return cut(block, 0, block->bytes, block->flags, error);
    block->is_memory = true;
    return memory;
}

/* With the lock. */
static struct object *new_block(struct context *context, const struct opencl_request *r)
{
    struct object *block = slab_take(&spare);
    *block =
        (struct object){.context = context, .references = 1, .flags = r->flags, .bytes = r->bytes};
    if (opencl_counts)
        return block;
    block->site = opencl_site(r->caller);
    block->owner = opencl_guess(context, block->site);
    return block;
}

static cl_mem serve(struct object *block, const struct opencl_request *r, cl_int *status)
{
    struct server *server = opencl_server(block->context);
    struct error error;
    const int code = server_alloc(server, r->bytes, HANDLE(block->owner), block->site->tag,
                                  &block->address, &error);
    *status = code == ERR_OOM ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_OUT_OF_RESOURCES;
    cl_mem handle = code ? NULL : hand_out(block, status);
    if (!handle && !code)
        server_free(server, block->address, HANDLE(block->owner), &error);
    pthread_mutex_lock(&opencl_lock);
    if (handle) {
        block->context->references++;
        opencl_add_object(block, handle);
    } else {
        slab_give(&spare, block);
    }
    pthread_mutex_unlock(&opencl_lock);
    if (!handle)
        return NULL;
    *status = r->host ? opencl_fill_block(block, r->host, r->bytes) : CL_SUCCESS;
    if (*status == CL_SUCCESS)
        return handle;
    pthread_mutex_lock(&opencl_lock);
    end_object(block);
    return NULL;
}

/* Where opencl_counts: the buffer is the one that the application would get unserved. */
static cl_mem count_buffer(const struct opencl_request *r, cl_int *error)
{
    const cl_mem handle = opencl_make(r, error);
    pthread_mutex_lock(&opencl_lock);
    struct context *c = r->context ? opencl_context(r->context) : NULL;
    const bool is_counted = c && !passes(c, r);
    if (is_counted) {
        c->counts.alloc_count++;
        c->counts.refused_count += !handle;
    }
    if (is_counted && handle) {
        struct object *block = new_block(c, r);
        block->address = HANDLE(handle);
        opencl_add_object(block, handle);
        c->counts.reserved_bytes += r->bytes;
        if (c->counts.peak_reserved_bytes < c->counts.reserved_bytes)
            c->counts.peak_reserved_bytes = c->counts.reserved_bytes;
    }
    pthread_mutex_unlock(&opencl_lock);
    if (is_counted && !c->server)
        opencl_server(c);
    return handle;
}

static cl_mem make_buffer(const struct opencl_request *r, cl_int *error)
{
    if (opencl_counts)
        return count_buffer(r, error);
    pthread_mutex_lock(&opencl_lock);
    struct context *context = r->context ? opencl_context(r->context) : NULL;
    struct object *block = context && !passes(context, r) ? new_block(context, r) : NULL;
    pthread_mutex_unlock(&opencl_lock);
    return block ? serve(block, r, error) : opencl_make(r, error);
}

/* ---- views ---- */

/* The application's object is a view of `whole`, which it keeps. */
static cl_mem add_view(cl_mem handle, struct object *whole, struct object view)
{
    if (!handle)
        return NULL;
    view.context = whole->context;
    view.whole = whole;
    view.references = 1;
    pthread_mutex_lock(&opencl_lock);
    struct object *object = slab_take(&spare);
    *object = view;
    whole->references++;
    opencl_add_object(object, handle);
    pthread_mutex_unlock(&opencl_lock);
    return handle;
}

static bool is_beyond(const struct object *block, uint64_t origin, uint64_t bytes)
{
    return origin > block->bytes || bytes > block->bytes - origin;
}

/* A block may be read or written by less than its whole, and not by more. */
static bool contradicts(cl_mem_flags whole, cl_mem_flags part)
{
    return part & WHERE ||
           (whole & CL_MEM_WRITE_ONLY && part & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY)) ||
           (whole & CL_MEM_READ_ONLY && part & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY)) ||
           (whole & CL_MEM_HOST_WRITE_ONLY && part & CL_MEM_HOST_READ_ONLY) ||
           (whole & CL_MEM_HOST_READ_ONLY && part & CL_MEM_HOST_WRITE_ONLY) ||
           (whole & CL_MEM_HOST_NO_ACCESS &&
            part & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY));
}

/* A part of a block is cut from the block's memory: a driver knows no sub-buffers of
 * sub-buffers. */
static cl_mem part_of(struct object *whole, cl_mem_flags flags, const cl_buffer_region *region,
                      cl_int *error)
{
    *error = CL_INVALID_VALUE;
    if (!region || is_beyond(whole, region->origin, region->size) ||
        contradicts(whole->flags, flags))
        return NULL;
    struct object part = {.flags = flags, .origin = region->origin};
    if (!(flags & ACCESS))
        part.flags |= whole->flags & ACCESS;
    if (!(flags & HOST))
        part.flags |= whole->flags & HOST;
    part.flags |= whole->flags & WHERE;
    return add_view(cut(whole, region->origin, region->size, part.flags, error), whole, part);
}

static struct object *block_at(cl_mem handle)
{
    pthread_mutex_lock(&opencl_lock);
    struct object *object = handle ? opencl_object(handle) : NULL;
    pthread_mutex_unlock(&opencl_lock);
    return object;
}

static cl_mem CL_API_CALL on_clCreateSubBuffer(cl_mem handle, cl_mem_flags flags,
                                               cl_buffer_create_type type, const void *info,
                                               cl_int *status)
{
    struct object *whole = block_at(handle);
    if (!whole || whole->whole || type != CL_BUFFER_CREATE_TYPE_REGION)
        return next_of(handle)->clCreateSubBuffer(handle, flags, type, info, status);
    cl_int error = CL_SUCCESS;
    cl_mem part = part_of(whole, flags, info, &error);
    if (status)
        *status = error;
    return part;
}

static void say_no_image(void)
{
    static _Atomic bool has_said;
    if (!atomic_exchange(&has_said, true))
        fprintf(stderr,
                "gamut: serving: this driver makes no image of a buffer that is a part of a "
                "memory, and the application asks for one: strategies that give each "
                "buffer a memory of its own can serve it, such as pool and raw\n");
}

/* Some drivers make no image of a sub-buffer (PoCL 3.1). */
static cl_mem make_image(const struct opencl_request *r, cl_int *error)
{
    const cl_mem shown = r->shape ? r->shape->buffer : NULL;
    struct object *object = block_at(shown);
    cl_mem image = opencl_make(r, error);
    if (image && !shown)
        passed_counts[PASSED_image]++;
    if (!object)
        return image;
    if (!image && !object->whole && *error == CL_INVALID_MEM_OBJECT)
        say_no_image();
    return add_view(image, object->whole ? object->whole : object,
                    (struct object){.is_image = true, .shown = shown});
}

static cl_mem make(const struct opencl_request *request, cl_int *error)
{
    return request->maker == OPENCL_BUFFER || request->maker == OPENCL_BUFFER_WITH_PROPERTIES
               ? make_buffer(request, error)
               : make_image(request, error);
}

static void *CL_API_CALL on_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size,
                                       cl_uint alignment)
{
    passed_counts[PASSED_shared]++;
    return next_of(context)->clSVMAlloc(context, flags, size, alignment);
}

/* ---- references ---- */

/* The driver still has the handle, the application has none. With the lock, which it gives up. */
static void end_object(struct object *object)
{
    struct context *context = object->context;
    struct object *whole = object->whole;
    struct destructor *destructors = object->destructors;
    cl_mem handle = (cl_mem)(uintptr_t)object->entry.address;
    const uint64_t address = object->address, owner = HANDLE(object->owner);
    const bool is_memory = object->is_memory;
    struct error error;
    context->counts.free_count += !whole;
    context->counts.reserved_bytes -= object->bytes; /* a view has none */
    opencl_remove_object(object);
    slab_give(&spare, object);
    const bool ends_whole = whole && --whole->references == 0;
    pthread_mutex_unlock(&opencl_lock);
    if (!is_memory)
        next_of(handle)->clReleaseMemObject(handle);
    if (destructors)
        opencl_destroy_later(context, handle, destructors);
    if (!whole && !opencl_counts) {
        const uint64_t queue = context->has_lost_order ? SERVE_ALL_QUEUES : owner;
        if (server_free(context->server, address, queue, &error))
            process_die(&error);
        opencl_drop_context(context);
    }
    if (!ends_whole)
        return;
    pthread_mutex_lock(&opencl_lock);
    end_object(whole);
}

static cl_int CL_API_CALL on_clRetainMemObject(cl_mem handle)
{
    pthread_mutex_lock(&opencl_lock);
    struct object *object = handle ? opencl_object(handle) : NULL;
    if (object)
        object->references++;
    pthread_mutex_unlock(&opencl_lock);
    return object ? CL_SUCCESS : next_of(handle)->clRetainMemObject(handle);
}

static cl_int CL_API_CALL on_clReleaseMemObject(cl_mem handle)
{
    if (is_forked)
        return CL_SUCCESS;
    pthread_mutex_lock(&opencl_lock);
    struct object *object = handle ? opencl_object(handle) : NULL;
    if (object && --object->references == 0)
        end_object(object);
    else
        pthread_mutex_unlock(&opencl_lock);
    return object ? CL_SUCCESS : next_of(handle)->clReleaseMemObject(handle);
}

static cl_int CL_API_CALL on_clSetMemObjectDestructorCallback(
    cl_mem handle, void(CL_CALLBACK *call)(cl_mem object, void *data), void *data)
{
    struct object *object = block_at(handle);
    if (!object)
        return next_of(handle)->clSetMemObjectDestructorCallback(handle, call, data);
    if (!call)
        return CL_INVALID_VALUE;
    struct destructor *d = must_alloc(sizeof *d);
    pthread_mutex_lock(&opencl_lock);
    *d = (struct destructor){object->destructors, call, data};
    object->destructors = d;
    pthread_mutex_unlock(&opencl_lock);
    return CL_SUCCESS;
}

/* Answers as the driver would for the object that the application asked for. False: the driver's
 * own answer is right. */
static bool lie(struct object *object, cl_mem_info name, void *answer, size_t *size)
{
    const cl_mem whole = object->is_image ? object->shown
                         : object->whole  ? (cl_mem)(uintptr_t)object->whole->entry.address
                                          : NULL;
    const cl_uint references = (cl_uint)object->references;
#define ANSWER(value) (memcpy(answer, value, *size = sizeof *(value)), true)
    switch (name) {
    case CL_MEM_FLAGS:
        return !object->is_image && object->flags && ANSWER(&object->flags);
    case CL_MEM_SIZE:
        return !object->whole && ANSWER(&object->bytes);
    case CL_MEM_REFERENCE_COUNT:
        return ANSWER(&references);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return ANSWER(&whole);
    case CL_MEM_OFFSET:
        return ANSWER(&(size_t){object->origin});
    default:
        return false;
    }
#undef ANSWER
}

static cl_int CL_API_CALL on_clGetMemObjectInfo(cl_mem handle, cl_mem_info name, size_t size,
                                                void *value, size_t *size_needed)
{
    unsigned char answer[16];
    size_t needed = 0;
    pthread_mutex_lock(&opencl_lock);
    struct object *object = handle ? opencl_object(handle) : NULL;
    const bool lies = object && lie(object, name, answer, &needed);
    pthread_mutex_unlock(&opencl_lock);
    if (!lies)
        return next_of(handle)->clGetMemObjectInfo(handle, name, size, value, size_needed);
    if (value && size < needed)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, answer, needed);
    if (size_needed)
        *size_needed = needed;
    return CL_SUCCESS;
}

/* ---- commands ---- */

/* What the driver would say of a command if the memory were the block. */
static cl_int refusal_of(const struct object *block, const struct opencl_command *c, unsigned i)
{
    const bool maps = c->kind == RAW_map;
    const bool reads = c->kind == RAW_read || (maps && c->flags & RAW_COMMAND_READS);
    const bool writes = c->kind == RAW_write || (maps && c->flags & RAW_COMMAND_WRITES);
    if (is_beyond(block, i < 2 ? c->origins[i] : 0, c->bytes))
        return CL_INVALID_VALUE;
    return (reads && block->flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)) ||
                   (writes && block->flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS))
               ? CL_INVALID_OPERATION
               : CL_SUCCESS;
}

static cl_int check_blocks(const struct opencl_command *c)
{
    cl_int status = CL_SUCCESS;
    pthread_mutex_lock(&opencl_lock);
    for (unsigned i = 0; i < c->block_count && status == CL_SUCCESS; i++) {
        const struct object *object = c->blocks[i] ? opencl_object(c->blocks[i]) : NULL;
        if (object && !object->whole)
            status = refusal_of(object, c, i);
    }
    pthread_mutex_unlock(&opencl_lock);
    return status;
}

static cl_int before(struct opencl_command *command)
{
    const cl_int refusal = command->block_count ? check_blocks(command) : CL_SUCCESS;
    if (refusal)
        return refusal;
    if (command->runs_host) {
        pthread_mutex_lock(&opencl_lock);
        struct queue *queue = opencl_queue(command->queue);
        if (queue)
            opencl_lose_order(queue->context);
        pthread_mutex_unlock(&opencl_lock);
    }
    return opencl_use(command);
}

/* Functions of extensions by-pass the layer. Where they can give commands, uses are not seen. */
static void *function(const char *name)
{
    if (strstr(name, "Enqueue") || strstr(name, "Command")) {
        pthread_mutex_lock(&opencl_lock);
        opencl_lose_order(NULL);
        pthread_mutex_unlock(&opencl_lock);
    }
    return NULL;
}

/* ---- the listener ---- */

static void add_statistics(json_t *statistics)
{
    json_t *passed = tree_object();
    uint64_t sum = 0;
#define X(name, help)                                                                              \
    tree_put(passed, help, tree_count(passed_counts[PASSED_##name]));                              \
    sum += passed_counts[PASSED_##name];
    PASSED_LIST(X)
#undef X
    tree_put(statistics, "passed_count", tree_count(sum));
    tree_put(statistics, "passed", passed);
}

static void after_fork(void)
{
    is_forked = true;
    pthread_mutex_init(&opencl_lock, NULL);
}

static bool begin(const char *via)
{
    static unsigned drivers;
    struct error error;
    if (process_begin(NULL, SERVING_OPENCL, &error))
        process_die(&error);
    if (!drivers++)
        pthread_atfork(NULL, NULL, after_fork);
    const struct serve_settings *s = process_settings();
    opencl_counts = strcmp(s->strategy, "raw") == 0 && !s->options.capacity_bytes &&
                    !s->options.records && !s->options.debug;
    listener.before = opencl_counts ? NULL : before;
    process_adds(add_statistics);
    return true;
}

static struct opencl_listener listener = {
    .name = "gamut serve",
    .variable = "GAMUT_SERVE",
    .begin = begin,
    .own =
        {
            ENTRY(clCreateSubBuffer),
            ENTRY(clSVMAlloc),
            ENTRY(clRetainMemObject),
            ENTRY(clReleaseMemObject),
            ENTRY(clSetMemObjectDestructorCallback),
            ENTRY(clGetMemObjectInfo),
        },
    .queue_made = queue_made,
    .kernel_made = opencl_add_kernel,
    .kernel_cloned = opencl_clone_kernel,
    .event_made = event_made,
    .argument_set = opencl_set_argument,
    .retained = retained,
    .releasing = releasing,
    .released = released,
    .make = make,
    .before = before,
    .function = function,
};

__attribute__((constructor)) static void listen(void)
{
    opencl_listen(&listener);
}
