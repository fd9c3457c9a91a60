/* The bench on which one device is measured for its atlas: kernels, commands, methods of getting
 * memory, and cells that collect samples. */
#ifndef GAMUT_RUN_ATLAS_BENCH_H
#define GAMUT_RUN_ATLAS_BENCH_H

#include "base/clock.h"
#include "base/random.h"
#include "run/atlas/atlas_measure.h"

/* The kernels of bench->program. */
enum bench_kernel { BENCH_EMPTY, BENCH_SPIN, BENCH_TOUCH, BENCH_SIXTEEN, BENCH_KERNELS };

/* Work that is put in the way of a call just before its clock starts. */
struct obstacle {
    bool stands;
    unsigned queue; /* where it runs; the timed calls use queue 0 */
    uint64_t ns;    /* how long it takes */
    uint64_t use;   /* a memory that its queue uses after it, or 0 */
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
    uint64_t moved_bytes;               /* the most that a command moves */
    uint64_t moved[2];                  /* device memories of that size, resident */
    uint64_t host_bytes;
    char *host; /* host memory of that size, for reads and writes; owned by the user of the bench */
    struct obstacle obstacle;
    struct error obstacle_error; /* code 0 unless putting the obstacle there failed */
};

enum { BENCH_SCRATCH_BYTES = 65536 };

/* Builds the kernels, allocates memory and calibrates the spin kernel. `device`, `ops`, `options`
 * and `atlas` are set. On an error call bench_close all the same. */
int bench_open(struct bench *b, struct error *error);
/* Frees everything on the device; `host` is left. */
void bench_close(struct bench *b);

/* Runs the spin kernel for `ns`; does not wait. */
int bench_spin(struct bench *b, uint64_t ns, struct error *error);
/* Writes a word to every page of a memory; does not wait. */
int bench_touch(struct bench *b, uint64_t memory, uint64_t bytes, struct error *error);
/* Waits for the device. */
int bench_sync(struct bench *b, struct error *error);

/* Puts the obstacle in the way and returns the time. A timed call stands between this and
 * bench_end. */
uint64_t bench_begin(struct bench *b);
/* The time since bench_begin. */
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
    const void *subject;   /* a struct method or command */
    unsigned most_samples; /* room for samples of each call */
    size_t counts[CELL_CALLS];
    uint64_t *samples[CELL_CALLS];
    unsigned visits;
    uint64_t spent_ns;
    char skipped[256]; /* why there are no, or no more, samples */
};

/* Makes room for samples of the cell's calls. */
void cell_open(struct cell *cell, unsigned most_samples);
void cell_close(struct cell *cell); /* frees it */
/* Files a sample; beyond most_samples it is dropped. */
void cell_take(struct cell *cell, size_t call, uint64_t ns);
/* NaN without samples. */
double cell_median(const struct cell *cell, size_t call);
/* The samples so far as a point. */
struct atlas_point cell_point(const struct cell *cell, size_t call);

/* ---- methods ---- */

enum { METHOD_STEPS = 4, METHODS_MAX = 12 };

/* A memory of a method. */
struct method_block {
    uint64_t bytes, memory, chunk;
    void *host;
    uint64_t step_ns[METHOD_STEPS]; /* times of the last alloc or free, step by step */
};

/* A timed call of the driver; `state` is that of the open method. */
typedef int method_call(struct bench *b, uint64_t state, struct method_block *block,
                        struct error *error);
struct method_step {
    method_call *call; /* NULL ends a list */
    const char *name;  /* NULL: the step is all of alloc or free */
    method_call *undo; /* reverts it where a later step fails, or NULL */
};

struct method {
    const char *name;
    struct method_step alloc[METHOD_STEPS + 1], free[METHOD_STEPS + 1];
    bool free_while_used; /* memory may be freed while commands that use it are queued */
    uint64_t most_bytes;  /* sizes up to here are measured; 0: a quarter of the device's memory */
    /* (optional) ERR_UNSUPPORTED: the device does not offer this method, and why. */
    int (*open)(struct bench *b, uint64_t *state, struct error *error);
    void (*close)(struct bench *b, uint64_t state); /* (optional) */
};

struct open_method {
    const struct method *method;
    uint64_t state;
    uint64_t least_bytes, step_bytes; /* sizes are multiples of step_bytes */
};

/* Opens all methods that the device offers. Another one gets a curve that says why. Returns 0 or
 * ERR_DEVICE_LOST. */
int methods_open(struct bench *b, struct open_method methods[METHODS_MAX], size_t *count,
                 struct error *error);
/* Closes them. */
void methods_close(struct bench *b, struct open_method *methods, size_t count);

/* Allocates block->bytes step by step. On failure nothing is held. */
int method_alloc(struct bench *b, const struct open_method *method, struct method_block *block,
                 struct error *error);
/* Frees it: all steps, also after one that fails; returns the first error. */
int method_free(struct bench *b, const struct open_method *method, struct method_block *block,
                struct error *error);
/* The time of all steps of the last of these calls. */
uint64_t method_ns(const struct method_block *block);

/* Adds the names of named steps to a cell's calls, of which there are `count`; returns how many
 * there are then. */
size_t method_name_steps(const struct method_step *steps, struct cell *cell, size_t count);
/* A cell of a method: the whole life of a memory. Its subject is a struct open_method. */
void method_cell(const struct open_method *method, uint64_t bytes, struct cell *cell);

/* ---- commands ---- */

/* For `bytes` 0 the cells of all commands without a size, else of all commands that take one; at
 * most COMMANDS_MAX. Returns how many. */
enum { COMMANDS_MAX = 16 };
size_t command_cells(const struct bench *b, uint64_t bytes, struct cell *cells);
/* Measures what other commands build on: launch_ns and launch_device_ns. */
int commands_prepare(struct bench *b, struct error *error);

#endif
