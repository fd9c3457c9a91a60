/* A program that gets its memory from libgamut_alloc.so, on the driver of fake_cuda.c: app_serve
 * CASE [NUMBER...]. The driver ends it where a command finds the bytes of another block, or memory
 * that is not held. */
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "inside/gamut_alloc.h"

#define ASK(call)                                                                                  \
    do {                                                                                           \
        if ((call) != CUDA_SUCCESS)                                                                \
            fail(#call);                                                                           \
    } while (0)
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(#condition);                                                                      \
    } while (0)

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "app_serve: failed: %s\n", what);
    exit(1);
}

enum { STREAMS_MOST = 64, KIB = 1024, MIB = 1 << 20 };
static CUcontext contexts[2];
static CUstream streams[STREAMS_MOST];

static CUdeviceptr number(const void *block)
{
    return (CUdeviceptr)(uintptr_t)block;
}

static void start(unsigned count)
{
    ASK(cuInit(0));
    for (int d = 0; d < 2; d++)
        ASK(cuDevicePrimaryCtxRetain(&contexts[d], d));
    ASK(cuCtxSetCurrent(contexts[0]));
    for (unsigned i = 0; i < count; i++)
        ASK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
}

/* The sum over all devices. */
static uint64_t counter(const char *name)
{
    char *text = gamut_statistics(), pattern[80];
    uint64_t sum = 0;
    snprintf(pattern, sizeof pattern, "\"%s\": ", name);
    const char *at = strstr(text, pattern);
    EXPECT(at);
    for (; at; at = strstr(at + 1, pattern))
        sum += strtoull(at + strlen(pattern), NULL, 10);
    free(text);
    return sum;
}

/* ---- the rules, one by one ---- */

/* A freed block is the next one of its stream, before its commands are done. */
static void case_order(void)
{
    start(1);
    for (unsigned char i = 0; i < 100; i++) {
        void *block = gamut_alloc_or_null(MIB, 0, streams[0]);
        ASK(cuMemsetD8Async(number(block), i, MIB, streams[0]));
        fake_check(streams[0], number(block), MIB, i);
        gamut_free(block, MIB, 0, streams[0]);
    }
    printf("%llu\n", (unsigned long long)counter("peak_reserved_bytes"));
}

/* A block is freed while another stream still uses it; then both streams ask for memory. */
static void use_elsewhere(bool by_record)
{
    CUevent filled;
    start(2);
    ASK(cuEventCreate(&filled, CU_EVENT_DISABLE_TIMING));
    for (unsigned char i = 1; i < 200; i++) {
        char *block = gamut_alloc_or_null(64 * KIB, 0, streams[0]);
        ASK(cuMemsetD8Async(number(block), i, 64 * KIB, streams[0]));
        ASK(cuEventRecord(filled, streams[0]));
        ASK(cuStreamWaitEvent(streams[1], filled, 0));
        if (by_record)
            gamut_record_stream(block, streams[1]);
        for (unsigned k = 0; k < 8; k++)
            fake_check(streams[1], number(block), 64 * KIB, i);
        gamut_free(block, 64 * KIB, 0, by_record ? streams[0] : streams[1]);
        char *next = gamut_alloc_or_null(64 * KIB, 0, streams[0]);
        ASK(cuMemsetD8Async(number(next), 255, 64 * KIB, streams[0]));
        gamut_free(next, 64 * KIB, 0, streams[0]);
    }
    EXPECT(counter("held_count") == 199);
    ASK(cuCtxSynchronize());
    gamut_trim();
    EXPECT(counter("held_bytes") == 0);
}

static void case_record_stream(void)
{
    use_elsewhere(true);
}

static void case_freed_elsewhere(void)
{
    use_elsewhere(false);
}

/* More streams than a strategy has queues: with blocks in all of them, and without. */
static void case_many_streams(void)
{
    char *blocks[STREAMS_MOST];
    start(STREAMS_MOST);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < STREAMS_MOST; i++) {
            blocks[i] = gamut_alloc_or_null(4 * KIB, 0, streams[i]);
            ASK(cuMemsetD8Async(number(blocks[i]), (unsigned char)i, 4 * KIB, streams[i]));
        }
        for (unsigned i = 0; i < STREAMS_MOST; i++) {
            fake_check(streams[i], number(blocks[i]), 4 * KIB, (unsigned char)i);
            gamut_free(blocks[i], 4 * KIB, 0, streams[i]);
        }
    }
    EXPECT(counter("direct_count") > 0);
    for (unsigned i = 0; i < STREAMS_MOST; i++) {
        char *block = gamut_alloc_or_null(4 * KIB, 0, streams[i]);
        ASK(cuMemsetD8Async(number(block), (unsigned char)i, 4 * KIB, streams[i]));
        fake_check(streams[i], number(block), 4 * KIB, (unsigned char)i);
        gamut_free(block, 4 * KIB, 0, streams[i]);
    }
    EXPECT(counter("queue_taken_count") > 0);
    /* A handle that stands for a stream of each thread. */
    const uint64_t direct = counter("direct_count");
    char *block = gamut_alloc_or_null(4 * KIB, 0, CU_STREAM_PER_THREAD);
    EXPECT(block && counter("direct_count") > direct);
    gamut_free(block, 4 * KIB, 0, CU_STREAM_PER_THREAD);
}

/* A captured graph's memory is its own until its pool is released. */
static void case_capture(void)
{
    static CUgraph graph;
    const struct gamut_pool pool = {0, 7};
    const unsigned rounds = 3;
    start(2);
    gamut_free(gamut_alloc_or_null(MIB, 0, streams[0]), MIB, 0, streams[0]);
    gamut_begin_pool(0, pool, NULL);
    ASK(cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
    char *inside = gamut_alloc_or_null(MIB, 0, streams[0]), *held = NULL;
    EXPECT(inside);
    ASK(cuMemsetD8Async(number(inside), 9, MIB, streams[0]));
    fake_check(streams[0], number(inside), MIB, 9);
    gamut_free(inside, MIB, 0, streams[0]);
    char *again = gamut_alloc_or_null(MIB, 0, streams[0]); /* in the order of the graph */
    ASK(cuMemsetD8Async(number(again), 10, MIB, streams[0]));
    fake_check(streams[0], number(again), MIB, 10);
    /* Another stream works meanwhile, and its freed memory must not end the capture. */
    held = gamut_alloc_or_null(64 * MIB, 0, streams[1]);
    EXPECT(held);
    gamut_free(held, 64 * MIB, 0, streams[1]);
    gamut_trim();
    EXPECT(!gamut_alloc_or_null(1l << 40, 0, streams[1])); /* what is spare stays */
    gamut_free(again, MIB, 0, streams[0]);
    ASK(cuStreamEndCapture(streams[0], &graph));
    gamut_end_pool(0, pool);
    for (unsigned i = 0; i < rounds; i++) {
        ASK(cuGraphLaunch((CUgraphExec)graph, streams[0]));
        for (unsigned k = 0; k < 4; k++) {
            char *other = gamut_alloc_or_null(MIB, 0, streams[1]);
            EXPECT(other != inside && other != again);
            ASK(cuMemsetD8Async(number(other), 77, MIB, streams[1]));
            gamut_free(other, MIB, 0, streams[1]);
        }
    }
    ASK(cuCtxSynchronize());
    EXPECT(counter("captured_count") == 2);
    gamut_trim();
    const uint64_t with_graph = counter("reserved_bytes");
    gamut_release_pool(0, pool);
    EXPECT(counter("reserved_bytes") < with_graph);
}

/* A capture that no pool was named for. */
static void case_capture_alone(void)
{
    static CUgraph graph;
    start(1);
    ASK(cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
    char *inside = gamut_alloc_or_null(MIB, 0, streams[0]);
    EXPECT(inside);
    ASK(cuMemsetD8Async(number(inside), 9, MIB, streams[0]));
    gamut_free(inside, MIB, 0, streams[0]);
    ASK(cuStreamEndCapture(streams[0], &graph));
    for (unsigned i = 0; i < 50; i++) {
        char *block = gamut_alloc_or_null(MIB, 0, streams[0]);
        EXPECT(block != inside);
        gamut_free(block, MIB, 0, streams[0]);
        gamut_trim();
        ASK(cuGraphLaunch((CUgraphExec)graph, streams[0]));
    }
    ASK(cuCtxSynchronize());
}

/* Memory is short: what other streams hold is waited for, and then the request is refused with a
 * sentence. */
static void case_out_of_memory(void)
{
    start(2);
    char *block = gamut_alloc_or_null(40 * MIB, 0, streams[0]);
    EXPECT(block);
    gamut_record_stream(block, streams[1]);
    for (unsigned i = 0; i < 50; i++)
        ASK(cuMemsetD8Async(number(block), 3, 40 * MIB, streams[1]));
    gamut_free(block, 40 * MIB, 0, streams[0]);
    char *next = gamut_alloc_or_null(48 * MIB, 0, streams[1]); /* of 64 MiB */
    EXPECT(next);
    EXPECT(counter("retried_count") == 1);
    EXPECT(!gamut_alloc_or_null(100 * MIB, 0, streams[0]));
    printf("%s\n", gamut_last_error());
    if (!dlopen("libstdc++.so.6",
                RTLD_NOW | RTLD_NOLOAD)) /* a sanitizer may have loaded it: then this throws */
        EXPECT(!gamut_alloc(100 * MIB, 0, streams[0]));
    EXPECT(gamut_alloc_or_null(MIB, 0, streams[0]));
    unsigned more = 0; /* the driver has room for 14 */
    for (gamut_memory_fraction(0.75, 0); gamut_alloc_or_null(MIB, 0, streams[0]);)
        more++;
    EXPECT(more <= 1);
}

/* The thread's context is as it was, and so is what its calls may do to a capture. */
static void case_context(void)
{
    CUcontext now = NULL;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    start(0);
    ASK(cuThreadExchangeStreamCaptureMode(&mode));
    void *first = gamut_alloc_or_null(MIB, 1, NULL);
    ASK(cuCtxGetCurrent(&now));
    EXPECT(now == contexts[0]);
    ASK(cuCtxSetCurrent(NULL));
    void *second = gamut_alloc_or_null(64 * MIB, 0, NULL);
    ASK(cuCtxGetCurrent(&now));
    EXPECT(first && second && now == NULL);
    gamut_free(first, MIB, 1, NULL);
    gamut_free(second, MIB, 0, NULL);
    ASK(cuThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    EXPECT(!gamut_alloc_or_null(0, 0, NULL));
    gamut_free(NULL, 0, 0, NULL);
    size_t bytes = 0;
    char *block = gamut_alloc_or_null(MIB, 0, NULL);
    EXPECT((char *)gamut_base(block, &bytes) <= block && bytes >= MIB);
    for (unsigned i = 0; i < 50; i++)
        EXPECT((uintptr_t)gamut_alloc_or_null(1 + 1000 * i % 777, 0, NULL) % 512 == 0);
    void *other = gamut_alloc_or_null(1000, 1, NULL);
    EXPECT(other && (uintptr_t)other % 512 == 0);
    gamut_free(other, 1000, 1, NULL);
}

static void case_begin(void)
{
    start(0);
    const char *wrong = gamut_begin("cachin");
    EXPECT(wrong);
    printf("%s\n", wrong);
    EXPECT(!gamut_begin("pool:leading_bits=3"));
    EXPECT(gamut_begin("tlsf"));
    printf("%s\n", gamut_begin("tlsf"));
    EXPECT(gamut_alloc(1000, 0, NULL));
}

/* ---- faults that the debug mode finds ---- */

static void case_beyond(void)
{
    start(1);
    char *block = gamut_alloc_or_null(1000, 0, streams[0]);
    ASK(cuMemsetD8Async(number(block), 1, 1001, streams[0]));
    gamut_free(block, 1000, 0, streams[0]);
}

static void case_twice(void)
{
    start(1);
    char *block = gamut_alloc_or_null(1000, 0, streams[0]);
    gamut_free(block, 1000, 0, streams[0]);
    gamut_free(block, 1000, 0, streams[0]);
}

/* ---- threads, streams, devices and chance ---- */

enum { OWN_MOST = 32 };
struct own {
    char *block;
    size_t bytes;
    CUstream stream;
    unsigned char value;
};
struct thread {
    unsigned number, streams, operations, forks;
    uint64_t seed;
};
enum { THREADS_MOST = 64 };
static struct lives {
    char *block;
    size_t bytes;
} lives[THREADS_MOST][OWN_MOST];
static pthread_mutex_t lives_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t served, refused; /* requests */
static _Atomic uint64_t *told; /* requests that were served, in a file that outlives the process */

static uint64_t chance(struct thread *t)
{
    t->seed ^= t->seed << 13;
    t->seed ^= t->seed >> 7;
    return t->seed ^= t->seed << 17;
}

static void use_other(struct thread *t, const struct own *own, CUevent event)
{
    CUstream other = streams[chance(t) % t->streams];
    ASK(cuEventRecord(event, own->stream));
    ASK(cuStreamWaitEvent(other, event, 0));
    fake_check(other, number(own->block), own->bytes, own->value);
    gamut_record_stream(own->block, other);
}

/* A thread has a block, or none any more: no two that live at once overlap. */
static void set_life(const struct thread *t, size_t at, char *block, size_t bytes)
{
    pthread_mutex_lock(&lives_lock);
    for (unsigned i = 0; block && i < THREADS_MOST * OWN_MOST; i++) {
        const struct lives *other = &lives[i / OWN_MOST][i % OWN_MOST];
        EXPECT(!other->block || block + bytes <= other->block ||
               other->block + other->bytes <= block);
    }
    lives[t->number][at] = (struct lives){block, bytes};
    pthread_mutex_unlock(&lives_lock);
}

/* ThreadSanitizer locks its exit handlers, and another thread may hold that lock at a fork. Its
 * _exit counts a thread that had ended but was not joined at the fork as leaked. */
#ifdef __SANITIZE_THREAD__
#define END_FORKED(code) syscall(SYS_exit_group, code)
#else
#define END_FORKED exit
#endif

/* A process that is forked off while other threads are inside the server frees what it was left,
 * and ends; it calls no driver. */
static void fork_off(const struct own *own, int device)
{
    int status = -1;
    const pid_t process = fork();
    if (!process) {
        alarm(20);
        gamut_free(own->block, (ssize_t)own->bytes, device, own->stream);
        gamut_trim();
        END_FORKED(0);
    }
    EXPECT(process > 0 && waitpid(process, &status, 0) == process && status == 0);
}

static void end_own(const struct thread *t, size_t at, struct own *own, int device)
{
    if (!own->block)
        return;
    set_life(t, at, NULL, 0);
    fake_check(own->stream, number(own->block), own->bytes, own->value);
    gamut_free(own->block, (ssize_t)own->bytes, device, own->stream);
    own->block = NULL;
}

static void *churn(void *argument)
{
    struct thread *t = argument;
    struct own owns[OWN_MOST] = {{0}};
    const int device = (int)(t->number % 2);
    CUevent event;
    ASK(cuCtxSetCurrent(contexts[device]));
    ASK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < t->operations; i++) {
        const size_t at = chance(t) % OWN_MOST;
        struct own *own = &owns[at];
        if (own->block && chance(t) % 4 == 0) {
            use_other(t, own, event);
            continue;
        }
        if (t->forks && chance(t) % t->forks == 0)
            fork_off(own, device);
        end_own(t, at, own, device);
        *own = (struct own){.bytes = 1 + chance(t) % (chance(t) % 8 ? 8 * KIB : 512 * KIB),
                            .stream = streams[chance(t) % t->streams],
                            .value = (unsigned char)chance(t)};
        own->block = gamut_alloc_or_null((ssize_t)own->bytes, device, own->stream);
        ++*(own->block ? &served : &refused);
        if (own->block) {
            set_life(t, at, own->block, own->bytes);
            ASK(cuMemsetD8Async(number(own->block), own->value, own->bytes, own->stream));
            if (told)
                ++*told;
        }
        if (chance(t) % 512 == 0)
            gamut_trim();
    }
    for (unsigned i = 0; i < OWN_MOST; i++)
        end_own(t, i, &owns[i], device);
    return NULL;
}

/* stress THREADS STREAMS OPERATIONS SEED [FORKS [FILE]]: about each FORKSth operation forks, and
 * FILE has the number of the requests that were served. */
static void stress(unsigned threads, unsigned stream_count, unsigned operations, unsigned seed,
                   unsigned forks, const char *file)
{
    pthread_t handles[THREADS_MOST];
    struct thread each[THREADS_MOST];
    const int told_file = file ? open(file, O_RDWR | O_CREAT, 0666) : -1;
    if (file) {
        EXPECT(ftruncate(told_file, sizeof *told) == 0);
        told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, told_file, 0);
        EXPECT(told != MAP_FAILED);
    }
    start(stream_count);
    for (unsigned i = 0; i < threads; i++) {
        each[i] =
            (struct thread){i, stream_count, operations, forks, (seed * 64 + i + 1) * 0x9e3779b9u};
        EXPECT(!pthread_create(&handles[i], NULL, churn, &each[i]));
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    for (int d = 0; d < 2; d++) {
        ASK(cuCtxSetCurrent(contexts[d]));
        ASK(cuCtxSynchronize());
    }
    gamut_trim();
    EXPECT(counter("live_count") == 0);
    EXPECT(counter("broken") == 0);
    EXPECT(counter("held_bytes") == 0 && counter("unknown_count") == 0);
    EXPECT(counter("free_count") == served && counter("refused_count") == refused);
    EXPECT(counter("reserved_bytes") == fake_held(0) + fake_held(1));
    printf("%llu of %llu requests refused, %llu frees held\n",
           (unsigned long long)counter("refused_count"), (unsigned long long)counter("alloc_count"),
           (unsigned long long)counter("held_count"));
}

/* Graphs by chance: some share a pool, some are released, some end with blocks that live, and one
 * has no pool. Between captures the common memory is used, and spare memory is given back. */
static void capture_some(struct thread *t, struct own *own, struct gamut_pool pool, bool is_named,
                         CUgraph *graph)
{
    char *blocks[8];
    if (is_named)
        gamut_begin_pool(0, pool, NULL);
    ASK(cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 8; i++) {
            const size_t bytes = 1 + chance(t) % (1 + chance(t) % (6 * MIB));
            EXPECT(blocks[i] = gamut_alloc_or_null((ssize_t)bytes, 0, streams[0]));
            ASK(cuMemsetD8Async(number(blocks[i]), (unsigned char)i, bytes, streams[0]));
        }
        /* What another stream lets go meanwhile is held until the capture ends. */
        gamut_free(gamut_alloc_or_null(3 * MIB, 0, streams[1]), 0, 0, streams[1]);
        for (unsigned i = round == 3; i < 8; i++)
            gamut_free(blocks[i], 0, 0, streams[0]);
    }
    ASK(cuStreamEndCapture(streams[0], graph));
    if (is_named)
        gamut_end_pool(0, pool);
    *own = (struct own){.block = blocks[0], .stream = streams[0]};
    ASK(cuGraphLaunch((CUgraphExec)*graph, streams[0]));
}

static void case_captures(void)
{
    enum { GRAPHS = 12, OTHERS = 16 };
    static CUgraph graphs[GRAPHS];
    struct thread t = {.seed = 4711};
    struct own outputs[GRAPHS], others[OTHERS] = {{0}};
    start(2);
    for (unsigned g = 0; g < GRAPHS; g++) {
        for (unsigned i = 0; i < 64; i++) {
            struct own *own = &others[chance(&t) % OTHERS];
            gamut_free(own->block, 0, 0, own->stream);
            own->stream = streams[chance(&t) % 2];
            EXPECT(own->block =
                       gamut_alloc_or_null((ssize_t)(1 + chance(&t) % (8 * MIB)), 0, own->stream));
        }
        const struct gamut_pool pool = {0, 1 + g / 3 + 100 * (g == 7)};
        capture_some(&t, &outputs[g], pool, g != 5, &graphs[g]);
        if (g == 4)
            gamut_trim();
        if (g == 7) /* its output lives on */
            gamut_release_pool(0, pool);
        if (g % 2)
            gamut_free(outputs[g].block, 0, 0, streams[0]);
    }
    ASK(cuCtxSynchronize());
    gamut_release_pool(0, (struct gamut_pool){0, 1});
    gamut_free(outputs[0].block, 0, 0, streams[0]);
    gamut_free(outputs[2].block, 0, 0, streams[0]);
    gamut_release_pool(0, (struct gamut_pool){0, 1});
    gamut_release_pool(0, (struct gamut_pool){0, 1});
    for (unsigned i = 0; i < OTHERS; i++)
        gamut_free(others[i].block, 0, 0, others[i].stream);
    EXPECT(counter("pool_count") == 6 && counter("captured_count") == 12 * 32);
}

static char *late_block;

static void free_late(void)
{
    gamut_free(late_block, MIB, 0, streams[0]);
}

/* A block that is freed after the counters were written, as by a destructor of a library that was
 * there first. */
static void case_late(void)
{
    atexit(free_late);
    start(1);
    for (unsigned i = 0; i < 10; i++) {
        gamut_free(late_block, MIB, 0, streams[0]);
        late_block = gamut_alloc_or_null(MIB, 0, streams[0]);
    }
}

/* A process that is forked off, such as a loader of data, ends before this one asks for more. */
static void case_fork(void)
{
    start(0);
    EXPECT(gamut_alloc_or_null(MIB, 0, NULL));
    const pid_t other = fork();
    if (!other)
        exit(0);
    waitpid(other, NULL, 0);
    EXPECT(access(getenv("GAMUT_SERVE_RESULT"), F_OK) != 0);
}

/* What a request and its free cost that memory serves, on the default stream and on another one. */
static void case_cost(void)
{
    enum { TIMES = 1000000 };
    start(1);
    for (unsigned which = 0; which < 2; which++) {
        struct timespec begin, end;
        CUstream stream = which ? streams[0] : NULL;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (unsigned i = 0; i < TIMES; i++)
            gamut_free(gamut_alloc_or_null(1000 + i % 64 * 4096, 0, stream), 0, 0, stream);
        clock_gettime(CLOCK_MONOTONIC, &end);
        printf("%s stream: %.0f ns\n", which ? "another" : "the default",
               ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
                   TIMES);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"order", case_order},
                 {"record_stream", case_record_stream},
                 {"freed_elsewhere", case_freed_elsewhere},
                 {"many_streams", case_many_streams},
                 {"capture", case_capture},
                 {"capture_alone", case_capture_alone},
                 {"captures", case_captures},
                 {"late", case_late},
                 {"out_of_memory", case_out_of_memory},
                 {"context", case_context},
                 {"begin", case_begin},
                 {"fork", case_fork},
                 {"cost", case_cost},
                 {"beyond", case_beyond},
                 {"twice", case_twice}};
    if (argc >= 6 && strcmp(argv[1], "stress") == 0) {
        stress((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]),
               (unsigned)atoi(argv[5]), argc > 6 ? (unsigned)atoi(argv[6]) : 0,
               argc > 7 ? argv[7] : NULL);
        return 0;
    }
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    fail("a case is expected");
}
