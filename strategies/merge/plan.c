/* Planning: all blocks whose sizes are known become parts of one, the arena.
 *
 * A block's lifetime is the moments at which it holds something that is needed (numbers.h), so that
 * the results of two branches of an if may overlap. It may have several spans; a block that a loop
 * reads from outside is alive to the loop's end. Blocks with disjoint lifetimes may overlap in the
 * arena. The packer (pack.h) finds where each begins: first with each block aligned only for its
 * elements, for the least height; then with the widest alignment that keeps this height, because
 * GPUs prefer it.
 *
 * The program then holds for these sizes only, and asserts them. Three kinds of block stay out of
 * the arena: those whose size is not known before the program runs; those that a loop passes on
 * while it allocates them anew; and those that are not in device memory. If a branch or a loop
 * gives one block or another, it also gives the offset in the arena: a scalar for each existential
 * block.
 */
#include <stdlib.h>

#include "merge/analysis.h"
#include "merge/list.h"
#include "merge/pack/pack.h"
#include "merge/offsets.h"

enum { WIDEST_ALIGNMENT = 256 };

struct planner {
    struct analysis a;
    struct moments *moments;
    struct numbers *numbers; /* without what the program reads: no arena depends on that */
    unsigned count;
    int *blocks; /* the blocks that go into the arena */
    struct pack_buffer *buffers;
    struct pack_interval *intervals;
};

static const struct name *plan_name(const struct planner *p, int name)
{
    return &p->a.m->fun->names[name];
}

/* ---- which blocks --------------------------------------------------------------------------- */

static int64_t element_alignment(const struct planner *p, const struct memory *of)
{
    int64_t alignment = 1;
    for (unsigned i = 0; i < of->array_count; i++) {
        int64_t bytes = (int64_t)element_bytes(plan_name(p, of->arrays[i])->element);
        alignment = bytes > alignment ? bytes : alignment;
    }
    for (unsigned e = 0; e < of->existential_count; e++) {
        const struct memory *existential = &p->a.map->of[of->existentials[e]];
        for (unsigned i = 0; i < existential->array_count; i++) {
            int64_t bytes = (int64_t)element_bytes(plan_name(p, existential->arrays[i])->element);
            alignment = bytes > alignment ? bytes : alignment;
        }
    }
    return alignment;
}

static enum merge_condition may_be_planned(const struct planner *p, int block)
{
    const struct memory *of = &p->a.map->of[block];
    if (plan_name(p, block)->space != SPACE_DEVICE && merge_checks(p->a.m, CONDITION_space))
        return CONDITION_space;
    if (p->numbers->bytes[block] == UNKNOWN_BYTES)
        return p->numbers->reached[block] ? CONDITION_unknown_size : CONDITION_untaken;
    return of->escapes ? CONDITION_escapes : MERGE_ALLOWED;
}

static void choose_blocks(struct planner *p)
{
    size_t spans = 0;
    p->blocks = must_alloc((p->a.map->block_count + 1) * sizeof *p->blocks);
    for (unsigned b = 0; b < p->a.map->block_count; b++) {
        int block = p->a.map->blocks[b];
        const struct memory *of = &p->a.map->of[block];
        if (of->kind != MEMORY_ALLOCATED || of->spans.count == 0)
            continue;
        enum merge_condition refused = may_be_planned(p, block);
        if (refused)
            merge_note(p->a.m, &(struct merge_event){.action = MERGE_PACKED,
                                                     .refused = refused,
                                                     .at = of->alloc->at,
                                                     .array = NO_NAME,
                                                     .from = block,
                                                     .into = NO_NAME});
        else
            p->blocks[p->count++] = block;
        spans += p->moments->of[block].count;
    }
    p->buffers = must_alloc((p->count + 1) * sizeof *p->buffers);
    p->intervals = must_alloc((spans + 1) * sizeof *p->intervals);
    struct pack_interval *next = p->intervals;
    for (unsigned i = 0; i < p->count; i++) {
        const struct memory *of = &p->a.map->of[p->blocks[i]];
        const struct spans *alive = &p->moments->of[p->blocks[i]];
        p->buffers[i] = (struct pack_buffer){.size = p->numbers->bytes[p->blocks[i]],
                                             .alignment = element_alignment(p, of),
                                             .intervals = next,
                                             .interval_count = alive->count};
        for (unsigned s = 0; s < alive->count; s++)
            *next++ =
                (struct pack_interval){alive->items[s].first, (int64_t)alive->items[s].last + 1};
    }
}

/* ---- the arena ------------------------------------------------------------------------------ */

/* Plans again with the widest alignment for all that does not raise the height. */
static void widen(const struct planner *p, struct pack_result *result)
{
    struct pack_buffer *wide = must_alloc((p->count + 1) * sizeof *wide);
    bool done = false;
    for (int64_t alignment = WIDEST_ALIGNMENT; alignment > 8 && !done; alignment /= 2) {
        struct pack_result other;
        for (unsigned i = 0; i < p->count; i++) {
            wide[i] = p->buffers[i];
            wide[i].alignment = alignment;
        }
        const struct pack_options greedy = {.capacity = result->height};
        if (pack_solve(wide, p->count, &greedy, &other, NULL) != 0)
            continue;
        done = other.height <= result->height;
        if (done) {
            free(result->offset);
            result->offset = other.offset;
            result->method = other.method;
        } else {
            pack_result_free(&other);
        }
    }
    free(wide);
}

static int plan_arena(struct planner *p, struct pack_result *result)
{
    const struct pack_options options = {.time_limit_ns = p->a.m->options.time_limit_ns
                                                              ? p->a.m->options.time_limit_ns
                                                              : PLAN_TIME_LIMIT_NS};
    int code = pack_solve(p->buffers, p->count, &options, result, p->a.m->error);
    if (!code)
        widen(p, result);
    return code;
}

static struct stm *new_statement(struct planner *p, enum stm_kind kind, int out)
{
    struct arena *arena = &p->a.m->program->arena;
    struct stm *s = arena_alloc(arena, sizeof *s);
    s->kind = kind;
    s->at = p->a.m->fun->at;
    s->array = s->value = NO_NAME;
    if (out != NO_NAME) {
        s->out_count = 1;
        s->outs = arena_alloc(arena, sizeof *s->outs);
        s->outs[0] = out;
    }
    return s;
}

/* Asserts the sizes: the program holds for these only. */
static void assert_sizes(struct planner *p)
{
    struct fun *fun = p->a.m->fun;
    struct program *program = p->a.m->program;
    for (unsigned i = fun->param_count; i-- > 0;) {
        const struct name *n = &fun->names[fun->params[i]];
        if (n->kind != NAME_SCALAR || (n->element != ELEMENT_i64 && n->element != ELEMENT_i32))
            continue;
        struct stm *s = new_statement(p, STM_ASSERT, NO_NAME);
        struct expr *name = expr_name(program, n->element, fun->params[i]);
        struct expr *value = arena_alloc(&program->arena, sizeof *value);
        *value = (struct expr){.op = EXPR_CONSTANT,
                               .type = n->element,
                               .value = p->a.m->options.values[fun->params[i]]};
        s->expr = expr_binary(program, EXPR_EQ, name, value);
        s->expr->type = ELEMENT_bool;
        s->next = fun->body.first;
        fun->body.first = s;
    }
}

static int add_arena(struct planner *p, int64_t bytes)
{
    struct name n = {.kind = NAME_MEMORY, .memory = NO_NAME, .at = p->a.m->fun->at};
    int arena = fun_add_name(p->a.m->program, p->a.m->fun, "arena_mem", &n);
    unsigned first = ~0u;
    for (unsigned i = 0; i < p->count; i++) {
        unsigned use = p->a.map->of[p->blocks[i]].position;
        first = use < first ? use : first;
    }
    first = outline_lift(p->a.o, first, 0, NULL);
    struct stm *alloc = new_statement(p, STM_ALLOC, arena);
    alloc->expr = expr_constant(p->a.m->program, bytes);
    struct stm **link = &p->a.m->fun->body.first;
    while (*link && (*link)->first < first)
        link = &(*link)->next;
    alloc->next = *link;
    alloc->first = alloc->last = first;
    *link = alloc;
    return arena;
}

static void move_in(struct planner *p, const struct pack_result *result)
{
    struct merge *m = p->a.m;
    int arena = add_arena(p, result->height);
    int64_t *offset = must_alloc((m->fun->name_count + 1) * sizeof *offset);
    int *into = must_alloc((m->fun->name_count + 1) * sizeof *into);
    unsigned names = m->fun->name_count;
    for (unsigned n = 0; n < names; n++) {
        offset[n] = NO_OFFSET;
        into[n] = (int)n;
    }
    for (unsigned i = 0; i < p->count; i++) {
        offset[p->blocks[i]] = result->offset[i];
        into[p->blocks[i]] = arena;
        merge_note(m, &(struct merge_event){.action = MERGE_PACKED,
                                            .at = p->a.map->of[p->blocks[i]].alloc->at,
                                            .array = NO_NAME,
                                            .from = p->blocks[i],
                                            .into = arena});
    }
    offsets_pass_on(m, p->a.o, p->a.map, offset);
    into = must_realloc(into, (m->fun->name_count + 1) * sizeof *into);
    for (unsigned n = names; n < m->fun->name_count; n++)
        into[n] = (int)n;
    into[arena] = arena;
    merge_replace_blocks(m, into);
    assert_sizes(p);
    m->packed = true;
    m->proven = result->optimal && p->moments->exact;
    m->arena_bytes = result->height;
    m->arena_lower_bound = result->lower_bound;
    free(offset);
    free(into);
}

int merge_run_plan(struct merge *m)
{
    if (!m->options.values)
        return 0;
    struct planner p = {0};
    struct pack_result result = {0};
    analysis_open(&p.a, m, MEMORY_BY_BRANCH);
    p.moments = moments_new(p.a.map);
    p.numbers = numbers_new(m->fun, m->options.values, NULL);
    choose_blocks(&p);
    int code = p.count ? plan_arena(&p, &result) : 0;
    if (!code && p.count)
        move_in(&p, &result);
    pack_result_free(&result);
    free(p.blocks);
    free(p.buffers);
    free(p.intervals);
    numbers_free(p.numbers);
    moments_free(p.moments);
    analysis_close(&p.a);
    return code;
}
