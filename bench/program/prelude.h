/* The text that precedes generated kernels. */
#pragma once

#include "base/kernel_language.h"

/* Defines the types, functions and GAMUT_ macros that generated kernels use. A constant text. */
const char *prelude_text(enum kernel_language language);
