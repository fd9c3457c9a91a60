/* The text that precedes the kernels in each language, so that a body means the same in all. */
#include "program/prelude.h"

/* Functions get their C names; OpenCL has one name for all types. Products and sums are not
 * contracted (PoCL and NVIDIA would). Division and square root are rounded correctly if the device
 * can.
 *
 * GAMUT_FOR loops over a dimension that may be larger than its grid. A CUDA grid has at most 65535
 * blocks in y and z. An OpenCL grid is never smaller, and a loop there would keep PoCL from
 * vectorising over x (11 GB/s without, 1.7 GB/s with). Grids of the variants KERNEL_NEAR and
 * KERNEL_APART cover the whole dimension.
 *
 * GAMUT_INT is the type of indices times strides: products of 64 bits take a GPU several
 * instructions each, and make a stencil on an H200 twice as slow as its memory. */
#define VARIANTS(restrict_word)                                                                    \
    "#if GAMUT_VARIANT == 0\n"                                                                     \
    "#define GAMUT_INT i64\n"                                                                      \
    "#else\n"                                                                                      \
    "#define GAMUT_INT i32\n"                                                                      \
    "#endif\n"                                                                                     \
    "#if GAMUT_VARIANT == 2\n"                                                                     \
    "#define GAMUT_RESTRICT " restrict_word "\n"                                                   \
    "#else\n"                                                                                      \
    "#define GAMUT_RESTRICT\n"                                                                     \
    "#endif\n"                                                                                     \
    "#define GAMUT_ASSUME(x)\n"                                                                    \
    "#ifdef __has_builtin\n"                                                                       \
    "#if __has_builtin(__builtin_assume)\n"                                                        \
    "#undef GAMUT_ASSUME\n"                                                                        \
    "#define GAMUT_ASSUME(x) __builtin_assume(x)\n"                                                \
    "#endif\n"                                                                                     \
    "#endif\n"

_Static_assert(KERNEL_ANY == 0 && KERNEL_APART == 2, "the numbers of the variants, as in VARIANTS");

/* The fast path of NVIDIA's square root, made correct for every number: correctly rounded, compared
 * for all 2^32. NVIDIA's compilers branch to a slow path for tiny numbers and NaN, and no load of a
 * thread's next item moves across a branch. With four items a thread, Sobel's operator takes an
 * H200 240 µs a 64-megapixel image with the compiler's root and 227 with this one. Numbers below
 * 2^-100 are scaled by an even power of two. */
#define BRANCHLESS_ROOT                                                                            \
    "FN f32 gamut_root(f32 x) {\n"                                                                 \
    "    const bool tiny = x < 0x1p-100f;\n"                                                       \
    "    const f32 scaled = tiny ? x * 0x1p64f : x;\n"                                             \
    "    f32 r;\n"                                                                                 \
    "    asm(\"rsqrt.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(scaled));\n"                     \
    "    f32 s = scaled * r;\n"                                                                    \
    "    s = fmaf(fmaf(-s, s, scaled), 0.5f * r, s);\n"                                            \
    "    s = tiny ? s * 0x1p-32f : s;\n"                                                           \
    "    return x == 0.0f || x == INFINITY ? x : s;\n"                                             \
    "}\n"                                                                                          \
    "#undef sqrtf\n"                                                                               \
    "#define sqrtf(x) gamut_root(x)\n"

static const char opencl[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#ifdef cl_khr_fp64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "typedef double f64;\n"
    "#endif\n"
    "typedef char i8; typedef uchar u8; typedef int i32; typedef uint u32;\n"
    "typedef long i64; typedef ulong u64; typedef float f32;\n"
    "#define sqrtf(x) sqrt((f32)(x))\n"
    "#define fabsf(x) fabs((f32)(x))\n"
    "#define floorf(x) floor((f32)(x))\n"
    "#define ceilf(x) ceil((f32)(x))\n"
    "#define expf(x) exp((f32)(x))\n"
    "#define logf(x) log((f32)(x))\n"
    "#define sinf(x) sin((f32)(x))\n"
    "#define cosf(x) cos((f32)(x))\n"
    "#define fminf(x, y) fmin((f32)(x), (f32)(y))\n"
    "#define fmaxf(x, y) fmax((f32)(x), (f32)(y))\n"
    "#define powf(x, y) pow((f32)(x), (f32)(y))\n"
    "#define atan2f(x, y) atan2((f32)(x), (f32)(y))\n"
    "#define fmaf(x, y, z) fma((f32)(x), (f32)(y), (f32)(z))\n"
    "#define FN static inline\n"
    "#ifdef __NV_CL_C_VERSION\n" BRANCHLESS_ROOT "#endif\n"
    "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n"
    "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n"
    "#define GAMUT_KERNEL(items) __kernel\n"
    "#define GAMUT_GLOBAL __global\n"
    "#define GAMUT_LOCAL __local\n"
    "#define GAMUT_X get_global_id(0)\n"
    "#define GAMUT_Y get_global_id(1)\n"
    "#define GAMUT_Z get_global_id(2)\n"
    "#define GAMUT_FOR(i, first, end) const GAMUT_INT i = (GAMUT_INT)(first); if (i < "
    "(GAMUT_INT)(end))\n"
    "#define GAMUT_X_ITEMS (i32)get_local_size(0)\n"
    "#define GAMUT_X_BATCH(n) (i32)(get_group_id(0) * get_local_size(0) * n + get_local_id(0))\n"
    "#define GAMUT_GROUP get_group_id(0)\n"
    "#define GAMUT_ITEM get_local_id(0)\n"
    "#define GAMUT_BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n"
    "#define GAMUT_FROM(offset) (GAMUT_INT)offset\n" VARIANTS("restrict");

static const char cuda[] =
    "typedef signed char i8; typedef unsigned char u8; typedef int i32; typedef unsigned u32;\n"
    "typedef long long i64; typedef unsigned long long u64; typedef float f32; typedef double "
    "f64;\n"
    "#define FN static __device__ __forceinline__\n"
    "#define INFINITY __int_as_float(0x7f800000)\n" BRANCHLESS_ROOT
    "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n"
    "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n"
    "#define GAMUT_KERNEL(items) extern \"C\" __global__ __launch_bounds__(items)\n"
    "#define GAMUT_GLOBAL\n"
    "#define GAMUT_LOCAL __shared__\n"
    "#define GAMUT_FROM(offset) 0\n" /* the memory's address has it */
    VARIANTS(
        "__restrict__") "#define GAMUT_X ((GAMUT_INT)blockIdx.x * (GAMUT_INT)blockDim.x + "
                        "(GAMUT_INT)threadIdx.x)\n"
                        "#define GAMUT_Y ((GAMUT_INT)blockIdx.y * (GAMUT_INT)blockDim.y + "
                        "(GAMUT_INT)threadIdx.y)\n"
                        "#define GAMUT_Z ((GAMUT_INT)blockIdx.z * (GAMUT_INT)blockDim.z + "
                        "(GAMUT_INT)threadIdx.z)\n"
                        "#if GAMUT_VARIANT == 0\n"
                        "#define GAMUT_Y_COUNT ((i64)gridDim.y * blockDim.y)\n"
                        "#define GAMUT_Z_COUNT ((i64)gridDim.z * blockDim.z)\n"
                        "#define GAMUT_FOR(i, first, end) for (i64 i = (first); i < (end); i += "
                        "first##_COUNT)\n"
                        "#else\n"
                        "#define GAMUT_FOR(i, first, end) const i32 i = (first); if (i < "
                        "(i32)(end))\n"
                        "#endif\n"
                        "#define GAMUT_X_ITEMS (i32)blockDim.x\n"
                        "#define GAMUT_X_BATCH(n) (i32)(blockIdx.x * blockDim.x * n + "
                        "threadIdx.x)\n"
                        "#define GAMUT_GROUP blockIdx.x\n"
                        "#define GAMUT_ITEM threadIdx.x\n"
                        "#define GAMUT_BARRIER __syncthreads()\n";

/* Threads of a launch do not depend on each other; `ivdep` says so to the vectoriser. The clones
 * let one binary use the vector units of the processor that it runs on. */
static const char host[] =
    "#include <math.h>\n"
    "#include <stdbool.h>\n"
    "#include <stdint.h>\n"
    "typedef int8_t i8; typedef uint8_t u8; typedef int32_t i32; typedef uint32_t u32;\n"
    "typedef int64_t i64; typedef uint64_t u64; typedef float f32; typedef double f64;\n"
    "#define FN static inline __attribute__((always_inline))\n"
    "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n"
    "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n"
    "union launch_value { uint64_t memory; int32_t i32; uint32_t u32; int64_t i64; uint8_t u8;\n"
    "                     uint8_t boolean; float f32; double f64; };\n"
    "struct host_kernel { const char *name;\n"
    "    void (*run)(const union launch_value *, int64_t, int64_t); };\n"
    "#if defined(__clang__)\n"
    "#define GAMUT_CLONES\n"
    "#define GAMUT_ITEMS _Pragma(\"clang loop vectorize(enable)\")\n"
    "#else\n"
    "#define GAMUT_ITEMS _Pragma(\"GCC ivdep\")\n"
    "#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(GAMUT_NO_CLONES)\n"
    "#define GAMUT_CLONES __attribute__((target_clones(\"arch=x86-64-v4\", \"arch=x86-64-v3\", "
    "\"default\")))\n"
    "#else\n"
    "#define GAMUT_CLONES\n"
    "#endif\n"
    "#endif\n"
    "#ifndef GAMUT_ENTRY\n" /* `static` where the kernels are part of a binary */
    "#define GAMUT_ENTRY\n"
    "#endif\n"
    "#define GAMUT_GLOBAL\n"
    "#define GAMUT_LOCAL\n";

const char *prelude_text(enum kernel_language language)
{
    switch (language) {
    case KERNEL_OPENCL_C:
        return opencl;
    case KERNEL_CUDA_C:
        return cuda;
    default:
        return host;
    }
}
