#include "trace/holders.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/tree.h"

static const char not_known[] = "not known", no_stack[] = "no call stack";

void holders_add(struct holders *h, const char *site, unsigned stack, uint64_t bytes)
{
    struct holder one = {not_known, *site ? site : no_stack, bytes, 1, bytes, stack};
    for (const char *c = HOLDER_CATEGORIES; *c; c += strcspn(c, "|"), c += *c != 0) {
        size_t length = strcspn(c, "|");
        if (strncmp(site, c, length) != 0)
            continue;
        length += site[length] == '?';
        if (strncmp(site + length, ": ", 2) == 0) {
            one.category = arena_copy(&h->arena, site, length);
            one.site = site + length + 2;
        }
    }
    const char *end = strstr(one.site, " > ");
    one.site = arena_copy(&h->arena, one.site, end ? (size_t)(end - one.site) : strlen(one.site));
    h->items = must_grow(h->items, h->count, &h->capacity, sizeof *h->items);
    h->items[h->count++] = one;
    h->bytes += bytes;
}

static int by_text(const void *left, const void *right)
{
    const struct holder *a = left, *b = right;
    const int order = strcmp(a->category, b->category);
    return order ? order : strcmp(a->site, b->site);
}

static int by_bytes(const void *left, const void *right)
{
    const struct holder *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : by_text(left, right);
}

static void join(struct holder *same, const struct holder *one)
{
    same->stack = one->largest_bytes > same->largest_bytes ? one->stack : same->stack;
    same->bytes += one->bytes;
    same->blocks += one->blocks;
    same->largest_bytes = larger(same->largest_bytes, one->largest_bytes);
}

void holders_end(struct holders *h)
{
    struct holder *last = h->items, *category = h->categories;
    if (!h->count)
        return;
    qsort(h->items, h->count, sizeof *h->items, by_text);
    *category = *last;
    for (const struct holder *one = last + 1; one < h->items + h->count; one++) {
        if (strcmp(category->category, one->category) == 0)
            join(category, one);
        else
            *++category = *one;
        if (by_text(last, one) == 0)
            join(last, one);
        else
            *++last = *one;
    }
    h->count = (unsigned)(last + 1 - h->items);
    h->category_count = (unsigned)(category + 1 - h->categories);
    qsort(h->items, h->count, sizeof *h->items, by_bytes);
    qsort(h->categories, h->category_count, sizeof *h->categories, by_bytes);
}

int holders_at_peak(struct trace_reader *reader, struct holders *h, struct error *error)
{
    struct trace_event e;
    struct slot {
        unsigned name;
        uint64_t bytes; /* 0: free */
    } *slots = NULL;
    unsigned capacity = 0;
    struct trace_totals totals;
    int more = 0;
    if (!trace_read_totals(reader, &totals)) { /* it was cut off */
        while ((more = trace_next(reader, &e, error)) > 0)
            ;
        totals = *trace_reader_totals(reader);
    }
    THEN(more, trace_rewind(reader, error));
    for (; more >= 0 && trace_live_bytes(reader) < totals.peak_bytes &&
           (more = trace_next(reader, &e, error)) > 0;
         h->event++) {
        const bool begins = e.kind == TRACE_held || e.kind == TRACE_alloc;
        slots = must_reach(slots, e.slot, &capacity, sizeof *slots);
        if (begins || e.kind == TRACE_free || e.kind == TRACE_done)
            slots[e.slot] = (struct slot){e.name, begins ? e.bytes : 0};
    }
    for (unsigned i = 0; i < capacity; i++)
        if (slots[i].bytes)
            holders_add(h, trace_name_of(reader, slots[i].name), 0, slots[i].bytes);
    free(slots);
    holders_end(h);
    return more < 0 ? more : trace_rewind(reader, error);
}

void holders_free(struct holders *h)
{
    free(h->items);
    arena_free(&h->arena);
    *h = (struct holders){0};
}

/* ---- texts ---- */

static bool is_shown(const struct holders *h, const struct holder *holder)
{
    return holder->bytes && 1000 * (double)holder->bytes >= (double)h->bytes;
}

static void add_categories(struct text *out, const struct holders *h)
{
    bool guesses = false;
    for (unsigned i = 0; i < h->category_count && is_shown(h, &h->categories[i]); i++) {
        const struct holder *c = &h->categories[i];
        char bytes[32], share[32];
        text_add(out, "%s%s %s (%s)", i ? ", " : "", c->category, text_bytes(bytes, c->bytes),
                 text_percent(share, 100.0 * (double)c->bytes / (double)h->bytes));
        guesses |= c->category[strlen(c->category) - 1] == '?';
    }
    text_add(out, "%s", guesses ? "; ? marks a guess" : "");
}

const char *holders_add_line(struct text *out, const struct holders *h, unsigned i)
{
    const bool says = h->category_count > 1 || h->categories[0].category != not_known;
    struct holder all = {0};
    char bytes[32], blocks[48];
    if (h->count == 0 || i > HOLDERS_SHOWN + 1)
        return NULL;
    if (i-- == 0) {
        if (says)
            add_categories(out, h);
        else
            text_add(out, "%s; the sites say no category", text_bytes(bytes, h->bytes));
        return "holds";
    }
    if (i > 0 && (i >= h->count || !is_shown(h, &h->items[i - 1])))
        return NULL;
    const bool is_one = i < HOLDERS_SHOWN && is_shown(h, &h->items[i]);
    for (unsigned k = i; k < (is_one ? i + 1 : h->count); k++)
        join(&all, &h->items[k]);
    if (!is_shown(h, &all))
        return NULL;
    text_add(out, "%.100s",
             is_one ? h->items[i].site : text_count(blocks, h->count - i, "other site"));
    if (is_one && says && h->items[i].category != not_known)
        text_add(out, " (%s)", h->items[i].category);
    text_add(out, ": %s in %s", text_bytes(bytes, all.bytes),
             text_count(blocks, (double)all.blocks, "block"));
    return i ? "" : "at";
}

static json_t *list_to_json(const struct holder *items, unsigned count, bool has_site)
{
    json_t *list = tree_array();
    for (const struct holder *one = items; one < items + count; one++) {
        json_t *json =
            tree_pack("{s:o, s:o, s:o}", "category",
                      tree_text_or_null(one->category == not_known ? "" : one->category), "bytes",
                      tree_count(one->bytes), "blocks", tree_count(one->blocks));
        if (has_site)
            tree_put(json, "site", tree_text(one->site));
        tree_append(list, json);
    }
    return list;
}

json_t *holders_to_json(const struct holders *h)
{
    if (!h->count)
        return json_null();
    return tree_pack("{s:o, s:o, s:o, s:o}", "event", tree_count(h->event), "requested_bytes",
                     tree_count(h->bytes), "categories",
                     list_to_json(h->categories, h->category_count, false), "sites",
                     list_to_json(h->items, (unsigned)smaller(h->count, HOLDERS_LISTED), true));
}
