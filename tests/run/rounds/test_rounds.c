/* The run loop against workers that behave badly: this program starts itself as `worker`, and the
 * name of a case's strategy says what it does there. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "results/facts/case.h"
#include "base/tree.h"
#include "run/rounds/devices.h"
#include "run/rounds/process.h"
#include "run/rounds/rounds.h"
#include "tests/base/cmocka.h"

/* ---- the worker ---------------------------------------------------------------------------- */

static bool knows(const json_t *job, const struct case_key *key, const char *digest)
{
    char name[256];
    size_t i;
    json_t *each;
    snprintf(name, sizeof name, "%s/%s", key->workload, key->dataset);
    json_array_foreach(json_object_get(json_object_get(job, "known"), name), i, each)
    {
        if (strcmp(json_string_value(each), digest) == 0)
            return true;
    }
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

static int play_devices(const json_t *job, FILE *out, struct error *error)
{
    (void)out;
    return error_set(error, ERR_NOT_FOUND, "no device matches '%s'",
                     tree_get_text(job, "selectors"));
}

struct play {
    const json_t *job;
    FILE *out;
};

static int play_case(void *context, const struct items_turn *turn, json_t *done)
{
    const struct play *play = context;
    struct sample sample = {.wall_ns = turn->round * 1000u + turn->slot};
    struct case_round round = {.round = turn->round,
                               .slot = (unsigned)turn->slot,
                               .digest = 0xfedcba9876543210u,
                               .check = CHECK_REFERENCE,
                               .sample_count = 1,
                               .samples = &sample};
    const json_t *key = json_array_get(json_object_get(play->job, "keys"), turn->index);
    if (case_key_from_json(key, &round.key, NULL))
        _exit(8);
    behave(round.key.strategy, play->out);
    if (knows(play->job, &round.key, "fedcba9876543210"))
        round.check = CHECK_DIGEST;
    const bool lost = strcmp(round.key.strategy, "lost") == 0;
    if (lost) {
        round.status = CASE_error;
        snprintf(round.reason, sizeof round.reason, "an illegal address\nand more");
        tree_put(done, "lost", json_true());
    }
    if (strcmp(round.key.strategy, "oom") == 0) {
        round.status = CASE_oom;
        snprintf(round.reason, sizeof round.reason, "asked for too much");
    }
    tree_put(done, "round", case_round_to_json(&round));
    return lost ? ERR_DEVICE_LOST : 0;
}

static int play_cases(const json_t *job, FILE *out, struct error *error)
{
    struct play play = {job, out};
    json_t *keys = json_object_get(job, "keys"), *numbers = json_object_get(job, "numbers");
    size_t count = 0;
    (void)error;
    while (count < json_array_size(keys) &&
           strcmp(tree_get_text(json_array_get(keys, count), "strategy"), "silent") != 0)
        count++;
    while (json_array_size(numbers) > count) /* the silent case never starts */
        json_array_remove(numbers, count);
    if (items_work(job, out, play_case, &play) == ERR_DEVICE_LOST)
        pause(); /* as a driver may when it cleans up */
    return 0;
}

static const struct worker_job jobs[] = {
    {"devices", play_devices}, {"cases", play_cases}, {NULL, NULL}};

/* ---- the parent ---------------------------------------------------------------------------- */

enum { SEEN_MAX = 256 };

struct seen {
    unsigned first_round;
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
    assert_int_equal(round->round - seen->first_round, state->round);
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

/* Runs one case for each strategy named, on data of its own unless they `share_data`. */
static void run_as(const char *const *strategies, size_t count, bool share_data,
                   const struct rounds_options *options, struct seen *seen, bool *interrupted)
{
    struct selection selection = {.case_count = count};
    selection.cases = must_alloc(count * sizeof *selection.cases);
    for (size_t i = 0; i < count; i++) {
        struct case_key *key = &selection.cases[i];
        *key = (struct case_key){.workload = "w", .dataset = "d", .merge = "none"};
        snprintf(key->workload, sizeof key->workload, "w%zu", share_data ? 0 : i);
        snprintf(key->strategy, sizeof key->strategy, "%s", strategies[i]);
        snprintf(key->device, sizeof key->device, "host");
        snprintf(key->release, sizeof key->release, "scope");
    }
    const struct rounds_watcher watcher = {seen, working, case_ended, round_ended};
    struct error error = {0};
    *seen = (struct seen){.first_round = options->first_round};
    assert_int_equal(rounds_run(&selection, options, &watcher, interrupted, &error), 0);
    free(selection.cases);
}

static void run(const char *const *strategies, size_t count, unsigned rounds, struct seen *seen,
                bool *interrupted)
{
    const struct rounds_options options = {
        .rounds = rounds, .timeout_ns = 2000000000, .measure = {.least_samples = 1, .seed = 42}};
    run_as(strategies, count, false, &options, seen, interrupted);
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

/* Three cases of one dataset, in this order: */
static void data_that_times_out_first_is_given_up(void **state)
{
    static const struct {
        const char *first, *others;
        bool adds; /* to a round that is there */
        unsigned timeouts, skipped, ok;
    } table[] = {
        {"hang", "a", false, 1, 2, 0},
        {"a", "hang", false, 2, 0, 1}, /* the device is not too slow for the data */
        {"hang", "a", true, 1, 0, 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct rounds_options options = {.rounds = 1,
                                               .first_round = table[i].adds,
                                               .timeout_ns = 1000000000,
                                               .measure = {.least_samples = 1, .seed = 42}};
        const char *strategies[3] = {table[i].others, table[i].others, table[i].others};
        unsigned order[3];
        struct seen seen;
        bool interrupted;
        items_order(42, options.first_round, 3, order);
        strategies[order[0]] = table[i].first;
        run_as(strategies, 3, true, &options, &seen, &interrupted);
        assert_int_equal(seen.count, 3);
        assert_int_equal(seen.last.left, 0);
        assert_int_equal(seen.last.failed, table[i].timeouts);
        size_t skipped = 0, timeouts = 0, ok = 0;
        for (size_t s = 0; s < 3; s++) {
            skipped += seen.rounds[s].status == CASE_skipped &&
                       strstr(seen.rounds[s].reason,
                              "the first case of w0/d on host (none, scope, hang) gave no answer "
                              "within 1.00 s; allow more");
            timeouts += seen.rounds[s].status == CASE_timeout;
            ok += seen.rounds[s].status == CASE_ok;
        }
        assert_int_equal(skipped, table[i].skipped);
        assert_int_equal(timeouts, table[i].timeouts);
        assert_int_equal(ok, table[i].ok);
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
    assert_int_equal(devices_find("cuda", false, &devices, &count, NULL, &error), ERR_NOT_FOUND);
    assert_string_equal(error.text, "no device matches 'cuda'");
    assert_null(devices);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(jobs);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_runs_once_a_round),
        cmocka_unit_test(answers_are_compared_with_the_reference_once),
        cmocka_unit_test(a_failure_costs_one_case),
        cmocka_unit_test(data_that_times_out_first_is_given_up),
        cmocka_unit_test(a_lost_device_ends_the_round),
        cmocka_unit_test(a_run_without_sound_cases_ends),
        cmocka_unit_test(an_interruption_keeps_what_was_measured),
        cmocka_unit_test(the_order_is_shuffled_from_the_seed),
        cmocka_unit_test(a_device_that_is_not_there_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
