#include "record/table/csv.h"

#include <string.h>

#include "base/tree.h"
#include "record/facts/case.h"
#include "record/table/text_grid.h"

/* X(NAME, title); the members of a case's key stand between these two lists. */
#define LAST_COLUMN_LIST(X)                                                                        \
    X(STATUS, "status")                                                                            \
    X(METRIC, "metric")                                                                            \
    X(UNIT, "unit")                                                                                \
    X(KIND, "kind")                                                                                \
    X(VALUE, "value")                                                                              \
    X(CI_LO, "ci_lo")                                                                              \
    X(CI_HI, "ci_hi")                                                                              \
    X(COLD, "cold")

enum csv_column {
    CSV_VERSION,
    CSV_ID,
#define X(member) CSV_KEY_##member,
    CASE_KEY_ALL_LIST(X)
#undef X
#define X(name, title) CSV_##name,
        LAST_COLUMN_LIST(X)
#undef X
            CSV_COLUMNS
};

static const struct text_grid_column columns[CSV_COLUMNS] = {{.title = "schema_version"},
                                                             {.title = "id"},
#define X(member) {.title = #member},
                                                             CASE_KEY_ALL_LIST(X)
#undef X
#define X(name, label) {.title = label},
                                                                 LAST_COLUMN_LIST(X)
#undef X
};

static void add_row(struct text_grid *grid, const json_t *root, const json_t *one_case,
                    const char *metric, const char *unit, const char *kind)
{
    const json_t *key = json_object_get(one_case, "key");
    text_grid_add_row(grid);
    text_grid_put(grid, CSV_VERSION, tree_get_text(json_object_get(root, "schema"), "version"));
    text_grid_put(grid, CSV_ID, tree_get_text(one_case, "id"));
    for (size_t c = CSV_ID + 1; c < CSV_STATUS; c++)
        text_grid_put(grid, c, tree_get_text(key, columns[c].title));
    text_grid_put(grid, CSV_STATUS, tree_get_text(one_case, "status"));
    text_grid_put(grid, CSV_METRIC, metric);
    text_grid_put(grid, CSV_UNIT, unit);
    text_grid_put(grid, CSV_KIND, kind);
}

static void put_interval(struct text_grid *grid, const json_t *stats)
{
    text_grid_put_json(grid, CSV_VALUE, json_object_get(stats, "median"));
    text_grid_put_json(grid, CSV_CI_LO, json_object_get(stats, "ci_lo"));
    text_grid_put_json(grid, CSV_CI_HI, json_object_get(stats, "ci_hi"));
}

static void add_metric(struct text_grid *grid, const json_t *root, const json_t *one_case,
                       const char *name, const json_t *metric)
{
    const char *kind = tree_get_text(metric, "kind");
    const json_t *stats = json_object_get(json_object_get(one_case, "stats"), name);
    const json_t *counters = json_object_get(one_case, "counters");
    add_row(grid, root, one_case, name, tree_get_text(metric, "unit"), kind);
    if (strcmp(kind, "sampled") == 0) {
        put_interval(grid, stats);
        text_grid_put_json(grid, CSV_COLD, json_object_get(stats, "cold_median"));
    } else {
        text_grid_put_json(grid, CSV_VALUE,
                           json_object_get(json_object_get(counters, "warm"), name));
        text_grid_put_json(grid, CSV_COLD,
                           json_object_get(json_object_get(counters, "cold"), name));
    }
}

/* Predictions of a case that has a model. */
static void add_model(struct text_grid *grid, const json_t *root, const json_t *one_case)
{
    static const char *const names[][2] = {
#define X(name, help) {#name, "model." #name},
        MODEL_LIST(X)
#undef X
    };
    const json_t *model = json_object_get(one_case, "model");
    for (size_t i = 0; i < sizeof names / sizeof *names && json_is_object(model); i++) {
        add_row(grid, root, one_case, names[i][1], "ns", "sampled");
        text_grid_put_json(grid, CSV_VALUE, json_object_get(model, names[i][0]));
    }
}

static void add_case(struct text_grid *grid, const json_t *root, const json_t *one_case)
{
    const char *name;
    json_t *metric;
    if (strcmp(tree_get_text(one_case, "status"), case_status_name(CASE_ok)) != 0) {
        add_row(grid, root, one_case, "", "", "");
        return;
    }
    json_object_foreach(json_object_get(root, "metrics"), name, metric)
        add_metric(grid, root, one_case, name, metric);
    add_model(grid, root, one_case);
    add_row(grid, root, one_case, "speedup_over_raw", "ratio", "sampled");
    put_interval(grid, json_object_get(one_case, "speedup_over_raw"));
    add_row(grid, root, one_case, "peak_over_best", "ratio", "exact");
    text_grid_put_json(grid, CSV_VALUE, json_object_get(one_case, "peak_over_best"));
    add_row(grid, root, one_case, "floor_ns", "ns", "sampled");
    text_grid_put_json(grid, CSV_VALUE, json_object_get(one_case, "floor_ns"));
    add_row(grid, root, one_case, "of_floor", "ratio", "sampled");
    text_grid_put_json(grid, CSV_VALUE, json_object_get(one_case, "of_floor"));
}

void csv_print(const json_t *root, FILE *out)
{
    struct text_grid grid = text_grid_of(columns, CSV_COLUMNS);
    size_t i;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), i, one_case) add_case(&grid, root, one_case);
    text_grid_print(&grid, TABLE_CSV, NULL, out);
    text_grid_free(&grid);
}
