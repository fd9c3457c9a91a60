/* What a comparison holds constant: program and data, an experiment's options, the device, and for
 * times the machine. The strategies and merge sets themselves are what is compared, so no revision
 * is in here.
 *
 * What matters for which metric: program, data, options, memory limit, alignment and the ability to
 * split decide what is counted ("everything"); which device, driver, machine and kind of build it
 * is decides how long it takes ("times"), and so does all of what decides what is counted. The rest
 * is told and stops nobody ("nothing"). */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "record/compare/compare_parts.h"
#include "record/result/experiment_result.h"
#include "base/tree.h"

struct differ {
    json_t *all;
    size_t file;
};

static void add(struct differ *d, const char *subject, const json_t *base, const json_t *fresh,
                const char *matters)
{
    json_t *one = tree_object();
    tree_put(one, "file", tree_count(d->file));
    tree_put(one, "subject", tree_text(subject));
    tree_put(one, "base", base ? json_incref((json_t *)base) : json_null());
    tree_put(one, "new", fresh ? json_incref((json_t *)fresh) : json_null());
    tree_put(one, "matters", tree_text(matters));
    tree_append(d->all, one);
}

static bool are_known(const json_t *a, const json_t *b)
{
    return a && b && !json_is_null(a) && !json_is_null(b);
}

/* Compares the members of two objects that are known in both. */
struct fact {
    const char *member, *matters;
};

static void compare_facts(struct differ *d, const char *owner, const json_t *base,
                          const json_t *fresh, const struct fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *a = json_object_get(base, facts[i].member);
        const json_t *b = json_object_get(fresh, facts[i].member);
        char subject[256];
        if (!are_known(a, b) || json_equal(a, b))
            continue;
        snprintf(subject, sizeof subject, "%s %s", owner, facts[i].member);
        add(d, subject, a, b, facts[i].matters);
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

/* Devices that both files have cases of, each once. */
static void compare_devices(struct differ *d, const json_t *base, const json_t *fresh,
                            const json_t *common_devices)
{
    const char *id;
    json_t *ignored;
    json_object_foreach((json_t *)common_devices, id, ignored)
    {
        char owner[128];
        snprintf(owner, sizeof owner, "device %s", id);
        compare_facts(d, owner, device_of(base, id), device_of(fresh, id), device_facts,
                      COUNT_OF(device_facts));
    }
}

/* A variable that only one of the files has is a difference too. */
static void compare_env(struct differ *d, const json_t *base, const json_t *fresh)
{
    const char *name;
    json_t *value;
    char subject[256];
    json_object_foreach((json_t *)base, name, value)
    {
        const json_t *other = json_object_get(fresh, name);
        snprintf(subject, sizeof subject, "environment %s", name);
        if (!other || !json_equal(value, other))
            add(d, subject, value, other, "nothing");
    }
    json_object_foreach((json_t *)fresh, name, value)
    {
        snprintf(subject, sizeof subject, "environment %s", name);
        if (!json_object_get(base, name))
            add(d, subject, NULL, value, "nothing");
    }
}

/* Of many cases with another program it is enough to name some. */
enum { CASES_NAMED = 5 };

static void compare_one_case(struct differ *d, const json_t *base, const json_t *fresh,
                             size_t *differing)
{
    const json_t *key = json_object_get(fresh, "key");
    char owner[200];
    const size_t before = json_array_size(d->all);
    snprintf(owner, sizeof owner, "%s %s", tree_get_text(key, "workload"),
             tree_get_text(key, "dataset"));
    compare_facts(d, owner, base, fresh, case_facts, COUNT_OF(case_facts));
    const size_t after = json_array_size(d->all);
    /* The other cases of the same workload and dataset say the same. */
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

static void compare_cases(struct differ *d, const json_t *base_root, const json_t *fresh,
                          const json_t *base_index)
{
    json_t *one_case;
    size_t i, differing = 0, common = 0;
    json_array_foreach(json_object_get(fresh, "cases"), i, one_case)
    {
        const json_t *base = json_object_get(base_index, tree_get_text(one_case, "id"));
        if (!base)
            continue;
        common++;
        compare_one_case(d, base, one_case, &differing);
    }
    if (differing > CASES_NAMED) {
        json_t *number = tree_count(differing - CASES_NAMED);
        add(d, "more such differences of program or data", NULL, number, "everything");
        json_decref(number);
    }
    if (common == 0 && compare_experiment_pairs(base_root, fresh) == 0) {
        const size_t base_cases = json_object_size(base_index);
        const size_t fresh_cases = json_array_size(json_object_get(fresh, "cases"));
        const bool of_cases = base_cases || fresh_cases;
        json_t *base_count = tree_count(of_cases ? base_cases : compare_experiment_rows(base_root));
        json_t *fresh_count = tree_count(of_cases ? fresh_cases : compare_experiment_rows(fresh));
        add(d, of_cases ? "no case in common: cases" : "no row of an experiment in common: rows",
            base_count, fresh_count, "everything");
        json_decref(base_count);
        json_decref(fresh_count);
    }
}

/* What an experiment was run with; which strategies it has rows of is no part of any row. */
static void compare_options(struct differ *d, const json_t *base, const json_t *fresh)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(fresh, "options"), name, value)
    {
        const json_t *before = json_object_get(json_object_get(base, "options"), name);
        char subject[256];
        if (!before || json_equal(before, value) || strcmp(name, "strategies") == 0)
            continue;
        snprintf(subject, sizeof subject, "%s on %s %s", tree_get_text(fresh, "name"),
                 tree_get_text(fresh, "device"), name);
        add(d, subject, before, value, "everything");
    }
}

static void compare_experiment_options(struct differ *d, const json_t *base, const json_t *fresh)
{
    json_t *experiment;
    size_t i;
    json_array_foreach(json_object_get(fresh, "experiments"), i, experiment)
    {
        const json_t *before = experiment_find(base, tree_get_text(experiment, "name"),
                                               tree_get_text(experiment, "device"));
        if (before)
            compare_options(d, before, experiment);
    }
}

/* The devices, as an object's keys, of the cases and experiments that both have. */
static json_t *devices_in_common(const json_t *base_root, const json_t *fresh,
                                 const json_t *base_index)
{
    json_t *devices = tree_object(), *one_case, *experiment;
    size_t i;
    json_array_foreach(json_object_get(fresh, "experiments"), i, experiment)
    {
        const char *id = tree_get_text(experiment, "device");
        if (experiment_find(base_root, tree_get_text(experiment, "name"), id))
            tree_put(devices, id, json_true());
    }
    json_array_foreach(json_object_get(fresh, "cases"), i, one_case)
    {
        const char *id = tree_get_text(json_object_get(one_case, "key"), "device");
        if (json_object_get(base_index, tree_get_text(one_case, "id")) &&
            !json_object_get(devices, id))
            tree_put(devices, id, json_true());
    }
    return devices;
}

json_t *compare_context(const struct compare_file *base, const struct compare_file *fresh,
                        size_t file, const json_t *base_index)
{
    static const char memory_limit[] = "mem-limit";
    struct differ d = {tree_array(), file};
    const json_t *a = json_object_get(base->root, "context");
    const json_t *b = json_object_get(fresh->root, "context");
    json_t *devices = devices_in_common(base->root, fresh->root, base_index);
    compare_devices(&d, base->root, fresh->root, devices);
    json_decref(devices);
    compare_facts(&d, "host", json_object_get(a, "host"), json_object_get(b, "host"), host_facts,
                  COUNT_OF(host_facts));
    compare_facts(&d, "tool", json_object_get(a, "tool"), json_object_get(b, "tool"), tool_facts,
                  COUNT_OF(tool_facts));
    const json_t *x = json_object_get(
        json_object_get(json_object_get(base->root, "run"), "options"), memory_limit);
    const json_t *y = json_object_get(
        json_object_get(json_object_get(fresh->root, "run"), "options"), memory_limit);
    if (x != y && !json_equal(x, y))
        add(&d, "run --mem-limit", x, y, "everything");
    compare_cases(&d, base->root, fresh->root, base_index);
    compare_experiment_options(&d, base->root, fresh->root);
    compare_env(&d, json_object_get(a, "env"), json_object_get(b, "env"));
    return d.all;
}

bool compare_context_has(const json_t *differences, const char *matters)
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
