#include "record/result/result.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/gzip_file.h"
#include "base/random.h"
#include "record/result/case_tree.h"
#include "base/tree.h"

static const char *const run_status_names[] = {"complete", "partial", "interrupted"};
static json_t *metrics(void)
{
    json_t *all = tree_object();
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        tree_put(all, list[i].name, counter_to_json(&list[i]));
    return all;
}

/* The time is to the millisecond: by it the sessions of two files are put in order. */
static json_t *new_session(void)
{
    struct timespec now;
    struct tm utc;
    char seconds[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    struct text at = {0};
    text_add(&at, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
    json_t *session = tree_pack("{s:s, s:i}", "started_at", at.data, "rounds", 0);
    text_free(&at);
    return session;
}

static json_t *run_facts(const struct result_command *run, uint64_t started_ns)
{
    char started_at[32], id[17];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(started_at, sizeof started_at, "%Y-%m-%dT%H:%M:%SZ", &utc);
    uint64_t unique = random_split(random_split(started_ns, (uint64_t)getpid()), (uint64_t)now);
    snprintf(id, sizeof id, "%016" PRIx64, unique);
    json_t *argv = tree_array();
    for (int i = 0; i < run->argc; i++)
        tree_append(argv, tree_text(run->argv[i]));

    return tree_pack("{s:s, s:s, s:i, s:o, s:I, s:o, s:i, s:s, s:[o]}", "id", id, "started_at",
                     started_at, "duration_ns", 0, "argv", argv, "seed", (json_int_t)run->seed,
                     "options", run->options ? json_deep_copy(run->options) : tree_object(),
                     "rounds", (int)run->rounds, "status", run_status_names[RUN_PARTIAL],
                     "sessions", new_session());
}

int result_create(struct result_draft *result, const struct result_command *run,
                  struct error *error)
{
    struct clock_cost clock;
    *result = (struct result_draft){.started_ns = clock_ns()};
    if (run->seed >> 53)
        return error_set(error, ERR_USAGE, "the seed %" PRIu64 " is too large: use one below 2^53",
                         run->seed);
    clock_measure_cost(&clock);
    result->root =
        tree_pack("{s:{s:s, s:s}, s:o, s:{s:o, s:o, s:[], s:o, s:o}, s:o, s:[], s:[]}", "schema",
                  "name", RESULT_SCHEMA_NAME, "version", RESULT_SCHEMA_VERSION, "run",
                  run_facts(run, result->started_ns), "context", "tool", context_tool(), "host",
                  context_host(NULL, 0), "devices", "env", context_env(), "clock",
                  context_clock(&clock), "metrics", metrics(), "summary", "cases");
    return 0;
}

void result_set_devices(struct result_draft *result, const struct record_device *devices,
                        size_t count)
{
    json_t *context = json_object_get(result->root, "context"), *used = tree_array();
    for (size_t i = 0; i < count; i++)
        if (devices[i].used)
            tree_append(used, context_device(&devices[i]));
    tree_put(context, "host", context_host(devices, count));
    tree_put(context, "devices", used);
}

/* Adds an element to an array of the root, or replaces the one with the same values of `same`. */
static void set_element(json_t *root, const char *array, json_t *element, const char *const *same)
{
    json_t *all = json_object_get(root, array), *each;
    size_t i;
    if (!all) {
        all = tree_array();
        tree_put(root, array, all);
    }
    json_array_foreach(all, i, each)
    {
        bool is_same = true;
        for (const char *const *key = same; *key; key++)
            is_same &= json_equal(json_object_get(each, *key), json_object_get(element, *key));
        if (is_same) {
            json_array_set_new(all, i, element);
            return;
        }
    }
    tree_append(all, element);
}

void result_set_atlas(struct result_draft *result, const struct atlas *atlas)
{
    static const char *const same[] = {"device", NULL};
    set_element(result->root, "atlas", atlas_to_json(atlas), same);
}

void result_set_experiment(struct result_draft *result, json_t *experiment)
{
    static const char *const same[] = {"name", "device", NULL};
    set_element(result->root, "experiments", experiment, same);
}

void result_finish(struct result_draft *result, enum run_status status)
{
    json_t *run = json_object_get(result->root, "run");
    tree_put(run, "status", tree_text(run_status_names[status]));
}

void result_free(struct result_draft *result)
{
    json_decref(result->root);
    json_decref(result->unsaved);
    result->root = result->unsaved = NULL;
}

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

static json_t *new_case(const struct case_key *key)
{
    char id[13];
    case_id(key, id);
    json_t *one_case =
        tree_pack("{s:s, s:o, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "id", id, "key",
                  case_key_to_json(key), "status", "reason", "check", "digest", "program_digest",
                  "inputs_digest", "worst_error", "traffic_bytes", "counters");
    json_t *derived = tree_pack("{s:{}, s:n, s:n, s:n, s:n, s:n, s:[], s:[]}", "stats", "model",
                                "speedup_over_raw", "peak_over_best", "floor_ns", "of_floor",
                                "warnings", "rounds");
    json_object_update(one_case, derived);
    json_decref(derived);
    return one_case;
}

static json_t *find_or_add_case(json_t *cases, const struct case_key *key)
{
    size_t from = 0, to = json_array_size(cases);
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        struct case_key other;
        json_t *one_case = json_array_get(cases, middle);
        int order = -1;
        if (case_key_from_json(json_object_get(one_case, "key"), &other, NULL) == 0)
            order = compare_keys(key, &other);
        if (order == 0)
            return one_case;
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    tree_insert(cases, from, new_case(key));
    return json_array_get(cases, from);
}

struct keyed {
    struct case_key key;
    json_t *one_case;
};

static int by_key(const void *a, const void *b)
{
    return compare_keys(&((const struct keyed *)a)->key, &((const struct keyed *)b)->key);
}

void result_sort_cases(json_t *root)
{
    json_t *cases = json_object_get(root, "cases"), *sorted = tree_array();
    const size_t count = json_array_size(cases);
    struct keyed *all = must_alloc((count + 1) * sizeof *all);
    for (size_t i = 0; i < count; i++) {
        all[i].one_case = json_array_get(cases, i);
        case_key_from_json(json_object_get(all[i].one_case, "key"), &all[i].key, NULL);
    }
    qsort(all, count, sizeof *all, by_key);
    for (size_t i = 0; i < count; i++)
        tree_append(sorted, json_incref(all[i].one_case));
    tree_put(root, "cases", sorted);
    free(all);
}

/* The counters of the first good round stand for all; one that differs later is named, and goes
 * into `others` under its phase. */
static void compare_counters(json_t *one_case, const char *phase, json_t *first, json_t *now,
                             unsigned round, json_t *others)
{
    json_t *differing = tree_object();
    const char *name;
    json_t *value;
    json_object_foreach(first, name, value)
    {
        json_t *other = json_object_get(now, name);
        if (json_equal(value, other))
            continue;
        char subject[128], detail[256];
        snprintf(subject, sizeof subject, "%s.%s", phase, name);
        snprintf(detail, sizeof detail,
                 "%s was %" JSON_INTEGER_FORMAT " first and %" JSON_INTEGER_FORMAT " in round %u",
                 subject, json_integer_value(value), json_integer_value(other), round);
        case_warn(one_case, "not-deterministic", subject, detail);
        tree_put(differing, name, json_incref(other));
    }
    if (json_object_size(differing))
        tree_put(others, phase, json_incref(differing));
    json_decref(differing);
}

static void merge_good_round(json_t *one_case, json_t *json, unsigned round)
{
    static const char *const first[] = {"digest", "program_digest", "inputs_digest",
                                        "traffic_bytes"};
    json_t *counters = json_object_get(one_case, "counters");
    json_t *cold = json_object_get(json, "cold"), *warm = json_object_get(json, "warm");
    if (json_is_null(counters)) {
        tree_put(one_case, "counters", tree_pack("{s:O, s:O}", "cold", cold, "warm", warm));
        for (size_t i = 0; i < sizeof first / sizeof *first; i++)
            tree_put(one_case, first[i], tree_share(json, first[i]));
        if (json_object_get(json, "spaces"))
            tree_put(one_case, "spaces", tree_share(json, "spaces"));
        return;
    }
    json_t *others = tree_object();
    compare_counters(one_case, "cold", json_object_get(counters, "cold"), cold, round, others);
    compare_counters(one_case, "warm", json_object_get(counters, "warm"), warm, round, others);
    if (json_object_size(others))
        tree_put(json, "other_counters", json_incref(others));
    json_decref(others);
    json_t *spaces = json_object_get(one_case, "spaces");
    if (spaces && !json_equal(spaces, json_object_get(json, "spaces")))
        case_warn(one_case, "not-deterministic", "spaces",
                  "what its memory spaces hold differs between rounds");
    if (!json_equal(json_object_get(one_case, "digest"), json_object_get(json, "digest")))
        case_warn(one_case, "not-deterministic", "digest",
                  "the answer's bits differ between rounds, each within what the check allows");
}

void result_add_round(struct result_draft *result, const struct case_round *round)
{
    json_t *one_case = find_or_add_case(json_object_get(result->root, "cases"), &round->key);
    json_t *json = case_round_to_json(round);
    if (result->unsaved)
        tree_append(result->unsaved, json_deep_copy(json));
    if (round->status == CASE_ok) {
        merge_good_round(one_case, json, round->round);
    } else {
        tree_put(json, "cold_sample", json_null());
        tree_put(json, "samples", json_null());
    }
    /* These members belong to the case, not to the round. */
    static const char *const once[] = {"key",    "cold",           "warm",         "traffic_bytes",
                                       "spaces", "program_digest", "inputs_digest"};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        json_object_del(json, once[i]);
    tree_append(json_object_get(one_case, "rounds"), json);
}

void result_status_counts(const json_t *root, size_t counts[CASE_STATUSES])
{
    memset(counts, 0, CASE_STATUSES * sizeof *counts);
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(root, "cases"), i, each)
    {
        for (size_t s = 0; s < CASE_STATUSES; s++)
            if (strcmp(tree_get_text(each, "status"), case_status_name((enum case_status)s)) == 0)
                counts[s]++;
    }
}

void result_path(const json_t *root, const char *folder, struct text *path)
{
    const json_t *context = json_object_get(root, "context");
    const json_t *tool = json_object_get(context, "tool");
    const char *rev = tree_get_text(tool, "git_rev");
    text_add(path, "%s/%s/", folder, tree_get_text(json_object_get(context, "host"), "machine_id"));
    for (const char *c = tree_get_text(json_object_get(root, "run"), "started_at"); *c; c++)
        if (*c != '-' && *c != ':')
            text_add_bytes(path, c, 1);
    text_add(path, "-%.12s%s.json", *rev ? rev : "unknown",
             json_is_true(json_object_get(tool, "git_dirty")) ? "-dirty" : "");
}

/* ---- more rounds ----------------------------------------------------------------------------- */

int result_check_tool(const json_t *theirs, const json_t *ours, struct error *error)
{
    static const char *const facts[] = {"version", "git_rev", "git_dirty",
                                        "build",   "cflags",  "compiler"};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const json_t *was = json_object_get(theirs, facts[i]);
        const json_t *is = json_object_get(ours, facts[i]);
        if (json_equal(was, is))
            continue;
        char *was_text = json_dumps(was, JSON_ENCODE_ANY),
             *is_text = json_dumps(is, JSON_ENCODE_ANY);
        error_set(error, ERR_USAGE, "it is of another build (%s %s, this one has %s)", facts[i],
                  was_text ? was_text : "unknown", is_text ? is_text : "unknown");
        free(was_text);
        free(is_text);
        return ERR_USAGE;
    }
    return 0;
}

/* ERR_USAGE if the result is of another build than this. */
static int check_same_tool(const json_t *root, struct error *error)
{
    json_t *ours = context_tool();
    struct error why = {0};
    int code =
        result_check_tool(json_object_get(json_object_get(root, "context"), "tool"), ours, &why);
    json_decref(ours);
    return code
               ? error_set(error, code,
                           "%s: all rounds of a result are of one build; --like makes a new result",
                           why.text)
               : 0;
}

unsigned result_rounds(const json_t *root)
{
    const json_t *one_case, *round;
    unsigned count = 0;
    for (size_t i = 0; (one_case = json_array_get(json_object_get(root, "cases"), i)); i++)
        for (size_t j = 0; (round = json_array_get(json_object_get(one_case, "rounds"), j)); j++) {
            const unsigned next = (unsigned)tree_get_number(round, "round") + 1;
            count = next > count ? next : count;
        }
    return count;
}

unsigned result_drop_unfinished(json_t *root)
{
    json_t *sessions = json_object_get(json_object_get(root, "run"), "sessions"), *session;
    json_t *cases = json_object_get(root, "cases");
    unsigned done = 0;
    size_t i;
    json_array_foreach(sessions, i, session)
    {
        done += (unsigned)tree_get_number(session, "rounds");
    }
    for (size_t c = json_array_size(cases); c-- > 0;) {
        json_t *rounds = json_object_get(json_array_get(cases, c), "rounds");
        for (size_t r = json_array_size(rounds); r-- > 0;)
            if (tree_get_number(json_array_get(rounds, r), "round") >= done)
                json_array_remove(rounds, r);
        if (json_array_size(rounds) == 0)
            json_array_remove(cases, c);
    }
    return done;
}

json_t *result_without_rounds(json_t *root)
{
    result_summarise(root); /* statuses follow from rounds */
    json_t *copy = json_deep_copy(root), *one_case;
    size_t i;
    json_array_foreach(json_object_get(copy, "cases"), i, one_case)
    {
        json_array_clear(json_object_get(one_case, "rounds"));
    }
    return copy;
}

static void plan_rounds(json_t *run, unsigned rounds)
{
    json_t *all = tree_count(rounds);
    tree_put(json_object_get(run, "options"), "rounds", json_incref(all));
    tree_put(run, "rounds", all);
}

int result_continue(struct result_draft *result, json_t *root, unsigned rounds, struct error *error)
{
    *result = (struct result_draft){
        .root = root, .started_ns = clock_ns(), .planned = rounds, .unsaved = tree_array()};
    json_t *run = json_object_get(root, "run"), *sessions = json_object_get(run, "sessions");
    const double earlier = tree_get_number(run, "duration_ns");
    result->earlier_ns = earlier > 0 ? (uint64_t)earlier : 0;
    TRY(check_same_tool(root, error));
    if (!sessions) {
        /* Of an older format. */
        sessions = tree_pack("[{s:o, s:i}]", "started_at", tree_share(run, "started_at"), "rounds",
                             (int)result_rounds(root));
        tree_put(run, "sessions", sessions);
    }
    result->session = json_array_size(sessions);
    tree_append(sessions, new_session());
    plan_rounds(run, result_rounds(root) + rounds);
    tree_put(run, "status", tree_text("partial"));
    tree_put(json_object_get(root, "schema"), "version", tree_text(RESULT_SCHEMA_VERSION));
    return 0;
}

/* Adds the rounds that no file has, which have a number in common if they were made in one round. */
static void add_unsaved(struct result_draft *result, json_t *unsaved)
{
    unsigned number = result_rounds(result->root);
    int before = -1;
    size_t i;
    json_t *json;
    json_array_foreach(unsaved, i, json)
    {
        struct case_round round;
        if (case_round_from_json(json, &round, NULL) == 0) {
            if (before >= 0 && (int)round.round != before)
                number++;
            before = (int)round.round;
            round.round = number;
            result_add_round(result, &round);
        }
        case_round_free(&round);
    }
}

static json_t *session_of(const struct result_draft *result)
{
    const json_t *run = json_object_get(result->root, "run");
    return json_array_get(json_object_get(run, "sessions"), result->session);
}

int result_rejoin(struct result_draft *result, json_t *root, struct error *error)
{
    json_t *run = json_object_get(root, "run"), *ours = json_object_get(result->root, "run");
    json_t *sessions = json_object_get(run, "sessions");
    if (!json_equal(json_object_get(run, "id"), json_object_get(ours, "id")) ||
        json_array_size(sessions) <= result->session) {
        json_decref(root);
        return error_set(error, ERR_USAGE, "the file of another run has taken its place");
    }
    json_t *session = session_of(result);
    json_array_set(sessions, result->session, session);
    tree_put(run, "status", tree_share(ours, "status"));
    const double duration_ns = tree_get_number(run, "duration_ns");
    result->earlier_ns = duration_ns > 0 ? (uint64_t)duration_ns : 0;

    json_t *before = result->root, *unsaved = result->unsaved;
    result->root = root;
    result->unsaved = NULL;
    add_unsaved(result, unsaved);
    result->unsaved = tree_array();
    const unsigned done = (unsigned)tree_get_number(session, "rounds");
    plan_rounds(run, result_rounds(root) + (done < result->planned ? result->planned - done : 0));
    json_decref(before);
    json_decref(unsaved);
    return 0;
}

void result_set_session(struct result_draft *result, unsigned rounds)
{
    tree_put(session_of(result), "rounds", tree_count(rounds));
}

void result_set_atlases(struct result_draft *result, const json_t *sources)
{
    tree_put(session_of(result), "atlases", json_deep_copy(sources));
}

/* ---- writing --------------------------------------------------------------------------------- */

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

int result_print(const json_t *root, FILE *out, struct error *error)
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

/* Makes the folders that lead to `path`. */
static int make_folders(const char *path, struct error *error)
{
    int code = 0;
    struct text part = {0};
    text_add(&part, "%s", path);
    for (char *slash = part.data + 1; code == 0 && *slash && (slash = strchr(slash, '/'));
         slash++) {
        *slash = 0;
        if (mkdir(part.data, 0777) != 0 && errno != EEXIST)
            code = error_set(error, ERR_IO, "the folder %s could not be made: %s", part.data,
                             strerror(errno));
        *slash = '/';
    }
    text_free(&part);
    return code;
}

int result_write(struct result_draft *result, const char *path, struct error *error)
{
    return result_write_held(result, path, false, NULL, error);
}

int result_write_held(struct result_draft *result, const char *path, bool only_new, int *held,
                      struct error *error)
{
    const uint64_t now_ns = clock_ns();
    result->earlier_ns += now_ns - result->started_ns;
    result->started_ns = now_ns;
    tree_put(json_object_get(result->root, "run"), "duration_ns", tree_count(result->earlier_ns));
    result_summarise(result->root);

    TRY(make_folders(path, error));
    char *bytes = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&bytes, &length);
    int code = memory ? result_print(result->root, memory, error)
                      : error_set(error, ERR_HOST_MEMORY, "%s could not be written: %s", path,
                                  strerror(errno));
    if (memory && fclose(memory) != 0 && code == 0)
        code =
            error_set(error, ERR_HOST_MEMORY, "%s could not be written: %s", path, strerror(errno));
    if (code == 0)
        code = gzip_write_file(path, bytes, length, only_new, held, error);
    free(bytes);
    return code;
}

/* ---- the newest files ------------------------------------------------------------------------ */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Names begin with the time. */
static int newest_first(const void *a, const void *b)
{
    return -strcmp(base_name(*(char *const *)a), base_name(*(char *const *)b));
}

/* Most result files lack the member, and have many megabytes of samples. Each member of the root
 * begins a line, so this one is found without reading the rest as JSON. */
static json_t *load_with(const char *path, const char *member)
{
    struct text text = {0}, line = {0};
    json_t *root = NULL;
    text_add(&line, "\n\"%s\": [", member);
    if (gzip_read_file(&text, path, TEXT_MOST_BYTES, NULL) == 0 && strstr(text.data, line.data))
        result_parse(path, &text, &root, NULL);
    text_free(&text);
    text_free(&line);
    return root;
}

void newest_results(const char *results, const char *member,
                    bool (*take)(void *context, const char *path, const json_t *root),
                    void *context)
{
    static const char *const suffixes[] = {"json", "json.gz"};
    glob_t files = {0};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        struct text pattern = {0};
        text_add(&pattern, "%s/*/*.%s", results, suffixes[i]);
        glob(pattern.data, GLOB_NOSORT | (i ? GLOB_APPEND : 0), NULL, &files);
        text_free(&pattern);
    }
    if (files.gl_pathc)
        qsort(files.gl_pathv, files.gl_pathc, sizeof *files.gl_pathv, newest_first);
    bool has_all = false;
    for (size_t i = 0; i < files.gl_pathc && !has_all; i++) {
        json_t *root = load_with(files.gl_pathv[i], member);
        has_all = root && take(context, files.gl_pathv[i], root);
        json_decref(root);
    }
    globfree(&files);
}
