/* Random programs: which statements, and the frame around them. */
#include "tests/program/generate_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "tests/program/program_maker.h"

/* ---- scalars -------------------------------------------------------------------------------- */

static void make_scalar(struct maker *g)
{
    struct made_scalar *s = &g->scalars[g->scalar_count];
    *s = (struct made_scalar){.is_i64 = false};
    fresh_name(g, s->name, 'e');
    int from = find_array(g, (struct wish){.element = ELEMENT_i32, .not_family = -1});
    if (from >= 0 && chance(g, 70)) {
        const struct made *a = &g->arrays[from];
        struct text t = {0};
        for (unsigned d = 0; d < a->rank; d++)
            text_add(&t, "%s%u", d ? ", " : "", below(g, (unsigned)a->dim[d].value));
        line(g, "let %s: i32 = %s[%s]", s->name, a->name, t.data);
        text_free(&t);
    } else {
        s->is_i64 = true;
        line(g, "let %s: i64 = %s * %u + 1", s->name, g->sizes[below(g, 3)].text, below(g, 5));
    }
    g->scalar_count++;
}

/* ---- statements ----------------------------------------------------------------------------- */

static void make_some_kernel(struct maker *g)
{
    make_kernel(g, NULL, chance(g, 50) ? find_array(g, (struct wish){ANY_WISH}) : -1);
}

static const struct {
    void (*make)(struct maker *g);
    unsigned weight;
} kinds[] = {
    {make_some_kernel, 40}, {make_some_with, 8}, {make_copy, 7},      {make_concat, 9},
    {make_some_update, 10}, {make_loop, 7},      {make_if, 5},        {make_scalar, 5},
    {make_slice, 4},        {make_reshape, 4},   {make_rearrange, 4}, {make_alias, 2},
    {make_scratch, 4},      {make_iota, 3},      {make_replicate, 3}, {make_listed, 4},
    {make_groups, 3},
};

void make_statements(struct maker *g, int count)
{
    unsigned total = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        total += kinds[i].weight;
    /* Leaves room for the names that a statement brings in addition to its own array. */
    while (count-- > 0 && g->budget-- > 0 && g->array_count + 16 < MAKER_ARRAYS &&
           g->scalar_count + 4 < MAKER_SCALARS && g->family_count + 64 < MAKER_FAMILIES) {
        unsigned choice = below(g, total), i = 0;
        while (choice >= kinds[i].weight)
            choice -= kinds[i++].weight;
        kinds[i].make(g);
    }
}

static void make_params(struct maker *g)
{
    struct text t = {0};
    char type[128];
    text_add(&t, "fun made(n: i64, m: i64, k: i64");
    for (unsigned p = 2 + below(g, 3); p; p--) {
        struct made model;
        some_shape(g, &model, 1 + (chance(g, 45)));
        for (unsigned d = 0; d < model.rank; d++)
            model.dim[d] = g->sizes[below(g, 3)];
        struct made *a = bring(g, &model);
        bool unique = chance(g, 40);
        g->families[a->family].foreign = !unique;
        text_add(&t, ", %s: %s%s", a->name, unique ? "*" : "", type_text(a, type));
    }
    line(g, "%s) {", t.data);
    text_free(&t);
}

static void make_results(struct maker *g)
{
    struct text t = {0};
    unsigned count = 0;
    for (unsigned i = g->array_count; i-- > 0 && count < 4;)
        if (usable(g, &g->arrays[i]) && chance(g, count ? 30 : 80))
            text_add(&t, "%s%s", count++ ? ", " : "", g->arrays[i].name);
    if (!count)
        text_add(&t, "%s", g->arrays[make_kernel(g, NULL, -1)].name);
    line(g, "in %s", t.data);
    text_free(&t);
}

char *generate_program_text(uint64_t seed, unsigned statements)
{
    struct maker *g = must_alloc(sizeof *g);
    struct text out = {0};
    g->random.state = random_split(seed, 1);
    g->out = &out;
    g->budget = (int)(statements ? statements : 5 + below(g, 36));
    unsigned n = 2 + below(g, 4), m = 2 + below(g, 4);
    const struct size sizes[] = {{"n", n},         {"m", m},         {"k", n},
                                 {"n + 1", n + 1}, {"2 * n", 2 * n}, {"3", 3}};
    memcpy(g->sizes, sizes, sizeof sizes);
    g->size_count = sizeof sizes / sizeof *sizes;
    make_params(g);
    g->indent = 1;
    line(g, "assert n == k");
    make_statements(g, g->budget);
    make_results(g);
    g->indent = 0;
    line(g, "}");
    line(g, "dataset d { n = %u; m = %u; k = %u; }", n, m, n);
    free(g);
    return out.data;
}
