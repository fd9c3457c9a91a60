#include "tests/merge/memory_fixture.h"

#include <string.h>

#include "record/facts/address_map.h"
#include "record/facts/latency.h"
#include "record/facts/timeline.h"
#include "base/tree.h"

enum { KIB = 1024 };

static json_t *timeline(bool caches)
{
    static const uint64_t kib[][3] = {/* step, requested, reserved by one that caches */
                                      {0, 100, 128},
                                      {2, 140, 192},
                                      {5, 100, 192},
                                      {6, 160, 256},
                                      {10, 100, 256}};
    struct timeline t = {.stride = 1};
    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++) {
        struct timeline_point p = {.step = kib[i][0], .at_ns = 1000 * kib[i][0]};
        p.most[TIMELINE_requested] = kib[i][1] * KIB;
        p.most[TIMELINE_granted] = p.most[TIMELINE_requested] + 512;
        p.most[TIMELINE_reserved] = caches ? kib[i][2] * KIB : p.most[TIMELINE_granted];
        p.most[TIMELINE_spare] = p.most[TIMELINE_reserved] - p.most[TIMELINE_granted];
        p.most[TIMELINE_live] = p.most[TIMELINE_requested] - 20 * KIB;
        memcpy(p.least, p.most, sizeof p.least);
        timeline_add(&t, &p);
    }
    return timeline_to_json(&t);
}

static json_t *map(bool caches)
{
    static struct address_map m;
    map_open(&m);
    struct map_block shared = {
        .memory = 7, .bytes = 100 * KIB, .requested = 100 * KIB, .born = 0, .tag = "shared_mem"};
    struct map_block small = {
        .memory = 8, .bytes = 40 * KIB, .requested = 40 * KIB, .born = 2, .tag = "small_mem"};
    struct map_block next = {.memory = caches ? 9 : 8,
                             .bytes = 60 * KIB,
                             .requested = 60 * KIB,
                             .born = 6,
                             .tag = "next_mem"};
    int row = map_add_block(&m, &shared);
    map_add_array(&m, row, "left", 0, 50 * KIB, 1);
    map_add_array(&m, row, "whole", 0, 100 * KIB, 3);
    map_add_array(&m, row, "part", 60 * KIB, 20 * KIB, 4);
    map_use_array(&m, row, "whole", 0, 100 * KIB, 9);
    map_use_array(&m, row, "part", 60 * KIB, 20 * KIB, 7);
    row = map_add_block(&m, &small);
    map_end_block(&m, row, 5);
    if (!caches)
        map_end_memory(&m, 8, 5);
    row = map_add_block(&m, &next);
    map_end_block(&m, row, 10);
    if (!caches)
        map_end_memory(&m, 8, 10);
    return map_to_json(&m);
}

static json_t *calls(unsigned runs, unsigned count, uint64_t ns, bool releases)
{
    struct latency alloc = {0}, release = {0}, none = {0};
    for (unsigned i = 0; i < runs * count; i++) {
        latency_add(&alloc, ns + ns * (i % 10) / 10);
        if (releases)
            latency_add(&release, 3 * ns + 7 * i);
    }
    json_t *json = tree_object();
    tree_put(json, "runs", tree_count(runs));
    tree_put(json, "alloc", latency_to_json(&alloc));
    tree_put(json, "free", latency_to_json(&release));
    tree_put(json, "alloc_driver", latency_to_json(&none));
    tree_put(json, "free_driver", latency_to_json(&none));
    return json;
}

json_t *memory_fixture(bool caches)
{
    json_t *json = tree_object(), *latency = tree_object();
    tree_put(latency, "cold", calls(1, 3, caches ? 900 : 1000, true));
    tree_put(latency, "warm", calls(20, 3, caches ? 30 : 1000, !caches));
    tree_put(json, "timer_ns", tree_count(17));
    tree_put(json, "steps", tree_count(12));
    tree_put(json, "timeline", timeline(caches));
    tree_put(json, "map", map(caches));
    tree_put(json, "latency", latency);
    return json;
}

void memory_fixture_add(struct result_draft *result)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(result->root, "cases"), i, each)
    {
        const char *strategy = tree_get_text(json_object_get(each, "key"), "strategy");
        if (strcmp(tree_get_text(each, "status"), case_status_name(CASE_ok)) == 0)
            tree_put(each, "memory", memory_fixture(strcmp(strategy, "raw") != 0));
    }
}
