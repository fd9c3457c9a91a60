/* The isosurface experiment from the inside: tables, reference, mesh, and every method of getting
 * memory on the host, which the command's own checks rely on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "experiment/heap/heap_layout.h"
#include "experiment/isosurface.h"
/* The kernels as functions. */
#include "experiment/isosurface.kernel"
#include "experiment/list.h"
#include "tests/base/cmocka.h"
#include "tests/experiment/isosurface_mesh.h"

enum { CELLS = 6, BALL_LAYERS = 2, BALL_CHUNKS = 4 };

/* ---- the tables ---- */

static void tables_are_whole(void **state)
{
    uint8_t table[TABLE_BYTES];
    (void)state;
    isosurface_tables(table);
    for (unsigned t = 0; t < 6; t++)
        for (unsigned inside = 0; inside < 16; inside++) {
            const uint8_t *row = table + 24 + (t * 16 + inside) * 16, *corners = table + 4 * t;
            const int in = __builtin_popcount(inside);
            assert_int_equal(row[0], in == 0 || in == 4 ? 0 : in == 2 ? 2 : 1);
            for (unsigned v = 0; v < 3u * row[0]; v++) {
                const unsigned low = row[1 + 2 * v], high = row[2 + 2 * v];
                bool low_in = false, high_in = false;
                for (unsigned c = 0; c < 4; c++) {
                    low_in |= corners[c] == low && inside >> c & 1;
                    high_in |= corners[c] == high && inside >> c & 1;
                }
                assert_true(low_in != high_in);    /* the surface cuts the edge */
                assert_int_equal(low & high, low); /* which goes up */
            }
        }
}

/* ---- a ball by way of the device's kernels ---- */

struct ball {
    struct marcher marcher;
    int32_t *triangles;
    size_t count;
};

/* A ball with a radius of 3/4 of a chunk, in the middle of two layers of 2 x 2 chunks. */
static struct isosurface_field isosurface_ball(uint32_t cells)
{
    return (struct isosurface_field){.middle = (int32_t)(4 * cells), .slope = (int32_t)(3 * cells)};
}

static struct device *host(void)
{
    struct device *device;
    assert_int_equal(device_open("host", &device, NULL), 0);
    return device;
}

/* The ball's triangles as a method has placed them. `spoil`, or NULL, changes the tables first. */
static struct ball make_ball(struct device *device, const struct isosurface_method *method,
                             void (*spoil)(uint8_t *table))
{
    const struct isosurface_field field = isosurface_ball(CELLS);
    struct ball ball = {0};
    struct march m;
    uint32_t counts[BALL_CHUNKS];
    uint8_t table[TABLE_BYTES];
    struct error error = {0};
    if (marcher_open(device, 2, CELLS, BALL_LAYERS, &ball.marcher, &error))
        fail_msg("%s", error.text);
    ball.marcher.heap_bytes = 1 << 20;
    isosurface_tables(table);
    if (spoil)
        spoil(table);
    device->ops->write(device, ball.marcher.table, 0, table, sizeof table, NULL);
    if (march_open(&ball.marcher, method, "pool", &field, &m, &error))
        fail_msg("%s", error.text);
    ball.triangles = must_alloc(BALL_LAYERS * BALL_CHUNKS * march_worst_bytes(&m));
    for (uint32_t layer = 0; layer < BALL_LAYERS; layer++)
        if (march_frame(&m, layer, &error))
            fail_msg("%s", error.text);
    for (uint32_t layer = 0; layer < BALL_LAYERS; layer++) {
        if (march_hash_layer(&m, layer, counts, &error))
            fail_msg("%s: %s", method->name, error.text);
        for (uint32_t c = 0; c < BALL_CHUNKS; c++) {
            int32_t *out = ball.triangles + ball.count * TRIANGLE_WORDS;
            assert_int_equal(march_read_chunk(&m, layer, c, counts, out, &error), 0);
            ball.count += counts[c];
        }
    }
    march_close(&m);
    return ball;
}

static void free_ball(struct ball *ball)
{
    marcher_close(&ball->marcher);
    free(ball->triangles);
}

static void a_ball_in_every_method(void **state)
{
    const struct isosurface_field field = isosurface_ball(CELLS);
    struct device *device = host();
    uint64_t expected = 0;
    (void)state;
    for (uint32_t c = 0; c < 8; c++)
        expected += isosurface_reference(&field, CELLS, c % 2, c / 2 % 2, c / 4).hash;
    for (const struct isosurface_method *const *method = isosurface_methods; *method; method++) {
        struct ball ball = make_ball(device, *method, NULL);
        struct error error = {0};
        uint64_t hash;
        if (isosurface_check_ball(ball.triangles, ball.count, CELLS, &error))
            fail_msg("%s: %s", (*method)->name, error.text);
        assert_int_equal(isosurface_hash(ball.triangles, ball.count), expected);
        assert_int_equal(march_take_hash(&ball.marcher, &hash, &error), 0);
        assert_int_equal(hash, expected);
        free_ball(&ball);
    }
    device->ops->close(device);
}

/* A field of small numbers at random, many of them 0, outside at its border: whatever surface it
 * has is closed, and no two edges are cut at the same place. */
static void points_on_the_surface(void **state)
{
    enum { POINTS = CELLS + 1, VOLUME = CELLS * CELLS * CELLS };
    uint8_t table[TABLE_BYTES], counts[VOLUME];
    i32 field[POINTS * POINTS * POINTS];
    struct random random = {11};
    int32_t *triangles = must_alloc(VOLUME * CELL_TRIANGLES_MOST * TRIANGLE_BYTES);
    (void)state;
    isosurface_tables(table);
    for (int times = 0; times < 50; times++) {
        size_t count = 0;
        for (int i = 0; i < POINTS * POINTS * POINTS; i++) {
            const int x = i % POINTS, y = i / POINTS % POINTS, z = i / POINTS / POINTS;
            const bool border = !x || !y || !z || x == CELLS || y == CELLS || z == CELLS;
            field[i] = border ? -1 : (i32)random_below(&random, 5) - 2;
        }
        for (int cell = 0; cell < VOLUME; cell++) {
            count_item(cell, field, table, counts, CELLS);
            emit_cell(triangles + TRIANGLE_WORDS * count, field, table, 0, 1, CELLS, (u32)cell);
            count += counts[cell];
        }
        assert_true(count > 0);
        assert_int_equal(isosurface_measure(triangles, count).open_edges, 0);
    }
    free(triangles);
}

/* ---- what is wrong is found ---- */

static uint8_t *case_with_two(uint8_t *table)
{
    uint8_t *row = table + 24;
    while (row[0] != 2)
        row += 16;
    return row;
}

static void turn_one(uint8_t *table)
{
    uint8_t *row = case_with_two(table), corner[2];
    memcpy(corner, row + 3, 2);
    memcpy(row + 3, row + 5, 2);
    memcpy(row + 5, corner, 2);
}

static void lose_one(uint8_t *table)
{
    case_with_two(table)[0] = 1;
}

static void turn_all(uint8_t *table)
{
    for (unsigned row = 0; row < 96; row++)
        for (unsigned t = 0; t < 2; t++) {
            uint8_t *corners = table + 24 + 16 * row + 1 + 6 * t, corner[2];
            memcpy(corner, corners + 2, 2);
            memcpy(corners + 2, corners + 4, 2);
            memcpy(corners + 4, corner, 2);
        }
}

static void move_a_corner(uint8_t *table)
{
    uint8_t *row = case_with_two(table);
    memcpy(row + 3, row + 1, 2); /* two corners on one edge */
}

static void swap_tetrahedra(uint8_t *table)
{
    uint8_t corners[4];
    memcpy(corners, table, 4);
    memcpy(table, table + 4, 4);
    memcpy(table + 4, corners, 4);
}

static void broken_tables(void **state)
{
    static const struct {
        void (*spoil)(uint8_t *table);
        const char *message;
    } cases[] = {{turn_one, "one triangle on each side"},
                 {lose_one, "one triangle on each side"},
                 {turn_all, "are off by"},
                 {move_a_corner, "one triangle on each side"},
                 {swap_tetrahedra, "one triangle on each side"}};
    struct device *device = host();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ball ball = make_ball(device, isosurface_find_method("worst"), cases[i].spoil);
        struct error error = {0};
        assert_int_equal(isosurface_check_ball(ball.triangles, ball.count, CELLS, &error),
                         ERR_WRONG);
        if (!strstr(error.text, cases[i].message))
            fail_msg("'%s' lacks '%s'", error.text, cases[i].message);
        free_ball(&ball);
    }
    device->ops->close(device);
}

/* Twice the same closed surface is closed, but no ball. */
static void two_balls(void **state)
{
    struct device *device = host();
    struct ball ball = make_ball(device, isosurface_find_method("batch"), NULL);
    struct error error = {0};
    int32_t *twice = must_alloc(2 * ball.count * TRIANGLE_BYTES);
    (void)state;
    for (size_t i = 0; i < ball.count * TRIANGLE_WORDS; i++) {
        twice[i] = ball.triangles[i];
        twice[ball.count * TRIANGLE_WORDS + i] =
            ball.triangles[i] + (i % 3 == 0 ? 100 * CELL_SCALE : 0);
    }
    assert_int_equal(isosurface_check_ball(twice, 2 * ball.count, CELLS, &error), ERR_WRONG);
    assert_non_null(strstr(error.text, "is 4, not 2"));
    free(twice);
    free_ball(&ball);
    device->ops->close(device);
}

static void hash_knows_triangles(void **state)
{
    const int32_t a[] = {0, 0, 0, 256, 0, 0, 0, 256, 0, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int32_t turned[] = {7, 8, 9, 10, 11, 12, 13, 14, 15, 256, 0, 0, 0, 256, 0, 0, 0, 0};
    const int32_t mirrored[] = {0, 0, 0, 0, 256, 0, 256, 0, 0, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    (void)state;
    assert_int_equal(isosurface_hash(a, 2),
                     isosurface_hash(turned, 2)); /* order and first corner */
    assert_int_not_equal(isosurface_hash(a, 2), isosurface_hash(mirrored, 2));
    assert_int_not_equal(isosurface_hash(a, 2), isosurface_hash(a, 1));
}

/* ---- the experiment ---- */

static int run_row(const char *spec, const char *method, uint64_t capacity_bytes,
                   struct experiment_record *record, struct error *error)
{
    struct device *device = host();
    const struct experiment *e;
    struct experiment_settings settings = {
        .strategies = "pool", .seed = 7, .capacity_bytes = capacity_bytes};
    struct experiment_plan plan = {0};
    void *state;
    int code = ERR_NOT_FOUND;
    assert_int_equal(experiment_parse(spec, &e, &settings.options, error), 0);
    assert_int_equal(e->plan(&settings, &plan, error), 0);
    assert_int_equal(e->open(device, &settings, &state, error), 0);
    *record = (struct experiment_record){0};
    for (size_t i = 0; i < plan.count; i++)
        if (strcmp(plan.rows[i].word[0], method) == 0)
            code = e->measure(state, &plan.rows[i], record, error);
    e->close(state);
    experiment_plan_free(&plan);
    device->ops->close(device);
    return code;
}

/* The same answer in every method, with every chunk compared with the host's. */
static void methods_agree(void **state)
{
    char digest[17] = "";
    (void)state;
    for (const struct isosurface_method *const *method = isosurface_methods; *method; method++) {
        struct experiment_record record;
        struct error error = {0};
        if (run_row("isosurface:cells=5:window=2:frames=5:checked=1000", (*method)->name, 0,
                    &record, &error))
            fail_msg("%s: %s", (*method)->name, error.text);
        if (*digest)
            assert_string_equal(record.digest, digest);
        strcpy(digest, record.digest);
        experiment_record_free(&record);
    }
}

static void what_does_not_fit(void **state)
{
    static const struct {
        const char *spec, *method;
        uint64_t capacity_bytes;
        int code;
        const char *message;
    } cases[] = {
        {"isosurface:heap=4KiB", "heap", 0, ERR_OOM, "give the option heap more"},
        {"isosurface:cells=64:window=12:frames=1:checked=0", "worst", 1 << 30, ERR_UNSUPPORTED,
         "the worst case is"},
        {"isosurface", "worst", 65536, ERR_UNSUPPORTED, "the worst case is"},
        {"isosurface", "scratch", 65536, ERR_UNSUPPORTED, "the worst case is"},
        {"isosurface", "readback", 4096, ERR_OOM, ""},
        {"isosurface", "batch", 4096, ERR_OOM, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct experiment_record record;
        struct error error = {0};
        assert_int_equal(
            run_row(cases[i].spec, cases[i].method, cases[i].capacity_bytes, &record, &error),
            cases[i].code);
        if (!strstr(error.text, cases[i].message))
            fail_msg("'%s' lacks '%s'", error.text, cases[i].message);
        experiment_record_free(&record);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_whole),     cmocka_unit_test(a_ball_in_every_method),
        cmocka_unit_test(broken_tables),        cmocka_unit_test(two_balls),
        cmocka_unit_test(hash_knows_triangles), cmocka_unit_test(methods_agree),
        cmocka_unit_test(what_does_not_fit),    cmocka_unit_test(points_on_the_surface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
