/* Kernels of experiments: one source for all languages, compiled into this binary for the host.
 *
 * A kernel is a function of its index and its arguments, in the common subset of C, OpenCL C and
 * CUDA C, in a file NAME.kernel that the build also embeds as kernel_text_NAME:
 *
 *   FN void scale_item(i64 item, GAMUT_GLOBAL u32 *x, u32 by) { x[item] *= by; }
 *
 * A C file includes it behind this header, for the host, and hands the text over for the rest.
 * The types are those of program/prelude.h: i32, u32, i64, u64, u8.
 */
#ifndef GAMUT_EXPERIMENT_KERNELS_H
#define GAMUT_EXPERIMENT_KERNELS_H

#include "device/device.h"

/* For the host, what the prelude says to the other languages. */
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef uint8_t u8;
#define FN static inline
#define GAMUT_GLOBAL

struct source_kernel {
    const char *name; /* the function is NAME_item(item, arguments...) */
    const char
        *parameters; /* "u32 *x, u32 by": i32, u32, i64 and pointers; last, always: "i64 items" */
    host_kernel_function *host; /* calls the function for begin <= item < end */
};

extern const char kernel_text_isosurface[], kernel_text_stall[];

enum { KERNEL_PARAMETERS_MAX = 20, SOURCE_KERNELS_MAX = 16 };

struct kernels_built {
    struct device *device;
    struct device_program *program;
    size_t count;
    const char *names[SOURCE_KERNELS_MAX];
    size_t argument_count[SOURCE_KERNELS_MAX];
    enum launch_arg_kind kinds[SOURCE_KERNELS_MAX][KERNEL_PARAMETERS_MAX];
    struct host_kernel host[SOURCE_KERNELS_MAX];
    char *text; /* owned; forms of the program may be compiled from it later */
};

/* `functions`: the text. The result must not move while it is used. */
int kernels_build(struct device *device, const char *name, const char *functions,
                  const struct source_kernel *kernels, size_t count, struct kernels_built *built,
                  struct error *error);
void kernels_unbuild(struct kernels_built *built);

/* Launches kernel number `kernel` for `items` items (0: nothing to do); the arguments are those of
 * its parameters but for `items`. */
int kernels_launch(struct kernels_built *built, size_t kernel, int64_t items,
                   const union launch_value *arguments, struct error *error);

/* For host wrappers: memory as a pointer. */
static inline void *kernel_memory(union launch_value value)
{
    return (void *)(uintptr_t)value.memory;
}

#endif
