#include "run/select/select.h"

#include <stdio.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/file_kind.h"
#include "base/text.h"
#include "base/tree.h"
#include "merge/merge.h"
#include "run/select/device_group.h"
#include "run/select/inputs.h"
#include "run/select/strategy_file.h"

/* A workload that runs only if it is named. It has millions of allocations and no computation: it
 * measures the allocators' own cost, takes longer than all others together, and its speed-ups are
 * not those of a program. */
static const char left_out_by_default[] = "churn";

/* The default datasets: small enough for two cores, large enough for a GPU. */
static const char default_dataset_cpu[] = "small", default_dataset_gpu[] = "medium";
static const char smallest_dataset[] = "smoke";

const struct named_help release_policies[] = {
    {"last-use", "a block is freed after its last user"},
    {"scope", "a block is freed where its scope ends, or when its name is allocated anew"},
    {NULL, NULL}};

/* ---- lists of names -------------------------------------------------------------------------- */

static void add_name(struct selection *s, struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return;
    const char **items = arena_alloc(&s->arena, (names->count + 1) * sizeof *items);
    if (names->count)
        memcpy(items, names->items, names->count * sizeof *items);
    items[names->count++] = name;
    names->items = items;
}

/* The next item of a comma list, or NULL at its end; empty items are passed over. */
static const char *next_item(struct selection *s, const char **list)
{
    *list += strspn(*list, ",");
    size_t length = text_span(*list, ",");
    const char *item = length ? arena_copy(&s->arena, *list, length) : NULL;
    *list += length;
    return item;
}

static const char *select_name_at(void *names, size_t i)
{
    const struct names *n = names;
    return i < n->count ? n->items[i] : NULL;
}

static int select_unknown(const char *what, const char *word, const struct names *all,
                          struct error *error)
{
    return text_unknown(error, word, select_name_at, (void *)all, "there is no %s", what);
}

/* Adds what `item` (a name, a glob or "all") stands for. */
static int match_names(struct selection *s, const char *what, const char *item,
                       const struct names *all, struct names *chosen, struct error *error)
{
    const char *pattern = strcmp(item, "all") == 0 ? "*" : item;
    bool found = false;
    for (size_t i = 0; i < all->count; i++)
        if (text_glob(pattern, all->items[i])) {
            add_name(s, chosen, all->items[i]);
            found = true;
        }
    if (found)
        return 0;
    struct names known = {0}; /* "all" is a word that may have been meant, too */
    for (size_t i = 0; i < all->count; i++)
        add_name(s, &known, all->items[i]);
    add_name(s, &known, "all");
    return select_unknown(what, item, &known, error);
}

static int match_list(struct selection *s, const char *what, const char *list,
                      const struct names *all, struct names *chosen, struct error *error)
{
    const char *item;
    while ((item = next_item(s, &list)))
        TRY(match_names(s, what, item, all, chosen, error));
    return chosen->count ? 0 : error_set(error, ERR_USAGE, "no %s is named", what);
}

/* ---- workloads ------------------------------------------------------------------------------- */

static bool is_file(const char *item)
{
    size_t length = strlen(item);
    return length > 4 && strcmp(item + length - 4, ".mem") == 0;
}

static bool in_default(const struct entry *entry)
{
    return strcmp(entry->name, left_out_by_default) != 0 &&
           !(entry->builtin && strcmp(entry->builtin->name, left_out_by_default) == 0);
}

const struct entry *select_entry(const struct catalogue *catalogue, const char *name)
{
    for (size_t i = 0; i < catalogue->entry_count; i++)
        if (strcmp(catalogue->entries[i].name, name) == 0)
            return &catalogue->entries[i];
    return NULL;
}

int select_workload(const struct catalogue *catalogue, const char *name, const struct entry **entry,
                    struct error *error)
{
    *entry = select_entry(catalogue, name);
    if (*entry)
        return 0;
    struct selection s = {0};
    struct names all = {0};
    for (size_t i = 0; i < catalogue->entry_count; i++)
        add_name(&s, &all, catalogue->entries[i].name);
    int code = select_unknown("workload", name, &all, error);
    arena_free(&s.arena);
    return code;
}

static int add_file(struct selection *s, struct catalogue *catalogue, const char *path,
                    struct names *chosen, struct error *error)
{
    for (size_t i = 0; i < s->files.count; i++)
        if (strcmp(s->files.items[i], path) == 0)
            return 0;
    size_t before = catalogue->entry_count;
    TRY(catalogue_add_file(catalogue, path, error));
    add_name(s, &s->files, path);
    for (size_t i = before; i < catalogue->entry_count; i++)
        add_name(s, chosen, arena_printf(&s->arena, "%s", catalogue->entries[i].name));
    return 0;
}

static int select_workloads(struct selection *s, const char *list, struct catalogue *catalogue,
                            struct error *error)
{
    struct names all = {0}, chosen = {0};
    for (size_t i = 0; i < catalogue->entry_count; i++)
        add_name(s, &all, catalogue->entries[i].name);
    for (size_t i = 0; !list && i < catalogue->entry_count; i++)
        if (in_default(&catalogue->entries[i]))
            add_name(s, &chosen, catalogue->entries[i].name);
    const char *item;
    while (list && (item = next_item(s, &list)))
        TRY(file_explain(item, "program",
                         is_file(item) ? add_file(s, catalogue, item, &chosen, error)
                                       : match_names(s, "workload", item, &all, &chosen, error),
                         error));
    if (!chosen.count)
        return error_set(error, ERR_USAGE, "no workload is named");
    /* Only now: adding a file may have moved the entries. */
    s->entries = arena_alloc(&s->arena, chosen.count * sizeof *s->entries);
    for (size_t i = 0; i < chosen.count; i++)
        s->entries[s->entry_count++] = select_entry(catalogue, chosen.items[i]);
    return 0;
}

/* ---- strategies, residencies and merge sets: names with options ------------------------------ */

static int check_strategy(struct selection *s, const char *spec, struct error *error)
{
    const struct allocator_ops *ops;
    struct option_values values;
    return allocator_parse_planned(&s->plans, spec, &ops, &values, error);
}

static int check_residency(struct selection *s, const char *spec, struct error *error)
{
    struct residency residency;
    return residency_parse(spec, &residency, error);
}

static int check_merge(struct selection *s, const char *spec, struct error *error)
{
    const struct merge_set *set;
    unsigned extensions;
    return merge_parse(spec, &set, &extensions, error);
}

/* It was found before. */
static const struct allocator_ops *strategy_named(const char *name)
{
    const struct allocator_ops *ops = NULL;
    allocator_find(name, &ops, NULL);
    return ops;
}

static void expand_strategy(const char *name, const char *options, struct text *expanded)
{
    options_expand(strategy_named(name)->options, allocator_options, options, expanded);
}

static bool strategy_needs_option(const char *name)
{
    return strategy_named(name)->serves_plan;
}

static void expand_residency(const char *name, const char *options, struct text *expanded)
{
    size_t count, i = 0;
    const struct residency_strategy *strategies = residency_list(&count);
    while (strcmp(strategies[i].name, name) != 0)
        i++;
    options_expand(strategies[i].options, NULL, options, expanded);
}

static const struct spec_kind {
    const char *what;
    size_t size; /* size of its text in a case's key */
    int (*check)(struct selection *s, const char *spec, struct error *error);
    /* Replaces patterns in the options of the plug-in `name`; "key=a|b" then stands for two specs.
     * NULL: bars and patterns are part of a spec. */
    void (*expand)(const char *name, const char *options, struct text *expanded);
    /* Whether no pattern means the plug-in, because it cannot run without an option. NULL: none. */
    bool (*needs_option)(const char *name);
    /* Makes a plug-in of a file, whose path has a slash. NULL: files are none. */
    int (*load)(const char *path, struct error *error);
} strategy_kind = {"strategy",
                   sizeof((struct case_key *)NULL)->strategy,
                   check_strategy,
                   expand_strategy,
                   strategy_needs_option,
                   strategy_file_load},
  residency_kind = {"residency",
                    sizeof((struct case_key *)NULL)->residency,
                    check_residency,
                    expand_residency,
                    NULL,
                    NULL},
  merge_kind = {"merge set", sizeof((struct case_key *)NULL)->merge, check_merge, NULL, NULL, NULL};

/* Adds a spec. Replaces the first "key=a|b" by each of its alternatives in turn, and adds each
 * result in the same way. */
static int add_spec(struct selection *s, const struct spec_kind *kind, const char *spec,
                    struct names *names, struct error *error)
{
    const char *bar = kind->expand ? spec + text_span(spec, "|") : "";
    if (!*bar) {
        if (strlen(spec) >= kind->size)
            return error_set(error, ERR_USAGE, "the %s '%s' is too long", kind->what, spec);
        TRY(kind->check(s, spec, error));
        add_name(s, names, spec);
        return 0;
    }
    const char *begin = spec;
    for (size_t length; (length = text_span(begin, "=:|")) < (size_t)(bar - begin);)
        begin += length + 1;
    const char *end = begin + text_span(begin, ":");
    for (const char *at = begin; at <= end;) {
        size_t length = text_span(at, "|:");
        const char *one =
            arena_printf(&s->arena, "%.*s%.*s%s", (int)(begin - spec), spec, (int)length, at, end);
        TRY(add_spec(s, kind, one, names, error));
        at += length + 1;
    }
    return 0;
}

/* The spec of a name with these options (":key=value" or ""), patterns replaced. */
static const char *expanded_spec(struct selection *s, const struct spec_kind *kind,
                                 const char *name, const char *options)
{
    struct text spec = {0};
    text_add(&spec, "%s%s", name, *options ? ":" : "");
    options += *options != 0;
    if (kind->expand)
        kind->expand(name, options, &spec);
    else
        text_add(&spec, "%s", options);
    const char *copy = arena_copy(&s->arena, spec.data, spec.length);
    text_free(&spec);
    return copy;
}

/* `all`: the names that exist. `usual`: those that the word "all" means. */
static int select_specs(struct selection *s, const struct spec_kind *kind, const char *list,
                        const struct names *all, const struct names *usual, struct names *chosen,
                        struct error *error)
{
    const char *item;
    while ((item = next_item(s, &list))) {
        size_t length = strcspn(item, ":");
        const char *name = arena_copy(&s->arena, item, length);
        struct names matched = {0};
        if (kind->load && strchr(name, '/')) {
            TRY(kind->load(name, error));
            add_name(s, &matched, name);
        } else {
            TRY(match_names(s, kind->what, name, strcmp(name, "all") == 0 ? usual : all, &matched,
                            error));
        }
        const bool is_pattern = strpbrk(name, "*?") != NULL;
        for (size_t i = 0; i < matched.count; i++)
            if (!is_pattern || !kind->needs_option || !kind->needs_option(matched.items[i]))
                TRY(add_spec(s, kind, expanded_spec(s, kind, matched.items[i], item + length),
                             chosen, error));
    }
    return chosen->count ? 0 : error_set(error, ERR_USAGE, "no %s is named", kind->what);
}

int select_strategies(struct selection *s, const char *list, struct error *error)
{
    size_t count;
    const struct allocator_ops *const *ops = allocator_list(&count);
    struct names all = {0}, usual = {0};
    for (size_t i = 0; i < count; i++) {
        add_name(s, &all, ops[i]->name);
        /* A strategy that measures the harness would look like a contender, and one that needs
         * an option cannot run without it. Where nothing is chosen, those of other runtimes would
         * double the time until the table. */
        if (!ops[i]->harness_only && !ops[i]->serves_plan && (list || !ops[i]->when_named))
            add_name(s, &usual, ops[i]->name);
    }
    return select_specs(s, &strategy_kind, list ? list : "all", &all, &usual, &s->strategies,
                        error);
}

static int select_residencies(struct selection *s, const char *list, struct error *error)
{
    size_t count;
    const struct residency_strategy *strategies = residency_list(&count);
    struct names all = {0};
    for (size_t i = 0; i < count; i++)
        add_name(s, &all, strategies[i].name);
    return select_specs(s, &residency_kind, list, &all, &all, &s->residencies, error);
}

int select_merges(struct selection *s, const char *list, struct error *error)
{
    struct names all = {0};
    for (const struct merge_set *set = merge_sets; set->name; set++)
        add_name(s, &all, set->name);
    return select_specs(s, &merge_kind, list, &all, &all, &s->merges, error);
}

int select_names(const struct select_request *request, struct catalogue *catalogue,
                 struct selection *s, struct error *error)
{
    *s = (struct selection){.datasets = request->datasets, .smoke = request->smoke};
    struct names releases = {0};
    TRY(select_workloads(s, request->workloads, catalogue, error));
    TRY(select_strategies(s, request->strategies, error));
    TRY(select_merges(s, request->merges ? request->merges : "none", error));
    for (const struct named_help *policy = release_policies; policy->name; policy++)
        add_name(s, &releases, policy->name);
    TRY(match_list(s, "release policy", request->releases ? request->releases : "last-use",
                   &releases, &s->releases, error));
    TRY(select_residencies(s, request->residencies ? request->residencies : DEFAULT_RESIDENCY,
                           error));
    if (!s->datasets)
        return 0;
    struct names all = {0}, chosen = {0};
    for (size_t i = 0; i < s->entry_count; i++)
        for (unsigned d = 0; d < s->entries[i]->program->dataset_count; d++)
            add_name(s, &all, s->entries[i]->program->datasets[d].name);
    return match_list(s, "dataset", s->datasets, &all, &chosen, error);
}

int select_files_of_run(const json_t *options, struct catalogue *catalogue,
                        struct selection *selection, struct error *error)
{
    struct text files = {0};
    const char *list = tree_get_text(options, "workload");
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

/* ---- cases ----------------------------------------------------------------------------------- */

const struct dataset *select_dataset(const struct entry *entry, const char *name)
{
    for (unsigned i = 0; i < entry->program->dataset_count; i++)
        if (strcmp(entry->program->datasets[i].name, name) == 0)
            return &entry->program->datasets[i];
    return NULL;
}

/* Adds the cases of an entry on a device. The first dataset of a file is its smallest. */
static void datasets_of(struct selection *s, const struct entry *entry,
                        const struct device_info *device, struct names *chosen)
{
    const struct program *program = entry->program;
    if (!s->datasets) {
        const char *name = s->smoke                     ? smallest_dataset
                           : device->kind == DEVICE_CPU ? default_dataset_cpu
                                                        : default_dataset_gpu;
        if (select_dataset(entry, name))
            add_name(s, chosen, name);
        else if (program->dataset_count)
            add_name(s, chosen, program->datasets[0].name);
        return;
    }
    const char *list = s->datasets, *item;
    while ((item = next_item(s, &list))) {
        const char *pattern = strcmp(item, "all") == 0 ? "*" : item;
        for (unsigned i = 0; i < program->dataset_count; i++)
            if (text_glob(pattern, program->datasets[i].name))
                add_name(s, chosen, program->datasets[i].name);
    }
}

/* Adds the cases of one workload and dataset on one device, with one residency ("": none). */
static void add_cases(struct selection *s, const char *device, const char *residency,
                      const char *workload, const char *dataset)
{
    for (size_t m = 0; m < s->merges.count; m++)
        for (size_t r = 0; r < s->releases.count; r++)
            for (size_t a = 0; a < s->strategies.count; a++) {
                struct case_key *key = &s->cases[s->case_count++];
#define COPY(name, from) snprintf(key->name, sizeof key->name, "%s", from)
                COPY(device, device);
                COPY(residency, residency);
                COPY(workload, workload);
                COPY(dataset, dataset);
                COPY(merge, s->merges.items[m]);
                COPY(release, s->releases.items[r]);
                COPY(strategy, s->strategies.items[a]);
#undef COPY
            }
}

int select_cases(struct selection *s, const struct device_info *devices, size_t device_count,
                 struct error *error)
{
    const size_t each =
        s->merges.count * s->releases.count * s->strategies.count * s->residencies.count;
    size_t most = 0;
    for (size_t w = 0; w < s->entry_count; w++)
        most += s->entries[w]->program->dataset_count;
    s->cases = arena_alloc(&s->arena, device_count * most * each * sizeof *s->cases);
    s->case_count = 0;
    for (size_t d = 0; d < device_count; d++)
        for (size_t w = 0; w < s->entry_count; w++) {
            struct names datasets = {0};
            datasets_of(s, s->entries[w], &devices[d], &datasets);
            const bool is_group = devices[d].members > 1;
            for (size_t i = 0; i < datasets.count; i++)
                for (size_t r = 0; r < (is_group ? s->residencies.count : 1); r++)
                    add_cases(s, devices[d].id, is_group ? s->residencies.items[r] : "",
                              s->entries[w]->name, datasets.items[i]);
        }
    return s->case_count ? 0
                         : error_set(error, ERR_USAGE,
                                     "no workload selected has a dataset, which says what a "
                                     "program is run with: dataset NAME { n = 4; x = [1, 2, 3, 4]; "
                                     "}");
}

int select_check_values(const struct selection *s, const struct catalogue *catalogue,
                        struct error *error)
{
    for (size_t i = 0; i < s->case_count; i++) {
        const struct case_key *key = &s->cases[i], *last = i ? key - 1 : NULL;
        if (last && strcmp(key->workload, last->workload) == 0 &&
            strcmp(key->dataset, last->dataset) == 0)
            continue;
        const struct entry *entry = select_entry(catalogue, key->workload);
        TRY(inputs_check_values(entry, select_dataset(entry, key->dataset), error));
    }
    return 0;
}

int select_check_key(const struct catalogue *catalogue, const struct case_key *key,
                     struct error *error)
{
    const struct entry *entry;
    const struct allocator_ops *ops;
    struct option_values values;
    struct allocator_plans plans = {0};
    const struct merge_set *set;
    unsigned extensions;
    const struct named_help *policy = release_policies;
    TRY(select_workload(catalogue, key->workload, &entry, error));
    if (!select_dataset(entry, key->dataset))
        return error_set(error, ERR_USAGE, "the workload %s has no dataset '%s'", key->workload,
                         key->dataset);
    const int code = allocator_parse_planned(&plans, key->strategy, &ops, &values, error);
    allocator_plans_free(&plans);
    TRY(code);
    TRY(merge_parse(key->merge, &set, &extensions, error));
    if (*key->residency)
        TRY(check_residency(NULL, key->residency, error));
    while (policy->name && strcmp(policy->name, key->release) != 0)
        policy++;
    return policy->name
               ? 0
               : error_set(error, ERR_USAGE, "there is no release policy '%s'", key->release);
}

void select_free(struct selection *s)
{
    allocator_plans_free(&s->plans);
    arena_free(&s->arena);
}

/* ---- devices --------------------------------------------------------------------------------- */

int select_check_devices(const char *list, struct error *error)
{
    struct selection s = {0};
    struct names all = {0};
    size_t count;
    const struct device_ops *const *apis = device_api_list(&count);
    add_name(&s, &all, "best");
    add_name(&s, &all, "all");
    for (size_t i = 0; i < count; i++)
        add_name(&s, &all, apis[i]->name);
    const char *item;
    int code = 0, items = 0;
    for (; !code && (item = next_item(&s, &list)); items++)
        for (const char *part = item; part && !code; part = strchr(part, '+')) {
            part += part > item; /* the plus of a group */
            const char *api = arena_copy(&s.arena, part, strcspn(part, ":+"));
            bool known = strpbrk(api, "*?");
            for (size_t i = 0; i < all.count; i++)
                known |= strcmp(all.items[i], api) == 0;
            if (!known)
                code = select_unknown("device", item, &all, error);
        }
    if (code)
        error_suffix(error,
                     "; best is a GPU where there is one, and opencl:NVIDIA the OpenCL device "
                     "with that in its name");
    THEN(code, items == 0 ? error_set(error, ERR_USAGE, "no device is named") : 0);
    arena_free(&s.arena);
    return code;
}
