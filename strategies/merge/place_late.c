/* Placing blocks whose size the device computes in a heap that the device runs.
 *
 *   late    A program reads an element back because the size of an allocation is a multiple of it.
 *           With `late x[i]` and memory in a heap nobody waits: the device captures the value, the
 *           heap takes it from there, and kernels find the block by its slot (run/late/late.h).
 *
 * Groups of memories move as for `pinned`, those in which some block's size depends on an element
 * that is read. A group moves if
 *
 *   R7  nothing of it is the caller's
 *   P3  each block's size is a multiple that a heap can take from the device, in whole words and so
 *       that every element is aligned; or no element that is read is in it
 *   P4  only kernels use the arrays: everything else would wait to learn where they are
 *   P5  something is launched before the host needs the value: for an extent, a stride, a branch, …
 *   P6  a kernel that uses the arrays makes no other. Where the heap has no room it grants nothing,
 *       such kernels do nothing, and others would read what they should have made
 *
 * What is read stays right whatever moves: who needs a value waits for it.
 */
#include <stdlib.h>

#include "merge/place.h"

struct late_placer {
    struct analysis *a;
    const struct fun *fun;
    int *group;
    /* By scalar: the element read that it is a linear function of, NO_NAME or NOT_LINEAR. */
    int *read_of;
    bool *wants; /* by group: some block's size depends on an element read */
    bool *moves; /* by group */
};

static const struct name *name_at(const struct late_placer *p, int name)
{
    return &p->fun->names[name];
}

static int group_of(const struct late_placer *p, int memory)
{
    return place_group(p->group, memory);
}

/* ---- what follows from what is read --------------------------------------------------------- */

enum { NOT_LINEAR = -2 }; /* it depends on one in another way, or on several */

/* The element read that an expression is a linear function of; NO_NAME: it depends on none. */
static int read_in(const struct late_placer *p, const struct expr *e)
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

/* Does the expression depend on this element, in whatever way? */
static bool depends(const struct late_placer *p, const struct expr *e, int read)
{
    if (!e || e->op == EXPR_CONSTANT)
        return false;
    if (e->op == EXPR_NAME)
        return p->read_of[e->name] == read;
    return depends(p, e->arg[0], read) || depends(p, e->arg[1], read);
}

static void find_reads(struct late_placer *p)
{
    const struct outline *o = p->a->o;
    for (unsigned n = 0; n < o->name_count; n++)
        p->read_of[n] = NO_NAME;
    for (unsigned position = 0; position < o->position_count; position++) {
        const struct stm *s = o->at[position];
        if (!s || position != s->first)
            continue;
        if (s->kind == STM_ELEMENT &&
            name_at(p, name_at(p, s->array)->memory)->space == SPACE_DEVICE) {
            p->read_of[s->outs[0]] = s->outs[0];
        } else if (s->kind == STM_SCALAR) {
            p->read_of[s->outs[0]] = read_in(p, s->expr);
        }
    }
}

/* The number that an expression is a multiple of, beside what it takes from the device: the product
 * of its constants. 0: it is no plain product. Scalars are looked through. */
static int64_t factor(const struct late_placer *p, const struct expr *e)
{
    if (e->op == EXPR_CONSTANT)
        return e->type == ELEMENT_i64 ? e->value.i64 : 0;
    if (e->op == EXPR_CONVERT)
        return factor(p, e->arg[0]);
    if (e->op == EXPR_NAME) {
        const struct stm *definer = p->a->o->names[e->name].definer;
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
static bool is_counted(const struct late_placer *p, int block)
{
    const struct memory *of = &p->a->map->of[block];
    const int read = of->alloc ? read_in(p, of->alloc->expr) : NO_NAME;
    if (read < 0)
        return false;
    const enum element type = name_at(p, read)->element;
    const int64_t unit = factor(p, of->alloc->expr);
    bool aligned = unit > 0 && unit % 4 == 0;
    for (unsigned i = 0; i < of->array_count; i++)
        aligned = aligned && unit % (int64_t)element_bytes(name_at(p, of->arrays[i])->element) == 0;
    return aligned && (type == ELEMENT_i32 || type == ELEMENT_u32);
}

static void find_groups(struct late_placer *p)
{
    for (unsigned b = 0; b < p->a->map->block_count; b++) {
        const int block = p->a->map->blocks[b];
        const struct stm *alloc = p->a->map->of[block].alloc;
        if (alloc && read_in(p, alloc->expr) != NO_NAME && name_at(p, block)->space == SPACE_DEVICE)
            p->wants[group_of(p, block)] = true;
    }
}

/* ---- P5: what needs a value ----------------------------------------------------------------- */

static bool is_wanted(const struct late_placer *p, int memory)
{
    return memory != NO_NAME && p->wants[group_of(p, memory)];
}

/* May sizes stay unknown while the array is bound? */
static bool type_needs(const struct late_placer *p, int array, int read)
{
    const struct name *n = name_at(p, array);
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

static bool body_needs(const struct late_placer *p, const struct body *body, int read);

static bool loop_needs(const struct late_placer *p, const struct loop *l, int read)
{
    bool needs = depends(p, l->bound, read);
    for (unsigned i = 0; i < l->param_count; i++)
        needs |= depends(p, l->init_exprs[i], read) || type_needs(p, l->params[i], read);
    return needs || body_needs(p, &l->body, read);
}

static bool kernel_needs(const struct late_placer *p, const struct kernel *k, int read)
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
static bool stm_needs(const struct late_placer *p, const struct stm *s, int read)
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

static bool body_needs(const struct late_placer *p, const struct body *body, int read)
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

static bool pays(const struct late_placer *p, int read)
{
    for (const struct stm *s = p->a->o->names[read].definer->next; s; s = s->next)
        if (stm_needs(p, s, read))
            return false;
        else if (launches(s))
            return true;
    return false;
}

/* ---- why a group stays ---------------------------------------------------------------------- */

/* A block, or NO_NAME for all of them, and the reason. */
struct obstacle {
    enum merge_condition condition;
    int block;
    const char *detail;
};

static struct obstacle block_obstacle(const struct late_placer *p, int block)
{
    const struct memory *of = &p->a->map->of[block];
    if (of->kind == MEMORY_PARAMETER)
        return (struct obstacle){CONDITION_foreign, block, NULL};
    const int read = read_in(p, of->alloc->expr);
    if (read == NOT_LINEAR || (read != NO_NAME && !is_counted(p, block)))
        return (struct obstacle){CONDITION_uncounted, block, NULL};
    if (read != NO_NAME && !pays(p, read))
        return (struct obstacle){CONDITION_needed, block, name_at(p, read)->text};
    return (struct obstacle){0};
}

static bool is_in(const struct late_placer *p, int array, int group)
{
    return array != NO_NAME && name_at(p, array)->kind == NAME_ARRAY &&
           name_at(p, array)->memory != NO_NAME && group_of(p, name_at(p, array)->memory) == group;
}

struct search {
    const struct late_placer *p;
    int group, found; /* an array of the group that is used, or NO_NAME */
};

static void look_at(void *context, int name)
{
    struct search *s = context;
    if (is_in(s->p, name, s->group))
        s->found = name;
}

/* An array of the group that the statement itself uses or makes. */
static int mentioned(const struct late_placer *p, const struct stm *s, int group)
{
    struct search search = {p, group, NO_NAME};
    outline_operands(p->fun, s, look_at, &search);
    for (unsigned o = 0; o < s->out_count; o++)
        look_at(&search, s->outs[o]);
    for (unsigned i = 0; s->kind == STM_KERNEL && i < s->kernel->private_count; i++)
        look_at(&search, s->kernel->privates[i]);
    return search.found;
}

static struct obstacle kernel_obstacle(const struct late_placer *p, const struct stm *s, int group)
{
    for (unsigned i = 0; i < s->kernel->private_count; i++)
        if (is_in(p, s->kernel->privates[i], group))
            return (struct obstacle){CONDITION_asked, NO_NAME,
                                     name_at(p, s->kernel->privates[i])->text};
    for (unsigned o = 0; o < s->out_count; o++)
        if (!is_in(p, s->outs[o], group) && s->kernel->taken_over[o] == NO_NAME)
            return (struct obstacle){CONDITION_unwritten, NO_NAME, name_at(p, s->outs[o])->text};
    return (struct obstacle){0};
}

static struct obstacle use_obstacle(const struct late_placer *p, const struct stm *s, int group)
{
    const int array = mentioned(p, s, group);
    if (array == NO_NAME)
        return (struct obstacle){0};
    switch (s->kind) {
    case STM_KERNEL:
        return kernel_obstacle(p, s, group);
    case STM_IF:
    case STM_LOOP:
    case STM_SCRATCH:
        return (struct obstacle){0};
    default:
        return (struct obstacle){CONDITION_asked, NO_NAME, name_at(p, array)->text};
    }
}

static struct obstacle group_obstacle(const struct late_placer *p, int group)
{
    const struct memory_map *map = p->a->map;
    const struct outline *o = p->a->o;
    struct obstacle found = {0};
    for (unsigned b = 0; b < map->block_count && !found.condition; b++)
        if (group_of(p, map->blocks[b]) == group)
            found = block_obstacle(p, map->blocks[b]);
    for (unsigned position = 0; position < o->position_count && !found.condition; position++)
        if (o->at[position] && o->at[position]->first == position)
            found = use_obstacle(p, o->at[position], group);
    return found;
}

/* ---- moving --------------------------------------------------------------------------------- */

static void note(struct late_placer *p, int block, const struct obstacle *o)
{
    struct merge *m = p->a->m;
    const struct stm *alloc = p->a->map->of[block].alloc;
    const int read = alloc ? read_in(p, alloc->expr) : NO_NAME;
    enum merge_condition refused = o->condition;
    const char *detail = o->detail ? arena_printf(&m->program->arena, "'%s'", o->detail) : NULL;
    if (refused && o->block != NO_NAME && o->block != block) {
        refused = CONDITION_shared;
        detail = arena_printf(&m->program->arena, "'%s'", name_at(p, o->block)->text);
    } else if (!refused && read >= 0) {
        detail = arena_printf(&m->program->arena, "the device computes its size, '%s'",
                              name_at(p, read)->text);
    }
    merge_note(m, &(struct merge_event){.action = MERGE_MOVED,
                                        .refused = refused,
                                        .at = alloc ? alloc->at : name_at(p, block)->at,
                                        .array = NO_NAME,
                                        .from = block,
                                        .into = NO_NAME,
                                        .space = SPACE_HEAP,
                                        .detail = detail});
}

static void move_group(struct late_placer *p, int group, bool again)
{
    const struct memory_map *map = p->a->map;
    struct obstacle o = group_obstacle(p, group);
    if (o.condition && !merge_checks(p->a->m, o.condition))
        o.condition = MERGE_ALLOWED;
    p->moves[group] = !o.condition;
    for (unsigned b = 0; b < map->block_count; b++)
        if (group_of(p, map->blocks[b]) == group && !(again && o.condition))
            note(p, map->blocks[b], &o);
    for (unsigned n = 0; n < p->a->o->name_count && !o.condition; n++)
        if (name_at(p, (int)n)->kind == NAME_MEMORY && group_of(p, (int)n) == group)
            p->a->m->fun->names[n].space = SPACE_HEAP;
}

/* The elements that sizes of blocks in the heap are multiples of. */
static void make_late(struct late_placer *p)
{
    for (unsigned b = 0; b < p->a->map->block_count; b++) {
        const int block = p->a->map->blocks[b];
        const struct stm *alloc = p->a->map->of[block].alloc;
        const int read = alloc && p->moves[group_of(p, block)] ? read_in(p, alloc->expr) : NO_NAME;
        if (read >= 0)
            p->a->o->names[read].definer->late = true;
    }
}

void place_late(struct analysis *a, int *group, bool again)
{
    const size_t names = a->m->fun->name_count + 1;
    struct late_placer p = {.a = a, .fun = a->m->fun, .group = group};
    p.read_of = must_alloc(names * sizeof *p.read_of);
    p.wants = must_alloc(names * sizeof *p.wants);
    p.moves = must_alloc(names * sizeof *p.moves);
    find_reads(&p);
    find_groups(&p);
    for (size_t n = 0; n + 1 < names; n++)
        if (p.wants[n])
            move_group(&p, (int)n, again);
    make_late(&p);
    free(p.read_of);
    free(p.wants);
    free(p.moves);
}
