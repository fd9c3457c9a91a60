#include "results/compare/compare.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "results/facts/case.h"
#include "results/compare/comparer.h"
#include "results/compare/noise.h"
#include "base/tree.h"
#include "results/file/answer.h"

/* ---- the files ------------------------------------------------------------------------------ */

/* The only device that cases of a result ran on; NULL: there are several, or none. */
static const char *only_device(const struct result *result)
{
    for (size_t i = 1; i < result->case_count; i++)
        if (strcmp(result->cases[i].key.device, result->cases[0].key.device) != 0)
            return NULL;
    return result->case_count ? result->cases[0].key.device : NULL;
}

/* Replays without a device are predictions for any: a copy of them, as cases of the only device
 * that the new file has. The base itself if it has no such predictions, or the new file has some
 * itself. */
static const struct result *predictions_for(struct comparer *c, const struct result *base,
                                            const struct result *candidate)
{
    const char *of = only_device(base), *device = only_device(candidate);
    if (!of || !device || strcmp(of, CASE_DRY_DEVICE) != 0 || strcmp(device, of) == 0)
        return base;
    struct result *copy = arena_alloc(&c->arena, sizeof *copy);
    *copy = *base;
    copy->cases = arena_alloc(&c->arena, base->case_count * sizeof *copy->cases);
    for (size_t i = 0; i < base->case_count; i++) {
        struct result_case *one = &copy->cases[i];
        char id[13];
        *one = base->cases[i];
        snprintf(one->key.device, sizeof one->key.device, "%s", device);
        case_id(&one->key, id);
        one->id = arena_copy(&c->arena, id, sizeof id - 1);
    }
    copy->context.devices = candidate->context.devices;
    copy->context.device_count = candidate->context.device_count;
    compare_note(c, "the base has replays without a device: predictions for %s", device);
    return copy;
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
static void compare_files(struct comparer *c, const struct result *base, const json_t *base_index,
                          const struct result *candidate)
{
    json_t *index = result_index(candidate);
    for (size_t i = 0; i < candidate->case_count; i++)
        compare_case(c, result_indexed(base, base_index, candidate->cases[i].id),
                     &candidate->cases[i]);
    for (size_t i = 0; i < base->case_count; i++)
        if (!json_object_get(index, base->cases[i].id))
            compare_case(c, &base->cases[i], NULL);
    json_decref(index);
}

int compare_results(const struct compare_file *base, const struct compare_file *candidate,
                    size_t candidate_count, const struct compare_options *options,
                    json_t **comparison, struct error *error)
{
    TRY(check_options(options, error));
    struct comparer c = comparer_of(options);
    c.file_count = candidate_count;
    json_t *differences = tree_array();
    for (size_t i = 0; i < candidate_count; i++) {
        const struct result *new = candidate[i].result;
        const struct result *old = predictions_for(&c, base->result, new);
        json_t *index = result_index(old);
        c.file = i;
        c.now = (struct tally){0};
        if (compare_context(&c, old, new, index, differences)) {
            const bool in_turns = noise_alternated(old, new);
            c.noisy[0] = in_turns ? NULL : old;
            c.noisy[1] = in_turns ? NULL : new;
            compare_files(&c, old, index, new);
            compare_configurations(&c);
            compare_experiments(&c, old, new);
        }
        settle_file(&c, candidate[i].name);
        json_decref(index);
    }
    compare_judge(&c);
    *comparison = compare_tree(&c, base, candidate, candidate_count, differences);
    json_decref(differences);
    comparer_free(&c);
    return 0;
}

/* ---- within one file ------------------------------------------------------------------------ */

static const struct json_field *parse_by(const char *by, const char **value, struct error *error)
{
    const size_t length = strcspn(by, "=");
    struct text names = {0};
    for (const struct json_field *m = case_key_struct.fields; m->name; m++) {
        if (by[length] && strlen(m->name) == length && strncmp(m->name, by, length) == 0) {
            text_free(&names);
            *value = by + length + 1;
            return m;
        }
        text_add(&names, "%s%s", names.length ? ", " : "", m->name);
    }
    error_set(error, ERR_USAGE, "'%.64s' is not MEMBER=VALUE such as strategy=raw; members are %s",
              by, names.data);
    text_free(&names);
    return NULL;
}

static const char *value_of(const struct result_case *one, const struct json_field *member)
{
    return (const char *)&one->key + member->offset;
}

/* Says which values a file has, each once. */
static int unknown_value(const struct result *result, const struct json_field *member,
                         const char *value, struct error *error)
{
    json_t *seen = tree_object();
    struct text values = {0};
    for (size_t i = 0; i < result->case_count; i++) {
        const char *each = value_of(&result->cases[i], member);
        if (!json_object_get(seen, each))
            text_add(&values, "%s%s", values.length ? ", " : "", each);
        tree_put(seen, each, json_true());
    }
    int code = error_set(error, ERR_USAGE, "no case has the %s '%.128s'; there are: %s",
                         member->name, value, values.length ? values.data : "no cases at all");
    text_free(&values);
    json_decref(seen);
    return code;
}

/* The case whose key is the same but for the member. */
static const struct result_case *counterpart(const struct result *result, const json_t *index,
                                             const struct result_case *one,
                                             const struct json_field *member, const char *value)
{
    struct case_key key = one->key;
    char id[13];
    snprintf((char *)&key + member->offset, member->size, "%s", value);
    case_id(&key, id);
    return result_indexed(result, index, id);
}

/* The file's answer with this baseline (results/file/answer.h). */
static json_t *answer_json(const struct result *result, const char *baseline)
{
    struct arena arena = {0};
    const struct result part = {.answer = answer_of(result, baseline, &arena)};
    json_t *out = json_field_value(result_struct.fields, "answer", &part);
    arena_free(&arena);
    return out;
}

int compare_within(const struct compare_file *file, const char *by,
                   const struct compare_options *options, json_t **comparison, struct error *error)
{
    const char *value;
    const struct json_field *member = parse_by(by, &value, error);
    if (!member || check_options(options, error))
        return ERR_USAGE;
    struct comparer c = comparer_of(options);
    c.by = member->name;
    c.by_value = value;
    const struct result *result = file->result;
    json_t *index = result_index(result);
    size_t base_count = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        if (strcmp(value_of(one, member), value) == 0)
            base_count++;
        else
            compare_case(&c, counterpart(result, index, one, member, value), one);
    }
    int code = base_count ? 0 : unknown_value(result, member, value, error);
    if (code == 0) {
        json_t *differences = tree_array();
        compare_configurations(&c);
        settle_file(&c, file->name);
        compare_judge(&c);
        *comparison = compare_tree(&c, file, file, 1, differences);
        json_decref(differences);
        tree_put(*comparison, "answer", answer_json(result, value));
    }
    json_decref(index);
    comparer_free(&c);
    return code;
}
