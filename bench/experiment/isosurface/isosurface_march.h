/* One march of the window over the surface, in one method of getting memory. */
#ifndef GAMUT_EXPERIMENT_ISOSURFACE_MARCH_H
#define GAMUT_EXPERIMENT_ISOSURFACE_MARCH_H

#include "alloc/allocator.h"
#include "experiment/isosurface/isosurface.h"
#include "run/execute/device_source.h"

/* Kernels on a device and the memories that do not depend on the method. */
struct marcher {
    struct device *device;
    const struct device_ops *ops;
    struct kernels_built built;
    uint32_t window, cells, layers; /* the most of each that there is room for */
    uint64_t heap_bytes;            /* of a device heap */
    uint64_t capacity_bytes;        /* as in struct experiment_settings */

    uint64_t table, field, cell_counts, rows, slabs;
    uint64_t counts; /* a word a chunk of every layer: its triangles */
    uint64_t bases;  /* a word a chunk of a layer: where its triangles begin */
    uint64_t zeros;  /* as many words, all 0 */
    uint64_t totals; /* a word a layer: its triangles, where a method asks for them */
    uint64_t sums;   /* HASH_ITEMS sums of 64 bits */
};
enum { HASH_ITEMS = 256 };

/* ERR_OOM, ERR_BUILD, …; nothing is held then. */
int marcher_open(struct device *device, uint32_t window, uint32_t cells, uint32_t layers,
                 struct marcher *marcher, struct error *error);
void marcher_close(struct marcher *marcher);

/* A chunk's memory. */
struct chunk {
    struct block block;
    uint64_t bytes; /* asked for; 0: it has none */
    uint32_t slot;  /* where a device heap says so */
};

struct march;

/* A method of getting memory for the triangles of a layer. Layer L is in the window from its create to
 * its destroy, `window` creates later. Nothing waits that does not have to. */
struct isosurface_method {
    const char *name, *help;
    bool uses_allocator;
    int (*open)(struct march *m, struct error *error); /* optional */
    /* The layer's counts are being computed, in the queue; its triangles are to be emitted. */
    int (*create)(struct march *m, uint32_t layer, struct error *error);
    int (*destroy)(struct march *m, uint32_t layer, struct error *error);
    /* Not timed: where the triangles of a chunk are, which has counts[chunk] of them. ERR_WRONG
     * where the method has memory for an empty one, or none for another. */
    int (*locate)(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                  uint64_t *memory, uint64_t *offset_words, struct error *error);
    void (*close)(struct march *m); /* optional; also after an open that failed */
};
/* Up to NULL; in the order in which they are listed. */
extern const struct isosurface_method *const isosurface_methods[];
extern const struct isosurface_method isosurface_heap;
const struct isosurface_method *isosurface_find_method(const char *name); /* NULL: there is none */

struct march {
    struct marcher *marcher;
    struct isosurface_field field;
    uint32_t window, cells, layers;
    const struct isosurface_method *method;
    struct source source;
    struct allocator allocator; /* where the method uses one */
    struct chunk *chunks;       /* of the window: see march_chunk; for the method to use */
    uint32_t *counts;           /* of a layer; for the method to use */
    uint64_t memory;            /* likewise */
    void *heap;                 /* likewise */

    uint64_t readback_ns, memory_ns; /* of the frame: waiting for sizes, asking for memory */
    uint64_t launch_count, copy_bytes;
    uint64_t held_bytes; /* for triangles, other than from the source */
};

/* `strategy`: for methods that use an allocator. `march` is to be closed also after an error. */
int march_open(struct marcher *marcher, const struct isosurface_method *method,
               const char *strategy, const struct isosurface_field *field, uint32_t window,
               uint32_t layers, struct march *march, struct error *error);
void march_close(struct march *march);

/* A frame: the layer that leaves the window goes, the next one comes. */
int march_frame(struct march *march, uint32_t layer, struct error *error);

/* ---- for methods ---- */

static inline uint32_t march_chunks(const struct march *m)
{
    return m->window * m->window;
}
static inline struct chunk *march_chunk(struct march *m, uint32_t layer, uint32_t chunk)
{
    return &m->chunks[(layer % m->window) * march_chunks(m) + chunk];
}
/* Bytes of the most triangles that a chunk can have. */
static inline uint64_t march_worst_bytes(const struct march *m)
{
    return (uint64_t)CELL_TRIANGLES_MOST * TRIANGLE_BYTES * m->cells * m->cells * m->cells;
}

/* Emits the triangles of `count` chunks from `first` on: those of chunk c to word offset + c *
 * stride + 9 * bases[c] of a memory. */
int march_emit(struct march *m, uint64_t memory, uint64_t offset_words, uint64_t stride_words,
               uint64_t bases, uint32_t layer, uint32_t first, uint32_t count, struct error *error);
/* Waits for words of a device memory; counted as a read-back. */
int march_read(struct march *m, uint32_t *words, uint64_t memory, uint64_t first, uint32_t count,
               struct error *error);
/* A chunk's memory from the allocator, and back; timed as memory. */
int march_alloc(struct march *m, struct chunk *chunk, uint64_t bytes, struct error *error);
int march_free(struct march *m, struct chunk *chunk, struct error *error);
/* Kernels of the source file, by their place in it. */
enum march_kernel {
    MARCH_FIELD,
    MARCH_COUNT,
    MARCH_ROWS,
    MARCH_SCAN,
    MARCH_TAKE,
    MARCH_EMIT,
    MARCH_EMIT_SLOTS,
    MARCH_HASH,
    MARCH_KERNELS
};
int march_launch(struct march *m, enum march_kernel kernel, int64_t items,
                 const union launch_value *arguments, struct error *error);

/* ---- for checks ---- */

/* Adds the hashes of a layer in the window to the marcher's sums; `counts` receives how many
 * triangles each chunk has. Waits. */
int march_hash_layer(struct march *m, uint32_t layer, uint32_t *counts, struct error *error);
/* Takes the sums, and begins new ones. */
int march_take_hash(struct marcher *marcher, uint64_t *hash, struct error *error);
/* The triangles of a chunk; `triangles` has room for counts[chunk]. */
int march_read_chunk(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                     int32_t *triangles, struct error *error);

#endif
