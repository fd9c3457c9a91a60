/* Compares published peaks with those of our programs, by dry runs: no device is used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/plan/published.h"
#include "tests/base/golden.h"

/* ---- the thesis's table --------------------------------------------------------------------- */

static void read_table(struct published_table *table, bool counted)
{
    struct error error = {0};
    if (published_read(GAMUT_ROOT "/workloads/thesis/appendix_b.csv", table, &error) ||
        (counted && published_count(table, 0, &error)))
        fail_msg("%s", error.text);
}

static const char *text_of(const struct published_row *row, enum published_text t)
{
    return row->text[t];
}

static const struct published_row *find_row(const struct published_table *table,
                                            const char *program, const char *dataset,
                                            const char *variant)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct published_row *row = &table->rows[i];
        if (strcmp(text_of(row, PUBLISHED_PROGRAM), program) == 0 &&
            strcmp(text_of(row, PUBLISHED_DATASET), dataset) == 0 &&
            strcmp(text_of(row, PUBLISHED_VARIANT), variant) == 0)
            return row;
    }
    fail_msg("appendix_b.csv has no row %s %s %s", program, dataset, variant);
    return NULL;
}

/* No program of ours needs more than was published, in any of the three ways. */
static void test_at_most_published(void **state)
{
    (void)state;
    struct published_table table;
    unsigned rows = 0, wrong = 0;
    read_table(&table, true);
    for (size_t i = 0; i < table.count; i++) {
        const struct published_row *row = &table.rows[i];
        rows += row->has_fun;
        for (int v = 0; v < VERDICTS; v++) {
            if (strcmp(published_verdict(row, (enum published_verdict)v), "more") != 0)
                continue;
            print_error("line %u: %s %s: before %llu, after %llu, best %llu\n", row->line,
                        text_of(row, PUBLISHED_FUN), text_of(row, PUBLISHED_FUN_DATASET),
                        (unsigned long long)row->ours[OURS_BEFORE],
                        (unsigned long long)row->ours[OURS_AFTER],
                        (unsigned long long)row->ours[OURS_BEST]);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
    assert_true(rows >= 41);
    published_free(&table);
}

/* These have the published arrays, all of them: fewer bytes before merging would be another
 * program.
 */
static void test_before_to_the_byte(void **state)
{
    (void)state;
    static const struct {
        const char *program, *dataset, *variant;
        uint64_t before;
    } cases[] = {
        {"canny", "256", "cpu", 2380496},
        {"canny", "512", "cpu", 9502276},
        {"canny", "512", "gpu", 10551876},
        {"series", "10000", "cpu", 320000},
        {"series", "1000000", "gpu", 32000000},
        {"nbody", "1000", "cpu", 112000},
        {"nbody", "100000", "gpu", 11200000},
        {"radix_sort_blelloch", "10000", "cpu", 320000},
        {"radix_sort_blelloch", "10000", "gpu", 400640},
        {"radix_sort_blelloch", "1000000", "gpu", 40002048},
        {"backprop", "medium", "cpu", 209715976},
        {"hotspot", "64", "both", 65536},
        {"hotspot", "512", "both", 4194304},
        {"hotspot", "1024", "both", 16777216},
        {"stencil", "small", "both", 6307840},
        {"stencil", "default", "both", 201457664},
        {"srad", "502x458", "cpu", 8506892},
        {"crypt", "1000000", "cpu", 3000208},
        {"crypt", "1000000", "gpu", 7003152},
        {"cfd", "97046", "cpu", 22514692},
        {"cfd", "97046", "gpu", 28356172},
        {"cfd", "193474", "cpu", 44885988},
        {"kmeans", "204800", "gpu", 249633380},
        {"LocVolCalib", "small", "gpu", 13118864},
        {"LocVolCalib", "medium", "gpu", 104998736},
    };
    /* Merged by the thesis's rules alone, these need the published bytes as well. */
    static const char *const merged[][3] = {
        {"canny", "512", "gpu"},
        {"series", "1000000", "gpu"},
        {"radix_sort_blelloch", "10000", "cpu"},
        {"backprop", "medium", "cpu"},
        {"stencil", "default", "both"},
    };
    struct published_table table;
    read_table(&table, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct published_row *row =
            find_row(&table, cases[i].program, cases[i].dataset, cases[i].variant);
        assert_int_equal(row->bytes[PUBLISHED_BEFORE], cases[i].before);
        assert_int_equal(row->ours[OURS_BEFORE], cases[i].before);
    }
    for (size_t i = 0; i < sizeof merged / sizeof *merged; i++) {
        const struct published_row *row =
            find_row(&table, merged[i][0], merged[i][1], merged[i][2]);
        assert_int_equal(row->ours[OURS_AFTER], row->bytes[PUBLISHED_AFTER]);
    }
    published_free(&table);
}

/* The least that anyone reached or derived, which `best` is to reach. */
static void test_best(void **state)
{
    (void)state;
    static const struct {
        const char *program, *dataset, *variant;
        uint64_t at_most;
    } cases[] = {
        {"canny", "512", "cpu", 3210820},         {"canny", "512", "gpu", 3211844},
        {"series", "10000", "cpu", 160000},       {"nbody", "1000", "gpu", 100000},
        {"backprop", "medium", "gpu", 205521212}, {"crypt", "1000000", "gpu", 4001680},
        {"kmeans", "204800", "gpu", 178526820},   {"LocVolCalib", "medium", "gpu", 54529360},
    };
    struct published_table table;
    read_table(&table, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct published_row *row =
            find_row(&table, cases[i].program, cases[i].dataset, cases[i].variant);
        assert_in_range(row->ours[OURS_BEST], 1, cases[i].at_most);
        assert_true(row->ours[OURS_BEST] <= row->ours[OURS_PLAN]);
        assert_true(row->ours[OURS_BEST] <= row->ours[OURS_AS_WRITTEN]);
    }
    published_free(&table);
}

/* ---- other tables --------------------------------------------------------------------------- */

#define HEADER                                                                                     \
    "variant,program,dataset,before_bytes,after_bytes,bound_before_bytes,bound_after_bytes,fun,"   \
    "fun_dataset,fun_values,remark\n"

static int read_text(const char *text, struct published_table *table, struct error *error)
{
    char path[] = "/tmp/test_published_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    int code = published_read(path, table, error);
    if (!code) {
        code = published_count(table, 0, error);
        if (code)
            published_free(table);
    }
    unlink(path);
    return code;
}

/* series makes 32 n bytes as it is written, and 16 n coalesced; the stencil four grids. */
static void test_verdicts(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        const char *verdict[VERDICTS];
    } cases[] = {
        {"gpu,a,b,320,160,,,series,thesis,n=10,x\r\n", {"equal", "equal", "equal"}},
        {"gpu,a,b,319,161,,,series,thesis,n=10,x\n", {"more", "fewer", "fewer"}},
        {"gpu,a,b,321,159,,,series,thesis,n=10,x", {"fewer", "more", "more"}},
        {"gpu,a,b,,160,150,170,series,thesis,n=10,x", {"", "equal", "more"}},
        {"gpu,a,b,65536,65536,,,stencil_hoisted,smoke,rows=64;cols=64,x",
         {"equal", "equal", "fewer"}},
        {"gpu,a,b,320,160,,,,,,x", {"", "", ""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        struct published_table table;
        struct error error = {0};
        snprintf(text, sizeof text, HEADER "%s", cases[i].row);
        assert_int_equal(read_text(text, &table, &error), 0);
        assert_int_equal(table.count, 1);
        for (int v = 0; v < VERDICTS; v++)
            assert_string_equal(published_verdict(&table.rows[0], (enum published_verdict)v),
                                cases[i].verdict[v]);
        published_free(&table);
    }
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        const char *message;
    } cases[] = {
        {"", ERR_PARSE, "there is nothing"},
        {"program,dataset\n", ERR_PARSE, ":1: there is no column 'variant'"},
        {HEADER "gpu,a,b,1,1\n", ERR_PARSE, ":2: there are 5 cells, expected 11"},
        {HEADER "gpu,a,b,1k,1,,,,,,\n", ERR_PARSE, ":2: before_bytes is '1k'"},
        {HEADER "\ngpu,a,b,1,1,,,series,,,\n", ERR_PARSE, ":3: fun and fun_dataset go together"},
        {HEADER "gpu,a,b,1,1,,,sereis,thesis,,\n", ERR_USAGE, "did you mean series?"},
        {HEADER "gpu,a,b,1,1,,,series,tesis,,\n", ERR_USAGE, ":2: series has no dataset 'tesis'"},
        {HEADER "gpu,a,b,1,1,,,series,thesis,m=1,\n", ERR_USAGE, "series has no scalar 'm'"},
        /* What the program reads is not given: it is that of a run on the host. */
        {HEADER "gpu,a,b,1,1,,,canny_cpu,small,,\n", 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct published_table table;
        struct error error = {0};
        assert_int_equal(read_text(cases[i].text, &table, &error), cases[i].code);
        if (!cases[i].code)
            published_free(&table);
        if (!strstr(error.text, cases[i].message))
            fail_msg("expected \"%s\" in: %s", cases[i].message, error.text);
    }
    struct published_table table;
    assert_int_equal(published_read("/nowhere/at/all.csv", &table, NULL), ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_most_published),
        cmocka_unit_test(test_before_to_the_byte),
        cmocka_unit_test(test_best),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
