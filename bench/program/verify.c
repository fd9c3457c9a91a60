/* The verifier: checks programs that a person or a pass made.
 *
 * Scopes, kinds, types and ranks of every statement; uniqueness; and, once there is memory, that
 * views and existential results name the memory that they are in. Sizes are checked when the
 * program runs.
 */
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

/* ---- families: which arrays may share elements, and which are consumed ----------------------- */

/* Arrays that may share elements are in one *family* (union-find). Consuming an array ends the
 * family. A family remembers how many loops deep it began, because an array that is consumed in a
 * loop must begin there. It also remembers whether it belongs to a caller that did not mark it `*`.
 */
struct family {
    int parent;
    unsigned depth;                  /* loops around its beginning */
    bool foreign;                    /* a parameter or loop variable that is not unique is in it */
    struct source_position consumed; /* line 0: not yet */
};

/* The state of a family before it was consumed. */
struct family_change {
    int family;
    struct source_position before;
};

struct families {
    int *of; /* by name, for arrays */
    struct family *items;
    unsigned count, capacity;
    struct family_change *changes; /* all so far, so that those of a branch can be undone */
    unsigned change_count, change_capacity;
};

static void families_open(struct families *f, unsigned name_count)
{
    *f = (struct families){.of = must_alloc(name_count * sizeof *f->of)};
}

static void families_close(struct families *f)
{
    free(f->of);
    free(f->items);
    free(f->changes);
}

static int find_family(struct families *f, int family)
{
    while (f->items[family].parent != family)
        family = f->items[family].parent = f->items[f->items[family].parent].parent;
    return family;
}

/* The array begins a family, `depth` loops deep. */
static void families_begin(struct families *f, int array, unsigned depth, bool foreign)
{
    f->items = must_grow(f->items, f->count, &f->capacity, sizeof *f->items);
    int family = (int)f->count++;
    f->items[family] = (struct family){.parent = family, .depth = depth, .foreign = foreign};
    f->of[array] = family;
}

/* The array, which has no family yet, is a view of `whole`. */
static void families_add(struct families *f, int array, int whole)
{
    f->of[array] = find_family(f, f->of[whole]);
}

static void set_consumed(struct families *f, int family, struct source_position at)
{
    f->changes = must_grow(f->changes, f->change_count, &f->change_capacity, sizeof *f->changes);
    f->changes[f->change_count++] = (struct family_change){family, f->items[family].consumed};
    f->items[family].consumed = at;
}

static void families_join(struct families *f, int a, int b)
{
    a = find_family(f, f->of[a]);
    b = find_family(f, f->of[b]);
    if (a == b)
        return;
    struct family *into = &f->items[a], *from = &f->items[b];
    if (from->depth < into->depth)
        into->depth = from->depth;
    into->foreign |= from->foreign;
    if (from->consumed.line)
        set_consumed(f, a, from->consumed);
    from->parent = a;
}

/* Valid until the next change. */
static const struct family *families_get(struct families *f, int array)
{
    return &f->items[find_family(f, f->of[array])];
}

/* An if's result shares its elements with a branch's result, unless the other branch consumed
 * these: then no other name can use them. */
static void families_join_if_alive(struct families *f, int out, int result)
{
    const struct family *given = families_get(f, result);
    struct family *own = &f->items[find_family(f, f->of[out])];
    if (!given->consumed.line)
        families_join(f, out, result);
    else if (given->depth < own->depth)
        own->depth = given->depth;
}

static void families_consume(struct families *f, int array, struct source_position at)
{
    set_consumed(f, find_family(f, f->of[array]), at);
}

static bool families_same(struct families *f, int a, int b)
{
    return find_family(f, f->of[a]) == find_family(f, f->of[b]);
}

/* An array that one branch consumes exists in the other branch, and not after both. So the caller
 * remembers change_count before the first branch, takes its changes back after it, and repeats them
 * after the second. families_repeat frees the list that families_take_back returns. */
static struct family_change *families_take_back(struct families *f, unsigned from, unsigned *count)
{
    *count = f->change_count - from;
    struct family_change *taken = must_alloc(*count * sizeof *taken);
    for (unsigned i = 0; i < *count; i++) {
        int family = find_family(f, f->changes[from + i].family);
        taken[i] = (struct family_change){family, f->items[family].consumed};
    }
    while (f->change_count > from) {
        const struct family_change *change = &f->changes[--f->change_count];
        f->items[find_family(f, change->family)].consumed = change->before;
    }
    return taken;
}

static void families_repeat(struct families *f, struct family_change *taken, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (taken[i].before.line)
            set_consumed(f, find_family(f, taken[i].family), taken[i].before);
    free(taken);
}

/* ---- the verifier ---------------------------------------------------------------------------- */

struct verifier {
    const struct program *program;
    const struct fun *fun;
    struct error *error;
    bool *in_scope;
    struct families families;
    unsigned depth; /* loops around the current statement */
};

#define FAIL(v, at, ...) program_error((v)->program, (v)->error, ERR_PARSE, at, __VA_ARGS__)

static const struct name *verify_name(const struct verifier *v, int n)
{
    return &v->fun->names[n];
}

/* ---- uniqueness ------------------------------------------------------------------------------ */

static int use_array(struct verifier *v, int array, struct source_position at)
{
    const struct name *n = verify_name(v, array);
    if (!v->in_scope[array] || n->kind != NAME_ARRAY)
        return FAIL(v, at, "'%s' is not an array that is in scope here", n->text);
    struct source_position consumed = families_get(&v->families, array)->consumed;
    if (consumed.line)
        return FAIL(v, at, "'%s' was consumed in line %u and cannot be used any more", n->text,
                    consumed.line);
    return 0;
}

static int consume(struct verifier *v, int array, struct source_position at)
{
    TRY(use_array(v, array, at));
    const struct family *f = families_get(&v->families, array);
    if (f->foreign)
        return FAIL(v, at,
                    "'%s' may not be consumed: mark the parameter or loop variable it comes "
                    "from with '*', or copy it first",
                    verify_name(v, array)->text);
    if (f->depth < v->depth)
        return FAIL(v, at,
                    "'%s' is from outside of this loop and would be consumed in every "
                    "iteration: make it a unique loop variable",
                    verify_name(v, array)->text);
    families_consume(&v->families, array, at);
    return 0;
}

/* ---- scopes and types ------------------------------------------------------------------------ */

/* `e` may be NULL: there is nothing to check. */
static int check_expr(struct verifier *v, const struct expr *e, struct source_position at)
{
    if (!e || e->op == EXPR_CONSTANT)
        return 0;
    if (e->op == EXPR_NAME) {
        const struct name *n = verify_name(v, e->name);
        if (!v->in_scope[e->name] || n->kind != NAME_SCALAR)
            return FAIL(v, at, "'%s' is not a scalar that is in scope here", n->text);
        return 0;
    }
    TRY(check_expr(v, e->arg[0], at));
    return check_expr(v, e->arg[1], at);
}

static int check_memory(struct verifier *v, int memory, struct source_position at)
{
    const struct name *n = verify_name(v, memory);
    if (!v->in_scope[memory] || n->kind != NAME_MEMORY)
        return FAIL(v, at, "'%s' is not a memory block that is in scope here", n->text);
    return 0;
}

/* Brings a name into scope after checking what its type mentions. */
static int bind(struct verifier *v, int name)
{
    const struct name *n = verify_name(v, name);
    if (v->in_scope[name])
        return FAIL(v, n->at, "'%s' is bound twice", n->text);
    for (unsigned d = 0; d < n->rank; d++)
        TRY(check_expr(v, n->shape[d], n->at));
    TRY(check_expr(v, n->bytes, n->at));
    if (n->memory != NO_NAME)
        TRY(check_memory(v, n->memory, n->at));
    if (n->index.offset) {
        TRY(check_expr(v, n->index.offset, n->at));
        for (unsigned d = 0; d < n->rank + n->thread_rank; d++)
            TRY(check_expr(v, n->index.stride[d], n->at));
    }
    v->in_scope[name] = true;
    if (n->block)
        v->in_scope[fun_find(v->fun, n->block, strlen(n->block))] = true;
    return 0;
}

static void unbind(struct verifier *v, int name)
{
    const char *block = verify_name(v, name)->block;
    v->in_scope[name] = false;
    if (block)
        v->in_scope[fun_find(v->fun, block, strlen(block))] = false;
}

/* One memory name passes its block to another, so both are in one space. */
static int check_same_space(struct verifier *v, int a, int b, struct source_position at)
{
    const struct name *x = verify_name(v, a), *y = verify_name(v, b);
    if (x->kind != NAME_MEMORY || y->kind != NAME_MEMORY || x->space == y->space)
        return 0;
    return FAIL(v, at,
                "'%s' is %s memory but gets '%s', which is %s memory: a block stays in its space",
                x->text, space_name(x->space), y->text, space_name(y->space));
}

static int check_same_type(struct verifier *v, int a, int b, struct source_position at)
{
    const struct name *x = verify_name(v, a), *y = verify_name(v, b);
    TRY(check_same_space(v, a, b, at));
    if (x->kind != y->kind || x->rank != y->rank ||
        (x->kind != NAME_MEMORY && x->element != y->element))
        return FAIL(v, at, "'%s' and '%s' are not of the same type", x->text, y->text);
    return 0;
}

static int check_element(struct verifier *v, const struct stm *s, int out, int source)
{
    if (verify_name(v, out)->element != verify_name(v, source)->element)
        return FAIL(v, s->at, "'%s' holds %s, but '%s' holds %s", verify_name(v, out)->text,
                    element_name(verify_name(v, out)->element), verify_name(v, source)->text,
                    element_name(verify_name(v, source)->element));
    return 0;
}

static int check_rank(struct verifier *v, const struct stm *s, int name, unsigned rank)
{
    const struct name *n = verify_name(v, name);
    if (n->rank != rank)
        return FAIL(v, s->at, "'%s' has %u dimension%s where %u are expected", n->text, n->rank,
                    n->rank == 1 ? "" : "s", rank);
    return 0;
}

/* A view is in the memory of its source. */
static int check_view_memory(struct verifier *v, const struct stm *s, int out, int source)
{
    const struct name *o = verify_name(v, out), *n = verify_name(v, source);
    if (o->memory != NO_NAME && n->memory != NO_NAME && o->memory != n->memory)
        return FAIL(v, s->at, "'%s' is in block '%s', but it is a view of '%s', which is in '%s'",
                    o->text, verify_name(v, o->memory)->text, n->text,
                    verify_name(v, n->memory)->text);
    return 0;
}

/* ---- statements ------------------------------------------------------------------------------ */

static int verify_body(struct verifier *v, const struct body *body);

/* Checks slice against the rank of the array it cuts; *kept receives the rank of what is left. */
static int check_slice(struct verifier *v, const struct stm *s, unsigned *kept)
{
    TRY(check_rank(v, s, s->array, slice_array_rank(s->slice, s->slice_rank)));
    *kept = 0;
    for (unsigned d = 0; d < s->slice_rank; d++) {
        const struct slice_dim *dim = &s->slice[d];
        *kept += !dim->fixed;
        TRY(check_expr(v, dim->start, s->at));
        TRY(check_expr(v, dim->length, s->at));
        TRY(check_expr(v, dim->step, s->at));
    }
    return 0;
}

static int verify_update(struct verifier *v, const struct stm *s, int out)
{
    unsigned kept;
    TRY(use_array(v, s->array, s->at));
    TRY(check_slice(v, s, &kept));
    TRY(check_same_type(v, out, s->array, s->at));
    TRY(check_view_memory(v, s, out, s->array));
    if (s->value != NO_NAME) {
        TRY(use_array(v, s->value, s->at));
        TRY(check_element(v, s, s->array, s->value));
        TRY(check_rank(v, s, s->value, kept));
    } else {
        TRY(check_expr(v, s->expr, s->at));
    }
    TRY(consume(v, s->array, s->at));
    families_begin(&v->families, out, v->depth, false);
    return 0;
}

static int verify_view(struct verifier *v, const struct stm *s, int out)
{
    TRY(use_array(v, s->array, s->at));
    TRY(check_element(v, s, out, s->array));
    TRY(check_view_memory(v, s, out, s->array));
    unsigned kept = verify_name(v, s->array)->rank;
    if (s->kind == STM_SLICE)
        TRY(check_slice(v, s, &kept));
    if (s->kind != STM_RESHAPE)
        TRY(check_rank(v, s, out, kept));
    families_add(&v->families, out, s->array);
    return 0;
}

static int verify_concat(struct verifier *v, const struct stm *s, int out)
{
    for (unsigned i = 0; i < s->piece_count; i++) {
        TRY(use_array(v, s->pieces[i].array, s->at));
        TRY(check_element(v, s, out, s->pieces[i].array));
        TRY(check_rank(v, s, s->pieces[i].array, verify_name(v, out)->rank));
    }
    families_begin(&v->families, out, v->depth, false);
    return 0;
}

static int verify_kernel(struct verifier *v, const struct stm *s)
{
    const struct kernel *k = s->kernel;
    for (unsigned d = 0; d < k->rank; d++)
        TRY(check_expr(v, k->extents[d], k->at));
    for (unsigned i = 0; i < k->scalar_count; i++)
        if (!v->in_scope[k->scalars[i]])
            return FAIL(v, k->at, "'%s' is not in scope in kernel '%s'",
                        verify_name(v, k->scalars[i])->text, k->name);
    for (unsigned i = 0; i < k->private_count; i++) {
        TRY(bind(v, k->privates[i]));
        families_begin(&v->families, k->privates[i], v->depth, false);
    }
    for (unsigned i = s->out_count; i < k->array_count;
         i++) /* after the outs: arrays that are only read */
        TRY(use_array(v, k->arrays[i], k->at));
    for (unsigned o = 0; o < s->out_count; o++) {
        if (verify_name(v, s->outs[o])->kind != NAME_ARRAY)
            return FAIL(v, s->at, "a kernel's results are arrays, but '%s' is not",
                        verify_name(v, s->outs[o])->text);
        if (k->taken_over[o] != NO_NAME) {
            TRY(check_same_type(v, s->outs[o], k->taken_over[o], s->at));
            TRY(check_view_memory(v, s, s->outs[o], k->taken_over[o]));
            TRY(consume(v, k->taken_over[o], s->at));
        }
        families_begin(&v->families, s->outs[o], v->depth, false);
    }
    for (unsigned i = s->out_count; i < k->array_count; i++) /* none of them was taken over */
        TRY(use_array(v, k->arrays[i], k->at));
    for (unsigned i = 0; i < k->private_count; i++)
        unbind(v, k->privates[i]);
    return 0;
}

/* Checks the block of the i-th array among values that are passed on (results, initial values). It
 * must be the receiver's block, or, if that is received too, the block passed on for it. */
static int check_passed_memory(struct verifier *v, const int *receivers, const int *values,
                               unsigned count, unsigned i, struct source_position at)
{
    const struct name *receiver = verify_name(v, receivers[i]), *value = verify_name(v, values[i]);
    if (receiver->kind != NAME_ARRAY || receiver->memory == NO_NAME || value->memory == NO_NAME)
        return 0;
    int expected = receiver->memory;
    for (unsigned j = 0; j < count; j++)
        if (receivers[j] == receiver->memory)
            expected = values[j];
    if (value->memory != expected)
        return FAIL(v, at, "'%s' is in block '%s', but '%s' is expected", value->text,
                    verify_name(v, value->memory)->text, verify_name(v, expected)->text);
    return 0;
}

static int check_results(struct verifier *v, const struct body *body, const int *receivers,
                         unsigned count)
{
    if (body->result_count != count)
        return FAIL(v, body->results_at, "%u results where %u are expected", body->result_count,
                    count);
    for (unsigned i = 0; i < count; i++) {
        TRY(check_same_type(v, receivers[i], body->results[i], body->results_at));
        TRY(check_passed_memory(v, receivers, body->results, count, i, body->results_at));
    }
    return 0;
}

static int verify_if(struct verifier *v, const struct stm *s)
{
    TRY(check_expr(v, s->expr, s->at));
    const unsigned start = v->families.change_count;
    int code = verify_body(v, s->then);
    THEN(code, check_results(v, s->then, s->outs, s->out_count));
    unsigned count;
    struct family_change *taken = families_take_back(&v->families, start, &count);
    THEN(code, verify_body(v, s->otherwise));
    THEN(code, check_results(v, s->otherwise, s->outs, s->out_count));
    families_repeat(&v->families, taken, count);
    TRY(code);
    for (unsigned i = 0; i < s->out_count; i++)
        if (verify_name(v, s->outs[i])->kind == NAME_ARRAY) {
            families_begin(&v->families, s->outs[i], v->depth, false);
            families_join_if_alive(&v->families, s->outs[i], s->then->results[i]);
            families_join_if_alive(&v->families, s->outs[i], s->otherwise->results[i]);
        }
    return 0;
}

static int verify_loop_entry(struct verifier *v, const struct stm *s)
{
    const struct loop *l = s->loop;
    for (unsigned i = 0; i < l->param_count; i++) {
        const struct name *param = verify_name(v, l->params[i]);
        if (l->init_exprs[i]) {
            TRY(check_expr(v, l->init_exprs[i], s->at));
            continue;
        }
        if (param->kind == NAME_MEMORY) {
            TRY(check_memory(v, l->init_names[i], s->at));
            TRY(check_same_space(v, l->params[i], l->init_names[i], s->at));
            continue;
        }
        TRY(use_array(v, l->init_names[i], s->at));
        TRY(check_same_type(v, l->params[i], l->init_names[i], s->at));
    }
    for (unsigned i = 0; i < l->param_count; i++)
        if (!l->init_exprs[i])
            TRY(check_passed_memory(v, l->params, l->init_names, l->param_count, i, s->at));
    for (unsigned i = 0; i < l->param_count; i++)
        if (verify_name(v, l->params[i])->unique)
            TRY(consume(v, l->init_names[i], s->at));
    return l->bound ? check_expr(v, l->bound, s->at) : 0;
}

static int verify_loop_results(struct verifier *v, const struct loop *l)
{
    TRY(check_results(v, &l->body, l->params, l->param_count));
    for (unsigned i = 0; i < l->param_count; i++) {
        if (!verify_name(v, l->params[i])->unique)
            continue;
        const struct family *f = families_get(&v->families, l->body.results[i]);
        if (f->depth < v->depth || f->foreign)
            return FAIL(
                v, l->body.results_at,
                "'%s' is the next value of a unique loop variable, but other names may use it: "
                "copy it first",
                verify_name(v, l->body.results[i])->text);
        for (unsigned r = 0; r < l->param_count; r++)
            if (r != i && verify_name(v, l->params[r])->kind == NAME_ARRAY &&
                families_same(&v->families, l->body.results[r], l->body.results[i]))
                return FAIL(v, l->body.results_at,
                            "'%s' is the next value of a unique loop variable, but '%s', the next "
                            "value of another one, may share its elements: copy it first",
                            verify_name(v, l->body.results[i])->text,
                            verify_name(v, l->body.results[r])->text);
    }
    return 0;
}

static int verify_loop(struct verifier *v, const struct stm *s)
{
    const struct loop *l = s->loop;
    TRY(verify_loop_entry(v, s));
    v->depth++;
    for (unsigned i = 0; i < l->param_count; i++) {
        TRY(bind(v, l->params[i]));
        if (verify_name(v, l->params[i])->kind != NAME_ARRAY)
            continue;
        bool unique = verify_name(v, l->params[i])->unique;
        families_begin(&v->families, l->params[i], v->depth, !unique);
        if (!unique)
            families_join(&v->families, l->params[i], l->init_names[i]);
    }
    if (l->counter != NO_NAME)
        TRY(bind(v, l->counter));
    TRY(verify_body(v, &l->body));
    TRY(verify_loop_results(v, l));
    v->depth--;
    for (unsigned i = 0; i < l->param_count; i++)
        unbind(v, l->params[i]);
    if (l->counter != NO_NAME)
        v->in_scope[l->counter] = false;
    if (s->out_count != l->param_count)
        return FAIL(v, s->at, "%u names for %u loop variables", s->out_count, l->param_count);
    for (unsigned i = 0; i < s->out_count; i++) {
        TRY(check_same_type(v, s->outs[i], l->params[i], s->at));
        if (verify_name(v, s->outs[i])->kind != NAME_ARRAY)
            continue;
        families_begin(&v->families, s->outs[i], v->depth, false);
        if (!verify_name(v, l->params[i])->unique) {
            families_join(&v->families, s->outs[i], l->init_names[i]);
            families_join(&v->families, s->outs[i], l->body.results[i]);
        }
    }
    return 0;
}

/* The dimensions in front count how often the array is repeated. */
static int verify_repeated(struct verifier *v, const struct stm *s, int out)
{
    const struct name *to = verify_name(v, out), *from = verify_name(v, s->array);
    TRY(use_array(v, s->array, s->at));
    TRY(check_element(v, s, out, s->array));
    if (to->rank > from->rank)
        return 0;
    return FAIL(v, s->at,
                "'%s' has %u dimension%s; replicate('%s') needs %u or more: in front of the "
                "array's own, those that count how often it is repeated",
                to->text, to->rank, to->rank == 1 ? "" : "s", from->text, from->rank + 1);
}

static int verify_fresh(struct verifier *v, const struct stm *s, int out)
{
    const struct name *n = verify_name(v, out);
    if (s->kind == STM_IOTA && (n->rank != 1 || n->element == ELEMENT_bool))
        return FAIL(v, s->at, "iota makes an array of numbers with one dimension");
    if (s->kind == STM_REPLICATE)
        TRY(s->expr ? check_expr(v, s->expr, s->at) : verify_repeated(v, s, out));
    if (s->kind == STM_COPY) {
        TRY(use_array(v, s->array, s->at));
        TRY(check_same_type(v, out, s->array, s->at));
    }
    families_begin(&v->families, out, v->depth, false);
    return 0;
}

static int verify_scalar(struct verifier *v, const struct stm *s, int out)
{
    if (s->kind != STM_ELEMENT)
        return check_expr(v, s->expr, s->at);
    unsigned kept;
    TRY(use_array(v, s->array, s->at));
    TRY(check_slice(v, s, &kept));
    return check_element(v, s, out, s->array);
}

static enum name_kind result_kind(enum stm_kind kind)
{
    return kind == STM_SCALAR || kind == STM_ELEMENT ? NAME_SCALAR
           : kind == STM_ALLOC                       ? NAME_MEMORY
                                                     : NAME_ARRAY;
}

static int verify_single(struct verifier *v, const struct stm *s)
{
    static const char *const kinds[] = {"a scalar", "an array", "a memory block"};
    enum name_kind kind = result_kind(s->kind);
    int out = s->outs[0];
    if (s->out_count != 1)
        return FAIL(v, s->at, "this gives one result, but there are %u names for it", s->out_count);
    if (verify_name(v, out)->kind != kind)
        return FAIL(v, s->at, "this gives %s, but '%s' is %s", kinds[kind],
                    verify_name(v, out)->text, kinds[verify_name(v, out)->kind]);
    switch (s->kind) {
    case STM_SCALAR:
    case STM_ELEMENT:
        return verify_scalar(v, s, out);
    case STM_ALLOC:
        return check_expr(v, s->expr, s->at);
    case STM_SCRATCH:
    case STM_IOTA:
    case STM_REPLICATE:
    case STM_COPY:
        return verify_fresh(v, s, out);
    case STM_CONCAT:
        return verify_concat(v, s, out);
    case STM_UPDATE:
        return verify_update(v, s, out);
    default:
        return verify_view(v, s, out);
    }
}

static int verify_statement(struct verifier *v, const struct stm *s)
{
    switch (s->kind) {
    case STM_ASSERT:
        return check_expr(v, s->expr, s->at);
    case STM_IF:
        return verify_if(v, s);
    case STM_LOOP:
        return verify_loop(v, s);
    case STM_KERNEL:
        return verify_kernel(v, s);
    default:
        return verify_single(v, s);
    }
}

static int verify_body(struct verifier *v, const struct body *body)
{
    for (const struct stm *s = body->first; s; s = s->next) {
        TRY(verify_statement(v, s));
        for (unsigned o = 0; o < s->out_count; o++)
            TRY(bind(v, s->outs[o]));
    }
    for (unsigned i = 0; i < body->result_count; i++) {
        if (!v->in_scope[body->results[i]])
            return FAIL(v, body->results_at, "the result '%s' is not in scope",
                        verify_name(v, body->results[i])->text);
        if (verify_name(v, body->results[i])->kind == NAME_ARRAY)
            TRY(use_array(v, body->results[i], body->results_at));
    }
    for (const struct stm *s = body->first; s; s = s->next)
        for (unsigned o = 0; o < s->out_count; o++)
            unbind(v, s->outs[o]);
    return 0;
}

static int check_param_space(struct verifier *v, int param)
{
    const struct name *n = verify_name(v, param);
    if (n->kind != NAME_MEMORY || n->space == SPACE_DEVICE)
        return 0;
    return FAIL(v, n->at,
                "the parameter '%s' is %s memory, but parameters are in device memory; copy its "
                "contents inside the fun",
                n->text, space_name(n->space));
}

static int verify_fun(struct verifier *v)
{
    const struct fun *fun = v->fun;
    for (unsigned i = 0; i < fun->param_count; i++) {
        TRY(bind(v, fun->params[i]));
        TRY(check_param_space(v, fun->params[i]));
        if (verify_name(v, fun->params[i])->kind == NAME_ARRAY)
            families_begin(&v->families, fun->params[i], v->depth,
                           !verify_name(v, fun->params[i])->unique);
    }
    if (fun->traffic)
        TRY(check_expr(v, fun->traffic, fun->at));
    TRY(verify_body(v, &fun->body));
    for (unsigned i = 0; i < fun->body.result_count; i++)
        if (verify_name(v, fun->body.results[i])->kind == NAME_MEMORY)
            return FAIL(v, fun->body.results_at, "the results of a fun are arrays and scalars");
    return 0;
}

int program_verify(const struct program *program, struct error *error)
{
    int code = 0;
    for (unsigned f = 0; f < program->fun_count && !code; f++) {
        const struct fun *fun = &program->funs[f];
        struct verifier v = {.program = program, .fun = fun, .error = error};
        v.in_scope = must_alloc(fun->name_count * sizeof *v.in_scope);
        families_open(&v.families, fun->name_count);
        code = verify_fun(&v);
        free(v.in_scope);
        families_close(&v.families);
    }
    return code;
}
