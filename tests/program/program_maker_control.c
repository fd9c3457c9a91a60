/* Random branches and loops. */
#include <stdio.h>
#include <string.h>

#include "tests/program/program_maker.h"

/* ---- branches ------------------------------------------------------------------------------- */

static void some_condition(struct maker *g, struct text *t)
{
    if (g->scalar_count && chance(g, 80))
        text_add(t, "%s %% 2 == %u", g->scalars[below(g, g->scalar_count)].name, below(g, 2));
    else
        text_add(t, "%s > %u", g->sizes[below(g, 3)].text, 1 + below(g, 5));
}

/* What is in scope at the beginning of a body. */
struct scope {
    unsigned arrays, scalars;
};

static struct scope open_body(struct maker *g)
{
    g->indent++;
    return (struct scope){g->array_count, g->scalar_count};
}

static void close_body(struct maker *g, struct scope s)
{
    g->indent--;
    g->array_count = s.arrays;
    g->scalar_count = s.scalars;
}

/* A value of the type of `model` at the end of a body: made there, or from outside. */
static int some_result(struct maker *g, const struct made *model, int from)
{
    int found = chance(g, 50) ? find_array(g, (struct wish){.element = (int)model->element,
                                                            .rank = model->rank,
                                                            .dim = model->dim,
                                                            .not_family = -1})
                              : -1;
    return found >= 0 ? found : make_kernel(g, model, from);
}

/* As the verifier: what a branch gave is no relation of the result if the other consumed it. */
static void join_if_alive(struct maker *g, int out, int result)
{
    result = find_family(g, result);
    if (!g->families[result].consumed)
        join_families(g, out, result);
    else if (g->families[result].depth < g->families[find_family(g, out)].depth)
        g->families[find_family(g, out)].depth = g->families[result].depth;
}

void make_if(struct maker *g)
{
    int like = find_array(g, (struct wish){ANY_WISH});
    if (like < 0)
        return;
    struct made model = g->arrays[like];
    struct text condition = {0}, body = {0}, *outer = g->out;
    char type[128];
    int families[2], half = g->budget / 3;
    bool before[MAKER_FAMILIES], after[MAKER_FAMILIES];
    some_condition(g, &condition);
    g->out = &body;
    int family_count = g->family_count;
    for (int f = 0; f < family_count; f++)
        before[f] = g->families[find_family(g, f)].consumed;
    for (unsigned b = 0; b < 2; b++) {
        struct scope scope = open_body(g);
        make_statements(g, (int)below(g, (unsigned)(half > 0 ? half : 0) + 2));
        int result = some_result(g, &model, -1);
        families[b] = g->arrays[result].family;
        if (chance(g, 10)) {
            families[b] = new_family(g, g->depth, false);
            line(g, "in %s%s", chance(g, 50) ? "copy " : "replicate(5) -- ",
                 g->arrays[result].name);
        } else {
            line(g, "in %s", g->arrays[result].name);
        }
        close_body(g, scope);
        if (b == 0) {
            line(g, "} else {");
            for (int f = 0; f < family_count; f++) {
                after[f] = g->families[find_family(g, f)].consumed;
                g->families[find_family(g, f)].consumed = before[f];
            }
        }
    }
    for (int f = 0; f < family_count; f++)
        g->families[find_family(g, f)].consumed |= after[f];
    g->out = outer;
    struct made *a = bring(g, &model);
    join_if_alive(g, a->family, families[0]);
    join_if_alive(g, a->family, families[1]);
    a->plain = false; /* the branches' common index function, which may be a view's */
    line(g, "let %s: %s = if %s {", a->name, fresh_type_text(g, a, type), condition.data);
    text_add(g->out, "%s", body.data);
    line(g, "}");
    text_free(&condition);
    text_free(&body);
}

/* ---- loops ---------------------------------------------------------------------------------- */

enum { CARRIED = 3 };

struct carried {
    unsigned count;
    struct {
        struct made model;
        char init[16], param[16];
        int init_family, result_family;
        int number; /* of the parameter in scope */
        bool unique;
    } a[CARRIED];
};

static void choose_carried(struct maker *g, struct carried *c)
{
    unsigned wanted = 1 + (chance(g, 35)) + (chance(g, 15));
    for (unsigned i = 0; i < wanted; i++) {
        bool unique = chance(g, 45);
        int init =
            find_array(g, (struct wish){.element = -1, .consumable = unique, .not_family = -1});
        if (init >= 0 && i && chance(g, 50)) /* of the same type, so that they can change places */
            init = find_array(g, (struct wish){.element = (int)c->a[0].model.element,
                                               .rank = c->a[0].model.rank,
                                               .dim = c->a[0].model.dim,
                                               .consumable = unique,
                                               .not_family = -1});
        if (init < 0)
            continue;
        bool met = false;
        for (unsigned k = 0; k < c->count; k++)
            met |= find_family(g, c->a[k].init_family) == family_of(g, &g->arrays[init]) &&
                   (unique || c->a[k].unique);
        if (met)
            continue;
        unsigned k = c->count++;
        c->a[k].model = g->arrays[init];
        c->a[k].unique = unique;
        c->a[k].init_family = g->arrays[init].family;
        memcpy(c->a[k].init, g->arrays[init].name, sizeof c->a[k].init);
    }
    for (unsigned k = 0; k < c->count; k++)
        if (c->a[k].unique)
            g->families[find_family(g, c->a[k].init_family)].consumed = true;
}

static void bring_params(struct maker *g, struct carried *c)
{
    for (unsigned k = 0; k < c->count; k++) {
        c->a[k].number = (int)g->array_count;
        struct made *p = bring(g, &c->a[k].model);
        p->plain = true; /* row-major by rule */
        memcpy(c->a[k].param, p->name, sizeof p->name);
        if (c->a[k].unique)
            continue;
        g->families[p->family].foreign = true;
        join_families(g, c->a[k].init_family, p->family);
    }
}

/* The next value of a carried array; others may not share a unique one. */
static int next_value(struct maker *g, struct carried *c, unsigned k)
{
    const struct made model = c->a[k].model;
    int param = c->a[k].number;
    bool alive = usable(g, &g->arrays[param]), own = consumable(g, &g->arrays[param]);
    if (c->a[k].unique) {
        if (own && chance(g, 40)) {
            int updated = make_update(g, param);
            if (updated >= 0)
                return updated;
        }
        if (own && chance(g, 40))
            return make_kernel_with(g, param);
        return make_kernel(g, &model, alive ? param : -1);
    }
    for (unsigned o = 0; o < c->count && chance(g, 30); o++) /* another one's old value */
        if (!c->a[o].unique && same_type(&g->arrays[c->a[o].number], &model))
            return c->a[o].number;
    if (chance(g, 20))
        return some_result(g, &model, param);
    return make_kernel(g, &model, param);
}

static void loop_results(struct maker *g, struct carried *c, const char *scalars)
{
    struct text t = {0};
    for (unsigned k = 0; k < c->count; k++) {
        int next = next_value(g, c, k);
        bool copied = chance(g, 10);
        if (copied) { /* nothing else is of its family */
            c->a[k].result_family = new_family(g, g->depth, false);
        } else if (c->a[k].unique) { /* kept from the ones that come after */
            c->a[k].result_family = family_of(g, &g->arrays[next]);
            g->families[c->a[k].result_family].consumed = true;
        } else { /* nor may they consume it */
            c->a[k].result_family = family_of(g, &g->arrays[next]);
            g->families[c->a[k].result_family].foreign = true;
        }
        text_add(&t, "%s%s%s", k ? ", " : "", copied ? "copy " : "", g->arrays[next].name);
    }
    line(g, "in %s%s", t.data, scalars);
    text_free(&t);
}

static void loop_head(struct maker *g, const struct carried *c, const char *more_outs,
                      const char *more_params, const char *how)
{
    struct text outs = {0}, params = {0};
    char type[128];
    for (unsigned k = 0; k < c->count; k++) {
        struct made *a = bring(g, &c->a[k].model);
        a->plain = false; /* an update in place may have left it where the initial value was */
        if (!c->a[k].unique) {
            join_families(g, a->family, c->a[k].init_family);
            join_families(g, a->family, c->a[k].result_family);
        }
        text_add(&outs, "%s%s: %s", k ? ", " : "", a->name, fresh_type_text(g, a, type));
        text_add(&params, "%s%s: %s%s = %s", k ? ", " : "", c->a[k].param,
                 c->a[k].unique ? "*" : "", type_text(a, type), c->a[k].init);
    }
    line(g, "let (%s%s) = loop (%s%s) %s {", outs.data, more_outs, params.data, more_params, how);
    text_free(&outs);
    text_free(&params);
}

void make_loop(struct maker *g)
{
    struct carried c = {0};
    choose_carried(g, &c);
    if (!c.count)
        return;
    bool counted = chance(g, 75);
    char counter[16], go[16], outs[64] = "", params[64] = "", results[64] = "", how[64];
    fresh_name(g, counter, 'c');
    fresh_name(g, go, 'g');
    struct text body = {0}, *outer = g->out;
    g->out = &body;
    g->depth++;
    struct scope scope = open_body(g);
    bring_params(g, &c);
    if (counted) {
        g->scalars[g->scalar_count] = (struct made_scalar){.is_i64 = true};
        memcpy(g->scalars[g->scalar_count++].name, counter, sizeof counter);
        snprintf(how, sizeof how, "for %s < %s", counter,
                 chance(g, 30)   ? g->sizes[below(g, 3)].text
                 : chance(g, 80) ? "3"
                                 : "0");
    } else {
        snprintf(outs, sizeof outs, ", %s_end: i64, %s_end: bool", counter, go);
        snprintf(params, sizeof params, ", %s: i64 = 0, %s: bool = true", counter, go);
        snprintf(results, sizeof results, ", %s_next, %s_next", counter, go);
        snprintf(how, sizeof how, "while %s", go);
        line(g, "let %s_next: i64 = %s + 1", counter, counter);
        line(g, "let %s_next: bool = %s_next < %u", go, counter, 1 + below(g, 3));
    }
    make_statements(g, 1 + (int)below(g, (unsigned)(g->budget > 0 ? g->budget / 3 : 0) + 1));
    loop_results(g, &c, results);
    close_body(g, scope);
    g->depth--;
    g->out = outer;
    loop_head(g, &c, outs, params, how);
    text_add(g->out, "%s", body.data);
    line(g, "}");
    text_free(&body);
}
