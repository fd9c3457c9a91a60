// Runs the main function of another program again and again, as if it were a step of a loop. The program's source is
// included as it is, and what it prints is not shown.
//   nvcc -DEXAMPLE='"sort.cu"' scripts/serve_example.cu
//   serve_example 0 STEPS [turns]     as serve_steps.h says; the sum is of all that was printed
// Programs written for earlier versions of Thrust derive from what later versions have no more.
#include <thrust/version.h>
#if THRUST_VERSION >= 300000
namespace thrust {
template <typename A, typename R> struct unary_function {};
template <typename A, typename B, typename R> struct binary_function {};
}
#endif
#define main example_main
#include EXAMPLE
#undef main
#include "serve_steps.h"
#include <iostream>
#include <unistd.h>

static FILE *printed;

static unsigned long long sum_of_printed() {
    unsigned long long sum = 0;
    fflush(stdout);
    std::cout.flush();
    rewind(printed);
    for (int c; (c = fgetc(printed)) != EOF;)
        sum = sum * 31 + (unsigned)c;
    rewind(printed);
    return ftruncate(fileno(printed), 0) ? 0 : sum;
}

static unsigned long long do_step(unsigned, unsigned) {
    if (example_main())
        exit(1);
    return sum_of_printed();
}

int main(int argc, char **argv) {
    FILE *own = fdopen(dup(1), "w");
    printed = tmpfile();
    if (!printed || dup2(fileno(printed), 1) < 0)
        return 1;
    return time_steps(argc, argv, own, do_step);
}
