/* The recorder of OpenCL: a layer between the application and its driver.
 *
 * Each entry here calls the next one, and records the call (trace/raw.h) if it succeeded. An application sees the same results, with two
 * exceptions: a buffer has one more destructor callback, and with the option `times` queues have profiling and
 * commands have events.
 *
 * The entries that are NULL here pass through the loader. Extension functions by-pass all layers; those that
 * the application asks for are named as not seen.
 */
#include <stdlib.h>
#include <string.h>

#include "base/driver_memory.h"
#include "capture/layer_opencl.h"
#include "capture/recorder.h"

static bool times; /* the option */

/* The place in the application from which an entry was called: the loader jumps to the entry. */
#define CALLER() recorder_site(__builtin_return_address(0))

/* ---- objects ---- */

static void put_reference(enum raw_kind kind, const void *object, uint64_t class, uint64_t begin,
                          uint64_t end)
{
    recorder_put(kind, HANDLE(object), 0, begin, end, &class, 1);
}

static void put_retain(const void *object, enum raw_class class)
{
    const uint64_t now = recorder_ticks();
    put_reference(RAW_retain, object, class, now, now);
}

/* Retain and release. The stamp of a release is that of its begin: when it returns, another thread may have the
 * handle. Only for blocks it matters how long the call takes: reading the clock is half the cost of a record. */
#define REFERENCES(NAME, type, CLASS)                                                              \
    static cl_int CL_API_CALL retain_##type(type object)                                           \
    {                                                                                              \
        const cl_int status = next_of(object)->clRetain##NAME(object);                             \
        if (status == CL_SUCCESS)                                                                  \
            put_retain(object, CLASS);                                                             \
        return status;                                                                             \
    }                                                                                              \
    static cl_int CL_API_CALL release_##type(type object)                                          \
    {                                                                                              \
        const uint64_t begin = recorder_ticks();                                                   \
        const cl_int status = next_of(object)->clRelease##NAME(object);                            \
        put_reference(RAW_release, object, CLASS, begin, begin);                                   \
        return status;                                                                             \
    }
REFERENCES(Context, cl_context, RAW_CLASS_CONTEXT)
REFERENCES(CommandQueue, cl_command_queue, RAW_CLASS_QUEUE)
REFERENCES(Kernel, cl_kernel, RAW_CLASS_KERNEL)
REFERENCES(Event, cl_event, RAW_CLASS_EVENT)

static cl_int CL_API_CALL retain_cl_mem(cl_mem block)
{
    const cl_int status = next_of(block)->clRetainMemObject(block);
    if (status == CL_SUCCESS)
        put_retain(block, RAW_CLASS_BLOCK);
    return status;
}

/* Most blocks are gone when their last release returns, which block_is_gone then says here: one record for both. */
static cl_int CL_API_CALL release_cl_mem(cl_mem block)
{
    const uint64_t begin = recorder_ticks();
    struct recorder_thread *thread = recorder_self;
    const uint64_t outer =
        thread ? thread->ending : 0; /* this call is of another block's destructor */
    if (thread)
        thread->ending = HANDLE(block);
    const cl_int status = next_of(block)->clReleaseMemObject(block);
    const bool is_gone = thread && !thread->ending;
    put_reference(RAW_release, block, RAW_CLASS_BLOCK | (is_gone ? RAW_RELEASE_GONE : 0), begin,
                  recorder_ticks());
    if (thread)
        thread->ending = outer;
    return status;
}

static void created(enum raw_kind kind, const void *object, uint64_t begin, const uint64_t *words,
                    unsigned count)
{
    if (object)
        recorder_put(kind, HANDLE(object), 0, begin, recorder_ticks(), words, count);
}

static void put_context(cl_context context, uint64_t begin)
{
    enum { DEVICES_MOST = 64 };
    cl_device_id devices[DEVICES_MOST];
    size_t bytes = 0;
    if (!context)
        return;
    const cl_icd_dispatch *next = next_of(context);
    if (next->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes) !=
            CL_SUCCESS ||
        !bytes)
        devices[0] = NULL;
    char name[128] = "";
    cl_ulong memory = 0;
    cl_uint alignment_bits = 0;
    if (devices[0]) {
        next->clGetDeviceInfo(devices[0], CL_DEVICE_NAME, sizeof name, name, NULL);
        next->clGetDeviceInfo(devices[0], CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
        next->clGetDeviceInfo(devices[0], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof alignment_bits,
                              &alignment_bits, NULL);
    }
    recorder_device(HANDLE(devices[0]), begin, name, memory, alignment_bits / 8);
    created(RAW_context, context, begin, &(uint64_t){HANDLE(devices[0])}, 1);
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *,
                                                                       size_t, void *),
                                             void *data, cl_int *status)
{
    const uint64_t begin = recorder_ticks();
    cl_context context = next_of(count && devices ? devices[0] : NULL)
                             ->clCreateContext(properties, count, devices, notify, data, status);
    put_context(context, begin);
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
    const uint64_t begin = recorder_ticks();
    cl_context context = next_of(platform_of(properties))
                             ->clCreateContextFromType(properties, type, notify, data, status);
    put_context(context, begin);
    return context;
}

static void put_queue(cl_command_queue queue, cl_context context,
                      cl_command_queue_properties properties, uint64_t begin)
{
    const uint64_t words[] = {
        HANDLE(context),
        (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? RAW_QUEUE_OUT_OF_ORDER : 0) |
            (properties & CL_QUEUE_PROFILING_ENABLE ? RAW_QUEUE_TIMES : 0)};
    created(RAW_queue, queue, begin, words, 2);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties,
                                                 cl_int *status)
{
    const uint64_t begin = recorder_ticks();
    if (times)
        properties |= CL_QUEUE_PROFILING_ENABLE;
    cl_command_queue queue =
        next_of(context)->clCreateCommandQueue(context, device, properties, status);
    put_queue(queue, context, properties, begin);
    return queue;
}

static cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context,
                                                                 cl_device_id device,
                                                                 const cl_queue_properties *given,
                                                                 cl_int *status)
{
    enum { MOST = 64 };
    const uint64_t begin = recorder_ticks();
    cl_queue_properties list[MOST + 3];
    cl_command_queue_properties properties = 0;
    size_t count = 0, at = MOST;
    for (; given && given[count] && count < MOST; count += 2) {
        list[count] = given[count];
        list[count + 1] = given[count + 1];
        if (given[count] == CL_QUEUE_PROPERTIES)
            at = count;
    }
    if (times && !(given && given[count])) {
        if (at == MOST) {
            at = count;
            list[count++] = CL_QUEUE_PROPERTIES;
            list[count++] = 0;
        }
        list[at + 1] |= CL_QUEUE_PROFILING_ENABLE;
        list[count] = 0;
        given = list;
    }
    if (at < MOST)
        properties = list[at + 1];
    cl_command_queue queue =
        next_of(context)->clCreateCommandQueueWithProperties(context, device, given, status);
    put_queue(queue, context, properties, begin);
    return queue;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *status)
{
    cl_kernel kernel = next_of(program)->clCreateKernel(program, name, status);
    if (kernel)
        recorder_text(RAW_kernel, HANDLE(kernel), recorder_ticks(), name);
    return kernel;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint count, cl_kernel *kernels,
                                         cl_uint *made)
{
    cl_uint n = 0;
    const cl_int status = next_of(program)->clCreateKernelsInProgram(program, count, kernels, &n);
    for (cl_uint i = 0; status == CL_SUCCESS && kernels && i < n; i++) {
        char name[512] = "";
        next_of(kernels)->clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name,
                                          NULL);
        recorder_text(RAW_kernel, HANDLE(kernels[i]), recorder_ticks(), name);
    }
    if (made)
        *made = n;
    return status;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel source, cl_int *status)
{
    const uint64_t begin = recorder_ticks();
    cl_kernel kernel = next_of(source)->clCloneKernel(source, status);
    created(RAW_clone, kernel, begin, &(uint64_t){HANDLE(source)}, 1);
    return kernel;
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *status)
{
    const uint64_t begin = recorder_ticks();
    cl_event event = next_of(context)->clCreateUserEvent(context, status);
    created(RAW_event, event, begin, NULL, 0);
    return event;
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size,
                                       const void *value)
{
    const cl_int status = next_of(kernel)->clSetKernelArg(kernel, index, size, value);
    /* Handles have eight bytes; a value of another size cannot be one. NULL: no buffer, or local memory. */
    if (status == CL_SUCCESS && size == sizeof(uint64_t)) {
        const uint64_t now = recorder_ticks();
        uint64_t words[] = {index, 0};
        if (value)
            memcpy(&words[1], value, sizeof words[1]);
        recorder_put(RAW_argument, HANDLE(kernel), 0, now, now, words, 2);
    }
    return status;
}

static cl_int CL_API_CALL set_argument_svm(cl_kernel kernel, cl_uint index, const void *value)
{
    const uint64_t begin = recorder_ticks();
    const cl_int status = next_of(kernel)->clSetKernelArgSVMPointer(kernel, index, value);
    if (status == CL_SUCCESS)
        recorder_put(RAW_argument, HANDLE(kernel), 0, begin, recorder_ticks(),
                     (uint64_t[]){index, HANDLE(value)}, 2);
    return status;
}

/* ---- blocks ---- */

static void CL_CALLBACK block_is_gone(cl_mem block, void *data)
{
    (void)data;
    if (recorder_self && recorder_self->ending == HANDLE(block)) {
        recorder_self->ending = 0;
        return;
    }
    const uint64_t now = recorder_ticks();
    recorder_put(RAW_gone, HANDLE(block), 0, now, now, NULL, 0);
}

static uint64_t flags_of(cl_mem_flags flags)
{
    return (flags & CL_MEM_USE_HOST_PTR ? RAW_BLOCK_HOST_POINTER : 0) |
           (flags & CL_MEM_COPY_HOST_PTR ? RAW_BLOCK_COPIED : 0) |
           (flags & CL_MEM_ALLOC_HOST_PTR ? MEMORY_PINNED : MEMORY_DEVICE);
}

/* Whether a request failed for want of memory. An image of a format that the device lacks, say, did not. */
static bool is_refusal(cl_int error, uint64_t bytes)
{
    return error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
           error == CL_OUT_OF_HOST_MEMORY || (error == CL_INVALID_BUFFER_SIZE && bytes);
}

/* A view of a block has no memory of its own. */
static void put_part(cl_mem part, cl_mem whole, uint64_t offset, uint64_t bytes, uint64_t site,
                     uint64_t begin)
{
    created(RAW_part, part, begin, (uint64_t[]){HANDLE(whole), offset, bytes, site}, 4);
}

static uint64_t bytes_of(cl_mem block)
{
    size_t size = 0;
    next_of(block)->clGetMemObjectInfo(block, CL_MEM_SIZE, sizeof size, &size, NULL);
    return size;
}

/* `bytes` 0: the driver knows. */
static void put_block(cl_mem block, cl_context context, uint64_t bytes, uint64_t flags,
                      uint64_t site, uint64_t begin, cl_int error)
{
    const uint64_t end = recorder_ticks();
    if (!block) {
        if (is_refusal(error, bytes))
            recorder_put(
                RAW_refused, 0, 0, begin, end,
                (uint64_t[]){HANDLE(context), bytes, flags, site, (uint64_t)(int64_t)error}, 5);
        return;
    }
    if (!bytes)
        bytes = bytes_of(block);
    if (next_of(block)->clSetMemObjectDestructorCallback &&
        next_of(block)->clSetMemObjectDestructorCallback(block, block_is_gone, NULL) == CL_SUCCESS)
        flags |= RAW_BLOCK_GONE_FOLLOWS;
    recorder_put(RAW_block, HANDLE(block), 0, begin, end,
                 (uint64_t[]){HANDLE(context), bytes, flags, site}, 4);
}

/* Entries that create a block, or a view of `whole`. `status` may be NULL, and the error is needed. */
#define CREATES_BLOCK(name, parameters, call, bytes, more_flags, whole)                            \
    static cl_mem CL_API_CALL name parameters                                                      \
    {                                                                                              \
        const uint64_t site = CALLER(), begin = recorder_ticks();                                  \
        cl_int error = CL_SUCCESS;                                                                 \
        cl_mem block = next_of(context)->call;                                                     \
        if (block && (whole))                                                                      \
            put_part(block, whole, 0, bytes_of(block), site, begin);                               \
        else                                                                                       \
            put_block(block, context, bytes, flags_of(flags) | (more_flags), site, begin, error);  \
        if (status)                                                                                \
            *status = error;                                                                       \
        return block;                                                                              \
    }
CREATES_BLOCK(create_buffer,
              (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status),
              clCreateBuffer(context, flags, size, host, &error), size, 0, NULL)
CREATES_BLOCK(create_buffer_with_properties,
              (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
               size_t size, void *host, cl_int *status),
              clCreateBufferWithProperties(context, properties, flags, size, host, &error), size, 0,
              NULL)
CREATES_BLOCK(create_image,
              (cl_context context, cl_mem_flags flags, const cl_image_format *format,
               const cl_image_desc *shape, void *host, cl_int *status),
              clCreateImage(context, flags, format, shape, host, &error), 0, RAW_BLOCK_IMAGE,
              shape->buffer)
CREATES_BLOCK(create_image_with_properties,
              (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
               const cl_image_format *format, const cl_image_desc *shape, void *host,
               cl_int *status),
              clCreateImageWithProperties(context, properties, flags, format, shape, host, &error),
              0, RAW_BLOCK_IMAGE, shape->buffer)
CREATES_BLOCK(create_image_2d,
              (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
               size_t height, size_t pitch, void *host, cl_int *status),
              clCreateImage2D(context, flags, format, width, height, pitch, host, &error), 0,
              RAW_BLOCK_IMAGE, NULL)
CREATES_BLOCK(create_image_3d,
              (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
               size_t height, size_t depth, size_t pitch, size_t slice_pitch, void *host,
               cl_int *status),
              clCreateImage3D(context, flags, format, width, height, depth, pitch, slice_pitch,
                              host, &error),
              0, RAW_BLOCK_IMAGE, NULL)

static cl_mem CL_API_CALL create_part(cl_mem whole, cl_mem_flags flags, cl_buffer_create_type type,
                                      const void *info, cl_int *status)
{
    const uint64_t site = CALLER(), begin = recorder_ticks();
    cl_mem part = next_of(whole)->clCreateSubBuffer(whole, flags, type, info, status);
    if (part && type == CL_BUFFER_CREATE_TYPE_REGION) {
        const cl_buffer_region *region = info;
        put_part(part, whole, region->origin, region->size, site, begin);
    }
    return part;
}

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size,
                                   cl_uint alignment)
{
    const uint64_t site = CALLER(), begin = recorder_ticks();
    void *block = next_of(context)->clSVMAlloc(context, flags, size, alignment);
    const uint64_t memory =
        RAW_BLOCK_ADDRESS |
        (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER ? MEMORY_FINE_SVM : MEMORY_COARSE_SVM);
    if (block)
        created(RAW_block, block, begin, (uint64_t[]){HANDLE(context), size, memory, site}, 4);
    else
        recorder_put(RAW_refused, 0, 0, begin, recorder_ticks(),
                     (uint64_t[]){HANDLE(context), size, memory, site, 0}, 5);
    return block;
}

static void CL_API_CALL svm_free(cl_context context, void *block)
{
    const uint64_t begin = recorder_ticks();
    next_of(context)->clSVMFree(context, block);
    if (block)
        recorder_put(RAW_free, HANDLE(block), 0, begin, recorder_ticks(), (uint64_t[]){0, 0}, 2);
}

/* ---- commands ---- */

static void CL_CALLBACK command_has_ended(cl_event event, cl_int status, void *own)
{
    cl_ulong queued = 0, start = 0, end = 0;
    if (status == CL_COMPLETE &&
        next_of(event)->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued,
                                                &queued, NULL) == CL_SUCCESS &&
        next_of(event)->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start,
                                                &start, NULL) == CL_SUCCESS &&
        next_of(event)->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end,
                                                NULL) == CL_SUCCESS &&
        end >= start) {
        const uint64_t now = recorder_ticks();
        const uint64_t words[] = {end - start, end > queued ? end - queued : 0, 0};
        recorder_put(RAW_ran, HANDLE(event), 0, now, now, words, 3);
    }
    if (own)
        next_of(event)->clReleaseEvent(event);
}

/* A command in progress. */
struct command {
    uint64_t begin;
    cl_event *wanted, own; /* where the application wants the event; ours if it wants none */
};

/* Begins a command; returns where the driver writes the event. */
static cl_event *begin_command(struct command *command, cl_event *wanted)
{
    *command = (struct command){.begin = recorder_ticks(), .wanted = wanted};
    return wanted || !times ? wanted : &command->own;
}

static void end_command(const struct command *command, enum raw_kind kind, cl_command_queue queue,
                        cl_int status, unsigned flags, uint64_t kernel, uint64_t bytes,
                        const cl_mem *blocks, unsigned block_count, const cl_event *events,
                        unsigned event_count)
{
    const uint64_t end = recorder_ticks();
    if (status != CL_SUCCESS)
        return;
    const cl_event event = command->wanted ? *command->wanted : command->own;
    uint64_t *words = recorder_begin(kind, HANDLE(queue), HANDLE(event), command->begin, end,
                                     RAW_COMMAND_WORDS + block_count + event_count);
    if (words) {
        words[RAW_COMMAND_FLAGS] = flags;
        words[RAW_COMMAND_KERNEL] = kernel;
        words[RAW_COMMAND_BYTES] = bytes;
        words[RAW_COMMAND_BLOCKS] = block_count;
        words[RAW_COMMAND_EVENTS] = event_count;
        words += RAW_COMMAND_WORDS;
        for (unsigned i = 0; i < block_count; i++)
            *words++ = HANDLE(blocks[i]);
        for (unsigned i = 0; i < event_count; i++)
            *words++ = HANDLE(events[i]);
        recorder_commit();
    }
    if (times && event)
        next_of(event)->clSetEventCallback(event, CL_COMPLETE, command_has_ended, command->own);
}

/* An entry that gives a command. In `call`, `made` is where the driver writes the event. */
#define COMMAND(name, parameters, kind, call, flags, kernel, bytes, ...)                           \
    static cl_int CL_API_CALL name parameters                                                      \
    {                                                                                              \
        struct command command;                                                                    \
        cl_event *made = begin_command(&command, event);                                           \
        const cl_int status = next_of(queue)->call;                                                \
        const cl_mem blocks[] = {__VA_ARGS__};                                                     \
        end_command(&command, kind, queue, status, flags, HANDLE(kernel), bytes, blocks,           \
                    blocks[0] ? sizeof blocks / sizeof *blocks : 0, list, count);                  \
        return status;                                                                             \
    }
/* The parameters that all commands end with. */
#define WAITS                cl_uint count, const cl_event *list, cl_event *event
#define BLOCKS_IF(condition) ((condition) ? RAW_COMMAND_BLOCKING : 0)

static uint64_t product(const size_t *size, cl_uint dimensions)
{
    uint64_t n = 1;
    for (cl_uint i = 0; size && i < dimensions; i++)
        n *= size[i];
    return n;
}

/* Bytes of a region of an image. */
static uint64_t image_bytes(cl_mem image, const size_t *region)
{
    size_t element = 0;
    next_of(image)->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
    return element * product(region, 3);
}

COMMAND(read_buffer,
        (cl_command_queue queue, cl_mem block, cl_bool blocking, size_t offset, size_t size,
         void *host, WAITS),
        RAW_read,
        clEnqueueReadBuffer(queue, block, blocking, offset, size, host, count, list, made),
        BLOCKS_IF(blocking), NULL, size, block)
COMMAND(write_buffer,
        (cl_command_queue queue, cl_mem block, cl_bool blocking, size_t offset, size_t size,
         const void *host, WAITS),
        RAW_write,
        clEnqueueWriteBuffer(queue, block, blocking, offset, size, host, count, list, made),
        BLOCKS_IF(blocking), NULL, size, block)
COMMAND(read_rectangle,
        (cl_command_queue queue, cl_mem block, cl_bool blocking, const size_t *origin,
         const size_t *host_origin, const size_t *region, size_t pitch, size_t slice,
         size_t host_pitch, size_t host_slice, void *host, WAITS),
        RAW_read,
        clEnqueueReadBufferRect(queue, block, blocking, origin, host_origin, region, pitch, slice,
                                host_pitch, host_slice, host, count, list, made),
        BLOCKS_IF(blocking), NULL, product(region, 3), block)
COMMAND(write_rectangle,
        (cl_command_queue queue, cl_mem block, cl_bool blocking, const size_t *origin,
         const size_t *host_origin, const size_t *region, size_t pitch, size_t slice,
         size_t host_pitch, size_t host_slice, const void *host, WAITS),
        RAW_write,
        clEnqueueWriteBufferRect(queue, block, blocking, origin, host_origin, region, pitch, slice,
                                 host_pitch, host_slice, host, count, list, made),
        BLOCKS_IF(blocking), NULL, product(region, 3), block)
COMMAND(copy_buffer,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
         size_t size, WAITS),
        RAW_copy,
        clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, count, list, made), 0,
        NULL, size, from, to)
COMMAND(copy_rectangle,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
         const size_t *to_origin, const size_t *region, size_t from_pitch, size_t from_slice,
         size_t to_pitch, size_t to_slice, WAITS),
        RAW_copy,
        clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, from_pitch,
                                from_slice, to_pitch, to_slice, count, list, made),
        0, NULL, product(region, 3), from, to)
COMMAND(fill_buffer,
        (cl_command_queue queue, cl_mem block, const void *pattern, size_t pattern_size,
         size_t offset, size_t size, WAITS),
        RAW_fill,
        clEnqueueFillBuffer(queue, block, pattern, pattern_size, offset, size, count, list, made),
        0, NULL, size, block)
COMMAND(read_image,
        (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
         const size_t *region, size_t pitch, size_t slice, void *host, WAITS),
        RAW_read,
        clEnqueueReadImage(queue, image, blocking, origin, region, pitch, slice, host, count, list,
                           made),
        BLOCKS_IF(blocking), NULL, image_bytes(image, region), image)
COMMAND(write_image,
        (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
         const size_t *region, size_t pitch, size_t slice, const void *host, WAITS),
        RAW_write,
        clEnqueueWriteImage(queue, image, blocking, origin, region, pitch, slice, host, count, list,
                            made),
        BLOCKS_IF(blocking), NULL, image_bytes(image, region), image)
COMMAND(copy_image,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
         const size_t *to_origin, const size_t *region, WAITS),
        RAW_copy,
        clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region, count, list, made), 0,
        NULL, image_bytes(from, region), from, to)
COMMAND(copy_image_to_buffer,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *origin, const size_t *region,
         size_t offset, WAITS),
        RAW_copy,
        clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset, count, list, made), 0,
        NULL, image_bytes(from, region), from, to)
COMMAND(copy_buffer_to_image,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t offset, const size_t *origin,
         const size_t *region, WAITS),
        RAW_copy,
        clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region, count, list, made), 0,
        NULL, image_bytes(to, region), from, to)
COMMAND(fill_image,
        (cl_command_queue queue, cl_mem image, const void *colour, const size_t *origin,
         const size_t *region, WAITS),
        RAW_fill, clEnqueueFillImage(queue, image, colour, origin, region, count, list, made), 0,
        NULL, image_bytes(image, region), image)
COMMAND(unmap, (cl_command_queue queue, cl_mem block, void *host, WAITS), RAW_unmap,
        clEnqueueUnmapMemObject(queue, block, host, count, list, made), 0, NULL, 0, block)
COMMAND(launch,
        (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
         const size_t *global, const size_t *local, WAITS),
        RAW_launch,
        clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, list, made),
        0, kernel, 0, NULL)
COMMAND(launch_task, (cl_command_queue queue, cl_kernel kernel, WAITS), RAW_launch,
        clEnqueueTask(queue, kernel, count, list, made), 0, kernel, 0, NULL)
COMMAND(mark, (cl_command_queue queue, WAITS), RAW_marker,
        clEnqueueMarkerWithWaitList(queue, count, list, made), 0, NULL, 0, NULL)
COMMAND(bar, (cl_command_queue queue, WAITS), RAW_marker,
        clEnqueueBarrierWithWaitList(queue, count, list, made), RAW_COMMAND_BARRIER, NULL, 0, NULL)
COMMAND(svm_copy,
        (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, WAITS),
        RAW_copy, clEnqueueSVMMemcpy(queue, blocking, to, from, size, count, list, made),
        BLOCKS_IF(blocking), NULL, size, (cl_mem)(uintptr_t)from, to)
COMMAND(svm_fill,
        (cl_command_queue queue, void *block, const void *pattern, size_t pattern_size, size_t size,
         WAITS),
        RAW_fill, clEnqueueSVMMemFill(queue, block, pattern, pattern_size, size, count, list, made),
        0, NULL, size, block)
COMMAND(svm_map,
        (cl_command_queue queue, cl_bool blocking, cl_map_flags how, void *block, size_t size,
         WAITS),
        RAW_map, clEnqueueSVMMap(queue, blocking, how, block, size, count, list, made),
        BLOCKS_IF(blocking) | (how & CL_MAP_READ ? RAW_COMMAND_READS : 0) |
            (how & ~(cl_map_flags)CL_MAP_READ ? RAW_COMMAND_WRITES : 0),
        NULL, size, block)
COMMAND(svm_unmap, (cl_command_queue queue, void *block, WAITS), RAW_unmap,
        clEnqueueSVMUnmap(queue, block, count, list, made), 0, NULL, 0, block)

static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint block_count, const cl_mem *blocks,
                                  cl_mem_migration_flags flags, WAITS)
{
    struct command command;
    cl_event *made = begin_command(&command, event);
    const cl_int status = next_of(queue)->clEnqueueMigrateMemObjects(queue, block_count, blocks,
                                                                     flags, count, list, made);
    end_command(&command, RAW_marker, queue, status, 0, 0, 0, blocks, block_count, list, count);
    return status;
}

/* The three commands of OpenCL 1.0 that later versions say with a list. */
static cl_int CL_API_CALL old_mark(cl_command_queue queue, cl_event *event)
{
    struct command command;
    cl_event *made = begin_command(&command, event);
    const cl_int status = next_of(queue)->clEnqueueMarker(queue, made);
    end_command(&command, RAW_marker, queue, status, 0, 0, 0, NULL, 0, NULL, 0);
    return status;
}

static cl_int CL_API_CALL old_bar(cl_command_queue queue)
{
    const struct command command = {.begin = recorder_ticks()};
    const cl_int status = next_of(queue)->clEnqueueBarrier(queue);
    end_command(&command, RAW_marker, queue, status, RAW_COMMAND_BARRIER, 0, 0, NULL, 0, NULL, 0);
    return status;
}

static cl_int CL_API_CALL old_wait(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    const struct command command = {.begin = recorder_ticks()};
    const cl_int status = next_of(queue)->clEnqueueWaitForEvents(queue, count, list);
    end_command(&command, RAW_marker, queue, status, RAW_COMMAND_BARRIER, 0, 0, NULL, 0, list,
                count);
    return status;
}

/* Commands that return the host's address. */
#define MAPS(name, parameters, call, how, bytes)                                                   \
    static void *CL_API_CALL name parameters                                                       \
    {                                                                                              \
        struct command command;                                                                    \
        cl_event *made = begin_command(&command, event);                                           \
        cl_int error = CL_SUCCESS;                                                                 \
        void *host = next_of(queue)->call;                                                         \
        end_command(&command, RAW_map, queue, error,                                               \
                    BLOCKS_IF(blocking) | ((how)&CL_MAP_READ ? RAW_COMMAND_READS : 0) |            \
                        ((how) & ~(cl_map_flags)CL_MAP_READ ? RAW_COMMAND_WRITES : 0),             \
                    0, bytes, &block, 1, list, count);                                             \
        if (status)                                                                                \
            *status = error;                                                                       \
        return host;                                                                               \
    }
MAPS(map_buffer,
     (cl_command_queue queue, cl_mem block, cl_bool blocking, cl_map_flags how, size_t offset,
      size_t size, WAITS, cl_int *status),
     clEnqueueMapBuffer(queue, block, blocking, how, offset, size, count, list, made, &error), how,
     size)
MAPS(map_image,
     (cl_command_queue queue, cl_mem block, cl_bool blocking, cl_map_flags how,
      const size_t *origin, const size_t *region, size_t *pitch, size_t *slice, WAITS,
      cl_int *status),
     clEnqueueMapImage(queue, block, blocking, how, origin, region, pitch, slice, count, list, made,
                       &error),
     how, image_bytes(block, region))

/* ---- the host waits ---- */

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
    const uint64_t begin = recorder_ticks();
    const cl_int status = next_of(queue)->clFlush(queue);
    recorder_put(RAW_flush, HANDLE(queue), 0, begin, recorder_ticks(), NULL, 0);
    return status;
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    const uint64_t begin = recorder_ticks();
    const cl_int status = next_of(queue)->clFinish(queue);
    recorder_put(RAW_finish, HANDLE(queue), 0, begin, recorder_ticks(), NULL, 0);
    return status;
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events)
{
    const uint64_t begin = recorder_ticks();
    const cl_int status =
        next_of(count && events ? events[0] : NULL)->clWaitForEvents(count, events);
    uint64_t *words = recorder_begin(RAW_wait, 0, 0, begin, recorder_ticks(), count);
    if (words) {
        for (cl_uint i = 0; i < count; i++)
            words[i] = HANDLE(events[i]);
        recorder_commit();
    }
    return status;
}

/* ---- phases ----
 *
 * An application gets these two functions by name, as those of an extension, and NULL without a recorder.
 */

static void CL_API_CALL begin_phase(const char *name)
{
    recorder_text(RAW_begin, 0, recorder_ticks(), name);
}

static void CL_API_CALL end_phase(void)
{
    const uint64_t now = recorder_ticks();
    recorder_put(RAW_end, 0, 0, now, now, NULL, 0);
}

static void *own_function(const char *name)
{
    static const struct {
        const char *name;
        union {
            void(CL_API_CALL *begin)(const char *name);
            void(CL_API_CALL *end)(void);
            void *address;
        } is;
    } functions[] = {{"clBeginPhaseGAMUT", {.begin = begin_phase}},
                     {"clEndPhaseGAMUT", {.end = end_phase}}};
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].is.address;
    return NULL;
}

/* ---- what is not recorded ---- */

static void *CL_API_CALL extension(const char *name)
{
    void *own = own_function(name);
    if (own)
        return own;
    recorder_unseen(name);
    return next_of(NULL)->clGetExtensionFunctionAddress(name);
}

static void *CL_API_CALL extension_for_platform(cl_platform_id platform, const char *name)
{
    void *own = own_function(name);
    if (own)
        return own;
    recorder_unseen(name);
    return next_of(platform)->clGetExtensionFunctionAddressForPlatform(platform, name);
}

static cl_int CL_API_CALL native(cl_command_queue queue, void(CL_CALLBACK *function)(void *),
                                 void *arguments, size_t size, cl_uint blocks, const cl_mem *mems,
                                 const void **places, WAITS)
{
    recorder_unseen("clEnqueueNativeKernel");
    return next_of(queue)->clEnqueueNativeKernel(queue, function, arguments, size, blocks, mems,
                                                 places, count, list, event);
}

static cl_int CL_API_CALL svm_free_later(
    cl_command_queue queue, cl_uint block_count, void *blocks[],
    void(CL_CALLBACK *free_them)(cl_command_queue, cl_uint, void **, void *), void *data, WAITS)
{
    recorder_unseen("clEnqueueSVMFree");
    return next_of(queue)->clEnqueueSVMFree(queue, block_count, blocks, free_them, data, count,
                                            list, event);
}

static cl_int CL_API_CALL exec_info(cl_kernel kernel, cl_kernel_exec_info what, size_t size,
                                    const void *value)
{
    recorder_unseen("clSetKernelExecInfo");
    return next_of(kernel)->clSetKernelExecInfo(kernel, what, size, value);
}

/* ---- the layer ---- */

static const cl_icd_dispatch entries = {
    .clCreateContext = create_context,
    .clCreateContextFromType = create_context_from_type,
    .clRetainContext = retain_cl_context,
    .clReleaseContext = release_cl_context,
    .clCreateCommandQueue = create_queue,
    .clCreateCommandQueueWithProperties = create_queue_with_properties,
    .clRetainCommandQueue = retain_cl_command_queue,
    .clReleaseCommandQueue = release_cl_command_queue,
    .clCreateBuffer = create_buffer,
    .clCreateBufferWithProperties = create_buffer_with_properties,
    .clCreateImage = create_image,
    .clCreateImageWithProperties = create_image_with_properties,
    .clCreateImage2D = create_image_2d,
    .clCreateImage3D = create_image_3d,
    .clCreateSubBuffer = create_part,
    .clRetainMemObject = retain_cl_mem,
    .clReleaseMemObject = release_cl_mem,
    .clSVMAlloc = svm_alloc,
    .clSVMFree = svm_free,
    .clEnqueueSVMFree = svm_free_later,
    .clCreateKernel = create_kernel,
    .clCreateKernelsInProgram = create_kernels,
    .clCloneKernel = clone_kernel,
    .clRetainKernel = retain_cl_kernel,
    .clReleaseKernel = release_cl_kernel,
    .clSetKernelArg = set_argument,
    .clSetKernelArgSVMPointer = set_argument_svm,
    .clSetKernelExecInfo = exec_info,
    .clCreateUserEvent = create_user_event,
    .clRetainEvent = retain_cl_event,
    .clReleaseEvent = release_cl_event,
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
    .clEnqueueMarkerWithWaitList = mark,
    .clEnqueueBarrierWithWaitList = bar,
    .clEnqueueMarker = old_mark,
    .clEnqueueBarrier = old_bar,
    .clEnqueueWaitForEvents = old_wait,
    .clEnqueueMigrateMemObjects = migrate,
    .clEnqueueSVMMemcpy = svm_copy,
    .clEnqueueSVMMemFill = svm_fill,
    .clEnqueueSVMMap = svm_map,
    .clEnqueueSVMUnmap = svm_unmap,
    .clFlush = flush,
    .clFinish = finish,
    .clWaitForEvents = wait_for_events,
    .clGetExtensionFunctionAddress = extension,
    .clGetExtensionFunctionAddressForPlatform = extension_for_platform,
};

static bool begin(const char *via)
{
    if (!recorder_open("OpenCL", via))
        return false;
    times = recorder_wants("times");
    return true;
}

const struct layer layer_own = {"gamut record", "GAMUT_RECORD", &entries, begin};
