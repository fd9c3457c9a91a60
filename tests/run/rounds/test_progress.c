/* The progress line's text: a position, an honest estimate, no more columns than there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "run/rounds/progress.h"

static const uint64_t second = 1000000000;
static const struct case_key key = {
    .workload = "blur", .dataset = "small", .strategy = "pool", .device = "host"};

static void durations_are_read_like_a_clock(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *text;
    } table[] = {{0, "00:00"},    {59, "00:59"},     {60, "01:00"},
                 {3599, "59:59"}, {3600, "1:00:00"}, {36061, "10:01:01"}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[16];
        assert_string_equal(progress_duration(text, table[i].seconds * second), table[i].text);
    }
}

static void the_line_says_where_the_run_is(void **state)
{
    struct progress progress = {.rounds = 10, .since_ns = 100 * second};
    struct items_state at = {.round = 2, .position = 4, .in_round = 8, .done = 20, .left = 60};
    struct text text = {0};
    (void)state;
    /* 20 cases took 10 seconds, so 60 more take 30. */
    progress_text(&progress, &at, &key, 110 * second, 200, &text);
    assert_string_equal(text.data, "round 3/10  case 5/8  ETA 00:30  pool blur/small on host");
    text_free(&text);
    at.failed = 1;
    progress_text(&progress, &at, &key, 110 * second, 200, &text);
    assert_non_null(strstr(text.data, "host  1 failed"));
    text_free(&text);
    progress_text(&progress, &at, &key, 110 * second, 12, &text);
    assert_string_equal(text.data, "round 3/10  ");
    text_free(&text);
}

static void the_first_round_does_not_count(void **state)
{
    struct progress progress = {.rounds = 3, .since_ns = 0};
    struct items_state at = {.in_round = 8, .done = 0, .left = 24};
    struct text text = {0};
    (void)state;
    progress_text(&progress, &at, &key, second, 200, &text);
    assert_non_null(strstr(text.data, "ETA --:--"));
    text_free(&text);
    at.done = 8;
    at.left = 16;
    progress_round(&progress, &at); /* a slow one: the clock starts anew */
    at.done = 9;
    at.left = 15;
    progress_text(&progress, &at, &key, progress.since_ns + 2 * second, 200, &text);
    assert_non_null(strstr(text.data, "ETA 00:30"));
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read_like_a_clock),
        cmocka_unit_test(the_line_says_where_the_run_is),
        cmocka_unit_test(the_first_round_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
