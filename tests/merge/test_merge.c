/* Each condition of merging is needed: without it, and only then, a program goes wrong. And what
 * the analyses find, as text.
 *
 * The programs are those of tests/programs/merge; the shadow machine is the judge. What lets a pass
 * make an invalid program is found by the verifier, and the error names the pass.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "tests/base/golden.h"
#include "merge/memory.h"
#include "base/text.h"
#include "merge/merge.h"
#include "run/select/inputs.h"
#include "tests/program/shadow.h"

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

/* As merge/merge.h says it, without the conditions of `unchecked`. */
static int merge_as(const struct subject *s, const char *spec, unsigned unchecked,
                    struct merge **merged, struct error *error)
{
    struct merge_options options = {.unchecked = unchecked, .values = s->values};
    const struct merge_set *set;
    assert_int_equal(merge_parse(spec, &set, &options.extensions, error), 0);
    return merge_run(&s->program->funs[0], set, &options, merged, error);
}

/* Merges without the conditions of `unchecked` and runs in some orders of the threads. */
static enum outcome outcome_of(const struct subject *s, const char *set, unsigned unchecked,
                               struct error *error)
{
    struct merge *merged;
    if (merge_as(s, set, unchecked, &merged, error))
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
    const char *breaks; /* REFUSED: the pass */
} needed[] = {
    {"last_use",                "coalesce",       CONDITION_last_use,     VIOLATED, NULL},
    {"late_size",               "coalesce",       CONDITION_allocation,   REFUSED, "coalesce"},
    {"fig_5_13",                "coalesce",       CONDITION_untouched,    VIOLATED, NULL},
    {"fig_5_15",                "coalesce",       CONDITION_in_scope,     REFUSED, "coalesce"},
    {"fig_5_20",                "coalesce",       CONDITION_branches,     VIOLATED, NULL},
    {"not_disjoint",            "extended",       CONDITION_elsewhere,    VIOLATED, NULL},
    {"other_half_shares",       "coalesce",       CONDITION_elsewhere,    VIOLATED, NULL},
    {"turned_by_creator",       "extended",       CONDITION_same_index,   VIOLATED, NULL},
    {"fig_5_17",                "reuse",          CONDITION_interference, VIOLATED, NULL},
    {"loop_neighbours",         "extended",       CONDITION_interference, VIOLATED, NULL},
    {"index_wider",             "reuse",          CONDITION_same_index,   VIOLATED, NULL},
    {"unsound_race",            "reuse",          CONDITION_same_index,   VIOLATED, NULL},
    {"unsound_later_read",      "reuse",          CONDITION_dies_here,    VIOLATED, NULL},
    {"unsound_later_read_loop", "reuse",          CONDITION_dies_here,    VIOLATED, NULL},
    {"index_read_later",        "reuse",          CONDITION_dies_here,    VIOLATED, NULL},
    {"private_layouts",         "reuse",          CONDITION_threads,      VIOLATED, NULL},
    {"unasserted_sizes",        "reuse",          CONDITION_size,         VIOLATED, NULL},
    {"private_copied_part",     "coalesce",       CONDITION_size,         VIOLATED, NULL},
    {"private_copied_early",    "coalesce",       CONDITION_last_use,     VIOLATED, NULL},
    {"private_copied_late",     "coalesce",       CONDITION_untouched,    VIOLATED, NULL},
    {"escaping_pair",           "reuse",          CONDITION_escapes,      VIOLATED, NULL},
    {"foreign_param",           "reuse",          CONDITION_foreign,      VIOLATED, NULL},
    {"spaces_apart",            "reuse",          CONDITION_space,        REFUSED, "reuse"},
    {"spaces_apart",            "coalesce",       CONDITION_space,        REFUSED, "coalesce"},
    {"spaces_apart",            "plan",           CONDITION_space,        REFUSED, "plan"},
    {"place_reasons",           "none:with=pinned", CONDITION_foreign,    REFUSED, "spaces"},
    {"place_reasons",           "none:with=pinned", CONDITION_shared,     REFUSED, "spaces"},
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
            char pass[64];
            snprintf(pass, sizeof pass, "the pass '%s' made a program", needed[i].breaks);
            assert_int_equal(error.code, ERR_INTERNAL);
            assert_non_null(strstr(error.text, pass));
        }
        close_subject(&s);
    }
    assert_int_equal(failed, 0);
}

/* A line a block: kind, the arrays in it, its spans; and what existential names may be. */
static void memory_print(const struct memory_map *m, struct text *out)
{
    static const char *const kinds[] = {"parameter", "allocated", "existential"};
    const struct fun *fun = m->outline->fun;
    for (unsigned n = 0; n < fun->name_count; n++) {
        const struct memory *of = &m->of[n];
        if (fun->names[n].kind != NAME_MEMORY)
            continue;
        text_add(out, "%s: %s", fun->names[n].text, kinds[of->kind]);
        for (unsigned i = 0; of->kind == MEMORY_EXISTENTIAL && i < of->actual_count; i++)
            text_add(out, "%s %s", i ? "," : " of", fun->names[of->actuals[i]].text);
        text_add(out, "%s%s", of->foreign ? ", the caller's" : "",
                 of->escapes ? ", escapes its iteration" : "");
        for (unsigned i = 0; i < of->array_count; i++)
            text_add(out, "%s %s", i ? "," : "; holds", fun->names[of->arrays[i]].text);
        for (unsigned i = 0; i < of->spans.count; i++)
            text_add(out, "%s %u-%u", i ? "," : "; alive", of->spans.items[i].first,
                     of->spans.items[i].last);
        text_add(out, "\n");
    }
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

/* What `place` decides, and the program that it makes. */
static void check_placed(const char *program, const char *set)
{
    struct subject s;
    struct error error;
    struct merge *merged;
    struct text text = {0};
    char golden[100];
    open_subject(&s, program);
    assert_int_equal(merge_as(&s, set, 0, &merged, &error), 0);
    for (unsigned i = 0; i < merged->event_count; i++) {
        const struct merge_event *e = &merged->events[i];
        assert_string_equal(e->pass, "spaces");
        text_add(&text, "-- %s to %s: %s%s%s\n", merged->fun->names[e->from].text,
                 space_name(e->space), e->refused ? merge_condition_label(e->refused) : "moved",
                 e->detail ? ", " : "", e->detail ? e->detail : "");
    }
    char *printed = program_print(merged->program);
    text_add(&text, "%s", printed);
    snprintf(golden, sizeof golden, "merged_%s.mem", program);
    golden_check(golden, text.data);
    free(printed);
    text_free(&text);
    merge_free(merged);
    close_subject(&s);
}

static void test_place_print(void **state)
{
    (void)state;
    check_placed("place_reasons", "none:with=pinned");
}

/* Whatever a set merges, what the host reads goes to pinned memory, since it is moved before other
 * arrays take its block: all of these would fit into each other's. */
static void test_answers_move_under_every_set(void **state)
{
    (void)state;
    static const char *const moved[] = {"plain", "sized", "bounded", "one", "two", "small"};
    static const char *const stays[] = {"large", "open", "answer", "wide", "narrow", "unread"};
    struct subject s;
    open_subject(&s, "place_reasons");
    for (const struct merge_set *set = merge_sets; set->name; set++) {
        char spec[64];
        struct error error;
        struct merge *merged;
        snprintf(spec, sizeof spec, "%s:with=pinned", set->name);
        assert_int_equal(merge_as(&s, spec, 0, &merged, &error), 0);
        for (size_t i = 0; i < 6; i++) {
            const struct name *names = merged->fun->names;
            int yes = fun_find(merged->fun, moved[i], strlen(moved[i]));
            int no = fun_find(merged->fun, stays[i], strlen(stays[i]));
            if (names[names[yes].memory].space != SPACE_PINNED ||
                names[names[no].memory].space != SPACE_DEVICE)
                fail_msg("%s: %s is in %s memory, %s in %s memory", spec, moved[i],
                         space_name(names[names[yes].memory].space), stays[i],
                         space_name(names[names[no].memory].space));
        }
        merge_free(merged);
    }
    close_subject(&s);
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
        cmocka_unit_test(test_place_print),
        cmocka_unit_test(test_answers_move_under_every_set),
        cmocka_unit_test(test_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
