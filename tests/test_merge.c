/* Each condition of merging is needed: without it, and only then, a program goes wrong. And what
 * the analyses find, as text.
 *
 * The programs are those of tests/programs/merge; the shadow machine is the judge. What lets a pass
 * make an invalid program is found by the verifier, and the error names the pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "merge/memory.h"
#include "merge/merge.h"
#include "run/inputs.h"
#include "shadow.h"

#define PROGRAMS "tests/programs/merge/"

struct subject {
    struct program *program;
    struct inputs inputs;
    union scalar *values;
};

static void open_subject(struct subject *s, const char *name)
{
    char path[500];
    struct error error;
    snprintf(path, sizeof path, PROGRAMS "%s.mem", name);
    char *text = golden_read(path);
    if (program_read(path, text, strlen(text), &s->program, &error))
        fail_msg("%s", error.text);
    free(text);
    const struct fun *fun = &s->program->funs[0];
    struct entry entry = {fun->name, s->program, fun, NULL};
    if (inputs_make(&entry, &s->program->datasets[0], 1, &s->inputs, &error))
        fail_msg("%s", error.text);
    s->values = must_alloc((fun->name_count + 1) * sizeof *s->values);
    for (unsigned p = 0; p < fun->param_count; p++)
        if (fun->names[fun->params[p]].kind == NAME_SCALAR)
            s->values[fun->params[p]] =
                argument(&s->inputs.arguments, fun->names[fun->params[p]].text)->scalar;
}

static void close_subject(struct subject *s)
{
    inputs_free(&s->inputs);
    program_free(s->program);
    free(s->values);
}

enum outcome { RIGHT, VIOLATED, STOPPED, REFUSED };
static const char *const outcome_names[] = {"right", "violated", "stopped", "refused"};

/* Merges without the conditions of `unchecked` and runs in some orders of the threads. */
static enum outcome outcome_of(const struct subject *s, const char *set, unsigned unchecked,
                               struct error *error)
{
    const struct merge_options options = {.unchecked = unchecked, .values = s->values};
    struct merge *merged;
    if (merge_run(&s->program->funs[0], merge_set_find(set), &options, &merged, error))
        return REFUSED;
    enum outcome outcome = RIGHT;
    for (unsigned order = 0; order < 3 && outcome == RIGHT; order++) {
        const struct shadow_options how = {.order = (enum shadow_order)order, .seed = order};
        struct shadow_outcome run;
        if (shadow_run(merged->fun, &s->inputs.arguments, &how, &run, error))
            outcome = STOPPED;
        else if (run.violation_count)
            outcome = VIOLATED;
        shadow_free(&run);
    }
    merge_free(merged);
    return outcome;
}

/* clang-format off */
static const struct {
    const char *program, *set;
    enum merge_condition condition;
    enum outcome without;
} needed[] = {
    {"last_use",                "coalesce",       CONDITION_last_use,     VIOLATED},
    {"late_size",               "coalesce",       CONDITION_allocation,   REFUSED},
    {"fig_5_13",                "coalesce",       CONDITION_untouched,    VIOLATED},
    {"fig_5_15",                "coalesce",       CONDITION_in_scope,     REFUSED},
    {"fig_5_20",                "coalesce",       CONDITION_branches,     VIOLATED},
    {"not_disjoint",            "extended",       CONDITION_elsewhere,    VIOLATED},
    {"turned_by_creator",       "extended",       CONDITION_same_index,   VIOLATED},
    {"fig_5_17",                "reuse",          CONDITION_interference, VIOLATED},
    {"loop_neighbours",         "extended",       CONDITION_interference, VIOLATED},
    {"index_wider",             "reuse",          CONDITION_same_index,   VIOLATED},
    {"unsound_race",            "reuse",          CONDITION_same_index,   VIOLATED},
    {"unsound_later_read",      "reuse",          CONDITION_dies_here,    VIOLATED},
    {"unsound_later_read_loop", "reuse",          CONDITION_dies_here,    VIOLATED},
    {"index_read_later",        "reuse",          CONDITION_dies_here,    VIOLATED},
    {"private_layouts",         "reuse",          CONDITION_threads,      VIOLATED},
    {"unasserted_sizes",        "reuse",          CONDITION_size,         VIOLATED},
    {"escaping_pair",           "reuse",          CONDITION_escapes,      VIOLATED},
    {"foreign_param",           "reuse",          CONDITION_foreign,      VIOLATED},
};
/* clang-format on */

static void test_conditions_are_needed(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        struct subject s;
        struct error error = {0};
        open_subject(&s, needed[i].program);
        enum outcome with = outcome_of(&s, needed[i].set, 0, &error);
        enum outcome without = outcome_of(&s, needed[i].set, 1u << needed[i].condition, &error);
        if (with != RIGHT || without != needed[i].without) {
            failed++;
            print_error("%s, %s: %s with all conditions, %s without %s, expected %s: %s\n",
                        needed[i].program, needed[i].set, outcome_names[with],
                        outcome_names[without], merge_condition_label(needed[i].condition),
                        outcome_names[needed[i].without], error.text);
        }
        if (without == REFUSED) {
            assert_int_equal(error.code, ERR_INTERNAL);
            assert_non_null(strstr(error.text, "the pass 'coalesce' made a program"));
        }
        close_subject(&s);
    }
    assert_int_equal(failed, 0);
}

/* The printed analysis of one program with an if, a loop and a caller's block. */
static void test_memory_print(void **state)
{
    (void)state;
    static const char *const programs[] = {"fig_6_04", "fig_9_07", "loop_two_alive"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct subject s;
        open_subject(&s, programs[i]);
        struct outline *o = outline_new(&s.program->funs[0]);
        struct memory_map *map = memory_map_new(o, MEMORY_BY_BRANCH);
        struct text text = {0};
        char name[100];
        memory_print(map, &text);
        snprintf(name, sizeof name, "memory_%s.txt", programs[i]);
        golden_check(name, text.data);
        text_free(&text);
        memory_map_free(map);
        outline_free(o);
        close_subject(&s);
    }
}

static void test_spans(void **state)
{
    (void)state;
    struct spans a = {0}, b = {0};
    struct span m;
    spans_add(&a, 5, 7);
    spans_add(&a, 1, 2);
    spans_add(&a, 3, 3); /* beside, not joined: something ends and something else begins */
    assert_int_equal(a.count, 3);
    spans_add(&a, 2, 5);
    assert_int_equal(a.count, 1);
    assert_int_equal(a.items[0].first, 1);
    assert_int_equal(a.items[0].last, 7);
    spans_add(&a, 20, 30);
    spans_add(&b, 8, 19);
    assert_false(spans_meet(&a, &b, 0, &m));
    spans_add(&b, 7, 7);
    spans_add(&b, 25, 40);
    assert_true(spans_meet(&a, &b, 0, &m));
    assert_int_equal(m.first, 7);
    assert_int_equal(m.last, 7);
    assert_true(spans_meet(&a, &b, 8, &m));
    assert_int_equal(m.first, 25);
    assert_int_equal(m.last, 30);
    assert_int_equal(spans_last(&a, 22), 30);
    assert_int_equal(spans_last(&a, 10), 0);
    spans_free(&a);
    spans_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions_are_needed),
        cmocka_unit_test(test_memory_print),
        cmocka_unit_test(test_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
