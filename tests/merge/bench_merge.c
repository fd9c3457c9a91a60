/* How long merging takes: `bench_merge [ARRAYS]`.
 *
 * Programs of N arrays in 2 N statements and more: blocks of work of ten arrays each, one in five
 * of them a loop, with elementwise steps, steps that read neighbours, copies, joined arrays, parts
 * put into others, a branch, and three sizes. Arrays die within their block of work but for one in
 * five, which a later one uses. Parsing and annotation are not counted. For each merge set: the
 * processor time for N arrays, and that of 2 N as a multiple of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "merge/merge.h"

enum { RUNS = 5 };

static void add_work(struct text *t, unsigned b, struct random *random)
{
    static const char *const sizes[] = {"n", "m", "(n + m)"};
    const char *s = sizes[random_below(random, 3)];
    const unsigned far = b > 20 ? b - 1 - (unsigned)random_below(random, 20) : 0;
    text_add(t, "let a%u: [%s]f32 = kernel ka%u (i < %s) { a%u[i] = x[i] + keep%u[0]; }\n", b, s, b,
             s, b, far);
    text_add(t, "let b%u: [%s]f32 = kernel kb%u (i < %s) { b%u[i] = a%u[i] * 2.0f; }\n", b, s, b, s,
             b, b);
    text_add(t, "let c%u: [%s]f32 = kernel kc%u (i < %s) { c%u[i] = b%u[MAX(i - 1, 0)]; }\n", b, s,
             b, s, b, b);
    text_add(t, "let d%u: [%s]f32 = copy c%u\n", b, s, b);
    text_add(t, "let e%u: [%s + %s]f32 = concat(c%u, d%u)\n", b, s, s, b, b);
    if (b % 5 == 0)
        text_add(t,
                 "let w%u: [%s]f32 = loop (t%u: [%s]f32 = d%u) for s%u < k {\n"
                 "let g%u: [%s]f32 = kernel kg%u (i < %s) { g%u[i] = t%u[i] + e%u[i]; }\n"
                 "in g%u }\n",
                 b, s, b, s, b, b, b, s, b, s, b, b, b, b);
    else if (b % 5 == 1)
        text_add(
            t,
            "let w%u: [%s]f32 = if k > %u { let g%u: [%s]f32 = kernel kg%u (i < %s) { g%u[i] = "
            "e%u[i]; } in g%u } else { let h%u: [%s]f32 = copy d%u in h%u }\n",
            b, s, b % 7, b, s, b, s, b, b, b, b, s, b, b);
    else
        text_add(t, "let w%u: [%s]f32 = kernel kw%u (i < %s) { w%u[i] = e%u[i] + d%u[i]; }\n", b, s,
                 b, s, b, b, b);
    text_add(t, "let p%u: [4]f32 = kernel kp%u (i < 4) { p%u[i] = w%u[i]; }\n", b, b, b, b);
    text_add(t, "let q%u: [8]f32 = scratch\n", b);
    text_add(t, "let r%u: [8]f32 = q%u with [2 :+ 4] <- p%u\n", b, b, b);
    text_add(t, "let keep%u: [1]f32 = kernel kk%u (i < 1) { keep%u[i] = r%u[i + 2]; }\n", b + 1, b,
             b + 1, b);
}

static char *program_text(unsigned arrays)
{
    struct text t = {0};
    struct random random = {random_split(1, arrays)};
    unsigned works = arrays / 10;
    text_add(&t, "fun work(n: i64, m: i64, k: i64, x: [n + m]f32, keep0: [1]f32) {\n");
    for (unsigned b = 0; b < works; b++)
        add_work(&t, b, &random);
    text_add(&t, "in keep%u }\n", works);
    return t.data;
}

static unsigned statements(const struct body *body)
{
    unsigned count = 0;
    for (const struct stm *s = body->first; s; s = s->next) {
        count++;
        if (s->kind == STM_IF)
            count += statements(s->then) + statements(s->otherwise);
        if (s->kind == STM_LOOP)
            count += statements(&s->loop->body);
    }
    return count;
}

static struct program *read_program(unsigned arrays)
{
    struct program *program;
    struct error error;
    char *text = program_text(arrays);
    if (program_read("work.mem", text, strlen(text), &program, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    free(text);
    return program;
}

/* The least processor time of a few runs, in seconds: other programs make it longer by less than
 * the time on the clock. */
static double merge_seconds(const struct fun *fun, const struct merge_set *set, unsigned *blocks)
{
    double shortest = 0;
    union scalar *values = must_alloc(fun->name_count * sizeof *values);
    for (unsigned i = 0; i < fun->param_count; i++)
        values[fun->params[i]].i64 = 1000 * (i + 1);
    for (unsigned r = 0; r < RUNS; r++) {
        const struct merge_options options = {.values = values};
        struct merge *merged;
        struct error error;
        const clock_t begin = clock();
        if (merge_run(fun, set, &options, &merged, &error)) {
            fprintf(stderr, "%s\n", error.text);
            exit(1);
        }
        const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        if (r == 0 || seconds < shortest)
            shortest = seconds;
        *blocks = 0;
        for (unsigned e = 0; e < merged->event_count; e++)
            *blocks += merged->events[e].refused == MERGE_ALLOWED &&
                       merged->events[e].action != MERGE_HOISTED;
        merge_free(merged);
        if (seconds > 3)
            break;
    }
    free(values);
    return shortest;
}

int main(int argc, char **argv)
{
    unsigned arrays = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5000;
    struct program *once = read_program(arrays), *twice = read_program(2 * arrays);
    clock_print_cost(stdout);
    printf("%u statements, %u names; twice: %u\n", statements(&once->funs[0].body),
           once->funs[0].name_count, statements(&twice->funs[0].body));
    printf("%-16s %10s %12s %8s %8s\n", "set", "seconds", "twice takes", "ratio", "merged");
    for (const struct merge_set *set = merge_sets; set->name; set++)
        if (argc < 3 || strcmp(argv[2], set->name) == 0) {
            unsigned blocks, more;
            double seconds = merge_seconds(&once->funs[0], set, &blocks);
            double longer = merge_seconds(&twice->funs[0], set, &more);
            printf("%-16s %10.4f %12.4f %8.2f %8u\n", set->name, seconds, longer, longer / seconds,
                   blocks);
            fflush(stdout);
        }
    program_free(once);
    program_free(twice);
    return 0;
}
