/* Runs kernels of a program on the host with a result in the memory of another array, thread by
 * thread in several orders: does the answer stay what it was? */
#ifndef GAMUT_TESTS_KERNEL_RUN_H
#define GAMUT_TESTS_KERNEL_RUN_H

#include "program/program.h"

enum { RUN_EXTENT = 8 }; /* of every dimension of every array */

struct kernel_run;

/* Compiles all kernels of the program, whose i64 parameters will be RUN_EXTENT. NULL with a message
 * where there is no C compiler. */
struct kernel_run *kernel_run_open(struct program *program, struct error *error);
void kernel_run_close(struct kernel_run *run);

/* Runs a kernel that stands at the top of a fun as it is, and again with result `out` where
 * `killed` lies. True if anything that it writes differs, the threads' order being the same. */
bool kernel_run_differs(struct kernel_run *run, const struct fun *fun, const struct stm *stm,
                        int out, int killed);

#endif
