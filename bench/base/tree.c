#include "base/tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static const double first_inexact_integer = 0x1p53;

json_t *tree_object(void)
{
    return must_have(json_object());
}
json_t *tree_array(void)
{
    return must_have(json_array());
}

json_t *tree_pack(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *json = must_have(json_vpack_ex(NULL, 0, format, arguments));
    va_end(arguments);
    return json;
}

void tree_put(json_t *object, const char *key, json_t *value)
{
    must_have(value);
    if (json_object_set(object, key, value) != 0) {
        json_t *clean = tree_text(key);
        must_have(json_object_set(object, json_string_value(clean), value) == 0 ? object : NULL);
        json_decref(clean);
    }
    json_decref(value);
}

void tree_append(json_t *array, json_t *value)
{
    must_have(value);
    must_have(json_array_append_new(array, value) == 0 ? array : NULL);
}

json_t *tree_share(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return value ? json_incref(value) : json_null();
}

/* The length of the UTF-8 sequence at s, or 0 where there is none. It asks jansson, whose rules on
 * overlong forms and surrogates decide later. */
static size_t sequence_length(const char *s, size_t rest)
{
    for (size_t length = 1; length <= 4 && length <= rest; length++) {
        json_t *text = json_stringn(s, length);
        if (text) {
            json_decref(text);
            return length;
        }
    }
    return 0;
}

json_t *tree_text(const char *text)
{
    json_t *whole = json_string(text);
    if (whole)
        return whole;
    size_t length = strlen(text);
    char *clean = must_alloc(length + 1);
    for (size_t i = 0; i < length;) {
        size_t n = sequence_length(text + i, length - i);
        if (n)
            memcpy(clean + i, text + i, n);
        else
            clean[i] = '?';
        i += n ? n : 1;
    }
    whole = must_have(json_string(clean));
    free(clean);
    return whole;
}

json_t *tree_text_or_null(const char *text)
{
    return text && *text ? tree_text(text) : json_null();
}

json_t *tree_count(uint64_t value)
{
    return (double)value < first_inexact_integer ? must_have(json_integer((json_int_t)value))
                                                 : json_null();
}

json_t *tree_count_or_null(uint64_t value)
{
    return tree_known(value, value);
}

json_t *tree_known(bool is_known, uint64_t value)
{
    return is_known ? tree_count(value) : json_null();
}

json_t *tree_count_if_known(int64_t value)
{
    return value < 0 ? json_null() : tree_count((uint64_t)value);
}

json_t *tree_number(double value)
{
    if (!isfinite(value))
        return json_null();
    if (value == floor(value) && fabs(value) < first_inexact_integer)
        return must_have(json_integer((json_int_t)value));
    return must_have(json_real(value));
}

size_t tree_index_of(json_t *seen, const char *name, size_t count)
{
    const json_t *index = json_object_get(seen, name);
    if (index)
        return (size_t)json_integer_value(index);
    /* It is never printed, so the name may be no UTF-8. */
    must_have(json_object_set_new_nocheck(seen, name, tree_count(count)) == 0 ? seen : NULL);
    return count;
}

void tree_print(json_t *tree, size_t layout, FILE *out)
{
    json_dumpf(tree, out, layout);
    fputc('\n', out);
    json_decref(tree);
}

const char *tree_get_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

double tree_to_number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

double tree_get_number(const json_t *object, const char *key)
{
    return tree_to_number(json_object_get(object, key));
}
