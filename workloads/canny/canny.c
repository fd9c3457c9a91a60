/* Canny's inputs and its reference: the same definition, written pixel by pixel with the border in
 * one accessor, and a flood fill from the strong pixels in place of sweeps. The comparison is
 * exact.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

/* Exactness needs products and sums rounded one by one. gcc does so for -std=c11; clang needs this
 * pragma. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif

struct size {
    int64_t h, w;
};

/* ---- input --------------------------------------------------------------------------------- */

/* Discs lighten or darken what they cover. Their centres come down the image evenly, so that a row
 * has to look at few of them; there are enough to cover the image one and a half times. Their size
 * does not grow with large images: an edge there is no longer than elsewhere. */
struct discs {
    struct size size;
    int64_t count, radius_max;
    uint64_t seed;
};

static struct discs make_discs(struct size size, uint64_t seed)
{
    int64_t side = size.h < size.w ? size.h : size.w;
    int64_t radius = side / 8 < 3 ? 3 : side / 8 > 64 ? 64 : side / 8;
    return (struct discs){size, 1 + 3 * size.h * size.w / (2 * radius * radius), radius, seed};
}

/* Adds the part of the i-th disc in a row to the row's grey levels. */
static void add_disc(const struct discs *discs, int64_t i, int64_t row, int32_t *line)
{
    struct random random = {random_split(discs->seed, (uint64_t)i)};
    int64_t w = discs->size.w, centre = (int64_t)random_below(&random, (uint64_t)w);
    int64_t radius = 2 + (int64_t)random_below(&random, (uint64_t)discs->radius_max - 1);
    /* 20 grey levels make a weak edge and 40 a strong one; overlaps and the gradient do the rest.
     */
    int32_t change = (int32_t)random_below(&random, 101) - 50;
    int64_t below = row - i * discs->size.h / discs->count;
    int64_t rest = radius * radius - below * below;
    if (rest < 0)
        return;
    int64_t reach = (int64_t)sqrt((double)rest);
    int64_t first = centre - reach > 0 ? centre - reach : 0;
    int64_t last = centre + reach < w - 1 ? centre + reach : w - 1;
    for (int64_t c = first; c <= last; c++)
        line[c] += change;
}

static void add_discs(const struct discs *discs, int64_t row, int32_t *line)
{
    int64_t h = discs->size.h;
    int64_t first = (row - discs->radius_max) * discs->count / h;
    int64_t last = (row + discs->radius_max + 1) * discs->count / h;
    for (int64_t i = first > 0 ? first : 0; i <= last && i < discs->count; i++)
        add_disc(discs, i, row, line);
}

static uint32_t channel(int32_t level, uint64_t noise)
{
    int32_t v = level + (int32_t)(noise & 7) - 4;
    return (uint32_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* Discs on a gradient with a little noise in each channel, opaque. The gradient makes contrast
 * vary along a rim, from strong through weak to none: work for the hysteresis. */
static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)name;
    struct size size = {argument_i64(arguments, "h"), argument_i64(arguments, "w")};
    struct discs discs = make_discs(size, random_split(seed, 0));
    uint64_t noise_seed = random_split(seed, 1);
    int32_t *pixels = array->data; /* each row is first drawn in place, as grey levels */
    (void)error;
    PARALLEL_FOR
    for (int64_t r = 0; r < size.h; r++) {
        int32_t *line = pixels + r * size.w;
        for (int64_t c = 0; c < size.w; c++)
            line[c] = (int32_t)(64 + 64 * r / size.h + 64 * c / size.w);
        add_discs(&discs, r, line);
        struct random random = {random_split(noise_seed, (uint64_t)r)};
        for (int64_t c = 0; c < size.w; c++) {
            uint64_t noise = random_u64(&random);
            uint32_t pixel = 0xff000000u | channel(line[c], noise) |
                             channel(line[c], noise >> 8) << 8 |
                             channel(line[c], noise >> 16) << 16;
            memcpy(&line[c], &pixel, sizeof pixel);
        }
    }
    return 0;
}

/* ---- reference ----------------------------------------------------------------------------- */

/* The pixel nearest to (r, c) that is in the image. */
static float at(const float *plane, struct size size, int64_t r, int64_t c)
{
    r = r < 0 ? 0 : r >= size.h ? size.h - 1 : r;
    c = c < 0 ? 0 : c >= size.w ? size.w - 1 : c;
    return plane[r * size.w + c];
}

static void to_grey(struct size size, const int32_t *image, float *grey)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < size.h * size.w; i++) {
        uint32_t pixel = (uint32_t)image[i];
        float red = (float)(pixel % 256), green = (float)(pixel / 256 % 256),
              blue = (float)(pixel / 65536 % 256);
        grey[i] = 0.3f * red + 0.59f * green + 0.11f * blue;
    }
}

/* Binomial weights 1 4 6 4 1 along (dr, dc), from outside to inside. */
static void blur(struct size size, int dr, int dc, const float *from, float *to)
{
    PARALLEL_FOR
    for (int64_t r = 0; r < size.h; r++)
        for (int64_t c = 0; c < size.w; c++) {
            float outer =
                at(from, size, r - 2 * dr, c - 2 * dc) + at(from, size, r + 2 * dr, c + 2 * dc);
            float inner = at(from, size, r - dr, c - dc) + at(from, size, r + dr, c + dc);
            to[r * size.w + c] = (outer + 4 * inner + 6 * at(from, size, r, c)) / 16;
        }
}

/* The step (rows, columns) from a pixel to the next along its gradient; none where it is flat. */
struct step {
    int8_t dr, dc;
};

static struct step gradient(const float *p, struct size size, int64_t r, int64_t c, float low,
                            float *magnitude)
{
    float east = at(p, size, r - 1, c + 1) + 2 * at(p, size, r, c + 1) + at(p, size, r + 1, c + 1);
    float west = at(p, size, r - 1, c - 1) + 2 * at(p, size, r, c - 1) + at(p, size, r + 1, c - 1);
    float north = at(p, size, r - 1, c - 1) + 2 * at(p, size, r - 1, c) + at(p, size, r - 1, c + 1);
    float south = at(p, size, r + 1, c - 1) + 2 * at(p, size, r + 1, c) + at(p, size, r + 1, c + 1);
    float x = east - west, y = north - south;
    const float tan_22_5 = 0.41421356f;
    *magnitude = sqrtf(x * x + y * y);
    if (fabsf(x) <= low && fabsf(y) <= low)
        return (struct step){0, 0};
    if (fabsf(y) < tan_22_5 * fabsf(x))
        return (struct step){0, 1};
    if (fabsf(x) < tan_22_5 * fabsf(y))
        return (struct step){1, 0};
    return (struct step){1, (x > 0) == (y > 0) ? -1 : 1};
}

enum { NONE, WEAK, STRONG };

/* Marks the pixels whose gradient is a maximum along its own direction. */
static void thin(struct size size, float low, float high, const float *magnitude,
                 const struct step *steps, uint8_t *marks)
{
    PARALLEL_FOR
    for (int64_t r = 0; r < size.h; r++)
        for (int64_t c = 0; c < size.w; c++) {
            int64_t i = r * size.w + c;
            struct step s = steps[i];
            float m = magnitude[i];
            marks[i] = m >= high ? STRONG : WEAK;
            if ((s.dr == 0 && s.dc == 0) || m < low ||
                at(magnitude, size, r + s.dr, c + s.dc) > m ||
                at(magnitude, size, r - s.dr, c - s.dc) > m)
                marks[i] = NONE;
        }
}

/* Makes every weak pixel strong that strong ones reach. `stack` has room for every pixel: each is
 * pushed at most once, at the start if it is strong, else when it becomes strong. */
static void flood(struct size size, uint8_t *marks, int64_t *stack)
{
    int64_t depth = 0;
    for (int64_t i = 0; i < size.h * size.w; i++)
        if (marks[i] == STRONG)
            stack[depth++] = i;
    while (depth > 0) {
        int64_t i = stack[--depth], row = i / size.w, col = i % size.w;
        for (int64_t r = row - 1; r <= row + 1; r++)
            for (int64_t c = col - 1; c <= col + 1; c++)
                if (r >= 0 && r < size.h && c >= 0 && c < size.w && marks[r * size.w + c] == WEAK) {
                    marks[r * size.w + c] = STRONG;
                    stack[depth++] = r * size.w + c;
                }
    }
}

/* The planes that the reference works in; each has an element per pixel. */
struct planes {
    float *a, *b;
    struct step *steps;
    uint8_t *marks;
    int64_t *stack;
};

static int planes_open(struct planes *p, size_t pixels, struct error *error)
{
    *p = (struct planes){.a = malloc(pixels * sizeof *p->a),
                         .b = malloc(pixels * sizeof *p->b),
                         .steps = malloc(pixels * sizeof *p->steps),
                         .marks = malloc(pixels),
                         .stack = malloc(pixels * sizeof *p->stack)};
    if (p->a && p->b && p->steps && p->marks && p->stack)
        return 0;
    return error_set(error, ERR_HOST_MEMORY, "canny: no memory for the reference's %zu pixels",
                     pixels);
}

static void planes_close(struct planes *p)
{
    free(p->a);
    free(p->b);
    free(p->steps);
    free(p->marks);
    free(p->stack);
}

static void find_edges(struct size size, float low, float high, const int32_t *image,
                       struct planes *p)
{
    to_grey(size, image, p->a);
    blur(size, 0, 1, p->a, p->b);
    blur(size, 1, 0, p->b, p->a);
    PARALLEL_FOR
    for (int64_t r = 0; r < size.h; r++)
        for (int64_t c = 0; c < size.w; c++) {
            int64_t i = r * size.w + c;
            p->steps[i] = gradient(p->a, size, r, c, low, &p->b[i]);
        }
    thin(size, low, high, p->b, p->steps, p->marks);
}

/* ---- comparison ---------------------------------------------------------------------------- */

static int check_list(struct size size, const uint8_t *marks, const struct host_array *list,
                      struct error *error)
{
    const int32_t *got = list->data;
    size_t found = 0;
    for (int64_t i = 0; i < size.h * size.w; i++) {
        if (marks[i] != STRONG)
            continue;
        if (found < list->count && got[found] != i)
            return error_set(error, ERR_WRONG, "canny: list[%zu] is %d, expected %lld", found,
                             (int)got[found], (long long)i);
        found++;
    }
    if (found != list->count)
        return error_set(error, ERR_WRONG, "canny: the list has %zu pixels, expected %zu",
                         list->count, found);
    return 0;
}

/* The image has four pixels of a row to a word, the first in its lowest byte. */
static int check_edges(struct size size, const uint8_t *marks, const struct host_array *edges,
                       struct error *error)
{
    const uint32_t *got = edges->data;
    int64_t quads = (size.w + 3) / 4;
    if (edges->count != (size_t)(size.h * quads))
        return error_set(error, ERR_WRONG, "canny: the image has %zu words, expected %lld",
                         edges->count, (long long)(size.h * quads));
    for (int64_t r = 0; r < size.h; r++)
        for (int64_t c = 0; c < 4 * quads; c++) {
            uint32_t expected = c < size.w && marks[r * size.w + c] == STRONG ? 255 : 0;
            uint32_t pixel = got[r * quads + c / 4] >> 8 * (c % 4) & 255;
            if (pixel != expected)
                return error_set(error, ERR_WRONG, "canny: edges[%lld, %lld] is %u, expected %u",
                                 (long long)r, (long long)c, pixel, expected);
        }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    struct size size = {argument_i64(arguments, "h"), argument_i64(arguments, "w")};
    float low = (float)argument_f64(arguments, "low"),
          high = (float)argument_f64(arguments, "high");
    struct planes planes;
    *worst_error = 0;
    if (result_count != 2)
        return error_set(error, ERR_WRONG, "canny: %zu results, expected the list and the image",
                         result_count);
    int code = planes_open(&planes, (size_t)(size.h * size.w), error);
    if (!code) {
        find_edges(size, low, high, argument(arguments, "pixels")->array.data, &planes);
        code = check_list(size, planes.marks, &results[0], error);
    }
    if (!code) {
        flood(size, planes.marks, planes.stack);
        code = check_edges(size, planes.marks, &results[1], error);
    }
    planes_close(&planes);
    return code;
}

const struct workload workload_canny = {.fill = fill, .check = check};
