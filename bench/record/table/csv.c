#include "record/table/csv.h"

#include <string.h>

#include "base/tree.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "record/table/text_grid.h"

static const char *const key_members[] = {
#define X(member) #member,
    CASE_KEY_ALL_LIST(X)
#undef X
};

static void add_row(struct text_grid *grid, const json_t *root, const json_t *one_case,
                    const char *metric, const char *unit, const char *kind)
{
    const json_t *key = json_object_get(one_case, "key");
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", tree_get_text(json_object_get(root, "schema"), "version"));
    text_grid_add(grid, "%s", tree_get_text(one_case, "id"));
    for (size_t i = 0; i < sizeof key_members / sizeof *key_members; i++)
        text_grid_add(grid, "%s", tree_get_text(key, key_members[i]));
    text_grid_add(grid, "%s", tree_get_text(one_case, "status"));
    text_grid_add(grid, "%s", metric);
    text_grid_add(grid, "%s", unit);
    text_grid_add(grid, "%s", kind);
}

static void add_interval(struct text_grid *grid, const json_t *stats)
{
    text_grid_add_json(grid, json_object_get(stats, "median"));
    text_grid_add_json(grid, json_object_get(stats, "ci_lo"));
    text_grid_add_json(grid, json_object_get(stats, "ci_hi"));
}

static void add_metric(struct text_grid *grid, const json_t *root, const json_t *one_case,
                       const char *name, const json_t *metric)
{
    const char *kind = tree_get_text(metric, "kind");
    const json_t *stats = json_object_get(json_object_get(one_case, "stats"), name);
    const json_t *counters = json_object_get(one_case, "counters");
    add_row(grid, root, one_case, name, tree_get_text(metric, "unit"), kind);
    if (strcmp(kind, "sampled") == 0) {
        add_interval(grid, stats);
        text_grid_add_json(grid, json_object_get(stats, "cold_median"));
    } else {
        text_grid_add_json(grid, json_object_get(json_object_get(counters, "warm"), name));
        text_grid_skip(grid, 2);
        text_grid_add_json(grid, json_object_get(json_object_get(counters, "cold"), name));
    }
}

static void add_case(struct text_grid *grid, const json_t *root, const json_t *one_case)
{
    static const char *const predictions[][2] = {
#define X(name, help) {#name, "model." #name},
        MODEL_LIST(X)
#undef X
    };
    static const struct {
        const char *name, *unit, *kind;
    } others[] = {{"peak_over_best", "ratio", "exact"},
                  {"floor_ns", "ns", "sampled"},
                  {"of_floor", "ratio", "sampled"}};
    const json_t *model = json_object_get(one_case, "model");
    const char *name;
    json_t *metric;
    if (!case_is_ok(one_case)) {
        add_row(grid, root, one_case, "", "", "");
        return;
    }
    json_object_foreach(json_object_get(root, "metrics"), name, metric)
        add_metric(grid, root, one_case, name, metric);
    for (size_t i = 0; i < sizeof predictions / sizeof *predictions && json_is_object(model); i++) {
        add_row(grid, root, one_case, predictions[i][1], "ns", "sampled");
        text_grid_add_json(grid, json_object_get(model, predictions[i][0]));
    }
    add_row(grid, root, one_case, "speedup_over_raw", "ratio", "sampled");
    add_interval(grid, json_object_get(one_case, "speedup_over_raw"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add_row(grid, root, one_case, others[i].name, others[i].unit, others[i].kind);
        text_grid_add_json(grid, json_object_get(one_case, others[i].name));
    }
}

void csv_print(const json_t *root, FILE *out)
{
#define X(member) "|" #member
    struct text_grid grid = text_grid_of(
        "schema_version|id" CASE_KEY_ALL_LIST(X) "|status|metric|unit|kind|value|ci_lo|ci_hi|cold");
#undef X
    size_t i;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), i, one_case) add_case(&grid, root, one_case);
    text_grid_print(&grid, TABLE_CSV, NULL, out);
    text_grid_free(&grid);
}
