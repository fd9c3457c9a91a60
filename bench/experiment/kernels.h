/* Kernels of experiments: one source for all languages, compiled into this binary for the host.
 *
 * A kernel is a function of its index and its arguments, in the common subset of C, OpenCL C and
 * CUDA C, in a file NAME.kernel that the build also embeds as kernel_text_NAME:
 *
 *   FN void scale_item(i64 item, GAMUT_GLOBAL u32 *x, u32 by) { x[item] *= by; }
 *
 * A C file includes it after this header, for the host, and passes the text to kernels_build for
 * the other languages. The types are those of program/prelude.h: i32, u32, i64, u64, u8.
 */
#pragma once

#include "device/device.h"

/* The prelude of the other languages, for the host. */
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef uint8_t u8;
#define FN static inline
#define GAMUT_GLOBAL

struct source_kernel {
    const char *name;           /* the function is NAME_item(item, arguments...) */
    const char *parameters;     /* "u32 *x, u32 by": i32, u32, i64 and pointers */
    host_kernel_function *host; /* host_NAME of KERNEL_ON_HOST */
};

/* Defines host_NAME, which calls NAME_item for the items begin <= item < end. The arguments after
 * the name are those of the function, in terms of the launch's arguments: a[1].u32, and
 * kernel_memory(a[0]) for a pointer. */
#define KERNEL_ON_HOST(name, ...)                                                                  \
    static void host_##name(const union launch_value *a, int64_t begin, int64_t end)               \
    {                                                                                              \
        for (int64_t item = begin; item < end; item++)                                             \
            name##_item(item, __VA_ARGS__);                                                        \
    }
static inline void *kernel_memory(union launch_value value)
{
    return (void *)(uintptr_t)value.memory;
}

extern const char kernel_text_isosurface[];

enum { KERNEL_PARAMETERS_MAX = 20, SOURCE_KERNELS_MAX = 16 };

struct kernels_built {
    struct device *device;
    struct device_program *program;
    size_t count;
    const char *names[SOURCE_KERNELS_MAX];
    size_t argument_count[SOURCE_KERNELS_MAX];
    enum launch_arg_kind kinds[SOURCE_KERNELS_MAX][KERNEL_PARAMETERS_MAX];
    struct host_kernel host[SOURCE_KERNELS_MAX];
    char *text; /* owned; variants of the program may be compiled from it later */
};

/* Builds the kernels of a source file, whose text is `functions`. `built` must not move while it is
 * used. On an error nothing is held. ERR_BUILD has the compiler's message. */
int kernels_build(struct device *device, const char *name, const char *functions,
                  const struct source_kernel *kernels, size_t count, struct kernels_built *built,
                  struct error *error);
/* Frees the kernels. */
void kernels_unbuild(struct kernels_built *built);

/* Launches kernel number `kernel` for `items` items, 0 included. `arguments` has one for each of
 * its parameters. */
int kernels_launch(struct kernels_built *built, size_t kernel, int64_t items,
                   const union launch_value *arguments, struct error *error);
