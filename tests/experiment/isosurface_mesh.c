#include "tests/experiment/isosurface_mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"

static const double pi = 3.14159265358979323846;

static int compare_vertices(const void *a, const void *b)
{
    const int32_t *v = a, *w = b;
    for (int axis = 0; axis < 3; axis++)
        if (v[axis] != w[axis])
            return v[axis] < w[axis] ? -1 : 1;
    return 0;
}

/* A directed edge, by numbers of welded vertices. */
struct edge {
    uint32_t from, to;
};

ORDER_BY_BOTH(compare_edges, struct edge, from, to)

/* Sorts the vertices and drops duplicates; returns how many are left. */
static size_t weld(const int32_t *triangles, size_t count, int32_t *vertices)
{
    const size_t corners = 3 * count;
    size_t kept = 0;
    memcpy(vertices, triangles, corners * 3 * sizeof *vertices);
    qsort(vertices, corners, 3 * sizeof *vertices, compare_vertices);
    for (size_t i = 0; i < corners; i++)
        if (kept == 0 || compare_vertices(vertices + 3 * i, vertices + 3 * (kept - 1)) != 0)
            memmove(vertices + 3 * kept++, vertices + 3 * i, 3 * sizeof *vertices);
    return kept;
}

static uint32_t number_of(const int32_t *vertex, const int32_t *vertices, size_t count)
{
    const int32_t *found = bsearch(vertex, vertices, count, 3 * sizeof *vertices, compare_vertices);
    return (uint32_t)((found - vertices) / 3);
}

/* An edge is good if each of its directions comes once. */
static void count_edges(struct edge *edges, size_t count, struct isosurface_mesh *mesh)
{
    qsort(edges, count, sizeof *edges, compare_edges);
    size_t good = 0;
    for (size_t i = 0; i < count; i++) {
        const struct edge back = {edges[i].to, edges[i].from};
        const bool is_once = (i == 0 || compare_edges(&edges[i - 1], &edges[i]) != 0) &&
                             (i + 1 == count || compare_edges(&edges[i + 1], &edges[i]) != 0);
        const bool has_back = bsearch(&back, edges, count, sizeof *edges, compare_edges) != NULL;
        if (is_once && has_back)
            good++;
        else
            mesh->open_edges++;
    }
    mesh->edges = good / 2 + mesh->open_edges;
}

static void add_sizes(const int32_t *t, struct isosurface_mesh *mesh)
{
    double p[3][3], n[3];
    for (int v = 0; v < 3; v++)
        for (int axis = 0; axis < 3; axis++)
            p[v][axis] = (double)t[3 * v + axis] / CELL_SCALE;
    for (int axis = 0; axis < 3; axis++) {
        const int i = (axis + 1) % 3, j = (axis + 2) % 3;
        n[axis] =
            (p[1][i] - p[0][i]) * (p[2][j] - p[0][j]) - (p[1][j] - p[0][j]) * (p[2][i] - p[0][i]);
        mesh->volume += n[axis] * p[0][axis] / 6;
    }
    mesh->area += sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / 2;
}

struct isosurface_mesh isosurface_measure(const int32_t *triangles, size_t count)
{
    struct isosurface_mesh mesh = {.triangles = count};
    int32_t *vertices = must_alloc((count + 1) * TRIANGLE_BYTES);
    struct edge *edges = must_alloc((3 * count + 1) * sizeof *edges);
    mesh.vertices = weld(triangles, count, vertices);
    for (size_t i = 0; i < count; i++) {
        const int32_t *t = triangles + TRIANGLE_WORDS * i;
        uint32_t number[3];
        for (int v = 0; v < 3; v++)
            number[v] = number_of(t + 3 * v, vertices, mesh.vertices);
        for (int v = 0; v < 3; v++)
            edges[3 * i + (size_t)v] = (struct edge){number[v], number[(v + 1) % 3]};
        add_sizes(t, &mesh);
    }
    count_edges(edges, 3 * count, &mesh);
    free(edges);
    free(vertices);
    return mesh;
}

/* Flat triangles lie inside the ball: area and volume are too small, by a part that falls with the
 * square of the radius. */
int isosurface_check_ball(const int32_t *triangles, size_t count, uint32_t cells,
                          struct error *error)
{
    const struct isosurface_mesh m = isosurface_measure(triangles, count);
    const double r = 0.75 * cells, allowed = 1 / (r * r);
    const double area = m.area / (4 * pi * r * r) - 1,
                 volume = m.volume / (4 * pi * r * r * r / 3) - 1;
    const long long euler = (long long)m.vertices - (long long)m.edges + (long long)m.triangles;
    if (m.open_edges)
        return error_set(error, ERR_WRONG,
                         "the ball: %zu edges do not have one triangle on each side", m.open_edges);
    if (euler != 2)
        return error_set(error, ERR_WRONG,
                         "the ball: %zu vertices - %zu edges + %zu triangles is %lld, not 2",
                         m.vertices, m.edges, m.triangles, euler);
    if (!(fabs(area) <= allowed) || !(fabs(volume) <= allowed))
        return error_set(error, ERR_WRONG,
                         "the ball: area %.4g and volume %.4g of a cell are off by parts of %.3g "
                         "and %.3g, %.3g allowed",
                         m.area, m.volume, area, volume, allowed);
    return 0;
}
