/* What `gamut list workloads` says of a program: sentences of its file's comments. */
#include <stdio.h>
#include <string.h>

#include "run/select/catalogue.h"
#include "tests/base/cmocka.h"

#define ONE "fun one(n: i64) { let a: [n]i32 = iota in a }\n"
#define TWO "fun two(n: i64) { let b: [n]i32 = iota in b }\n"

static void a_program_says_what_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned fun;
        const char *about;
    } table[] = {
        {"-- Counts up. Nothing else.\n" ONE, 0, "Counts up."},
        {"-- Counts up\n--   in steps of 1.5 to version 2.0,\n-- that is all. More.\n" ONE, 0,
         "Counts up in steps of 1.5 to version 2.0, that is all."},
        {"-- A title\n--\n-- Then more.\n" ONE, 0, "A title"},
        {"-- Counts up.\n\n-- From 0.\n" ONE, 0, "Counts up."},
        {"-- Counts up.\n\n-- From 0.\n" ONE "-- Again. And again.\n" TWO, 0, "Counts up. From 0."},
        {"-- Counts up.\n\n-- From 0.\n" ONE "-- Again. And again.\n" TWO, 1, "Counts up. Again."},
        {"-- Counts up.\n" ONE TWO, 0, "Counts up."},
        {"-- Counts up.\n" ONE TWO, 1, "Counts up."},
        {"\n-- From 0.\n" ONE, 0, "From 0."},
        {ONE, 0, ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct program *program;
        struct error error = {0};
        struct text about = {0};
        if (program_parse("t.mem", table[i].text, strlen(table[i].text), &program, &error))
            fail_msg("%s", error.text);
        const struct entry entry = {.program = program, .fun = &program->funs[table[i].fun]};
        catalogue_about(&entry, &about);
        assert_string_equal(about.data ? about.data : "", table[i].about);
        text_free(&about);
        program_free(program);
    }
}

/* Every program of the tree has a sentence. */
static void every_program_says_what_it_is(void **state)
{
    (void)state;
    struct catalogue catalogue;
    assert_int_equal(catalogue_open(&catalogue, NULL), 0);
    assert_true(catalogue.entry_count > 0);
    for (size_t i = 0; i < catalogue.entry_count; i++) {
        struct text about = {0};
        catalogue_about(&catalogue.entries[i], &about);
        if (about.length < 20)
            fail_msg("%s has no sentence at the top of its file", catalogue.entries[i].name);
        text_free(&about);
    }
    catalogue_close(&catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_says_what_it_is),
                                       cmocka_unit_test(every_program_says_what_it_is)};
    return cmocka_run_group_tests_name("catalogue", tests, NULL, NULL);
}
