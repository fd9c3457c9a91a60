/* Events a second that a replay plays, reading included, by strategy.
 *
 * The trace is that of a real training run (tests/traces), again and again: at the end of each
 * repeat all blocks are freed. "reading" is the same without a strategy. Processor time of one
 * thread, the best of several.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "alloc/registry.h"
#include "base/clock.h"
#include "replay/replay.h"
#include "trace/import.h"

enum { REPEATS = 100, TRIES = 3 };
static const char log_path[] = GAMUT_ROOT "/tests/traces/pytorch/resnet.trace.csv.gz";
static const char *const specs[] = {"null",    "raw", "pool",     "tagged", "tlsf",
                                    "caching", "vmm", "bufalloc", "stream"};

static void must(int code, const struct error *error)
{
    if (code == 0)
        return;
    fprintf(stderr, "bench_replay: %s\n", error->text);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Copies the trace once; the blocks that live at its end are let go and done. */
static void append(struct trace_reader *reader, struct trace_writer *writer, uint64_t *end_ns)
{
    struct error error;
    struct trace_event event;
    const uint64_t began_ns = *end_ns;
    bool live[1 << 16] = {false}, let_go[1 << 16] = {false};
    must(trace_rewind(reader, &error), &error);
    while (trace_next(reader, &event, &error) > 0) {
        event.time_ns += began_ns;
        *end_ns = event.time_ns;
        if (event.kind == TRACE_alloc)
            live[event.slot] = !(let_go[event.slot] = false);
        if (event.kind == TRACE_free)
            let_go[event.slot] = true;
        if (event.kind == TRACE_done)
            live[event.slot] = false;
        trace_put(writer, &event);
    }
    for (unsigned slot = 0; slot < 1 << 16; slot++) {
        if (!live[slot])
            continue;
        if (!let_go[slot])
            trace_put(writer,
                      &(struct trace_event){.kind = TRACE_free, .slot = slot, .time_ns = *end_ns});
        trace_put(writer,
                  &(struct trace_event){.kind = TRACE_done, .slot = slot, .time_ns = *end_ns});
    }
}

static uint64_t make_trace(const char *folder, char path[256])
{
    char once[256];
    struct import_report report;
    struct trace_reader *reader;
    struct trace_writer *writer;
    struct trace_totals totals;
    struct error error;
    uint64_t end_ns = 0;
    snprintf(once, sizeof once, "%s/once.trace", folder);
    snprintf(path, 256, "%s/many.trace", folder);
    must(import_log(log_path, NULL, once, true, &report, &error), &error);
    import_report_free(&report);
    must(trace_open(once, &reader, &error), &error);
    must(trace_create(path, trace_reader_info(reader), &writer, &error), &error);
    for (int i = 0; i < REPEATS; i++)
        append(reader, writer, &end_ns);
    trace_close(reader);
    must(trace_finish(writer, true, &totals, &error), &error);
    unlink(once);
    return totals.events;
}

static double read_once(const char *path)
{
    struct trace_reader *reader;
    struct trace_event event;
    struct error error;
    must(trace_open(path, &reader, &error), &error);
    const double start = seconds();
    while (trace_next(reader, &event, &error) > 0)
        continue;
    const double took = seconds() - start;
    trace_close(reader);
    return took;
}

static double replay_once(const char *path, const char *spec)
{
    struct replay_options options = {.device = replay_device(0, NULL), .free_at = FREE_AT_DONE};
    struct option_values values;
    struct replay_outcome outcome;
    struct trace_reader *reader;
    struct error error;
    must(allocator_parse(spec, &options.strategy, &values, &error), &error);
    options.options = &values;
    must(trace_open(path, &reader, &error), &error);
    const double start = seconds();
    must(replay_trace(reader, &options, NULL, &outcome, &error), &error);
    const double took = seconds() - start;
    trace_close(reader);
    return took;
}

static void print(const char *name, uint64_t events, const double *took)
{
    double best = took[0];
    for (int i = 1; i < TRIES; i++)
        best = took[i] < best ? took[i] : best;
    printf("%-10s %8.1f %10.2f\n", name, best * 1e9 / (double)events, (double)events / best * 1e-6);
}

int main(void)
{
    char folder[] = "/tmp/gamut-bench-XXXXXX", path[256];
    double took[TRIES];
    if (!mkdtemp(folder))
        return 1;
    const uint64_t events = make_trace(folder, path);
    clock_print_cost(stdout);
    printf("What a replay costs: %.1f million events of a training run, one thread\n\n"
           "strategy   ns/event   million/s\n",
           (double)events * 1e-6);
    for (int i = 0; i < TRIES; i++)
        took[i] = read_once(path);
    print("reading", events, took);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        for (int i = 0; i < TRIES; i++)
            took[i] = replay_once(path, specs[s]);
        print(specs[s], events, took);
    }
    unlink(path);
    rmdir(folder);
    return 0;
}
