#include "cli/plan/plan_output.h"

#include <string.h>

#include "base/tree.h"

static json_t *name_or_null(const struct fun *fun, int name)
{
    return name == NO_NAME ? json_null() : tree_text(fun->names[name].text);
}

static json_t *decision_json(const struct fun *fun, const struct merge_event *e)
{
    json_t *json = tree_object();
    tree_put(json, "pass", tree_text(e->pass));
    tree_put(json, "action", tree_text(plan_action(e->action)));
    tree_put(json, "line", tree_count_or_null(e->at.line));
    tree_put(json, "array", name_or_null(fun, e->array));
    tree_put(json, "from", name_or_null(fun, e->from));
    tree_put(json, "into", name_or_null(fun, e->into));
    if (e->action == MERGE_MOVED)
        tree_put(json, "space", tree_text(space_name(e->space)));
    json_t *refused = json_null();
    if (e->refused != MERGE_ALLOWED) {
        refused = tree_object();
        tree_put(refused, "condition", tree_text(merge_condition_name(e->refused)));
        tree_put(refused, "label", tree_text(merge_condition_label(e->refused)));
        tree_put(refused, "sentence", tree_text(merge_condition_sentence(e->refused)));
        tree_put(refused, "detail", tree_text_or_null(e->detail));
    }
    tree_put(json, "refused", refused);
    return json;
}

static json_t *copies_json(const struct dry_run *run)
{
    static const char *const kinds[] = {
#define X(name, help) #name,
        COPY_KIND_LIST(X)
#undef X
    };
    json_t *json = tree_object();
    for (int k = 0; k < COPY_KINDS; k++) {
        json_t *kind = tree_object();
        tree_put(kind, "count", tree_count(run->copy[k].count));
        tree_put(kind, "bytes", tree_count(run->copy[k].bytes));
        tree_put(kind, "elided_count", tree_count(run->copy[k].elided_count));
        tree_put(kind, "elided_bytes", tree_count(run->copy[k].elided_bytes));
        tree_put(json, kinds[k], kind);
    }
    return json;
}

/* A ratio less 1; null where it says nothing. */
static json_t *excess(uint64_t bytes, uint64_t least)
{
    return least ? tree_number((double)bytes / (double)least - 1) : json_null();
}

static void put_counts(json_t *json, const struct merge_report *report,
                       const struct merge_report_row *row)
{
    static const char *const keys[] = {"alloc_count",
                                       "peak_scope_bytes",
                                       "peak_last_use_bytes",
                                       "live_lower_bound_bytes",
                                       "scope_gap",
                                       "over_best",
                                       "copies"};
    if (!report->counted) {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            tree_put(json, keys[i], json_null());
        return;
    }
    const struct dry_run *run = &row->last_use;
    json_t *const values[] = {tree_count(run->alloc_count),
                              tree_count(row->scope.peak_requested_bytes),
                              tree_count(run->peak_requested_bytes),
                              tree_count(run->live_lower_bound_bytes),
                              excess(row->scope.peak_requested_bytes, run->live_lower_bound_bytes),
                              excess(run->peak_requested_bytes, report->best_bytes),
                              copies_json(run)};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        tree_put(json, keys[i], values[i]);
}

static json_t *row_json(const struct merge_report *report, const struct merge_report_row *row)
{
    const struct merge *m = row->merge;
    json_t *json = tree_object(), *arena = json_null(), *decisions = tree_array();
    tree_put(json, "set", tree_text(row->set));
    tree_put(json, "chosen", tree_text_or_null(m->chosen));
    tree_put(json, "block_count", tree_count(row->block_count));
    put_counts(json, report, row);
    if (m->packed) {
        arena = tree_object();
        tree_put(arena, "bytes", tree_count((uint64_t)m->arena_bytes));
        tree_put(arena, "lower_bound_bytes", tree_count((uint64_t)m->arena_lower_bound));
        tree_put(arena, "proven", json_boolean(m->proven));
    }
    tree_put(json, "arena", arena);
    tree_put(json, "planning_ns", tree_count(row->planning_ns));
    for (unsigned i = 0; i < m->event_count; i++)
        tree_append(decisions, decision_json(m->fun, &m->events[i]));
    tree_put(json, "decisions", decisions);
    return json;
}

/* A number, or a list of them where there are several. */
static void put_scalar(json_t *scalars, const char *name, json_t *number)
{
    json_t *before = json_object_get(scalars, name);
    if (json_is_array(before)) {
        tree_append(before, number);
    } else if (before) {
        json_t *list = tree_array();
        tree_append(list, json_incref(before));
        tree_append(list, number);
        tree_put(scalars, name, list);
    } else {
        tree_put(scalars, name, number);
    }
}

json_t *plan_json(const struct merge_report *report, const struct plan_values *values)
{
    json_t *json = tree_object(), *scalars = tree_object(), *sets = tree_array();
    tree_put(json, "program", tree_text(report->fun->program->path));
    tree_put(json, "fun", tree_text(report->fun->name));
    tree_put(json, "dataset", tree_text_or_null(values->dataset));
    for (size_t i = 0; i < values->arguments.count; i++) {
        const struct named_value *v = &values->arguments.values[i];
        enum element element = v->array.element;
        put_scalar(scalars, v->name,
                   element_is_float(element)
                       ? tree_number(scalar_convert(v->scalar, element, ELEMENT_f64).f64)
                       : json_integer(scalar_convert(v->scalar, element, ELEMENT_i64).i64));
    }
    tree_put(json, "scalars", scalars);
    tree_put(json, "not_counted",
             tree_text_or_null(report->counted ? NULL : report->not_counted.text));
    for (size_t i = 0; i < report->row_count; i++)
        tree_append(sets, row_json(report, &report->rows[i]));
    tree_put(json, "sets", sets);
    return json;
}
