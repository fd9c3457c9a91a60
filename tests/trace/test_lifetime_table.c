/* The CSV of buffers and their lifetimes, read and written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "tests/base/cmocka.h"
#include "trace/lifetime_table.h"

static const struct {
    const char *text, *expected;
} csv_errors[] = {
    {"", "x.csv:1: the file is empty"},
    {"\n\r\n\n", "x.csv:3: the file is empty"},
    {"id,lower,upper\n", "x.csv:1: there is no column 'size'; expected id,lower,upper,size"},
    {"lower,upper,size\n", "x.csv:1: there is no column 'id'"},
    {"id,lower,upper,size,size\n", "x.csv:1: there are two columns 'size'"},
    {"id,lower,upper,size\n0,0,2,4\n1,5,4,4\n", "x.csv:3: upper is 4, before lower, 5"},
    {"id,lower,upper,size\n0,0,2,-4\n", "x.csv:2: size is -4; expected 0 or more"},
    {"id,lower,upper,size\n0,0,2,9223372036854775808\n",
     "x.csv:2: size is '9223372036854775808'; expected a whole number of 64 bits"},
    {"id,lower,upper,size\n0,0,2,92233720368547758070\n",
     "x.csv:2: size is '92233720368547758070'"},
    {"id,lower,upper,size\n0,0,2,9223372036854775807\n",
     "x.csv:2: sizes and alignments up to here"},
    {"id,lower,upper,size\n\n0,0,2,2000000000000000000\n1,0,2,2000000000000000000\n",
     "x.csv:4: sizes and alignments up to here"},
    {"id,lower,upper,size\n0,zero,2,4\n", "x.csv:2: lower is 'zero'; expected a whole number"},
    {"id,lower,upper,size\n0,0,2.5,4\n", "x.csv:2: upper is '2.5'; expected a whole number"},
    {"id,lower,upper,size\n0,0,,4\n", "x.csv:2: upper is ''; expected a whole number"},
    {"id,lower,upper,size\n0,-,2,4\n", "x.csv:2: lower is '-'; expected a whole number"},
    {"id,lower,upper,size\n0,0,2, 4\n", "x.csv:2: size is ' 4'; expected a whole number"},
    {"id,lower,upper,size\n0,0,2\n", "x.csv:2: there are 3 cells; expected 4"},
    {"id,lower,upper,size\n0,0,2,4,5\n", "x.csv:2: there are 5 cells; expected 4"},
    {"id,lower,upper,size\nb,0,2,4\na,0,2,4\na,0,2,4\nb,0,2,4\n",
     "x.csv:4: the id 'a' is repeated"},
    {"id,lower,upper,size,alignment\n0,0,2,4,0\n", "x.csv:2: alignment is 0; expected 1 or more"},
    {"id,lower,upper,size\n\"0,0,2,4\n", "x.csv:2: a quote has no end"},
    {"id,lower,upper,size\n\"0\"1,0,2,4\n", "x.csv:2: something follows a quoted cell"},
};

static void errors_have_a_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof csv_errors / sizeof *csv_errors; i++) {
        struct lifetime_table table;
        struct error error = {0};
        const char *text = csv_errors[i].text;
        assert_int_equal(lifetime_table_read_text("x.csv", text, strlen(text), &table, &error),
                         ERR_PARSE);
        if (strncmp(error.text, csv_errors[i].expected, strlen(csv_errors[i].expected)) != 0)
            fail_msg("'%s', expected '%s'", error.text, csv_errors[i].expected);
    }
    struct lifetime_table table;
    struct error error = {0};
    assert_int_equal(lifetime_table_read_file("/there/is/none.csv", &table, &error), ERR_IO);
    assert_non_null(strstr(error.text, "/there/is/none.csv: "));
}

static char *written(const struct lifetime_table *table, const int64_t *offset)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    lifetime_table_write(table, offset, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static const char good_csv[] = "size,id,upper,note,offset,lower,alignment\r\n"
                               "100,\"a, \"\"b\"\"\",3,large,7,-2,256\r\n"
                               "\r\n"
                               "50,c,4,,7,1,1";

static void columns_stand_in_any_order(void **state)
{
    (void)state;
    struct lifetime_table table;
    struct error error = {0};
    assert_int_equal(lifetime_table_read_text("x", good_csv, strlen(good_csv), &table, &error), 0);
    assert_int_equal(table.count, 2);
    assert_int_equal(table.buffers[0].lower, -2);
    assert_int_equal(table.buffers[0].upper, 3);
    assert_int_equal(table.buffers[0].size, 100);
    assert_int_equal(table.buffers[0].alignment, 256);
    assert_int_equal(table.buffers[1].alignment, 1);
    char *text = written(&table, (const int64_t[]){0, 100});
    assert_string_equal(text, "size,id,upper,note,lower,alignment,offset\n"
                              "100,\"a, \"\"b\"\"\",3,large,-2,256,0\n"
                              "50,c,4,,1,1,100\n");
    free(text);
    lifetime_table_free(&table);
}

/* Whatever is done to a file, the reader ends with a message that has a line, or with buffers that
 * can be written. */
static void damaged_files_are_refused_or_read(void **state)
{
    (void)state;
    static const char bytes[] = "0123456789-,\"\n\r xad\0";
    struct random r = {15};
    unsigned accepted = 0, refused = 0;
    for (unsigned i = 0; i < 5000; i++) {
        char text[sizeof good_csv];
        size_t length = sizeof good_csv - 1;
        memcpy(text, good_csv, length);
        for (uint64_t n = 1 + random_below(&r, 3); n > 0; n--) {
            const size_t at = random_below(&r, length);
            if (random_below(&r, 3)) {
                text[at] = bytes[random_below(&r, sizeof bytes - 1)];
            } else { /* leave some out */
                const size_t end = at + random_below(&r, length - at) % 9;
                memmove(text + at, text + end, length - end);
                length -= end - at;
            }
        }
        char *exact = must_alloc(length + 1); /* so that reading beyond the end is seen */
        memcpy(exact, text, length);
        struct lifetime_table table;
        struct error error = {0};
        if (lifetime_table_read_text("x.csv", exact, length, &table, &error)) {
            assert_int_equal(strncmp(error.text, "x.csv:", 6), 0);
            refused++;
        } else {
            const int64_t offset[8] = {0};
            assert_true(table.count <= 8);
            char *again = written(&table, offset);
            assert_int_not_equal(again[0], 0);
            free(again);
            lifetime_table_free(&table);
            accepted++;
        }
        free(exact);
    }
    assert_true(accepted > 500);
    assert_true(refused > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_a_line),
        cmocka_unit_test(columns_stand_in_any_order),
        cmocka_unit_test(damaged_files_are_refused_or_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
