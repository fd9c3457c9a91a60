/* The layer's entries of OpenCL: what the application sees of its memory objects. opencl.h says what is behind them. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "serve/opencl.h"

/* The place in the application from which an entry was called: the loader jumps to the entry. */
#define CALLER() __builtin_return_address(0)

static _Atomic uint64_t passed_counts[PASSED_COUNT];

void opencl_passed(enum passed what)
{
    passed_counts[what]++;
}

static void lock(void)
{
    pthread_mutex_lock(&opencl_lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&opencl_lock);
}

/* ---- contexts and queues ---- */

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *,
                                                                       size_t, void *),
                                             void *data, cl_int *status)
{
    cl_context context = next_of(count && devices ? devices[0] : NULL)
                             ->clCreateContext(properties, count, devices, notify, data, status);
    lock();
    if (context)
        opencl_add_context(context);
    unlock();
    return context;
}

static const void *platform_of(const cl_context_properties *properties)
{
    for (; properties && properties[0]; properties += 2)
        if (properties[0] == CL_CONTEXT_PLATFORM)
            return (const void *)properties[1];
    return NULL;
}

static cl_context CL_API_CALL
create_context_from_type(const cl_context_properties *properties, cl_device_type type,
                         void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                         void *data, cl_int *status)
{
    cl_context context = next_of(platform_of(properties))
                             ->clCreateContextFromType(properties, type, notify, data, status);
    lock();
    if (context)
        opencl_add_context(context);
    unlock();
    return context;
}

static cl_int CL_API_CALL retain_context(cl_context context)
{
    const cl_int status = next_of(context)->clRetainContext(context);
    lock();
    if (status == CL_SUCCESS)
        opencl_context(context)->references++;
    unlock();
    return status;
}

static cl_int CL_API_CALL release_context(cl_context context)
{
    struct context *c = NULL;
    lock();
    if (context)
        c = opencl_context(context);
    unlock();
    const cl_int status = next_of(context)->clReleaseContext(context);
    if (c && status == CL_SUCCESS)
        opencl_drop_context(c);
    return status;
}

static cl_command_queue add_queue(cl_command_queue queue, cl_context context,
                                  cl_command_queue_properties properties)
{
    lock();
    if (queue)
        opencl_add_queue(queue, context, properties);
    unlock();
    return queue;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties,
                                                 cl_int *status)
{
    return add_queue(next_of(context)->clCreateCommandQueue(context, device, properties, status),
                     context, properties);
}

static cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context,
                                                                 cl_device_id device,
                                                                 const cl_queue_properties *given,
                                                                 cl_int *status)
{
    cl_command_queue_properties properties = 0;
    for (const cl_queue_properties *p = given; p && *p; p += 2)
        if (*p == CL_QUEUE_PROPERTIES)
            properties = p[1];
    return add_queue(
        next_of(context)->clCreateCommandQueueWithProperties(context, device, given, status),
        context, properties);
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue)
{
    const cl_int status = next_of(queue)->clRetainCommandQueue(queue);
    lock();
    struct queue *q = status == CL_SUCCESS ? opencl_queue(queue) : NULL;
    if (q)
        q->references++;
    unlock();
    return status;
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
    struct context *ended = NULL;
    lock();
    struct queue *q = opencl_queue(queue);
    if (q && --q->references == 0) {
        ended = q->context;
        opencl_end_queue(q);
    }
    unlock();
    const cl_int status = next_of(queue)->clReleaseCommandQueue(queue);
    if (ended)
        opencl_drop_context(ended);
    return status;
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *status)
{
    lock();
    if (context)
        opencl_lose_order(opencl_context(context));
    unlock();
    return next_of(context)->clCreateUserEvent(context, status);
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
static bool passes(const struct context *context, const cl_mem_properties *properties,
                   cl_mem_flags flags, size_t size, const void *host)
{
    if (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR))
        opencl_passed(PASSED_host_pointer);
    else if ((properties && *properties) || flags & ~(cl_mem_flags)(ACCESS | HOST | WHERE))
        opencl_passed(PASSED_property);
    else if (!context->device)
        opencl_passed(PASSED_several_devices);
    else
        return !size || size > context->most_bytes || !at_most_one(flags & ACCESS) ||
               !at_most_one(flags & HOST) || !host != !(flags & CL_MEM_COPY_HOST_PTR);
    return true;
}

static void end_object(struct object *object);

/* Cuts the handle of a block out of its memory. */
static cl_mem cut(struct object *block, size_t size, cl_int *status)
{
    uint64_t offset;
    const cl_mem memory = opencl_memory_of(block->context, block->address, &offset);
    return next_of(memory)->clCreateSubBuffer(memory, block->flags & (ACCESS | HOST),
                                              CL_BUFFER_CREATE_TYPE_REGION,
                                              &(cl_buffer_region){(size_t)offset, size}, status);
}

static cl_mem serve(struct context *context, cl_mem_flags flags, size_t size, const void *host,
                    void *place, cl_int *status)
{
    struct server *server = opencl_server(context);
    struct error error;
    struct object *block = must_alloc(sizeof *block);
    *block = (struct object){.context = context, .references = 1, .flags = flags};
    lock();
    block->site = opencl_site(place);
    block->owner = opencl_guess(context, block->site);
    unlock();
    const int code =
        server_alloc(server, size, HANDLE(block->owner), block->site->tag, &block->address, &error);
    *status = code == ERR_OOM ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_OUT_OF_RESOURCES;
    cl_mem handle = code ? NULL : cut(block, size, status);
    if (!handle) {
        if (!code)
            server_free(server, block->address, HANDLE(block->owner), &error);
        free(block);
        return NULL;
    }
    lock();
    context->references++;
    opencl_add_object(block, handle);
    unlock();
    *status = host ? opencl_fill_block(block, host, size) : CL_SUCCESS;
    if (*status == CL_SUCCESS)
        return handle;
    end_object(block);
    return NULL;
}

static cl_mem create(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                     size_t size, void *host, void *place, bool has_properties, cl_int *status)
{
    struct context *c = NULL;
    cl_int error = CL_SUCCESS;
    cl_mem handle;
    lock();
    if (context)
        c = opencl_context(context);
    unlock();
    if (c && !passes(c, properties, flags, size, host))
        handle = serve(c, flags, size, host, place, &error);
    else if (has_properties)
        handle = next_of(context)->clCreateBufferWithProperties(context, properties, flags, size,
                                                                host, &error);
    else
        handle = next_of(context)->clCreateBuffer(context, flags, size, host, &error);
    if (status)
        *status = error;
    return handle;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
                                        void *host, cl_int *status)
{
    return create(context, NULL, flags, size, host, CALLER(), false, status);
}

static cl_mem CL_API_CALL create_buffer_with_properties(cl_context context,
                                                        const cl_mem_properties *properties,
                                                        cl_mem_flags flags, size_t size, void *host,
                                                        cl_int *status)
{
    return create(context, properties, flags, size, host, CALLER(), true, status);
}

/* ---- views ---- */

/* The application's object is a view of `whole`, which it keeps. */
static cl_mem add_view(cl_mem handle, struct object *whole, struct object view)
{
    if (!handle)
        return NULL;
    struct object *object = must_alloc(sizeof *object);
    *object = view;
    object->context = whole->context;
    object->whole = whole;
    object->references = 1;
    lock();
    whole->references++;
    opencl_add_object(object, handle);
    unlock();
    return handle;
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

static size_t size_of(cl_mem handle)
{
    size_t size = 0;
    next_of(handle)->clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof size, &size, NULL);
    return size;
}

/* A part of a block is cut from the block's memory: a driver knows no sub-buffers of sub-buffers. */
static cl_mem part_of(struct object *whole, cl_mem handle, cl_mem_flags flags,
                      const cl_buffer_region *region, cl_int *error)
{
    const size_t size = size_of(handle);
    *error = CL_INVALID_VALUE;
    if (!region || region->origin > size || region->size > size - region->origin ||
        contradicts(whole->flags, flags))
        return NULL;
    struct object part = {.flags = flags, .origin = region->origin};
    if (!(flags & ACCESS))
        part.flags |= whole->flags & ACCESS;
    if (!(flags & HOST))
        part.flags |= whole->flags & HOST;
    part.flags |= whole->flags & WHERE;
    uint64_t offset;
    const cl_mem memory = opencl_memory_of(whole->context, whole->address, &offset);
    return add_view(next_of(memory)->clCreateSubBuffer(
                        memory, part.flags & (ACCESS | HOST), CL_BUFFER_CREATE_TYPE_REGION,
                        &(cl_buffer_region){(size_t)offset + region->origin, region->size}, error),
                    whole, part);
}

static struct object *block_at(cl_mem handle)
{
    lock();
    struct object *object = handle ? opencl_object(handle) : NULL;
    unlock();
    return object;
}

static cl_mem CL_API_CALL create_part(cl_mem handle, cl_mem_flags flags, cl_buffer_create_type type,
                                      const void *info, cl_int *status)
{
    struct object *whole = block_at(handle);
    if (!whole || whole->whole || type != CL_BUFFER_CREATE_TYPE_REGION)
        return next_of(handle)->clCreateSubBuffer(handle, flags, type, info, status);
    cl_int error = CL_SUCCESS;
    cl_mem part = part_of(whole, handle, flags, info, &error);
    if (status)
        *status = error;
    return part;
}

/* An image that shows a buffer. Some drivers make none of a sub-buffer (PoCL 3.1): it is made of the memory then, if the
 * block begins there. */
static cl_mem image_of(cl_context context, bool has_properties, const cl_mem_properties *properties,
                       cl_mem_flags flags, const cl_image_format *format,
                       const cl_image_desc *shape, void *host, cl_int *status)
{
    const cl_icd_dispatch *next = next_of(context);
    return has_properties ? next->clCreateImageWithProperties(context, properties, flags, format,
                                                              shape, host, status)
                          : next->clCreateImage(context, flags, format, shape, host, status);
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

static cl_mem make_image(cl_context context, bool has_properties,
                         const cl_mem_properties *properties, cl_mem_flags flags,
                         const cl_image_format *format, const cl_image_desc *shape, void *host,
                         cl_int *status)
{
    struct object *object = shape ? block_at(shape->buffer) : NULL;
    cl_int error = CL_SUCCESS;
    cl_mem image =
        image_of(context, has_properties, properties, flags, format, shape, host, &error);
    if (image && !shape->buffer)
        opencl_passed(PASSED_image);
    uint64_t offset = 0;
    if (!image && object && error == CL_INVALID_MEM_OBJECT) {
        struct object *block = object->whole ? object->whole : object;
        cl_image_desc of_memory = *shape;
        of_memory.buffer = opencl_memory_of(block->context, block->address, &offset);
        if (offset + object->origin == 0)
            image = image_of(context, has_properties, properties, flags, format, &of_memory, host,
                             &error);
        else
            say_no_image();
    }
    if (status)
        *status = error;
    return object ? add_view(image, object->whole ? object->whole : object,
                             (struct object){.is_image = true, .shown = shape->buffer})
                  : image;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
                                       const cl_image_format *format, const cl_image_desc *shape,
                                       void *host, cl_int *status)
{
    return make_image(context, false, NULL, flags, format, shape, host, status);
}

static cl_mem CL_API_CALL create_image_with_properties(
    cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
    const cl_image_format *format, const cl_image_desc *shape, void *host, cl_int *status)
{
    return make_image(context, true, properties, flags, format, shape, host, status);
}

static cl_mem pass_image(cl_mem image)
{
    if (image)
        opencl_passed(PASSED_image);
    return image;
}

static cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t pitch, void *host, cl_int *status)
{
    return pass_image(next_of(context)->clCreateImage2D(context, flags, format, width, height,
                                                        pitch, host, status));
}

static cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t depth, size_t pitch,
                                          size_t slice_pitch, void *host, cl_int *status)
{
    return pass_image(next_of(context)->clCreateImage3D(context, flags, format, width, height,
                                                        depth, pitch, slice_pitch, host, status));
}

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size,
                                   cl_uint alignment)
{
    opencl_passed(PASSED_shared);
    return next_of(context)->clSVMAlloc(context, flags, size, alignment);
}

/* ---- references ---- */

/* The driver still has the handle, the application has none. */
static void end_object(struct object *object)
{
    struct context *context = object->context;
    struct object *whole = object->whole;
    cl_mem handle = (cl_mem)(uintptr_t)object->entry.address;
    struct error error;
    lock();
    opencl_remove_object(object);
    const bool ends_whole = whole && --whole->references == 0;
    unlock();
    next_of(handle)->clReleaseMemObject(handle);
    if (object->destructors)
        opencl_destroy_later(context, handle, object->destructors);
    if (!whole) {
        const uint64_t queue = context->has_lost_order ? SERVE_ALL_QUEUES : HANDLE(object->owner);
        if (server_free(context->server, object->address, queue, &error))
            process_die(&error);
    }
    free(object);
    if (ends_whole)
        end_object(whole);
    else if (!whole)
        opencl_drop_context(context);
}

static cl_int CL_API_CALL retain_object(cl_mem handle)
{
    lock();
    struct object *object = handle ? opencl_object(handle) : NULL;
    if (object)
        object->references++;
    unlock();
    return object ? CL_SUCCESS : next_of(handle)->clRetainMemObject(handle);
}

static cl_int CL_API_CALL release_object(cl_mem handle)
{
    lock();
    struct object *object = handle ? opencl_object(handle) : NULL;
    const bool ends = object && --object->references == 0;
    unlock();
    if (!object)
        return next_of(handle)->clReleaseMemObject(handle);
    if (ends)
        end_object(object);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL set_destructor(cl_mem handle,
                                         void(CL_CALLBACK *call)(cl_mem object, void *data),
                                         void *data)
{
    struct object *object = block_at(handle);
    if (!object)
        return next_of(handle)->clSetMemObjectDestructorCallback(handle, call, data);
    if (!call)
        return CL_INVALID_VALUE;
    struct destructor *d = must_alloc(sizeof *d);
    lock();
    *d = (struct destructor){object->destructors, call, data};
    object->destructors = d;
    unlock();
    return CL_SUCCESS;
}

/* What the driver would say of the object that the application believes to have. False: it is the truth. */
static bool lie(struct object *object, cl_mem_info name, void *answer, size_t *size)
{
    const cl_mem whole = object->is_image ? object->shown
                         : object->whole  ? (cl_mem)(uintptr_t)object->whole->entry.address
                                          : NULL;
    switch (name) {
    case CL_MEM_FLAGS:
        if (object->is_image || !object->flags)
            return false;
        *size = sizeof(cl_mem_flags);
        memcpy(answer, &object->flags, *size);
        return true;
    case CL_MEM_REFERENCE_COUNT:
        *size = sizeof(cl_uint);
        memcpy(answer, &(cl_uint){(cl_uint)object->references}, *size);
        return true;
    case CL_MEM_HOST_PTR:
        *size = sizeof(void *);
        memset(answer, 0, *size);
        return true;
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        *size = sizeof whole;
        memcpy(answer, &whole, *size);
        return true;
    case CL_MEM_OFFSET:
        *size = sizeof(size_t);
        memcpy(answer, &(size_t){object->origin}, *size);
        return true;
    default:
        return false;
    }
}

static cl_int answer_with(const void *answer, size_t needed, size_t size, void *value,
                          size_t *size_needed)
{
    if (value && size < needed)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, answer, needed);
    if (size_needed)
        *size_needed = needed;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL image_info(cl_mem handle, cl_image_info name, size_t size, void *value,
                                     size_t *size_needed)
{
    const struct object *object = block_at(handle);
    if (!object || name != CL_IMAGE_BUFFER)
        return next_of(handle)->clGetImageInfo(handle, name, size, value, size_needed);
    return answer_with(&object->shown, sizeof object->shown, size, value, size_needed);
}

static cl_int CL_API_CALL object_info(cl_mem handle, cl_mem_info name, size_t size, void *value,
                                      size_t *size_needed)
{
    unsigned char answer[16];
    size_t needed = 0;
    lock();
    struct object *object = handle ? opencl_object(handle) : NULL;
    const bool lies = object && lie(object, name, answer, &needed);
    unlock();
    if (!lies)
        return next_of(handle)->clGetMemObjectInfo(handle, name, size, value, size_needed);
    return answer_with(answer, needed, size, value, size_needed);
}

/* ---- kernels ---- */

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *status)
{
    cl_kernel kernel = next_of(program)->clCreateKernel(program, name, status);
    if (kernel)
        opencl_add_kernel(kernel);
    return kernel;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint count, cl_kernel *kernels,
                                         cl_uint *made)
{
    cl_uint n = 0;
    const cl_int status = next_of(program)->clCreateKernelsInProgram(program, count, kernels, &n);
    for (cl_uint i = 0; status == CL_SUCCESS && kernels && i < n; i++)
        opencl_add_kernel(kernels[i]);
    if (made)
        *made = n;
    return status;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel source, cl_int *status)
{
    cl_kernel kernel = next_of(source)->clCloneKernel(source, status);
    if (kernel)
        opencl_clone_kernel(kernel, source);
    return kernel;
}

static cl_int CL_API_CALL retain_kernel(cl_kernel kernel)
{
    const cl_int status = next_of(kernel)->clRetainKernel(kernel);
    if (status == CL_SUCCESS)
        opencl_retain_kernel(kernel);
    return status;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
    opencl_release_kernel(kernel);
    return next_of(kernel)->clReleaseKernel(kernel);
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size,
                                       const void *value)
{
    const cl_int status = next_of(kernel)->clSetKernelArg(kernel, index, size, value);
    if (status == CL_SUCCESS && size == sizeof(cl_mem)) {
        cl_mem handle = NULL;
        if (value)
            memcpy(&handle, value, sizeof handle);
        opencl_set_argument(kernel, index, handle);
    }
    return status;
}

/* ---- commands ---- */

/* The parameters that all commands end with. */
#define WAITS cl_uint count, const cl_event *list, cl_event *event

/* An entry that gives a command; the objects that it uses follow. */
#define COMMAND(name, parameters, call, ...)                                                       \
    static cl_int CL_API_CALL name parameters                                                      \
    {                                                                                              \
        const cl_mem objects[] = {__VA_ARGS__};                                                    \
        const cl_int status = opencl_use(queue, objects, sizeof objects / sizeof *objects);        \
        return status == CL_SUCCESS ? next_of(queue)->call : status;                               \
    }

COMMAND(read_buffer,
        (cl_command_queue queue, cl_mem block, cl_bool blocking, size_t offset, size_t size,
         void *host, WAITS),
        clEnqueueReadBuffer(queue, block, blocking, offset, size, host, count, list, event), block)
COMMAND(write_buffer,
        (cl_command_queue queue, cl_mem block, cl_bool blocking, size_t offset, size_t size,
         const void *host, WAITS),
        clEnqueueWriteBuffer(queue, block, blocking, offset, size, host, count, list, event), block)
COMMAND(read_rectangle,
        (cl_command_queue queue, cl_mem block, cl_bool blocking, const size_t *origin,
         const size_t *host_origin, const size_t *region, size_t pitch, size_t slice,
         size_t host_pitch, size_t host_slice, void *host, WAITS),
        clEnqueueReadBufferRect(queue, block, blocking, origin, host_origin, region, pitch, slice,
                                host_pitch, host_slice, host, count, list, event),
        block)
COMMAND(write_rectangle,
        (cl_command_queue queue, cl_mem block, cl_bool blocking, const size_t *origin,
         const size_t *host_origin, const size_t *region, size_t pitch, size_t slice,
         size_t host_pitch, size_t host_slice, const void *host, WAITS),
        clEnqueueWriteBufferRect(queue, block, blocking, origin, host_origin, region, pitch, slice,
                                 host_pitch, host_slice, host, count, list, event),
        block)
COMMAND(copy_buffer,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
         size_t size, WAITS),
        clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, count, list, event),
        from, to)
COMMAND(copy_rectangle,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
         const size_t *to_origin, const size_t *region, size_t from_pitch, size_t from_slice,
         size_t to_pitch, size_t to_slice, WAITS),
        clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, from_pitch,
                                from_slice, to_pitch, to_slice, count, list, event),
        from, to)
COMMAND(fill_buffer,
        (cl_command_queue queue, cl_mem block, const void *pattern, size_t pattern_size,
         size_t offset, size_t size, WAITS),
        clEnqueueFillBuffer(queue, block, pattern, pattern_size, offset, size, count, list, event),
        block)
COMMAND(read_image,
        (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
         const size_t *region, size_t pitch, size_t slice, void *host, WAITS),
        clEnqueueReadImage(queue, image, blocking, origin, region, pitch, slice, host, count, list,
                           event),
        image)
COMMAND(write_image,
        (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
         const size_t *region, size_t pitch, size_t slice, const void *host, WAITS),
        clEnqueueWriteImage(queue, image, blocking, origin, region, pitch, slice, host, count, list,
                            event),
        image)
COMMAND(copy_image,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
         const size_t *to_origin, const size_t *region, WAITS),
        clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region, count, list, event),
        from, to)
COMMAND(copy_image_to_buffer,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *origin, const size_t *region,
         size_t offset, WAITS),
        clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset, count, list, event),
        from, to)
COMMAND(copy_buffer_to_image,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t offset, const size_t *origin,
         const size_t *region, WAITS),
        clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region, count, list, event),
        from, to)
COMMAND(fill_image,
        (cl_command_queue queue, cl_mem image, const void *colour, const size_t *origin,
         const size_t *region, WAITS),
        clEnqueueFillImage(queue, image, colour, origin, region, count, list, event), image)
COMMAND(unmap, (cl_command_queue queue, cl_mem block, void *host, WAITS),
        clEnqueueUnmapMemObject(queue, block, host, count, list, event), block)

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                 const size_t *offset, const size_t *global, const size_t *local,
                                 WAITS)
{
    const cl_int status = opencl_use_arguments(queue, kernel);
    return status == CL_SUCCESS
               ? next_of(queue)->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
                                                        local, count, list, event)
               : status;
}

static cl_int CL_API_CALL launch_task(cl_command_queue queue, cl_kernel kernel, WAITS)
{
    const cl_int status = opencl_use_arguments(queue, kernel);
    return status == CL_SUCCESS ? next_of(queue)->clEnqueueTask(queue, kernel, count, list, event)
                                : status;
}

static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint object_count,
                                  const cl_mem *objects, cl_mem_migration_flags flags, WAITS)
{
    const cl_int status = objects ? opencl_use(queue, objects, object_count) : CL_SUCCESS;
    return status == CL_SUCCESS ? next_of(queue)->clEnqueueMigrateMemObjects(
                                      queue, object_count, objects, flags, count, list, event)
                                : status;
}

/* A function of the application's runs among its commands, and may wait for anything. */
static cl_int CL_API_CALL native(cl_command_queue queue, void(CL_CALLBACK *function)(void *),
                                 void *arguments, size_t size, cl_uint object_count,
                                 const cl_mem *objects, const void **places, WAITS)
{
    lock();
    struct queue *q = opencl_queue(queue);
    if (q)
        opencl_lose_order(q->context);
    unlock();
    const cl_int status = objects ? opencl_use(queue, objects, object_count) : CL_SUCCESS;
    return status == CL_SUCCESS ? next_of(queue)->clEnqueueNativeKernel(queue, function, arguments,
                                                                        size, object_count, objects,
                                                                        places, count, list, event)
                                : status;
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem block, cl_bool blocking,
                                    cl_map_flags how, size_t offset, size_t size, WAITS,
                                    cl_int *status)
{
    const cl_int error = opencl_use(queue, &block, 1);
    if (error == CL_SUCCESS)
        return next_of(queue)->clEnqueueMapBuffer(queue, block, blocking, how, offset, size, count,
                                                  list, event, status);
    if (status)
        *status = error;
    return NULL;
}

static void *CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                   cl_map_flags how, const size_t *origin, const size_t *region,
                                   size_t *pitch, size_t *slice, WAITS, cl_int *status)
{
    const cl_int error = opencl_use(queue, &image, 1);
    if (error == CL_SUCCESS)
        return next_of(queue)->clEnqueueMapImage(queue, image, blocking, how, origin, region, pitch,
                                                 slice, count, list, event, status);
    if (status)
        *status = error;
    return NULL;
}

/* ---- extensions ---- */

/* Their functions by-pass all layers. Where they can give commands, uses are not seen. */
static void look_at_extension(const char *name)
{
    if (!name || !(strstr(name, "Enqueue") || strstr(name, "Command")))
        return;
    lock();
    opencl_lose_order(NULL);
    unlock();
}

static void *CL_API_CALL extension(const char *name)
{
    look_at_extension(name);
    return next_of(NULL)->clGetExtensionFunctionAddress(name);
}

static void *CL_API_CALL extension_for_platform(cl_platform_id platform, const char *name)
{
    look_at_extension(name);
    return next_of(platform)->clGetExtensionFunctionAddressForPlatform(platform, name);
}

/* ---- the layer ---- */

static const cl_icd_dispatch entries = {
    .clCreateContext = create_context,
    .clCreateContextFromType = create_context_from_type,
    .clRetainContext = retain_context,
    .clReleaseContext = release_context,
    .clCreateCommandQueue = create_queue,
    .clCreateCommandQueueWithProperties = create_queue_with_properties,
    .clRetainCommandQueue = retain_queue,
    .clReleaseCommandQueue = release_queue,
    .clCreateUserEvent = create_user_event,
    .clCreateBuffer = create_buffer,
    .clCreateBufferWithProperties = create_buffer_with_properties,
    .clCreateSubBuffer = create_part,
    .clCreateImage = create_image,
    .clCreateImageWithProperties = create_image_with_properties,
    .clCreateImage2D = create_image_2d,
    .clCreateImage3D = create_image_3d,
    .clSVMAlloc = svm_alloc,
    .clRetainMemObject = retain_object,
    .clReleaseMemObject = release_object,
    .clSetMemObjectDestructorCallback = set_destructor,
    .clGetMemObjectInfo = object_info,
    .clGetImageInfo = image_info,
    .clCreateKernel = create_kernel,
    .clCreateKernelsInProgram = create_kernels,
    .clCloneKernel = clone_kernel,
    .clRetainKernel = retain_kernel,
    .clReleaseKernel = release_kernel,
    .clSetKernelArg = set_argument,
    .clEnqueueReadBuffer = read_buffer,
    .clEnqueueWriteBuffer = write_buffer,
    .clEnqueueReadBufferRect = read_rectangle,
    .clEnqueueWriteBufferRect = write_rectangle,
    .clEnqueueCopyBuffer = copy_buffer,
    .clEnqueueCopyBufferRect = copy_rectangle,
    .clEnqueueFillBuffer = fill_buffer,
    .clEnqueueReadImage = read_image,
    .clEnqueueWriteImage = write_image,
    .clEnqueueCopyImage = copy_image,
    .clEnqueueCopyImageToBuffer = copy_image_to_buffer,
    .clEnqueueCopyBufferToImage = copy_buffer_to_image,
    .clEnqueueFillImage = fill_image,
    .clEnqueueMapBuffer = map_buffer,
    .clEnqueueMapImage = map_image,
    .clEnqueueUnmapMemObject = unmap,
    .clEnqueueNDRangeKernel = launch,
    .clEnqueueTask = launch_task,
    .clEnqueueNativeKernel = native,
    .clEnqueueMigrateMemObjects = migrate,
    .clGetExtensionFunctionAddress = extension,
    .clGetExtensionFunctionAddressForPlatform = extension_for_platform,
};

static void add_statistics(json_t *statistics)
{
    json_t *passed = tree_object();
    uint64_t sum = 0;
#define X(name, help)                                                                              \
    tree_put(passed, help, tree_count(passed_counts[PASSED_##name]));                              \
    sum += passed_counts[PASSED_##name];
    PASSED_LIST(X)
#undef X
    tree_put(statistics, "joined_count", tree_count(opencl_joined_count()));
    tree_put(statistics, "passed_count", tree_count(sum));
    tree_put(statistics, "passed", passed);
}

static bool begin(const char *via)
{
    struct error error;
    (void)via;
    if (process_begin(NULL, SERVING_OPENCL, &error))
        process_die(&error);
    process_adds(add_statistics);
    return true;
}

const struct layer layer_own = {"gamut serve", "GAMUT_SERVE", &entries, begin};
