/* What commands cost: launches, marks, waits, copies. All under the method "command".
 *
 *   launch           host time of launching an empty kernel into a queue that is not full
 *   launch_16        the same for a kernel of 8 memories and 8 numbers, all changed
 *   launch_device    device time of an empty kernel in a queue that is never empty
 *   launch_sync      host time of an empty kernel and of waiting for it
 *   sync             host time of waiting for a device that is idle
 *   mark             host time of a mark
 *   mark_device      device time that marks around an empty kernel add to it
 *   copy, fill       device time, by size; *_call: host time of asking for one of 4 KiB
 *   read, write      host time, blocking, to and from pageable memory, by size
 *
 * Device times are taken behind a spinning kernel, so that the device never waits for the host.
 */
#include <math.h>
#include <string.h>

#include "run/atlas/atlas_bench.h"

enum { LAUNCHES = 100, SHORT_SPIN_NS = 200000, CALL_BYTES = 4096 };

struct command {
    const char *name;
    bool has_size;
    bool reads_host; /* up to host_bytes, else up to moved_bytes */
    int (*run)(struct bench *b, struct cell *cell, struct error *error);
};

/* ---- host times ---- */

/* One call, many times into an empty queue; behind an obstacle once, because each would put up one
 * of its own. */
typedef int one_call(struct bench *b, unsigned turn, struct error *error);

static int time_calls(struct bench *b, struct cell *cell, one_call *call, struct error *error)
{
    const unsigned times = b->obstacle.stands ? 1 : 16;
    int code = 0;
    for (unsigned i = 0; i < times && !code; i++) {
        uint64_t began = bench_begin(b);
        code = call(b, i, error);
        cell_take(cell, 0, bench_end(began));
    }
    return code ? code : bench_sync(b, error);
}

static int call_launch(struct bench *b, unsigned turn, struct error *error)
{
    (void)turn;
    return bench_launch_empty(b, error);
}

static int call_mark(struct bench *b, unsigned turn, struct error *error)
{
    return bench_mark(b, turn % 2, error);
}

static int call_copy(struct bench *b, unsigned turn, struct error *error)
{
    (void)turn;
    return b->ops->copy(b->device, b->moved[1], 0, b->moved[0], 0, CALL_BYTES, error);
}

static int call_fill(struct bench *b, unsigned turn, struct error *error)
{
    return b->ops->fill(b->device, b->moved[1], 0, (uint8_t)turn, CALL_BYTES, error);
}

static int run_launch(struct bench *b, struct cell *cell, struct error *error)
{
    return time_calls(b, cell, call_launch, error);
}

static int run_launch_16(struct bench *b, struct cell *cell, struct error *error)
{
    return time_calls(b, cell, bench_launch_sixteen, error);
}

static int run_mark(struct bench *b, struct cell *cell, struct error *error)
{
    return time_calls(b, cell, call_mark, error);
}

static int run_copy_call(struct bench *b, struct cell *cell, struct error *error)
{
    return time_calls(b, cell, call_copy, error);
}

static int run_fill_call(struct bench *b, struct cell *cell, struct error *error)
{
    return time_calls(b, cell, call_fill, error);
}

static int run_launch_sync(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t began = bench_begin(b);
    int code = bench_launch_empty(b, error);
    if (!code)
        code = bench_sync(b, error);
    cell_take(cell, 0, bench_end(began));
    return code;
}

static int run_sync(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t began = bench_begin(b);
    int code = bench_sync(b, error);
    cell_take(cell, 0, bench_end(began));
    return code;
}

static int run_read(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t began = bench_begin(b);
    int code = b->ops->read(b->device, b->host, b->moved[0], 0, cell->bytes, error);
    cell_take(cell, 0, bench_end(began));
    return code;
}

static int run_write(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t began = bench_begin(b);
    int code = b->ops->write(b->device, b->moved[0], 0, b->host, cell->bytes, error);
    cell_take(cell, 0, bench_end(began));
    return code;
}

/* ---- device times ---- */

typedef int some_commands(struct bench *b, uint64_t bytes, struct error *error);

static int device_time(struct bench *b, uint64_t spin_ns, some_commands *commands, uint64_t bytes,
                       uint64_t *ns, struct error *error)
{
    int code = b->is_synchronous ? 0 : bench_spin(b, spin_ns, error);
    if (!code)
        code = bench_mark(b, 0, error);
    if (!code)
        code = commands(b, bytes, error);
    if (!code)
        code = bench_mark(b, 1, error);
    if (!code)
        code = bench_sync(b, error);
    return code ? code : bench_elapsed(b, ns, error);
}

static int many_launches(struct bench *b, uint64_t bytes, struct error *error)
{
    (void)bytes;
    int code = 0;
    for (int i = 0; i < LAUNCHES && !code; i++)
        code = bench_launch_empty(b, error);
    return code;
}

static int one_launch(struct bench *b, uint64_t bytes, struct error *error)
{
    (void)bytes;
    return bench_launch_empty(b, error);
}

static int one_copy(struct bench *b, uint64_t bytes, struct error *error)
{
    return b->ops->copy(b->device, b->moved[1], 0, b->moved[0], 0, bytes, error);
}

static int one_fill(struct bench *b, uint64_t bytes, struct error *error)
{
    return b->ops->fill(b->device, b->moved[1], 0, 1, bytes, error);
}

static int run_launch_device(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t ns;
    uint64_t spin_ns = SHORT_SPIN_NS + (uint64_t)(2 * LAUNCHES * b->launch_ns);
    int code = device_time(b, spin_ns, many_launches, 0, &ns, error);
    if (!code)
        cell_take(cell, 0, ns / LAUNCHES);
    return code;
}

static int run_mark_device(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t ns, launch_ns = (uint64_t)b->launch_device_ns;
    int code = device_time(b, SHORT_SPIN_NS, one_launch, 0, &ns, error);
    if (!code)
        cell_take(cell, 0, ns > launch_ns ? ns - launch_ns : 0);
    return code;
}

static int run_copy(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t ns;
    int code = device_time(b, SHORT_SPIN_NS, one_copy, cell->bytes, &ns, error);
    if (!code)
        cell_take(cell, 0, ns);
    return code;
}

static int run_fill(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t ns;
    int code = device_time(b, SHORT_SPIN_NS, one_fill, cell->bytes, &ns, error);
    if (!code)
        cell_take(cell, 0, ns);
    return code;
}

/* ---- all of them ---- */

static const struct command commands[] = {
    {"launch", false, false, run_launch},
    {"launch_16", false, false, run_launch_16},
    {"launch_device", false, false, run_launch_device},
    {"launch_sync", false, false, run_launch_sync},
    {"sync", false, false, run_sync},
    {"mark", false, false, run_mark},
    {"mark_device", false, false, run_mark_device},
    {"copy_call", false, false, run_copy_call},
    {"fill_call", false, false, run_fill_call},
    {"copy", true, false, run_copy},
    {"fill", true, false, run_fill},
    {"read", true, true, run_read},
    {"write", true, true, run_write},
};

size_t command_cells(const struct bench *b, uint64_t bytes, struct cell *cells)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const struct command *c = &commands[i];
        if (c->has_size != (bytes > 0) || bytes > (c->reads_host ? b->host_bytes : b->moved_bytes))
            continue;
        cells[count++] = (struct cell){
            .method = "command", .calls = {c->name}, .bytes = bytes, .run = c->run, .subject = c};
    }
    return count;
}

static int median_of(struct bench *b, int (*run)(struct bench *, struct cell *, struct error *),
                     double *ns, struct error *error)
{
    enum { TIMES = 21 };
    struct cell cell = {.method = "command", .calls = {"launch"}};
    int code = 0;
    cell_open(&cell, TIMES * 16);
    for (int i = 0; i < TIMES && !code; i++)
        code = run(b, &cell, error);
    *ns = cell_median(&cell, 0);
    cell_close(&cell);
    return code;
}

int commands_prepare(struct bench *b, struct error *error)
{
    int code = median_of(b, run_launch, &b->launch_ns, error);
    return code ? code : median_of(b, run_launch_device, &b->launch_device_ns, error);
}
