/* Small help for building and reading jansson trees. Running out of host memory ends the process,
 * as it does in base/arena.h: half a record is worse than none. */
#ifndef GAMUT_RECORD_TREE_H
#define GAMUT_RECORD_TREE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

json_t *tree_object(void);
json_t *tree_array(void);
void tree_put(json_t *object, const char *key, json_t *value); /* takes the reference */
void tree_append(json_t *array, json_t *value);                /* takes the reference */

void tree_insert(json_t *array, size_t place, json_t *value);
/* A new reference to a member, null where it is missing. */
json_t *tree_share(const json_t *object, const char *key);

/* A text as it is, with '?' for bytes that are not UTF-8: driver texts may be, and JSON can't. */
json_t *tree_text(const char *text);
json_t *tree_text_or_null(const char *text); /* null for "" and NULL */
/* Null from 2^53 on, which stands for unknown. */
json_t *tree_count(uint64_t value);
json_t *tree_count_or_null(uint64_t value); /* null for 0 too */
json_t *tree_count_if_known(int64_t value); /* null below 0 */
/* An integer where the value is one, so that bytes stay bytes; null for NaN and infinity. */
json_t *tree_number(double value);

/* "" and NaN where the key is missing, null or of another type. */
const char *tree_get_text(const json_t *object, const char *key);
double tree_get_number(const json_t *object, const char *key);
double tree_to_number(const json_t *value);

#endif
