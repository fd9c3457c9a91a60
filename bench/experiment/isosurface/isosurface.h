/* The isosurface experiment: a surface in chunks, over a window that moves a layer of chunks each
 * frame, in several methods of getting memory for triangles of which only the device knows how many
 * there are. isosurface.c says what is measured, isosurface_methods.c what the methods are.
 *
 * The surface is where a field of whole numbers changes its sign, cut out of each cell by marching
 * tetrahedra: the cube of a cell is cut into six along the diagonal from corner 0 to corner 7
 * (Kuhn), so that neighbours agree on the cut of their common side and the surface has no cracks
 * (Doi and Koide 1991).
 */
#ifndef GAMUT_EXPERIMENT_ISOSURFACE_H
#define GAMUT_EXPERIMENT_ISOSURFACE_H

#include <stddef.h>
#include <stdint.h>

#include "alloc/allocator.h"
#include "device/device.h"
#include "experiment/experiment.h"
#include "experiment/kernels.h"

enum {
    TRIANGLE_WORDS = 9, /* three corners x, y, z, in 1/256 of a cell */
    TRIANGLE_BYTES = 36,
    CELL_TRIANGLES_MOST = 12,
    CELL_SCALE = 256,
};

/* ---- tables (isosurface_tables.c) ----
 *
 * 6 x 4 bytes: the corners of each tetrahedron. Then for each tetrahedron and each set of its
 * corners that are inside (bit v: its v-th) 16 bytes: the number of triangles, and for each of
 * their three corners the edge that it lies on, lower corner of the cell first. A triangle turns
 * anticlockwise when seen from outside. Where two corners a < b are inside and c < d outside, the
 * first triangle is on the edges ac, ad, bd and the second on ac, bd, bc, turned as they must be.
 */
enum { TABLE_BYTES = 24 + 6 * 16 * 16 };
void isosurface_tables(uint8_t table[TABLE_BYTES]);

/* ---- the field ---- */

struct isosurface_field {
    uint32_t top; /* 0: the ball */
    int32_t middle, slope;
    uint32_t seed;
};
/* Hills of which about a third of the chunks of a window have any. */
struct isosurface_field isosurface_hills(uint32_t window, uint32_t cells, uint64_t seed);
/* A ball in the middle of two layers of 2 x 2 chunks, its radius 3/4 of a chunk. */
struct isosurface_field isosurface_ball(uint32_t cells);

/* ---- what it should be (isosurface_reference.c): by no table and no kernel ---- */

struct isosurface_answer {
    uint32_t count; /* of triangles */
    uint64_t hash;  /* the sum that the kernel `hash` makes of them */
};
struct isosurface_answer isosurface_reference(const struct isosurface_field *field, uint32_t cells,
                                              uint32_t chunk_x, uint32_t chunk_y, uint32_t chunk_z);
/* The same sum over triangles in memory. */
uint64_t isosurface_hash(const int32_t *triangles, size_t count);

/* ---- the mesh (isosurface_mesh.c) ---- */

struct isosurface_mesh {
    size_t triangles, vertices, edges; /* after welding */
    size_t open_edges;                 /* without exactly one triangle on each side */
    double area, volume; /* in cells; the volume is below 0 where triangles are turned around */
};
struct isosurface_mesh isosurface_measure(const int32_t *triangles, size_t count);
/* ERR_WRONG where the mesh is not that of the ball of isosurface_ball, and in what. */
int isosurface_check_ball(const int32_t *triangles, size_t count, uint32_t cells,
                          struct error *error);

#endif
