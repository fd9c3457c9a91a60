/* Comma lists, and names that do not exist. */
#include <string.h>

#include "base/text.h"
#include "tests/base/cmocka.h"

static void items_come_in_order(void **state)
{
    static const struct {
        const char *list, *items; /* with bars between them */
    } cases[] = {
        {"", ""}, {"a", "a|"}, {"a,b", "a|b|"}, {"a,,b", "a||b|"}, {"abcdefghi,b", "abcdefg|b|"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *list = cases[i].list;
        char item[8];
        struct text items = {0};
        while (text_next_item(&list, item, sizeof item))
            text_add(&items, "%s|", item);
        assert_string_equal(items.data ? items.data : "", cases[i].items);
        assert_string_equal(list, "");
        text_free(&items);
    }
}

static const char *name_at(void *names, size_t i)
{
    return ((const char *const *)names)[i];
}

static void an_unknown_name_has_a_nearest_one(void **state)
{
    static const char *const names[] = {"pool", "tlsf", NULL}, *const none[] = {NULL};
    struct error error = {0};
    (void)state;
    assert_int_equal(
        text_unknown(&error, "pol", name_at, (void *)names, "there is no %s", "strategy"),
        ERR_USAGE);
    assert_string_equal(error.text,
                        "there is no strategy 'pol' (did you mean pool?); there are: pool, tlsf");
    text_unknown(&error, "quite", name_at, (void *)names, "%s has no scalar", "fft");
    assert_string_equal(error.text, "fft has no scalar 'quite'; there are: pool, tlsf");
    text_unknown(&error, "x", name_at, (void *)none, "there is no thing");
    assert_string_equal(error.text, "there is no thing 'x'; there are: none");
}

static void the_nearest_name_has_the_fewest_mistakes(void **state)
{
    static const char *const names[] = {"run", "report", "man", NULL};
    static const struct {
        const char *word, *nearest;
    } cases[] = {{"rnu", "run"}, {"rn", "run"}, {"erport", "report"}, {"rep", "report"},
                 {"mna", "man"}, {"ma", "man"}, {"reprot", "report"}, {"xyz", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int nearest = text_nearest(cases[i].word, name_at, (void *)names);
        if (cases[i].nearest)
            assert_string_equal(names[nearest], cases[i].nearest);
        else
            assert_int_equal(nearest, -1);
    }
}

static void sizes_have_units_in_any_case(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: no size */
    } cases[] = {{"64MiB", 64 << 20}, {"64mib", 64 << 20}, {"64M", 64 << 20}, {"64m", 64 << 20},
                 {"64MB", 64000000},  {"64mb", 64000000},  {"4k", 4096},      {"12B", 12},
                 {"12b", 12},         {"64mibs", 0},       {"64i", 0},        {"64bm", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = 0;
        assert_int_equal(text_to_bytes(cases[i].text, &bytes), cases[i].bytes != 0);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void microseconds_have_one_name(void **state)
{
    char text[32];
    uint64_t ns = 0;
    (void)state;
    assert_string_equal(text_ns(text, 2500), "2.50 µs");
    assert_true(text_to_ns("20µs", &ns) && ns == 20000);
    assert_true(text_to_ns("20us", &ns) && ns == 20000);
    assert_true(text_to_ns("0", &ns) && ns == 0);
    assert_false(text_to_ns("5", &ns));
}

static void shares_have_no_exponents(void **state)
{
    static const struct {
        double percent;
        const char *text;
    } cases[] = {{0, "0 %"},      {1e-5, "<0.001 %"}, {0.0012, "0.0012 %"},
                 {4.24, "4.2 %"}, {9.99, "10 %"},     {12.4, "12 %"},
                 {99.6, "100 %"}, {155.8, "156 %"},   {1600, "1600 %"}};
    char text[32];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_percent(text, cases[i].percent), cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_in_order),
        cmocka_unit_test(an_unknown_name_has_a_nearest_one),
        cmocka_unit_test(the_nearest_name_has_the_fewest_mistakes),
        cmocka_unit_test(sizes_have_units_in_any_case),
        cmocka_unit_test(microseconds_have_one_name),
        cmocka_unit_test(shares_have_no_exponents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
