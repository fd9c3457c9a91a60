/* Canonical polynomials: sums are collected in a sorted list of terms, then interned. */
#include "merge/size/poly.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/sort.h"

void polys_open(struct polys *ps)
{
    *ps = (struct polys){.atom_slot_count = 64, .bucket_count = 64};
    ps->atom_slots = must_alloc(ps->atom_slot_count * sizeof *ps->atom_slots);
    ps->buckets = must_alloc(ps->bucket_count * sizeof *ps->buckets);
}

void polys_close(struct polys *ps)
{
    free(ps->atoms);
    free(ps->atom_slots);
    free(ps->buckets);
    arena_free(&ps->arena);
}

/* ---- atoms ---------------------------------------------------------------------------------- */

static int *atom_slot(struct polys *ps, const struct atom *a)
{
    uint64_t h = random_mix((uint64_t)a->op * ELEMENTS + a->type);
    h = random_mix(h ^ (uint64_t)a->number);
    h = random_mix(h ^ (a->arg[0] ? a->arg[0]->hash : 1));
    h = random_mix(h ^ (a->arg[1] ? a->arg[1]->hash : 2));
    for (;; h++) {
        int *slot = &ps->atom_slots[h & (ps->atom_slot_count - 1)];
        if (!*slot)
            return slot;
        const struct atom *b = &ps->atoms[*slot - 1];
        if (a->op == b->op && a->type == b->type && a->number == b->number &&
            a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1])
            return slot;
    }
}

static uint64_t order_of(const struct polys *ps, const struct poly *p)
{
    uint64_t order = 0;
    for (unsigned t = 0; p && t < p->count; t++)
        for (unsigned i = 0; i < p->terms[t].degree; i++)
            if (ps->atoms[p->terms[t].atoms[i]].order > order)
                order = ps->atoms[p->terms[t].atoms[i]].order;
    return order;
}

int poly_intern_atom(struct polys *ps, const struct atom *atom)
{
    int *slot = atom_slot(ps, atom);
    if (*slot)
        return *slot - 1;
    ps->atoms = must_grow(ps->atoms, ps->atom_count, &ps->atom_capacity, sizeof *ps->atoms);
    struct atom *a = &ps->atoms[ps->atom_count];
    *a = *atom;
    if (a->op != EXPR_NAME) {
        uint64_t first = order_of(ps, a->arg[0]), second = order_of(ps, a->arg[1]);
        a->order = (first > second ? first : second) + 1;
    }
    *slot = (int)++ps->atom_count;
    if (2 * ps->atom_count > ps->atom_slot_count) {
        free(ps->atom_slots);
        ps->atom_slot_count *= 2;
        ps->atom_slots = must_alloc(ps->atom_slot_count * sizeof *ps->atom_slots);
        for (unsigned i = 0; i < ps->atom_count; i++)
            *atom_slot(ps, &ps->atoms[i]) = (int)i + 1;
    }
    return (int)ps->atom_count - 1;
}

/* ---- sums ----------------------------------------------------------------------------------- */

struct sum {
    bool failed;
    unsigned count;
    struct term terms[POLY_TERMS_MAX];
};

/* Terms beyond count stay uninitialised: clearing them would be most of the work. */
static void sum_start(struct sum *sum)
{
    sum->failed = false;
    sum->count = 0;
}

static int compare_monomials(const struct term *a, const struct term *b)
{
    if (a->degree != b->degree)
        return a->degree > b->degree ? -1 : 1;
    for (unsigned i = 0; i < a->degree; i++)
        if (a->atoms[i] != b->atoms[i])
            return a->atoms[i] < b->atoms[i] ? -1 : 1;
    return 0;
}

static void sum_add(struct sum *sum, const struct term *t)
{
    unsigned low;
    FIND_PLACE(low, sum->count, compare_monomials(&sum->terms[low], t) < 0);
    struct term *at = &sum->terms[low];
    if (low < sum->count && compare_monomials(at, t) == 0) {
        sum->failed |= __builtin_add_overflow(at->coefficient, t->coefficient, &at->coefficient);
        if (at->coefficient == 0)
            memmove(at, at + 1, (--sum->count - low) * sizeof *at);
    } else if (sum->count == POLY_TERMS_MAX) {
        sum->failed = true;
    } else if (t->coefficient != 0) {
        memmove(at + 1, at, (sum->count++ - low) * sizeof *at);
        *at = *t;
    }
}

static void sum_add_product(struct sum *sum, const struct term *a, const struct term *b)
{
    struct term t = {.degree = a->degree + b->degree};
    if (t.degree > POLY_DEGREE_MAX ||
        __builtin_mul_overflow(a->coefficient, b->coefficient, &t.coefficient)) {
        sum->failed = true;
        return;
    }
    for (unsigned i = 0, j = 0; i + j < t.degree;)
        if (j == b->degree || (i < a->degree && a->atoms[i] <= b->atoms[j]))
            t.atoms[i + j] = a->atoms[i], i++;
        else
            t.atoms[i + j] = b->atoms[j], j++;
    sum_add(sum, &t);
}

static void sum_add_poly(struct sum *sum, const struct term *factor, const struct poly *p)
{
    for (unsigned t = 0; t < p->count && !sum->failed; t++)
        sum_add_product(sum, factor, &p->terms[t]);
}

static const struct term one = {.coefficient = 1};

static void grow_buckets(struct polys *ps)
{
    unsigned old_count = ps->bucket_count;
    struct poly **old = ps->buckets;
    ps->bucket_count *= 2;
    ps->buckets = must_alloc(ps->bucket_count * sizeof *ps->buckets);
    for (unsigned i = 0; i < old_count; i++)
        for (struct poly *p = old[i], *next; p; p = next) {
            struct poly **bucket = &ps->buckets[p->hash & (ps->bucket_count - 1)];
            next = p->next;
            p->next = *bucket;
            *bucket = p;
        }
    free(old);
}

static const struct poly *intern(struct polys *ps, const struct sum *sum)
{
    if (sum->failed)
        return NULL;
    uint64_t h = sum->count;
    for (unsigned t = 0; t < sum->count; t++) {
        h = random_mix(h ^ (uint64_t)sum->terms[t].coefficient);
        for (unsigned i = 0; i < sum->terms[t].degree; i++)
            h = random_mix(h + (uint64_t)sum->terms[t].atoms[i] + 1);
    }
    struct poly *p = ps->buckets[h & (ps->bucket_count - 1)];
    for (; p; p = p->next) {
        bool same = p->hash == h && p->count == sum->count;
        for (unsigned t = 0; t < sum->count && same; t++)
            same = p->terms[t].coefficient == sum->terms[t].coefficient &&
                   compare_monomials(&p->terms[t], &sum->terms[t]) == 0;
        if (same)
            return p;
    }
    if (ps->poly_count++ == ps->bucket_count)
        grow_buckets(ps);
    p = arena_alloc(&ps->arena, sizeof *p + sum->count * sizeof *p->terms);
    p->hash = h;
    p->count = sum->count;
    memcpy(p->terms, sum->terms, sum->count * sizeof *p->terms);
    p->next = ps->buckets[h & (ps->bucket_count - 1)];
    ps->buckets[h & (ps->bucket_count - 1)] = p;
    return p;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

const struct poly *poly_constant(struct polys *ps, int64_t value)
{
    struct sum sum;
    sum_start(&sum);
    sum_add(&sum, &(struct term){.coefficient = value});
    return intern(ps, &sum);
}

const struct poly *poly_atom(struct polys *ps, int atom)
{
    struct sum sum;
    sum_start(&sum);
    sum_add(&sum, &(struct term){.coefficient = 1, .degree = 1, .atoms = {atom}});
    return intern(ps, &sum);
}

const struct poly *poly_add(struct polys *ps, const struct poly *a, int64_t factor,
                            const struct poly *b)
{
    struct sum sum;
    sum_start(&sum);
    sum_add_poly(&sum, &one, a);
    sum_add_poly(&sum, &(struct term){.coefficient = factor}, b);
    return intern(ps, &sum);
}

const struct poly *poly_multiply(struct polys *ps, const struct poly *a, const struct poly *b)
{
    struct sum sum;
    sum_start(&sum);
    for (unsigned t = 0; t < a->count; t++)
        sum_add_poly(&sum, &a->terms[t], b);
    return intern(ps, &sum);
}

/* Sets *factor to t / by, with the coefficient rounded down. False if the atoms of `by` are not
 * among those of `t`, or the factor would be 0. */
static bool divide_term(const struct term *t, const struct term *by, struct term *factor)
{
    *factor = (struct term){.degree = 0};
    unsigned matched = 0;
    for (unsigned i = 0; i < t->degree; i++)
        if (matched < by->degree && by->atoms[matched] == t->atoms[i])
            matched++;
        else
            factor->atoms[factor->degree++] = t->atoms[i];
    int64_t c = t->coefficient, d = by->coefficient;
    if (matched < by->degree || (d == -1 && c == INT64_MIN))
        return false;
    factor->coefficient = c / d - (c % d != 0 && (c < 0) != (d < 0));
    return factor->coefficient != 0;
}

const struct poly *poly_divide(struct polys *ps, const struct poly *a, const struct poly *b,
                               const struct poly **rest)
{
    struct sum quotient, left;
    sum_start(&quotient);
    sum_start(&left);
    sum_add_poly(&left, &one, a);
    /* Each step takes the first term that divides and leaves lower ones in its place. */
    for (unsigned t = 0, steps = 0; t < left.count && !left.failed && !quotient.failed;) {
        struct term factor;
        if (!divide_term(&left.terms[t], &b->terms[0], &factor)) {
            t++;
            continue;
        }
        sum_add(&quotient, &factor);
        if (factor.coefficient == INT64_MIN || ++steps > 2 * POLY_TERMS_MAX)
            left.failed = true;
        factor.coefficient = -factor.coefficient;
        sum_add_poly(&left, &factor, b);
    }
    const struct poly *result = intern(ps, &quotient);
    *rest = intern(ps, &left);
    return result && *rest ? result : NULL;
}

const struct poly *poly_split(struct polys *ps, const struct poly *p, int atom,
                              const struct poly **rest)
{
    struct sum with, without;
    sum_start(&with);
    sum_start(&without);
    for (unsigned t = 0; t < p->count; t++) {
        struct term left;
        if (divide_term(&p->terms[t], &(struct term){1, 1, {atom}}, &left))
            sum_add(&with, &left);
        else
            sum_add(&without, &p->terms[t]);
    }
    *rest = intern(ps, &without);
    return intern(ps, &with);
}

const struct poly *poly_substitute(struct polys *ps, const struct poly *p, int atom,
                                   const struct poly *value)
{
    /* Horner: p = atom * (atom * (…) + rest1) + rest0. */
    const struct poly *rest, *with = poly_split(ps, p, atom, &rest);
    if (with->count == 0)
        return p;
    const struct poly *inner = poly_substitute(ps, with, atom, value);
    const struct poly *product = inner ? poly_multiply(ps, value, inner) : NULL;
    return product ? poly_add(ps, product, 1, rest) : NULL;
}

/* ---- questions ------------------------------------------------------------------------------ */

int64_t poly_constant_term(const struct poly *p)
{
    return p->count && p->terms[p->count - 1].degree == 0 ? p->terms[p->count - 1].coefficient : 0;
}

bool poly_is_constant(const struct poly *p, int64_t *value)
{
    if (value)
        *value = poly_constant_term(p);
    return p->count == 0 || p->terms[0].degree == 0;
}

int poly_single_atom(const struct poly *p)
{
    return p->count == 1 && p->terms[0].degree == 1 && p->terms[0].coefficient == 1
               ? p->terms[0].atoms[0]
               : -1;
}

int64_t poly_content(const struct poly *p)
{
    uint64_t content = 0;
    for (unsigned t = 0; t < p->count && p->terms[t].degree > 0; t++) {
        int64_t c = p->terms[t].coefficient;
        for (uint64_t b = c < 0 ? -(uint64_t)c : (uint64_t)c, rest; b; b = rest)
            rest = content % b, content = b;
    }
    return content > INT64_MAX ? 1 : (int64_t)content;
}

static bool any_atom(struct polys *ps, const struct poly *p,
                     bool (*holds)(const void *, int, const struct atom *), const void *context)
{
    for (unsigned t = 0; p && t < p->count; t++)
        for (unsigned i = 0; i < p->terms[t].degree; i++) {
            int number = p->terms[t].atoms[i];
            struct atom *a = &ps->atoms[number];
            if (a->visited == ps->visit)
                continue;
            a->visited = ps->visit;
            if (holds(context, number, a) || any_atom(ps, a->arg[0], holds, context) ||
                any_atom(ps, a->arg[1], holds, context))
                return true;
        }
    return false;
}

bool poly_any_atom(struct polys *ps, const struct poly *p,
                   bool (*holds)(const void *context, int number, const struct atom *atom),
                   const void *context)
{
    ps->visit++;
    return any_atom(ps, p, holds, context);
}
