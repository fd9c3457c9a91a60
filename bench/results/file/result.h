/* A result file, in memory. The structs are the specification of the format: the tables in
 * result_fields.c tie each to its JSON, and read, check and write it. results/README.md explains
 * the members to people, and results/schema/ has the JSON Schema for other tools.
 *
 * Unknown numbers are NaN here, unknown texts NULL, and both null in a file. The arena owns all
 * structs of a result. Texts and JSON values belong to the tree that it was read from.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_rules.h"
#include "base/text.h"
#include "results/facts/case.h"
#include "results/facts/context.h"
#include "results/statistics/statistics.h"

#define RESULT_SCHEMA_NAME    "gamut.result"
#define RESULT_SCHEMA_VERSION "2.0.0"

/* ---- run: what was asked for, and when ------------------------------------------------------- */

/* The end of a run. A result is "partial" until draft_finish is called. */
enum run_status { RUN_COMPLETE, RUN_PARTIAL, RUN_INTERRUPTED };
/* The word for it, as in files. */
const char *run_status_name(enum run_status status);

/* A process that added rounds: the first one, and each `gamut run --add`. */
struct result_session {
    const char *started_at;
    unsigned rounds;
    json_t *atlases; /* those that its cases were predicted by (draft_set_atlases); or NULL */
};

/* The part of a list that the file has, of `gamut … --shard`. */
struct result_shard {
    unsigned number, of;
    uint64_t own, items; /* of the shard, and of the whole list */
    const char *list;    /* digest of the ids of all items */
};

/* A shard that `gamut join` put into the file. */
struct result_joined {
    unsigned number;
    const char *run, *started_at, *machine_id;
    uint64_t duration_ns;
    size_t session_count;
    struct result_session *sessions;
};

struct result_run {
    const char *id, *started_at;
    uint64_t duration_ns; /* UINT64_MAX: unknown */
    size_t argc;
    const char **argv;
    uint64_t seed;
    json_t *options; /* an object: the flags of the command as they took effect */
    unsigned rounds; /* planned */
    enum run_status status;
    size_t session_count;
    struct result_session *sessions;
    struct result_shard *shard; /* NULL: the file has the whole list */
    size_t joined_count;
    struct result_joined *joined;
};

/* ---- context: what ran it -------------------------------------------------------------------- */

struct result_context {
    struct record_tool tool;
    struct record_host host;
    size_t device_count;
    struct record_device *devices; /* those that were used */
    json_t *env;                   /* an object of texts */
    struct clock_cost clock;
};

/* ---- cases ----------------------------------------------------------------------------------- */

struct result_warning {
    const char *code, *subject, *detail;
};

/* A number by its name, and several. */
struct result_number {
    const char *name;
    double value;
};
struct result_numbers {
    const char *name;
    size_t count;
    double *values;
};

/* Medians over rounds of the cost model's predictions (MODEL_LIST), or those of one round. */
struct result_model {
    const char *why_not; /* why predicted_ns is unknown, and perhaps others */
#define X(name, help) double name;
    MODEL_LIST(X)
#undef X
    double error; /* predicted over measured, less 1; of a case alone */
};

/* Counters of a round that differ from those of its case. */
struct result_other_counters {
    size_t cold_count, warm_count;
    struct result_number *cold, *warm;
};

struct result_round {
    unsigned round; /* its number, from 0; rounds are in this order, each once */
    unsigned slot;  /* position in the shuffled order of the round */
    enum case_status status;
    const char *reason;
    enum case_check check;
    const char *digest; /* of the answer */
    double worst_error;
    size_t cold_sample_count;
    struct result_number *cold_sample; /* by metric: the run on a fresh allocator */
    size_t sample_count;
    struct result_numbers *samples; /* by metric, in the order of measurement; none if not ok */
    struct result_model *model;     /* NULL: no prediction was asked for */
    struct result_other_counters *other_counters; /* NULL: there are none */
};

/* Statistics of a sampled metric: of one median a round, then of all samples. */
struct result_stat {
    const char *name;
    struct statistics over; /* rounds */
    uint64_t samples;
    double min, p10, p90, max;
    double cold_median;
};

struct result_counters {
    struct exact_counts cold, warm;
};

/* A ratio over a baseline, paired by round. */
struct result_ratio {
    const char *baseline; /* id of its case */
    struct statistics over;
};

/* A case, or a row of an experiment. A row has `values`, `status`, `reason`, `digest`, `warnings`,
 * `stats` and `rounds` alone. */
struct result_case {
    const char *id;
    struct case_key key;
    json_t *values;          /* of a row: an object, the value of each parameter */
    enum case_status status; /* that of its worst round */
    const char *reason;
    enum case_check check;
    const char *digest, *program_digest, *inputs_digest;
    double worst_error, traffic_bytes;
    struct result_counters *counters; /* those of its first good round; NULL: there is none */
    size_t stat_count;
    struct result_stat *stats;  /* by metric */
    struct result_model *model; /* NULL: no prediction was asked for */
    struct result_ratio speedup_over_raw;
    double peak_over_best, floor_ns, of_floor;
    size_t warning_count;
    struct result_warning *warnings;
    size_t round_count;
    struct result_round *rounds;
    unsigned round_room; /* for makers */
    json_t *spaces;      /* counters of each memory space (facts/case.h); NULL: there is one */
    struct result_ratio *speedup; /* over another baseline than raw; NULL: there is none */
};

/* ---- means and the answer -------------------------------------------------------------------- */

/* The geometric mean of speedup_over_raw of a configuration's cases. */
struct result_mean {
    struct case_key key; /* without workload and dataset */
    unsigned cases, missing;
    struct statistics over;
};

/* results/file/answer.h says what these are. Names are those in sentences. */
struct answer_gain {
    struct statistics speedup;
    double memory;
};
struct answer_ranked {
    struct case_key key;
    const char *name;
    bool is_baseline;
    struct statistics speedup, over_fastest;
    const char *verdict;
    double memory_over_bound, driver_calls;
    struct answer_gain *over_none;
};
struct answer_left_out {
    const char *workload, *dataset, *reason;
};
struct answer_not_ranked {
    const char *name, *reason;
};
struct answer_device {
    const char *device;
    struct case_key baseline; /* its named members */
    const char *against;
    uint64_t cases, of, rounds;
    size_t ranked_count;
    struct answer_ranked *ranking; /* the fastest first */
    size_t least_memory_count;
    const char **least_memory;
    size_t left_out_count;
    struct answer_left_out *left_out;
    size_t not_here_count;
    const char **not_here, **why_not_here; /* the reasons, or NULL, are not in a file */
    size_t not_ranked_count;
    struct answer_not_ranked *not_ranked;
    size_t sentence_count, omission_count; /* omissions are the first sentences; not in a file */
    const char **sentences;
};
struct answer {
    size_t device_count;
    struct answer_device *devices;
};

/* ---- suite: pairs of cases with published figures -------------------------------------------- */

struct suite_entry {
    struct case_key key; /* without the member that is compared */
    enum case_status status;
    const char *reason, *first, *second; /* ids */
    double first_wall_ns, second_wall_ns;
    struct statistics ratio;
    double predicted_ratio, published;
    const char *than_published; /* "less", "as much", "more"; NULL: unknown */
};
struct suite_row {
    const char *name, *workload, *dataset, *not_under, *note, *missing;
    double published;
    size_t measured_count;
    struct suite_entry *measured;
};
struct suite_mean {
    struct case_key key;
    unsigned rows;
    double ours, published;
};
/* The member of a key that is compared, and its two values. */
struct suite_pair {
    const char *member;
    size_t count;
    const char **sides;
};
struct result_suite {
    const char *format, *title, *source;
    size_t compare_count;
    struct suite_pair *compare;
    const char *strategies, *merges, *releases;
    size_t row_count;
    struct suite_row *rows;
    const char *name;
    size_t mean_count;
    struct suite_mean *means;
};

/* ---- experiments (results/file/experiment_result.h) ------------------------------------------ */

struct result_parameter {
    const char *name, *unit, *help; /* unit NULL: its values are words */
};
struct result_experiment {
    const char *name, *device;
    json_t *options;
    size_t parameter_count;
    struct result_parameter *parameters;
    size_t metric_count;
    struct counter_info *metrics;
    size_t row_count;
    struct result_case *rows;
    unsigned row_room; /* for makers */
};

/* ---- noise (results/compare/noise.h) --------------------------------------------------------- */

struct noise_metric {
    const char *name;
    double floor;
    uint64_t cases;
    size_t case_count, configuration_count;
    struct result_number *by_case, *by_configuration; /* by id */
};
struct result_noise {
    const char *device, *name, *driver, *machine_id;
    const char *run, *measured_at; /* where it is from */
    unsigned rounds;
    size_t metric_count;
    struct noise_metric *metrics;
};

/* ---- the file -------------------------------------------------------------------------------- */

struct result {
    const char *version; /* of the schema */
    struct result_run run;
    struct result_context context;
    size_t metric_count;
    struct counter_info *metrics;
    size_t mean_count;
    struct result_mean *summary;
    size_t case_count;
    struct result_case *cases;  /* in the order of their keys, each once */
    struct result_suite *suite; /* NULL: none was run */
    struct answer answer;
    json_t *atlas;         /* an array of atlases (results/facts/atlas.h); or NULL */
    json_t *fits, *advice; /* arrays, of `gamut fit` and `gamut advise`; or NULL */
    size_t experiment_count;
    struct result_experiment *experiments;
    size_t noise_count;
    struct result_noise *noise;
    json_t *origins;             /* an object: whose policy each strategy follows; or NULL */
    struct arena arena, derived; /* `derived` has what result_summarise makes */
    json_t *root;                /* what it was read from: it owns texts and JSON values */
    json_t *kept;                /* an array of JSON values that were added */
    unsigned case_room, experiment_room; /* for makers */
};

/* Reads and checks a file, plain or compressed with gzip. The caller calls result_free. ERR_IO;
 * ERR_PARSE names the file and the line, or the path of the wrong value. */
int result_open(const char *path, struct result *result, struct error *error);
/* Reads a tree, of which it keeps a reference. It has all that readers rely on. Unknown members are
 * ignored. ERR_PARSE; then nothing is to be freed. */
int result_read(json_t *root, struct result *result, struct error *error);
/* Frees what result_open or result_read has made; may be called twice. */
void result_release(struct result *result);

/* Calls `take` with each result file below the folder `results` whose root has this member, the
 * newest first (by name), until `take` returns true. Files that cannot be read are skipped. */
void newest_results(const char *results, const char *member,
                    bool (*take)(void *context, const char *path, const struct result *result),
                    void *context);

/* ---- changes ---- */

/* Makes the result the owner of a JSON value, whose reference it takes. Returns it. */
json_t *result_keep(struct result *result, json_t *value);
/* Adds a warning, unless there is one with this code and subject. */
void result_warn(struct result *result, struct result_case *one, const char *code,
                 const char *subject, const char *detail);

/* ---- what is in it ---- */

/* Counts the cases by status. */
void result_status_counts(const struct result *result, size_t counts[CASE_STATUSES]);
/* The device with this id in the context; NULL if the file has none. */
const struct record_device *result_device(const struct result *result, const char *id);
/* The case with this id; NULL if there is none. */
const struct result_case *result_case_of(const struct result *result, const char *id);
/* The places of all cases by their ids; the caller owns it. And the case by such an index. */
json_t *result_index(const struct result *result);
const struct result_case *result_indexed(const struct result *result, const json_t *index,
                                         const char *id);
/* The experiment with this name on a device; NULL if there is none. */
const struct result_experiment *result_experiment_of(const struct result *result, const char *name,
                                                     const char *device);
/* Has any case of the device, or of any device if it is NULL, a time? A replay has none. */
bool result_has_times(const struct result *result, const char *device);

/* Also used where a part of a result is written or read alone. */
extern const struct json_struct result_struct, result_case_struct, result_experiment_struct,
    result_suite_struct, answer_device_struct, answer_ranked_struct, result_row_round_struct,
    result_mean_struct, result_noise_struct;

/* A suite in a result: the ratio of two measured times for each published ratio. */

/* Adds the suite (its checked file, see run/select/suite.h) to a result. Copies it. */
void suite_result_set(struct result *result, const char *name, const json_t *suite);
/* Sets `measured` of each row: an entry for every pair of cases, from the rounds that both have.
 * And the means. */
void suite_result_summarise(struct result *result);
