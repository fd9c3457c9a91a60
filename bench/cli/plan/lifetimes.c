/* Plans offsets for the buffers of a CSV file, and judges those that it has. */
#include "cli/plan/plan_output.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/tree.h"
#include "merge/pack/pack.h"
#include "trace/lifetime_table.h"

static const char given_method[] = "the offsets of the file";

/* What a planner of another project makes of the buffers. */
struct planned {
    const char *name;
    int64_t height; /* 0: there was no plan in time */
    int64_t elapsed_ns;
};

struct lifetimes {
    const struct lifetimes_options *options;
    struct lifetime_table table;
    struct pack_buffer *buffers; /* of the table */
    struct pack_result result;
    struct pack_judgement given; /* if the table has offsets */
    struct text reason;          /* why the given offsets are no plan; empty if they are one */
    struct planned *planned;     /* by the planners that were asked for */
    size_t planned_count;
};

static int64_t at_most_int64(uint64_t value)
{
    return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

/* The distance of a height above `base`, as a ratio less 1. */
static double over(int64_t height, int64_t base)
{
    return (double)(height - base) / (base ? (double)base : 1);
}

static void add_name(struct text *text, const struct lifetime_table *table, size_t buffer)
{
    text_add(text, "'");
    lifetime_table_id(table, buffer, text);
    text_add(text, "'");
}

static void explain_given(struct lifetimes *l)
{
    const struct lifetime_table *table = &l->table;
    const struct pack_judgement *given = &l->given;
    const size_t a = given->first, b = given->second;
    struct text *reason = &l->reason;
    if (given->verdict == PACK_MISPLACED) {
        add_name(reason, table, a);
        text_add(reason, " is at %lld; expected a multiple of %lld, 0 or more and not too large",
                 (long long)table->offset[a], (long long)table->buffers[a].alignment);
    } else if (given->verdict == PACK_OVERLAP) {
        add_name(reason, table, a);
        text_add(reason, " (%lld bytes at %lld) and ", (long long)table->buffers[a].size,
                 (long long)table->offset[a]);
        add_name(reason, table, b);
        text_add(reason, " (%lld bytes at %lld) overlap and are both alive at %lld",
                 (long long)table->buffers[b].size, (long long)table->offset[b],
                 (long long)given->time);
    }
}

/* A given plan that is lower than the one that was found is the better answer. */
static void take_given(struct lifetimes *l)
{
    struct pack_result *result = &l->result;
    if (l->given.verdict != PACK_VALID || l->given.height >= result->height)
        return;
    memcpy(result->offset, l->table.offset, l->table.count * sizeof *result->offset);
    result->height = l->given.height;
    result->method = given_method;
    result->optimal = result->height == result->lower_bound;
}

static int check_capacity(const struct lifetimes *l, struct error *error)
{
    const struct pack_result *result = &l->result;
    const int64_t capacity = at_most_int64(l->options->capacity);
    if (!l->options->has_capacity || result->height <= capacity)
        return 0;
    if (result->lower_bound > capacity)
        return error_set(error, ERR_OOM,
                         "%s: the buffers do not fit into %lld bytes: no plan is lower than %lld",
                         l->options->path, (long long)capacity, (long long)result->lower_bound);
    return error_set(
        error, ERR_OOM,
        "%s: no plan within %lld bytes was found in time, nor a proof that there is "
        "none: the lowest found is %lld, the lower bound %lld; try a longer time limit",
        l->options->path, (long long)capacity, (long long)result->height,
        (long long)result->lower_bound);
}

static void print_summary(const struct lifetimes *l)
{
    char time[32];
    const struct pack_result *result = &l->result;
    fprintf(stderr, "%zu buffers, height %lld bytes, lower bound %lld, gap %.2f %%, ",
            l->table.count, (long long)result->height, (long long)result->lower_bound,
            100.0 * over(result->height, result->lower_bound));
    if (l->options->has_capacity && !result->optimal)
        fprintf(stderr, "within %lld", (long long)at_most_int64(l->options->capacity));
    else
        fputs(result->optimal ? "optimal" : "not proven (time limit)", stderr);
    fprintf(stderr, "; by %s, %llu nodes, %s\n", result->method, (unsigned long long)result->nodes,
            text_ns(time, (double)result->elapsed_ns));
    if (l->table.offset && l->given.verdict == PACK_VALID)
        fprintf(stderr, "the offsets of the file: valid, height %lld bytes, %.2f %% above the %s\n",
                (long long)l->given.height, 100.0 * over(l->given.height, result->lower_bound),
                result->optimal ? "optimum" : "lower bound");
}

static json_t *given_json(const struct lifetimes *l)
{
    const bool valid = l->given.verdict == PACK_VALID;
    if (!l->table.offset)
        return json_null();
    json_t *given = tree_object();
    tree_put(given, "valid", json_boolean(valid));
    tree_put(given, "reason", tree_text_or_null(l->reason.data));
    tree_put(given, "height_bytes", valid ? json_integer(l->given.height) : json_null());
    tree_put(given, "over_bound",
             valid ? json_real(over(l->given.height, l->result.lower_bound)) : json_null());
    tree_put(given, "over_plan",
             valid ? json_real(over(l->given.height, l->result.height)) : json_null());
    return given;
}

static json_t *planners_json(const struct lifetimes *l)
{
    json_t *planners = tree_array();
    for (size_t i = 0; i < l->planned_count; i++) {
        const struct planned *p = &l->planned[i];
        json_t *row = tree_object();
        tree_put(row, "planner", tree_text(p->name));
        tree_put(row, "height_bytes", p->height ? json_integer(p->height) : json_null());
        tree_put(row, "gap",
                 p->height ? json_real(over(p->height, l->result.lower_bound)) : json_null());
        tree_put(row, "planning_ns", json_integer(p->elapsed_ns));
        tree_append(planners, row);
    }
    return planners;
}

static void print_planner(const struct lifetimes *l, const struct planned *p, FILE *out)
{
    char time[32];
    fprintf(out, "%-12s  ", p->name);
    if (p->height)
        fprintf(out, "%14lld  %8.2f  ", (long long)p->height,
                100.0 * over(p->height, l->result.lower_bound));
    else
        fprintf(out, "%14s  %8s  ", "none in time", "-");
    fprintf(out, "%s\n", text_ns(time, (double)p->elapsed_ns));
}

static void print_planners(const struct lifetimes *l, FILE *out)
{
    const struct planned own = {"gamut", l->result.height, l->result.elapsed_ns};
    fprintf(out, "%-12s  %14s  %8s  %s\n", "planner", "bytes", "gap, %", "time");
    print_planner(l, &own, out);
    for (size_t i = 0; i < l->planned_count; i++)
        print_planner(l, &l->planned[i], out);
}

static json_t *offsets_json(const struct lifetimes *l)
{
    json_t *offsets = tree_array();
    struct text id = {0};
    for (size_t i = 0; i < l->table.count; i++) {
        json_t *row = tree_object();
        id.length = 0;
        text_add(&id, "%s", "");
        lifetime_table_id(&l->table, i, &id);
        tree_put(row, "id", tree_text(id.data));
        tree_put(row, "offset_bytes", json_integer(l->result.offset[i]));
        tree_append(offsets, row);
    }
    text_free(&id);
    return offsets;
}

static void print_json(const struct lifetimes *l, FILE *out)
{
    const struct pack_result *result = &l->result;
    json_t *root = tree_object(), *top = tree_object();
    tree_put(top, "file", tree_text(l->options->path));
    tree_put(top, "buffer_count", tree_count(l->table.count));
    tree_put(top, "height_bytes", json_integer(result->height));
    tree_put(top, "lower_bound_bytes", json_integer(result->lower_bound));
    tree_put(top, "gap", json_real(over(result->height, result->lower_bound)));
    tree_put(top, "optimal", json_boolean(result->optimal));
    tree_put(top, "method", tree_text(result->method));
    tree_put(top, "node_count", tree_count(result->nodes));
    tree_put(top, "planning_ns", json_integer(result->elapsed_ns));
    tree_put(top, "capacity_bytes",
             l->options->has_capacity ? json_integer(at_most_int64(l->options->capacity))
                                      : json_null());
    tree_put(top, "offsets", offsets_json(l));
    tree_put(top, "given", given_json(l));
    tree_put(top, "planners", l->planned ? planners_json(l) : json_null());
    tree_put(root, "lifetimes", top);
    tree_print(root, JSON_INDENT(1), out);
}

static struct pack_buffer *buffers_of(const struct lifetime_table *table)
{
    struct pack_buffer *buffers = must_alloc((table->count + 1) * sizeof *buffers);
    for (size_t i = 0; i < table->count; i++) {
        const struct lifetime *b = &table->buffers[i];
        buffers[i] = (struct pack_buffer){
            .lower = b->lower, .upper = b->upper, .size = b->size, .alignment = b->alignment};
    }
    return buffers;
}

static int compare_planner(struct lifetimes *l, const struct pack_planner *planner,
                           struct error *error)
{
    const size_t count = l->table.count;
    const uint64_t start = clock_ns(), limit = l->options->time_limit_ns;
    const uint64_t deadline = limit < UINT64_MAX - start ? start + limit : UINT64_MAX;
    struct planned *planned = &l->planned[l->planned_count++];
    int64_t *offset = must_alloc((count + 1) * sizeof *offset);
    const bool made = pack_planner_run(planner, l->buffers, count, deadline, offset);
    *planned = (struct planned){.name = pack_planner_name(planner)};
    planned->elapsed_ns = (int64_t)(clock_ns() - start);
    const struct pack_judgement judgement = pack_judge(l->buffers, count, offset);
    planned->height = made ? judgement.height : 0;
    free(offset);
    return made && judgement.verdict != PACK_VALID
               ? error_set(error, ERR_INTERNAL, "the plan of %s is none", planned->name)
               : 0;
}

static int compare_planners(struct lifetimes *l, struct error *error)
{
    const char *wanted = l->options->planner;
    const struct pack_planner *planner;
    size_t count = 0;
    while (pack_planner_at(count))
        count++;
    l->planned = must_alloc(count * sizeof *l->planned);
    for (size_t i = 0; (planner = pack_planner_at(i)); i++)
        if (!strcmp(wanted, "all") || !strcmp(wanted, pack_planner_name(planner)))
            TRY(compare_planner(l, planner, error));
    return l->planned_count
               ? 0
               : error_set(error, ERR_USAGE,
                           "there is no planner '%s'; gamut plan --help names all", wanted);
}

static int plan_table(struct lifetimes *l, FILE *out, struct error *error)
{
    const struct lifetimes_options *options = l->options;
    const struct pack_options pack = {
        .time_limit_ns = at_most_int64(options->time_limit_ns),
        .capacity = options->has_capacity ? at_most_int64(options->capacity) : 0};
    TRY(pack_solve(l->buffers, l->table.count, &pack, &l->result, error));
    if (l->table.offset) {
        l->given = pack_judge(l->buffers, l->table.count, l->table.offset);
        explain_given(l);
        take_given(l);
    }
    TRY(check_capacity(l, error));
    if (options->planner)
        TRY(compare_planners(l, error));
    if (options->as_json)
        print_json(l, out);
    else if (options->planner)
        print_planners(l, out);
    else
        lifetime_table_write(&l->table, l->result.offset, out);
    print_summary(l);
    return l->reason.length
               ? error_set(error, ERR_WRONG, "%s: the offsets of the file are no plan: %s",
                           options->path, l->reason.data)
               : 0;
}

int plan_lifetimes(const struct lifetimes_options *options, FILE *out, struct error *error)
{
    struct lifetimes l = {.options = options};
    TRY(lifetime_table_read_file(options->path, &l.table, error));
    l.buffers = buffers_of(&l.table);
    int code = plan_table(&l, out, error);
    free(l.buffers);
    free(l.planned);
    text_free(&l.reason);
    pack_result_free(&l.result);
    lifetime_table_free(&l.table);
    return code;
}
