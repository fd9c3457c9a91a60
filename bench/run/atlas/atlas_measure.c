#include "run/atlas/atlas_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "run/atlas/atlas_bench.h"
#include "run/atlas/pace.h"

/* ---- points of the atlas ---- */

static void file_point(struct atlas_curve *curve, const struct atlas_point *point)
{
    for (size_t i = 0; i < curve->point_count; i++)
        if (curve->points[i].bytes == point->bytes) {
            curve->points[i] = *point;
            return;
        }
    atlas_add_point(curve, point);
}

/* Files what a cell has measured as points of its curves. */
static void file_cell(struct bench *b, const struct cell *cell)
{
    for (size_t call = 0; call < CELL_CALLS && cell->calls[call]; call++) {
        struct atlas_point point = cell_point(cell, call);
        if (point.sample_count == 0 && (!*cell->skipped || call > 0))
            continue; /* the reason why a size is left out stands at its first call only */
        snprintf(point.skipped, sizeof point.skipped, "%s", cell->skipped);
        struct atlas_curve *curve = atlas_curve_of(b->atlas, cell->method, cell->calls[call]);
        file_point(curve, &point);
        atlas_finish_curve(curve);
    }
}

static void atlas_say(struct bench *b, const char *doing, bool with_atlas)
{
    if (b->listener)
        b->listener(b->context, doing, with_atlas ? b->atlas : NULL);
}

/* ---- the costs of methods and commands, by size: cells, visited in rounds -------------------- */

enum {
    SMALLEST_BYTES = 256,
    LARGE_BYTES = 64 << 20, /* from this size on cell_fits asks the device for its free memory */
    SIZES_MAX = 96,
};

struct effort {
    uint64_t budget_ns;   /* time for all cells; a cell gets `least` visits even beyond it */
    uint64_t limit_ns;    /* no visit begins after this time, looks at the pace not counted */
    unsigned least, most; /* limits for the visits of a cell */
};

static struct effort effort_of(const struct bench *b)
{
    const uint64_t second = 1000000000;
    if (b->options->quick)
        return (struct effort){second, 3 * second, 2, 10};
    return (struct effort){40 * second, 60 * second, 5, 150};
}

/* Powers of two and the points at three quarters of them, in ascending order. */
static size_t sizes_up_to(const struct bench *b, uint64_t most, uint64_t sizes[SIZES_MAX])
{
    static const uint64_t quick_sizes[] = {4096, 65536, 786432, 1 << 20, 4 << 20};
    size_t count = 0;
    if (b->options->quick) {
        for (size_t i = 0; i < sizeof quick_sizes / sizeof *quick_sizes; i++)
            if (quick_sizes[i] <= most)
                sizes[count++] = quick_sizes[i];
        return count;
    }
    for (uint64_t power = SMALLEST_BYTES; power <= most && count + 2 < SIZES_MAX; power *= 2) {
        if (power > SMALLEST_BYTES)
            sizes[count++] = power / 4 * 3;
        sizes[count++] = power;
    }
    return count;
}

struct cells {
    unsigned count, capacity;
    struct cell *cell;
};

static void add_cell(struct cells *cells, const struct cell *cell, unsigned most_samples)
{
    cells->cell = must_grow(cells->cell, cells->count, &cells->capacity, sizeof *cells->cell);
    cells->cell[cells->count] = *cell;
    cell_open(&cells->cell[cells->count++], most_samples);
}

static void add_cells(struct cells *cells, const struct cell *more, size_t count,
                      unsigned most_samples)
{
    for (size_t i = 0; i < count; i++)
        add_cell(cells, &more[i], most_samples);
}

/* A CPU gets its pages one by one: the cost per byte is the same above 1 GiB. */
static uint64_t most_bytes(const struct device_info *info)
{
    const uint64_t quarter = info->memory_bytes / 4, gib = 1 << 30;
    return info->kind == DEVICE_CPU && quarter > gib ? gib : quarter;
}

/* Adds the cells of a method at rest, or `busy` ones. */
static void add_method(const struct bench *b, const struct open_method *open, bool busy,
                       const struct effort *effort, struct cells *cells)
{
    const struct method *method = open->method;
    const struct device_info *info = b->device->info;
    uint64_t sizes[SIZES_MAX], most = most_bytes(info);
    size_t count = sizes_up_to(b, most, sizes);
    for (size_t i = 0; i < count; i++) {
        struct cell cell;
        char size[32], limit[32];
        if (sizes[i] < open->least_bytes || sizes[i] % open->step_bytes)
            continue; /* no size of this method */
        if (!busy)
            method_cell(open, sizes[i], &cell);
        else if (!busy_cell(b, open, sizes[i], &cell))
            return;
        if (sizes[i] > info->max_alloc_bytes)
            snprintf(cell.skipped, sizeof cell.skipped, "%s: at most %s in one memory",
                     text_bytes(size, sizes[i]), text_bytes(limit, info->max_alloc_bytes));
        else if (method->most_bytes && sizes[i] > method->most_bytes)
            snprintf(cell.skipped, sizeof cell.skipped,
                     "%s: memory of the host is measured up to %s", text_bytes(size, sizes[i]),
                     text_bytes(limit, method->most_bytes));
        add_cell(cells, &cell, effort->most);
    }
}

/* The lives by which the cost model knows the host's pace. */
static int live_for_pace(struct bench *b, struct cell *cell, struct error *error)
{
    uint64_t ns;
    TRY(pace_life(b->device, cell->bytes, PACE_LIVES, &ns, error));
    cell_take(cell, 0, ns);
    return 0;
}

static void add_lives(const struct open_method *raw, const struct effort *effort,
                      struct cells *cells)
{
    for (int i = 0; i < PACE_SIZES; i++)
        add_cell(cells,
                 &(struct cell){.method = raw->method->name,
                                .calls = {"life"},
                                .bytes = pace_sizes[i],
                                .run = live_for_pace,
                                .subject = raw},
                 effort->most);
}

/* The prices of calls after a write, and those of commands. */
static void add_commands(const struct bench *b, const struct open_method *raw,
                         const struct effort *effort, struct cells *cells)
{
    uint64_t sizes[SIZES_MAX];
    struct cell after[AFTER_WRITES_MAX], commands[COMMANDS_MAX];
    const size_t size_count = sizes_up_to(b, b->moved_bytes, sizes);
    add_cells(cells, after, after_write_cells(b, raw, after), effort->most);
    add_cells(cells, commands, command_cells(b, 0, commands), 16 * effort->most);
    for (size_t s = 0; s < size_count; s++)
        add_cells(cells, commands, command_cells(b, sizes[s], commands), effort->most);
}

/* Interval between reports of the points so far: an interruption loses no more than this. */
static const uint64_t snapshot_ns = 1000000000;

/* Whether two memories of the cell's size fit into what is free on the device; if not,
 * cell->skipped says so. On a CPU half of the free memory is left to other programs. */
static bool cell_fits(const struct bench *b, struct cell *cell)
{
    char size[32], left_text[32];
    uint64_t left = cell->bytes < LARGE_BYTES ? 0 : b->ops->free_bytes(b->device);
    uint64_t usable = b->device->info->kind == DEVICE_CPU ? left / 2 : left;
    if (left == 0 || cell->bytes <= usable / 2)
        return true;
    snprintf(cell->skipped, sizeof cell->skipped, "two of %s do not fit: %s are free",
             text_bytes(size, cell->bytes), text_bytes(left_text, left));
    return false;
}

/* Compares the lives of a look with the shortest, which they may become until visits count: what is
 * measured then is compared with the same lives. */
static void note_pace(struct bench *b, const uint64_t ns[PACE_SIZES])
{
    b->pace.is_known = b->visits_count;
    for (int i = 0; i < PACE_SIZES; i++) {
        if (!b->full_pace_ns[i] || (!b->visits_count && ns[i] < b->full_pace_ns[i]))
            b->full_pace_ns[i] = ns[i];
        b->pace.factor[i] = (double)ns[i] / (double)b->full_pace_ns[i];
    }
    b->pace_looked_ns = clock_ns();
}

/* Waits until the processor is at full pace: no life takes a quarter longer than the shortest. Slow
 * paces last for longer than the time between two looks. Once its patience is at an end, the bench
 * measures at any pace. Returns 0 or ERR_DEVICE_LOST. */
static int await_full_pace(struct bench *b, struct error *error)
{
    enum { LOOK_EVERY_NS = 2000000, LIVES = 4 };
    const uint64_t began = clock_ns();
    uint64_t ns[PACE_SIZES];
    if (b->is_synchronous || b->device->info->kind == DEVICE_CPU ||
        began - b->pace_looked_ns < LOOK_EVERY_NS)
        return 0;
    do {
        for (int i = 0; i < PACE_SIZES; i++) {
            const int code = pace_life(b->device, pace_sizes[i], LIVES, &ns[i], error);
            if (code)
                return code == ERR_DEVICE_LOST ? code : 0;
        }
        note_pace(b, ns);
    } while (b->pace.factor[PACE_SIZES - 1] > 1.25 &&
             b->pace_waited_ns + b->pace_looked_ns - began < b->pace_patience_ns);
    b->pace_waited_ns += b->pace_looked_ns - began;
    return 0;
}

/* A copy's or a write's size is not that of a call for memory. */
static double pace_of_cell(const struct bench *b, const struct cell *cell)
{
    const bool is_sized = strcmp(cell->method, "command") && strcmp(cell->method, "after_write");
    return b->pace.is_known ? pace_at(&b->pace, is_sized ? cell->bytes : 0) : 0;
}

/* Runs one cycle of the cell. Any failure but ERR_DEVICE_LOST becomes cell->skipped. */
static int cell_visit(struct bench *b, struct cell *cell, struct error *error)
{
    if (cell->subject && strcmp(cell->method, "command") != 0 && !cell_fits(b, cell))
        return 0;
    TRY(await_full_pace(b, error));
    cell->pace = pace_of_cell(b, cell);
    struct error why = {0};
    uint64_t began = clock_ns();
    int code = cell->run(b, cell, &why);
    cell->spent_ns += clock_ns() - began;
    cell->visits++;
    if (code)
        snprintf(cell->skipped, sizeof cell->skipped, "%.250s", why.text);
    return code == ERR_DEVICE_LOST ? error_set(error, code, "%s", why.text) : 0;
}

static void shuffle_cells(struct random *random, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(random, i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

/* Until it has its least samples a cell may cost more than its share, but no more than a twentieth
 * of all time: so the largest sizes of a slow device have fewer samples. */
static bool wants_more(const struct cell *cell, const struct effort *effort, uint64_t share_ns)
{
    if (*cell->skipped || cell->visits >= effort->most)
        return false;
    const unsigned least = cell->least_visits > effort->least ? cell->least_visits : effort->least;
    return cell->spent_ns < (cell->visits < least ? effort->budget_ns / 20 : share_ns);
}

static void file_all(struct bench *b, const struct cells *cells)
{
    for (size_t i = 0; i < cells->count; i++)
        file_cell(b, &cells->cell[i]);
}

static void say_round(struct bench *b, const struct cells *cells, unsigned round, size_t position)
{
    char doing[96];
    snprintf(doing, sizeof doing, "sizes, round %u, %zu of %u", round + 1, position, cells->count);
    file_all(b, cells);
    atlas_say(b, doing, true);
}

static int visit_all(struct bench *b, struct cells *cells, const struct effort *effort,
                     struct error *error)
{
    const uint64_t share_ns = effort->budget_ns / (cells->count ? cells->count : 1);
    const uint64_t began = clock_ns(), waited_ns = b->pace_waited_ns;
    uint64_t said = began;
    size_t *order = must_alloc((cells->count + 1) * sizeof *order), visited;
    unsigned round = 0;
    int code = 0;
    do {
        visited = 0;
        shuffle_cells(&b->random, order, cells->count);
        for (size_t i = 0; i < cells->count && !code; i++) {
            struct cell *cell = &cells->cell[order[i]];
            if (!wants_more(cell, effort, share_ns) ||
                clock_ns() - began > effort->limit_ns + b->pace_waited_ns - waited_ns)
                continue;
            code = cell_visit(b, cell, error);
            visited++;
            if (clock_ns() - said > snapshot_ns) {
                say_round(b, cells, round, i);
                said = clock_ns();
            }
        }
        round++;
    } while (visited > 0 && !code);
    free(order);
    return code;
}

/* The first command of a kind loads or compiles something; its time is dropped. */
static int warm_up(struct bench *b, const struct cells *cells, struct error *error)
{
    const char *method = "", *call = "";
    int code = 0;
    for (size_t i = 0; i < cells->count && !code; i++) {
        struct cell *cell = &cells->cell[i];
        if (strcmp(cell->method, method) == 0 && strcmp(cell->calls[0], call) == 0)
            continue;
        method = cell->method;
        call = cell->calls[0];
        code = *cell->skipped ? 0 : cell_visit(b, cell, error);
        cell->visits = 0;
        cell->spent_ns = 0;
        memset(cell->counts, 0, sizeof cell->counts);
    }
    b->visits_count = true;
    b->pace_looked_ns = 0; /* the first visit that counts knows its pace */
    return code;
}

static int measure_sizes(struct bench *b, const struct open_method *methods, size_t method_count,
                         struct error *error)
{
    const struct effort effort = effort_of(b);
    struct cells cells = {0};
    b->pace_patience_ns = effort.budget_ns / 2;
    for (size_t i = 0; i < 2 * method_count; i++)
        add_method(b, &methods[i % method_count], i >= method_count, &effort, &cells);
    add_lives(&methods[0], &effort, &cells); /* the first method is raw */
    add_commands(b, &methods[0], &effort, &cells);
    /* Creates the curves in this order, instead of that of their first samples. */
    for (size_t i = 0; i < cells.count; i++)
        for (size_t call = 0; call < CELL_CALLS && cells.cell[i].calls[call]; call++)
            atlas_curve_of(b->atlas, cells.cell[i].method, cells.cell[i].calls[call]);
    atlas_say(b, "warming up", false);
    int code = warm_up(b, &cells, error);
    THEN(code, visit_all(b, &cells, &effort, error));
    for (size_t i = 0; i < cells.count; i++) {
        struct cell *cell = &cells.cell[i];
        if (cell->visits == 0 && !*cell->skipped)
            snprintf(cell->skipped, sizeof cell->skipped, "no time was left for it");
    }
    file_all(b, &cells);
    for (size_t i = 0; i < cells.count; i++)
        cell_close(&cells.cell[i]);
    free(cells.cell);
    return code;
}

/* ---- what calls wait for ------------------------------------------------------------------------
 *
 * Each call is timed on an idle device, with a kernel of known length in its own queue, and with
 * the same kernel in another queue alone.
 */

enum {
    TRIES_MAX = 7,
    CONDITIONS = 3,
    TIMES_IDLE = 4,          /* the kernel takes this many times as long as the call alone */
    MOST_IDLE_NS = 20000000, /* a call that takes longer is not probed: so would the kernel */
};

/* The queue that the spinning kernel runs on: none, the call's, or another one. */
enum condition { IDLE, OWN_QUEUE, OTHER_QUEUE };

static void put_obstacle(struct bench *b, enum condition condition, uint64_t spin_ns)
{
    b->obstacle = (struct obstacle){
        .stands = condition != IDLE, .queue = condition == OTHER_QUEUE ? 1 : 0, .ns = spin_ns};
    b->obstacle_error.code = 0;
}

/* Removes the obstacle. If placing it failed, that becomes the error. */
static int clear_obstacle(struct bench *b, int code, struct error *error)
{
    b->obstacle.stands = false;
    THEN(code, b->obstacle_error.code
                   ? error_set(error, b->obstacle_error.code, "%s", b->obstacle_error.text)
                   : 0);
    ALSO(code, bench_sync(b, code ? NULL : error));
    return code;
}

/* One life of a memory, with the obstacle in the way of each call of alloc and then of free. */
static int visit_life(struct bench *b, enum condition condition, uint64_t spin_ns,
                      struct cell *cell, struct error *error)
{
    const struct open_method *o = cell->subject;
    const struct method *method = o->method;
    struct method_block block = {.bytes = cell->bytes};
    put_obstacle(b, condition, spin_ns);
    TRY(clear_obstacle(b, method_alloc(b, o, &block, error), error));
    size_t call = 0;
    cell_take(cell, call++, method_ns(&block));
    for (size_t i = 0; method->alloc[i].name; i++)
        cell_take(cell, call++, block.step_ns[i]);
    int code = bench_touch(b, block.memory, block.bytes, error);
    THEN(code, bench_sync(b, error));
    put_obstacle(b, condition, spin_ns);
    if (condition == OWN_QUEUE && method->free_while_used) {
        b->obstacle.use = block.memory;
        b->obstacle.use_bytes = block.bytes;
    }
    int freed = method_free(b, o, &block, code ? NULL : error);
    code = clear_obstacle(b, code ? code : freed, error);
    cell_take(cell, call++, method_ns(&block));
    for (size_t i = 0; method->free[i].name; i++)
        cell_take(cell, call++, block.step_ns[i]);
    return code;
}

static void life_cell(const struct open_method *open, uint64_t bytes, struct cell *cell)
{
    const struct method *method = open->method;
    size_t count = 0;
    *cell = (struct cell){.method = method->name, .bytes = bytes, .subject = open};
    cell->calls[count++] = "alloc";
    count = method_name_steps(method->alloc, cell, count);
    cell->calls[count++] = "free";
    method_name_steps(method->free, cell, count);
}

static int visit_at(struct bench *b, enum condition condition, uint64_t spin_ns, struct cell *cell,
                    struct error *error)
{
    if (!cell->run)
        return visit_life(b, condition, spin_ns, cell, error);
    put_obstacle(b, condition, spin_ns);
    return clear_obstacle(b, cell->run(b, cell, error), error);
}

/* The time of the kernel with the wait for it, because a call that waits sees both. */
static int spin_time(struct bench *b, uint64_t asked_ns, double *ns, struct error *error)
{
    struct cell cell = {.calls = {"spin"}};
    int code = 0;
    cell_open(&cell, 3);
    for (int i = 0; i < 3 && !code; i++) {
        uint64_t began = clock_ns();
        code = bench_spin(b, asked_ns, error);
        THEN(code, bench_sync(b, error));
        cell_take(&cell, 0, bench_end(began));
    }
    *ns = cell_median(&cell, 0);
    cell_close(&cell);
    return code;
}

static void file_probes(struct bench *b, const struct cell cells[CONDITIONS], double spin_ns)
{
    for (size_t call = 0; cells[0].calls[call]; call++) {
        struct atlas_curve *curve = atlas_curve_of(b->atlas, cells[0].method, cells[0].calls[call]);
        atlas_add_probe(curve, &(struct atlas_probe){
                                   .bytes = cells[0].bytes,
                                   .idle_ns = cell_median(&cells[IDLE], call),
                                   .own_queue_ns = cell_median(&cells[OWN_QUEUE], call),
                                   .other_queue_ns = cell_median(&cells[OTHER_QUEUE], call),
                                   .spin_ns = spin_ns,
                               });
        atlas_finish_curve(curve);
    }
}

/* Probes the calls of a cell. Only ERR_DEVICE_LOST is an error: a size that the method refuses has
 * no probe. */
static int probe_cell(struct bench *b, const struct cell *model, struct error *error)
{
    const unsigned tries = b->options->quick ? 3 : TRIES_MAX;
    uint64_t spin_ns = b->options->quick ? 2000000 : 5000000;
    struct cell cells[CONDITIONS];
    struct error why = {0};
    char doing[96];
    snprintf(doing, sizeof doing, "what calls wait for: %s %s", model->method, model->calls[0]);
    atlas_say(b, doing, false);
    double real_spin_ns = NAN;
    int code = 0;
    for (int c = 0; c < CONDITIONS; c++) {
        cells[c] = *model;
        cell_open(&cells[c], tries + 1);
    }
    code = visit_at(b, IDLE, 0, &cells[IDLE], &why); /* the first visit differs from the rest */
    double longest_ns = 0;
    for (size_t call = 0; !code && call < CELL_CALLS && model->calls[call]; call++)
        longest_ns = fmax(longest_ns, cell_median(&cells[IDLE], call));
    if (longest_ns * TIMES_IDLE > (double)spin_ns)
        spin_ns = (uint64_t)(longest_ns * TIMES_IDLE);
    bool is_too_long = longest_ns > MOST_IDLE_NS;
    memset(cells[IDLE].counts, 0, sizeof cells[IDLE].counts);
    THEN(code, !is_too_long ? spin_time(b, spin_ns, &real_spin_ns, &why) : 0);
    for (unsigned i = 0; i < tries * CONDITIONS && !code && !is_too_long; i++) {
        /* Each condition is the first in some tries. */
        enum condition condition = (enum condition)((i + i / CONDITIONS) % CONDITIONS);
        code = visit_at(b, condition, spin_ns, &cells[condition], &why);
    }
    if (!code && !is_too_long)
        file_probes(b, cells, real_spin_ns);
    for (int c = 0; c < CONDITIONS; c++)
        cell_close(&cells[c]);
    return code == ERR_DEVICE_LOST ? error_set(error, code, "%s", why.text) : 0;
}

/* Probes the commands that return, or should return, before they are done: those that move memory,
 * and launches. */
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
    for (size_t i = 0; i < count; i++)
        if (is_worth_a_probe(cells[i].calls[0]))
            TRY(probe_cell(b, &cells[i], error));
    return 0;
}

static int measure_waits(struct bench *b, const struct open_method *methods, size_t method_count,
                         struct error *error)
{
    static const uint64_t all_sizes[] = {4096, 1 << 20, 64 << 20, 1 << 30};
    size_t size_count = b->options->quick ? 1 : sizeof all_sizes / sizeof *all_sizes;
    if (b->is_synchronous || !b->ops->queues)
        return 0;
    TRY(probe_commands(b, 0, error));
    for (size_t s = 0; s < size_count; s++) {
        atlas_say(b, "what calls wait for", true);
        TRY(probe_commands(b, all_sizes[s], error));
        for (size_t i = 0; i < method_count; i++) {
            const struct open_method *open = &methods[i];
            uint64_t bytes = all_sizes[s], most = open->method->most_bytes;
            struct cell cell;
            if (bytes < open->least_bytes)
                bytes = s == 0 ? open->least_bytes : 0;
            if (bytes == 0 || bytes % open->step_bytes || (most && bytes > most) ||
                bytes > b->device->info->memory_bytes / 8)
                continue;
            life_cell(open, bytes, &cell);
            TRY(probe_cell(b, &cell, error));
        }
    }
    return 0;
}

/* ---- the atlas ------------------------------------------------------------------------------- */

static void take_facts(const struct device_info *info, struct atlas *atlas)
{
    *atlas = (struct atlas){.timer_ns = NAN};
    snprintf(atlas->device, sizeof atlas->device, "%s", info->id);
    snprintf(atlas->name, sizeof atlas->name, "%s", info->name);
    snprintf(atlas->driver, sizeof atlas->driver, "%s", info->driver);
}

int atlas_measure(struct device *device, const struct atlas_options *options,
                  atlas_listener *listener, void *context, struct atlas *atlas, struct error *error)
{
    struct bench b = {.device = device,
                      .ops = device->ops,
                      .options = options,
                      .atlas = atlas,
                      .listener = listener,
                      .context = context};
    struct open_method methods[METHODS_MAX];
    size_t method_count = 0;
    take_facts(device->info, atlas);
    atlas_say(&b, "building kernels", false);
    int code = bench_open(&b, error);
    THEN(code, commands_prepare(&b, error));
    THEN(code, busy_prepare(&b, error));
    THEN(code, methods_open(&b, methods, &method_count, error));
    THEN(code, measure_sizes(&b, methods, method_count, error));
    THEN(code, measure_waits(&b, methods, method_count, error));
    if (code != ERR_DEVICE_LOST) { /* closing what is lost can hang */
        methods_close(&b, methods, method_count);
        bench_close(&b);
    }
    free(b.host);
    return code;
}
