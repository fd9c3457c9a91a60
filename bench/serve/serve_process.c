#include "serve/serve_process.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/tree.h"
#include "serve/serve_record.h"

/* As in bench/cli/flags.h. */
enum { EXIT_SETTINGS = 2, EXIT_UNSERVED = 77 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows, while it changes */
static _Atomic bool has_begun;
static struct serve_settings settings;
static pid_t process; /* that began: one that forks off it serves nothing */
static uint64_t began_realtime_us;
static struct served_device *devices;
static unsigned count, capacity;
static void (*add_members)(json_t *statistics);

_Noreturn void process_die(const struct error *error)
{
    fprintf(stderr, "gamut: serving: %s\n", error->text);
    switch (error->code) {
    case ERR_USAGE:
    case ERR_PARSE:
    case ERR_IO:
        _exit(EXIT_SETTINGS);
    case ERR_UNSUPPORTED:
        _exit(EXIT_UNSERVED);
    default:
        abort();
    }
}

static void write_statistics(const char *path)
{
    char *text = process_statistics();
    FILE *out = strcmp(path, "-") == 0 ? stderr : fopen(path, "w");
    if (!out)
        fprintf(stderr, "gamut: %s: %s\n", path, strerror(errno));
    else
        fprintf(out, "%s\n", text);
    if (out && out != stderr && fclose(out) != 0)
        fprintf(stderr, "gamut: %s could not be written: %s\n", path, strerror(errno));
    free(text);
}

static void at_end(void)
{
    struct error error;
    if (getpid() != process)
        return;
    serve_record_end();
    if (*settings.statistics)
        write_statistics(settings.statistics);
    if (*settings.result && process_write_result(settings.result, &error))
        fprintf(stderr, "gamut: %s\n", error.text);
}

static uint64_t realtime_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int process_begin(const char *strategy, enum serving_api api, struct error *error)
{
    if (atomic_load_explicit(&has_begun, memory_order_acquire))
        return strategy ? error_set(error, ERR_USAGE,
                                    "gamut serves already, under %s: one strategy serves a process",
                                    settings.strategy)
                        : 0;
    pthread_mutex_lock(&lock);
    int code = 0;
    if (!atomic_load(&has_begun)) {
        code = serve_settings_read(strategy, api, &settings, error);
        if (!code && *settings.record)
            serve_record_open(settings.record, api == SERVING_CUDA ? "CUDA" : "OpenCL");
        process = getpid();
        began_realtime_us = realtime_us();
        if (!code)
            atexit(at_end);
        atomic_store_explicit(&has_begun, code == 0, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

const struct serve_settings *process_settings(void)
{
    return &settings;
}

void process_add(const struct served_device *served)
{
    pthread_mutex_lock(&lock);
    devices = must_grow(devices, count, &capacity, sizeof *devices);
    devices[count++] = *served;
    pthread_mutex_unlock(&lock);
}

void process_adds(void (*add)(json_t *statistics))
{
    add_members = add;
}

char *process_statistics(void)
{
    pthread_mutex_lock(&lock);
    json_t *json = serve_statistics(&settings, devices, count, true);
    pthread_mutex_unlock(&lock);
    tree_put(json, "process", tree_count((uint64_t)process));
    tree_put(json, "began_realtime_us", tree_count(began_realtime_us));
    if (add_members)
        add_members(json);
    char *text = json_dumps(json, JSON_INDENT(1));
    json_decref(json);
    return text;
}

int process_write_result(const char *path, struct error *error)
{
    pthread_mutex_lock(&lock);
    const int code = serve_write_result(&settings, devices, count, path, error);
    pthread_mutex_unlock(&lock);
    return code;
}
