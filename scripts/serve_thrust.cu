// A program of Thrust that knows nothing of gamut. Each step makes, transforms, sorts, scans and reduces
// a vector, so its allocations are those of the vector and of Thrust's own temporaries.
//   serve_thrust ELEMENTS STEPS [turns]     as serve_steps.h says
#include "serve_steps.h"
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

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
    return time_steps(argc, argv, stdout, do_step);
}
