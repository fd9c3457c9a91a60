#include "cli/run_flags.h"

#include <sys/stat.h>

#include "cli/recording.h"
#include "record/compare/noise.h"
#include "base/tree.h"
#include "run/select/device_group.h"
#include "run/select/select.h"

#define MOST_SAMPLES_DEFAULT "200" /* more samples a round change no median, only the file's size */

const struct flag run_flags[] = {
    [RUN_WORKLOAD] = {"workload", 'w', FLAG_LIST, "LIST", NULL, NULL, 0, 0,
                      "names or globs, or files (*.mem) [all but churn]"},
    [RUN_STRATEGY] = {"strategy", 's', FLAG_LIST, "LIST", NULL, NULL, 0, 0,
                      "allocators, with options [all but null]"},
    [RUN_MERGE] = {"merge", 'm', FLAG_LIST, "LIST", "none", NULL, 0, 0, "merge sets"},
    [RUN_DATASET] = {"dataset", 'd', FLAG_LIST, "LIST", NULL, NULL, 0, 0,
                     "names or globs [small on a CPU, medium on a GPU]"},
    [RUN_DEVICE] = {"device", 'D', FLAG_LIST, "LIST", "best", NULL, 0, 0,
                    "host, cuda, opencl:1, opencl:NVIDIA, all, cuda:0+cuda:1 (a group), …"},
    [RUN_RELEASE] = {"release", 0, FLAG_LIST, "LIST", "last-use", NULL, 0, 0,
                     "when a block is freed: last-use (after its last use), scope (at its end)"},
    [RUN_RESIDENCY] = {"residency", 'R', FLAG_LIST, "LIST", DEFAULT_RESIDENCY, NULL, 0, 0,
                       "where buffers live in a group of devices"},
    [RUN_SUITE] = {"suite", 0, FLAG_TEXT, "NAME", NULL, NULL, 0, 0,
                   "the cases of a suite, or of a file (*.json); -w and -d narrow it"},
    [RUN_LIKE] = {"like", 0, FLAG_TEXT, "FILE", NULL, NULL, 0, 0,
                  "repeat the run of a result file: its cases and options; -D narrows it"},
    [RUN_ADD] = {"add", 0, FLAG_TEXT, "FILE", NULL, NULL, 0, 0,
                 "add --rounds to a result file of this build: as --like, into the same file"},
    [RUN_ROUNDS] = {"rounds", 0, FLAG_COUNT, "N", "10", NULL, 1, 10000,
                    "how many times all cases run, each time in a new process"},
    [RUN_SAMPLES] = {"samples", 0, FLAG_COUNT, "N", "5", NULL, 1, 1000000,
                     "the least number of timed runs of a case in a round"},
    [RUN_MAX_SAMPLES] = {"max-samples", 0, FLAG_COUNT, "N", MOST_SAMPLES_DEFAULT, NULL, 1, 1000000,
                         "the largest number of timed runs of a case in a round"},
    [RUN_MIN_TIME] = {"min-time", 0, FLAG_TIME, "TIME", "100ms", NULL, 0, 0,
                      "go on timing a case until its runs took this long together"},
    [RUN_SEED] = {"seed", 0, FLAG_COUNT, "N", "42", NULL, 0, (1ull << 53) - 1,
                  "the seed of the inputs and of the order of cases"},
    [RUN_SMOKE] = {"smoke", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
                   "one round, one timed run, the smallest datasets"},
    [RUN_AA] = {"aa", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
                "measure the noise floor: run the rounds four times and compare them"},
    [RUN_MEM_LIMIT] = {"mem-limit", 0, FLAG_BYTES, "SIZE", NULL, NULL, 0, 0,
                       "the most device memory that a strategy may hold"},
    [RUN_TIMEOUT] = {"timeout", 0, FLAG_TIME, "TIME", "120s", NULL, 1000000, 0,
                     "the longest that a case may take in a round, checking included"},
    [RUN_ATLAS] = {"atlas", 0, FLAG_TEXT, "FILE", NULL, NULL, 0, 0,
                   "predict times by the atlas in FILE [the newest of the device in RESULTS]"},
    [RUN_TIMELINE] = {"timeline", 0, FLAG_CHOICE, "MODE", "on", "on|off", 0, 0,
                      "record memory over time, in 2 to 33 extra runs of each case in the first "
                      "round; off with --smoke"},
    [RUN_FORMAT] = {"format", 0, FLAG_CHOICE, "FORMAT", "table", "table|md|csv|json", 0, 0,
                    "what is printed on stdout"},
    [RUN_OUT] = {"out", 'o', FLAG_TEXT, "FILE", NULL, NULL, 0, 0,
                 "the result file [RESULTS/<machine>/<time>-<rev>.json]"},
    [RUN_FORCE] = {"force", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, "replace FILE if it exists"},
    [RUN_RESULTS] = {"results", 0, FLAG_TEXT, "RESULTS", "results", NULL, 0, 0,
                     "the folder of result files"},
    [RUN_NO_SAVE] = {"no-save", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, "write no result file"},
    [RUN_NO_SAMPLES] = {"no-samples", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
                        "write only the counters, without rounds and times: a baseline to commit"},
    [RUN_PROGRESS] = {"progress", 0, FLAG_CHOICE, "WHEN", "auto", "auto|always|never|plain", 0, 0,
                      "when progress is shown on stderr"},
    [RUN_FLAGS] = {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
};

/* The number of a flag; `smoke` if --smoke is on and the flag was not given. */
static uint64_t number_or(const struct command_line *line, enum run_flag flag, uint64_t smoke)
{
    const struct flag_value *value = &line->flag[flag];
    return run_flag_is_on(line, RUN_SMOKE) && !value->given ? smoke : value->number;
}

/* The first choice of the flag is "on". */
static bool wants_timeline(const struct command_line *line)
{
    const struct flag_value *value = &line->flag[RUN_TIMELINE];
    return value->number == 0 && (value->given || !run_flag_is_on(line, RUN_SMOKE));
}

int run_flags_options(const struct command_line *line, struct rounds_options *options,
                      struct error *error)
{
    const struct flag_value *flag = line->flag;
    uint64_t least = number_or(line, RUN_SAMPLES, 1), most = number_or(line, RUN_MAX_SAMPLES, 1);
    if (most < least && flag[RUN_MAX_SAMPLES].given)
        return error_set(error, ERR_USAGE, "--max-samples %llu is below --samples %llu",
                         (unsigned long long)most, (unsigned long long)least);
    const uint64_t rounds = number_or(line, RUN_ROUNDS, 1);
    if (run_flag_is_on(line, RUN_AA) && rounds < NOISE_LEAST_ROUNDS)
        return error_set(error, ERR_USAGE, "--aa compares runs of --rounds %d or more",
                         NOISE_LEAST_ROUNDS);
    *options = (struct rounds_options){
        .rounds = (unsigned)rounds * (run_flag_is_on(line, RUN_AA) ? NOISE_BLOCKS : 1),
        .timeout_ns = flag[RUN_TIMEOUT].number,
        .measure = {.least_samples = (unsigned)least,
                    .most_samples = (unsigned)(most < least ? least : most),
                    .least_ns = number_or(line, RUN_MIN_TIME, 0),
                    .seed = flag[RUN_SEED].number,
                    .capacity_bytes = flag[RUN_MEM_LIMIT].number,
                    .log_memory = wants_timeline(line)},
    };
    struct stat status;
    if (flag[RUN_OUT].text && !run_flag_is_on(line, RUN_FORCE) &&
        stat(flag[RUN_OUT].text, &status) == 0)
        return error_set(error, ERR_IO, "%s exists: use --force to replace it, or another name",
                         flag[RUN_OUT].text);
    return 0;
}

static int exclude(const struct command_line *line, enum run_flag flag, const enum run_flag *others,
                   size_t count, struct error *error)
{
    for (size_t i = 0; line->flag[flag].given && i < count; i++)
        if (line->flag[others[i]].given)
            return error_set(error, ERR_USAGE, "--%s and --%s exclude each other",
                             run_flags[flag].name, run_flags[others[i]].name);
    return 0;
}
#define EXCLUDE(line, flag, error, ...)                                                            \
    exclude(line, flag, (const enum run_flag[]){__VA_ARGS__},                                      \
            sizeof(const enum run_flag[]){__VA_ARGS__} / sizeof(enum run_flag), error)

int run_flags_check(const struct command_line *line, struct error *error)
{
#define ITS_CASES                                                                                  \
    RUN_WORKLOAD, RUN_STRATEGY, RUN_MERGE, RUN_DATASET, RUN_RELEASE, RUN_RESIDENCY, RUN_SUITE
    int code = EXCLUDE(line, RUN_SUITE, error, RUN_STRATEGY, RUN_MERGE, RUN_RELEASE, RUN_RESIDENCY);
    if (!code)
        code = EXCLUDE(line, RUN_LIKE, error, ITS_CASES);
    if (!code)
        code = EXCLUDE(line, RUN_ADD, error, ITS_CASES, RUN_LIKE, RUN_OUT, RUN_NO_SAVE,
                       RUN_NO_SAMPLES, RUN_AA, RUN_SEED, RUN_SMOKE);
#undef ITS_CASES
    if (!code)
        code = EXCLUDE(line, RUN_NO_SAMPLES, error, RUN_NO_SAVE, RUN_AA);
    if (!code && line->flag[RUN_RESIDENCY].given &&
        !device_group_is_named(line->flag[RUN_DEVICE].text))
        code = error_set(error, ERR_USAGE,
                         "--residency is for a group of devices, and --device names none: "
                         "host+host, cuda:0+cuda:1");
    return code ? code : EXCLUDE(line, RUN_OUT, error, RUN_NO_SAVE);
}

json_t *run_flags_record(const struct command_line *line, const struct rounds_options *options)
{
    json_t *record = record_flags(run_flags, line->flag);
    tree_put(record, "rounds", tree_count(number_or(line, RUN_ROUNDS, 1)));
    if (number_or(line, RUN_MIN_TIME, 0) == 0)
        tree_put(record, "min-time", tree_text("0"));
    tree_put(record, "samples", tree_count(options->measure.least_samples));
    tree_put(record, "timeline", tree_text(options->measure.log_memory ? "on" : "off"));
    tree_put(record, "max-samples", tree_count(options->measure.most_samples));
    return record;
}
