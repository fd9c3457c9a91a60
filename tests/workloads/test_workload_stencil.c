/* The stencil's inputs and reference, against cases whose answer is known without simulating. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_stencil;

static const double pi = 3.14159265358979323846;

/* A run of the stencil: its arguments and a result to be checked. */
struct run {
    struct named_value values[5];
    struct arguments arguments;
    struct host_array result;
};

static struct host_array new_grid(int64_t rows, int64_t cols)
{
    struct host_array grid = {.element = ELEMENT_f32, .rank = 2, .shape = {rows, cols}};
    grid.count = (size_t)(rows * cols);
    grid.data = calloc(grid.count, sizeof(float));
    assert_non_null(grid.data);
    return grid;
}

static void run_open(struct run *run, int64_t rows, int64_t cols, int64_t steps)
{
    *run = (struct run){.values = {{.name = "rows", .scalar.i64 = rows},
                                   {.name = "cols", .scalar.i64 = cols},
                                   {.name = "steps", .scalar.i64 = steps},
                                   {.name = "temp", .array = new_grid(rows, cols)},
                                   {.name = "power", .array = new_grid(rows, cols)}},
                        .result = new_grid(rows, cols)};
    run->arguments =
        (struct arguments){.fun = "stencil", .dataset = "test", .count = 5, .values = run->values};
}

static void run_close(struct run *run)
{
    free(run->values[3].array.data);
    free(run->values[4].array.data);
    free(run->result.data);
}

static float *temp(struct run *run)
{
    return run->values[3].array.data;
}
static float *power(struct run *run)
{
    return run->values[4].array.data;
}
static float *result(struct run *run)
{
    return run->result.data;
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_stencil.check(&run->arguments, &run->result, 1, &worst, &error);
}

/* Right as it stands, and wrong with any of some cells off by a little. */
static void assert_exactly_right(struct run *run)
{
    size_t cells[] = {0, 1, run->result.count / 2, run->result.count - 1};
    assert_int_equal(check(run), 0);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        float right = result(run)[cells[i]];
        result(run)[cells[i]] = right * 1.0001f;
        assert_int_equal(check(run), ERR_WRONG);
        result(run)[cells[i]] = NAN;
        assert_int_equal(check(run), ERR_WRONG);
        result(run)[cells[i]] = right;
    }
}

static void ambient_stays(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, 7, 5, 20);
    for (size_t i = 0; i < run.result.count; i++)
        temp(&run)[i] = result(&run)[i] = 80;
    assert_exactly_right(&run);
    run_close(&run);
}

/* All cells alike: only power and the air matter. The constants are worked out by hand for cells of
 * 0.25 mm: capacity 2.734375e-5 J/K, steps of 1.458333e-7 s, 0.0125 W/K to the air. */
static void uniform_chip_follows_the_closed_form(void **state)
{
    (void)state;
    const double watts = 0.9, per_watt = 0.0016 / 0.3, to_air = 0.00002 / 0.3;
    struct run run;
    run_open(&run, 64, 64, 200);
    double settled = 80 + watts * per_watt / to_air;
    double after = settled + (320 - settled) * pow(1 - to_air, 200);
    assert_true(fabs(after - 317.7) < 0.2); /* some kelvins away from 320 */
    for (size_t i = 0; i < run.result.count; i++) {
        temp(&run)[i] = 320;
        power(&run)[i] = (float)watts;
        result(&run)[i] = (float)after;
    }
    assert_exactly_right(&run);
    run_close(&run);
}

/* Sets temp to an eigenmode and the result to what `steps` of the factor leave of it. */
static void set_eigenmode(struct run *run, int waves_x, int waves_y, double factor, double steps)
{
    const int64_t *shape = run->result.shape;
    for (int64_t r = 0; r < shape[0]; r++)
        for (int64_t c = 0; c < shape[1]; c++) {
            double mode = 40 * cos(pi * waves_x * ((double)c + 0.5) / (double)shape[1]) *
                          cos(pi * waves_y * ((double)r + 0.5) / (double)shape[0]);
            temp(run)[r * shape[1] + c] = (float)(80 + mode);
            result(run)[r * shape[1] + c] = (float)(80 + mode * pow(factor, steps));
        }
}

/* Cells of 0.25 mm across and 0.5 mm down: a step evens out 1.6e-3/3 of the difference to a
 * neighbour in the row, a quarter of that in the column, and 2e-4/3 of that to the air. */
static void simulated_eigenmode_decays(void **state)
{
    (void)state;
    static const struct {
        int waves_x, waves_y;
    } table[] = {{0, 0}, {1, 0}, {0, 1}, {50, 3}, {5, 30}, {63, 31}};
    const int64_t rows = 32, cols = 64, steps = 200;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double bend_x = 2 - 2 * cos(pi * table[i].waves_x / (double)cols);
        double bend_y = 2 - 2 * cos(pi * table[i].waves_y / (double)rows);
        double factor = 1 - 0.0016 / 3 * bend_x - 0.0004 / 3 * bend_y - 0.0002 / 3;
        struct run run;
        run_open(&run, rows, cols, steps);
        set_eigenmode(&run, table[i].waves_x, table[i].waves_y, factor, (double)steps);
        assert_exactly_right(&run);
        set_eigenmode(&run, table[i].waves_x, table[i].waves_y, factor, (double)steps - 1);
        assert_int_equal(check(&run), ERR_WRONG);
        run_close(&run);
    }
}

/* So many steps are checked against the decay, not simulated; fill gives the mode. One step turns
 * the mode by the second difference of a cosine, taken here from the filled row itself. */
static void long_runs_are_checked_by_decay(void **state)
{
    (void)state;
    const int64_t side = 128, steps = 10000;
    struct run run;
    struct error error;
    run_open(&run, side, side, steps);
    for (int i = 3; i < 5; i++)
        assert_int_equal(workload_stencil.fill(&run.arguments, run.values[i].name,
                                               &run.values[i].array, 1, &error),
                         0);
    const float *t = temp(&run);
    double here = t[0] - 80.0, bend_x = (here - (t[1] - 80.0)) / here;
    double bend_y = (here - (t[side] - 80.0)) / here;
    /* Cells of 0.125 mm: four times the share of 0.25 mm to neighbours, the same to the air. */
    double factor = 1 - 0.0064 / 3 * bend_x - 0.0064 / 3 * bend_y - 0.0002 / 3;
    double left = pow(factor, (double)steps);
    assert_true(left > 0.05 && left < 0.5);
    for (size_t i = 0; i < run.result.count; i++) {
        assert_true(power(&run)[i] == 0);
        result(&run)[i] = (float)(80 + left * (t[i] - 80.0));
    }
    assert_exactly_right(&run);
    run_close(&run);
}

/* On fine grids Rodinia's step would make the simulation explode, so a step is three quarters of
 * what would empty a cell: here cells are so narrow that nearly all of that goes east and west. */
static void fine_grid_is_stable(void **state)
{
    (void)state;
    const double flow = 0.75 * 400 / (2 * 400 + 2 * 0.000025 + 0.0128);
    struct run run;
    run_open(&run, 1, 4000, 1);
    for (size_t i = 0; i < run.result.count; i++)
        temp(&run)[i] = result(&run)[i] = 80;
    temp(&run)[2000] = 180;
    result(&run)[1999] = result(&run)[2001] = (float)(80 + 100 * flow);
    result(&run)[2000] = 80 + 25;
    assert_exactly_right(&run);
    run_close(&run);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    static const int64_t steps[] = {10, 100000}; /* random, eigenmode */
    struct error error;
    for (size_t i = 0; i < 2; i++) {
        struct run a, b;
        run_open(&a, 40, 50, steps[i]);
        run_open(&b, 40, 50, steps[i]);
        size_t bytes = a.result.count * sizeof(float);
        for (int value = 3; value < 5; value++) {
            const char *name = a.values[value].name;
            struct host_array *first = &a.values[value].array, *second = &b.values[value].array;
            assert_int_equal(workload_stencil.fill(&a.arguments, name, first, 7, &error), 0);
            assert_int_equal(workload_stencil.fill(&b.arguments, name, second, 7, &error), 0);
            assert_memory_equal(first->data, second->data, bytes);
            assert_int_equal(workload_stencil.fill(&b.arguments, name, second, 8, &error), 0);
            if (steps[i] == 10 || value == 3) /* an eigenmode comes without power */
                assert_memory_not_equal(first->data, second->data, bytes);
        }
        assert_memory_not_equal(temp(&a), power(&a), bytes);
        run_close(&a);
        run_close(&b);
    }
}

/* Grids of hotspot_f64: the same values before they are rounded, and a check that sees one wrong
 * cell. */
static void grids_in_double_precision(void **state)
{
    (void)state;
    struct run run;
    struct error error;
    double worst;
    run_open(&run, 9, 6, 20);
    struct host_array *grids[] = {&run.values[3].array, &run.values[4].array, &run.result};
    for (size_t i = 0; i < 3; i++) {
        struct host_array rounded = *grids[i];
        grids[i]->element = ELEMENT_f64;
        grids[i]->data = calloc(rounded.count, sizeof(double));
        assert_non_null(grids[i]->data);
        const char *name = i == 1 ? "power" : "temp";
        assert_int_equal(workload_stencil.fill(&run.arguments, name, grids[i], 3, &error), 0);
        assert_int_equal(workload_stencil.fill(&run.arguments, name, &rounded, 3, &error), 0);
        const double *cells = grids[i]->data;
        for (size_t c = 0; c < rounded.count; c++)
            assert_true((float)cells[c] == ((float *)rounded.data)[c]);
        free(rounded.data);
    }
    double *t = run.values[3].array.data, *watts = run.values[4].array.data, *r = run.result.data;
    for (size_t c = 0; c < run.result.count; c++) {
        t[c] = r[c] = 80;
        watts[c] = 0;
    }
    assert_int_equal(workload_stencil.check(&run.arguments, &run.result, 1, &worst, &error), 0);
    r[run.result.count - 1] *= 1.0001;
    assert_int_equal(workload_stencil.check(&run.arguments, &run.result, 1, &worst, &error),
                     ERR_WRONG);
    run_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ambient_stays),
        cmocka_unit_test(uniform_chip_follows_the_closed_form),
        cmocka_unit_test(simulated_eigenmode_decays),
        cmocka_unit_test(long_runs_are_checked_by_decay),
        cmocka_unit_test(fine_grid_is_stable),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
        cmocka_unit_test(grids_in_double_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
