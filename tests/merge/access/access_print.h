/* The results of the access analysis of a kernel, as text. */
#pragma once

#include "base/text.h"
#include "merge/access/access.h"

/* A line for the kernel and one for each access:
 * `  7 read   x[i + 1, for k, ?] in for k` is a read in line 7 at [thread index i plus one, counter
 * of the loop of k, anything], inside that loop. */
void access_print(const struct kernel_access *ka, struct text *out);

/* access_question.same_place, of a struct fun: are the index functions spelt alike? */
bool access_spelt_same_place(void *context, int out, int killed);
