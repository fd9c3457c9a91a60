/* The rows of experiments, compared as cases are. What they measure is each experiment's own:
 *
 *   times    those that are better lower; the first one that a row knows has the gate of wall_ns
 *   exact    by equality; what is better lower has the gate of the counter of that name, or of the
 *            first counter of its unit where cases have none
 *
 * A ratio has no gate. Other values that vary from run to run are not compared.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "record/result/case_tree.h"
#include "record/compare/compare_parts.h"
#include "record/result/experiment_result.h"
#include "base/tree.h"

/* ---- metrics -------------------------------------------------------------------------------- */

static enum counter_unit unit_of(const char *name)
{
    int unit = UNIT_RATIO;
    while (unit > 0 && strcmp(counter_unit_name((enum counter_unit)unit), name) != 0)
        unit--;
    return (enum counter_unit)unit;
}

static struct counter_info info_of(const char *name, const json_t *metric)
{
    const char *better = tree_get_text(metric, "better");
    return (struct counter_info){
        .name = name,
        .unit = unit_of(tree_get_text(metric, "unit")),
        .kind = strcmp(tree_get_text(metric, "kind"), "exact") == 0 ? KIND_EXACT : KIND_SAMPLED,
        .better = strcmp(better, "lower") == 0    ? BETTER_LOWER
                  : strcmp(better, "higher") == 0 ? BETTER_HIGHER
                                                  : BETTER_NEITHER,
        .help = "",
    };
}

/* The place in counter_list of what says for this metric whether it is compared and gated;
 * NO_COUNTER where cases have nothing of its kind. */
enum { NO_COUNTER = -1 };

static int stand_in(const struct counter_info *info)
{
    const enum counter_unit unit = info->unit == UNIT_RATIO ? UNIT_COUNT : info->unit;
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == info->kind && strcmp(list[i].name, info->name) == 0)
            return (int)i;
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == info->kind && list[i].unit == unit)
            return (int)i;
    return NO_COUNTER;
}

static const struct gate *gate_of(const struct comparer *c, const struct counter_info *info)
{
    const int counter = stand_in(info);
    const bool can_be = info->better == BETTER_LOWER && info->unit != UNIT_RATIO;
    if (counter == NO_COUNTER || !can_be || !c->options->gates.gate[counter].is_set)
        return NULL;
    return &c->options->gates.gate[counter];
}

/* ---- one row -------------------------------------------------------------------------------- */

/* That of the first good round; NaN where there is none. */
static double exact_value(const json_t *row, const char *name)
{
    size_t i;
    json_t *round;
    json_array_foreach(json_object_get(row, "rounds"), i, round)
    {
        const json_t *values = json_object_get(json_object_get(round, "samples"), name);
        if (json_array_size(values))
            return tree_to_number(json_array_get(values, 0));
    }
    return NAN;
}

static bool varies(const json_t *row, const char *name)
{
    size_t i;
    json_t *warning;
    json_array_foreach(json_object_get(row, "warnings"), i, warning)
    {
        if (strcmp(tree_get_text(warning, "code"), "not-deterministic") == 0 &&
            strcmp(tree_get_text(warning, "subject"), name) == 0)
            return true;
    }
    return false;
}

static void compare_exact(struct comparer *c, const json_t *base, const json_t *fresh,
                          const struct counter_info *info)
{
    const double before = exact_value(base, info->name), now = exact_value(fresh, info->name);
    const bool any_varies = varies(base, info->name) || varies(fresh, info->name);
    const struct gate *gate = gate_of(c, info);
    if (isnan(before) || isnan(now))
        return;
    if (before == now && !any_varies && !c->options->keep_equal) {
        c->equal_count++;
        c->gated_equal_count += gate != NULL;
        return;
    }
    struct compare_row *row = compare_new_row(c, base, fresh);
    row->metric = info;
    row->gate = gate;
    row->base = before;
    row->fresh = now;
    if (any_varies) {
        row->verdict = VERDICT_unsure;
        row->reason = "not deterministic";
    } else if (before != now) {
        compare_set_change(row, before, now);
    }
}

static void compare_row(struct comparer *c, const json_t *base, const json_t *fresh,
                        const struct counter_info *metrics, size_t count)
{
    bool has_time = false;
    if (!compare_status(c, base, fresh))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct counter_info *info = &metrics[i];
        const int counter = stand_in(info);
        if (counter != NO_COUNTER && c->options->leave_out[counter])
            continue;
        if (info->kind == KIND_EXACT)
            compare_exact(c, base, fresh, info);
        else if (info->unit == UNIT_NS && info->better == BETTER_LOWER && !c->leave_out_times)
            has_time |=
                compare_samples(c, base, fresh, info, has_time ? NULL : &c->options->gates.gate[0]);
    }
}

/* ---- experiments ---------------------------------------------------------------------------- */

static const json_t *find_row(const json_t *experiment, const json_t *like)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(experiment, "rows"), i, row)
    {
        if (json_equal(json_object_get(row, "key"), json_object_get(like, "key")))
            return row;
    }
    return NULL;
}

static const json_t *same_experiment(const json_t *root, const json_t *experiment)
{
    return experiment_find(root, tree_get_text(experiment, "name"),
                           tree_get_text(experiment, "device"));
}

/* `base` may be NULL. */
static void compare_experiment(struct comparer *c, const json_t *base, const json_t *fresh)
{
    const json_t *metrics = json_object_get(fresh, "metrics");
    const char *name;
    json_t *metric, *row;
    size_t count = 0, i;
    struct counter_info *infos = arena_alloc(&c->arena, json_object_size(metrics) * sizeof *infos);
    json_object_foreach((json_t *)metrics, name, metric) infos[count++] = info_of(name, metric);
    c->experiment = fresh;
    json_array_foreach(json_object_get(fresh, "rows"), i, row)
        compare_row(c, find_row(base, row), row, infos, count);
}

void compare_experiments(struct comparer *c, const json_t *base, const json_t *fresh)
{
    size_t i, j;
    json_t *experiment, *row;
    json_array_foreach(json_object_get(fresh, "experiments"), i, experiment)
        compare_experiment(c, same_experiment(base, experiment), experiment);
    json_array_foreach(json_object_get(base, "experiments"), i, experiment)
    {
        c->experiment = experiment;
        json_array_foreach(json_object_get(experiment, "rows"), j, row)
        {
            if (!find_row(same_experiment(fresh, experiment), row))
                compare_status(c, row, NULL);
        }
    }
    c->experiment = NULL;
}

size_t compare_experiment_rows(const json_t *root)
{
    size_t i, count = 0;
    json_t *experiment;
    json_array_foreach(json_object_get(root, "experiments"), i, experiment) count +=
        json_array_size(json_object_get(experiment, "rows"));
    return count;
}

size_t compare_experiment_pairs(const json_t *base, const json_t *fresh)
{
    size_t i, j, pairs = 0;
    json_t *experiment, *row;
    json_array_foreach(json_object_get(fresh, "experiments"), i, experiment)
        json_array_foreach(json_object_get(experiment, "rows"), j, row) pairs +=
        find_row(same_experiment(base, experiment), row) != NULL;
    return pairs;
}

void compare_put_experiment(json_t *out, const json_t *experiment, const json_t *row)
{
    char id[13];
    struct text words = {0}, all = {0};
    experiment_row_words(experiment, row, &words);
    text_add(&all, "%s\n%s\n%s", tree_get_text(experiment, "name"),
             tree_get_text(experiment, "device"), words.data);
    snprintf(id, sizeof id, "%012" PRIx64, digest_bytes(0, all.data, all.length) >> 16);
    tree_put(out, "id", tree_text(id));
    tree_put(out, "experiment", tree_share(experiment, "name"));
    tree_put(out, "row", tree_text(words.data));
    tree_put(out, "device", tree_share(experiment, "device"));
    text_free(&words);
    text_free(&all);
}
