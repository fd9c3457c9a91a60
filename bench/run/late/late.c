/* Values that the device has captured: what the host knows of them, and how they become known. */
#include "run/late/late.h"

#include <stdlib.h>
#include <string.h>

#include "run/execute/executor.h"
#include "run/execute/spaces.h"

/* The buffer: a word for the status of the heap, then a place of 8 bytes for each value. When it is
 * full, capturing waits. */
enum { LATE_VALUES = 511, LATE_PLACE_BYTES = 8, LATE_BYTES = (1 + LATE_VALUES) * LATE_PLACE_BYTES };

struct late {
    uint64_t memory;
    unsigned copy_kernels[sizeof(union scalar) + 1]; /* by bytes of an element: their numbers */
    /* Captured and unknown are the values [first, next), by their serials; known are those from
     * known_first up to first. Older ones are where they belong already. */
    uint64_t known_first, first, next;
    struct late_form *of; /* by name */
    enum element types[LATE_VALUES];
    union scalar known[LATE_VALUES];
    enum element known_types[LATE_VALUES];
};

/* ---- a run ---------------------------------------------------------------------------------- */

static bool has_late(const struct body *body)
{
    for (const struct stm *s = body->first; s; s = s->next)
        if (s->late || (s->kind == STM_IF && (has_late(s->then) || has_late(s->otherwise))) ||
            (s->kind == STM_LOOP && has_late(&s->loop->body)))
            return true;
    return false;
}

bool executor_wants_heap(const struct fun *fun)
{
    return spaces_used(fun, SPACE_HEAP) || has_late(&fun->body);
}

void late_prepare(struct executor *e)
{
    if (e->lacks || e->is_group || !executor_wants_heap(e->fun))
        return;
    e->late = arena_alloc(&e->arena, sizeof *e->late);
    e->late->of = arena_alloc(&e->arena, e->fun->name_count * sizeof *e->late->of);
    for (unsigned bytes = 1; bytes <= sizeof(union scalar); bytes++) {
        char name[KERNEL_NAME_MAX];
        e->late->copy_kernels[bytes] = execute_find_kernel(e, kernel_copy_name(name, 1, bytes));
    }
}

int late_begin(struct executor *e)
{
    struct late *l = e->late;
    if (!l)
        return 0;
    if (!e->heap_source)
        return error_set(e->error, ERR_UNSUPPORTED,
                         "%s has late elements, or memory in a heap, and this run has none",
                         e->fun->name);
    l->known_first = l->first = l->next = 1;
    memset(l->of, 0, e->fun->name_count * sizeof *l->of);
    int code = source_alloc(e->heap_source, LATE_BYTES, SOURCE_LAZY, &l->memory);
    if (code)
        return error_set(e->error, code, "late values: %s", e->heap_source->error.text);
    return e->device->ops->fill(e->device, l->memory, 0, 0, LATE_BYTES, e->error);
}

void late_end(struct executor *e)
{
    if (!e->late || !e->late->memory)
        return;
    source_free(e->heap_source, e->late->memory, LATE_BYTES);
    e->late->memory = 0;
}

bool late_is_pending(const struct executor *e)
{
    return e->late && e->late->next != e->late->first;
}

/* ---- capturing ------------------------------------------------------------------------------ */

static uint64_t place_of(const struct late *l, uint64_t serial)
{
    return (1 + serial - l->first) * LATE_PLACE_BYTES;
}

uint32_t late_word(const struct executor *e, uint64_t serial)
{
    return (uint32_t)(place_of(e->late, serial) / 4);
}

enum element late_type(const struct executor *e, uint64_t serial)
{
    return e->late->types[serial - e->late->first];
}

struct late_values late_values(const struct executor *e)
{
    return (struct late_values){e->late->memory, LATE_BYTES / 4};
}

/* Puts an element, by its number in a memory, into a place of the buffer. By a kernel: NVIDIA's
 * OpenCL takes 15 us to enqueue a copy of some bytes, and 4 us for a launch. */
int late_put(struct executor *e, uint64_t place, uint64_t memory, int64_t index,
             enum element element, struct place at)
{
    const unsigned bytes = (unsigned)element_bytes(element);
    const struct layout one = {.rank = 1, .shape = {1}, .stride = {1}};
    struct array_state to = {.memory = e->late->memory, .layout = one},
                       from = {.memory = memory, .layout = one};
    if (e->late->copy_kernels[bytes] == e->kernels->count)
        return 0;
    to.layout.offset = (int64_t)(place / bytes);
    from.layout.offset = index;
    return move_launch(e, e->late->copy_kernels[bytes], element, &to, &from, NULL, at);
}

int late_capture(struct executor *e, const struct stm *stm, uint64_t memory, int64_t element)
{
    struct late *l = e->late;
    int code = l->next - l->first == LATE_VALUES ? late_settle(e, true) : 0;
    if (code)
        return code;
    const uint64_t serial = l->next;
    const enum element type = e->fun->names[stm->outs[0]].element;
    code = late_put(e, place_of(l, serial), memory, element, type, stm->at);
    if (code)
        return code;
    l->next++;
    l->types[serial - l->first] = type;
    l->of[stm->outs[0]] = (struct late_form){.serial = serial, .scale = 1};
    return 0;
}

/* ---- forms ---------------------------------------------------------------------------------- */

struct late_form late_of(const struct executor *e, int name)
{
    return e->late ? e->late->of[name] : (struct late_form){0};
}

void late_bind(struct executor *e, int name, struct late_form form)
{
    e->late->of[name] = form;
}

bool late_in(const struct executor *e, const struct expr *expr)
{
    if (!late_is_pending(e))
        return false;
    if (expr->op == EXPR_CONSTANT)
        return false;
    if (expr->op == EXPR_NAME)
        return e->late->of[expr->name].serial != 0;
    return late_in(e, expr->arg[0]) || (expr->arg[1] && late_in(e, expr->arg[1]));
}

static bool sum(struct late_form *a, const struct late_form *b, bool minus)
{
    struct late_form r = {.serial = a->serial ? a->serial : b->serial};
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

static bool product(struct late_form *a, const struct late_form *b)
{
    const struct late_form *value = a->serial ? a : b, *number = a->serial ? b : a;
    struct late_form r = {.serial = value->serial};
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

bool late_form_of(const struct executor *e, const struct expr *expr, struct late_form *form)
{
    struct late_form other;
    if (!late_in(e, expr)) {
        union scalar value;
        if (expr->type != ELEMENT_i64 ||
            expr_evaluate(e->program, expr, e->values, &value, e->error))
            return false;
        *form = (struct late_form){.add = value.i64};
        return true;
    }
    switch (expr->op) {
    case EXPR_NAME:
        *form = e->late->of[expr->name];
        return true;
    case EXPR_CONVERT:
        return expr->type == ELEMENT_i64 && expr->arg[0]->op == EXPR_NAME &&
               is_whole(expr->arg[0]->type) && late_form_of(e, expr->arg[0], form);
    case EXPR_ADD:
    case EXPR_SUB:
        return expr->type == ELEMENT_i64 && late_form_of(e, expr->arg[0], form) &&
               late_form_of(e, expr->arg[1], &other) && sum(form, &other, expr->op == EXPR_SUB);
    case EXPR_MUL:
        return expr->type == ELEMENT_i64 && late_form_of(e, expr->arg[0], form) &&
               late_form_of(e, expr->arg[1], &other) && product(form, &other);
    default:
        return false;
    }
}

/* ---- becoming known ------------------------------------------------------------------------- */

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

int late_resolve(struct executor *e, struct late_form *form, union scalar *value,
                 enum element element)
{
    const struct late *l = e->late;
    if (!form->serial)
        return 0;
    if (form->serial < l->known_first || form->serial >= l->first)
        return error_set(e->error, ERR_INTERNAL, "%s: late value %llu is asked for too %s",
                         e->fun->name, (unsigned long long)form->serial,
                         form->serial < l->first ? "late" : "early");
    const uint64_t i = form->serial - l->known_first;
    const enum element type = l->known_types[i];
    if (form->scale == 1 && form->add == 0 && type == element) {
        *value = l->known[i];
    } else {
        int64_t number;
        if (__builtin_mul_overflow(as_i64(l->known[i], type), form->scale, &number) ||
            __builtin_add_overflow(number, form->add, &number))
            return error_set(e->error, ERR_PROGRAM,
                             "%s: %lld times a value that the device has computed, %lld, and %lld "
                             "are more than 64 bits hold",
                             e->fun->name, (long long)form->scale,
                             (long long)as_i64(l->known[i], type), (long long)form->add);
        value->i64 = number;
    }
    *form = (struct late_form){0};
    return 0;
}

bool late_is_known(const struct executor *e, const struct late_form *form)
{
    return form->serial < e->late->first;
}

/* The outermost size of an array; where it lies was made sure of when it was bound. */
static int settle_rows(struct executor *e, struct array_state *a, const struct name *n)
{
    union scalar rows;
    if (!a->rows.serial)
        return 0;
    int code = late_resolve(e, &a->rows, &rows, ELEMENT_i64);
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
            code = late_resolve(e, &e->late->of[n], &e->values[n], name->element);
        else if (name->kind == NAME_ARRAY)
            code = settle_rows(e, &e->arrays[n], name);
    }
    return code;
}

static int read_values(struct executor *e, unsigned char *places, uint64_t bytes)
{
    int code = late_heap_submit(e); /* what is not given yet takes its counts from here */
    if (code)
        return code;
    trace_begin_call(e->trace);
    code = e->device->ops->read(e->device, places, e->late->memory, 0, bytes, e->error);
    trace_read(e->trace, e->late->memory, bytes);
    return code;
}

int late_settle(struct executor *e, bool counted)
{
    struct late *l = e->late;
    if (!late_is_pending(e))
        return 0;
    const unsigned count = (unsigned)(l->next - l->first);
    const uint64_t bytes = (uint64_t)(1 + count) * LATE_PLACE_BYTES;
    unsigned char places[LATE_BYTES];
    uint32_t status;
    int code = read_values(e, places, bytes);
    if (code)
        return code;
    if (counted) {
        e->counts.readback_count++;
        e->counts.copy[COPY_host_device].count++;
        e->counts.copy[COPY_host_device].bytes += bytes;
    }
    memcpy(&status, places, sizeof status);
    memcpy(l->known, places + LATE_PLACE_BYTES, count * sizeof *l->known);
    memcpy(l->known_types, l->types, count * sizeof *l->types);
    l->known_first = l->first;
    l->first = l->next;
    code = settle_names(e);
    if (!code)
        code = late_heap_settle(e);
    return code ? code : late_heap_check_status(e, status);
}

int late_need(struct executor *e, int name)
{
    return e->late && e->late->of[name].serial ? late_settle(e, true) : 0;
}
