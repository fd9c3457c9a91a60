#include "run/rounds/items.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "base/tree.h"
#include "run/rounds/process.h"

/* Interval between calls of the hook `working`. */
static const uint64_t quiet_ns = 500000000;

/* A worker whose device is lost has nothing more to send, but may hang in its driver. */
static const uint64_t lost_grace_ns = 2000000000;

struct items {
    const struct items_options *options;
    const struct items_hooks *hooks;
    struct caught_signals signals;
    bool interrupted;
    bool *failed; /* by number of the item */
    unsigned *order;
    bool lost; /* an item of this round has lost its device */
    uint64_t round_started_ns;
    struct items_state state;
    /* About the current worker: */
    bool started;   /* the item at the current position has started */
    char why[1024]; /* the reason that the worker sent for its end */
    uint64_t deadline_ns;
};

void items_case_round(const struct case_key *key, unsigned round, size_t slot, const json_t *line,
                      enum case_status status, const char *reason, struct case_round *ended)
{
    struct error error = {0};
    *ended = (struct case_round){0};
    if (line && !case_round_from_json(json_object_get(line, "round"), ended, &error))
        return;
    *ended = (struct case_round){.key = *key,
                                 .round = round,
                                 .slot = (unsigned)slot,
                                 .status = line ? CASE_error : status,
                                 .worst_error = NAN,
                                 .traffic_bytes = NAN};
    snprintf(ended->reason, sizeof ended->reason, "%.*s", (int)sizeof ended->reason - 1,
             line ? error.text : reason);
}

void items_order(uint64_t seed, unsigned round, size_t count, unsigned *order)
{
    struct random random = {random_split(seed, round)};
    for (size_t i = 0; i < count; i++)
        order[i] = (unsigned)i;
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(&random, i);
        unsigned swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

/* Passes `line`, `status` and `reason` to the hook `ended`, and moves on to the next item. */
static void end_item(struct items *it, const json_t *line, enum case_status status,
                     const char *reason)
{
    struct items_state *s = &it->state;
    s->done++;
    s->left--;
    it->started = false;
    status = it->hooks->ended(it->hooks->context, s, line, status, reason);
    if (status != CASE_ok && !it->lost) {
        it->failed[s->order[s->position]] = true;
        s->left -= it->options->rounds - 1 - s->round;
        s->failed += status > CASE_skipped;
    }
    s->position++;
}

static json_t *job_of_rest(const struct items *it)
{
    const struct items_state *s = &it->state;
    json_t *job = it->hooks->job(it->hooks->context, s), *numbers = tree_array();
    for (size_t i = s->position; i < s->in_round; i++)
        tree_append(numbers, tree_count(s->order[i]));
    tree_put(job, "round", tree_count(it->options->first_round + s->round));
    tree_put(job, "slot", tree_count(s->position));
    tree_put(job, "numbers", numbers);
    return job;
}

static void items_hear(struct items *it, const json_t *line)
{
    const struct items_state *s = &it->state;
    const json_t *start = json_object_get(line, "start"), *done = json_object_get(line, "done");
    const json_t *number = start ? start : done;
    const char *why = json_string_value(json_object_get(line, "text"));
    it->deadline_ns = clock_ns() + it->options->timeout_ns;
    if (why)
        snprintf(it->why, sizeof it->why, "%s", why);
    if (s->position == s->in_round || !number ||
        (unsigned)json_integer_value(number) != s->order[s->position])
        return;
    if (start) {
        it->started = true;
        it->hooks->working(it->hooks->context, s, true);
        return;
    }
    end_item(it, line, CASE_error, "the worker's answer has no round");
    if (json_is_true(json_object_get(line, "lost"))) {
        it->lost = true;
        it->deadline_ns = clock_ns() + lost_grace_ns;
    }
}

/* Listens until the worker ends, is late, or a signal comes. */
static enum process_event items_listen(struct items *it, struct process *process)
{
    it->deadline_ns = clock_ns() + it->options->timeout_ns;
    for (;;) {
        const uint64_t until = clock_ns() + quiet_ns;
        json_t *line;
        enum process_event event =
            process_wait(process, it->signals.descriptor,
                         until < it->deadline_ns ? until : it->deadline_ns, &line);
        it->state.round_ns = clock_ns() - it->round_started_ns;
        if (event == PROCESS_LINE) {
            items_hear(it, line);
            json_decref(line);
        } else if (event != PROCESS_QUIET || clock_ns() >= it->deadline_ns) {
            return event;
        } else if (it->started) {
            it->hooks->working(it->hooks->context, &it->state, false);
        }
    }
}

/* Ends those items of the rest of the round that are not to be measured after all. They come next,
 * so that the others stay in one worker. */
static void skip_unwanted(struct items *it)
{
    const struct items_state *s = &it->state;
    for (size_t i = s->position; it->hooks->unwanted && i < s->in_round; i++) {
        const unsigned number = it->order[i];
        const char *why = it->hooks->unwanted(it->hooks->context, number);
        if (!why)
            continue;
        memmove(&it->order[s->position + 1], &it->order[s->position],
                (i - s->position) * sizeof *it->order);
        it->order[s->position] = number;
        end_item(it, NULL, CASE_skipped, why);
    }
}

/* Measures the rest of the round in one worker. At least one item ends, unless the run was
 * interrupted. */
static int run_worker(struct items *it, struct error *error)
{
    const struct items_state *s = &it->state;
    const size_t before = s->position;
    struct process process;
    char how[128], reason[192], limit[32];
    it->started = false;
    it->why[0] = 0;
    TRY(process_start(&process, it->hooks->kind, job_of_rest(it), true, error));
    enum process_event event = items_listen(it, &process);
    if (event == PROCESS_INTERRUPT)
        it->interrupted |= process_release_signals(&it->signals);
    process_end(&process, how);
    if (it->interrupted || it->lost || s->position == s->in_round ||
        (!it->started && s->position > before))
        return 0;
    if (!it->started && it->why[0] && it->hooks->unable)
        return it->hooks->unable(it->hooks->context, it->why, error);
    if (event == PROCESS_QUIET) {
        snprintf(reason, sizeof reason, "no answer within %s",
                 text_ns(limit, (double)it->options->timeout_ns));
        end_item(it, NULL, CASE_timeout, reason);
    } else {
        snprintf(reason, sizeof reason, "the process %s", how);
        end_item(it, NULL, CASE_error, it->why[0] ? it->why : reason);
    }
    return 0;
}

static int run_round(struct items *it, struct error *error)
{
    struct items_state *s = &it->state;
    items_order(it->options->seed, it->options->first_round + s->round, it->options->count,
                it->order);
    s->in_round = s->position = 0;
    for (size_t i = 0; i < it->options->count; i++)
        if (!it->failed[it->order[i]])
            it->order[s->in_round++] = it->order[i];
    it->round_started_ns = clock_ns();
    it->lost = false;
    int code = 0;
    skip_unwanted(it);
    while (!code && !it->interrupted && !it->lost && s->position < s->in_round) {
        code = run_worker(it, error);
        skip_unwanted(it);
    }
    /* The items after the one that lost its device might run on another device, but the machine is
     * recovering, which their numbers would show. They are skipped, not failed. */
    while (!code && !it->interrupted && s->position < s->in_round)
        end_item(it, NULL, CASE_skipped, "an item before it lost its device");
    s->round_ns = clock_ns() - it->round_started_ns;
    THEN(code, !it->interrupted ? it->hooks->round_ended(it->hooks->context, s, error) : 0);
    return code;
}

int items_run(const struct items_options *options, const struct items_hooks *hooks,
              bool *interrupted, struct error *error)
{
    struct items it = {.options = options, .hooks = hooks};
    it.failed = must_alloc(options->count * sizeof *it.failed);
    it.state.order = it.order = must_alloc(options->count * sizeof *it.order);
    it.state.left = options->count * options->rounds;
    process_catch_signals(&it.signals);
    int code = 0;
    while (!code && !it.interrupted && it.state.round < options->rounds && it.state.left > 0) {
        code = run_round(&it, error);
        it.state.round++;
    }
    it.interrupted |= process_release_signals(&it.signals);
    free(it.order);
    free(it.failed);
    *interrupted = it.interrupted;
    return code < 0 ? code : 0;
}

int items_work(const json_t *job, FILE *out,
               int (*measure)(void *context, const struct items_turn *turn, json_t *done),
               void *context)
{
    const json_t *numbers = json_object_get(job, "numbers");
    const size_t first = (size_t)json_integer_value(json_object_get(job, "slot"));
    struct items_turn turn = {.round = (unsigned)json_integer_value(json_object_get(job, "round"))};
    int code = 0;
    for (; !code && turn.index < json_array_size(numbers); turn.index++) {
        json_t *start = tree_object(), *done = tree_object();
        turn.number = (size_t)json_integer_value(json_array_get(numbers, turn.index));
        turn.slot = first + turn.index;
        tree_put(start, "start", tree_count(turn.number));
        worker_send(out, start);
        tree_put(done, "done", tree_count(turn.number));
        code = measure(context, &turn, done);
        worker_send(out, done);
    }
    return code;
}
