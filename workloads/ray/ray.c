/* The reference of ray.mem: the picture in double precision.
 *
 * What a ray meets is a decision: a sphere or not, a light or a dark tile, in the light or in the
 * shadow. Single precision may decide otherwise within its error, which grows from mirror to
 * mirror. So the reference carries a bound of that error along, and takes a decision that lies
 * within it both ways: a pixel is right if one of the ways gives its colour.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "workload.h"

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(dynamic, 8)")
#else
#define PARALLEL_FOR
#endif

enum { SPHERES = 4, PLANE = SPHERES, NOTHING = -1, CHANNELS = 3, MOST_DECISIONS = 12 };

/* The error of one step in single precision, relative to the sizes involved; the rest of an error
 * is what a step makes of the error before it. */
static const double STEP = 1e-6;
/* What single precision and rounding may change of a colour without any decision, of 255. */
static const double LEVELS = 1.01;

static const double floor_height = -1.5, farthest = 1000;
static const double light[3] = {4, 6, -3};
static const double sky[CHANNELS] = {0.2, 0.3, 0.5};

struct surface {
    double radius, mirror, colour[CHANNELS];
};
static const struct surface surfaces[SPHERES + 1] = {{1, 0.75, {0.9, 0.9, 0.9}},
                                                     {0.75, 0.5, {0.3, 0.5, 0.9}},
                                                     {0.5, 0.25, {0.8, 0.3, 0.2}},
                                                     {0.25, 0.5, {0.4, 0.8, 0.4}},
                                                     {0, 0.25, {0.8, 0.8, 0.8}}};
static const double dark_tile[CHANNELS] = {0.2, 0.1, 0.1};

struct scene {
    double centre[SPHERES][3], eye[3], ahead[3], right[3], up[3], reach;
    int64_t h, w, limit;
};

/* A ray and how far off its start and its direction may be. */
struct beam {
    double at[3], along[3], at_error, along_error;
    int from;
};

/* One way through all decisions: bit i of `turned` is set if decision i goes against the
 * double's. */
struct way {
    uint32_t turned;
    int decisions;
    double colour[CHANNELS], slack; /* slack: the colour's error */
};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Is value > 0? Within `margin` the way decides. */
static bool decide(struct way *way, double value, double margin)
{
    bool yes = value > 0;
    if (fabs(value) > margin || way->decisions == MOST_DECISIONS)
        return yes;
    return yes ^ (way->turned >> way->decisions++ & 1);
}

/* The distance to a sphere and its error; false: no hit. */
static bool meets(struct way *way, const struct scene *scene, const struct beam *beam, int s,
                  double *distance, double *error)
{
    double to[3], radius = surfaces[s].radius;
    for (int k = 0; k < 3; k++)
        to[k] = scene->centre[s][k] - beam->at[k];
    double along = dot(to, beam->along), square = dot(to, to);
    double off = beam->at_error + fabs(along) * beam->along_error + STEP * sqrt(square);
    double inside = radius * radius - (square - along * along);
    double margin = 2 * (radius + off) * off;
    if (along < -radius - off || !decide(way, inside, margin))
        return false;
    double half = sqrt(inside > 0 ? inside : 0);
    *distance = along - half;
    *error = off + (half * half > margin ? margin / half : sqrt(margin));
    return *distance > 0;
}

static int first_hit(struct way *way, const struct scene *scene, const struct beam *beam,
                     double *distance, double *error)
{
    int hit = NOTHING;
    double t, off;
    *distance = farthest;
    *error = 0;
    for (int s = 0; s < SPHERES; s++)
        if (s != beam->from && meets(way, scene, beam, s, &t, &off) &&
            decide(way, *distance - t, off + *error)) {
            *distance = t;
            *error = off;
            hit = s;
        }
    double down = -beam->along[1];
    if (beam->from == PLANE || !decide(way, down, beam->along_error + STEP) || down <= 0)
        return hit;
    t = (beam->at[1] - floor_height) / down;
    off = (beam->at_error + t * (beam->along_error + STEP)) / down;
    if (decide(way, *distance - t, off + *error)) {
        *distance = t;
        *error = off;
        hit = PLANE;
    }
    return hit;
}

/* 1 on light tiles; the tile is a decision in x and one in z. */
static bool light_tile(struct way *way, const double at[3], double error)
{
    int tile = 0;
    for (int k = 0; k < 3; k += 2) {
        double edge = floor(at[k] + 0.5);
        tile += (int)edge - (decide(way, at[k] - edge, error + STEP) ? 0 : 1);
    }
    return (tile & 1) == 0;
}

/* The light's share at a place, and that share's error. */
static double lit(struct way *way, const struct scene *scene, const struct beam *place,
                  const double normal[3], double normal_error, double *error)
{
    struct beam ray = *place;
    for (int k = 0; k < 3; k++)
        ray.along[k] = light[k] - place->at[k];
    double distance = sqrt(dot(ray.along, ray.along)), t, off;
    for (int k = 0; k < 3; k++)
        ray.along[k] /= distance;
    ray.along_error = place->at_error / distance + STEP;
    double share = dot(normal, ray.along);
    *error = normal_error + ray.along_error;
    if (share < -*error)
        return *error = 0;
    for (int s = 0; s < SPHERES; s++)
        if (s != place->from && meets(way, scene, &ray, s, &t, &off) && t < distance)
            return *error = 0;
    return share > 0 ? share : 0;
}

/* Adds what the beam sees; `shares` of it counts. */
static void follow(struct way *way, const struct scene *scene, struct beam beam)
{
    double share = 1, distance, error;
    for (int64_t bounce = 0; bounce < scene->limit; bounce++) {
        int hit = first_hit(way, scene, &beam, &distance, &error);
        if (hit == NOTHING) {
            for (int c = 0; c < CHANNELS; c++)
                way->colour[c] += share * sky[c];
            return;
        }
        for (int k = 0; k < 3; k++)
            beam.at[k] += distance * beam.along[k];
        beam.at_error += distance * beam.along_error + error + STEP * distance;
        beam.from = hit;
        const struct surface *s = &surfaces[hit];
        const double *colour = s->colour;
        double normal[3] = {0, 1, 0}, normal_error = 0, light_error;
        if (hit != PLANE) {
            for (int k = 0; k < 3; k++)
                normal[k] = (beam.at[k] - scene->centre[hit][k]) / s->radius;
            normal_error = beam.at_error / s->radius + STEP;
        } else if (!light_tile(way, beam.at, beam.at_error))
            colour = dark_tile;
        double lightness = lit(way, scene, &beam, normal, normal_error, &light_error);
        double bright = share * (1 - s->mirror) * (0.25 + 0.75 * lightness);
        for (int c = 0; c < CHANNELS; c++)
            way->colour[c] += bright * colour[c];
        way->slack += share * (1 - s->mirror) * 0.75 * light_error;
        share *= s->mirror;
        double into = dot(normal, beam.along);
        for (int k = 0; k < 3; k++)
            beam.along[k] -= 2 * into * normal[k];
        beam.along_error += 4 * normal_error + STEP;
    }
}

static struct beam pixel_beam(const struct scene *scene, int64_t row, int64_t column)
{
    struct beam beam = {.from = NOTHING, .along_error = STEP};
    double a = scene->reach * (2 * (double)column / (double)(scene->w - 1) - 1);
    double b = scene->reach * (double)scene->h / (double)scene->w *
               (1 - 2 * (double)row / (double)(scene->h - 1));
    for (int k = 0; k < 3; k++) {
        beam.at[k] = scene->eye[k];
        beam.along[k] = scene->ahead[k] + a * scene->right[k] + b * scene->up[k];
    }
    double length = sqrt(dot(beam.along, beam.along));
    for (int k = 0; k < 3; k++)
        beam.along[k] /= length;
    return beam;
}

/* How far a way's colour is from the pixel's, beyond the way's slack, in levels of 255. */
static double difference(const struct way *way, uint32_t pixel)
{
    double most = 0;
    for (int c = 0; c < CHANNELS; c++) {
        double share = way->colour[c] < 1 ? way->colour[c] : 1;
        double got = (double)(pixel >> (16 - 8 * c) & 255);
        double off = fabs(255 * share - got) - 255 * way->slack;
        most = off > most ? off : most;
    }
    return pixel >> 24 == 255 ? most : 255;
}

/* The least difference over all ways, and the colour of the way in double. */
static double compare(const struct scene *scene, int64_t row, int64_t column, uint32_t pixel,
                      uint32_t *expected)
{
    double least = 256;
    for (uint32_t turned = 0;;) {
        struct way way = {.turned = turned};
        follow(&way, scene, pixel_beam(scene, row, column));
        double off = difference(&way, pixel);
        least = off < least ? off : least;
        if (turned == 0) {
            *expected = 255;
            for (int c = 0; c < CHANNELS; c++)
                *expected = *expected << 8 | (uint32_t)(255 * fmin(way.colour[c], 1) + 0.5);
        }
        if (least <= LEVELS)
            return least;
        /* The next way turns the last decision that is not turned yet. */
        int last = way.decisions - 1;
        while (last >= 0 && turned >> last & 1)
            last--;
        if (last < 0)
            return least;
        turned = (turned & ((1U << last) - 1)) | 1U << last;
    }
}

static void scene_open(struct scene *scene, const struct arguments *arguments)
{
    static const char *const eye[3] = {"eye_x", "eye_y", "eye_z"};
    double time = argument_f64(arguments, "time");
    double turn = argument_f64(arguments, "turn"), tilt = argument_f64(arguments, "tilt");
    const double pi = acos(-1);
    *scene = (struct scene){
        .centre = {{0, 0.2 * sin(time), 0},
                   {2.2 * cos(time), 0.3 * cos(time), 2.2 * sin(time)},
                   {-2.2 * cos(time), -0.5, -2.2 * sin(time)},
                   {0.6 * cos(2 * time), 2, 0.6 * sin(2 * time)}},
        .ahead = {cos(turn) * cos(tilt), sin(tilt), sin(turn) * cos(tilt)},
        .right = {sin(turn), 0, -cos(turn)},
        .up = {-cos(turn) * sin(tilt), cos(tilt), -sin(turn) * sin(tilt)},
        .reach = tan(argument_f64(arguments, "view") * pi / 360),
        .h = argument_i64(arguments, "h"),
        .w = argument_i64(arguments, "w"),
        .limit = argument_i64(arguments, "limit"),
    };
    for (int k = 0; k < 3; k++)
        scene->eye[k] = argument_f64(arguments, eye[k]);
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    struct scene scene;
    scene_open(&scene, arguments);
    int64_t pixels = scene.h * scene.w, first_wrong = pixels;
    *worst_error = 0;
    if (result_count != 1 || results[0].count != (size_t)pixels)
        return error_set(error, ERR_WRONG, "ray: %zu results, expected one of %lld pixels",
                         result_count, (long long)pixels);
    const uint32_t *got = results[0].data;
    double *worst = calloc((size_t)scene.h, sizeof *worst);
    uint32_t expected;
    if (!worst)
        return error_set(error, ERR_HOST_MEMORY, "ray: no memory for the errors of %lld rows",
                         (long long)scene.h);
    PARALLEL_FOR
    for (int64_t row = 0; row < scene.h; row++)
        for (int64_t column = 0; column < scene.w && worst[row] <= LEVELS; column++) {
            uint32_t colour;
            double off = compare(&scene, row, column, got[row * scene.w + column], &colour);
            worst[row] = off > worst[row] ? off : worst[row];
        }
    for (int64_t row = 0; row < scene.h; row++) {
        for (int64_t column = 0; column < scene.w && worst[row] > LEVELS; column++) {
            int64_t at = row * scene.w + column;
            if (at < first_wrong && compare(&scene, row, column, got[at], &expected) > LEVELS)
                first_wrong = at;
        }
        *worst_error = fmax(*worst_error, worst[row] / 255);
    }
    free(worst);
    if (first_wrong == pixels)
        return 0;
    int64_t row = first_wrong / scene.w, column = first_wrong % scene.w;
    compare(&scene, row, column, got[first_wrong], &expected);
    return error_set(error, ERR_WRONG,
                     "ray: pixel [%lld, %lld] is %08x, expected %08x, a level more or less in red, "
                     "green and blue",
                     (long long)row, (long long)column, got[first_wrong], expected);
}

const struct workload workload_ray = {.check = check};
