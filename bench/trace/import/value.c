#include "trace/import/value.h"

#include <string.h>

#include "base/tree.h"

enum { JSON_MOST_BYTES = 1 << 16 };

struct value value_new_list(struct arena *arena, enum value_type type)
{
    return (struct value){.type = type, .list = arena_alloc(arena, sizeof(struct value_list))};
}

void value_append(struct arena *arena, struct value_list *list, struct value item)
{
    list->items = arena_grow(arena, list->items, list->count, &list->capacity, sizeof item);
    list->items[list->count++] = item;
}

const struct value *value_get(const struct value *dict, const char *key)
{
    if (!dict || dict->type != VALUE_DICT)
        return NULL;
    for (unsigned i = dict->list->count; i >= 2; i -= 2) {
        const struct value *k = &dict->list->items[i - 2];
        if (k->type == VALUE_TEXT && strcmp(k->text, key) == 0)
            return k + 1;
    }
    return NULL;
}

const struct value_list *value_list_of(const struct value *value)
{
    static const struct value_list none;
    return value && value->type == VALUE_LIST ? value->list : &none;
}

const char *value_text_of(const struct value *value)
{
    return value && value->type == VALUE_TEXT ? value->text : NULL;
}

bool value_count_of(const struct value *value, uint64_t *number)
{
    if (!value || value->type != VALUE_INTEGER || value->integer < 0)
        return false;
    *number = (uint64_t)value->integer;
    return true;
}

struct value value_from_json(struct arena *arena, const json_t *json)
{
    struct value value = {.type = VALUE_NONE};
    size_t i;
    const char *key;
    json_t *member;
    switch (json_typeof(json)) {
    case JSON_TRUE:
    case JSON_FALSE:
        return (struct value){.type = VALUE_BOOLEAN, .integer = json_is_true(json)};
    case JSON_INTEGER:
        return (struct value){.type = VALUE_INTEGER, .integer = json_integer_value(json)};
    case JSON_REAL:
        return (struct value){.type = VALUE_REAL, .real = json_real_value(json)};
    case JSON_STRING:
        return (struct value){
            .type = VALUE_TEXT,
            .text = arena_copy(arena, json_string_value(json), json_string_length(json))};
    case JSON_ARRAY:
        value = value_new_list(arena, VALUE_LIST);
        json_array_foreach(json, i, member)
            value_append(arena, value.list, value_from_json(arena, member));
        return value;
    case JSON_OBJECT:
        value = value_new_list(arena, VALUE_DICT);
        json_object_foreach((json_t *)json, key, member)
        {
            const struct value name = {.type = VALUE_TEXT,
                                       .text = arena_copy(arena, key, strlen(key))};
            value_append(arena, value.list, name);
            value_append(arena, value.list, value_from_json(arena, member));
        }
        return value;
    default:
        return value;
    }
}

/* *left: bytes that the JSON may still have. A value may be shared, and is as large each time. */
static json_t *to_json(const struct value *value, unsigned depth, size_t *left)
{
    const size_t bytes = 1 + (value->type == VALUE_TEXT ? strlen(value->text) : 0);
    json_t *json;
    *left -= bytes < *left ? bytes : *left;
    switch (depth && *left ? value->type : VALUE_NONE) {
    case VALUE_BOOLEAN:
        return json_boolean(value->integer);
    case VALUE_INTEGER:
        return json_integer(value->integer);
    case VALUE_REAL:
        return tree_number(value->real);
    case VALUE_TEXT:
        return tree_text(value->text);
    case VALUE_LIST:
        json = tree_array();
        for (unsigned i = 0; i < value->list->count && *left; i++)
            tree_append(json, to_json(&value->list->items[i], depth - 1, left));
        return json;
    case VALUE_DICT:
        json = tree_object();
        for (unsigned i = 0; i + 1 < value->list->count && *left; i += 2)
            if (value->list->items[i].type == VALUE_TEXT) {
                json_t *key = to_json(&value->list->items[i], depth, left);
                if (*left)
                    tree_put(json, json_string_value(key),
                             to_json(&value->list->items[i + 1], depth - 1, left));
                json_decref(key);
            }
        return json;
    default:
        return json_null();
    }
}

json_t *value_to_json(const struct value *value)
{
    size_t left = JSON_MOST_BYTES;
    json_t *json = to_json(value, 16, &left);
    if (left)
        return json;
    json_decref(json);
    return NULL;
}
