/* One grid as text at several widths, as Markdown and as CSV. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/show/text_grid.h"
#include "tests/base/cmocka.h"

enum { NAME, KIND, TIME, SIZE, NOTE };

static struct text_grid fixture(void)
{
    struct text_grid grid = text_grid_of("name|kind|>time^1|size^2|~note");
    grid.complete = "--format csv has all";
    struct text_grid_row *row = text_grid_add_row(&grid);
    text_grid_add(&grid, "a_long_name_of_ä");
    text_grid_add(&grid, "x");
    text_grid_add_ns(&grid, 12e6);
    text_grid_add_json(&grid, NULL);
    text_grid_add(&grid, "one two three four five six seven eight");
    row->mood_of = TIME;
    row->mood = GRID_WORSE;
    row = text_grid_add_row(&grid);
    text_grid_add(&grid, "b|c");
    text_grid_add(&grid, "x");
    row->cells = row->added;
    row->remark = "failed: out of memory\nand a second line";
    row->heading = "the next";
    return grid;
}

static void check(const struct text_grid *grid, enum table_format format,
                  const struct terminal *terminal, const char *expected)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    text_grid_print(grid, format, terminal, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void a_file_has_no_width(void **state)
{
    (void)state;
    struct text_grid grid = fixture();
    const char *expected =
        "name              kind     time  size  note\n"
        "a_long_name_of_ä  x     12.0 ms        one two three four five six seven eight\n"
        "\nthe next\n"
        "b|c               x     failed: out of memory\n";
    const struct terminal wide = {.width = 79};
    check(&grid, TABLE_TEXT, NULL, expected);
    check(&grid, TABLE_TEXT, &wide, expected);
    text_grid_free(&grid);
}

static void prose_is_folded_then_columns_are_dropped_then_names_shortened(void **state)
{
    (void)state;
    struct text_grid grid = fixture();
    const struct terminal narrower = {.width = 68}, narrow = {.width = 44}, least = {.width = 34};
    check(&grid, TABLE_TEXT, &narrower,
          "name              kind     time  size  note\n"
          "a_long_name_of_ä  x     12.0 ms        one two three four five six\n"
          "                                       seven eight\n"
          "\nthe next\n"
          "b|c               x     failed: out of memory\n");
    check(&grid, TABLE_TEXT, &narrow,
          "name              kind  note\n"
          "a_long_name_of_ä  x     one two three four\n"
          "                        five six seven eight\n"
          "\nthe next\n"
          "b|c               x     failed: out of\n"
          "                        memory\n"
          "left out for width: time, size; --format csv has all\n");
    check(&grid, TABLE_TEXT, &least,
          "name        kind  note\n"
          "a_long_na…  x     one two three\n"
          "                  four five six\n"
          "                  seven eight\n"
          "\nthe next\n"
          "b|c         x     failed: out of\n"
          "                  memory\n"
          "left out for width: time, size; --format csv has all\n");
    text_grid_free(&grid);
}

static void dropped_names_stand_above_their_rows(void **state)
{
    (void)state;
    const struct terminal narrow = {.width = 24};
    struct text_grid grid = text_grid_of("workload|device^1|>time|>base^2");
    static const char *const rows[][2] = {
        {"fft", "cuda:0"}, {"lud", "cuda:0"}, {"fft", "opencl:1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%s", rows[i][0]);
        text_grid_add(&grid, "%s", rows[i][1]);
        text_grid_add_ns(&grid, 12e6);
        text_grid_add_ns(&grid, 12e6);
    }
    check(&grid, TABLE_TEXT, &narrow,
          "workload     time\n"
          "device cuda:0:\n"
          "fft       12.0 ms\n"
          "lud       12.0 ms\n"
          "device opencl:1:\n"
          "fft       12.0 ms\n"
          "left out for width: base\n");
    text_grid_free(&grid);
}

static void colour_only_where_the_terminal_has_it(void **state)
{
    (void)state;
    struct text_grid grid = fixture();
    const struct terminal terminal = {.width = SIZE_MAX, .colour = true};
    grid.row_count = 1;
    check(&grid, TABLE_TEXT, &terminal,
          "name              kind     time  size  note\n"
          "a_long_name_of_ä  x     " TERMINAL_RED "12.0 ms" TERMINAL_PLAIN
          "        one two three four five six seven "
          "eight\n");
    text_grid_free(&grid);
}

static void markdown_and_csv(void **state)
{
    (void)state;
    struct text_grid grid = fixture();
    grid.column[NOTE].hidden = true;
    check(&grid, TABLE_MARKDOWN, NULL,
          "| name | kind | time | size |\n"
          "| :-- | :-- | --: | :-- |\n"
          "| a_long_name_of_ä | x | 12.0 ms |  |\n"
          "| b\\|c | x | failed: out of memory |\n");
    grid.row[1].cell[NOTE] = "a \"b\", c";
    check(&grid, TABLE_CSV, NULL,
          "name,kind,time,size,note\n"
          "a_long_name_of_ä,x,12.0 ms,,one two three four five six seven eight\n"
          "b|c,x,-,,\"a \"\"b\"\", c\"\n");
    text_grid_free(&grid);
}

static void what_is_the_same_in_all_rows(void **state)
{
    (void)state;
    struct text_grid grid = fixture();
    assert_string_equal(text_grid_constant(&grid, KIND), "x");
    assert_null(text_grid_constant(&grid, TIME)); /* "-" is not 12 ms */
    assert_string_equal(text_grid_constant(&grid, SIZE), "");
    assert_null(text_grid_constant(&grid, NAME));
    text_grid_free(&grid);
}

static void long_lines_are_folded_between_words(void **state)
{
    (void)state;
    static const struct {
        const char *line, *expected;
        size_t width;
    } cases[] = {
        {"one two three", "one two\n  three", 8},
        {"one two three", "one two three", 13},
        {"one two three", "one\n  two\n  three", 6},
        {"a_word_that_is_too_long for it", "a_word_that_is_too_long\n  for it", 10},
        {"ä ä ä", "ä ä ä", 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        terminal_fold(cases[i].line, strlen(cases[i].line), 0, 2, cases[i].width, out);
        fclose(out);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

static void texts_cannot_control_the_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"ä → 𝄞\ttab\n", "ä → 𝄞\ttab\n"},
        {"\033[31mred\033]0;title\a", "?[31mred?]0;title?"},
        {"a\rb\bc\177d", "a?b?c?d"},
        {"\302\233"
         "31m",
         "?31m"},                        /* as one character of C1 */
        {"\x9b\xc0\x9b\xe2\x80", "???"}, /* as bytes that are no UTF-8, and a longer form of ESC */
        {"a\u202eb\u2066c", "a?b?c"},
        {TERMINAL_RED "red" TERMINAL_PLAIN, "?red?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        terminal_print(out, "%s", cases[i].text);
        fclose(out);
        assert_string_equal(text, cases[i].shown);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_no_width),
        cmocka_unit_test(prose_is_folded_then_columns_are_dropped_then_names_shortened),
        cmocka_unit_test(dropped_names_stand_above_their_rows),
        cmocka_unit_test(colour_only_where_the_terminal_has_it),
        cmocka_unit_test(markdown_and_csv),
        cmocka_unit_test(what_is_the_same_in_all_rows),
        cmocka_unit_test(long_lines_are_folded_between_words),
        cmocka_unit_test(texts_cannot_control_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
