#include "results/file/experiment_result.h"

#include <math.h>
#include <string.h>

#include "base/tree.h"
#include "results/file/draft.h"
#include "results/file/measured.h"

static void set_parameters(struct result *result, struct result_experiment *experiment,
                           const struct experiment_parameter *parameters)
{
    while (parameters[experiment->parameter_count].name)
        experiment->parameter_count++;
    experiment->parameters = arena_alloc(&result->arena, (experiment->parameter_count + 1) *
                                                             sizeof *experiment->parameters);
    for (size_t i = 0; i < experiment->parameter_count; i++) {
        const struct experiment_parameter *p = &parameters[i];
        experiment->parameters[i] = (struct result_parameter){
            p->name, p->is_number ? counter_unit_name(p->unit) : NULL, p->help};
    }
}

struct result_experiment *experiment_add(struct result *result, const char *name,
                                         const char *device, const json_t *options,
                                         const struct experiment_parameter *parameters,
                                         const struct counter_info *metrics, size_t metric_count)
{
    struct result_experiment *experiment =
        (struct result_experiment *)result_experiment_of(result, name, device);
    if (!experiment) {
        result->experiments =
            arena_grow(&result->arena, result->experiments, (unsigned)result->experiment_count,
                       &result->experiment_room, sizeof *result->experiments);
        experiment = &result->experiments[result->experiment_count++];
    }
    *experiment = (struct result_experiment){
        .name = name,
        .device = arena_copy(&result->arena, device, strlen(device)),
        .options = result_keep(result, json_deep_copy(options)),
        .metric_count = metric_count,
        .metrics = arena_alloc(&result->arena, (metric_count + 1) * sizeof *metrics),
    };
    if (metric_count)
        memcpy(experiment->metrics, metrics, metric_count * sizeof *metrics);
    set_parameters(result, experiment, parameters);
    return experiment;
}

/* ---- filing rounds --------------------------------------------------------------------------- */

const struct result_case *experiment_row(const struct result_experiment *experiment,
                                         const json_t *key)
{
    for (size_t i = 0; experiment && i < experiment->row_count; i++)
        if (json_equal(experiment->rows[i].values, key))
            return &experiment->rows[i];
    return NULL;
}

size_t experiment_row_count(const struct result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < result->experiment_count; i++)
        count += result->experiments[i].row_count;
    return count;
}

size_t experiment_expect_row(struct result *result, struct result_experiment *experiment,
                             json_t *key)
{
    const struct result_case *row = experiment_row(experiment, key);
    if (row)
        return (size_t)(row - experiment->rows);
    experiment->rows = arena_grow(&result->arena, experiment->rows, (unsigned)experiment->row_count,
                                  &experiment->row_room, sizeof *experiment->rows);
    experiment->rows[experiment->row_count] =
        (struct result_case){.values = result_keep(result, json_incref(key)),
                             .status = CASE_skipped,
                             .reason = "not measured: the run ended before its turn"};
    return experiment->row_count++;
}

json_t *experiment_round(unsigned round, size_t slot, enum case_status status, const char *reason)
{
    return tree_pack("{s:i, s:i, s:s, s:o, s:n, s:n}", "round", (int)round, "slot", (int)slot,
                     "status", case_status_name(status), "reason", tree_text_or_null(reason),
                     "digest", "samples");
}

/* The first row in the result whose answer should be the same; NULL: there is none yet. */
static const struct result_case *first_with_digest(const struct result *result,
                                                   const struct result_experiment *experiment,
                                                   const struct result_experiment **of)
{
    for (size_t i = 0; i < result->experiment_count; i++) {
        const struct result_experiment *each = &result->experiments[i];
        if (strcmp(each->name, experiment->name) != 0 ||
            !json_equal(each->options, experiment->options))
            continue;
        for (size_t j = 0; j < each->row_count; j++)
            if (each->rows[j].digest) {
                *of = each;
                return &each->rows[j];
            }
    }
    return NULL;
}

static void compare_digest(struct result *result, const struct result_experiment *experiment,
                           struct result_case *row, struct result_round *round)
{
    const struct result_experiment *of;
    if (round->status != CASE_ok || !round->digest)
        return;
    const struct result_case *first = first_with_digest(result, experiment, &of);
    if (!first || strcmp(round->digest, first->digest) == 0) {
        row->digest = round->digest;
        return;
    }
    struct text words = {0};
    experiment_row_words(of, first, &words);
    round->status = CASE_wrong;
    round->reason =
        arena_printf(&result->arena, "the answer %s differs from %s, that of %s on %s",
                     round->digest, first->digest, words.data ? words.data : "", of->device);
    text_free(&words);
}

static bool same_samples(const struct result_numbers *a, const struct result_numbers *b)
{
    if (!a || !b || a->count != b->count)
        return !a && !b;
    for (size_t i = 0; i < a->count; i++)
        if (a->values[i] != b->values[i] && !(isnan(a->values[i]) && isnan(b->values[i])))
            return false;
    return true;
}

/* Adds a warning for each exact metric that differs from that of the first round. */
static void compare_exact(struct result *result, const struct result_experiment *experiment,
                          struct result_case *row, const struct result_round *round)
{
    const struct result_round *first = row->rounds;
    if (!row->round_count || first->status != CASE_ok || round->status != CASE_ok)
        return;
    for (size_t i = 0; i < experiment->metric_count; i++) {
        const struct counter_info *metric = &experiment->metrics[i];
        if (metric->kind == KIND_EXACT && !same_samples(measured_samples(first, metric->name),
                                                        measured_samples(round, metric->name)))
            result_warn(result, row, "not-deterministic", metric->name, "differs between rounds");
    }
}

enum case_status experiment_add_round(struct result *result, struct result_experiment *experiment,
                                      size_t index, json_t *json)
{
    struct result_case *row = &experiment->rows[index];
    struct result_round round = {0};
    struct error error = {0};
    if (json_get_fields_in(&result->arena, result_keep(result, json), "round",
                           result_row_round_struct.fields, &round, &error)) {
        round.status = CASE_error;
        round.reason = arena_copy(&result->arena, error.text, strlen(error.text));
    }
    compare_digest(result, experiment, row, &round);
    if (round.status != CASE_ok)
        round.sample_count = 0;
    compare_exact(result, experiment, row, &round);
    result_add_to_rounds(result, row, &round);
    return round.status;
}

/* ---- reading --------------------------------------------------------------------------------- */

const char *experiment_word(const struct result_case *row, const char *parameter)
{
    return tree_get_text(row->values, parameter);
}

double experiment_number(const struct result_case *row, const char *parameter)
{
    return tree_get_number(row->values, parameter);
}

void experiment_value_text(double value, enum counter_unit unit, struct text *out)
{
    char buffer[32];
    if (isnan(value))
        text_add(out, "-");
    else if (value == 0)
        text_add(out, "0");
    else if (unit == UNIT_NS)
        text_add(out, "%s", text_ns(buffer, value));
    else if (unit == UNIT_BYTES)
        text_add(out, "%s", text_bytes(buffer, (uint64_t)value));
    else if (unit == UNIT_COUNT)
        text_add(out, "%.0f", value);
    else
        text_add(out, "%.4g", value);
}

void experiment_row_words(const struct result_experiment *experiment, const struct result_case *row,
                          struct text *out)
{
    for (size_t i = 0; i < experiment->parameter_count; i++) {
        const struct result_parameter *p = &experiment->parameters[i];
        text_add(out, "%s%s=", i ? " " : "", p->name);
        if (p->unit)
            text_add(out, "%.0f", experiment_number(row, p->name));
        else
            text_add(out, "%s", experiment_word(row, p->name));
    }
}
