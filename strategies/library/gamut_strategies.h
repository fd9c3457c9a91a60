/* The allocator strategies as a library, libgamut_strategies.a: what a runtime includes that lifts
 * one of them.
 *
 * The caller fills in a `struct source`, which says how it gets memory from its driver
 * (alloc/source.h and the optional tables). It finds a strategy by the text that `gamut run -s`
 * takes (allocator_parse), and opens it over the source (allocator_open). README.md of this folder
 * has a program. The functions do no locking: an allocator and its source belong to one thread at a
 * time. They do not look for misuse: a block that is freed twice, freed by another allocator, or
 * used after allocator_close, is undefined behavior, as with free(3). gamut serve does look.
 *
 * The library exports names that begin with allocator_, source_, error_, clock_ and
 * gamut_strategies_, and no other. It needs the C library and POSIX threads alone. It is not
 * libgamut_alloc.so, which brings driver, threads and recording along and takes the place of a
 * framework's own allocator (bench/inside/gamut_alloc.h).
 */
#pragma once

/* The version of the interface: of the structs, hooks and functions below. It grows when a caller,
 * or a strategy of a caller's own, must change or be compiled again. It does not grow with the
 * version of gamut, and policies may change under one number. */
#define GAMUT_STRATEGIES_API 7

/* C++ compilers take the system's headers as they are, outside of extern "C". */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "alloc/allocator.h"
#include "alloc/planned/plans.h"
#include "alloc/registry.h"
#include "alloc/source_pool.h"
#include "alloc/source_sub_buffer.h"
#include "alloc/source_vm.h"

#define GAMUT_STRATEGIES_JOIN(name, version) name##version
#define GAMUT_STRATEGIES_NAME(name, version) GAMUT_STRATEGIES_JOIN(name, version)
/* A program links with an archive of the version that it was compiled with, and with no other. */
#define gamut_strategies_archive                                                                   \
    GAMUT_STRATEGIES_NAME(gamut_strategies_archive_, GAMUT_STRATEGIES_API)
extern const int gamut_strategies_archive;
__attribute__((used)) static const int *const gamut_strategies_needed = &gamut_strategies_archive;

#ifdef __cplusplus
}
#endif
