#include "record/case.h"

#include <stdlib.h>

const char *case_status_name(enum case_status status)
{
    switch (status) {
#define X(name, help)                                                                              \
    case CASE_##name:                                                                              \
        return #name;
        CASE_STATUS_LIST(X)
#undef X
    case CASE_STATUSES:
        break;
    }
    return "?";
}

const char *case_check_name(enum case_check check)
{
    switch (check) {
    case CHECK_NONE:
        return "none";
    case CHECK_REFERENCE:
        return "reference";
    case CHECK_DIGEST:
        return "digest";
    }
    return "?";
}

void case_round_free(struct case_round *round)
{
    free(round->samples);
    json_decref(round->memory);
    round->samples = NULL;
    round->memory = NULL;
}
