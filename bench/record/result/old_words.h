/* Words of the format that were others in files before 1.6: "method" was "way". */
#ifndef GAMUT_RECORD_OLD_WORDS_H
#define GAMUT_RECORD_OLD_WORDS_H

#include <jansson.h>

/* Renames the old words in a tree that was read, so that readers know the new ones alone. Called by
 * result_load before it checks the tree: any JSON value may be given. */
void result_renew_words(json_t *root);

#endif
