/* How long a comparison of many cases takes: two made-up results, nearly all cases alike.
 *
 * Times are of the processor, so that a busy machine does not change them much.
 *
 *     bench_compare [CASES [ROUNDS [SAMPLES]]]      10000 cases, 10 rounds, 5 samples a round
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "results/compare/compare.h"
#include "results/file/draft.h"
#include "base/tree.h"

/* A result of one case. */
static struct result_draft one_case(unsigned rounds, unsigned samples, struct random *random)
{
    static char *argv[] = {"bench_compare"};
    const struct result_command run = {.argc = 1, .argv = argv, .rounds = rounds};
    struct result_draft result;
    struct sample *sample = must_alloc(samples * sizeof *sample);
    if (draft_create(&result, &run, NULL))
        exit(1);
    for (unsigned r = 0; r < rounds; r++) {
        struct case_round round = {.key = {"w", "small", "none", "last-use", "pool", "host"},
                                   .round = r,
                                   .check = CHECK_REFERENCE,
                                   .sample_count = samples,
                                   .samples = sample};
        round.cold.peak_reserved_bytes = round.warm.peak_reserved_bytes = 1 << 20;
        for (unsigned s = 0; s < samples; s++) {
            const uint64_t ns = 1000000 + random_below(random, 20000);
            sample[s] = (struct sample){ns, ns - 1000, ns / 10, 0, ns / 20};
        }
        draft_add_round(&result, &round);
    }
    free(sample);
    draft_finish(&result, RUN_COMPLETE);
    return result;
}

/* The case under many names, each with times of its own. */
static struct result many_cases(size_t count, unsigned rounds, unsigned samples, uint64_t seed)
{
    struct random random = {seed};
    json_t *cases = json_array(), *root = NULL;
    enum { TEMPLATES = 16 };
    json_t *templates[TEMPLATES];
    struct result result;
    struct error error;
    for (size_t t = 0; t < TEMPLATES; t++) {
        struct result_draft draft = one_case(rounds, samples, &random);
        templates[t] = result_to_json(&draft.result);
        draft_free(&draft);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *template = templates[random_below(&random, TEMPLATES)];
        json_t *one = json_deep_copy(json_array_get(json_object_get(template, "cases"), 0));
        struct case_key key;
        char id[13];
        case_key_from_json(json_object_get(one, "key"), &key, NULL);
        snprintf(key.workload, sizeof key.workload, "w%zu", i);
        case_id(&key, id);
        tree_put(one, "id", tree_text(id));
        tree_put(one, "key", case_key_to_json(&key));
        tree_put(one, "status", tree_text("ok"));
        tree_append(cases, one);
    }
    root = json_incref(templates[0]);
    tree_put(root, "cases", cases);
    for (size_t t = 0; t < TEMPLATES; t++)
        json_decref(templates[t]);
    if (result_read(root, &result, &error)) {
        fprintf(stderr, "bench_compare: %s\n", error.text);
        exit(1);
    }
    json_decref(root);
    return result;
}

/* Of the processor: what others do on the machine is not in it. */
static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Writes a result as a file and reads it again: what a comparison of files takes before it starts.
 */
static void time_load(const struct result *result)
{
    char path[] = "/tmp/bench_compare_XXXXXX";
    const int descriptor = mkstemp(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    struct result again;
    struct error error;
    if (!file || result_print(result, file, &error)) {
        printf("no file could be written: reading is not timed\n");
    } else {
        const double mib = (double)ftell(file) / (1 << 20);
        const double start = seconds();
        if (result_open(path, &again, &error)) {
            fprintf(stderr, "bench_compare: %s\n", error.text);
            exit(1);
        }
        printf("reading and checking one such file, %.0f MiB: %.2f s\n", mib, seconds() - start);
        result_release(&again);
    }
    if (file)
        fclose(file);
    unlink(path);
}

int main(int argc, char **argv)
{
    const size_t cases = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    const unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 10;
    const unsigned samples = argc > 3 ? (unsigned)atoi(argv[3]) : 5;
    struct result base = many_cases(cases, rounds, samples, 1);
    struct result fresh = many_cases(cases, rounds, samples, 2);
    const struct compare_file files[] = {{&base, "base"}, {&fresh, "new"}};
    json_t *comparison;
    struct compare_options options = {.threshold = 0.02, .gates = gates_default(0.02)};
    struct error error;
    clock_print_cost(stdout);
    double start = seconds();
    if (compare_results(&files[0], &files[1], 1, &options, &comparison, &error)) {
        fprintf(stderr, "bench_compare: %s\n", error.text);
        return 1;
    }
    printf("%zu cases, %u rounds, %u samples: compared in %.2f s, %zu rows, verdict %s\n", cases,
           rounds, samples, seconds() - start, json_array_size(json_object_get(comparison, "rows")),
           tree_get_text(comparison, "verdict"));
    FILE *nowhere = fopen("/dev/null", "w");
    for (int f = 0; nowhere && f <= TABLE_JSON; f++) {
        start = seconds();
        compare_print(comparison, (enum table_format)f, COMPARE_SHOW_ALL, nowhere, &error);
        printf("printed in format %d in %.2f s\n", f, seconds() - start);
    }
    if (nowhere)
        fclose(nowhere);
    time_load(&base);
    json_decref(comparison);
    result_release(&base);
    result_release(&fresh);
    return 0;
}
