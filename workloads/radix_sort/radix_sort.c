/* The keys of radix_sort and its reference: a counting sort of two digits of 16 bits. The
 * comparison is exact. */
#include <stdlib.h>
#include <string.h>

#include "workload.h"

enum { DIGIT_BITS = 16, DIGITS = 1 << DIGIT_BITS };

/* Uniform over all 32 bits, so that every pass moves keys, and every eighth key repeats the one
 * before it, so that equal keys occur at every size. */
static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)arguments;
    (void)name;
    (void)error;
    uint32_t *keys = array->data;
    struct random random = {seed};
    for (size_t i = 0; i < array->count; i++) {
        uint64_t r = random_u64(&random);
        keys[i] = i > 0 && (r >> 61) == 0 ? keys[i - 1] : (uint32_t)r;
    }
    return 0;
}

/* Moves the keys to `to` in the order of the digit that begins at bit `shift`. */
static void sort_by_digit(const uint32_t *from, uint32_t *to, size_t count, unsigned shift,
                          size_t *place)
{
    memset(place, 0, DIGITS * sizeof *place);
    for (size_t i = 0; i < count; i++)
        place[from[i] >> shift & (DIGITS - 1)]++;
    size_t before = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t own = place[d];
        place[d] = before;
        before += own;
    }
    for (size_t i = 0; i < count; i++)
        to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

static int compare(const uint32_t *got, const uint32_t *expected, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++)
        if (got[i] != expected[i])
            return error_set(error, ERR_WRONG, "radix_sort: sorted[%zu] is %u, expected %u", i,
                             (unsigned)got[i], (unsigned)expected[i]);
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    const struct host_array *keys = &argument(arguments, "keys")->array;
    size_t count = keys->count;
    *worst_error = 0;
    if (result_count != 1 || results[0].count != count)
        return error_set(error, ERR_WRONG, "radix_sort: %zu results, expected one of %zu keys",
                         result_count, count);
    uint32_t *half = malloc((2 * count + 1) * sizeof *half), *whole = half + count;
    size_t *place = malloc(DIGITS * sizeof *place);
    int code = 0;
    if (!half || !place) {
        code = error_set(error, ERR_HOST_MEMORY,
                         "radix_sort: no memory for the reference's %zu keys", 2 * count);
    } else {
        sort_by_digit(keys->data, half, count, 0, place);
        sort_by_digit(half, whole, count, DIGIT_BITS, place);
        code = compare(results[0].data, whole, count, error);
    }
    free(place);
    free(half);
    return code;
}

const struct workload workload_radix_sort = {.fill = fill, .check = check};
