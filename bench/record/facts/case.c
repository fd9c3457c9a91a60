#include "record/facts/case.h"

#include <stdlib.h>

#include "base/error.h"

const char *const case_status_names[] = {
#define X(name, help) #name,
    CASE_STATUS_LIST(X)
#undef X
        NULL};
const char *const case_check_names[] = {
    [CHECK_NONE] = "none", [CHECK_REFERENCE] = "reference", [CHECK_DIGEST] = "digest", NULL};

const char *case_status_name(enum case_status status)
{
    return case_status_names[status];
}

const char *case_check_name(enum case_check check)
{
    return case_check_names[check];
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

void case_round_free(struct case_round *round)
{
    free(round->samples);
    json_decref(round->spaces);
    json_decref(round->memory);
    round->samples = NULL;
    round->spaces = round->memory = NULL;
}
