/* The functions of libcuda that libgamut_serve_cuda.so answers for. Its rules:
 *
 *   1. cuMemAlloc and cuMemAllocAsync are served where the thread's context is the primary one of
 *      its device. Requests in other contexts, in captures, on the default stream of a thread, of a
 *      pool of the program's, and all other kinds of memory, are the driver's. They are counted.
 *   2. A block of cuMemAlloc may be used on any stream at once. So these blocks have a queue of
 *      their own, and one goes back to it only when the device is done with all commands: cuMemFree
 *      waits for the device, as the driver's own does. Under a strategy that gives memory in the
 *      order of a stream, and in the debug mode, cuMemAlloc waits for that queue too.
 *   3. A block of cuMemAllocAsync belongs to its stream. If it is freed on another stream, it waits
 *      for that stream (server.h).
 *   4. Questions about the memory that a block lies in are answered for the block. Handles of that
 *      memory for another process are refused with CUDA_ERROR_NOT_SUPPORTED.
 *   5. Served memory may lack what the program asks for its device or the device's own pool: access
 *      of other devices, a pool in its place. Such requests end serving, of all memory or of that
 *      of cuMemAllocAsync. So does a reset of a device, which takes its memory away, for that
 *      device.
 *   6. A call that comes from the driver while the library calls it is the driver's.
 */
#include "inside/preload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/slab.h"
#include "base/tree.h"
#include "base/treap.h"
#include "inside/server.h"
#include "inside/serve_process.h"

/* The queue of the blocks that belong to no stream: a second name of the default stream, which no
 * request has, because stream_of gives the default stream's requests its first name. */
static const uint64_t any_stream = 1; /* CU_STREAM_LEGACY */

static const char no_tag[] = "";

/* X(name, help): what is left to the driver, or refused. */
#define PASSED_LIST(X)                                                                             \
    X(refused, "requests after serving was ended")                                                 \
    X(context, "requests in contexts that are not the device's primary one")                       \
    X(reset, "requests of devices that were reset")                                                \
    X(capture, "requests in captured streams (a graph takes its memory when it runs)")             \
    X(thread_stream, "requests on the default streams of threads (one handle names them all)")     \
    X(own_pool, "requests of cuMemAllocAsync, of which the program chose pool or access")          \
    X(failed, "requests after a failure of the driver")                                            \
    X(pitch, "requests of cuMemAllocPitch (the driver chooses the pitch)")                         \
    X(managed, "requests of cuMemAllocManaged (the host uses that memory too)")                    \
    X(from_pool, "requests of cuMemAllocFromPoolAsync (the program chose the pool)")               \
    X(create, "requests of cuMemCreate (the program maps that memory by itself)")                  \
    X(exported, "handles for other processes, which were refused")

enum passed {
#define X(name, help) PASSED_##name,
    PASSED_LIST(X)
#undef X
        PASSED_COUNT
};
static _Atomic uint64_t passed[PASSED_COUNT];

static _Thread_local bool is_inside; /* the thread is in a call of the library */

/* ---- live blocks ---- */

struct live {
    struct treap_node node; /* first */
    uint64_t address, bytes;
    int device;
    bool is_async;
};

static int compare(const struct treap_node *a, const struct treap_node *b)
{
    const uint64_t x = ((const struct live *)a)->address, y = ((const struct live *)b)->address;
    return x > y ? -1 : x < y;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct treap blocks = {.compare = compare};       /* from high addresses to low ones */
static struct slab lives = {.item_bytes = sizeof(struct live)};
static uint64_t async_count;

static _Atomic bool is_reset[CUDA_SERVERS_MOST], has_own_pool;
static _Atomic(CUcontext) primaries[CUDA_SERVERS_MOST];

/* The block that an address lies in. With the lock held. */
static struct live *find(uint64_t address)
{
    const struct live key = {.address = address};
    struct live *b = (struct live *)treap_from(&blocks, &key.node);
    return b && address - b->address < b->bytes ? b : NULL;
}

static void add(const struct live *live)
{
    pthread_mutex_lock(&lock);
    struct live *b = slab_take(&lives);
    *b = *live;
    treap_insert(&blocks, &b->node);
    async_count += b->is_async;
    pthread_mutex_unlock(&lock);
}

/* With the lock held. */
static void forget(struct live *b)
{
    async_count -= b->is_async;
    treap_remove(&blocks, &b->node);
    slab_give(&lives, b);
}

/* Copies the block that an address lies in. */
static bool copy_block(CUdeviceptr address, struct live *live)
{
    if (is_inside)
        return false;
    pthread_mutex_lock(&lock);
    const struct live *b = find(address);
    if (b)
        *live = *b;
    pthread_mutex_unlock(&lock);
    return b != NULL;
}

/* Takes the block that begins at an address out of the table. */
static bool take_block(CUdeviceptr address, struct live *live)
{
    pthread_mutex_lock(&lock);
    struct live *b = address ? find(address) : NULL;
    const bool is = b && b->address == address;
    if (is) {
        *live = *b;
        forget(b);
    }
    pthread_mutex_unlock(&lock);
    return is;
}

/* ---- what is left to the driver ---- */

static void add_statistics(json_t *statistics)
{
    json_t *counts = tree_object();
    uint64_t sum = 0;
#define X(name, help)                                                                              \
    tree_put(counts, help, tree_count(passed[PASSED_##name]));                                     \
    sum += passed[PASSED_##name];
    PASSED_LIST(X)
#undef X
    tree_put(statistics, "passed_count", tree_count(sum));
    tree_put(statistics, "passed", counts);
    tree_put(statistics, "refusal", tree_text_or_null(preload_refusal()));
}

/* Blocks are those of the process that was forked: the driver answers here. */
static void after_fork(void)
{
    is_inside = true;
}

static void begin_process(void)
{
    struct error error;
    pthread_atfork(NULL, NULL, after_fork);
    process_adds(add_statistics);
    if (process_begin(NULL, SERVING_CUDA, &error))
        process_die(&error);
}

static void begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_process);
}

static bool leave_to_driver(enum passed why)
{
    atomic_fetch_add(&passed[why], 1);
    begin();
    return false;
}

/* ---- requests ---- */

/* The device whose primary context the thread has; -1: none. A context that is not active is not
 * made so. */
static int device_of_thread(const struct preload_driver *driver)
{
    CUcontext now = NULL, primary = NULL;
    CUdevice device = -1;
    unsigned flags;
    int active = 0;
    if (driver->cuCtxGetCurrent(&now) || !now || driver->cuCtxGetDevice(&device) || device < 0 ||
        device >= CUDA_SERVERS_MOST)
        return -1;
    primary = atomic_load_explicit(&primaries[device], memory_order_relaxed);
    if (primary)
        return primary == now ? device : -1;
    if (driver->cuDevicePrimaryCtxGetState(device, &flags, &active) || !active ||
        driver->cuDevicePrimaryCtxRetain(&primary, device))
        return -1;
    driver->cuDevicePrimaryCtxRelease_v2(device);
    if (primary != now)
        return -1;
    atomic_store_explicit(&primaries[device], primary, memory_order_relaxed);
    return device;
}

/* Waits for one stream, or for the device, in the primary context of the device. */
static CUresult wait_for(const struct preload_driver *driver, int device, bool all)
{
    CUcontext before = NULL;
    const CUcontext own = atomic_load_explicit(&primaries[device], memory_order_relaxed);
    CUresult result = driver->cuCtxGetCurrent(&before);
    if (!result && before != own)
        result = driver->cuCtxSetCurrent(own);
    if (!result)
        result = all ? driver->cuCtxSynchronize() : driver->cuStreamSynchronize(CU_STREAM_LEGACY);
    if (before != own)
        driver->cuCtxSetCurrent(before);
    return result;
}

static bool serve(const struct preload_driver *driver, uint64_t queue, size_t bytes,
                  CUdeviceptr *address, CUresult *result)
{
    struct error error;
    uint64_t place = 0;
    if (preload_refusal())
        return leave_to_driver(PASSED_refused);
    const int device = device_of_thread(driver);
    if (device < 0)
        return leave_to_driver(PASSED_context);
    if (atomic_load(&is_reset[device]))
        return leave_to_driver(PASSED_reset);
    begin();
    const int code = server_alloc(cuda_server_of(device), bytes, queue, no_tag, &place, &error);
    if (code && code != ERR_OOM)
        return leave_to_driver(PASSED_failed);
    *result = code ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    if (code)
        return true;
    const struct serve_options *options = &process_settings()->options;
    if (queue == any_stream && (options->strategy->opens_pool || options->debug))
        *result = wait_for(driver, device, false);
    if (*result) {
        server_free(cuda_server_of(device), place, queue, &error);
        return true;
    }
    add(&(struct live){
        .address = place, .bytes = bytes, .device = device, .is_async = queue != any_stream});
    *address = place;
    return true;
}

/* Whether the library has answered a request: then *result is the answer. */
static bool ask(const struct preload_driver *driver, uint64_t queue, size_t bytes,
                CUdeviceptr *address, CUresult *result)
{
    if (is_inside || !address || !bytes)
        return false; /* the driver says what is wrong */
    is_inside = true;
    const bool is = serve(driver, queue, bytes, address, result);
    is_inside = false;
    return is;
}

static bool is_captured(const struct preload_driver *driver, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return stream && stream != CU_STREAM_LEGACY &&
           (driver->cuStreamIsCapturing(stream, &status) ||
            status != CU_STREAM_CAPTURE_STATUS_NONE);
}

/* One name for the default stream. */
static CUstream stream_of(CUstream stream, bool per_thread)
{
    if (!stream && per_thread)
        return CU_STREAM_PER_THREAD;
    return stream == CU_STREAM_LEGACY ? NULL : stream;
}

static bool ask_in_order(const struct preload_driver *driver, CUstream stream, size_t bytes,
                         CUdeviceptr *address, CUresult *result)
{
    if (is_inside)
        return false;
    if (atomic_load(&has_own_pool))
        return leave_to_driver(PASSED_own_pool);
    if (stream == CU_STREAM_PER_THREAD)
        return leave_to_driver(PASSED_thread_stream);
    if (is_captured(driver, stream))
        return leave_to_driver(PASSED_capture);
    return ask(driver, (uint64_t)(uintptr_t)stream, bytes, address, result);
}

/* The driver's result for the server's. */
static CUresult result_of(int code, const struct error *error)
{
    if (!code)
        return CUDA_SUCCESS;
    fprintf(stderr, "gamut: serving: a block could not be given back: %s\n", error->text);
    return CUDA_ERROR_UNKNOWN;
}

/* Takes a block back after a wait. `stream`: NULL for the device. */
static bool free_waiting(const struct preload_driver *driver, CUdeviceptr address, CUstream stream,
                         CUresult *result)
{
    struct live b;
    struct error error;
    if (is_inside || !take_block(address, &b))
        return false;
    is_inside = true;
    *result = stream ? driver->cuStreamSynchronize(stream) : wait_for(driver, b.device, true);
    if (*result)
        add(&b); /* as with the driver, the block is the program's still */
    else
        *result =
            result_of(server_free(cuda_server_of(b.device), address, any_stream, &error), &error);
    is_inside = false;
    return true;
}

static bool free_in_order(const struct preload_driver *driver, CUdeviceptr address, CUstream stream,
                          CUresult *result)
{
    struct live b;
    struct error error;
    if (stream == CU_STREAM_PER_THREAD) /* a mark in it has a meaning for this thread alone */
        return free_waiting(driver, address, stream, result);
    if (is_inside || !copy_block(address, &b) || b.address != address)
        return false;
    /* A graph frees only what a graph has allocated. */
    if (is_captured(driver, stream)) {
        *result = CUDA_ERROR_INVALID_VALUE;
        return true;
    }
    if (!take_block(address, &b))
        return false;
    is_inside = true;
    *result = result_of(
        server_free(cuda_server_of(b.device), address, (uint64_t)(uintptr_t)stream, &error),
        &error);
    is_inside = false;
    return true;
}

/* ---- the names: memory that is served ---- */

/* The driver has the function, or there is no answer. */
#define DRIVER_OR_RETURN(symbol)                                                                   \
    const struct preload_driver *driver = preload_driver();                                        \
    if (!driver || !driver->symbol)                                                                \
    return driver ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NOT_INITIALIZED

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    CUresult result;
    DRIVER_OR_RETURN(cuMemAlloc_v2);
    return ask(driver, any_stream, bytes, address, &result) ? result
                                                            : driver->cuMemAlloc_v2(address, bytes);
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    CUresult result;
    DRIVER_OR_RETURN(cuMemFree_v2);
    return free_waiting(driver, address, NULL, &result) ? result : driver->cuMemFree_v2(address);
}

#define ALLOC_ASYNC(symbol, per_thread)                                                            \
    CUresult symbol(CUdeviceptr *address, size_t bytes, CUstream stream)                           \
    {                                                                                              \
        CUresult result;                                                                           \
        DRIVER_OR_RETURN(symbol);                                                                  \
        return ask_in_order(driver, stream_of(stream, per_thread), bytes, address, &result)        \
                   ? result                                                                        \
                   : driver->symbol(address, bytes, stream);                                       \
    }
#define FREE_ASYNC(symbol, per_thread)                                                             \
    CUresult symbol(CUdeviceptr address, CUstream stream)                                          \
    {                                                                                              \
        CUresult result;                                                                           \
        DRIVER_OR_RETURN(symbol);                                                                  \
        return free_in_order(driver, address, stream_of(stream, per_thread), &result)              \
                   ? result                                                                        \
                   : driver->symbol(address, stream);                                              \
    }
ALLOC_ASYNC(cuMemAllocAsync, false)
ALLOC_ASYNC(cuMemAllocAsync_ptsz, true)
FREE_ASYNC(cuMemFreeAsync, false)
FREE_ASYNC(cuMemFreeAsync_ptsz, true)

/* ---- memory that is the driver's: it may need what a strategy has spare ---- */

static bool trims(CUresult result)
{
    struct error error;
    const struct preload_driver *driver = preload_driver();
    if (result != CUDA_ERROR_OUT_OF_MEMORY || is_inside)
        return false;
    is_inside = true;
    const int device = device_of_thread(driver);
    struct server *server =
        device < 0 || atomic_load(&is_reset[device]) ? NULL : cuda_server_at((unsigned)device);
    const bool is = server && server_trim(server, &error) == 0;
    is_inside = false;
    return is;
}

#define PASSED(why, symbol, parameters, ...)                                                       \
    CUresult symbol parameters                                                                     \
    {                                                                                              \
        DRIVER_OR_RETURN(symbol);                                                                  \
        if (!is_inside)                                                                            \
            leave_to_driver(PASSED_##why);                                                         \
        const CUresult result = driver->symbol(__VA_ARGS__);                                       \
        return trims(result) ? driver->symbol(__VA_ARGS__) : result;                               \
    }

PASSED(pitch, cuMemAllocPitch_v2,
       (CUdeviceptr * address, size_t *pitch, size_t width, size_t height, unsigned element),
       address, pitch, width, height, element)
PASSED(managed, cuMemAllocManaged, (CUdeviceptr * address, size_t bytes, unsigned flags), address,
       bytes, flags)
PASSED(from_pool, cuMemAllocFromPoolAsync,
       (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream), address, bytes,
       pool, stream)
PASSED(from_pool, cuMemAllocFromPoolAsync_ptsz,
       (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream), address, bytes,
       pool, stream)
PASSED(create, cuMemCreate,
       (CUmemGenericAllocationHandle * handle, size_t bytes, const CUmemAllocationProp *properties,
        unsigned long long flags),
       handle, bytes, properties, flags)

/* ---- what shows the memory that a block lies in ---- */

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    struct live b;
    DRIVER_OR_RETURN(cuMemGetAddressRange_v2);
    if (!copy_block(address, &b))
        return driver->cuMemGetAddressRange_v2(base, bytes, address);
    if (base)
        *base = b.address;
    if (bytes)
        *bytes = b.bytes;
    return CUDA_SUCCESS;
}

/* Answers for the block itself; false: the driver's answer holds. */
static bool put_attribute(const struct live *b, CUpointer_attribute which, void *data)
{
    if (which == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
        *(CUdeviceptr *)data = b->address;
    else if (which == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
        *(size_t *)data = b->bytes;
    else
        return false;
    return true;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr address)
{
    struct live b;
    DRIVER_OR_RETURN(cuPointerGetAttribute);
    return data && copy_block(address, &b) && put_attribute(&b, which, data)
               ? CUDA_SUCCESS
               : driver->cuPointerGetAttribute(data, which, address);
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *which, void **data,
                                CUdeviceptr address)
{
    struct live b;
    DRIVER_OR_RETURN(cuPointerGetAttributes);
    const CUresult result = driver->cuPointerGetAttributes(count, which, data, address);
    if (!result && copy_block(address, &b))
        for (unsigned i = 0; i < count; i++)
            put_attribute(&b, which[i], data[i]);
    return result;
}

/* The handle would be that of the memory around the block, and the other process would not know
 * where in it the block is. */
static bool refuses_handle(const char *function, CUdeviceptr address)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    struct live b;
    if (!copy_block(address, &b))
        return false;
    leave_to_driver(PASSED_exported);
    if (!atomic_flag_test_and_set(&said))
        fprintf(stderr,
                "gamut: %s is refused: a served block is a part of a memory, which has no handle "
                "of its own\n",
                function);
    return true;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    DRIVER_OR_RETURN(cuIpcGetMemHandle);
    return refuses_handle("cuIpcGetMemHandle", address)
               ? CUDA_ERROR_NOT_SUPPORTED
               : driver->cuIpcGetMemHandle(handle, address);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    DRIVER_OR_RETURN(cuMemRetainAllocationHandle);
    return refuses_handle("cuMemRetainAllocationHandle", (CUdeviceptr)(uintptr_t)address)
               ? CUDA_ERROR_NOT_SUPPORTED
               : driver->cuMemRetainAllocationHandle(handle, address);
}

/* ---- what served memory lacks ---- */

static void say_own_pool(const char *function)
{
    if (!atomic_exchange(&has_own_pool, true))
        fprintf(stderr,
                "gamut: the program calls %s: the driver has all requests of cuMemAllocAsync from "
                "here on\n",
                function);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    DRIVER_OR_RETURN(cuDeviceSetMemPool);
    say_own_pool("cuDeviceSetMemPool");
    return driver->cuDeviceSetMemPool(device, pool);
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    DRIVER_OR_RETURN(cuMemPoolSetAccess);
    if (is_inside)
        return driver->cuMemPoolSetAccess(pool, access, count);
    say_own_pool("cuMemPoolSetAccess");
    pthread_mutex_lock(&lock);
    const bool lacks = async_count > 0;
    pthread_mutex_unlock(&lock);
    return lacks ? CUDA_ERROR_NOT_SUPPORTED : driver->cuMemPoolSetAccess(pool, access, count);
}

/* Peer access works for memory of cuMemAlloc, not for mapped memory or memory of a pool. */
static bool has_mapped(void)
{
    bool has = false;
    for (unsigned i = 0; i < CUDA_SERVERS_MOST; i++) {
        struct server *server = cuda_server_at(i);
        struct serve_state state;
        if (!server)
            continue;
        server_state(server, false, &state);
        has |= state.live_count &&
               (state.driver.map_count || process_settings()->options.strategy->opens_pool);
    }
    return has;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    DRIVER_OR_RETURN(cuCtxEnablePeerAccess);
    if (is_inside)
        return driver->cuCtxEnablePeerAccess(peer, flags);
    preload_refuse("the program calls cuCtxEnablePeerAccess, and served memory may be out of "
                   "another device's reach");
    is_inside = true;
    const bool lacks = has_mapped();
    is_inside = false;
    return lacks ? CUDA_ERROR_NOT_SUPPORTED : driver->cuCtxEnablePeerAccess(peer, flags);
}

/* The device's memory is gone, and its server with it. */
static void end_device(CUdevice device)
{
    if (device < 0 || device >= CUDA_SERVERS_MOST || !cuda_server_at((unsigned)device) ||
        atomic_exchange(&is_reset[device], true))
        return;
    fprintf(stderr, "gamut: device %d is reset: the driver has all its requests from here on\n",
            device);
    pthread_mutex_lock(&lock);
    for (struct treap_node *node = treap_first(&blocks), *next; node; node = next) {
        next = treap_after(&blocks, node);
        if (((struct live *)node)->device == device)
            forget((struct live *)node);
    }
    pthread_mutex_unlock(&lock);
}

#define RESET(symbol)                                                                              \
    CUresult symbol(CUdevice device)                                                               \
    {                                                                                              \
        DRIVER_OR_RETURN(symbol);                                                                  \
        end_device(device);                                                                        \
        return driver->symbol(device);                                                             \
    }
RESET(cuDevicePrimaryCtxReset)
RESET(cuDevicePrimaryCtxReset_v2)

/* ---- names ---- */

CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
    DRIVER_OR_RETURN(cuGetProcAddress);
    const CUresult result = driver->cuGetProcAddress(name, function, version, flags);
    if (!result && function && !is_inside)
        *function = preload_answer_of(name, *function, version, flags);
    return result;
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    DRIVER_OR_RETURN(cuGetProcAddress_v2);
    const CUresult result = driver->cuGetProcAddress_v2(name, function, version, flags, found);
    if (!result && function && !is_inside)
        *function = preload_answer_of(name, *function, version, flags);
    return result;
}
