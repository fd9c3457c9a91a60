#include "merge/numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

/* After this many iterations of all loops together, scalars that vary in a loop become unknown. */
enum { STEPS_MAX = 2000000 };

struct walk {
    const struct fun *fun;
    struct numbers *n;
    const struct arguments *readings; /* may be NULL */
    size_t *reads;                    /* by scalar name: the reading after its last one */
    unsigned steps;
    unsigned uncertain; /* how many bodies around may not run */
};

/* Bodies that may not run have read a scalar, so it is not known which reading comes next. */
#define READS_LOST SIZE_MAX

static bool all_known(const struct walk *w, const struct expr *e)
{
    switch (e->op) {
    case EXPR_CONSTANT:
        return true;
    case EXPR_NAME:
        return w->n->known[e->name];
    default:
        return all_known(w, e->arg[0]) && (!e->arg[1] || all_known(w, e->arg[1]));
    }
}

static bool evaluate(const struct walk *w, const struct expr *e, union scalar *value)
{
    struct error ignored;
    return all_known(w, e) && expr_evaluate(w->fun->program, e, w->n->values, value, &ignored) == 0;
}

static void set_scalar(struct walk *w, int name, bool known, union scalar value)
{
    w->n->known[name] = known;
    w->n->values[name] = value;
}

static void define_scalar(struct walk *w, int name, const struct expr *e)
{
    union scalar value = {.i64 = 0};
    bool known = evaluate(w, e, &value);
    set_scalar(w, name, known, value);
}

/* Reads the element of a parameter that the readings have. */
static bool read_parameter(const struct walk *w, const struct stm *s, union scalar *value)
{
    const struct named_value *v = argument(w->readings, w->fun->names[s->array].text);
    size_t at = 0;
    if (!v || !v->array.data || v->array.rank != s->slice_rank)
        return false;
    for (unsigned d = 0; d < s->slice_rank; d++) {
        union scalar index;
        if (!evaluate(w, s->slice[d].start, &index) || index.i64 < 0 ||
            index.i64 >= v->array.shape[d])
            return false;
        at = at * (size_t)v->array.shape[d] + (size_t)index.i64;
    }
    const size_t bytes = element_bytes(v->array.element);
    memcpy(value, (const char *)v->array.data + at * bytes, bytes);
    return true;
}

/* The values are those that a dry run of the executor takes. */
static void read_scalar(struct walk *w, const struct stm *s)
{
    const int name = s->outs[0];
    union scalar value = {.i64 = 0};
    const struct named_value *given = NULL;
    if (w->readings && w->reads[name] != READS_LOST)
        given = argument_next(w->readings, w->fun->names[name].text, &w->reads[name]);
    if (w->uncertain && given) {
        size_t next = w->reads[name];
        if (argument_next(w->readings, w->fun->names[name].text, &next) != given)
            w->reads[name] = READS_LOST;
    }
    if (w->reads[name] == READS_LOST)
        set_scalar(w, name, false, value);
    else if (given)
        set_scalar(w, name, true, given->scalar);
    else
        set_scalar(w, name, w->readings && read_parameter(w, s, &value), value);
}

static void note_bytes(struct walk *w, int memory, const struct expr *e)
{
    union scalar value;
    int64_t *bytes = &w->n->bytes[memory];
    enum reached *reached = &w->n->reached[memory];
    if (!evaluate(w, e, &value) || value.i64 < 0)
        *bytes = UNKNOWN_BYTES;
    else if (!*reached || (*bytes != UNKNOWN_BYTES && value.i64 > *bytes))
        *bytes = value.i64;
    if (*reached != REACHED_ALWAYS)
        *reached = w->uncertain ? REACHED_MAYBE : REACHED_ALWAYS;
}

static void walk_body(struct walk *w, const struct body *body);

/* Assigns the scalars `from` to the names `to`, all at once. */
static void pass_scalars(struct walk *w, const int *from, const int *to, unsigned count)
{
    struct passed {
        bool known;
        union scalar value;
    } *passed = must_alloc((count + 1) * sizeof *passed);
    for (unsigned i = 0; i < count; i++)
        if (w->fun->names[from[i]].kind == NAME_SCALAR)
            passed[i] = (struct passed){w->n->known[from[i]], w->n->values[from[i]]};
    for (unsigned i = 0; i < count; i++)
        if (w->fun->names[to[i]].kind == NAME_SCALAR)
            set_scalar(w, to[i], passed[i].known, passed[i].value);
    free(passed);
}

static void forget_scalars(struct walk *w, const int *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        w->n->known[names[i]] = false;
}

static void walk_if(struct walk *w, const struct stm *s)
{
    union scalar condition;
    if (evaluate(w, s->expr, &condition)) {
        const struct body *taken = condition.u8 ? s->then : s->otherwise;
        walk_body(w, taken);
        pass_scalars(w, taken->results, s->outs, s->out_count);
        return;
    }
    w->uncertain++;
    walk_body(w, s->then);
    walk_body(w, s->otherwise);
    w->uncertain--;
    forget_scalars(w, s->outs, s->out_count);
}

static void walk_loop(struct walk *w, const struct stm *s)
{
    const struct loop *l = s->loop;
    union scalar bound = {.i64 = 0};
    for (unsigned i = 0; i < l->param_count; i++)
        if (l->init_exprs[i])
            define_scalar(w, l->params[i], l->init_exprs[i]);
    bool known = l->counter != NO_NAME ? evaluate(w, l->bound, &bound) : true;
    for (int64_t i = 0; known && w->steps < STEPS_MAX; i++) {
        if (l->counter == NO_NAME && !w->n->known[l->condition]) {
            known = false;
            break;
        }
        if (l->counter != NO_NAME ? i >= bound.i64 : !w->n->values[l->condition].u8)
            break;
        if (l->counter != NO_NAME)
            set_scalar(w, l->counter, true, (union scalar){.i64 = i});
        walk_body(w, &l->body);
        pass_scalars(w, l->body.results, l->params, l->param_count);
    }
    if (!known || w->steps >= STEPS_MAX) { /* scalars that vary become unknown */
        forget_scalars(w, l->params, l->param_count);
        if (l->counter != NO_NAME)
            forget_scalars(w, &l->counter, 1);
        w->uncertain++;
        walk_body(w, &l->body);
        w->uncertain--;
        forget_scalars(w, l->params, l->param_count);
    }
    pass_scalars(w, l->params, s->outs, s->out_count);
}

static void walk_body(struct walk *w, const struct body *body)
{
    for (const struct stm *s = body->first; s; s = s->next) {
        w->steps++;
        switch (s->kind) {
        case STM_SCALAR:
            define_scalar(w, s->outs[0], s->expr);
            break;
        case STM_ELEMENT:
            read_scalar(w, s);
            break;
        case STM_ALLOC:
            note_bytes(w, s->outs[0], s->expr);
            break;
        case STM_IF:
            walk_if(w, s);
            break;
        case STM_LOOP:
            walk_loop(w, s);
            break;
        default:
            break;
        }
    }
}

struct numbers *numbers_new(const struct fun *fun, const union scalar *values,
                            const struct arguments *readings)
{
    struct numbers *n = must_alloc(sizeof *n);
    struct walk w = {.fun = fun, .n = n, .readings = readings};
    w.reads = arena_alloc(&n->arena, fun->name_count * sizeof *w.reads);
    n->bytes = arena_alloc(&n->arena, fun->name_count * sizeof *n->bytes);
    n->bounded = arena_alloc(&n->arena, fun->name_count * sizeof *n->bounded);
    n->values = arena_alloc(&n->arena, fun->name_count * sizeof *n->values);
    n->known = arena_alloc(&n->arena, fun->name_count * sizeof *n->known);
    n->reached = arena_alloc(&n->arena, fun->name_count * sizeof *n->reached);
    for (unsigned i = 0; i < fun->name_count; i++)
        n->bytes[i] = UNKNOWN_BYTES;
    for (unsigned i = 0; values && i < fun->param_count; i++)
        if (fun->names[fun->params[i]].kind == NAME_SCALAR)
            set_scalar(&w, fun->params[i], true, values[fun->params[i]]);
    for (unsigned i = 0; i < fun->param_count; i++)
        if (fun->names[fun->params[i]].kind == NAME_MEMORY)
            note_bytes(&w, fun->params[i], fun->names[fun->params[i]].bytes);
    walk_body(&w, &fun->body);
    return n;
}

static const struct expr *size_of(const struct memory_map *map, int block)
{
    const struct memory *of = &map->of[block];
    return of->alloc ? of->alloc->expr : map->outline->fun->names[block].bytes;
}

static bool is_no_less(const struct memory_map *map, struct sizes *sizes, int other, int block)
{
    const struct memory *of = &map->of[block];
    const struct expr *enough = size_of(map, other);
    const unsigned at = of->alloc->size_position;
    return outline_known(map->outline, enough, of->scope, of->position) &&
           (sizes_equal(sizes, sizes_of(sizes, enough), sizes_of(sizes, of->alloc->expr), at) ||
            sizes_at_least(sizes, sizes_of(sizes, enough), sizes_of(sizes, of->alloc->expr), at));
}

void numbers_bound(struct numbers *n, const struct memory_map *map, struct sizes *sizes)
{
    for (unsigned b = 0; b < map->block_count; b++) {
        const int block = map->blocks[b];
        int64_t least = UNKNOWN_BYTES;
        if (n->bytes[block] != UNKNOWN_BYTES || !n->reached[block] || !map->of[block].alloc)
            continue;
        for (unsigned i = 0; i < map->block_count; i++) {
            const int other = map->blocks[i];
            if (n->bytes[other] == UNKNOWN_BYTES || n->bounded[other] ||
                (least != UNKNOWN_BYTES && n->bytes[other] >= least) ||
                !is_no_less(map, sizes, other, block))
                continue;
            least = n->bytes[other];
        }
        n->bytes[block] = least;
        n->bounded[block] = least != UNKNOWN_BYTES;
    }
}

int64_t numbers_array_bytes(const struct numbers *n, const struct fun *fun, int array)
{
    const struct walk w = {.fun = fun, .n = (struct numbers *)n};
    const struct name *a = &fun->names[array];
    int64_t bytes = (int64_t)element_bytes(a->element);
    for (unsigned d = 0; d < a->rank; d++) {
        union scalar extent;
        if (!evaluate(&w, a->shape[d], &extent) ||
            __builtin_mul_overflow(bytes, extent.i64, &bytes))
            return UNKNOWN_BYTES;
    }
    return bytes;
}

void numbers_free(struct numbers *n)
{
    if (!n)
        return;
    arena_free(&n->arena);
    free(n);
}

/* ---- the bytes alive at once ----------------------------------------------------------------- */

/* A node of a binary tree over the moments: node n is above the nodes 2n and 2n + 1, node 1 above
 * all, and moment p is the node `width + p`. */
struct bound_node {
    int64_t most;  /* the most of the moments below, without what the nodes above add */
    int64_t added; /* to all moments below */
};

/* From this moment on, the trial differs by so many more bytes. */
struct bound_change {
    unsigned moment;
    int64_t bytes;
};

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Adds `bytes` to the moments from `first` up to `end` that are below the node; those below it are
 * `width` moments from `low`. */
static void add_below(struct bound_node *nodes, unsigned node, unsigned low, unsigned width,
                      unsigned first, unsigned end, int64_t bytes)
{
    struct bound_node *n = &nodes[node];
    if (end <= low || low + width <= first)
        return;
    if (first <= low && low + width <= end) {
        n->most += bytes;
        n->added += bytes;
        return;
    }
    add_below(nodes, 2 * node, low, width / 2, first, end, bytes);
    add_below(nodes, 2 * node + 1, low + width / 2, width / 2, first, end, bytes);
    n->most = higher(nodes[2 * node].most, nodes[2 * node + 1].most) + n->added;
}

/* The most bytes at these moments, INT64_MIN if none is below the node. */
static int64_t most_below(const struct bound_node *nodes, unsigned node, unsigned low,
                          unsigned width, unsigned first, unsigned end)
{
    const struct bound_node *n = &nodes[node];
    if (end <= low || low + width <= first)
        return INT64_MIN;
    if (first <= low && low + width <= end)
        return n->most;
    const int64_t most =
        higher(most_below(nodes, 2 * node, low, width / 2, first, end),
               most_below(nodes, 2 * node + 1, low + width / 2, width / 2, first, end));
    return most == INT64_MIN ? most : most + n->added;
}

static int64_t most_of(const struct bound *b, unsigned first, unsigned end)
{
    return most_below(b->nodes, 1, 0, b->width, first, end);
}

int64_t bound_most(const struct bound *b)
{
    return b->nodes[1].most;
}

void bound_begin(struct bound *b)
{
    b->change_count = 0;
}

static void change(struct bound *b, unsigned moment, int64_t bytes)
{
    b->changes = must_grow(b->changes, b->change_count, &b->change_capacity, sizeof *b->changes);
    b->changes[b->change_count++] = (struct bound_change){moment, bytes};
}

void bound_add_span(struct bound *b, struct span span, int64_t bytes)
{
    if (!bytes)
        return;
    change(b, span.first, bytes);
    change(b, span.last < b->count ? span.last + 1 : b->count, -bytes);
}

void bound_add(struct bound *b, const struct spans *spans, int64_t bytes)
{
    for (unsigned i = 0; i < spans->count; i++)
        bound_add_span(b, spans->items[i], bytes);
}

ORDER_BY(by_moment, struct bound_change, moment)

bool bound_fits(struct bound *b)
{
    int64_t more = 0;
    if (b->change_count)
        qsort(b->changes, b->change_count, sizeof *b->changes, by_moment);
    for (unsigned i = 0; i + 1 < b->change_count; i++) {
        const unsigned first = b->changes[i].moment, end = b->changes[i + 1].moment;
        more += b->changes[i].bytes;
        if (more > 0 && first < end && most_of(b, first, end) + more > b->peak)
            return false;
    }
    return true;
}

bool bound_keep(struct bound *b)
{
    if (!b->change_count)
        return true;
    if (!bound_fits(b))
        return false;
    const struct bound_change *last = &b->changes[b->change_count - 1];
    const int64_t before = most_of(b, b->changes[0].moment, last->moment);
    for (unsigned i = 0; i < b->change_count; i++)
        add_below(b->nodes, 1, 0, b->width, b->changes[i].moment, b->width, b->changes[i].bytes);
    b->change_count = 0;
    if (before == b->peak && bound_most(b) < b->peak)
        b->peak = bound_most(b);
    return true;
}

/* Makes the changes without asking whether they fit. */
static void accept_all(struct bound *b)
{
    int64_t *bytes = must_alloc((b->width + 1) * sizeof *bytes);
    for (unsigned i = 0; i < b->change_count; i++)
        bytes[b->changes[i].moment] += b->changes[i].bytes;
    for (unsigned p = 1; p < b->width; p++)
        bytes[p] += bytes[p - 1];
    for (unsigned p = 0; p < b->width; p++)
        b->nodes[b->width + p].most = bytes[p];
    for (unsigned n = b->width; --n > 0;)
        b->nodes[n].most = higher(b->nodes[2 * n].most, b->nodes[2 * n + 1].most);
    b->change_count = 0;
    b->peak = bound_most(b);
    free(bytes);
}

static void open_empty(struct bound *b, unsigned count)
{
    *b = (struct bound){.count = count, .width = 1};
    while (b->width < count)
        b->width *= 2;
    b->nodes = must_alloc(2 * b->width * sizeof *b->nodes);
}

void bound_open(struct bound *b, const struct memory_map *map, const struct numbers *numbers)
{
    struct moments *moments = moments_new(map);
    open_empty(b, moments->count);
    b->moments = moments;
    for (unsigned i = 0; i < map->block_count; i++) {
        int64_t bytes = numbers->bytes[map->blocks[i]];
        if (bytes != UNKNOWN_BYTES)
            bound_add(b, &b->moments->of[map->blocks[i]], bytes);
    }
    accept_all(b);
}

static unsigned later(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

/* The end of the outermost loop that contains position `p` and not the scope of the allocation: a
 * block from outside of a loop is freed after it. `p` itself if there is none. */
static unsigned after_loops(const struct outline *o, unsigned p, unsigned scope)
{
    unsigned end = p;
    for (unsigned s = o->scope_at[p]; !outline_encloses(o, s, scope); s = o->scopes[s].parent)
        if (o->scopes[s].owner->kind == STM_LOOP)
            end = o->scopes[s].owner->last;
    return end;
}

struct span held_span(const struct memory_map *map, int block, unsigned scope, enum merge_hold hold)
{
    const struct memory *of = &map->of[block];
    const struct outline *o = map->outline;
    struct span held = {0, o->scopes[scope].end};
    if (of->kind != MEMORY_PARAMETER)
        held.first = outline_lift(o, of->first_bound, scope, NULL);
    if (hold == MERGE_HELD_TO_LAST_USE) {
        held.last = held.first;
        for (unsigned i = 0; i < of->spans.count; i++)
            held.last = later(held.last, after_loops(o, of->spans.items[i].last, scope));
        return held;
    }
    for (unsigned e = 0; e < of->existential_count; e++)
        held.last = later(held.last, o->scopes[map->of[of->existentials[e]].scope].end);
    return held;
}

void bound_open_held(struct bound *b, const struct memory_map *map, const struct numbers *numbers,
                     enum merge_hold hold)
{
    struct bound certain;
    open_empty(&certain, map->outline->position_count);
    open_empty(b, map->outline->position_count);
    for (unsigned i = 0; i < map->block_count; i++) {
        const int block = map->blocks[i];
        const int64_t bytes = numbers->bytes[block];
        if (!map->of[block].array_count || bytes == UNKNOWN_BYTES)
            continue;
        const struct span held = held_span(map, block, map->of[block].scope, hold);
        bound_add_span(b, held, bytes);
        if (numbers->reached[block] == REACHED_ALWAYS)
            bound_add_span(&certain, held, bytes);
    }
    accept_all(&certain);
    accept_all(b);
    b->peak = certain.peak;
    bound_close(&certain);
}

struct held_peak held_peak(const struct merge *m, enum merge_hold hold)
{
    struct outline *o = outline_new(m->fun);
    struct memory_map *map = memory_map_new(o, MEMORY_BY_BRANCH);
    struct numbers *numbers = numbers_new(m->fun, m->options.values, m->options.readings);
    struct sizes *sizes = sizes_open(m->program, m->fun, 0);
    struct bound held;
    numbers_bound(numbers, map, sizes);
    sizes_close(sizes);
    bound_open_held(&held, map, numbers, hold);
    const struct held_peak peak = {.most = bound_most(&held), .certain = held.peak};
    bound_close(&held);
    numbers_free(numbers);
    memory_map_free(map);
    outline_free(o);
    return peak;
}

void bound_close(struct bound *b)
{
    moments_free(b->moments);
    free(b->nodes);
    free(b->changes);
}
