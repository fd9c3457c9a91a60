/* The data and variables of each chart, on a made-up result and atlas; and that gnuplot, where
 * there is one, draws them. */
#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/base/cmocka.h"
#include "tests/results/show/chart_fixture.h"
#include "tests/base/golden.h"
#include "results/show/chart.h"
#include "results/file/result.h"
#include "base/tree.h"
#include "tests/results/file/record_fixture.h"

static const struct chart *chart_of(const char *name)
{
    const struct chart *chart = NULL;
    assert_int_equal(chart_find(name, &chart, NULL), 0);
    return chart;
}

/* The script's variables as comments, then the data. */
static char *printed(const char *chart, const struct chart_subject *of)
{
    char *text, *all;
    size_t length;
    struct text variables = {0};
    struct error error = {0};
    FILE *out = open_memstream(&text, &length);
    if (chart_write(chart_of(chart), of, out, &variables, &error))
        fail_msg("%s", error.text);
    fclose(out);
    assert_true(asprintf(&all, "%s\n%s", variables.data, text) > 0);
    text_free(&variables);
    free(text);
    return all;
}

static void check_golden(const char *chart, const struct chart_subject *of)
{
    char name[64], *text = printed(chart, of);
    snprintf(name, sizeof name, "chart_%s.dat", chart);
    golden_check(name, text);
    free(text);
}

static int code_of(const char *chart, const struct chart_subject *of, struct error *error)
{
    FILE *out = fopen("/dev/null", "w");
    struct text variables = {0};
    int code = chart_write(chart_of(chart), of, out, &variables, error);
    text_free(&variables);
    fclose(out);
    return code;
}

static void charts_of_a_device(void **state)
{
    static const char *const names[] = {"speedup", "peak_memory", "time", "pareto", "held"};
    struct result_tree result = record_fixture(6);
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_golden(names[i], &(struct chart_subject){.result = result_tree_read(result.root),
                                                       .device = "host"});
    result_tree_free(&result);
}

static void charts_of_merged_cases(void **state)
{
    struct result_tree result = chart_fixture();
    (void)state;
    check_golden("merging", &(struct chart_subject){.result = result_tree_read(result.root),
                                                    .device = "host",
                                                    .strategy = "pool"});
    const struct chart_subject host = {.result = result_tree_read(result.root), .device = "host"};
    check_golden("atlas", &host);
    check_golden("cost", &host);
    check_golden("isosurface", &host);
    check_golden("capacity", &host);
    check_golden("regret", &host);
    result_tree_free(&result);
}

static size_t subject_count(enum chart_scope scope, const json_t *root)
{
    const struct chart chart = {.scope = scope};
    struct chart_subject *subjects;
    size_t count = chart_subjects(&chart, result_tree_read(root), NULL, &subjects);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(subjects[i].device);
        assert_true((subjects[i].strategy != NULL) == (scope == CHART_OF_STRATEGY));
    }
    free(subjects);
    const size_t of_host = chart_subjects(&chart, result_tree_read(root), "host", &subjects);
    assert_true(of_host > 0 && of_host < count);
    for (size_t i = 0; i < of_host; i++)
        assert_string_equal(subjects[i].device, "host");
    free(subjects);
    return count;
}

static void subjects_of_each_scope(void **state)
{
    struct result_tree result = record_fixture(2);
    (void)state;
    assert_int_equal(subject_count(CHART_OF_DEVICE, result.root), 2);
    assert_int_equal(subject_count(CHART_OF_STRATEGY, result.root), 4 + 1);
    result_tree_free(&result);
}

/* What a device cannot run at all is no series of bars that are missing. */
static void what_is_skipped_everywhere_is_no_series(void **state)
{
    (void)state;
    for (size_t kept = 0; kept < 2; kept++) {
        struct result_tree result = record_fixture(6);
        size_t i, seen = 0;
        json_t *one_case;
        json_array_foreach(json_object_get(result.root, "cases"), i, one_case)
        {
            const json_t *key = json_object_get(one_case, "key");
            if (strcmp(tree_get_text(key, "strategy"), "pool") == 0 &&
                strcmp(tree_get_text(key, "device"), "host") == 0 && seen++ >= kept)
                tree_put(one_case, "status", tree_text("skipped"));
        }
        assert_true(seen > 1);
        char *text =
            printed("speedup", &(struct chart_subject){.result = result_tree_read(result.root),
                                                       .device = "host"});
        assert_int_equal(strstr(text, "# pool\n") != NULL, kept > 0);
        assert_int_equal(strstr(text, "note = '; skipped: pool'") != NULL, kept == 0);
        assert_non_null(strstr(text, "# tagged"));
        free(text);
        result_tree_free(&result);
    }
}

static void what_there_is_nothing_of(void **state)
{
    static const struct {
        const char *chart, *device, *strategy, *message;
    } cases[] = {
        {"speedup", "cuda:0", NULL, "no case on cuda:0"},
        {"speedup", "opencl:0", NULL, "no case on opencl:0"}, /* only the baseline was run there */
        {"merging", "host", "pool", "no case on host"},
        {"atlas", "host", NULL, "no atlas"},
        {"time", "cuda:0", NULL, "no case on cuda:0"},
        {"cost", "host", NULL, "no atlas"},
        {"pareto", "opencl:0", NULL, "fewer than two configurations on opencl:0"},
    };
    struct result_tree result = record_fixture(6);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        const struct chart_subject of = {.result = result_tree_read(result.root),
                                         .device = cases[i].device,
                                         .strategy = cases[i].strategy};
        assert_int_equal(code_of(cases[i].chart, &of, &error), ERR_NOT_FOUND);
        if (!strstr(error.text, cases[i].message))
            fail_msg("%s: %s", cases[i].chart, error.text);
    }
    result_tree_free(&result);
}

/* More than can be read in one picture is refused, and the message says what to do. */
static void what_is_too_much(void **state)
{
    static const struct {
        const char *chart;
        int copies; /* of the fixture's cases, each under a strategy of its own */
    } cases[] = {{"speedup", 30}, {"peak_memory", 30}, {"time", 250}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct result_tree result = record_fixture(1);
        struct error error = {0};
        json_t *all = json_object_get(result.root, "cases");
        struct chart_subject of = {.result = result_tree_read(result.root), .device = "host"};
        assert_int_equal(code_of(cases[i].chart, &of, &error), 0);
        const size_t count = json_array_size(all);
        for (int copy = 0; copy < cases[i].copies; copy++)
            for (size_t c = 0; c < count; c++) {
                json_t *another = json_deep_copy(json_array_get(all, c));
                char name[32];
                snprintf(name, sizeof name, "strategy_%d", copy);
                tree_put(json_object_get(another, "key"), "strategy", tree_text(name));
                json_t *wall = json_object_get(json_object_get(another, "stats"), "wall_ns");
                if (wall) /* bars of different lengths, which share no row */
                    tree_put(wall, "median", tree_number(1e6 * pow(1.06, copy)));
                tree_append(all, another);
            }
        of.result = result_tree_read(result.root);
        assert_int_equal(code_of(cases[i].chart, &of, &error), ERR_USAGE);
        assert_non_null(strstr(error.text, "choose some with"));
        result_tree_free(&result);
    }
}

/* A file without a good case has no empty pictures. */
static void what_has_no_number(void **state)
{
    static const char *const names[] = {"speedup", "peak_memory", "time", "pareto"};
    struct result_tree result = record_fixture(3);
    size_t i;
    json_t *one_case;
    (void)state;
    json_array_foreach(json_object_get(result.root, "cases"), i, one_case)
    {
        tree_put(one_case, "status", tree_text("wrong"));
        tree_put(one_case, "stats", tree_object());
        tree_put(one_case, "speedup_over_raw", json_null());
    }
    json_array_clear(json_object_get(result.root, "summary"));
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        struct error error = {0};
        const struct chart_subject of = {.result = result_tree_read(result.root), .device = "host"};
        assert_int_equal(code_of(names[i], &of, &error), ERR_NOT_FOUND);
    }
    result_tree_free(&result);
}

/* A result of counters alone, as results/baseline has, has no points of time and memory. */
static void counters_alone_are_no_point(void **state)
{
    struct result_tree result = record_fixture(3);
    struct error error = {0};
    size_t i;
    json_t *one_case;
    (void)state;
    json_array_foreach(json_object_get(result.root, "cases"), i, one_case)
    {
        tree_put(one_case, "stats", tree_object());
        tree_put(one_case, "rounds", tree_array());
    }
    const struct chart_subject of = {.result = result_tree_read(result.root), .device = "host"};
    assert_int_equal(code_of("pareto", &of, &error), ERR_NOT_FOUND);
    result_tree_free(&result);
}

/* On a device with a clock of its own: what a free waits is not its price, and never more than it.
 */
static void waiting_is_a_part_of_its_own(void **state)
{
    /* A free takes 155 µs, or 125. */
    static const struct {
        double free_ns, waiting_ns;
        const char *price, *waiting; /* how their lines end */
    } cases[] = {{155000, 30000, " 125000\n\n\n# waiting", " 30000\n\n\n# rest"},
                 {125000, 500000, NULL, " 125000\n\n\n# rest"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct result_tree result = record_fixture(1);
        json_t *one_case = json_array_get(json_object_get(result.root, "cases"), 7);
        json_t *freed =
            json_deep_copy(json_object_get(json_object_get(one_case, "stats"), "wall_ns"));
        tree_put(freed, "median", tree_number(cases[i].free_ns));
        tree_put(json_object_get(one_case, "stats"), "driver_free_ns", freed);
        tree_put(one_case, "model", json_pack("{s:f}", "waiting_ns", cases[i].waiting_ns));
        char *text =
            printed("time", &(struct chart_subject){.result = result_tree_read(result.root),
                                                    .device = "opencl:0"});
        if (!strstr(text, cases[i].waiting) || (cases[i].price && !strstr(text, cases[i].price)))
            fail_msg("%s", text);
        assert_int_equal(strstr(text, "# driver free") != NULL, cases[i].price != NULL);
        assert_non_null(strstr(text, "kernels, copies and the rest"));
        free(text);
        result_tree_free(&result);
    }
}

/* What is quoted for gnuplot stays one text, and the rounds are those that were made of 6. */
static void names_with_quotes(void **state)
{
    struct result_tree result = record_fixture(6);
    json_t *devices = json_object_get(json_object_get(result.root, "context"), "devices");
    json_t *run = json_object_get(result.root, "run");
    (void)state;
    tree_put(json_array_get(devices, 0), "name", tree_text("Somebody's"));
    tree_put(run, "sessions",
             tree_pack("[{s:s, s:i}, {s:s, s:i}]", "started_at", "2026-01-02T03:04:05.000Z",
                       "rounds", 2, "started_at", "2026-01-03T03:04:05.000Z", "rounds", 3));
    char *text = printed("speedup", &(struct chart_subject){.result = result_tree_read(result.root),
                                                            .device = "host"});
    assert_non_null(strstr(text, "caption = 'Somebody’s (host)"));
    assert_non_null(strstr(text, ", 5 rounds, "));
    free(text);
    result_tree_free(&result);
}

/* The name that the files of a picture have. */
static char *file_name(const struct result_tree *result, const char *strategy)
{
    char *text =
        printed("merging", &(struct chart_subject){.result = result_tree_read(result->root),
                                                   .device = "host",
                                                   .strategy = strategy});
    char *name = strdup(strstr(text, "out = '") + strlen("out = '"));
    *strchr(name, '\'') = 0;
    free(text);
    return name;
}

/* Names of files have letters, digits, '.', '_' and '-' alone. Each picture has its own. */
static void names_of_files(void **state)
{
    static const char *const strategies[] = {"pool", "a b", "a-b", "a\"b", "../..`'\n$(é"};
    enum { STRATEGIES = sizeof strategies / sizeof *strategies };
    struct result_tree result = chart_fixture();
    json_t *cases = json_object_get(result.root, "cases");
    const size_t count = json_array_size(cases);
    char *names[STRATEGIES];
    (void)state;
    for (size_t c = 0; c < count; c++) {
        json_t *one = json_array_get(cases, c);
        const bool is_pool =
            strcmp(tree_get_text(json_object_get(one, "key"), "strategy"), strategies[0]) == 0;
        for (size_t i = 1; is_pool && i < STRATEGIES; i++) {
            json_t *another = json_deep_copy(one);
            tree_put(json_object_get(another, "key"), "strategy", tree_text(strategies[i]));
            tree_append(cases, another);
        }
    }
    result_tree_set_ids(result.root);
    for (size_t i = 0; i < STRATEGIES; i++) {
        names[i] = file_name(&result, strategies[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(names[i], names[j]);
        const char *other = names[i];
        while (isalnum((unsigned char)*other) || (*other && strchr("._-", *other)))
            other++;
        assert_string_equal(other, "");
    }
    assert_string_equal(names[0], "merging-host-pool");
    assert_string_equal(names[4], "merging-host-..-..-------");
    for (size_t i = 0; i < STRATEGIES; i++)
        free(names[i]);
    result_tree_free(&result);
}

/* Texts and folders that gnuplot would read as something else. */
static void folders_of_any_name(void **state)
{
    static const char *const names[] = {"'", "a\"b", "`:>PWN`", "-e", "~root", "$(:>PWN)"};
    struct result_tree result = record_fixture(6);
    const bool has_gnuplot = system("command -v gnuplot >/dev/null 2>&1") == 0;
    char parent[] = "/tmp/gamut-test-XXXXXX", path[512];
    (void)state;
    assert_non_null(mkdtemp(parent));
    for (size_t i = 0; has_gnuplot && i < sizeof names / sizeof *names; i++) {
        struct error error = {0};
        static const char *const endings[] = {"dat", "gp", "svg"};
        snprintf(path, sizeof path, "%s/%s", parent, names[i]);
        const struct chart_options options = {GAMUT_ROOT "/plots", path, "svg", 100};
        if (chart_draw(
                chart_of("speedup"),
                &(struct chart_subject){.result = result_tree_read(result.root), .device = "host"},
                &options, NULL, &error))
            fail_msg("%s: %s", names[i], error.text);
        for (size_t e = 0; e < 3; e++) {
            snprintf(path, sizeof path, "%s/%s/speedup-host.%s", parent, names[i], endings[e]);
            assert_int_equal(unlink(path), 0);
        }
        snprintf(path, sizeof path, "%s/%s", parent, names[i]);
        assert_int_equal(rmdir(path), 0); /* nothing else is in it */
    }
    assert_int_equal(rmdir(parent), 0);
    result_tree_free(&result);
}

/* The scripts evaluate no other text than their own chart and key, and start no program. */
static void scripts_run_nothing(void **state)
{
    static const char *const starts[] = {"system", "popen", "`",   "shell",
                                         "call ",  "@",     "|\"", "\"<"};
    glob_t scripts;
    (void)state;
    assert_int_equal(glob(GAMUT_ROOT "/plots/*.gp", 0, NULL, &scripts), 0);
    assert_true(scripts.gl_pathc > 20);
    for (size_t i = 0; i < scripts.gl_pathc; i++) {
        struct text script = {0};
        assert_int_equal(text_read_file(&script, scripts.gl_pathv[i], NULL), 0);
        for (const char *at = script.data; (at = strstr(at, "eval")); at++)
            if (strncmp(at, "eval chart\n", 11) != 0 && strncmp(at, "eval key\n", 9) != 0)
                fail_msg("%s: %.40s", scripts.gl_pathv[i], at);
        for (size_t s = 0; s < sizeof starts / sizeof *starts; s++)
            if (strstr(script.data, starts[s]))
                fail_msg("%s has %s", scripts.gl_pathv[i], starts[s]);
        text_free(&script);
    }
    globfree(&scripts);
}

static void charts_by_name(void **state)
{
    const struct chart *chart;
    struct error error = {0};
    (void)state;
    for (size_t i = 0; (chart = chart_at(i)); i++) {
        assert_ptr_equal(chart_of(chart->name), chart);
        assert_true(chart->help && *chart->help && chart->write);
    }
    assert_int_equal(chart_find("peak-memory", &chart, &error), ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, "did you mean peak_memory?"));
    assert_non_null(strstr(error.text, "there are: speedup, peak_memory, "));
    assert_int_equal(chart_find("zzzzzzzz", &chart, &error), ERR_NOT_FOUND);
    assert_null(strstr(error.text, "did you mean"));
}

static bool starts_with(const char *path, const char *bytes, size_t length)
{
    char start[16] = {0};
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(start, 1, length, file) : 0;
    if (file)
        fclose(file);
    return got == length && memcmp(start, bytes, length) == 0;
}

/* Draws the first picture of a chart that either result has something for. */
static int draw_first(const struct chart *chart, const struct result_tree *results, size_t count,
                      const struct chart_options *options, struct text *made, struct error *error)
{
    int code = ERR_NOT_FOUND;
    for (size_t r = 0; r < count && code == ERR_NOT_FOUND; r++) {
        struct chart_subject *subjects;
        assert_true(chart_subjects(chart, result_tree_read(results[r].root), NULL, &subjects) > 0);
        code = chart_draw(chart, &subjects[0], options, made, error);
        free(subjects);
    }
    return code;
}

/* Each picture is the same, whether another one was drawn before it or none. */
static void check_pictures(const char *folder)
{
    char command[512];
    glob_t pictures;
    snprintf(command, sizeof command, "%s/*.svg", folder);
    assert_int_equal(glob(command, 0, NULL, &pictures), 0);
    for (size_t i = 0; i < pictures.gl_pathc; i++) {
        struct text svg = {0};
        const char *path = pictures.gl_pathv[i];
        assert_int_equal(text_read_file(&svg, path, NULL), 0);
        /* Browsers print each patterned element as an image. */
        if (strstr(svg.data, "url(#gpPat"))
            fail_msg("%s has patterns", path);
        if (strstr(svg.data, "gnuplot_svg"))
            fail_msg("%s has a script", path);
        text_free(&svg);
    }
    globfree(&pictures);
    snprintf(
        command, sizeof command,
        "cd %s && for script in *.gp; do for before in '' png; do gnuplot -d -e "
        "\"terminals='$before svg'\" $script 2>/dev/null; mv ${script%%.gp}.svg \"drawn$before\"; "
        "done; cmp drawn drawnpng || { echo $script; exit 1; }; done; rm drawn drawnpng",
        folder);
    assert_int_equal(system(command), 0);
}

/* Where there is gnuplot, both images come out, and the script draws them alone; where there is
 * none, the error says so. */
static void charts_are_drawn(void **state)
{
    static const struct {
        const char *ending, *start;
    } files[] = {{".dat", "# gamut"}, {".gp", "# Made by"}, {".svg", "<?xml"}, {".png", "\x89PNG"}};
    struct result_tree results[] = {record_fixture(6), chart_fixture()};
    const bool has_gnuplot = system("command -v gnuplot >/dev/null 2>&1") == 0;
    const struct chart *chart;
    char folder[] = "/tmp/gamut-test-XXXXXX", command[512];
    (void)state;
    assert_non_null(mkdtemp(folder));
    const struct chart_options options = {GAMUT_ROOT "/plots", folder, "svg png", 100};
    for (size_t i = 0; (chart = chart_at(i)); i++) {
        struct text made = {0};
        struct error error = {0};
        int code = draw_first(chart, results, 2, &options, &made, &error);
        if (code && (has_gnuplot || code != ERR_UNSUPPORTED))
            fail_msg("%s: %s", chart->name, error.text);
        for (size_t f = 0; f < sizeof files / sizeof *files && !code; f++) {
            char path[512];
            snprintf(path, sizeof path, "%s%s", made.data, files[f].ending);
            if (!starts_with(path, files[f].start, strlen(files[f].start)))
                fail_msg("%s is not as it should be", path);
        }
        text_free(&made);
    }
    if (has_gnuplot)
        check_pictures(folder);
    snprintf(
        command, sizeof command,
        "cd %s && rm -f *.png && (! command -v gnuplot >/dev/null || gnuplot speedup-host.gp && "
        "test -s speedup-host.png); code=$?; rm -rf %s; exit $code",
        folder, folder);
    assert_int_equal(system(command), 0);
    result_tree_free(&results[0]);
    result_tree_free(&results[1]);
}

/* Bars and cells of one value, and values that do not differ. */
static void a_single_case_is_drawn(void **state)
{
    static const char *const names[] = {"speedup", "peak_memory", "time", "pareto", "merging"};
    struct result_tree result = chart_fixture();
    const bool has_gnuplot = system("command -v gnuplot >/dev/null 2>&1") == 0;
    json_t *cases = json_object_get(result.root, "cases");
    char folder[] = "/tmp/gamut-test-XXXXXX", command[128];
    (void)state;
    assert_non_null(mkdtemp(folder));
    const struct chart_options options = {GAMUT_ROOT "/plots", folder, "svg", 100};
    for (size_t i = json_array_size(cases); i-- > 0;) {
        const json_t *key = json_object_get(json_array_get(cases, i), "key");
        const char *merge = tree_get_text(key, "merge");
        if (strcmp(tree_get_text(key, "device"), "host") != 0 ||
            strcmp(tree_get_text(key, "workload"), "stencil") != 0 ||
            (strcmp(merge, "none") != 0 && strcmp(merge, "best") != 0))
            json_array_remove(cases, i);
    }
    assert_true(json_array_size(cases) >= 2);
    json_t *counters = json_object_get(json_array_get(cases, 0), "counters");
    for (size_t i = 0; i < json_array_size(cases); i++)
        tree_put(json_array_get(cases, i), "counters", json_incref(counters));
    for (size_t i = 0; has_gnuplot && i < sizeof names / sizeof *names; i++) {
        struct error error = {0};
        int code = draw_first(chart_of(names[i]), &result, 1, &options, NULL, &error);
        if (code && code != ERR_NOT_FOUND)
            fail_msg("%s: %s", names[i], error.text);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    result_tree_free(&result);
}

static void add_bars(json_t *cases, const json_t *of, const char *workload, int count, double step)
{
    for (int i = 0; i < count; i++) {
        json_t *another = json_deep_copy(of), *key = json_object_get(another, "key");
        char strategy[32];
        snprintf(strategy, sizeof strategy, "strategy_%d", i);
        tree_put(key, "workload", tree_text(workload));
        tree_put(key, "strategy", tree_text(strategy));
        tree_put(json_object_get(json_object_get(another, "stats"), "wall_ns"), "median",
                 tree_number(1e6 * pow(step, i)));
        tree_append(cases, another);
    }
}

/* A program with many bars begins a new column, so the one before ends early. */
static void columns_of_bars_need_not_be_full(void **state)
{
    struct result_tree result = record_fixture(1);
    const bool has_gnuplot = system("command -v gnuplot >/dev/null 2>&1") == 0;
    json_t *cases = json_object_get(result.root, "cases"), *of = NULL;
    char folder[] = "/tmp/gamut-test-XXXXXX", name[32], command[128];
    struct error error = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    const struct chart_options options = {GAMUT_ROOT "/plots", folder, "svg", 100};
    for (size_t i = 0; !of; i++)
        if (!isnan(result_tree_stat(json_array_get(cases, i), "wall_ns", "median")))
            of = json_deep_copy(json_array_get(cases, i));
    tree_put(json_object_get(of, "key"), "device", tree_text("host"));
    json_array_clear(cases);
    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof name, "program_%d", i);
        add_bars(cases, of, name, 2, i < 20 ? 1000 : 2);
    }
    add_bars(cases, of, "of_many", 60, 1.06);
    if (has_gnuplot && draw_first(chart_of("time"), &result, 1, &options, NULL, &error))
        fail_msg("%s", error.text);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    json_decref(of);
    result_tree_free(&result);
}

static void gnuplot_is_missing(void **state)
{
    struct result_tree result = record_fixture(6);
    struct error error = {0};
    char folder[] = "/tmp/gamut-test-XXXXXX", path[512];
    const char *before = getenv("PATH");
    char *kept = strdup(before ? before : "");
    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("PATH", folder, 1);
    const struct chart_options options = {GAMUT_ROOT "/plots", folder, "svg", 100};
    int code = chart_draw(
        chart_of("speedup"),
        &(struct chart_subject){.result = result_tree_read(result.root), .device = "host"},
        &options, NULL, &error);
    setenv("PATH", kept, 1);
    free(kept);
    assert_int_equal(code, ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "gnuplot is not installed"));
    snprintf(path, sizeof path, "%s/speedup-host.dat", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/speedup-host.gp", folder);
    assert_int_equal(unlink(path), 0);
    rmdir(folder);
    result_tree_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charts_of_a_device),
        cmocka_unit_test(charts_of_merged_cases),
        cmocka_unit_test(subjects_of_each_scope),
        cmocka_unit_test(what_is_skipped_everywhere_is_no_series),
        cmocka_unit_test(what_there_is_nothing_of),
        cmocka_unit_test(what_is_too_much),
        cmocka_unit_test(what_has_no_number),
        cmocka_unit_test(counters_alone_are_no_point),
        cmocka_unit_test(waiting_is_a_part_of_its_own),
        cmocka_unit_test(names_with_quotes),
        cmocka_unit_test(names_of_files),
        cmocka_unit_test(folders_of_any_name),
        cmocka_unit_test(scripts_run_nothing),
        cmocka_unit_test(charts_by_name),
        cmocka_unit_test(charts_are_drawn),
        cmocka_unit_test(a_single_case_is_drawn),
        cmocka_unit_test(columns_of_bars_need_not_be_full),
        cmocka_unit_test(gnuplot_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
