#include "record/compare/compare.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "record/facts/case.h"
#include "record/compare/compare_internal.h"
#include "record/compare/noise.h"
#include "base/tree.h"
#include "record/result/experiment_result.h"

/* ---- what the files differ in ------------------------------------------------------------------ */

/* A comparison holds constant: program and data, an experiment's options, the device, and for times
 * the machine. It compares strategies and merge sets, so revisions may differ.
 *
 * A difference matters for
 *
 *   everything   counts and times: program, data, options, memory limit, alignment, ability to split
 *   times        device, driver, machine, kind of build
 *   nothing      the rest, which is only printed */

struct differ {
    json_t *all;
    size_t file;
};

static void add_difference(struct differ *d, const char *subject, const json_t *base,
                           const json_t *candidate, const char *matters)
{
    json_t *one = tree_object();
    tree_put(one, "file", tree_count(d->file));
    tree_put(one, "subject", tree_text(subject));
    tree_put(one, "base", base ? json_incref((json_t *)base) : json_null());
    tree_put(one, "new", candidate ? json_incref((json_t *)candidate) : json_null());
    tree_put(one, "matters", tree_text(matters));
    tree_append(d->all, one);
}

static bool are_known(const json_t *a, const json_t *b)
{
    return a && b && !json_is_null(a) && !json_is_null(b);
}

/* Compares the members that both objects have. */
struct fact {
    const char *member, *matters;
};

static void compare_facts(struct differ *d, const char *owner, const json_t *base,
                          const json_t *candidate, const struct fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *a = json_object_get(base, facts[i].member);
        const json_t *b = json_object_get(candidate, facts[i].member);
        char subject[256];
        if (!are_known(a, b) || json_equal(a, b))
            continue;
        snprintf(subject, sizeof subject, "%s %s", owner, facts[i].member);
        add_difference(d, subject, a, b, facts[i].matters);
    }
}

static const struct fact device_facts[] = {
    {"backend", "everything"},   {"alignment_bytes", "everything"},
    {"can_split", "everything"}, {"name", "times"},
    {"arch", "times"},           {"driver", "times"},
    {"platform", "times"},       {"compute_units", "times"},
    {"memory_bytes", "times"},
};
static const struct fact host_facts[] = {
    {"machine_id", "times"}, {"cpu", "times"},      {"cpus", "times"},
    {"governor", "times"},   {"kernel", "nothing"}, {"os", "nothing"},
};
static const struct fact tool_facts[] = {
    {"build", "times"}, {"compiler", "nothing"}, {"cflags", "nothing"}, {"version", "nothing"}};
static const struct fact case_facts[] = {{"program_digest", "everything"},
                                         {"inputs_digest", "everything"},
                                         {"traffic_bytes", "everything"}};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const json_t *device_of(const json_t *root, const char *id)
{
    const json_t *devices = json_object_get(json_object_get(root, "context"), "devices"), *device;
    for (size_t i = 0; (device = json_array_get(devices, i)); i++)
        if (strcmp(tree_get_text(device, "id"), id) == 0)
            return device;
    return NULL;
}

/* Compares the devices on which both files have cases. */
static void compare_devices(struct differ *d, const json_t *base, const json_t *candidate,
                            const json_t *common_devices)
{
    const char *id;
    json_t *ignored;
    json_object_foreach((json_t *)common_devices, id, ignored)
    {
        char owner[128];
        snprintf(owner, sizeof owner, "device %s", id);
        compare_facts(d, owner, device_of(base, id), device_of(candidate, id), device_facts,
                      COUNT_OF(device_facts));
    }
}

/* A variable that only one of the files has is a difference too. */
static void compare_env(struct differ *d, const json_t *base, const json_t *candidate)
{
    const char *name;
    json_t *value;
    char subject[256];
    json_object_foreach((json_t *)base, name, value)
    {
        const json_t *other = json_object_get(candidate, name);
        snprintf(subject, sizeof subject, "environment %s", name);
        if (!other || !json_equal(value, other))
            add_difference(d, subject, value, other, "nothing");
    }
    json_object_foreach((json_t *)candidate, name, value)
    {
        snprintf(subject, sizeof subject, "environment %s", name);
        if (!json_object_get(base, name))
            add_difference(d, subject, NULL, value, "nothing");
    }
}

/* If many cases have another program, only the first ones are named. */
enum { CASES_NAMED = 5 };

static void compare_one_case(struct differ *d, const json_t *base, const json_t *candidate,
                             size_t *differing)
{
    const json_t *key = json_object_get(candidate, "key");
    char owner[200];
    const size_t before = json_array_size(d->all);
    snprintf(owner, sizeof owner, "%s %s", tree_get_text(key, "workload"),
             tree_get_text(key, "dataset"));
    compare_facts(d, owner, base, candidate, case_facts, COUNT_OF(case_facts));
    const size_t after = json_array_size(d->all);
    /* The other cases of the same workload and dataset differ in the same way. */
    for (size_t i = after; i-- > before;)
        for (size_t j = 0; j < before; j++)
            if (json_equal(json_array_get(d->all, i), json_array_get(d->all, j))) {
                json_array_remove(d->all, i);
                break;
            }
    if (json_array_size(d->all) > before && ++*differing > CASES_NAMED)
        while (json_array_size(d->all) > before)
            json_array_remove(d->all, before);
}

static void compare_cases(struct differ *d, const json_t *base_root, const json_t *candidate,
                          const json_t *base_index)
{
    json_t *one_case;
    size_t i, differing = 0, common = 0;
    json_array_foreach(json_object_get(candidate, "cases"), i, one_case)
    {
        const json_t *base = json_object_get(base_index, tree_get_text(one_case, "id"));
        if (!base)
            continue;
        common++;
        compare_one_case(d, base, one_case, &differing);
    }
    if (differing > CASES_NAMED) {
        json_t *number = tree_count(differing - CASES_NAMED);
        add_difference(d, "more such differences of program or data", NULL, number, "everything");
        json_decref(number);
    }
    if (common == 0 && compare_experiment_pairs(base_root, candidate) == 0) {
        const size_t base_cases = json_object_size(base_index);
        const size_t candidate_cases = json_array_size(json_object_get(candidate, "cases"));
        const bool of_cases = base_cases || candidate_cases;
        json_t *base_count = tree_count(of_cases ? base_cases : compare_experiment_rows(base_root));
        json_t *candidate_count =
            tree_count(of_cases ? candidate_cases : compare_experiment_rows(candidate));
        add_difference(
            d, of_cases ? "no case in common: cases" : "no row of an experiment in common: rows",
            base_count, candidate_count, "everything");
        json_decref(base_count);
        json_decref(candidate_count);
    }
}

/* Compares the options of an experiment, except its strategies: each row is about one of them. */
static void compare_one_experiment(struct differ *d, const json_t *base, const json_t *candidate)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(candidate, "options"), name, value)
    {
        const json_t *before = json_object_get(json_object_get(base, "options"), name);
        char subject[256];
        if (!before || json_equal(before, value) || strcmp(name, "strategies") == 0)
            continue;
        snprintf(subject, sizeof subject, "%s on %s %s", tree_get_text(candidate, "name"),
                 tree_get_text(candidate, "device"), name);
        add_difference(d, subject, before, value, "everything");
    }
}

static void compare_experiment_options(struct differ *d, const json_t *base,
                                       const json_t *candidate)
{
    json_t *experiment;
    size_t i;
    json_array_foreach(json_object_get(candidate, "experiments"), i, experiment)
    {
        const json_t *before = experiment_find(base, tree_get_text(experiment, "name"),
                                               tree_get_text(experiment, "device"));
        if (before)
            compare_one_experiment(d, before, experiment);
    }
}

/* The devices, as an object's keys, of the cases and experiments that both have. */
static json_t *devices_in_common(const json_t *base_root, const json_t *candidate,
                                 const json_t *base_index)
{
    json_t *devices = tree_object(), *one_case, *experiment;
    size_t i;
    json_array_foreach(json_object_get(candidate, "experiments"), i, experiment)
    {
        const char *id = tree_get_text(experiment, "device");
        if (experiment_find(base_root, tree_get_text(experiment, "name"), id))
            tree_put(devices, id, json_true());
    }
    json_array_foreach(json_object_get(candidate, "cases"), i, one_case)
    {
        const char *id = tree_get_text(json_object_get(one_case, "key"), "device");
        if (json_object_get(base_index, tree_get_text(one_case, "id")) &&
            !json_object_get(devices, id))
            tree_put(devices, id, json_true());
    }
    return devices;
}

static json_t *context_differences(const struct compare_file *base,
                                   const struct compare_file *candidate, size_t file,
                                   const json_t *base_index)
{
    static const char memory_limit[] = "mem-limit";
    struct differ d = {tree_array(), file};
    const json_t *a = json_object_get(base->root, "context");
    const json_t *b = json_object_get(candidate->root, "context");
    json_t *devices = devices_in_common(base->root, candidate->root, base_index);
    compare_devices(&d, base->root, candidate->root, devices);
    json_decref(devices);
    compare_facts(&d, "host", json_object_get(a, "host"), json_object_get(b, "host"), host_facts,
                  COUNT_OF(host_facts));
    compare_facts(&d, "tool", json_object_get(a, "tool"), json_object_get(b, "tool"), tool_facts,
                  COUNT_OF(tool_facts));
    const json_t *x = json_object_get(
        json_object_get(json_object_get(base->root, "run"), "options"), memory_limit);
    const json_t *y = json_object_get(
        json_object_get(json_object_get(candidate->root, "run"), "options"), memory_limit);
    if (x != y && !json_equal(x, y))
        add_difference(&d, "run --mem-limit", x, y, "everything");
    compare_cases(&d, base->root, candidate->root, base_index);
    compare_experiment_options(&d, base->root, candidate->root);
    compare_env(&d, json_object_get(a, "env"), json_object_get(b, "env"));
    return d.all;
}

static bool has_difference(const json_t *differences, const char *matters)
{
    size_t i;
    json_t *one;
    json_array_foreach(differences, i, one)
    {
        if (strcmp(tree_get_text(one, "matters"), matters) == 0)
            return true;
    }
    return false;
}

/* ---- the files --------------------------------------------------------------------------------- */

/* The cases of a result by their ids; they are borrowed. */
static json_t *index_of(const json_t *root)
{
    json_t *index = tree_object(), *one_case;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
        tree_put(index, tree_get_text(one_case, "id"), json_incref(one_case));
    return index;
}

static int check_options(const struct compare_options *options, struct error *error)
{
    if (!(options->alpha > 0 && options->alpha < 1))
        return error_set(error, ERR_USAGE, "alpha is %g, expected a number between 0 and 1",
                         options->alpha);
    if (!(options->threshold >= 0 && isfinite(options->threshold)))
        return error_set(error, ERR_USAGE, "the threshold is %g, expected 0 or more",
                         options->threshold);
    return 0;
}

static struct comparer comparer_of(const struct compare_options *options)
{
    struct comparer c = {.options = options, .file_count = 1, .configuration_keys = tree_array()};
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        c.leaves_out_counters |= options->leave_out[i] && list[i].kind == KIND_EXACT;
    return c;
}

static void comparer_free(struct comparer *c)
{
    rank_table_free(&c->table);
    arena_free(&c->arena);
    json_decref(c->configuration_keys);
    free(c->rows);
}

static bool some_time_is_gated(const struct compare_options *options)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        if (options->gates.gate[i].is_set && !options->leave_out[i] && list[i].kind == KIND_SAMPLED)
            return true;
    return false;
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
    int code = check_options(options, error);
    if (code)
        return code;
    struct comparer c = comparer_of(options);
    c.file_count = candidate_count;
    json_t *index = index_of(base->root), *differences = tree_array();
    for (size_t i = 0; i < candidate_count; i++) {
        json_t *more = context_differences(base, &candidate[i], i, index);
        json_array_extend(differences, more);
        json_decref(more);
    }
    const bool times_differ = has_difference(differences, "times");
    const bool is_comparable = options->force || (!has_difference(differences, "everything") &&
                                                  !(times_differ && some_time_is_gated(options)));
    c.leave_out_times = times_differ && !options->force;
    for (size_t i = 0; i < candidate_count && is_comparable; i++) {
        c.file = i;
        const bool in_turns = noise_alternated(base->root, candidate[i].root);
        c.roots[0] = in_turns ? NULL : base->root;
        c.roots[1] = in_turns ? NULL : candidate[i].root;
        compare_files(&c, base->root, index, candidate[i].root);
        compare_configurations(&c);
        compare_experiments(&c, base->root, candidate[i].root);
    }
    compare_judge(&c);
    *comparison = compare_tree(&c, base, candidate, candidate_count, differences, is_comparable);
    json_decref(differences);
    json_decref(index);
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
        compare_judge(&c);
        *comparison = compare_tree(&c, file, file, 1, differences, true);
        json_decref(differences);
    }
    json_decref(index);
    comparer_free(&c);
    return code;
}
