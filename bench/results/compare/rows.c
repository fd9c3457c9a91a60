/* The rows of a comparison: those of a case, of all cases of a configuration, and of an experiment.
 * A row has its test here; verdicts.c gives it a verdict.
 *
 * The metrics of experiments are each experiment's own:
 *
 *   times    compared if they are better lower; the first one that a row has gets the gate of
 *            wall_ns
 *   exact    compared by equality; a metric that is better lower gets the gate of the counter of
 *            that name, or of the first counter of its unit if there is none of that name
 *
 * A ratio has no gate. Other values that vary from run to run are not compared.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "results/compare/comparer.h"
#include "results/compare/noise.h"
#include "results/file/experiment_result.h"
#include "results/file/measured.h"
#include "results/statistics/shared_shift.h"

static struct compare_row *add_row(struct comparer *c, const struct compare_row *row)
{
    c->rows = must_grow(c->rows, c->row_count, &c->row_room, sizeof *c->rows);
    c->rows[c->row_count] = *row;
    return &c->rows[c->row_count++];
}

static struct compare_row *new_row(struct comparer *c, const struct result_case *base,
                                   const struct result_case *candidate)
{
    const struct compare_row row = {
        .file = c->file,
        .of = candidate ? candidate : base,
        .experiment = c->experiment,
        .base_case = base,
        .candidate_case = candidate,
        .base = NAN,
        .candidate = NAN,
        .p_adjusted = NAN,
        .verdict = VERDICT_same,
    };
    return add_row(c, &row);
}

/* ---- exact counters ------------------------------------------------------------------------- */

/* The values of a counter in the rounds of a case. */
struct range {
    double lo, hi;
    bool varies, is_known; /* is_known: all its values are known */
};

/* Has a case this warning, which differs between rounds? `subject`: "warm.hit_count". */
static bool varies(const struct result_case *one, const char *subject)
{
    for (size_t i = 0; i < one->warning_count; i++)
        if (strcmp(one->warnings[i].code, "not-deterministic") == 0 &&
            strcmp(one->warnings[i].subject, subject) == 0)
            return true;
    return false;
}

/* `value` is the counter of the case, which is that of its first good round. Every other round has
 * only those counters that differ from it. */
static struct range range_of(const struct result_case *one, bool is_cold, const char *name,
                             double value)
{
    struct range range = {value, value, false, true};
    char subject[128];
    snprintf(subject, sizeof subject, "%s.%s", is_cold ? "cold" : "warm", name);
    if (!varies(one, subject))
        return range;
    range.varies = true;
    for (size_t i = 0; i < one->round_count; i++) {
        const struct result_other_counters *others = one->rounds[i].other_counters;
        const size_t count = !others ? 0 : is_cold ? others->cold_count : others->warm_count;
        const struct result_number *numbers = !others   ? NULL
                                              : is_cold ? others->cold
                                                        : others->warm;
        for (size_t n = 0; n < count; n++)
            if (strcmp(numbers[n].name, name) == 0) {
                range.lo = fmin(range.lo, numbers[n].value);
                range.hi = fmax(range.hi, numbers[n].value);
            }
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

/* `base` and `candidate` differ. */
static void set_change(struct compare_row *row, double base, double candidate)
{
    const struct gate *gate = row->gate;
    const bool is_larger = candidate > base;
    row->verdict = is_larger ? VERDICT_larger : VERDICT_smaller;
    if (row->metric->better != BETTER_NEITHER)
        row->effect =
            is_larger == (row->metric->better == BETTER_LOWER) ? CHANGE_WORSE : CHANGE_BETTER;
    if (gate && row->effect == CHANGE_WORSE)
        row->is_regression =
            fabs(candidate - base) > (gate->amount ? (double)gate->amount : gate->part * base);
}

/* Counters that differ from round to round prove a change only where no round of one file reaches
 * those of the other, and there are enough of them for that to be no accident. */
static void judge_varying(struct comparer *c, struct compare_row *row, const struct range *base,
                          const struct range *candidate)
{
    const bool may_prove = base->is_known && candidate->is_known &&
                           row->base_case->round_count >= RANKS_LEAST_ROUNDS &&
                           row->candidate_case->round_count >= RANKS_LEAST_ROUNDS;
    if (may_prove && candidate->lo > base->hi)
        set_change(row, base->hi, candidate->lo);
    else if (may_prove && candidate->hi < base->lo)
        set_change(row, base->lo, candidate->hi);
    else
        row->verdict = VERDICT_unsure;
    row->reason =
        arena_printf(&c->arena, "not deterministic: %s in the base, %s in the new file",
                     range_text(c, row->metric, base), range_text(c, row->metric, candidate));
}

static void compare_counter(struct comparer *c, const struct result_case *base,
                            const struct result_case *candidate, bool is_cold, size_t i,
                            double base_value, double candidate_value)
{
    size_t count;
    const struct counter_info *info = &counter_list(&count)[i];
    const struct gate *gate = &c->options->gates.gate[i];
    const struct range base_range = range_of(base, is_cold, info->name, base_value);
    const struct range candidate_range = range_of(candidate, is_cold, info->name, candidate_value);
    const bool any_varies = base_range.varies || candidate_range.varies;
    if (base_value == candidate_value && !any_varies && !c->options->keep_equal) {
        c->equal_count++;
        c->gated_equal_count += gate->is_set;
        return;
    }
    struct compare_row *row = new_row(c, base, candidate);
    row->metric = info;
    row->is_cold = is_cold;
    row->gate = gate->is_set ? gate : NULL;
    row->base = base_value;
    row->candidate = candidate_value;
    if (any_varies)
        judge_varying(c, row, &base_range, &candidate_range);
    else if (base_value != candidate_value)
        set_change(row, base_value, candidate_value);
}

/* Are all counters of two runs known and equal? Those of nearly all are. */
static bool are_alike(const struct exact_counts *a, const struct exact_counts *b)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    bool alike = a && b && memcmp(a, b, sizeof *a) == 0;
    for (size_t i = 0; i < count && alike; i++)
        alike = list[i].kind != KIND_EXACT || !isnan(counter_at(a, i));
    return alike;
}

static void compare_counters(struct comparer *c, const struct result_case *base,
                             const struct result_case *candidate)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    const bool may_skip = !c->options->keep_equal && !base->warning_count &&
                          !candidate->warning_count && !c->leaves_out_counters;
    for (int is_cold = 0; is_cold < 2; is_cold++) {
        const struct exact_counts *a = is_cold ? measured_cold(base) : measured_warm(base);
        const struct exact_counts *b =
            is_cold ? measured_cold(candidate) : measured_warm(candidate);
        const bool skips = may_skip && are_alike(a, b);
        for (size_t i = 0; i < count; i++) {
            if (list[i].kind != KIND_EXACT || c->options->leave_out[i])
                continue;
            if (skips) {
                c->equal_count++;
                c->gated_equal_count += c->options->gates.gate[i].is_set;
                continue;
            }
            const double base_value = counter_at(a, i), candidate_value = counter_at(b, i);
            if (!isnan(base_value) && !isnan(candidate_value))
                compare_counter(c, base, candidate, is_cold, i, base_value, candidate_value);
            else if (isnan(base_value) != isnan(candidate_value))
                c->lacks[isnan(candidate_value)][i] = true;
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

/* The median of samples in any order, which stay in it. */
static double median_of(struct arena *arena, const struct measured_series *s)
{
    double *copy = arena_alloc(arena, s->count * sizeof *copy);
    memcpy(copy, s->value, s->count * sizeof *copy);
    return statistics_median(copy, s->count);
}

/* The differences of the rounds that both have. Returns how many; `difference` has room for all. */
static size_t pair_rounds(const struct measured_series *base,
                          const struct measured_series *candidate, double *difference)
{
    size_t pairs = 0;
    for (size_t i = 0; i < base->count; i++) {
        const double value = measured_in_round(candidate, base->round[i], i);
        if (!isnan(value))
            difference[pairs++] = value - base->value[i];
    }
    return pairs;
}

/* The noise floor of a metric of a case or a configuration (results/compare/noise.h) by both files,
 * as a logarithm; 0 where none is known or needed. */
static double noise_limit(const struct comparer *c, const struct result_case *one,
                          const char *metric)
{
    double floor = 0;
    for (int r = 0; r < 2; r++)
        if (c->noisy[r])
            floor = fmax(floor, log1p(noise_floor(c->noisy[r], one, metric)));
    return floor;
}

/* Adds the row of a time, unless one of the files lacks it and it has no gate. Returns whether the
 * metric is known. `gate` may be NULL or not set. */
static bool add_samples(struct comparer *c, const struct result_case *base_case,
                        const struct result_case *candidate_case, const struct counter_info *info,
                        const struct gate *gate)
{
    struct arena arena = {0};
    struct measured_series base = measured_medians(&arena, base_case, info->name);
    struct measured_series candidate = measured_medians(&arena, candidate_case, info->name);
    const bool is_known = base.count || candidate.count, have_both = base.count && candidate.count;
    gate = gate && gate->is_set ? gate : NULL;
    if (c->leave_out_times) {
        c->times_left_out += have_both;
        c->gated_times_left_out += have_both && gate;
    } else if (is_known && (have_both || gate)) {
        struct compare_row *row = new_row(c, base_case, candidate_case);
        row->metric = info;
        row->gate = gate;
        row->limit = log1p(gate ? gate->part : c->options->threshold);
        row->floor = noise_limit(c, row->of, info->name);
        row->base = median_of(&arena, &base);
        row->candidate = median_of(&arena, &candidate);
        take_logarithms(base.value, base.count);
        take_logarithms(candidate.value, candidate.count);
        if (c->by) {
            double *difference = arena_alloc(&arena, base.count * sizeof *difference);
            base.count = candidate.count = pair_rounds(&base, &candidate, difference);
            row->shift = rank_shift_paired(&c->table, difference, base.count, COMPARE_ALPHA);
        } else {
            row->shift = rank_shift_between(&c->table, base.value, base.count, candidate.value,
                                            candidate.count, COMPARE_ALPHA);
        }
        row->base_rounds = base.count;
        row->candidate_rounds = candidate.count;
        row->has_test = base.count >= RANKS_LEAST_ROUNDS && candidate.count >= RANKS_LEAST_ROUNDS;
    }
    arena_free(&arena);
    return is_known;
}

/* ---- the case ------------------------------------------------------------------------------- */

/* A strategy that a device cannot run was not measured, which is no failure. */
static bool was_measured(const struct result_case *one)
{
    return one && one->status != CASE_skipped;
}

static bool is_ok(const struct result_case *one)
{
    return one && one->status == CASE_ok;
}

/* The row of a case that is not ok in both files. */
static void compare_failure(struct comparer *c, const struct result_case *base,
                            const struct result_case *candidate)
{
    const bool base_is_ok = is_ok(base), candidate_is_ok = is_ok(candidate);
    if (c->by && (!was_measured(base) || !was_measured(candidate))) {
        c->alone_count++;
        return;
    }
    if (base_is_ok == candidate_is_ok && was_measured(base) == was_measured(candidate)) {
        c->now.failed_in_both += was_measured(base); /* else it was left out in both */
        return;
    }
    struct compare_row *row = new_row(c, base, candidate);
    if (base_is_ok || !was_measured(candidate))
        row->verdict = was_measured(candidate) ? VERDICT_wrong : VERDICT_gone;
    else
        row->verdict = VERDICT_new;
    row->effect = row->verdict == VERDICT_new ? CHANGE_NONE : CHANGE_WORSE;
    c->now.worse += row->effect == CHANGE_WORSE;
    c->now.failed_in_base += row->verdict == VERDICT_new && was_measured(base);
    const struct result_case *failed = row->verdict == VERDICT_new ? base : candidate;
    if (failed && failed->reason)
        row->reason = arena_copy(&c->arena, failed->reason, strcspn(failed->reason, "\n"));
}

/* Are there two answers that can be compared, at least by what was counted? */
static bool is_pair(struct comparer *c, const struct result_case *base,
                    const struct result_case *candidate, const struct scope *scope)
{
    if (!is_ok(base) || !is_ok(candidate)) {
        compare_failure(c, base, candidate);
        return false;
    }
    if (scope->matters == MATTERS_EVERYTHING) {
        struct compare_row *row = new_row(c, base, candidate);
        row->verdict = VERDICT_dropped;
        row->reason = scope->reason;
        c->now.dropped++;
        return false;
    }
    c->leave_out_times = scope->matters == MATTERS_TIMES;
    c->now.pairs++;
    c->other_bits_count +=
        base->digest && candidate->digest && strcmp(base->digest, candidate->digest) != 0;
    return true;
}

void compare_case(struct comparer *c, const struct result_case *base,
                  const struct result_case *candidate)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    const struct scope scope = compare_case_scope(c, base, candidate);
    if (!is_pair(c, base, candidate, &scope))
        return;
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == KIND_SAMPLED && !c->options->leave_out[i])
            add_samples(c, base, candidate, &list[i], &c->options->gates.gate[i]);
    compare_counters(c, base, candidate);
}

/* ---- all cases of a configuration ----------------------------------------------------------- */

/* Rows of one metric in one file, as far as both cases were measured, and how it is gated. */
struct case_pairs {
    size_t count;
    const struct result_case **base, **candidate;
    struct compare_row row; /* a copy of one of them: rows move when more are added */
};

static struct case_pairs pairs_of(struct comparer *c, const struct counter_info *metric)
{
    const size_t size = (c->row_count + 1) * sizeof(struct result_case *);
    struct case_pairs pairs = {.base = arena_alloc(&c->arena, size),
                               .candidate = arena_alloc(&c->arena, size)};
    for (size_t i = 0; i < c->row_count; i++) {
        const struct compare_row *row = &c->rows[i];
        if (row->file != c->file || row->metric != metric || !row->base_rounds ||
            !row->candidate_rounds)
            continue;
        pairs.row = *row;
        pairs.base[pairs.count] = row->base_case;
        pairs.candidate[pairs.count++] = row->candidate_case;
    }
    return pairs;
}

/* A table with the same number of rounds of both files. From the file with more, rounds are taken
 * evenly: the fastest of more rounds would be faster for that reason alone. */
static struct shared_rounds rounds_of(struct arena *arena, const struct case_pairs *pairs,
                                      const struct configuration *configuration, const char *metric)
{
    const struct result_case **cases = arena_alloc(arena, configuration->count * sizeof *cases);
    double *of_set[2];
    size_t count[2];
    for (int set = 0; set < 2; set++) {
        for (size_t i = 0; i < configuration->count; i++)
            cases[i] = (set ? pairs->candidate : pairs->base)[configuration->member[i]];
        count[set] = configuration_rounds(cases, configuration->count, metric, arena, &of_set[set]);
    }
    const size_t fewer = count[0] < count[1] ? count[0] : count[1];
    double *value = arena_alloc(arena, configuration->count * 2 * fewer * sizeof *value);
    for (size_t i = 0; i < configuration->count; i++)
        for (size_t r = 0; r < 2 * fewer; r++) {
            const size_t set = r / fewer, taken = r % fewer * count[set] / fewer;
            value[i * 2 * fewer + r] = of_set[set][i * count[set] + taken];
        }
    return (struct shared_rounds){configuration->count, fewer, value};
}

/* The row over all cases of a configuration. `finest`: the smallest p that has to be exact. */
static struct compare_row row_of(struct comparer *c, const struct case_pairs *pairs,
                                 const struct configuration *configuration, double finest)
{
    const struct counter_info *metric = pairs->row.metric;
    struct arena arena = {0};
    const struct shared_rounds rounds = rounds_of(&arena, pairs, configuration, metric->name);
    struct compare_row row = {
        .file = c->file,
        .cases = configuration->count,
        .of = &configuration->as,
        .metric = metric,
        .gate = pairs->row.gate,
        .limit = pairs->row.limit,
        .floor = noise_limit(c, &configuration->as, metric->name),
        .base = NAN,
        .candidate = NAN,
        .base_rounds = rounds.count,
        .candidate_rounds = rounds.count,
        .has_test = rounds.count >= RANKS_LEAST_ROUNDS,
        .p_adjusted = NAN,
        .shift = {.estimate = NAN},
    };
    if (row.has_test)
        row.shift = shared_shift(&rounds, COMPARE_ALPHA, finest);
    else if (rounds.count)
        row.shift.estimate = shared_shift_estimate(&rounds);
    arena_free(&arena);
    return row;
}

static void compare_metric(struct comparer *c, const struct counter_info *metric)
{
    const struct case_pairs pairs = pairs_of(c, metric);
    size_t count, kept = 0;
    struct configuration *configurations =
        configurations_of(&c->arena, pairs.candidate, pairs.count, &count);
    for (size_t w = 0; w < count; w++)
        kept += configurations[w].count >= SHARED_SHIFT_LEAST_CASES;
    for (size_t w = 0; w < count; w++)
        if (configurations[w].count >= SHARED_SHIFT_LEAST_CASES) {
            const struct compare_row row = row_of(
                c, &pairs, &configurations[w], COMPARE_ALPHA / (double)(2 * kept * c->file_count));
            add_row(c, &row);
        }
}

void compare_configurations(struct comparer *c)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    /* A configuration has no workload and no dataset. */
    if (c->by && (strcmp(c->by, "workload") == 0 || strcmp(c->by, "dataset") == 0))
        return;
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == KIND_SAMPLED && !c->options->leave_out[i] &&
            (c->by || c->options->gates.gate[i].is_set))
            compare_metric(c, &list[i]);
}

/* ---- metrics of experiments ----------------------------------------------------------------- */

/* The index in counter_list of the counter that says whether this metric is compared and gated;
 * NO_COUNTER if cases have none of its kind. */
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

/* ---- one row of an experiment --------------------------------------------------------------- */

/* The value in the first good round; NaN if there is none. */
static double exact_value(const struct result_case *row, const char *name)
{
    for (size_t i = 0; i < row->round_count; i++) {
        const struct result_numbers *values = measured_samples(&row->rounds[i], name);
        if (values && values->count)
            return values->values[0];
    }
    return NAN;
}

static void compare_exact(struct comparer *c, const struct result_case *base,
                          const struct result_case *candidate, const struct counter_info *info,
                          int counter)
{
    const bool can_have_gate =
        counter != NO_COUNTER && info->better == BETTER_LOWER && info->unit != UNIT_RATIO;
    const struct gate *gate = can_have_gate && c->options->gates.gate[counter].is_set
                                  ? &c->options->gates.gate[counter]
                                  : NULL;
    const double before = exact_value(base, info->name), now = exact_value(candidate, info->name);
    const bool any_varies = varies(base, info->name) || varies(candidate, info->name);
    if (isnan(before) || isnan(now))
        return;
    if (before == now && !any_varies && !c->options->keep_equal) {
        c->equal_count++;
        c->gated_equal_count += gate != NULL;
        return;
    }
    struct compare_row *row = new_row(c, base, candidate);
    row->metric = info;
    row->gate = gate;
    row->base = before;
    row->candidate = now;
    if (any_varies) {
        row->verdict = VERDICT_unsure;
        row->reason = "not deterministic";
    } else if (before != now) {
        set_change(row, before, now);
    }
}

static void compare_row(struct comparer *c, const struct result_case *base,
                        const struct result_case *candidate, const struct scope *scope)
{
    bool has_time = false;
    if (!is_pair(c, base, candidate, scope))
        return;
    for (size_t i = 0; i < c->experiment->metric_count; i++) {
        const struct counter_info *info = &c->experiment->metrics[i];
        const int counter = stand_in(info);
        if (counter != NO_COUNTER && c->options->leave_out[counter])
            continue;
        if (info->kind == KIND_EXACT)
            compare_exact(c, base, candidate, info, counter);
        else if (info->unit == UNIT_NS && info->better == BETTER_LOWER)
            has_time |=
                add_samples(c, base, candidate, info, has_time ? NULL : &c->options->gates.gate[0]);
    }
}

/* ---- experiments ---------------------------------------------------------------------------- */

void compare_experiments(struct comparer *c, const struct result *base,
                         const struct result *candidate)
{
    for (size_t i = 0; i < candidate->experiment_count; i++) {
        const struct result_experiment *own = c->experiment = &candidate->experiments[i];
        const struct result_experiment *before = result_experiment_of(base, own->name, own->device);
        const struct scope scope = compare_experiment_scope(c, before, own);
        for (size_t j = 0; j < own->row_count; j++)
            compare_row(c, experiment_row(before, own->rows[j].values), &own->rows[j], &scope);
    }
    for (size_t i = 0; i < base->experiment_count; i++) {
        const struct result_experiment *own = c->experiment = &base->experiments[i];
        const struct result_experiment *other =
            result_experiment_of(candidate, own->name, own->device);
        for (size_t j = 0; j < own->row_count; j++)
            if (!experiment_row(other, own->rows[j].values))
                compare_failure(c, &own->rows[j], NULL);
    }
    c->experiment = NULL;
}
