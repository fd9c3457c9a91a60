/* Compiling kernels of the host device with the machine's C compiler. */
#ifndef GAMUT_DEVICE_HOST_BUILD_H
#define GAMUT_DEVICE_HOST_BUILD_H

#include "base/error.h"

/* The commands that are tried, in this order: $CC alone if that is set, else cc, gcc and clang.
 * Ends with NULL. A command may have several words. */
void host_compilers(const char *commands[4]);

/* Compiles C text to a shared library and loads it; the caller dlcloses *library. `name` stands in
 * messages. ERR_UNSUPPORTED where there is no compiler, ERR_BUILD with the compiler's log. Nothing
 * is left in the file system. */
int host_build(const char *name, const char *text, void **library, struct error *error);

#endif
