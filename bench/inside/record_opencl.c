/* The recorder of OpenCL: records each call (trace/raw.h) that has succeeded.
 *
 * An application sees the same results as without the recorder, with two exceptions: a buffer has
 * one more destructor callback, and with the option `times` queues have profiling and commands have
 * events.
 */
#include <string.h>

#include "base/driver_memory.h"
#include "inside/opencl_layer.h"
#include "inside/recorder.h"

static struct opencl_listener listener;
static bool times; /* the option */

static uint64_t now(void)
{
    return recorder_ticks();
}

/* ---- objects ---- */

static void created(enum raw_kind kind, const void *object, uint64_t begin, const uint64_t *words,
                    unsigned count)
{
    recorder_put(kind, HANDLE(object), 0, begin, recorder_ticks(), words, count);
}

static void context_made(cl_context context, uint64_t begin)
{
    enum { DEVICES_MOST = 64 };
    cl_device_id devices[DEVICES_MOST];
    size_t bytes = 0;
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

static void queue_made(cl_command_queue queue, cl_context context,
                       cl_command_queue_properties properties, uint64_t begin)
{
    const uint64_t words[] = {
        HANDLE(context),
        (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? RAW_QUEUE_OUT_OF_ORDER : 0) |
            (properties & CL_QUEUE_PROFILING_ENABLE ? RAW_QUEUE_TIMES : 0)};
    created(RAW_queue, queue, begin, words, 2);
}

static void kernel_made(cl_kernel kernel, const char *name)
{
    char text[512] = "";
    if (!name)
        next_of(kernel)->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof text, text, NULL);
    recorder_text(RAW_kernel, HANDLE(kernel), recorder_ticks(), name ? name : text);
}

static void kernel_cloned(cl_kernel kernel, cl_kernel source, uint64_t begin)
{
    created(RAW_clone, kernel, begin, &(uint64_t){HANDLE(source)}, 1);
}

static void event_made(cl_event event, cl_context context, uint64_t begin)
{
    created(RAW_event, event, begin, NULL, 0);
}

static void argument_set(cl_kernel kernel, cl_uint index, const void *value)
{
    const uint64_t at = recorder_ticks();
    recorder_put(RAW_argument, HANDLE(kernel), 0, at, at, (uint64_t[]){index, HANDLE(value)}, 2);
}

/* ---- references ---- */

static void put_reference(enum raw_kind kind, const void *object, uint64_t class, uint64_t begin,
                          uint64_t end)
{
    recorder_put(kind, HANDLE(object), 0, begin, end, &class, 1);
}

static void retained(enum raw_class class, void *object)
{
    const uint64_t at = recorder_ticks();
    put_reference(RAW_retain, object, class, at, at);
}

/* A release has the time of its begin: when it returns, another thread may have the handle. */
static void releasing(struct opencl_release *release)
{
    release->begin = recorder_ticks();
    struct recorder_thread *thread = recorder_self ? recorder_self : recorder_room(0);
    if (release->class != RAW_CLASS_BLOCK || !thread)
        return;
    /* Not 0: this call is of another block's destructor. */
    release->note = thread->ending;
    thread->ending = HANDLE(release->object);
}

/* Most blocks are gone when their last release returns, as block_is_gone has noted: one record is
 * for both. The duration matters for blocks alone: reading the clock is half the cost of a
 * record. */
static void released(const struct opencl_release *release, cl_int status)
{
    struct recorder_thread *thread = recorder_self;
    const bool is_block = release->class == RAW_CLASS_BLOCK;
    const bool is_gone = is_block && thread && !thread->ending;
    put_reference(RAW_release, release->object, release->class | (is_gone ? RAW_RELEASE_GONE : 0),
                  release->begin, is_block ? recorder_ticks() : release->begin);
    if (is_block && thread)
        thread->ending = release->note;
}

/* ---- blocks ---- */

static void CL_CALLBACK block_is_gone(cl_mem block, void *data)
{
    if (recorder_self && recorder_self->ending == HANDLE(block)) {
        recorder_self->ending = 0;
        return;
    }
    const uint64_t at = recorder_ticks();
    recorder_put(RAW_gone, HANDLE(block), 0, at, at, NULL, 0);
}

static uint64_t flags_of(cl_mem_flags flags)
{
    return (flags & CL_MEM_USE_HOST_PTR ? RAW_BLOCK_HOST_POINTER : 0) |
           (flags & CL_MEM_COPY_HOST_PTR ? RAW_BLOCK_COPIED : 0) |
           (flags & CL_MEM_ALLOC_HOST_PTR ? MEMORY_PINNED : MEMORY_DEVICE);
}

/* Whether a request failed for want of memory. An image whose format the device lacks did not. */
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

static void put_block(cl_mem block, const struct opencl_request *request, uint64_t site,
                      uint64_t begin, cl_int error)
{
    const uint64_t end = recorder_ticks();
    uint64_t words[] = {HANDLE(request->context), request->bytes,
                        flags_of(request->flags) | (request->shape ? RAW_BLOCK_IMAGE : 0), site,
                        (uint64_t)(int64_t)error};
    if (!block) {
        if (is_refusal(error, request->bytes))
            recorder_put(RAW_refused, 0, 0, begin, end, words, 5);
        return;
    }
    if (!request->bytes)
        words[1] = opencl_bytes_of(block);
    if (next_of(block)->clSetMemObjectDestructorCallback &&
        next_of(block)->clSetMemObjectDestructorCallback(block, block_is_gone, NULL) == CL_SUCCESS)
        words[2] |= RAW_BLOCK_GONE_FOLLOWS;
    recorder_put(RAW_block, HANDLE(block), 0, begin, end, words, 4);
}

static cl_mem make(const struct opencl_request *request, cl_int *error)
{
    const uint64_t site = recorder_site(request->caller), begin = recorder_ticks();
    const cl_mem block = opencl_make(request, error),
                 whole = block && request->shape ? request->shape->buffer : NULL;
    if (whole)
        put_part(block, whole, 0, opencl_bytes_of(block), site, begin);
    else
        put_block(block, request, site, begin, *error);
    return block;
}

static cl_mem CL_API_CALL on_clCreateSubBuffer(cl_mem whole, cl_mem_flags flags,
                                               cl_buffer_create_type type, const void *info,
                                               cl_int *status)
{
    const uint64_t site = recorder_site(CALLER()), begin = recorder_ticks();
    cl_mem part = next_of(whole)->clCreateSubBuffer(whole, flags, type, info, status);
    if (part && type == CL_BUFFER_CREATE_TYPE_REGION) {
        const cl_buffer_region *region = info;
        put_part(part, whole, region->origin, region->size, site, begin);
    }
    return part;
}

static void *CL_API_CALL on_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size,
                                       cl_uint alignment)
{
    const uint64_t site = recorder_site(CALLER()), begin = recorder_ticks();
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

static void CL_API_CALL on_clSVMFree(cl_context context, void *block)
{
    const uint64_t begin = recorder_ticks();
    next_of(context)->clSVMFree(context, block);
    if (block)
        recorder_put(RAW_free, HANDLE(block), 0, begin, recorder_ticks(), (uint64_t[]){0, 0}, 2);
}

/* ---- commands ---- */

static bool read_time(cl_event event, cl_profiling_info what, cl_ulong *ns)
{
    return next_of(event)->clGetEventProfilingInfo(event, what, sizeof *ns, ns, NULL) == CL_SUCCESS;
}

static void CL_CALLBACK command_has_ended(cl_event event, cl_int status, void *own)
{
    cl_ulong queued, start, end;
    if (status == CL_COMPLETE && read_time(event, CL_PROFILING_COMMAND_QUEUED, &queued) &&
        read_time(event, CL_PROFILING_COMMAND_START, &start) &&
        read_time(event, CL_PROFILING_COMMAND_END, &end) && end >= start) {
        const uint64_t at = recorder_ticks();
        const uint64_t words[] = {end - start, end > queued ? end - queued : 0, 0};
        recorder_put(RAW_ran, HANDLE(event), 0, at, at, words, 3);
    }
    if (own)
        next_of(event)->clReleaseEvent(event);
}

static cl_int before(struct opencl_command *command)
{
    command->begin = recorder_ticks();
    if (command->runs_host)
        recorder_unseen("clEnqueueNativeKernel");
    else if (!command->event && times)
        command->event = &command->own;
    return CL_SUCCESS;
}

/* Bytes of a region of an image. */
static uint64_t image_bytes(cl_mem image, const size_t *region)
{
    size_t element = 0;
    next_of(image)->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
    return region ? element * region[0] * region[1] * region[2] : element;
}

static void after(struct opencl_command *command, cl_int status)
{
    const uint64_t end = recorder_ticks();
    if (status != CL_SUCCESS || command->runs_host)
        return;
    const cl_event event = command->event ? *command->event : NULL;
    const uint64_t bytes =
        command->image ? image_bytes(command->image, command->region) : command->bytes;
    uint64_t *words =
        recorder_begin(command->kind, HANDLE(command->queue), HANDLE(event), command->begin, end,
                       RAW_COMMAND_WORDS + command->block_count + command->wait_count);
    if (words) {
        words[RAW_COMMAND_FLAGS] = command->flags;
        words[RAW_COMMAND_KERNEL] = HANDLE(command->kernel);
        words[RAW_COMMAND_BYTES] = bytes;
        words[RAW_COMMAND_BLOCKS] = command->block_count;
        words[RAW_COMMAND_EVENTS] = command->wait_count;
        words += RAW_COMMAND_WORDS;
        for (unsigned i = 0; i < command->block_count; i++)
            *words++ = HANDLE(command->blocks[i]);
        for (unsigned i = 0; i < command->wait_count; i++)
            *words++ = HANDLE(command->waits[i]);
        recorder_commit();
    }
    if (times && event)
        next_of(event)->clSetEventCallback(event, CL_COMPLETE, command_has_ended, command->own);
}

/* ---- the host waits ---- */

static cl_int CL_API_CALL on_clFlush(cl_command_queue queue)
{
    const uint64_t begin = recorder_ticks();
    const cl_int status = next_of(queue)->clFlush(queue);
    recorder_put(RAW_flush, HANDLE(queue), 0, begin, recorder_ticks(), NULL, 0);
    return status;
}

static cl_int CL_API_CALL on_clFinish(cl_command_queue queue)
{
    const uint64_t begin = recorder_ticks();
    const cl_int status = next_of(queue)->clFinish(queue);
    recorder_put(RAW_finish, HANDLE(queue), 0, begin, recorder_ticks(), NULL, 0);
    return status;
}

static cl_int CL_API_CALL on_clWaitForEvents(cl_uint count, const cl_event *events)
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
 * An application gets these two functions by name, as those of an extension. Without a recorder it
 * gets NULL.
 */

static void CL_API_CALL begin_phase(const char *name)
{
    recorder_text(RAW_begin, 0, recorder_ticks(), name);
}

static void CL_API_CALL end_phase(void)
{
    const uint64_t at = recorder_ticks();
    recorder_put(RAW_end, 0, 0, at, at, NULL, 0);
}

static void *function(const char *name)
{
    if (strcmp(name, "clBeginPhaseGAMUT") == 0)
        return (void *)(uintptr_t)begin_phase;
    if (strcmp(name, "clEndPhaseGAMUT") == 0)
        return (void *)(uintptr_t)end_phase;
    recorder_unseen(name);
    return NULL;
}

/* ---- what is not recorded ---- */

static cl_int CL_API_CALL
on_clEnqueueSVMFree(cl_command_queue queue, cl_uint block_count, void *blocks[],
                    void(CL_CALLBACK *free_them)(cl_command_queue, cl_uint, void **, void *),
                    void *data, cl_uint count, const cl_event *list, cl_event *event)
{
    recorder_unseen("clEnqueueSVMFree");
    return next_of(queue)->clEnqueueSVMFree(queue, block_count, blocks, free_them, data, count,
                                            list, event);
}

static cl_int CL_API_CALL on_clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info what,
                                                 size_t size, const void *value)
{
    recorder_unseen("clSetKernelExecInfo");
    return next_of(kernel)->clSetKernelExecInfo(kernel, what, size, value);
}

/* ---- the listener ---- */

static bool begin(const char *via)
{
    if (!recorder_open("OpenCL", via))
        return false;
    times = recorder_wants("times");
    listener.queue_properties = times ? CL_QUEUE_PROFILING_ENABLE : 0;
    return true;
}

static struct opencl_listener listener = {
    .name = "gamut record",
    .variable = "GAMUT_RECORD",
    .begin = begin,
    .own =
        {
            ENTRY(clCreateSubBuffer),
            ENTRY(clSVMAlloc),
            ENTRY(clSVMFree),
            ENTRY(clEnqueueSVMFree),
            ENTRY(clSetKernelExecInfo),
            ENTRY(clFlush),
            ENTRY(clFinish),
            ENTRY(clWaitForEvents),
        },
    .now = now,
    .context_made = context_made,
    .queue_made = queue_made,
    .kernel_made = kernel_made,
    .kernel_cloned = kernel_cloned,
    .event_made = event_made,
    .argument_set = argument_set,
    .retained = retained,
    .releasing = releasing,
    .released = released,
    .make = make,
    .before = before,
    .after = after,
    .function = function,
};

__attribute__((constructor)) static void listen(void)
{
    opencl_listen(&listener);
}
