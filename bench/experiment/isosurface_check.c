/* The right answer, computed without the tables and kernels of the device. For a chunk it finds the
 * triangles: it sorts the corners of every tetrahedron into inside and outside, and turns every
 * triangle by the corners that it really has.
 */
#include "experiment/isosurface.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

/* ---- the field, point by point ---- */

static uint64_t lattice_value(uint32_t x, uint32_t y, uint32_t z, uint32_t seed)
{
    uint32_t h = seed;
    h ^= x * 2376512323u;
    h ^= y * 3625334849u;
    h ^= z * 3407524639u;
    h = (h ^ h >> 16) * 2146121005u;
    h = (h ^ h >> 15) * 2221713035u;
    return (h ^ h >> 16) % 65536;
}

static uint64_t noise_at(const uint32_t position[3], uint32_t shift, uint32_t seed)
{
    const uint32_t wide = 1u << shift;
    uint64_t weight[3], value[8];
    for (int axis = 0; axis < 3; axis++) {
        const uint64_t t = (uint64_t)(position[axis] % wide) * 256 / wide;
        weight[axis] = t * t * (768 - 2 * t) / 65536;
    }
    for (uint32_t corner = 0; corner < 8; corner++)
        value[corner] =
            lattice_value(position[0] / wide + corner % 2, position[1] / wide + corner / 2 % 2,
                          position[2] / wide + corner / 4, seed);
    for (int axis = 0, count = 4; axis < 3; axis++, count /= 2)
        for (int i = 0; i < count; i++)
            value[i] =
                (value[2 * i] * (256 - weight[axis]) + value[2 * i + 1] * weight[axis]) / 256;
    return value[0];
}

static int64_t field_at(const struct isosurface_field *field, const uint32_t position[3])
{
    int64_t sum = 0;
    if (!field->top) {
        sum = (int64_t)field->slope * field->slope;
        for (int axis = 0; axis < 3; axis++) {
            const int64_t d = 4 * (int64_t)position[axis] - field->middle - axis - 1;
            sum -= d * d;
        }
        return sum;
    }
    for (uint32_t octave = 0; octave < 4; octave++)
        sum +=
            (int64_t)noise_at(position, field->top - octave, field->seed + octave) * (8 >> octave);
    return sum - 491520 + ((int64_t)field->middle - position[1]) * field->slope;
}

/* ---- triangles ---- */

struct corner {
    int64_t at[3], value; /* `at` in 1/256 of a cell */
};

static void cut(const struct corner *a, const struct corner *b, int32_t out[3])
{
    int64_t sum_a = 0, sum_b = 0;
    for (int axis = 0; axis < 3; axis++) {
        sum_a += a->at[axis];
        sum_b += b->at[axis];
    }
    const struct corner *low = sum_a < sum_b ? a : b, *high = sum_a < sum_b ? b : a;
    int64_t t = llabs(low->value) * CELL_SCALE / (llabs(low->value) + llabs(high->value));
    t = t < 1 ? 1 : t > CELL_SCALE - 1 ? CELL_SCALE - 1 : t;
    for (int axis = 0; axis < 3; axis++)
        out[axis] = (int32_t)(low->at[axis] + (high->at[axis] - low->at[axis]) * t / CELL_SCALE);
}

static int64_t volume_of(const int32_t t[TRIANGLE_WORDS], const struct corner *from)
{
    int64_t e[3][3];
    for (int axis = 0; axis < 3; axis++) {
        e[0][axis] = t[3 + axis] - t[axis];
        e[1][axis] = t[6 + axis] - t[axis];
        e[2][axis] = from->at[axis] - t[axis];
    }
    return e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
           e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
           e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
}

static void add_triangle(struct isosurface_answer *answer, const struct corner *const pairs[3][2],
                         const struct corner *outside)
{
    int32_t t[TRIANGLE_WORDS], swap[3];
    for (int v = 0; v < 3; v++)
        cut(pairs[v][0], pairs[v][1], t + 3 * v);
    if (volume_of(t, outside) < 0) {
        memcpy(swap, t + 3, sizeof swap);
        memcpy(t + 3, t + 6, sizeof swap);
        memcpy(t + 6, swap, sizeof swap);
    }
    answer->count++;
    answer->hash += isosurface_hash(t, 1);
}

static void add_tetrahedron(struct isosurface_answer *answer, const struct corner *const corners[4])
{
    const struct corner *in[4], *out[4];
    int in_count = 0, out_count = 0;
    for (int v = 0; v < 4; v++)
        if (corners[v]->value > 0)
            in[in_count++] = corners[v];
        else
            out[out_count++] = corners[v];
    if (in_count == 2) {
        const struct corner *first[3][2] = {{in[0], out[0]}, {in[0], out[1]}, {in[1], out[1]}};
        const struct corner *second[3][2] = {{in[0], out[0]}, {in[1], out[1]}, {in[1], out[0]}};
        add_triangle(answer, (const struct corner *const(*)[2])first, out[0]);
        add_triangle(answer, (const struct corner *const(*)[2])second, out[0]);
    } else if (in_count == 1 || in_count == 3) {
        const struct corner **few = in_count == 1 ? in : out, **many = in_count == 1 ? out : in;
        const struct corner *only[3][2] = {{few[0], many[0]}, {few[0], many[1]}, {few[0], many[2]}};
        add_triangle(answer, (const struct corner *const(*)[2])only, out[0]);
    }
}

static void add_cell(struct isosurface_answer *answer, const struct isosurface_field *field,
                     const uint32_t cell[3])
{
    struct corner corners[8];
    int inside = 0;
    for (uint32_t c = 0; c < 8; c++) {
        const uint32_t position[3] = {cell[0] + c % 2, cell[1] + c / 2 % 2, cell[2] + c / 4};
        corners[c].value = field_at(field, position);
        inside += corners[c].value > 0;
        for (int axis = 0; axis < 3; axis++)
            corners[c].at[axis] = (int64_t)position[axis] * CELL_SCALE;
    }
    if (inside == 0 || inside == 8)
        return;
    for (uint32_t a = 0; a < 3; a++)
        for (uint32_t b = 0; b < 3; b++) {
            const struct corner *const four[4] = {&corners[0], &corners[1u << a],
                                                  &corners[(1u << a) + (1u << b)], &corners[7]};
            if (a != b)
                add_tetrahedron(answer, four);
        }
}

struct isosurface_answer isosurface_reference(const struct isosurface_field *field, uint32_t cells,
                                              uint32_t chunk_x, uint32_t chunk_y, uint32_t chunk_z)
{
    struct isosurface_answer answer = {0};
    for (uint32_t z = 0; z < cells; z++)
        for (uint32_t y = 0; y < cells; y++)
            for (uint32_t x = 0; x < cells; x++) {
                const uint32_t cell[3] = {chunk_x * cells + x, chunk_y * cells + y,
                                          chunk_z * cells + z};
                add_cell(&answer, field, cell);
            }
    return answer;
}

/* ---- the hash ---- */

static uint64_t vertex_hash(const int32_t *v)
{
    const uint64_t xy = (uint64_t)(uint32_t)v[0] << 32 | (uint32_t)v[1];
    return random_mix(random_mix(xy) + (uint32_t)v[2]);
}

uint64_t isosurface_hash(const int32_t *triangles, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t h[3], turn = 0;
        for (int v = 0; v < 3; v++)
            h[v] = vertex_hash(triangles + TRIANGLE_WORDS * i + 3 * v);
        for (int v = 0; v < 3; v++)
            turn += random_mix(3 * h[v] + h[(v + 1) % 3]);
        sum += random_mix(turn);
    }
    return sum;
}
