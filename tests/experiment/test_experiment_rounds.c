/* An experiment's rounds against workers that behave badly: this program starts itself as `worker`,
 * and the strategies of the experiment say what its fourth row does there. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/experiment_rounds.h"
#include "results/file/experiment_result.h"
#include "base/tree.h"
#include "tests/base/cmocka.h"
#include "tests/results/file/record_fixture.h"
#include "run/rounds/process.h"

enum { BAD_ROW = 3, ROUNDS = 3 };

/* ---- the worker ---------------------------------------------------------------------------- */

struct play {
    const char *behaviour; /* of the bad row */
    FILE *out;
};

static json_t *play_row(const char *behaviour, unsigned round, size_t slot, FILE *out)
{
    if (strcmp(behaviour, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would catch it */
        raise(SIGSEGV);
    } else if (strcmp(behaviour, "hang") == 0) {
        pause();
    } else if (strcmp(behaviour, "explain") == 0) {
        worker_send(out, json_pack("{s:s}", "text", "the queue is gone"));
        _exit(2);
    } else if (strcmp(behaviour, "interrupt") == 0) {
        kill(getppid(), SIGINT);
        pause();
    } else if (strcmp(behaviour, "mumble") == 0) {
        return NULL;
    } else if (strcmp(behaviour, "oom") == 0 || strcmp(behaviour, "leave") == 0) {
        return experiment_round(round, slot, CASE_oom, "asked for too much");
    }
    json_t *ok = experiment_round(round, slot, CASE_ok, NULL);
    tree_put(ok, "samples", json_pack("{s:[i, i]}", "op_ns", 1, 2));
    return ok;
}

static int play_turn(void *context, const struct items_turn *turn, json_t *done)
{
    const struct play *play = context;
    const bool is_bad = turn->number == BAD_ROW;
    json_t *round = play_row(is_bad ? play->behaviour : "", turn->round, turn->slot, play->out);
    if (round)
        tree_put(done, "round", round);
    /* As where a device is lost: another process goes on. */
    return is_bad && strcmp(play->behaviour, "leave") == 0 ? ERR_DEVICE_LOST : 0;
}

static int play_experiment(const json_t *job, FILE *out, struct error *error)
{
    struct play play = {tree_get_text(job, "strategies"), out};
    if (strcmp(play.behaviour, "unable") == 0)
        return error_set(error, ERR_BUILD, "there is no such kernel");
    items_work(job, out, play_turn, &play);
    return 0;
}

static const struct worker_job jobs[] = {{"experiment", play_experiment}, {NULL, NULL}};

/* ---- the parent ---------------------------------------------------------------------------- */

struct seen {
    struct result_draft result;
    const struct result_experiment *experiment;
    size_t working, rounds_ended;
    bool interrupted;
    struct error error;
};

static void working(void *context, const struct items_state *state, const char *row)
{
    struct seen *seen = context;
    assert_true(state->position < state->in_round);
    assert_non_null(strstr(row, "method="));
    seen->working++;
}

static int round_ended(void *context, struct error *error)
{
    struct seen *seen = context;
    (void)error;
    seen->rounds_ended++;
    return 0;
}

static int run(const char *behaviour, struct seen *seen)
{
    struct experiment_task task = {.spec = "isosurface",
                                   .settings = {.strategies = behaviour, .seed = 42},
                                   .device = "host",
                                   .rounds = ROUNDS,
                                   .timeout_ns = 1000000000};
    const struct experiment_watcher watcher = {seen, working, round_ended};
    struct result_tree tree = record_fixture(1);
    *seen = (struct seen){.result = result_tree_draft(tree.root)};
    result_tree_free(&tree);
    assert_int_equal(
        experiment_parse(task.spec, &task.experiment, &task.settings.options, &seen->error), 0);
    json_t *options = experiment_options_to_json(task.experiment, &task.settings);
    struct result_experiment *experiment = experiment_add(
        &seen->result.result, task.experiment->name, task.device, options,
        task.experiment->parameters, task.experiment->metrics, task.experiment->metric_count);
    json_decref(options);
    seen->experiment = experiment;
    return experiment_run(&task, &seen->result.result, experiment, &watcher, &seen->interrupted,
                          &seen->error);
}

/* How many rounds of the row were as the status says. */
static size_t count_of(const struct seen *seen, size_t row, const char *status, const char *reason)
{
    const struct result_case *one = &seen->experiment->rows[row];
    size_t n = 0;
    for (size_t i = 0; i < one->round_count; i++)
        n += strcmp(case_status_name(one->rounds[i].status), status) == 0 &&
             strstr(one->rounds[i].reason ? one->rounds[i].reason : "", reason);
    return n;
}

static void a_failure_costs_one_row(void **state)
{
    static const struct {
        const char *behaviour, *status, *reason;
    } bad[] = {
        {"crash", "error", "the process died from SIGSEGV"},
        {"hang", "timeout", "no answer within 1.00 s"},
        {"explain", "error", "the queue is gone"},
        {"mumble", "error", "has no round"},
        {"oom", "oom", "asked for too much"},
        {"leave", "oom", "asked for too much"},
    };
    (void)state;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        struct seen seen;
        assert_int_equal(run(bad[b].behaviour, &seen), 0);
        assert_false(seen.interrupted);
        assert_int_equal(seen.rounds_ended, ROUNDS);
        const size_t rows = seen.experiment->row_count;
        assert_int_equal(seen.working, rows * ROUNDS - (ROUNDS - 1)); /* it is not tried again */
        for (size_t row = 0; row < rows; row++)
            if (row != BAD_ROW)
                assert_int_equal(count_of(&seen, row, "ok", ""), ROUNDS);
        assert_int_equal(count_of(&seen, BAD_ROW, bad[b].status, bad[b].reason), 1);
        assert_int_equal(count_of(&seen, BAD_ROW, "ok", ""), 0);
        draft_free(&seen.result);
    }
}

static void what_cannot_begin_ends_the_experiment(void **state)
{
    struct seen seen;
    (void)state;
    assert_int_equal(run("unable", &seen), ERR_DEVICE);
    assert_string_equal(seen.error.text, "isosurface on host: there is no such kernel");
    assert_int_equal(seen.working, 0);
    assert_int_equal(seen.rounds_ended, 0);
    assert_int_equal(seen.experiment->rows[0].status, CASE_skipped);
    draft_free(&seen.result);
}

static void an_interruption_keeps_what_was_measured(void **state)
{
    struct seen seen;
    size_t measured = 0;
    (void)state;
    assert_int_equal(run("interrupt", &seen), 0);
    assert_true(seen.interrupted);
    assert_int_equal(seen.rounds_ended, 0);
    for (size_t row = 0; row < seen.experiment->row_count; row++)
        measured += count_of(&seen, row, "ok", "");
    /* Whether the parent has heard that the worker took up the last row depends on which came
     * first, its word or the interruption. */
    assert_in_range(seen.working - measured, 0, 1);
    assert_int_equal(count_of(&seen, BAD_ROW, "ok", ""), 0);
    draft_free(&seen.result);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(jobs);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_costs_one_row),
        cmocka_unit_test(what_cannot_begin_ends_the_experiment),
        cmocka_unit_test(an_interruption_keeps_what_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
