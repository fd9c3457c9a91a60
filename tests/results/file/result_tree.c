#include "tests/results/file/result_tree.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/json_rules.h"
#include "base/tree.h"
#include "tests/base/cmocka.h"

struct result_tree result_tree_of(struct result_draft *draft)
{
    result_summarise(&draft->result);
    const struct result_tree tree = {result_to_json(&draft->result)};
    draft_free(draft);
    return tree;
}

void result_tree_free(struct result_tree *tree)
{
    json_decref(tree->root);
    tree->root = NULL;
}

struct result_draft result_tree_draft(const json_t *root)
{
    struct result_draft draft = {0};
    struct error error = {0};
    json_t *copy = json_deep_copy(root);
    if (result_read(copy, &draft.result, &error))
        fail_msg("%s", error.text);
    json_decref(copy);
    return draft;
}

void result_tree_put(json_t *root, struct result_draft *draft)
{
    static json_t *kept; /* so that tests may hold what they have taken from the tree */
    struct result_tree tree = result_tree_of(draft);
    kept = kept ? kept : json_array();
    json_array_append_new(kept, json_copy(root));
    json_object_clear(root);
    json_object_update(root, tree.root);
    result_tree_free(&tree);
}

void result_tree_set_ids(json_t *root)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(root, "cases"), i, each)
    {
        struct case_key key;
        char id[13];
        assert_int_equal(case_key_from_json(json_object_get(each, "key"), &key, NULL), 0);
        case_id(&key, id);
        tree_put(each, "id", tree_text(id));
    }
}

void result_tree_summarise(json_t *root)
{
    result_tree_set_ids(root);
    struct result_draft draft = result_tree_draft(root);
    result_tree_put(root, &draft);
}

/* What a test's tree may lack. */
static void complete(json_t *root)
{
    json_t *all = json_pack(
        "{s:{s:s, s:s, s:[], s:i, s:{}, s:i, s:s}, s:{s:{s:s}, s:{s:s}, s:[], s:{}}, s:{}, s:[]}",
        "run", "id", "0123456789abcdef", "started_at", "2026-01-02T03:04:05Z", "argv", "seed", 1,
        "options", "rounds", 1, "status", "complete", "context", "tool", "version", "0", "host",
        "machine_id", "00000000", "devices", "env", "metrics", "cases");
    json_t *device = json_pack("{s:s, s:s, s:s, s:b, s:b}", "backend", "host", "name", "CPU",
                               "kind", "cpu", "has_f64", 1, "can_split", 0);
    json_t *one = json_pack("{s:s, s:{}, s:[], s:[]}", "id", "", "stats", "warnings", "rounds"),
           *each;
    json_t *stat = json_pack("{s:i}", "samples", 1), *round = json_pack("{s:s}", "status", "ok");
    size_t i;
    json_object_update_missing(root, all);
    json_object_update_missing(json_object_get(root, "run"), json_object_get(all, "run"));
    json_object_update_missing(json_object_get(root, "context"), json_object_get(all, "context"));
    json_array_foreach(json_object_get(json_object_get(root, "context"), "devices"), i, each)
        json_object_update_missing(each, device);
    json_array_foreach(json_object_get(root, "cases"), i, each)
    {
        const char *name;
        json_t *part;
        size_t p;
        json_object_update_missing(each, one);
        json_object_foreach(json_object_get(each, "stats"), name, part)
            json_object_update_missing(part, stat);
        json_array_foreach(json_object_get(each, "rounds"), p, part)
            json_object_update_missing(part, round);
        json_t *counters = json_object_get(each, "counters");
        if (json_is_object(counters) && !json_object_get(counters, "warm"))
            tree_put(counters, "warm", tree_object());
    }
    json_decref(stat);
    json_decref(round);
    json_t *mean = json_pack("{s:i, s:i}", "cases", 1, "missing", 0);
    json_array_foreach(json_object_get(root, "summary"), i, each)
        json_object_update_missing(each, mean);
    json_decref(mean);
    json_decref(all);
    json_decref(device);
    json_decref(one);
}

const struct result *result_tree_read(const json_t *root)
{
    static struct read {
        struct result result;
        struct read *next;
    } * all;
    struct read *made = must_alloc(sizeof *made);
    struct error error = {0};
    json_t *copy = json_deep_copy(root);
    complete(copy);
    *made = (struct read){.next = all};
    all = made;
    if (json_get_fields_in(&made->result.arena, copy, "", result_struct.fields, &made->result,
                           &error))
        fail_msg("%s", error.text);
    made->result.root = copy;
    made->result.version = "2.0.0";
    return &made->result;
}

int result_tree_check(json_t *root, struct error *error)
{
    struct result result;
    const int code = result_read(root, &result, error);
    if (!code)
        result_release(&result);
    return code;
}

int result_tree_load(const char *path, json_t **root, struct error *error)
{
    struct result result;
    const int code = result_open(path, &result, error);
    *root = code ? NULL : json_incref(result.root);
    if (!code)
        result_release(&result);
    return code;
}

int result_tree_write(const json_t *root, const char *path, struct error *error)
{
    struct result_draft draft = result_tree_draft(root);
    const int code = draft_write(&draft, path, error);
    draft_free(&draft);
    return code;
}

double result_tree_stat(const json_t *one_case, const char *metric, const char *member)
{
    const json_t *stats = json_object_get(json_object_get(one_case, "stats"), metric);
    return tree_get_number(stats, member);
}
