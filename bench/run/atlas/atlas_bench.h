/* What the parts of the atlas share: the bench on which one device is measured. */
#ifndef GAMUT_RUN_ATLAS_BENCH_H
#define GAMUT_RUN_ATLAS_BENCH_H

#include "base/clock.h"
#include "base/random.h"
#include "run/atlas/atlas_measure.h"

/* Kernels in the device's own language; see atlas_kernels.c. */
enum bench_kernel { BENCH_EMPTY, BENCH_SPIN, BENCH_TOUCH, BENCH_SIXTEEN, BENCH_KERNELS };

/* Work that is put in the way of a call just before its clock starts. */
struct obstacle {
    bool stands;
    unsigned queue; /* that it runs in; calls go to queue 0 */
    uint64_t ns;    /* how long it takes */
    uint64_t use;   /* a memory that is used behind it in its queue, or 0 */
    uint64_t use_bytes;
};

struct bench {
    struct device *device;
    const struct device_ops *ops;
    const struct atlas_options *options;
    struct atlas *atlas;
    atlas_listener *listener;
    void *context;
    struct random random;

    struct device_program *program;
    uint64_t scratch;    /* memory for kernels that need one */
    bool is_synchronous; /* commands are done when they return: nothing can be put in the way */
    double iterations_per_ns;           /* of the spin kernel */
    double launch_ns, launch_device_ns; /* medians, for commands that build on them */
    uint64_t moved_bytes;               /* the most that commands move */
    uint64_t moved[2];                  /* device memories of that size, resident */
    uint64_t host_bytes;
    char *host; /* what is read and written */
    struct obstacle obstacle;
    struct error obstacle_error; /* code 0 unless putting it there failed */
};

enum { BENCH_SCRATCH_BYTES = 65536 };

int bench_open(struct bench *b, struct error *error);
/* Gives back what is the device's. */
void bench_close(struct bench *b);

/* One item, or one item a page of a memory. None of them waits. */
int bench_launch_empty(struct bench *b, struct error *error);
int bench_launch_sixteen(struct bench *b, unsigned turn, struct error *error);
int bench_spin(struct bench *b, uint64_t ns, struct error *error);
int bench_touch(struct bench *b, uint64_t memory, uint64_t bytes, struct error *error);
int bench_sync(struct bench *b, struct error *error);
/* Device time: marks before and after commands, and after a sync the time between. */
int bench_mark(struct bench *b, int which, struct error *error);
int bench_elapsed(struct bench *b, uint64_t *ns, struct error *error);

/* Every timed call stands between these two. The first puts the obstacle in the way. */
uint64_t bench_begin(struct bench *b);
static inline uint64_t bench_end(uint64_t began_ns)
{
    return clock_ns() - began_ns;
}

/* ---- cells ---- */

enum { CELL_CALLS = 16 };

struct cell {
    const char *method;
    const char *calls[CELL_CALLS]; /* up to NULL */
    uint64_t bytes, live_count;
    int (*run)(struct bench *b, struct cell *cell, struct error *error);
    const void *subject; /* a struct method or command */
    unsigned most_samples;
    size_t counts[CELL_CALLS];
    uint64_t *samples[CELL_CALLS];
    unsigned visits;
    uint64_t spent_ns;
    char skipped[256];
};

void cell_open(struct cell *cell, unsigned most_samples);
void cell_close(struct cell *cell);
/* Files a sample; beyond most_samples it is dropped. */
void cell_take(struct cell *cell, size_t call, uint64_t ns);
double cell_median(const struct cell *cell, size_t call); /* NaN without samples */

/* ---- methods ---- */

enum { METHOD_STEPS = 4 };

/* A memory of a method. */
struct method_block {
    uint64_t bytes, memory, chunk;
    void *host;
    uint64_t step_ns[METHOD_STEPS]; /* of the last alloc or free, step by step */
};

/* The time of all steps. */
uint64_t method_ns(const struct method_block *block);

struct method {
    const char *name;
    const char *alloc_steps[METHOD_STEPS], *free_steps[METHOD_STEPS]; /* NULL: a single call */
    bool free_while_used; /* memory may be freed while commands that use it are queued */
    uint64_t most_bytes;  /* 0: a quarter of the device's memory */
    const char *why_most; /* most_bytes is not more */
    /* Optional. ERR_UNSUPPORTED: the device does not offer this method, and why. */
    int (*open)(struct bench *b, uint64_t *state, struct error *error);
    void (*close)(struct bench *b, uint64_t state);
    int (*alloc)(struct bench *b, uint64_t state, struct method_block *block, struct error *error);
    int (*free)(struct bench *b, uint64_t state, struct method_block *block, struct error *error);
};

struct open_method {
    const struct method *method;
    uint64_t state;
    uint64_t least_bytes, step_bytes; /* sizes are multiples of it */
};

enum { METHODS_MAX = 12 };

/* Opens what the device offers. A method that it does not offer gets a curve that says why. */
int methods_open(struct bench *b, struct open_method methods[METHODS_MAX], size_t *count,
                 struct error *error);
void methods_close(struct bench *b, struct open_method *methods, size_t count);

/* A cell of a method: the whole life of a memory. Its subject is a struct open_method. */
void method_cell(const struct open_method *method, uint64_t bytes, struct cell *cell);

/* ---- commands ---- */

/* Cells of commands that have no size, then of those that do, at the given sizes. Returns how many
 * (at most COMMANDS_MAX for size 0). */
enum { COMMANDS_MAX = 16 };
size_t command_cells(const struct bench *b, uint64_t bytes, struct cell *cells);
/* Measures what other commands build on: launch_ns and launch_device_ns. */
int commands_prepare(struct bench *b, struct error *error);

/* ---- phases ---- */

int atlas_sizes(struct bench *b, const struct open_method *methods, size_t method_count,
                struct error *error);
int atlas_probe_waits(struct bench *b, const struct open_method *methods, size_t method_count,
                      struct error *error);
int atlas_live_counts(struct bench *b, const struct open_method *methods, size_t method_count,
                      struct error *error);

/* Files what a cell has measured as points of its curves. */
void bench_file(struct bench *b, const struct cell *cell);
void bench_say(struct bench *b, const char *doing, bool with_atlas);

#endif
