// Asks the driver for memory in the order of streams, of which some are held back, so that it is known which frees are done at each request: probe OUT.
#include <cuda.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define CK(x)                                                                                      \
    do {                                                                                           \
        CUresult c_ = (x);                                                                         \
        if (c_) {                                                                                  \
            const char *s;                                                                         \
            cuGetErrorName(c_, &s);                                                                \
            fprintf(stderr, "%s:%d %s\n", #x, __LINE__, s);                                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
enum { Q = 4, N = 6000 };
static CUdevice dev;
static CUstream st[Q];
static CUmemoryPool pool;
static FILE *out;
static volatile uint32_t *words;
static CUdeviceptr words_d; // 0..Q-1: gates; Q..2Q-1: how far
static uint32_t gate[Q], far_[Q];
static CUevent ev;
static uint64_t ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void pause_us(unsigned us)
{
    uint64_t e = ns() + us * 1000ull;
    while (ns() < e)
        ;
}
static void open_pool(const char *name)
{
    CUmemPoolProps p = {0};
    p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = dev;
    CK(cuMemPoolCreate(&pool, &p));
    cuuint64_t m = UINT64_MAX;
    CK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &m));
    fprintf(out, "# %s\n", name);
}
static uint64_t reserved(void)
{
    cuuint64_t v = 0;
    CK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &v));
    return v;
}
static CUdeviceptr ptr[N];
static size_t size[N];
static int strm[N];
static void done(void)
{
    for (int i = 0; i < Q; i++)
        fprintf(out, " %u", words[Q + i]);
    fputc('\n', out);
}
// each free moves the queue's count of frees by one behind it
static void A(int id, size_t n, int q)
{
    pause_us(60);
    uint32_t d[Q];
    for (int i = 0; i < Q; i++)
        d[i] = words[Q + i];
    CUdeviceptr p;
    CK(cuMemAllocFromPoolAsync(&p, n, pool, st[q]));
    ptr[id] = p;
    size[id] = n;
    strm[id] = q;
    fprintf(out, "a %d %d %zu %llx %" PRIu64, q, id, n, (unsigned long long)p, reserved());
    for (int i = 0; i < Q; i++)
        fprintf(out, " %u", d[i]);
    fputc('\n', out);
}
static void F(int id, int q)
{
    CK(cuMemFreeAsync(ptr[id], st[q]));
    ptr[id] = 0;
    CK(cuStreamWriteValue32(st[q], words_d + 4 * (Q + q), ++far_[q], 0));
    fprintf(out, "f %d %d %u", q, id, far_[q]);
    done();
}
static void hold(int q)
{
    CK(cuStreamWaitValue32(st[q], words_d + 4 * q, ++gate[q], CU_STREAM_WAIT_VALUE_GEQ));
    fprintf(out, "b %d %u\n", q, gate[q]);
}
static void let(int q, uint32_t to)
{
    words[q] = to;
    __sync_synchronize();
    pause_us(150);
    fprintf(out, "d %d %u", q, to);
    done();
}
static void let_all(void)
{
    for (int i = 0; i < Q; i++)
        words[i] = gate[i];
    __sync_synchronize();
    for (;;) {
        int ok = 1;
        for (int i = 0; i < Q; i++)
            ok &= words[Q + i] == far_[i];
        if (ok)
            break;
        pause_us(20);
    }
    pause_us(100);
    fprintf(out, "D 0 0");
    done();
}
static void order(int q, int p)
{
    CK(cuEventRecord(ev, st[p]));
    CK(cuStreamWaitEvent(st[q], ev, 0));
    fprintf(out, "o %d %d\n", q, p);
}
static void S(int q)
{
    let_all();
    CK(cuStreamSynchronize(st[q]));
    fprintf(out, "s %d 0 0 0 %" PRIu64 "\n", q, reserved());
}
static void SE(int q)
{
    let_all();
    CK(cuEventRecord(ev, st[q]));
    CK(cuEventSynchronize(ev));
    fprintf(out, "e %d 0 0 0 %" PRIu64 "\n", q, reserved());
}
static void SQ(int q)
{
    cuStreamQuery(st[q]);
    fprintf(out, "y %d 0 0 0 %" PRIu64 "\n", q, reserved());
}
static void SC(void)
{
    let_all();
    CK(cuCtxSynchronize());
    fprintf(out, "S 0 0 0 0 %" PRIu64 "\n", reserved());
}
static void close_pool(void)
{
    let_all();
    CK(cuCtxSynchronize());
    for (int i = 0; i < N; i++)
        if (ptr[i]) {
            CK(cuMemFreeAsync(ptr[i], st[strm[i]]));
            ptr[i] = 0;
        }
    CK(cuCtxSynchronize());
    fprintf(out, "S 0 0 0 0 %" PRIu64 "\n", reserved());
    CK(cuMemPoolDestroy(pool));
    for (int i = 0; i < Q; i++) {
        words[i] = gate[i] = 0;
        words[Q + i] = far_[i] = 0;
    }
    fflush(out);
}
static uint64_t rs;
static uint32_t rnd(void)
{
    rs = rs * 6364136223846793005ULL + 1442695040888963407ULL;
    return rs >> 33;
}
static size_t rsize(int kind)
{
    switch (kind) {
    case 0: {
        int b = 9 + rnd() % 17;
        return ((size_t)1 << b) + (rnd() % ((size_t)1 << b));
    } // to 64 MiB
    case 1:
        return ((size_t)(rnd() % 64) + 1) << 20;
    case 2:
        return ((size_t)(rnd() % 4000) + 1) * 512;
    default: {
        static const int v[] = {4, 12, 33, 64, 20, 7, 2, 48};
        return (size_t)v[rnd() % 8] << 20;
    }
    }
}
// per mille of: hold, let, order, sync of a queue, of an event, query, of all, let_all
static void random_ops(const char *name, int kind, int ops, int queues, size_t cap, int h, int l,
                       int o, int s, int e, int y, int c, int a, int cross, uint64_t seed)
{
    char b[200];
    snprintf(
        b, 200,
        "%s kind=%d queues=%d hold=%d let=%d order=%d s=%d e=%d y=%d c=%d all=%d cross=%d seed=%d",
        name, kind, queues, h, l, o, s, e, y, c, a, cross, (int)seed);
    rs = seed * 977;
    open_pool(b);
    static int live[N];
    int n = 0;
    size_t held = 0;
    for (int i = 0; i < ops; i++) {
        int r = rnd() % 1000;
        if ((r -= h) < 0)
            hold(rnd() % queues);
        else if ((r -= l) < 0) {
            int q = rnd() % queues;
            uint32_t d = gate[q] - words[q];
            if (d)
                let(q, words[q] + 1 + rnd() % d);
        } else if ((r -= o) < 0) {
            int q = rnd() % queues, p = rnd() % queues;
            if (q != p)
                order(q, p);
        } else if ((r -= s) < 0)
            S(rnd() % queues);
        else if ((r -= e) < 0)
            SE(rnd() % queues);
        else if ((r -= y) < 0)
            SQ(rnd() % queues);
        else if ((r -= c) < 0)
            SC();
        else if ((r -= a) < 0)
            let_all();
        else {
            size_t want = rsize(kind);
            if (n && (held + want > cap || rnd() % 100 < 47)) {
                int k = rnd() % n, id = live[k];
                live[k] = live[--n];
                held -= size[id];
                F(id, cross && (int)(rnd() % 100) < cross ? (int)(rnd() % queues) : strm[id]);
            } else {
                A(i, want, rnd() % queues);
                held += want;
                live[n++] = i;
            }
        }
        // the queue of commands must not fill
        for (int q = 0; q < queues; q++)
            if (far_[q] - words[Q + q] > 150)
                let_all();
    }
    close_pool();
}
#define M(x) ((size_t)(x) << 20)
// Steps: "a1 40 0" asks for block 1 of 40 MiB on queue 0, "f1 0" frees it there, "h0" holds queue 0 back, "l0 1" lets it go up to its hold 1, "d" lets
// all go and waits until they are done, "o1 0" makes queue 1 wait for queue 0.
static const struct designed {
    const char *name, *steps;
} designed[] = {
    {"same queue, held: 40 freed, 40 asked", "h0; a0 40 0; f0 0; a1 40 0"},
    {"same queue, held: two of 20 freed, 40 asked", "h0; a0 20 0; a1 20 0; f0 0; f1 0; a2 40 0"},
    {"same queue, held: 64 freed, 65 asked", "h0; a0 64 0; f0 0; a1 65 0"},
    {"same queue, done: 64 freed, 65 asked", "a0 64 0; f0 0; d; a1 65 0"},
    {"other queue, held", "h0; a0 40 0; f0 0; a1 40 1"},
    {"other queue, held, ordered after", "h0; a0 40 0; f0 0; o1 0; a1 40 1"},
    {"other queue, held, ordered before", "h0; a0 40 0; o1 0; f0 0; a1 40 1"},
    {"other queue, held, ordered through a third", "h0; a0 40 0; f0 0; o1 0; o2 1; a1 40 2"},
    {"other queue, held, ordered after, larger piece",
     "h0; a0 40 0; a1 10 0; f0 0; o1 0; a2 20 1; a3 20 1"},
    {"other queue, held, two ordered frees side by side",
     "h0; a0 20 0; a1 20 0; f0 0; f1 0; o1 0; a2 40 1"},
    {"other queue, held, one free before and one after the order",
     "h0; a0 20 0; a1 20 0; f0 0; o1 0; f1 0; a2 40 1; a3 20 1"},
    {"other queue, held, ordered after, 65 asked", "h0; a0 64 0; f0 0; o1 0; a1 65 1"},
    {"other queue, done", "a0 40 0; f0 0; d; a1 40 1"},
    {"other queue, done, own queue has a larger one",
     "a0 40 0; a1 1 0; a2 60 1; f0 0; f2 1; d; a3 40 1"},
    {"two queues' frees side by side, done, one asks for both",
     "a0 20 0; a1 20 1; f0 0; f1 1; d; a2 40 0"},
    {"one held, one done side by side",
     "a0 20 0; a1 20 1; h0; f0 0; f1 1; l1 0; a2 40 1; a3 20 1; a4 20 2"},
    {"blocks on one queue freed on another, held", "h1; a0 40 0; f0 1; a1 40 0; a2 40 1"},
    {"first asked on each of four queues", "a0 4 0; a1 4 1; a2 4 2; a3 4 3"},
};
static void designed_ops(const struct designed *d)
{
    open_pool(d->name);
    for (const char *step = d->steps; step; step = strchr(step, ';')) {
        char what;
        int first = 0, second = 0, third = 0;
        step += strspn(step, "; ");
        sscanf(step, "%c%d %d %d", &what, &first, &second, &third);
        if (what == 'a')
            A(first, M(second), third);
        if (what == 'f')
            F(first, second);
        if (what == 'h')
            hold(first);
        if (what == 'l')
            let(first, (uint32_t)second);
        if (what == 'd')
            let_all();
        if (what == 'o')
            order(first, second);
    }
    close_pool();
}
int main(int c, char **v)
{
    CUcontext ctx;
    CK(cuInit(0));
    CK(cuDeviceGet(&dev, 0));
    CK(cuDevicePrimaryCtxRetain(&ctx, dev));
    CK(cuCtxSetCurrent(ctx));
    for (int i = 0; i < Q; i++)
        CK(cuStreamCreate(&st[i], CU_STREAM_NON_BLOCKING));
    CK(cuEventCreate(&ev, CU_EVENT_DISABLE_TIMING));
    void *w;
    CK(cuMemHostAlloc(&w, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    words = w;
    memset(w, 0, 4096);
    CK(cuMemHostGetDevicePointer(&words_d, w, 0));
    out = fopen(v[1], "w");
    int ver;
    cuDriverGetVersion(&ver);
    fprintf(out, "# driver %d\n", ver);
    for (size_t i = 0; i < sizeof designed / sizeof *designed; i++)
        designed_ops(&designed[i]);
    for (int i = 0; i < 2; i++) {
        uint64_t z = i + 1;
        //                      kind ops q  cap     h  l  o  s  e  y c a cross
        random_ops("idle", 1, 1200, 1, M(1500), 0, 0, 0, 0, 0, 0, 0, 0, 0, z);
        random_ops("idle", 0, 1200, 1, M(600), 0, 0, 0, 0, 0, 0, 0, 0, 0, z);
        random_ops("held", 1, 1500, 1, M(1500), 20, 25, 0, 0, 0, 0, 0, 5, 0, z);
        random_ops("held", 0, 2000, 1, M(600), 20, 25, 0, 0, 0, 0, 0, 5, 0, z);
        random_ops("held", 3, 1500, 1, M(1500), 20, 25, 0, 0, 0, 0, 0, 5, 0, z);
        random_ops("held", 2, 1500, 1, M(60), 20, 25, 0, 0, 0, 0, 0, 5, 0, z);
        random_ops("queues", 1, 1500, 2, M(1500), 0, 0, 0, 0, 0, 0, 0, 0, 0, z);
        random_ops("queues", 0, 2000, 2, M(600), 0, 0, 0, 0, 0, 0, 0, 0, 0, z);
        random_ops("queues-order", 1, 1500, 2, M(1500), 0, 0, 60, 0, 0, 0, 0, 0, 0, z);
        random_ops("queues-held", 1, 1500, 2, M(1500), 20, 25, 0, 0, 0, 0, 0, 5, 0, z);
        random_ops("queues-held", 0, 2000, 2, M(600), 20, 25, 0, 0, 0, 0, 0, 5, 0, z);
        random_ops("queues-all", 1, 1500, 2, M(1500), 20, 25, 50, 0, 0, 0, 0, 5, 0, z);
        random_ops("queues-all", 0, 2000, 2, M(600), 20, 25, 50, 0, 0, 0, 0, 5, 0, z);
        random_ops("queues-all", 2, 1500, 2, M(60), 20, 25, 50, 0, 0, 0, 0, 5, 0, z);
        random_ops("queues-all", 0, 2000, 3, M(600), 20, 25, 50, 0, 0, 0, 0, 5, 0, z);
        random_ops("queues", 0, 1500, 4, M(600), 0, 0, 0, 0, 0, 0, 0, 0, 0, z);
        random_ops("queues", 1, 1500, 3, M(1500), 0, 0, 0, 0, 0, 0, 0, 0, 0, z);
        random_ops("queues-order", 0, 1500, 4, M(600), 0, 0, 60, 0, 0, 0, 0, 0, 0, z);
        random_ops("cross", 0, 2000, 3, M(600), 20, 25, 50, 0, 0, 0, 0, 5, 20, z);
        random_ops("sync-queue", 0, 1500, 2, M(600), 20, 25, 20, 10, 0, 0, 0, 5, 0, z);
        random_ops("sync-event", 0, 1500, 2, M(600), 20, 25, 20, 0, 10, 0, 0, 5, 0, z);
        random_ops("query", 0, 1500, 2, M(600), 20, 25, 20, 0, 0, 20, 0, 5, 0, z);
        random_ops("sync-all", 0, 1500, 2, M(600), 20, 25, 20, 0, 0, 0, 10, 5, 0, z);
        random_ops("sync-queue-1", 0, 1500, 1, M(600), 0, 0, 0, 20, 0, 0, 0, 0, 0, z);
        random_ops("sync-event-1", 0, 1500, 1, M(600), 0, 0, 0, 0, 20, 0, 0, 0, 0, z);
        random_ops("query-1", 0, 1500, 1, M(600), 0, 0, 0, 0, 0, 20, 0, 0, 0, z);
    }
    fclose(out);
    return 0;
}
