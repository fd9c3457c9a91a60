/* Polynomials as text and as expressions, for tests of the size analysis. */
#pragma once

#include "base/text.h"
#include "merge/size/size.h"

/* "2*n*m + n - 1", atoms as "min(n, m + 1)". */
void sizes_print(const struct sizes *s, const struct poly *p, struct text *text);
/* p as an i64 expression in the program's arena. */
struct expr *sizes_expr(struct sizes *s, const struct poly *p);
