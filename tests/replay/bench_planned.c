/* What `planned` holds and costs on another run than the recorded one.
 *
 * The recording has 5 steps of training, and the program that is served has 9 with another seed
 * (tests/traces). "held" is the peak of arena and fallback together, over the peak of requested
 * bytes, from the first step on. Then the same with the program made to deviate. The last table has
 * ns of processor time for a request and its free, the best of several passes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "replay/fit.h"
#include "replay/plan.h"
#include "tests/replay/served.h"
#include "trace/import.h"

enum { TRIES = 5 };

static void must(int code, const struct error *error)
{
    if (code == 0)
        return;
    fprintf(stderr, "bench_planned: %s\n", error->text);
    exit(1);
}

static void import(const char *name, int run, const char *path)
{
    char log[512];
    struct import_report report;
    struct error error;
    snprintf(log, sizeof log, GAMUT_ROOT "/tests/traces/pytorch/%s.%d.trace.csv.gz", name, run);
    must(import_log(log, NULL, path, true, &report, &error), &error);
    import_report_free(&report);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void print_served(const char *what, const struct requests *program, const char *spec)
{
    struct served s;
    requests_serve(program, spec, false, &s);
    const struct planned_counts *c = &s.planned;
    uint64_t bytes = 0;
#define X(name, help) bytes += c->name##_bytes;
    PLANNED_LIST(X)
#undef X
    printf("  %-34s %6.3f  %6.2f%% %6.2f%%  %6llu %6llu %6llu %6llu\n", what,
           share(s.peak_reserved_bytes, program->peak_bytes),
           100 * share(c->hit_count, program->block_count), 100 * share(c->hit_bytes, bytes),
           (unsigned long long)c->inserted_count, (unsigned long long)c->larger_count,
           (unsigned long long)c->busy_count, (unsigned long long)c->left_out_count);
}

static void print_online(const struct requests *program)
{
    static const char *const specs[] = {"caching", "vmm", "tlsf", "pool"};
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct served s;
        requests_serve(program, specs[i], false, &s);
        printf("  %-34s %6.3f\n", specs[i], share(s.peak_reserved_bytes, program->peak_bytes));
    }
}

/* The planner's part of the gap: the plan's height, and the optimum of the run that is served. */
static void print_heights(const char *served_path, const struct requests *program,
                          const struct plan_queue *q)
{
    struct trace_reader *reader;
    struct lifetimes lifetimes;
    struct optimum optimum;
    struct error error;
    must(trace_open(served_path, &reader, &error), &error);
    must(lifetimes_read(reader, &lifetimes, &error), &error);
    trace_close(reader);
    lifetimes_optimum(&lifetimes, INT64_C(2000000000), &optimum);
    printf("  %-34s %6.3f\n", "the plan's height", share(q->height, program->peak_bytes));
    printf("  %-34s %6.3f\n", "the plan's lower bound", share(q->bound, program->peak_bytes));
    printf("  %-34s %6.3f%s\n", "optimum of the served run",
           share(optimum.bytes, program->peak_bytes), optimum.proven ? ", proven" : "");
    lifetimes_free(&lifetimes);
}

static void print_deviations(const struct requests *program, const char *spec,
                             const struct plan_queue *q)
{
    static const double shares[] = {0.001, 0.01, 0.1};
    static const char *const names[] = {
#define X(name, help) help,
        DEVIATION_LIST(X)
#undef X
    };
    struct requests changed;
    char what[128];
    for (int kind = 1; kind < DEVIATIONS; kind++)
        for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++) {
            requests_deviate(program, (enum deviation)kind, shares[i], 1, &changed);
            snprintf(what, sizeof what, "%.24s, %g%%", names[kind], 100 * shares[i]);
            print_served(what, &changed, spec);
            requests_free(&changed);
        }
    requests_insert(program, q->rounds[0], q->count - q->rounds[0], 1 << 20, 5, &changed);
    print_served("one more as each step begins", &changed, spec);
    requests_free(&changed);
    requests_insert(program, q->rounds[0], q->count - q->rounds[0], 1 << 20, 0, &changed);
    print_served("... that is never freed", &changed, spec);
    requests_free(&changed);
}

static double best_ns(const struct requests *program, const char *spec)
{
    double best = 0;
    for (int try = 0; try < TRIES; try++) {
        struct served s;
        requests_serve(program, spec, false, &s);
        best = try && best < s.ns ? best : s.ns;
    }
    return best;
}

static void print_latency(const struct requests *program, const char *planned)
{
    static const char *const others[] = {"null", "pool", "caching", "tlsf", "vmm"};
    struct requests changed;
    requests_deviate(program, DEVIATE_inserted, 0.1, 1, &changed);
    printf("\nns for a request and its free\n");
    printf("  %-34s %6.1f\n", "planned", best_ns(program, planned));
    printf("  %-34s %6.1f\n", "planned, 10% inserted", best_ns(&changed, planned));
    requests_free(&changed);
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        printf("  %-34s %6.1f\n", others[i], best_ns(program, others[i]));
}

static void measure(const char *folder, const char *name)
{
    char recorded[300], served[300], plan_path[300], spec[512];
    struct requests program;
    struct offset_plan plan;
    struct error error;
    snprintf(recorded, sizeof recorded, "%s/%s.1.trace", folder, name);
    snprintf(served, sizeof served, "%s/%s.2.trace", folder, name);
    snprintf(plan_path, sizeof plan_path, "%s/%s.plan", folder, name);
    snprintf(spec, sizeof spec, "planned:trace=%s", plan_path);
    import(name, 1, recorded);
    import(name, 2, served);
    must(plan_of_trace(recorded, &plan, &error), &error);
    must(plan_write(&plan, plan_path, true, &error), &error);
    requests_read(served, &program);
    printf("%s: %u requests, of which the plan has %u, the last %u in a loop\n", name,
           program.block_count, plan.queues[0].count,
           plan.queues[0].count - plan.queues[0].rounds[0]);
    printf("  %-34s %6s  %7s %7s  %6s %6s %6s %6s\n", "", "held", "hits", "bytes", "insert",
           "larger", "busy", "left");
    print_heights(served, &program, &plan.queues[0]);
    print_online(&program);
    print_served("planned, as recorded", &program, spec);
    print_deviations(&program, spec, &plan.queues[0]);
    if (strcmp(name, "steady") == 0)
        print_latency(&program, spec);
    plan_free(&plan);
    requests_free(&program);
    unlink(recorded);
    unlink(served);
    unlink(plan_path);
}

/* Programs that are made up: what is recorded, and what is served. */
static void measure_made_up(const char *folder, const char *what, const struct made_up *recorded,
                            const struct made_up *served)
{
    static const char *const online[] = {"raw", "pool", "caching", "vmm", "tlsf", "bufalloc"};
    struct requests program;
    char trace[300], spec[400];
    snprintf(trace, sizeof trace, "%s/%s.trace", folder, what);
    snprintf(spec, sizeof spec, "planned:trace=%s", trace);
    requests_make(recorded, &program);
    requests_write(&program, trace);
    requests_free(&program);
    requests_make(served, &program);
    printf("\n%s: %u requests\n  %-12s %6s %6s %12s %6s %7s\n", what, program.block_count, "",
           "held", "at end", "driver calls", "ns", "hits");
    for (unsigned i = 0; i <= sizeof online / sizeof *online; i++) {
        const char *name = i ? online[i - 1] : spec;
        struct served s;
        requests_serve(&program, name, false, &s);
        printf("  %-12.12s %6.3f %6.3f %12llu %6.1f", i ? name : "planned",
               share(s.peak_reserved_bytes, program.peak_bytes),
               share(s.end_reserved_bytes, program.peak_bytes), (unsigned long long)s.driver_calls,
               best_ns(&program, name));
        if (!i)
            printf(" %6.2f%%", 100 * share(s.planned.hit_count, program.block_count));
        printf("\n");
    }
    requests_free(&program);
    unlink(trace);
}

static void measure_all_made_up(const char *folder)
{
    const struct made_up once = {0, 8, 1, 1, false, true}, often = {0, 400, 1, 1, false, true};
    const struct made_up turns = {0, 8, 2, 1, false, true}, others = {1, 40, 2, 1, false, true};
    const struct made_up chance = {1, 16, 3, 1, false, false}, later = {2, 60, 3, 1, false, false};
    const struct made_up few = {0, 20, 1, 1, true, true}, more = {0, 60, 1, 1, true, true};
    const struct made_up two = {0, 10, 1, 2, false, true}, longer = {0, 40, 1, 2, false, true};
    measure_made_up(folder, "one-shape", &once, &often);
    measure_made_up(folder, "two-shapes", &turns, &others);
    measure_made_up(folder, "by-chance", &chance, &later);
    measure_made_up(folder, "growing", &few, &more);
    measure_made_up(folder, "two-queues", &two, &longer);
}

int main(void)
{
    char folder[] = "/tmp/bench_planned.XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    clock_print_cost(stdout);
    measure(folder, "steady");
    printf("\n");
    measure(folder, "alternating");
    measure_all_made_up(folder);
    rmdir(folder);
    return 0;
}
