#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/text.h"
#include "cli/commands.h"
#include "experiment/experiment.h"
#include "merge/list.h"
#include "merge/merge.h"
#include "record/chart/chart.h"
#include "record/facts/counters.h"
#include "record/table/text_grid.h"
#include "base/tree.h"
#include "residency/residency.h"
#include "run/select/catalogue.h"
#include "run/rounds/devices.h"
#include "run/select/select.h"
#include "run/select/suite.h"

/* The columns of a list are a name, two words that only metrics and charts use, and prose. */
static void add_row(struct text_grid *list, const char *name, const char *first, const char *second,
                    const char *prose)
{
    text_grid_add_row(list);
    text_grid_add(list, "%s", name);
    text_grid_add(list, "%s", first);
    text_grid_add(list, "%s", second);
    text_grid_add(list, "%s", prose);
}

static void add_prose(struct text_grid *list, const char *name, struct text *prose)
{
    add_row(list, name, "", "", prose->data ? prose->data : "");
    text_free(prose);
}

static int list_workloads(struct text_grid *list, struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    for (size_t i = 0; !code && i < catalogue.entry_count; i++)
        add_row(list, catalogue.entries[i].name, "", "", catalogue.entries[i].program->path);
    catalogue_close(&catalogue);
    return code;
}

static int list_datasets(struct text_grid *list, struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    for (size_t i = 0; !code && i < catalogue.entry_count; i++) {
        const struct program *program = catalogue.entries[i].program;
        struct text names = {0};
        for (unsigned d = 0; d < program->dataset_count; d++)
            text_add(&names, "%s%s", d ? " " : "", program->datasets[d].name);
        add_prose(list, catalogue.entries[i].name, &names);
    }
    catalogue_close(&catalogue);
    return code;
}

/* Adds what a strategy or an experiment does, where its idea is from, and its options. */
static void add_strategy(struct text_grid *list, const char *name, const char *summary,
                         const char *origin, const struct option_spec *options)
{
    add_row(list, name, "", "", summary);
    if (origin) {
        struct text from = {0};
        text_add(&from, "from: %s", origin);
        add_prose(list, "", &from);
    }
    for (const struct option_spec *o = options; o && o->name; o++) {
        struct text option = {0};
        text_add(&option, ":%s=%s", o->name, o->fallback);
        if (o->choices)
            text_add(&option, " (%s)", o->choices);
        text_add(&option, "  %s", o->help);
        add_prose(list, "", &option);
    }
}

static int list_strategies(struct text_grid *list, struct error *error)
{
    (void)error;
    size_t count;
    const struct allocator_ops *const *ops = allocator_list(&count);
    for (size_t i = 0; i < count; i++)
        add_strategy(list, ops[i]->name, ops[i]->summary, ops[i]->origin, ops[i]->options);
    add_strategy(list, "all", "every strategy has these options as well", NULL, allocator_options);
    return 0;
}

static int list_experiments(struct text_grid *list, struct error *error)
{
    (void)error;
    size_t count;
    const struct experiment *const *all = experiment_list(&count);
    for (size_t i = 0; i < count; i++)
        add_strategy(list, all[i]->name, all[i]->summary, NULL, all[i]->options);
    return 0;
}

static int list_residencies(struct text_grid *list, struct error *error)
{
    (void)error;
    size_t count;
    const struct residency_strategy *all = residency_list(&count);
    for (size_t i = 0; i < count; i++)
        add_strategy(list, all[i].name, all[i].summary, all[i].origin, all[i].options);
    return 0;
}

/* A name below a heading: sets, passes, extensions. */
static void add_indented(struct text_grid *list, const char *name, const char *help)
{
    text_grid_add_row(list);
    text_grid_add(list, "  %s", name);
    text_grid_skip(list, 2);
    text_grid_add(list, "%s", help);
}

static int list_merges(struct text_grid *list, struct error *error)
{
    (void)error;
    add_row(list, "sets", "", "", "");
    for (const struct merge_set *s = merge_sets; s->name; s++) {
        struct text passes = {0};
        text_add(&passes, "passes:%s", *s->passes ? "" : " none");
        for (const struct merge_ops *const *pass = s->passes; *pass; pass++)
            text_add(&passes, " %s", (*pass)->name);
        add_indented(list, s->name, s->help);
        add_prose(list, "", &passes);
    }
    add_row(list, "passes", "", "", "");
#define X(name, help) add_indented(list, #name, help);
    MERGE_PASS_LIST(X)
#undef X
    add_row(list, "extensions", "", "", "added to a set as in coalesce:with=views|disjoint");
    for (unsigned e = 0; e < EXTENSION_COUNT; e++)
        add_indented(list, merge_extension_name(e), merge_extension_sentence(e));
    return 0;
}

static int list_devices(struct text_grid *list, struct error *error)
{
    struct found_device *devices;
    size_t count;
    struct text missing = {0};
    int code = devices_find("", false, &devices, &count, &missing, error);
    for (size_t i = 0; i < count; i++) {
        const struct device_info *d = &devices[i].info;
        struct text about = {0};
        char memory[32];
        text_add(&about, "%s, %s%s%s%s%s, %u units", d->name, text_bytes(memory, d->memory_bytes),
                 *d->platform ? ", " : "", d->platform, *d->driver ? ", driver " : "", d->driver,
                 d->compute_units);
        add_prose(list, d->id, &about);
    }
    if (!code && missing.length)
        add_row(list, "not found:", "", "", "");
    for (char *rest = missing.data, *line; !code && rest && (line = strsep(&rest, "\n"));)
        if (*line)
            add_row(list, "", "", "", line);
    text_free(&missing);
    free(devices);
    return code;
}

static int list_metrics(struct text_grid *list, struct error *error)
{
    static const char *const kinds[] = {[KIND_SAMPLED] = "sampled", [KIND_EXACT] = "exact"};
    static const char *const betters[] = {
        [BETTER_LOWER] = "lower", [BETTER_HIGHER] = "higher", [BETTER_NEITHER] = "neither"};
    (void)error;
    size_t count;
    const struct counter_info *all = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        add_row(list, all[i].name, kinds[all[i].kind], betters[all[i].better], all[i].help);
    return 0;
}

static int list_suites(struct text_grid *list, struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    for (const struct builtin_suite *b = builtin_suites; b->name && !code; b++) {
        struct suite suite;
        struct text names = {0};
        code = suite_open(b->name, &catalogue, &suite, error);
        if (code)
            break;
        const json_t *rows = json_object_get(suite.json, "rows");
        for (size_t i = 0; i < json_array_size(rows); i++)
            text_add(&names, "%s%s",
                     i ? ", " : "rows: ", tree_get_text(json_array_get(rows, i), "name"));
        add_row(list, b->name, "", "", tree_get_text(suite.json, "title"));
        add_prose(list, "", &names);
        suite_close(&suite);
    }
    catalogue_close(&catalogue);
    return code;
}

static int list_charts(struct text_grid *list, struct error *error)
{
    static const char *const of[] = {[CHART_OF_DEVICE] = "one per device",
                                     [CHART_OF_STRATEGY] = "one per strategy",
                                     [CHART_OF_WORKLOAD] = "one per workload"};
    const struct chart *chart;
    (void)error;
    for (size_t i = 0; (chart = chart_at(i)); i++) {
        struct text help = {0};
        text_add(&help, "%s%s", chart->help, chart->on_request ? "; only if named" : "");
        add_row(list, chart->name, of[chart->scope], "", help.data);
        text_free(&help);
    }
    return 0;
}

static const struct topic {
    const char *name;
    int (*fill)(struct text_grid *list, struct error *error);
} topics[] = {
    {"workloads", list_workloads},     {"datasets", list_datasets},
    {"strategies", list_strategies},   {"merges", list_merges},
    {"residencies", list_residencies}, {"suites", list_suites},
    {"experiments", list_experiments}, {"devices", list_devices},
    {"metrics", list_metrics},         {"charts", list_charts},
};
enum { TOPICS = sizeof topics / sizeof *topics };

static const char *topic_name(void *context, size_t i)
{
    (void)context;
    return i < TOPICS ? topics[i].name : NULL;
}

static int print_topic(const struct topic *topic, struct error *error)
{
    struct terminal_page page;
    struct text_grid list = text_grid_of("name|first|second|~help");
    int code = topic->fill(&list, error);
    list.no_titles = true;
    for (size_t c = 1; c <= 2; c++)
        list.column[c].hidden = !list.row_count || !*list.row[0].cell[c];
    if (!code) {
        terminal_page_open(&page, stdout);
        text_grid_print(&list, TABLE_TEXT, &page.terminal, page.out);
        terminal_page_close(&page);
    }
    text_grid_free(&list);
    return code;
}

static int list_command(const struct command_line *line)
{
    const char *word = line->positional_count ? line->positional[0] : NULL;
    struct error error = {0};
    bool found = false;
    for (size_t i = 0; i < TOPICS; i++) {
        if (word && strcmp(word, topics[i].name) != 0)
            continue;
        found = true;
        if (!word)
            printf("%s%s:\n", i ? "\n" : "", topics[i].name);
        if (print_topic(&topics[i], &error))
            return report_error(&error);
    }
    if (found)
        return EXIT_OK;
    text_unknown(&error, word, topic_name, NULL, "there is no list of");
    return report_error(&error);
}

const struct command command_list = {
    .name = "list",
    .summary =
        "list the names that exist: workloads, strategies, devices, metrics, charts and more",
    .arguments =
        "[workloads | datasets | strategies | merges | residencies | suites | experiments | "
        "devices | metrics | charts]",
    .most_positionals = 1,
    .flags = flags_none,
    .notes = "A device that cannot be used is listed with the reason. Options follow a\n"
             "name, as in tagged:policy=v4; the values shown are the defaults. A metric is\n"
             "sampled (a time) or exact (a count), and lower, higher or neither is better.\n",
    .run = list_command,
};
