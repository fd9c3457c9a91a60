#include "cli/run_like.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "record/result/result.h"
#include "base/tree.h"
#include "run/select/device_group.h"
#include "run/rounds/devices.h"

int like_open(struct like *like, const char *path, struct error *error)
{
    *like = (struct like){.path = path, .left_out = tree_object()};
    int code = result_load(path, &like->root, error);
    if (!code && json_array_size(json_object_get(like->root, "cases")) == 0)
        code = error_set(error, ERR_USAGE, "%s has no cases to repeat", path);
    return code;
}

void like_close(struct like *like)
{
    json_decref(like->root);
    json_decref(like->left_out);
    *like = (struct like){0};
}

static const json_t *options_of(const struct like *like)
{
    return json_object_get(json_object_get(like->root, "run"), "options");
}

/* ---- flags ---------------------------------------------------------------------------------- */

/* What selects the cases, and where the result goes and how it looks: of neither depends how a case
 * is measured. */
static const char *const selecting[] = {"workload", "strategy", "merge", "dataset",
                                        "device",   "release",  "suite"};
static const char *const presenting[] = {"out",     "force",    "format",    "results",
                                         "no-save", "progress", "atlas",     "aa",
                                         "like",    "add",      "no-samples"};
enum {
    SELECTING = sizeof selecting / sizeof *selecting,
    PRESENTING = sizeof presenting / sizeof *presenting
};

static bool is_among(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool says_how_to_measure(const char *name)
{
    return !is_among(selecting, SELECTING, name) && !is_among(presenting, PRESENTING, name);
}

void like_selection(const struct like *like, json_t *options)
{
    for (size_t i = 0; i < SELECTING; i++) {
        json_t *value = json_object_get(options_of(like), selecting[i]);
        if (value)
            tree_put(options, selecting[i], json_incref(value));
        else
            json_object_del(options, selecting[i]);
    }
}

static const char *value_text(struct arena *arena, const json_t *value)
{
    if (json_is_boolean(value))
        return json_is_true(value) ? "1" : "0";
    if (json_is_integer(value))
        return arena_printf(arena, "%lld", (long long)json_integer_value(value));
    return json_is_string(value) ? json_string_value(value) : NULL;
}

int like_flags(const struct like *like, struct command_line *line, struct error *error)
{
    const struct flag *flags = line->command->flags;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)options_of(like), name, value)
    {
        const char *text = value_text(&line->arena, value);
        size_t i = 0;
        if (!says_how_to_measure(name) || !text)
            continue;
        while (flags[i].name && strcmp(flags[i].name, name) != 0)
            i++;
        if (!flags[i].name) {
            fprintf(stderr, "gamut: %s was run with --%s %s, which this gamut does not know\n",
                    like->path, name, text);
            continue;
        }
        if (line->flag[i].given)
            continue;
        const char *where = arena_printf(&line->arena, "%s: run.options.%s", like->path, name);
        int code = flags_set(line, i, where, text, error);
        if (code)
            return code;
    }
    return 0;
}

int like_files(const struct like *like, struct catalogue *catalogue, struct selection *selection,
               struct error *error)
{
    struct text files = {0};
    const char *list = tree_get_text(options_of(like), "workload");
    while (*list) {
        const size_t length = strcspn(list, ",");
        if (length > 4 && strncmp(list + length - 4, ".mem", 4) == 0)
            text_add(&files, "%s%.*s", files.length ? "," : "", (int)length, list);
        list += length + (list[length] == ',');
    }
    const struct select_request request = {.workloads = files.data};
    int code = select_names(&request, catalogue, selection, error);
    text_free(&files);
    return code;
}

/* ---- devices -------------------------------------------------------------------------------- */

static const char *device_of(const json_t *one_case)
{
    return tree_get_text(json_object_get(one_case, "key"), "device");
}

static bool has_cases_on(const struct like *like, const char *device)
{
    const json_t *cases = json_object_get(like->root, "cases"), *one_case;
    for (size_t i = 0; (one_case = json_array_get(cases, i)); i++)
        if (strcmp(device_of(one_case), device) == 0)
            return true;
    return false;
}

static bool all_are_here(const char *group, const struct found_device *devices, size_t count)
{
    char part[sizeof devices->info.id];
    bool all = true;
    for (unsigned p = 0; all && device_group_member(group, p, part, sizeof part); p++) {
        all = false;
        for (size_t i = 0; i < count; i++)
            all |= strcmp(devices[i].info.id, part) == 0;
    }
    return all;
}

/* No machine lists its groups: those that the file has cases on, each once, if all their devices
 * are here. */
static void add_groups(const struct like *like, const struct found_device *devices, size_t count,
                       struct text *ours)
{
    const json_t *cases = json_object_get(like->root, "cases"), *one_case;
    json_t *seen = tree_object();
    for (size_t i = 0; (one_case = json_array_get(cases, i)); i++) {
        const char *id = device_of(one_case);
        if (!device_group_is_named(id) || json_object_get(seen, id) ||
            !all_are_here(id, devices, count))
            continue;
        text_add(ours, "%s%s", ours->length ? "," : "", id);
        tree_put(seen, id, json_true());
    }
    json_decref(seen);
}

static int no_device(const struct like *like, const char *selectors, struct error *error)
{
    return error_set(error, ERR_NOT_FOUND,
                     "%s has no case on a device that %s%s; its cases are on %s", like->path,
                     selectors ? "is named by --device " : "this machine has",
                     selectors ? selectors : "",
                     device_of(json_array_get(json_object_get(like->root, "cases"), 0)));
}

int like_devices(const struct like *like, const char *selectors, bool copy_rate,
                 struct found_device **devices, size_t *count, struct error *error)
{
    struct text ours = {0};
    int code = devices_find(selectors ? selectors : "", false, devices, count, NULL, error);
    if (code)
        return code;
    for (size_t i = 0; i < *count; i++) {
        const struct found_device *found = &(*devices)[i];
        if ((found->selected || !selectors) && has_cases_on(like, found->info.id))
            text_add(&ours, "%s%s", ours.length ? "," : "", found->info.id);
    }
    if (!selectors)
        add_groups(like, *devices, *count, &ours);
    free(*devices);
    *devices = NULL;
    *count = 0;
    code = ours.length ? devices_find(ours.data, copy_rate, devices, count, NULL, error)
                       : no_device(like, selectors, error);
    text_free(&ours);
    return code;
}

static bool is_selected(const struct found_device *devices, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (devices[i].selected && strcmp(devices[i].info.id, id) == 0)
            return true;
    return false;
}

/* ---- cases ---------------------------------------------------------------------------------- */

static void leave_out(struct like *like, const json_t *one_case, const char *reason)
{
    char words[512];
    fprintf(stderr, "gamut: not repeated: %s: %s\n", case_words(words, one_case), reason);
    tree_put(like->left_out, tree_get_text(one_case, "id"), tree_text(reason));
}

int like_cases(struct like *like, const struct catalogue *catalogue,
               const struct found_device *devices, size_t device_count, bool narrowed, bool only_ok,
               struct selection *selection, struct error *error)
{
    json_t *cases = json_object_get(like->root, "cases"), *one_case;
    size_t i;
    selection->case_count = 0;
    selection->cases =
        arena_alloc(&selection->arena, json_array_size(cases) * sizeof *selection->cases);
    json_array_foreach(cases, i, one_case)
    {
        struct case_key key;
        struct error why = {0};
        int code = case_key_from_json(json_object_get(one_case, "key"), &key, error);
        if (code)
            return code;
        const bool is_here = is_selected(devices, device_count, key.device);
        if ((!is_here && narrowed) || (only_ok && !case_is_ok(one_case)))
            continue;
        if (!is_here)
            leave_out(like, one_case, "this machine has no such device");
        else if (select_check_key(catalogue, &key, &why))
            leave_out(like, one_case, why.text);
        else
            selection->cases[selection->case_count++] = key;
    }
    return selection->case_count
               ? 0
               : error_set(error, ERR_NOT_FOUND, "nothing of %s can be repeated here", like->path);
}

/* ---- what is not as it was ------------------------------------------------------------------ */

static const json_t *device_facts(const json_t *root, const char *id)
{
    const json_t *devices = json_object_get(json_object_get(root, "context"), "devices"), *device;
    for (size_t i = 0; (device = json_array_get(devices, i)); i++)
        if (strcmp(tree_get_text(device, "id"), id) == 0)
            return device;
    return NULL;
}

int like_check_machine(const struct like *like, const struct found_device *devices, size_t count,
                       struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct device_info *ours = &devices[i].info;
        const json_t *theirs = device_facts(like->root, ours->id);
        const struct {
            const char *name, *was, *is;
        } facts[] = {{"name", tree_get_text(theirs, "name"), ours->name},
                     {"driver", tree_get_text(theirs, "driver"), ours->driver}};
        for (size_t f = 0; theirs && f < sizeof facts / sizeof *facts; f++)
            if (strcmp(facts[f].was, facts[f].is) != 0)
                return error_set(error, ERR_USAGE,
                                 "the %s of %s was '%s', here it is '%s': one result has rounds of "
                                 "one device; --like makes a result of its own",
                                 facts[f].name, ours->id, facts[f].was, facts[f].is);
    }
    return 0;
}

/* The case of the file with this id. */
static const json_t *case_of(const json_t *root, const char *id)
{
    const json_t *cases = json_object_get(root, "cases"), *one_case;
    for (size_t i = 0; (one_case = json_array_get(cases, i)); i++)
        if (strcmp(tree_get_text(one_case, "id"), id) == 0)
            return one_case;
    return NULL;
}

void like_tell_changes(const struct like *like, const json_t *fresh)
{
    static const struct {
        const char *member, *sentence;
    } facts[] = {{"program_digest", "another program"}, {"inputs_digest", "other data"}};
    const json_t *cases = json_object_get(fresh, "cases"), *one_case;
    json_t *told = tree_object();
    for (size_t i = 0; (one_case = json_array_get(cases, i)); i++) {
        const json_t *key = json_object_get(one_case, "key");
        const json_t *before = case_of(like->root, tree_get_text(one_case, "id"));
        struct text what = {0};
        text_add(&what, "%s %s", tree_get_text(key, "workload"), tree_get_text(key, "dataset"));
        for (size_t f = 0; f < sizeof facts / sizeof *facts; f++) {
            const char *was = tree_get_text(before, facts[f].member);
            const char *is = tree_get_text(one_case, facts[f].member);
            if (*was && *is && strcmp(was, is) != 0 && !json_object_get(told, what.data)) {
                fprintf(stderr, "gamut: %s: %s than in %s\n", what.data, facts[f].sentence,
                        like->path);
                tree_put(told, what.data, json_true());
            }
        }
        text_free(&what);
    }
    json_decref(told);
}
