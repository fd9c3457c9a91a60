/* Collects why cases were not ok, and prints each reason once. */
#include "cli/reasons.h"

#include <stdio.h>
#include <string.h>

#include "base/tree.h"

/* The names of a key that the message has. */
#define NAME_LIST(X) X(strategy) X(workload) X(dataset) X(device)

static void add_skipped(struct reasons *r, const struct case_round *round)
{
    const struct case_key *key = &round->key;
    json_t *shared = json_object_get(r->skipped, round->reason);
    if (!shared) {
        shared = tree_object();
        tree_put(r->skipped, round->reason, shared);
        tree_put(shared, "count", tree_count(0));
#define X(name) tree_put(shared, #name, tree_text(key->name));
        NAME_LIST(X)
#undef X
    }
    const json_int_t count = json_integer_value(json_object_get(shared, "count"));
    tree_put(shared, "count", tree_count((uint64_t)count + 1));
#define X(name)                                                                                    \
    if (strcmp(tree_get_text(shared, #name), key->name) != 0)                                      \
        tree_put(shared, #name, tree_text(""));
    NAME_LIST(X)
#undef X
}

void reasons_add(struct reasons *r, const struct case_round *round)
{
    if (!r->told) {
        r->told = tree_object();
        r->skipped = tree_object();
    }
    if (round->status == CASE_skipped) {
        add_skipped(r, round);
        return;
    }
    /* If a failure's log is the same for every strategy, only its first line is printed again. */
    const struct case_key *key = &round->key;
    const bool again = json_object_get(r->told, round->reason) != NULL;
    fprintf(stderr, "gamut: %s: %s %s/%s on %s: %.*s\n", case_status_name(round->status),
            key->strategy, key->workload, key->dataset, key->device,
            again ? (int)strcspn(round->reason, "\n") : -1, round->reason);
    tree_put(r->told, round->reason, json_true());
}

/* "gamut: skipped: stream on cuda:0: REASON", or with a number of cases in front. */
static void tell_skipped(const char *reason, const json_t *shared)
{
    const long long count = json_integer_value(json_object_get(shared, "count"));
    const char *strategy = tree_get_text(shared, "strategy");
    const char *workload = tree_get_text(shared, "workload");
    const char *dataset = tree_get_text(shared, "dataset");
    const char *device = tree_get_text(shared, "device");
    fputs("gamut: skipped:", stderr);
    if (count > 1)
        fprintf(stderr, " %lld cases of", count);
    if (!*strategy && !*workload && !*device)
        fputs(" this run", stderr);
    if (*strategy)
        fprintf(stderr, " %s", strategy);
    if (*workload)
        fprintf(stderr, " %s%s%s", workload, *dataset ? "/" : "", dataset);
    if (*device)
        fprintf(stderr, "%s%s", *strategy || *workload ? " on " : " ", device);
    fprintf(stderr, ": %s\n", reason);
}

void reasons_round_ended(struct reasons *r)
{
    const char *reason;
    json_t *shared;
    json_object_foreach(r->skipped, reason, shared)
    {
        if (json_object_get(r->told, reason))
            continue;
        tell_skipped(reason, shared);
        tree_put(r->told, reason, json_true());
    }
    json_object_clear(r->skipped);
}

void reasons_free(struct reasons *r)
{
    json_decref(r->told);
    json_decref(r->skipped);
    *r = (struct reasons){0};
}
