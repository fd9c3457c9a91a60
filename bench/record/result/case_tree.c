#include "record/result/case_tree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record/facts/case.h"
#include "base/tree.h"

static bool has_status(const json_t *one_case, enum case_status status)
{
    return strcmp(tree_get_text(one_case, "status"), case_status_name(status)) == 0;
}

bool case_is_ok(const json_t *one_case)
{
    return has_status(one_case, CASE_ok);
}

bool case_is_skipped(const json_t *one_case)
{
    return has_status(one_case, CASE_skipped);
}

double case_peak(const json_t *one_case, const char *name)
{
    const json_t *counters = case_is_ok(one_case) ? json_object_get(one_case, "counters") : NULL;
    return fmax(tree_get_number(json_object_get(counters, "cold"), name),
                tree_get_number(json_object_get(counters, "warm"), name));
}

double case_stat(const json_t *one_case, const char *metric, const char *name)
{
    return tree_get_number(json_object_get(json_object_get(one_case, "stats"), metric), name);
}

bool case_keys_differ(const json_t *root, const char *device, const char *member)
{
    const char *first = NULL;
    size_t i;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        const json_t *key = json_object_get(one_case, "key");
        const char *value = tree_get_text(key, member);
        if (strcmp(tree_get_text(key, "device"), device) != 0)
            continue;
        if (first && strcmp(first, value) != 0)
            return true;
        first = value;
    }
    return false;
}

char *case_words(char out[512], const json_t *one_case)
{
    const json_t *key = json_object_get(one_case, "key");
    const char *residency = tree_get_text(key, "residency");
    snprintf(out, 512, "%s %s %s %s %s %s%s%s", tree_get_text(key, "workload"),
             tree_get_text(key, "dataset"), tree_get_text(key, "device"),
             tree_get_text(key, "merge"), tree_get_text(key, "release"),
             tree_get_text(key, "strategy"), *residency ? " " : "", residency);
    return out;
}
