/* The cost of every method and command by size: cells, visited in rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "run/atlas/atlas_bench.h"

enum {
    SMALLEST_BYTES = 256,
    LARGE_BYTES = 64 << 20, /* from here on what is free is asked for before */
    SIZES_MAX = 96,
};

/* How long it may take and how many samples it wants. */
struct effort {
    uint64_t budget_ns;   /* of all cells; those that cost more get `least` visits all the same */
    uint64_t limit_ns;    /* after that the rest stays as it is */
    unsigned least, most; /* visits */
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

/* ---- cells ---- */

struct cells {
    size_t count, capacity;
    struct cell *cell;
};

static void add_cell(struct cells *cells, const struct cell *cell, unsigned most_samples)
{
    if (cells->count == cells->capacity) {
        cells->capacity = cells->capacity ? 2 * cells->capacity : 64;
        cells->cell = must_realloc(cells->cell, cells->capacity * sizeof *cells->cell);
    }
    cells->cell[cells->count] = *cell;
    cell_open(&cells->cell[cells->count++], most_samples);
}

/* A CPU gets its pages one by one, so that what is dear at 1 GiB is that at any size above. */
static uint64_t most_bytes(const struct device_info *info)
{
    const uint64_t quarter = info->memory_bytes / 4, gib = 1 << 30;
    return info->kind == DEVICE_CPU && quarter > gib ? gib : quarter;
}

static void add_method(const struct bench *b, const struct open_method *open,
                       const struct effort *effort, struct cells *cells)
{
    const struct method *method = open->method;
    const struct device_info *info = device_info(b->device);
    uint64_t sizes[SIZES_MAX], most = most_bytes(info);
    size_t count = sizes_up_to(b, most, sizes);
    for (size_t i = 0; i < count; i++) {
        struct cell cell;
        char size[32], limit[32];
        if (sizes[i] < open->least_bytes || sizes[i] % open->step_bytes)
            continue; /* no size of this method */
        method_cell(open, sizes[i], &cell);
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

static void add_commands(const struct bench *b, const struct effort *effort, struct cells *cells)
{
    uint64_t sizes[SIZES_MAX];
    struct cell commands[COMMANDS_MAX];
    size_t count = command_cells(b, 0, commands);
    for (size_t i = 0; i < count; i++)
        add_cell(cells, &commands[i], 16 * effort->most);
    size_t size_count = sizes_up_to(b, b->moved_bytes, sizes);
    for (size_t s = 0; s < size_count; s++) {
        count = command_cells(b, sizes[s], commands);
        for (size_t i = 0; i < count; i++)
            add_cell(cells, &commands[i], effort->most);
    }
}

/* ---- visits ---- */

/* How often what is known by now is sent: an interruption loses no more than this. */
static const uint64_t snapshot_ns = 1000000000;

/* Whether a memory of this size fits beside what is held now; if not, the cell says so. On the host
 * half of what is free stays: others live there too. */
static bool fits(const struct bench *b, struct cell *cell)
{
    char size[32], left_text[32];
    uint64_t left = cell->bytes < LARGE_BYTES ? 0 : b->ops->free_bytes(b->device);
    uint64_t usable = device_info(b->device)->kind == DEVICE_CPU ? left / 2 : left;
    if (left == 0 || cell->bytes <= usable)
        return true;
    snprintf(cell->skipped, sizeof cell->skipped, "%s do not fit: %s are free",
             text_bytes(size, cell->bytes), text_bytes(left_text, left));
    return false;
}

/* ERR_DEVICE_LOST alone ends the measuring. */
static int visit(struct bench *b, struct cell *cell, struct error *error)
{
    if (cell->subject && strcmp(cell->method, "command") != 0 && !fits(b, cell))
        return 0;
    struct error why = {0};
    uint64_t began = clock_ns();
    int code = cell->run(b, cell, &why);
    cell->spent_ns += clock_ns() - began;
    cell->visits++;
    if (code)
        snprintf(cell->skipped, sizeof cell->skipped, "%.250s", why.text);
    return code == ERR_DEVICE_LOST ? error_set(error, code, "%s", why.text) : 0;
}

static void shuffle(struct random *random, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(random, i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

/* A cell may cost more than its share until it has its least samples, but not a twentieth of all
 * time: so the largest sizes of a slow device have fewer. */
static bool wants_more(const struct cell *cell, const struct effort *effort, uint64_t share_ns)
{
    if (*cell->skipped || cell->visits >= effort->most)
        return false;
    return cell->spent_ns < (cell->visits < effort->least ? effort->budget_ns / 20 : share_ns);
}

static void file_all(struct bench *b, const struct cells *cells)
{
    for (size_t i = 0; i < cells->count; i++)
        bench_file(b, &cells->cell[i]);
}

static void say_round(struct bench *b, const struct cells *cells, unsigned round, size_t position)
{
    char doing[96];
    snprintf(doing, sizeof doing, "sizes, round %u, %zu of %zu", round + 1, position, cells->count);
    file_all(b, cells);
    bench_say(b, doing, true);
}

static int visit_all(struct bench *b, struct cells *cells, const struct effort *effort,
                     struct error *error)
{
    const uint64_t share_ns = effort->budget_ns / (cells->count ? cells->count : 1);
    const uint64_t began = clock_ns();
    uint64_t said = began;
    size_t *order = must_alloc((cells->count + 1) * sizeof *order), visited;
    unsigned round = 0;
    int code = 0;
    do {
        visited = 0;
        shuffle(&b->random, order, cells->count);
        for (size_t i = 0; i < cells->count && !code; i++) {
            struct cell *cell = &cells->cell[order[i]];
            if (!wants_more(cell, effort, share_ns) || clock_ns() - began > effort->limit_ns)
                continue;
            code = visit(b, cell, error);
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

/* A first command of a kind loads, compiles or connects something. */
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
        code = *cell->skipped ? 0 : visit(b, cell, error);
        cell->visits = 0;
        cell->spent_ns = 0;
        memset(cell->counts, 0, sizeof cell->counts);
    }
    return code;
}

int atlas_sizes(struct bench *b, const struct open_method *methods, size_t method_count,
                struct error *error)
{
    const struct effort effort = effort_of(b);
    struct cells cells = {0};
    for (size_t i = 0; i < method_count; i++)
        add_method(b, &methods[i], &effort, &cells);
    add_commands(b, &effort, &cells);
    /* Curves stand in this order, whichever has its first sample first. */
    for (size_t i = 0; i < cells.count; i++)
        for (size_t call = 0; call < CELL_CALLS && cells.cell[i].calls[call]; call++)
            atlas_curve_of(b->atlas, cells.cell[i].method, cells.cell[i].calls[call]);
    bench_say(b, "warming up", false);
    int code = warm_up(b, &cells, error);
    if (!code)
        code = visit_all(b, &cells, &effort, error);
    for (size_t i = 0; i < cells.count; i++) {
        struct cell *cell = &cells.cell[i];
        if (cell->visits == 0 && !*cell->skipped)
            snprintf(cell->skipped, sizeof cell->skipped, "the time was over before");
    }
    file_all(b, &cells);
    for (size_t i = 0; i < cells.count; i++)
        cell_close(&cells.cell[i]);
    free(cells.cell);
    return code;
}
