/* Names, and frames of call stacks, each once. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/text.h"
#include "base/tree.h"
#include "trace/codec.h"
#include "trace/trace.h"

static bool is_same(const struct trace_name *a, const struct trace_name *b)
{
    return a->caller == b->caller && !a->depth == !b->depth && strcmp(a->text, b->text) == 0;
}

static unsigned *bucket_of(const struct trace_names *n, const struct trace_name *name)
{
    uint64_t at = digest_bytes(name->caller, name->text, strlen(name->text));
    for (;; at++) {
        unsigned *bucket = &n->bucket[at & (n->buckets - 1)];
        if (*bucket == 0 || is_same(&n->items[*bucket - 1], name))
            return bucket;
    }
}

/* The text as a trace may have it: UTF-8, and not too long. The caller frees it. */
static char *clean_name(const char *text)
{
    struct text cut = {0};
    text_add_bytes(&cut, text, strnlen(text, TRACE_NAME_BYTES));
    json_t *json = tree_text(cut.data);
    text_free(&cut);
    text_add(&cut, "%s", json_string_value(json));
    json_decref(json);
    return cut.data;
}

static unsigned find_or_add(struct trace_names *n, struct trace_name name)
{
    if (2 * (n->count + 1) > n->buckets) {
        n->buckets = n->buckets ? 4 * n->buckets : 64;
        free(n->bucket);
        n->bucket = must_alloc(n->buckets * sizeof *n->bucket);
        for (unsigned i = 0; i < n->count; i++)
            *bucket_of(n, &n->items[i]) = i + 1;
    }
    unsigned *bucket = bucket_of(n, &name);
    if (*bucket)
        return *bucket - 1;
    name.text = clean_name(name.text);
    bucket = bucket_of(n, &name);
    if (*bucket) {
        free(name.text);
        return *bucket - 1;
    }
    n->items = must_grow(n->items, n->count, &n->capacity, sizeof *n->items);
    n->items[n->count] = name;
    *bucket = ++n->count;
    return n->count - 1;
}

unsigned trace_names_add(struct trace_names *n, const char *text)
{
    return find_or_add(n, (struct trace_name){.text = (char *)text});
}

unsigned trace_names_add_frame(struct trace_names *n, unsigned caller, const char *text,
                               bool is_hidden)
{
    const unsigned depth = caller ? n->items[caller].depth : 0;
    if (depth == TRACE_STACK_MOST)
        return caller;
    return find_or_add(n, (struct trace_name){.text = (char *)text,
                                              .caller = caller,
                                              .depth = (unsigned short)(depth + 1),
                                              .is_hidden = is_hidden});
}

void trace_names_free(struct trace_names *n)
{
    for (unsigned i = 0; i < n->count; i++)
        free(n->items[i].text);
    free(n->items);
    free(n->bucket);
}
