/* Bytes requested, granted and reserved over the events of a run, and the lower bound: a panel for
 * each way to run a workload.
 *
 *   block 0: a line a panel: number, title, most reserved bytes, points' stride
 *   then a block a panel: step requested granted reserved live least_requested
 */
#include <math.h>
#include <string.h>

#include "record/chart/chart_memory.h"
#include "base/tree.h"

enum { PANELS_MAX = 12 };

static double most(const json_t *columns, const char *name)
{
    double most = NAN;
    for (size_t i = 0; i < json_array_size(json_object_get(columns, name)); i++)
        most = fmax(most, memory_column(columns, name, i));
    return most;
}

static void print_point(const json_t *timeline, size_t i, double step, FILE *out)
{
    static const char *const names[] = {"requested_bytes", "granted_bytes", "reserved_bytes",
                                        "live_bytes", "least_requested_bytes"};
    const bool exact = tree_get_number(timeline, "stride") == 1;
    fprintf(out, "%.0f", step);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        data_number(memory_column(timeline, n == 4 && exact ? names[0] : names[n], i), out);
    fputc('\n', out);
}

static void print_panel(const struct memory_panel *panel, FILE *out)
{
    const json_t *timeline = json_object_get(panel->memory, "timeline");
    const size_t points = json_array_size(json_object_get(timeline, "step"));
    fprintf(out, "\n\n# %s\n# step requested granted reserved live least_requested\n",
            panel->title.data);
    for (size_t i = 0; i < points; i++)
        print_point(timeline, i, memory_column(timeline, "step", i), out);
    if (points) /* what is held at the end is held until then */
        print_point(timeline, points - 1, tree_get_number(panel->memory, "steps"), out);
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    struct memory_panels panels;
    int code = memory_panels_make(&chart_memory_timeline, of, PANELS_MAX, &panels, error);
    if (code)
        return code;
    fprintf(data, "# gamut memory_timeline of %s %s on %s\n# panel title reserved_bytes stride\n",
            of->workload, of->dataset, of->device);
    double requested = 0, reserved = 0;
    for (size_t i = 0; i < panels.count; i++) {
        const json_t *timeline = json_object_get(panels.panel[i].memory, "timeline");
        fprintf(data, "%zu \"%s\"", i, panels.panel[i].title.data);
        data_number(most(timeline, "reserved_bytes"), data);
        data_number(tree_get_number(timeline, "stride"), data);
        fputc('\n', data);
        requested = fmax(requested, most(timeline, "granted_bytes"));
        reserved = fmax(reserved, most(timeline, "reserved_bytes"));
    }
    for (size_t i = 0; i < panels.count; i++)
        print_panel(&panels.panel[i], data);
    /* One allocator that reserves much more than all need would leave the others flat. */
    const double shown = reserved > 3 * requested ? 2 * requested : reserved;
    memory_panels_variables(&panels, of, "", variables);
    memory_axis_variables(shown, variables);
    memory_panels_free(&panels);
    return 0;
}

const struct chart chart_memory_timeline = {
    .name = "memory_timeline",
    .help = "bytes requested, granted and reserved over a run, and the lower bound, by strategy",
    .scope = CHART_OF_WORKLOAD,
    .on_request = true,
    .write = write,
};
