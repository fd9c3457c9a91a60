/* Values that the device has computed and the host does not know yet, and blocks in a heap of the
 * device whose sizes they are: the hooks of run/execute/deferred.h.
 *
 * Values. `late x[i]` copies the element into a buffer of values, in the order of the queue, and
 * the host goes on: the block of x may be given back at once. The host knows such a scalar, and
 * what follows from it by sums and products with known numbers, as scale * value + add. When the
 * host needs a number, it waits, and reads all captured values at once. So a program computes the
 * same with and without the word.
 *
 * Blocks. `let m: mem heap = alloc(E)` is a command to the heap that the device runs
 * (device_heap/heap.h). Where E is a multiple of a captured value, the command takes the value from
 * the buffer. Kernels find the block by its slot (generate.h). All other statements ask where it
 * is, and wait for that.
 *
 * Counts. The bytes of a block are known when its value is. Until then allocations and frees are
 * noted as events, each with the peaks of the other spaces since the event before. The peaks of all
 * spaces together are worked out when the sizes become known, at the latest by late_finish.
 */
#include "run/late/late.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "device_heap/heap.h"
#include "run/execute/executor.h"
#include "run/execute/spaces.h"

_Static_assert((int)KERNEL_SLOT_INDEX == SLOT_INDEX && (int)KERNEL_SLOT_STRIDE == SLOT_STRIDE &&
                   (int)KERNEL_SLOT_WORDS == SLOT_WORDS &&
                   (int)KERNEL_HEAP_FAILURES == DEVICE_HEAP_FAILURES && HEAP_STATUS == 0,
               "kernels find blocks by the layout of the heap");

enum {
    /* The buffer: a word for the status of the heap, then a place of 8 bytes for each value. When
     * it is full, capturing waits. */
    LATE_VALUES = 511,
    LATE_PLACE_BYTES = 8,
    LATE_BYTES = (1 + LATE_VALUES) * LATE_PLACE_BYTES,
    LATE_EVENTS = 4096, /* after this many events the host waits for the values */
    WORD_BYTES = 4,
    /* A block whose size the host knows consists of elements of 8 bytes, so that any type is
     * aligned. */
    KNOWN_STRIDE_WORDS = 2,
    RING_COMMANDS = 1024,
    ARENA_UNIT_BYTES = 256,
    ARENA_LEAST_BYTES = 64 << 10,
};
/* The most bytes that an index of words can address. */
static const uint64_t arena_most_bytes = (UINT64_C(1) << 34) - 65536;

enum late_event_kind { LATE_ALLOC, LATE_USE_ENDS, LATE_FREE };

/* The series of live bytes: requested, granted, still to be used. */
enum late_series { LATE_REQUESTED, LATE_GRANTED, LATE_LIVE, LATE_SERIES };

/* A change of a block in the heap. */
struct late_event {
    enum late_event_kind kind;
    unsigned unit; /* the block's granted bytes are a multiple of this */
    struct linear_size bytes;
    uint64_t others[LATE_SERIES]; /* peaks of the other spaces since the event before */
};

struct late {
    struct deferred base;
    struct device *device;
    struct executor *executor; /* the current run's */
    struct source *source;     /* source of the buffer and of the heap's memory */
    struct allocator_counts *own_counts, *all_counts;
    struct arena room;

    uint64_t buffer;
    unsigned copy_kernels[sizeof(union scalar) + 1]; /* kernel numbers, by element size */
    /* Serials of values: [known_first, first) are known, [first, next) are captured and unknown.
     * Older ones have been put where they belong. */
    uint64_t known_first, first, next;
    enum element types[LATE_VALUES];
    union scalar known[LATE_VALUES];
    enum element known_types[LATE_VALUES];

    struct device_heap_kernels *kernels; /* NULL: the fun has no memory in a heap */
    struct device_heap *heap;            /* NULL between runs */
    uint64_t arena, arena_bytes;
    uint64_t held_bytes;   /* bytes of the heap's own records */
    bool must_submit;      /* some allocations are not submitted yet */
    unsigned char *widest; /* by memory name: bytes of the largest element of an array in it */

    struct late_event *events; /* events that wait for a size, in order */
    unsigned event_count;
    uint64_t live[LATE_SERIES]; /* live bytes of the heap's blocks, before the events */
    uint64_t peak[LATE_SERIES]; /* peaks of all spaces together, before the events */
};

static struct late *late_of(const struct executor *e)
{
    return (struct late *)e->deferred;
}

static int late_settle(struct executor *e);
static int late_submit(struct executor *e);

static bool late_is_pending(const struct late *l)
{
    return l->next != l->first;
}

/* ---- opening -------------------------------------------------------------------------------- */

static bool has_late(const struct body *body)
{
    for (const struct stm *s = body->first; s; s = s->next)
        if (s->late || (s->kind == STM_IF && (has_late(s->then) || has_late(s->otherwise))) ||
            (s->kind == STM_LOOP && has_late(&s->loop->body)))
            return true;
    return false;
}

bool late_wanted(const struct fun *fun)
{
    return spaces_used(fun, SPACE_HEAP) || has_late(&fun->body);
}

static void measure_elements(struct late *l, const struct fun *fun)
{
    l->widest = arena_alloc(&l->room, fun->name_count);
    for (unsigned n = 0; n < fun->name_count; n++) {
        const struct name *array = &fun->names[n];
        if (array->kind != NAME_ARRAY || array->memory == NO_NAME)
            continue;
        const unsigned char bytes = (unsigned char)element_bytes(array->element);
        if (bytes > l->widest[array->memory])
            l->widest[array->memory] = bytes;
    }
}

static const struct deferred_ops late_ops;

int late_open(const struct fun *fun, struct device *device, const struct kernels *kernels,
              struct deferred **late, struct error *error)
{
    *late = NULL;
    if (!late_wanted(fun) || device_info(device)->members > 1)
        return 0;
    struct late *l = must_alloc(sizeof *l);
    *l = (struct late){.base.ops = &late_ops, .device = device};
    l->base.linear = arena_alloc(&l->room, fun->name_count * sizeof *l->base.linear);
    for (unsigned bytes = 1; bytes <= sizeof(union scalar); bytes++) {
        char name[KERNEL_NAME_MAX];
        l->copy_kernels[bytes] = kernels_find(kernels, kernel_copy_name(name, 1, bytes));
    }
    *late = &l->base;
    if (!spaces_used(fun, SPACE_HEAP))
        return 0;
    l->events = arena_alloc(&l->room, LATE_EVENTS * sizeof *l->events);
    measure_elements(l, fun);
    int code = device_heap_kernels_build(device, &l->kernels, error);
    if (code) {
        late_close(*late);
        *late = NULL;
    }
    return code;
}

void late_close(struct deferred *late)
{
    struct late *l = (struct late *)late;
    if (!l)
        return;
    if (l->kernels)
        device_heap_kernels_free(l->kernels);
    arena_free(&l->room);
    free(l);
}

void late_use(struct deferred *late, struct source *source, struct allocator_counts *own,
              struct allocator_counts *all)
{
    struct late *l = (struct late *)late;
    if (!l)
        return;
    l->source = source;
    l->own_counts = own;
    l->all_counts = all;
}

/* ---- values: capturing ---------------------------------------------------------------------- */

static uint64_t place_of(const struct late *l, uint64_t serial)
{
    return (1 + serial - l->first) * LATE_PLACE_BYTES;
}

/* Enqueues a copy of element `index` of a memory to byte `place` of the buffer; nothing in a fun
 * without late elements, whose buffer the host never reads. A kernel copies it: NVIDIA's OpenCL
 * takes 15 µs to enqueue a copy of some bytes, and 4 µs for a launch. */
static int put_value(struct executor *e, uint64_t place, uint64_t memory, int64_t index,
                     enum element element, struct source_position at)
{
    const struct late *l = late_of(e);
    const unsigned bytes = (unsigned)element_bytes(element);
    const struct layout one = {.rank = 1, .shape = {1}, .stride = {1}};
    struct array_state to = {.memory = l->buffer, .layout = one},
                       from = {.memory = memory, .layout = one};
    if (l->copy_kernels[bytes] == e->kernels->count)
        return 0;
    to.layout.offset = (int64_t)(place / bytes);
    from.layout.offset = index;
    return launch_move(e, l->copy_kernels[bytes], element, &to, &from, NULL, at);
}

/* In pinned memory the host loads the element after a wait, so deferring gains nothing. */
static int late_read(struct executor *e, const struct stm *stm, uint64_t memory, int64_t element,
                     bool *deferred)
{
    struct late *l = late_of(e);
    const int out = stm->outs[0];
    const enum element type = e->fun->names[out].element;
    l->base.linear[out] = (struct linear_size){0};
    *deferred = stm->late && e->spaces[e->fun->names[stm->array].memory] != SPACE_PINNED;
    if (!*deferred)
        return 0;
    int code = l->next - l->first == LATE_VALUES ? late_settle(e) : 0;
    if (!code)
        code = put_value(e, place_of(l, l->next), memory, element, type, stm->at);
    if (code)
        return code;
    l->types[l->next - l->first] = type;
    l->base.linear[out] = (struct linear_size){.serial = l->next++, .scale = 1};
    return 0;
}

/* ---- values: linear sizes ------------------------------------------------------------------- */

/* Does the expression mention a scalar that the host does not know? */
static bool late_in(const struct late *l, const struct expr *expr)
{
    if (!late_is_pending(l) || expr->op == EXPR_CONSTANT)
        return false;
    if (expr->op == EXPR_NAME)
        return l->base.linear[expr->name].serial != 0;
    return late_in(l, expr->arg[0]) || (expr->arg[1] && late_in(l, expr->arg[1]));
}

static bool linear_add(struct linear_size *a, const struct linear_size *b, bool minus)
{
    struct linear_size r = {.serial = a->serial ? a->serial : b->serial};
    if (a->serial && b->serial && a->serial != b->serial)
        return false;
    if (minus ? __builtin_sub_overflow(a->scale, b->scale, &r.scale) ||
                    __builtin_sub_overflow(a->add, b->add, &r.add)
              : __builtin_add_overflow(a->scale, b->scale, &r.scale) ||
                    __builtin_add_overflow(a->add, b->add, &r.add))
        return false;
    *a = r;
    return true;
}

static bool linear_multiply(struct linear_size *a, const struct linear_size *b)
{
    const struct linear_size *value = a->serial ? a : b, *number = a->serial ? b : a;
    struct linear_size r = {.serial = value->serial};
    if (number->serial || __builtin_mul_overflow(value->scale, number->add, &r.scale) ||
        __builtin_mul_overflow(value->add, number->add, &r.add))
        return false;
    *a = r;
    return true;
}

static bool is_whole(enum element element)
{
    return element != ELEMENT_f32 && element != ELEMENT_f64;
}

/* Writes an expression of i64 as a linear size. False if it is not linear, so that its number is
 * needed; *linear is then undefined. */
static bool linear_of(const struct executor *e, const struct expr *expr, struct linear_size *linear)
{
    const struct late *l = late_of(e);
    struct linear_size other;
    if (!late_in(l, expr)) {
        union scalar value;
        if (expr->type != ELEMENT_i64 ||
            expr_evaluate(e->program, expr, e->values, &value, e->error))
            return false;
        *linear = (struct linear_size){.add = value.i64};
        return true;
    }
    switch (expr->op) {
    case EXPR_NAME:
        *linear = l->base.linear[expr->name];
        return true;
    case EXPR_CONVERT:
        return expr->type == ELEMENT_i64 && expr->arg[0]->op == EXPR_NAME &&
               is_whole(expr->arg[0]->type) && linear_of(e, expr->arg[0], linear);
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MUL:
        if (expr->type != ELEMENT_i64 || !linear_of(e, expr->arg[0], linear) ||
            !linear_of(e, expr->arg[1], &other))
            return false;
        return expr->op == EXPR_MUL ? linear_multiply(linear, &other)
                                    : linear_add(linear, &other, expr->op == EXPR_SUB);
    default:
        return false;
    }
}

static bool late_defer(struct executor *e, const struct expr *expr, struct linear_size *linear)
{
    return late_in(late_of(e), expr) && linear_of(e, expr, linear) && linear->serial;
}

/* ---- values: becoming known ----------------------------------------------------------------- */

static int64_t as_i64(union scalar v, enum element type)
{
    switch (type) {
#define X(name, ctype, bytes, field)                                                               \
    case ELEMENT_##name:                                                                           \
        return (int64_t)v.field;
        ELEMENT_LIST(X)
#undef X
    default:
        return 0;
    }
}

/* The value of a size that was noted before values became known; *value stays if it is {0}.
 * ERR_PROGRAM beyond 64 bits. */
static int resolve(const struct executor *e, struct linear_size *linear, union scalar *value,
                   enum element element)
{
    const struct late *l = late_of(e);
    if (!linear->serial)
        return 0;
    if (linear->serial < l->known_first || linear->serial >= l->first)
        return error_set(e->error, ERR_INTERNAL, "%s: late value %llu is asked for too %s",
                         e->fun->name, (unsigned long long)linear->serial,
                         linear->serial < l->first ? "late" : "early");
    const uint64_t i = linear->serial - l->known_first;
    const enum element type = l->known_types[i];
    if (linear->scale == 1 && linear->add == 0 && type == element) {
        *value = l->known[i];
    } else {
        int64_t number;
        if (__builtin_mul_overflow(as_i64(l->known[i], type), linear->scale, &number) ||
            __builtin_add_overflow(number, linear->add, &number))
            return error_set(e->error, ERR_PROGRAM,
                             "%s: %lld times a value that the device has computed, %lld, and %lld "
                             "are more than 64 bits hold",
                             e->fun->name, (long long)linear->scale,
                             (long long)as_i64(l->known[i], type), (long long)linear->add);
        value->i64 = number;
    }
    *linear = (struct linear_size){0};
    return 0;
}

static int late_receive(struct executor *e, int name, struct linear_size linear)
{
    int code = 0;
    if (linear.serial < late_of(e)->first) /* the value has become known in between */
        code = resolve(e, &linear, &e->values[name], e->fun->names[name].element);
    e->deferred->linear[name] = linear;
    return code;
}

/* The outermost size of an array, once it is known. It fits its block, which was checked when the
 * array was bound. */
static int settle_rows(struct executor *e, struct array_state *a, const struct name *n)
{
    union scalar rows;
    if (!a->heap.rows.serial || a->heap.rows.serial >= late_of(e)->first)
        return 0;
    int code = resolve(e, &a->heap.rows, &rows, ELEMENT_i64);
    if (!code && rows.i64 < 0)
        code = execute_fail(e, n->at, "dimension 0 of '%s' has size %lld", n->text,
                            (long long)rows.i64);
    if (!code)
        a->layout.shape[0] = rows.i64;
    return code;
}

static int settle_names(struct executor *e)
{
    int code = 0;
    for (unsigned n = 0; n < e->fun->name_count && !code; n++) {
        const struct name *name = &e->fun->names[n];
        if (name->kind == NAME_SCALAR)
            code = resolve(e, &e->deferred->linear[n], &e->values[n], name->element);
        else if (name->kind == NAME_ARRAY)
            code = settle_rows(e, &e->arrays[n], name);
    }
    return code;
}

static int settle_blocks(struct executor *e)
{
    union scalar bytes;
    int code = 0;
    for (unsigned b = 0; b < e->block_capacity && !code; b++) {
        struct held_block *block = &e->blocks[b];
        if (!block->in_heap || !block->heap.bytes.serial)
            continue;
        code = resolve(e, &block->heap.bytes, &bytes, ELEMENT_i64);
        if (!code && bytes.i64 < 0)
            code = error_set(e->error, ERR_PROGRAM, "%s: '%s' would have %lld bytes", e->fun->name,
                             block->tag, (long long)bytes.i64);
        block->requested = (uint64_t)bytes.i64;
        block->heap.bytes.add = bytes.i64;
    }
    return code;
}

static int check_status(struct executor *e, uint32_t status)
{
    char text[128], bytes[32];
    const struct late *l = late_of(e);
    const bool is_full = status & DEVICE_HEAP_OUT_OF_MEMORY;
    status &= DEVICE_HEAP_FAILURES;
    if (!l->kernels || !status)
        return 0;
    return error_set(e->error, is_full ? ERR_OOM : ERR_PROGRAM,
                     "%s: the heap that the device runs, of %s, refused a command (%s). %s",
                     e->fun->name, text_bytes(bytes, l->arena_bytes),
                     device_heap_status_text(text, status),
                     is_full ? "It is as large as the program's inputs: leave out 'late', and the "
                               "host asks for such blocks"
                             : "Does a kernel write outside of its arrays?");
}

static int fold_events(struct executor *e);

/* Waits until all values are known, and puts them where they belong: names, arrays, blocks. Without
 * pending values it does not wait. ERR_OOM if the heap has refused a command. */
static int settle_values(struct executor *e, bool counted)
{
    struct late *l = late_of(e);
    if (!late_is_pending(l))
        return 0;
    const unsigned count = (unsigned)(l->next - l->first);
    const uint64_t bytes = (uint64_t)(1 + count) * LATE_PLACE_BYTES;
    unsigned char places[LATE_BYTES];
    uint32_t status;
    int code = late_submit(e); /* pending allocations take their sizes from the buffer */
    if (code)
        return code;
    run_log_begin_call(e->trace);
    code = e->device->ops->read(e->device, places, l->buffer, 0, bytes, e->error);
    run_log_transfer(e->trace, TRACE_read, 0, l->buffer, bytes);
    if (code)
        return code;
    if (counted)
        execute_count_readback(e, bytes);
    memcpy(&status, places, sizeof status);
    memcpy(l->known, places + LATE_PLACE_BYTES, count * sizeof *l->known);
    memcpy(l->known_types, l->types, count * sizeof *l->types);
    l->known_first = l->first;
    l->first = l->next;
    code = settle_names(e);
    if (!code)
        code = settle_blocks(e);
    if (!code)
        code = fold_events(e);
    return code ? code : check_status(e, status);
}

/* A wait of the program, which is counted. */
static int late_settle(struct executor *e)
{
    return settle_values(e, true);
}

static int late_need(struct executor *e, const struct expr *expr)
{
    return late_in(late_of(e), expr) ? late_settle(e) : 0;
}

/* ---- counts of blocks ----------------------------------------------------------------------- */

/* Takes the peaks of the other spaces, which begin again from their live bytes. */
static void take_peaks(struct executor *e, uint64_t peaks[LATE_SERIES])
{
    struct allocator_counts *c = late_of(e)->all_counts;
    peaks[LATE_REQUESTED] = c->peak_requested_bytes;
    peaks[LATE_GRANTED] = c->peak_granted_bytes;
    peaks[LATE_LIVE] = e->counts.peak_live_bytes;
    c->peak_requested_bytes = c->requested_bytes;
    c->peak_granted_bytes = c->granted_bytes;
    e->counts.peak_live_bytes = e->counts.live_bytes;
}

static void raise(uint64_t *peak, uint64_t bytes)
{
    *peak = bytes > *peak ? bytes : *peak;
}

static void raise_peaks(struct late *l, const uint64_t others[LATE_SERIES])
{
    for (unsigned s = 0; s < LATE_SERIES; s++)
        raise(&l->peak[s], others[s] + l->live[s]);
}

static void count_event(struct allocator_counts *c, enum late_event_kind kind)
{
    c->alloc_count += kind == LATE_ALLOC;
    c->hit_count += kind == LATE_ALLOC;
    c->free_count += kind == LATE_FREE;
}

static int fold_event(struct executor *e, struct late_event *event)
{
    struct late *l = late_of(e);
    union scalar bytes = {.i64 = event->bytes.add};
    TRY(resolve(e, &event->bytes, &bytes, ELEMENT_i64));
    raise_peaks(l, event->others);
    if (bytes.i64 > 0) { /* as everywhere, a block of no bytes is none */
        count_event(l->all_counts, event->kind);
        count_event(l->own_counts, event->kind);
    }
    const uint64_t requested = (uint64_t)bytes.i64;
    const uint64_t granted = (requested + event->unit - 1) / event->unit * event->unit;
    switch (event->kind) {
    case LATE_ALLOC:
        l->live[LATE_REQUESTED] += requested;
        l->live[LATE_GRANTED] += granted;
        l->live[LATE_LIVE] += requested;
        raise(&l->own_counts->peak_requested_bytes, l->live[LATE_REQUESTED]);
        raise(&l->own_counts->peak_granted_bytes, l->live[LATE_GRANTED]);
        break;
    case LATE_USE_ENDS:
        l->live[LATE_LIVE] -= requested;
        break;
    case LATE_FREE:
        l->live[LATE_REQUESTED] -= requested;
        l->live[LATE_GRANTED] -= granted;
        break;
    }
    return 0;
}

/* Adds up the events. All sizes are known. */
static int fold_events(struct executor *e)
{
    struct late *l = late_of(e);
    int code = 0;
    for (unsigned i = 0; i < l->event_count && !code; i++)
        code = fold_event(e, &l->events[i]);
    l->event_count = 0;
    return code;
}

/* Called before a block changes: makes room for an event, with a wait if need be. */
static int make_room(struct executor *e)
{
    return late_of(e)->event_count < LATE_EVENTS ? 0 : late_settle(e);
}

static int note_event(struct executor *e, enum late_event_kind kind, const struct held_block *block)
{
    struct late *l = late_of(e);
    struct late_event *event = &l->events[l->event_count++];
    *event =
        (struct late_event){.kind = kind, .bytes = block->heap.bytes, .unit = block->heap.unit};
    take_peaks(e, event->others);
    return late_is_pending(l) ? 0 : fold_events(e);
}

/* Called after a run: completes the peaks with the heap's blocks. */
static void finish_peaks(struct executor *e)
{
    struct late *l = late_of(e);
    uint64_t others[LATE_SERIES];
    take_peaks(e, others);
    raise_peaks(l, others);
    l->all_counts->peak_requested_bytes = l->peak[LATE_REQUESTED];
    l->all_counts->peak_granted_bytes = l->peak[LATE_GRANTED];
    e->counts.peak_live_bytes = l->peak[LATE_LIVE];
}

/* ---- the heap: a run ------------------------------------------------------------------------ */

/* The heap is as large as the program's inputs: lists of parts of them fit, and a larger problem
 * has a larger heap. */
static uint64_t arena_bytes(const struct executor *e)
{
    uint64_t bytes = 0, most = device_info(e->device)->max_alloc_bytes;
    for (unsigned i = 0; i < e->fun->param_count; i++) {
        const int p = e->fun->params[i];
        if (e->fun->names[p].kind == NAME_ARRAY)
            bytes += (uint64_t)layout_count(&e->arrays[p].layout) *
                     element_bytes(e->fun->names[p].element);
    }
    if (most == 0 || most > arena_most_bytes)
        most = arena_most_bytes;
    bytes = (bytes + ARENA_UNIT_BYTES - 1) & ~(uint64_t)(ARENA_UNIT_BYTES - 1);
    return bytes < ARENA_LEAST_BYTES ? ARENA_LEAST_BYTES : bytes > most ? most : bytes;
}

static int open_heap(struct executor *e)
{
    struct late *l = late_of(e);
    const struct device_heap_options options = {
        .policy = DEVICE_HEAP_TLSF,
        .padding = DEVICE_HEAP_TIGHT,
        .arena_bytes = l->arena_bytes,
        .slots = e->block_capacity,
        .ring_commands = RING_COMMANDS,
        .arena = l->arena,
        .kernels = l->kernels,
    };
    TRY(device_heap_open(e->device, &options, &l->heap, e->error));
    l->held_bytes = device_heap_held_bytes(l->heap);
    int code = source_hold(l->source, l->held_bytes);
    if (code) {
        l->held_bytes = 0;
        return error_set(e->error, code, "the heap's records: %s", l->source->error.text);
    }
    l->base.heap = (struct heap_view){.slots = device_heap_slots(l->heap),
                                      .index = device_heap_parts(l->heap, 0).index,
                                      .bytes = l->arena_bytes};
    return 0;
}

static int begin_heap(struct executor *e)
{
    struct late *l = late_of(e);
    l->arena_bytes = arena_bytes(e);
    l->must_submit = false;
    l->event_count = 0;
    memset(l->live, 0, sizeof l->live);
    memset(l->peak, 0, sizeof l->peak);
    int code = source_alloc(l->source, l->arena_bytes, SOURCE_LAZY, &l->arena);
    if (code) {
        l->arena = 0;
        return error_set(e->error, code, "the heap that the device runs: %s",
                         l->source->error.text);
    }
    if (e->poison)
        code = e->device->ops->fill(e->device, l->arena, 0, 0xff, l->arena_bytes, e->error);
    return code ? code : open_heap(e);
}

static int late_begin(struct executor *e)
{
    struct late *l = late_of(e);
    l->executor = e;
    if (!l->source)
        return error_set(e->error, ERR_UNSUPPORTED,
                         "%s has late elements, or memory in a heap, and this run has none",
                         e->fun->name);
    l->known_first = l->first = l->next = 1;
    memset(l->base.linear, 0, e->fun->name_count * sizeof *l->base.linear);
    int code = source_alloc(l->source, LATE_BYTES, SOURCE_LAZY, &l->buffer);
    if (code)
        return error_set(e->error, code, "late values: %s", l->source->error.text);
    code = e->device->ops->fill(e->device, l->buffer, 0, 0, LATE_BYTES, e->error);
    return code || !l->kernels ? code : begin_heap(e);
}

static void late_end(struct executor *e)
{
    struct late *l = late_of(e);
    l->next = l->first; /* the next run has no use for values that are still unknown */
    if (l->arena) {
        device_heap_close(l->heap);
        source_unhold(l->source, l->held_bytes);
        source_free(l->source, l->arena, l->arena_bytes);
    }
    if (l->buffer)
        source_free(l->source, l->buffer, LATE_BYTES);
    l->heap = NULL;
    l->buffer = l->arena = l->held_bytes = 0;
}

int late_finish(struct deferred *late, struct error *error)
{
    struct late *l = (struct late *)late;
    if (!l)
        return 0;
    struct executor *e = l->executor;
    const uint64_t launch_count = e->counts.launch_count;
    uint64_t header[HEAP_HEADER_WORDS];
    e->error = error;
    int code = settle_values(e, false);
    if (!code && l->kernels) {
        code = late_submit(e);
        if (!code)
            code = device_heap_read_header(l->heap, header, error);
        if (!code)
            code = check_status(e, (uint32_t)header[HEAP_STATUS]);
        if (!code)
            finish_peaks(e);
    }
    e->counts.launch_count = launch_count; /* these launches are not part of the run */
    return code;
}

/* ---- the heap: commands --------------------------------------------------------------------- */

/* Can the heap take the size from the buffer of values? Counts there are words of 32 bits. A block
 * consists of elements, each at a multiple of its own size, which must suit the arrays in it. */
static bool is_counted(const struct late *l, int name, const struct linear_size *bytes)
{
    const enum element type = l->types[bytes->serial - l->first];
    const unsigned widest = l->widest[name];
    return (type == ELEMENT_i32 || type == ELEMENT_u32) && bytes->add == 0 && bytes->scale > 0 &&
           bytes->scale % WORD_BYTES == 0 && bytes->scale / WORD_BYTES <= UINT32_MAX &&
           (widest == 0 || bytes->scale % widest == 0);
}

static int alloc_known(struct executor *e, int name, struct held_block *block,
                       const struct expr *expr, struct source_position at)
{
    const int64_t unit = KNOWN_STRIDE_WORDS * WORD_BYTES;
    int64_t bytes, count;
    TRY(execute_block_bytes(e, name, expr, at, &bytes));
    count = bytes / unit + (bytes % unit != 0);
    if (count > UINT32_MAX)
        return error_set(e->error, ERR_OOM, "block '%s' of %lld bytes: a heap has 16 GiB at most",
                         e->fun->names[name].text, (long long)bytes);
    block->requested = (uint64_t)bytes;
    block->heap.bytes = (struct linear_size){.add = bytes};
    block->heap.unit = KNOWN_STRIDE_WORDS * WORD_BYTES;
    return device_heap_alloc(late_of(e)->heap, (uint32_t)count, KNOWN_STRIDE_WORDS,
                             &block->heap.slot, e->error);
}

static int late_alloc(struct executor *e, int name, struct held_block *block,
                      const struct expr *size, struct source_position at)
{
    struct late *l = late_of(e);
    int code = make_room(e);
    if (code)
        return code;
    *block = (struct held_block){.next_free = block->next_free, .in_heap = true};
    struct linear_size bytes = {0};
    if (late_defer(e, size, &bytes) && is_counted(l, name, &bytes)) {
        block->heap.bytes = bytes;
        block->heap.unit = 1;
        code = device_heap_alloc_counted(
            l->heap, (uint32_t)(place_of(l, bytes.serial) / WORD_BYTES),
            (uint32_t)(bytes.scale / WORD_BYTES), &block->heap.slot, e->error);
    } else {
        code = alloc_known(e, name, block, size, at);
    }
    if (code)
        return code;
    l->must_submit = true;
    block->tag = e->fun->names[name].text;
    block->block.memory = l->arena;
    return note_event(e, LATE_ALLOC, block);
}

static int late_end_use(struct executor *e, const struct held_block *block)
{
    int code = make_room(e);
    return code ? code : note_event(e, LATE_USE_ENDS, block);
}

static int late_free(struct executor *e, struct held_block *block)
{
    int code = make_room(e);
    if (!code)
        code = device_heap_free(late_of(e)->heap, block->heap.slot, e->error);
    return code ? code : note_event(e, LATE_FREE, block);
}

/* Submits pending allocations. Their status is written to word 0 of the buffer after them, so
 * checking it needs no wait of its own. */
static int late_submit(struct executor *e)
{
    struct late *l = late_of(e);
    if (!l->must_submit)
        return 0;
    const uint64_t before = device_heap_launches(l->heap);
    l->must_submit = false;
    int code = device_heap_submit(l->heap, l->buffer, LATE_BYTES / WORD_BYTES, e->error);
    e->counts.launch_count += device_heap_launches(l->heap) - before;
    return code ? code : put_value(e, 0, l->base.heap.index, HEAP_STATUS, ELEMENT_u32, e->fun->at);
}

static int late_launch(struct executor *e, const struct step *s)
{
    const struct kernel *k = s->stm->kernel;
    const struct step_state *state = s->state;
    int code = 0;
    for (unsigned i = 0; i < k->scalar_count && !code; i++)
        code = e->deferred->linear[k->scalars[i]].serial ? late_settle(e) : 0;
    for (unsigned d = 0; d < k->rank && !code; d++)
        code = late_need(e, k->extents[d]);
    return code || !state->uses_heap ? code : late_submit(e);
}

/* ---- the heap: where blocks are ------------------------------------------------------------- */

/* Waits, and notes the block's offset in `block`. */
static int locate_block(struct executor *e, struct held_block *block)
{
    uint32_t words[SLOT_WORDS];
    if (block->heap.located)
        return 0;
    int code = late_settle(e);
    if (!code)
        code = late_submit(e);
    if (!code)
        code = device_heap_read_slot(late_of(e)->heap, block->heap.slot, words, e->error);
    if (code)
        return code;
    execute_count_readback(e, sizeof words);
    if (block->requested && !words[SLOT_BLOCK])
        return check_status(e, DEVICE_HEAP_OUT_OF_MEMORY);
    block->block.offset = (uint64_t)words[SLOT_INDEX] * words[SLOT_STRIDE] * WORD_BYTES;
    block->heap.located = true;
    return 0;
}

/* Does the array end inside its block for every number of rows that the block is made for? */
static bool always_fits(const struct layout *l, const struct linear_size *rows,
                        const struct linear_size *block, int64_t element_bytes)
{
    int64_t reach = l->offset + 1, per_value, fixed;
    if (rows->serial != block->serial || rows->scale < 0 || l->stride[0] < 0)
        return false;
    for (unsigned d = 1; d < l->rank; d++) {
        if (l->stride[d] < 0 || l->shape[d] < 1)
            return false;
        reach += (l->shape[d] - 1) * l->stride[d];
    }
    /* element_bytes * (reach + (scale * value + add - 1) * stride) <= bytes of the block */
    return !__builtin_mul_overflow(rows->scale * element_bytes, l->stride[0], &per_value) &&
           !__builtin_mul_overflow((rows->add - 1) * element_bytes, l->stride[0], &fixed) &&
           per_value <= block->scale && fixed + reach * element_bytes <= block->add &&
           l->offset >= 0;
}

/* Binds the array without its number of rows; *bound: this was possible. */
static int bind_without_rows(struct executor *e, int name, const struct held_block *block,
                             bool *bound)
{
    const struct late *l = late_of(e);
    const struct name *n = &e->fun->names[name];
    struct array_state *a = &e->arrays[name];
    struct linear_size rows = {0};
    int code = 0;
    *bound = n->rank && !n->thread_rank && late_in(l, n->shape[0]);
    if (*bound)
        code = execute_layout(e, n, true, &a->layout); /* this may wait */
    *bound = *bound && !code && late_defer(e, n->shape[0], &rows) && block->heap.bytes.serial &&
             always_fits(&a->layout, &rows, &block->heap.bytes, (int64_t)element_bytes(n->element));
    if (!*bound)
        return code;
    a->memory = block->block.memory;
    a->heap.rows = rows;
    return 0;
}

static int late_bind(struct executor *e, int name, bool locate)
{
    const struct name *n = &e->fun->names[name];
    struct array_state *a = &e->arrays[name];
    const int b = e->block_of[n->memory];
    if (b == NO_BLOCK)
        return execute_bind_plain(e, name);
    struct held_block *block = &e->blocks[b];
    a->heap = (struct heap_array){.slot = block->heap.slot};
    bool bound = false;
    int code = locate ? locate_block(e, block) : bind_without_rows(e, name, block, &bound);
    if (!code && !bound && block->heap.bytes.serial)
        code = late_settle(e);
    if (code || bound)
        return code;
    a->heap.base = (int64_t)(block_offset(&block->block) / element_bytes(n->element));
    return execute_bind_plain(e, name);
}

static int locate_operand(struct executor *e, int name)
{
    const struct name *n = name == NO_NAME ? NULL : &e->fun->names[name];
    const bool is_in_heap = n && n->kind == NAME_ARRAY && blocks_in_heap(e, n->memory);
    return is_in_heap ? late_bind(e, name, true) : 0;
}

static int late_operands(struct executor *e, const struct stm *stm)
{
    if (!late_of(e)->kernels)
        return 0;
    int code = locate_operand(e, stm->array);
    if (!code)
        code = locate_operand(e, stm->value);
    for (unsigned i = 0; i < stm->piece_count && !code; i++)
        code = locate_operand(e, stm->pieces[i].array);
    return code;
}

static int late_same_place(struct executor *e, int name, struct array_state *b, bool *same)
{
    const struct array_state *a = &e->arrays[name];
    const struct linear_size *p = &a->heap.rows, *q = &b->heap.rows;
    *same = a->memory == b->memory && a->heap.slot == b->heap.slot;
    if (!*same)
        return 0;
    int code = 0;
    if (p->serial != q->serial || p->scale != q->scale || p->add != q->add) {
        code = late_settle(e);
        if (!code)
            code = settle_rows(e, b, &e->fun->names[name]);
    }
    struct layout x = a->layout, y = b->layout;
    if (p->serial) /* both have the same rows, and any number of them will do */
        x.shape[0] = y.shape[0] = 2;
    x.offset -= a->heap.base;
    y.offset -= b->heap.base;
    *same = layout_matches(&x, &y);
    return code;
}

static const struct deferred_ops late_ops = {
    .begin = late_begin,
    .end = late_end,
    .need = late_need,
    .defer = late_defer,
    .receive = late_receive,
    .read = late_read,
    .operands = late_operands,
    .launch = late_launch,
    .alloc = late_alloc,
    .end_use = late_end_use,
    .free = late_free,
    .bind = late_bind,
    .same_place = late_same_place,
};
