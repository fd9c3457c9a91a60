/* The progress line's text: a position and an honest estimate. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/rounds/progress.h"
#include "tests/base/cmocka.h"

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
    progress_text(&progress, &at, &key, 110 * second, &text);
    assert_string_equal(text.data, "round 3/10  case 5/8  ETA 00:30  pool blur/small on host");
    text_free(&text);
    at.failed = 1;
    progress_text(&progress, &at, &key, 110 * second, &text);
    assert_non_null(strstr(text.data, "host  1 failed"));
    text_free(&text);
}

static void the_first_round_does_not_count(void **state)
{
    struct progress progress = {.rounds = 3, .since_ns = 0};
    struct items_state at = {.in_round = 8, .done = 0, .left = 24};
    struct text text = {0};
    (void)state;
    progress_text(&progress, &at, &key, second, &text);
    assert_non_null(strstr(text.data, "ETA --:--"));
    text_free(&text);
    at.done = 8;
    at.left = 16;
    progress_round(&progress, &at); /* a slow one: the clock starts anew */
    at.done = 9;
    at.left = 15;
    progress_text(&progress, &at, &key, progress.since_ns + 2 * second, &text);
    assert_non_null(strstr(text.data, "ETA 00:30"));
    text_free(&text);
}

/* What a plain run prints for one case that ends, and one that runs on. */
static void a_log_has_a_line_every_ten_seconds(void **state)
{
    struct sample samples[] = {{.wall_ns = 3000000}, {.wall_ns = 2000000}, {.wall_ns = 9000000}};
    const struct case_round round = {
        .key = key, .status = CASE_ok, .sample_count = 3, .samples = samples};
    const struct case_round late = {.key = key, .status = CASE_timeout};
    const uint64_t now = clock_ns();
    const struct {
        uint64_t told_before, runs_for; /* in seconds; 0: never */
        const struct case_round *ended; /* NULL: the case still runs */
        const char *line;
    } table[] = {
        {0, 0, &round, "[ 3/10] case 5/8  ETA 00:30  pool blur/small on host: 3.00 ms\n"},
        {3, 0, &round, ""},
        {11, 0, &round, "[ 3/10] case 5/8  ETA 00:30  pool blur/small on host: 3.00 ms\n"},
        {0, 0, &late, ""}, /* the reason is printed elsewhere */
        {0, 3, NULL, ""},
        {0, 12, NULL, "[ 3/10] case 5/8  ETA 00:30  pool blur/small on host: runs for 00:12\n"},
        {3, 12, NULL, ""},
        {11, 22, NULL, "[ 3/10] case 5/8  ETA 00:30  pool blur/small on host: runs for 00:22\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int plain = 0; plain < 2; plain++) {
            char *text;
            size_t length;
            struct progress progress = {
                .plain = plain,
                .rounds = 10,
                .since_ns = now - 10 * second,
                .told_ns = table[i].told_before ? now - table[i].told_before * second : 0,
                .at_done = 20,
                .at_since_ns = table[i].runs_for ? now - table[i].runs_for * second : 0};
            const struct items_state at = {
                .round = 2, .position = 4, .in_round = 8, .done = 20, .left = 60};
            progress.line.out = open_memstream(&text, &length);
            if (table[i].ended)
                progress_case(&progress, &at, table[i].ended);
            else
                progress_working(&progress, &at, &key);
            fclose(progress.line.out);
            assert_string_equal(text, plain ? table[i].line : "");
            free(text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read_like_a_clock),
        cmocka_unit_test(the_line_says_where_the_run_is),
        cmocka_unit_test(the_first_round_does_not_count),
        cmocka_unit_test(a_log_has_a_line_every_ten_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
