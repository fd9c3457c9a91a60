// The loop of serve_thrust and serve_example: times the steps of a program.
//   PROGRAM ELEMENTS STEPS [turns]   a first step, which warms the runtime up, and STEPS more; with `turns` STEPS more for each line of stdin
// Each of these turns prints JSON: milliseconds of the first step, of a step in the median, and of all steps of the turn; the sum of all results so far.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

static int time_steps(int argc, char **argv, FILE *to,
                      unsigned long long (*do_step)(unsigned elements, unsigned step))
{
    unsigned elements = argc > 2 ? atoi(argv[1]) : 0, steps = argc > 2 ? atoi(argv[2]) : 0;
    if (argc > 4 || steps < 1 || !to) {
        fprintf(stderr, "usage: %s ELEMENTS STEPS [turns]\n", argv[0]);
        return 2;
    }
    unsigned long long sum = 0;
    unsigned step = 0;
    cudaFree(0); // makes the context, which is in no recording
    do {
        std::vector<double> ms;
        double first_ms = 0, all_ms = 0;
        for (unsigned end = step + steps + !step; step < end; step++) {
            auto begin = std::chrono::steady_clock::now();
            sum = sum * 31 + do_step(elements, step);
            double took =
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                    .count();
            all_ms += took;
            if (step)
                ms.push_back(took);
            else
                first_ms = took;
        }
        std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
        fprintf(to,
                "{\"elements\": %u, \"steps\": %u, \"first_ms\": %.6f, \"step_ms\": %.6f, "
                "\"all_ms\": %.6f, \"sum\": \"%llu\"}\n",
                elements, steps, first_ms, ms[ms.size() / 2], all_ms, sum);
        fflush(to);
    } while (argc == 4 && fgetc(stdin) == '\n');
    return 0;
}
