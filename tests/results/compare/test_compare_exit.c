/* The exit codes of a comparison, as one table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/commands.h"
#include "tests/results/compare/compare_fixture.h"
#include "base/tree.h"

/* The whole table: what happened, the verdict, the exit code without and with --strict. Code 2 is
 * that of files and arguments, which tests/cli/test_cli_compare.sh has. */
static void exit_codes(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct spec base, fresh;
        const char *gates; /* instead of the default ones */
        bool force;
        const char *verdict;
        int code, strict_code;
    } table[] = {
        {"nothing changed", {0}, {0}, NULL, false, "ok", 0, 0},
        {"5 % slower", {0}, {.wall_ns = 1050000}, NULL, false, "regression", 1, 1},
        {"5 % faster", {.wall_ns = 1050000}, {0}, NULL, false, "ok", 0, 0},
        {"1.5 % slower is within 2 %", {0}, {.wall_ns = 1015000}, NULL, false, "ok", 0, 0},
        {"but not within 1 %", {0}, {.wall_ns = 1015000}, "wall_ns:1%", false, "regression", 1, 1},
        {"one byte more", {0}, {.reserved_bytes = (64 << 20) + 1}, NULL, false, "regression", 1, 1},
        {"one byte less", {.reserved_bytes = (64 << 20) + 1}, {0}, NULL, false, "ok", 0, 0},
        {"4 KiB more of 4 KiB",
         {0},
         {.reserved_bytes = (64 << 20) + 4096},
         "peak_reserved_bytes:4KiB",
         false,
         "ok",
         0,
         0},
        {"4 KiB + 1 more of 4 KiB",
         {0},
         {.reserved_bytes = (64 << 20) + 4097},
         "peak_reserved_bytes:4KiB",
         false,
         "regression",
         1,
         1},
        {"2 % more of 2 %",
         {.reserved_bytes = 100},
         {.reserved_bytes = 102},
         "peak_reserved_bytes:2%",
         false,
         "ok",
         0,
         0},
        {"3 % more of 2 %",
         {.reserved_bytes = 100},
         {.reserved_bytes = 103},
         "peak_reserved_bytes:2%",
         false,
         "regression",
         1,
         1},
        {"not gated",
         {0},
         {.wall_ns = 2000000, .reserved_bytes = 1 << 30},
         "none",
         false,
         "ok",
         0,
         0},
        {"fewer hits have no gate", {.hit_count = 5}, {.hit_count = 4}, NULL, false, "ok", 0, 0},
        {"unless one is given",
         {.hit_count = 5},
         {.hit_count = 4},
         "hit_count:0",
         false,
         "regression",
         1,
         1},
        {"2 of 100 hits fewer are 2 %",
         {.hit_count = 100},
         {.hit_count = 98},
         "hit_count:2%",
         false,
         "ok",
         0,
         0},
        {"3 are not",
         {.hit_count = 100},
         {.hit_count = 97},
         "hit_count:2%",
         false,
         "regression",
         1,
         1},
        {"more hits", {.hit_count = 4}, {.hit_count = 5}, "hit_count:0", false, "ok", 0, 0},
        {"noise",
         {.spread = 300},
         {.spread = 300, .wall_ns = 1020000},
         NULL,
         false,
         "unsure",
         0,
         5},
        {"too few rounds",
         {.rounds = 5},
         {.rounds = 5, .wall_ns = 2000000},
         NULL,
         false,
         "unsure",
         0,
         5},
        {"and a regression of bytes",
         {.rounds = 5},
         {.rounds = 5, .reserved_bytes = 1 << 30},
         NULL,
         false,
         "regression",
         1,
         1},
        {"a wrong answer", {0}, {.status = CASE_wrong}, NULL, false, "failed", 3, 3},
        {"out of memory, nothing gated", {0}, {.status = CASE_oom}, "none", false, "failed", 3, 3},
        {"wrong before", {.status = CASE_wrong}, {0}, NULL, false, "ok", 0, 0},
        {"wrong in both", {.status = CASE_wrong}, {.status = CASE_oom}, NULL, false, "ok", 0, 0},
        {"gone", {0}, {.lacks_canny = true}, NULL, false, "failed", 3, 3},
        {"left out", {0}, {.status = CASE_skipped}, NULL, false, "failed", 3, 3},
        {"new", {.lacks_canny = true}, {0}, NULL, false, "ok", 0, 0},
        {"no case in common",
         {.lacks_fft = true},
         {.lacks_canny = true},
         NULL,
         false,
         "incomparable",
         4,
         4},
        {"another driver leaves times out", {0}, {.driver = "2"}, NULL, false, "unsure", 0, 5},
        {"times of which would be slower",
         {0},
         {.driver = "2", .wall_ns = 2000000},
         NULL,
         false,
         "unsure",
         0,
         5},
        {"but not a byte more",
         {0},
         {.driver = "2", .reserved_bytes = (64 << 20) + 1},
         NULL,
         false,
         "regression",
         1,
         1},
        {"nor a wrong answer",
         {0},
         {.driver = "2", .status = CASE_wrong},
         NULL,
         false,
         "failed",
         3,
         3},
        {"and nothing else is gated",
         {0},
         {.driver = "2"},
         "wall_ns:2%",
         false,
         "incomparable",
         4,
         4},
        {"does not matter for bytes",
         {0},
         {.driver = "2", .wall_ns = 2000000},
         "exact:0",
         false,
         "ok",
         0,
         0},
        {"or is forced", {0}, {.driver = "2", .wall_ns = 2000000}, NULL, true, "regression", 1, 1},
        {"another alignment",
         {0},
         {.alignment_bytes = 512},
         "exact:0",
         false,
         "incomparable",
         4,
         4},
        {"another program is dropped",
         {0},
         {.program_digest = 7},
         "exact:0",
         false,
         "unsure",
         0,
         5},
        {"with what it would have shown",
         {0},
         {.program_digest = 7, .wall_ns = 2000000, .reserved_bytes = 1 << 30},
         NULL,
         false,
         "unsure",
         0,
         5},
        {"unless that is forced",
         {0},
         {.program_digest = 7, .reserved_bytes = 1 << 30},
         NULL,
         true,
         "regression",
         1,
         1},
        {"another program that is wrong",
         {0},
         {.program_digest = 7, .status = CASE_wrong},
         NULL,
         false,
         "failed",
         3,
         3},
        {"another program, and there is no other case",
         {.lacks_fft = true},
         {.program_digest = 7, .lacks_fft = true},
         "exact:0",
         false,
         "incomparable",
         4,
         4},
        {"all are wrong",
         {.lacks_fft = true, .status = CASE_wrong},
         {.lacks_fft = true, .status = CASE_oom},
         NULL,
         false,
         "failed",
         3,
         3},
        {"all were wrong",
         {.lacks_fft = true, .status = CASE_wrong},
         {.lacks_fft = true},
         NULL,
         false,
         "unsure",
         0,
         5},
        {"all are left out",
         {.lacks_fft = true, .status = CASE_skipped},
         {.lacks_fft = true, .status = CASE_skipped},
         NULL,
         false,
         "incomparable",
         4,
         4},
        {"an unknown program", {0}, {.program_digest = UINT64_MAX}, NULL, false, "ok", 0, 0},
        {"wrong is worse than slow",
         {0},
         {.status = CASE_wrong, .wall_ns = 2000000},
         NULL,
         false,
         "failed",
         3,
         3},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct compare_options options = default_options();
        struct error error = {0};
        options.force = table[i].force;
        if (table[i].gates) {
            options.gates = (struct gates){0};
            assert_int_equal(gates_add(&options.gates, table[i].gates, &error), 0);
        }
        json_t *base = compare_fixture(&table[i].base), *fresh = compare_fixture(&table[i].fresh),
               *one;
        size_t c;
        json_array_foreach(json_object_get(fresh, "cases"), c, one)
        {
            if (table[i].fresh.program_digest == UINT64_MAX)
                tree_put(one, "program_digest", json_null()); /* as in a file before 1.3 */
        }
        json_t *comparison = compare_roots(base, fresh, &options);
        const char *verdict = tree_get_text(comparison, "verdict");
        if (strcmp(verdict, table[i].verdict) != 0)
            fail_msg("%s: the verdict is %s, not %s", table[i].what, verdict, table[i].verdict);
        const int code = compare_exit_code(comparison, false);
        const int strict_code = compare_exit_code(comparison, true);
        if (code != table[i].code || strict_code != table[i].strict_code)
            fail_msg("%s: exit codes %d and %d", table[i].what, code, strict_code);
        json_decref(comparison);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exit_codes)};
    return cmocka_run_group_tests_name("compare_exit", tests, NULL, NULL);
}
