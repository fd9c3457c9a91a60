#include "merge/numbers.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHOICES_MAX = 6, /* choices at a position, so that it has at most 64 moments */
    ROUTES_MAX = 256 /* routes of one existential block */
};

struct choice {
    const struct stm *branch; /* the if */
    bool then;
};

/* One way in which an existential block comes to be an actual one: all these branches are taken. */
struct route {
    int actual;
    unsigned choice_count, choice_capacity;
    struct choice *choices;
};

struct routes {
    unsigned count, capacity;
    struct route *items;
};

/* A run of positions with the same choices; its moments are those of the first combination of
 * branches, then those of the second, and so on. */
struct run {
    unsigned first, last, base;
    unsigned choice_count;
    const struct stm *choices[CHOICES_MAX];
};

struct timeline {
    const struct memory_map *map;
    struct arena arena;
    struct moments *moments;
    struct routes *routes; /* by memory name, for existential blocks */
    bool *open;            /* by memory name: its routes are being followed */
    struct run *position;  /* by position: its choices, with first == last */
    unsigned run_count;
    struct run *runs;
};

/* ---- how an existential block comes to be an actual one -------------------------------------- */

static void add_route(struct timeline *t, struct routes *to, const struct route *route)
{
    to->items = arena_grow(&t->arena, to->items, to->count, &to->capacity, sizeof *to->items);
    to->items[to->count++] = *route;
}

/* Adds the routes of `memory`: with the choice, unless it is NULL; without those inside `loop`,
 * unless that is NULL. */
static void follow(struct timeline *t, int memory, const struct choice *choice,
                   const struct stm *loop, struct routes *to);

static void follow_existential(struct timeline *t, int e, struct routes *to)
{
    const struct outline_name *n = &t->map->outline->names[e];
    const struct stm *s = n->binder ? n->binder : n->definer;
    const struct loop *l = s->loop;
    if (s->kind == STM_LOOP) {
        const int *names = n->binder ? l->params : s->outs;
        for (unsigned i = 0; i < l->param_count; i++)
            if (names[i] == e) {
                follow(t, l->init_names[i], NULL, s, to);
                follow(t, l->body.results[i], NULL, s, to);
            }
        return;
    }
    for (unsigned i = 0; i < s->out_count; i++)
        if (s->outs[i] == e) {
            follow(t, s->then->results[i], &(struct choice){s, true}, NULL, to);
            follow(t, s->otherwise->results[i], &(struct choice){s, false}, NULL, to);
        }
}

static void follow(struct timeline *t, int memory, const struct choice *choice,
                   const struct stm *loop, struct routes *to)
{
    struct routes inner = {0};
    if (t->map->of[memory].kind != MEMORY_EXISTENTIAL) {
        add_route(t, &inner, &(struct route){.actual = memory});
    } else if (!t->open[memory]) { /* a variable that a loop passes to itself adds nothing */
        t->open[memory] = true;
        follow_existential(t, memory, &inner);
        t->open[memory] = false;
    }
    for (unsigned r = 0; r < inner.count && to->count <= ROUTES_MAX; r++) {
        struct route route = {.actual = inner.items[r].actual};
        for (unsigned c = 0; c <= inner.items[r].choice_count; c++) {
            const struct choice *next =
                c < inner.items[r].choice_count ? &inner.items[r].choices[c] : choice;
            if (!next ||
                (loop && next->branch->first > loop->first && next->branch->last < loop->last))
                continue;
            route.choices = arena_grow(&t->arena, route.choices, route.choice_count,
                                       &route.choice_capacity, sizeof *route.choices);
            route.choices[route.choice_count++] = *next;
        }
        add_route(t, to, &route);
    }
}

/* Too many routes: the block may be each of its actual blocks, whatever is chosen. */
static void forget_choices(struct timeline *t, int e)
{
    const struct memory *of = &t->map->of[e];
    t->routes[e] = (struct routes){0};
    for (unsigned a = 0; a < of->actual_count; a++)
        add_route(t, &t->routes[e], &(struct route){.actual = of->actuals[a]});
    t->moments->exact = false;
}

static void find_routes(struct timeline *t)
{
    const unsigned names = t->map->outline->name_count;
    t->routes = arena_alloc(&t->arena, names * sizeof *t->routes);
    t->open = arena_alloc(&t->arena, names);
    for (unsigned n = 0; n < names; n++) {
        const struct memory *of = &t->map->of[n];
        if (of->kind != MEMORY_EXISTENTIAL || of->array_count == 0)
            continue;
        follow(t, (int)n, NULL, NULL, &t->routes[n]);
        if (t->routes[n].count > ROUTES_MAX)
            forget_choices(t, (int)n);
    }
}

/* ---- choices by position --------------------------------------------------------------------- */

static unsigned choice_index(const struct run *at, const struct stm *branch)
{
    unsigned i = 0;
    while (i < at->choice_count && at->choices[i] != branch)
        i++;
    return i;
}

static void note_choices(struct timeline *t, const struct spans *spans, const struct route *route)
{
    for (unsigned i = 0; i < spans->count; i++)
        for (unsigned p = spans->items[i].first; p <= spans->items[i].last; p++)
            for (unsigned c = 0; c < route->choice_count; c++) {
                struct run *at = &t->position[p];
                const struct stm *branch = route->choices[c].branch;
                if (choice_index(at, branch) < at->choice_count)
                    continue;
                if (at->choice_count == CHOICES_MAX)
                    t->moments->exact = false;
                else
                    at->choices[at->choice_count++] = branch;
            }
}

static void find_choices(struct timeline *t)
{
    struct spans spans = {0};
    t->position = arena_alloc(&t->arena, t->map->outline->position_count * sizeof *t->position);
    for (unsigned n = 0; n < t->map->outline->name_count; n++)
        for (unsigned i = 0; t->routes[n].count && i < t->map->of[n].array_count; i++) {
            spans.count = 0;
            memory_array_spans(t->map, t->map->of[n].arrays[i], &spans);
            for (unsigned r = 0; r < t->routes[n].count; r++)
                note_choices(t, &spans, &t->routes[n].items[r]);
        }
    spans_free(&spans);
}

static unsigned run_length(const struct run *r)
{
    return r->last - r->first + 1;
}

static void make_runs(struct timeline *t)
{
    const unsigned positions = t->map->outline->position_count;
    t->runs = arena_alloc(&t->arena, positions * sizeof *t->runs);
    for (unsigned p = 0; p < positions; p++) {
        const struct run *at = &t->position[p];
        struct run *last = t->run_count ? &t->runs[t->run_count - 1] : NULL;
        if (last && last->choice_count == at->choice_count &&
            memcmp(last->choices, at->choices, sizeof at->choices) == 0) {
            last->last = p;
            continue;
        }
        t->runs[t->run_count] = *at;
        t->runs[t->run_count].first = t->runs[t->run_count].last = p;
        t->run_count++;
    }
    for (unsigned r = 0; r < t->run_count; r++) {
        t->runs[r].base = t->moments->count;
        t->moments->count += run_length(&t->runs[r]) << t->runs[r].choice_count;
    }
}

/* ---- the moments of a block ------------------------------------------------------------------ */

static bool is_taken(const struct run *run, unsigned combination, const struct route *route)
{
    for (unsigned c = 0; c < route->choice_count; c++) {
        const unsigned i = choice_index(run, route->choices[c].branch);
        if (i < run->choice_count && (combination >> i & 1) != route->choices[c].then)
            return false;
    }
    return true;
}

/* Adds the moments of the positions at which the route is taken. */
static void add_moments(struct timeline *t, const struct spans *spans, const struct route *route)
{
    struct spans *to = &t->moments->of[route->actual];
    for (unsigned i = 0; i < spans->count; i++) {
        struct span pending = {1, 0}; /* empty */
        for (unsigned r = 0; r < t->run_count; r++) {
            const struct run *run = &t->runs[r];
            const struct span *s = &spans->items[i];
            if (run->last < s->first || run->first > s->last)
                continue;
            const unsigned first = s->first > run->first ? s->first - run->first : 0;
            const unsigned last = (s->last < run->last ? s->last : run->last) - run->first;
            for (unsigned c = 0; c < 1u << run->choice_count; c++) {
                const unsigned base = run->base + c * run_length(run);
                if (!is_taken(run, c, route))
                    continue;
                if (pending.first <= pending.last && pending.last + 1 == base + first) {
                    pending.last = base + last;
                    continue;
                }
                if (pending.first <= pending.last)
                    spans_add(to, pending.first, pending.last);
                pending = (struct span){base + first, base + last};
            }
        }
        if (pending.first <= pending.last)
            spans_add(to, pending.first, pending.last);
    }
}

static void find_moments(struct timeline *t)
{
    struct spans spans = {0};
    for (unsigned n = 0; n < t->map->outline->name_count; n++) {
        const struct memory *of = &t->map->of[n];
        const struct route own = {.actual = (int)n};
        for (unsigned i = 0; i < of->array_count; i++) {
            spans.count = 0;
            memory_array_spans(t->map, of->arrays[i], &spans);
            if (of->kind != MEMORY_EXISTENTIAL)
                add_moments(t, &spans, &own);
            for (unsigned r = 0; r < t->routes[n].count; r++)
                add_moments(t, &spans, &t->routes[n].items[r]);
        }
        if (of->foreign)
            spans_add(&t->moments->of[n], 0, t->moments->count - 1);
    }
    spans_free(&spans);
}

struct moments *moments_new(const struct memory_map *map)
{
    struct timeline t = {.map = map, .moments = must_alloc(sizeof *t.moments)};
    t.moments->names = map->outline->name_count;
    t.moments->exact = true;
    t.moments->of = must_alloc((t.moments->names + 1) * sizeof *t.moments->of);
    find_routes(&t);
    find_choices(&t);
    make_runs(&t);
    find_moments(&t);
    arena_free(&t.arena);
    return t.moments;
}

void moments_free(struct moments *moments)
{
    if (!moments)
        return;
    for (unsigned n = 0; n < moments->names; n++)
        spans_free(&moments->of[n]);
    free(moments->of);
    free(moments);
}
