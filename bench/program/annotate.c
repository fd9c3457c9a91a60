/* From programs without memory to programs with it: chapter 3 of the thesis.
 *
 *   1. An array that is created in full gets a block of its own, allocated just before.
 *   2. A view lives in its source's block; its index function is made from the source's.
 *   3. The result of a branch or a loop may be in one block or another: its memory is existential,
 *      a second result in addition to the array. If both branches, or all iterations, end in the
 *      same block with the same index function, the result has that block.
 *   4. A loop whose result is a fresh array in every iteration gets a second block outside of the
 *      loop (the double buffer), into which each iteration copies its result.
 *
 * All blocks are in device memory, with two exceptions: a block passed on keeps its space (3), and
 * a second block has the space of the first (4).
 *
 * Existential arrays are row-major: a result that is not is copied first. Rule 4 does not apply if
 * the loop still needs the old value (it is another result), or if its size varies.
 */
#include <string.h>

#include "program/program.h"

struct annotator {
    struct program *program;
    struct fun *fun;
    struct error *error;
};

static struct name *annotate_name(struct annotator *a, int name)
{
    return &a->fun->names[name];
}

/* ---- new names and statements --------------------------------------------------------------- */

static int add_memory_name(struct annotator *a, const char *base, enum space space,
                           struct expr *bytes)
{
    struct name n = {.kind = NAME_MEMORY, .memory = NO_NAME, .space = space, .bytes = bytes};
    n.at = a->fun->at;
    return fun_add_name(a->program, a->fun, arena_printf(&a->program->arena, "%s_mem", base), &n);
}

/* The name of the array's own block: the one that `@ mem` gives, or a new one after the array. */
static int own_block(struct annotator *a, int array, enum space space, struct expr *bytes)
{
    struct name *n = annotate_name(a, array);
    if (!n->block)
        return add_memory_name(a, n->text, space, bytes);
    int memory = fun_find(a->fun, n->block, strlen(n->block));
    n->block = NULL;
    annotate_name(a, memory)->space = space;
    annotate_name(a, memory)->bytes = bytes;
    return memory;
}

static int refuse_block(struct annotator *a, const struct name *n, const struct name *whole)
{
    return program_error(a->program, a->error, ERR_PARSE, n->at,
                         "'%s' lies in the block of '%s' and has none of its own that could be "
                         "called '%s': name the block of '%s'",
                         n->text, whole->text, n->block, whole->text);
}

static struct stm *new_statement(struct annotator *a, enum stm_kind kind, struct source_position at,
                                 int out)
{
    struct stm *s = arena_alloc(&a->program->arena, sizeof *s);
    s->kind = kind;
    s->at = at;
    s->array = s->value = NO_NAME;
    s->out_count = 1;
    s->outs = arena_alloc(&a->program->arena, sizeof *s->outs);
    s->outs[0] = out;
    return s;
}

/* Puts s in front of *link and returns the link after s. */
static struct stm **insert(struct stm **link, struct stm *s)
{
    s->next = *link;
    *link = s;
    return &s->next;
}

/* Gives `array` a block of its own of `bytes`, allocated in front of *link. */
static struct stm **allocate(struct annotator *a, struct stm **link, int array,
                             struct source_position at, struct expr *bytes)
{
    int memory = own_block(a, array, SPACE_DEVICE, NULL);
    struct stm *alloc = new_statement(a, STM_ALLOC, at, memory);
    alloc->expr = bytes;
    annotate_name(a, array)->memory = memory;
    return insert(link, alloc);
}

static struct stm **allocate_fresh(struct annotator *a, struct stm **link, int array,
                                   struct source_position at)
{
    return allocate(a, link, array, at, array_bytes(a->program, annotate_name(a, array)));
}

static enum space space_of(struct annotator *a, int array)
{
    return annotate_name(a, annotate_name(a, array)->memory)->space;
}

static bool is_plain(const struct name *array)
{
    return array->index.offset == NULL;
}

/* Appends to the list at *link a copy of `array` with the shape of `like`, in a block of its own.
 */
static int append_copy(struct annotator *a, struct stm **link, int array, const struct name *like,
                       const char *suffix, struct source_position at)
{
    struct name n = *like;
    n.unique = false;
    n.memory = NO_NAME;
    n.block = NULL;
    n.index = (struct index_function){0};
    n.at = at;
    int copy = fun_add_name(
        a->program, a->fun,
        arena_printf(&a->program->arena, "%s_%s", annotate_name(a, array)->text, suffix), &n);
    link = allocate_fresh(a, link, copy, at);
    struct stm *s = new_statement(a, STM_COPY, at, copy);
    s->array = array;
    insert(link, s);
    return copy;
}

static struct stm **end_of(struct body *body)
{
    struct stm **link = &body->first;
    while (*link)
        link = &(*link)->next;
    return link;
}

/* ---- views ---------------------------------------------------------------------------------- */

static bool is_row_major(struct program *program, const struct name *n)
{
    if (is_plain(n))
        return true;
    struct name plain = *n;
    plain.index.offset = NULL;
    for (unsigned d = 0; d < n->rank; d++)
        if (!expr_equal(n->index.stride[d], index_stride(program, &plain, d)))
            return false;
    return true;
}

static bool view_reshape(struct program *program, const struct name *source, const struct name *out,
                         struct index_function *index)
{
    if (!is_row_major(program, source))
        return false;
    if (is_plain(source))
        return true;
    struct name plain = *out;
    plain.index.offset = NULL;
    index->offset = source->index.offset;
    for (unsigned d = 0; d < out->rank; d++)
        index->stride[d] = index_stride(program, &plain, d);
    return true;
}

void program_slice_index(struct program *program, const struct stm *s, const struct name *source,
                         struct index_function *index)
{
    struct expr *offset = index_offset(program, source);
    unsigned kept = 0;
    for (unsigned d = 0; d < s->slice_rank; d++) {
        const struct slice_dim *dim = &s->slice[d];
        struct expr *stride = index_stride(program, source, slice_over(s->slice, d));
        if (dim->start)
            offset = expr_binary(program, EXPR_ADD, offset,
                                 expr_binary(program, EXPR_MUL, dim->start, stride));
        if (!dim->fixed)
            index->stride[kept++] =
                dim->step ? expr_binary(program, EXPR_MUL, dim->step, stride) : stride;
    }
    index->offset = offset;
}

bool program_view_index(struct program *program, const struct fun *fun, const struct stm *s,
                        const struct name *source, struct index_function *index)
{
    const struct name *out = &fun->names[s->outs[0]];
    *index = (struct index_function){0};
    switch (s->kind) {
    case STM_RESHAPE:
        return view_reshape(program, source, out, index);
    case STM_REARRANGE:
        index->offset = index_offset(program, source);
        for (unsigned d = 0; d < out->rank; d++)
            index->stride[d] = index_stride(program, source, s->permutation[d]);
        return true;
    case STM_SLICE:
        program_slice_index(program, s, source, index);
        return true;
    default:
        *index = source->index;
        return true;
    }
}

static int annotate_view(struct annotator *a, const struct stm *s)
{
    struct name *out = annotate_name(a, s->outs[0]);
    const struct name *source = annotate_name(a, s->array);
    if (out->block)
        return refuse_block(a, out, source);
    if (out->memory != NO_NAME)
        return 0;
    out->memory = source->memory;
    if (program_view_index(a->program, a->fun, s, source, &out->index))
        return 0;
    return program_error(a->program, a->error, ERR_PARSE, s->at,
                         "'%s' is not row-major, so an offset and strides cannot express this "
                         "reshape; copy it first",
                         source->text);
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* One block for the private arrays of all threads: element k of thread (i, j) lies next to element
 * k of its neighbours, so that neighbouring threads touch neighbouring memory. In a kernel with
 * groups, a thread is an item of a group. */
static struct stm **annotate_private(struct annotator *a, struct stm **link, const struct kernel *k,
                                     int array)
{
    struct program *program = a->program;
    struct expr *threads = expr_constant(program, 1);
    struct name n = *annotate_name(a, array);
    for (unsigned d = n.thread_rank; d-- > 0;) {
        n.index.stride[d] = threads;
        threads = expr_binary(program, EXPR_MUL, k->extents[d], threads);
    }
    struct name plain = n;
    plain.index.offset = NULL;
    for (unsigned d = 0; d < n.rank; d++)
        n.index.stride[n.thread_rank + d] =
            expr_binary(program, EXPR_MUL, index_stride(program, &plain, d), threads);
    n.index.offset = expr_constant(program, 0);
    struct expr *bytes = expr_binary(program, EXPR_MUL, array_bytes(program, &n), threads);
    link = allocate(a, link, array, k->at, bytes);
    annotate_name(a, array)->index = n.index;
    return link;
}

static struct stm **annotate_kernel(struct annotator *a, struct stm **link, const struct stm *s,
                                    int *code)
{
    const struct kernel *k = s->kernel;
    for (unsigned o = 0; o < s->out_count; o++) {
        struct name *out = annotate_name(a, s->outs[o]);
        if (out->memory != NO_NAME)
            continue;
        if (k->taken_over[o] == NO_NAME) {
            link = allocate_fresh(a, link, s->outs[o], s->at);
        } else if (out->block) {
            *code = refuse_block(a, out, annotate_name(a, k->taken_over[o]));
            return link;
        } else {
            out->memory = annotate_name(a, k->taken_over[o])->memory;
            out->index = annotate_name(a, k->taken_over[o])->index;
        }
    }
    for (unsigned i = 0; i < k->private_count; i++)
        if (annotate_name(a, k->privates[i])->memory == NO_NAME)
            link = annotate_private(a, link, k, k->privates[i]);
    return link;
}

/* ---- branches and loops --------------------------------------------------------------------- */

/* Inserts `value` at `position` of a list that lives in the arena. */
static void insert_int(struct annotator *a, int **list, unsigned count, unsigned position,
                       int value)
{
    int *grown = arena_alloc(&a->program->arena, (count + 1) * sizeof *grown);
    for (unsigned i = 0; i <= count; i++)
        grown[i] = i < position ? (*list)[i] : i == position ? value : (*list)[i - 1];
    *list = grown;
}

static void insert_expr(struct annotator *a, struct expr ***list, unsigned count, unsigned position)
{
    struct expr **grown = arena_alloc(&a->program->arena, (count + 1) * sizeof *grown);
    for (unsigned i = 0; i <= count; i++)
        grown[i] = i < position ? (*list)[i] : i == position ? NULL : (*list)[i - 1];
    *list = grown;
}

static bool same_index(const struct name *a, const struct name *b)
{
    if (is_plain(a) || is_plain(b))
        return is_plain(a) && is_plain(b);
    bool same = expr_equal(a->index.offset, b->index.offset);
    for (unsigned d = 0; d < a->rank && same; d++)
        same = expr_equal(a->index.stride[d], b->index.stride[d]);
    return same;
}

/* Makes the r-th result of a body row-major and puts its memory in front of it. */
static void expose_memory(struct annotator *a, struct body *body, unsigned r)
{
    int array = body->results[r];
    if (!is_plain(annotate_name(a, array))) {
        array =
            append_copy(a, end_of(body), array, annotate_name(a, array), "plain", body->results_at);
        body->results[r] = array;
    }
    insert_int(a, &body->results, body->result_count++, r, annotate_name(a, array)->memory);
}

static void substitute(int *list, unsigned count, int old, int replacement)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] == old)
            list[i] = replacement;
}

static void substitute_in_body(struct body *body, int old, int replacement)
{
    substitute(body->results, body->result_count, old, replacement);
    for (struct stm *s = body->first; s; s = s->next) {
        if (s->kind == STM_IF) {
            substitute_in_body(s->then, old, replacement);
            substitute_in_body(s->otherwise, old, replacement);
        } else if (s->kind == STM_LOOP) {
            substitute(s->loop->init_names, s->loop->param_count, old, replacement);
            substitute_in_body(&s->loop->body, old, replacement);
        }
    }
}

/* Replaces the block `old`, a name used in `body` only, by `replacement`. */
static void substitute_memory(struct annotator *a, struct body *body, int old, int replacement)
{
    for (unsigned n = 0; n < a->fun->name_count; n++)
        if (annotate_name(a, (int)n)->memory == old)
            annotate_name(a, (int)n)->memory = replacement;
    substitute_in_body(body, old, replacement);
}

/* The result of a branch or a loop stays in the block `memory`, which is also what the text means
 * by the name that it gives to the result's block. */
static void settle_in(struct annotator *a, int out, int memory)
{
    const char *block = annotate_name(a, out)->block;
    annotate_name(a, out)->memory = memory;
    annotate_name(a, out)->block = NULL;
    if (block)
        substitute_memory(a, &a->fun->body, fun_find(a->fun, block, strlen(block)), memory);
}

static void annotate_if(struct annotator *a, struct stm *s)
{
    for (unsigned i = 0; i < s->out_count; i++) {
        struct name *out = annotate_name(a, s->outs[i]);
        if (out->kind != NAME_ARRAY || out->memory != NO_NAME)
            continue;
        const struct name *then = annotate_name(a, s->then->results[i]);
        const struct name *otherwise = annotate_name(a, s->otherwise->results[i]);
        if (then->memory == otherwise->memory && same_index(then, otherwise)) {
            out->index = then->index;
            settle_in(a, s->outs[i], then->memory);
            continue;
        }
        expose_memory(a, s->then, i);
        expose_memory(a, s->otherwise, i);
        int memory = own_block(a, s->outs[i], space_of(a, s->then->results[i + 1]), NULL);
        annotate_name(a, s->outs[i])->memory = memory;
        insert_int(a, &s->outs, s->out_count++, i, memory);
        i++;
    }
}

/* Does e mention a name that the loop binds anew in every iteration? */
static bool varies(const struct loop *l, const struct expr *e)
{
    if (e->op == EXPR_CONSTANT)
        return false;
    if (e->op != EXPR_NAME)
        return varies(l, e->arg[0]) || (e->arg[1] && varies(l, e->arg[1]));
    for (unsigned i = 0; i < l->param_count; i++)
        if (l->params[i] == e->name)
            return true;
    return e->name == l->counter;
}

static bool allocated_in(const struct body *body, int memory)
{
    for (const struct stm *s = body->first; s; s = s->next)
        if (s->kind == STM_ALLOC && s->outs[0] == memory)
            return true;
    return false;
}

/* May the loop's i-th array result be copied into a second block while the old value dies? */
static bool can_double_buffer(struct annotator *a, const struct loop *l, unsigned i)
{
    const struct name *param = annotate_name(a, l->params[i]);
    for (unsigned d = 0; d < param->rank; d++)
        if (varies(l, param->shape[d]))
            return false;
    for (unsigned r = 0; r < l->param_count; r++) {
        const struct name *result = annotate_name(a, l->body.results[r]);
        if (result->kind != NAME_ARRAY || allocated_in(&l->body, result->memory))
            continue;
        if (r == i || result->memory != annotate_name(a, l->params[r])->memory)
            return false;
    }
    return true;
}

static int annotate_body(struct annotator *a, struct body *body);

/* Adds the loop's existential memory for its i-th variable; the body has been annotated. */
static struct stm **finish_loop_array(struct annotator *a, struct stm **link, struct stm *s,
                                      unsigned i, bool double_buffer)
{
    struct loop *l = s->loop;
    int memory = annotate_name(a, l->params[i])->memory;
    struct name *param = annotate_name(a, l->params[i]);
    if (double_buffer) {
        int kept =
            append_copy(a, end_of(&l->body), l->body.results[i], param, "kept", l->body.results_at);
        /* The copy's own allocation moves out of the loop. */
        struct stm **at = &l->body.first;
        while (!((*at)->kind == STM_ALLOC && (*at)->outs[0] == annotate_name(a, kept)->memory))
            at = &(*at)->next;
        struct stm *alloc = *at;
        *at = alloc->next;
        annotate_name(a, alloc->outs[0])->space = annotate_name(a, memory)->space;
        link = insert(link, alloc);
        l->body.results[i] = kept;
    }
    expose_memory(a, &l->body, i);
    insert_int(a, &l->init_names, l->param_count, i, annotate_name(a, l->init_names[i])->memory);
    insert_expr(a, &l->init_exprs, l->param_count, i);
    insert_int(a, &l->params, l->param_count++, i, memory);
    int out_memory = own_block(a, s->outs[i], annotate_name(a, memory)->space, NULL);
    annotate_name(a, s->outs[i])->memory = out_memory;
    insert_int(a, &s->outs, s->out_count++, i, out_memory);
    return link;
}

static struct stm **annotate_loop(struct annotator *a, struct stm **link, struct stm *s, int *code)
{
    struct loop *l = s->loop;
    bool added[256] = {false};
    for (unsigned i = 0; i < l->param_count; i++) {
        struct name *param = annotate_name(a, l->params[i]);
        if (param->kind != NAME_ARRAY || param->memory != NO_NAME)
            continue;
        if (!is_plain(annotate_name(a, l->init_names[i]))) {
            int copy = append_copy(a, link, l->init_names[i], annotate_name(a, l->init_names[i]),
                                   "plain", s->at);
            l->init_names[i] = copy;
            while (*link != s)
                link = &(*link)->next;
        }
        int memory = own_block(a, l->params[i], space_of(a, l->init_names[i]), NULL);
        annotate_name(a, l->params[i])->memory = memory;
        added[i] = true;
    }
    *code = annotate_body(a, &l->body);
    if (*code)
        return link;
    bool buffers[256] = {false};
    for (unsigned i = 0; i < l->param_count; i++)
        buffers[i] = added[i] && can_double_buffer(a, l, i);
    for (unsigned i = 0, original = 0; i < l->param_count; i++, original++) {
        if (!added[original])
            continue;
        int own = annotate_name(a, l->params[i])->memory;
        const struct name *result = annotate_name(a, l->body.results[i]);
        if (result->memory == own && is_plain(result)) { /* only updated in place */
            int init = annotate_name(a, l->init_names[i])->memory;
            substitute_memory(a, &l->body, own, init);
            settle_in(a, s->outs[i], init);
        } else {
            link = finish_loop_array(a, link, s, i, buffers[original]);
            i++;
        }
    }
    return link;
}

/* ---- all ------------------------------------------------------------------------------------ */

static int annotate_body(struct annotator *a, struct body *body)
{
    for (struct stm **link = &body->first; *link; link = &(*link)->next) {
        struct stm *s = *link;
        int code = 0;
        switch (s->kind) {
        case STM_SCRATCH:
        case STM_IOTA:
        case STM_REPLICATE:
        case STM_COPY:
        case STM_CONCAT:
            if (annotate_name(a, s->outs[0])->memory == NO_NAME)
                link = allocate_fresh(a, link, s->outs[0], s->at);
            break;
        case STM_ALIAS:
        case STM_RESHAPE:
        case STM_REARRANGE:
        case STM_SLICE:
        case STM_UPDATE:
            code = annotate_view(a, s);
            break;
        case STM_KERNEL:
            link = annotate_kernel(a, link, s, &code);
            break;
        case STM_IF:
            code = annotate_body(a, s->then);
            THEN(code, annotate_body(a, s->otherwise));
            if (!code)
                annotate_if(a, s);
            break;
        case STM_LOOP:
            link = annotate_loop(a, link, s, &code);
            break;
        case STM_SCALAR:
        case STM_ELEMENT:
        case STM_ASSERT:
        case STM_ALLOC:
            break;
        }
        TRY(code);
    }
    return 0;
}

static void annotate_params(struct annotator *a)
{
    for (unsigned i = 0; i < a->fun->param_count; i++) {
        struct name *n = annotate_name(a, a->fun->params[i]);
        if (n->kind != NAME_ARRAY || n->memory != NO_NAME)
            continue;
        int memory = own_block(a, a->fun->params[i], SPACE_DEVICE, array_bytes(a->program, n));
        annotate_name(a, a->fun->params[i])->memory = memory;
        insert_int(a, &a->fun->params, a->fun->param_count++, i, memory);
        i++;
    }
}

/* Marks the copies that end an iteration by moving its result into a block from outside the
 * loop. */
static void mark_loop_carried(struct body *body, const struct fun *fun, bool in_loop)
{
    for (struct stm *s = body->first; s; s = s->next) {
        if (s->kind == STM_IF) {
            mark_loop_carried(s->then, fun, false);
            mark_loop_carried(s->otherwise, fun, false);
        }
        if (s->kind == STM_LOOP)
            mark_loop_carried(&s->loop->body, fun, true);
        if (s->kind != STM_COPY || !in_loop)
            continue;
        for (unsigned r = 0; r < body->result_count; r++)
            if (body->results[r] == s->outs[0])
                s->loop_carried = !allocated_in(body, fun->names[s->outs[0]].memory);
    }
}

int program_annotate(struct program *program, struct error *error)
{
    for (unsigned f = 0; f < program->fun_count; f++) {
        struct annotator a = {program, &program->funs[f], error};
        annotate_params(&a);
        TRY(annotate_body(&a, &a.fun->body));
        mark_loop_carried(&a.fun->body, a.fun, false);
    }
    return 0;
}

int program_read(const char *path, const char *text, size_t length, struct program **program,
                 struct error *error)
{
    TRY(program_parse(path, text, length, program, error));
    int code = program_verify(*program, error);
    THEN(code, program_annotate(*program, error));
    THEN(code, program_verify(*program, error));
    if (code) {
        program_free(*program);
        *program = NULL;
    }
    return code;
}
