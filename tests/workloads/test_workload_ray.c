/* The reference of the ray tracer, against pixels whose colour is known by hand. */

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_ray;

enum { SIDE = 3, PIXELS = SIDE * SIDE };

/* What the camera sees through so small an angle that all pixels have one colour. */
struct view {
    float eye[3], turn, tilt;
    int64_t limit;
    uint32_t colour;
};

static const float quarter = 1.5707964f;

static struct named_value f32_value(const char *name, float value)
{
    return (struct named_value){.name = name, .scalar.f32 = value, .array.element = ELEMENT_f32};
}

static int check(const struct view *view, uint32_t *pixels)
{
    struct named_value values[] = {{.name = "h", .scalar.i64 = SIDE},
                                   {.name = "w", .scalar.i64 = SIDE},
                                   {.name = "limit", .scalar.i64 = view->limit},
                                   f32_value("time", 0),
                                   f32_value("view", 0.01f),
                                   f32_value("eye_x", view->eye[0]),
                                   f32_value("eye_y", view->eye[1]),
                                   f32_value("eye_z", view->eye[2]),
                                   f32_value("turn", view->turn),
                                   f32_value("tilt", view->tilt)};
    struct arguments arguments = {
        .fun = "ray", .dataset = "test", .count = sizeof values / sizeof *values, .values = values};
    struct host_array picture = {
        .element = ELEMENT_u32, .rank = 2, .shape = {SIDE, SIDE}, .count = PIXELS, .data = pixels};
    struct error error;
    double worst;
    return workload_ray.check(&arguments, &picture, 1, &worst, &error);
}

/* The answer is right, and wrong with two levels more or less in one channel of one pixel, or with
 * another opacity. */
static void assert_exactly_right(const struct view *view)
{
    uint32_t pixels[PIXELS];
    for (int i = 0; i < PIXELS; i++)
        pixels[i] = view->colour;
    assert_int_equal(check(view, pixels), 0);
    for (int i = 0; i < PIXELS; i++)
        for (int shift = 0; shift < 32; shift += 8) {
            uint32_t right = pixels[i], level = right >> shift & 255;
            pixels[i] += (level < 2 ? 2U : -2U) << shift;
            assert_int_equal(check(view, pixels), ERR_WRONG);
            pixels[i] = right;
        }
}

static void known_pixels(void **state)
{
    (void)state;
    static const struct view views[] = {
        /* No ray at all, and one into the sky. */
        {{0, 0, -6}, quarter, 0, 0, 0xff000000},
        {{0, 0, -6}, quarter, 1.2f, 4, 0xff334d80},
        /* The large sphere from the front: its normal is (0, 0, -1), the light's direction
         * (4, 6, -2) / sqrt(56): 0.25 * (0.25 + 0.75 * 0.267) * 0.9 = 0.101. Its mirror adds 0.75
         * of the sky, for nothing stands behind the camera. */
        {{0, 0, -6}, quarter, 0, 1, 0xff1a1a1a},
        {{0, 0, -6}, quarter, 0, 4, 0xff405379},
        /* A light tile and a dark one from above. The light's direction has 0.4476 and 0.4369
         * upwards: 0.75 * (0.25 + 0.75 * 0.4476) * 0.8 = 0.351. */
        {{10.5f, 3, 10.5f}, quarter, -quarter, 1, 0xff5a5a5a},
        {{11.5f, 3, 10.5f}, quarter, -quarter, 1, 0xff160b0b},
        /* In the shadow of the large sphere: a dark tile has 0.75 * 0.25 * 0.2 = 0.0375 of
         * red. */
        {{-0.9f, -1, 0.6f}, quarter, -quarter, 1, 0xff0a0505},
    };
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        assert_exactly_right(&views[i]);
}

/* Single precision may see either of two tiles that meet in a pixel, but no mean of them. */
static void edges_may_be_either(void **state)
{
    (void)state;
    static const uint32_t light = 0xff595959, dark = 0xff160b0b;
    int right_sides = 0;
    struct view view = {{11, 3, 10.5f}, quarter, -quarter, 1, 0};
    for (int dark_column = 0; dark_column < SIDE; dark_column += SIDE - 1) {
        uint32_t pixels[PIXELS];
        for (int i = 0; i < PIXELS; i++)
            pixels[i] = i % SIDE == dark_column ? dark : light;
        int code = check(&view, pixels);
        right_sides += code == 0;
        for (int row = 0; row < SIDE; row++)
            pixels[SIDE * row + 1] = dark;
        assert_int_equal(check(&view, pixels),
                         code); /* right only if dark tiles lie on that side */
        for (int row = 0; row < SIDE; row++)
            pixels[SIDE * row + 1] = 0xff373232;
        assert_int_equal(check(&view, pixels), ERR_WRONG);
    }
    assert_int_equal(right_sides, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_pixels),
        cmocka_unit_test(edges_may_be_either),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
