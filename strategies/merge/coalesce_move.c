/* How the arrays of a block move together.
 *
 * Back from the source: what a view, an update, a branch or a loop gives lies where its own source
 * lies, so the place wanted for the one is turned into a place for the other, until arrays that are
 * created in full are reached: the roots. Then forth: all else in the roots' blocks is derived from
 * what has moved by the rules by which it was placed at first. What was coalesced into one of the
 * arrays before moves with it, and its own roots are found in the same way.
 */
#include <string.h>

#include "merge/coalesce.h"
#include "merge/places.h"

static struct name *name_at(const struct coalescer *c, int name)
{
    return &c->a.m->fun->names[name];
}

static bool same_strides(const struct coalescer *c, const struct name *array,
                         const struct index_function *a, const struct index_function *b)
{
    struct name x = *array, y = *array;
    x.index = *a;
    y.index = *b;
    bool same = true;
    for (unsigned d = 0; d < array->rank && same; d++)
        same =
            expr_equal(index_stride(c->a.m->program, &x, d), index_stride(c->a.m->program, &y, d));
    return same;
}

static bool same_index(const struct coalescer *c, const struct name *array,
                       const struct index_function *a, const struct index_function *b)
{
    struct name x = *array, y = *array;
    x.index = *a;
    y.index = *b;
    return expr_equal(index_offset(c->a.m->program, &x), index_offset(c->a.m->program, &y)) &&
           same_strides(c, array, a, b);
}

static bool has_moved(const struct coalescer *c, int array)
{
    return c->tried[array] == c->attempt;
}

static void set_place(struct coalescer *c, int array, const struct index_function *index)
{
    c->tried[array] = c->attempt;
    c->place[array] = *index;
    c->moved[c->moved_count++] = array;
}

static enum merge_condition settle(struct coalescer *c, int array,
                                   const struct index_function *index);

static enum merge_condition add_block(struct coalescer *c, int memory)
{
    int block = coalesce_block(c, memory);
    for (unsigned i = 0; i < c->block_count; i++)
        if (c->blocks[i] == block)
            return MERGE_ALLOWED;
    if (c->a.map->of[block].foreign)
        return CONDITION_foreign;
    if (c->a.map->of[block].kind != MEMORY_ALLOCATED)
        return CONDITION_allocation;
    c->blocks[c->block_count++] = block;
    return MERGE_ALLOWED;
}

static enum merge_condition settle_root(struct coalescer *c, int array)
{
    const struct outline_name *n = &c->a.o->names[array];
    c->roots[c->root_count++] = (struct root){array, n->position, n->scope};
    return add_block(c, name_at(c, array)->memory);
}

/* A view whose place is wanted; what place must its source have? */
static enum merge_condition settle_source(struct coalescer *c, const struct stm *s,
                                          const struct index_function *index)
{
    struct program *program = c->a.m->program;
    const struct name *out = name_at(c, s->outs[0]), *source = name_at(c, s->array);
    struct index_function wanted = *index;
    struct name moved = *out, plain = *out;
    switch (s->kind) {
    case STM_ALIAS:
    case STM_UPDATE:
        break;
    case STM_REARRANGE:
        if (!merge_extends(c->a.m, EXTENSION_views)) {
            c->detail = "through a rearrange";
            return CONDITION_whole;
        }
        moved.index = *index;
        wanted.offset = index_offset(program, &moved);
        for (unsigned d = 0; d < out->rank; d++)
            wanted.stride[s->permutation[d]] = index_stride(program, &moved, d);
        break;
    case STM_RESHAPE:
        if (out->rank != 1 && !merge_extends(c->a.m, EXTENSION_views)) {
            c->detail = "through a reshape";
            return CONDITION_whole;
        }
        moved.index = *index;
        plain.index.offset = NULL;
        for (unsigned d = 0; d < out->rank; d++)
            if (!expr_equal(index_stride(program, &moved, d), index_stride(program, &plain, d))) {
                c->detail = "a reshape, and the place is not row-major";
                return CONDITION_whole;
            }
        if (index->offset) {
            plain = *source;
            plain.index.offset = NULL;
            for (unsigned d = 0; d < source->rank; d++)
                wanted.stride[d] = index_stride(program, &plain, d);
        }
        break;
    default:
        c->detail = "it is a slice";
        return CONDITION_whole;
    }
    return settle(c, s->array, &wanted);
}

static unsigned number_of(const int *list, unsigned count, int name)
{
    unsigned i = 0;
    while (i < count && list[i] != name)
        i++;
    return i;
}

/* The loop's result moves into an offset; a variable of the loop says where it begins (places.h).
 */
static enum merge_condition settle_varying(struct coalescer *c, const struct stm *s, unsigned i,
                                           const struct index_function *index)
{
    const struct loop *l = s->loop;
    const struct name *param = name_at(c, l->params[i]);
    struct program *program = c->a.m->program;
    struct stm *next = places_next(c->a.m->fun, c->a.o, s, l->params[i]);
    if (!next ||
        (merge_checks(c->a.m, CONDITION_whole) && !same_strides(c, param, &param->index, index))) {
        c->detail = "a loop's result whose block varies, and the place is inside of another";
        return CONDITION_whole;
    }
    struct name there = *param;
    there.index = *index;
    struct expr *place =
        expr_binary(program, EXPR_MUL, index_offset(program, &there),
                    expr_constant(program, (int64_t)element_bytes(param->element)));
    if (!outline_known(c->a.o, place, c->a.o->scope_at[next->first], next->first))
        return CONDITION_in_scope;
    c->varying[c->varying_count++] = (struct varying){next, place, l->init_names[i], param->memory,
                                                      name_at(c, s->outs[i])->memory};
    return settle(c, l->body.results[i], index);
}

/* What a loop gives was made in its last iteration, or before it, or updated in place throughout.
 */
static enum merge_condition settle_loop(struct coalescer *c, const struct stm *s, unsigned i,
                                        const struct index_function *index)
{
    const struct loop *l = s->loop;
    const struct name *param = name_at(c, l->params[i]);
    bool existential = c->a.map->of[param->memory].kind == MEMORY_EXISTENTIAL &&
                       c->a.o->names[param->memory].binder == s;
    if (!existential) {
        if (!has_moved(c, l->params[i]))
            set_place(c, l->params[i], index);
        enum merge_condition refused = settle(c, l->init_names[i], index);
        return refused ? refused : settle(c, l->body.results[i], index);
    }
    /* What the loop begins with stays where it is, so the place must be the same in both blocks. */
    if (!same_index(c, param, &param->index, index))
        return settle_varying(c, s, i, index);
    return settle(c, l->body.results[i], index);
}

static enum merge_condition settle(struct coalescer *c, int array,
                                   const struct index_function *index)
{
    if (has_moved(c, array)) {
        if (same_index(c, name_at(c, array), &c->place[array], index))
            return MERGE_ALLOWED;
        c->detail = "it would have to be in two places";
        return CONDITION_whole;
    }
    const struct outline_name *n = &c->a.o->names[array];
    set_place(c, array, index);
    if (n->binder) { /* a loop's variable: the loop's result is what can move, with all of it */
        c->detail = "it is a loop's variable";
        return CONDITION_whole;
    }
    const struct stm *s = n->definer;
    if (!s)
        return CONDITION_allocation;
    unsigned i = number_of(s->outs, s->out_count, array);
    enum merge_condition refused;
    switch (s->kind) {
    case STM_COPY:
    case STM_CONCAT:
    case STM_SCRATCH:
    case STM_IOTA:
    case STM_REPLICATE:
        return settle_root(c, array);
    case STM_KERNEL:
        if (s->kernel->taken_over[i] == NO_NAME)
            return settle_root(c, array);
        return settle(c, s->kernel->taken_over[i], index);
    case STM_IF:
        refused = settle(c, s->then->results[i], index);
        return refused ? refused : settle(c, s->otherwise->results[i], index);
    case STM_LOOP:
        return settle_loop(c, s, i, index);
    default:
        return settle_source(c, s, index);
    }
}

/* ---- forth ---------------------------------------------------------------------------------- */

/* The place of an array that is derived from others; false if none of these has moved. */
static bool derive(struct coalescer *c, int array)
{
    const struct outline_name *n = &c->a.o->names[array];
    const struct stm *s = n->definer ? n->definer : n->binder;
    if (!s)
        return false;
    unsigned i = number_of(s->outs, s->out_count, array);
    int from = s->array;
    if (n->binder)
        from = s->loop->init_names[number_of(s->loop->params, s->loop->param_count, array)];
    else if (s->kind == STM_KERNEL)
        from = i < s->out_count ? s->kernel->taken_over[i] : NO_NAME;
    else if (s->kind == STM_IF)
        from = s->then->results[i];
    else if (s->kind == STM_LOOP)
        from = s->loop->params[i];
    if (from == NO_NAME || !has_moved(c, from))
        return false;
    struct index_function index = c->place[from];
    struct name source = *name_at(c, from);
    source.index = index;
    bool is_view = s->kind == STM_ALIAS || s->kind == STM_RESHAPE || s->kind == STM_REARRANGE ||
                   s->kind == STM_SLICE;
    if (is_view && !program_view_index(c->a.m->program, c->a.m->fun, s, &source, &index))
        return false;
    set_place(c, array, &index);
    return true;
}

static void derive_block(struct coalescer *c, int block, bool *complete)
{
    for (int part = block; part != NO_NAME; part = c->next_part[part]) {
        const struct memory *of = &c->a.map->of[part];
        for (unsigned i = 0; i < of->array_count; i++) {
            int array = of->arrays[i];
            if (!has_moved(c, array) && !derive(c, array)) {
                *complete = false;
                c->detail = c->a.m->fun->names[array].text;
            }
        }
    }
}

/* Follows what was coalesced into the arrays that move. */
static enum merge_condition settle_children(struct coalescer *c, unsigned *from)
{
    for (; *from < c->moved_count; (*from)++) {
        int array = c->moved[*from];
        for (const struct linked_candidate *l = c->done[array]; l; l = l->next) {
            struct name destination = *name_at(c, array);
            struct index_function part = {0};
            destination.index = c->place[array];
            coalesce_part(c, &l->candidate, &destination, &part);
            enum merge_condition refused = settle(c, l->candidate.source, &part);
            if (refused)
                return refused;
        }
    }
    return MERGE_ALLOWED;
}

/* Do the arrays in this existential block follow the place that a loop's variable holds? */
static bool follows(const struct coalescer *c, int memory)
{
    for (unsigned v = 0; v < c->varying_count; v++)
        if (c->varying[v].param_memory == memory || c->varying[v].out_memory == memory)
            return true;
    return false;
}

/* What a varying loop begins with must stay where it is. */
static enum merge_condition check_varying(struct coalescer *c)
{
    for (unsigned v = 0; v < c->varying_count; v++)
        if (has_moved(c, c->varying[v].init)) {
            c->detail = "the loop also begins with what it gives";
            return CONDITION_whole;
        }
    /* Where their block begins is in a variable already. */
    for (unsigned i = 0; i < c->moved_count; i++)
        if (follows(c, name_at(c, c->moved[i])->memory))
            c->place[c->moved[i]] = name_at(c, c->moved[i])->index;
    return MERGE_ALLOWED;
}

/* Arrays in existential memory that may be one of the blocks expect what is in it where it was. */
static enum merge_condition check_existentials(struct coalescer *c)
{
    bool shifted = false;
    for (unsigned i = 0; i < c->moved_count && !shifted; i++) {
        const struct name *array = name_at(c, c->moved[i]);
        shifted = !same_index(c, array, &array->index, &c->place[c->moved[i]]);
    }
    for (unsigned b = 0; b < c->block_count && shifted; b++)
        for (int part = c->blocks[b]; part != NO_NAME; part = c->next_part[part]) {
            const struct memory *of = &c->a.map->of[part];
            for (unsigned e = 0; e < of->existential_count; e++) {
                if (follows(c, of->existentials[e]))
                    continue;
                const struct memory *existential = &c->a.map->of[of->existentials[e]];
                for (unsigned i = 0; i < existential->array_count; i++)
                    if (!has_moved(c, existential->arrays[i])) {
                        c->detail = c->a.m->fun->names[existential->arrays[i]].text;
                        return CONDITION_whole;
                    }
            }
        }
    return MERGE_ALLOWED;
}

enum merge_condition coalesce_move(struct coalescer *c, const struct candidate *k)
{
    struct index_function part = {0};
    c->attempt++;
    c->moved_count = c->root_count = c->block_count = c->varying_count = 0;
    c->detail = NULL;
    coalesce_part(c, k, name_at(c, k->destination), &part);
    enum merge_condition refused = settle(c, k->source, &part);
    unsigned followed = 0;
    if (!refused)
        refused = settle_children(c, &followed);
    /* Derived arrays may have had others coalesced into them, and these others views. */
    for (unsigned before = 0; !refused && before < c->moved_count;) {
        before = c->moved_count;
        bool complete = true;
        for (unsigned b = 0; b < c->block_count; b++)
            derive_block(c, c->blocks[b], &complete);
        refused = settle_children(c, &followed);
        if (!refused && c->moved_count == before && !complete)
            return CONDITION_whole;
    }
    if (!refused)
        refused = check_varying(c);
    return refused ? refused : check_existentials(c);
}
