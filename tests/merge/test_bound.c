/* The bytes alive at each moment, under trials: the same as in a plain array of all moments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "merge/numbers.h"
#include "tests/base/cmocka.h"
#include "tests/program/generate_program.h"

enum { PROGRAMS = 60, TRIALS = 200, MOMENTS = 4096 };

/* The bound as its definition has it. */
struct plain {
    unsigned count;
    int64_t live[MOMENTS], trial[MOMENTS], peak;
};

static int64_t highest(const struct plain *p)
{
    int64_t most = 0;
    for (unsigned i = 0; i < p->count; i++)
        most = p->live[i] > most ? p->live[i] : most;
    return most;
}

static void plain_add(struct plain *p, const struct spans *spans, int64_t bytes)
{
    for (unsigned i = 0; bytes && i < spans->count; i++)
        for (unsigned m = spans->items[i].first; m <= spans->items[i].last && m < p->count; m++)
            p->trial[m] += bytes;
}

static bool plain_fits(const struct plain *p)
{
    for (unsigned m = 0; m < p->count; m++)
        if (p->trial[m] > p->live[m] && p->trial[m] > p->peak)
            return false;
    return true;
}

/* A merge takes bytes from some spans and adds them at others. */
static void try_changes(struct random *random, struct bound *b, struct plain *p)
{
    bound_begin(b);
    memcpy(p->trial, p->live, sizeof p->live);
    for (unsigned change = random_below(random, 5); change-- > 0;) {
        const int64_t bytes = (int64_t)random_below(random, 200) - 120;
        struct spans spans = {0};
        for (unsigned i = 0; i <= random_below(random, 4); i++) {
            const unsigned first = random_below(random, b->count);
            spans_add(&spans, first, first + random_below(random, 1 + b->count - first));
        }
        bound_add(b, &spans, bytes);
        plain_add(p, &spans, bytes);
        spans_free(&spans);
    }
}

static void compare_trials(struct random *random, struct bound *b, struct plain *p)
{
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        try_changes(random, b, p);
        const bool fits = plain_fits(p);
        assert_int_equal(bound_fits(b), fits);
        if (random_below(random, 2))
            continue;
        assert_int_equal(bound_keep(b), fits);
        if (fits)
            memcpy(p->live, p->trial, sizeof p->live);
        p->peak = highest(p) < p->peak ? highest(p) : p->peak;
        assert_int_equal(bound_most(b), highest(p));
        assert_int_equal(b->peak, p->peak);
    }
}

static struct program *random_program(uint64_t seed)
{
    struct program *program;
    struct error error;
    char *text = generate_program_text(seed, 0);
    if (program_read("random", text, strlen(text), &program, &error))
        program = NULL; /* one in many is not valid */
    free(text);
    return program;
}

static void trials_are_those_of_a_plain_array(void **state)
{
    (void)state;
    static struct plain plain;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        struct random random = {random_split(seed, 0)};
        struct program *program = random_program(seed);
        if (!program)
            continue;
        const struct fun *fun = &program->funs[0];
        union scalar *values = must_alloc(fun->name_count * sizeof *values);
        for (unsigned i = 0; i < fun->param_count; i++)
            values[fun->params[i]].i64 = 4 + (int64_t)i;
        struct outline *o = outline_new(fun);
        struct memory_map *map = memory_map_new(o, MEMORY_BY_BRANCH);
        struct numbers *numbers = numbers_new(fun, values, NULL);
        struct bound b;
        bound_open(&b, map, numbers);
        assert_true(b.count <= MOMENTS);
        plain = (struct plain){.count = b.count};
        for (unsigned i = 0; i < map->block_count; i++)
            if (numbers->bytes[map->blocks[i]] != UNKNOWN_BYTES)
                plain_add(&plain, &b.moments->of[map->blocks[i]], numbers->bytes[map->blocks[i]]);
        memcpy(plain.live, plain.trial, sizeof plain.live);
        plain.peak = highest(&plain);
        assert_int_equal(b.peak, plain.peak);
        compare_trials(&random, &b, &plain);
        bound_close(&b);
        numbers_free(numbers);
        memory_map_free(map);
        outline_free(o);
        free(values);
        program_free(program);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_are_those_of_a_plain_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
