/* srad's image and its reference: the diffusion again, in double precision and as flows. A flow
 * between two pixels leaves one and enters the other, so the border needs no cases.
 */
#include <math.h>
#include <stdlib.h>

#include "workload.h"

#ifdef _OPENMP
#define PARALLEL_FOR  _Pragma("omp parallel for schedule(static)")
#define PARALLEL_SUMS _Pragma("omp parallel for schedule(static) reduction(+ : sum, squares)")
#else
#define PARALLEL_FOR
#define PARALLEL_SUMS
#endif

/* Grey levels out of 255. A step rounds the exponential by 6e-8 and smooths what earlier ones left;
 * the logarithm makes 2e-5 levels of that. 6e-5 were measured, 3 % of this. */
static const double TOLERANCE = 0.002;

struct image {
    int64_t rows, cols, steps;
    double lambda;
};

static struct image image_of(const struct arguments *arguments)
{
    return (struct image){.rows = argument_i64(arguments, "rows"),
                          .cols = argument_i64(arguments, "cols"),
                          .steps = argument_i64(arguments, "steps"),
                          .lambda = argument_f64(arguments, "lambda")};
}

/* Slow waves times speckle: what srad is there to take apart. */
static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    struct image image = image_of(arguments);
    uint8_t *levels = array->data;
    (void)name;
    (void)error;
    PARALLEL_FOR
    for (int64_t r = 0; r < image.rows; r++) {
        struct random random = {random_split(seed, (uint64_t)r)};
        for (int64_t c = 0; c < image.cols; c++) {
            double wave = sin(0.06 * (double)r) * cos(0.09 * (double)c);
            double speckle = 0.7 + 0.6 * random_unit(&random);
            levels[r * image.cols + c] = (uint8_t)((110 + 70 * wave) * speckle);
        }
    }
    return 0;
}

/* ---- reference ----------------------------------------------------------------------------- */

/* The image, how freely each pixel diffuses, and the next image. */
struct planes {
    double *now, *freely, *next;
};

/* The square of the coefficient of variation over the image. */
static double speckle_of(const struct image *image, const double *pixels)
{
    int64_t count = image->rows * image->cols;
    double sum = 0, squares = 0;
    PARALLEL_SUMS
    for (int64_t i = 0; i < count; i++) {
        sum += pixels[i];
        squares += pixels[i] * pixels[i];
    }
    double mean = sum / (double)count;
    return squares / (double)count / (mean * mean) - 1;
}

static double freely_of(const struct image *image, const double *pixels, double speckle, int64_t r,
                        int64_t c)
{
    static const int steps[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    double here = pixels[r * image->cols + c], squares = 0, sum = 0;
    for (int k = 0; k < 4; k++) {
        int64_t nr = r + steps[k][0], nc = c + steps[k][1];
        if (nr < 0 || nr >= image->rows || nc < 0 || nc >= image->cols)
            continue;
        double difference = pixels[nr * image->cols + nc] / here - 1;
        squares += difference * difference;
        sum += difference;
    }
    double variation = (squares / 2 - sum * sum / 16) / pow(1 + sum / 4, 2);
    double denominator = 1 + (variation - speckle) / (speckle * (1 + speckle));
    return fmin(fmax(1 / denominator, 0), 1);
}

/* The flow to (r, c) from its four neighbours. Between two pixels it is the coefficient of the
 * southern or eastern one that counts. */
static double inflow(const struct image *image, const struct planes *p, int64_t r, int64_t c)
{
    int64_t i = r * image->cols + c, cols = image->cols;
    double here = p->now[i], flow = 0;
    if (r > 0)
        flow += p->freely[i] * (p->now[i - cols] - here);
    if (c > 0)
        flow += p->freely[i] * (p->now[i - 1] - here);
    if (r + 1 < image->rows)
        flow += p->freely[i + cols] * (p->now[i + cols] - here);
    if (c + 1 < cols)
        flow += p->freely[i + 1] * (p->now[i + 1] - here);
    return flow;
}

static void diffuse(const struct image *image, struct planes *p)
{
    for (int64_t step = 0; step < image->steps; step++) {
        double speckle = speckle_of(image, p->now);
        PARALLEL_FOR
        for (int64_t r = 0; r < image->rows; r++)
            for (int64_t c = 0; c < image->cols; c++)
                p->freely[r * image->cols + c] = freely_of(image, p->now, speckle, r, c);
        PARALLEL_FOR
        for (int64_t r = 0; r < image->rows; r++)
            for (int64_t c = 0; c < image->cols; c++)
                p->next[r * image->cols + c] =
                    p->now[r * image->cols + c] + image->lambda / 4 * inflow(image, p, r, c);
        double *next = p->next;
        p->next = p->now;
        p->now = next;
    }
}

static int compare(const struct image *image, const float *got, const double *expected,
                   double *worst, struct error *error)
{
    for (int64_t i = 0; i < image->rows * image->cols; i++) {
        double level = 255 * log(expected[i]), off = fabs(got[i] - level);
        if (!(off <= TOLERANCE)) /* also for NaN */
            return error_set(error, ERR_WRONG, "srad: result[%lld, %lld] is %.7g, expected %.7g",
                             (long long)(i / image->cols), (long long)(i % image->cols), got[i],
                             level);
        *worst = fmax(*worst, off / 255);
    }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    struct image image = image_of(arguments);
    const uint8_t *levels = argument(arguments, "pixels")->array.data;
    size_t count = (size_t)(image.rows * image.cols);
    *worst_error = 0;
    if (result_count != 1 || results[0].count != count)
        return error_set(error, ERR_WRONG, "srad: %zu results, expected one of %zu pixels",
                         result_count, count);
    double *all = malloc(3 * count * sizeof *all);
    if (!all)
        return error_set(error, ERR_HOST_MEMORY, "srad: no memory for the reference's %zu pixels",
                         3 * count);
    struct planes planes = {all, all + count, all + 2 * count};
    for (size_t i = 0; i < count; i++)
        planes.now[i] = exp(levels[i] / 255.0);
    diffuse(&image, &planes);
    int code = compare(&image, results[0].data, planes.now, worst_error, error);
    free(all);
    return code;
}

const struct workload workload_srad = {.fill = fill, .check = check};
