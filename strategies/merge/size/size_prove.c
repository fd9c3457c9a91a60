/* Proving that a polynomial is not negative, by putting bounds in place of atoms.
 *
 * p = v * q + r. Where q >= 0 and v >= limit, p >= limit * q + r, and it is enough to prove that of
 * the right side, which has one v less; likewise with an upper bound where q <= 0, and with both
 * where the sign of q is open. A minimum or maximum is one of its arguments: both cases must hold.
 * Atoms that are bound last go first: their bounds are made of earlier ones. The search ends with
 * its budget, which is far above what sizes of real programs need.
 */
#include "merge/size/size_state.h"

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

/* ---- atoms that are never negative ---------------------------------------------------------- */

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
    for (const struct bound *b = a.facts ? a.facts->bounds : NULL; b; b = b->next)
        if (!b->upper && poly_is_constant(b->limit, &limit) && limit >= 0 &&
            span_has(b->span, pr->position))
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

/* ---- bounds --------------------------------------------------------------------------------- */

/* One way to see p: atom * q + r, and which bounds of the atom are asked for. */
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

/* What is assumed for this question, solved for the atom. */
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
    for (const struct bound *b = a.facts ? a.facts->bounds : NULL; b && pr->budget; b = b->next)
        if (b->upper == v->upper && span_has(b->span, pr->position) &&
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
    /* Where q has no v in it, p is smallest at one of v's ends. */
    const struct poly *rest;
    if (poly_split(&pr->s->polys, v.q, atom, &rest)->count > 0)
        return false;
    struct view w = v;
    w.upper = true;
    return try_bounds(pr, &v, depth) && try_bounds(pr, &w, depth);
}

/* ---- the search ----------------------------------------------------------------------------- */

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
