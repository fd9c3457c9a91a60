/* What calls wait for: each is timed on an idle device, with a kernel of known length in its own
 * queue, and with the same kernel in another queue alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/atlas/atlas_bench.h"

enum {
    TRIES_MAX = 7,
    PLACES = 3,
    TIMES_IDLE = 4, /* the kernel takes so many times as long as the call alone */
    MOST_IDLE_NS =
        20000000, /* a call that takes longer is not probed: the kernel would be too long */
};

/* Where the kernel is. */
enum place { IDLE, OWN_QUEUE, OTHER_QUEUE };

static void put(struct bench *b, enum place place, uint64_t spin_ns)
{
    b->obstacle = (struct obstacle){
        .stands = place != IDLE, .queue = place == OTHER_QUEUE ? 1 : 0, .ns = spin_ns};
    b->obstacle_error.code = 0;
}

/* Takes the obstacle away; what could not be put there is the error. */
static int clear(struct bench *b, int code, struct error *error)
{
    b->obstacle.stands = false;
    if (!code && b->obstacle_error.code)
        code = error_set(error, b->obstacle_error.code, "%s", b->obstacle_error.text);
    int synced = bench_sync(b, code ? NULL : error);
    return code ? code : synced;
}

/* One life of a memory, with the obstacle in the way of each call of alloc and then of free. */
static int life(struct bench *b, enum place place, uint64_t spin_ns, struct cell *cell,
                struct error *error)
{
    const struct open_method *o = cell->subject;
    const struct method *method = o->method;
    struct method_block block = {.bytes = cell->bytes};
    put(b, place, spin_ns);
    int code = clear(b, method->alloc(b, o->state, &block, error), error);
    if (code)
        return code;
    size_t call = 0;
    cell_take(cell, call++, method_ns(&block));
    for (size_t i = 0; i < METHOD_STEPS && method->alloc_steps[i]; i++)
        cell_take(cell, call++, block.step_ns[i]);
    code = bench_touch(b, block.memory, block.bytes, error);
    if (!code)
        code = bench_sync(b, error);
    put(b, place, spin_ns);
    if (place == OWN_QUEUE && method->free_while_used) {
        b->obstacle.use = block.memory;
        b->obstacle.use_bytes = block.bytes;
    }
    memset(block.step_ns, 0, sizeof block.step_ns);
    int freed = method->free(b, o->state, &block, code ? NULL : error);
    code = clear(b, code ? code : freed, error);
    cell_take(cell, call++, method_ns(&block));
    for (size_t i = 0; i < METHOD_STEPS && method->free_steps[i]; i++)
        cell_take(cell, call++, block.step_ns[i]);
    return code;
}

static void life_cell(const struct open_method *open, uint64_t bytes, struct cell *cell)
{
    const struct method *method = open->method;
    size_t count = 0;
    *cell = (struct cell){.method = method->name, .bytes = bytes, .subject = open};
    cell->calls[count++] = "alloc";
    for (size_t i = 0; i < METHOD_STEPS && method->alloc_steps[i]; i++)
        cell->calls[count++] = method->alloc_steps[i];
    cell->calls[count++] = "free";
    for (size_t i = 0; i < METHOD_STEPS && method->free_steps[i]; i++)
        cell->calls[count++] = method->free_steps[i];
}

static int once(struct bench *b, enum place place, uint64_t spin_ns, struct cell *cell,
                struct error *error)
{
    if (!cell->run)
        return life(b, place, spin_ns, cell, error);
    put(b, place, spin_ns);
    return clear(b, cell->run(b, cell, error), error);
}

/* How long the kernel takes now, waiting for it included, because that is what a call that waits
 * sees. */
static int spin_time(struct bench *b, uint64_t asked_ns, double *ns, struct error *error)
{
    struct cell cell = {.calls = {"spin"}};
    int code = 0;
    cell_open(&cell, 3);
    for (int i = 0; i < 3 && !code; i++) {
        uint64_t began = clock_ns();
        code = bench_spin(b, asked_ns, error);
        if (!code)
            code = bench_sync(b, error);
        cell_take(&cell, 0, bench_end(began));
    }
    *ns = cell_median(&cell, 0);
    cell_close(&cell);
    return code;
}

static void file_probes(struct bench *b, const struct cell places[PLACES], double spin_ns)
{
    for (size_t call = 0; places[0].calls[call]; call++) {
        struct atlas_curve *curve =
            atlas_curve_of(b->atlas, places[0].method, places[0].calls[call]);
        atlas_add_probe(curve, &(struct atlas_probe){
                                   .bytes = places[0].bytes,
                                   .idle_ns = cell_median(&places[IDLE], call),
                                   .own_queue_ns = cell_median(&places[OWN_QUEUE], call),
                                   .other_queue_ns = cell_median(&places[OTHER_QUEUE], call),
                                   .spin_ns = spin_ns,
                               });
        atlas_finish_curve(curve);
    }
}

/* ERR_DEVICE_LOST alone is an error: a size that the method refuses has no probe. */
static int probe(struct bench *b, const struct cell *model, struct error *error)
{
    const unsigned tries = b->options->quick ? 3 : TRIES_MAX;
    uint64_t spin_ns = b->options->quick ? 2000000 : 5000000;
    struct cell places[PLACES];
    struct error why = {0};
    char doing[96];
    snprintf(doing, sizeof doing, "what calls wait for: %s %s", model->method, model->calls[0]);
    bench_say(b, doing, false);
    double real_spin_ns = NAN;
    int code = 0;
    for (int place = 0; place < PLACES; place++) {
        places[place] = *model;
        cell_open(&places[place], tries + 1);
    }
    code = once(b, IDLE, 0, &places[IDLE], &why); /* what is first is not like the rest */
    double longest_ns = 0;
    for (size_t call = 0; !code && call < CELL_CALLS && model->calls[call]; call++)
        longest_ns = fmax(longest_ns, cell_median(&places[IDLE], call));
    if (longest_ns * TIMES_IDLE > (double)spin_ns)
        spin_ns = (uint64_t)(longest_ns * TIMES_IDLE);
    bool is_too_long = longest_ns > MOST_IDLE_NS;
    memset(places[IDLE].counts, 0, sizeof places[IDLE].counts);
    if (!code && !is_too_long)
        code = spin_time(b, spin_ns, &real_spin_ns, &why);
    for (unsigned i = 0; i < tries * PLACES && !code && !is_too_long; i++) {
        enum place place = (enum place)((i + i / PLACES) % PLACES); /* each place first in turn */
        code = once(b, place, spin_ns, &places[place], &why);
    }
    if (!code && !is_too_long)
        file_probes(b, places, real_spin_ns);
    for (int place = 0; place < PLACES; place++)
        cell_close(&places[place]);
    return code == ERR_DEVICE_LOST ? error_set(error, code, "%s", why.text) : 0;
}

/* Commands that return before they are done, or should: what moves memory, and launches. */
static bool is_worth_a_probe(const char *command)
{
    static const char *const names[] = {"launch", "mark",  "copy_call", "fill_call",
                                        "read",   "write", "sync"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(command, names[i]) == 0)
            return true;
    return false;
}

static int probe_commands(struct bench *b, uint64_t bytes, struct error *error)
{
    struct cell cells[COMMANDS_MAX];
    size_t count = command_cells(b, bytes, cells);
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        if (is_worth_a_probe(cells[i].calls[0]))
            code = probe(b, &cells[i], error);
    return code;
}

int atlas_probe_waits(struct bench *b, const struct open_method *methods, size_t method_count,
                      struct error *error)
{
    static const uint64_t all_sizes[] = {4096, 1 << 20, 64 << 20, 1 << 30};
    size_t size_count = b->options->quick ? 1 : sizeof all_sizes / sizeof *all_sizes;
    if (b->is_synchronous || !b->ops->use_queue)
        return 0;
    int code = probe_commands(b, 0, error);
    for (size_t s = 0; s < size_count && !code; s++) {
        bench_say(b, "what calls wait for", true);
        code = probe_commands(b, all_sizes[s], error);
        for (size_t i = 0; i < method_count && !code; i++) {
            const struct open_method *open = &methods[i];
            uint64_t bytes = all_sizes[s], most = open->method->most_bytes;
            struct cell cell;
            if (bytes < open->least_bytes)
                bytes = s == 0 ? open->least_bytes : 0;
            if (bytes == 0 || bytes % open->step_bytes || (most && bytes > most) ||
                bytes > device_info(b->device)->memory_bytes / 8)
                continue;
            life_cell(open, bytes, &cell);
            code = probe(b, &cell, error);
        }
    }
    return code;
}
