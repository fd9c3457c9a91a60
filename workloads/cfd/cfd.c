/* A mesh, and the flow on it again in double precision.
 *
 * The program lets every cell gather the fluxes of its four faces. The reference goes over the
 * faces: a flux that leaves one cell enters the other. The two agree only if every face has the
 * same normal, in opposite directions, on both sides; the mesh has that property.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

enum { FACES = 4, QUANTITIES = 5, WALL = -1, FREE_STREAM = -2 };

/* Thirty stages of single precision stay within 3e-7 of double. */
static const double TOLERANCE = 1e-5;

/* ---- input --------------------------------------------------------------------------------- */

/* Cells are numbered in windows of this size, shuffled within: neighbours are near in memory, as in
 * a good numbering, but not next to each other. */
enum { WINDOW = 256 };

/* A sheet of nearly square cells, row after row; the last row may be short. */
struct mesh {
    int64_t n, width;
    uint64_t seed; /* for the numbers on it, not for its shape: each array has its own seed */
};

/* number[place]: the number of the cell at a place of the sheet. */
static void number_cells(const struct mesh *mesh, int32_t *number)
{
    for (int64_t first = 0; first < mesh->n; first += WINDOW) {
        int64_t count = mesh->n - first < WINDOW ? mesh->n - first : WINDOW;
        struct random random = {random_split(WINDOW, (uint64_t)first)};
        for (int64_t i = 0; i < count; i++) {
            int64_t j = (int64_t)random_below(&random, (uint64_t)i + 1);
            number[first + i] = number[first + j];
            number[first + j] = (int32_t)(first + i);
        }
    }
}

/* Faces 0 to 3 look east, west, north and south. Returns the neighbour's place there, or WALL below
 * the sheet and FREE_STREAM at its other sides. */
static int64_t beyond(const struct mesh *mesh, int64_t place, int face)
{
    int64_t column = place % mesh->width;
    int64_t next = place + (face == 0   ? 1
                            : face == 1 ? -1
                            : face == 2 ? mesh->width
                                        : -mesh->width);
    if (next >= mesh->n || (face == 0 && column == mesh->width - 1) || (face == 1 && column == 0))
        return FREE_STREAM;
    return next < 0 ? WALL : next;
}

/* The normal into the cell, not quite along an axis and not quite of length 1: around no cell do
 * they add up to zero, so something happens everywhere from the first step on. */
static double normal(const struct mesh *mesh, int64_t place, int face, int axis)
{
    int64_t next = beyond(mesh, place, face);
    double sign = face == 0 || face == 2 ? -1 : 1;
    int along = face < 2 ? 0 : 1;
    /* East and north faces carry the numbers; west and south ask their neighbour's. */
    uint64_t owner = (uint64_t)(sign > 0 && next >= 0 ? next : place);
    uint64_t which = sign > 0 && next < 0 ? 2 + (uint64_t)along : (uint64_t)along;
    struct random random = {random_split(random_split(mesh->seed, ~owner), which)};
    double jitter = 0;
    for (int a = 0; a <= axis; a++)
        jitter = 0.1 * (random_unit(&random) - 0.5);
    return sign * ((axis == along ? 1 : 0) + jitter);
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    struct mesh mesh = {.n = argument_i64(arguments, "n"), .seed = seed};
    mesh.width = (int64_t)ceil(sqrt((double)mesh.n));
    int32_t *number = malloc((size_t)mesh.n * sizeof *number);
    if (!number)
        return error_set(error, ERR_HOST_MEMORY, "cfd: no memory to number %lld cells",
                         (long long)mesh.n);
    number_cells(&mesh, number);
    float *values = array->data;
    for (int64_t place = 0; place < mesh.n; place++) {
        int64_t cell = number[place];
        if (strcmp(name, "areas") == 0) {
            struct random random = {random_split(seed, ~(uint64_t)place)};
            values[cell] = (float)(0.9 + 0.2 * random_unit(&random));
        } else if (strcmp(name, "neighbours") == 0) {
            for (int face = 0; face < FACES; face++) {
                int64_t next = beyond(&mesh, place, face);
                ((int32_t *)values)[face * mesh.n + cell] = next < 0 ? (int32_t)next : number[next];
            }
        } else {
            for (int axis = 0; axis < 3; axis++)
                for (int face = 0; face < FACES; face++)
                    values[(axis * FACES + face) * mesh.n + cell] =
                        (float)normal(&mesh, place, face, axis);
        }
    }
    free(number);
    return 0;
}

/* ---- reference ----------------------------------------------------------------------------- */

static const double gas_ratio = 1.4, smoothing = 0.2;
static const double free_stream[QUANTITIES] = {1.4, 1.4 * 1.2, 0, 0, 0.7 * 1.44 + 2.5};

/* The values that follow from a state. */
struct motion {
    double velocity[3], pressure, speed, sound;
};

static struct motion motion_of(const double *q)
{
    struct motion m;
    double squares = 0;
    for (int a = 0; a < 3; a++) {
        m.velocity[a] = q[1 + a] / q[0];
        squares += m.velocity[a] * m.velocity[a];
    }
    m.speed = sqrt(squares);
    m.pressure = (gas_ratio - 1) * (q[4] - q[0] * squares / 2);
    m.sound = sqrt(gas_ratio * m.pressure / q[0]);
    return m;
}

/* The flux of q along a normal. */
static void flux_along(const double *q, const double *along, double *flux)
{
    struct motion m = motion_of(q);
    double stream = 0;
    for (int a = 0; a < 3; a++)
        stream += along[a] * m.velocity[a];
    for (int v = 0; v < QUANTITIES; v++)
        flux[v] = stream * q[v];
    for (int a = 0; a < 3; a++)
        flux[1 + a] += m.pressure * along[a];
    flux[4] += stream * m.pressure;
}

/* The flux through a face; `into` is its normal into the side of `own`. */
static void through_face(const double *own, const double *other, const double *into, int behind,
                         double *gain)
{
    double here[QUANTITIES], there[QUANTITIES], drag = 0;
    flux_along(own, into, here);
    if (behind == WALL) {
        for (int v = 0; v < QUANTITIES; v++)
            gain[v] = v >= 1 && v <= 3 ? motion_of(own).pressure * into[v - 1] : 0;
        return;
    }
    flux_along(behind == FREE_STREAM ? free_stream : other, into, there);
    if (behind >= 0) {
        struct motion a = motion_of(own), b = motion_of(other);
        double length = sqrt(into[0] * into[0] + into[1] * into[1] + into[2] * into[2]);
        drag = length * smoothing * 0.5 * (a.speed + b.speed + a.sound + b.sound);
    }
    for (int v = 0; v < QUANTITIES; v++)
        gain[v] = (here[v] + there[v]) / 2 + (drag == 0 ? 0 : drag * (other[v] - own[v]));
}

/* States are [n][5] here. */
struct flow {
    int64_t n;
    const float *areas, *normals;
    const int32_t *neighbours;
    double *state, *old, *gain, *pace;
};

static void gather_faces(struct flow *f)
{
    memset(f->gain, 0, (size_t)(f->n * QUANTITIES) * sizeof *f->gain);
    for (int64_t i = 0; i < f->n; i++)
        for (int face = 0; face < FACES; face++) {
            int32_t j = f->neighbours[face * f->n + i];
            if (j >= 0 && j < i)
                continue; /* it was done from there */
            double into[3], gain[QUANTITIES];
            for (int a = 0; a < 3; a++)
                into[a] = f->normals[(a * FACES + face) * f->n + i];
            const double *other = f->state + (j >= 0 ? j : i) * QUANTITIES;
            through_face(f->state + i * QUANTITIES, other, into, j, gain);
            for (int v = 0; v < QUANTITIES; v++) {
                f->gain[i * QUANTITIES + v] += gain[v];
                if (j >= 0)
                    f->gain[j * QUANTITIES + v] -= gain[v];
            }
        }
}

static void step(struct flow *f)
{
    memcpy(f->old, f->state, (size_t)(f->n * QUANTITIES) * sizeof *f->old);
    for (int64_t i = 0; i < f->n; i++) {
        struct motion m = motion_of(f->state + i * QUANTITIES);
        f->pace[i] = 0.5 / (sqrt((double)f->areas[i]) * (m.speed + m.sound));
    }
    for (int stage = 3; stage >= 1; stage--) {
        gather_faces(f);
        for (int64_t i = 0; i < f->n * QUANTITIES; i++)
            f->state[i] = f->old[i] + f->pace[i / QUANTITIES] / stage * f->gain[i];
    }
}

static int compare(const struct flow *f, const float *got, double *worst, struct error *error)
{
    for (int v = 0; v < QUANTITIES; v++)
        for (int64_t i = 0; i < f->n; i++) {
            double value = got[v * f->n + i], expected = f->state[i * QUANTITIES + v];
            double off = fabs(value - expected) / (1 + fabs(expected));
            if (!(off <= TOLERANCE))
                return error_set(error, ERR_WRONG, "cfd: flow[%d, %lld] is %.9g, expected %.9g", v,
                                 (long long)i, value, expected);
            *worst = off > *worst ? off : *worst;
        }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    struct flow f = {.n = argument_i64(arguments, "n"),
                     .areas = argument(arguments, "areas")->array.data,
                     .normals = argument(arguments, "normals")->array.data,
                     .neighbours = argument(arguments, "neighbours")->array.data};
    *worst_error = 0;
    if (result_count != 1 || results[0].count != (size_t)(f.n * QUANTITIES))
        return error_set(error, ERR_WRONG, "cfd: expected one result of [5][%lld]", (long long)f.n);
    f.state = malloc((size_t)f.n * (3 * QUANTITIES + 1) * sizeof *f.state);
    if (!f.state)
        return error_set(error, ERR_HOST_MEMORY, "cfd: no memory for the reference of %lld cells",
                         (long long)f.n);
    f.old = f.state + f.n * QUANTITIES;
    f.gain = f.old + f.n * QUANTITIES;
    f.pace = f.gain + f.n * QUANTITIES;
    for (int64_t i = 0; i < f.n * QUANTITIES; i++)
        f.state[i] = free_stream[i % QUANTITIES];
    for (int64_t s = argument_i64(arguments, "iterations"); s > 0; s--)
        step(&f);
    int code = compare(&f, results[0].data, worst_error, error);
    free(f.state);
    return code;
}

const struct workload workload_cfd = {.fill = fill, .check = check};
