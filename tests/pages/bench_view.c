/* What a page of a trace with ten million events costs: to make, in bytes, and in a browser.
 *
 * The trace is like that of a training run: blocks that stay, blocks of a step, and many short
 * ones, of two hundred sites in a thousand phases. Arguments: events [10000000], the page to keep,
 * with its whole path [none], strategy [caching]. The browser's time is from the script's first
 * line to the first picture, and with it the time from opening the file: what the page says of
 * itself (view.js).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "pages/view.h"

enum { LIVE = 20000, SITES = 200, PHASES = 1000 };

static void must(int code, const struct error *error)
{
    if (code == 0)
        return;
    fprintf(stderr, "bench_view: %s\n", error->text);
    exit(1);
}

static unsigned name_of(struct trace_writer *writer, const char *format, unsigned number)
{
    char name[64];
    snprintf(name, sizeof name, format, number, number % 7);
    return trace_name(writer, name);
}

static uint64_t size_of(struct random *random)
{
    const uint64_t kind = random_below(random, 100);
    return kind < 2    ? (1 + random_below(random, 64)) << 20
           : kind < 20 ? (1 + random_below(random, 32)) << 16
                       : 512 * (1 + random_below(random, 32));
}

/* Most of the blocks that go are among the newest. */
static unsigned victim(struct random *random, unsigned count)
{
    const unsigned span = random_below(random, 50) ? 64 : count;
    return count - 1 - (unsigned)random_below(random, span < count ? span : count);
}

static void make_trace(const char *path, uint64_t events)
{
    struct trace_info info = {.source = "bench_view", .time_unit_ns = 1, .allocator = "caching"};
    info.knows[TRACE_KNOWS_times] = info.knows[TRACE_KNOWS_frees] = true;
    info.knows[TRACE_KNOWS_sites] = info.knows[TRACE_KNOWS_phases] = true;
    struct random random = {42};
    struct trace_writer *writer;
    struct error error;
    unsigned *live = must_alloc(LIVE * sizeof *live), count = 0, phase = 0;
    must(trace_create(path, &info, &writer, &error), &error);
    for (uint64_t i = 0; i < events; i++) {
        struct trace_event e = {.time_ns = 700 * i};
        if (i % (events / PHASES + 1) == 0) {
            e.kind = i && phase ? TRACE_end : TRACE_begin;
            e.name = phase =
                e.kind == TRACE_begin ? name_of(writer, "step %u", (unsigned)(i % 97)) : 0;
        }
        if (e.kind == TRACE_begin || e.kind == TRACE_end) {
            trace_put(writer, &e);
            continue;
        }
        const bool is_birth = count == 0 || (count < LIVE && random_below(&random, 1000) < 502);
        const unsigned at = is_birth ? count : victim(&random, count);
        e.kind = is_birth ? TRACE_alloc : TRACE_free;
        e.slot = is_birth ? trace_take_slot(writer) : live[at];
        e.bytes = is_birth ? size_of(&random) : 0;
        e.name = is_birth ? name_of(writer, "layer_%u.forward (model.py:%u)",
                                    (unsigned)random_below(&random, SITES))
                          : 0;
        trace_put(writer, &e);
        if (is_birth) {
            live[count++] = e.slot;
        } else {
            trace_give_slot(writer, live[at]);
            live[at] = live[--count];
        }
    }
    must(trace_finish(writer, true, NULL, &error), &error);
    free(live);
}

static void make_page(const char *trace, const char *page, const char *const *strategy)
{
    struct view_options options = {.name = "bench",
                                   .strategy_count = 1,
                                   .strategies = strategy,
                                   .free_at = FREE_AT_DONE,
                                   .last = UINT32_MAX};
    struct view_report report;
    struct error error;
    struct stat before, after;
    must(trace_open(trace, &options.reader, &error), &error);
    FILE *out = fopen(page, "w");
    if (!out)
        must(error_set(&error, ERR_IO, "%s cannot be written", page), &error);
    const uint64_t start = clock_start();
    must(view_write(&options, 1, out, &report, &error), &error);
    fclose(out);
    const double seconds = (double)clock_since(start) / 1e9;
    stat(trace, &before);
    stat(page, &after);
    printf("%zu events, %zu blocks: %.1f s to make, %.1f MB, %.2f bytes an event; the trace has "
           "%.1f MB\n",
           (size_t)report.events, (size_t)report.blocks, seconds, (double)after.st_size / 1e6,
           (double)after.st_size / (double)report.events, (double)before.st_size / 1e6);
    trace_close(options.reader);
    free(report.strategies);
}

/* Opens the page in a frame, without a window, and prints when it was drawn. */
static void open_page(const char *folder, const char *page)
{
    char path[96], command[512];
    snprintf(path, sizeof path, "%s/time.html", folder);
    FILE *out = fopen(path, "w");
    if (!out)
        return;
    fprintf(out,
            "<iframe id=f style=\"width:1280px;height:900px\" src=\"%s\"></iframe><script>\n"
            "const timer = setInterval(() => {\n"
            "  const inside = document.getElementById('f').contentDocument;\n"
            "  if (!inside || !inside.documentElement || !inside.documentElement.dataset.firstMs) "
            "return;\n"
            "  clearInterval(timer);\n"
            "  console.log('DRAWN ' + Math.round(performance.now()) + ' ms after the browser began "
            "to read, ' +\n"
            "    inside.documentElement.dataset.firstMs + ' ms after the page was read');\n"
            "}, 5);\n</script>\n",
            page);
    fclose(out);
    snprintf(command, sizeof command,
             "timeout -k 5 ${SECONDS_OPEN:-20} chromium --headless=new --no-sandbox --disable-gpu "
             "--allow-file-access-from-files --remote-debugging-port=0 --user-data-dir=%s/profile "
             "--enable-logging=stderr 'file://%s' 2>&1 | sed -n 's/.*\"DRAWN \\(.*\\)\", "
             "source.*/drawn \\1/p'; "
             "rm -rf %s/profile",
             folder, path, folder);
    fflush(stdout);
    if (system("command -v chromium >/dev/null") != 0)
        printf("not opened: there is no chromium here\n");
    else if (system(command) != 0)
        printf("chromium did not end well\n");
    unlink(path);
}

int main(int argc, char **argv)
{
    const char *const strategy = argc > 3 ? argv[3] : "caching";
    char folder[] = "/tmp/bench_view.XXXXXX", trace[64], page[64];
    if (!mkdtemp(folder))
        return 1;
    snprintf(trace, sizeof trace, "%s/bench.trace", folder);
    snprintf(page, sizeof page, "%s/bench.html", folder);
    make_trace(trace, argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000);
    clock_print_cost(stdout);
    make_page(trace, argc > 2 ? argv[2] : page, &strategy);
    open_page(folder, argc > 2 ? argv[2] : page);
    unlink(trace);
    unlink(page);
    rmdir(folder);
    return 0;
}
