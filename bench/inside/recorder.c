#include "inside/recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if defined __x86_64__
#include <cpuid.h>
#endif

_Static_assert(sizeof(struct raw_head) <= RAW_HEAD_BYTES, "the head has its pages");

static struct {
    pthread_mutex_t lock; /* of beginning, and of the list of unused threads */
    _Atomic int state;    /* enum state */
    int file;
    struct raw_head *head;
    _Atomic uint64_t end; /* of the file; the next chunk goes there */
    _Atomic uint32_t threads;
    struct recorder_thread *unused; /* of threads that ended; their chunks are used again */
    pthread_key_t key;              /* its destructor notices that a thread ends */
    bool has_key;
    char folder[3000], api[16], via[16];
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

enum state { OFF, WAITING /* for the first record of this process */, ON };

_Thread_local struct recorder_thread *recorder_self;
bool recorder_even_ticks;

/* ---- clocks ---- */

static uint64_t clock_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether the processor's counter has one frequency, and the same count on all cores. */
static bool counter_is_even(void)
{
#if defined __x86_64__
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#else
    return false;
#endif
}

uint64_t recorder_clock(void)
{
    return clock_now(CLOCK_MONOTONIC);
}

static struct raw_moment moment_now(void)
{
    return (struct raw_moment){recorder_ticks(), clock_now(CLOCK_MONOTONIC)};
}

/* ---- the file ---- */

/* Nothing more can be written: the application goes on without. */
static void stop(const char *what)
{
    if (atomic_exchange(&recorder.state, OFF) == ON)
        fprintf(stderr, "gamut: the recording of process %ld ends here: %s: %s\n", (long)getpid(),
                what, strerror(errno));
}

static void read_command_line(char *text, size_t size)
{
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t n = file < 0 ? 0 : read(file, text, size - 1);
    for (ssize_t i = 0; i + 1 < n; i++)
        if (text[i] == 0)
            text[i] = ' ';
    text[n > 0 ? n : 0] = 0;
    if (file >= 0)
        close(file);
}

/* Makes the file of this process: FOLDER/PROGRAM-PROCESS.raw. */
static int make_file(void)
{
    char path[4000];
    for (unsigned i = 1; i < 100; i++) {
        const char *name = program_invocation_short_name;
        snprintf(path, sizeof path, i == 1 ? "%s/%s-%ld.raw" : "%s/%s-%ld_%02u.raw",
                 recorder.folder, name && *name ? name : "process", (long)getpid(), i);
        const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

static bool make_head(void)
{
    if (posix_fallocate(recorder.file, 0, RAW_HEAD_BYTES) != 0)
        return false;
    struct raw_head *head =
        mmap(NULL, RAW_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, recorder.file, 0);
    if (head == MAP_FAILED)
        return false;
    head->anonymous = recorder_wants("anonymous");
    head->timed = recorder_wants("times");
    if (!head->anonymous)
        read_command_line(head->application, sizeof head->application);
    memcpy(head->api, recorder.api, sizeof head->api);
    memcpy(head->via, recorder.via, sizeof head->via);
    head->process = (uint64_t)getpid();
    head->parent = (uint64_t)getppid();
    head->version = RAW_VERSION;
    head->chunk_bytes = RAW_CHUNK_BYTES;
    head->began_realtime_ns = clock_now(CLOCK_REALTIME);
    head->began = head->latest = moment_now();
    atomic_thread_fence(memory_order_release);
    memcpy(head->magic, RAW_MAGIC, sizeof head->magic);
    recorder.head = head;
    return true;
}

/* The first record of this process begins its file. */
static bool begin_file(void)
{
    pthread_mutex_lock(&recorder.lock);
    if (atomic_load(&recorder.state) == WAITING) {
        atomic_store(&recorder.end, RAW_HEAD_BYTES);
        atomic_store(&recorder.threads, 0);
        recorder.file = make_file();
        const bool made = recorder.file >= 0 && make_head();
        atomic_store(&recorder.state, ON);
        if (!made)
            stop(recorder.folder);
    }
    pthread_mutex_unlock(&recorder.lock);
    return atomic_load(&recorder.state) == ON;
}

/* ---- chunks ---- */

static void begin_chunk(struct recorder_thread *t, uint64_t sequence)
{
    /* Emptied first: between the two the file has this chunk twice, and never a chunk less. */
    __atomic_store_n(&t->chunk->used, 0, __ATOMIC_RELEASE);
    t->chunk->moment = moment_now();
    __atomic_store_n(&t->chunk->sequence, sequence, __ATOMIC_RELEASE);
    t->used = 0;
}

static struct recorder_thread *make_thread(void)
{
    const uint64_t offset = atomic_fetch_add(&recorder.end, RAW_CHUNK_BYTES);
    /* A mapped page without a place on the disk would end the application with SIGBUS. */
    errno = posix_fallocate(recorder.file, (off_t)offset, RAW_CHUNK_BYTES);
    if (errno) {
        stop("a thread's chunk");
        return NULL;
    }
    struct recorder_thread *t = calloc(1, sizeof *t);
    struct raw_chunk *chunk = mmap(NULL, RAW_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                                   recorder.file, (off_t)offset);
    if (!t || chunk == MAP_FAILED) {
        free(t);
        stop("a thread's chunk");
        return NULL;
    }
    t->chunk = chunk;
    chunk->thread = atomic_fetch_add(&recorder.threads, 1);
    begin_chunk(t, 0);
    __atomic_store_n(&chunk->magic, RAW_CHUNK_MAGIC, __ATOMIC_RELEASE);
    return t;
}

/* The chunk of the calling thread; NULL: nothing is recorded. */
static struct recorder_thread *attach(void)
{
    const int state = atomic_load(&recorder.state);
    if (state == OFF || (state == WAITING && !begin_file()))
        return NULL;
    pthread_mutex_lock(&recorder.lock);
    struct recorder_thread *t = recorder.unused;
    if (t)
        recorder.unused = t->next;
    pthread_mutex_unlock(&recorder.lock);
    if (!t)
        t = make_thread();
    if (t && recorder.has_key)
        pthread_setspecific(recorder.key, t);
    return recorder_self = t;
}

/* A thread ends: the next new one goes on with its chunk, under its number. */
static void detach(void *context)
{
    struct recorder_thread *t = context;
    pthread_mutex_lock(&recorder.lock);
    recorder_self = NULL;
    t->next = recorder.unused;
    recorder.unused = t;
    pthread_mutex_unlock(&recorder.lock);
}

static bool write_all(const void *data, size_t length, uint64_t offset)
{
    const char *bytes = data;
    while (length) {
        const ssize_t n = pwrite(recorder.file, bytes, length, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        length -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

/* Copies a full chunk to the end of the file, and empties it. */
static bool flush(struct recorder_thread *t)
{
    const uint64_t offset = atomic_fetch_add(&recorder.end, RAW_CHUNK_BYTES);
    if (!write_all(t->chunk, RAW_CHUNK_BYTES, offset)) {
        stop("a full chunk");
        return false;
    }
    begin_chunk(t, t->chunk->sequence + 1);
    recorder.head->latest = t->chunk->moment;
    return true;
}

/* ---- beginning and forking ---- */

static void after_fork(void)
{
    /* The mapping is that of the parent's file. Its other threads are not here. */
    free(recorder_self);
    recorder_self = NULL;
    if (recorder.has_key)
        pthread_setspecific(recorder.key, NULL);
    recorder.unused = NULL;
    recorder.head = NULL;
    if (recorder.file >= 0)
        close(recorder.file);
    recorder.file = -1;
    pthread_mutex_init(&recorder.lock, NULL);
    if (atomic_load(&recorder.state) == ON)
        atomic_store(&recorder.state, WAITING);
}

__attribute__((destructor)) static void end_of_process(void)
{
    if (recorder.head) {
        recorder.head->latest = moment_now();
        recorder.head->ended = 1;
    }
}

bool recorder_wants(const char *option)
{
    const char *options = getenv("GAMUT_RECORD_OPTIONS");
    const size_t length = strlen(option);
    for (const char *at = options; at && (at = strstr(at, option)); at += length)
        if ((at == options || at[-1] == ',') && (at[length] == 0 || at[length] == ','))
            return true;
    return false;
}

bool recorder_open(const char *api, const char *via)
{
    return recorder_open_in(getenv("GAMUT_RECORD"), api, via);
}

bool recorder_open_in(const char *folder, const char *api, const char *via)
{
    if (!folder || !*folder || strlen(folder) >= sizeof recorder.folder)
        return false;
    pthread_mutex_lock(&recorder.lock);
    if (!*recorder.folder) {
        strcpy(recorder.folder, folder);
        snprintf(recorder.api, sizeof recorder.api, "%s", api);
        recorder_even_ticks = counter_is_even();
        recorder.has_key = pthread_key_create(&recorder.key, detach) == 0;
        pthread_atfork(NULL, NULL, after_fork);
        atomic_store(&recorder.state, WAITING);
    }
    snprintf(recorder.via, sizeof recorder.via, "%s", via);
    pthread_mutex_unlock(&recorder.lock);
    return true;
}

/* ---- records ---- */

struct recorder_thread *recorder_room(unsigned words)
{
    struct recorder_thread *t = recorder_self;
    const uint64_t bytes = sizeof(struct raw_record) + 8ull * words;
    if (!t && !(t = attach()))
        return NULL;
    if (atomic_load_explicit(&recorder.state, memory_order_relaxed) != ON ||
        words > RAW_WORDS_MOST) {
        if (recorder.head)
            __atomic_fetch_add(&recorder.head->lost_records, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    return t->used + bytes <= RAW_CHUNK_BYTES - sizeof(struct raw_chunk) || flush(t) ? t : NULL;
}

void recorder_text(enum raw_kind kind, uint64_t object, uint64_t ticks, const char *text)
{
    enum { LONGEST = 4096 };
    static int anonymous = -1;
    if (anonymous < 0)
        anonymous = recorder_wants("anonymous");
    const size_t length = anonymous ? 0 : strnlen(text, LONGEST);
    uint64_t *to = recorder_begin(kind, object, 0, ticks, ticks, (unsigned)((length + 7) / 8));
    if (!to)
        return;
    memset(to, 0, (length + 7) / 8 * 8);
    memcpy(to, text, length);
    recorder_commit();
}

/* The places of a handle. Kernels are some hundred: with one place each, two of them would take
 * turns, and each be described at every launch. */
enum { SEEN_PLACES = 4 };

static uint64_t *seen_places(uint64_t handle)
{
    struct recorder_thread *t = recorder_self;
    const uint64_t sets = RECORDER_SEEN / SEEN_PLACES;
    if (!t && !(t = attach()))
        return NULL;
    return &t->seen[SEEN_PLACES * ((handle * UINT64_C(0x9e3779b97f4a7c15) >> 40) % sets)];
}

bool recorder_is_new(uint64_t handle)
{
    uint64_t *places = seen_places(handle);
    if (!places)
        return false;
    for (unsigned i = 0; i < SEEN_PLACES; i++)
        if (places[i] == handle)
            return false;
    memmove(places + 1, places, (SEEN_PLACES - 1) * sizeof *places);
    places[0] = handle;
    return true;
}

void recorder_forget(uint64_t handle)
{
    uint64_t *places = seen_places(handle);
    for (unsigned i = 0; places && i < SEEN_PLACES; i++)
        if (places[i] == handle)
            places[i] = 0;
}

uint64_t recorder_site(void *address)
{
    const uint64_t site = (uint64_t)(uintptr_t)address;
    if (!recorder_is_new(site))
        return site;
    char name[512] = "";
    Dl_info info;
    if (dladdr(address, &info) && info.dli_fname) {
        const char *file = strrchr(info.dli_fname, '/');
        file = file ? file + 1 : info.dli_fname;
        if (info.dli_sname)
            snprintf(name, sizeof name, "%s %s+0x%lx", file, info.dli_sname,
                     (unsigned long)((char *)address - (char *)info.dli_saddr));
        else
            snprintf(name, sizeof name, "%s+0x%lx", file,
                     (unsigned long)((char *)address - (char *)info.dli_fbase));
    }
    recorder_text(RAW_name, site, recorder_ticks(), name);
    return site;
}

void recorder_unseen(const char *name)
{
    if (!recorder_self && !attach())
        return;
    struct raw_unseen *unseen = recorder.head->unseen;
    for (unsigned i = 0; i < RAW_UNSEEN_MOST; i++) {
        if (!unseen[i].name[0]) {
            pthread_mutex_lock(&recorder.lock);
            if (!unseen[i].name[0])
                snprintf(unseen[i].name, sizeof unseen[i].name, "%s", name);
            pthread_mutex_unlock(&recorder.lock);
        }
        if (strncmp(unseen[i].name, name, sizeof unseen[i].name - 1) == 0) {
            __atomic_fetch_add(&unseen[i].count, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

void recorder_device(uint64_t device, uint64_t ticks, const char *name, uint64_t bytes,
                     uint64_t alignment)
{
    uint64_t words[1 + RAW_DEVICE_NAME_WORDS + 1] = {bytes};
    memcpy(words + 1, name, strnlen(name, 8 * RAW_DEVICE_NAME_WORDS - 1));
    words[1 + RAW_DEVICE_NAME_WORDS] = alignment;
    recorder_put(RAW_device, device, 0, ticks, ticks, words, 1 + RAW_DEVICE_NAME_WORDS + 1);
    if (recorder.head)
        __atomic_fetch_add(&recorder.head->devices, 1, __ATOMIC_RELAXED);
}
