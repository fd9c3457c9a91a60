#include "inside/server.h"

#include <pthread.h>
#include <stdatomic.h>

#include "device/cuda_guest.h"
#include "run/execute/device_source.h"
#include "inside/serve_process.h"

enum {
    /* As cudaMalloc and PyTorch align in practice, and as a replay without a device does. */
    ALIGNMENT_BYTES = 512,
    PER_THREAD_STREAM = 2, /* CU_STREAM_PER_THREAD */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows, while it changes */
static struct device *devices[CUDA_SERVERS_MOST];
static _Atomic(struct server *) servers[CUDA_SERVERS_MOST];
static bool is_forked; /* off the process that was served */

/* ---- the driver, as a server sees it ---- */

static bool of_thread(void *device, uint64_t queue)
{
    return queue == PER_THREAD_STREAM;
}

static int fill_memory(void *device, uint64_t queue, uint64_t memory, uint64_t offset, uint8_t byte,
                       uint64_t bytes, struct error *error)
{
    struct device *d = device;
    cuda_guest_commands_go_to(d, queue);
    return d->ops->fill(d, memory, offset, byte, bytes, error);
}

static int read_memory(void *device, uint64_t queue, uint64_t memory, uint64_t offset, void *host,
                       uint64_t bytes, uint64_t *mark, struct error *error)
{
    struct device *d = device;
    *mark = 0; /* the call has waited: CUDA's callbacks call nothing */
    cuda_guest_commands_go_to(d, queue);
    return d->ops->read(d, host, memory, offset, bytes, error);
}

/* Strategies that prefer low memory have the order of a framework that asks the same driver. */
static uint64_t address_of(void *device, uint64_t memory)
{
    return memory;
}

/* `placed`: the source's functions with that of addresses; the server reads it to its end. */
static struct serve_driver driver_of(struct device *device, struct source_ops *placed)
{
    const struct device_info *info = device->info;
    struct serve_driver driver = {.context = device,
                                  .id = info->id,
                                  .name = info->name,
                                  .memory_bytes = info->memory_bytes,
                                  .source = device_source(device, 0),
                                  .alignment = ALIGNMENT_BYTES,
                                  .name_queue = cuda_guest_stream,
                                  .mark = cuda_guest_mark,
                                  .passed = cuda_guest_passed,
                                  .unmark = cuda_guest_unmark,
                                  .capture = cuda_guest_capture,
                                  .capturing = cuda_guest_capturing,
                                  .of_thread = of_thread,
                                  .fill = fill_memory,
                                  .read = read_memory,
                                  .leave = cuda_guest_leave};
    *placed = *driver.source.ops;
    placed->address = address_of;
    driver.source.ops = placed;
    driver.source.alignment = ALIGNMENT_BYTES;
    return driver;
}

/* ---- servers ---- */

static void after_fork(void)
{
    is_forked = true;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork);
}

static int open_server(int number, struct server **server, struct error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static struct source_ops placed[CUDA_SERVERS_MOST];
    if (is_forked)
        return error_set(error, ERR_DEVICE,
                         "a process that was forked from a served one has no memory of the "
                         "device: start it anew (spawn)");
    TRY(process_begin(NULL, SERVING_CUDA, error));
    pthread_once(&once, watch_forks);
    if (number < 0 || number >= CUDA_SERVERS_MOST)
        return error_set(error, ERR_NOT_FOUND, "there is no CUDA device %d", number);
    pthread_mutex_lock(&lock);
    int code = 0;
    *server = atomic_load(&servers[number]);
    if (!*server) {
        struct serve_options options = process_settings()->options;
        options.device = (unsigned)number;
        code = devices[number] ? 0 : cuda_guest_open((unsigned)number, &devices[number], error);
        if (!code) {
            const struct serve_driver driver = driver_of(devices[number], &placed[number]);
            code = server_open(&driver, &options, server, error);
        }
        if (!code) {
            const struct served_device served = {(unsigned)number, *server, devices[number]->info,
                                                 "done"};
            process_add(&served);
            atomic_store_explicit(&servers[number], *server, memory_order_release);
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

struct server *cuda_server_at(unsigned number)
{
    return number < CUDA_SERVERS_MOST && !is_forked
               ? atomic_load_explicit(&servers[number], memory_order_acquire)
               : NULL;
}

bool cuda_server_is_parents(void)
{
    return is_forked;
}

struct server *cuda_server_of(int number)
{
    struct server *server = number < 0 ? NULL : cuda_server_at((unsigned)number);
    struct error error;
    if (!server && open_server(number, &server, &error))
        process_die(&error);
    return server;
}

uint64_t cuda_server_memory_bytes(int number)
{
    return devices[number]->info->memory_bytes;
}
