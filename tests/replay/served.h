/* Programs as sequences of requests and frees: read from traces, made to deviate, and served. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc/planned/planned.h"

struct step {
    bool frees; /* false: a request */
    bool marks; /* an iteration begins, and nothing else happens */
    unsigned block, queue;
    uint64_t size;
};

struct requests {
    struct step *steps;
    unsigned count, capacity, block_count;
    uint64_t peak_bytes; /* most requested bytes that live at once */
};

void requests_add(struct requests *program, const struct step *step);
/* Counts the blocks' peak. */
void requests_finish(struct requests *program);
/* The blocks of a trace in common memory, until done. The process ends if that fails. */
void requests_read(const char *path, struct requests *program);
/* Writes the program as a trace with one phase "step N" for each mark. */
void requests_write(const struct requests *program, const char *path);
/* A training or generating program that is made up: an iteration makes its blocks layer by layer
 * and frees most in reverse. Gradients live until the next one begins. The first makes what
 * stays. */
struct made_up {
    uint64_t seed; /* of the order of shapes */
    unsigned iterations, shapes;
    unsigned queues;  /* iterations come on these in turn */
    bool grows;       /* each layer has a cache, a unit larger in each iteration */
    bool takes_turns; /* the shapes come in turn, beginning with that of `seed`, not by chance */
};
void requests_make(const struct made_up *what, struct requests *program);
void requests_free(struct requests *program);

#define DEVIATION_LIST(X)                                                                          \
    X(none, "as recorded")                                                                         \
    X(inserted, "requests inserted, each until 20 requests later")                                 \
    X(dropped, "requests left out")                                                                \
    X(larger, "requests an eighth larger")                                                         \
    X(smaller, "requests an eighth smaller")                                                       \
    X(delayed, "frees 20 requests late")                                                           \
    X(swapped, "neighbouring requests swapped")
enum deviation {
#define X(name, help) DEVIATE_##name,
    DEVIATION_LIST(X)
#undef X
        DEVIATIONS
};

/* The program with that share of its requests changed, by chance. */
void requests_deviate(const struct requests *program, enum deviation kind, double share,
                      uint64_t seed, struct requests *changed);
/* Adds a request of `bytes` before each `period`-th request from `first` on, freed `life` requests
 * later (0: never). */
void requests_insert(const struct requests *program, unsigned first, unsigned period,
                     uint64_t bytes, unsigned life, struct requests *changed);

struct served {
    uint64_t peak_reserved_bytes, end_reserved_bytes;
    uint64_t driver_calls;
    double ns;         /* a request and its free */
    unsigned broken;   /* invariants; 0 unless `check` */
    const char *wrong; /* NULL, or what is wrong with a block */
    struct planned_counts planned;
};

/* Serves the program with a strategy over a dry device. `check`: after every step; slow. */
void requests_serve(const struct requests *program, const char *spec, bool check,
                    struct served *served);
