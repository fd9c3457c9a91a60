#include "results/file/draft.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/gzip_file.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/tree.h"

/* ---- a new one ------------------------------------------------------------------------------- */

static const char *copy(struct result *result, const char *text)
{
    return text && *text ? arena_copy(&result->arena, text, strlen(text)) : NULL;
}

/* The time is to the millisecond: by it the sessions of two files are put in order. */
static void add_session(struct result *result)
{
    struct result_run *run = &result->run;
    struct timespec now;
    struct tm utc;
    char seconds[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    run->sessions = arena_grow(&result->arena, run->sessions, (unsigned)run->session_count,
                               &(unsigned){0}, sizeof *run->sessions);
    run->sessions[run->session_count++].started_at =
        arena_printf(&result->arena, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

static void set_run(struct result *result, const struct result_command *command,
                    uint64_t started_ns)
{
    char started_at[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(started_at, sizeof started_at, "%Y-%m-%dT%H:%M:%SZ", &utc);
    uint64_t unique = random_split(random_split(started_ns, (uint64_t)getpid()), (uint64_t)now);
    result->run = (struct result_run){
        .id = arena_printf(&result->arena, "%016" PRIx64, unique),
        .started_at = copy(result, started_at),
        .argc = (size_t)command->argc,
        .argv = arena_alloc(&result->arena, ((size_t)command->argc + 1) * sizeof(char *)),
        .seed = command->seed,
        .options = result_keep(result,
                               command->options ? json_deep_copy(command->options) : tree_object()),
        .rounds = command->rounds,
        .status = RUN_PARTIAL,
    };
    for (int i = 0; i < command->argc; i++)
        result->run.argv[i] =
            arena_copy(&result->arena, command->argv[i], strlen(command->argv[i]));
    add_session(result);
}

int draft_create(struct result_draft *draft, const struct result_command *run, struct error *error)
{
    struct result *result = &draft->result;
    *draft = (struct result_draft){.started_ns = clock_ns()};
    if (run->seed >> 53)
        return error_set(error, ERR_USAGE, "the seed %" PRIu64 " is too large: use one below 2^53",
                         run->seed);
    result->version = RESULT_SCHEMA_VERSION;
    set_run(result, run, draft->started_ns);
    result->context.tool = context_tool();
    context_read_host("", &result->context.host);
    context_machine_id(result->context.host.cpu, result->context.host.memory_bytes, NULL, 0,
                       result->context.host.machine_id);
    result->context.env = result_keep(result, context_env());
    clock_measure_cost(&result->context.clock);
    const struct counter_info *list = counter_list(&result->metric_count);
    result->metrics = arena_alloc(&result->arena, result->metric_count * sizeof *list);
    memcpy(result->metrics, list, result->metric_count * sizeof *list);
    return 0;
}

void draft_set_devices(struct result_draft *draft, const struct record_device *devices,
                       size_t count)
{
    struct result *result = &draft->result;
    struct result_context *context = &result->context;
    context->devices = arena_alloc(&result->arena, (count + 1) * sizeof *devices);
    context->device_count = 0;
    context_read_host("", &context->host);
    context_machine_id(context->host.cpu, context->host.memory_bytes, devices, count,
                       context->host.machine_id);
    for (size_t i = 0; i < count; i++) {
        if (!devices[i].used)
            continue;
        struct record_device *device = &context->devices[context->device_count++];
        const double rate = devices[i].copy_bytes_per_second;
        *device = devices[i];
        device->copy_bytes_per_second = rate > 0 ? floor(rate) : NAN;
        device->settings = result_keep(
            result, devices[i].settings ? json_incref(devices[i].settings) : json_null());
    }
}

void draft_set_atlas(struct result_draft *draft, const struct atlas *atlas)
{
    struct result *result = &draft->result;
    size_t i;
    json_t *each;
    if (!result->atlas)
        result->atlas = result_keep(result, tree_array());
    json_array_foreach(result->atlas, i, each)
    {
        if (strcmp(tree_get_text(each, "device"), atlas->device) == 0) {
            json_array_set_new(result->atlas, i, atlas_to_json(atlas));
            return;
        }
    }
    tree_append(result->atlas, atlas_to_json(atlas));
}

void draft_finish(struct result_draft *draft, enum run_status status)
{
    draft->result.run.status = status;
}

void draft_free(struct result_draft *draft)
{
    result_release(&draft->result);
    *draft = (struct result_draft){0};
}

static struct result_session *newest_session(struct result_draft *draft)
{
    return &draft->result.run.sessions[draft->result.run.session_count - 1];
}

void draft_set_session(struct result_draft *draft, unsigned rounds)
{
    newest_session(draft)->rounds = rounds;
}

void draft_set_atlases(struct result_draft *draft, const json_t *sources)
{
    newest_session(draft)->atlases = result_keep(&draft->result, json_deep_copy(sources));
}

/* ---- its cases ------------------------------------------------------------------------------- */

/* Cases are in the order of their keys: files of the same run agree line by line, however the
 * rounds were shuffled. The baseline of other cases comes first, the rest by name. */
static int compare_names(const char *a, const char *b, const char *first)
{
    int a_is_later = strcmp(a, first) != 0, b_is_later = strcmp(b, first) != 0;
    return a_is_later != b_is_later ? a_is_later - b_is_later : strcmp(a, b);
}

static int compare_keys(const struct case_key *a, const struct case_key *b)
{
    int order = strcmp(a->device, b->device);
    if (order == 0)
        order = strcmp(a->workload, b->workload);
    if (order == 0)
        order = strcmp(a->dataset, b->dataset);
    if (order == 0)
        order = compare_names(a->merge, b->merge, "none");
    if (order == 0)
        order = compare_names(a->release, b->release, "last-use");
    if (order == 0)
        order = compare_names(a->residency, b->residency, "always");
    return order ? order : compare_names(a->strategy, b->strategy, "raw");
}

static struct result_case *case_with(struct result *result, const struct case_key *key)
{
    size_t at;
    FIND_PLACE(at, result->case_count, compare_keys(key, &result->cases[at].key) > 0);
    if (at < result->case_count && compare_keys(key, &result->cases[at].key) == 0)
        return &result->cases[at];
    result->cases = arena_grow(&result->arena, result->cases, (unsigned)result->case_count,
                               &result->case_room, sizeof *result->cases);
    struct result_case *one = &result->cases[at];
    memmove(one + 1, one, (result->case_count++ - at) * sizeof *one);
    char id[13];
    case_id(key, id);
    *one = (struct result_case){.id = copy(result, id),
                                .key = *key,
                                .worst_error = NAN,
                                .traffic_bytes = NAN,
                                .peak_over_best = NAN,
                                .floor_ns = NAN,
                                .of_floor = NAN};
    return one;
}

static int by_key(const void *a, const void *b)
{
    return compare_keys(&((const struct result_case *)a)->key,
                        &((const struct result_case *)b)->key);
}

void result_sort_cases(struct result *result)
{
    if (result->case_count)
        qsort(result->cases, result->case_count, sizeof *result->cases, by_key);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static double known(uint64_t value)
{
    return value == UINT64_MAX ? NAN : (double)value;
}

static const char *digest_text(struct result *result, uint64_t digest)
{
    return digest ? arena_printf(&result->arena, "%016" PRIx64, digest) : NULL;
}

/* The counters of the first good round stand for all; one that differs later is named, and goes
 * into `others`. Returns how many do. */
static size_t compare_counters(struct result *result, struct result_case *one, const char *phase,
                               const struct exact_counts *first, const struct exact_counts *now,
                               unsigned round, struct result_number **others)
{
    size_t count, differing = 0;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        const double was = counter_at(first, i), is = counter_at(now, i);
        if (list[i].kind != KIND_EXACT || was == is || (isnan(was) && isnan(is)))
            continue;
        char subject[128], detail[256];
        snprintf(subject, sizeof subject, "%s.%s", phase, list[i].name);
        snprintf(detail, sizeof detail, "%s was %.0f first and %.0f in round %u", subject,
                 isnan(was) ? 0 : was, isnan(is) ? 0 : is, round);
        result_warn(result, one, "not-deterministic", subject, detail);
        if (!*others)
            *others = arena_alloc(&result->arena, count * sizeof **others);
        (*others)[differing++] = (struct result_number){list[i].name, is};
    }
    return differing;
}

static void merge_good_round(struct result *result, struct result_case *one,
                             const struct case_round *from, struct result_round *round)
{
    if (!one->counters) {
        one->counters = arena_alloc(&result->arena, sizeof *one->counters);
        *one->counters = (struct result_counters){from->cold, from->warm};
        one->digest = round->digest;
        one->program_digest = digest_text(result, from->program_digest);
        one->inputs_digest = digest_text(result, from->inputs_digest);
        one->traffic_bytes = from->traffic_bytes;
        if (from->spaces)
            one->spaces = result_keep(result, json_incref(from->spaces));
        return;
    }
    struct result_other_counters others = {0};
    others.cold_count = compare_counters(result, one, "cold", &one->counters->cold, &from->cold,
                                         from->round, &others.cold);
    others.warm_count = compare_counters(result, one, "warm", &one->counters->warm, &from->warm,
                                         from->round, &others.warm);
    if (others.cold_count || others.warm_count) {
        round->other_counters = arena_alloc(&result->arena, sizeof others);
        *round->other_counters = others;
    }
    if (one->spaces && !json_equal(one->spaces, from->spaces))
        result_warn(result, one, "not-deterministic", "spaces",
                    "what its memory spaces hold differs between rounds");
    if (!one->digest != !round->digest || (one->digest && strcmp(one->digest, round->digest) != 0))
        result_warn(result, one, "not-deterministic", "digest",
                    "the answer's bits differ between rounds, each within what the check allows");
}

static void set_samples(struct result *result, struct result_round *round,
                        const struct case_round *from)
{
#define METRIC(name, ...) {#name, offsetof(struct sample, name)},
    static const struct {
        const char *name;
        size_t offset;
    } metrics[] = {SAMPLE_LIST(METRIC)};
    enum { METRICS = sizeof metrics / sizeof *metrics };
    round->cold_sample_count = round->sample_count = METRICS;
    round->cold_sample = arena_alloc(&result->arena, METRICS * sizeof *round->cold_sample);
    round->samples = arena_alloc(&result->arena, METRICS * sizeof *round->samples);
    for (size_t m = 0; m < METRICS; m++) {
        const size_t at = metrics[m].offset;
        double *values = arena_alloc(&result->arena, (from->sample_count + 1) * sizeof *values);
        for (size_t i = 0; i < from->sample_count; i++)
            values[i] = known(*(const uint64_t *)((const char *)&from->samples[i] + at));
        round->samples[m] = (struct result_numbers){metrics[m].name, from->sample_count, values};
        round->cold_sample[m] = (struct result_number){
            metrics[m].name, known(*(const uint64_t *)((const char *)&from->cold_sample + at))};
    }
}

static struct result_model *model_of(struct result *result, const struct case_model *from)
{
    if (!from->asked)
        return NULL;
    struct result_model *model = arena_alloc(&result->arena, sizeof *model);
    *model = (struct result_model){.why_not = copy(result, from->why_not), .error = NAN};
#define X(name, help) model->name = known(from->name);
    MODEL_LIST(X)
#undef X
    return model;
}

void draft_add_round(struct result_draft *draft, const struct case_round *from)
{
    struct result *result = &draft->result;
    struct result_case *one = case_with(result, &from->key);
    struct result_round round = {
        .round = from->round,
        .slot = from->slot,
        .status = from->status,
        .reason = copy(result, from->reason),
        .check = from->check,
        .digest = digest_text(result, from->digest),
        .worst_error = from->worst_error,
        .model = model_of(result, &from->model),
    };
    if (from->status == CASE_ok) {
        merge_good_round(result, one, from, &round);
        set_samples(result, &round, from);
    }
    result_add_to_rounds(result, one, &round);
}

void result_add_to_rounds(struct result *result, struct result_case *one,
                          const struct result_round *round)
{
    one->rounds = arena_grow(&result->arena, one->rounds, (unsigned)one->round_count,
                             &one->round_room, sizeof *one->rounds);
    one->rounds[one->round_count++] = *round;
}

/* ---- more rounds ----------------------------------------------------------------------------- */

int result_check_tool(const struct record_tool *theirs, const struct record_tool *ours,
                      struct error *error)
{
    static const char *const facts[] = {"version", "git_rev", "git_dirty",
                                        "build",   "cflags",  "compiler"};
    const struct json_field *fields = record_tool_struct.fields;
    int code = 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts && !code; i++) {
        json_t *was = json_field_value(fields, facts[i], theirs);
        json_t *is = json_field_value(fields, facts[i], ours);
        char *was_text = json_dumps(was, JSON_ENCODE_ANY),
             *is_text = json_dumps(is, JSON_ENCODE_ANY);
        if (!json_equal(was, is))
            code = error_set(error, ERR_USAGE, "it is of another build (%s %s, this one has %s)",
                             facts[i], was_text, is_text);
        free(was_text);
        free(is_text);
        json_decref(was);
        json_decref(is);
    }
    return code;
}

/* ERR_USAGE if the result is of another build than this. */
static int check_same_tool(const struct result *result, struct error *error)
{
    const struct record_tool ours = context_tool();
    struct error why = {0};
    int code = result_check_tool(&result->context.tool, &ours, &why);
    return code
               ? error_set(error, code,
                           "%s: all rounds of a result are of one build; --like makes a new result",
                           why.text)
               : 0;
}

unsigned result_rounds(const struct result *result)
{
    unsigned count = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        for (size_t r = 0; r < one->round_count; r++)
            if (one->rounds[r].round >= count)
                count = one->rounds[r].round + 1;
    }
    return count;
}

unsigned result_drop_unfinished(struct result *result)
{
    unsigned done = 0;
    size_t kept = 0;
    for (size_t i = 0; i < result->run.session_count; i++)
        done += result->run.sessions[i].rounds;
    for (size_t c = 0; c < result->case_count; c++) {
        struct result_case one = result->cases[c];
        size_t rounds = 0;
        for (size_t r = 0; r < one.round_count; r++)
            if (one.rounds[r].round < done)
                one.rounds[rounds++] = one.rounds[r];
        one.round_count = rounds;
        if (rounds)
            result->cases[kept++] = one;
    }
    result->case_count = kept;
    return done;
}

struct result_draft draft_without_rounds(struct result_draft *draft)
{
    result_summarise(&draft->result); /* statuses follow from rounds */
    struct result_draft bare = *draft;
    struct result *result = &bare.result;
    result->arena = result->derived = (struct arena){0};
    json_incref(result->root);
    json_incref(result->kept);
    result->cases = arena_alloc(&result->arena, (result->case_count + 1) * sizeof *result->cases);
    for (size_t i = 0; i < result->case_count; i++) {
        result->cases[i] = draft->result.cases[i];
        result->cases[i].round_count = 0;
    }
    return bare;
}

void draft_plan_rounds(struct result *result, unsigned rounds)
{
    if (json_object_get(result->run.options, "rounds")) /* else the command has no such flag */
        tree_put(result->run.options, "rounds", tree_count(rounds));
    result->run.rounds = rounds;
}

int draft_continue(struct result_draft *draft, struct result *loaded, unsigned rounds,
                   struct error *error)
{
    *draft = (struct result_draft){
        .result = *loaded,
        .started_ns = clock_ns(),
        .earlier_ns = loaded->run.duration_ns == UINT64_MAX ? 0 : loaded->run.duration_ns};
    *loaded = (struct result){0};
    struct result *result = &draft->result;
    TRY(check_same_tool(result, error));
    add_session(result);
    draft_plan_rounds(result, result_rounds(result) + rounds);
    result->run.status = RUN_PARTIAL;
    result->version = RESULT_SCHEMA_VERSION;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

void result_path(const struct result *result, const char *folder, struct text *path)
{
    const struct record_tool *tool = &result->context.tool;
    text_add(path, "%s/%s/", folder, result->context.host.machine_id);
    for (const char *c = result->run.started_at; *c; c++)
        if (*c != '-' && *c != ':')
            text_add_bytes(path, c, 1);
    text_add(path, "-%.12s%s.json", tool->git_rev ? tool->git_rev : "unknown",
             tool->git_dirty > 0 ? "-dirty" : "");
}

json_t *result_to_json(const struct result *result)
{
    json_t *root = tree_pack("{s:{s:s, s:s}}", "schema", "name", RESULT_SCHEMA_NAME, "version",
                             result->version);
    json_put_fields(root, result_struct.fields, result);
    return root;
}

enum { PRINT_FLAGS = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12) };

/* Prints an object or array with one member a line. False if jansson could not. */
static bool print_members(const json_t *value, FILE *out)
{
    bool is_object = json_is_object(value), good = true;
    const char *name, *before = "";
    size_t i;
    json_t *each;
    fputs(is_object ? "{" : "[", out);
    if (is_object) {
        json_object_foreach((json_t *)value, name, each)
        {
            fprintf(out, "%s\n\"%s\": ", before, name);
            good &= json_dumpf(each, out, PRINT_FLAGS) == 0;
            before = ",";
        }
    } else {
        json_array_foreach(value, i, each)
        {
            fprintf(out, "%s\n", before);
            good &= json_dumpf(each, out, PRINT_FLAGS) == 0;
            before = ",";
        }
    }
    fputs(is_object ? "\n}" : "\n]", out);
    return good;
}

/* Prints the atlases or experiments of a result, a curve or row a line. */
static bool print_tables(const json_t *all, FILE *out)
{
    bool good = true;
    size_t i;
    json_t *table, *value;
    fputc('[', out);
    json_array_foreach(all, i, table)
    {
        const char *name, *before = "{";
        fputs(i ? ",\n" : "\n", out);
        json_object_foreach(table, name, value)
        {
            fprintf(out, "%s\"%s\": ", before, name);
            good &= json_is_array(value) ? print_members(value, out)
                                         : json_dumpf(value, out, PRINT_FLAGS) == 0;
            before = ", ";
        }
        fputc('}', out);
    }
    fputs("\n]", out);
    return good;
}

int result_print_json(const json_t *root, FILE *out, struct error *error)
{
    const char *name, *before = "{";
    json_t *value;
    bool good = true;
    json_object_foreach((json_t *)root, name, value)
    {
        fprintf(out, "%s\n\"%s\": ", before, name);
        if (strcmp(name, "atlas") == 0 || strcmp(name, "experiments") == 0)
            good &= print_tables(value, out);
        else if (json_is_object(value) || json_is_array(value))
            good &= print_members(value, out);
        else
            good &= json_dumpf(value, out, PRINT_FLAGS) == 0;
        before = ",";
    }
    fputs("\n}\n", out);
    return good ? text_flush(out, error)
                : error_set(error, ERR_IO, "stdout could not be written: %s", strerror(errno));
}

int result_print(const struct result *result, FILE *out, struct error *error)
{
    json_t *root = result_to_json(result);
    int code = result_print_json(root, out, error);
    json_decref(root);
    return code;
}

int draft_write(struct result_draft *draft, const char *path, struct error *error)
{
    return draft_write_held(draft, path, false, NULL, error);
}

int draft_write_held(struct result_draft *draft, const char *path, bool only_new, int *held,
                     struct error *error)
{
    const uint64_t now_ns = clock_ns();
    draft->earlier_ns += now_ns - draft->started_ns;
    draft->started_ns = now_ns;
    draft->result.run.duration_ns = draft->earlier_ns;
    result_summarise(&draft->result);

    TRY(text_make_folders(path, error));
    char *bytes = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&bytes, &length);
    int code = memory ? result_print(&draft->result, memory, error)
                      : error_set(error, ERR_HOST_MEMORY, "%s could not be written: %s", path,
                                  strerror(errno));
    if (memory && fclose(memory) != 0 && code == 0)
        code =
            error_set(error, ERR_HOST_MEMORY, "%s could not be written: %s", path, strerror(errno));
    THEN(code, gzip_write_file(path, bytes, length, only_new, held, error));
    free(bytes);
    return code;
}
