/* The kernels' text compiled as C, for the host device. */
#include "experiment/heap/heap_kernels.h"

#include "experiment/heap/host_text.h"

uint64_t heap_index_words(enum device_heap_policy policy, uint64_t capacity)
{
    return policy >= DEVICE_HEAP_BEST ? TLSF_ENTRIES + TLSF_ENTRY_WORDS * capacity
                                      : HEAP_HEADER_WORDS + HEAP_ENTRY_WORDS * (capacity + 1);
}

/* ---- for the host device ---- */

static u32 *words_of(union launch_value value)
{
    return (u32 *)(uintptr_t)value.memory;
}

static void run_init(const union launch_value *a, int64_t begin, int64_t end)
{
    if (begin < end)
        heap_init(words_of(a[0]), words_of(a[1]), words_of(a[2]), a[3].u32, a[4].u32, a[5].u32,
                  a[6].u32, a[7].u32);
}

static void run_ops(const union launch_value *a, int64_t begin, int64_t end)
{
    if (begin < end)
        heap_ops(words_of(a[0]), words_of(a[1]), words_of(a[2]), words_of(a[3]), a[4].u32, a[5].u32,
                 a[6].u32, a[7].u32, a[8].u32, a[9].u32, a[10].u32, words_of(a[11]), a[12].u32);
}

static void run_check(const union launch_value *a, int64_t begin, int64_t end)
{
    if (begin < end)
        heap_check(words_of(a[0]), words_of(a[1]), words_of(a[2]), words_of(a[3]), a[4].u32,
                   a[5].u32, a[6].u32, a[7].u32, a[8].u32);
}

const char *const heap_kernel_names[HEAP_KERNELS] = {
    [HEAP_KERNEL_INIT] = "heap_init",
    [HEAP_KERNEL_OPS] = "heap_ops",
    [HEAP_KERNEL_CHECK] = "heap_check",
};

const struct host_kernel heap_host_kernels[HEAP_KERNELS] = {
    [HEAP_KERNEL_INIT] = {"heap_init", run_init},
    [HEAP_KERNEL_OPS] = {"heap_ops", run_ops},
    [HEAP_KERNEL_CHECK] = {"heap_check", run_check},
};
