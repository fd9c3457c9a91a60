/* The layer's entries. Each calls the driver's entry of its name, and tells the listener what was
 * asked and what came of it. */
#include "inside/opencl_layer.h"

#include <string.h>

struct opencl_next opencl_nexts[OPENCL_DRIVERS_MOST];
static const struct opencl_listener *listener;

static uint64_t now(void)
{
    return listener->now ? listener->now() : 0;
}

#define LIST(...) __VA_ARGS__

/* ---- contexts and queues ---- */

static cl_context CL_API_CALL on_clCreateContext(
    const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
    cl_int *status)
{
    const uint64_t begin = now();
    const cl_context context =
        next_of(count && devices ? devices[0] : NULL)
            ->clCreateContext(properties, count, devices, notify, data, status);
    if (context && listener->context_made)
        listener->context_made(context, begin);
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
on_clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *data, cl_int *status)
{
    const uint64_t begin = now();
    const cl_context context =
        next_of(platform_of(properties))
            ->clCreateContextFromType(properties, type, notify, data, status);
    if (context && listener->context_made)
        listener->context_made(context, begin);
    return context;
}

static cl_command_queue CL_API_CALL on_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                            cl_command_queue_properties properties,
                                                            cl_int *status)
{
    const uint64_t begin = now();
    properties |= listener->queue_properties;
    const cl_command_queue queue =
        next_of(context)->clCreateCommandQueue(context, device, properties, status);
    if (queue)
        listener->queue_made(queue, context, properties, begin);
    return queue;
}

static cl_command_queue CL_API_CALL on_clCreateCommandQueueWithProperties(
    cl_context context, cl_device_id device, const cl_queue_properties *given, cl_int *status)
{
    enum { MOST = 64 };
    const uint64_t begin = now();
    cl_queue_properties list[MOST + 3] = {0};
    size_t count = 0, at = MOST;
    for (; given && given[count] && count < MOST; count += 2) {
        memcpy(list + count, given + count, 2 * sizeof *list);
        if (given[count] == CL_QUEUE_PROPERTIES)
            at = count;
    }
    if (at == MOST)
        list[at = count] = CL_QUEUE_PROPERTIES;
    list[at + 1] |= listener->queue_properties;
    /* A longer list stays as it is. */
    if (listener->queue_properties && !(given && count == MOST && given[count]))
        given = list;
    const cl_command_queue queue =
        next_of(context)->clCreateCommandQueueWithProperties(context, device, given, status);
    if (queue)
        listener->queue_made(queue, context, list[at + 1], begin);
    return queue;
}

static cl_event CL_API_CALL on_clCreateUserEvent(cl_context context, cl_int *status)
{
    const uint64_t begin = now();
    const cl_event event = next_of(context)->clCreateUserEvent(context, status);
    if (event)
        listener->event_made(event, context, begin);
    return event;
}

/* ---- references ---- */

#define REFERENCES(Name, type, of_class)                                                           \
    static cl_int CL_API_CALL on_clRetain##Name(type object)                                       \
    {                                                                                              \
        const cl_int status = next_of(object)->clRetain##Name(object);                             \
        if (status == CL_SUCCESS)                                                                  \
            listener->retained(of_class, object);                                                  \
        return status;                                                                             \
    }                                                                                              \
    static cl_int CL_API_CALL on_clRelease##Name(type object)                                      \
    {                                                                                              \
        struct opencl_release release = {.class = of_class, .object = object};                     \
        listener->releasing(&release);                                                             \
        const cl_int status = next_of(object)->clRelease##Name(object);                            \
        listener->released(&release, status);                                                      \
        return status;                                                                             \
    }
REFERENCES(Context, cl_context, RAW_CLASS_CONTEXT)
REFERENCES(CommandQueue, cl_command_queue, RAW_CLASS_QUEUE)
REFERENCES(MemObject, cl_mem, RAW_CLASS_BLOCK)
REFERENCES(Kernel, cl_kernel, RAW_CLASS_KERNEL)
REFERENCES(Event, cl_event, RAW_CLASS_EVENT)

/* ---- buffers and images ---- */

cl_mem opencl_make(const struct opencl_request *r, cl_int *error)
{
    const cl_icd_dispatch *next = next_of(r->context);
    const cl_image_desc *shape = r->shape;
    switch (r->maker) {
    case OPENCL_BUFFER:
        return next->clCreateBuffer(r->context, r->flags, r->bytes, r->host, error);
    case OPENCL_BUFFER_WITH_PROPERTIES:
        return next->clCreateBufferWithProperties(r->context, r->properties, r->flags, r->bytes,
                                                  r->host, error);
    case OPENCL_IMAGE:
        return next->clCreateImage(r->context, r->flags, r->format, shape, r->host, error);
    case OPENCL_IMAGE_WITH_PROPERTIES:
        return next->clCreateImageWithProperties(r->context, r->properties, r->flags, r->format,
                                                 shape, r->host, error);
    case OPENCL_IMAGE_2D:
        return next->clCreateImage2D(r->context, r->flags, r->format, shape->image_width,
                                     shape->image_height, shape->image_row_pitch, r->host, error);
    default:
        return next->clCreateImage3D(
            r->context, r->flags, r->format, shape->image_width, shape->image_height,
            shape->image_depth, shape->image_row_pitch, shape->image_slice_pitch, r->host, error);
    }
}

size_t opencl_bytes_of(cl_mem object)
{
    size_t bytes = 0;
    next_of(object)->clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    return bytes;
}

static cl_mem make(struct opencl_request request, cl_int *status)
{
    cl_int error = CL_SUCCESS;
    const cl_mem object = listener->make(&request, &error);
    if (status)
        *status = error;
    return object;
}

/* An entry that makes a buffer or an image. `parameters` are those between the flags and the memory
 * of the host; members of the request follow. */
#define MAKER(name, kind, parameters, ...)                                                         \
    static cl_mem CL_API_CALL on_##name(cl_context context, LIST parameters, void *host,           \
                                        cl_int *status)                                            \
    {                                                                                              \
        return make((struct opencl_request){kind, CALLER(), context, flags, host, __VA_ARGS__},    \
                    status);                                                                       \
    }
#define IMAGE const cl_image_format *format, const cl_image_desc *shape
MAKER(clCreateBuffer, OPENCL_BUFFER, (cl_mem_flags flags, size_t bytes), .bytes = bytes)
MAKER(clCreateBufferWithProperties, OPENCL_BUFFER_WITH_PROPERTIES,
      (const cl_mem_properties *properties, cl_mem_flags flags, size_t bytes), properties,
      .bytes = bytes)
MAKER(clCreateImage, OPENCL_IMAGE, (cl_mem_flags flags, IMAGE), .format = format, .shape = shape)
MAKER(clCreateImageWithProperties, OPENCL_IMAGE_WITH_PROPERTIES,
      (const cl_mem_properties *properties, cl_mem_flags flags, IMAGE), properties,
      .format = format, .shape = shape)
MAKER(clCreateImage2D, OPENCL_IMAGE_2D,
      (cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height,
       size_t pitch),
      .format = format,
      .shape = &(cl_image_desc){
          .image_width = width, .image_height = height, .image_row_pitch = pitch})
MAKER(clCreateImage3D, OPENCL_IMAGE_3D,
      (cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height, size_t depth,
       size_t pitch, size_t slice_pitch),
      .format = format,
      .shape = &(cl_image_desc){.image_width = width,
                                .image_height = height,
                                .image_depth = depth,
                                .image_row_pitch = pitch,
                                .image_slice_pitch = slice_pitch})

/* ---- kernels ---- */

static cl_kernel CL_API_CALL on_clCreateKernel(cl_program program, const char *name, cl_int *status)
{
    const cl_kernel kernel = next_of(program)->clCreateKernel(program, name, status);
    if (kernel)
        listener->kernel_made(kernel, name);
    return kernel;
}

static cl_int CL_API_CALL on_clCreateKernelsInProgram(cl_program program, cl_uint count,
                                                      cl_kernel *kernels, cl_uint *made)
{
    cl_uint n = 0;
    const cl_int status = next_of(program)->clCreateKernelsInProgram(program, count, kernels, &n);
    for (cl_uint i = 0; status == CL_SUCCESS && kernels && i < n; i++)
        listener->kernel_made(kernels[i], NULL);
    if (made)
        *made = n;
    return status;
}

static cl_kernel CL_API_CALL on_clCloneKernel(cl_kernel source, cl_int *status)
{
    const uint64_t begin = now();
    const cl_kernel kernel = next_of(source)->clCloneKernel(source, status);
    if (kernel)
        listener->kernel_cloned(kernel, source, begin);
    return kernel;
}

static cl_int CL_API_CALL on_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size,
                                            const void *value)
{
    const void *handle = NULL;
    const cl_int status = next_of(kernel)->clSetKernelArg(kernel, index, size, value);
    /* A value of another size is no handle. NULL: no buffer, or local memory. */
    if (status == CL_SUCCESS && size == sizeof handle) {
        if (value)
            memcpy(&handle, value, sizeof handle);
        listener->argument_set(kernel, index, handle);
    }
    return status;
}

static cl_int CL_API_CALL on_clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index,
                                                      const void *value)
{
    const cl_int status = next_of(kernel)->clSetKernelArgSVMPointer(kernel, index, value);
    if (status == CL_SUCCESS)
        listener->argument_set(kernel, index, value);
    return status;
}

/* ---- commands ---- */

static void after(struct opencl_command *command, cl_int status)
{
    if (listener->after)
        listener->after(command, status);
}

/* Gives the command `c` to the driver by `call`, unless the listener refuses it. */
#define GIVE(call)                                                                                 \
    cl_int status = listener->before(&c);                                                          \
    if (status == CL_SUCCESS)                                                                      \
        after(&c, status = next_of(queue)->call);                                                  \
    return status
/* The parameters that all commands end with. */
#define WAITS cl_uint wait_count, const cl_event *waits, cl_event *event
/* The members of a command that have the names of parameters. */
#define GIVEN .queue = queue, .wait_count = wait_count, .waits = waits, .event = event
/* Its blocks, where there is a list of them. */
#define MANY(objects, count)                                                                       \
    .blocks = (const void *const *)(objects), .block_count = (objects) ? (count) : 0

/* An entry that gives a command. `parameters` and `arguments` are those between the queue and the
 * events, `uses` are the blocks. Other members of the command follow. */
#define COMMAND(name, raw, parameters, arguments, uses, ...)                                       \
    static cl_int CL_API_CALL on_##name(cl_command_queue queue, LIST parameters, WAITS)            \
    {                                                                                              \
        const void *const blocks[] = {LIST uses};                                                  \
        struct opencl_command c = {                                                                \
            GIVEN,                                                                                 \
            .kind = raw,                                                                           \
            .blocks = blocks,                                                                      \
            .block_count = blocks[0] ? sizeof blocks / sizeof *blocks : 0,                         \
            __VA_ARGS__,                                                                           \
        };                                                                                         \
        GIVE(name(queue, LIST arguments, wait_count, waits, c.event));                             \
    }
/* The same of a command that returns an address. */
#define MAP(name, parameters, arguments, block, ...)                                               \
    static void *CL_API_CALL on_##name(cl_command_queue queue, LIST parameters, WAITS,             \
                                       cl_int *status)                                             \
    {                                                                                              \
        const void *const blocks[] = {block};                                                      \
        struct opencl_command c = {GIVEN,                                                          \
                                   .kind = RAW_map,                                                \
                                   .blocks = blocks,                                               \
                                   .block_count = 1,                                               \
                                   .flags = BLOCKS_IF(blocking) | ACCESS(how),                     \
                                   __VA_ARGS__};                                                   \
        void *host = NULL;                                                                         \
        cl_int error = listener->before(&c);                                                       \
        if (error == CL_SUCCESS) {                                                                 \
            host =                                                                                 \
                next_of(queue)->name(queue, LIST arguments, wait_count, waits, c.event, &error);   \
            after(&c, error);                                                                      \
        }                                                                                          \
        if (status)                                                                                \
            *status = error;                                                                       \
        return host;                                                                               \
    }
/* A command that waits for events, or for all before it. */
#define MARKER(name, more_flags)                                                                   \
    static cl_int CL_API_CALL on_##name(cl_command_queue queue, WAITS)                             \
    {                                                                                              \
        struct opencl_command c = {GIVEN, .kind = RAW_marker, .flags = more_flags};                \
        GIVE(name(queue, wait_count, waits, c.event));                                             \
    }
#define BLOCKS_IF(condition) ((condition) ? RAW_COMMAND_BLOCKING : 0)
#define ACCESS(how)                                                                                \
    (((how)&CL_MAP_READ ? RAW_COMMAND_READS : 0) |                                                 \
     ((how) & ~(cl_map_flags)CL_MAP_READ ? RAW_COMMAND_WRITES : 0))

/* Bytes of a region of a buffer. */
static uint64_t region_bytes(const size_t *region)
{
    return region ? region[0] * region[1] * region[2] : 1;
}

COMMAND(clEnqueueReadBuffer, RAW_read,
        (cl_mem block, cl_bool blocking, size_t offset, size_t size, void *host),
        (block, blocking, offset, size, host), (block), .bytes = size, .origins = {offset},
        .flags = BLOCKS_IF(blocking))
COMMAND(clEnqueueWriteBuffer, RAW_write,
        (cl_mem block, cl_bool blocking, size_t offset, size_t size, const void *host),
        (block, blocking, offset, size, host), (block), .bytes = size, .origins = {offset},
        .flags = BLOCKS_IF(blocking))
COMMAND(clEnqueueReadBufferRect, RAW_read,
        (cl_mem block, cl_bool blocking, const size_t *origin, const size_t *host_origin,
         const size_t *region, size_t pitch, size_t slice, size_t host_pitch, size_t host_slice,
         void *host),
        (block, blocking, origin, host_origin, region, pitch, slice, host_pitch, host_slice, host),
        (block), .bytes = region_bytes(region), .flags = BLOCKS_IF(blocking))
COMMAND(clEnqueueWriteBufferRect, RAW_write,
        (cl_mem block, cl_bool blocking, const size_t *origin, const size_t *host_origin,
         const size_t *region, size_t pitch, size_t slice, size_t host_pitch, size_t host_slice,
         const void *host),
        (block, blocking, origin, host_origin, region, pitch, slice, host_pitch, host_slice, host),
        (block), .bytes = region_bytes(region), .flags = BLOCKS_IF(blocking))
COMMAND(clEnqueueCopyBuffer, RAW_copy,
        (cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size),
        (from, to, from_offset, to_offset, size), (from, to), .bytes = size,
        .origins = {from_offset, to_offset})
COMMAND(clEnqueueCopyBufferRect, RAW_copy,
        (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
         const size_t *region, size_t from_pitch, size_t from_slice, size_t to_pitch,
         size_t to_slice),
        (from, to, from_origin, to_origin, region, from_pitch, from_slice, to_pitch, to_slice),
        (from, to), .bytes = region_bytes(region))
COMMAND(clEnqueueFillBuffer, RAW_fill,
        (cl_mem block, const void *pattern, size_t pattern_size, size_t offset, size_t size),
        (block, pattern, pattern_size, offset, size), (block), .bytes = size, .origins = {offset})
COMMAND(clEnqueueReadImage, RAW_read,
        (cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t pitch,
         size_t slice, void *host),
        (image, blocking, origin, region, pitch, slice, host), (image), .image = image,
        .region = region, .flags = BLOCKS_IF(blocking))
COMMAND(clEnqueueWriteImage, RAW_write,
        (cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t pitch,
         size_t slice, const void *host),
        (image, blocking, origin, region, pitch, slice, host), (image), .image = image,
        .region = region, .flags = BLOCKS_IF(blocking))
COMMAND(clEnqueueCopyImage, RAW_copy,
        (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
         const size_t *region),
        (from, to, from_origin, to_origin, region), (from, to), .image = from, .region = region)
COMMAND(clEnqueueCopyImageToBuffer, RAW_copy,
        (cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset),
        (from, to, origin, region, offset), (from, to), .image = from, .region = region)
COMMAND(clEnqueueCopyBufferToImage, RAW_copy,
        (cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region),
        (from, to, offset, origin, region), (from, to), .image = to, .region = region)
COMMAND(clEnqueueFillImage, RAW_fill,
        (cl_mem image, const void *colour, const size_t *origin, const size_t *region),
        (image, colour, origin, region), (image), .image = image, .region = region)
COMMAND(clEnqueueUnmapMemObject, RAW_unmap, (cl_mem block, void *host), (block, host), (block),
        .bytes = 0)
COMMAND(clEnqueueNDRangeKernel, RAW_launch,
        (cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
         const size_t *local),
        (kernel, dimensions, offset, global, local), (NULL), .kernel = kernel)
COMMAND(clEnqueueTask, RAW_launch, (cl_kernel kernel), (kernel), (NULL), .kernel = kernel)
COMMAND(clEnqueueSVMMemcpy, RAW_copy, (cl_bool blocking, void *to, const void *from, size_t size),
        (blocking, to, from, size), (from, to), .bytes = size, .flags = BLOCKS_IF(blocking))
COMMAND(clEnqueueSVMMemFill, RAW_fill,
        (void *block, const void *pattern, size_t pattern_size, size_t size),
        (block, pattern, pattern_size, size), (block), .bytes = size)
COMMAND(clEnqueueSVMMap, RAW_map, (cl_bool blocking, cl_map_flags how, void *block, size_t size),
        (blocking, how, block, size), (block), .bytes = size,
        .flags = BLOCKS_IF(blocking) | ACCESS(how))
COMMAND(clEnqueueSVMUnmap, RAW_unmap, (void *block), (block), (block), .bytes = 0)
MAP(clEnqueueMapBuffer,
    (cl_mem block, cl_bool blocking, cl_map_flags how, size_t offset, size_t size),
    (block, blocking, how, offset, size), block, .bytes = size, .origins = {offset})
MAP(clEnqueueMapImage,
    (cl_mem image, cl_bool blocking, cl_map_flags how, const size_t *origin, const size_t *region,
     size_t *pitch, size_t *slice),
    (image, blocking, how, origin, region, pitch, slice), image, .image = image, .region = region)
MARKER(clEnqueueMarkerWithWaitList, 0)
MARKER(clEnqueueBarrierWithWaitList, RAW_COMMAND_BARRIER)

static cl_int CL_API_CALL on_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint count,
                                                        const cl_mem *objects,
                                                        cl_mem_migration_flags flags, WAITS)
{
    struct opencl_command c = {GIVEN, .kind = RAW_marker, MANY(objects, count)};
    GIVE(clEnqueueMigrateMemObjects(queue, count, objects, flags, wait_count, waits, c.event));
}

static cl_int CL_API_CALL on_clEnqueueNativeKernel(cl_command_queue queue,
                                                   void(CL_CALLBACK *function)(void *), void *data,
                                                   size_t size, cl_uint count,
                                                   const cl_mem *objects, const void **places,
                                                   WAITS)
{
    struct opencl_command c = {GIVEN, .runs_host = true, MANY(objects, count)};
    GIVE(clEnqueueNativeKernel(queue, function, data, size, count, objects, places, wait_count,
                               waits, c.event));
}

/* The three commands of OpenCL 1.0 that later versions say with a list. */

static cl_int CL_API_CALL on_clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
    struct opencl_command c = {.kind = RAW_marker, .queue = queue, .event = event};
    GIVE(clEnqueueMarker(queue, c.event));
}

static cl_int CL_API_CALL on_clEnqueueBarrier(cl_command_queue queue)
{
    struct opencl_command c = {.kind = RAW_marker, .queue = queue, .flags = RAW_COMMAND_BARRIER};
    GIVE(clEnqueueBarrier(queue));
}

static cl_int CL_API_CALL on_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count,
                                                    const cl_event *waits)
{
    struct opencl_command c = {.kind = RAW_marker,
                               .queue = queue,
                               .flags = RAW_COMMAND_BARRIER,
                               .waits = waits,
                               .wait_count = count};
    GIVE(clEnqueueWaitForEvents(queue, count, waits));
}

/* ---- extensions ---- */

static void *CL_API_CALL on_clGetExtensionFunctionAddress(const char *name)
{
    void *own = name ? listener->function(name) : NULL;
    return own ? own : next_of(NULL)->clGetExtensionFunctionAddress(name);
}

static void *CL_API_CALL on_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                                     const char *name)
{
    void *own = name ? listener->function(name) : NULL;
    return own ? own : next_of(platform)->clGetExtensionFunctionAddressForPlatform(platform, name);
}

/* ---- the table ---- */

static const cl_icd_dispatch common = {
    ENTRY(clCreateContext),      ENTRY(clCreateContextFromType),
    ENTRY(clCreateCommandQueue), ENTRY(clCreateCommandQueueWithProperties),
    ENTRY(clCreateBuffer),       ENTRY(clCreateBufferWithProperties),
    ENTRY(clCreateImage),        ENTRY(clCreateImageWithProperties),
    ENTRY(clCreateImage2D),      ENTRY(clCreateImage3D),
    ENTRY(clRetainContext),      ENTRY(clReleaseContext),
    ENTRY(clRetainCommandQueue), ENTRY(clReleaseCommandQueue),
    ENTRY(clRetainMemObject),    ENTRY(clReleaseMemObject)};
static const cl_icd_dispatch commands = {
    ENTRY(clCreateUserEvent),
    ENTRY(clCreateKernel),
    ENTRY(clCreateKernelsInProgram),
    ENTRY(clCloneKernel),
    ENTRY(clSetKernelArg),
    ENTRY(clSetKernelArgSVMPointer),
    ENTRY(clEnqueueReadBuffer),
    ENTRY(clEnqueueWriteBuffer),
    ENTRY(clEnqueueReadBufferRect),
    ENTRY(clEnqueueWriteBufferRect),
    ENTRY(clEnqueueCopyBuffer),
    ENTRY(clEnqueueCopyBufferRect),
    ENTRY(clEnqueueFillBuffer),
    ENTRY(clEnqueueReadImage),
    ENTRY(clEnqueueWriteImage),
    ENTRY(clEnqueueCopyImage),
    ENTRY(clEnqueueCopyImageToBuffer),
    ENTRY(clEnqueueCopyBufferToImage),
    ENTRY(clEnqueueFillImage),
    ENTRY(clEnqueueUnmapMemObject),
    ENTRY(clEnqueueNDRangeKernel),
    ENTRY(clEnqueueTask),
    ENTRY(clEnqueueSVMMemcpy),
    ENTRY(clEnqueueSVMMemFill),
    ENTRY(clEnqueueSVMMap),
    ENTRY(clEnqueueSVMUnmap),
    ENTRY(clEnqueueMapBuffer),
    ENTRY(clEnqueueMapImage),
    ENTRY(clEnqueueMarkerWithWaitList),
    ENTRY(clEnqueueBarrierWithWaitList),
    ENTRY(clEnqueueMigrateMemObjects),
    ENTRY(clEnqueueNativeKernel),
    ENTRY(clEnqueueMarker),
    ENTRY(clEnqueueBarrier),
    ENTRY(clEnqueueWaitForEvents),
    ENTRY(clRetainKernel),
    ENTRY(clReleaseKernel),
    ENTRY(clRetainEvent),
    ENTRY(clReleaseEvent),
    ENTRY(clGetExtensionFunctionAddress),
    ENTRY(clGetExtensionFunctionAddressForPlatform),
};

void opencl_put_entries(cl_icd_dispatch *to, const cl_icd_dispatch *from)
{
    for (size_t at = 0; at < sizeof *to; at += sizeof(void *)) {
        void *entry;
        memcpy(&entry, (const char *)from + at, sizeof entry);
        if (entry)
            memcpy((char *)to + at, &entry, sizeof entry);
    }
}

const cl_icd_dispatch *opencl_entries(const struct opencl_listener *given)
{
    static cl_icd_dispatch entries;
    listener = given;
    opencl_put_entries(&entries, &common);
    if (given->before)
        opencl_put_entries(&entries, &commands);
    opencl_put_entries(&entries, &given->own);
    return &entries;
}
