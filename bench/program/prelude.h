/* The text in front of generated kernels. */
#ifndef GAMUT_PROGRAM_PRELUDE_H
#define GAMUT_PROGRAM_PRELUDE_H

#include "base/kernel_language.h"

/* Types, functions and the GAMUT_ macros that generate.c writes; a constant. */
const char *prelude_text(enum kernel_language language);

#endif
