/* Decides which function a program gets when it looks up a name of the driver.
 *
 * dlsym stands here in place of the C library's. It answers for a name of PRELOAD_LIST if the
 * caller's handle leads to libcuda's function of that name. All other calls go on to the C library
 * by a jump, because RTLD_NEXT depends on who calls. The library's own calls never come here: the
 * linker sends them to __wrap_dlsym (--wrap).
 *
 * No lock is taken, because the loader may hold its own while it calls a constructor that comes
 * here. The functions that look at a call are not instrumented, because a sanitizer looks up its
 * functions here before it has begun.
 */
#include "inside/preload.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __x86_64__
#error "the preload for CUDA is written for x86-64"
#endif

#define PLAIN  __attribute__((no_sanitize("address", "thread", "undefined")))
#define HIDDEN __attribute__((visibility("hidden")))

typedef void *find_function(void *handle, const char *name);

HIDDEN find_function *preload_libc_dlsym; /* NULL until it is first needed */
HIDDEN void *preload_dlsym_answer(void *handle, const char *name);
HIDDEN void *__wrap_dlsym(void *handle, const char *name);

__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "push %rdi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "push %rsi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "sub $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "call preload_dlsym_answer\n"
        "add $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "pop %rsi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "pop %rdi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "test %rax, %rax\n"
        "jnz 1f\n"
        "jmp *preload_libc_dlsym(%rip)\n"
        "1: ret\n"
        ".cfi_endproc\n"
        ".size dlsym, .-dlsym\n");

PLAIN static find_function *libc_dlsym(void)
{
    /* dlsym is in the C library since 2.34, and in libdl before. */
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5"};
    void *found = __atomic_load_n((void **)&preload_libc_dlsym, __ATOMIC_RELAXED);
    for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (!found)
        abort(); /* no call of the process could be answered */
    __atomic_store_n((void **)&preload_libc_dlsym, found, __ATOMIC_RELAXED);
    find_function *function;
    memcpy(&function, &found, sizeof function);
    return function;
}

PLAIN void *__wrap_dlsym(void *handle, const char *name)
{
    return libc_dlsym()(handle, name);
}

/* ---- the driver ---- */

struct answer {
    const char *symbol, *name;
    int since;
    bool per_thread;
    size_t offset; /* of the driver's function, in struct preload_driver */
    void *function;
};

#define X(symbol, name, since, per_thread)                                                         \
    {#symbol, name, since, per_thread, offsetof(struct preload_driver, symbol), (void *)symbol},
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
static const struct answer answers[] = {PRELOAD_LIST(X)};
#pragma GCC diagnostic pop
#undef X
enum { ANSWERS = sizeof answers / sizeof *answers };

/* Names with Alloc or Free in them that are not served and need not be: memory of the host, and
 * what works on memory that the driver itself gave out. The first versions of cuMemAlloc and
 * cuMemFree have addresses of 32 bits. */
static const char *const harmless[] = {"cuMemAlloc",
                                       "cuMemFree",
                                       "cuMemAllocPitch",
                                       "cuMemAllocHost",
                                       "cuMemAllocHost_v2",
                                       "cuMemHostAlloc",
                                       "cuMemFreeHost",
                                       "cuMemAddressFree",
                                       "cuMemGetAllocationGranularity",
                                       "cuMemGetAllocationPropertiesFromHandle"};

static void *function_of(const struct preload_driver *driver, const struct answer *answer)
{
    void *function;
    memcpy(&function, (const char *)driver + answer->offset, sizeof function);
    return function;
}

static void find_all(void *library, struct preload_driver *driver)
{
    find_function *find = libc_dlsym();
    for (unsigned i = 0; i < ANSWERS; i++) {
        void *found = find(library, answers[i].symbol);
        memcpy((char *)driver + answers[i].offset, &found, sizeof found);
    }
#define X(symbol) *(void **)&driver->symbol = find(library, #symbol);
    PRELOAD_CALLS(X)
#undef X
}

/* A driver of a later major version than the headers may have functions that allocate and are
 * unknown here. */
static void check_version(const struct preload_driver *driver)
{
    int version = 0;
    bool is_whole = true;
#define X(symbol) is_whole &= driver->symbol != NULL;
    PRELOAD_CALLS(X)
#undef X
    if (is_whole)
        driver->cuDriverGetVersion(&version);
    if (!is_whole || version < 11020)
        preload_refuse("the driver is too old: that of CUDA 11.2 is needed");
    else if (version / 1000 > CUDA_VERSION / 1000)
        preload_refuse("the driver is that of CUDA %d.%d, and this build knows CUDA up to %d",
                       version / 1000, version % 1000 / 10, CUDA_VERSION / 1000);
}

/* Two threads may both look; one of them has its result taken. */
const struct preload_driver *preload_driver(void)
{
    static struct preload_driver *known;
    struct preload_driver *driver = __atomic_load_n(&known, __ATOMIC_ACQUIRE), *none = NULL;
    void *library = driver ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        return driver;
    driver = calloc(1, sizeof *driver);
    if (!driver)
        return NULL;
    find_all(library, driver);
    if (__atomic_compare_exchange_n(&known, &none, driver, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        check_version(driver);
        return driver;
    }
    free(driver);
    return none;
}

/* ---- refusals ---- */

static char refusal[500];
static int refusal_state; /* 1: being written; 2: there */

const char *preload_refusal(void)
{
    return __atomic_load_n(&refusal_state, __ATOMIC_ACQUIRE) ? refusal : NULL;
}

void preload_refuse(const char *format, ...)
{
    int none = 0;
    if (!__atomic_compare_exchange_n(&refusal_state, &none, 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(refusal, sizeof refusal, format, arguments);
    va_end(arguments);
    __atomic_store_n(&refusal_state, 2, __ATOMIC_RELEASE);
    fprintf(stderr, "gamut: not serving: %s: the driver has all requests from here on\n", refusal);
}

/* A function that takes or gives memory, and is of a later CUDA than this build. */
static void look_at_unknown(const char *name)
{
    if (strncmp(name, "cuMem", 5) != 0 || !(strstr(name, "Alloc") || strstr(name, "Free")))
        return;
    for (unsigned i = 0; i < ANSWERS; i++)
        if (strcmp(answers[i].symbol, name) == 0 || strcmp(answers[i].name, name) == 0)
            return;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strcmp(harmless[i], name) == 0)
            return;
    preload_refuse("the program asks for %.100s, which this build does not know", name);
}

/* ---- answers ---- */

/* A function of the driver is asked for. */
static void *answer_symbol(find_function *find, void *handle, const char *name)
{
    const struct preload_driver *driver = preload_driver();
    unsigned i = 0;
    while (i < ANSWERS && strcmp(answers[i].symbol, name) != 0)
        i++;
    void *found = driver ? find(handle, name) : NULL;
    if (!found)
        return NULL;
    if (i == ANSWERS)
        look_at_unknown(name);
    return i < ANSWERS && found == function_of(driver, &answers[i]) ? answers[i].function : NULL;
}

PLAIN void *preload_dlsym_answer(void *handle, const char *name)
{
    find_function *find = libc_dlsym();
    const bool is_of_driver = name && name[0] == 'c' && name[1] == 'u';
    return is_of_driver && handle != RTLD_NEXT && handle != RTLD_DEFAULT
               ? answer_symbol(find, handle, name)
               : NULL;
}

/* The driver's flag for callers whose default stream is the thread's own. */
enum { PER_THREAD_DEFAULT_STREAM = 2 };

void *preload_answer_of(const char *name, void *found, int version, cuuint64_t flags)
{
    const bool per_thread = flags & PER_THREAD_DEFAULT_STREAM;
    const struct preload_driver *driver = preload_driver();
    const struct answer *answer = NULL;
    bool is_known = false;
    if (!found || !name || !driver)
        return found;
    for (unsigned i = 0; i < ANSWERS; i++) {
        const struct answer *a = &answers[i];
        if (strcmp(a->name, name) != 0)
            continue;
        is_known = true;
        if (a->since <= version && (!a->per_thread || per_thread) && function_of(driver, a))
            answer = a;
    }
    if (!is_known)
        look_at_unknown(name);
    if (is_known && version > CUDA_VERSION)
        preload_refuse("the program asks for the %.100s of CUDA %d.%d, and this build knows CUDA "
                       "up to %d.%d",
                       name, version / 1000, version % 1000 / 10, CUDA_VERSION / 1000,
                       CUDA_VERSION % 1000 / 10);
    return answer && version <= CUDA_VERSION ? answer->function : found;
}
