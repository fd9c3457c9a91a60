/* The trace of a program that was made without a device has the blocks of a measured run on one:
 * played again, it counts what the run counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "run/execute/spaces.h"
#include "replay/replay.h"
#include "run/rounds/measure.h"
#include "run/select/program_trace.h"
#include "run/select/select.h"
#include "tests/base/cmocka.h"
#include "tests/trace/trace_fixture.h"

static void must(int code, const struct error *error)
{
    if (code)
        fail_msg("%s", error->text);
}

/* Played under the strategy of the measured run, the trace's blocks take the memory that they took
 * there; and each has a site. */
static void check_blocks(const char *path, const struct case_round *round)
{
    struct option_values values;
    struct replay_options options = {
        .options = &values, .device = replay_device(0, NULL), .free_at = FREE_AT_DONE};
    struct replay_outcome outcome;
    struct trace_reader *reader;
    struct trace_event e;
    struct error error;
    must(allocator_parse(round->key.strategy, &options.strategy, &values, &error), &error);
    must(trace_open(path, &reader, &error), &error);
    while (trace_next(reader, &e, &error) > 0)
        if (e.kind == TRACE_alloc)
            assert_string_not_equal(trace_name_of(reader, e.name), "");
    must(replay_trace(reader, &options, NULL, &outcome, &error), &error);
    assert_int_equal(outcome.counts.peak_requested_bytes, round->cold.peak_requested_bytes);
    assert_int_equal(outcome.counts.peak_granted_bytes, round->cold.peak_granted_bytes);
    assert_int_equal(outcome.counts.peak_reserved_bytes, round->cold.peak_reserved_bytes);
    trace_close(reader);
}

static void check_case(struct measure *measure, const struct catalogue *catalogue,
                       const char *workload, const char *merge, const char *release)
{
    const struct measure_options options = {.least_samples = 1, .most_samples = 1, .seed = 42};
    const struct entry *entry = select_entry(catalogue, workload);
    struct case_round round = {0};
    const struct program_run run = {.entry = entry,
                                    .dataset = select_dataset(entry, "smoke"),
                                    .merge = merge,
                                    .policy = strcmp(release, "scope") == 0 ? RELEASE_SCOPE
                                                                            : RELEASE_LAST_USE,
                                    .seed = options.seed,
                                    .may_run = true};
    struct trace_info info = {.source = "gamut"};
    struct dry_run counts;
    struct error error;
    char name[64];
    snprintf(round.key.workload, sizeof round.key.workload, "%s", workload);
    snprintf(round.key.dataset, sizeof round.key.dataset, "smoke");
    snprintf(round.key.merge, sizeof round.key.merge, "%s", merge);
    snprintf(round.key.release, sizeof round.key.release, "%s", release);
    snprintf(round.key.strategy, sizeof round.key.strategy, "pool");
    snprintf(name, sizeof name, "%s-%s-%s.trace", workload, merge, release);
    const char *path = trace_path(name);
    must(measure_case(measure, entry, run.dataset, &options, &round), &error);
    if (round.status != CASE_ok)
        fail_msg("%s", round.reason);
    must(program_trace(&run, &info, path, &counts, &error), &error);
    assert_int_equal(counts.peak_requested_bytes, round.cold.peak_requested_bytes);
    assert_int_equal(counts.live_lower_bound_bytes, round.cold.live_lower_bound_bytes);
    assert_int_equal(counts.alloc_count, round.cold.alloc_count);
    assert_int_equal(counts.free_count, round.cold.free_count);
    check_blocks(path, &round);
    case_round_free(&round);
}

static void the_blocks_of_a_measured_run(void **state)
{
    static const char *const workloads[] = {"stencil", "srad", "lud", "fft", "canny", "bfs"};
    struct catalogue catalogue;
    struct device *host;
    struct error error;
    (void)state;
    must(catalogue_open(&catalogue, &error), &error);
    must(device_open("host", &host, &error), &error);
    struct measure *measure = measure_open(host);
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        check_case(measure, &catalogue, workloads[i], "none", "last-use");
        check_case(measure, &catalogue, workloads[i], "none", "scope");
        check_case(measure, &catalogue, workloads[i], "best", "last-use");
    }
    measure_close(measure);
    host->ops->close(host);
    catalogue_close(&catalogue);
}

static void memory_in_two_places_is_refused(void **state)
{
    static const char text[] = "fun two(n: i64, x: [n]i32) {\n"
                               "  let m: mem pinned = alloc(4 * n)\n"
                               "  let y: [n]i32 @ m = kernel k (i < n) { y[i] = x[i]; }\n"
                               "  in y\n}\n"
                               "dataset d { n = 4; x = [1, 2, 3, 4]; }\n";
    struct program *program;
    struct dry_run counts;
    struct error error;
    (void)state;
    must(program_read("two.mem", text, strlen(text), &program, &error), &error);
    const struct entry entry = {.name = "two", .program = program, .fun = &program->funs[0]};
    const struct program_run run = {
        .entry = &entry, .dataset = &program->datasets[0], .merge = "none"};
    struct trace_info info = {.source = "gamut"};
    assert_int_equal(program_trace(&run, &info, trace_path("two.trace"), &counts, &error),
                     ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "two has memory in the space pinned"));
    program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_blocks_of_a_measured_run),
                                       cmocka_unit_test(memory_in_two_places_is_refused)};
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
