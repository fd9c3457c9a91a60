/* Compiling kernels of the host device with the machine's C compiler. */
#pragma once

#include "base/error.h"

/* Fills in the compilers to try, in order: $CC alone if it is set, else cc, gcc and clang. A NULL
 * ends the list. A command may have several words. */
void host_compilers(const char *commands[4]);

/* Compiles C text to a shared library and loads it; the caller dlcloses *library. `name` stands in
 * messages. ERR_UNSUPPORTED where there is no compiler, ERR_BUILD with the compiler's log. Nothing
 * is left in the file system. */
int host_build(const char *name, const char *text, void **library, struct error *error);
