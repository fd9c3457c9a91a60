#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/text.h"
#include "cli/commands.h"
#include "experiment/experiment.h"
#include "merge/list.h"
#include "merge/merge.h"
#include "merge/merge.h"
#include "record/chart/chart.h"
#include "record/facts/counters.h"
#include "base/tree.h"
#include "residency/residency.h"
#include "run/select/catalogue.h"
#include "run/rounds/devices.h"
#include "run/select/select.h"
#include "run/select/suite.h"

static int list_workloads(struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    if (code)
        return code;
    for (size_t i = 0; i < catalogue.entry_count; i++)
        printf("%-24s %s\n", catalogue.entries[i].name, catalogue.entries[i].program->path);
    catalogue_close(&catalogue);
    return 0;
}

static int list_datasets(struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    if (code)
        return code;
    for (size_t i = 0; i < catalogue.entry_count; i++) {
        const struct program *program = catalogue.entries[i].program;
        printf("%-24s", catalogue.entries[i].name);
        for (unsigned d = 0; d < program->dataset_count; d++)
            printf(" %s", program->datasets[d].name);
        putchar('\n');
    }
    catalogue_close(&catalogue);
    return 0;
}

static void print_options(const struct option_spec *options, int indent)
{
    for (const struct option_spec *o = options; o && o->name; o++) {
        printf("%-*s :%s=%s", indent, "", o->name, o->fallback);
        if (o->choices)
            printf(" (%s)", o->choices);
        printf("  %s\n", o->help);
    }
}

static int list_strategies(struct error *error)
{
    (void)error;
    size_t count;
    const struct allocator_ops *const *ops = allocator_list(&count);
    for (size_t i = 0; i < count; i++) {
        printf("%-10s %s\n%-10s from: %s\n", ops[i]->name, ops[i]->summary, "", ops[i]->origin);
        print_options(ops[i]->options, 10);
    }
    printf("%-10s have these options as well\n", "all");
    print_options(allocator_options, 10);
    return 0;
}

static int list_experiments(struct error *error)
{
    (void)error;
    size_t count;
    const struct experiment *const *all = experiment_list(&count);
    for (size_t i = 0; i < count; i++) {
        printf("%-16s %s\n", all[i]->name, all[i]->summary);
        print_options(all[i]->options, 16);
    }
    return 0;
}

static int list_residencies(struct error *error)
{
    (void)error;
    size_t count;
    const struct residency_strategy *list = residency_list(&count);
    for (size_t i = 0; i < count; i++) {
        printf("%-10s %s\n%-10s from: %s\n", list[i].name, list[i].summary, "", list[i].origin);
        print_options(list[i].options, 10);
    }
    return 0;
}

static int list_merges(struct error *error)
{
    (void)error;
    puts("sets");
    for (const struct merge_set *s = merge_sets; s->name; s++) {
        printf("  %-15s %s\n%18spasses:", s->name, s->help, "");
        for (const struct merge_ops *const *pass = s->passes; *pass; pass++)
            printf(" %s", (*pass)->name);
        puts(*s->passes ? "" : " none");
    }
    puts("passes");
#define X(pass) printf("  %-15s %s\n", merge_##pass.name, merge_##pass.help);
    MERGE_PASS_LIST(X)
#undef X
    puts("extensions, added to a set as in coalesce:with=views|disjoint");
    for (unsigned e = 0; e < EXTENSION_COUNT; e++)
        printf("  %-15s %s\n", merge_extension_name(e), merge_extension_sentence(e));
    return 0;
}

static int list_devices(struct error *error)
{
    struct found_device *devices;
    size_t count;
    struct text missing = {0};
    int code = devices_find("", false, &devices, &count, &missing, error);
    for (size_t i = 0; i < count; i++) {
        const struct device_info *d = &devices[i].info;
        char memory[32];
        printf("%-10s %s, %s%s%s%s%s, %u units\n", d->id, d->name,
               text_bytes(memory, d->memory_bytes), *d->platform ? ", " : "", d->platform,
               *d->driver ? ", driver " : "", d->driver, d->compute_units);
    }
    if (!code && missing.length)
        printf("not found:\n%s", missing.data);
    text_free(&missing);
    free(devices);
    return code;
}

static int list_metrics(struct error *error)
{
    static const char *const kinds[] = {[KIND_SAMPLED] = "sampled", [KIND_EXACT] = "exact"};
    static const char *const betters[] = {
        [BETTER_LOWER] = "lower", [BETTER_HIGHER] = "higher", [BETTER_NEITHER] = "neither"};
    (void)error;
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        printf("%-28s %-8s %-8s %s\n", list[i].name, kinds[list[i].kind], betters[list[i].better],
               list[i].help);
    return 0;
}

static int list_suites(struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    for (const struct builtin_suite *b = builtin_suites; b->name && !code; b++) {
        struct suite suite;
        code = suite_open(b->name, &catalogue, &suite, error);
        if (code)
            break;
        printf("%-16s %s\n%16s rows:", b->name, tree_get_text(suite.json, "title"), "");
        const json_t *rows = json_object_get(suite.json, "rows");
        for (size_t i = 0; i < json_array_size(rows); i++)
            printf("%s %s", i ? "," : "", tree_get_text(json_array_get(rows, i), "name"));
        putchar('\n');
        suite_close(&suite);
    }
    catalogue_close(&catalogue);
    return code;
}

static int list_charts(struct error *error)
{
    static const char *const of[] = {[CHART_OF_DEVICE] = "device",
                                     [CHART_OF_STRATEGY] = "strategy",
                                     [CHART_OF_WORKLOAD] = "workload"};
    const struct chart *chart;
    (void)error;
    for (size_t i = 0; (chart = chart_at(i)); i++)
        printf("%-16s one a %-9s %s%s\n", chart->name, of[chart->scope], chart->help,
               chart->on_request ? "; only when asked for" : "");
    return 0;
}

static const struct topic {
    const char *name;
    int (*list)(struct error *error);
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

static int run(const struct command_line *line)
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
        if (topics[i].list(&error))
            return report_error(&error);
    }
    if (found)
        return EXIT_OK;
    int nearest = text_nearest(word, topic_name, NULL);
    error_set(&error, ERR_USAGE, "there is no list of '%s'%s%s%s; there are: %s", word,
              nearest >= 0 ? " (did you mean " : "", nearest >= 0 ? topics[nearest].name : "",
              nearest >= 0 ? "?)" : "", line->command->arguments);
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
    .run = run,
};
