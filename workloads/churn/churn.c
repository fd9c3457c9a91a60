/* The reference of churn.mem: the program counts its own iterations. */
#include "workload.h"

static int churn_check(const struct arguments *arguments, const struct host_array *results,
                       size_t result_count, double *worst_error, struct error *error)
{
    *worst_error = 0;
    if (result_count != 1 || results[0].element != ELEMENT_i64 || results[0].count != 1)
        return error_set(error, ERR_WRONG, "churn: expected one i64 as the result");
    int64_t expected = argument_i64(arguments, "pairs");
    int64_t count = *(const int64_t *)results[0].data;
    if (count != expected)
        return error_set(error, ERR_WRONG, "churn: %lld iterations were counted, expected %lld",
                         (long long)count, (long long)expected);
    return 0;
}

const struct workload workload_churn = {.check = churn_check};
