#include "trace/holders.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/tree.h"

static const char *const categories[] = {HOLDER_CATEGORIES, NULL};
static const char not_known[] = "not known", no_stack[] = "no call stack";

/* The category of a site: a text that lives as long as the program, or with the arena. */
static const char *category_of(struct arena *arena, const char *site, const char **own)
{
    *own = *site ? site : no_stack;
    for (const char *const *c = categories; *c; c++) {
        const size_t length = strlen(*c);
        const bool is_guess = site[length < strlen(site) ? length : 0] == '?';
        if (strncmp(site, *c, length) != 0 || strncmp(site + length + is_guess, ": ", 2) != 0)
            continue;
        *own = site + length + is_guess + 2;
        return is_guess ? arena_printf(arena, "%s?", *c) : *c;
    }
    return not_known;
}

void holders_add(struct holders *h, const char *site, uint64_t bytes)
{
    h->items = must_grow(h->items, h->count, &h->capacity, sizeof *h->items);
    h->items[h->count++] = (struct holder){NULL, site, bytes, 1, bytes};
    h->bytes += bytes;
}

static int by_text(const void *left, const void *right)
{
    const struct holder *a = left, *b = right;
    const int order = a->category ? strcmp(a->category, b->category) : 0;
    return order ? order : strcmp(a->site, b->site);
}

static int by_bytes(const void *left, const void *right)
{
    const struct holder *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : by_text(left, right);
}

static int compare_category(const void *left, const void *right)
{
    const struct holder *a = left, *b = right;
    return strcmp(a->category, b->category);
}

/* Sorts the items, and makes one of those that are equal. */
static unsigned merge(struct holder *items, unsigned count,
                      int (*compare)(const void *, const void *))
{
    unsigned kept = 0;
    if (count)
        qsort(items, count, sizeof *items, compare);
    for (unsigned i = 0; i < count; i++) {
        struct holder *same = kept ? &items[kept - 1] : NULL;
        if (!same || compare(same, &items[i]) != 0) {
            items[kept++] = items[i];
            continue;
        }
        same->bytes += items[i].bytes;
        same->blocks += items[i].blocks;
        if (items[i].largest_bytes > same->largest_bytes)
            same->largest_bytes = items[i].largest_bytes;
    }
    return kept;
}

void holders_end(struct holders *h)
{
    h->count = merge(h->items, h->count, by_text); /* whole sites first: there are fewer of them */
    for (unsigned i = 0; i < h->count; i++) {
        const char *own;
        h->items[i].category = category_of(&h->arena, h->items[i].site, &own);
        const char *end = strstr(own, " > ");
        h->items[i].site = arena_copy(&h->arena, own, end ? (size_t)(end - own) : strlen(own));
    }
    h->count = merge(h->items, h->count, by_text);
    h->categories = must_alloc((h->count + 1) * sizeof *h->categories);
    if (h->count)
        memcpy(h->categories, h->items, h->count * sizeof *h->items);
    h->category_count = merge(h->categories, h->count, compare_category);
    if (h->count) {
        qsort(h->items, h->count, sizeof *h->items, by_bytes);
        qsort(h->categories, h->category_count, sizeof *h->categories, by_bytes);
    }
}

/* The block in each slot. */
struct slots {
    unsigned count, capacity;
    struct slot {
        unsigned name;
        uint64_t bytes; /* 0: free */
    } * items;
};

static void follow(struct slots *s, const struct trace_event *e)
{
    while (s->count <= e->slot) {
        s->items = must_grow(s->items, s->count, &s->capacity, sizeof *s->items);
        s->items[s->count++] = (struct slot){0};
    }
    if (e->kind == TRACE_held || e->kind == TRACE_alloc)
        s->items[e->slot] = (struct slot){e->name, e->bytes};
    else if (e->kind == TRACE_free || e->kind == TRACE_done)
        s->items[e->slot].bytes = 0;
}

int holders_at_peak(struct trace_reader *reader, struct holders *h, struct error *error)
{
    struct trace_event e;
    struct slots slots = {0};
    uint64_t most = 0, n = 0;
    int more;
    TRY(trace_rewind(reader, error));
    while ((more = trace_next(reader, &e, error)) > 0 && ++n)
        if (trace_live_bytes(reader) > most) {
            most = trace_live_bytes(reader);
            h->event = n;
        }
    if (more < 0)
        return more;
    TRY(trace_rewind(reader, error));
    for (n = 0; n < h->event && (more = trace_next(reader, &e, error)) > 0; n++)
        follow(&slots, &e);
    for (unsigned i = 0; i < slots.count; i++)
        if (slots.items[i].bytes)
            holders_add(h, trace_name_of(reader, slots.items[i].name), slots.items[i].bytes);
    free(slots.items);
    holders_end(h);
    return more < 0 ? more : trace_rewind(reader, error);
}

void holders_free(struct holders *h)
{
    free(h->items);
    free(h->categories);
    arena_free(&h->arena);
    *h = (struct holders){0};
}

/* ---- texts ---- */

static bool is_shown(const struct holders *h, const struct holder *holder)
{
    return 1000 * (double)holder->bytes >= (double)h->bytes;
}

static bool knows_category(const struct holders *h)
{
    return h->category_count > 1 || h->categories[0].category != not_known;
}

void holders_add_categories(struct text *out, const struct holders *h)
{
    bool guesses = false;
    if (!knows_category(h)) {
        char bytes[32];
        text_add(out, "%s; the sites say no category", text_bytes(bytes, h->bytes));
        return;
    }
    for (unsigned i = 0; i < h->category_count && is_shown(h, &h->categories[i]); i++) {
        const struct holder *c = &h->categories[i];
        char bytes[32], share[32];
        text_add(out, "%s%s %s (%s)", i ? ", " : "", c->category, text_bytes(bytes, c->bytes),
                 text_percent(share, 100.0 * (double)c->bytes / (double)h->bytes));
        guesses |= c->category[strlen(c->category) - 1] == '?';
    }
    if (guesses)
        text_add(out, "; ? marks a guess");
}

bool holders_add_site(struct text *out, const struct holders *h, unsigned i)
{
    struct holder all = {0};
    char bytes[32], blocks[48];
    const bool is_one = i < h->count && i < HOLDERS_SHOWN && is_shown(h, &h->items[i]);
    const bool is_behind = i > 0 && (i > h->count || !is_shown(h, &h->items[i - 1]));
    for (unsigned k = i; k < (is_one ? i + 1 : h->count); k++) {
        all.bytes += h->items[k].bytes;
        all.blocks += h->items[k].blocks;
    }
    if (is_behind || !all.bytes || !is_shown(h, &all))
        return false;
    if (is_one && knows_category(h))
        text_add(out, "%.100s (%s)", h->items[i].site, h->items[i].category);
    else if (is_one)
        text_add(out, "%.100s", h->items[i].site);
    else
        text_add(out, "%s", text_count(blocks, h->count - i, "other site"));
    text_add(out, ": %s in %s", text_bytes(bytes, all.bytes),
             text_count(blocks, (double)all.blocks, "block"));
    return true;
}

static json_t *list_to_json(const struct holder *items, unsigned count, bool has_site)
{
    json_t *list = tree_array();
    for (unsigned i = 0; i < count; i++) {
        json_t *one = tree_object();
        if (has_site)
            tree_put(one, "site", tree_text(items[i].site));
        tree_put(one, "category",
                 items[i].category == not_known ? json_null() : tree_text(items[i].category));
        tree_put(one, "bytes", tree_count(items[i].bytes));
        tree_put(one, "blocks", tree_count(items[i].blocks));
        tree_append(list, one);
    }
    return list;
}

json_t *holders_to_json(const struct holders *h)
{
    json_t *json = tree_object();
    tree_put(json, "event", tree_count(h->event));
    tree_put(json, "requested_bytes", tree_count(h->bytes));
    tree_put(json, "categories", list_to_json(h->categories, h->category_count, false));
    tree_put(json, "sites", list_to_json(h->items, smaller(h->count, HOLDERS_LISTED), true));
    return json;
}
