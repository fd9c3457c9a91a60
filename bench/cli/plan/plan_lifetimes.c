#include "cli/plan/plan_lifetimes.h"

#include "base/text.h"
#include "merge/pack/pack_read.h"

static int64_t to_ns(double seconds)
{
    return seconds >= 9e9 ? INT64_MAX : seconds > 0 ? (int64_t)(seconds * 1e9) : 0;
}

static void print_summary(const struct pack_table *table, const struct pack_result *result,
                          int64_t capacity)
{
    char time[32];
    const double bound = result->lower_bound ? (double)result->lower_bound : 1;
    fprintf(stderr, "%zu buffers, height %lld bytes, lower bound %lld, gap %.2f %%, ", table->count,
            (long long)result->height, (long long)result->lower_bound,
            100.0 * (double)(result->height - result->lower_bound) / bound);
    if (capacity >= 0 && !result->optimal)
        fprintf(stderr, "within %lld", (long long)capacity);
    else
        fputs(result->optimal ? "optimal" : "not proven (time limit)", stderr);
    fprintf(stderr, "; by %s, %llu nodes, %s\n", result->method, (unsigned long long)result->nodes,
            text_ns(time, (double)result->elapsed_ns));
}

static int check_capacity(const char *path, const struct pack_result *result, int64_t capacity,
                          struct error *error)
{
    if (capacity < 0 || result->height <= capacity)
        return 0;
    if (result->lower_bound > capacity)
        return error_set(error, ERR_OOM,
                         "%s: the buffers do not fit into %lld bytes: no plan is lower than %lld",
                         path, (long long)capacity, (long long)result->lower_bound);
    return error_set(
        error, ERR_OOM,
        "%s: no plan within %lld bytes was found in time, nor a proof that there is "
        "none: the lowest found is %lld, the lower bound %lld; try a longer time limit",
        path, (long long)capacity, (long long)result->height, (long long)result->lower_bound);
}

int plan_lifetimes(const char *path, int64_t capacity, double time_limit_s, struct error *error)
{
    struct pack_table table;
    struct pack_result result;
    int code = pack_read_file(path, &table, error);
    if (code)
        return code;
    const struct pack_options options = {.time_limit_ns = to_ns(time_limit_s),
                                         .capacity = capacity > 0 ? capacity : 0};
    code = pack_solve(table.buffers, table.count, &options, &result, error);
    if (!code)
        code = check_capacity(path, &result, capacity, error);
    if (!code) {
        pack_write(&table, result.offset, stdout);
        print_summary(&table, &result, capacity);
    }
    pack_result_free(&result);
    pack_table_free(&table);
    return code;
}
