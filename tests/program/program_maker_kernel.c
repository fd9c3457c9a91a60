/* Random kernels: what a thread reads, in which order it writes, its private arrays. */
#include <stdio.h>
#include <string.h>

#include "tests/program/program_maker.h"

enum { READS = 4 };

/* A kernel on its way. */
struct draft {
    struct maker *g;
    unsigned rank; /* of the index space */
    struct size extent[MAKER_RANK];
    struct text before; /* statements that come first */
    unsigned read_count;
    struct {
        char text[128];
        enum element element;
    } reads[READS];
    unsigned temporaries;
};

static const char *const index_names[] = {"i", "j", "l"};

/* ---- values --------------------------------------------------------------------------------- */

/* Where sums are made: signed ones could overflow. */
static const char *unsigned_of(enum element element)
{
    return element == ELEMENT_i64 ? "u64" : "u32";
}

/* `text` of type `from` as type `to`, such that nothing overflows and little is lost. */
static void convert(struct text *t, const char *text, enum element from, enum element to)
{
    bool to_float = element_is_float(to), from_float = element_is_float(from);
    if (from == to)
        text_add(t, "%s", text);
    else if (to_float && from_float)
        text_add(t, "(%s)(%s)", element_name(to), text);
    else if (to_float)
        text_add(t, "(%s)((%s) & 255)", element_name(to), text);
    else if (from_float)
        text_add(t, "(%s)(i32)((%s) * 16)", element_name(to), text);
    else
        text_add(t, "(%s)(%s)", element_name(to), text);
}

/* A value of type `to` in which every read, and the threads' indices sometimes, has its part. */
static void combine(struct draft *d, struct text *t, enum element to)
{
    struct maker *g = d->g;
    static const unsigned weights[] = {31, 17, 7, 3};
    const char *word = unsigned_of(to);
    bool real = element_is_float(to);
    if (!real)
        text_add(t, "(%s)(", element_name(to));
    for (unsigned r = 0; r < d->read_count; r++) {
        struct text value = {0};
        convert(&value, d->reads[r].text, d->reads[r].element, to);
        if (real)
            text_add(t, "(%s)0.%u * %s + ", element_name(to), r ? 25 / r : 5, value.data);
        else
            text_add(t, "%uu * (%s)(%s) + ", weights[r], word, value.data);
        text_free(&value);
    }
    if (chance(g, 40))
        text_add(t, real ? "(%s)%s + " : "(%s)%s * 5u + ", real ? element_name(to) : word,
                 index_names[below(g, d->rank)]);
    text_add(t, real ? "%u" : "%uu)", 1 + below(g, 9));
}

/* ---- reads ---------------------------------------------------------------------------------- */

/* An index for a dimension of `size`: that of the thread mostly, or one nearby, or a fixed one. */
static void index_text(struct draft *d, struct text *t, unsigned dim, const struct size *size,
                       const char *inner)
{
    struct maker *g = d->g;
    if (inner && dim + 1 > d->rank) {
        text_add(t, "%s", inner);
        return;
    }
    unsigned own = dim < d->rank && !chance(g, 8) ? dim : below(g, d->rank);
    const char *i = index_names[own];
    if (d->extent[own].value > size->value) {
        text_add(t, chance(g, 50) ? "%s %% (i32)(%s)" : "MIN(%s, (i32)(%s) - 1)", i, size->text);
        return;
    }
    switch (below(g, 14)) {
    case 0:
        text_add(t, "(%s + 1) %% (i32)(%s)", i, size->text);
        break;
    case 1:
        text_add(t, "MAX(%s - 1, 0)", i);
        break;
    case 2:
        text_add(t, dim % 2 ? "(i32)(%s) - 1 - %s" : "(%s) - 1 - %s", size->text, i);
        break;
    case 3:
        text_add(t, "%u", below(g, (unsigned)size->value));
        break;
    default: /* one that sums are made of, without another draw */
        text_add(t, 2 * d->extent[own].value <= size->value && own == 0 ? "2 * %s + 1" : "%s", i);
    }
}

static void add_read(struct draft *d, const char *text, enum element element)
{
    if (d->read_count == READS)
        return;
    snprintf(d->reads[d->read_count].text, sizeof d->reads->text, "%s", text);
    d->reads[d->read_count++].element = element;
}

/* `t = x[...]` first, or `x[...]` where it is used. */
static void read_array(struct draft *d, int array)
{
    struct maker *g = d->g;
    const struct made *a = &g->arrays[array];
    struct text t = {0};
    text_add(&t, "%s[", a->name);
    for (unsigned k = 0; k < a->rank; k++) {
        text_add(&t, k ? ", " : "");
        index_text(d, &t, k, &a->dim[k], NULL);
    }
    text_add(&t, "]");
    if (chance(g, 30)) {
        text_add(&d->before, "const %s t%u = %s; ", element_name(a->element), d->temporaries,
                 t.data);
        char name[16];
        snprintf(name, sizeof name, "t%u", d->temporaries++);
        add_read(d, name, a->element);
    } else {
        add_read(d, t.data, a->element);
    }
    text_free(&t);
}

/* A sum over the last dimension of an array, in a C loop. */
static void read_row(struct draft *d, int array)
{
    struct maker *g = d->g;
    const struct made *a = &g->arrays[array];
    const char *type = element_name(a->element);
    struct text t = {0};
    text_add(&t, "%s[", a->name);
    for (unsigned k = 0; k + 1 < a->rank; k++) {
        index_text(d, &t, k, &a->dim[k], NULL);
        text_add(&t, ", ");
    }
    const char *last = a->dim[a->rank - 1].text;
    unsigned v = d->temporaries++;
    text_add(&d->before, "%s t%u = 0; for (i32 q = 0; q < (i32)(%s); q++) ", type, v, last);
    if (element_is_float(a->element))
        text_add(&d->before, "t%u = (%s)0.5 * t%u + (%s)0.5 * %sq]; ", v, type, v, type, t.data);
    else
        text_add(&d->before, "t%u = (%s)(5u * (%s)t%u + (%s)%sq]); ", v, type,
                 unsigned_of(a->element), v, unsigned_of(a->element), t.data);
    char name[16];
    snprintf(name, sizeof name, "t%u", v);
    add_read(d, name, a->element);
    text_free(&t);
}

static void read_scalar(struct draft *d)
{
    struct maker *g = d->g;
    if (!g->scalar_count)
        return;
    const struct made_scalar *s = &g->scalars[below(g, g->scalar_count)];
    add_read(d, s->name, s->is_i64 ? ELEMENT_i64 : ELEMENT_i32);
}

/* Reads of arrays that fit the space best; none of `not_family`. */
static void add_reads(struct draft *d, int from, int not_family)
{
    struct maker *g = d->g;
    if (from >= 0)
        read_array(d, from);
    for (unsigned count = 1 + below(g, 2); count; count--) {
        struct wish same = {ANY_WISH, .rank = d->rank, .dim = d->extent};
        struct wish any = {ANY_WISH};
        same.not_family = any.not_family = not_family;
        int a = chance(g, 85) ? find_array(g, same) : find_array(g, any);
        if (a < 0)
            a = find_array(g, any);
        if (a < 0)
            continue;
        if (g->arrays[a].rank > d->rank && chance(g, 70))
            read_row(d, a);
        else
            read_array(d, a);
    }
    if (chance(g, 15))
        read_scalar(d);
}

/* ---- private arrays ------------------------------------------------------------------------- */

/* One to three of them, each filled from what was read, or a copy of the one before in every other
 * kernel, then summed. */
static void add_privates(struct draft *d, struct text *header)
{
    struct maker *g = d->g;
    unsigned count = 1 + below(g, 3);
    struct size size = some_size(g);
    enum element type = some_element(g);
    text_add(header, " private ");
    for (unsigned p = 0; p < count; p++) {
        bool copies = p > 0 && g->kernels % 2;
        if (chance(g, 40)) {
            size = some_size(g);
            copies = false;
        }
        struct text value = {0};
        combine(d, &value, type);
        text_add(header, "%sp%u: [%s]%s", p ? ", " : "", p, size.text, element_name(type));
        text_add(&d->before, "for (i32 q = 0; q < (i32)(%s); q++) p%u[q] = ", size.text, p);
        if (copies)
            text_add(&d->before, "p%u[q]; ", p - 1);
        else
            text_add(&d->before, "(%s)(q + %s); ", element_name(type), value.data);
        text_free(&value);
        char read[80];
        if (chance(g, 60)) {
            text_add(&d->before,
                     "%s s%u = 0; for (i32 q = 0; q < (i32)(%s); q++) s%u = ", element_name(type),
                     p, size.text, p);
            if (element_is_float(type))
                text_add(&d->before, "(%s)0.5 * (s%u + p%u[q]); ", element_name(type), p, p);
            else
                text_add(&d->before, "(%s)(3u * (%s)s%u + (%s)p%u[q]); ", element_name(type),
                         unsigned_of(type), p, unsigned_of(type), p);
            snprintf(read, sizeof read, "s%u", p);
        } else { /* read where it is used: it lives to the end */
            snprintf(read, sizeof read, "p%u[%s %% (i32)(%s)]", p, index_names[0], size.text);
        }
        if (d->read_count == READS)
            d->read_count--;
        add_read(d, read, type);
    }
}

/* ---- kernels -------------------------------------------------------------------------------- */

static void space_text(const struct draft *d, struct text *t)
{
    for (unsigned k = 0; k < d->rank; k++)
        text_add(t, "%s%s < %s", k ? ", " : "", index_names[k], d->extent[k].text);
}

/* "y[i, j" of an out that has one dimension more than the space where `inner` is not NULL. */
static void place_text(const struct draft *d, const struct made *out, const char *inner,
                       struct text *t)
{
    text_add(t, "%s[", out->name);
    for (unsigned k = 0; k < d->rank; k++)
        text_add(t, "%s%s", k ? ", " : "", index_names[k]);
    text_add(t, inner ? ", %s]" : "]", inner);
}

/* The statement that writes an out; in some the out is read again, or written in two ways. */
static void write_out(struct draft *d, const struct made *out, struct text *body)
{
    struct maker *g = d->g;
    struct text place = {0}, value = {0}, other = {0};
    bool row = out->rank > d->rank;
    place_text(d, out, row ? "q" : NULL, &place);
    combine(d, &value, out->element);
    combine(d, &other, out->element);
    if (row)
        text_add(body, "for (i32 q = 0; q < (i32)(%s); q++) ", out->dim[d->rank].text);
    unsigned style = below(g, 8);
    if (style == 0)
        text_add(body, "if (%s %% 2 == 0) { %s = %s; } else { %s = %s; } ", index_names[0],
                 place.data, value.data, place.data, other.data);
    else if (style == 1 && !row)
        text_add(body, "%s = %s; %s = (%s)(%s + %s); ", place.data, value.data, place.data,
                 element_name(out->element), place.data,
                 element_is_float(out->element) ? "1" : "1u");
    else
        text_add(body, "%s = %s; ", place.data, value.data);
    text_free(&place);
    text_free(&value);
    text_free(&other);
}

static void emit(struct draft *d, struct made *outs, unsigned count, const char *clauses)
{
    struct maker *g = d->g;
    struct text t = {0}, body = {0};
    char type[128];
    text_add(&t, count > 1 ? "let (" : "let ");
    for (unsigned o = 0; o < count; o++)
        text_add(&t, "%s%s: %s", o ? ", " : "", outs[o].name,
                 strstr(clauses, " with ") ? type_text(&outs[o], type)
                                           : fresh_type_text(g, &outs[o], type));
    text_add(&t, "%s = kernel k%u (", count > 1 ? ")" : "", g->kernels++);
    space_text(d, &t);
    for (unsigned o = 0; o < count; o++)
        write_out(d, &outs[o], &body);
    line(g, "%s)%s {", t.data, clauses);
    line(g, "  %s%s", d->before.data ? d->before.data : "", body.data);
    line(g, "}");
    text_free(&t);
    text_free(&body);
    text_free(&d->before);
}

int make_kernel(struct maker *g, const struct made *like, int from)
{
    struct draft d = {.g = g};
    struct made model = {.rank = 1 + (chance(g, 40))};
    struct text clauses = {0};
    unsigned count = chance(g, 20) ? 2 : 1;
    text_add(&clauses, "%s", "");
    int shape = from >= 0 ? from : find_array(g, (struct wish){ANY_WISH});
    if (like) {
        model = *like;
    } else {
        if (shape >= 0 && chance(g, 75))
            model = g->arrays[shape];
        else
            for (unsigned k = 0; k < model.rank; k++)
                model.dim[k] = some_size(g);
        model.element = shape >= 0 && chance(g, 70) ? g->arrays[shape].element : some_element(g);
    }
    d.rank = model.rank > 1 && chance(g, 25) ? model.rank - 1 : model.rank;
    memcpy(d.extent, model.dim, sizeof d.extent);
    add_reads(&d, from, -1);
    if (chance(g, 12))
        add_privates(&d, &clauses);
    struct made outs[2];
    unsigned before = g->array_count;
    for (unsigned o = 0; o < count; o++) {
        outs[o] = *bring(g, &model);
        model.element = some_element(g); /* of the second */
    }
    emit(&d, outs, count, clauses.data);
    text_free(&clauses);
    return (int)before;
}

/* What an item does: it fills its private arrays one after the other, each from the one before,
 * sums one up in the array that the group shares, and one item makes the result of it. */
static void groups_body(struct maker *g, const struct made *out, const struct made *from,
                        unsigned privates, const unsigned *lengths)
{
    line(g,
         "  each { for (i32 q = 0; q < %u; q++) p0[q] = (i32)((u32)%s[(i * 3 + l + q) %% "
         "(i32)(%s)] + (u32)l); }",
         lengths[0], from->name, from->dim[0].text);
    for (unsigned p = 1; p < privates; p++)
        line(g,
             "  each { for (i32 q = 0; q < %u; q++) p%u[q] = (i32)(3u * (u32)p%u[q %% %u] + "
             "(u32)q); }",
             lengths[p], p, p - 1, lengths[p - 1]);
    line(g, "  each { s[l] = p%u[%u]; }", privates - 1, lengths[privates - 1] - 1);
    if (chance(g, 50)) /* the first one lives to the end */
        line(g, "  each { s[l] = (i32)((u32)s[l] ^ (u32)p0[0]); }");
    line(g, "  each { if (l == 0) %s[i] = (i32)((u32)s[0] + 5u * (u32)s[1]); }", out->name);
}

void make_groups(struct maker *g)
{
    int from = find_array(g, (struct wish){.element = ELEMENT_i32, .rank = 1, .not_family = -1});
    if (from < 0)
        return;
    const struct made read = g->arrays[from];
    struct made model = {.element = ELEMENT_i32, .rank = 1, .dim = {some_size(g)}};
    char type[128], width[16];
    unsigned lengths[3] = {0}, privates = 1 + below(g, 3);
    fresh_name(g, width, 'w');
    line(g, "let %s: i64 = %u * 2", width, 1 + below(g, 3));
    const struct made out = *bring(g, &model);
    line(g, "let %s: %s = kernel k%u (i < %s) group l < %s local s: [%s]i32 private", out.name,
         fresh_type_text(g, &out, type), g->kernels++, out.dim[0].text, width, width);
    for (unsigned p = 0; p < privates; p++) {
        lengths[p] = 1 + below(g, 4);
        line(g, "    p%u: [%u]i32%s", p, lengths[p], p + 1 < privates ? "," : " {");
    }
    groups_body(g, &out, &read, privates, lengths);
    line(g, "}");
}

int make_kernel_with(struct maker *g, int taken)
{
    struct draft d = {.g = g};
    struct made old = g->arrays[taken], out;
    char clauses[64];
    d.rank = old.rank;
    memcpy(d.extent, old.dim, sizeof d.extent);
    if (old.written && chance(g, 30)) { /* a part: the rest keeps its contents */
        snprintf(d.extent[0].text, sizeof d.extent[0].text, "1");
        d.extent[0].value = 1;
    }
    add_reads(&d, -1, old.family);
    int number = (int)g->array_count;
    out = *bring(g, &old);
    g->arrays[number].plain = old.plain;
    if (old.written && chance(g, 60)) {
        struct text own = {0};
        place_text(&d, &out, NULL, &own);
        if (d.read_count == READS)
            d.read_count--;
        add_read(&d, own.data, out.element);
        text_free(&own);
    }
    consume(g, &old);
    snprintf(clauses, sizeof clauses, " with %s <- %s", out.name, old.name);
    emit(&d, &out, 1, clauses);
    return number;
}
