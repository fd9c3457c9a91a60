/* What earlier runs found out about a machine: the newest result file that says it. */
#ifndef GAMUT_RECORD_NEWEST_H
#define GAMUT_RECORD_NEWEST_H

#include <jansson.h>
#include <stdbool.h>

/* Hands out each result file below the folder `results` whose root has this member, newest first by
 * its name, until `take` says that it has all it wants. A file that can't be read is passed over.
 * `root` is borrowed. */
void newest_results(const char *results, const char *member,
                    bool (*take)(void *context, const char *path, const json_t *root),
                    void *context);

#endif
