/* The maker of random programs: names, families, choices. */
#include "tests/program/program_maker.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

unsigned below(struct maker *g, unsigned bound)
{
    return (unsigned)random_below(&g->random, bound);
}

bool chance(struct maker *g, unsigned percent)
{
    return below(g, 100) < percent;
}

void line(struct maker *g, const char *format, ...)
{
    char text[8000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_add(g->out, "%*s%s\n", (int)(2 * g->indent), "", text);
}

/* ---- families ------------------------------------------------------------------------------- */

int find_family(struct maker *g, int f)
{
    while (g->families[f].parent != f)
        f = g->families[f].parent;
    return f;
}

int family_of(struct maker *g, const struct made *a)
{
    return find_family(g, a->family);
}

int new_family(struct maker *g, unsigned depth, bool foreign)
{
    int f = g->family_count++;
    g->families[f] = (struct made_family){f, depth, foreign, false};
    return f;
}

void join_families(struct maker *g, int a, int b)
{
    a = find_family(g, a);
    b = find_family(g, b);
    if (a == b)
        return;
    struct made_family *into = &g->families[a], *from = &g->families[b];
    if (from->depth < into->depth)
        into->depth = from->depth;
    into->foreign |= from->foreign;
    into->consumed |= from->consumed;
    from->parent = a;
}

bool usable(struct maker *g, const struct made *a)
{
    return a->written && !g->families[family_of(g, a)].consumed;
}

bool consumable(struct maker *g, const struct made *a)
{
    const struct made_family *f = &g->families[family_of(g, a)];
    return !f->consumed && !f->foreign && f->depth == g->depth;
}

void consume(struct maker *g, const struct made *a)
{
    g->families[family_of(g, a)].consumed = true;
}

/* ---- arrays --------------------------------------------------------------------------------- */

void fresh_name(struct maker *g, char name[16], char letter)
{
    snprintf(name, 16, "%c%u", letter, g->names++);
}

struct made *bring(struct maker *g, const struct made *like)
{
    struct made *a = &g->arrays[g->array_count++];
    struct made copy = *like;
    fresh_name(g, copy.name, 'a');
    copy.family = new_family(g, g->depth, false);
    copy.plain = copy.written = true;
    *a = copy;
    return a;
}

const char *type_text(const struct made *a, char text[128])
{
    int length = 0;
    for (unsigned d = 0; d < a->rank; d++)
        length += snprintf(text + length, 128 - (size_t)length, "[%s]", a->dim[d].text);
    snprintf(text + length, 128 - (size_t)length, "%s", element_name(a->element));
    return text;
}

const char *fresh_type_text(struct maker *g, const struct made *a, char text[128])
{
    char block[16];
    type_text(a, text);
    if (chance(g, 15)) {
        fresh_name(g, block, 'b');
        snprintf(text + strlen(text), 128 - strlen(text), " @ mem %s", block);
    }
    return text;
}

struct size some_size(struct maker *g)
{
    return g->sizes[chance(g, 70) ? below(g, 3) : below(g, g->size_count)];
}

enum element some_element(struct maker *g)
{
    static const enum element elements[] = {ELEMENT_i32, ELEMENT_i32, ELEMENT_i32, ELEMENT_i32,
                                            ELEMENT_f32, ELEMENT_f32, ELEMENT_f64, ELEMENT_i64,
                                            ELEMENT_u8,  ELEMENT_u32};
    return elements[below(g, sizeof elements / sizeof *elements)];
}

bool same_type(const struct made *a, const struct made *b)
{
    bool same = a->element == b->element && a->rank == b->rank;
    for (unsigned d = 0; d < a->rank && same; d++)
        same = a->dim[d].value == b->dim[d].value;
    return same;
}

static bool grants(struct maker *g, const struct made *a, const struct wish *w)
{
    bool fits = usable(g, a) && (w->element < 0 || (enum element)w->element == a->element) &&
                (!w->rank || w->rank == a->rank) && (!w->plain || a->plain) &&
                (!w->consumable || consumable(g, a)) &&
                (w->not_family < 0 || find_family(g, w->not_family) != family_of(g, a));
    for (unsigned d = 0; w->dim && d < a->rank && fits; d++)
        fits = a->dim[d].value == w->dim[d].value;
    return fits;
}

int find_array(struct maker *g, struct wish wish)
{
    int found[MAKER_ARRAYS], count = 0;
    for (unsigned i = 0; i < g->array_count; i++)
        if (grants(g, &g->arrays[i], &wish))
            found[count++] = (int)i;
    if (!count)
        return -1;
    if (chance(g, 50) && count > 3)
        return found[count - 1 - (int)below(g, 3)];
    return found[below(g, (unsigned)count)];
}
