#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "inside/gamut_alloc.h"
#include "inside/serve_process.h"
#include "inside/server.h"

static const char no_tag[] = "";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the recording's phases */
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

/* ---- begin and end ---- */

const char *gamut_begin(const char *strategy)
{
    struct error error;
    return process_begin(strategy, SERVING_CUDA, &error) ? keep_error(&error) : NULL;
}

/* ---- any caller ---- */

void *gamut_alloc_or_null(ssize_t size, int device, void *stream)
{
    uint64_t address = 0;
    struct error error;
    if (size <= 0)
        return NULL;
    const int code = server_alloc(cuda_server_of(device), (uint64_t)size,
                                  (uint64_t)(uintptr_t)stream, no_tag, &address, &error);
    if (code == ERR_OOM)
        keep_error(&error);
    else if (code)
        process_die(&error);
    return (void *)(uintptr_t)address;
}

static void free_on(void *ptr, int device, uint64_t queue)
{
    struct error error;
    const int code =
        ptr && !cuda_server_is_parents()
            ? server_free(cuda_server_of(device), (uint64_t)(uintptr_t)ptr, queue, &error)
            : 0;
    if (code && code != ERR_DEVICE_LOST) /* lost: the process ends, or its next call says so */
        process_die(&error);
}

void gamut_free(void *ptr, ssize_t size, int device, void *stream)
{
    free_on(ptr, device, (uint64_t)(uintptr_t)stream);
}

/* Calls a function of each server. */
static void for_all(int (*call)(struct server *server, struct error *error))
{
    for (unsigned i = 0; i < CUDA_SERVERS_MOST; i++) {
        struct server *server = cuda_server_at(i);
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
    for (unsigned i = 0; i < CUDA_SERVERS_MOST; i++) {
        struct server *server = cuda_server_at(i);
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

/* ---- CuPy ---- */

void *gamut_alloc_on_current(void *current, size_t size, int device)
{
    intptr_t (*stream)(void);
    memcpy(&stream, &current, sizeof stream);
    return gamut_alloc_or_null((ssize_t)size, device, (void *)stream());
}

void gamut_free_on_own(void *current, void *ptr, int device)
{
    free_on(ptr, device, SERVE_OWN_QUEUE);
}

/* ---- PyTorch ---- */

/* The C++ library that the process has throws: C has no exceptions, and unwinds through its
 * frames. */
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
    for (unsigned i = 0; ptr && i < CUDA_SERVERS_MOST; i++) {
        struct server *server = cuda_server_at(i);
        struct error error;
        if (server &&
            !server_use(server, (uint64_t)(uintptr_t)ptr, (uint64_t)(uintptr_t)stream, &error))
            return;
    }
}

void gamut_init(int device_count)
{
    struct error error;
    if (process_begin(NULL, SERVING_CUDA, &error))
        process_die(&error);
}

void gamut_memory_fraction(double fraction, int device)
{
    server_limit(cuda_server_of(device),
                 (uint64_t)(fraction * (double)cuda_server_memory_bytes(device)));
}

void *gamut_base(void *ptr, size_t *size)
{
    for (unsigned i = 0; i < CUDA_SERVERS_MOST; i++) {
        struct server *server = cuda_server_at(i);
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
    server_enter_pool(cuda_server_of(device), pool_of(pool));
}

void gamut_end_pool(int device, struct gamut_pool pool)
{
    server_leave_pool(cuda_server_of(device), pool_of(pool));
}

void gamut_release_pool(int device, struct gamut_pool pool)
{
    struct error error;
    if (server_release_pool(cuda_server_of(device), pool_of(pool), &error))
        process_die(&error);
}
