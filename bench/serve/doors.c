#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_guest.h"
#include "run/execute/device_source.h"
#include "serve/gamut_alloc.h"
#include "serve/process.h"
#include "serve/record.h"

enum {
    DEVICES_MOST = 64,
    /* What cudaMalloc gives in practice, PyTorch's own blocks have, and a replay without a device takes. */
    ALIGNMENT_BYTES = 512,
    PER_THREAD_STREAM = 2, /* CU_STREAM_PER_THREAD */
};

static const char no_tag[] = "";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows, while it changes */
static struct device *devices[DEVICES_MOST];
static _Atomic(struct server *) servers[DEVICES_MOST];

static _Thread_local char last_error[1000];

static const char *keep_error(const struct error *error)
{
    snprintf(last_error, sizeof last_error, "%.999s", error->text);
    return last_error;
}

const char *gamut_last_error(void)
{
    return last_error;
}

/* ---- the driver, as a server sees it ---- */

static void leave_guest(void *device)
{
    cuda_guest_leave(device);
}

static void name_queue(void *device, unsigned number, uint64_t queue)
{
    cuda_guest_stream(device, number, queue);
}

static int mark_queue(void *device, uint64_t queue, uint64_t *mark, struct error *error)
{
    return cuda_guest_mark(device, queue, mark, error);
}

static int passed_mark(void *device, uint64_t mark, struct error *error)
{
    return cuda_guest_passed(device, mark, error);
}

static void unmark(void *device, uint64_t mark)
{
    cuda_guest_unmark(device, mark);
}

static int capture_of(void *device, uint64_t queue, uint64_t *capture, struct error *error)
{
    return cuda_guest_capture(device, queue, capture, error);
}

static int capturing(void *device, bool is, struct error *error)
{
    return cuda_guest_capturing(device, is, error);
}

static bool of_thread(void *device, uint64_t queue)
{
    (void)device;
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
                       uint64_t bytes, struct error *error)
{
    struct device *d = device;
    cuda_guest_commands_go_to(d, queue);
    return d->ops->read(d, host, memory, offset, bytes, error);
}

static struct serve_driver driver_of(struct device *device)
{
    const struct device_info *info = device_info(device);
    struct serve_driver driver = {.context = device,
                                  .id = info->id,
                                  .name = info->name,
                                  .memory_bytes = info->memory_bytes,
                                  .source = device_source(device, 0),
                                  .alignment = ALIGNMENT_BYTES,
                                  .name_queue = name_queue,
                                  .mark = mark_queue,
                                  .passed = passed_mark,
                                  .unmark = unmark,
                                  .capture = capture_of,
                                  .capturing = capturing,
                                  .of_thread = of_thread,
                                  .fill = fill_memory,
                                  .read = read_memory,
                                  .leave = leave_guest};
    driver.source.alignment = ALIGNMENT_BYTES;
    driver.source.heaps = NULL; /* kernels of gamut's own do not run in an application */
    return driver;
}

/* ---- begin and end ---- */

const char *gamut_begin(const char *strategy)
{
    struct error error;
    return process_begin(strategy, "CUDA", &error) ? keep_error(&error) : NULL;
}

static int open_server(int number, struct server **server, struct error *error)
{
    TRY(process_begin(NULL, "CUDA", error));
    if (number < 0 || number >= DEVICES_MOST)
        return error_set(error, ERR_NOT_FOUND, "there is no CUDA device %d", number);
    pthread_mutex_lock(&lock);
    int code = 0;
    *server = atomic_load(&servers[number]);
    if (!*server) {
        struct serve_options options = process_settings()->options;
        options.device = (unsigned)number;
        code = devices[number] ? 0 : cuda_guest_open((unsigned)number, &devices[number], error);
        if (!code) {
            const struct serve_driver driver = driver_of(devices[number]);
            code = server_open(&driver, &options, server, error);
        }
        if (!code) {
            const struct served_device served = {(unsigned)number, *server,
                                                 device_info(devices[number]), "done"};
            process_add(&served);
            atomic_store_explicit(&servers[number], *server, memory_order_release);
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

/* The server of a device. Without one the application has no memory at all: the process ends. */
static struct server *server_of(int number)
{
    struct server *server = number >= 0 && number < DEVICES_MOST
                                ? atomic_load_explicit(&servers[number], memory_order_acquire)
                                : NULL;
    struct error error;
    if (!server && open_server(number, &server, &error))
        process_die(&error);
    return server;
}

/* ---- any caller ---- */

void *gamut_alloc_or_null(ssize_t size, int device, void *stream)
{
    uint64_t address = 0;
    struct error error;
    if (size <= 0)
        return NULL;
    const int code = server_alloc(server_of(device), (uint64_t)size, (uint64_t)(uintptr_t)stream,
                                  no_tag, &address, &error);
    if (code == ERR_OOM)
        keep_error(&error);
    else if (code)
        process_die(&error);
    return (void *)(uintptr_t)address;
}

void gamut_free(void *ptr, ssize_t size, int device, void *stream)
{
    struct error error;
    (void)size;
    const int code = ptr ? server_free(server_of(device), (uint64_t)(uintptr_t)ptr,
                                       (uint64_t)(uintptr_t)stream, &error)
                         : 0;
    if (code && code != ERR_DEVICE_LOST) /* lost: the process ends, or its next call says so */
        process_die(&error);
}

/* Calls a function of each server. */
static void for_all(int (*call)(struct server *server, struct error *error))
{
    for (unsigned i = 0; i < DEVICES_MOST; i++) {
        struct server *server = atomic_load_explicit(&servers[i], memory_order_acquire);
        struct error error;
        if (server && call(server, &error))
            process_die(&error);
    }
}

void gamut_trim(void)
{
    for_all(server_trim);
}

void gamut_mark(const char *name)
{
    pthread_mutex_lock(&lock);
    serve_record_mark(name);
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < DEVICES_MOST; i++) {
        struct server *server = atomic_load_explicit(&servers[i], memory_order_acquire);
        if (server)
            server_mark(server, name);
    }
}

char *gamut_statistics(void)
{
    return process_statistics();
}

const char *gamut_write_result(const char *path)
{
    struct error error;
    return process_write_result(path, &error) ? keep_error(&error) : NULL;
}

/* ---- PyTorch ---- */

/* The C++ library that the process has throws: C has no exceptions, and unwinds through its frames. */
static void throw_out_of_memory(void)
{
    char text[2000];
    void (*throw_error)(const char *) = NULL;
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD);
    if (library)
        *(void **)&throw_error = dlsym(library, "_ZSt21__throw_runtime_errorPKc");
    snprintf(text, sizeof text, "CUDA out of memory. gamut, serving under %s: %s",
             process_settings()->strategy, last_error);
    if (throw_error)
        throw_error(text);
}

void *gamut_alloc(ssize_t size, int device, void *stream)
{
    void *ptr = gamut_alloc_or_null(size, device, stream);
    if (!ptr && size > 0)
        throw_out_of_memory();
    return ptr;
}

void gamut_record_stream(void *ptr, void *stream)
{
    for (unsigned i = 0; ptr && i < DEVICES_MOST; i++) {
        struct server *server = atomic_load_explicit(&servers[i], memory_order_acquire);
        struct error error;
        if (server &&
            !server_use(server, (uint64_t)(uintptr_t)ptr, (uint64_t)(uintptr_t)stream, &error))
            return;
    }
}

void gamut_init(int device_count)
{
    struct error error;
    (void)device_count;
    if (process_begin(NULL, "CUDA", &error))
        process_die(&error);
}

void gamut_memory_fraction(double fraction, int device)
{
    server_limit(server_of(device),
                 (uint64_t)(fraction * (double)device_info(devices[device])->memory_bytes));
}

void *gamut_base(void *ptr, size_t *size)
{
    for (unsigned i = 0; i < DEVICES_MOST; i++) {
        struct server *server = atomic_load_explicit(&servers[i], memory_order_acquire);
        uint64_t base, bytes;
        if (!server || server_base(server, (uint64_t)(uintptr_t)ptr, &base, &bytes))
            continue;
        if (size)
            *size = bytes;
        return (void *)(uintptr_t)base;
    }
    return ptr;
}

static struct serve_pool pool_of(struct gamut_pool pool)
{
    return (struct serve_pool){pool.first, pool.second};
}

void gamut_begin_pool(int device, struct gamut_pool pool, void *filter)
{
    (void)filter;
    server_enter_pool(server_of(device), pool_of(pool));
}

void gamut_end_pool(int device, struct gamut_pool pool)
{
    server_leave_pool(server_of(device), pool_of(pool));
}

void gamut_release_pool(int device, struct gamut_pool pool)
{
    struct error error;
    if (server_release_pool(server_of(device), pool_of(pool), &error))
        process_die(&error);
}

/* ---- CuPy ---- */

intptr_t gamut_cupy_alloc(void *param, size_t size, int device)
{
    (void)param;
    return (intptr_t)gamut_alloc_or_null((ssize_t)size, device, NULL);
}

void gamut_cupy_free(void *param, intptr_t ptr, int device)
{
    (void)param;
    gamut_free((void *)ptr, 0, device, NULL);
}
