/* The reference of the fluid, on squares so small that a step can be worked out by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_fluid;

enum { SIDE, STEPS, SOLVER_STEPS, DT, DIFFUSION, VISCOSITY, U, V, D, VALUES, FIELDS = 3 };

struct run {
    struct named_value values[VALUES];
    struct arguments arguments;
    struct host_array results[FIELDS];
    int64_t side;
};

static struct host_array new_square(int64_t side)
{
    struct host_array a = {.element = ELEMENT_f32, .rank = 2, .shape = {side, side}};
    a.count = (size_t)(side * side);
    a.data = calloc(a.count, sizeof(float));
    assert_non_null(a.data);
    return a;
}

static void run_open(struct run *run, int64_t side, int64_t solver_steps, float dt)
{
    *run = (struct run){.values = {{.name = "side", .scalar.i64 = side},
                                   {.name = "steps", .scalar.i64 = 1},
                                   {.name = "solver_steps", .scalar.i64 = solver_steps},
                                   {.name = "dt", .scalar.f32 = dt},
                                   {.name = "diffusion"},
                                   {.name = "viscosity"},
                                   {.name = "u0", .array = new_square(side)},
                                   {.name = "v0", .array = new_square(side)},
                                   {.name = "d0", .array = new_square(side)}},
                        .side = side};
    for (int i = SIDE; i < U; i++)
        run->values[i].array.element = i < DT ? ELEMENT_i64 : ELEMENT_f32;
    for (int i = 0; i < FIELDS; i++)
        run->results[i] = new_square(side);
    run->arguments = (struct arguments){"fluid", "test", VALUES, run->values};
}

static void run_close(struct run *run)
{
    for (int i = 0; i < FIELDS; i++) {
        free(run->values[U + i].array.data);
        free(run->results[i].data);
    }
}

static float *before(struct run *run, int field)
{
    return run->values[field].array.data;
}
static float *after(struct run *run, int field)
{
    return run->results[field - U].data;
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_fluid.check(&run->arguments, run->results, FIELDS, &worst, &error);
}

/* Right as it stands; wrong with any cell off by a hundredth, or not a number. */
static void assert_exactly_right(struct run *run)
{
    assert_int_equal(check(run), 0);
    for (int field = U; field <= D; field++)
        for (int64_t c = 0; c < run->side * run->side; c++) {
            float right = after(run, field)[c];
            after(run, field)[c] = right + 0.01f;
            assert_int_equal(check(run), ERR_WRONG);
            after(run, field)[c] = NAN;
            assert_int_equal(check(run), ERR_WRONG);
            after(run, field)[c] = right;
        }
}

/* Sets a square with one cell between the walls to `value`: what the walls beside it have is that
 * times `rows` or `columns`. */
static void set_one_cell(float *x, double value, double rows, double columns)
{
    double corner = value * (rows + columns) / 2;
    const double all[] = {corner,          value * rows, corner,       value * columns, value,
                          value * columns, corner,       value * rows, corner};
    for (int c = 0; c < 9; c++)
        x[c] = (float)all[c];
}

/* In one cell, the pulls of walls on velocity cancel, nothing diverges, and density has come some
 * way from zero. Flow carries in what the walls have, at most from their inner side. */
static void one_cell_is_known(void **state)
{
    (void)state;
    static const struct {
        double u, v, down, along; /* distances that the flow covers, at most 0.5 */
    } table[] = {{0.4, 0, 0.1, 0},      {0, 0.8, 0, 0.2},     {0.4, 0.8, 0.1, 0.2},
                 {1.6, 0.4, 0.4, 0.1},  {8, 0.4, 0.5, 0.1},   {0.4, 80, 0.1, 0.5},
                 {-0.4, 0.8, 0.1, 0.2}, {-8, -0.4, 0.5, 0.1}, {0, 0, 0, 0}};
    const double dt = 0.5, viscosity = 0.5, diffusion = 0.125; /* shares: 1/2 stays, 4/5 */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct run run;
        run_open(&run, 3, 2, (float)dt);
        run.values[VISCOSITY].scalar.f32 = (float)viscosity;
        run.values[DIFFUSION].scalar.f32 = (float)diffusion;
        double u = table[i].u, v = table[i].v, r = table[i].down, s = table[i].along;
        /* Half the velocity is left by viscosity, then flow over dt = 1/2. */
        before(&run, U)[4] = (float)u;
        before(&run, V)[4] = (float)v;
        before(&run, D)[4] = 3;
        u *= 0.5;
        v *= 0.5;
        set_one_cell(after(&run, U), u * ((1 - s) * (1 - 2 * r) + s * (1 - r)), -1, 1);
        set_one_cell(after(&run, V), v * ((1 - r) * (1 - 2 * s) + r * (1 - s)), 1, -1);
        /* Two Jacobi steps with 4 a = 1/4: 4/5, and 4/5 + 1/5 of 4/5. */
        set_one_cell(after(&run, D), 3 * 0.96, 1, 1);
        assert_exactly_right(&run);
        run_close(&run);
    }
}

/* Nothing moves and nothing spreads: what is between the walls stays, walls take from beside them.
 */
static void still_air_keeps_its_smoke(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, 5, 3, 0.1f);
    for (int i = 0; i < 25; i++)
        before(&run, D)[i] = (float)i;
    const float expected[] = {6,  6,  7,  8,  8,  6,  6,  7,  8,  8,  11, 11, 12,
                              13, 13, 16, 16, 17, 18, 18, 16, 16, 17, 18, 18};
    memcpy(after(&run, D), expected, sizeof expected);
    assert_exactly_right(&run);
    run_close(&run);
}

/* One cell of smoke, after one and two Jacobi steps with a = 1/4: b / 2, then a b / 4 beside it. */
static void smoke_spreads(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, 7, 1, 0.5f);
    run.values[DIFFUSION].scalar.f32 = 0.5f / 25;
    const int64_t middle = 3 * 7 + 3;
    before(&run, D)[middle] = 16;
    after(&run, D)[middle] = 8;
    assert_exactly_right(&run);

    run.values[SOLVER_STEPS].scalar.i64 = 2;
    assert_int_equal(check(&run), ERR_WRONG);
    const int64_t beside[] = {-7, -1, 1, 7};
    for (int i = 0; i < 4; i++)
        after(&run, D)[middle + beside[i]] = 1;
    assert_exactly_right(&run);
    run_close(&run);
}

/* Without time there is only projection. In four cells that all flow one way into a wall, pressure
 * p before and -p behind the middle line takes a part of the velocity that halves with every step
 * of the solver: from 1 to 1/2 (1 + 2^-steps), and the same again the second time. */
static void walls_stop_the_flow(void **state)
{
    (void)state;
    for (int64_t solver_steps = 1; solver_steps < 6; solver_steps++)
        for (int field = U; field <= V; field++) {
            struct run run;
            run_open(&run, 4, solver_steps, 0);
            double left = 0.5 * (1 + pow(0.5, (double)solver_steps)), value = 6 * left * left;
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                    int with = field == U ? i : j, across = field == U ? j : i, c = 4 * i + j;
                    bool wall = with == 0 || with == 3,
                         corner = wall && (across == 0 || across == 3);
                    before(&run, field)[c] = wall ? -6 : 6;
                    after(&run, field)[c] = (float)(corner ? 0 : wall ? -value : value);
                    before(&run, D)[c] = after(&run, D)[c] = 1;
                }
            assert_exactly_right(&run);
            run_close(&run);
        }
}

/* Smoke moves by half a cell, down or up, right or left: a cell has the mean of itself and of the
 * one the flow comes from, which beside a wall is the same. Viscosity leaves 2^-20 of the velocity
 * and the walls take their part of it, as above. */
static void smoke_goes_with_the_flow(void **state)
{
    (void)state;
    const double slow = 0x1p-20 * 0.75 * 0.75, smoke[2] = {1, 5};
    for (int field = U; field <= V; field++)
        for (int sign = -1; sign <= 1; sign += 2) {
            struct run run;
            run_open(&run, 4, 1, 0.25f);
            run.values[VISCOSITY].scalar.f32 = (0x1p20f - 1) / 4;
            double moved[2] = {sign < 0 ? 3 : 1, sign < 0 ? 5 : 3};
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                    int with = field == U ? i : j, across = field == U ? j : i, c = 4 * i + j;
                    bool wall = with == 0 || with == 3;
                    bool corner = wall && (across == 0 || across == 3);
                    before(&run, field)[c] = (float)sign;
                    after(&run, field)[c] = (float)(corner ? 0 : wall ? -sign * slow : sign * slow);
                    before(&run, D)[c] = (float)smoke[with >= 2];
                    after(&run, D)[c] = (float)moved[with >= 2];
                }
            assert_exactly_right(&run);
            run_close(&run);
        }
}

static void inputs_depend_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b;
    struct error error;
    run_open(&a, 33, 1, 1);
    run_open(&b, 33, 1, 1);
    for (int field = U; field <= D; field++) {
        const char *name = a.values[field].name;
        struct host_array *first = &a.values[field].array, *second = &b.values[field].array;
        size_t bytes = first->count * sizeof(float);
        assert_int_equal(workload_fluid.fill(&a.arguments, name, first, 7, &error), 0);
        assert_int_equal(workload_fluid.fill(&b.arguments, name, second, 7, &error), 0);
        assert_memory_equal(first->data, second->data, bytes);
        assert_int_equal(workload_fluid.fill(&b.arguments, name, second, 8, &error), 0);
        assert_memory_not_equal(first->data, second->data, bytes);
        const float *x = first->data;
        double least = field == D ? 0 : -1, most = 1, sum = 0;
        for (size_t c = 0; c < first->count; c++) {
            assert_true(x[c] >= least && x[c] <= most);
            sum += fabs(x[c]);
        }
        assert_true(sum > 0.1 * (double)first->count);
    }
    assert_int_equal(workload_fluid.fill(&a.arguments, "w0", &a.values[U].array, 7, &error),
                     ERR_NOT_FOUND);
    run_close(&a);
    run_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_cell_is_known),
        cmocka_unit_test(still_air_keeps_its_smoke),
        cmocka_unit_test(smoke_spreads),
        cmocka_unit_test(walls_stop_the_flow),
        cmocka_unit_test(smoke_goes_with_the_flow),
        cmocka_unit_test(inputs_depend_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
