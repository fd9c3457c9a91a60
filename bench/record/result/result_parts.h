/* What of result.h is about rounds that are added later. */
#ifndef GAMUT_RECORD_RESULT_PARTS_H
#define GAMUT_RECORD_RESULT_PARTS_H

#include "record/result/result.h"

/* A stretch of rounds made one after the other, with the time to the millisecond, by which the
 * parts of two files that were made in turns can be put in order. */
json_t *result_new_part(void);

#endif
