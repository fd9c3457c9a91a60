/* Canny's inputs and reference, against images whose edges are known. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_canny;

enum { SIDE = 30, PIXELS = SIDE * SIDE, EDGE = 14, QUADS = (SIDE + 3) / 4 };

/* A run of canny: its arguments and results to be checked. */
struct run {
    int32_t image[PIXELS], list[PIXELS];
    uint32_t edges[SIDE * QUADS]; /* four pixels of a row a word */
    struct named_value values[5];
    struct arguments arguments;
    struct host_array results[2];
};

static void run_set(struct run *run)
{
    memset(run, 0, sizeof *run);
    struct host_array plane = {.rank = 2, .shape = {SIDE, SIDE}, .count = PIXELS};
    run->values[0] = (struct named_value){.name = "h", .scalar.i64 = SIDE};
    run->values[1] = (struct named_value){.name = "w", .scalar.i64 = SIDE};
    run->values[2] = (struct named_value){.name = "low", .scalar.f32 = 50};
    run->values[3] = (struct named_value){.name = "high", .scalar.f32 = 100};
    run->values[4] = (struct named_value){.name = "pixels", .array = plane};
    for (int i = 2; i < 4; i++)
        run->values[i].array.element = ELEMENT_f32;
    run->values[4].array.element = ELEMENT_i32;
    run->values[4].array.data = run->image;
    run->arguments =
        (struct arguments){.fun = "canny", .dataset = "test", .count = 5, .values = run->values};
    run->results[0] = (struct host_array){.element = ELEMENT_i32, .rank = 1, .data = run->list};
    run->results[1] = (struct host_array){.element = ELEMENT_u32,
                                          .rank = 2,
                                          .shape = {SIDE, QUADS},
                                          .count = SIDE * QUADS,
                                          .data = run->edges};
}

static void turn_edge(struct run *run, int pixel)
{
    run->edges[pixel / SIDE * QUADS + pixel % SIDE / 4] ^= 255u << pixel % SIDE % 4 * 8;
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_canny.check(&run->arguments, run->results, 2, &worst, &error);
}

static void add_to_list(struct run *run, int32_t pixel)
{
    run->list[run->results[0].count++] = pixel;
    run->results[0].shape[0]++;
}

/* Right as it stands; wrong with a pixel turned, or with one more or less in the list. */
static void assert_exactly_right(struct run *run)
{
    assert_int_equal(check(run), 0);
    for (int i = 0; i < PIXELS; i += 7) {
        turn_edge(run, i);
        assert_int_equal(check(run), ERR_WRONG);
        turn_edge(run, i);
    }
    run->edges[QUADS - 1] ^= 1u << 31; /* behind the last pixel of a row */
    assert_int_equal(check(run), ERR_WRONG);
    run->edges[QUADS - 1] ^= 1u << 31;
    size_t count = run->results[0].count;
    run->results[0].count = count + 1;
    assert_int_equal(check(run), ERR_WRONG);
    if (count > 0) {
        run->results[0].count = count - 1;
        assert_int_equal(check(run), ERR_WRONG);
        run->results[0].count = count;
        run->list[count / 2]++;
        assert_int_equal(check(run), ERR_WRONG);
        run->list[count / 2]--;
    }
    run->results[0].count = count;
    assert_int_equal(check(run), 0);
}

static void constant_image_has_no_edges(void **state)
{
    (void)state;
    static const uint32_t colours[] = {0, 0xffffffff, 0x80ff00c0};
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++) {
        struct run run;
        run_set(&run);
        for (int p = 0; p < PIXELS; p++)
            memcpy(&run.image[p], &colours[i], sizeof colours[i]);
        assert_exactly_right(&run);
    }
}

/* Draws, in red, dark | half | `red` with the half level at line EDGE; red falls by `fall` a line
 * along it. A line is a column, or a row if `across`. */
static void draw_ramp(struct run *run, int red, int fall, bool across)
{
    for (int along = 0; along < SIDE; along++)
        for (int line = 0; line < SIDE; line++) {
            int level = red - fall * along;
            level = line < EDGE ? 0 : line == EDGE ? level / 2 : level;
            run->image[across ? line * SIDE + along : along * SIDE + line] = level;
        }
}

/* The ramp's Sobel magnitude is 0.3 * red * 4 * 10/16 = 0.75 * red at EDGE and less beside it. */
static void ramps(void **state)
{
    (void)state;
    static const struct {
        int red, fall;
        int strong, edge; /* so many pixels along the edge are in the list, in the image */
    } table[] = {
        {60, 0, 0, 0},        /* 45: below low */
        {100, 0, 0, 0},       /* 75: weak, and nothing strong to hold on to */
        {200, 0, SIDE, SIDE}, /* 150: strong */
        {200, 4, 17, SIDE},   /* 150 falls to 63: strong down to 0.75 * (200 - 4 * 16) = 102 */
        {180, 2, 24, SIDE},   /* 135 falls to 91.5: strong down to 0.75 * (180 - 2 * 23) = 100.5 */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int across = 0; across < 2; across++) {
            struct run run;
            run_set(&run);
            draw_ramp(&run, table[i].red, table[i].fall, across != 0);
            for (int along = 0; along < SIDE; along++) {
                int pixel = across ? EDGE * SIDE + along : along * SIDE + EDGE;
                if (along < table[i].strong)
                    add_to_list(&run, pixel);
                if (along < table[i].edge)
                    turn_edge(&run, pixel);
            }
            assert_exactly_right(&run);
        }
}

/* A step along each diagonal leaves the two lines beside it; thinned along any other direction it
 * would stay thicker. In the corners the copies of the border turn the gradient away. */
static void diagonals(void **state)
{
    (void)state;
    for (int rising = 0; rising < 2; rising++) {
        struct run run;
        run_set(&run);
        for (int r = 0; r < SIDE; r++)
            for (int c = 0; c < SIDE; c++) {
                int pixel = r * SIDE + c, beyond = rising ? c + r - (SIDE - 1) : c - r;
                bool is_corner = (r == 0 || r == SIDE - 1) && (c == 0 || c == SIDE - 1);
                run.image[pixel] = beyond < 0 ? 0 : 200;
                if (beyond == -1 || (beyond == 0 && !is_corner)) {
                    add_to_list(&run, pixel);
                    turn_edge(&run, pixel);
                }
            }
        assert_exactly_right(&run);
    }
}

/* Channels are unsigned: levels above 127 are light, not dark. Were they signed, the step from 100
 * to 200 would go down by 156 instead of up by 100, and be strong where it is weak. */
static void channels_are_unsigned(void **state)
{
    (void)state;
    struct run run;
    run_set(&run);
    for (int p = 0; p < PIXELS; p++)
        run.image[p] = p % SIDE < EDGE ? 100 : p % SIDE == EDGE ? 150 : 200;
    assert_exactly_right(&run);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b;
    struct error error;
    run_set(&a);
    run_set(&b);
    struct host_array *first = &a.values[4].array, *second = &b.values[4].array;
    assert_int_equal(workload_canny.fill(&a.arguments, "pixels", first, 7, &error), 0);
    assert_int_equal(workload_canny.fill(&b.arguments, "pixels", second, 7, &error), 0);
    assert_memory_equal(a.image, b.image, sizeof a.image);
    assert_int_equal(workload_canny.fill(&b.arguments, "pixels", second, 8, &error), 0);
    assert_memory_not_equal(a.image, b.image, sizeof a.image);
    assert_int_equal(check(&a), ERR_WRONG); /* the image has edges, the results have none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_image_has_no_edges),
        cmocka_unit_test(ramps),
        cmocka_unit_test(diagonals),
        cmocka_unit_test(channels_are_unsigned),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
