#include "record/compare/compare.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "record/facts/case.h"
#include "record/compare/comparer.h"
#include "record/compare/noise.h"
#include "base/tree.h"
#include "record/result/answer.h"
#include "record/result/experiment_result.h"

/* ---- the files ------------------------------------------------------------------------------ */

/* The cases of a result by their ids, borrowed. The caller owns the index. */
static json_t *index_of(const json_t *root)
{
    json_t *index = tree_object(), *one_case;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
        tree_put(index, tree_get_text(one_case, "id"), json_incref(one_case));
    return index;
}

/* The only device that cases of a result ran on; NULL: there are several, or none. */
static const char *only_device(const json_t *root)
{
    const char *device = NULL;
    const json_t *one_case;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        const char *own = tree_get_text(json_object_get(one_case, "key"), "device");
        if (device && strcmp(device, own) != 0)
            return NULL;
        device = own;
    }
    return device;
}

/* Replays without a device are predictions for any device. Returns a copy of them as cases of the
 * only device that the new file has, which the caller owns. NULL: the base has no such predictions,
 * or the new file has some itself. */
static json_t *predictions_for(const json_t *base, const json_t *candidate)
{
    const char *of = only_device(base), *device = only_device(candidate);
    if (!of || !device || strcmp(of, CASE_DRY_DEVICE) != 0 || strcmp(device, of) == 0)
        return NULL;
    json_t *root = json_deep_copy(base), *one_case;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        struct case_key key;
        char id[13];
        tree_put(json_object_get(one_case, "key"), "device", tree_text(device));
        if (case_key_from_json(json_object_get(one_case, "key"), &key, NULL))
            continue;
        case_id(&key, id);
        tree_put(one_case, "id", tree_text(id));
    }
    tree_put(json_object_get(root, "context"), "devices",
             tree_share(json_object_get(candidate, "context"), "devices"));
    return root;
}

static int check_options(const struct compare_options *options, struct error *error)
{
    if (!(options->threshold >= 0 && isfinite(options->threshold)))
        return error_set(error, ERR_USAGE, "the threshold is %g, expected 0 or more",
                         options->threshold);
    return 0;
}

/* The outcome if no case of a candidate could be compared; COMPARE_ok if its rows say it. */
static enum compare_outcome nothing_compared(const struct comparer *c, const char **because)
{
    const struct tally *t = &c->now;
    if (t->worse)
        return COMPARE_ok;
    if (t->dropped || !(t->failed_in_both || t->failed_in_base)) {
        *because = c->by ? "nothing was compared: no case that was run has a counterpart"
                         : "the files are not comparable; nothing was compared";
        return COMPARE_incomparable;
    }
    *because = t->failed_in_base ? "nothing was compared: the base has no case that is ok"
                                 : "nothing was compared: no case is ok";
    /* A new file that is right where the base was wrong is no failure, but no comparison either. */
    return t->failed_in_base && !c->by ? COMPARE_unsure : COMPARE_failed;
}

/* Adds up what became of the cases of a candidate. */
static void settle_file(struct comparer *c, const char *name)
{
    const char *because = NULL;
    const enum compare_outcome nothing = c->now.pairs ? COMPARE_ok : nothing_compared(c, &because);
    if (nothing < c->nothing) {
        c->nothing = nothing;
        c->nothing_because =
            c->file_count > 1 ? arena_printf(&c->arena, "%s: %s", name, because) : because;
    }
    c->all.pairs += c->now.pairs;
    c->all.dropped += c->now.dropped;
    c->all.failed_in_both += c->now.failed_in_both;
    c->all.failed_in_base += c->now.failed_in_base;
    c->all.worse += c->now.worse;
}

/* Compares every case of the new file, then those of the base that it lacks. */
static void compare_files(struct comparer *c, const json_t *base, const json_t *base_index,
                          const json_t *candidate)
{
    json_t *candidate_index = index_of(candidate), *one_case;
    size_t i;
    json_array_foreach(json_object_get(candidate, "cases"), i, one_case)
        compare_case(c, json_object_get(base_index, tree_get_text(one_case, "id")), one_case);
    json_array_foreach(json_object_get(base, "cases"), i, one_case)
    {
        if (!json_object_get(candidate_index, tree_get_text(one_case, "id")))
            compare_case(c, one_case, NULL);
    }
    json_decref(candidate_index);
}

int compare_results(const struct compare_file *base, const struct compare_file *candidate,
                    size_t candidate_count, const struct compare_options *options,
                    json_t **comparison, struct error *error)
{
    TRY(check_options(options, error));
    struct comparer c = comparer_of(options);
    c.file_count = candidate_count;
    /* Rows borrow from the predictions until they are printed. */
    json_t *differences = tree_array(), *kept = tree_array();
    for (size_t i = 0; i < candidate_count; i++) {
        json_t *predictions = predictions_for(base->root, candidate[i].root);
        const json_t *root = predictions ? predictions : base->root;
        json_t *index = index_of(root);
        c.file = i;
        c.now = (struct tally){0};
        if (predictions)
            compare_note(&c, "the base has replays without a device: predictions for %s",
                         only_device(candidate[i].root));
        if (compare_context(&c, root, candidate[i].root, index, differences)) {
            const bool in_turns = noise_alternated(root, candidate[i].root);
            c.roots[0] = in_turns ? NULL : root;
            c.roots[1] = in_turns ? NULL : candidate[i].root;
            compare_files(&c, root, index, candidate[i].root);
            compare_configurations(&c);
            compare_experiments(&c, root, candidate[i].root);
        }
        settle_file(&c, candidate[i].name);
        if (predictions)
            json_array_append_new(kept, predictions);
        json_decref(index);
    }
    compare_judge(&c);
    *comparison = compare_tree(&c, base, candidate, candidate_count, differences);
    json_decref(differences);
    json_decref(kept);
    comparer_free(&c);
    return 0;
}

/* ---- within one file ------------------------------------------------------------------------ */

static const struct key_member {
    const char *name;
    size_t offset, size;
} members[] = {
#define X(member)                                                                                  \
    {#member, offsetof(struct case_key, member), sizeof((struct case_key *)NULL)->member},
    CASE_KEY_ALL_LIST(X)
#undef X
};
enum { MEMBERS = sizeof members / sizeof *members };

static const struct key_member *parse_by(const char *by, const char **value, struct error *error)
{
    const size_t length = strcspn(by, "=");
    for (size_t i = 0; i < MEMBERS && by[length]; i++)
        if (strlen(members[i].name) == length && strncmp(members[i].name, by, length) == 0) {
            *value = by + length + 1;
            return &members[i];
        }
    struct text names = {0};
    for (size_t i = 0; i < MEMBERS; i++)
        text_add(&names, "%s%s", i ? ", " : "", members[i].name);
    error_set(error, ERR_USAGE, "'%.64s' is not MEMBER=VALUE such as strategy=raw; members are %s",
              by, names.data);
    text_free(&names);
    return NULL;
}

/* Says which values a file has, each once. */
static int unknown_value(const json_t *root, const char *member, const char *value,
                         struct error *error)
{
    json_t *seen = tree_object(), *one_case;
    struct text values = {0};
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        const char *each = tree_get_text(json_object_get(one_case, "key"), member);
        if (!json_object_get(seen, each))
            text_add(&values, "%s%s", values.length ? ", " : "", each);
        tree_put(seen, each, json_true());
    }
    int code = error_set(error, ERR_USAGE, "no case has the %s '%.128s'; there are: %s", member,
                         value, values.length ? values.data : "no cases at all");
    text_free(&values);
    json_decref(seen);
    return code;
}

/* The case whose key is the same but for the member. */
static const json_t *counterpart(const json_t *index, const json_t *one_case,
                                 const struct key_member *member, const char *value)
{
    struct case_key key;
    char id[13];
    if (case_key_from_json(json_object_get(one_case, "key"), &key, NULL))
        return NULL;
    snprintf((char *)&key + member->offset, member->size, "%s", value);
    case_id(&key, id);
    return json_object_get(index, id);
}

int compare_within(const struct compare_file *file, const char *by,
                   const struct compare_options *options, json_t **comparison, struct error *error)
{
    const char *value;
    const struct key_member *member = parse_by(by, &value, error);
    if (!member || check_options(options, error))
        return ERR_USAGE;
    struct comparer c = comparer_of(options);
    c.by = member->name;
    c.by_value = value;
    json_t *index = index_of(file->root), *one_case;
    size_t i, base_count = 0;
    json_array_foreach(json_object_get(file->root, "cases"), i, one_case)
    {
        if (strcmp(tree_get_text(json_object_get(one_case, "key"), member->name), value) == 0)
            base_count++;
        else
            compare_case(&c, counterpart(index, one_case, member, value), one_case);
    }
    int code = base_count ? 0 : unknown_value(file->root, member->name, value, error);
    if (code == 0) {
        json_t *differences = tree_array();
        compare_configurations(&c);
        settle_file(&c, file->name);
        compare_judge(&c);
        *comparison = compare_tree(&c, file, file, 1, differences);
        json_decref(differences);
        tree_put(*comparison, "answer", answer_of(file->root, value));
    }
    json_decref(index);
    comparer_free(&c);
    return code;
}
