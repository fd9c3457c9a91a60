/* The tables of marching tetrahedra, computed rather than written down. */
#include <stdbool.h>
#include <string.h>

#include "experiment/isosurface/isosurface.h"

enum { TETRAHEDRA = 6, CORNERS = 4, CASES = 16, CASE_BYTES = 16 };

struct point {
    int x, y, z;
};

/* Twice the place of a corner of the unit cube, so that middles of edges are whole. */
static struct point corner_point(unsigned corner)
{
    return (struct point){2 * (int)(corner & 1), 2 * (int)(corner >> 1 & 1),
                          2 * (int)(corner >> 2)};
}

/* One for each order of the axes: from corner 0 along the first, the second, the third. */
static void write_corners(uint8_t *out)
{
    for (unsigned a = 0; a < 3; a++)
        for (unsigned b = 0; b < 3; b++) {
            if (a == b)
                continue;
            *out++ = 0;
            *out++ = (uint8_t)(1 << a);
            *out++ = (uint8_t)(1 << a | 1 << b);
            *out++ = 7;
        }
}

/* An edge of a tetrahedron between two of its corners, and its middle. */
struct edge {
    uint8_t low, high; /* corners of the cell */
    struct point middle;
};

static struct edge edge_of(const uint8_t *corners, unsigned v, unsigned w)
{
    const uint8_t a = corners[v], b = corners[w];
    const struct point p = corner_point(a), q = corner_point(b);
    return (struct edge){
        a < b ? a : b, a < b ? b : a, {(p.x + q.x) / 2, (p.y + q.y) / 2, (p.z + q.z) / 2}};
}

/* Above 0 where the triangle turns anticlockwise seen from `from`. */
static int side(const struct edge *a, const struct edge *b, const struct edge *c, struct point from)
{
    const struct point u = {b->middle.x - a->middle.x, b->middle.y - a->middle.y,
                            b->middle.z - a->middle.z};
    const struct point v = {c->middle.x - a->middle.x, c->middle.y - a->middle.y,
                            c->middle.z - a->middle.z};
    const struct point w = {from.x - a->middle.x, from.y - a->middle.y, from.z - a->middle.z};
    return (u.y * v.z - u.z * v.y) * w.x + (u.z * v.x - u.x * v.z) * w.y +
           (u.x * v.y - u.y * v.x) * w.z;
}

/* `outside`: a corner that the triangle is seen from. */
static void add_triangle(uint8_t *row, struct edge a, struct edge b, struct edge c,
                         struct point outside)
{
    const bool is_turned = side(&a, &b, &c, outside) < 0;
    const struct edge corners[3] = {a, is_turned ? c : b, is_turned ? b : c};
    uint8_t *out = row + 1 + 6 * row[0]++;
    for (unsigned i = 0; i < 3; i++) {
        *out++ = corners[i].low;
        *out++ = corners[i].high;
    }
}

static void write_case(const uint8_t *corners, unsigned inside, uint8_t *row)
{
    unsigned in[CORNERS], out[CORNERS], in_count = 0, out_count = 0;
    for (unsigned v = 0; v < CORNERS; v++)
        if (inside >> v & 1)
            in[in_count++] = v;
        else
            out[out_count++] = v;
    memset(row, 0, CASE_BYTES);
    if (!in_count || !out_count)
        return;
    const struct point outside = corner_point(corners[out[0]]);
    if (in_count == 2) {
        const struct edge ac = edge_of(corners, in[0], out[0]);
        const struct edge ad = edge_of(corners, in[0], out[1]);
        const struct edge bc = edge_of(corners, in[1], out[0]);
        const struct edge bd = edge_of(corners, in[1], out[1]);
        add_triangle(row, ac, ad, bd, outside);
        add_triangle(row, ac, bd, bc, outside);
        return;
    }
    const unsigned *apart = in_count == 1 ? in : out, *others = in_count == 1 ? out : in;
    add_triangle(row, edge_of(corners, apart[0], others[0]), edge_of(corners, apart[0], others[1]),
                 edge_of(corners, apart[0], others[2]), outside);
}

void isosurface_tables(uint8_t table[TABLE_BYTES])
{
    write_corners(table);
    for (unsigned t = 0; t < TETRAHEDRA; t++)
        for (unsigned inside = 0; inside < CASES; inside++)
            write_case(table + CORNERS * t, inside,
                       table + TETRAHEDRA * CORNERS + (t * CASES + inside) * CASE_BYTES);
}
