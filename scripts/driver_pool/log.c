// For LD_PRELOAD: writes to $SHIM_LOG what PyTorch asks of the stream-ordered pool, the address and the reserved bytes after it, orders, waits, and which calls before are done.
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#undef cudaEventCreateWithFlags
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static FILE *out;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int closed;
static void *rt(const char *n)
{
    static void *h;
    if (!h) {
        h = dlopen("libcudart.so.13", RTLD_NOLOAD | RTLD_NOW);
        if (!h)
            h = dlopen("libcudart.so.13", RTLD_NOW);
    }
    return h ? dlsym(h, n) : NULL;
}
#define REAL(name)                                                                                 \
    static __typeof__(&name) f;                                                                    \
    if (!f)                                                                                        \
    f = (__typeof__(&name))rt(#name)
#define USE(name)                   ((__typeof__(&name))rt(#name))
#define cudaDeviceGetDefaultMemPool USE(cudaDeviceGetDefaultMemPool)
#define cudaEventCreateWithFlags    USE(cudaEventCreateWithFlags)
#define cudaGetLastError            USE(cudaGetLastError)
#define cudaMemPoolGetAttribute     USE(cudaMemPoolGetAttribute)
#define cudaStreamIsCapturing       USE(cudaStreamIsCapturing)
static int on(void)
{
    if (closed)
        return 0;
    if (!out) {
        const char *p = getenv("SHIM_LOG");
        if (!p)
            return 0;
        out = fopen(p, "w");
        if (!out) {
            closed = 1;
            return 0;
        }
        setvbuf(out, malloc(1 << 22), _IOFBF, 1 << 22);
    }
    return 1;
}
static void *streams[64];
static int ns;
static int q(void *s)
{
    for (int i = 0; i < ns; i++)
        if (streams[i] == s)
            return i;
    if (ns < 64)
        streams[ns++] = s;
    return ns - 1;
}
static cudaMemPool_t pool;
static unsigned long long reserved(void)
{
    unsigned long long v = 0;
    if (!pool && cudaDeviceGetDefaultMemPool(&pool, 0))
        return 0;
    cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &v);
    return v;
}
#define PEND 65536
static struct {
    cudaEvent_t e;
    uint64_t serial;
} pend[64][PEND];
static unsigned head[64], tail[64];
static cudaEvent_t spare[PEND];
static int nspare;
static uint64_t serial;
static void poll_done(void)
{
    REAL(cudaEventQuery);
    for (int i = 0; i < ns; i++)
        while (head[i] != tail[i]) {
            if (f(pend[i][head[i] % PEND].e) != cudaSuccess)
                break;
            fprintf(out, "c %llu\n", (unsigned long long)pend[i][head[i] % PEND].serial);
            if (nspare < PEND)
                spare[nspare++] = pend[i][head[i] % PEND].e;
            head[i]++;
        }
    cudaGetLastError();
}
static int capturing(cudaStream_t s)
{
    enum cudaStreamCaptureStatus c = 0;
    if (cudaStreamIsCapturing(s, &c)) {
        cudaGetLastError();
        return 1;
    }
    return c != 0;
}
static int captures; // any capture in the process: no queries then
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    REAL(cudaStreamBeginCapture);
    pthread_mutex_lock(&m);
    captures++;
    if (on())
        fprintf(out, "B %d\n", q(s));
    pthread_mutex_unlock(&m);
    return f(s, mode);
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    REAL(cudaStreamEndCapture);
    cudaError_t r = f(s, g);
    pthread_mutex_lock(&m);
    captures--;
    if (on())
        fprintf(out, "E %d\n", q(s));
    pthread_mutex_unlock(&m);
    return r;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t s)
{
    REAL(cudaGraphLaunch);
    pthread_mutex_lock(&m);
    if (on())
        fprintf(out, "G %d\n", q(s));
    pthread_mutex_unlock(&m);
    return f(g, s);
}
static void mark(int k, uint64_t id, cudaStream_t s)
{
    cudaEvent_t e;
    if (nspare)
        e = spare[--nspare];
    else
        cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    REAL(cudaEventRecord);
    f(e, s);
    pend[k][tail[k] % PEND].e = e;
    pend[k][tail[k] % PEND].serial = id;
    tail[k]++;
}
cudaError_t cudaMallocAsync(void **p, size_t n, cudaStream_t s)
{
    REAL(cudaMallocAsync);
    pthread_mutex_lock(&m);
    int o = on();
    if (o && !captures)
        poll_done();
    cudaError_t r = f(p, n, s);
    if (o) {
        int c = captures;
        int k = q(s);
        uint64_t id = ++serial;
        fprintf(out, "a %d %zu %llx %llu %d %d %llu\n", k, n, (unsigned long long)*p,
                c ? 0 : reserved(), c ? capturing(s) : 0, (int)r, (unsigned long long)id);
        if (!c)
            mark(k, id, s);
    }
    pthread_mutex_unlock(&m);
    return r;
}
cudaError_t cudaFreeAsync(void *p, cudaStream_t s)
{
    REAL(cudaFreeAsync);
    pthread_mutex_lock(&m);
    int o = on(), c = captures && capturing(s);
    if (o && !captures)
        poll_done();
    cudaError_t r = f(p, s);
    if (o) {
        int k = q(s);
        uint64_t id = ++serial;
        fprintf(out, "f %d %llx %llu %d %d\n", k, (unsigned long long)p, (unsigned long long)id, c,
                (int)r);
        if (!captures)
            mark(k, id, s);
    }
    pthread_mutex_unlock(&m);
    return r;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    REAL(cudaEventRecord);
    pthread_mutex_lock(&m);
    if (on())
        fprintf(out, "r %d %p\n", q(s), (void *)e);
    pthread_mutex_unlock(&m);
    return f(e, s);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned fl)
{
    REAL(cudaEventRecordWithFlags);
    pthread_mutex_lock(&m);
    if (on())
        fprintf(out, "r %d %p\n", q(s), (void *)e);
    pthread_mutex_unlock(&m);
    return f(e, s, fl);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned fl)
{
    REAL(cudaStreamWaitEvent);
    pthread_mutex_lock(&m);
    if (on())
        fprintf(out, "w %d %p\n", q(s), (void *)e);
    pthread_mutex_unlock(&m);
    return f(s, e, fl);
}
static void note(const char *k, void *x)
{
    pthread_mutex_lock(&m);
    if (on())
        fprintf(out, "%s %p\n", k, x);
    pthread_mutex_unlock(&m);
}
cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    REAL(cudaStreamSynchronize);
    cudaError_t r = f(s);
    pthread_mutex_lock(&m);
    if (on())
        fprintf(out, "ss %d %llu\n", q(s), captures ? 0 : reserved());
    pthread_mutex_unlock(&m);
    return r;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    REAL(cudaEventSynchronize);
    cudaError_t r = f(e);
    note("es", e);
    return r;
}
cudaError_t cudaDeviceSynchronize(void)
{
    REAL(cudaDeviceSynchronize);
    cudaError_t r = f();
    pthread_mutex_lock(&m);
    if (on())
        fprintf(out, "ds %llu\n", captures ? 0 : reserved());
    pthread_mutex_unlock(&m);
    return r;
}
cudaError_t cudaEventQuery(cudaEvent_t e)
{
    REAL(cudaEventQuery);
    cudaError_t r = f(e);
    char b[8];
    snprintf(b, 8, "eq%d", r == cudaSuccess);
    note(b, e);
    return r;
}
cudaError_t cudaStreamQuery(cudaStream_t s)
{
    REAL(cudaStreamQuery);
    cudaError_t r = f(s);
    note(r ? "sq0" : "sq1", s);
    return r;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t p, enum cudaMemPoolAttr a, void *v)
{
    REAL(cudaMemPoolSetAttribute);
    pthread_mutex_lock(&m);
    if (on())
        fprintf(out, "set %d %llu\n", (int)a, *(unsigned long long *)v);
    pthread_mutex_unlock(&m);
    return f(p, a, v);
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t p, size_t n)
{
    REAL(cudaMemPoolTrimTo);
    note("trim", (void *)n);
    return f(p, n);
}
cudaError_t cudaMalloc(void **p, size_t n)
{
    REAL(cudaMalloc);
    cudaError_t r = f(p, n);
    note("malloc", (void *)n);
    return r;
}
cudaError_t cudaMemcpy(void *d, const void *s, size_t n, enum cudaMemcpyKind k)
{
    REAL(cudaMemcpy);
    cudaError_t r = f(d, s, n, k);
    note("mc", (void *)n);
    return r;
}
void shim_mark(int i)
{
    pthread_mutex_lock(&m);
    if (on()) {
        fprintf(out, "mark %d\n", i);
        fflush(out);
    }
    pthread_mutex_unlock(&m);
}
