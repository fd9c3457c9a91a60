/* backprop's direction numbers and its reference: the same training step in double precision, from
 * a Sobol sequence that goes from point to point as Antonov and Saleev (1979) do.
 */
#include <math.h>
#include <stdlib.h>

#include "workload.h"

enum { BITS = 30 };

/* Relative to an array's largest value. Products and sums of some thousand values are rounded to
 * 6e-8; in the sums such errors have either sign. Measured: 3e-7. */
static const double TOLERANCE = 3e-6;

/* Bit b of the direction number is the highest one set, so any lower ones make a sequence that
 * visits every interval of length 2^-k once in 2^k points. */
static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    struct random random = {seed};
    uint32_t *directions = array->data;
    (void)arguments;
    (void)name;
    (void)error;
    for (size_t b = 0; b < array->count; b++) {
        uint32_t highest = 1u << (BITS - 1 - b);
        directions[b] = highest | (uint32_t)random_below(&random, highest);
    }
    return 0;
}

/* ---- reference ----------------------------------------------------------------------------- */

struct sobol {
    const uint32_t *directions;
    uint32_t index, point;
};

/* The next point, in [0, 1): one direction number away from the one before. */
static double next_point(struct sobol *s)
{
    uint32_t changed = ++s->index;
    unsigned b = 0;
    while (!(changed & 1)) {
        changed >>= 1;
        b++;
    }
    s->point ^= s->directions[b];
    return (double)s->point / (double)((1 << BITS) + 1);
}

/* A layer's weights with their unused column 0: [units + 1][width + 1]. */
static void draw_layer(struct sobol *s, double *weights, int64_t units, int64_t width, double scale)
{
    for (int64_t i = 0; i < (units + 1) * (width + 1); i++)
        weights[i] = scale * (next_point(s) - 0.5);
}

static double squash(double v)
{
    return 1 / (1 + exp(-v));
}

struct network {
    int64_t in, hidden;
    double *weights, *units;               /* [in + 1][hidden + 1], [in] */
    double *hidden_weights, *hidden_units; /* [hidden + 1][2], [hidden] */
    double *hidden_delta, *hidden_sums;    /* [hidden] */
    double output_error, hidden_error;
};

static int network_open(struct network *n, struct error *error)
{
    size_t rows = (size_t)n->in + 1, columns = (size_t)n->hidden + 1;
    n->weights = malloc((rows * columns + rows + 5 * columns) * sizeof *n->weights);
    if (!n->weights)
        return error_set(error, ERR_HOST_MEMORY,
                         "backprop: no memory for the reference's %zu weights", rows * columns);
    n->units = n->weights + rows * columns;
    n->hidden_weights = n->units + rows;
    n->hidden_units = n->hidden_weights + 2 * columns;
    n->hidden_delta = n->hidden_units + columns;
    n->hidden_sums = n->hidden_delta + columns;
    return 0;
}

static void draw_network(struct network *n, const uint32_t *directions)
{
    struct sobol s = {.directions = directions};
    draw_layer(&s, n->weights, n->in, n->hidden, 16 / (double)n->in);
    draw_layer(&s, n->hidden_weights, n->hidden, 1, 1);
    for (int64_t i = 0; i < n->in; i++)
        n->units[i] = next_point(&s);
}

static void feed_forward(struct network *n)
{
    int64_t columns = n->hidden + 1;
    for (int64_t h = 0; h < n->hidden; h++)
        n->hidden_sums[h] = n->weights[h + 1];
    for (int64_t i = 0; i < n->in; i++)
        for (int64_t h = 0; h < n->hidden; h++)
            n->hidden_sums[h] += n->units[i] * n->weights[(i + 1) * columns + h + 1];
    for (int64_t h = 0; h < n->hidden; h++)
        n->hidden_units[h] = squash(n->hidden_sums[h]);
}

static void learn(struct network *n)
{
    const double target = 0.1, rate = 0.3;
    int64_t columns = n->hidden + 1;
    double sum = n->hidden_weights[1];
    for (int64_t h = 0; h < n->hidden; h++)
        sum += n->hidden_units[h] * n->hidden_weights[2 * (h + 1) + 1];
    double output = squash(sum), delta = (target - output) * output * (1 - output);
    n->output_error = fabs(delta);
    n->hidden_error = 0;
    for (int64_t h = 0; h < n->hidden; h++) {
        double unit = n->hidden_units[h];
        n->hidden_delta[h] = delta * n->hidden_weights[2 * (h + 1) + 1] * unit * (1 - unit);
        n->hidden_error += fabs(n->hidden_delta[h]);
    }
    for (int64_t k = 0; k <= n->hidden; k++)
        n->hidden_weights[2 * k + 1] += rate * delta * (k ? n->hidden_units[k - 1] : 1);
    for (int64_t k = 0; k <= n->in; k++)
        for (int64_t h = 0; h < n->hidden; h++)
            n->weights[k * columns + h + 1] +=
                rate * n->hidden_delta[h] * (k ? n->units[k - 1] : 1);
}

/* ---- comparison ---------------------------------------------------------------------------- */

/* Compares with a tolerance relative to `size`, the largest value that the array can have. */
static int compare(const char *name, const struct host_array *got, const double *expected,
                   size_t count, double *worst, struct error *error)
{
    const float *values = got->data;
    double size = 0;
    if (got->count != count)
        return error_set(error, ERR_WRONG, "backprop: '%s' has %zu elements, expected %zu", name,
                         got->count, count);
    for (size_t i = 0; i < count; i++)
        size = fmax(size, fabs(expected[i]));
    for (size_t i = 0; i < count; i++) {
        double off = fabs(values[i] - expected[i]) / size;
        if (!(off <= TOLERANCE)) /* also for NaN */
            return error_set(error, ERR_WRONG,
                             "backprop: element %zu of '%s' is %.9g, expected %.9g", i, name,
                             values[i], expected[i]);
        *worst = fmax(*worst, off);
    }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    struct network n = {.in = argument_i64(arguments, "in_count"),
                        .hidden = argument_i64(arguments, "hidden")};
    *worst_error = 0;
    if (result_count != 4)
        return error_set(error, ERR_WRONG, "backprop: %zu results, expected 4", result_count);
    int code = network_open(&n, error);
    if (code)
        return code;
    draw_network(&n, argument(arguments, "directions")->array.data);
    feed_forward(&n);
    learn(&n);
    const struct {
        const char *name;
        const double *expected;
        int64_t count;
    } parts[] = {{"output_error", &n.output_error, 1},
                 {"hidden_error", &n.hidden_error, 1},
                 {"result", n.weights, (n.in + 1) * (n.hidden + 1)},
                 {"hidden_result", n.hidden_weights, 2 * (n.hidden + 1)}};
    for (size_t i = 0; i < 4 && !code; i++)
        code = compare(parts[i].name, &results[i], parts[i].expected, (size_t)parts[i].count,
                       worst_error, error);
    free(n.weights);
    return code;
}

const struct workload workload_backprop = {.fill = fill, .check = check};
