#include "tests/results/show/chart_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "tests/results/file/experiment_fixture.h"
#include "tests/results/file/record_fixture.h"

/* The fixture as if all were run under pool: tagged stands for no merging, raw and pool for two
 * sets. */
static struct result_tree merged_fixture(void)
{
    struct result_tree result = record_fixture(6);
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(result.root, "cases"), i, each)
    {
        json_t *key = json_object_get(each, "key");
        const char *strategy = tree_get_text(key, "strategy");
        const char *merge = strcmp(strategy, "pool") == 0     ? "best"
                            : strcmp(strategy, "raw") == 0    ? "reuse"
                            : strcmp(strategy, "tagged") == 0 ? "none"
                                                              : NULL;
        json_t *warm = json_object_get(json_object_get(each, "counters"), "warm");
        json_t *cold = json_object_get(json_object_get(each, "counters"), "cold");
        if (!merge || strcmp(tree_get_text(key, "device"), "host") != 0)
            continue;
        if (strcmp(merge, "best") == 0 && cold) {
            tree_put(warm, "peak_requested_bytes", tree_count(15 << 20));
            tree_put(cold, "peak_requested_bytes", tree_count(10 << 20));
            tree_put(warm, "live_lower_bound_bytes", tree_count(14 << 20));
            tree_put(cold, "live_lower_bound_bytes", tree_count(14 << 20));
        }
        tree_put(key, "merge", tree_text(merge));
        tree_put(key, "strategy", tree_text("pool"));
    }
    result_tree_summarise(result.root);
    return result;
}

/* JSON with single quotes. */
static json_t *quoted(const char *json)
{
    struct text text = {0};
    text_add(&text, "%s", json);
    for (char *c = text.data; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *tree = json_loads(text.data, 0, NULL);
    text_free(&text);
    return tree;
}

/* As gamut fit prints them; a strategy that could not be fitted has no capacity. */
static json_t *fits(void)
{
    return quoted("[{'id': 'fit1', 'trace': 'a', 'strategy': 'caching', 'capacity_bytes': 1300, "
                  "'lower_bound_bytes': 900,"
                  "  'optimum_bytes': 1000, 'proven': true, 'reserved_bytes': 2600,"
                  "  'regret': 2.6, 'driver_ns': 9000, 'request_count': 3},"
                  " {'id': 'fit2', 'trace': 'a', 'strategy': 'vmm', 'capacity_bytes': 1050, "
                  "'lower_bound_bytes': 900,"
                  "  'optimum_bytes': 1000, 'proven': true, 'reserved_bytes': 1100,"
                  "  'regret': 1.1, 'driver_ns': 36000, 'request_count': 3},"
                  " {'id': 'fit3', 'trace': 'b', 'strategy': 'vmm', 'capacity_bytes': 70, "
                  "'lower_bound_bytes': 50,"
                  "  'optimum_bytes': 60, 'proven': false, 'reserved_bytes': null},"
                  " {'id': 'fit4', 'trace': 'b', 'strategy': 'stream', 'capacity_bytes': null, "
                  "'lower_bound_bytes': 50,"
                  "  'optimum_bytes': 60, 'proven': false, 'reserved_bytes': null}]");
}

struct result_tree chart_fixture(void)
{
    struct result_tree result = merged_fixture();
    struct atlas atlas = atlas_fixture();
    snprintf(atlas.device, sizeof atlas.device, "host");
    for (uint64_t bytes = 4096; bytes <= 1 << 24; bytes *= 64) {
        uint64_t free_ns = 3000 + bytes / 1000, copy_ns = 2000 + bytes / 500;
        struct atlas_point freed = {.bytes = bytes}, copied = {.bytes = bytes};
        atlas_summarise(&freed, &free_ns, 1);
        atlas_summarise(&copied, &copy_ns, 1);
        atlas_add_point(atlas_curve_of(&atlas, "raw", "free"), &freed);
        atlas_add_point(atlas_curve_of(&atlas, "command", "copy"), &copied);
    }
    struct result_draft draft = result_tree_draft(result.root);
    draft_set_atlas(&draft, &atlas);
    atlas_free(&atlas);
    result_tree_put(result.root, &draft);
    experiment_fixture_add(&result, "host");
    tree_put(result.root, "fits", fits());
    return result;
}
