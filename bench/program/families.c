#include "program/families.h"

#include <stdlib.h>

void families_open(struct families *f, unsigned name_count)
{
    *f = (struct families){.of = must_alloc(name_count * sizeof *f->of)};
}

void families_close(struct families *f)
{
    free(f->of);
    free(f->items);
    free(f->changes);
}

static int find(struct families *f, int family)
{
    while (f->items[family].parent != family)
        family = f->items[family].parent = f->items[f->items[family].parent].parent;
    return family;
}

void families_begin(struct families *f, int array, unsigned depth, bool foreign)
{
    if (f->count == f->capacity) {
        f->capacity = f->capacity ? f->capacity * 2 : 64;
        f->items = must_realloc(f->items, f->capacity * sizeof *f->items);
    }
    int family = (int)f->count++;
    f->items[family] = (struct family){.parent = family, .depth = depth, .foreign = foreign};
    f->of[array] = family;
}

void families_add(struct families *f, int array, int whole)
{
    f->of[array] = find(f, f->of[whole]);
}

static void set_consumed(struct families *f, int family, struct place at)
{
    if (f->change_count == f->change_capacity) {
        f->change_capacity = f->change_capacity ? f->change_capacity * 2 : 64;
        f->changes = must_realloc(f->changes, f->change_capacity * sizeof *f->changes);
    }
    f->changes[f->change_count++] = (struct family_change){family, f->items[family].consumed};
    f->items[family].consumed = at;
}

void families_join(struct families *f, int a, int b)
{
    a = find(f, f->of[a]);
    b = find(f, f->of[b]);
    if (a == b)
        return;
    struct family *into = &f->items[a], *from = &f->items[b];
    if (from->depth < into->depth)
        into->depth = from->depth;
    into->foreign |= from->foreign;
    if (from->consumed.line)
        set_consumed(f, a, from->consumed);
    from->parent = a;
}

void families_join_if_alive(struct families *f, int out, int result)
{
    const struct family *given = families_get(f, result);
    struct family *own = &f->items[find(f, f->of[out])];
    if (!given->consumed.line)
        families_join(f, out, result);
    else if (given->depth < own->depth)
        own->depth = given->depth;
}

void families_consume(struct families *f, int array, struct place at)
{
    set_consumed(f, find(f, f->of[array]), at);
}

const struct family *families_get(struct families *f, int array)
{
    return &f->items[find(f, f->of[array])];
}

bool families_same(struct families *f, int a, int b)
{
    return find(f, f->of[a]) == find(f, f->of[b]);
}

struct family_change *families_take_back(struct families *f, unsigned from, unsigned *count)
{
    *count = f->change_count - from;
    struct family_change *taken = must_alloc(*count * sizeof *taken);
    for (unsigned i = 0; i < *count; i++) {
        int family = find(f, f->changes[from + i].family);
        taken[i] = (struct family_change){family, f->items[family].consumed};
    }
    while (f->change_count > from) {
        const struct family_change *change = &f->changes[--f->change_count];
        f->items[find(f, change->family)].consumed = change->before;
    }
    return taken;
}

void families_repeat(struct families *f, struct family_change *taken, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (taken[i].before.line)
            set_consumed(f, find(f, taken[i].family), taken[i].before);
    free(taken);
}
