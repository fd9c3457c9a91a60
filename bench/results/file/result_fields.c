/* The tables that tie the structs of result.h to their JSON, in the order in which it is
 * written. */
#include "base/json_rules.h"
#include "results/file/result.h"

#define STRUCT(name, type, ...) JSON_STRUCT(static, name, type, __VA_ARGS__)
#define PUBLIC(name, type, ...) JSON_STRUCT(, name, type, __VA_ARGS__)

#define JSON_MANY_IF(many, type_of, member, count, table)                                          \
    JSON_ANY(#member, many, type_of, member, NULL, table, offsetof(type_of, count), JSON_MAY_LACK)

/* An interval and what it is of: rounds. */
#define INTERVAL(type, member)                                                                     \
    JSON_OPTIONAL_AS("rounds", COUNT, type, member.count),                                         \
        JSON_FIELD_AS("median", NUMBER, type, member.median),                                      \
        JSON_FIELD_AS("ci_lo", NUMBER, type, member.ci_lo),                                        \
        JSON_FIELD_AS("ci_hi", NUMBER, type, member.ci_hi),                                        \
        JSON_FIELD_AS("ci_level", NUMBER, type, member.ci_level)

struct interval {
    struct statistics over;
};
STRUCT(interval, struct interval, INTERVAL(struct interval, over));

/* ---- run ------------------------------------------------------------------------------------- */

STRUCT(session, struct result_session, JSON_FIELD(STRING, struct result_session, started_at),
       JSON_FIELD(COUNT_SMALL, struct result_session, rounds),
       JSON_OPTIONAL(JSON, struct result_session, atlases));

STRUCT(shard, struct result_shard, JSON_FIELDS(COUNT_SMALL, struct result_shard, number, of),
       JSON_FIELDS(COUNT, struct result_shard, own, items),
       JSON_FIELD(STRING, struct result_shard, list));

STRUCT(joined, struct result_joined, JSON_FIELD(COUNT_SMALL, struct result_joined, number),
       JSON_FIELDS(STRING, struct result_joined, run, started_at),
       JSON_FIELD(COUNT_OR_UNKNOWN, struct result_joined, duration_ns),
       JSON_FIELD(STRING, struct result_joined, machine_id),
       JSON_MANY(LIST, struct result_joined, sessions, session_count, &session_struct));

static const char *const run_status_names[] = {"complete", "partial", "interrupted", NULL};
const char *run_status_name(enum run_status status)
{
    return run_status_names[status];
}

STRUCT(run, struct result_run, JSON_FIELDS(STRING, struct result_run, id, started_at),
       JSON_FIELD(COUNT_OR_UNKNOWN, struct result_run, duration_ns),
       JSON_MANY(STRINGS, struct result_run, argv, argc, NULL),
       JSON_FIELD(COUNT, struct result_run, seed), JSON_FIELD(JSON, struct result_run, options),
       JSON_FIELD(COUNT_SMALL, struct result_run, rounds),
       JSON_WORD(struct result_run, status, run_status_names),
       JSON_MANY_IF(LIST, struct result_run, sessions, session_count, &session_struct),
       JSON_OPTIONAL_NESTED(POINTER, struct result_run, shard, &shard_struct),
       JSON_OPTIONAL_MANY(LIST, struct result_run, joined, joined_count, &joined_struct));

/* ---- context --------------------------------------------------------------------------------- */

STRUCT(context, struct result_context,
       JSON_NESTED(OBJECT, struct result_context, tool, &record_tool_struct),
       JSON_NESTED(OBJECT, struct result_context, host, &record_host_struct),
       JSON_MANY(LIST, struct result_context, devices, device_count, &record_device_struct),
       JSON_FIELD(JSON, struct result_context, env),
       JSON_OPTIONAL_NESTED(OBJECT, struct result_context, clock, &clock_cost_struct));

/* ---- cases and rows -------------------------------------------------------------------------- */

STRUCT(warning, struct result_warning, JSON_FIELD(STRING, struct result_warning, code),
       JSON_FIELDS(STRING_OR_NULL, struct result_warning, subject, detail));

STRUCT(number, struct result_number, JSON_FIELD_AS("", NUMBER, struct result_number, value));
STRUCT(numbers, struct result_numbers,
       JSON_MANY_AS("", NUMBERS, struct result_numbers, values, count, NULL));

#define PREDICTED(name, help) JSON_FIELD(NUMBER, struct result_model, name),
STRUCT(round_model, struct result_model,
       MODEL_LIST(PREDICTED) JSON_FIELD(STRING_OR_NULL, struct result_model, why_not));
/* The error stands after the first prediction. */
STRUCT(case_model, struct result_model, JSON_FIELD(STRING_OR_NULL, struct result_model, why_not),
       JSON_FIELD(NUMBER, struct result_model, predicted_ns),
       JSON_FIELD(NUMBER_SIGNED, struct result_model, error),
       JSON_FIELDS(NUMBER, struct result_model, device_ns, driver_ns, waiting_ns, first_use_ns,
                   allocator_ns));

STRUCT(other_counters, struct result_other_counters,
       JSON_OPTIONAL_MANY(MAP_OR_NULL, struct result_other_counters, cold, cold_count,
                          &number_struct),
       JSON_OPTIONAL_MANY(MAP_OR_NULL, struct result_other_counters, warm, warm_count,
                          &number_struct));

#define ROUND_BEGINS                                                                               \
    JSON_FIELD(COUNT_SMALL, struct result_round, round),                                           \
        JSON_FIELD(COUNT, struct result_round, slot),                                              \
        JSON_WORD(struct result_round, status, case_status_names),                                 \
        JSON_FIELD(STRING_OR_NULL, struct result_round, reason)
#define SAMPLES JSON_MANY(MAP_OR_NULL, struct result_round, samples, sample_count, &numbers_struct)

STRUCT(round, struct result_round, ROUND_BEGINS,
       JSON_OPTIONAL_WORD(struct result_round, check, case_check_names),
       JSON_FIELD(STRING_OR_NULL, struct result_round, digest),
       JSON_FIELD(NUMBER, struct result_round, worst_error),
       JSON_MANY(MAP_OR_NULL, struct result_round, cold_sample, cold_sample_count, &number_struct),
       SAMPLES, JSON_NESTED(POINTER, struct result_round, model, &round_model_struct),
       JSON_OPTIONAL_NESTED(POINTER, struct result_round, other_counters, &other_counters_struct));
PUBLIC(result_row_round, struct result_round, ROUND_BEGINS,
       JSON_FIELD(STRING_OR_NULL, struct result_round, digest), SAMPLES);

STRUCT(stat, struct result_stat, INTERVAL(struct result_stat, over),
       JSON_FIELD_AS("mad", NUMBER, struct result_stat, over.mad),
       JSON_FIELD(COUNT, struct result_stat, samples),
       JSON_FIELDS(NUMBER, struct result_stat, min, p10, p90, max, cold_median));

STRUCT(counters, struct result_counters,
       JSON_NESTED(OBJECT, struct result_counters, cold, &exact_counts_struct),
       JSON_NESTED(OBJECT, struct result_counters, warm, &exact_counts_struct));

STRUCT(ratio, struct result_ratio, JSON_FIELD(STRING_OR_NULL, struct result_ratio, baseline),
       INTERVAL(struct result_ratio, over));

#define STATUS                                                                                     \
    JSON_WORD(struct result_case, status, case_status_names),                                      \
        JSON_FIELD(STRING_OR_NULL, struct result_case, reason)
#define STATS    JSON_MANY(MAP, struct result_case, stats, stat_count, &stat_struct)
#define WARNINGS JSON_MANY(LIST, struct result_case, warnings, warning_count, &warning_struct)

PUBLIC(result_case, struct result_case, JSON_FIELD(STRING, struct result_case, id),
       JSON_NESTED(OBJECT, struct result_case, key, &case_key_struct), STATUS,
       JSON_OPTIONAL_WORD(struct result_case, check, case_check_names),
       JSON_FIELDS(STRING_OR_NULL, struct result_case, digest, program_digest, inputs_digest),
       JSON_FIELDS(NUMBER, struct result_case, worst_error, traffic_bytes),
       JSON_NESTED(POINTER, struct result_case, counters, &counters_struct), STATS,
       JSON_NESTED(POINTER, struct result_case, model, &case_model_struct),
       JSON_NESTED(OBJECT_OR_NULL, struct result_case, speedup_over_raw, &ratio_struct),
       JSON_FIELDS(NUMBER, struct result_case, peak_over_best, floor_ns, of_floor), WARNINGS,
       JSON_MANY(LIST, struct result_case, rounds, round_count, &round_struct),
       JSON_OPTIONAL(JSON, struct result_case, spaces),
       JSON_OPTIONAL_NESTED(POINTER, struct result_case, speedup, &ratio_struct));

STRUCT(row, struct result_case, JSON_FIELD_AS("key", JSON, struct result_case, values), STATUS,
       JSON_FIELD(STRING_OR_NULL, struct result_case, digest), WARNINGS, STATS,
       JSON_MANY(LIST, struct result_case, rounds, round_count, &result_row_round_struct));

/* ---- means and the answer -------------------------------------------------------------------- */

PUBLIC(result_mean, struct result_mean,
       JSON_FIELD_AS("device", TEXT, struct result_mean, key.device),
       JSON_FIELD_AS("merge", TEXT, struct result_mean, key.merge),
       JSON_FIELD_AS("release", TEXT, struct result_mean, key.release),
       JSON_FIELD_AS("strategy", TEXT, struct result_mean, key.strategy),
       JSON_OPTIONAL_AS("residency", TEXT_OR_NULL, struct result_mean, key.residency),
       JSON_FIELDS(COUNT, struct result_mean, cases, missing), INTERVAL(struct result_mean, over));

#define KEY(type, of, member) JSON_OPTIONAL_AS(#member, type, of, key.member)
STRUCT(named, struct case_key,
       JSON_OPTIONALS(TEXT_OR_NULL, struct case_key, strategy, merge, release, residency));

STRUCT(gain, struct answer_gain,
       JSON_NESTED(OBJECT_OR_NULL, struct answer_gain, speedup, &interval_struct),
       JSON_FIELD(NUMBER, struct answer_gain, memory));
PUBLIC(answer_ranked, struct answer_ranked,
       JSON_EACH(KEY, TEXT_OR_NULL, struct answer_ranked, strategy, merge, release, residency),
       JSON_FIELD(STRING, struct answer_ranked, name),
       JSON_FIELD(BOOLEAN, struct answer_ranked, is_baseline),
       JSON_NESTED(OBJECT_OR_NULL, struct answer_ranked, speedup, &interval_struct),
       JSON_NESTED(OBJECT_OR_NULL, struct answer_ranked, over_fastest, &interval_struct),
       JSON_FIELD(STRING_OR_NULL, struct answer_ranked, verdict),
       JSON_FIELDS(NUMBER, struct answer_ranked, memory_over_bound, driver_calls),
       JSON_OPTIONAL_NESTED(POINTER, struct answer_ranked, over_none, &gain_struct));
STRUCT(left_out, struct answer_left_out,
       JSON_FIELDS(STRING, struct answer_left_out, workload, dataset, reason));
STRUCT(not_ranked, struct answer_not_ranked,
       JSON_FIELDS(STRING, struct answer_not_ranked, name, reason));
PUBLIC(answer_device, struct answer_device, JSON_FIELD(STRING, struct answer_device, device),
       JSON_NESTED(OBJECT, struct answer_device, baseline, &named_struct),
       JSON_FIELD(STRING, struct answer_device, against),
       JSON_FIELDS(COUNT, struct answer_device, cases, of, rounds),
       JSON_MANY(LIST, struct answer_device, ranking, ranked_count, &answer_ranked_struct),
       JSON_MANY(STRINGS, struct answer_device, least_memory, least_memory_count, NULL),
       JSON_MANY(LIST, struct answer_device, left_out, left_out_count, &left_out_struct),
       JSON_MANY(STRINGS, struct answer_device, not_here, not_here_count, NULL),
       JSON_MANY(LIST, struct answer_device, not_ranked, not_ranked_count, &not_ranked_struct),
       JSON_MANY(STRINGS, struct answer_device, sentences, sentence_count, NULL));

/* ---- suite ----------------------------------------------------------------------------------- */

STRUCT(entry, struct suite_entry,
       JSON_EACH(KEY, TEXT_OR_NULL, struct suite_entry, device, workload, dataset, merge, release,
                 strategy),
       JSON_WORD(struct suite_entry, status, case_status_names),
       JSON_FIELDS(STRING_OR_NULL, struct suite_entry, reason, first, second),
       JSON_FIELDS(NUMBER, struct suite_entry, first_wall_ns, second_wall_ns),
       JSON_NESTED(OBJECT_OR_NULL, struct suite_entry, ratio, &interval_struct),
       JSON_FIELDS(NUMBER, struct suite_entry, predicted_ratio, published),
       JSON_FIELD(STRING_OR_NULL, struct suite_entry, than_published));
STRUCT(suite_row, struct suite_row, JSON_FIELD(STRING, struct suite_row, name),
       JSON_OPTIONALS(STRING_OR_NULL, struct suite_row, workload, dataset),
       JSON_OPTIONAL(NUMBER, struct suite_row, published),
       JSON_OPTIONALS(STRING_OR_NULL, struct suite_row, not_under, note, missing),
       JSON_MANY_IF(LIST, struct suite_row, measured, measured_count, &entry_struct));
STRUCT(suite_mean, struct suite_mean,
       JSON_EACH(KEY, TEXT_OR_NULL, struct suite_mean, device, merge, release, strategy),
       JSON_FIELD(COUNT, struct suite_mean, rows),
       JSON_FIELDS(NUMBER, struct suite_mean, ours, published));
STRUCT(pair, struct suite_pair, JSON_MANY_AS("", STRINGS, struct suite_pair, sides, count, NULL));
PUBLIC(result_suite, struct result_suite,
       JSON_OPTIONAL(STRING_OR_NULL, struct result_suite, format),
       JSON_FIELDS(STRING, struct result_suite, title, source),
       JSON_MANY(MAP, struct result_suite, compare, compare_count, &pair_struct),
       JSON_OPTIONALS(STRING_OR_NULL, struct result_suite, strategies, merges, releases),
       JSON_MANY(LIST, struct result_suite, rows, row_count, &suite_row_struct),
       JSON_FIELD(STRING, struct result_suite, name),
       JSON_MANY_IF(LIST, struct result_suite, means, mean_count, &suite_mean_struct));

/* ---- experiments, noise ---------------------------------------------------------------------- */

STRUCT(parameter, struct result_parameter, JSON_FIELD(STRING, struct result_parameter, name),
       JSON_FIELDS(STRING_OR_NULL, struct result_parameter, unit, help));
PUBLIC(result_experiment, struct result_experiment,
       JSON_FIELDS(STRING, struct result_experiment, name, device),
       JSON_FIELD(JSON, struct result_experiment, options),
       JSON_MANY(LIST, struct result_experiment, parameters, parameter_count, &parameter_struct),
       JSON_MANY(MAP, struct result_experiment, metrics, metric_count, &counter_info_struct),
       JSON_MANY(LIST, struct result_experiment, rows, row_count, &row_struct));

STRUCT(noise_metric, struct noise_metric, JSON_FIELD(NUMBER, struct noise_metric, floor),
       JSON_OPTIONAL(COUNT, struct noise_metric, cases),
       JSON_MANY(MAP, struct noise_metric, by_case, case_count, &number_struct),
       JSON_MANY(MAP, struct noise_metric, by_configuration, configuration_count, &number_struct));
PUBLIC(result_noise, struct result_noise, JSON_FIELD(STRING, struct result_noise, device),
       JSON_FIELDS(STRING_OR_NULL, struct result_noise, name, driver),
       JSON_FIELDS(STRING, struct result_noise, machine_id, run, measured_at),
       JSON_FIELD(COUNT_SMALL, struct result_noise, rounds),
       JSON_MANY(MAP, struct result_noise, metrics, metric_count, &noise_metric_struct));

/* ---- the file -------------------------------------------------------------------------------- */

PUBLIC(result, struct result, JSON_NESTED(OBJECT, struct result, run, &run_struct),
       JSON_NESTED(OBJECT, struct result, context, &context_struct),
       JSON_MANY(MAP, struct result, metrics, metric_count, &counter_info_struct),
       JSON_MANY_IF(LIST, struct result, summary, mean_count, &result_mean_struct),
       JSON_MANY(LIST, struct result, cases, case_count, &result_case_struct),
       JSON_OPTIONAL_NESTED(POINTER, struct result, suite, &result_suite_struct),
       JSON_ANY("answer", LIST, struct result, answer.devices, NULL, &answer_device_struct,
                offsetof(struct result, answer.device_count), JSON_MAY_LACK),
       JSON_OPTIONALS(JSON, struct result, atlas, fits, advice),
       JSON_OPTIONAL_MANY(LIST, struct result, experiments, experiment_count,
                          &result_experiment_struct),
       JSON_OPTIONAL_MANY(LIST, struct result, noise, noise_count, &result_noise_struct),
       JSON_OPTIONAL(JSON, struct result, origins));
