/* Coalescing: the source of a copy is made in the copy's place, so that there is nothing to copy.
 *
 *   let t = kernel …            t is given the block and the place that the copy has in y:
 *   let y = concat(t, u)        then concat finds t there already. `y = copy t` and
 *                               `y = x with [s] <- t` are treated alike.
 *
 * Serup 2017, chapter 5, with the checks made exact. All arrays in the source's block move
 * with it, or none does. For each array that is created in full, the root:
 *
 *   C1  the source's blocks are dead after the copy
 *   C2  the destination's block is allocated when the root is made
 *   C3  between the making of the root and the copy nothing reads or writes the destination's block
 *   C4  everything that shares the source's blocks has a place in the destination
 *   C5  the scalars in the new places are known where the arrays are made
 *   C6  if two branches of an if give roots, only one of these is alive at a time
 *   R8  source and destination are in one memory space
 *
 * C3 is about reads and writes, not about mentions: making a view touches nothing. A root inside of
 * a loop is made in each iteration, so C3 must hold for all of the loop.
 *
 * The statement that makes a root may read the destination's block where it is proved not to write.
 * Beyond the thesis: C3 allows all accesses to a part of the block that is proved to be another one
 * (`disjoint`), and reads by the kernel that makes the root, at the places that it writes
 * (`source`). A copy whose source is in its place already is not made, so it is no access
 * (`elided`).
 *
 * A kernel's text may copy one private array to another, `y[k + start] = x[k]` in a loop over k.
 * Then C1 says that no thread uses x after it, C3 that none uses that place of y before it, and
 *
 *   R5  all of x has room in y, also what is not copied
 *
 * Each copy is tried once, from the top of the program down, or the largest first (`by_bytes`). A
 * coalescing may make a later one impossible, so neither an order nor an extension is always for
 * the better. With extensions the pass runs on a copy of the program too without them, and takes
 * the one with them unless it leaves a body of the program with more copies, or more bytes copied,
 * or the program with a higher peak.
 *
 * `short_circuit` tries the copies as array short-circuiting does (Munksgaard et al. 2022), from
 * the bottom of the program up: so a source is moved before what is copied into it. One that was
 * refused is tried again when another was not.
 */
#include <stdlib.h>

#include "base/sort.h"
#include "merge/analysis.h"
#include "merge/list.h"
#include "merge/offsets.h"

/* A copy of a part: `stm` copies its source to a part of its destination. */
struct candidate {
    struct stm *stm;
    unsigned piece;                 /* a concat: the number of the piece */
    const struct access_copy *copy; /* a kernel: the copy in its text */
    int source, destination;
    unsigned number; /* counted from the top of the program */
    int64_t bytes;   /* the source's size, or UNKNOWN_BYTES */
    unsigned scope;  /* the body that the copy stands in */
    bool fixed;      /* `bytes` is the size in every iteration of every loop */
    bool left;       /* the merged program still makes this copy, and it is no kernel's */
    bool settled;    /* it need not be tried again */
};

/* An array that is created in full, with the others in its block moving along. */
struct root {
    int array;
    unsigned position, scope;
};

/* A loop whose result moves to an offset: from the first iteration on, its block begins there. */
struct varying {
    struct stm *next; /* at the end of the body: binds the byte at which the block begins */
    struct expr *place;
    int init; /* the initial array, which stays */
    int param_memory, out_memory;
};

struct coalescer {
    struct analysis a;
    /* by memory name: the block that it has become part of, and the next part of that block */
    int *into, *next_part;
    /* by array name: the place it would get; valid where tried[array] == attempt */
    struct index_function *place;
    unsigned *tried, attempt;
    unsigned moved_count, root_count, block_count;
    int *moved, *blocks;
    struct root *roots;
    /* the loops whose results move to an offset */
    unsigned varying_count;
    struct varying *varying;
    /* by destination array: coalesced candidates, linked */
    struct linked_candidate **done;
    struct arena arena;
    const char *detail;
};

struct linked_candidate {
    struct candidate candidate;
    struct linked_candidate *next;
};

static struct name *coalesce_name(const struct coalescer *c, int name)
{
    return &c->a.m->fun->names[name];
}

/* The block that this one has become part of. */
static int coalesce_block(const struct coalescer *c, int memory)
{
    while (c->into[memory] != memory)
        memory = c->into[memory] = c->into[c->into[memory]];
    return memory;
}

/* The place of a candidate's part of its destination, given that array's. */
static void coalesce_part(struct coalescer *c, const struct candidate *k,
                          const struct name *destination, struct index_function *index)
{
    struct program *program = c->a.m->program;
    *index = destination->index;
    for (unsigned e = 0, threads = destination->thread_rank; k->copy && e < destination->rank;
         e++) {
        struct expr *stride = destination->index.stride[threads + e];
        index->offset = expr_binary(program, EXPR_ADD, index->offset,
                                    expr_binary(program, EXPR_MUL, k->copy->start[e], stride));
        if (k->copy->dim[e] >= 0)
            index->stride[threads + (unsigned)k->copy->dim[e]] = stride;
    }
    if (k->stm->kind == STM_UPDATE)
        program_slice_index(program, k->stm, destination, index);
    if (k->stm->kind != STM_CONCAT || (k->piece == 0 && !destination->index.offset))
        return;
    struct expr *rows = expr_constant(program, 0);
    for (unsigned i = 0; i < k->piece; i++)
        rows = expr_binary(program, EXPR_ADD, rows,
                           c->a.m->fun->names[k->stm->pieces[i].array].shape[0]);
    index->offset =
        expr_binary(program, EXPR_ADD, index_offset(program, destination),
                    expr_binary(program, EXPR_MUL, rows, index_stride(program, destination, 0)));
    for (unsigned d = 0; d < destination->rank; d++)
        index->stride[d] = index_stride(program, destination, d);
}

/* ---- how the arrays of a block move together ------------------------------------------------- */

/* Back from the source: the result of a view, an update, a branch or a loop lies where its own
 * source lies. So the place wanted for the result becomes a place for that source, and so on, until
 * arrays that are created in full: the roots. Then forth: every other array in the roots' blocks is
 * derived from the moved ones, by the rules that placed it at first. An array that was coalesced
 * into one of them earlier moves with it; its own roots are found in the same way.
 */
static bool same_strides(const struct coalescer *c, const struct name *array,
                         const struct index_function *a, const struct index_function *b)
{
    struct name x = *array, y = *array;
    x.index = *a;
    y.index = *b;
    bool same = true;
    for (unsigned d = 0; d < array->rank + array->thread_rank && same; d++)
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
    return add_block(c, coalesce_name(c, array)->memory);
}

/* Turns the place wanted for a view into the place that its source must have. */
static enum merge_condition settle_source(struct coalescer *c, const struct stm *s,
                                          const struct index_function *index)
{
    struct program *program = c->a.m->program;
    const struct name *out = coalesce_name(c, s->outs[0]), *source = coalesce_name(c, s->array);
    struct index_function wanted = *index;
    struct name moved = *out, plain = *out;
    switch (s->kind) {
    case STM_ALIAS:
    case STM_UPDATE:
        break;
    case STM_REARRANGE:
        if (!merge_extends(c->a.m, EXTENSION_views)) {
            c->detail = "it is the result of a rearrange";
            return CONDITION_whole;
        }
        moved.index = *index;
        wanted.offset = index_offset(program, &moved);
        for (unsigned d = 0; d < out->rank; d++)
            wanted.stride[s->permutation[d]] = index_stride(program, &moved, d);
        break;
    case STM_RESHAPE:
        if (out->rank != 1 && !merge_extends(c->a.m, EXTENSION_views)) {
            c->detail = "it is the result of a reshape";
            return CONDITION_whole;
        }
        moved.index = *index;
        plain.index.offset = NULL;
        for (unsigned d = 0; d < out->rank; d++)
            if (!expr_equal(index_stride(program, &moved, d), index_stride(program, &plain, d))) {
                c->detail = "it is the result of a reshape, and would not be row-major there";
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

/* The loop's result moves to an offset; a variable of the loop holds where it begins (offsets.h).
 */
static enum merge_condition settle_varying(struct coalescer *c, const struct stm *s, unsigned i,
                                           const struct index_function *index)
{
    const struct loop *l = s->loop;
    const struct name *param = coalesce_name(c, l->params[i]);
    struct program *program = c->a.m->program;
    struct stm *next = offsets_next(c->a.m->fun, c->a.o, s, l->params[i]);
    if (!next ||
        (merge_checks(c->a.m, CONDITION_whole) && !same_strides(c, param, &param->index, index))) {
        c->detail =
            "it is a loop's result whose block varies, and the destination is a part of a block";
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
                                                      coalesce_name(c, s->outs[i])->memory};
    return settle(c, l->body.results[i], index);
}

/* A loop's result was made in the last iteration, or before the loop, or is updated in place.
 */
static enum merge_condition settle_loop(struct coalescer *c, const struct stm *s, unsigned i,
                                        const struct index_function *index)
{
    const struct loop *l = s->loop;
    const struct name *param = coalesce_name(c, l->params[i]);
    bool existential = c->a.map->of[param->memory].kind == MEMORY_EXISTENTIAL &&
                       c->a.o->names[param->memory].binder == s;
    if (!existential) {
        if (!has_moved(c, l->params[i]))
            set_place(c, l->params[i], index);
        enum merge_condition refused = settle(c, l->init_names[i], index);
        return refused ? refused : settle(c, l->body.results[i], index);
    }
    /* The initial value stays where it is, so the place must be the same in both blocks. */
    if (!same_index(c, param, &param->index, index))
        return settle_varying(c, s, i, index);
    return settle(c, l->body.results[i], index);
}

static enum merge_condition settle(struct coalescer *c, int array,
                                   const struct index_function *index)
{
    if (has_moved(c, array)) {
        if (same_index(c, coalesce_name(c, array), &c->place[array], index))
            return MERGE_ALLOWED;
        c->detail = "it would have to be at two offsets";
        return CONDITION_whole;
    }
    const struct outline_name *n = &c->a.o->names[array];
    set_place(c, array, index);
    if (coalesce_name(c, array)->thread_rank) /* the text of its kernel makes it */
        return add_block(c, coalesce_name(c, array)->memory);
    if (n->binder) { /* a loop's variable moves only with the loop's result */
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

/* ---- forth ----------------------------------------------------------------------------------- */

/* The place of an array that is derived from others; false if none of these has moved. */
static bool derive_array(struct coalescer *c, int array)
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
    struct name source = *coalesce_name(c, from);
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
            if (!has_moved(c, array) && !derive_array(c, array)) {
                *complete = false;
                c->detail = c->a.m->fun->names[array].text;
            }
        }
    }
}

/* Moves the arrays that were coalesced earlier into the arrays that move. */
static enum merge_condition settle_children(struct coalescer *c, unsigned *from)
{
    for (; *from < c->moved_count; (*from)++) {
        int array = c->moved[*from];
        for (const struct linked_candidate *l = c->done[array]; l; l = l->next) {
            struct name destination = *coalesce_name(c, array);
            struct index_function part = {0};
            destination.index = c->place[array];
            coalesce_part(c, &l->candidate, &destination, &part);
            TRY(settle(c, l->candidate.source, &part));
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

/* The initial value of a varying loop must stay where it is. */
static enum merge_condition check_varying(struct coalescer *c)
{
    for (unsigned v = 0; v < c->varying_count; v++)
        if (has_moved(c, c->varying[v].init)) {
            c->detail = "the initial value of the loop would move too";
            return CONDITION_whole;
        }
    /* A variable holds where their block begins, so their index functions stay. */
    for (unsigned i = 0; i < c->moved_count; i++)
        if (follows(c, coalesce_name(c, c->moved[i])->memory))
            c->place[c->moved[i]] = coalesce_name(c, c->moved[i])->index;
    return MERGE_ALLOWED;
}

/* Refuses if an array in existential memory, which may be one of the blocks, would not move
 * along. */
static enum merge_condition check_existentials(struct coalescer *c)
{
    bool shifted = false;
    for (unsigned i = 0; i < c->moved_count && !shifted; i++) {
        const struct name *array = coalesce_name(c, c->moved[i]);
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

/* Follows the source back to where it is created and gives everything in its blocks a place that
 * fits. MERGE_ALLOWED or what forbids it; fills moved, roots and blocks. */
static enum merge_condition coalesce_move(struct coalescer *c, const struct candidate *k)
{
    struct index_function part = {0};
    c->attempt++;
    c->moved_count = c->root_count = c->block_count = c->varying_count = 0;
    c->detail = NULL;
    coalesce_part(c, k, coalesce_name(c, k->destination), &part);
    enum merge_condition refused = settle(c, k->source, &part);
    unsigned followed = 0;
    if (!refused)
        refused = settle_children(c, &followed);
    /* Derived arrays may have had others coalesced into them, and these may have views. */
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

/* ---- the conditions -------------------------------------------------------------------------- */

/* C1: nothing that is in the block is used after the copy. */
static bool dies_here(const struct coalescer *c, const struct candidate *k, int block)
{
    unsigned here = k->stm->last;
    for (int part = coalesce_block(c, block); part != NO_NAME; part = c->next_part[part])
        if (spans_last(&c->a.map->of[part].spans, here) > here)
            return false;
    return true;
}

/* C2, also for a destination that is filled before it is updated in place, or that has become a
 * part of another block. */
static bool is_allocated(const struct coalescer *c, const struct candidate *k,
                         const struct root *root)
{
    const int memory = coalesce_name(c, k->destination)->memory;
    const struct memory *own = &c->a.map->of[memory],
                        *of = &c->a.map->of[coalesce_block(c, memory)];
    return own->position < root->position && of->position < root->position &&
           outline_encloses(c->a.o, own->scope, root->scope) &&
           outline_encloses(c->a.o, of->scope, root->scope);
}

/* The first position at which the root may be made: that of the outermost loop that contains the
 * root and not the copy, or else its own. */
static unsigned made_from(const struct coalescer *c, const struct candidate *k,
                          const struct root *root)
{
    unsigned scope = c->a.o->scope_at[k->stm->first], from = root->position;
    for (unsigned inner = root->scope; inner != scope; inner = c->a.o->scopes[inner].parent)
        if (c->a.o->scopes[inner].owner->kind == STM_LOOP)
            from = c->a.o->scopes[inner].owner->first;
    return from;
}

/* Are position p and the root in different branches of an if, and in no loop inside of it? */
static bool other_branch(const struct coalescer *c, unsigned p, const struct root *root,
                         unsigned from)
{
    const struct outline *o = c->a.o;
    unsigned a = o->scope_at[p], b = root->scope, below_a = a, below_b = b;
    while (a != b) {
        if (o->scopes[a].depth >= o->scopes[b].depth) {
            below_a = a;
            a = o->scopes[a].parent;
        } else {
            below_b = b;
            b = o->scopes[b].parent;
        }
    }
    const struct stm *x = o->scopes[below_a].owner, *y = o->scopes[below_b].owner;
    return a != below_a && a != below_b && x == y && x->kind == STM_IF && x->first < from;
}

/* C3 for one access to the destination's block. */
static bool access_allowed(struct coalescer *c, const struct candidate *k, const struct root *root,
                           const struct access_point *access)
{
    const struct index_function *place = &c->place[root->array];
    if (merge_extends(c->a.m, EXTENSION_source) && access->position == root->position &&
        analysis_in_place(&c->a, root->position, root->array, place, &access->array, 1, NULL) ==
            MERGE_ALLOWED)
        return true;
    return (merge_extends(c->a.m, EXTENSION_disjoint) || access->position == root->position) &&
           analysis_elsewhere(&c->a, access->position, access->array, root->array, place,
                              c->a.o->scope_at[k->stm->first]);
}

static bool is_in_place(struct coalescer *c, const struct candidate *k);

/* Does the statement only copy arrays to where they lie already? */
static bool is_elided(struct coalescer *c, struct stm *s)
{
    struct candidate k = {.stm = s, .destination = s ? s->outs[0] : NO_NAME};
    if (!s || s->first != s->last)
        return false;
    if (s->kind == STM_COPY || s->kind == STM_UPDATE) {
        k.source = s->kind == STM_COPY ? s->array : s->value;
        return k.source != NO_NAME && is_in_place(c, &k);
    }
    bool elided = s->kind == STM_CONCAT;
    for (; k.piece < s->piece_count && elided; k.piece++) {
        k.source = s->pieces[k.piece].array;
        elided = is_in_place(c, &k);
    }
    return elided;
}

/* C3 for one root */
static bool is_untouched(struct coalescer *c, const struct candidate *k, const struct root *root)
{
    unsigned from = made_from(c, k, root);
    for (int part = coalesce_block(c, coalesce_name(c, k->destination)->memory); part != NO_NAME;
         part = c->next_part[part]) {
        const struct memory *of = &c->a.map->of[part];
        unsigned i;
        FIND_PLACE(i, of->access_count, of->accesses[i].position < from);
        for (; i < of->access_count && of->accesses[i].position < k->stm->first; i++) {
            const struct access_point *access = &of->accesses[i];
            if (other_branch(c, access->position, root, from) ||
                access_allowed(c, k, root, access) ||
                (merge_extends(c->a.m, EXTENSION_elided) &&
                 is_elided(c, c->a.o->at[access->position])))
                continue;
            c->detail = coalesce_name(c, access->array)->text;
            return false;
        }
    }
    return true;
}

/* Is the first stride the larger one? No dimension is empty. */
static bool outer_first(struct coalescer *c, const struct expr *a, const struct expr *b,
                        unsigned at)
{
    return expr_equal(b, expr_constant(c->a.m->program, 1)) ||
           analysis_enough_bytes(&c->a, a, b, at);
}

/* Does a kernel make the array, and has the place its dimensions in another order? */
static bool turns(struct coalescer *c, const struct root *root)
{
    struct program *program = c->a.m->program;
    const struct name *own = coalesce_name(c, root->array);
    struct name moved = *own;
    moved.index = c->place[root->array];
    for (unsigned d = 0; c->a.o->at[root->position]->kind == STM_KERNEL && d + 1 < own->rank; d++) {
        struct expr *a = index_stride(program, own, d), *b = index_stride(program, own, d + 1);
        struct expr *x = index_stride(program, &moved, d),
                    *y = index_stride(program, &moved, d + 1);
        if (outer_first(c, a, b, root->position) && !outer_first(c, x, y, root->position) &&
            outer_first(c, y, x, root->position))
            return true;
    }
    return false;
}

static bool index_known(const struct coalescer *c, int array)
{
    const struct outline_name *n = &c->a.o->names[array];
    const struct index_function *index = &c->place[array];
    bool known = !index->offset || outline_known(c->a.o, index->offset, n->scope, n->position);
    const struct name *name = coalesce_name(c, array);
    for (unsigned d = 0; index->offset && d < name->rank + name->thread_rank && known; d++)
        known = outline_known(c->a.o, index->stride[d], n->scope, n->position);
    return known;
}

/* Adds the spans of the arrays of `block`: to `shared` if an array may also be in `other`, as the
 * result of an if may, else to `own`. A shared array is in one of the two at a time. */
static void add_own_spans(const struct coalescer *c, const struct memory_map *exact, int block,
                          int other, struct spans *own, struct spans *shared)
{
    for (int part = block; part != NO_NAME; part = c->next_part[part]) {
        const struct memory *of = &c->a.map->of[part];
        for (unsigned e = 0; e <= of->existential_count; e++) {
            const struct memory *in = e ? &c->a.map->of[of->existentials[e - 1]] : of;
            bool either = false;
            for (int p = other; e && p != NO_NAME; p = c->next_part[p])
                either |= memory_may_be(c->a.map, of->existentials[e - 1], p);
            for (unsigned i = 0; i < in->array_count; i++)
                memory_array_spans(exact, in->arrays[i], either ? shared : own);
        }
    }
}

/* C6, for arrays of different blocks that get the same place. */
static bool exclude_each_other(const struct coalescer *c, int a, int b)
{
    struct spans x = {0}, y = {0}, shared = {0};
    struct memory_map exact = *c->a.map;
    struct span meeting;
    exact.by_branch = true;
    add_own_spans(c, &exact, a, b, &x, &shared);
    add_own_spans(c, &exact, b, a, &y, &shared);
    bool meet = spans_meet(&x, &y, 0, &meeting) || spans_meet(&x, &shared, 0, &meeting) ||
                spans_meet(&y, &shared, 0, &meeting);
    spans_free(&x);
    spans_free(&y);
    spans_free(&shared);
    return !meet;
}

/* C1 and C3 for a copy in the text of a kernel, whose source and destination are private. The other
 * arrays in the destination's block must be private too, and lie elsewhere. */
static enum merge_condition check_copy(struct coalescer *c, const struct candidate *k)
{
    const unsigned position = k->stm->first;
    int part = coalesce_block(c, coalesce_name(c, k->destination)->memory);
    if (merge_checks(c->a.m, CONDITION_last_use) && !analysis_copied_last(&c->a, position, k->copy))
        return CONDITION_last_use;
    if (merge_checks(c->a.m, CONDITION_size) && !analysis_copied_inside(&c->a, position, k->copy))
        return CONDITION_size;
    for (; part != NO_NAME; part = c->next_part[part]) {
        const struct memory *of = &c->a.map->of[part];
        for (unsigned i = 0; i < of->array_count; i++) {
            c->detail = coalesce_name(c, of->arrays[i])->text;
            if (merge_checks(c->a.m, CONDITION_untouched) &&
                (of->existential_count || c->a.o->names[of->arrays[i]].definer != k->stm ||
                 !coalesce_name(c, of->arrays[i])->thread_rank ||
                 !analysis_copied_apart(&c->a, position, k->copy, &c->place[k->source],
                                        of->arrays[i])))
                return CONDITION_untouched;
        }
    }
    c->detail = NULL;
    return MERGE_ALLOWED;
}

static enum merge_condition check_candidate(struct coalescer *c, const struct candidate *k)
{
    int memory = coalesce_name(c, k->destination)->memory;
    int from = coalesce_name(c, k->source)->memory;
    if (c->a.map->of[from].foreign)
        return CONDITION_foreign;
    if (coalesce_name(c, from)->space != coalesce_name(c, memory)->space &&
        merge_checks(c->a.m, CONDITION_space))
        return CONDITION_space;
    if (c->a.map->of[from].kind != MEMORY_EXISTENTIAL && merge_checks(c->a.m, CONDITION_last_use) &&
        !dies_here(c, k, from))
        return CONDITION_last_use;
    if (c->a.map->of[memory].kind == MEMORY_EXISTENTIAL) {
        c->detail = "a loop or branch chooses the destination's block";
        return CONDITION_allocation;
    }
    TRY(coalesce_move(c, k));
    for (unsigned b = 0; b < c->block_count; b++) {
        for (unsigned other = 0; other < b; other++)
            if (merge_checks(c->a.m, CONDITION_branches) &&
                !exclude_each_other(c, c->blocks[b], c->blocks[other]))
                return CONDITION_branches;
        if (c->blocks[b] == coalesce_block(c, memory))
            return CONDITION_whole;
        if (merge_checks(c->a.m, CONDITION_last_use) && !dies_here(c, k, c->blocks[b]))
            return CONDITION_last_use;
        if (merge_checks(c->a.m, CONDITION_escapes) && c->a.map->of[c->blocks[b]].escapes)
            return CONDITION_escapes;
    }
    for (unsigned r = 0; r < c->root_count; r++) {
        const struct root *root = &c->roots[r];
        if (!outline_encloses(c->a.o, c->a.o->scope_at[k->stm->first], root->scope))
            return CONDITION_branches;
        if (merge_checks(c->a.m, CONDITION_allocation) && !is_allocated(c, k, root))
            return CONDITION_allocation;
        if (merge_extends(c->a.m, EXTENSION_original) && turns(c, root))
            return CONDITION_limit;
        if (merge_checks(c->a.m, CONDITION_untouched) && !is_untouched(c, k, root))
            return CONDITION_untouched;
    }
    for (unsigned i = 0; i < c->moved_count; i++)
        if (merge_checks(c->a.m, CONDITION_in_scope) && !index_known(c, c->moved[i])) {
            c->detail = coalesce_name(c, c->moved[i])->text;
            return CONDITION_in_scope;
        }
    return k->copy ? check_copy(c, k) : MERGE_ALLOWED;
}

/* ---- doing it -------------------------------------------------------------------------------- */

static void apply_candidate(struct coalescer *c, const struct candidate *k)
{
    int memory = coalesce_name(c, k->destination)->memory;
    int target = coalesce_block(c, memory);
    for (unsigned i = 0; i < c->moved_count; i++)
        c->a.m->fun->names[c->moved[i]].index = c->place[c->moved[i]];
    for (unsigned v = 0; v < c->varying_count; v++)
        c->varying[v].next->expr = c->varying[v].place;
    for (unsigned b = 0; b < c->block_count; b++) {
        int last = c->blocks[b];
        while (c->next_part[last] != NO_NAME)
            last = c->next_part[last];
        c->next_part[last] = c->next_part[target];
        c->next_part[target] = c->blocks[b];
        c->into[c->blocks[b]] = target;
    }
    struct linked_candidate *l = arena_alloc(&c->arena, sizeof *l);
    *l = (struct linked_candidate){*k, c->done[k->destination]};
    c->done[k->destination] = l;
}

/* The veto: tries the bytes alive with the source's blocks in the destination's. A block counts
 * with the size of the block that it has become part of. Without that size only copies pay, which
 * are as large as what they copy. */
static bool coalesce_pays(struct coalescer *c, const struct candidate *k)
{
    if (!c->a.m->options.veto)
        return true;
    int target = coalesce_block(c, coalesce_name(c, k->destination)->memory);
    const struct spans *moments = c->a.bound.moments->of;
    struct spans together = {0};
    int64_t target_bytes = c->a.numbers->bytes[target];
    if (target_bytes == UNKNOWN_BYTES)
        return k->stm->kind == STM_COPY;
    bound_begin(&c->a.bound);
    for (int part = target; part != NO_NAME; part = c->next_part[part])
        spans_join(&together, &moments[part]);
    bound_add(&c->a.bound, &together, -target_bytes);
    for (unsigned b = 0; b < c->block_count; b++) {
        struct spans own = {0};
        for (int part = c->blocks[b]; part != NO_NAME; part = c->next_part[part])
            spans_join(&own, &moments[part]);
        if (c->a.numbers->bytes[c->blocks[b]] != UNKNOWN_BYTES)
            bound_add(&c->a.bound, &own, -c->a.numbers->bytes[c->blocks[b]]);
        spans_join(&together, &own);
        spans_free(&own);
    }
    bound_add(&c->a.bound, &together, target_bytes);
    spans_free(&together);
    return bound_keep(&c->a.bound);
}

/* Is the source where it would be copied to? */
static bool is_in_place(struct coalescer *c, const struct candidate *k)
{
    const struct name *source = coalesce_name(c, k->source),
                      *destination = coalesce_name(c, k->destination);
    struct index_function part = {0};
    coalesce_part(c, k, destination, &part);
    return coalesce_block(c, source->memory) == coalesce_block(c, destination->memory) &&
           same_index(c, source, &source->index, &part);
}

static const char *proof_of(struct coalescer *c)
{
    const struct text *proof = &c->a.proof;
    return proof->length ? arena_printf(&c->a.m->program->arena, "%s", proof->data) : NULL;
}

/* Coalesces the candidate if it may; notes refusals if `last`. */
static void consider(struct coalescer *c, struct candidate *k, bool last)
{
    const struct name *source = coalesce_name(c, k->source),
                      *destination = coalesce_name(c, k->destination);
    int from = coalesce_block(c, source->memory), into = coalesce_block(c, destination->memory);
    if (from == into) { /* it is there already, or moves within its block */
        k->left = !k->copy && !is_in_place(c, k);
        k->settled = true;
        return;
    }
    c->detail = NULL;
    c->a.proof.length = 0;
    enum merge_condition refused = check_candidate(c, k);
    if (!refused && !coalesce_pays(c, k))
        refused = CONDITION_no_gain;
    if (last || !refused)
        merge_note(c->a.m, &(struct merge_event){.action = MERGE_COALESCED,
                                                 .proof = proof_of(c),
                                                 .refused = refused,
                                                 .at = k->stm->at,
                                                 .array = k->source,
                                                 .from = from,
                                                 .into = into,
                                                 .detail = c->detail});
    k->left = !k->copy && refused;
    k->settled = !refused;
    if (!refused)
        apply_candidate(c, k);
}

/* ---- the pass -------------------------------------------------------------------------------- */

struct candidates {
    struct candidate *items;
    unsigned count, capacity;
};

static void add_candidate(struct candidates *list, struct stm *s, unsigned piece, int source)
{
    list->items = must_grow(list->items, list->count, &list->capacity, sizeof *list->items);
    list->items[list->count] = (struct candidate){.stm = s,
                                                  .piece = piece,
                                                  .source = source,
                                                  .destination = s->outs[0],
                                                  .number = list->count};
    list->count++;
}

static void find_candidates(const struct outline *o, bool updates_only, struct candidates *list)
{
    for (unsigned p = 0; p < o->position_count; p++) {
        struct stm *s = o->at[p];
        if (!s || s->first != p)
            continue;
        if (s->kind == STM_UPDATE && s->value != NO_NAME)
            add_candidate(list, s, 0, s->value);
        if (updates_only)
            continue;
        if (s->kind == STM_COPY)
            add_candidate(list, s, 0, s->array);
        for (unsigned i = 0; s->kind == STM_CONCAT && i < s->piece_count; i++)
            add_candidate(list, s, i, s->pieces[i].array);
    }
}

/* Copies in the texts of kernels come after all others, whose arrays they do not touch. */
static void find_copies(struct coalescer *c, struct candidates *list)
{
    for (unsigned p = 0; p < c->a.o->position_count; p++) {
        struct stm *s = c->a.o->at[p];
        if (!s || s->kind != STM_KERNEL || s->kernel->private_count < 2)
            continue;
        const struct access_copies copies = analysis_copies(&c->a, p);
        for (unsigned i = 0; i < copies.count; i++) {
            add_candidate(list, s, 0, copies.items[i].source);
            list->items[list->count - 1].copy = &copies.items[i];
            list->items[list->count - 1].destination = copies.items[i].destination;
        }
    }
}

/* Is the array's size the same whenever the statement at `position` runs? */
static bool is_fixed(const struct outline *o, const struct name *array, unsigned position)
{
    const unsigned before = outline_lift(o, position, 0, NULL);
    bool fixed = true;
    for (unsigned d = 0; d < array->rank && fixed; d++)
        fixed = outline_known(o, array->shape[d], 0, before);
    return fixed;
}

static void measure(const struct coalescer *c, struct candidates *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        struct candidate *k = &list->items[i];
        k->bytes = numbers_array_bytes(c->a.numbers, c->a.m->fun, k->source);
        k->scope = c->a.o->scope_at[k->stm->first];
        k->fixed = is_fixed(c->a.o, coalesce_name(c, k->source), k->stm->first);
    }
}

ORDER_BY(by_number, struct candidate, number)

/* Largest first, unknown sizes last; equal sizes in the order of the program. */
static int by_bytes(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return by_number(a, b);
}

static void sort(struct candidates *list, int (*order)(const void *a, const void *b))
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, order);
}

/* Adds offset variables to the loops with varying blocks whose results are copied into a part. */
static void make_variable(struct merge *m)
{
    struct outline *o = outline_new(m->fun);
    struct memory_map *map = memory_map_new(o, MEMORY_BY_BRANCH);
    struct candidates list = {0};
    bool *wanted = must_alloc(m->fun->name_count + 1), any = false;
    find_candidates(o, false, &list);
    for (unsigned i = 0; i < list.count; i++) {
        int source = list.items[i].source;
        const struct stm *s = o->names[source].definer;
        while (s && (s->kind == STM_ALIAS || s->kind == STM_UPDATE)) {
            source = s->array;
            s = o->names[source].definer;
        }
        if (!s || s->kind != STM_LOOP || list.items[i].stm->kind == STM_COPY)
            continue;
        int memory = m->fun->names[source].memory;
        for (unsigned r = 0; r < s->out_count; r++)
            if (s->outs[r] == memory) /* the block is the loop's to choose */
                any = wanted[memory] = wanted[s->loop->params[r]] = true;
    }
    if (any)
        offsets_make_variable(m, o, map, wanted);
    free(wanted);
    free(list.items);
    memory_map_free(map);
    outline_free(o);
}

static void open_coalescer(struct coalescer *c, struct merge *m)
{
    unsigned names = m->fun->name_count;
    *c = (struct coalescer){0};
    analysis_open(&c->a, m, merge_extends(m, EXTENSION_by_branch) ? MEMORY_BY_BRANCH : 0);
    c->into = arena_alloc(&c->arena, names * sizeof *c->into);
    c->next_part = arena_alloc(&c->arena, names * sizeof *c->next_part);
    c->place = arena_alloc(&c->arena, names * sizeof *c->place);
    c->tried = arena_alloc(&c->arena, names * sizeof *c->tried);
    c->moved = arena_alloc(&c->arena, names * sizeof *c->moved);
    c->blocks = arena_alloc(&c->arena, names * sizeof *c->blocks);
    c->roots = arena_alloc(&c->arena, names * sizeof *c->roots);
    c->varying = arena_alloc(&c->arena, names * sizeof *c->varying);
    c->done = arena_alloc(&c->arena, names * sizeof *c->done);
    for (unsigned n = 0; n < names; n++) {
        c->into[n] = (int)n;
        c->next_part[n] = NO_NAME;
    }
}

/* Tries all candidates: once, or from the last one up and again until no more are coalesced. The
 * original excludes what it refused. */
static void try_all(struct coalescer *c, struct candidates *list, bool bottom_up)
{
    bool coalesced = bottom_up && !merge_extends(c->a.m, EXTENSION_original), last;
    do {
        last = !coalesced;
        coalesced = false;
        for (unsigned i = 0; i < list->count; i++) {
            struct candidate *k = &list->items[bottom_up ? list->count - 1 - i : i];
            if (k->settled)
                continue;
            consider(c, k, last);
            coalesced |= k->settled;
        }
    } while (!last);
}

/* Updates only, or all copies; or all of them from the last one up. */
enum way { LOWER_UPDATES, COALESCE, SHORT_CIRCUIT };

/* Fills `list`, which the caller frees, with the candidates in the order of the program. */
static void run_over(struct merge *m, enum way way, struct candidates *list)
{
    struct coalescer c;
    const bool updates_only = way == LOWER_UPDATES;
    if (merge_extends(m, EXTENSION_index_params) && !updates_only)
        make_variable(m);
    open_coalescer(&c, m);
    find_candidates(c.a.o, updates_only, list);
    if (!updates_only)
        find_copies(&c, list);
    measure(&c, list);
    if (merge_extends(m, EXTENSION_by_bytes))
        sort(list, by_bytes);
    try_all(&c, list, way == SHORT_CIRCUIT && !merge_extends(m, EXTENSION_by_bytes));
    sort(list, by_number);
    merge_replace_blocks(m, c.into);
    analysis_close(&c.a);
    arena_free(&c.arena);
}

/* ---- never more copies than without extensions ----------------------------------------------- */

/* The result of the pass on a copy of the program. */
struct attempt {
    struct merge merge;
    struct candidates list;
    struct held_peak peak;
};

static void try_extensions(struct attempt *t, const struct merge *m, unsigned extensions)
{
    *t = (struct attempt){.merge = {.options = m->options, .pass = m->pass}};
    t->merge.program = program_clone(m->fun);
    t->merge.fun = &t->merge.program->funs[0];
    t->merge.options.extensions = extensions;
    run_over(&t->merge, COALESCE, &t->list);
    t->peak = held_peak(&t->merge, m->options.hold);
}

static void drop(struct attempt *t)
{
    program_free(t->merge.program);
    free(t->merge.events);
    free(t->list.items);
}

/* Takes over the program and the decisions, and frees the rest. */
static void adopt(struct merge *m, struct attempt *t)
{
    program_free(m->program);
    m->program = t->merge.program;
    m->fun = t->merge.fun;
    for (unsigned i = 0; i < t->merge.event_count; i++)
        merge_note(m, &t->merge.events[i]);
    t->merge.program = NULL;
    drop(t);
}

/* Of a body's copies, how many more does one list leave than another, and how many more bytes? */
struct excess {
    int64_t count, bytes;
};

static bool any_left(const struct candidates *list)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->items[i].left)
            return true;
    return false;
}

/* Does `list` leave no body of the program with more copies or more bytes copied than `plain` does?
 * All copies of a body are made equally often, in any run. */
static bool copies_no_more(const struct candidates *list, const struct candidates *plain)
{
    unsigned scope_count = 0;
    for (unsigned i = 0; i < plain->count; i++)
        if (plain->items[i].scope >= scope_count)
            scope_count = plain->items[i].scope + 1;
    struct excess *excess = must_alloc((scope_count + 1) * sizeof *excess);
    bool good = true;
    for (unsigned i = 0; i < list->count && good; i++) {
        const struct candidate *x = &list->items[i], *y = &plain->items[i];
        const bool known = y->bytes != UNKNOWN_BYTES && y->fixed;
        if (x->left == y->left)
            continue;
        excess[y->scope].count += x->left ? 1 : -1;
        if (known)
            excess[y->scope].bytes += x->left ? y->bytes : -y->bytes;
        good = known || !x->left;
    }
    for (unsigned scope = 0; scope < scope_count && good; scope++)
        good = excess[scope].count <= 0 && excess[scope].bytes <= 0;
    free(excess);
    return good;
}

static bool is_no_worse(const struct attempt *t, const struct attempt *plain)
{
    const bool holds_no_more =
        t->peak.most <= plain->peak.most && t->peak.certain <= plain->peak.certain;
    return (holds_no_more || t->merge.options.veto) && copies_no_more(&t->list, &plain->list);
}

static void run_extended(struct merge *m)
{
    const unsigned all = m->options.extensions, none = all & ~(unsigned)MERGE_ALL_EXTENSIONS;
    struct attempt plain, extended;
    try_extensions(&plain, m, none);
    if (!any_left(&plain.list)) {
        adopt(m, &plain);
        return;
    }
    try_extensions(&extended, m, all);
    const bool good = is_no_worse(&extended, &plain);
    adopt(m, good ? &extended : &plain);
    drop(good ? &plain : &extended);
}

/* ---- the passes ------------------------------------------------------------------------------ */

static int run_way(struct merge *m, enum way way)
{
    struct candidates list = {0};
    run_over(m, way, &list);
    free(list.items);
    return 0;
}

int merge_run_coalesce(struct merge *m)
{
    if (!(m->options.extensions & MERGE_ALL_EXTENSIONS))
        return run_way(m, COALESCE);
    run_extended(m);
    return 0;
}

/* In-place lowering, which Futhark had before the thesis: only `y = x with [s] <- t`. */
int merge_run_inplace(struct merge *m)
{
    return run_way(m, LOWER_UPDATES);
}

/* From the last copy up: what a source is made of is copied to where the source itself is made. */
int merge_run_short_circuit(struct merge *m)
{
    return run_way(m, SHORT_CIRCUIT);
}
