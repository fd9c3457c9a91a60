/* gamut list: prints the names that exist, as text or as one JSON object. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/pytorch_conf.h"
#include "alloc/registry.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/earlier.h"
#include "cli/flag_groups.h"
#include "cli/recording.h"
#include "cli/traces.h"
#include "experiment/experiment.h"
#include "merge/list.h"
#include "merge/merge.h"
#include "results/show/chart.h"
#include "results/facts/context.h"
#include "results/facts/counters.h"
#include "results/file/draft.h"
#include "results/show/text_grid.h"
#include "base/tree.h"
#include "residency/residency.h"
#include "run/select/catalogue.h"
#include "replay/cases.h"
#include "run/rounds/devices.h"
#include "run/select/suite.h"

enum list_format { FORMAT_TEXT, FORMAT_JSON };

static const struct flag flags[] = {
    FLAG_FORMAT("text", "text|json"),
    FLAGS_END,
};

#define LIST_SCHEMA "gamut.list/1"

/* ---- the lists as JSON (docs/commands.md) ---- */

/* An element of a list, which owns it. */
static json_t *add_item(json_t *list, const char *name, const char *summary)
{
    json_t *item = tree_object();
    tree_put(item, "name", tree_text(name));
    tree_put(item, "summary", tree_text_or_null(summary));
    tree_append(list, item);
    return item;
}

static json_t *add_list(json_t *root, const char *key)
{
    json_t *list = tree_array();
    tree_put(root, key, list);
    return list;
}

/* Adds a text like "a|b|c" as ["a", "b", "c"]; null for NULL. */
static json_t *choices_of(const char *choices)
{
    json_t *list = choices ? tree_array() : json_null();
    for (const char *word = choices; word;
         word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL) {
        char one[64];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(word, "|"), word);
        tree_append(list, tree_text(one));
    }
    return list;
}

static void put_options(json_t *item, const char *key, const struct option_spec *options)
{
    json_t *list = add_list(item, key);
    for (const struct option_spec *o = options; o && o->name; o++)
        tree_append(list, tree_pack("{s:s, s:o, s:o, s:s}", "name", o->name, "default",
                                    tree_text_or_null(o->fallback), "choices",
                                    choices_of(o->choices), "help", o->help));
}

static json_t *datasets_of(const struct program *program)
{
    json_t *names = tree_array();
    for (unsigned d = 0; d < program->dataset_count; d++)
        tree_append(names, tree_text(program->datasets[d].name));
    return names;
}

static int list_workloads(json_t *root, struct error *error)
{
    struct catalogue catalogue;
    json_t *list = add_list(root, "workloads");
    int code = catalogue_open(&catalogue, error);
    for (size_t i = 0; !code && i < catalogue.entry_count; i++) {
        const struct entry *entry = &catalogue.entries[i];
        struct text about = {0};
        catalogue_about(entry, &about);
        json_t *item = add_item(list, entry->name, about.data);
        tree_put(item, "path", tree_text(entry->program->path));
        tree_put(item, "datasets", datasets_of(entry->program));
        text_free(&about);
    }
    catalogue_close(&catalogue);
    return code;
}

static int list_datasets(json_t *root, struct error *error)
{
    struct catalogue catalogue;
    json_t *list = add_list(root, "datasets");
    int code = catalogue_open(&catalogue, error);
    for (size_t i = 0; !code && i < catalogue.entry_count; i++)
        tree_append(list, tree_pack("{s:s, s:o}", "workload", catalogue.entries[i].name, "datasets",
                                    datasets_of(catalogue.entries[i].program)));
    catalogue_close(&catalogue);
    return code;
}

static int list_strategies(json_t *root, struct error *error)
{
    size_t count;
    json_t *list = add_list(root, "strategies");
    const struct allocator_ops *const *ops = allocator_list(&count);
    for (size_t i = 0; i < count; i++) {
        json_t *item = add_item(list, ops[i]->name, ops[i]->summary);
        tree_put(item, "origins", origins_of(ops[i]));
        put_options(item, "options", ops[i]->options);
    }
    put_options(root, "options_of_every_strategy", allocator_options);
    return 0;
}

/* The words of PYTORCH_CUDA_ALLOC_CONF. */
static int list_conf(json_t *root, struct error *error)
{
    json_t *list = add_list(root, "conf");
    const struct pytorch_word *word;
    for (size_t i = 0; (word = pytorch_word(i)); i++) {
        json_t *item = add_item(list, word->name, word->effect);
        char since[16] = "before 2.9";
        if (word->since)
            snprintf(since, sizeof since, "2.%u", word->since);
        tree_put(item, "since", tree_text(since));
        tree_put(item, "checked", tree_text(word->is_verified ? "by runs" : "by source"));
    }
    return 0;
}

static int list_experiments(json_t *root, struct error *error)
{
    size_t count;
    json_t *list = add_list(root, "experiments");
    const struct experiment *const *all = experiment_list(&count);
    for (size_t i = 0; i < count; i++)
        put_options(add_item(list, all[i]->name, all[i]->summary), "options", all[i]->options);
    return 0;
}

static int list_residencies(json_t *root, struct error *error)
{
    size_t count;
    json_t *list = add_list(root, "residencies");
    const struct residency_strategy *all = residency_list(&count);
    for (size_t i = 0; i < count; i++) {
        json_t *item = add_item(list, all[i].name, all[i].summary);
        tree_put(item, "origin", tree_text_or_null(all[i].origin));
        put_options(item, "options", all[i].options);
    }
    return 0;
}

static int list_merges(json_t *root, struct error *error)
{
    json_t *merges = tree_object();
    tree_put(root, "merges", merges);
    json_t *sets = add_list(merges, "sets"), *passes = add_list(merges, "passes");
    json_t *extensions = add_list(merges, "extensions");
    for (const struct merge_set *s = merge_sets; s->name; s++) {
        json_t *names = add_list(add_item(sets, s->name, s->help), "passes");
        for (const struct merge_ops *const *pass = s->passes; *pass; pass++)
            tree_append(names, tree_text((*pass)->name));
    }
#define X(name, help) add_item(passes, #name, help);
    MERGE_PASS_LIST(X)
#undef X
    for (unsigned e = 0; e < EXTENSION_COUNT; e++)
        add_item(extensions, merge_extension_name(e), merge_extension_sentence(e));
    return 0;
}

/* Devices as they stand in a result file, and a sentence for each API that has none. */
static int list_devices(json_t *root, struct error *error)
{
    struct found_device *devices;
    size_t count;
    struct text missing = {0};
    json_t *list = add_list(root, "devices"), *absent = add_list(root, "devices_not_found");
    int code = devices_find("", false, &devices, &count, &missing, error);
    for (size_t i = 0; i < count; i++) {
        struct record_device record;
        device_to_record(&devices[i], &record);
        tree_append(list, context_device(&record));
    }
    for (char *rest = missing.data, *line; !code && rest && (line = strsep(&rest, "\n"));)
        if (*line)
            tree_append(absent, tree_text(line));
    text_free(&missing);
    free(devices);
    return code;
}

static int list_metrics(json_t *root, struct error *error)
{
    static const char *const kinds[] = {[KIND_SAMPLED] = "sampled", [KIND_EXACT] = "exact"};
    static const char *const betters[] = {
        [BETTER_LOWER] = "lower", [BETTER_HIGHER] = "higher", [BETTER_NEITHER] = "neither"};
    size_t count;
    json_t *list = add_list(root, "metrics");
    const struct counter_info *all = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        json_t *item = add_item(list, all[i].name, all[i].help);
        tree_put(item, "kind", tree_text(kinds[all[i].kind]));
        tree_put(item, "better", tree_text(betters[all[i].better]));
        tree_put(item, "unit", tree_text(counter_unit_name(all[i].unit)));
    }
    return 0;
}

/* Suites of recorded applications are folders next to the binary; their rows are the traces. */
static int list_trace_suites(json_t *list, struct error *error)
{
    struct traces suites;
    int code = 0;
    traces_suites(&suites);
    for (unsigned i = 0; i < suites.count && !code; i++) {
        struct traces all = {0};
        json_t *names = add_list(
            add_item(list, suites.paths[i], "Traces of applications, for gamut replay --suite"),
            "rows");
        code = traces_of_suite(suites.paths[i], &all, error);
        for (unsigned k = 0; k < all.count && !code; k++) {
            char name[64];
            code = replay_trace_name(all.paths[k], name, error);
            tree_append(names, tree_text(code ? "" : name));
        }
        traces_free(&all);
    }
    traces_free(&suites);
    return code;
}

static int list_suites(json_t *root, struct error *error)
{
    struct catalogue catalogue;
    json_t *list = add_list(root, "suites");
    int code = catalogue_open(&catalogue, error);
    for (const struct builtin_suite *b = builtin_suites; b->name && !code; b++) {
        struct suite suite;
        code = suite_open(b->name, &catalogue, &suite, error);
        if (code)
            break;
        const json_t *rows = json_object_get(suite.json, "rows"), *row;
        json_t *names =
            add_list(add_item(list, b->name, tree_get_text(suite.json, "title")), "rows");
        for (size_t i = 0; (row = json_array_get(rows, i)); i++)
            tree_append(names, tree_share(row, "name"));
        suite_close(&suite);
    }
    catalogue_close(&catalogue);
    return code ? code : list_trace_suites(list, error);
}

/* The traces of the suite corpus, with what its list says of each. */
static int list_corpus(json_t *root, struct error *error)
{
    struct traces all = {0};
    json_t *list = add_list(root, "corpus"), *one;
    const char *name;
    const int code = traces_of_suite("corpus", &all, error);
    json_object_foreach(json_object_get(all.corpus, "traces"), name, one)
    {
        struct text about = {0};
        text_add(&about, "%s: %s", tree_get_text(one, "application"),
                 tree_get_text(one, "typical"));
        json_object_update(add_item(list, name, about.data), one);
        text_free(&about);
    }
    traces_free(&all);
    return code;
}

static int list_atlases(json_t *root, struct error *error)
{
    json_t *list = add_list(root, "atlases");
    struct text pattern = {0};
    glob_t files = {0};
    int code = 0;
    text_own_folder(&pattern, ATLAS_FOLDER);
    text_add(&pattern, "/*" ATLAS_SUFFIX);
    glob(pattern.data, 0, NULL, &files);
    for (size_t f = 0, i; f < files.gl_pathc && !code; f++) {
        struct result result;
        struct text name = {0}, about = {0};
        const json_t *each;
        code = result_open(files.gl_pathv[f], &result, error);
        traces_name_of_log(files.gl_pathv[f], &name);
        json_array_foreach(result.atlas, i, each)
            text_add(&about, "%s%s on %s, driver %s", i ? "; " : "", tree_get_text(each, "device"),
                     tree_get_text(each, "name"), tree_get_text(each, "driver"));
        tree_put(add_item(list, name.data, about.data), "path", tree_text(files.gl_pathv[f]));
        result_release(&result);
        text_free(&name);
        text_free(&about);
    }
    globfree(&files);
    text_free(&pattern);
    return code;
}

static int list_charts(json_t *root, struct error *error)
{
    static const char *const of[] = {
        [CHART_OF_DEVICE] = "device", [CHART_OF_STRATEGY] = "strategy"};
    json_t *list = add_list(root, "charts");
    const struct chart *chart;
    for (size_t i = 0; (chart = chart_at(i)); i++) {
        json_t *item = add_item(list, chart->name, chart->help);
        tree_put(item, "one_per", tree_text(of[chart->scope]));
    }
    return 0;
}

/* ---- the lists as text ---- */

/* The columns of a list are a name, two words that metrics, charts and conf use, and prose. */
static void add_row(struct text_grid *list, const char *name, const char *first, const char *second,
                    const char *prose)
{
    text_grid_add_row(list);
    text_grid_add(list, "%s", name);
    text_grid_add(list, "%s", first);
    text_grid_add(list, "%s", second);
    text_grid_add(list, "%s", prose);
}

/* A row of "LEAD a, b, c"; nothing without the list. */
static void add_names(struct text_grid *list, const char *name, const char *lead,
                      const json_t *names, const char *separator)
{
    struct text line = {0};
    size_t i;
    const json_t *each;
    if (!names)
        return;
    text_add(&line, "%s", lead);
    json_array_foreach(names, i, each)
        text_add(&line, "%s%s", i ? separator : "", json_string_value(each));
    if (!json_array_size(names))
        text_add(&line, "none");
    add_row(list, name, "", "", line.data);
    text_free(&line);
}

static void add_options(struct text_grid *list, const json_t *options)
{
    size_t i, j;
    const json_t *option, *choice;
    json_array_foreach(options, i, option)
    {
        struct text line = {0};
        text_add(&line, ":%s=%s", tree_get_text(option, "name"), tree_get_text(option, "default"));
        json_array_foreach(json_object_get(option, "choices"), j, choice)
            text_add(&line, "%s%s", j ? "|" : " (", json_string_value(choice));
        text_add(&line, "%s  %s", json_is_array(json_object_get(option, "choices")) ? ")" : "",
                 tree_get_text(option, "help"));
        add_row(list, "", "", "", line.data);
        text_free(&line);
    }
}

static void add_device(struct text_grid *list, const json_t *device)
{
    struct text about = {0};
    char memory[32];
    const char *platform = tree_get_text(device, "platform"),
               *driver = tree_get_text(device, "driver");
    const double bytes = tree_get_number(device, "memory_bytes");
    text_add(&about, "%s, %s%s%s%s%s, %.0f units", tree_get_text(device, "name"),
             text_bytes(memory, bytes > 0 ? (uint64_t)bytes : 0), *platform ? ", " : "", platform,
             *driver ? ", driver " : "", driver, tree_get_number(device, "compute_units"));
    add_row(list, tree_get_text(device, "id"), "", "", about.data);
    text_free(&about);
}

/* A line for each origin: "from: what: repository, file at commit (year)". */
static void add_origins(struct text_grid *list, const json_t *origins)
{
    size_t i;
    json_t *origin;
    json_array_foreach(origins, i, origin)
    {
        const char *repository = tree_get_text(origin, "repository"),
                   *file = tree_get_text(origin, "file"), *commit = tree_get_text(origin, "commit");
        const json_t *year = json_object_get(origin, "year");
        struct text from = {0};
        text_add(&from, "%s%s%s%s%s%s%s%s", i ? "      " : "from: ", tree_get_text(origin, "what"),
                 *repository ? ": " : "", repository, *file ? ", " : "", file,
                 *commit ? " at " : "", commit);
        if (json_is_integer(year))
            text_add(&from, " (%d)", (int)json_integer_value(year));
        add_row(list, "", "", "", from.data);
        text_free(&from);
    }
}

/* An element, and below it what else there is to say about it. */
static void print_item(struct text_grid *list, const char *indent, const json_t *item)
{
    const char *origin = tree_get_text(item, "origin"), *scope = tree_get_text(item, "one_per");
    text_grid_add_row(list);
    text_grid_add(list, "%s%s", indent, tree_get_text(item, "name"));
    text_grid_add(list, "%s%s%s", *scope ? "one per " : tree_get_text(item, "kind"), scope,
                  tree_get_text(item, "since"));
    text_grid_add(list, "%s%s%s", tree_get_text(item, "better"), tree_get_text(item, "checked"),
                  tree_get_text(item, "half"));
    text_grid_add(list, "%s", tree_get_text(item, "summary"));
    if (*origin) {
        struct text from = {0};
        text_add(&from, "from: %s", origin);
        add_row(list, "", "", "", from.data);
        text_free(&from);
    }
    add_origins(list, json_object_get(item, "origins"));
    add_names(list, "", "passes: ", json_object_get(item, "passes"), " ");
    add_names(list, "", "rows: ", json_object_get(item, "rows"), ", ");
    add_options(list, json_object_get(item, "options"));
}

static void print_items(struct text_grid *list, const char *indent, const json_t *items)
{
    size_t i;
    const json_t *item;
    json_array_foreach(items, i, item)
    {
        if (json_object_get(item, "id"))
            add_device(list, item);
        else if (json_object_get(item, "workload"))
            add_names(list, tree_get_text(item, "workload"), "", json_object_get(item, "datasets"),
                      " ");
        else
            print_item(list, indent, item);
    }
}

static void print_merges(struct text_grid *list, const json_t *merges)
{
    const char *heading;
    json_t *items;
    json_object_foreach((json_t *)merges, heading, items)
    {
        const bool can_be_added = strcmp(heading, "extensions") == 0;
        add_row(list, heading, "", "",
                can_be_added ? "added to a set as in coalesce:with=views|disjoint" : "");
        print_items(list, "  ", items);
    }
}

static void print_lists(struct text_grid *list, const json_t *lists)
{
    const char *key;
    json_t *value;
    size_t i;
    json_t *line;
    json_object_foreach((json_t *)lists, key, value)
    {
        if (strcmp(key, "options_of_every_strategy") == 0) {
            add_row(list, "all", "", "", "every strategy has these options as well");
            add_options(list, value);
        } else if (strcmp(key, "devices_not_found") == 0) {
            if (json_array_size(value))
                add_row(list, "not found:", "", "", "");
            json_array_foreach(value, i, line) add_row(list, "", "", "", json_string_value(line));
        } else if (json_is_object(value)) {
            print_merges(list, value);
        } else {
            print_items(list, "", value);
        }
    }
}

/* ---- the command ---- */

static const struct topic {
    const char *name;
    int (*fill)(json_t *root, struct error *error); /* adds the lists of the topic */
} topics[] = {
    {"workloads", list_workloads},   {"datasets", list_datasets},
    {"strategies", list_strategies}, {"conf", list_conf},
    {"merges", list_merges},         {"residencies", list_residencies},
    {"suites", list_suites},         {"experiments", list_experiments},
    {"devices", list_devices},       {"metrics", list_metrics},
    {"charts", list_charts},         {"atlases", list_atlases},
    {"corpus", list_corpus},
};
enum { TOPICS = sizeof topics / sizeof *topics };

TEXT_NAMES(topic_name, TOPICS, topics[i].name)

static void print_topic(const json_t *lists)
{
    struct terminal_page page;
    struct text_grid list = text_grid_of("name|first|second|~help");
    print_lists(&list, lists);
    list.no_titles = true;
    for (size_t c = 1; c <= 2; c++)
        list.column[c].hidden = !list.row_count || !*list.row[0].cell[c];
    terminal_page_open(&page, stdout);
    text_grid_print(&list, TABLE_TEXT, &page.terminal, page.out);
    terminal_page_close(&page);
    text_grid_free(&list);
}

int list_topic(const char *topic, json_t *root, struct error *error)
{
    size_t i = 0;
    while (i < TOPICS && strcmp(topic, topics[i].name) != 0)
        i++;
    return i < TOPICS ? topics[i].fill(root, error)
                      : text_unknown(error, topic, topic_name, NULL, "there is no list of");
}

/* Prints one topic as text, or adds it to the root that is printed as JSON in the end. */
static int show_topic(const char *topic, json_t *root, struct error *error)
{
    json_t *lists = tree_object();
    const int code = list_topic(topic, root ? root : lists, error);
    if (!code && !root)
        print_topic(lists);
    json_decref(lists);
    return code;
}

static int list_command(const struct command_line *line)
{
    const char *word = line->positional_count ? line->positional[0] : NULL;
    const bool as_json = flag_number(line, "format") == FORMAT_JSON;
    json_t *root = as_json ? tree_pack("{s:s}", "schema", LIST_SCHEMA) : NULL;
    struct error error = {0};
    int code = word ? show_topic(word, root, &error) : 0;
    for (size_t i = 0; !word && i < TOPICS && !code; i++) {
        if (!as_json)
            printf("%s%s:\n", i ? "\n" : "", topics[i].name);
        code = show_topic(topics[i].name, root, &error);
    }
    THEN(code, root ? result_print_json(root, stdout, &error) : 0);
    json_decref(root);
    return code ? report_error(&error) : EXIT_OK;
}

const struct command command_list = {
    .name = "list",
    .summary =
        "list the names that exist: workloads, strategies, devices, metrics, charts and more",
    .arguments =
        "[workloads | datasets | strategies | conf | merges | residencies | suites | experiments | "
        "devices | metrics | charts | atlases | corpus]",
    .most_positionals = 1,
    .flags = flags,
    .run = list_command,
};
