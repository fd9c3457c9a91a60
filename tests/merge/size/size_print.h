/* Polynomials as expressions, for tests of the size analysis. */
#pragma once

#include "base/text.h"
#include "merge/size/size.h"

/* p as an i64 expression in the program's arena. */
struct expr *sizes_expr(struct sizes *s, const struct poly *p);
