/* The programs of the thesis's figures, and others that show one condition each, under the merge
 * sets. Each file of tests/programs/merge says in comments what it expects:
 *
 *   -- expect SETS: blocks 3, copies 2, elided 0, peak 40
 *   -- accept SETS ARRAY into BLOCK
 *   -- reject SETS ARRAY into BLOCK: R1|R3
 *   -- needs SET LABEL
 *   -- wish SETS: blocks 2
 *
 * SETS is one set or several with commas; ARRAY, BLOCK and the labels of conditions may be
 * alternatives. `blocks` are the allocations that some array still uses; `copies` and `elided` are
 * counted while the first dataset runs, and so is `peak`, in bytes, the inputs' included, freed at
 * the end of the scope; `arena` is the size of an arena in bytes, 0 if it is not proved optimal;
 * `<=` may stand before each. `needs` says that the answer is wrong without that condition. A
 * `wish` is right but not reached yet: once it is, it has to become `expect`. Whatever a file says,
 * every set has to give right answers. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "tests/base/cmocka.h"
#include "tests/base/golden.h"
#include "merge/merge.h"
#include "run/execute/execute.h"
#include "run/select/inputs.h"
#include "run/execute/spaces.h"

/* ---- what a file expects -------------------------------------------------------------------- */

enum count { COUNT_BLOCKS, COUNT_COPIES, COUNT_ELIDED, COUNT_PEAK, COUNT_ARENA, COUNTS };
static const char *const count_names[COUNTS] = {"blocks", "copies", "elided", "peak", "arena"};

struct directive {
    enum { EXPECT, WISH, ACCEPT, REJECT, NEEDS } kind;
    char text[160];
    char sets[64];
    struct {
        bool given, at_most;
        uint64_t value;
    } counts[COUNTS];
    char arrays[64], blocks[64], labels[32];
};

enum { DIRECTIVES_MAX = 32 };

/* Is `word` one of a list like "C3|C6" or "reuse,extended"? */
static bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, "|,"), at += *at != '\0')
        if (strcspn(at, "|,") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

/* "blocks <=3, copies 2" */
static bool read_counts(struct directive *d, const char *text)
{
    for (int end = 0; *text; text += end) {
        char name[16], number[16];
        if (sscanf(text, " %15s %15[^, \n]%n", name, number, &end) != 2)
            return false;
        unsigned c = 0;
        while (c < COUNTS && strcmp(count_names[c], name) != 0)
            c++;
        if (c == COUNTS)
            return false;
        d->counts[c].given = true;
        d->counts[c].at_most = strncmp(number, "<=", 2) == 0;
        d->counts[c].value = strtoull(number + 2 * d->counts[c].at_most, NULL, 10);
        end += text[end] == ',';
    }
    return true;
}

static bool sets_exist(const struct directive *d)
{
    for (const char *at = d->sets; *at; at += strcspn(at, ","), at += *at != '\0') {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        if (!merge_set_find(name))
            return false;
    }
    return true;
}

/* False if the line only looks like a directive; d->text is "" if it does not even do that. */
static bool read_directive(const char *line, size_t length, struct directive *d)
{
    *d = (struct directive){0};
    char text[sizeof d->text];
    snprintf(text, sizeof text, "%.*s", (int)length, line);
    int end = 0;
    bool good;
    if (strncmp(text, "-- expect ", 10) == 0) {
        d->kind = EXPECT;
        good = sscanf(text, "-- expect %63[^:]: %n", d->sets, &end) == 1 && end > 0 &&
               read_counts(d, text + end);
    } else if (strncmp(text, "-- wish ", 8) == 0) {
        d->kind = WISH;
        good = sscanf(text, "-- wish %63[^:]: %n", d->sets, &end) == 1 && end > 0 &&
               read_counts(d, text + end);
    } else if (strncmp(text, "-- accept ", 10) == 0) {
        d->kind = ACCEPT;
        good = sscanf(text, "-- accept %63s %63s into %63s", d->sets, d->arrays, d->blocks) == 3;
    } else if (strncmp(text, "-- reject ", 10) == 0) {
        d->kind = REJECT;
        good = sscanf(text, "-- reject %63s %63s into %63[^:]: %31s", d->sets, d->arrays, d->blocks,
                      d->labels) == 4;
    } else if (strncmp(text, "-- needs ", 9) == 0) {
        d->kind = NEEDS;
        good = sscanf(text, "-- needs %63s %31s", d->sets, d->labels) == 2;
    } else {
        return true;
    }
    memcpy(d->text, text, sizeof text);
    return good && sets_exist(d);
}

static unsigned read_directives(const struct program *program, struct directive *list)
{
    unsigned count = 0;
    const char *line = program->text;
    while (*line) {
        assert_true(count < DIRECTIVES_MAX);
        size_t length = strcspn(line, "\n");
        if (!read_directive(line, length, &list[count]))
            fail_msg("%s: this directive is not understood: %.*s", program->path, (int)length,
                     line);
        count += *list[count].text != '\0';
        line += length;
        line += *line != '\0';
    }
    return count;
}

/* ---- what a merged program does ------------------------------------------------------------- */

static void mark_used(const struct fun *fun, const struct body *body, bool *used);

static void mark_names(const struct fun *fun, unsigned count, const int *names, bool *used)
{
    for (unsigned i = 0; i < count; i++)
        if (fun->names[names[i]].kind == NAME_ARRAY && fun->names[names[i]].memory != NO_NAME)
            used[fun->names[names[i]].memory] = true;
}

static void mark_used(const struct fun *fun, const struct body *body, bool *used)
{
    for (const struct stm *s = body->first; s; s = s->next) {
        mark_names(fun, s->out_count, s->outs, used);
        if (s->kind == STM_KERNEL)
            mark_names(fun, s->kernel->private_count, s->kernel->privates, used);
        if (s->kind == STM_IF) {
            mark_used(fun, s->then, used);
            mark_used(fun, s->otherwise, used);
        }
        if (s->kind == STM_LOOP) {
            mark_names(fun, s->loop->param_count, s->loop->params, used);
            mark_used(fun, &s->loop->body, used);
        }
    }
}

static unsigned count_allocs(const struct body *body, const bool *used)
{
    unsigned count = 0;
    for (const struct stm *s = body->first; s; s = s->next) {
        if (s->kind == STM_ALLOC)
            count += used[s->outs[0]];
        if (s->kind == STM_IF)
            count += count_allocs(s->then, used) + count_allocs(s->otherwise, used);
        if (s->kind == STM_LOOP)
            count += count_allocs(&s->loop->body, used);
    }
    return count;
}

static unsigned count_blocks(const struct fun *fun)
{
    bool *used = must_alloc(fun->name_count * sizeof *used);
    mark_used(fun, &fun->body, used);
    unsigned count = count_allocs(&fun->body, used);
    free(used);
    return count;
}

/* A program with its kernels built: merged programs run the same ones. */
struct subject {
    struct entry entry;
    struct device *device;
    struct kernels kernels;
    struct device_program *built;
};

static int check_results(const struct subject *s, const struct dataset *dataset,
                         const struct inputs *inputs, struct executor *executor,
                         struct error *error)
{
    unsigned count = s->entry.fun->body.result_count;
    struct host_array *results = must_alloc(count * sizeof *results);
    double worst;
    int code = executor_results(executor, results, error);
    if (!code)
        code = inputs_check(&s->entry, dataset, inputs, results, &worst, error);
    for (unsigned r = 0; r < count; r++)
        free(results[r].data);
    free(results);
    return code;
}

/* Runs `fun`, a merged form of the subject's, with poisoned blocks, and checks its answer. */
static int execute(const struct subject *s, const struct fun *fun, const struct dataset *dataset,
                   const struct inputs *inputs, enum release_policy policy, uint64_t counts[COUNTS],
                   struct error *error)
{
    const struct allocator_ops *raw;
    struct option_values options;
    struct spaces spaces;
    assert_int_equal(allocator_parse("raw", &raw, &options, error), 0);
    assert_int_equal(spaces_open(&spaces, fun, s->device, raw, &options, 0, error), 0);
    struct executor *executor = executor_open(fun, s->device, &s->kernels, s->built, policy);
    int code = executor_begin(executor, spaces.of, &inputs->arguments, true, error);
    if (!code)
        code = executor_run(executor, error);
    if (!code)
        code = check_results(s, dataset, inputs, executor, error);
    executor_end(executor);
    const struct copy_counts *copies = executor_counts(executor)->copy;
    counts[COUNT_BLOCKS] = count_blocks(fun);
    counts[COUNT_COPIES] = counts[COUNT_ELIDED] = 0;
    for (unsigned k = 0; k < COPY_host_device; k++) {
        counts[COUNT_COPIES] += copies[k].count;
        counts[COUNT_ELIDED] += copies[k].elided_count;
    }
    counts[COUNT_PEAK] = spaces_blocks(&spaces)->peak_requested_bytes;
    executor_close(executor);
    if (!code && spaces_blocks(&spaces)->requested_bytes)
        code = error_set(error, ERR_INTERNAL, "%llu bytes were never given back",
                         (unsigned long long)spaces_blocks(&spaces)->requested_bytes);
    spaces_close(&spaces);
    return code;
}

/* ---- one set on one dataset ----------------------------------------------------------------- */

static struct merge *merge_with(const struct subject *s, const struct merge_set *set,
                                const struct inputs *inputs, unsigned unchecked)
{
    const struct fun *fun = s->entry.fun;
    union scalar *values = must_alloc(fun->name_count * sizeof *values);
    for (unsigned p = 0; p < fun->param_count; p++)
        if (fun->names[fun->params[p]].kind == NAME_SCALAR)
            values[fun->params[p]] =
                argument(&inputs->arguments, fun->names[fun->params[p]].text)->scalar;
    struct merge_options options = {.unchecked = unchecked, .values = values};
    struct merge *merged;
    struct error error;
    if (merge_run(fun, set, &options, &merged, &error))
        fail_msg("%s under %s: %s", s->entry.program->path, set->name, error.text);
    free(values);
    return merged;
}

static unsigned complain(const struct subject *s, const struct merge_set *set, const char *what)
{
    const char *file = strrchr(s->entry.program->path, '/') + 1;
    print_error("%s under %s: %s\n", file, set->name, what);
    return 1;
}

static bool count_met(const struct directive *d, unsigned c, uint64_t got)
{
    return d->counts[c].at_most ? got <= d->counts[c].value : got == d->counts[c].value;
}

static unsigned check_counts(const struct subject *s, const struct merge_set *set,
                             const struct directive *d, const uint64_t counts[COUNTS])
{
    unsigned failed = 0;
    for (unsigned c = 0; c < COUNTS; c++) {
        if (!d->counts[c].given || count_met(d, c, counts[c]))
            continue;
        failed++;
        if (d->kind == WISH)
            continue;
        char what[160];
        snprintf(what, sizeof what, "%s: expected %s%llu, got %llu", count_names[c],
                 d->counts[c].at_most ? "at most " : "", (unsigned long long)d->counts[c].value,
                 (unsigned long long)counts[c]);
        complain(s, set, what);
    }
    if (d->kind == EXPECT)
        return failed;
    return failed ? 0 : complain(s, set, "this wish has come true: write `expect` for `wish`");
}

static const char *text_of(const struct merge *m, int name)
{
    return name == NO_NAME ? "-" : m->fun->names[name].text;
}

/* Is there an event that the directive speaks of, and none that says the opposite? */
static unsigned check_events(const struct subject *s, const struct merge_set *set,
                             const struct directive *d, const struct merge *m)
{
    bool found = false, opposite = false;
    for (unsigned i = 0; i < m->event_count; i++) {
        const struct merge_event *e = &m->events[i];
        if (!listed(d->arrays, text_of(m, e->array)) || !listed(d->blocks, text_of(m, e->into)) ||
            e->action == MERGE_HOISTED || e->action == MERGE_PACKED)
            continue;
        if (d->kind == ACCEPT)
            found |= e->refused == MERGE_ALLOWED;
        else if (e->refused == MERGE_ALLOWED)
            opposite = true;
        else
            found |= listed(d->labels, merge_condition_label(e->refused));
    }
    if (found && !opposite)
        return 0;
    complain(s, set, d->text);
    print_error("  is not what the passes noted:\n");
    for (unsigned i = 0; i < m->event_count; i++) {
        const struct merge_event *e = &m->events[i];
        print_error("  %s: %s into %s: %s %s\n", e->pass, text_of(m, e->array), text_of(m, e->into),
                    merge_condition_name(e->refused), merge_condition_label(e->refused));
    }
    return 1;
}

/* Without the condition the answer has to be wrong: else the file shows nothing. */
static unsigned check_needed(const struct subject *s, const struct merge_set *set,
                             const struct directive *d, const struct dataset *dataset,
                             const struct inputs *inputs)
{
    unsigned condition = 1;
    while (condition < CONDITION_COUNT &&
           strcmp(merge_condition_label((enum merge_condition)condition), d->labels) != 0)
        condition++;
    if (condition == CONDITION_COUNT)
        return complain(s, set, d->text);
    struct merge *m = merge_with(s, set, inputs, 1u << condition);
    struct error error;
    uint64_t counts[COUNTS];
    int code = execute(s, m->fun, dataset, inputs, RELEASE_SCOPE, counts, &error);
    merge_free(m);
    if (code == ERR_WRONG || code == ERR_PROGRAM)
        return 0;
    complain(s, set, d->text);
    return complain(s, set, code ? error.text : "the answer is right without the condition");
}

static unsigned check_set(const struct subject *s, const struct merge_set *set,
                          const struct dataset *dataset, const struct directive *list,
                          unsigned directives)
{
    struct inputs inputs;
    struct error error;
    uint64_t counts[COUNTS];
    unsigned failed = 0;
    assert_int_equal(inputs_make(&s->entry, dataset, 1, &inputs, &error), 0);
    struct merge *m = merge_with(s, set, &inputs, 0);
    if (execute(s, m->fun, dataset, &inputs, RELEASE_LAST_USE, counts, &error) ||
        execute(s, m->fun, dataset, &inputs, RELEASE_SCOPE, counts, &error)) {
        char *text = program_print(m->program);
        failed += complain(s, set, error.text);
        print_error("%s\n", text);
        free(text);
    }
    counts[COUNT_ARENA] = m->packed && m->proven ? (uint64_t)m->arena_bytes : 0;
    /* Counts and decisions are for the first dataset, and for answers that are right. */
    unsigned checked = failed || dataset != s->entry.program->datasets ? 0 : directives;
    for (const struct directive *d = list; d < list + checked; d++) {
        if (!listed(d->sets, set->name))
            continue;
        if (d->kind == EXPECT || d->kind == WISH)
            failed += check_counts(s, set, d, counts);
        else if (d->kind == NEEDS)
            failed += check_needed(s, set, d, dataset, &inputs);
        else
            failed += check_events(s, set, d, m);
    }
    merge_free(m);
    inputs_free(&inputs);
    return failed;
}

/* ---- all files ------------------------------------------------------------------------------ */

static unsigned check_program(struct device *device, const struct entry *entry)
{
    struct subject s = {.entry = *entry, .device = device};
    struct directive directives[DIRECTIVES_MAX];
    struct error error;
    unsigned count = read_directives(entry->program, directives), failed = 0;
    assert_true(count > 0);
    assert_true(entry->program->dataset_count > 0);
    program_generate(entry->program, KERNEL_HOST_C, &s.kernels);
    struct kernel_source source = {.name = entry->name,
                                   .text = s.kernels.text,
                                   .kernel_count = s.kernels.count,
                                   .kernel_names = s.kernels.names};
    if (device->ops->build(device, &source, &s.built, &error))
        fail_msg("%s: %s", entry->program->path, error.text);
    for (const struct merge_set *set = merge_sets; set->name; set++)
        for (unsigned d = 0; d < entry->program->dataset_count; d++)
            failed += check_set(&s, set, &entry->program->datasets[d], directives, count);
    device->ops->unbuild(device, s.built);
    kernels_free(&s.kernels);
    return failed;
}

static void test_figures(void **state)
{
    (void)state;
    const char *only = getenv("GAMUT_FIGURE"); /* a part of the name, to look at one file */
    struct catalogue c = {0};
    struct device *device;
    struct error error;
    unsigned failed = 0;
    assert_int_equal(device_open("host", &device, &error), 0);
    DIR *folder = opendir(GAMUT_ROOT "/tests/programs/merge");
    assert_non_null(folder);
    for (struct dirent *d; (d = readdir(folder));) {
        char path[512];
        snprintf(path, sizeof path, "%s/tests/programs/merge/%.200s", GAMUT_ROOT, d->d_name);
        if (strstr(d->d_name, ".mem") && (!only || strstr(d->d_name, only)) &&
            catalogue_add_file(&c, path, &error))
            fail_msg("%s", error.text);
    }
    closedir(folder);
    assert_true(c.entry_count > 0);
    for (size_t e = 0; e < c.entry_count; e++)
        failed += check_program(device, &c.entries[e]);
    catalogue_close(&c);
    device->ops->close(device);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_figures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
