/* Helpers for building and reading jansson trees. If the host runs out of memory the process ends,
 * as in base/arena.h: half a record is worse than none. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* An empty object; the caller owns it. */
json_t *tree_object(void);
/* An empty array; the caller owns it. */
json_t *tree_array(void);
/* The result of json_pack for a format; the caller owns it. Its texts ("s") must be UTF-8: others,
 * such as those of a driver, go through tree_text and "o". */
json_t *tree_pack(const char *format, ...);
/* Sets a member, whose name is as tree_text makes it. This and the next two take over the caller's
 * reference to `value`. */
void tree_put(json_t *object, const char *key, json_t *value);
/* Adds an element at the end. */
void tree_append(json_t *array, json_t *value);
/* The index of a name among those that an object has seen, which is `count` for a new one. */
size_t tree_index_of(json_t *seen, const char *name, size_t count);
/* A new reference to a member; null if it is missing. */
json_t *tree_share(const json_t *object, const char *key);

/* A text with '?' for bytes that are not UTF-8: drivers report such texts, and JSON forbids them.
 * */
json_t *tree_text(const char *text);
json_t *tree_text_or_null(const char *text); /* null for "" and NULL */
/* An integer; null from 2^53 on: such a count is unknown. */
json_t *tree_count(uint64_t value);
json_t *tree_known(bool is_known, uint64_t value); /* null where it is not known */
json_t *tree_count_or_null(uint64_t value);        /* null for 0 too */
json_t *tree_count_if_known(int64_t value);        /* null below 0 */
/* An integer if the value is whole, so that bytes stay exact; null for NaN and infinity. */
json_t *tree_number(double value);

/* Prints a tree and a line's end. `layout` are flags of json_dumpf. Takes over the reference. */
void tree_print(json_t *tree, size_t layout, FILE *out);

/* The text of a member, owned by the object; "" if it is missing, null or of another type. */
const char *tree_get_text(const json_t *object, const char *key);
/* The number of a member; NaN if it is missing, null or of another type. */
double tree_get_number(const json_t *object, const char *key);
/* The number of a value; NaN if it is NULL, null or of another type. */
double tree_to_number(const json_t *value);
