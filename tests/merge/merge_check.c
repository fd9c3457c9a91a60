#include "tests/merge/merge_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/select/inputs.h"

enum { ORDERS = 3 };

int merge_identity(const char *set, struct program *program, const struct arguments *arguments,
                   char **text, struct error *error)
{
    (void)set;
    (void)arguments;
    (void)error;
    *text = program_print(program);
    return 0;
}

static void say(struct merge_verdict *v, enum merge_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct merge_verdict *v, enum merge_outcome outcome, const char *format, ...)
{
    va_list arguments;
    v->outcome = outcome;
    va_start(arguments, format);
    vsnprintf(v->text, sizeof v->text, format, arguments);
    va_end(arguments);
}

static bool same_results(const struct shadow_outcome *a, const struct shadow_outcome *b)
{
    bool same = a->result_count == b->result_count;
    for (unsigned r = 0; r < a->result_count && same; r++) {
        size_t bytes = a->results[r].count * element_bytes(a->results[r].element);
        same = a->results[r].count == b->results[r].count &&
               (bytes == 0 || memcmp(a->results[r].data, b->results[r].data, bytes) == 0);
    }
    return same;
}

/* Runs a program in one order; `expected` is what the results must be, or NULL. */
static void run_once(const struct program *program, const struct inputs *inputs, unsigned order,
                     uint64_t seed, enum merge_outcome broken,
                     const struct shadow_outcome *expected, struct shadow_outcome *out,
                     struct merge_verdict *v)
{
    struct shadow_options options = {.order = (enum shadow_order)order, .seed = seed + order};
    struct error error;
    if (shadow_run(&program->funs[0], &inputs->arguments, &options, out, &error)) {
        say(v, broken == MERGE_BROKEN ? MERGE_BROKEN : MERGE_FAILED, "%s", error.text);
    } else if (out->violation_count) {
        v->violation = 0;
        for (int kind = 1; kind < SHADOW_VIOLATIONS; kind++)
            if (out->violations[kind] > out->violations[v->violation])
                v->violation = kind;
        say(v, broken, "%u violations, the first one: %s", out->violation_count, out->texts[0]);
    } else if (expected && !same_results(expected, out)) {
        say(v, broken == MERGE_BROKEN ? MERGE_BROKEN : MERGE_WRONG,
            "the results differ from those before (order %u)", order);
    }
}

static void check_set(const char *text, const char *set, merge_transform *transform,
                      const struct inputs *inputs, uint64_t seed,
                      const struct shadow_outcome *expected, struct merge_verdict *v)
{
    struct program *program = NULL, *again = NULL;
    struct error error;
    char *printed = NULL;
    if (program_read("before", text, strlen(text), &program, &error) ||
        transform(set, program, &inputs->arguments, &printed, &error)) {
        say(v, MERGE_FAILED, "%s", error.text);
    } else {
        if (program_read("after", printed, strlen(printed), &again, &error))
            say(v, MERGE_FAILED, "what was printed is not read: %s", error.text);
    }
    for (unsigned order = 0; order < ORDERS && v->outcome == MERGE_OK; order++) {
        struct shadow_outcome out;
        run_once(again, inputs, order, seed, MERGE_VIOLATION, expected, &out, v);
        v->allocs_after = out.alloc_count;
        v->elided_after = out.elided_count;
        shadow_free(&out);
    }
    if (v->outcome != MERGE_OK) {
        char copy[sizeof v->text];
        memcpy(copy, v->text, sizeof copy);
        say(v, v->outcome, "set '%s': %.900s", set, copy);
    }
    free(printed);
    program_free(again);
    program_free(program);
}

static void check_program(const struct program *program, const char *text, const char *const *sets,
                          merge_transform *transform, uint64_t seed, const struct inputs *inputs,
                          struct merge_verdict *v)
{
    struct shadow_outcome expected;
    run_once(program, inputs, 0, seed, MERGE_BROKEN, NULL, &expected, v);
    v->launches = expected.launch_count;
    v->allocs_before = expected.alloc_count;
    v->elided_before = expected.elided_count;
    for (unsigned order = 1; order < ORDERS && v->outcome == MERGE_OK; order++) {
        struct shadow_outcome out;
        run_once(program, inputs, order, seed, MERGE_BROKEN, &expected, &out, v);
        shadow_free(&out);
    }
    for (unsigned s = 0; sets[s] && v->outcome == MERGE_OK; s++)
        check_set(text, sets[s], transform, inputs, seed, &expected, v);
    shadow_free(&expected);
}

static uint64_t count_statements(const struct body *body)
{
    uint64_t count = 0;
    for (const struct stm *s = body->first; s; s = s->next) {
        count++;
        if (s->kind == STM_IF)
            count += count_statements(s->then) + count_statements(s->otherwise);
        if (s->kind == STM_LOOP)
            count += count_statements(&s->loop->body);
    }
    return count;
}

void merge_check(const char *text, const char *const *sets, merge_transform *transform,
                 uint64_t seed, struct merge_verdict *v)
{
    struct program *program;
    struct inputs inputs;
    struct error error;
    *v = (struct merge_verdict){.outcome = MERGE_OK, .violation = -1};
    if (program_read("program", text, strlen(text), &program, &error)) {
        say(v, MERGE_INVALID, "%s", error.text);
        return;
    }
    v->statements = count_statements(&program->funs[0].body);
    struct entry entry = {program->funs[0].name, program, &program->funs[0], NULL};
    if (!program->dataset_count) {
        say(v, MERGE_INVALID, "the program has no dataset");
    } else if (inputs_make(&entry, &program->datasets[0], seed, &inputs, &error)) {
        say(v, MERGE_INVALID, "%s", error.text);
    } else {
        check_program(program, text, sets, transform, seed, &inputs, v);
        inputs_free(&inputs);
    }
    program_free(program);
}

/* ---- shrinking ------------------------------------------------------------------------------ */

/* Leaves out the n-th statement or result, counted from the front; false where there is none. */
static bool leave_out(struct body *body, unsigned *n)
{
    for (struct stm **link = &body->first; *link; link = &(*link)->next) {
        struct stm *s = *link;
        if ((*n)-- == 0) {
            *link = s->next;
            return true;
        }
        if (s->kind == STM_IF && (leave_out(s->then, n) || leave_out(s->otherwise, n)))
            return true;
        if (s->kind == STM_LOOP && leave_out(&s->loop->body, n))
            return true;
    }
    return false;
}

static bool leave_out_result(struct body *body, unsigned n)
{
    if (n >= body->result_count || body->result_count == 1)
        return false;
    for (unsigned r = n; r + 1 < body->result_count; r++)
        body->results[r] = body->results[r + 1];
    body->result_count--;
    return true;
}

/* The text without the n-th thing that can be left out; NULL behind the last one. */
static char *text_without(const char *text, unsigned n)
{
    struct program *program;
    struct error error;
    char *printed = NULL;
    if (program_parse("program", text, strlen(text), &program, &error))
        return NULL;
    struct body *body = &program->funs[0].body;
    unsigned results = body->result_count, statement = n - results;
    if (n < results ? leave_out_result(body, n) || results == 1 : leave_out(body, &statement))
        printed = program_print(program);
    program_free(program);
    return printed;
}

char *merge_shrink(const char *text, const char *const *sets, merge_transform *transform,
                   uint64_t seed)
{
    struct merge_verdict wanted, got;
    char *best = malloc(strlen(text) + 1);
    strcpy(best, text);
    merge_check(text, sets, transform, seed, &wanted);
    for (bool shrunk = true; shrunk;) {
        shrunk = false;
        for (unsigned n = 0;;) {
            char *shorter = text_without(best, n);
            if (!shorter)
                break;
            merge_check(shorter, sets, transform, seed, &got);
            if (got.outcome == wanted.outcome && got.violation == wanted.violation &&
                strlen(shorter) < strlen(best)) {
                free(best);
                best = shorter;
                shrunk = true;
            } else {
                free(shorter);
                n++;
            }
        }
    }
    return best;
}
