/* Sizes: the table of names, equalities that replace names, bounds, and questions.
 *
 * An equality a == b becomes a rule: the name bound last that stands alone in a - b, with
 * coefficient 1 or -1, is replaced by the rest. Rules are made in the order of the program from
 * normal forms, so the value of a rule has none of the names that earlier rules replace, and
 * replacing ends. (Only names are replaced: an operation's arguments may change under a rule of its
 * own.) The rules that hold at a position are its *world*; normal forms are remembered by world.
 */
#include "merge/size/size_state.h"

#include <stdlib.h>

const struct poly *sizes_range(const struct sizes *s, int name)
{
    return (unsigned)name < s->name_capacity ? s->names[name].range : NULL;
}

const struct kernel *sizes_kernel_of(const struct sizes *s, int array)
{
    return (unsigned)array < s->name_capacity ? s->names[array].kernel : NULL;
}

/* ---- what depends on a counter --------------------------------------------------------------- */

struct dependence {
    const struct sizes *s;
    int counter;
};

static bool is_counter(const void *context, int number, const struct atom *a)
{
    const struct dependence *d = context;
    return a->op == EXPR_NAME && a->number == d->counter;
}

static bool is_bound_inside(const void *context, int number, const struct atom *a)
{
    const struct dependence *d = context;
    const struct size_name *counter = &d->s->names[d->counter];
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

/* ---- normal forms ---------------------------------------------------------------------------- */

static const struct poly *normal_form(struct sizes *s, const struct poly *p, unsigned position);

static const struct poly *normal_atom(struct sizes *s, int number, unsigned position)
{
    const struct atom a = s->polys.atoms[number]; /* a copy: the table may move */
    if (a.op == EXPR_NAME) {
        for (const struct rule *r = a.facts ? a.facts->rules : NULL; r; r = r->next)
            if (validity_has(r->valid, position))
                return normal_form(s, r->value, position);
    } else if (a.op != EXPR_CONSTANT) {
        const struct poly *x = normal_form(s, a.arg[0], position);
        const struct poly *y = a.arg[1] ? normal_form(s, a.arg[1], position) : NULL;
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
    return sum ? sum : p; /* too large: unchanged, which is the same number */
}

static const struct poly *normal_form(struct sizes *s, const struct poly *p, unsigned position)
{
    unsigned world = s->world_at[position];
    if (p->normal_in != world) {
        const struct poly *form = make_normal(s, p, position);
        struct poly *remember = (struct poly *)p; /* safe: this field only caches a result */
        remember->normal = form;
        remember->normal_in = world;
    }
    return p->normal;
}

const struct poly *sizes_normal(struct sizes *s, const struct poly *p, unsigned position)
{
    return normal_form(s, p, position < s->last_position ? position : s->last_position);
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

/* ---- proofs ---------------------------------------------------------------------------------- */

/* Proving that a polynomial is not negative, by putting bounds in place of atoms.
 *
 * p = v * q + r. Where q >= 0 and v >= limit, p >= limit * q + r, and it is enough to prove that of
 * the right side, which has one v less; likewise with an upper bound where q <= 0, and with both
 * where the sign of q is open. A minimum or maximum is one of its arguments: both cases must hold.
 * Atoms that are bound last go first: their bounds are made of earlier ones. The search ends with
 * its budget, which is far above the needs of real programs' sizes.
 */
enum { DEPTH = 6, BUDGET = 100, ATOMS_TRIED = 8 };

struct proof {
    struct sizes *s;
    unsigned position;
    unsigned assumed_count;
    const struct poly *const *assumed;
    unsigned budget;
};

static bool nonnegative(struct proof *pr, const struct poly *p, unsigned depth);

static const struct poly *negated(struct proof *pr, const struct poly *p)
{
    return poly_add(&pr->s->polys, sizes_constant(pr->s, 0), -1, p);
}

/* ---- atoms that are never negative ----------------------------------------------------------- */

static bool result_is_nonnegative(struct proof *pr, const struct atom *a, unsigned depth)
{
    /* clang-format off */
    switch (a->op) {
    case EXPR_NAME: case EXPR_CONVERT:
        return a->type == ELEMENT_bool || a->type == ELEMENT_u8 || a->type == ELEMENT_u32;
    case EXPR_MIN: case EXPR_DIV:
        return nonnegative(pr, a->arg[0], depth) && nonnegative(pr, a->arg[1], depth);
    case EXPR_MAX: case EXPR_BITAND:
        return nonnegative(pr, a->arg[0], depth) || nonnegative(pr, a->arg[1], depth);
    case EXPR_MOD: case EXPR_SHR: /* the sign is that of what is divided */
        return nonnegative(pr, a->arg[0], depth);
    case EXPR_LT: case EXPR_LE: case EXPR_GT: case EXPR_GE: case EXPR_EQ: case EXPR_NE:
    case EXPR_AND: case EXPR_OR: case EXPR_NOT:
        return true;
    default:
        return false;
    }
    /* clang-format on */
}

static bool atom_is_nonnegative(struct proof *pr, int number, unsigned depth)
{
    const struct atom a = pr->s->polys.atoms[number];
    int64_t limit;
    if (element_is_float(a.type))
        return false;
    for (const struct atom_bound *b = a.facts ? a.facts->bounds : NULL; b; b = b->next)
        if (!b->upper && poly_is_constant(b->limit, &limit) && limit >= 0 &&
            validity_has(b->valid, pr->position))
            return true;
    return depth > 0 && result_is_nonnegative(pr, &a, depth - 1);
}

static bool terms_are_nonnegative(struct proof *pr, const struct poly *p, unsigned depth)
{
    bool all = true;
    for (unsigned t = 0; t < p->count && all; t++)
        all = p->terms[t].coefficient > 0;
    for (unsigned t = 0; t < p->count && all; t++)
        for (unsigned i = 0; i < p->terms[t].degree && all; i++)
            all = atom_is_nonnegative(pr, p->terms[t].atoms[i], depth);
    return all;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* p as atom * q + r, and the kind of bound of the atom that is needed. */
struct view {
    int atom;
    const struct poly *q, *r;
    bool upper;
};

/* scale * atom >= (<=) limit: is scale * r + q * limit >= 0? */
static bool try_bound(struct proof *pr, const struct view *v, int64_t scale,
                      const struct poly *limit, unsigned depth)
{
    struct polys *ps = &pr->s->polys;
    limit = sizes_normal(pr->s, limit, pr->position);
    const struct poly *product = poly_multiply(ps, v->q, limit);
    const struct poly *sum = product ? poly_add(ps, product, scale, v->r) : NULL;
    return sum && nonnegative(pr, sum, depth - 1);
}

/* Tries the question's assumptions, solved for the atom. */
static bool try_assumed(struct proof *pr, const struct view *v, unsigned depth)
{
    for (unsigned i = 0; i < pr->assumed_count; i++) {
        const struct poly *rest;
        int64_t c;
        const struct poly *factor = poly_split(&pr->s->polys, pr->assumed[i], v->atom, &rest);
        if (!poly_is_constant(factor, &c) || c == 0 || c == INT64_MIN || (c < 0) != v->upper)
            continue;
        const struct poly *limit = c < 0 ? rest : negated(pr, rest);
        if (limit && try_bound(pr, v, c < 0 ? -c : c, limit, depth))
            return true;
    }
    return false;
}

/* a / b with a >= 0, b >= 0 (not 0, or there would be no value): b * (a / b) is from a - b + 1 to
 * a, and where q is a multiple of b that can be put in at once. */
static bool try_quotient(struct proof *pr, const struct view *v, const struct poly *a,
                         const struct poly *b, unsigned depth)
{
    struct polys *ps = &pr->s->polys;
    int64_t c;
    if (!nonnegative(pr, a, depth - 1) || !nonnegative(pr, b, depth - 1))
        return false;
    const struct poly *limit = a;
    if (!v->upper) {
        const struct poly *less = poly_add(ps, a, -1, b);
        limit = less ? poly_add(ps, less, 1, sizes_constant(pr->s, 1)) : NULL;
    }
    if (!limit)
        return false;
    const struct poly *multiple = sizes_divide(pr->s, v->q, b);
    struct view of_product = {v->atom, multiple, v->r, v->upper};
    if (multiple && try_bound(pr, &of_product, 1, limit, depth))
        return true;
    if (poly_is_constant(b, &c) && try_bound(pr, v, c, limit, depth))
        return true;
    return v->upper && try_bound(pr, v, 1, a, depth);
}

static bool try_operation(struct proof *pr, const struct view *v, unsigned depth)
{
    const struct atom a = pr->s->polys.atoms[v->atom];
    if (a.type != ELEMENT_i64)
        return false;
    if (a.op == (v->upper ? EXPR_MIN : EXPR_MAX))
        return try_bound(pr, v, 1, a.arg[0], depth) || try_bound(pr, v, 1, a.arg[1], depth);
    if (a.op == EXPR_DIV)
        return try_quotient(pr, v, a.arg[0], a.arg[1], depth);
    if (a.op == EXPR_MOD && v->upper && nonnegative(pr, a.arg[1], depth - 1)) {
        const struct poly *last = poly_add(&pr->s->polys, a.arg[1], -1, sizes_constant(pr->s, 1));
        return last && try_bound(pr, v, 1, last, depth);
    }
    return false;
}

static bool try_bounds(struct proof *pr, const struct view *v, unsigned depth)
{
    const struct atom a = pr->s->polys.atoms[v->atom];
    if (try_assumed(pr, v, depth))
        return true;
    for (const struct atom_bound *b = a.facts ? a.facts->bounds : NULL; b && pr->budget;
         b = b->next)
        if (b->upper == v->upper && validity_has(b->valid, pr->position) &&
            try_bound(pr, v, b->scale, b->limit, depth))
            return true;
    if (try_operation(pr, v, depth))
        return true;
    return !v->upper && atom_is_nonnegative(pr, v->atom, depth) && nonnegative(pr, v->r, depth - 1);
}

/* Either argument in place of a minimum or maximum. */
static bool try_cases(struct proof *pr, const struct poly *p, int atom, unsigned depth)
{
    const struct atom a = pr->s->polys.atoms[atom];
    if ((a.op != EXPR_MIN && a.op != EXPR_MAX) || element_is_float(a.type))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const struct poly *one = poly_substitute(&pr->s->polys, p, atom, a.arg[i]);
        if (!one || !nonnegative(pr, one, depth - 1))
            return false;
    }
    return true;
}

static bool try_atom(struct proof *pr, const struct poly *p, int atom, unsigned depth)
{
    struct view v = {.atom = atom};
    int64_t c;
    v.q = poly_split(&pr->s->polys, p, atom, &v.r);
    const struct poly *minus = negated(pr, v.q);
    bool known = poly_is_constant(v.q, &c);
    bool up = known ? c >= 0 : nonnegative(pr, v.q, depth - 1);
    bool down = known ? c <= 0 : !up && minus && nonnegative(pr, minus, depth - 1);
    if (up || down) {
        v.upper = !up;
        return try_bounds(pr, &v, depth) || try_cases(pr, p, atom, depth);
    }
    /* If q has no v in it, p is smallest at one of v's ends. */
    const struct poly *rest;
    if (poly_split(&pr->s->polys, v.q, atom, &rest)->count > 0)
        return false;
    struct view w = v;
    w.upper = true;
    return try_bounds(pr, &v, depth) && try_bounds(pr, &w, depth);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* The atoms of p, bound last first; at most ATOMS_TRIED. */
static unsigned latest_atoms(const struct polys *ps, const struct poly *p, int atoms[])
{
    unsigned count = 0;
    for (unsigned t = 0; t < p->count; t++)
        for (unsigned i = 0; i < p->terms[t].degree; i++) {
            int atom = p->terms[t].atoms[i];
            unsigned at = 0;
            while (at < count && atoms[at] != atom &&
                   ps->atoms[atoms[at]].order > ps->atoms[atom].order)
                at++;
            if (at == ATOMS_TRIED || (at < count && atoms[at] == atom))
                continue;
            if (count < ATOMS_TRIED)
                count++;
            for (unsigned k = count - 1; k > at; k--)
                atoms[k] = atoms[k - 1];
            atoms[at] = atom;
        }
    return count;
}

static bool nonnegative(struct proof *pr, const struct poly *p, unsigned depth)
{
    int64_t value;
    if (poly_is_constant(p, &value))
        return value >= 0;
    if (pr->budget == 0)
        return false;
    pr->budget--;
    if (terms_are_nonnegative(pr, p, depth))
        return true;
    if (depth == 0)
        return false;
    int atoms[ATOMS_TRIED];
    unsigned count = latest_atoms(&pr->s->polys, p, atoms);
    for (unsigned i = 0; i < count; i++)
        if (try_atom(pr, p, atoms[i], depth))
            return true;
    return false;
}

bool sizes_nonnegative_given(struct sizes *s, const struct poly *p, unsigned position,
                             unsigned assumed_count, const struct poly *const *assumed)
{
    if (position > s->last_position)
        position = s->last_position;
    struct proof pr = {s, position, assumed_count, assumed, BUDGET};
    return nonnegative(&pr, sizes_normal(s, p, position), DEPTH);
}

/* ---- learning -------------------------------------------------------------------------------- */

static struct atom_facts *facts_of(struct sizes *s, int atom)
{
    struct atom_facts **facts = &s->polys.atoms[atom].facts;
    if (!*facts)
        *facts = arena_alloc(&s->polys.arena, sizeof **facts);
    return *facts;
}

/* c, if p is c * atom + rest and the rest does not mention the atom; else 0. */
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
                       struct validity valid)
{
    const struct poly *zero = sizes_constant(s, 0);
    const struct poly *limit = c > 0 ? poly_add(&s->polys, zero, -1, rest) : rest;
    if (!limit || c == INT64_MIN)
        return;
    struct atom_facts *facts = facts_of(s, atom);
    struct atom_bound *b = arena_alloc(&s->polys.arena, sizeof *b);
    *b = (struct atom_bound){facts->bounds, valid, c < 0, c < 0 ? -c : c, limit};
    facts->bounds = b;
}

static void learn_nonnegative(struct sizes *s, const struct poly *p, struct validity valid)
{
    p = normal_form(s, p, s->last_position);
    if (sizes_nonnegative(s, p, s->last_position))
        return;
    int latest = -1;
    const struct poly *rest;
    for (unsigned t = 0; t < p->count && p->terms[t].degree > 0; t++) {
        int atom = p->terms[t].atoms[0];
        int64_t c = p->terms[t].degree == 1 ? stands_alone(s, p, atom, &rest) : 0;
        if (c != 0 && valid.from < *valid.to)
            file_bound(s, atom, c, rest, valid);
        if (c != 0 && (latest < 0 || s->polys.atoms[atom].order > s->polys.atoms[latest].order))
            latest = atom;
    }
    /* A kernel has many indices, of short validity: i < n files no bound of n. */
    if (valid.from == *valid.to && latest >= 0)
        file_bound(s, latest, stands_alone(s, p, latest, &rest), rest, valid);
}

/* The bounds of a replaced name become bounds of its replacement. */
static void hand_over_bounds(struct sizes *s, int atom, const struct rule *rule)
{
    for (const struct atom_bound *b = facts_of(s, atom)->bounds; b; b = b->next) {
        if (!validity_has(b->valid, s->last_position))
            continue;
        const struct poly *scaled =
            poly_add(&s->polys, sizes_constant(s, 0), b->scale, rule->value);
        const struct poly *above = !scaled    ? NULL
                                   : b->upper ? poly_add(&s->polys, b->limit, -1, scaled)
                                              : poly_add(&s->polys, scaled, -1, b->limit);
        if (above)
            learn_nonnegative(s, above, rule->valid);
    }
}

static void learn_zero(struct sizes *s, const struct poly *p, struct validity valid)
{
    p = normal_form(s, p, s->last_position);
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
        learn_nonnegative(s, p, valid);
        learn_nonnegative(s, opposite, valid);
    }
    if (chosen < 0 || !opposite)
        return;
    struct rule *rule = arena_alloc(&s->polys.arena, sizeof *rule);
    int64_t c = stands_alone(s, p, chosen, &rest);
    *rule = (struct rule){facts_of(s, chosen)->rules, valid, poly_add(&s->polys, zero, -c, rest)};
    facts_of(s, chosen)->rules = rule;
    s->world_at[s->last_position] = ++s->world_count;
    hand_over_bounds(s, chosen, rule);
}

static void learn_condition(struct sizes *s, const struct poly *p, bool truth,
                            struct validity valid)
{
    int single = poly_single_atom(p);
    if (single < 0)
        return;
    const struct atom a = s->polys.atoms[single];
    if ((a.op == EXPR_AND && truth) || (a.op == EXPR_OR && !truth)) {
        learn_condition(s, a.arg[0], truth, valid);
        learn_condition(s, a.arg[1], truth, valid);
    } else if (a.op == EXPR_NOT && !element_is_float(a.type)) {
        learn_condition(s, a.arg[0], !truth, valid);
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
            learn_zero(s, above, valid);
    } else {
        learn_nonnegative(s, above, valid);
    }
}

/* ---- the walk through the program, statement by statement in order --------------------------- */

static unsigned next_position(struct sizes *s, unsigned world)
{
    s->last_position++;
    if (s->last_position >= s->world_capacity) {
        s->world_capacity = s->world_capacity * 2 + 64;
        s->world_at = must_realloc(s->world_at, s->world_capacity * sizeof *s->world_at);
    }
    s->world_at[s->last_position] = world;
    return s->last_position;
}

static unsigned current_world(const struct sizes *s)
{
    return s->world_at[s->last_position];
}

static unsigned size_step(struct sizes *s)
{
    return next_position(s, current_world(s));
}

static void bind_name(struct sizes *s, int name)
{
    struct size_name *n = sizes_name(s, name);
    n->bound = true;
    n->bound_at = s->last_position;
}

/* ---- what statements say --------------------------------------------------------------------- */

static void learn_shape(struct sizes *s, int array, struct validity valid)
{
    const struct name *n = &s->fun->names[array];
    if (n->kind != NAME_ARRAY || (s->without & SIZES_BOUNDS))
        return;
    for (unsigned d = 0; d < n->rank; d++)
        learn_nonnegative(s, sizes_of(s, n->shape[d]), valid);
}

/* Names that are bound together may mention each other in their shapes. */
static void bind_all(struct sizes *s, const int *names, unsigned count, struct validity valid)
{
    for (unsigned i = 0; i < count; i++)
        bind_name(s, names[i]);
    for (unsigned i = 0; i < count; i++)
        learn_shape(s, names[i], valid);
}

/* 0 <= name < range, inside of valid. */
static void learn_counter(struct sizes *s, int name, const struct poly *range,
                          struct validity valid)
{
    bind_name(s, name);
    sizes_name(s, name)->range = range;
    const struct poly *value = sizes_of_name(s, name);
    const struct poly *below = poly_add(&s->polys, range, -1, value);
    if (below)
        below = poly_add(&s->polys, below, -1, sizes_constant(s, 1));
    if (s->without & SIZES_BOUNDS)
        return;
    learn_nonnegative(s, value, valid);
    if (below)
        learn_nonnegative(s, below, valid);
}

static void learn_assertion(struct sizes *s, const struct expr *condition, bool truth,
                            struct validity valid)
{
    if (!(s->without & SIZES_ASSERTS))
        learn_condition(s, sizes_of(s, condition), truth, valid);
}

/* ---- statements with bodies ------------------------------------------------------------------ */

static void walk_body(struct sizes *s, const struct body *body, const unsigned *end);

/* Opens a body: gives it a position, and allocates the place for its end. */
static unsigned *enter(struct sizes *s)
{
    unsigned *end = arena_alloc(&s->polys.arena, sizeof *end);
    *end = UINT32_MAX;
    size_step(s);
    return end;
}

static void leave(struct sizes *s, unsigned *end, unsigned world_before)
{
    *end = size_step(s);
    next_position(s, world_before);
}

static void walk_branch(struct sizes *s, const struct body *body, const struct expr *condition,
                        bool truth)
{
    unsigned world = current_world(s), *end = enter(s);
    learn_assertion(s, condition, truth, (struct validity){s->last_position, end});
    walk_body(s, body, end);
    leave(s, end, world);
}

/* A scalar that both branches give the same value has that value. */
static void walk_if(struct sizes *s, const struct stm *stm)
{
    walk_branch(s, stm->then, stm->expr, true);
    walk_branch(s, stm->otherwise, stm->expr, false);
    for (unsigned o = 0; o < stm->out_count; o++) {
        if (s->fun->names[stm->outs[o]].kind != NAME_SCALAR)
            continue;
        const struct poly *a = sizes_of_name(s, stm->then->results[o]);
        if (a == sizes_of_name(s, stm->otherwise->results[o]))
            sizes_name(s, stm->outs[o])->value = a;
    }
}

/* A scalar that every iteration passes on unchanged keeps its initial value. */
static void walk_loop(struct sizes *s, const struct stm *stm)
{
    const struct loop *l = stm->loop;
    const struct poly *range = l->counter != NO_NAME ? sizes_of(s, l->bound) : NULL;
    unsigned world = current_world(s), *end = enter(s), begin = s->last_position;
    struct validity valid = {begin, end};
    for (unsigned i = 0; i < l->param_count; i++)
        if (l->init_exprs[i] && l->body.results[i] == l->params[i]) {
            const struct poly *init = sizes_of(s, l->init_exprs[i]);
            sizes_name(s, l->params[i])->value = init;
            sizes_name(s, stm->outs[i])->value = init;
        }
    bind_all(s, l->params, l->param_count, valid);
    if (range)
        learn_counter(s, l->counter, range, valid);
    walk_body(s, &l->body, end);
    leave(s, end, world);
    if (range) {
        sizes_name(s, l->counter)->from = begin;
        sizes_name(s, l->counter)->to = *end;
    }
}

/* Shapes are checked before extents, and both before the launch. */
static void walk_kernel(struct sizes *s, const struct stm *stm, struct validity valid)
{
    const struct kernel *k = stm->kernel;
    unsigned *here = arena_alloc(&s->polys.arena, sizeof *here);
    *here = s->last_position;
    bind_all(s, stm->outs, stm->out_count, valid);
    for (unsigned p = 0; p < k->private_count; p++)
        sizes_name(s, k->privates[p])->kernel = k;
    for (unsigned d = 0; d < k->rank; d++) {
        const struct poly *extent = sizes_of(s, k->extents[d]);
        if (!(s->without & SIZES_BOUNDS))
            learn_nonnegative(s, extent, valid);
        learn_counter(s, k->indices[d], extent, (struct validity){*here, here});
        sizes_name(s, k->indices[d])->is_index = true;
    }
    if (k->item != NO_NAME)
        bind_name(s, k->item);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void walk_statement(struct sizes *s, struct stm *stm, const unsigned *end)
{
    stm->size_position = size_step(s);
    if (stm->kind == STM_IF)
        walk_if(s, stm);
    else if (stm->kind == STM_LOOP)
        walk_loop(s, stm);
    struct validity valid = {s->last_position, end};
    if (stm->kind == STM_KERNEL) {
        walk_kernel(s, stm, valid);
    } else if (stm->kind == STM_ASSERT) {
        valid.from = size_step(s);
        learn_assertion(s, stm->expr, true, valid);
    } else {
        if (stm->kind == STM_SCALAR) {
            const struct poly *value = sizes_of(s, stm->expr);
            sizes_name(s, stm->outs[0])->value = value;
        }
        bind_all(s, stm->outs, stm->out_count, valid);
    }
}

static void walk_body(struct sizes *s, const struct body *body, const unsigned *end)
{
    for (struct stm *stm = body->first; stm; stm = stm->next)
        walk_statement(s, stm, end);
}

static void walk_all(struct sizes *s)
{
    const struct fun *fun = s->fun;
    s->world_capacity = 64;
    s->world_at = must_alloc(s->world_capacity * sizeof *s->world_at);
    s->world_at[0] = s->world_count = 1;
    sizes_name(s, 0);
    unsigned *end = arena_alloc(&s->polys.arena, sizeof *end);
    *end = UINT32_MAX;
    bind_all(s, fun->params, fun->param_count, (struct validity){0, end});
    walk_body(s, &fun->body, end);
    *end = size_step(s);
}

struct sizes *sizes_open(struct program *program, const struct fun *fun, unsigned without)
{
    struct sizes *s = must_alloc(sizeof *s);
    s->program = program;
    s->fun = fun;
    s->without = without;
    polys_open(&s->polys);
    walk_all(s);
    return s;
}

void sizes_close(struct sizes *s)
{
    polys_close(&s->polys);
    free(s->names);
    free(s->world_at);
    free(s);
}
