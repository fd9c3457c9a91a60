/* A value of a log that is a tree: of a pickle or of JSON. Values may be shared, so a tree can be
 * larger than its log, and a list may contain itself: code that walks values looks for what it
 * knows, and to a known depth. An arena owns all of them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "trace/import.h"

enum value_type {
    VALUE_NONE,
    VALUE_BOOLEAN,
    VALUE_INTEGER,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_LIST, /* a tuple too */
    VALUE_DICT,
};

struct value {
    enum value_type type;
    bool is_kept; /* for pickle.c: the value, and all in it, lives as long as the tree */
    union {
        int64_t integer; /* a boolean too */
        double real;
        const char *text;
        struct value_list *list; /* a dict: key, value, key, value, ... */
    };
};

struct value_list {
    unsigned count, capacity;
    struct value *items;
    bool is_taken; /* for pickle.c: its items went to a sink; for pytorch_snapshot.c: they are
                       * the blocks of a segment */
    const struct pytorch_call *call; /* for pytorch_snapshot.c: what these frames are, once made */
};

/* An empty list or dict. */
struct value value_new_list(struct arena *arena, enum value_type type);
void value_append(struct arena *arena, struct value_list *list, struct value item);

/* The value of a key; NULL if `dict` is no dict or lacks it. The last of several holds. */
const struct value *value_get(const struct value *dict, const char *key);
/* The members of a list; none if it is NULL or no list. */
const struct value_list *value_list_of(const struct value *value);
/* The text; NULL if `value` is NULL or no text. */
const char *value_text_of(const struct value *value);
/* The number; false if `value` is NULL, no integer or negative. */
bool value_count_of(const struct value *value, uint64_t *number);

/* The value of a JSON tree. */
struct value value_from_json(struct arena *arena, const json_t *json);
/* The value as JSON for the caller to free; null for what is deeper than 16 lists. NULL if it has
 * more than 64 KiB: a value that is shared counts each time. */
json_t *value_to_json(const struct value *value);

/* A history that does not have to fit memory: the items of the lists in the list that the root has
 * under `key` go to `take` one by one, and die after it. In the tree the lists are empty. */
struct pickle_sink {
    const char *key;
    int (*take)(void *user, unsigned list, const struct value *item, struct error *error);
    void *user;
};

/* Reads a pickle of protocol 2 to 5 that has numbers, texts, lists, tuples and dicts alone. What
 * would run code is not read: ERR_PARSE names it, and its place as "byte N". The log is read
 * twice. */
int pickle_read(struct import *log, struct arena *arena, const struct pickle_sink *sink,
                struct value *value, struct error *error);
