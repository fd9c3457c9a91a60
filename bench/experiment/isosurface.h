/* The isosurface experiment: a surface in chunks. A window moves over it by a layer of chunks each
 * frame; several methods get memory for the triangles, whose number only the device knows.
 * isosurface.c measures, isosurface_march.c has kernels and methods, isosurface_check.c computes
 * the right answer.
 *
 * The surface is where a field of whole numbers changes its sign. Marching tetrahedra cut it out of
 * each cell: the cell's cube is divided into six tetrahedra along the diagonal from corner 0 to
 * corner 7 (Kuhn), so that neighbours agree on the cut of their common side and the surface has no
 * cracks (Doi and Koide 1991).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "alloc/allocator.h"
#include "experiment/kernels.h"
#include "run/execute/device_source.h"

enum {
    TRIANGLE_WORDS = 9, /* three corners x, y, z, in 1/256 of a cell */
    TRIANGLE_BYTES = 36,
    CELL_TRIANGLES_MOST = 12,
    CELL_SCALE = 256,
};

/* ---- tables ----
 *
 * 6 x 4 bytes: the corners of each tetrahedron. Then for each tetrahedron and each set of its
 * corners that are inside (bit v: its v-th) 16 bytes: the number of triangles, and for each of
 * their three corners the edge that it lies on, lower corner of the cell first. A triangle turns
 * anticlockwise when seen from outside. Where two corners a < b are inside and c < d outside, the
 * first triangle is on the edges ac, ad, bd and the second on ac, bd, bc, turned as they must be.
 */
enum { TABLE_BYTES = 24 + 6 * 16 * 16 };
/* Computes the tables. */
void isosurface_tables(uint8_t table[TABLE_BYTES]);

/* ---- the field ---- */

struct isosurface_field {
    uint32_t top; /* 0: a ball, of the centre `middle` and the radius `slope`, for tests */
    int32_t middle, slope;
    uint32_t seed;
};

/* ---- the right answer (isosurface_check.c), computed without tables and kernels ---- */

struct isosurface_answer {
    uint32_t count; /* number of triangles */
    uint64_t hash;  /* their hash, as the kernel `hash` computes it */
};
/* Count and hash of the triangles of one chunk. */
struct isosurface_answer isosurface_reference(const struct isosurface_field *field, uint32_t cells,
                                              uint32_t chunk_x, uint32_t chunk_y, uint32_t chunk_z);
/* The same hash of `count` given triangles of TRIANGLE_WORDS words each. */
uint64_t isosurface_hash(const int32_t *triangles, size_t count);

/* ---- a march of the window over the surface (isosurface_march.c) ---- */

/* Kernels on a device and the memories that do not depend on the method. */
enum { HASH_ITEMS = 256 };
struct marcher {
    struct device *device;
    const struct device_ops *ops;
    struct kernels_built built;
    uint32_t window, cells, layers;
    uint64_t heap_bytes;     /* size of the device heap */
    uint64_t capacity_bytes; /* as in struct experiment_settings */

    uint64_t table, field, cell_counts, rows, slabs;
    uint64_t counts; /* for each chunk of each layer a word: its number of triangles */
    uint64_t bases;  /* for each chunk of one layer a word: its first triangle */
    uint64_t zeros;  /* for each chunk of one layer a word: 0 */
    uint64_t totals; /* for each layer a word: its number of triangles; only `batch` computes it */
    uint64_t sums;   /* HASH_ITEMS sums of 64 bits */
};

/* Builds the kernels and allocates the memories. On an error (ERR_OOM, ERR_BUILD, …)
 * nothing is held. */
int marcher_open(struct device *device, uint32_t window, uint32_t cells, uint32_t layers,
                 struct marcher *marcher, struct error *error);
/* Frees kernels and memories. */
void marcher_close(struct marcher *marcher);

struct march;

/* A method of getting memory for the triangles of a layer. A layer is in the window from its create
 * to its destroy, which comes `window` creates later. No hook waits longer than its method has
 * to. */
struct isosurface_method {
    const char *name;
    bool uses_allocator;
    int (*open)(struct march *m, struct error *error); /* optional */
    /* Gets memory and enqueues the kernels that emit the layer's triangles. The kernels that count
     * them are in the queue already. */
    int (*create)(struct march *m, uint32_t layer, struct error *error);
    /* Gives the layer's memory back. */
    int (*destroy)(struct march *m, uint32_t layer, struct error *error);
    /* Not timed. Finds the counts[chunk] triangles of a chunk. ERR_WRONG where an empty chunk has
     * memory, or another chunk has none. */
    int (*locate)(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                  uint64_t *memory, uint64_t *offset_words, struct error *error);
    void (*close)(struct march *m); /* optional; also after an open that failed */
};
/* All methods in the order in which they are listed, then NULL. */
extern const struct isosurface_method *const isosurface_methods[];
/* The method of a name; NULL if there is none. */
const struct isosurface_method *isosurface_find_method(const char *name);

struct march {
    struct marcher *marcher;
    struct isosurface_field field;
    uint32_t window, cells, layers;
    const struct isosurface_method *method;
    struct source source;
    struct allocator allocator; /* if the method uses one */
    /* For the method: */
    struct march_chunk *chunks; /* chunks of the window */
    uint32_t *counts;           /* counts of a layer */
    uint64_t memory;
    void *heap;

    uint64_t readback_ns, memory_ns; /* the frame's time in waiting for sizes, in allocating */
    uint64_t launch_count, copy_bytes;
    uint64_t held_bytes; /* bytes held for triangles in addition to the source's */
};

/* Begins a march by a method; `strategy` is the allocator, for methods that use one. The caller
 * calls march_close also after an error. */
int march_open(struct marcher *marcher, const struct isosurface_method *method,
               const char *strategy, const struct isosurface_field *field, struct march *march,
               struct error *error);
/* Frees all memory of the march. */
void march_close(struct march *march);

/* Runs one frame: destroys the layer that leaves the window, counts and creates `layer`. */
int march_frame(struct march *march, uint32_t layer, struct error *error);

static inline uint32_t march_chunks(const struct march *m)
{
    return m->window * m->window;
}
/* The bytes of a chunk with as many triangles as it can have. */
static inline uint64_t march_worst_bytes(const struct march *m)
{
    return (uint64_t)CELL_TRIANGLES_MOST * TRIANGLE_BYTES * m->cells * m->cells * m->cells;
}

/* Adds the hashes of a layer in the window to the marcher's sums; `counts` receives how many
 * triangles each chunk has. Waits. */
int march_hash_layer(struct march *m, uint32_t layer, uint32_t *counts, struct error *error);
/* Returns in *hash the sum of all hashes since the last call, and begins a new sum. Waits. */
int march_take_hash(struct marcher *marcher, uint64_t *hash, struct error *error);
/* Reads the triangles of a chunk; `triangles` has room for counts[chunk]. Waits. */
int march_read_chunk(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                     int32_t *triangles, struct error *error);
