#include "record/facts/case.h"

#include <stdlib.h>

#include "base/error.h"

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

enum case_status case_status_of(int code)
{
    switch (code) {
    case 0:
        return CASE_ok;
    case ERR_OOM:
        return CASE_oom;
    case ERR_WRONG:
        return CASE_wrong;
    case ERR_UNSUPPORTED:
        return CASE_skipped;
    default:
        return CASE_error;
    }
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
    json_decref(round->spaces);
    json_decref(round->memory);
    round->samples = NULL;
    round->spaces = round->memory = NULL;
}
