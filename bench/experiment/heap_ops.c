/* The cost of an allocation or a free in a heap on the device, and of the launch that carries a
 * batch of them.
 *
 * In a heap with `live` blocks a random block is freed and another one is allocated, over and over,
 * in batches of several sizes. The batches of one size are queued after a long batch, so that the
 * device does not wait for the host between them, and timed on the device's clock.
 *
 * The claim that is tested: one work-item carries out all commands and waits for one word of memory
 * after the other, so an operation takes
 *
 *     command + launch / batch
 *
 * and a batch of more than a few commands gains nothing. Both terms are fitted, the launch term
 * twice: for batches whose commands are arguments of the launch (`few`), and for batches whose
 * commands are copied to the device first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "experiment/heap/heap.h"
#include "experiment/heap/heap_kernels.h"
#include "experiment/heap_churn.h"
#include "experiment/list.h"

enum { OPS_LIVE_MOST, OPS_WORDS };
static const struct option_spec options[] = {
    [OPS_LIVE_MOST] = {"live_most", OPTION_COUNT, "100000", NULL, 100, 10000000,
                       "most live blocks; a tenth of it and so on, down to 100, are measured too"},
    [OPS_WORDS] = {"words", OPTION_COUNT, "256", NULL, 1, 1 << 20,
                   "mean size of a block in words; sizes are uniform"},
    {NULL, OPTION_COUNT, NULL, NULL, 0, 0, NULL},
};

enum { PARAMETER_POLICY, PARAMETER_LIVE };
static const struct experiment_parameter parameters[] = {
    [PARAMETER_POLICY] = {"policy", false, UNIT_COUNT, "larger, smaller, best, tlsf"},
    [PARAMETER_LIVE] = {"live_blocks", true, UNIT_COUNT, "blocks that are live throughout"},
    {NULL, false, UNIT_COUNT, NULL},
};

/* clang-format off */
#define METRIC_LIST(X)                                                                             \
    X(op_1_ns, NS, SAMPLED, LOWER, "device time of an operation in batches of one")                  \
    X(op_8_ns, NS, SAMPLED, LOWER, "the same in batches of 8, the most that travel as launch arguments") \
    X(op_64_ns, NS, SAMPLED, LOWER, "the same in batches of 64, copied to the device first")         \
    X(op_1024_ns, NS, SAMPLED, LOWER, "the same in batches of 1024")                                 \
    X(op_16384_ns, NS, SAMPLED, LOWER, "the same in batches of 16384")                               \
    X(command_ns, NS, SAMPLED, LOWER, "fitted: time of a command")                                   \
    X(launch_few_ns, NS, SAMPLED, LOWER, "fitted: time that a batch of up to 8 commands adds")       \
    X(launch_ns, NS, SAMPLED, LOWER, "fitted: the same above 8 commands, with their copy")           \
    X(submit_few_ns, NS, SAMPLED, LOWER, "host time of submitting a batch of one")                   \
    X(submit_ns, NS, SAMPLED, LOWER, "host time of submitting a batch of 64")                        \
    X(visit_count, COUNT, EXACT, LOWER, "index entries that 1000 operations look at")
/* clang-format on */
EXPERIMENT_METRICS(METRIC_LIST);

/* For each size of batch, the number of batches. */
static const struct batch {
    uint32_t commands, count;
    enum metric op;
} batches[] = {
    {1, 512, METRIC_op_1_ns},     {8, 256, METRIC_op_8_ns},       {64, 128, METRIC_op_64_ns},
    {1024, 8, METRIC_op_1024_ns}, {16384, 2, METRIC_op_16384_ns},
};
enum { BATCHES = sizeof batches / sizeof *batches, HOST_METRIC_BATCH = 64 };

/* The long batch lasts until the timed ones are queued. The fastest of a few tries counts: any
 * disturbance makes a try slower. */
enum { LONG_COMMANDS = 8192, TRIES = 3 };

struct ops_state {
    struct device *device;
    struct experiment_settings settings;
    struct device_heap_kernels *kernels;
};

static void ops_close(void *state)
{
    struct ops_state *s = state;
    device_heap_kernels_free(s->kernels);
    free(s);
}

static int ops_open(struct device *device, const struct experiment_settings *settings, void **state,
                    struct error *error)
{
    struct ops_state *s = must_alloc(sizeof *s);
    *s = (struct ops_state){.device = device, .settings = *settings};
    int code = device_heap_kernels_build(device, &s->kernels, error);
    if (code)
        ops_close(s);
    else
        *state = s;
    return code;
}

/* ---- a heap with a number of live blocks ---- */

struct ops_run {
    struct device *device;
    struct device_heap *heap;
    struct random random;
    uint32_t *slots; /* slots of the live blocks */
    uint32_t live, words;
    uint32_t *log; /* all commands submitted so far, COMMAND_WORDS words each */
    unsigned log_count, log_capacity;
    bool frees_next;   /* a free and an allocation take turns */
    uint64_t commands; /* commands since visits were last read */
};

static void log_command(struct ops_run *r, uint32_t what, uint32_t count)
{
    r->log = must_grow(r->log, r->log_count, &r->log_capacity, COMMAND_WORDS * sizeof *r->log);
    uint32_t *command = r->log + (size_t)r->log_count++ * COMMAND_WORDS;
    command[COMMAND_DO] = what;
    command[COMMAND_COUNT] = count;
    command[COMMAND_STRIDE] = count ? 1 : 0;
}

static int add_alloc(struct ops_run *r, uint32_t index, struct error *error)
{
    uint32_t words = heap_random_words(&r->random, SIZES_UNIFORM, r->words);
    int code = device_heap_alloc(r->heap, words, 1, &r->slots[index], error);
    log_command(r, (uint32_t)HEAP_ALLOC | r->slots[index], words);
    return code;
}

/* Frees a random block; the next command allocates another one. */
static int add_command(struct ops_run *r, struct error *error)
{
    r->commands++;
    r->frees_next = !r->frees_next;
    if (!r->frees_next)
        return add_alloc(r, r->live - 1, error);
    uint32_t index = (uint32_t)random_below(&r->random, r->live), slot = r->slots[index];
    r->slots[index] = r->slots[r->live - 1];
    log_command(r, (uint32_t)HEAP_FREE | slot, 0);
    return device_heap_free(r->heap, slot, error);
}

static int ops_submit(struct ops_run *r, uint32_t commands, struct error *error)
{
    for (uint32_t i = 0; i < commands; i++)
        TRY(add_command(r, error));
    return device_heap_submit(r->heap, 0, 0, error);
}

static enum device_heap_policy policy_of(const struct experiment_row *row)
{
    return experiment_find_word(device_heap_policy_names, row->word[PARAMETER_POLICY]);
}

/* Allocates all blocks, then replaces each once on average. */
static int ops_open_run(struct ops_run *r, struct ops_state *s, const struct experiment_row *row,
                        struct error *error)
{
    const uint32_t live = (uint32_t)row->number[PARAMETER_LIVE];
    const uint32_t words = (uint32_t)s->settings.options.value[OPS_WORDS];
    *r = (struct ops_run){.device = s->device, .random = {live}, .live = live, .words = words};
    /* Two thirds full, and never so small that it cannot be. */
    const struct device_heap_options heap = {
        .policy = policy_of(row),
        .padding = DEVICE_HEAP_TIGHT,
        .arena_bytes = ((uint64_t)live * (words + 3) * 3 / 2 + 4096) * 4,
        .slots = live + 1,
        .kernels = s->kernels,
    };
    r->slots = must_alloc(live * sizeof *r->slots);
    TRY(device_heap_open(s->device, &heap, &r->heap, error));
    for (uint32_t i = 0; i < live; i++)
        TRY(add_alloc(r, i, error));
    TRY(device_heap_submit(r->heap, 0, 0, error));
    return ops_submit(r, 2 * live, error);
}

static void ops_close_run(struct ops_run *r)
{
    device_heap_close(r->heap);
    free(r->slots);
    free(r->log);
}

/* ---- times ---- */

/* Times batches of one size after a long one: *op_ns on the device's clock, *submit_ns on the
 * host's. */
static int time_batches(struct ops_run *r, const struct batch *b, double *op_ns, double *submit_ns,
                        struct error *error)
{
    const struct device_ops *ops = r->device->ops;
    uint64_t device_ns = 0, host_ns = 0;
    int code = ops_submit(r, LONG_COMMANDS, error);
    THEN(code, ops->mark(r->device, MARK_START, error));
    for (uint32_t i = 0; i < b->count && !code; i++) {
        for (uint32_t c = 0; c < b->commands && !code; c++)
            code = add_command(r, error);
        uint64_t start = clock_ns();
        THEN(code, device_heap_submit(r->heap, 0, 0, error));
        host_ns += clock_ns() - start;
    }
    THEN(code, ops->mark(r->device, MARK_END, error));
    THEN(code, ops->sync(r->device, error));
    THEN(code, ops->elapsed_ns(r->device, &device_ns, error));
    *op_ns = (double)device_ns / ((double)b->count * b->commands);
    *submit_ns = (double)host_ns / b->count;
    return code;
}

static int time_tries(struct ops_run *r, const struct batch *b, double *op_ns, double *submit_ns,
                      struct error *error)
{
    int code = 0;
    for (unsigned try = 0; try < TRIES && !code; try++) {
        double op, give;
        code = time_batches(r, b, &op, &give, error);
        *op_ns = try == 0 || op < *op_ns ? op : *op_ns;
        *submit_ns = try == 0 || give < *submit_ns ? give : *submit_ns;
    }
    return code;
}

/* Fits op = command + launch / batch by least squares of relative errors, with a launch term for
 * each kind of batch. A launch that would take less than nothing is lost in noise: unknown. */
static void ops_fit(const double op_ns[BATCHES], double *command_ns, double launch_ns[2])
{
    double xx[2] = {0, 0}, x[2] = {0, 0}, xy[2] = {0, 0}, y = 0, n = 0;
    for (unsigned b = 0; b < BATCHES; b++) {
        unsigned kind = batches[b].commands > HEAP_FEW;
        double inverse = 1.0 / batches[b].commands, weight = 1 / (op_ns[b] * op_ns[b]);
        x[kind] += weight * inverse;
        xx[kind] += weight * inverse * inverse;
        xy[kind] += weight * inverse * op_ns[b];
        y += weight * op_ns[b];
        n += weight;
    }
    for (unsigned kind = 0; kind < 2; kind++) {
        n -= x[kind] * x[kind] / xx[kind];
        y -= x[kind] * xy[kind] / xx[kind];
    }
    *command_ns = y / n;
    for (unsigned kind = 0; kind < 2; kind++) {
        const double fitted_ns = (xy[kind] - *command_ns * x[kind]) / xx[kind];
        launch_ns[kind] = fitted_ns >= 0 ? fitted_ns : NAN;
    }
}

static int time_all(struct ops_run *r, struct experiment_record *record, struct error *error)
{
    double op_ns[BATCHES], submit_ns, command_ns, launch_ns[2];
    int code = 0;
    for (unsigned b = 0; b < BATCHES && !code; b++) {
        code = time_tries(r, &batches[b], &op_ns[b], &submit_ns, error);
        if (code)
            break;
        experiment_take(record, batches[b].op, op_ns[b]);
        if (batches[b].commands == 1)
            experiment_take(record, METRIC_submit_few_ns, submit_ns);
        if (batches[b].commands == HOST_METRIC_BATCH)
            experiment_take(record, METRIC_submit_ns, submit_ns);
    }
    if (code)
        return code;
    ops_fit(op_ns, &command_ns, launch_ns);
    experiment_take(record, METRIC_command_ns, command_ns);
    experiment_take(record, METRIC_launch_few_ns, launch_ns[0]);
    experiment_take(record, METRIC_launch_ns, launch_ns[1]);
    return 0;
}

/* ---- a row ---- */

/* Lets the device walk its heap, which must be sound, have refused nothing, and have the blocks
 * that were not freed. */
static int ops_check_heap(struct ops_run *r, uint32_t header[HEAP_HEADER_WORDS],
                          struct error *error)
{
    uint32_t report[REPORT_WORDS], broken = 0;
    char status[128];
    TRY(device_heap_check(r->heap, report, &broken, error));
    TRY(device_heap_read_header(r->heap, header, error));
    const uint32_t live = r->live - r->frees_next;
    if (broken || header[HEAP_STATUS] || header[HEAP_LIVE_BLOCKS] != live)
        return error_set(error, ERR_WRONG,
                         "the heap has %u broken invariants, status %s and %u live blocks of %u",
                         broken, device_heap_status_text(status, header[HEAP_STATUS]),
                         header[HEAP_LIVE_BLOCKS], live);
    return 0;
}

/* Checks that the same commands on the host leave the same words, in the index and in the address
 * buffer. */
static int ops_compare(struct ops_run *r, const char *what, uint64_t memory,
                       const uint32_t *expected, uint64_t words, struct error *error)
{
    uint32_t *found = must_alloc(words * sizeof *found);
    int code = r->device->ops->read(r->device, found, memory, 0, words * sizeof *found, error);
    for (uint64_t i = 0; i < words && !code; i++)
        if (found[i] != expected[i])
            code = error_set(error, ERR_WRONG, "word %llu of the %s is %x, on the host %x",
                             (unsigned long long)i, what, found[i], expected[i]);
    free(found);
    return code;
}

static int ops_check_words(struct ops_run *r, enum device_heap_policy policy, struct error *error)
{
    const struct device_heap_parts parts = device_heap_parts(r->heap);
    const uint64_t index_words = heap_index_words(policy, parts.capacity);
    const uint64_t slot_words = (uint64_t)parts.slot_count * SLOT_WORDS;
    struct host_heap host = {.words = parts.words,
                             .capacity = parts.capacity,
                             .slot_count = parts.slot_count,
                             .policy = policy,
                             .padding = DEVICE_HEAP_TIGHT};
    host_heap_open(&host);
    host_heap_ops(&host, r->log, r->log_count, NULL, 0);
    int code = ops_compare(r, "index", parts.index, host.index, index_words, error);
    THEN(code, ops_compare(r, "address buffer", device_heap_slots(r->heap), host.slots, slot_words,
                           error));
    host_heap_close(&host);
    return code;
}

static int ops_measure(void *state, const struct experiment_row *row,
                       struct experiment_record *record, struct error *error)
{
    struct ops_run r;
    uint32_t before[HEAP_HEADER_WORDS], after[HEAP_HEADER_WORDS];
    int code = ops_open_run(&r, state, row, error);
    THEN(code, ops_check_heap(&r, before, error));
    r.commands = 0;
    THEN(code, time_all(&r, record, error));
    THEN(code, ops_check_heap(&r, after, error));
    THEN(code, ops_check_words(&r, policy_of(row), error));
    if (!code) /* counters of the heap have 32 bits, and wrap */
        experiment_take(
            record, METRIC_visit_count,
            (double)((after[HEAP_VISITS] - before[HEAP_VISITS]) * UINT64_C(1000) / r.commands));
    ops_close_run(&r);
    return code;
}

static int ops_plan(const struct experiment_settings *settings, struct experiment_plan *out,
                    struct error *error)
{
    uint64_t least = settings->options.value[OPS_LIVE_MOST];
    (void)error;
    while (least >= 1000)
        least /= 10;
    for (unsigned policy = 0; policy < DEVICE_HEAP_POLICIES; policy++)
        for (uint64_t live = least; live <= settings->options.value[OPS_LIVE_MOST]; live *= 10) {
            struct experiment_row *row = experiment_add_row(out);
            experiment_put_word(row, PARAMETER_POLICY, device_heap_policy_names[policy]);
            row->number[PARAMETER_LIVE] = live;
        }
    return 0;
}

const struct experiment experiment_heap_ops = {
    .name = "heap-ops",
    .summary = "the cost of an allocation or a free in a heap on the device, by size of batch",
    .options = options,
    .parameters = parameters,
    .metrics = metrics,
    .metric_count = METRICS,
    .plan = ops_plan,
    .open = ops_open,
    .measure = ops_measure,
    .close = ops_close,
};
