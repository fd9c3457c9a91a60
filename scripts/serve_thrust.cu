// A program of Thrust that knows nothing of gamut. Each step makes, transforms, sorts, scans and reduces
// a vector, so its allocations are those of the vector and of Thrust's own temporaries.
//   serve_thrust ELEMENTS STEPS     prints JSON: milliseconds a step in the median, and of all steps with the first; the sum of all results
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <vector>

struct scramble {
    unsigned step;
    __host__ __device__ unsigned operator()(unsigned i) const {
        unsigned x = (i + step) * 2654435761u;
        return x ^ (x >> 15);
    }
};

static unsigned long long do_step(unsigned elements, unsigned step) {
    thrust::device_vector<unsigned> values(elements);
    thrust::counting_iterator<unsigned> first(0);
    thrust::transform(first, first + elements, values.begin(), scramble{step});
    thrust::sort(values.begin(), values.end());
    thrust::device_vector<unsigned long long> sums(elements);
    thrust::inclusive_scan(values.begin(), values.end(), sums.begin(), thrust::plus<unsigned long long>());
    return thrust::reduce(sums.begin(), sums.end(), 0ull) + thrust::reduce(values.begin(), values.end(), 0u);
}

int main(int argc, char **argv) {
    if (argc != 3 || atoi(argv[1]) < 1 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: serve_thrust ELEMENTS STEPS\n");
        return 2;
    }
    unsigned elements = atoi(argv[1]), steps = atoi(argv[2]);
    unsigned long long sum = 0;
    std::vector<double> ms;
    double all_ms = 0;
    cudaFree(0); // makes the context, which is in no recording
    for (unsigned step = 0; step <= steps; step++) {
        auto begin = std::chrono::steady_clock::now();
        sum = sum * 31 + do_step(elements, step);
        double took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        all_ms += took;
        if (step) // the first one warms the runtime up
            ms.push_back(took);
    }
    std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
    printf("{\"elements\": %u, \"steps\": %u, \"step_ms\": %.6f, \"all_ms\": %.6f, \"sum\": \"%llu\"}\n", elements, steps,
           ms[ms.size() / 2], all_ms, sum);
}
