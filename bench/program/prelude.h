/* The text that precedes generated kernels. */
#ifndef GAMUT_PROGRAM_PRELUDE_H
#define GAMUT_PROGRAM_PRELUDE_H

#include "base/kernel_language.h"

/* Defines the types, functions and GAMUT_ macros that generated kernels use. A constant text. */
const char *prelude_text(enum kernel_language language);

#endif
