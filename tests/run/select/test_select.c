/* From lists and globs to cases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/registry.h"
#include "base/text.h"
#include "run/select/select.h"
#include "tests/base/cmocka.h"

/* Three workloads of two files; only names matter here. */
static struct dataset image_datasets[] = {{.name = "smoke"}, {.name = "small"}, {.name = "medium"}};
static struct dataset plain_datasets[] = {{.name = "tiny"}, {.name = "huge"}};
static const struct program image = {.dataset_count = 3, .datasets = image_datasets};
static const struct program plain = {.dataset_count = 2, .datasets = plain_datasets};
static struct entry entries[] = {
    {.name = "blur", .program = &image},
    {.name = "blur_twice", .program = &image},
    {.name = "sum", .program = &plain},
    {.name = "churn", .program = &plain},
};
static const struct device_info cpu = {.id = "host", .kind = DEVICE_CPU};
static const struct device_info gpu = {.id = "cuda:0", .kind = DEVICE_GPU};

static struct catalogue catalogue_of_test(void)
{
    return (struct catalogue){.entry_count = sizeof entries / sizeof *entries, .entries = entries};
}

/* The cases as "workload/dataset strategy device ...", in order. */
static char *selected(const struct select_request *request, const struct device_info *devices,
                      size_t device_count, struct error *error)
{
    struct catalogue catalogue = catalogue_of_test();
    struct selection s;
    struct text text = {0};
    int code = select_names(request, &catalogue, &s, error);
    if (!code)
        code = select_cases(&s, devices, device_count, error);
    text_add(&text, "%s", "");
    for (size_t i = 0; !code && i < s.case_count; i++) {
        const struct case_key *key = &s.cases[i];
        text_add(&text, "%s%s/%s %s %s", i ? ", " : "", key->workload, key->dataset, key->strategy,
                 key->device);
        if (strcmp(key->release, "last-use") != 0)
            text_add(&text, " %s", key->release);
        if (strcmp(key->merge, "none") != 0)
            text_add(&text, " %s", key->merge);
    }
    select_free(&s);
    return text.data;
}

static void requests_become_cases(void **state)
{
    static const struct {
        struct select_request request;
        const char *expected;
    } table[] = {
        {{.workloads = "blur", .strategies = "raw"}, "blur/small raw host"},
        {{.workloads = "sum", .strategies = "raw"}, "sum/tiny raw host"},
        {{.workloads = "blur", .strategies = "raw", .smoke = true}, "blur/smoke raw host"},
        {{.workloads = "sum", .strategies = "raw", .smoke = true}, "sum/tiny raw host"},
        {{.workloads = "blur", .strategies = "raw", .datasets = "medium,smoke"},
         "blur/medium raw host, blur/smoke raw host"},
        {{.workloads = "blur,sum", .strategies = "raw", .datasets = "sm*,huge"},
         "blur/smoke raw host, blur/small raw host, sum/huge raw host"},
        {{.workloads = "blur*", .strategies = "raw"},
         "blur/small raw host, blur_twice/small raw host"},
        {{.workloads = "blur_twice,blur*", .strategies = "raw"},
         "blur_twice/small raw host, blur/small raw host"},
        {{.strategies = "raw"},
         "blur/small raw host, blur_twice/small raw host, sum/tiny raw host"},
        {{.workloads = "all", .strategies = "null", .datasets = "tiny"},
         "sum/tiny null host, churn/tiny null host"},
        {{.workloads = "sum", .strategies = "po*,raw,pool"},
         "sum/tiny pool host, sum/tiny raw host"},
        {{.workloads = "sum", .strategies = "tagged:policy=v1|v4"},
         "sum/tiny tagged:policy=v1 host, sum/tiny tagged:policy=v4 host"},
        {{.workloads = "sum", .strategies = "tagged:policy=v1*|v4"},
         "sum/tiny tagged:policy=v1 host, sum/tiny tagged:policy=v1c host, sum/tiny "
         "tagged:policy=v4 host"},
        {{.workloads = "sum", .strategies = "raw", .releases = "all"},
         "sum/tiny raw host, sum/tiny raw host scope"},
        {{.workloads = "sum", .strategies = "raw", .merges = "best,none,be*"},
         "sum/tiny raw host best, sum/tiny raw host"},
        {{.workloads = "sum", .strategies = "raw", .merges = "coalesce*:with=views|disjoint"},
         "sum/tiny raw host coalesce:with=views|disjoint, "
         "sum/tiny raw host coalesce+reuse:with=views|disjoint"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct error error = {0};
        char *cases = selected(&table[i].request, &cpu, 1, &error);
        assert_string_equal(cases, table[i].expected);
        free(cases);
    }
}

/* The word "all": all strategies of the registry but those that measure the harness or need an
 * option, which have to be named. Without a list those of other runtimes are left out, too. */
static void without_a_list_the_usual_strategies_run(void **state)
{
    (void)state;
    struct error error = {0};
    struct text all = {0}, usual = {0};
    size_t count;
    const struct allocator_ops *const *list = allocator_list(&count);
    for (size_t i = 0; i < count; i++)
        if (!list[i]->harness_only && !list[i]->serves_plan) {
            text_add(&all, "%ssum/tiny %s host", all.length ? ", " : "", list[i]->name);
            if (!list[i]->when_named)
                text_add(&usual, "%ssum/tiny %s host", usual.length ? ", " : "", list[i]->name);
        }
    assert_non_null(strstr(all.data, "sum/tiny raw host, sum/tiny pool host"));
    assert_non_null(strstr(all.data, "sum/tiny bfc host"));
    assert_null(strstr(usual.data, "bfc"));
    assert_null(strstr(all.data, "null"));

    char *cases = selected(&(struct select_request){.workloads = "sum"}, &cpu, 1, &error);
    assert_string_equal(cases, usual.data);
    text_free(&usual);
    free(cases);
    text_add(&all, ", sum/tiny null host");
    cases = selected(&(struct select_request){.workloads = "sum", .strategies = "all,,null"}, &cpu,
                     1, &error);
    assert_string_equal(cases, all.data);
    free(cases);
    text_free(&all);
}

static void datasets_follow_the_device(void **state)
{
    const struct device_info both[] = {gpu, cpu};
    const struct select_request request = {.workloads = "blur", .strategies = "raw"};
    struct error error = {0};
    (void)state;
    char *cases = selected(&request, both, 2, &error);
    assert_string_equal(cases, "blur/medium raw cuda:0, blur/small raw host");
    free(cases);
}

static void unknown_names_are_explained(void **state)
{
    static const struct {
        struct select_request request;
        const char *nearest, *existing;
    } table[] = {
        {{.workloads = "blurr"}, "blur?", "blur, blur_twice, sum, churn"},
        {{.workloads = "x*"}, "no workload 'x*'", "sum"},
        {{.workloads = ","}, "no workload is named", ""},
        {{.strategies = "pol"}, "pool?", "raw"},
        {{.strategies = "tagged:polcy=v4"}, "policy?", "tagged"},
        {{.strategies = "tagged:policy=v9"}, "v9", "v1"},
        {{.strategies = "tagged:policy=v1|v9"}, "v9", "v1"},
        {{.strategies = "tagged:policy=w*"}, "'w*'", "v1"},
        {{.merges = "al"}, "no merge set 'al' (did you mean all?)", "none"},
        {{.merges = "coalese"}, "no merge set 'coalese' (did you mean coalesce?)", "none"},
        {{.merges = ","}, "no merge set is named", ""},
        {{.merges = "coalesce:with=view"}, "did you mean views?", "disjoint"},
        {{.merges = "coalesce:with=views|"}, "no extension of merging ''", "disjoint"},
        {{.merges = "coalesce:wiht=views"}, "'wiht=views' is no option", "with="},
        {{.releases = "scoop"}, "scope?", "last-use"},
        {{.workloads = "blur", .datasets = "smal"}, "small?", "smoke, small, medium"},
        {{.workloads = "blur", .datasets = "small,huge"}, "no dataset 'huge'", "medium"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct error error = {0};
        free(selected(&table[i].request, &cpu, 1, &error));
        assert_int_equal(error.code, ERR_USAGE);
        assert_non_null(strstr(error.text, table[i].nearest));
        assert_non_null(strstr(error.text, table[i].existing));
    }
}

static void devices_are_checked_by_their_first_word(void **state)
{
    static const struct {
        const char *list, *message;
    } table[] = {
        {"best", NULL},
        {"host,opencl:1", NULL},
        {"opencl:NVIDIA", NULL},
        {"all", NULL},
        {"*", NULL},
        {"cdua", "cuda?"},
        {"host,opncl:0", "opencl?"},
        {"", "no device is"},
        {"nvidia", "opencl:NVIDIA"},
        {"gpu", "best is a GPU where there is one"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct error error = {0};
        assert_int_equal(select_check_devices(table[i].list, &error),
                         table[i].message ? ERR_USAGE : 0);
        if (table[i].message)
            assert_non_null(strstr(error.text, table[i].message));
    }
}

static void a_file_is_a_workload(void **state)
{
    static const char program[] = "fun sum(n: i64) {\n  let y: [n]i32 = iota\n  in y\n}\n"
                                  "dataset one { n = 1; }\n";
    char path[] = "/tmp/test_select_XXXXXX.mem";
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, program, sizeof program - 1), (int)sizeof program - 1);
    close(fd);

    struct catalogue catalogue;
    struct selection s;
    struct error error = {0};
    (void)state;
    assert_int_equal(catalogue_open(&catalogue, &error), 0);
    const struct select_request request = {.workloads = path, .strategies = "raw"};
    assert_int_equal(select_names(&request, &catalogue, &s, &error), 0);
    assert_int_equal(select_cases(&s, &cpu, 1, &error), 0);
    assert_int_equal(s.files.count, 1);
    assert_int_equal(s.case_count, 1);
    assert_string_equal(s.cases[0].workload, "sum");
    assert_string_equal(s.cases[0].dataset, "one");
    assert_null(select_entry(&catalogue, "sum")->builtin);
    select_free(&s);
    catalogue_close(&catalogue);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_become_cases),
        cmocka_unit_test(without_a_list_the_usual_strategies_run),
        cmocka_unit_test(datasets_follow_the_device),
        cmocka_unit_test(unknown_names_are_explained),
        cmocka_unit_test(devices_are_checked_by_their_first_word),
        cmocka_unit_test(a_file_is_a_workload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
