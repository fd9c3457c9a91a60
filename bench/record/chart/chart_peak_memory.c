/* The most memory each way to run held from the driver, over what none can go below.
 *
 *     x reserved/bound requested/bound reserved_bytes bound_bytes status
 */
#include <math.h>

#include "record/chart/matrix.h"

static bool print_cell(const struct grid *grid, size_t c, size_t s, FILE *out)
{
    static const char *const names[] = {"peak_reserved_bytes", "peak_requested_bytes",
                                        "live_lower_bound_bytes"};
    const json_t *cell = grid_cell(grid, c, s);
    double peak[3];
    for (int i = 0; i < 3; i++)
        peak[i] = case_peak(cell, names[i]);
    double bound = peak[2] > 0 ? peak[2] : NAN;
    data_number(peak[0] / bound, out);
    data_number(peak[1] / bound, out);
    data_number(peak[0], out);
    data_number(bound, out);
    bool known = data_status(cell, peak[0] / bound, out);
    fputc('\n', out);
    return known;
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    struct grid grid;
    int code =
        grid_make(&chart_peak_memory, of, &(struct grid_rules){.are_bars = true}, &grid, error);
    if (code)
        return code;
    if (grid_print(&grid, "peak_memory",
                   "x reserved/bound requested/bound reserved_bytes bound_bytes status", print_cell,
                   data) == 0)
        code = grid_is_empty(&chart_peak_memory, &grid, error);
    grid_variables(&grid, variables);
    grid_free(&grid);
    return code;
}

const struct chart chart_peak_memory = {
    .name = "peak_memory",
    .help = "peak reserved memory over the live lower bound, by workload",
    .scope = CHART_OF_DEVICE,
    .write = write,
};
