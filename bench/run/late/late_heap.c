/* Blocks in a heap that the device runs: commands, slots, where they lie. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "device_heap/device_heap.h"
#include "run/execute/executor.h"
#include "run/late/late.h"
#include "run/late/late_heap.h"
#include "run/execute/spaces.h"

_Static_assert((int)KERNEL_SLOT_INDEX == SLOT_INDEX && (int)KERNEL_SLOT_STRIDE == SLOT_STRIDE &&
                   (int)KERNEL_SLOT_WORDS == SLOT_WORDS &&
                   (int)KERNEL_HEAP_FAILURES == DEVICE_HEAP_FAILURES && HEAP_STATUS == 0,
               "what kernels know of a heap is what its layout says");

enum {
    WORD_BYTES = 4,
    /* A block whose size the host knows: of elements of 8 bytes, so that any type is aligned. */
    KNOWN_STRIDE_WORDS = 2,
    RING_COMMANDS = 1024,
    ARENA_UNIT_BYTES = 256,
    ARENA_LEAST_BYTES = 64 << 10,
};
static const uint64_t arena_most_bytes = (UINT64_C(1) << 34) - 65536; /* that words address */

/* ---- opening -------------------------------------------------------------------------------- */

static bool is_heap(const struct name *n)
{
    return n->kind == NAME_MEMORY && n->space == SPACE_HEAP;
}

static void measure_elements(struct executor *e, struct late_heap *h)
{
    h->widest = arena_alloc(&e->arena, e->fun->name_count);
    for (unsigned n = 0; n < e->fun->name_count; n++) {
        const struct name *array = &e->fun->names[n];
        if (array->kind != NAME_ARRAY || array->memory == NO_NAME)
            continue;
        const unsigned char bytes = (unsigned char)element_bytes(array->element);
        if (bytes > h->widest[array->memory])
            h->widest[array->memory] = bytes;
    }
}

int late_heap_prepare(struct executor *e)
{
    if (e->lacks || !spaces_used(e->fun, SPACE_HEAP))
        return 0;
    struct device_heap_kernels *kernels;
    int code = device_heap_kernels_build(e->device, &kernels, e->error);
    if (code)
        return code;
    struct late_heap *h = e->heap = arena_alloc(&e->arena, sizeof *h);
    h->kernels = kernels;
    h->books.events = arena_alloc(&e->arena, LATE_EVENTS * sizeof *h->books.events);
    measure_elements(e, h);
    return 0;
}

void late_heap_forget(struct executor *e)
{
    if (e->heap)
        device_heap_kernels_free(e->heap->kernels);
}

/* As large as what the program is given: lists of some of it fit, and a larger problem has a larger
 * heap. */
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

static int open_heap(struct executor *e, struct late_heap *h)
{
    const struct device_heap_options options = {
        .policy = DEVICE_HEAP_TLSF,
        .padding = DEVICE_HEAP_TIGHT,
        .arena_bytes = h->arena_bytes,
        .slots = e->block_capacity,
        .ring_commands = RING_COMMANDS,
        .arena = h->arena,
        .kernels = h->kernels,
    };
    int code = device_heap_open(e->device, &options, &h->heap, e->error);
    if (code)
        return code;
    h->held_bytes = device_heap_held_bytes(h->heap);
    code = source_hold(e->heap_source, h->held_bytes);
    if (code) {
        h->held_bytes = 0;
        return error_set(e->error, code, "the heap's books: %s", e->heap_source->error.text);
    }
    h->parts = device_heap_parts(h->heap, 0);
    h->slots = device_heap_slots(h->heap);
    return 0;
}

int late_heap_begin(struct executor *e)
{
    struct late_heap *h = e->heap;
    if (!h)
        return 0;
    h->arena_bytes = arena_bytes(e);
    h->must_submit = false;
    late_books_begin(e);
    int code = source_alloc(e->heap_source, h->arena_bytes, SOURCE_LAZY, &h->arena);
    if (code) {
        h->arena = 0;
        return error_set(e->error, code, "the heap that the device runs: %s",
                         e->heap_source->error.text);
    }
    if (e->poison)
        code = e->device->ops->fill(e->device, h->arena, 0, 0xff, h->arena_bytes, e->error);
    return code ? code : open_heap(e, h);
}

void late_heap_end(struct executor *e)
{
    struct late_heap *h = e->heap;
    if (!h || !h->arena)
        return;
    device_heap_close(h->heap);
    source_unhold(e->heap_source, h->held_bytes);
    source_free(e->heap_source, h->arena, h->arena_bytes);
    h->heap = NULL;
    h->arena = h->held_bytes = 0;
}

/* ---- commands ------------------------------------------------------------------------------- */

/* Can the heap take the size from the buffer of values? Counts there are words of 32 bits; a block
 * is so many elements, each at a multiple of its own size, which must suit the arrays in it. */
static bool is_counted(const struct executor *e, int name, const struct late_form *bytes)
{
    const enum element type = late_type(e, bytes->serial);
    const unsigned widest = e->heap->widest[name];
    return (type == ELEMENT_i32 || type == ELEMENT_u32) && bytes->add == 0 && bytes->scale > 0 &&
           bytes->scale % WORD_BYTES == 0 && bytes->scale / WORD_BYTES <= UINT32_MAX &&
           (widest == 0 || bytes->scale % widest == 0);
}

static int alloc_known(struct executor *e, int name, struct held_block *block,
                       const struct expr *expr, struct place at)
{
    const int64_t unit = KNOWN_STRIDE_WORDS * WORD_BYTES;
    int64_t bytes, count;
    int code = execute_size(e, expr, &bytes);
    if (code)
        return code;
    if (bytes < 0)
        return execute_fail(e, at, "'%s' would have %lld bytes", e->fun->names[name].text,
                            (long long)bytes);
    count = bytes / unit + (bytes % unit != 0);
    if (count > UINT32_MAX)
        return error_set(e->error, ERR_OOM, "block '%s' of %lld bytes: a heap has 16 GiB at most",
                         e->fun->names[name].text, (long long)bytes);
    block->requested = (uint64_t)bytes;
    block->bytes = (struct late_form){.add = bytes};
    block->unit = KNOWN_STRIDE_WORDS * WORD_BYTES;
    return device_heap_alloc(e->heap->heap, (uint32_t)count, KNOWN_STRIDE_WORDS, &block->slot,
                             e->error);
}

int late_heap_alloc(struct executor *e, int name, struct held_block *block, const struct expr *expr,
                    struct place at)
{
    struct late_heap *h = e->heap;
    int code = late_books_make_room(e);
    if (code)
        return code;
    *block = (struct held_block){.next_free = block->next_free, .in_heap = true};
    struct late_form bytes = {0};
    if (late_is_pending(e) && late_in(e, expr) && late_form_of(e, expr, &bytes) && bytes.serial &&
        is_counted(e, name, &bytes)) {
        block->bytes = bytes;
        block->unit = 1;
        code =
            device_heap_alloc_counted(h->heap, late_word(e, bytes.serial),
                                      (uint32_t)(bytes.scale / WORD_BYTES), &block->slot, e->error);
    } else {
        code = alloc_known(e, name, block, expr, at);
    }
    if (code)
        return code;
    h->must_submit = true;
    block->tag = e->fun->names[name].text;
    block->block.memory = h->arena;
    return late_books_note(e, LATE_ALLOC, block);
}

int late_heap_use_ends(struct executor *e, const struct held_block *block)
{
    int code = late_books_make_room(e);
    return code ? code : late_books_note(e, LATE_USE_ENDS, block);
}

int late_heap_free(struct executor *e, struct held_block *block)
{
    int code = late_books_make_room(e);
    if (!code)
        code = device_heap_free(e->heap->heap, block->slot, e->error);
    return code ? code : late_books_note(e, LATE_FREE, block);
}

int late_heap_submit(struct executor *e)
{
    struct late_heap *h = e->heap;
    if (!h || !h->must_submit)
        return 0;
    const struct late_values values = late_values(e);
    const uint64_t before = device_heap_launches(h->heap);
    h->must_submit = false;
    int code = device_heap_submit(h->heap, values.memory, values.words, e->error);
    e->counts.launch_count += device_heap_launches(h->heap) - before;
    return code ? code : late_put(e, 0, h->parts.index, HEAP_STATUS, ELEMENT_u32, e->fun->at);
}

/* ---- what went wrong ------------------------------------------------------------------------ */

int late_heap_check_status(struct executor *e, uint32_t status)
{
    char text[128], bytes[32];
    const bool is_full = status & DEVICE_HEAP_OUT_OF_MEMORY;
    status &= DEVICE_HEAP_FAILURES;
    if (!e->heap || !status)
        return 0;
    return error_set(e->error, is_full ? ERR_OOM : ERR_PROGRAM,
                     "%s: the heap that the device runs, of %s, refused a command (%s). %s",
                     e->fun->name, text_bytes(bytes, e->heap->arena_bytes),
                     device_heap_status_text(text, status),
                     is_full ? "It is as large as the program's inputs: leave out 'late', and the "
                               "host asks for such blocks"
                             : "Does a kernel write outside of its arrays?");
}

int late_heap_read_status(struct executor *e)
{
    uint64_t header[HEAP_HEADER_WORDS];
    int code = device_heap_read_header(e->heap->heap, header, e->error);
    return code ? code : late_heap_check_status(e, (uint32_t)header[HEAP_STATUS]);
}

/* ---- where blocks lie ----------------------------------------------------------------------- */

int late_heap_locate(struct executor *e, struct held_block *block)
{
    struct late_heap *h = e->heap;
    uint32_t words[SLOT_WORDS];
    if (block->located)
        return 0;
    int code = late_settle(e, true);
    if (!code)
        code = late_heap_submit(e);
    if (!code)
        code = device_heap_read_slot(h->heap, block->slot, words, e->error);
    if (code)
        return code;
    e->counts.readback_count++;
    e->counts.copy[COPY_host_device].count++;
    e->counts.copy[COPY_host_device].bytes += sizeof words;
    if (block->requested && !words[SLOT_BLOCK])
        return late_heap_check_status(e, DEVICE_HEAP_OUT_OF_MEMORY);
    block->block.offset = (uint64_t)words[SLOT_INDEX] * words[SLOT_STRIDE] * WORD_BYTES;
    block->located = true;
    return 0;
}

struct late_slot late_heap_slot(const struct executor *e, const struct array_state *array)
{
    const struct late_heap *h = e->heap;
    return (struct late_slot){
        .slots = h->slots, .index = h->parts.index, .word = (int64_t)array->slot * SLOT_WORDS};
}

/* Does it end inside of its block for every number of rows that the block is made for? */
static bool always_fits(const struct layout *l, const struct late_form *rows,
                        const struct late_form *block, int64_t element_bytes)
{
    int64_t reach = l->offset + 1, per_value, fixed;
    if (rows->serial != block->serial || rows->scale < 0 || l->stride[0] < 0)
        return false;
    for (unsigned d = 1; d < l->rank; d++) {
        if (l->stride[d] < 0 || l->shape[d] < 1)
            return false;
        reach += (l->shape[d] - 1) * l->stride[d];
    }
    /* element_bytes * (reach + (scale * value + add - 1) * stride) <= what the block has */
    return !__builtin_mul_overflow(rows->scale * element_bytes, l->stride[0], &per_value) &&
           !__builtin_mul_overflow((rows->add - 1) * element_bytes, l->stride[0], &fixed) &&
           per_value <= block->scale && fixed + reach * element_bytes <= block->add &&
           l->offset >= 0;
}

/* Binds it without its number of rows; *bound: that was possible. */
static int bind_late(struct executor *e, int name, const struct held_block *block, bool *bound)
{
    const struct name *n = &e->fun->names[name];
    struct array_state *a = &e->arrays[name];
    struct late_form rows = {0};
    int code = 0;
    *bound = late_is_pending(e) && n->rank && !n->thread_rank && late_in(e, n->shape[0]);
    if (*bound)
        code = execute_layout(e, n, true, &a->layout); /* this may wait */
    *bound = *bound && !code && late_is_pending(e) && late_in(e, n->shape[0]) &&
             late_form_of(e, n->shape[0], &rows) && block->bytes.serial &&
             always_fits(&a->layout, &rows, &block->bytes, (int64_t)element_bytes(n->element));
    if (!*bound)
        return code;
    a->memory = block->block.memory;
    a->base = 0;
    a->rows = rows;
    return 0;
}

int late_heap_bind(struct executor *e, int name)
{
    const int b = e->block_of[e->fun->names[name].memory];
    bool bound = false;
    int code = 0;
    e->arrays[name].rows.serial = 0;
    if (b != NO_BLOCK) {
        e->arrays[name].slot = e->blocks[b].slot;
        code = bind_late(e, name, &e->blocks[b], &bound);
        if (!code && !bound && e->blocks[b].bytes.serial)
            code = late_settle(e, true);
    }
    return code || bound ? code : execute_bind_unlocated(e, name);
}

static bool is_in_heap(const struct executor *e, int name)
{
    const struct name *n = name == NO_NAME ? NULL : &e->fun->names[name];
    return n && n->kind == NAME_ARRAY && n->memory != NO_NAME && is_heap(&e->fun->names[n->memory]);
}

int late_heap_need(struct executor *e, const struct stm *stm)
{
    int code = is_in_heap(e, stm->array) ? execute_bind_array(e, stm->array) : 0;
    if (!code && is_in_heap(e, stm->value))
        code = execute_bind_array(e, stm->value);
    for (unsigned i = 0; i < stm->piece_count && !code; i++)
        if (is_in_heap(e, stm->pieces[i].array))
            code = execute_bind_array(e, stm->pieces[i].array);
    return code;
}

bool late_heap_is_near(const struct executor *e, unsigned element_bytes)
{
    return e->heap->arena_bytes / element_bytes <= INT32_MAX;
}

int late_heap_settle(struct executor *e)
{
    union scalar bytes;
    int code = 0;
    if (!e->heap)
        return 0;
    for (unsigned b = 0; b < e->block_capacity && !code; b++) {
        struct held_block *block = &e->blocks[b];
        if (!block->in_heap || !block->bytes.serial)
            continue;
        code = late_resolve(e, &block->bytes, &bytes, ELEMENT_i64);
        if (!code && bytes.i64 < 0)
            code = error_set(e->error, ERR_PROGRAM, "%s: '%s' would have %lld bytes", e->fun->name,
                             block->tag, (long long)bytes.i64);
        block->requested = (uint64_t)bytes.i64;
        block->bytes.add = bytes.i64;
    }
    return code ? code : late_books_fold(e);
}
