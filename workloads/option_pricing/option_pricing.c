/* Inputs and reference of option_pricing.mem and option_pricing_2022.mem.
 *
 * The inputs are a market and a table of Sobol direction numbers; both are fixed, whatever the
 * seed. The reference is the closed form for a call on one date, and otherwise the same points
 * carried through the model path by path in double: Sobol by Antonov and Saleev's recurrence
 * instead of by index, the normal quantile by a Halley step on erfc instead of AS 241, one path at
 * a time.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/option_pricing.h"

enum { MARKET_UNDERLYINGS = 3, DEGREE_MAX = 20 };

/* Three made-up indices, a year's rates and a correlation matrix. */
static const double market_rate = 0.03;
static const double market_start[MARKET_UNDERLYINGS] = {3800, 11500, 1250};
static const double market_volatility[MARKET_UNDERLYINGS] = {0.20, 0.23, 0.18};
static const double market_dividend[MARKET_UNDERLYINGS] = {0.020, 0.015, 0.010};
static const double market_correlation[MARKET_UNDERLYINGS][MARKET_UNDERLYINGS] = {
    {1.0, 0.6, 0.4}, {0.6, 1.0, 0.5}, {0.4, 0.5, 1.0}};

/* Contract 3 looks at every day, the others once a year. -1 is today. */
static double years_at(int64_t contract, int64_t date)
{
    return (double)(date + 1) / (contract == 3 ? 365.0 : 1.0);
}

/* Whether x generates all 2^degree - 1 non-zero residues of the polynomial over GF(2): bit k of
 * `polynomial` is the coefficient of x^k. */
static bool is_primitive(uint32_t polynomial, unsigned degree)
{
    uint32_t power = 1, period = 0;
    do {
        power <<= 1;
        if (power >> degree)
            power ^= polynomial;
        period++;
    } while (power != 1 && period < 1u << degree);
    return period == (1u << degree) - 1;
}

/* The direction numbers of one dimension after the first, by Sobol's recurrence. The free initial
 * numbers are odd and otherwise a hash of the dimension. */
static void fill_dimension(uint32_t *direction, unsigned bits, uint32_t polynomial, unsigned degree,
                           uint64_t dimension)
{
    for (unsigned b = 0; b < bits && b < degree; b++) {
        uint32_t below = (1u << (b + 1)) - 1;
        uint32_t initial = ((uint32_t)random_split(dimension, b) & below) | 1;
        direction[b] = initial << (bits - 1 - b);
    }
    for (unsigned b = degree; b < bits; b++) {
        direction[b] = direction[b - degree] ^ direction[b - degree] >> degree;
        for (unsigned k = 1; k < degree; k++)
            if (polynomial >> (degree - k) & 1)
                direction[b] ^= direction[b - k];
    }
}

/* Dimension 0 is van der Corput's sequence; dimension d takes the d-th primitive polynomial. */
static int fill_directions(struct host_array *array, struct error *error)
{
    size_t dims = (size_t)array->shape[0], filled = 1;
    unsigned bits = (unsigned)array->shape[1];
    uint32_t *direction = array->data;
    for (unsigned b = 0; b < bits; b++)
        direction[b] = 1u << (bits - 1 - b);
    for (unsigned degree = 1; degree <= DEGREE_MAX; degree++)
        for (uint32_t low = 1; low < 1u << degree; low += 2) {
            if (filled == dims)
                return 0;
            uint32_t polynomial = 1u << degree | low;
            if (is_primitive(polynomial, degree)) {
                fill_dimension(direction + filled * bits, bits, polynomial, degree, filled);
                filled++;
            }
        }
    return error_set(error, ERR_UNSUPPORTED, "option_pricing: no Sobol numbers for %zu dimensions",
                     dims);
}

/* Step i of the bridge fixes date at[i] from the dates left[i] and right[i], or from today (-1) on
 * the left. Step 0 is the last date and has no right. The arrays are their own queue: each step
 * splits an interval in two, and those wait at the end. */
static void bridge_steps(int32_t dates, int32_t *at, int32_t *left, int32_t *right)
{
    at[0] = dates - 1;
    left[0] = right[0] = -1;
    int32_t steps = 1;
    for (int32_t i = 0; steps < dates; i++) {
        int32_t ends[3] = {left[i], at[i], right[i]};
        for (int32_t half = 0; half < (i == 0 ? 1 : 2); half++) {
            if (ends[half + 1] - ends[half] < 2)
                continue;
            left[steps] = ends[half];
            right[steps] = ends[half + 1];
            at[steps] = (ends[half] + ends[half + 1]) / 2;
            steps++;
        }
    }
}

static void put(struct host_array *array, int64_t at, double value)
{
    if (array->element == ELEMENT_f64)
        ((double *)array->data)[at] = value;
    else
        ((float *)array->data)[at] = (float)value;
}

static double number_of(const struct host_array *array, int64_t at)
{
    return array->element == ELEMENT_f64 ? ((const double *)array->data)[at]
                                         : ((const float *)array->data)[at];
}

static int fill_bridge_weight(struct host_array *weight, int64_t contract, int32_t dates,
                              struct error *error)
{
    int32_t *at = malloc(3 * (size_t)dates * sizeof *at);
    if (!at)
        return error_set(error, ERR_HOST_MEMORY, "option_pricing: no memory for a bridge");
    int32_t *left = at + dates, *right = left + dates;
    bridge_steps(dates, at, left, right);
    for (int32_t i = 0; i < dates; i++) {
        double before = years_at(contract, at[i]) - years_at(contract, left[i]);
        double after = i ? years_at(contract, right[i]) - years_at(contract, at[i]) : 0;
        put(weight, i, sqrt(i ? before * after / (before + after) : before));
        put(weight, dates + i, i ? after / (before + after) : 0);
        put(weight, 2 * dates + i, i ? before / (before + after) : 0);
    }
    free(at);
    return 0;
}

/* The lower triangular matrix L with L L^T = the correlations (Cholesky). */
static void fill_correlation(struct host_array *lower, int64_t underlyings)
{
    double l[MARKET_UNDERLYINGS][MARKET_UNDERLYINGS] = {{0}};
    for (int64_t u = 0; u < underlyings; u++)
        for (int64_t v = 0; v < underlyings; v++) {
            double rest = market_correlation[u][v];
            for (int64_t k = 0; k < v; k++)
                rest -= l[u][k] * l[v][k];
            if (v <= u)
                l[u][v] = u == v ? sqrt(rest) : rest / l[v][v];
            put(lower, u * underlyings + v, l[u][v]);
        }
}

int option_fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)seed;
    int64_t contract = argument_i64(arguments, "contract");
    int64_t dates = argument_i64(arguments, "dates");
    int64_t underlyings = argument_i64(arguments, "underlyings");
    if (underlyings > MARKET_UNDERLYINGS)
        return error_set(error, ERR_UNSUPPORTED, "option_pricing: %lld underlyings, there are %d",
                         (long long)underlyings, MARKET_UNDERLYINGS);
    if (strcmp(name, "directions") == 0)
        return fill_directions(array, error);
    if (strcmp(name, "bridge_weight") == 0)
        return fill_bridge_weight(array, contract, (int32_t)dates, error);
    if (strcmp(name, "bridge_index") == 0) {
        int32_t *at = array->data;
        bridge_steps((int32_t)dates, at, at + dates, at + 2 * dates);
        return 0;
    }
    if (strcmp(name, "scaling") == 0) {
        put(array, 0, 1);
        return 0;
    }
    if (strcmp(name, "correlation") == 0) {
        fill_correlation(array, underlyings);
        return 0;
    }
    bool volatility = strcmp(name, "volatility") == 0, drift = strcmp(name, "drift") == 0;
    bool start = strcmp(name, "start") == 0, discount = strcmp(name, "discount") == 0;
    if (!volatility && !drift && !start && !discount)
        return error_set(error, ERR_NOT_FOUND, "option_pricing: the program has no array '%s'",
                         name);
    for (int64_t i = 0; i < (int64_t)array->count; i++) {
        int64_t u = i % underlyings, d = i / underlyings;
        double sigma = market_volatility[u];
        double step = years_at(contract, d) - years_at(contract, d - 1);
        const int64_t date = i + 1 == (int64_t)array->count ? dates - 1 : i;
        put(array, i,
            volatility ? sigma
            : drift    ? (market_rate - market_dividend[u] - sigma * sigma / 2) * step
            : start    ? market_start[u]
                       : exp(-market_rate * years_at(contract, date)));
    }
    return 0;
}

static double normal_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}

/* The quantile of p in (0, 1): Abramowitz and Stegun 26.2.23, good to 5e-4, then one step of
 * Halley's method, which triples the number of digits. */
static double normal_quantile(double p)
{
    double tail = p < 0.5 ? p : 1 - p, t = sqrt(-2 * log(tail));
    double x = (2.515517 + 0.802853 * t + 0.010328 * t * t) /
                   (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t) -
               t;
    double slope = exp(-x * x / 2) / sqrt(6.283185307179586476925287);
    double newton = (normal_below(x) - tail) / slope;
    x -= newton / (1 + x * newton / 2);
    return p < 0.5 ? x : -x;
}

/* The program's inputs, as the reference reads them. */
struct model {
    int64_t contract, paths, dates, underlyings, bits;
    const uint32_t *directions;
    const int32_t *bridge_index;
    const struct host_array *bridge_weight, *correlation, *volatility, *drift, *start, *discount;
};

static const struct host_array *array_of(const struct arguments *arguments, const char *name)
{
    return &argument(arguments, name)->array;
}

static struct model model_of(const struct arguments *arguments)
{
    return (struct model){.contract = argument_i64(arguments, "contract"),
                          .paths = argument_i64(arguments, "paths"),
                          .dates = argument_i64(arguments, "dates"),
                          .underlyings = argument_i64(arguments, "underlyings"),
                          .bits = argument_i64(arguments, "bits"),
                          .directions = array_of(arguments, "directions")->data,
                          .bridge_index = array_of(arguments, "bridge_index")->data,
                          .bridge_weight = array_of(arguments, "bridge_weight"),
                          .correlation = array_of(arguments, "correlation"),
                          .volatility = array_of(arguments, "volatility"),
                          .drift = array_of(arguments, "drift"),
                          .start = array_of(arguments, "start"),
                          .discount = array_of(arguments, "discount")};
}

/* Black and Scholes 1973: one underlying, one date, strike 4000. */
static double call_price(const struct model *m)
{
    double deviation = number_of(m->volatility, 0) * number_of(m->bridge_weight, 0);
    double forward =
        number_of(m->start, 0) * exp(number_of(m->drift, 0) + deviation * deviation / 2);
    double d1 = log(forward / 4000) / deviation + deviation / 2;
    return number_of(m->discount, 0) *
           (forward * normal_below(d1) - 4000 * normal_below(d1 - deviation));
}

/* The motions of one underlying from its normal deviates, both [dates] with stride `underlyings`.
 */
static void walk(const struct model *m, const double *normal, double *motion)
{
    int64_t dates = m->dates, stride = m->underlyings;
    for (int64_t i = 0; i < dates; i++) {
        int32_t at = m->bridge_index[i], left = m->bridge_index[dates + i];
        int32_t right = m->bridge_index[2 * dates + i];
        double from_left = left < 0 ? 0 : motion[left * stride];
        double from_right = right < 0 ? 0 : motion[right * stride];
        motion[at * stride] = number_of(m->bridge_weight, i) * normal[i * stride] +
                              number_of(m->bridge_weight, dates + i) * from_left +
                              number_of(m->bridge_weight, 2 * dates + i) * from_right;
    }
}

/* The discounted payoff of a path, from its motions [dates][underlyings]. */
static double path_value(const struct model *m, const double *motion)
{
    int64_t us = m->underlyings, last = m->dates - 1;
    double log_ratio[MARKET_UNDERLYINGS] = {0};
    double worst = 1, lowest = 1;
    for (int64_t d = 0; d <= last; d++) {
        worst = INFINITY;
        for (int64_t u = 0; u < us; u++) {
            double shock = 0;
            for (int64_t v = 0; v <= u; v++) {
                double before = d ? motion[(d - 1) * us + v] : 0;
                shock += number_of(m->correlation, u * us + v) * (motion[d * us + v] - before);
            }
            log_ratio[u] +=
                number_of(m->volatility, d * us + u) * shock + number_of(m->drift, d * us + u);
            worst = fmin(worst, exp(log_ratio[u]));
        }
        lowest = fmin(lowest, worst);
        if (m->contract == 2 && worst >= 1)
            return (1150 + 150 * (double)d) * number_of(m->discount, d);
    }
    const double paid = number_of(m->discount, (int64_t)m->discount->count - 1);
    if (m->contract == 1)
        return fmax(number_of(m->start, 0) * exp(log_ratio[0]) - 4000, 0) * paid;
    bool whole = m->contract == 2 ? worst >= 0.75 : lowest > 0.7 || worst >= 1;
    double coupon = m->contract == 3 ? 100 : 0;
    return (coupon + 1000 * (whole ? 1 : worst)) * paid;
}

enum { CHUNK_PATHS = 2048 };

/* The sum of the payoffs of CHUNK_PATHS paths from `first` on. `normal` and `motion` hold a value,
 * `point` the bits of a coordinate, for each dimension. */
static double chunk_sum(const struct model *m, int64_t first, double *normal, double *motion,
                        uint32_t *point)
{
    int64_t dims = m->dates * m->underlyings;
    int64_t end = first + CHUNK_PATHS < m->paths ? first + CHUNK_PATHS : m->paths;
    uint64_t gray = (uint64_t)first ^ (uint64_t)first >> 1;
    for (int64_t r = 0; r < dims; r++) {
        point[r] = 0;
        for (int64_t b = 0; b < m->bits; b++)
            if (gray >> b & 1)
                point[r] ^= m->directions[r * m->bits + b];
    }
    double sum = 0, scale = ldexp(1, -(int)m->bits);
    for (int64_t p = first; p < end; p++) {
        int lowest_one = __builtin_ctzll((uint64_t)p + 1);
        for (int64_t r = 0; r < dims; r++) {
            point[r] ^= m->directions[r * m->bits + lowest_one];
            normal[r] = normal_quantile(point[r] * scale);
        }
        for (int64_t u = 0; u < m->underlyings; u++)
            walk(m, normal + u, motion + u);
        sum += path_value(m, motion);
    }
    return sum;
}

static int simulated_price(const struct model *m, double *price, struct error *error)
{
    size_t dims = (size_t)(m->dates * m->underlyings);
    int64_t chunks = (m->paths + CHUNK_PATHS - 1) / CHUNK_PATHS;
    size_t chunk_doubles = 2 * dims + (dims + 1) / 2 + 1;
    double *memory = calloc((size_t)chunks * chunk_doubles, sizeof *memory);
    if (!memory)
        return error_set(error, ERR_HOST_MEMORY, "option_pricing: no memory for the reference");
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic)
#endif
    for (int64_t c = 0; c < chunks; c++) {
        double *sum = memory + (size_t)c * chunk_doubles;
        double *normal = sum + 1, *motion = normal + dims;
        *sum = chunk_sum(m, c * CHUNK_PATHS, normal, motion, (uint32_t *)(motion + dims));
    }
    double sum = 0;
    for (int64_t c = 0; c < chunks; c++)
        sum += memory[(size_t)c * chunk_doubles];
    free(memory);
    *price = sum / (double)m->paths;
    return 0;
}

int option_check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    *worst_error = 0;
    struct model model = model_of(arguments);
    const enum element element = model.start->element;
    if (result_count != 1 || results[0].element != element || results[0].count != 1)
        return error_set(error, ERR_WRONG, "option_pricing: expected one [1]%s as the result",
                         element_name(element));
    bool closed = model.contract == 1 && model.dates == 1;
    double expected = 0, price = number_of(&results[0], 0);
    int code = 0;
    if (closed)
        expected = call_price(&model);
    else
        code = simulated_price(&model, &expected, error);
    if (code)
        return code;
    /* The same paths in f32 differ by rounding, and by the jump of a payoff, less than half of the
     * price, where that carries one over a barrier: two may. The closed form also differs by what
     * the points leave out, above all the tail beyond the last of them: about 15 / paths. */
    double limit = 2e-5 + (closed ? 20.0 : 1.0) / (double)model.paths;
    *worst_error = fabs(price - expected) / expected;
    if (*worst_error <= limit)
        return 0;
    return error_set(
        error, ERR_WRONG, "price[0] is %.9g, expected %.9g %s; relative error %.3g > %.3g", price,
        expected, closed ? "(closed form)" : "(the same paths in double)", *worst_error, limit);
}

const struct workload workload_option_pricing = {.fill = option_fill, .check = option_check};
