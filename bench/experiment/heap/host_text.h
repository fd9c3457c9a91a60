/* The kernels' text compiled as C: each file that includes this has functions of its own. */
#pragma once

#include <stdint.h>

#include "experiment/heap/heap_layout.h"

typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
#define FN static inline
#define GAMUT_GLOBAL
#define GAMUT_KERNEL(items) static

#include "experiment/heap/index.kernel"

#include "experiment/heap/heap.kernel"

#include "experiment/heap/walk.kernel"
