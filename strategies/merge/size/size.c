/* Sizes: the table of names, equalities that replace names, bounds, and questions.
 *
 * An equality a == b becomes a rule: the name bound last that stands alone in a - b, with
 * coefficient 1 or -1, is replaced by the rest. Rules are made in the order of the program from
 * normal forms, so the value of a rule has none of the names that earlier rules replace, and
 * replacing ends. (Only names are replaced: an operation's arguments may change under a rule of
 * its own.) Which rules hold at a position is its *world*; normal forms are remembered by world.
 */
#include "merge/size/size_state.h"

#include <stdlib.h>
#include <string.h>

struct sizes *sizes_open(struct program *program, const struct fun *fun, unsigned without)
{
    struct sizes *s = must_alloc(sizeof *s);
    s->program = program;
    s->fun = fun;
    s->without = without;
    polys_open(&s->polys);
    sizes_walk(s);
    return s;
}

void sizes_close(struct sizes *s)
{
    polys_close(&s->polys);
    free(s->names);
    free(s->world_at);
    free(s->slots);
    free(s);
}

struct size_name *sizes_name(struct sizes *s, int name)
{
    if ((unsigned)name >= s->name_capacity) {
        unsigned old = s->name_capacity;
        s->name_capacity = s->fun->name_count + s->fun->name_count / 2 + 1;
        s->names = must_realloc(s->names, s->name_capacity * sizeof *s->names);
        memset(s->names + old, 0, (s->name_capacity - old) * sizeof *s->names);
    }
    return &s->names[name];
}

void sizes_define(struct sizes *s, int name, const struct expr *value)
{
    const struct poly *form = sizes_of(s, value);
    sizes_name(s, name)->value = form;
}

const struct poly *sizes_range(const struct sizes *s, int name)
{
    return (unsigned)name < s->name_capacity ? s->names[name].range : NULL;
}

const struct kernel *sizes_kernel_of(const struct sizes *s, int array)
{
    return (unsigned)array < s->name_capacity ? s->names[array].kernel : NULL;
}

unsigned sizes_end(const struct sizes *s)
{
    return s->last_position;
}

unsigned sizes_position(const struct sizes *s, const struct stm *stm)
{
    for (uint64_t h = (uintptr_t)stm >> 4;; h++) {
        const struct position_slot *slot = &s->slots[h & (s->slot_count - 1)];
        if (!slot->stm || slot->stm == stm)
            return slot->position;
    }
}

/* ---- what depends on a counter -------------------------------------------------------------- */

struct dependence {
    const struct sizes *s;
    int counter;
};

static bool is_counter(const void *context, int number, const struct atom *a)
{
    const struct dependence *d = context;
    (void)number;
    return a->op == EXPR_NAME && a->number == d->counter;
}

static bool is_bound_inside(const void *context, int number, const struct atom *a)
{
    const struct dependence *d = context;
    const struct size_name *counter = &d->s->names[d->counter];
    (void)number;
    if (a->op != EXPR_NAME || a->number == d->counter)
        return false;
    const struct size_name *n = &d->s->names[a->number];
    /* Indices of one kernel do not depend on each other. */
    return !n->bound ||
           (!counter->is_index && counter->from <= n->bound_at && n->bound_at <= counter->to);
}

bool sizes_varies(struct sizes *s, const struct poly *p, int counter, bool *otherwise)
{
    struct dependence d = {s, counter};
    *otherwise = poly_any_atom(&s->polys, p, is_bound_inside, &d);
    return poly_any_atom(&s->polys, p, is_counter, &d);
}

/* ---- normal forms --------------------------------------------------------------------------- */

static const struct poly *normal(struct sizes *s, const struct poly *p, unsigned position);

static const struct poly *normal_atom(struct sizes *s, int number, unsigned position)
{
    const struct atom a = s->polys.atoms[number]; /* a copy: the table may move */
    if (a.op == EXPR_NAME) {
        for (const struct rule *r = a.facts ? a.facts->rules : NULL; r; r = r->next)
            if (span_has(r->span, position))
                return normal(s, r->value, position);
    } else if (a.op != EXPR_CONSTANT) {
        const struct poly *x = normal(s, a.arg[0], position);
        const struct poly *y = a.arg[1] ? normal(s, a.arg[1], position) : NULL;
        if (x != a.arg[0] || y != a.arg[1])
            return sizes_operation(s, a.op, a.type, x, y);
    }
    return poly_atom(&s->polys, number);
}

static const struct poly *make_normal(struct sizes *s, const struct poly *p, unsigned position)
{
    const struct poly *sum = sizes_constant(s, 0);
    for (unsigned t = 0; t < p->count && sum; t++) {
        const struct poly *product = sizes_constant(s, p->terms[t].coefficient);
        for (unsigned i = 0; i < p->terms[t].degree && product; i++)
            product =
                poly_multiply(&s->polys, product, normal_atom(s, p->terms[t].atoms[i], position));
        sum = product ? poly_add(&s->polys, sum, 1, product) : NULL;
    }
    return sum ? sum : p; /* too large: as it was, which is the same number */
}

static const struct poly *normal(struct sizes *s, const struct poly *p, unsigned position)
{
    unsigned world = s->world_at[position];
    if (p->normal_in != world) {
        const struct poly *form = make_normal(s, p, position);
        struct poly *remember = (struct poly *)p; /* p is ours; only what it means is constant */
        remember->normal = form;
        remember->normal_in = world;
    }
    return p->normal;
}

const struct poly *sizes_normal(struct sizes *s, const struct poly *p, unsigned position)
{
    return normal(s, p, position < s->last_position ? position : s->last_position);
}

bool sizes_equal(struct sizes *s, const struct poly *a, const struct poly *b, unsigned position)
{
    if (a == b)
        return true;
    const struct poly *difference = poly_add(&s->polys, a, -1, b);
    return difference && sizes_normal(s, difference, position)->count == 0;
}

bool sizes_nonnegative(struct sizes *s, const struct poly *p, unsigned position)
{
    return sizes_nonnegative_given(s, p, position, 0, NULL);
}

bool sizes_at_least(struct sizes *s, const struct poly *a, const struct poly *b, unsigned position)
{
    const struct poly *difference = poly_add(&s->polys, a, -1, b);
    return difference && sizes_nonnegative(s, difference, position);
}

/* ---- learning ------------------------------------------------------------------------------- */

static struct atom_facts *facts_of(struct sizes *s, int atom)
{
    struct atom_facts **facts = &s->polys.atoms[atom].facts;
    if (!*facts)
        *facts = arena_alloc(&s->polys.arena, sizeof **facts);
    return *facts;
}

/* c, where p is c * atom + rest and the atom is nowhere in the rest; 0 where it is not. */
static int64_t stands_alone(struct sizes *s, const struct poly *p, int atom,
                            const struct poly **rest)
{
    int64_t c;
    const struct poly *factor = poly_split(&s->polys, p, atom, rest);
    struct dependence d = {s, (int)s->polys.atoms[atom].number};
    if (!poly_is_constant(factor, &c))
        return 0;
    if (s->polys.atoms[atom].op == EXPR_NAME && poly_any_atom(&s->polys, *rest, is_counter, &d))
        return 0;
    return c;
}

static void file_bound(struct sizes *s, int atom, int64_t c, const struct poly *rest,
                       struct span span)
{
    const struct poly *zero = sizes_constant(s, 0);
    const struct poly *limit = c > 0 ? poly_add(&s->polys, zero, -1, rest) : rest;
    if (!limit || c == INT64_MIN)
        return;
    struct atom_facts *facts = facts_of(s, atom);
    struct bound *b = arena_alloc(&s->polys.arena, sizeof *b);
    *b = (struct bound){facts->bounds, span, c < 0, c < 0 ? -c : c, limit};
    facts->bounds = b;
}

void sizes_learn_nonnegative(struct sizes *s, const struct poly *p, struct span span)
{
    p = normal(s, p, s->last_position);
    if (sizes_nonnegative(s, p, s->last_position))
        return;
    int latest = -1;
    const struct poly *rest;
    for (unsigned t = 0; t < p->count && p->terms[t].degree > 0; t++) {
        int atom = p->terms[t].atoms[0];
        int64_t c = p->terms[t].degree == 1 ? stands_alone(s, p, atom, &rest) : 0;
        if (c != 0 && span.from < *span.to)
            file_bound(s, atom, c, rest, span);
        if (c != 0 && (latest < 0 || s->polys.atoms[atom].order > s->polys.atoms[latest].order))
            latest = atom;
    }
    /* A kernel's indices are many and soon gone: their bounds are not filed under n in i < n. */
    if (span.from == *span.to && latest >= 0)
        file_bound(s, latest, stands_alone(s, p, latest, &rest), rest, span);
}

/* The bounds of what is replaced are bounds of what replaces it. */
static void hand_over_bounds(struct sizes *s, int atom, const struct rule *rule)
{
    for (const struct bound *b = facts_of(s, atom)->bounds; b; b = b->next) {
        if (!span_has(b->span, s->last_position))
            continue;
        const struct poly *scaled =
            poly_add(&s->polys, sizes_constant(s, 0), b->scale, rule->value);
        const struct poly *above = !scaled    ? NULL
                                   : b->upper ? poly_add(&s->polys, b->limit, -1, scaled)
                                              : poly_add(&s->polys, scaled, -1, b->limit);
        if (above)
            sizes_learn_nonnegative(s, above, rule->span);
    }
}

static void learn_zero(struct sizes *s, const struct poly *p, struct span span)
{
    p = normal(s, p, s->last_position);
    int chosen = -1;
    const struct poly *rest, *zero = sizes_constant(s, 0);
    for (unsigned t = 0; t < p->count; t++) {
        const struct term *term = &p->terms[t];
        if (term->degree != 1 || (term->coefficient != 1 && term->coefficient != -1))
            continue;
        const struct atom *a = &s->polys.atoms[term->atoms[0]];
        if (a->op == EXPR_NAME && stands_alone(s, p, term->atoms[0], &rest) &&
            (chosen < 0 || a->order > s->polys.atoms[chosen].order))
            chosen = term->atoms[0];
    }
    const struct poly *opposite = poly_add(&s->polys, zero, -1, p);
    if (chosen < 0 && opposite) {
        sizes_learn_nonnegative(s, p, span);
        sizes_learn_nonnegative(s, opposite, span);
    }
    if (chosen < 0 || !opposite)
        return;
    struct rule *rule = arena_alloc(&s->polys.arena, sizeof *rule);
    int64_t c = stands_alone(s, p, chosen, &rest);
    *rule = (struct rule){facts_of(s, chosen)->rules, span, poly_add(&s->polys, zero, -c, rest)};
    facts_of(s, chosen)->rules = rule;
    s->world_at[s->last_position] = ++s->world_count;
    hand_over_bounds(s, chosen, rule);
}

void sizes_learn_condition(struct sizes *s, const struct poly *p, bool truth, struct span span)
{
    int single = poly_single_atom(p);
    if (single < 0)
        return;
    const struct atom a = s->polys.atoms[single];
    if ((a.op == EXPR_AND && truth) || (a.op == EXPR_OR && !truth)) {
        sizes_learn_condition(s, a.arg[0], truth, span);
        sizes_learn_condition(s, a.arg[1], truth, span);
    } else if (a.op == EXPR_NOT && !element_is_float(a.type)) {
        sizes_learn_condition(s, a.arg[0], !truth, span);
    }
    if (a.op < EXPR_LT || a.op > EXPR_NE || element_is_float(a.type))
        return;
    bool from_left =
        truth ? a.op == EXPR_GT || a.op == EXPR_GE : a.op == EXPR_LT || a.op == EXPR_LE;
    bool strict = truth ? a.op == EXPR_GT || a.op == EXPR_LT : a.op == EXPR_GE || a.op == EXPR_LE;
    const struct poly *high = from_left ? a.arg[0] : a.arg[1];
    const struct poly *low = from_left ? a.arg[1] : a.arg[0];
    const struct poly *above = poly_add(&s->polys, high, -1, low);
    if (above && strict)
        above = poly_add(&s->polys, above, -1, sizes_constant(s, 1));
    if (!above)
        return;
    if (a.op == EXPR_EQ || a.op == EXPR_NE) {
        if (truth == (a.op == EXPR_EQ))
            learn_zero(s, above, span);
    } else {
        sizes_learn_nonnegative(s, above, span);
    }
}
