/* What it costs to look at the memory of a run: `bench_memory_log`.
 *
 * The program churn asks for a block and gives it back a million times, under `pool`, so that
 * hardly anything but requests and the log of them takes time. Best of several runs, with and
 * without the log; what the log adds to an event lies outside the time of calls, but in the run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/clock.h"
#include "run/select/inputs.h"
#include "run/rounds/memory_log.h"
#include "run/execute/spaces.h"

enum { PAIRS = 1000000, RUNS = 5 };

static void must(int code, const struct error *error)
{
    if (!code)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

/* Nanoseconds an event of the best run after the first. */
static double time_runs(struct executor *executor, const struct spaces *spaces,
                        const struct arguments *arguments, struct memory_log *log, bool first)
{
    uint64_t best_ns = UINT64_MAX;
    struct error error;
    for (unsigned run = 0; run < (first ? 1 : RUNS); run++) {
        if (log)
            memory_log_begin_run(log);
        must(executor_begin(executor, spaces->of, arguments, false, &error), &error);
        uint64_t start = clock_ns();
        must(executor_run(executor, &error), &error);
        uint64_t ns = clock_ns() - start;
        best_ns = ns < best_ns ? ns : best_ns;
        executor_end(executor);
    }
    return (double)best_ns / (2.0 * PAIRS);
}

int main(void)
{
    struct catalogue c;
    struct device *device;
    struct error error;
    struct executor *executor;
    struct spaces spaces;
    const struct allocator_ops *ops;
    struct option_values options;
    struct named_value sizes[] = {{.name = "pairs", .scalar.i64 = PAIRS},
                                  {.name = "bytes", .scalar.i64 = 4096}};
    const struct arguments arguments = {.fun = "churn", .dataset = "", .count = 2, .values = sizes};
    must(catalogue_open(&c, &error), &error);
    must(device_open("host", &device, &error), &error);
    const struct entry *entry = c.entries;
    while (strcmp(entry->name, "churn") != 0)
        entry++;
    struct kernels kernels;
    struct device_program *built;
    program_generate(entry->program, KERNEL_HOST_C, &kernels);
    const struct kernel_source text = {.name = entry->name,
                                       .text = kernels.text,
                                       .kernel_count = kernels.count,
                                       .kernel_names = kernels.names,
                                       .host_kernels = entry->builtin->host_kernels};
    must(device->ops->build(device, &text, &built, &error), &error);
    must(executor_open(entry->fun, device, &kernels, built, RELEASE_LAST_USE, &executor, &error),
         &error);
    must(allocator_parse("pool", &ops, &options, &error), &error);
    must(spaces_open(&spaces, entry->fun, device, ops, &options, 0, &error), &error);
    time_runs(executor, &spaces, &arguments, NULL, true);
    double plain = time_runs(executor, &spaces, &arguments, NULL, false);
    struct memory_log *log = memory_log_open(executor, &spaces);
    double first = time_runs(executor, &spaces, &arguments, log, true);
    double later = time_runs(executor, &spaces, &arguments, log, false);
    json_t *json = memory_log_to_json(log);
    char *text_of = json_dumps(json, JSON_COMPACT);
    clock_print_cost(stdout);
    printf("%.1f ns an event without the log; with it %.1f in its first run, %.1f in later ones; "
           "%zu bytes in the file for %d events\n",
           plain, first, later, strlen(text_of), 2 * PAIRS);
    free(text_of);
    json_decref(json);
    memory_log_close(log);
    executor_close(executor);
    spaces_close(&spaces);
    device->ops->unbuild(device, built);
    kernels_free(&kernels);
    device->ops->close(device);
    catalogue_close(&c);
    return 0;
}
