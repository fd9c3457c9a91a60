/* Says on stderr why cases of a run were not ok. A failure is said at once. Many cases can be
 * skipped for one reason, which is a fact about what they have in common: it is said once a round,
 * with the names that all of them share. */
#pragma once

#include <jansson.h>

#include "results/facts/case.h"

/* {0} at first; reasons_free in the end. */
struct reasons {
    json_t *told;    /* reasons that were printed, as keys */
    json_t *skipped; /* reason -> {"count", and the names that its cases share} */
};

/* A case has ended with a status that is not ok. */
void reasons_add(struct reasons *reasons, const struct case_round *round);
/* Prints the reasons for which cases were skipped, unless they were printed in an earlier round. */
void reasons_round_ended(struct reasons *reasons);
void reasons_free(struct reasons *reasons);
