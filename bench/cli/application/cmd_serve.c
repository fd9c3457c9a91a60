/* gamut serve: runs an application whose device memory a strategy of gamut manages. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/tree.h"
#include "cli/application/application.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/recording.h"
#include "results/facts/atlas.h"
#include "results/file/result_file.h"
#include "replay/plan.h"
#include "replay/replay.h"
#include "replay/serving.h"

enum { VIA_CUDA_PRELOAD = APPLICATION_VIA_COUNT }; /* in addition to the ways of OpenCL */

static const struct flag flags[] = {
    {"strategy", 's', FLAG_TEXT, .value = "STRATEGY", .fallback = "caching",
     .help = "the allocator that serves, with its options: pool, 'caching:max_split=64MiB'"},
    {"out", 'o', FLAG_TEXT,
     .help = "also write what was served as a result file, which gamut compare reads. Further "
             "processes of the application become FILE-PROCESS.json"},
    FLAG_FORCE,
    {"name", 0, FLAG_TEXT, .value = "NAME",
     .help = "the application's name in that file; default: the program's. A replay of NAME.trace "
             "has the same"},
    FLAG_MEM_LIMIT,
    {"beside", 0, FLAG_TEXT, .value = "TRACE",
     .help = "a recording of the same run (gamut record --times): say also what it predicts, with "
             "--atlas the time too"},
    FLAG_ATLAS,
    {"via", 0, FLAG_CHOICE, .value = "HOW", .fallback = "auto",
     .choices = APPLICATION_VIA "|cuda-preload",
     .help = "how gamut gets between the application and its driver, as in gamut record; "
             "cuda-preload: CUDA alone. auto serves both APIs that the machine has"},
    {"debug", 0, FLAG_SWITCH,
     .help = "fill blocks when they begin and end, and look for writes beyond their end; this "
             "slows the application"},
    FLAGS_END,
};

static const char RESULT[] = ".json", STATISTICS[] = ".statistics";

struct serving {
    const struct command_line *line;
    struct arena arena;
    const char *opencl, *cuda; /* the libraries; NULL: the API is not served */
    const char *folder;
    const char *why_not;   /* OpenCL is not served; "" */
    const char *predicted; /* NULL, or what a recording says beforehand */
};

/* ---- before ---- */

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* Whether a program may find the driver of CUDA. */
static bool has_cuda(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver)
        dlclose(driver);
    return driver != NULL;
}

/* The library that serves an API by the strategy. */
static int choose_library(struct serving *s, enum serving_api api, const char **library,
                          struct error *error)
{
    const struct allocator_ops *strategy;
    struct option_values values;
    struct allocator_plans plans = {.make = plan_of_trace};
    const char *name = api == SERVING_CUDA ? "libgamut_serve_cuda.so" : "libgamut_serve_opencl.so";
    const int code =
        serving_parse(&plans, flag_text(s->line, "strategy"), api, &strategy, &values, error);
    allocator_plans_free(&plans);
    TRY(code);
    *library = application_library(&s->arena, name);
    return *library ? 0
                    : error_set(error, ERR_UNSUPPORTED,
                                "%s is not beside gamut: build it with `make`, on a machine with "
                                "the headers of %s",
                                name, api == SERVING_CUDA ? "CUDA, for x86-64" : "OpenCL");
}

/* A mistake in the strategy is reported before the application begins. */
static int check_line(struct serving *s, struct error *error)
{
    const uint64_t via = flag_number(s->line, "via");
    if (via == VIA_CUDA_PRELOAD)
        return choose_library(s, SERVING_CUDA, &s->cuda, error);
    const int code = choose_library(s, SERVING_OPENCL, &s->opencl, error);
    if (via == APPLICATION_VIA_AUTO && has_cuda())
        (void)choose_library(s, SERVING_CUDA, &s->cuda, NULL);
    if (s->cuda && code)
        s->why_not = arena_printf(&s->arena, "; OpenCL is not served: %s", error->text);
    return s->cuda ? 0 : code;
}

static int set_environment(struct serving *s, struct error *error)
{
    setenv("GAMUT_SERVE", flag_text(s->line, "strategy"), 1);
    setenv("GAMUT_SERVE_NAME",
           flag_text(s->line, "name") ? flag_text(s->line, "name")
                                      : text_file_name(s->line->program[0]),
           1);
    setenv("GAMUT_SERVE_DEBUG", flag_number(s->line, "debug") ? "1" : "", 1);
    setenv("GAMUT_SERVE_CAPACITY",
           flag_is_given(s->line, "mem-limit")
               ? arena_printf(&s->arena, "%" PRIu64, flag_number(s->line, "mem-limit"))
               : "",
           1);
    setenv("GAMUT_SERVE_RESULT",
           flag_text(s->line, "out") ? arena_printf(&s->arena, "%s/%%p%s", s->folder, RESULT) : "",
           1);
    setenv("GAMUT_SERVE_STATISTICS", arena_printf(&s->arena, "%s/%%p%s", s->folder, STATISTICS), 1);
    if (s->cuda)
        TRY(application_inject(&s->arena, s->cuda, APPLICATION_VIA_PRELOAD, s->folder, error));
    return s->opencl ? application_inject(&s->arena, s->opencl,
                                          (enum application_via)flag_number(s->line, "via"),
                                          s->folder, error)
                     : 0;
}

/* ---- after ---- */

static uint64_t counter(const json_t *device, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(json_object_get(device, "counters"), name));
}

/* The server of a device, or of a context of OpenCL. */
static void say_device(const struct serving *s, const json_t *device)
{
    char held[32], asked[32];
    fprintf(stderr,
            "gamut: %s served %" PRIu64 " requests under %s: %" PRIu64 " hits, %" PRIu64
            " driver calls, at most %s held for %s requested\n",
            tree_get_text(device, "id"), counter(device, "alloc_count"),
            flag_text(s->line, "strategy"), counter(device, "hit_count"),
            counter(device, "driver_alloc_count") + counter(device, "driver_free_count"),
            text_bytes(held, counter(device, "peak_reserved_bytes")),
            text_bytes(asked, counter(device, "peak_requested_bytes")));
}

/* What a replay of the recording says of the same run. */
static int predict(struct serving *s, struct error *error)
{
    const char *path = flag_text(s->line, "beside"), *atlas_name = flag_text(s->line, "atlas");
    struct atlas atlas = {0};
    struct allocator_plans plans = {.make = plan_of_trace};
    const struct allocator_ops *strategy;
    struct option_values values;
    struct trace_reader *reader = NULL;
    struct replay_outcome outcome = {0};
    char took[32], held[32];
    int code = atlas_name ? recorded_atlas(atlas_name, &atlas, error) : 0;
    THEN(code, allocator_parse_planned(&plans, flag_text(s->line, "strategy"), &strategy, &values,
                                       error));
    THEN(code, trace_open(path, &reader, error));
    const struct replay_options options = {.strategy = strategy,
                                           .options = &values,
                                           .device = replay_device(0, atlas_name ? &atlas : NULL),
                                           .free_at = s->cuda ? FREE_AT_DONE : FREE_AT_LET_GO};
    THEN(code, replay_trace(reader, &options, NULL, &outcome, error));
    if (!code && outcome.status != CASE_ok)
        code = error_set(error, ERR_USAGE, "%s: %s", path, outcome.reason);
    const char *why_not = !outcome.model.asked ? "without --atlas" : outcome.model.why_not;
    if (!code)
        s->predicted = arena_printf(
            &s->arena, "%" PRIu64 " hits, %" PRIu64 " driver calls, at most %s held, %s%s",
            outcome.counts.hit_count,
            outcome.counts.driver_alloc_count + outcome.counts.driver_free_count,
            text_bytes(held, outcome.counts.peak_reserved_bytes), *why_not ? "no time: " : "",
            *why_not ? why_not : text_ns(took, (double)outcome.model.predicted_ns));
    trace_close(reader);
    allocator_plans_free(&plans);
    atlas_free(&atlas);
    return code;
}

static void say_process(const struct serving *s, const json_t *statistics)
{
    char ran[32];
    const json_t *devices = json_object_get(statistics, "devices"), *device;
    json_t *passed = json_object_get(statistics, "passed"), *count;
    const char *what;
    size_t i;
    json_array_foreach(devices, i, device) say_device(s, device);
    if (json_array_size(devices))
        fprintf(stderr, "gamut: the application ran for %s from its first request on\n",
                text_ns(ran, (double)json_integer_value(json_object_get(statistics, "ran_ns"))));
    json_object_foreach(passed, what, count)
    {
        if (json_integer_value(count))
            fprintf(stderr, "gamut: left to the driver: %" JSON_INTEGER_FORMAT " %s\n",
                    json_integer_value(count), what);
    }
}

static json_int_t began(const json_t *statistics)
{
    return json_integer_value(json_object_get(statistics, "began_realtime_us"));
}

/* The process that began first has the name of --out. */
static int by_begin(const void *left, const void *right)
{
    const json_int_t a = began(*(json_t *const *)left), b = began(*(json_t *const *)right);
    return a < b ? -1 : a > b;
}

/* The result file of a process goes to --out, or to a name of its own in the same folder. */
static int move_result(struct serving *s, const json_t *statistics, bool first, struct error *error)
{
    const char *out = flag_text(s->line, "out");
    const char *name = text_file_name(tree_get_text(statistics, "result")),
               *from = arena_printf(&s->arena, "%s/%s", s->folder, name);
    if (!json_array_size(json_object_get(statistics, "devices"))) {
        unlink(from);
        return 0;
    }
    if (!first) {
        const size_t stem = strlen(out) - (ends_with(out, RESULT) ? strlen(RESULT) : 0);
        out = arena_printf(&s->arena, "%.*s-%s", (int)stem, out, name);
    }
    if (rename(from, out) == 0)
        fprintf(stderr, "gamut: wrote %s\n", out);
    else if (errno == ENOENT && access(from, F_OK) != 0)
        fprintf(stderr, "gamut: a process was killed before it had written its result file\n");
    else
        return error_set(error, ERR_IO, "%s: %s", out, strerror(errno));
    return 0;
}

/* Reads what the processes have left, and removes it. The caller owns the list and its items. */
static int read_statistics(struct serving *s, json_t ***list, unsigned *count, struct error *error)
{
    unsigned capacity = 0;
    json_error_t wrong;
    DIR *folder = opendir(s->folder);
    if (!folder)
        return error_set(error, ERR_IO, "%s: %s", s->folder, strerror(errno));
    int code = 0;
    for (struct dirent *entry; !code && (entry = readdir(folder)) != NULL;) {
        const char *path = arena_printf(&s->arena, "%s/%s", s->folder, entry->d_name);
        if (ends_with(entry->d_name, ".tmp")) /* a process was killed while it wrote its result */
            unlink(path);
        if (!ends_with(entry->d_name, STATISTICS))
            continue;
        *list = must_grow(*list, *count, &capacity, sizeof **list);
        (*list)[*count] = json_load_file(path, 0, &wrong);
        if ((*list)[*count])
            (*count)++;
        else
            code = error_set(error, ERR_IO, "%s: %s", path, wrong.text);
        unlink(path);
    }
    closedir(folder);
    return code;
}

static int take_processes(struct serving *s, bool is_first, struct error *error)
{
    json_t **list = NULL;
    unsigned count = 0, served = 0;
    json_int_t passed = 0;
    const uint64_t via = flag_number(s->line, "via");
    int code = read_statistics(s, &list, &count, error);
    if (count)
        qsort(list, count, sizeof *list, by_begin);
    for (unsigned i = 0; i < count; i++) {
        passed += json_integer_value(json_object_get(list[i], "passed_count"));
        say_process(s, list[i]);
        if (flag_text(s->line, "out") && !code)
            code = move_result(s, list[i], is_first && !served, error);
        served += json_array_size(json_object_get(list[i], "devices")) > 0;
        json_decref(list[i]);
    }
    free(list);
    if (served && s->predicted)
        fprintf(stderr, "gamut: predicted of %s: %s\n", flag_text(s->line, "beside"), s->predicted);
    if (code || served)
        return code;
    if (passed)
        return error_set(error, ERR_UNSUPPORTED, "nothing was served: the driver has all requests");
    if (s->cuda)
        return error_set(error, ERR_UNSUPPORTED,
                         "nothing was served: the program asked libcuda for no memory%s, or found "
                         "it in a way that the preload does not see, or it was killed%s",
                         s->opencl ? " and OpenCL for none" : "", s->why_not);
    return error_set(
        error, ERR_UNSUPPORTED,
        "nothing was served: the application asked for no buffer of OpenCL in a way "
        "that gamut sees, or it was killed%s%s",
        via == APPLICATION_VIA_AUTO && !has_cuda() ? "; CUDA's driver is not here" : "",
        via == APPLICATION_VIA_PRELOAD ? "" : "; for a loader of its own try --via preload");
}

static int serve_in_folder(struct serving *s, int *status, struct error *error)
{
    TRY(set_environment(s, error));
    TRY(application_run(s->line->program, status, error));
    const int code = take_processes(s, true, error);
    /* It has said why itself. */
    if (code == ERR_UNSUPPORTED && *status)
        return error_set(error, code, "nothing was served: the application ended before");
    return code;
}

static int serve_application(struct serving *s, int *exit_code, struct error *error)
{
    const char *out = flag_text(s->line, "out"), *temporary = getenv("TMPDIR");
    TRY(check_line(s, error));
    if (flag_text(s->line, "beside"))
        TRY(predict(s, error));
    else if (flag_is_typed(s->line, "atlas"))
        return error_set(error, ERR_USAGE, "--atlas is for --beside");
    if (out)
        TRY(result_file_check(out, flag_number(s->line, "force"), error));
    /* A rename to --out stays within its folder. */
    TRY(application_folder(&s->arena,
                           out ? out
                               : arena_printf(&s->arena, "%s/gamut-serve",
                                              temporary && *temporary ? temporary : "/tmp"),
                           &s->folder, error));
    int status = 0;
    const int code = serve_in_folder(s, &status, error);
    *exit_code = application_exit_code(status, code, error);
    if (application_outlived(*exit_code))
        (void)take_processes(s, false, NULL);
    if (!application_remove(&s->arena, s->folder))
        fprintf(stderr, "gamut: what could not be read of the application is in %s\n", s->folder);
    return 0;
}

static int run_serve(const struct command_line *line)
{
    struct serving s = {.line = line, .why_not = ""};
    struct error error = {0};
    int exit_code = 0;
    const int code = serve_application(&s, &exit_code, &error);
    arena_free(&s.arena);
    return code ? application_exit_code(0, code, &error) : exit_code;
}

const struct command command_serve = {
    .name = "serve",
    .summary = "run an OpenCL or CUDA application, unmodified, with a strategy as its allocator",
    .arguments = "-- APPLICATION [ARGUMENTS]",
    .takes_program = true,
    .flags = flags,
    .run = run_serve,
};
