/* Geometry and topology of the triangles that the isosurface experiment makes. */
#pragma once

#include "experiment/isosurface.h"

struct isosurface_mesh {
    size_t triangles, vertices, edges; /* after welding */
    size_t open_edges;                 /* edges without exactly one triangle on each side */
    double area, volume; /* in cells; the volume is negative if triangles are turned around */
};
/* Welds equal corners of `count` triangles, and measures the mesh. */
struct isosurface_mesh isosurface_measure(const int32_t *triangles, size_t count);
/* ERR_WRONG if the mesh is not that of a ball whose radius is 3/4 of a chunk; the message says what
 * differs. */
int isosurface_check_ball(const int32_t *triangles, size_t count, uint32_t cells,
                          struct error *error);
