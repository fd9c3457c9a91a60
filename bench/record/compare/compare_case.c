/* The rows of one case: how it ended, its exact counters, its sampled metrics. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "record/result/case_tree.h"
#include "record/compare/compare_parts.h"
#include "record/compare/noise.h"
#include "record/result/result.h"
#include "base/tree.h"

static const char *const phases[] = {"warm", "cold"};

struct compare_row *compare_add_row(struct comparer *c, const struct compare_row *row)
{
    if (c->row_count == c->row_room) {
        c->row_room = c->row_room ? 2 * c->row_room : 256;
        c->rows = must_realloc(c->rows, c->row_room * sizeof *c->rows);
    }
    c->rows[c->row_count] = *row;
    return &c->rows[c->row_count++];
}

struct compare_row *compare_new_row(struct comparer *c, const json_t *base, const json_t *fresh)
{
    const struct compare_row row = {
        .file = c->file,
        .one_case = fresh ? fresh : base,
        .experiment = c->experiment,
        .base_case = base,
        .fresh_case = fresh,
        .base = NAN,
        .fresh = NAN,
        .p_adjusted = NAN,
        .verdict = VERDICT_same,
    };
    return compare_add_row(c, &row);
}

/* ---- exact counters ------------------------------------------------------------------------- */

/* What a counter was in the rounds of a case. */
struct range {
    double lo, hi;
    bool varies, is_known; /* all its values are */
};

static bool has_warnings(const json_t *one_case)
{
    return json_array_size(json_object_get(one_case, "warnings")) > 0;
}

static bool varies(const json_t *one_case, const char *phase, const char *name)
{
    size_t i;
    json_t *warning;
    json_array_foreach(json_object_get(one_case, "warnings"), i, warning)
    {
        const char *subject = tree_get_text(warning, "subject");
        const size_t length = strlen(phase);
        if (strcmp(tree_get_text(warning, "code"), "not-deterministic") == 0 &&
            strncmp(subject, phase, length) == 0 && subject[length] == '.' &&
            strcmp(subject + length + 1, name) == 0)
            return true;
    }
    return false;
}

/* `value` is the counter of the case, which is that of its first good round; a round says which of
 * its own differ from it. */
static struct range range_of(const json_t *one_case, const char *phase, const char *name,
                             double value)
{
    struct range range = {value, value, false, true};
    size_t i;
    json_t *round;
    if (!varies(one_case, phase, name))
        return range;
    range.varies = true;
    json_array_foreach(json_object_get(one_case, "rounds"), i, round)
    {
        const json_t *others = json_object_get(json_object_get(round, "other_counters"), phase);
        const double other = tree_get_number(others, name);
        range.lo = fmin(range.lo, other);
        range.hi = fmax(range.hi, other);
    }
    range.is_known = range.lo < range.hi;
    return range;
}

static const char *range_text(struct comparer *c, const struct counter_info *info,
                              const struct range *range)
{
    char lo[32], hi[32];
    if (!range->varies)
        return "constant";
    if (!range->is_known)
        return "varying";
    text_bytes(lo, (uint64_t)range->lo);
    text_bytes(hi, (uint64_t)range->hi);
    if (info->unit == UNIT_BYTES && strcmp(lo, hi) != 0)
        return arena_printf(&c->arena, "%s to %s", lo, hi);
    return arena_printf(&c->arena, "%.0f to %.0f", range->lo, range->hi);
}

static bool is_worse(const struct counter_info *info, double base, double fresh)
{
    return info->better == BETTER_LOWER ? fresh > base
                                        : info->better == BETTER_HIGHER && fresh < base;
}

static bool is_beyond(const struct gate *gate, double base, double fresh)
{
    const double limit = gate->amount ? (double)gate->amount : gate->part * base;
    return fabs(fresh - base) > limit;
}

void compare_set_change(struct compare_row *row, double base, double fresh)
{
    row->verdict = fresh > base ? VERDICT_larger : VERDICT_smaller;
    if (row->metric->better != BETTER_NEITHER)
        row->effect = is_worse(row->metric, base, fresh) ? CHANGE_WORSE : CHANGE_BETTER;
    row->is_regression =
        row->gate && row->effect == CHANGE_WORSE && is_beyond(row->gate, base, fresh);
}

/* Counters that differ from round to round prove a change only where no round of one file reaches
 * those of the other, and there are enough of them for that to be no accident. */
static void judge_varying(struct comparer *c, struct compare_row *row, const struct range *base,
                          const struct range *fresh)
{
    const bool are_known = base->is_known && fresh->is_known;
    const size_t base_rounds = json_array_size(json_object_get(row->base_case, "rounds"));
    const size_t fresh_rounds = json_array_size(json_object_get(row->fresh_case, "rounds"));
    const bool are_enough = base_rounds >= RANKS_LEAST_ROUNDS && fresh_rounds >= RANKS_LEAST_ROUNDS;
    if (are_known && are_enough && fresh->lo > base->hi)
        compare_set_change(row, base->hi, fresh->lo);
    else if (are_known && are_enough && fresh->hi < base->lo)
        compare_set_change(row, base->lo, fresh->hi);
    else
        row->verdict = VERDICT_unsure;
    row->reason = arena_printf(&c->arena, "not deterministic: %s in the base, %s in the new file",
                               range_text(c, row->metric, base), range_text(c, row->metric, fresh));
}

static void compare_counter(struct comparer *c, const json_t *base, const json_t *fresh,
                            bool is_cold, size_t i, double base_value, double fresh_value)
{
    size_t count;
    const struct counter_info *info = &counter_list(&count)[i];
    const struct gate *gate = &c->options->gates.gate[i];
    const struct range base_range = range_of(base, phases[is_cold], info->name, base_value);
    const struct range fresh_range = range_of(fresh, phases[is_cold], info->name, fresh_value);
    const bool any_varies = base_range.varies || fresh_range.varies;
    if (base_value == fresh_value && !any_varies && !c->options->keep_equal) {
        c->equal_count++;
        c->gated_equal_count += gate->is_set;
        return;
    }
    struct compare_row *row = compare_new_row(c, base, fresh);
    row->metric = info;
    row->is_cold = is_cold;
    row->gate = gate->is_set ? gate : NULL;
    row->base = base_value;
    row->fresh = fresh_value;
    if (any_varies)
        judge_varying(c, row, &base_range, &fresh_range);
    else if (base_value != fresh_value)
        compare_set_change(row, base_value, fresh_value);
}

/* Whether two runs have the same counters in the same order and of the same values, as nearly all
 * have: quicker than looking each of them up. */
static bool are_alike(const json_t *a, const json_t *b)
{
    void *x = json_object_iter((json_t *)a), *y = json_object_iter((json_t *)b);
    while (x && y && strcmp(json_object_iter_key(x), json_object_iter_key(y)) == 0 &&
           json_is_integer(json_object_iter_value(x)) &&
           json_is_integer(json_object_iter_value(y)) &&
           json_integer_value(json_object_iter_value(x)) ==
               json_integer_value(json_object_iter_value(y))) {
        x = json_object_iter_next((json_t *)a, x);
        y = json_object_iter_next((json_t *)b, y);
    }
    return !x && !y;
}

/* How many of a run's counters are gated. Runs of as many counters as the last one have the same.
 */
static size_t gated_members(struct comparer *c, const json_t *run)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    if (c->counted_members != json_object_size(run)) {
        c->counted_members = json_object_size(run);
        c->counted_gates = 0;
        for (size_t i = 0; i < count; i++)
            c->counted_gates +=
                c->options->gates.gate[i].is_set && json_object_get(run, list[i].name);
    }
    return c->counted_gates;
}

static void compare_counters(struct comparer *c, const json_t *base, const json_t *fresh)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    const bool may_skip = !c->options->keep_equal && !has_warnings(base) && !has_warnings(fresh) &&
                          !c->leaves_out_counters;
    for (int is_cold = 0; is_cold < 2; is_cold++) {
        const char *phase = phases[is_cold];
        const json_t *a = json_object_get(json_object_get(base, "counters"), phase);
        const json_t *b = json_object_get(json_object_get(fresh, "counters"), phase);
        if (may_skip && are_alike(a, b)) {
            c->equal_count += json_object_size(a);
            c->gated_equal_count += gated_members(c, a);
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            if (list[i].kind != KIND_EXACT || c->options->leave_out[i])
                continue;
            const double base_value = tree_get_number(a, list[i].name);
            const double fresh_value = tree_get_number(b, list[i].name);
            if (!isnan(base_value) && !isnan(fresh_value))
                compare_counter(c, base, fresh, is_cold, i, base_value, fresh_value);
            else if (isnan(base_value) != isnan(fresh_value))
                c->lacks[isnan(fresh_value)][i] = true;
        }
    }
}

/* ---- sampled metrics ------------------------------------------------------------------------ */

/* A call that is never made takes 0; the clock does not see less than 1 ns. */
static void take_logarithms(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = log(fmax(values[i], 1));
}

static double median_of_copy(const double *values, size_t count, double *room)
{
    memcpy(room, values, count * sizeof *room);
    return statistics_median(room, count);
}

/* The differences of the rounds that both have, and how many. */
static size_t pair_rounds(const double *round[2], const double *value[2], const size_t count[2],
                          double *difference)
{
    size_t pairs = 0;
    for (size_t i = 0; i < count[0]; i++)
        for (size_t j = 0; j < count[1]; j++)
            if (round[0][i] == round[1][j]) {
                difference[pairs++] = value[1][j] - value[0][i];
                break;
            }
    return pairs;
}

double compare_floor(const struct comparer *c, const json_t *one_case, const char *metric)
{
    double floor = 0;
    for (int r = 0; r < 2; r++)
        if (c->roots[r])
            floor = fmax(floor, compare_log_limit(noise_floor(c->roots[r], one_case, metric)));
    return floor;
}

bool compare_samples(struct comparer *c, const json_t *base, const json_t *fresh,
                     const struct counter_info *info, const struct gate *gate)
{
    size_t count[2];
    const size_t base_most = json_array_size(json_object_get(base, "rounds"));
    const size_t most = base_most + json_array_size(json_object_get(fresh, "rounds"));
    if (most > c->number_room) {
        c->number_room = most;
        c->numbers = must_realloc(c->numbers, 3 * most * sizeof *c->numbers);
    }
    double *const value[2] = {c->numbers, c->numbers + base_most};
    double *const round[2] = {c->numbers + most, c->numbers + most + base_most};
    double *const room = c->numbers + 2 * most;
    count[0] = case_round_medians(base, info->name, round[0], value[0]);
    count[1] = case_round_medians(fresh, info->name, round[1], value[1]);
    gate = gate && gate->is_set ? gate : NULL;
    if (count[0] == 0 && count[1] == 0)
        return false;
    if ((count[0] == 0 || count[1] == 0) && !gate)
        return true;
    struct compare_row *row = compare_new_row(c, base, fresh);
    row->metric = info;
    row->gate = gate;
    row->limit = compare_log_limit(gate ? gate->part : c->options->threshold);
    row->floor = compare_floor(c, row->one_case, info->name);
    row->base = median_of_copy(value[0], count[0], room);
    row->fresh = median_of_copy(value[1], count[1], room);
    take_logarithms(value[0], count[0]);
    take_logarithms(value[1], count[1]);
    if (c->by) {
        const size_t pairs = pair_rounds((const double *[]){round[0], round[1]},
                                         (const double *[]){value[0], value[1]}, count, room);
        row->shift = rank_shift_paired(&c->table, room, pairs, c->options->alpha);
        count[0] = count[1] = pairs;
    } else {
        row->shift = rank_shift_between(&c->table, value[0], count[0], value[1], count[1],
                                        c->options->alpha);
    }
    row->base_rounds = count[0];
    row->fresh_rounds = count[1];
    row->has_test = count[0] >= RANKS_LEAST_ROUNDS && count[1] >= RANKS_LEAST_ROUNDS;
    return true;
}

/* ---- the case ------------------------------------------------------------------------------- */

/* A strategy that a device can't run was not measured; that is no failure of a case that was. */
static bool was_measured(const json_t *one_case)
{
    return one_case && !case_is_skipped(one_case);
}

/* The row of a case that is not ok in both files. */
static void compare_failure(struct comparer *c, const json_t *base, const json_t *fresh)
{
    const bool base_is_ok = base && case_is_ok(base), fresh_is_ok = fresh && case_is_ok(fresh);
    if (c->by && (!was_measured(base) || !was_measured(fresh))) {
        c->alone_count++;
        return;
    }
    if (base_is_ok == fresh_is_ok && was_measured(base) == was_measured(fresh))
        return; /* it failed, or was left out, in both */
    struct compare_row *row = compare_new_row(c, base, fresh);
    if (base_is_ok || !was_measured(fresh))
        row->verdict = was_measured(fresh) ? VERDICT_wrong : VERDICT_gone;
    else
        row->verdict = VERDICT_new;
    row->effect = row->verdict == VERDICT_new ? CHANGE_NONE : CHANGE_WORSE;
    const json_t *failed = row->verdict == VERDICT_new ? base : fresh;
    const char *reason = tree_get_text(failed, "reason");
    if (*reason)
        row->reason = arena_copy(&c->arena, reason, strcspn(reason, "\n"));
}

bool compare_status(struct comparer *c, const json_t *base, const json_t *fresh)
{
    if (!base || !fresh || !case_is_ok(base) || !case_is_ok(fresh)) {
        compare_failure(c, base, fresh);
        return false;
    }
    const char *digest = tree_get_text(base, "digest"), *other = tree_get_text(fresh, "digest");
    c->pair_count++;
    c->other_bits_count += *digest && *other && strcmp(digest, other) != 0;
    return true;
}

void compare_case(struct comparer *c, const json_t *base, const json_t *fresh)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    if (!compare_status(c, base, fresh))
        return;
    for (size_t i = 0; i < count && !c->leave_out_times; i++)
        if (list[i].kind == KIND_SAMPLED && !c->options->leave_out[i])
            compare_samples(c, base, fresh, &list[i], &c->options->gates.gate[i]);
    compare_counters(c, base, fresh);
}
