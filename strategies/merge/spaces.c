/* The passes `spaces` and `spaces_early`: memories move to another space than the device's, where
 * `with=` asks for that.
 *
 *   pinned  A program that asks the device whether to go on reads an element of an array: it waits,
 *           and then copies some bytes. If the array lies in pinned memory of the host, into
 *           which the device writes, the value is there after the wait, and the host loads it.
 *           Kernels reach such memory across a bus, so only small blocks are worth moving.
 *   late    A program reads an element back because the size of an allocation is a multiple of it.
 *           With `late x[i]` and memory in a heap the host does not wait: the device captures the
 *           value, the heap takes it from there, and kernels find the block by its slot.
 *
 * A block stays in its space (the verifier sees to that), and loops and branches pass blocks on. So
 * the unit that moves is a *move set*: all memories that may be one another's block (memory.h).
 *
 * For `pinned`, the candidates are the move sets of the arrays of which the host reads an element.
 * One moves if
 *
 *   R7  none of its blocks is the caller's: parameters are in device memory
 *   V2  the sizes of its blocks are known: as numbers, or by a bound that assertions give
 *   P1  none of its blocks is larger than PINNED_BYTES_MAX
 *   P2  for each block: all the others of the move set may move as well
 *
 * For `late`, the candidates are the move sets in which the size of a block depends on an element
 * that the program reads. One moves if
 *
 *   R7  none of its blocks is the caller's
 *   P3  each block's size is a multiple that a heap can take from the device, in whole words and so
 *       that every element is aligned; or it depends on no element that is read
 *   P4  only kernels use the arrays: every other statement would wait to learn where they are
 *   P5  something is launched before the host needs the value: for an extent, a stride, a branch, …
 *   P6  a kernel that uses the arrays makes no others. Once a heap is full such kernels do
 *       nothing, and other kernels would read results that were not made
 *
 * The results are right whatever moves: a statement that needs a value waits for it.
 *
 * `spaces` is the last pass of every set: blocks that earlier passes have merged move together or
 * stay together. Alone, it would nearly always leave an array that the host reads where it is,
 * because `reuse` or `plan` has put it into a large block. So `spaces_early` runs before these two;
 * they leave moved blocks alone (R8). It runs after `coalesce`, which can then remove all the copies
 * that it could without extensions.
 */
#include <stdlib.h>

#include "merge/analysis.h"
#include "merge/list.h"

enum { PINNED_BYTES_MAX = 4096 }; /* a page: room for flags and counters, not for data */

struct mover {
    struct analysis a;
    const struct fun *fun;
    struct numbers *numbers; /* without what the program reads */
    int *set;                /* by memory name: another one of its move set, or itself; a forest */
    bool early;              /* blocks that stay are not noted: `spaces` tries them again */
    struct expr *largest;    /* PINNED_BYTES_MAX */
    /* By scalar: the element read that it is a linear function of, NO_NAME or NOT_LINEAR. */
    int *read_of;
    bool *wants; /* by move set: the size of some block depends on an element read */
    bool *moves; /* by move set: it goes to the heap */
};

static struct name *moved_name(const struct mover *p, int name)
{
    return &p->a.m->fun->names[name];
}

/* ---- move sets ------------------------------------------------------------------------------ */

/* The root of the move set that `memory` is in. */
static int set_of(const struct mover *p, int memory)
{
    while (p->set[memory] != memory)
        memory = p->set[memory] = p->set[p->set[memory]];
    return memory;
}

static void find_sets(struct mover *p)
{
    const unsigned names = p->a.m->fun->name_count;
    p->set = must_alloc((names + 1) * sizeof *p->set);
    for (unsigned n = 0; n < names; n++)
        p->set[n] = (int)n;
    for (unsigned n = 0; n < names; n++) {
        const struct memory *of = &p->a.map->of[n];
        for (unsigned i = 0; i < of->actual_count; i++)
            p->set[set_of(p, of->actuals[i])] = set_of(p, (int)n);
    }
}

/* Notes that a block moves to `space`, or why it stays. */
static void note_move(struct mover *p, int block, enum space space, enum merge_condition refused,
                      const char *detail)
{
    const struct stm *alloc = p->a.map->of[block].alloc;
    merge_note(p->a.m, &(struct merge_event){.action = MERGE_MOVED,
                                             .refused = refused,
                                             .at = alloc ? alloc->at : moved_name(p, block)->at,
                                             .array = NO_NAME,
                                             .from = block,
                                             .into = NO_NAME,
                                             .space = space,
                                             .detail = detail});
}

/* ---- pinned: what may move ------------------------------------------------------------------ */

/* The reason that a block cannot move, whatever the other blocks do; or MERGE_ALLOWED. */
static enum merge_condition pinned_refuses(struct mover *p, int block)
{
    const struct memory *of = &p->a.map->of[block];
    const int64_t bytes = p->numbers->bytes[block];
    if (of->kind == MEMORY_PARAMETER)
        return merge_checks(p->a.m, CONDITION_foreign) ? CONDITION_foreign : MERGE_ALLOWED;
    if (bytes != UNKNOWN_BYTES)
        return bytes <= PINNED_BYTES_MAX ? MERGE_ALLOWED : CONDITION_too_large;
    if (analysis_enough_bytes(&p->a, p->largest, of->alloc->expr, of->position))
        return MERGE_ALLOWED;
    return p->numbers->reached[block] ? CONDITION_unknown_size : CONDITION_untaken;
}

/* A block of the move set that cannot move, or NO_NAME. */
static int pinned_obstacle(struct mover *p, int set)
{
    for (unsigned b = 0; b < p->a.map->block_count; b++) {
        int block = p->a.map->blocks[b];
        if (set_of(p, block) == set && pinned_refuses(p, block))
            return block;
    }
    return NO_NAME;
}

static const char *pinned_detail(struct mover *p, enum merge_condition refused, int read, int other)
{
    struct arena *arena = &p->a.m->program->arena;
    return refused == CONDITION_shared
               ? arena_printf(arena, "'%s'", moved_name(p, other)->text)
               : arena_printf(arena, "the host reads '%s'", moved_name(p, read)->text);
}

/* Moves every block grouped with the array `read`; if P2 is disabled (tests), the movable ones. */
static void move_pinned(struct mover *p, int read)
{
    const int set = set_of(p, moved_name(p, read)->memory), other = pinned_obstacle(p, set);
    for (unsigned n = 0; n < p->a.o->name_count; n++) {
        const struct memory *of = &p->a.map->of[n];
        if (moved_name(p, (int)n)->kind != NAME_MEMORY || set_of(p, (int)n) != set)
            continue;
        if (of->kind == MEMORY_EXISTENTIAL) {
            if (other == NO_NAME)
                moved_name(p, (int)n)->space = SPACE_PINNED;
            continue;
        }
        enum merge_condition refused = pinned_refuses(p, (int)n);
        if (!refused && other != NO_NAME && merge_checks(p->a.m, CONDITION_shared))
            refused = CONDITION_shared;
        if (!refused || !p->early)
            note_move(p, (int)n, SPACE_PINNED, refused, pinned_detail(p, refused, read, other));
        if (!refused)
            moved_name(p, (int)n)->space = SPACE_PINNED;
    }
}

static void move_read_by_host(struct mover *p)
{
    bool *done = must_alloc(p->a.o->name_count + 1); /* by move set */
    for (unsigned position = 0; position < p->a.o->position_count; position++) {
        const struct stm *s = p->a.o->at[position];
        if (!s || s->kind != STM_ELEMENT || s->late)
            continue;
        const int memory = moved_name(p, s->array)->memory, set = set_of(p, memory);
        if (done[set] || moved_name(p, memory)->space != SPACE_DEVICE)
            continue;
        done[set] = true;
        move_pinned(p, s->array);
    }
    free(done);
}

/* ---- late: what follows from what is read --------------------------------------------------- */

enum { NOT_LINEAR = -2 }; /* it depends on an element in another way, or on several */

/* The element read that an expression is a linear function of; NO_NAME: it depends on none. */
static int read_in(const struct mover *p, const struct expr *e)
{
    if (e->op == EXPR_CONSTANT)
        return NO_NAME;
    if (e->op == EXPR_NAME)
        return p->read_of[e->name];
    const int a = read_in(p, e->arg[0]), b = e->arg[1] ? read_in(p, e->arg[1]) : NO_NAME;
    if (a == NO_NAME && b == NO_NAME)
        return NO_NAME;
    if (a == NOT_LINEAR || b == NOT_LINEAR || e->type != ELEMENT_i64)
        return NOT_LINEAR;
    if (e->op == EXPR_CONVERT)
        return e->arg[0]->op == EXPR_NAME ? a : NOT_LINEAR;
    if (e->op == EXPR_MUL)
        return a != NO_NAME && b != NO_NAME ? NOT_LINEAR : a != NO_NAME ? a : b;
    if (e->op == EXPR_ADD || e->op == EXPR_SUB)
        return a == NO_NAME ? b : b == NO_NAME || a == b ? a : NOT_LINEAR;
    return NOT_LINEAR;
}

/* Does the expression depend on this element in any way? */
static bool depends(const struct mover *p, const struct expr *e, int read)
{
    if (!e || e->op == EXPR_CONSTANT)
        return false;
    if (e->op == EXPR_NAME)
        return p->read_of[e->name] == read;
    return depends(p, e->arg[0], read) || depends(p, e->arg[1], read);
}

static void find_reads(struct mover *p)
{
    const struct outline *o = p->a.o;
    for (unsigned n = 0; n < o->name_count; n++)
        p->read_of[n] = NO_NAME;
    for (unsigned position = 0; position < o->position_count; position++) {
        const struct stm *s = o->at[position];
        if (!s || position != s->first)
            continue;
        if (s->kind == STM_ELEMENT &&
            moved_name(p, moved_name(p, s->array)->memory)->space == SPACE_DEVICE) {
            p->read_of[s->outs[0]] = s->outs[0];
        } else if (s->kind == STM_SCALAR) {
            p->read_of[s->outs[0]] = read_in(p, s->expr);
        }
    }
}

/* The product of the constants in a plain product, whose other factors count 1. 0: the expression is
 * no plain product. Follows scalars that depend on an element to their definitions. */
static int64_t factor(const struct mover *p, const struct expr *e)
{
    if (e->op == EXPR_CONSTANT)
        return e->type == ELEMENT_i64 ? e->value.i64 : 0;
    if (e->op == EXPR_CONVERT)
        return factor(p, e->arg[0]);
    if (e->op == EXPR_NAME) {
        const struct stm *definer = p->a.o->names[e->name].definer;
        const bool looks = p->read_of[e->name] >= 0 && definer->kind == STM_SCALAR;
        return looks ? factor(p, definer->expr) : 1;
    }
    int64_t product;
    if (e->op != EXPR_MUL ||
        __builtin_mul_overflow(factor(p, e->arg[0]), factor(p, e->arg[1]), &product))
        return 0;
    return product;
}

/* Can a heap take the size of this block from the device? */
static bool is_counted(const struct mover *p, int block)
{
    const struct memory *of = &p->a.map->of[block];
    const int read = of->alloc ? read_in(p, of->alloc->expr) : NO_NAME;
    if (read < 0)
        return false;
    const enum element type = moved_name(p, read)->element;
    const int64_t unit = factor(p, of->alloc->expr);
    bool aligned = unit > 0 && unit % 4 == 0;
    for (unsigned i = 0; i < of->array_count; i++)
        aligned =
            aligned && unit % (int64_t)element_bytes(moved_name(p, of->arrays[i])->element) == 0;
    return aligned && (type == ELEMENT_i32 || type == ELEMENT_u32);
}

static void find_wants(struct mover *p)
{
    for (unsigned b = 0; b < p->a.map->block_count; b++) {
        const int block = p->a.map->blocks[b];
        const struct stm *alloc = p->a.map->of[block].alloc;
        if (alloc && read_in(p, alloc->expr) != NO_NAME &&
            moved_name(p, block)->space == SPACE_DEVICE)
            p->wants[set_of(p, block)] = true;
    }
}

/* ---- P5: what needs a value ----------------------------------------------------------------- */

static bool is_wanted(const struct mover *p, int memory)
{
    return memory != NO_NAME && p->wants[set_of(p, memory)];
}

/* Must the element be known when the array is bound? */
static bool type_needs(const struct mover *p, int array, int read)
{
    const struct name *n = moved_name(p, array);
    bool needs = false;
    if (n->kind != NAME_ARRAY)
        return false;
    for (unsigned d = is_wanted(p, n->memory); d < n->rank; d++)
        needs |= depends(p, n->shape[d], read);
    if (n->index.offset) {
        needs |= depends(p, n->index.offset, read);
        for (unsigned d = 0; d < n->rank + n->thread_rank; d++)
            needs |= depends(p, n->index.stride[d], read);
    }
    return needs;
}

static bool body_needs(const struct mover *p, const struct body *body, int read);

static bool loop_needs(const struct mover *p, const struct loop *l, int read)
{
    bool needs = depends(p, l->bound, read);
    for (unsigned i = 0; i < l->param_count; i++)
        needs |= depends(p, l->init_exprs[i], read) || type_needs(p, l->params[i], read);
    return needs || body_needs(p, &l->body, read);
}

static bool kernel_needs(const struct mover *p, const struct kernel *k, int read)
{
    bool needs = false;
    for (unsigned d = 0; d < k->rank; d++)
        needs |= depends(p, k->extents[d], read);
    for (unsigned i = 0; i < k->scalar_count; i++)
        needs |= p->read_of[k->scalars[i]] == read;
    for (unsigned i = 0; i < k->private_count; i++)
        needs |= type_needs(p, k->privates[i], read);
    return needs;
}

/* Does the statement need the value as a number? */
static bool stm_needs(const struct mover *p, const struct stm *s, int read)
{
    bool needs = false;
    for (unsigned o = 0; o < s->out_count; o++)
        needs |= type_needs(p, s->outs[o], read);
    for (unsigned d = 0; d < s->slice_rank; d++)
        needs |= depends(p, s->slice[d].start, read) || depends(p, s->slice[d].length, read) ||
                 depends(p, s->slice[d].step, read);
    if (needs)
        return true;
    switch (s->kind) {
    case STM_SCALAR:
        return depends(p, s->expr, read) && p->read_of[s->outs[0]] != read;
    case STM_ALLOC:
        return depends(p, s->expr, read) &&
               !(is_wanted(p, s->outs[0]) && is_counted(p, s->outs[0]));
    case STM_KERNEL:
        return kernel_needs(p, s->kernel, read);
    case STM_IF:
        return depends(p, s->expr, read) || body_needs(p, s->then, read) ||
               body_needs(p, s->otherwise, read);
    case STM_LOOP:
        return loop_needs(p, s->loop, read);
    default:
        return depends(p, s->expr, read);
    }
}

static bool body_needs(const struct mover *p, const struct body *body, int read)
{
    for (const struct stm *s = body->first; s; s = s->next)
        if (stm_needs(p, s, read))
            return true;
    return false;
}

static bool body_launches(const struct body *body);

static bool launches(const struct stm *s)
{
    return s->kind == STM_KERNEL || s->kind == STM_COPY || s->kind == STM_CONCAT ||
           s->kind == STM_UPDATE || s->kind == STM_REPLICATE || s->kind == STM_IOTA ||
           (s->kind == STM_IF && body_launches(s->then) && body_launches(s->otherwise)) ||
           (s->kind == STM_LOOP && body_launches(&s->loop->body));
}

static bool body_launches(const struct body *body)
{
    for (const struct stm *s = body->first; s; s = s->next)
        if (launches(s))
            return true;
    return false;
}

static bool pays(const struct mover *p, int read)
{
    for (const struct stm *s = p->a.o->names[read].definer->next; s; s = s->next)
        if (stm_needs(p, s, read))
            return false;
        else if (launches(s))
            return true;
    return false;
}

/* ---- why a move set stays ------------------------------------------------------------------- */

/* The reason that a move set stays. `block` is the cause; NO_NAME: all of its blocks. */
struct obstacle {
    enum merge_condition condition;
    int block;
    const char *detail;
};

static struct obstacle block_obstacle(const struct mover *p, int block)
{
    const struct memory *of = &p->a.map->of[block];
    if (of->kind == MEMORY_PARAMETER)
        return (struct obstacle){CONDITION_foreign, block, NULL};
    const int read = read_in(p, of->alloc->expr);
    if (read == NOT_LINEAR || (read != NO_NAME && !is_counted(p, block)))
        return (struct obstacle){CONDITION_uncounted, block, NULL};
    if (read != NO_NAME && !pays(p, read))
        return (struct obstacle){CONDITION_needed, block, moved_name(p, read)->text};
    return (struct obstacle){0};
}

static bool is_in(const struct mover *p, int array, int set)
{
    return array != NO_NAME && moved_name(p, array)->kind == NAME_ARRAY &&
           moved_name(p, array)->memory != NO_NAME &&
           set_of(p, moved_name(p, array)->memory) == set;
}

struct search {
    const struct mover *p;
    int set, found; /* an array of the move set that is used, or NO_NAME */
};

static void look_at_use(void *context, int name)
{
    struct search *s = context;
    if (is_in(s->p, name, s->set))
        s->found = name;
}

/* An array of the move set that the statement itself uses or makes. */
static int mentioned(const struct mover *p, const struct stm *s, int set)
{
    struct search search = {p, set, NO_NAME};
    outline_operands(p->fun, s, look_at_use, &search);
    for (unsigned o = 0; o < s->out_count; o++)
        look_at_use(&search, s->outs[o]);
    for (unsigned i = 0; s->kind == STM_KERNEL && i < s->kernel->private_count; i++)
        look_at_use(&search, s->kernel->privates[i]);
    return search.found;
}

static struct obstacle kernel_obstacle(const struct mover *p, const struct stm *s, int set)
{
    for (unsigned i = 0; i < s->kernel->private_count; i++)
        if (is_in(p, s->kernel->privates[i], set))
            return (struct obstacle){CONDITION_asked, NO_NAME,
                                     moved_name(p, s->kernel->privates[i])->text};
    for (unsigned o = 0; o < s->out_count; o++)
        if (!is_in(p, s->outs[o], set) && s->kernel->taken_over[o] == NO_NAME)
            return (struct obstacle){CONDITION_unwritten, NO_NAME, moved_name(p, s->outs[o])->text};
    return (struct obstacle){0};
}

static struct obstacle use_obstacle(const struct mover *p, const struct stm *s, int set)
{
    const int array = mentioned(p, s, set);
    if (array == NO_NAME)
        return (struct obstacle){0};
    switch (s->kind) {
    case STM_KERNEL:
        return kernel_obstacle(p, s, set);
    case STM_IF:
    case STM_LOOP:
    case STM_SCRATCH:
        return (struct obstacle){0};
    default:
        return (struct obstacle){CONDITION_asked, NO_NAME, moved_name(p, array)->text};
    }
}

static struct obstacle set_obstacle(const struct mover *p, int set)
{
    const struct memory_map *map = p->a.map;
    const struct outline *o = p->a.o;
    struct obstacle found = {0};
    for (unsigned b = 0; b < map->block_count && !found.condition; b++)
        if (set_of(p, map->blocks[b]) == set)
            found = block_obstacle(p, map->blocks[b]);
    for (unsigned position = 0; position < o->position_count && !found.condition; position++)
        if (o->at[position] && o->at[position]->first == position)
            found = use_obstacle(p, o->at[position], set);
    return found;
}

/* ---- moving --------------------------------------------------------------------------------- */

static void note_late(struct mover *p, int block, const struct obstacle *o)
{
    struct arena *arena = &p->a.m->program->arena;
    const struct stm *alloc = p->a.map->of[block].alloc;
    const int read = alloc ? read_in(p, alloc->expr) : NO_NAME;
    enum merge_condition refused = o->condition;
    const char *detail = o->detail ? arena_printf(arena, "'%s'", o->detail) : NULL;
    if (refused && o->block != NO_NAME && o->block != block) {
        refused = CONDITION_shared;
        detail = arena_printf(arena, "'%s'", moved_name(p, o->block)->text);
    } else if (!refused && read >= 0) {
        detail =
            arena_printf(arena, "the device computes its size, '%s'", moved_name(p, read)->text);
    }
    note_move(p, block, SPACE_HEAP, refused, detail);
}

static void move_late(struct mover *p, int set)
{
    const struct memory_map *map = p->a.map;
    struct obstacle o = set_obstacle(p, set);
    if (o.condition && !merge_checks(p->a.m, o.condition))
        o.condition = MERGE_ALLOWED;
    p->moves[set] = !o.condition;
    for (unsigned b = 0; b < map->block_count; b++)
        if (set_of(p, map->blocks[b]) == set && !(p->early && o.condition))
            note_late(p, map->blocks[b], &o);
    for (unsigned n = 0; n < p->a.o->name_count && !o.condition; n++)
        if (moved_name(p, (int)n)->kind == NAME_MEMORY && set_of(p, (int)n) == set)
            p->a.m->fun->names[n].space = SPACE_HEAP;
}

/* Makes `late` the elements that give the sizes of blocks in the heap. */
static void make_late(struct mover *p)
{
    for (unsigned b = 0; b < p->a.map->block_count; b++) {
        const int block = p->a.map->blocks[b];
        const struct stm *alloc = p->a.map->of[block].alloc;
        const int read = alloc && p->moves[set_of(p, block)] ? read_in(p, alloc->expr) : NO_NAME;
        if (read >= 0)
            p->a.o->names[read].definer->late = true;
    }
}

static void move_by_size(struct mover *p)
{
    const size_t names = p->fun->name_count + 1;
    p->read_of = must_alloc(names * sizeof *p->read_of);
    p->wants = must_alloc(names * sizeof *p->wants);
    p->moves = must_alloc(names * sizeof *p->moves);
    find_reads(p);
    find_wants(p);
    for (size_t n = 0; n + 1 < names; n++)
        if (p->wants[n])
            move_late(p, (int)n);
    make_late(p);
    free(p->read_of);
    free(p->wants);
    free(p->moves);
}

/* ---- the passes ----------------------------------------------------------------------------- */

static void move_all(struct merge *m, bool early)
{
    struct mover p = {.fun = m->fun, .early = early};
    if (!merge_extends(m, EXTENSION_pinned) && !merge_extends(m, EXTENSION_late))
        return;
    analysis_open(&p.a, m, MEMORY_BY_BRANCH);
    p.numbers = numbers_new(m->fun, m->options.values, NULL);
    p.largest = expr_constant(m->program, PINNED_BYTES_MAX);
    find_sets(&p);
    if (merge_extends(m, EXTENSION_late))
        move_by_size(&p);
    if (merge_extends(m, EXTENSION_pinned))
        move_read_by_host(&p);
    free(p.set);
    numbers_free(p.numbers);
    analysis_close(&p.a);
}

int merge_run_spaces_early(struct merge *m, struct error *error)
{
    (void)error;
    move_all(m, true);
    return 0;
}

int merge_run_spaces(struct merge *m, struct error *error)
{
    (void)error;
    move_all(m, false);
    return 0;
}
