/* Command lines and the environment, against one table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/flags.h"
#include "tests/base/cmocka.h"

static const struct flag flags[] = {
    {"list", 'l', FLAG_LIST, .fallback = "none", .help = "some names"},
    {"count", 0, FLAG_COUNT, .fallback = "10", .least = 1, .most = 100, .help = "how many"},
    {"mem-limit", 0, FLAG_BYTES, .help = "how much"},
    {"min-time", 0, FLAG_TIME, .fallback = "100ms", .least = 1000000, .help = "how long"},
    {"format", 0, FLAG_CHOICE, .fallback = "table", .choices = "table|md|csv", .help = "which"},
    {"smoke", 0, FLAG_SWITCH, .help = "or not"},
    {"out", 'o', FLAG_TEXT, .help = "where to"},
    FLAGS_END,
};
static const struct command command = {.name = "try",
                                       .summary = "a command of the test",
                                       .arguments = "FILE",
                                       .least_positionals = 0,
                                       .most_positionals = 1,
                                       .flags = flags};

/* Splits `words` at blanks and parses them. */
static int parse(const char *words, struct command_line *line, char copy[256], struct error *error)
{
    static char *argv[32]; /* values point into it for as long as the line is looked at */
    int argc = 0;
    snprintf(copy, 256, "%s", words);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    *line = (struct command_line){0};
    return flags_parse(&command, argc, argv, line, error);
}

static void values_are_read(void **state)
{
    static const struct {
        const char *words;
        const char *flag;
        bool given;
        const char *text;
        uint64_t number;
    } table[] = {
        {"", "list", false, "none", 0},
        {"", "count", false, "10", 10},
        {"", "mem-limit", false, NULL, 0},
        {"", "min-time", false, "100ms", 100000000},
        {"", "smoke", false, NULL, 0},
        {"-l a,b", "list", true, "a,b", 0},
        {"-la", "list", true, "a", 0},
        {"-l a --list b --list=c", "list", true, "a,b,c", 0},
        {"--count 7", "count", true, "7", 7},
        {"--count=7 --count=8", "count", true, "8", 8},
        {"--mem-limit 1.5MiB", "mem-limit", true, "1.5MiB", 3 << 19},
        {"--min-time 2s", "min-time", true, "2s", 2000000000},
        {"--format md", "format", true, "md", 1},
        {"--smoke", "smoke", true, "1", 1},
        {"file --out=x=y", "out", true, "x=y", 0},
        {"-o - file", "out", true, "-", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct command_line line;
        struct error error = {0};
        char copy[256];
        assert_int_equal(parse(table[i].words, &line, copy, &error), 0);
        const struct flag_value *value = flag_of(&line, table[i].flag);
        assert_int_equal(value->given, table[i].given);
        assert_int_equal(value->number, table[i].number);
        if (table[i].text)
            assert_string_equal(value->text, table[i].text);
        else
            assert_null(value->text);
        arena_free(&line.arena);
    }
}

static void mistakes_are_explained(void **state)
{
    static const struct {
        const char *words, *message;
    } table[] = {
        {"--coutn 3", "--count?"},
        {"--nothing-like-it", "--mem-limit"},
        {"-x", "no flag -x"},
        {"--count", "--count needs a value: N"},
        {"--count many", "whole number"},
        {"--count 0", "from 1 to 100"},
        {"--count 101", "from 1 to 100"},
        {"--mem-limit 3X", "a size such as"},
        {"--min-time soon", "a time with its unit, such as 150ms"},
        {"--min-time 5", "--min-time is '5', expected a time with its unit, such as 150ms"},
        {"--min-time 0", "at least 1000000 ns"},
        {"--min-time 1us", "at least 1000000 ns"},
        {"--format mdd", "did you mean md?"},
        {"--format \x01", "table|md|csv"},
        {"--smoke=1", "takes no value"},
        {"a b", "'b' is one argument too many"},
        {"-- --count --count", "'--count' is one argument too many"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct command_line line;
        struct error error = {0};
        char copy[256];
        assert_int_equal(parse(table[i].words, &line, copy, &error), ERR_USAGE);
        assert_non_null(strstr(error.text, table[i].message));
        arena_free(&line.arena);
    }
}

static void flags_exclude_each_other(void **state)
{
    struct command_line line;
    struct error error = {0};
    char copy[256];
    (void)state;
    assert_int_equal(parse("--count 3 --out f", &line, copy, &error), 0);
    assert_int_equal(flags_exclude(&line, "count", "list,smoke", &error), 0);
    assert_int_equal(flags_exclude(&line, "smoke", "count,out", &error), 0);
    assert_int_equal(flags_exclude(&line, "count", "smoke,out", &error), ERR_USAGE);
    assert_string_equal(error.text, "--count and --out exclude each other");
}

static void the_environment_stands_in_for_flags(void **state)
{
    struct command_line line;
    struct error error = {0};
    char copy[256];
    (void)state;
    setenv("GAMUT_MEM_LIMIT", "1k", 1);
    setenv("GAMUT_COUNT", "20", 1);
    setenv("GAMUT_SMOKE", "1", 1);
    setenv("GAMUT_OUT", "", 1); /* empty: as if it were not set */
    assert_int_equal(parse("--count 30", &line, copy, &error), 0);
    assert_int_equal(flag_of(&line, "mem-limit")->number, 1024);
    assert_true(flag_of(&line, "mem-limit")->given);
    assert_int_equal(flag_of(&line, "count")->number, 30);
    assert_int_equal(flag_of(&line, "smoke")->number, 1);
    assert_null(flag_of(&line, "out")->text);
    setenv("GAMUT_SMOKE", "yes", 1);
    assert_int_equal(parse("", &line, copy, &error), ERR_USAGE);
    assert_non_null(strstr(error.text, "GAMUT_SMOKE is 'yes'"));
    unsetenv("GAMUT_MEM_LIMIT");
    unsetenv("GAMUT_COUNT");
    unsetenv("GAMUT_SMOKE");
    unsetenv("GAMUT_OUT");
}

static void the_help_has_every_flag(void **state)
{
    char text[4096] = "";
    (void)state;
    FILE *out = fmemopen(text, sizeof text, "w");
    flags_help(&command, out);
    fclose(out);
    for (const struct flag *f = flags; f->name; f++) {
        assert_non_null(strstr(text, f->name));
        assert_non_null(strstr(text, f->help));
    }
    assert_non_null(strstr(text, "-l, --list LIST"));
    assert_non_null(strstr(text, "which: table|md|csv [table]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(flags_exclude_each_other),
        cmocka_unit_test(the_environment_stands_in_for_flags),
        cmocka_unit_test(the_help_has_every_flag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
