/* Prints what merging did to a program, as tables and as JSON. */
#include "cli/plan/plan_output.h"

#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "results/show/text_grid.h"

static const struct {
    const char *done, *refused;
} actions[] = {
    [MERGE_HOISTED] = {"hoisted", "stays where it is allocated"},
    [MERGE_COALESCED] = {"coalesced", "is not coalesced"},
    [MERGE_REUSED] = {"reused", "is not reused"},
    [MERGE_PACKED] = {"packed", "is not packed"},
    [MERGE_MOVED] = {"moved", "stays in its space"},
};

/* The participle of an action: "hoisted". */
static const char *plan_action(enum merge_action action)
{
    return actions[action].done;
}

/* ---- the table ------------------------------------------------------------------------------ */

static void add_excess(struct text_grid *grid, uint64_t bytes, uint64_t least)
{
    if (least)
        text_grid_add(grid, "%+.1f %%", 100 * ((double)bytes / (double)least - 1));
    else
        text_grid_skip(grid, 1);
}

static void add_copies(struct text_grid *grid, uint64_t count, uint64_t bytes)
{
    char size[32];
    if (count)
        text_grid_add(grid, "%llu (%s)", (unsigned long long)count, text_bytes(size, bytes));
    else
        text_grid_add(grid, "0");
}

static void add_row(struct text_grid *grid, const struct merge_report *report,
                    const struct merge_report_row *row)
{
    const struct dry_run *run = &row->last_use;
    const struct copy_counts copies = dry_run_copies(run);
    char arena[32];
    struct text_grid_row *cells = text_grid_add_row(grid);
    text_grid_add(grid, "%s", row->set);
    text_grid_add(grid, "%u", row->block_count);
    if (report->counted) {
        text_grid_add(grid, "%llu", (unsigned long long)run->alloc_count);
        text_grid_add_bytes(grid, row->scope.peak_requested_bytes);
        text_grid_add_bytes(grid, run->peak_requested_bytes);
        text_grid_add_bytes(grid, run->live_lower_bound_bytes);
        add_excess(grid, row->scope.peak_requested_bytes, run->live_lower_bound_bytes);
        add_excess(grid, merge_report_peak(report, row), report->best_bytes);
        add_copies(grid, copies.count, copies.bytes);
        add_copies(grid, copies.elided_count, copies.elided_bytes);
    }
    cells->added = grid->column_count - 2;
    if (row->merge->packed)
        text_grid_add(grid, "%s, %s", text_bytes(arena, (uint64_t)row->merge->arena_bytes),
                      row->merge->proven ? "optimal" : "not proven");
    cells->added = grid->column_count - 1;
    text_grid_add_ns(grid, (double)row->planning_ns);
}

static void print_table(const struct merge_report *report, struct terminal_page *page)
{
    struct text_grid grid = text_grid_of(
        "set|>blocks^8|>allocations^7|>peak, scope|>peak, last use|>lower bound^1|>scope over it^4|"
        ">over best^2|>copies^3|>elided^5|>arena^6|>planned in^9");
    grid.indent = 2;
    grid.complete = "--format json has all";
    for (size_t r = 0; r < report->row_count; r++)
        add_row(&grid, report, &report->rows[r]);
    text_grid_print(&grid, TABLE_TEXT, &page->terminal, page->out);
    text_grid_free(&grid);
}

/* ---- the decisions -------------------------------------------------------------------------- */

static const char *text_of(const struct fun *fun, int name)
{
    return name == NO_NAME ? "-" : fun->names[name].text;
}

static void print_event(const struct fun *fun, const struct merge_event *e, FILE *out)
{
    fprintf(out, "    line %-4u %-10s ", e->at.line, plan_action(e->action));
    if (e->array != NO_NAME)
        fprintf(out, "%s: ", text_of(fun, e->array));
    fprintf(out, "%s", text_of(fun, e->from));
    if (e->into != NO_NAME)
        fprintf(out, " -> %s", text_of(fun, e->into));
    if (e->refused != MERGE_ALLOWED)
        fprintf(out, "  %s %s", merge_condition_label(e->refused),
                merge_condition_sentence(e->refused));
    if (e->detail)
        fprintf(out, "%s%s%s", e->refused ? " (" : "  ", e->detail, e->refused ? ")" : "");
    fputc('\n', out);
}

static void print_events(const struct merge *m, bool refused, FILE *out)
{
    unsigned count = 0;
    for (unsigned i = 0; i < m->event_count; i++) {
        const struct merge_event *e = &m->events[i];
        if ((e->refused != MERGE_ALLOWED) != refused || e->further)
            continue;
        if (!count++)
            fprintf(out, "  %s:\n", refused ? "refused" : "merged");
        print_event(m->fun, e, out);
    }
}

/* "best: merged, then packed" */
static void print_heading(const struct merge_report_row *row, FILE *out)
{
    const struct merge *m = row->merge;
    fprintf(out, "%s%s%s%s", row->set, m->chosen ? ": " : "", m->chosen ? m->chosen : "",
            m->estimated ? "; chosen by an estimate, because not all bytes are counted" : "");
    fprintf(out, "%s%s\n", m->uncounted ? ": not those of " : "", m->uncounted ? m->uncounted : "");
}

void plan_print_table(const struct merge_report *report, FILE *out)
{
    struct terminal_page page;
    terminal_page_open(&page, out);
    out = page.out;
    print_table(report, &page);
    for (size_t r = 0; r < report->row_count; r++) {
        const struct merge *m = report->rows[r].merge;
        if (!m->event_count)
            continue;
        fputc('\n', out);
        print_heading(&report->rows[r], out);
        print_events(m, false, out);
        print_events(m, true, out);
    }
    terminal_page_close(&page);
}

/* ---- why ------------------------------------------------------------------------------------ */

static bool is_about(const struct fun *fun, const struct merge_event *e, const char *name)
{
    const int names[] = {e->array, e->from, e->into};
    for (int i = 0; i < 3; i++)
        if (names[i] != NO_NAME && strcmp(fun->names[names[i]].text, name) == 0)
            return true;
    return false;
}

/* "coalesce: y moves from block y_mem into z_mem." */
static void print_sentence(const struct fun *fun, const struct merge_event *e, FILE *out)
{
    const char *array = text_of(fun, e->array), *from = text_of(fun, e->from);
    const bool refused = e->refused != MERGE_ALLOWED;
    fprintf(out, "  %s: ", e->pass);
    if (e->action == MERGE_HOISTED)
        fprintf(out, "block '%s' is %sallocated earlier", from, refused ? "not " : "");
    else if (e->action == MERGE_MOVED)
        fprintf(out, "block '%s' %s %s memory", from, refused ? "does not go to" : "goes to",
                space_name(e->space));
    else if (e->array != NO_NAME && e->into != NO_NAME)
        fprintf(out, "'%s' %s block '%s' %s '%s'", array, refused ? "stays in" : "leaves", from,
                refused ? "and does not move into" : "for", text_of(fun, e->into));
    else if (e->array != NO_NAME)
        fprintf(out, "'%s' %s block '%s'", array, refused ? "stays in" : "leaves", from);
    else if (e->into != NO_NAME)
        fprintf(out, "block '%s' %s of '%s'", from,
                refused ? "does not become part" : "becomes part", text_of(fun, e->into));
    else
        fprintf(out, "block '%s' %s", from,
                refused ? actions[e->action].refused : actions[e->action].done);
    if (refused)
        fprintf(out, ": %s (%s)", merge_condition_sentence(e->refused),
                merge_condition_label(e->refused));
    if (e->detail)
        fprintf(out, "; %s", e->detail);
    fputs(".\n", out);
    for (const char *line = e->proof; line && *line; line += strcspn(line, "\n"), line += !!*line)
        fprintf(out, "    %.*s\n", (int)strcspn(line, "\n"), line);
    const char *source = program_line(fun->program, e->at.line);
    if (source)
        fprintf(out, "    %s:%u: %.*s\n", fun->program->path, e->at.line,
                (int)strcspn(source, "\n"), source);
}

/* Arrays and blocks, those of the program as it is written first. */
static const char *fun_name_at(void *context, size_t i)
{
    const struct fun *fun = context;
    return i < fun->name_count ? fun->names[i].text : NULL;
}

static bool has_name(const struct merge_report *report, const char *name)
{
    for (size_t r = 0; r < report->row_count; r++) {
        const struct fun *fun = report->rows[r].merge->fun;
        for (unsigned n = 0; n < fun->name_count; n++)
            if (fun->names[n].kind != NAME_SCALAR && strcmp(fun->names[n].text, name) == 0)
                return true;
    }
    return false;
}

int plan_print_why(const struct merge_report *report, const char *name, FILE *out,
                   struct error *error)
{
    if (!has_name(report, name)) {
        int nearest = text_nearest(name, fun_name_at, (void *)report->fun);
        return error_set(error, ERR_USAGE, "%s has no array or block '%s'%s%s%s", report->fun->name,
                         name, nearest >= 0 ? " (did you mean " : "",
                         nearest >= 0 ? report->fun->names[nearest].text : "",
                         nearest >= 0 ? "?)" : "");
    }
    struct terminal_page page;
    terminal_page_open(&page, out);
    out = page.out;
    for (size_t r = 0; r < report->row_count; r++) {
        const struct merge *m = report->rows[r].merge;
        unsigned found = 0;
        print_heading(&report->rows[r], out);
        for (unsigned i = 0; i < m->event_count; i++)
            if (is_about(m->fun, &m->events[i], name)) {
                print_sentence(m->fun, &m->events[i], out);
                found++;
            }
        if (!found)
            fprintf(out, "  no pass had anything to decide about '%s'\n", name);
    }
    terminal_page_close(&page);
    return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *name_or_null(const struct fun *fun, int name)
{
    return name == NO_NAME ? json_null() : tree_text(fun->names[name].text);
}

static json_t *decision_json(const struct fun *fun, const struct merge_event *e)
{
    json_t *refused = json_null();
    if (e->refused != MERGE_ALLOWED)
        refused =
            tree_pack("{s:s, s:s, s:s, s:o}", "condition", merge_condition_name(e->refused),
                      "label", merge_condition_label(e->refused), "sentence",
                      merge_condition_sentence(e->refused), "detail", tree_text_or_null(e->detail));
    json_t *json = tree_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "pass", e->pass, "action",
                             plan_action(e->action), "line", tree_count_or_null(e->at.line),
                             "array", name_or_null(fun, e->array), "from",
                             name_or_null(fun, e->from), "into", name_or_null(fun, e->into));
    if (e->action == MERGE_MOVED)
        tree_put(json, "space", tree_text(space_name(e->space)));
    tree_put(json, "refused", refused);
    tree_put(json, "proof", tree_text_or_null(e->proof));
    return json;
}

static json_t *copies_json(const struct dry_run *run)
{
    static const char *const kinds[] = {COPY_KIND_LIST(TEXT_NAME)};
    json_t *json = tree_object();
    for (int k = 0; k < COPY_KINDS; k++) {
        const struct copy_counts *copy = &run->copy[k];
        tree_put(json, kinds[k],
                 tree_pack("{s:o, s:o, s:o, s:o}", "count", tree_count(copy->count), "bytes",
                           tree_count(copy->bytes), "elided_count", tree_count(copy->elided_count),
                           "elided_bytes", tree_count(copy->elided_bytes)));
    }
    return json;
}

/* A ratio less 1; null if it says nothing. */
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
                              excess(merge_report_peak(report, row), report->best_bytes),
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
    tree_put(json, "estimated", json_boolean(m->estimated));
    tree_put(json, "uncounted", tree_text_or_null(m->uncounted));
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
        if (!m->events[i].further)
            tree_append(decisions, decision_json(m->fun, &m->events[i]));
    tree_put(json, "decisions", decisions);
    return json;
}

/* A number; an array if there are several. */
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
    for (size_t i = 0; values->known && i < values->known->count; i++) {
        const struct named_value *v = &values->known->values[i];
        enum element element = v->array.element;
        if (v->array.data)
            continue;
        put_scalar(scalars, v->name,
                   element_is_float(element)
                       ? tree_number(scalar_convert(v->scalar, element, ELEMENT_f64).f64)
                       : json_integer(scalar_convert(v->scalar, element, ELEMENT_i64).i64));
    }
    tree_put(json, "scalars", scalars);
    tree_put(json, "values_from",
             values->known ? tree_text(readings_from_name(values->readings.from)) : json_null());
    tree_put(json, "not_counted",
             tree_text_or_null(report->counted ? NULL : report->not_counted.text));
    for (size_t i = 0; i < report->row_count; i++)
        tree_append(sets, row_json(report, &report->rows[i]));
    tree_put(json, "sets", sets);
    return json;
}
