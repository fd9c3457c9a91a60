/* Random programs through every merge set, judged by the shadow machine and a dry run.
 *
 *   fuzz_merge [OPTION...] [FILE...]
 *     --count N, --seed S    tries the seeds S to S + N - 1
 *     --statements N         about as many in each program; else 5 to 40
 *     --set NAME             this one only, with options as in reuse:with=by_bytes;
 *                            `reuse!same_index` leaves out a condition of it, to see whether it is
 *                            needed and whether its absence is found; `placed/reuse` merges what
 *                            none:with=pinned has made of the program
 *     --keep DIR, --shrink   writes what fails to DIR; makes it smaller first
 *     --print                prints every program
 *
 * Programs in files, such as those kept, are tried instead of random ones. Exit code 1 if anything
 * failed, or if fewer than 99 of 100 programs are valid.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "tests/program/generate_program.h"
#include "merge/merge.h"
#include "tests/merge/merge_check.h"
#include "run/select/merging.h"

enum { SETS = 64 };

/* What --set says. */
struct spec {
    bool placed;
    char text[64]; /* for merge_parse */
    unsigned unchecked;
};

/* False where there is no such set, extension or condition. */
static bool read_spec(const char *text, struct spec *spec)
{
    static const char placed[] = "placed/";
    const struct merge_set *set;
    struct error error;
    unsigned extensions;
    *spec = (struct spec){.placed = strncmp(text, placed, strlen(placed)) == 0};
    text += spec->placed ? strlen(placed) : 0;
    size_t length = strcspn(text, "!");
    if (length >= sizeof spec->text)
        return false;
    memcpy(spec->text, text, length);
    for (int c = MERGE_ALLOWED + 1; text[length] && c < CONDITION_COUNT; c++)
        if (strcmp(text + length + 1, merge_condition_name((enum merge_condition)c)) == 0)
            spec->unchecked = 1u << c;
    return (!text[length] || spec->unchecked) &&
           merge_parse(spec->text, &set, &extensions, &error) == 0;
}

/* Arguments whose arrays have other contents: merging may count with them, but no merged program
 * may depend on them. */
static struct arguments other_contents(const struct arguments *arguments)
{
    struct named_value *values = must_alloc((arguments->count + 1) * sizeof *values);
    struct arguments others = *arguments;
    others.values = values;
    for (size_t i = 0; i < arguments->count; i++) {
        struct host_array *array = &values[i].array;
        values[i] = arguments->values[i];
        if (array->data)
            array->data = must_alloc(array->count * element_bytes(array->element) + 1);
    }
    return others;
}

static void free_contents(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->values[i].array.data);
    free((void *)arguments->values);
}

static int merge_as(const struct fun *fun, const char *spec, unsigned unchecked,
                    const union scalar *values, const struct arguments *readings,
                    struct merge **merged, struct error *error)
{
    struct merge_options options = {.unchecked = unchecked,
                                    .values = values,
                                    .readings = readings,
                                    .hold = fun->name_count % 2 ? MERGE_HELD_TO_SCOPE_END
                                                                : MERGE_HELD_TO_LAST_USE,
                                    .time_limit_ns = 10000000};
    const struct merge_set *set;
    int code = merge_parse(spec, &set, &options.extensions, error);
    return code ? code : merge_run(fun, set, &options, merged, error);
}

/* The executor tracks blocks, which the shadow machine does not. It may stop where only a
 * device knows how a loop goes on. */
static int run_dry(const struct fun *fun, const struct arguments *arguments, struct error *error)
{
    struct dry_run run;
    int code = dry_run(fun, arguments, RELEASE_LAST_USE, &run, error);
    return code == ERR_USAGE ? 0 : code;
}

static int transform(const char *set, struct program *program, const struct arguments *arguments,
                     char **text, struct error *error)
{
    const struct fun *fun = &program->funs[0];
    union scalar *values = must_alloc(fun->name_count * sizeof *values);
    for (size_t i = 0; i < arguments->count; i++) {
        const char *name = arguments->values[i].name;
        int number = fun_find(fun, name, strlen(name));
        if (number != NO_NAME)
            values[number] = arguments->values[i].scalar;
    }
    struct spec spec;
    struct arguments readings = other_contents(arguments);
    struct merge *placed = NULL, *merged;
    int code = read_spec(set, &spec) ? 0 : ERR_INTERNAL;
    if (!code && spec.placed)
        code = merge_as(fun, "none:with=pinned", 0, values, &readings, &placed, error);
    if (!code)
        code = merge_as(placed ? placed->fun : fun, spec.text, spec.unchecked, values, &readings,
                        &merged, error);
    if (!code) {
        code = run_dry(merged->fun, arguments, error);
        *text = code ? NULL : program_print(merged->program);
        merge_free(merged);
    }
    merge_free(placed);
    free_contents(&readings);
    free(values);
    return code;
}

struct settings {
    uint64_t count, seed, statements;
    const char *sets[SETS + 1]; /* all of them, or the one of --set */
    const char *keep;
    bool shrink, print;
    char **files;
};

static bool read_arguments(int argc, char **argv, struct settings *s)
{
    int i = 1;
    struct spec spec;
    for (; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--shrink") == 0)
            s->shrink = true;
        else if (strcmp(argv[i], "--print") == 0)
            s->print = true;
        else if (strcmp(argv[i], "--count") == 0 && text_to_u64(value, &s->count))
            i++;
        else if (strcmp(argv[i], "--seed") == 0 && text_to_u64(value, &s->seed))
            i++;
        else if (strcmp(argv[i], "--statements") == 0 && text_to_u64(value, &s->statements))
            i++;
        else if (strcmp(argv[i], "--set") == 0 && read_spec(value, &spec)) {
            s->sets[0] = argv[++i];
            s->sets[1] = NULL;
        } else if (strcmp(argv[i], "--keep") == 0 && *value)
            s->keep = argv[++i];
        else if (argv[i][0] == '-')
            return false;
        else
            break;
    }
    s->files = argv + i;
    if (i < argc)
        s->count = (uint64_t)(argc - i);
    return true;
}

static char *read_file(const char *path)
{
    struct text t = {0};
    char part[4096];
    size_t got;
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "fuzz_merge: %s can't be read\n", path);
        exit(2);
    }
    text_add(&t, "%s", "");
    while ((got = fread(part, 1, sizeof part, file)) > 0)
        text_add_bytes(&t, part, got);
    fclose(file);
    return t.data;
}

static void report(const struct settings *s, uint64_t seed, const char *text,
                   const struct merge_verdict *v)
{
    static const char *const outcomes[] = {"ok",     "not valid", "broken before merging",
                                           "failed", "violation", "wrong"};
    char *shorter = s->shrink ? merge_shrink(text, s->sets, transform, seed) : NULL;
    printf("seed %llu: %s: %s\n", (unsigned long long)seed, outcomes[v->outcome], v->text);
    if (shorter)
        printf("%s\n", shorter);
    if (s->keep) {
        struct text path = {0};
        text_add(&path, "%s/%llu.mem", s->keep, (unsigned long long)seed);
        FILE *file = fopen(path.data, "w");
        if (file) {
            fputs(shorter ? shorter : text, file);
            fclose(file);
        } else {
            fprintf(stderr, "fuzz_merge: %s can't be written\n", path.data);
        }
        text_free(&path);
    }
    free(shorter);
}

int main(int argc, char **argv)
{
    struct settings s = {.count = 1000, .seed = 1};
    static const char *const spaces[] = {"none:with=pinned", "extended:with=pinned",
                                         "placed/extended", "placed/plan"};
    unsigned sets = 0;
    for (unsigned i = 0; sets < SETS && merge_sets[i].name; i++)
        s.sets[sets++] = merge_sets[i].name;
    for (unsigned i = 0; sets < SETS && i < sizeof spaces / sizeof *spaces; i++)
        s.sets[sets++] = spaces[i];
    if (!read_arguments(argc, argv, &s)) {
        fputs("usage: fuzz_merge [--count N] [--seed S] [--statements N] [--set NAME]\n"
              "                  [--keep DIR] [--shrink] [--print] [FILE...]\n",
              stderr);
        return 2;
    }
    uint64_t outcomes[MERGE_WRONG + 1] = {0}, statements = 0, launches = 0, before = 0, after = 0;
    clock_t begin = clock(); /* of the processor: others may be using this machine */
    for (uint64_t i = 0; i < s.count; i++) {
        struct merge_verdict v;
        char *text = *s.files ? read_file(s.files[i])
                              : generate_program_text(s.seed + i, (unsigned)s.statements);
        if (s.print)
            fputs(text, stdout);
        merge_check(text, s.sets, transform, s.seed + i, &v);
        outcomes[v.outcome]++;
        statements += v.statements;
        launches += v.launches;
        before += v.allocs_before;
        after += v.allocs_after;
        if (v.outcome != MERGE_OK)
            report(&s, s.seed + i, text, &v);
        free(text);
    }
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    uint64_t bad = s.count - outcomes[MERGE_OK] - outcomes[MERGE_INVALID];
    printf("%llu programs in %.1f s of processor time (%.0f a second): %llu not valid, %llu "
           "failed; in the mean %.1f "
           "statements with allocations, %.1f launches, %.1f allocations, %.1f after merging\n",
           (unsigned long long)s.count, seconds, (double)s.count / seconds,
           (unsigned long long)outcomes[MERGE_INVALID], (unsigned long long)bad,
           (double)statements / (double)s.count, (double)launches / (double)s.count,
           (double)before / (double)s.count, (double)after / (double)s.count);
    return bad || outcomes[MERGE_INVALID] * 100 > s.count;
}
