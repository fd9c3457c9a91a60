/* The allocator strategies, in the order in which `gamut list` shows them.
 *
 * X(name): NAME.c, in this folder or in one of its own, defines `const struct allocator_ops
 * allocator_NAME`.
 */
#pragma once

#include "alloc/allocator.h"

#define ALLOCATOR_LIST(X)                                                                          \
    X(null)                                                                                        \
    X(raw)                                                                                         \
    X(pool)                                                                                        \
    X(tagged)                                                                                      \
    X(bufalloc)                                                                                    \
    X(tlsf)                                                                                        \
    X(bfc)                                                                                         \
    X(cupy)                                                                                        \
    X(rmm)                                                                                         \
    X(arena)                                                                                       \
    X(blocks)                                                                                      \
    X(buddy)                                                                                       \
    X(ggml)                                                                                        \
    X(caching)                                                                                     \
    X(stream)                                                                                      \
    X(vmm)                                                                                         \
    X(planned)

#define X(name) extern const struct allocator_ops allocator_##name;
ALLOCATOR_LIST(X)
#undef X
