/* The run loop against workers that behave badly: this program starts itself as `worker`, and the
 * name of a case's strategy says what it does there. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "record/result/case_json.h"
#include "base/tree.h"
#include "run/rounds/process.h"
#include "run/rounds/rounds.h"

/* ---- the worker ---------------------------------------------------------------------------- */

static void send_start(FILE *out, unsigned index)
{
    json_t *line = tree_object();
    tree_put(line, "start", json_integer(index));
    wire_send(out, line);
}

static void send_done(FILE *out, unsigned index, const struct case_round *round, bool lost)
{
    json_t *line = tree_object();
    tree_put(line, "done", json_integer(index));
    tree_put(line, "round", case_round_to_json(round));
    if (lost)
        tree_put(line, "lost", json_true());
    wire_send(out, line);
}

static bool knows(const struct job *job, const struct case_key *key, uint64_t digest)
{
    for (size_t i = 0; i < job->known_count; i++)
        for (size_t d = 0; d < job->known[i].count; d++)
            if (strcmp(job->known[i].workload, key->workload) == 0 &&
                job->known[i].digests[d] == digest)
                return true;
    return false;
}

static void behave(const char *what, FILE *out)
{
    if (strcmp(what, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would catch it */
        raise(SIGSEGV);
    } else if (strcmp(what, "hang") == 0)
        pause();
    else if (strcmp(what, "quit") == 0)
        _exit(7);
    else if (strcmp(what, "interrupt") == 0) {
        kill(getppid(), SIGINT);
        pause();
    } else if (strcmp(what, "babble") == 0)
        fputs("this is not JSON\n{\"start\": \"x\"}\n", out);
}

static void play_devices(const struct job *job, FILE *out)
{
    struct text text = {0};
    text_add(&text, "no device matches '%s'", job->devices);
    json_t *line = tree_object();
    tree_put(line, "error", json_integer(ERR_NOT_FOUND));
    tree_put(line, "text", tree_text(text.data));
    wire_send(out, line);
    text_free(&text);
}

static void play_round(const struct job *job, FILE *out)
{
    for (size_t i = 0; i < job->case_count; i++) {
        const struct job_case *c = &job->cases[i];
        struct sample sample = {.wall_ns = job->round * 1000u + c->slot};
        struct case_round round = {.key = c->key,
                                   .round = job->round,
                                   .slot = c->slot,
                                   .digest = 0xfedcba9876543210u,
                                   .check = CHECK_REFERENCE,
                                   .sample_count = 1,
                                   .samples = &sample};
        if (strcmp(c->key.strategy, "silent") == 0)
            _exit(0);
        send_start(out, c->index);
        behave(c->key.strategy, out);
        if (knows(job, &c->key, round.digest))
            round.check = CHECK_DIGEST;
        const bool lost = strcmp(c->key.strategy, "lost") == 0;
        if (lost) {
            round.status = CASE_error;
            snprintf(round.reason, sizeof round.reason, "an illegal address\nand more");
        }
        if (strcmp(c->key.strategy, "oom") == 0) {
            round.status = CASE_oom;
            snprintf(round.reason, sizeof round.reason, "asked for too much");
        }
        send_done(out, c->index, &round, lost);
        if (lost)
            pause(); /* as a driver may when it cleans up */
    }
}

static int play_worker(void)
{
    struct job job;
    struct error error = {0};
    FILE *out = fdopen(WIRE_FD, "w");
    json_t *json = json_loadf(stdin, 0, NULL);
    if (!out || job_from_json(json, &job, &error))
        return 2;
    if (job.devices)
        play_devices(&job, out);
    else
        play_round(&job, out);
    job_free(&job);
    json_decref(json);
    fclose(out);
    return 0;
}

/* ---- the parent ---------------------------------------------------------------------------- */

enum { SEEN_MAX = 256 };

struct seen {
    size_t count;
    struct case_round rounds[SEEN_MAX];
    size_t working, rounds_ended;
    struct items_state last;
};

static void working(void *context, const struct items_state *state, const struct case_key *key)
{
    struct seen *seen = context;
    assert_non_null(key);
    assert_true(state->position < state->in_round);
    seen->working++;
}

static void case_ended(void *context, const struct items_state *state,
                       const struct case_round *round)
{
    struct seen *seen = context;
    assert_true(seen->count < SEEN_MAX);
    assert_int_equal(round->slot, state->position);
    assert_int_equal(round->round, state->round);
    if (round->status == CASE_ok)
        assert_int_equal(round->samples[0].wall_ns, round->round * 1000u + round->slot);
    seen->rounds[seen->count] = *round;
    seen->rounds[seen->count++].samples = NULL;
    seen->last = *state;
}

static int round_ended(void *context, const struct items_state *state, struct error *error)
{
    struct seen *seen = context;
    (void)error;
    seen->last = *state;
    seen->rounds_ended++;
    return 0;
}

/* Runs one case for each strategy named. */
static void run(const char *const *strategies, size_t count, unsigned rounds, struct seen *seen,
                bool *interrupted)
{
    struct selection selection = {.case_count = count};
    selection.cases = must_alloc(count * sizeof *selection.cases);
    for (size_t i = 0; i < count; i++) {
        struct case_key *key = &selection.cases[i];
        *key = (struct case_key){.workload = "w", .dataset = "d", .merge = "none"};
        snprintf(key->workload, sizeof key->workload, "w%zu", i);
        snprintf(key->strategy, sizeof key->strategy, "%s", strategies[i]);
        snprintf(key->device, sizeof key->device, "host");
        snprintf(key->release, sizeof key->release, "scope");
    }
    const struct rounds_options options = {
        .rounds = rounds, .timeout_ns = 2000000000, .measure = {.least_samples = 1, .seed = 42}};
    const struct rounds_watcher watcher = {seen, working, case_ended, round_ended};
    struct error error = {0};
    *seen = (struct seen){0};
    assert_int_equal(rounds_run(&selection, &options, &watcher, interrupted, &error), 0);
    free(selection.cases);
}

static size_t count_of(const struct seen *seen, const char *strategy, enum case_status status,
                       const char *reason)
{
    size_t n = 0;
    for (size_t i = 0; i < seen->count; i++)
        n += strcmp(seen->rounds[i].key.strategy, strategy) == 0 &&
             seen->rounds[i].status == status && strstr(seen->rounds[i].reason, reason);
    return n;
}

static void every_case_runs_once_a_round(void **state)
{
    static const char *const strategies[] = {"a", "b", "c", "d", "babble"};
    struct seen seen;
    bool interrupted;
    (void)state;
    run(strategies, 5, 3, &seen, &interrupted);
    assert_false(interrupted);
    assert_int_equal(seen.rounds_ended, 3);
    for (int i = 0; i < 5; i++)
        assert_int_equal(count_of(&seen, strategies[i], CASE_ok, ""), 3);
    assert_int_equal(seen.last.done, 15);
    assert_int_equal(seen.last.left, 0);
    assert_true(seen.working >= 15);
}

static void answers_are_compared_with_the_reference_once(void **state)
{
    static const char *const strategies[] = {"a", "b"};
    struct seen seen;
    bool interrupted;
    (void)state;
    run(strategies, 2, 2, &seen, &interrupted);
    for (size_t i = 0; i < seen.count; i++)
        assert_int_equal(seen.rounds[i].check,
                         seen.rounds[i].round == 0 ? CHECK_REFERENCE : CHECK_DIGEST);
}

static void a_failure_costs_one_case(void **state)
{
    static const struct {
        const char *strategy, *reason;
        enum case_status status;
    } bad[] = {
        {"crash", "SIGSEGV", CASE_error},        {"hang", "2.00 s", CASE_timeout},
        {"quit", "status 7", CASE_error},        {"silent", "status 0", CASE_error},
        {"oom", "asked for too much", CASE_oom},
    };
    (void)state;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        const char *strategies[] = {"a", "b", bad[b].strategy, "c"};
        struct seen seen;
        bool interrupted;
        run(strategies, 4, 3, &seen, &interrupted);
        assert_false(interrupted);
        assert_int_equal(count_of(&seen, bad[b].strategy, bad[b].status, bad[b].reason), 1);
        assert_int_equal(seen.count, 3 * 3 + 1); /* the bad one is not tried again */
        for (int i = 0; i < 4; i++)
            if (i != 2)
                assert_int_equal(count_of(&seen, strategies[i], CASE_ok, ""), 3);
        assert_int_equal(seen.last.left, 0);
        assert_int_equal(seen.last.failed, 1);
    }
}

static void a_lost_device_ends_the_round(void **state)
{
    const char *strategies[8] = {"a", "b", "c", "d", "e", "f", "g", "lost"};
    static struct seen seen;
    bool interrupted;
    unsigned order[8];
    (void)state;
    run(strategies, 8, 3, &seen, &interrupted);
    assert_false(interrupted);
    assert_int_equal(seen.count, 8 + 7 + 7);
    assert_int_equal(seen.rounds_ended, 3);
    assert_int_equal(seen.last.done, 22);
    assert_int_equal(seen.last.left, 0);
    assert_int_equal(seen.last.failed, 1);
    assert_int_equal(count_of(&seen, "lost", CASE_error, "an illegal address"), 1);
    items_order(42, 0, 8, order);
    size_t at = 0, skipped = 0;
    while (order[at] != 7)
        at++;
    assert_true(at > 0 && at < 7); /* some ran before it, some did not after it */
    for (size_t i = 0; i < 8; i++) {
        const char *strategy = strategies[order[i]];
        const bool was_skipped = i > at;
        if (i == at)
            continue;
        assert_int_equal(
            count_of(&seen, strategy, CASE_skipped,
                     "not run in this round: w7/d (none, scope, lost) lost the device host: an "
                     "illegal address"),
            was_skipped);
        assert_int_equal(count_of(&seen, strategy, CASE_skipped, "and more"), 0);
        assert_int_equal(count_of(&seen, strategy, CASE_ok, ""), was_skipped ? 2 : 3);
        skipped += was_skipped;
    }
    assert_int_equal(skipped, 7 - at);
}

static void a_run_without_sound_cases_ends(void **state)
{
    static const char *const strategies[] = {"quit", "crash"};
    struct seen seen;
    bool interrupted;
    (void)state;
    run(strategies, 2, 10, &seen, &interrupted);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.rounds_ended, 1);
}

static void an_interruption_keeps_what_was_measured(void **state)
{
    const char *strategies[8] = {"a", "b", "c", "d", "e", "f", "g", "interrupt"};
    struct seen seen;
    bool interrupted;
    sigset_t mask;
    (void)state;
    run(strategies, 8, 3, &seen, &interrupted);
    assert_true(interrupted);
    assert_int_equal(seen.rounds_ended, 0);
    assert_true(seen.count < 8);
    assert_int_equal(count_of(&seen, "interrupt", CASE_ok, ""), 0);
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
    assert_false(sigismember(&mask, SIGINT)); /* a second one would end the process */
}

static void the_order_is_shuffled_from_the_seed(void **state)
{
    enum { COUNT = 20 };
    unsigned a[COUNT], b[COUNT], c[COUNT], d[COUNT], seen[COUNT] = {0};
    (void)state;
    items_order(42, 0, COUNT, a);
    items_order(42, 0, COUNT, b);
    items_order(42, 1, COUNT, c);
    items_order(43, 0, COUNT, d);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    assert_memory_not_equal(a, d, sizeof a);
    for (int i = 0; i < COUNT; i++)
        seen[a[i]]++;
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(seen[i], 1);
}

static void a_device_that_is_not_there_says_so(void **state)
{
    struct found_device *devices;
    size_t count;
    struct error error = {0};
    (void)state;
    assert_int_equal(rounds_devices("cuda", false, &devices, &count, NULL, &error), ERR_NOT_FOUND);
    assert_string_equal(error.text, "no device matches 'cuda'");
    assert_null(devices);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return play_worker();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_runs_once_a_round),
        cmocka_unit_test(answers_are_compared_with_the_reference_once),
        cmocka_unit_test(a_failure_costs_one_case),
        cmocka_unit_test(a_lost_device_ends_the_round),
        cmocka_unit_test(a_run_without_sound_cases_ends),
        cmocka_unit_test(an_interruption_keeps_what_was_measured),
        cmocka_unit_test(the_order_is_shuffled_from_the_seed),
        cmocka_unit_test(a_device_that_is_not_there_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
