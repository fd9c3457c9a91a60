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

/* What a list is filled with: a grid of names and prose, and text that follows it. */
struct listing {
    struct text_grid grid;
    struct text after;
};
enum { LIST_NAME, LIST_FIRST_WORD, LIST_SECOND_WORD, LIST_PROSE, LIST_COLUMNS };

static void add_row(struct listing *list, const char *name, const char *prose)
{
    text_grid_add_row(&list->grid);
    text_grid_put(&list->grid, LIST_NAME, name);
    text_grid_put(&list->grid, LIST_PROSE, prose);
}

/* Names that are listed in one cell, with `separator` between them. */
static void add_name(struct text *names, const char *separator, const char *name)
{
    text_add(names, "%s%s", names->length ? separator : "", name);
}

static void set_prose(struct listing *list, struct text *prose)
{
    text_grid_set(&list->grid, LIST_PROSE, "%s", prose->data ? prose->data : "");
    text_free(prose);
}

static int list_workloads(struct listing *list, struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    if (code)
        return code;
    for (size_t i = 0; i < catalogue.entry_count; i++) {
        add_row(list, catalogue.entries[i].name, "");
        text_grid_set(&list->grid, LIST_PROSE, "%s", catalogue.entries[i].program->path);
    }
    catalogue_close(&catalogue);
    return 0;
}

static int list_datasets(struct listing *list, struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    if (code)
        return code;
    for (size_t i = 0; i < catalogue.entry_count; i++) {
        const struct program *program = catalogue.entries[i].program;
        struct text names = {0};
        for (unsigned d = 0; d < program->dataset_count; d++)
            add_name(&names, " ", program->datasets[d].name);
        add_row(list, catalogue.entries[i].name, "");
        set_prose(list, &names);
    }
    catalogue_close(&catalogue);
    return 0;
}

static void add_options(struct listing *list, const struct option_spec *options)
{
    for (const struct option_spec *o = options; o && o->name; o++) {
        add_row(list, "", "");
        text_grid_set(&list->grid, LIST_PROSE, ":%s=%s%s%s%s  %s", o->name, o->fallback,
                      o->choices ? " (" : "", o->choices ? o->choices : "", o->choices ? ")" : "",
                      o->help);
    }
}

/* A strategy: what it does, where its idea is from, and its options. */
static void add_strategy(struct listing *list, const char *name, const char *summary,
                         const char *origin, const struct option_spec *options)
{
    add_row(list, name, summary);
    if (origin) {
        add_row(list, "", "");
        text_grid_set(&list->grid, LIST_PROSE, "from: %s", origin);
    }
    add_options(list, options);
}

static int list_strategies(struct listing *list, struct error *error)
{
    (void)error;
    size_t count;
    const struct allocator_ops *const *ops = allocator_list(&count);
    for (size_t i = 0; i < count; i++)
        add_strategy(list, ops[i]->name, ops[i]->summary, ops[i]->origin, ops[i]->options);
    add_strategy(list, "all", "every strategy has these options as well", NULL, allocator_options);
    return 0;
}

static int list_experiments(struct listing *list, struct error *error)
{
    (void)error;
    size_t count;
    const struct experiment *const *all = experiment_list(&count);
    for (size_t i = 0; i < count; i++)
        add_strategy(list, all[i]->name, all[i]->summary, NULL, all[i]->options);
    return 0;
}

static int list_residencies(struct listing *list, struct error *error)
{
    (void)error;
    size_t count;
    const struct residency_strategy *all = residency_list(&count);
    for (size_t i = 0; i < count; i++)
        add_strategy(list, all[i].name, all[i].summary, all[i].origin, all[i].options);
    return 0;
}

static int list_merges(struct listing *list, struct error *error)
{
    (void)error;
    add_row(list, "sets", "");
    for (const struct merge_set *s = merge_sets; s->name; s++) {
        struct text passes = {0};
        add_row(list, "", s->help);
        text_grid_set(&list->grid, LIST_NAME, "  %s", s->name);
        for (const struct merge_ops *const *pass = s->passes; *pass; pass++)
            text_add(&passes, " %s", (*pass)->name);
        add_row(list, "", "");
        text_grid_set(&list->grid, LIST_PROSE, "passes:%s", passes.length ? passes.data : " none");
        text_free(&passes);
    }
    add_row(list, "passes", "");
#define X(pass)                                                                                    \
    add_row(list, "", merge_##pass.help);                                                          \
    text_grid_set(&list->grid, LIST_NAME, "  %s", merge_##pass.name);
    MERGE_PASS_LIST(X)
#undef X
    add_row(list, "extensions", "added to a set as in coalesce:with=views|disjoint");
    for (unsigned e = 0; e < EXTENSION_COUNT; e++) {
        add_row(list, "", merge_extension_sentence(e));
        text_grid_set(&list->grid, LIST_NAME, "  %s", merge_extension_name(e));
    }
    return 0;
}

static int list_devices(struct listing *list, struct error *error)
{
    struct found_device *devices;
    size_t count;
    struct text missing = {0};
    int code = devices_find("", false, &devices, &count, &missing, error);
    for (size_t i = 0; i < count; i++) {
        const struct device_info *d = &devices[i].info;
        char memory[32];
        add_row(list, "", "");
        text_grid_set(&list->grid, LIST_NAME, "%s", d->id);
        text_grid_set(&list->grid, LIST_PROSE, "%s, %s%s%s%s%s, %u units", d->name,
                      text_bytes(memory, d->memory_bytes), *d->platform ? ", " : "", d->platform,
                      *d->driver ? ", driver " : "", d->driver, d->compute_units);
    }
    if (!code && missing.length)
        text_add(&list->after, "not found:\n%s", missing.data);
    text_free(&missing);
    free(devices);
    return code;
}

static int list_metrics(struct listing *list, struct error *error)
{
    static const char *const kinds[] = {[KIND_SAMPLED] = "sampled", [KIND_EXACT] = "exact"};
    static const char *const betters[] = {
        [BETTER_LOWER] = "lower", [BETTER_HIGHER] = "higher", [BETTER_NEITHER] = "neither"};
    (void)error;
    size_t count;
    const struct counter_info *all = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        add_row(list, all[i].name, all[i].help);
        text_grid_put(&list->grid, LIST_FIRST_WORD, kinds[all[i].kind]);
        text_grid_put(&list->grid, LIST_SECOND_WORD, betters[all[i].better]);
    }
    return 0;
}

static int list_suites(struct listing *list, struct error *error)
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
            add_name(&names, ", ", tree_get_text(json_array_get(rows, i), "name"));
        add_row(list, b->name, "");
        text_grid_set(&list->grid, LIST_PROSE, "%s", tree_get_text(suite.json, "title"));
        add_row(list, "", "");
        text_grid_set(&list->grid, LIST_PROSE, "rows: %s", names.data ? names.data : "");
        text_free(&names);
        suite_close(&suite);
    }
    catalogue_close(&catalogue);
    return code;
}

static int list_charts(struct listing *list, struct error *error)
{
    static const char *const of[] = {[CHART_OF_DEVICE] = "one a device",
                                     [CHART_OF_STRATEGY] = "one a strategy",
                                     [CHART_OF_WORKLOAD] = "one a workload"};
    const struct chart *chart;
    (void)error;
    for (size_t i = 0; (chart = chart_at(i)); i++) {
        add_row(list, chart->name, "");
        text_grid_put(&list->grid, LIST_FIRST_WORD, of[chart->scope]);
        text_grid_set(&list->grid, LIST_PROSE, "%s%s", chart->help,
                      chart->on_request ? "; only when asked for" : "");
    }
    return 0;
}

static const struct topic {
    const char *name;
    int (*fill)(struct listing *list, struct error *error);
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
    static const struct text_grid_column columns[LIST_COLUMNS] = {
        [LIST_NAME] = {.title = "name"},
        [LIST_FIRST_WORD] = {.title = ""},
        [LIST_SECOND_WORD] = {.title = ""},
        [LIST_PROSE] = {.title = "help", .kind = GRID_PROSE},
    };
    struct terminal_page page;
    struct listing list = {.grid = text_grid_of(columns, LIST_COLUMNS)};
    int code = topic->fill(&list, error);
    list.grid.no_titles = true;
    for (size_t c = LIST_FIRST_WORD; c < LIST_PROSE; c++)
        list.grid.column[c].hidden = !list.grid.row_count || !*list.grid.row[0].cell[c];
    if (!code) {
        terminal_page_open(&page, stdout);
        text_grid_print(&list.grid, TABLE_TEXT, &page.terminal, page.out);
        fputs(list.after.data ? list.after.data : "", page.out);
        terminal_page_close(&page);
    }
    text_free(&list.after);
    text_grid_free(&list.grid);
    return code;
}

static int list_run(const struct command_line *line)
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

static const struct flag flags[] = {{NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL}};

const struct command command_list = {
    .name = "list",
    .summary = "say what there is: workloads, datasets, strategies, merges, residencies, suites, "
               "experiments, devices, metrics, charts",
    .arguments = "[workloads|datasets|strategies|merges|residencies|suites|experiments|devices|"
                 "metrics|charts]",
    .most_positionals = 1,
    .flags = flags,
    .notes = "What can't be used is listed with the reason. Strategy options are set as in\n"
             "tagged:policy=v4; the values shown are the defaults.\n",
    .run = list_run,
};
