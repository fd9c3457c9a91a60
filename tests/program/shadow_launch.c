/* Kernel launches: runs the threads one after the other, and records which thread used which
 * byte. */
#include <string.h>

#include "tests/program/shadow_machine.h"

/* The state of a launch that a thread's reads and writes use. */
struct launch {
    struct machine *m;
    const struct kernel *kernel;
    const struct c_kernel *code;
    int64_t indices[RANK_MAX];
    uint32_t group;
};

/* ---- races ---------------------------------------------------------------------------------- */

static bool meet(const struct user *a, const struct user *b)
{
    return a->group != b->group || (a->item != b->item && a->phase == b->phase);
}

static void race(struct machine *m, const struct touch *t, int array, const struct user *a,
                 const struct user *b, const char *what, int64_t byte)
{
    const struct name *n = &m->fun->names[array];
    bool own = !t->by_arrays && !n->thread_rank;
    shadow_violate(
        m, own ? SHADOW_OWN_RACE : SHADOW_RACE, array,
        "thread %u (item %u) and thread %u (item %u) %s byte %lld of the block of '%s'%s%s",
        a->group, a->item, b->group, b->item, what, (long long)byte, n->text,
        t->by_arrays ? ", also by way of " : "", t->by_arrays ? m->fun->names[t->array].text : "");
}

/* The second of two threads finds the race, so the order of the threads does not matter. It is
 * enough to remember one reader: a thread runs once, and an item once in a phase. A thread that
 * read first can write only in a later phase, in which the remembered reader is a later one too. */
static void touch_byte(struct machine *m, struct touch *t, int array, const struct user *user,
                       bool write, int64_t byte)
{
    if (t->launch != m->launch)
        *t = (struct touch){.launch = m->launch, .array = array};
    t->by_arrays |= t->array != array;
    if (t->written && meet(&t->writer, user))
        race(m, t, array, &t->writer, user, write ? "both write" : "write and read", byte);
    if (!write) {
        if (!t->read || (t->reader.group == user->group && t->reader.phase != user->phase))
            t->reader = *user;
        t->read = true;
        return;
    }
    if (t->read && meet(&t->reader, user))
        race(m, t, array, &t->reader, user, "read and write", byte);
    t->written = true;
    t->writer = *user;
}

static void touch(struct launch *l, const struct c_run *r, int array, int64_t element, bool write)
{
    struct machine *m = l->m;
    struct block *b = &m->blocks[m->arrays[array].block];
    int64_t bytes = (int64_t)element_bytes(m->fun->names[array].element);
    struct user user = {l->group, r->item, r->phase};
    if (element < 0 || element >= b->size / bytes)
        return;
    if (!b->touches)
        b->touches = arena_alloc(&m->arena, (size_t)b->size * sizeof *b->touches);
    for (int64_t i = element * bytes; i < (element + 1) * bytes; i++)
        touch_byte(m, &b->touches[i], array, &user, write, i);
}

/* ---- accesses ------------------------------------------------------------------------------- */

/* How many of each private array a group has: one for each item. */
static int64_t own_count(const struct kernel *k)
{
    return k->item == NO_NAME ? 1 : k->group_items;
}

static bool locate(struct launch *l, const struct c_run *r, const struct c_node *n, int array,
                   const int64_t *index, int64_t *flat, int64_t *element)
{
    const struct shadow_array *a = &l->m->arrays[array];
    *flat = a->threads ? r->item : 0;
    *element = a->offset;
    if (a->threads > l->kernel->rank)
        l->indices[l->kernel->rank] = r->item;
    for (unsigned t = 0; t < a->threads; t++)
        *element += l->indices[t] * a->stride[t];
    for (unsigned d = 0; d < n->count; d++) {
        int64_t size = a->shape[a->threads + d];
        if (index[d] < 0 || index[d] >= size) {
            shadow_violate(l->m, SHADOW_OUTSIDE, array,
                           "index %lld of dimension %u of '%s', which has %lld elements",
                           (long long)index[d], d, l->m->fun->names[array].text, (long long)size);
            return false;
        }
        *flat = *flat * size + index[d];
        *element += index[d] * a->stride[a->threads + d];
    }
    return true;
}

static union c_value load(struct c_run *r, const struct c_node *n, const int64_t *index)
{
    struct launch *l = r->context;
    int array = l->code->arrays[n->slot];
    enum element type = l->m->fun->names[array].element;
    union scalar value = {.i64 = 0};
    int64_t flat, element;
    l->m->line = n->line;
    if (!locate(l, r, n, array, index, &flat, &element))
        return (union c_value){.i = 0};
    shadow_read(l->m, array, flat, element, &value);
    touch(l, r, array, element, false);
    switch (type) {
    case ELEMENT_f32:
        return (union c_value){.f = value.f32};
    case ELEMENT_f64:
        return (union c_value){.d = value.f64};
    default:
        return (union c_value){
            .i = scalar_convert(value, type == ELEMENT_bool ? ELEMENT_u8 : type, ELEMENT_i64).i64};
    }
}

static void store(struct c_run *r, const struct c_node *n, const int64_t *index,
                  union c_value value)
{
    struct launch *l = r->context;
    int array = l->code->arrays[n->slot];
    enum element type = l->m->fun->names[array].element;
    union scalar scalar = {.i64 = value.i};
    int64_t flat, element;
    l->m->line = n->line;
    if (!locate(l, r, n, array, index, &flat, &element))
        return;
    if (type == ELEMENT_f32)
        scalar.f32 = value.f;
    else if (type == ELEMENT_f64)
        scalar.f64 = value.d;
    else
        scalar = scalar_convert(scalar, ELEMENT_i64, type == ELEMENT_bool ? ELEMENT_u8 : type);
    shadow_write(l->m, array, flat, element, &scalar, shadow_new_write(l->m, array));
    touch(l, r, array, element, true);
}

/* ---- launches ------------------------------------------------------------------------------- */

static int find_code(struct machine *m, const struct kernel *k, const struct c_kernel **code)
{
    struct compiled *c = m->compiled;
    while (c && c->kernel != k)
        c = c->next;
    if (!c) {
        c = arena_alloc(&m->arena, sizeof *c);
        TRY(c_read_kernel(m->fun, k, m->functions, &m->arena, &c->code, m->error));
        c->kernel = k;
        c->next = m->compiled;
        m->compiled = c;
    }
    *code = c->code;
    return 0;
}

static int bind_outs(struct machine *m, const struct stm *s)
{
    const struct kernel *k = s->kernel;
    for (unsigned o = 0; o < s->out_count; o++) {
        TRY(shadow_bind(m, s->outs[o]));
        struct shadow_array *out = &m->arrays[s->outs[o]];
        out->ids = shadow_ids(m, out->count);
        if (k->taken_over[o] == NO_NAME)
            continue;
        const struct shadow_array *from = &m->arrays[k->taken_over[o]];
        shadow_same_place(m, s->outs[o], out, from, "what it takes over");
        if (out->count && out->count == from->count)
            memcpy(out->ids, from->ids, (size_t)out->count * sizeof *out->ids);
    }
    for (unsigned i = 0; i < k->private_count; i++) {
        TRY(shadow_bind(m, k->privates[i]));
        m->arrays[k->privates[i]].ids =
            shadow_ids(m, m->arrays[k->privates[i]].count * own_count(k));
    }
    return 0;
}

/* Local memory: a block for each array, which every group finds empty. */
static int bind_locals(struct machine *m, const struct kernel *k)
{
    for (unsigned i = 0; i < k->local_count; i++) {
        const struct name *n = &m->fun->names[k->locals[i]];
        struct shadow_array *a = &m->arrays[k->locals[i]];
        *a = (struct shadow_array){.rank = n->rank, .count = 1};
        for (unsigned d = n->rank; d-- > 0;) {
            a->stride[d] = a->count;
            TRY(shadow_size(m, n->shape[d], &a->shape[d]));
            a->count *= a->shape[d];
        }
        TRY(shadow_alloc(m, k->locals[i], a->count * (int64_t)element_bytes(n->element), k->at));
        m->out->alloc_count--; /* a local array is no allocation */
        m->out->alloc_bytes -= (uint64_t)m->blocks[m->block_count - 1].size;
        a->block = m->block_of[k->locals[i]];
        a->ids = shadow_ids(m, a->count);
    }
    return 0;
}

static void forget_own(struct machine *m, const struct kernel *k)
{
    for (unsigned i = 0; i < k->private_count + k->local_count; i++) {
        struct shadow_array *a =
            &m->arrays[i < k->private_count ? k->privates[i] : k->locals[i - k->private_count]];
        int64_t own = i < k->private_count ? own_count(k) : 1;
        memset(a->ids, 0, (size_t)(a->count * own) * sizeof *a->ids);
        if (i < k->private_count)
            continue;
        struct block *b = &m->blocks[a->block];
        if (b->touches)
            memset(b->touches, 0, (size_t)b->size * sizeof *b->touches);
    }
}

static void run_thread(struct launch *l, struct c_run *r, int64_t thread, const int64_t *extents)
{
    struct machine *m = l->m;
    const struct kernel *k = l->kernel;
    l->group = (uint32_t)thread;
    r->item = r->phase = 0;
    for (unsigned d = k->rank; d-- > 0; thread /= extents[d])
        r->frame[d].i = l->indices[d] = thread % extents[d];
    unsigned slot = k->rank + (k->item != NO_NAME);
    for (unsigned i = 0; i < k->scalar_count; i++, slot++) {
        enum element type = m->fun->names[k->scalars[i]].element;
        union scalar v = m->values[k->scalars[i]];
        if (type == ELEMENT_f32)
            r->frame[slot].f = v.f32;
        else if (type == ELEMENT_f64)
            r->frame[slot].d = v.f64;
        else
            r->frame[slot].i = scalar_convert(v, type, ELEMENT_i64).i64;
    }
    forget_own(m, k);
    c_run_body(r, l->code);
}

int shadow_launch(struct machine *m, const struct stm *s)
{
    enum { STACK = 8192 };
    const struct kernel *k = s->kernel;
    struct launch l = {.m = m, .kernel = k};
    int64_t extents[RANK_MAX], threads = 1;
    TRY(find_code(m, k, &l.code));
    for (unsigned d = 0; d < k->rank; d++) {
        TRY(shadow_size(m, k->extents[d], &extents[d]));
        if (extents[d] < 0 || extents[d] > INT32_MAX / (threads ? threads : 1))
            return shadow_fail(m, k->at, "an index space of %lld in dimension %u",
                               (long long)extents[d], d);
        threads *= extents[d];
    }
    m->launch++;
    m->out->launch_count++;
    m->kernel = k->name;
    TRY(bind_outs(m, s));
    TRY(bind_locals(m, k));
    if (!m->stack)
        m->stack = arena_alloc(&m->arena, STACK * sizeof *m->stack);
    struct c_run r = {.context = &l,
                      .read = load,
                      .write = store,
                      .frame = m->stack,
                      .end = m->stack + STACK,
                      .items = k->group_items,
                      .steps_left = m->steps_left};
    const uint32_t *order = shadow_order(m, threads);
    r.item_order = shadow_order(m, k->group_items);
    if (l.code->slots > STACK)
        return shadow_fail(m, k->at, "more variables than the interpreter has room for");
    for (int64_t t = 0; t < threads && !r.failure; t++)
        run_thread(&l, &r, order[t], extents);
    m->steps_left = r.steps_left;
    m->kernel = NULL;
    if (r.failure)
        return shadow_fail(m, (struct source_position){r.failure_line, 1}, "kernel '%s': %s",
                           k->name, r.failure);
    return 0;
}
