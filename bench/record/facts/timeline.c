#include "record/facts/timeline.h"

#include <stdio.h>

#include "base/tree.h"

static const char *const quantity_names[] = {
#define X(name, help) #name "_bytes",
    TIMELINE_LIST(X)
#undef X
};

static void widen(struct timeline_point *point, const struct timeline_point *by)
{
    for (int q = 0; q < TIMELINE_QUANTITIES; q++) {
        if (by->least[q] < point->least[q])
            point->least[q] = by->least[q];
        if (by->most[q] > point->most[q])
            point->most[q] = by->most[q];
    }
}

static void halve(struct timeline *t)
{
    for (size_t i = 0; i < t->count; i += 2) {
        t->points[i / 2] = t->points[i];
        widen(&t->points[i / 2], &t->points[i + 1]);
    }
    t->count /= 2;
    t->stride *= 2;
}

void timeline_add(struct timeline *t, const struct timeline_point *event)
{
    if (t->event_count == t->stride * TIMELINE_POINTS)
        halve(t);
    if (t->event_count++ % t->stride == 0)
        t->points[t->count++] = *event;
    else
        widen(&t->points[t->count - 1], event);
}

json_t *timeline_to_json(const struct timeline *t)
{
    json_t *json = tree_object(), *step = tree_array(), *at = tree_array();
    for (size_t i = 0; i < t->count; i++) {
        tree_append(step, tree_count(t->points[i].step));
        tree_append(at, tree_count(t->points[i].at_ns));
    }
    tree_put(json, "events", tree_count(t->event_count));
    tree_put(json, "stride", tree_count(t->stride));
    tree_put(json, "step", step);
    tree_put(json, "at_ns", at);
    for (int q = 0; q < TIMELINE_QUANTITIES; q++) {
        json_t *most = tree_array(), *least = tree_array();
        char name[64];
        for (size_t i = 0; i < t->count; i++) {
            tree_append(most, tree_count(t->points[i].most[q]));
            tree_append(least, tree_count(t->points[i].least[q]));
        }
        tree_put(json, quantity_names[q], most);
        snprintf(name, sizeof name, "least_%s", quantity_names[q]);
        if (t->stride > 1)
            tree_put(json, name, least);
        else
            json_decref(least);
    }
    return json;
}
