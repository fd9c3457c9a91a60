/* Random statements that make, view and update arrays. */
#include <stdio.h>
#include <string.h>

#include "tests/program/program_maker.h"

/* ---- fresh arrays --------------------------------------------------------------------------- */

void some_shape(struct maker *g, struct made *model, unsigned rank)
{
    *model = (struct made){.element = some_element(g), .rank = rank};
    for (unsigned d = 0; d < rank; d++)
        model->dim[d] = some_size(g);
}

void make_iota(struct maker *g)
{
    struct made model;
    char type[128];
    some_shape(g, &model, 1);
    const struct made *a = bring(g, &model);
    line(g, "let %s: %s = iota", a->name, fresh_type_text(g, a, type));
}

/* An array, repeated along one dimension more. */
static void make_repeated(struct maker *g, int from)
{
    char type[128];
    struct made model = g->arrays[from];
    for (unsigned d = model.rank++; d > 0; d--)
        model.dim[d] = model.dim[d - 1];
    model.dim[0] = some_size(g);
    const struct made *a = bring(g, &model);
    line(g, "let %s: %s = replicate(%s)", a->name, fresh_type_text(g, a, type),
         g->arrays[from].name);
}

void make_replicate(struct maker *g)
{
    struct made model;
    char type[128];
    int from = chance(g, 50) ? find_array(g, (struct wish){ANY_WISH}) : -1;
    if (from >= 0 && g->arrays[from].rank < MAKER_RANK) {
        make_repeated(g, from);
        return;
    }
    some_shape(g, &model, 1 + below(g, 2));
    const struct made *a = bring(g, &model);
    if (g->scalar_count && chance(g, 40))
        line(g, "let %s: %s = replicate(%s(%s))", a->name, type_text(a, type),
             element_name(a->element), g->scalars[below(g, g->scalar_count)].name);
    else
        line(g, "let %s: %s = replicate(%u)", a->name, type_text(a, type), below(g, 200));
}

/* An array as long as the device says, and the kernel that fills it without asking for that. */
void make_listed(struct maker *g)
{
    struct made one = {.element = ELEMENT_i32, .rank = 1, .dim = {{"1", 1}}}, model;
    char type[128], count[16], length[16];
    const unsigned elements = 1 + below(g, 6);
    const struct made *a = bring(g, &one);
    line(g, "let %s: [1]i32 = kernel k%u (i < 1) { %s[i] = %u; }", a->name, g->kernels++, a->name,
         elements);
    fresh_name(g, count, 'e');
    fresh_name(g, length, 'e');
    line(g, "let %s: i32 = %s[0]", count, a->name);
    line(g, "let %s: i64 = i64(%s)", length, count);
    model = (struct made){.element = some_element(g), .rank = 1 + chance(g, 30)};
    snprintf(model.dim[0].text, sizeof model.dim[0].text, "%s", length);
    model.dim[0].value = elements;
    model.dim[1] = (struct size){"3", 3};
    a = bring(g, &model);
    line(g,
         "let %s: %s = kernel k%u (i < 1) { for (i32 q = 0; q < %u; q++) "
         "%s%s[q%s] = (%s)(q * 3 + %u); }",
         a->name, type_text(a, type), g->kernels++, elements,
         a->rank == 2 ? "for (i32 r = 0; r < 3; r++) " : "", a->name, a->rank == 2 ? ", r" : "",
         element_name(a->element), below(g, 50));
}

void make_copy(struct maker *g)
{
    char type[128];
    int from = find_array(g, (struct wish){ANY_WISH});
    if (from < 0)
        return;
    const struct made *a = bring(g, &g->arrays[from]);
    line(g, "let %s: %s = copy %s", a->name, fresh_type_text(g, a, type), g->arrays[from].name);
}

/* A scratch is written in full at once: by a kernel in its place, or by a copy into all of it. */
void make_scratch(struct maker *g)
{
    struct made model;
    char type[128];
    int like = find_array(g, (struct wish){ANY_WISH});
    some_shape(g, &model, 1 + below(g, 2));
    if (like >= 0)
        model = g->arrays[like];
    int scratch = (int)g->array_count;
    struct made *a = bring(g, &model);
    a->written = false;
    line(g, "let %s: %s = scratch", a->name, type_text(a, type));
    if (like < 0 || chance(g, 60)) {
        make_kernel_with(g, scratch);
        return;
    }
    consume(g, a);
    const struct made *full = bring(g, &model);
    line(g, "let %s: %s = %s with [%s] <- %s%s", full->name, type_text(full, type), a->name,
         full->rank == 1   ? ":"
         : full->rank == 2 ? ":, :"
                           : ":, :, :",
         chance(g, 50) ? "copy " : "", g->arrays[like].name);
}

/* An array as it may stand among pieces: its name, or an expression for all of its elements. */
static void piece_text(struct maker *g, const struct made *a, struct text *t)
{
    static const char *const rest[] = {"", ", :", ", :, :"};
    text_add(t, "%s", chance(g, 50) ? "copy " : "");
    if (chance(g, 80))
        text_add(t, "%s", a->name);
    else if (a->rank == 2 && chance(g, 50))
        text_add(t, "rearrange (0, 1) %s", a->name);
    else
        text_add(t, "%s[0 :+ %s%s]", a->name, a->dim[0].text, rest[a->rank - 1]);
}

/* Two or three pieces; some of them are made just before, and copied in. */
void make_concat(struct maker *g)
{
    int first = find_array(g, (struct wish){ANY_WISH});
    if (first < 0)
        return;
    if (chance(g, 60))
        first = make_kernel(g, &g->arrays[first], chance(g, 50) ? first : -1);
    struct made all = g->arrays[first];
    struct text t = {0};
    piece_text(g, &g->arrays[first], &t);
    for (unsigned i = 1 + below(g, 2); i; i--) {
        struct made wanted = g->arrays[first];
        int piece = chance(g, 40) ? make_kernel(g, &wanted, -1)
                                  : find_array(g, (struct wish){.element = (int)wanted.element,
                                                                .rank = wanted.rank,
                                                                .dim = wanted.dim,
                                                                .not_family = -1});
        if (piece < 0)
            continue;
        const struct size *more = &g->arrays[piece].dim[0];
        struct size sum = {.value = all.dim[0].value + more->value};
        if (strlen(all.dim[0].text) + strlen(more->text) + 4 > sizeof sum.text)
            break;
        /* The lengths fit, which the compiler cannot see. */
        snprintf(sum.text, sizeof sum.text, "%.14s + %.14s", all.dim[0].text, more->text);
        if (strlen(sum.text) != strlen(all.dim[0].text) + strlen(more->text) + 3)
            break;
        all.dim[0] = sum;
        text_add(&t, ", ");
        piece_text(g, &g->arrays[piece], &t);
    }
    char type[128];
    const struct made *a = bring(g, &all);
    line(g, "let %s: %s = concat(%s)", a->name, fresh_type_text(g, a, type), t.data);
    text_free(&t);
}

/* ---- views ---------------------------------------------------------------------------------- */

static void bring_view(struct maker *g, int of, const struct made *model, bool plain,
                       const char *text)
{
    char type[128];
    int family = g->arrays[of].family;
    struct made *a = bring(g, model);
    a->family = family;
    a->plain = plain;
    line(g, "let %s: %s = %s", a->name, type_text(a, type), text);
}

void make_reshape(struct maker *g)
{
    int from =
        find_array(g, (struct wish){.element = -1, .rank = 2, .plain = true, .not_family = -1});
    if (from < 0)
        return;
    struct made flat = g->arrays[from];
    char text[64];
    struct size all = {.value = flat.dim[0].value * flat.dim[1].value};
    snprintf(all.text, sizeof all.text, "(%.10s) * (%.10s)", flat.dim[0].text, flat.dim[1].text);
    if (strlen(flat.dim[0].text) > 10 || strlen(flat.dim[1].text) > 10)
        return;
    snprintf(text, sizeof text, "reshape %s", g->arrays[from].name);
    flat.rank = 1;
    flat.dim[0] = all;
    bring_view(g, from, &flat, true, text);
}

void make_rearrange(struct maker *g)
{
    int from = find_array(g, (struct wish){.element = -1, .rank = 2, .not_family = -1});
    if (from < 0)
        return;
    struct made turned = g->arrays[from];
    char text[64];
    snprintf(text, sizeof text, "rearrange (1, 0) %s", turned.name);
    turned.dim[0] = g->arrays[from].dim[1];
    turned.dim[1] = g->arrays[from].dim[0];
    bring_view(g, from, &turned, false, text);
}

/* A random part of `whole`: its text between brackets; `part` receives rank and shape. */
/* Pairs of elements, side by side or apart, of an array of at least 4. */
static void some_pairs(struct maker *g, unsigned size, struct made *part, struct text *t)
{
    const unsigned start = below(g, size - 3), distance = 2 + below(g, 2);
    struct size two = {"2", 2}, pairs = {.value = (size - start - 2) / distance + 1};
    const bool inside = chance(g, 50);
    snprintf(pairs.text, sizeof pairs.text, "%lld", (long long)pairs.value);
    if (inside)
        text_add(t, "{%u :+ %s : %u, 2 : 1}", start, pairs.text, distance);
    else
        text_add(t, "{%u :+ 2 : 1, %s : %u}", start, pairs.text, distance);
    part->rank = 2;
    part->dim[0] = inside ? pairs : two;
    part->dim[1] = inside ? two : pairs;
}

static void some_slice(struct maker *g, const struct made *whole, struct made *part, struct text *t)
{
    *part = *whole;
    part->rank = 0;
    if (whole->rank == 1 && whole->dim[0].value >= 4 && chance(g, 30)) {
        some_pairs(g, (unsigned)whole->dim[0].value, part, t);
        return;
    }
    text_add(t, "[");
    for (unsigned d = 0; d < whole->rank; d++) {
        unsigned size = (unsigned)whole->dim[d].value;
        unsigned start = below(g, size), length = 1 + below(g, size - start);
        struct size cut = {.value = length};
        text_add(t, d ? ", " : "");
        switch (below(g, 5)) {
        case 0:
            text_add(t, "%u", start);
            continue;
        case 1:
            text_add(t, "0 :+ %u : 2", (size + 1) / 2);
            cut.value = (size + 1) / 2;
            break;
        case 2:
            text_add(t, "%s - 1 :+ %s : -1", whole->dim[d].text, whole->dim[d].text);
            cut = whole->dim[d];
            break;
        case 3:
            text_add(t, ":");
            cut = whole->dim[d];
            break;
        default:
            text_add(t, "%u :+ %u", start, length);
        }
        if (cut.text[0] == 0)
            snprintf(cut.text, sizeof cut.text, "%lld", (long long)cut.value);
        part->dim[part->rank++] = cut;
    }
    text_add(t, "]");
}

void make_slice(struct maker *g)
{
    int from = find_array(g, (struct wish){ANY_WISH});
    if (from < 0)
        return;
    struct made part;
    struct text t = {0};
    text_add(&t, "%s", g->arrays[from].name);
    some_slice(g, &g->arrays[from], &part, &t);
    if (part.rank)
        bring_view(g, from, &part, false, t.data);
    text_free(&t);
}

void make_alias(struct maker *g)
{
    int from = find_array(g, (struct wish){ANY_WISH});
    if (from >= 0)
        bring_view(g, from, &g->arrays[from], g->arrays[from].plain, g->arrays[from].name);
}

/* ---- updates -------------------------------------------------------------------------------- */

/* What is put in: a scalar, an array in scope, or one made just before. Returns its text or NULL.
 */
static char *some_value(struct maker *g, const struct made *part, int not_family, struct text *t)
{
    if (part->rank == 0 || chance(g, 20)) {
        const struct made_scalar *s =
            g->scalar_count && chance(g, 50) ? &g->scalars[below(g, g->scalar_count)] : NULL;
        if (s)
            text_add(t, "%s(%s)", element_name(part->element), s->name);
        else
            text_add(t, "%u", below(g, 100));
        return t->data;
    }
    int value = chance(g, 50) ? make_kernel(g, part, -1)
                              : find_array(g, (struct wish){.element = (int)part->element,
                                                            .rank = part->rank,
                                                            .dim = part->dim,
                                                            .not_family = not_family});
    if (value < 0 || family_of(g, &g->arrays[value]) == not_family)
        return NULL;
    text_add(t, "%s%s", chance(g, 50) ? "copy " : "", g->arrays[value].name);
    return t->data;
}

int make_update(struct maker *g, int array)
{
    struct made part, whole = g->arrays[array];
    struct text slice = {0}, value = {0};
    char type[128];
    some_slice(g, &whole, &part, &slice);
    int result = -1;
    if (some_value(g, &part, family_of(g, &whole), &value)) {
        consume(g, &whole);
        result = (int)g->array_count;
        struct made *a = bring(g, &whole);
        a->plain = whole.plain;
        line(g, "let %s: %s = %s with %s <- %s", a->name, type_text(a, type), whole.name,
             slice.data, value.data);
    }
    text_free(&slice);
    text_free(&value);
    return result;
}

void make_some_update(struct maker *g)
{
    int array = find_array(g, (struct wish){.element = -1, .consumable = true, .not_family = -1});
    if (array >= 0)
        make_update(g, array);
}

void make_some_with(struct maker *g)
{
    int array = find_array(g, (struct wish){.element = -1, .consumable = true, .not_family = -1});
    if (array >= 0)
        make_kernel_with(g, array);
}
