/* Runs kernels of a program on the host with a result in the memory of another array, thread by
 * thread in several orders, and checks that the answer stays the same. */
#pragma once

#include "program/program.h"

enum { RUN_EXTENT = 8 }; /* extent of every dimension of every array */

struct kernel_run;

/* Compiles all kernels of the program, whose i64 parameters will be RUN_EXTENT. Returns NULL and
 * sets the error if there is no C compiler. */
struct kernel_run *kernel_run_open(struct program *program, struct error *error);
/* Frees what kernel_run_open made. */
void kernel_run_close(struct kernel_run *run);

/* Runs a kernel at the top level of a fun as it is, and again with the result `out` in the memory
 * of `killed`. True if anything that it writes differs while the order of threads is the same. */
bool kernel_run_differs(struct kernel_run *run, const struct fun *fun, const struct stm *stm,
                        int out, int killed);
