/* A result that is made in several parts: rounds are added to it later. */
#include "record/result/result_parts.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/tree.h"

json_t *result_new_part(void)
{
    struct timespec now;
    struct tm utc;
    char seconds[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    struct text at = {0};
    text_add(&at, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
    json_t *part = tree_object();
    tree_put(part, "started_at", tree_text(at.data));
    tree_put(part, "rounds", tree_count(0));
    text_free(&at);
    return part;
}

/* What makes two builds different ones. */
static int check_same_tool(const json_t *root, struct error *error)
{
    static const char *const facts[] = {"version", "git_rev", "git_dirty",
                                        "build",   "cflags",  "compiler"};
    const json_t *theirs = json_object_get(json_object_get(root, "context"), "tool");
    json_t *ours = context_tool();
    int code = 0;
    for (size_t i = 0; !code && i < sizeof facts / sizeof *facts; i++)
        if (!json_equal(json_object_get(theirs, facts[i]), json_object_get(ours, facts[i]))) {
            char *was = json_dumps(json_object_get(theirs, facts[i]), JSON_ENCODE_ANY);
            char *is = json_dumps(json_object_get(ours, facts[i]), JSON_ENCODE_ANY);
            code = error_set(error, ERR_USAGE,
                             "it is of another build (%s %s, this one has %s): one result has "
                             "rounds of one build; --like makes a result of its own",
                             facts[i], was ? was : "unknown", is ? is : "unknown");
            free(was);
            free(is);
        }
    json_decref(ours);
    return code;
}

unsigned result_rounds(const json_t *root)
{
    const json_t *one_case, *round;
    unsigned count = 0;
    for (size_t i = 0; (one_case = json_array_get(json_object_get(root, "cases"), i)); i++)
        for (size_t j = 0; (round = json_array_get(json_object_get(one_case, "rounds"), j)); j++) {
            const unsigned next = (unsigned)tree_get_number(round, "round") + 1;
            count = next > count ? next : count;
        }
    return count;
}

json_t *result_without_rounds(json_t *root)
{
    result_summarise(root); /* statuses follow from rounds */
    json_t *copy = json_deep_copy(root), *one_case;
    size_t i;
    json_array_foreach(json_object_get(copy, "cases"), i, one_case)
    {
        json_array_clear(json_object_get(one_case, "rounds"));
        json_object_del(one_case, "memory"); /* it has times too */
    }
    return copy;
}

int result_continue(struct result *result, json_t *root, unsigned rounds, struct error *error)
{
    *result = (struct result){.root = root, .started_ns = clock_ns()};
    json_t *run = json_object_get(root, "run"), *parts = json_object_get(run, "parts");
    const double earlier = tree_get_number(run, "duration_ns");
    result->earlier_ns = earlier > 0 ? (uint64_t)earlier : 0;
    int code = check_same_tool(root, error);
    if (code)
        return code;
    if (!parts) {
        /* Of an older format. */
        json_t *first = tree_object();
        tree_put(first, "started_at", tree_share(run, "started_at"));
        tree_put(first, "rounds", tree_count(result_rounds(root)));
        parts = tree_array();
        tree_append(parts, first);
        tree_put(run, "parts", parts);
    }
    tree_append(parts, result_new_part());
    json_t *all_rounds = tree_count(result_rounds(root) + rounds);
    tree_put(json_object_get(run, "options"), "rounds", json_incref(all_rounds));
    tree_put(run, "rounds", all_rounds);
    tree_put(run, "status", tree_text("partial"));
    tree_put(json_object_get(root, "schema"), "version", tree_text(RESULT_SCHEMA_VERSION));
    return 0;
}

void result_set_part(struct result *result, unsigned rounds)
{
    const json_t *parts = json_object_get(json_object_get(result->root, "run"), "parts");
    tree_put(json_array_get(parts, json_array_size(parts) - 1), "rounds", tree_count(rounds));
}
