/* The bench on which one device is measured for its atlas: kernels, commands, methods of getting
 * memory, and cells that collect samples. */
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "run/atlas/atlas_measure.h"
#include "run/atlas/pace.h"

/* The kernels of bench->program. */
enum bench_kernel { BENCH_EMPTY, BENCH_SPIN, BENCH_TOUCH, BENCH_KERNELS };

/* Work that is put in the way of a call just before its clock starts. */
struct obstacle {
    bool stands;        /* whether there is one */
    unsigned queue;     /* queue that it runs on; the timed calls use queue 0 */
    uint64_t ns;        /* its length */
    uint64_t use;       /* a memory that its queue uses afterwards, or 0 */
    uint64_t use_bytes; /* size of that memory */
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
    uint64_t scratch;         /* memory for kernels that need one */
    bool is_synchronous;      /* commands are done when they return, so there are no obstacles */
    double iterations_per_ns; /* speed of the spin kernel */
    double launch_ns, launch_device_ns; /* medians, for commands that build on them */
    uint64_t moved_bytes;               /* most bytes that a command moves */
    uint64_t moved[2];                  /* device memories of moved_bytes each, resident */
    uint64_t host_bytes;
    uint64_t busy_bytes; /* what the device copies to be busy */
    char *host; /* host_bytes of host memory, for reads and writes; owned by the bench's user */
    /* The shortest lives of a memory (pace.h) before visits count, 0: none yet; and the pace
     * against them at the last look, unknown until then. */
    uint64_t full_pace_ns[PACE_SIZES];
    struct pace pace;
    bool visits_count;
    uint64_t pace_looked_ns;   /* when the pace was looked at */
    uint64_t pace_patience_ns; /* for how long the bench may wait for full pace in all */
    uint64_t pace_waited_ns;   /* for how long it has looked and waited */
    struct obstacle obstacle;
    struct error obstacle_error; /* code 0 unless putting the obstacle there failed */
};

enum { BENCH_SCRATCH_BYTES = 65536 };

/* Builds the kernels, allocates memory and calibrates the spin kernel. The caller has set `device`,
 * `ops`, `options` and `atlas`, and calls bench_close also after an error. */
int bench_open(struct bench *b, struct error *error);
/* Frees everything on the device, but not `host`. */
void bench_close(struct bench *b);

/* Runs the spin kernel for `ns`; does not wait. */
int bench_spin(struct bench *b, uint64_t ns, struct error *error);
/* Writes a word to every page of a memory; does not wait. */
int bench_touch(struct bench *b, uint64_t memory, uint64_t bytes, struct error *error);
/* Waits for the device. */
int bench_sync(struct bench *b, struct error *error);

/* Enqueues the obstacle, if any, and returns the time. The timed call follows, then bench_end. */
uint64_t bench_begin(struct bench *b);
/* Nanoseconds since bench_begin returned `began_ns`. */
static inline uint64_t bench_end(uint64_t began_ns)
{
    return clock_ns() - began_ns;
}

/* ---- cells ---- */

enum { CELL_CALLS = 16 };

struct cell {
    const char *method;
    const char *calls[CELL_CALLS]; /* up to NULL */
    uint64_t bytes;
    int (*run)(struct bench *b, struct cell *cell, struct error *error);
    const void *subject;   /* a struct method or command */
    unsigned least_visits; /* made even beyond its time; 0: as many as others */
    unsigned most_samples; /* room for samples of each call */
    size_t counts[CELL_CALLS];
    uint64_t *samples[CELL_CALLS];
    double pace;                 /* of the host in this visit; 0: unknown */
    uint64_t *paced[CELL_CALLS]; /* the samples over the pace, if that of all is known */
    bool is_paced[CELL_CALLS];
    unsigned visits;
    uint64_t spent_ns;
    char skipped[256]; /* why there are no, or no more, samples */
};

/* Makes room for samples of the cell's calls. */
void cell_open(struct cell *cell, unsigned most_samples);
/* Frees the samples. */
void cell_close(struct cell *cell);
/* Files a sample of a call, by its number; samples beyond most_samples are dropped. */
void cell_take(struct cell *cell, size_t call, uint64_t ns);
/* The same for a call of which waited_ns have gone by without work of the host. */
void cell_take_waited(struct cell *cell, size_t call, uint64_t ns, uint64_t waited_ns);
/* Median of a call's samples in nanoseconds; NaN without samples. */
double cell_median(const struct cell *cell, size_t call);
/* A call's samples so far, as a point of the atlas. */
struct atlas_point cell_point(const struct cell *cell, size_t call);

/* ---- methods ---- */

enum { METHOD_STEPS = 4, METHODS_MAX = 12 };

/* A memory of a method. */
struct method_block {
    uint64_t bytes, memory, chunk;
    void *host;
    uint64_t step_ns[METHOD_STEPS]; /* times of the last alloc or free, step by step */
};

/* A timed call of the driver; `state` comes from the method's `open`. */
typedef int method_call(struct bench *b, uint64_t state, struct method_block *block,
                        struct error *error);
struct method_step {
    method_call *call; /* NULL ends a list */
    const char *name;  /* NULL: the step is the whole alloc or free */
    method_call *undo; /* reverts it if a later step fails, or NULL */
};

struct method {
    const char *name;
    struct method_step alloc[METHOD_STEPS + 1], free[METHOD_STEPS + 1];
    bool free_while_used; /* memory may be freed while commands that use it are queued */
    bool is_ordered;      /* and is handed out again without a wait, in the order of the queue */
    uint64_t most_bytes;  /* sizes up to here are measured; 0: a quarter of the device's memory */
    /* (optional) ERR_UNSUPPORTED, with the reason, if the device does not offer this method. */
    int (*open)(struct bench *b, uint64_t *state, struct error *error);
    void (*close)(struct bench *b, uint64_t state); /* (optional) */
};

struct open_method {
    const struct method *method;
    uint64_t state;
    uint64_t least_bytes, step_bytes; /* sizes are multiples of step_bytes */
};

/* Opens all methods that the device offers. For each of the others it adds a curve with the reason.
 * Returns 0 or ERR_DEVICE_LOST. */
int methods_open(struct bench *b, struct open_method methods[METHODS_MAX], size_t *count,
                 struct error *error);
/* Closes the methods. */
void methods_close(struct bench *b, struct open_method *methods, size_t count);

/* Allocates block->bytes step by step. On failure nothing is held. */
int method_alloc(struct bench *b, const struct open_method *method, struct method_block *block,
                 struct error *error);
/* Frees the memory: takes all steps, also after one that fails, and returns the first error. */
int method_free(struct bench *b, const struct open_method *method, struct method_block *block,
                struct error *error);
/* The time of all steps of the last method_alloc or method_free of the block. */
uint64_t method_ns(const struct method_block *block);

/* Two lives of a memory whose size is no cell's, so that the calls after it find the driver's code
 * and data in the processor's caches. */
int method_warm_up(struct bench *b, const struct open_method *method, struct error *error);

/* Appends the names of named steps to a cell's `count` calls; returns the new number of calls. */
size_t method_name_steps(const struct method_step *steps, struct cell *cell, size_t count);
/* Fills in *cell, which measures the whole life of a memory of `bytes`. Its subject is `method`. */
void method_cell(const struct open_method *method, uint64_t bytes, struct cell *cell);

/* ---- prices away from rest ---- */

enum { AFTER_WRITE_BYTES = 4 << 20, AFTER_WRITES_MAX = 6 };
/* Finds busy_bytes. */
int busy_prepare(struct bench *b, struct error *error);
/* Fills in *cell, which measures a memory of `bytes` while the device works. false: the device or
 * the method has no such price. */
bool busy_cell(const struct bench *b, const struct open_method *method, uint64_t bytes,
               struct cell *cell);
/* Fills in a cell for each size of a write, at most AFTER_WRITES_MAX; returns their number. */
size_t after_write_cells(const struct bench *b, const struct open_method *raw, struct cell *cells);

/* ---- commands ---- */

enum { COMMANDS_MAX = 16 };
/* Fills in a cell for each command: those without a size if `bytes` is 0, else those that take one.
 * Returns their number, at most COMMANDS_MAX. */
size_t command_cells(const struct bench *b, uint64_t bytes, struct cell *cells);
/* Measures launch_ns and launch_device_ns, which other commands need. */
int commands_prepare(struct bench *b, struct error *error);
