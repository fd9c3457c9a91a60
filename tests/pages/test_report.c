/* The report: that nothing in a result file breaks out of its page, that the page is valid and
 * loads nothing, that failures stand at its top, and that a folder is either a whole report or left
 * alone. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/random.h"
#include "base/text.h"
#include "tests/base/cmocka.h"
#include "tests/base/golden.h"
#include "base/tree.h"
#include "results/file/answer.h"
#include "tests/results/file/record_fixture.h"
#include "pages/folder.h"
#include "pages/page.h"
#include "pages/report.h"

/* ---- markup --------------------------------------------------------------------------------- */

static void what_is_put_into_markup_is_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *html;
    } rows[] = {
        {"plain", "plain"},
        {"<b onclick=\"x\">", "&lt;b onclick=&quot;x&quot;&gt;"},
        {"a & b's", "a &amp; b&#39;s"},
        {"5 µs → 3", "5 µs → 3"},
        {"a\x01"
         "b\x7f",
         "a\xef\xbf\xbd"
         "b\xef\xbf\xbd"},
        {"\xff\xc3(", "\xef\xbf\xbd\xef\xbf\xbd("},               /* no UTF-8 */
        {"\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* '<' in two bytes */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* cut short */
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text, expected[256];
        size_t length;
        FILE *out = open_memstream(&text, &length);
        html_print(out, "<i class=\"%s\">%d %zu %.1f%%</i>", rows[i].text, -3, (size_t)7, 2.25);
        fclose(out);
        snprintf(expected, sizeof expected, "<i class=\"%s\">-3 7 2.2%%</i>", rows[i].html);
        assert_string_equal(text, expected);
        free(text);
    }
}

/* ---- the page ------------------------------------------------------------------------------- */

struct sandbox {
    char folder[64], file[128], out[128];
};

static struct sandbox make_sandbox(void)
{
    struct sandbox box;
    snprintf(box.folder, sizeof box.folder, "%s", "/tmp/gamut-report-XXXXXX");
    assert_non_null(mkdtemp(box.folder));
    snprintf(box.file, sizeof box.file, "%s/result.json", box.folder);
    snprintf(box.out, sizeof box.out, "%s/report", box.folder);
    return box;
}

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void remove_sandbox(const struct sandbox *box)
{
    report_folder_remove(box->folder);
}

static char *read_page(const struct sandbox *box)
{
    struct text text = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/index.html", box->out);
    assert_int_equal(text_read_file(&text, path, NULL), 0);
    return text.data;
}

static void write_result(const struct sandbox *box, const json_t *root)
{
    FILE *file = fopen(box->file, "w");
    assert_int_equal(result_print_json(root, file, NULL), 0);
    fclose(file);
}

static int report(const struct sandbox *box, bool force, struct error *error)
{
    const char *files[] = {box->file};
    const struct report_options options = {.files = files,
                                           .file_count = 1,
                                           .out = box->out,
                                           .scripts = GAMUT_ROOT "/plots",
                                           .force = force};
    return report_make(&options, error);
}

/* Charts take most of the time, so most pages are made as if gnuplot were not there. */
static char *hide_gnuplot(void)
{
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    return path;
}

static void show_gnuplot(char *path)
{
    setenv("PATH", path, 1);
    free(path);
}

/* Takes the script of the report out of the page: it is the one that the tree has, at the page's
 * end. */
extern const char kernel_text_report[]; /* report.js */
static void cut_script(char *page)
{
    char *script = strstr(page, "<script>"), *at = script + strlen("<script>");
    assert_non_null(script);
    const size_t length = strlen(kernel_text_report);
    assert_int_equal(strncmp(at, kernel_text_report, length), 0);
    assert_string_equal(at + length, "</script>\n</body>\n</html>\n");
    *script = 0;
}

/* As HTML without a warning, as XML well-formed, and nothing but the script acts or is loaded. */
static void check_page(const struct sandbox *box)
{
    static const char *const forbidden[] = {
        "<script",  "<link",       "<iframe", "<object", "<embed", "@import", "href=\"http",
        "url(http", "javascript:", "<base",   "<form",   "<input", "<button"};
    if (shell("command -v tidy >/dev/null") != 0)
        fail_msg("tidy is not installed: run make setup-dev");
    /* tidy is older than the attribute loading of an image. */
    assert_int_equal(shell("tidy -q -e --drop-empty-elements no --warn-proprietary-attributes no "
                           "'%s/index.html' >&2",
                           box->out),
                     0);
    assert_int_equal(shell("tidy -xml -q -e '%s/index.html' >&2", box->out), 0);
    char *page = read_page(box);
    cut_script(page);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (strstr(page, forbidden[i]))
            fail_msg("the page has \"%s\"", forbidden[i]);
    free(page);
}

/* Reads the value of an attribute that names a file of the report, and returns what follows it. */
static const char *read_path(const struct sandbox *box, const char *value, char path[1024])
{
    size_t length = (size_t)snprintf(path, 1024, "%s/", box->out);
    unsigned byte;
    for (; *value != '"'; value++)
        if (*value == '%' && sscanf(value + 1, "%2x", &byte) == 1)
            path[length++] = (char)byte, value += 2;
        else
            path[length++] = *value;
    path[length] = 0;
    return value;
}

static void check_links(const struct sandbox *box)
{
    char *page = read_page(box), path[1024];
    for (const char *at = page; (at = strstr(at, "href=\"")); at++) {
        at += strlen("href=\"");
        if (*at == '#')
            continue;
        at = read_path(box, at, path);
        if (access(path, F_OK) != 0)
            fail_msg("the page links to %s, which is not there", path);
    }
    free(page);
}

/* An image is a chart of the report, says in words what it shows, and has a size before it is
 * loaded; its file is well-formed, acts on nothing, and suits a dark screen. */
static size_t check_charts(const struct sandbox *box)
{
    char *page = read_page(box), path[1024];
    const char *at = page;
    size_t count = 0;
    for (; (at = strstr(at, "src=\"")); count++) {
        unsigned width, height;
        struct text svg = {0};
        at += strlen("src=\"");
        assert_int_equal(strncmp(at, "charts/", strlen("charts/")), 0);
        at = read_path(box, at, path);
        assert_int_equal(strncmp(at, "\" alt=\"Chart: ", strlen("\" alt=\"Chart: ")), 0);
        at = strstr(at, " loading=");
        assert_int_equal(
            sscanf(at, " loading=\"lazy\" width=\"%u\" height=\"%u\"/>", &width, &height), 2);
        assert_true(width > 100 && height > 100);
        assert_int_equal(shell("tidy -xml -q -e '%s' >&2", path), 0);
        assert_int_equal(text_read_file(&svg, path, NULL), 0);
        assert_non_null(strstr(svg.data, "(prefers-color-scheme:dark)"));
        assert_null(strstr(svg.data, "<script"));
        text_free(&svg);
    }
    free(page);
    return count;
}

/* What is escaped may be spelt like that: the names are those of this test. */
static const char evil[] = "<script>\"a\"&'b' \xc2\xb5";

static void make_evil(json_t *root)
{
    json_t *one = json_array_get(json_object_get(root, "cases"), 0);
    json_t *context = json_object_get(root, "context");
    json_t *device = json_array_get(json_object_get(context, "devices"), 0);
    struct case_key key;
    char id[13];
    tree_put(json_object_get(one, "key"), "workload", tree_text(evil));
    tree_put(json_object_get(one, "key"), "strategy", tree_text("</td><b \"&'"));
    tree_put(json_object_get(one, "key"), "merge", tree_text("<best>&amp;"));
    assert_int_equal(case_key_from_json(json_object_get(one, "key"), &key, NULL), 0);
    case_id(&key, id);
    tree_put(one, "id", tree_text(id));
    json_t *round = json_array_get(json_object_get(one, "rounds"), 0);
    tree_put(round, "status", tree_text("wrong"));
    tree_put(one, "status", tree_text("wrong"));
    tree_put(one, "reason", tree_text("</ul>\"<&\n\tsecond line"));
    json_t *warning = tree_object();
    tree_put(warning, "code", tree_text("<code>"));
    tree_put(warning, "detail", tree_text("]]> --> &"));
    tree_append(json_object_get(one, "warnings"), warning);
    if (device)
        tree_put(device, "name", tree_text("</title><GPU>&\""));
    tree_put(json_object_get(context, "host"), "cpu", tree_text("<cpu>\x01"));
    tree_append(json_object_get(json_object_get(root, "run"), "argv"),
                tree_text("it's <a> \"$x\""));
}

static void whatever_a_file_says_is_text(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    struct result_tree result = record_fixture(6);
    struct error error = {0};
    make_evil(result.root);
    write_result(&box, result.root);
    assert_int_equal(report(&box, false, &error), 0); /* charts included */
    check_page(&box);
    check_links(&box);
    assert_true(check_charts(&box) > 0);
    char *page = read_page(&box);
    assert_non_null(strstr(page, "&lt;script&gt;&quot;a&quot;&amp;&#39;b&#39; \xc2\xb5"));
    assert_non_null(strstr(page, "&lt;best&gt;&amp;amp;"));
    free(page);
    result_tree_free(&result);
    remove_sandbox(&box);
}

/* Texts anywhere in the tree are replaced, so far as the file stays one that can be read. */
static void spoil(json_t *value, struct random *random)
{
    static const char *const texts[] = {"<", "\"><svg>", "&", "'", "-->", "", "\n", "a\tb", "%s%n"};
    const char *key;
    json_t *each;
    size_t i;
    json_object_foreach(value, key, each)
    {
        const bool must_stay = strcmp(key, "name") == 0 || strcmp(key, "status") == 0;
        if (json_is_string(each) && random_below(random, 4) == 0 && !must_stay)
            json_string_set(each, texts[random_below(random, sizeof texts / sizeof *texts)]);
        else if (json_is_number(each) && random_below(random, 8) == 0)
            json_is_integer(each) ? json_integer_set(each, (json_int_t)random_below(random, 3))
                                  : json_real_set(each, 1e300);
        else
            spoil(each, random);
    }
    json_array_foreach(value, i, each) spoil(each, random);
}

static void spoiled_files_give_valid_pages_or_an_error(void **state)
{
    (void)state;
    enum { FILES = 30 };
    static const char *const parts[] = {"run", "context", "summary", "suite"};
    struct sandbox box = make_sandbox();
    struct random random = {3};
    size_t made = 0;
    for (int i = 0; i < FILES; i++) {
        struct result_tree result = record_fixture(i % 2 ? 6 : 1);
        json_t *root = json_deep_copy(result.root); /* in which nothing is shared */
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            spoil(json_object_get(root, parts[p]), &random);
        json_t *one;
        size_t c;
        json_array_foreach(json_object_get(root, "cases"), c, one)
        {
            spoil(json_object_get(one, "stats"), &random);
            spoil(json_object_get(one, "counters"), &random);
            spoil(json_object_get(one, "speedup_over_raw"), &random);
        }
        write_result(&box, root);
        struct error error = {0};
        char *path = hide_gnuplot();
        const int code = report(&box, false, &error);
        show_gnuplot(path);
        if (code == 0)
            check_page(&box);
        else
            assert_int_equal(code, ERR_PARSE);
        made += code == 0;
        json_decref(root);
        result_tree_free(&result);
    }
    assert_true(made > FILES / 2);
    remove_sandbox(&box);
}

/* A replay has counts and no times, answers or intervals, and one merge set. */
static void make_replay(json_t *root)
{
    json_t *cases = json_object_get(root, "cases");
    for (size_t c = json_array_size(cases); c-- > 0;) {
        json_t *one = json_array_get(cases, c), *counters = json_object_get(one, "counters");
        json_t *round = json_array_get(json_object_get(one, "rounds"), 0);
        if (strcmp(tree_get_text(one, "status"), "ok") != 0 ||
            strcmp(tree_get_text(json_object_get(one, "key"), "merge"), "none") != 0) {
            json_array_remove(cases, c);
            continue;
        }
        tree_put(one, "check", tree_text("blocks"));
        tree_put(round, "check", tree_text("blocks"));
        json_object_clear(json_object_get(counters, "warm"));
        json_object_clear(json_object_get(round, "samples"));
        json_object_clear(json_object_get(round, "cold_sample"));
    }
    result_tree_summarise(root);
}

static void a_replay_has_no_empty_sections(void **state)
{
    (void)state;
    static const char *const claims[] = {"nswer",      "wall",    "ntervals", "Speed-up",
                                         "run --like", "process", "no times"};
    struct sandbox box = make_sandbox();
    struct result_tree result = record_fixture(1);
    make_replay(result.root);
    write_result(&box, result.root);
    struct error error = {0};
    if (report(&box, false, &error))
        fail_msg("%s", error.text);
    check_page(&box);
    char *page = read_page(&box);
    assert_non_null(strstr(page, "<h1>canny and 1 more trace</h1>"));
    assert_non_null(strstr(page, "replayed under different memory strategies"));
    assert_non_null(strstr(page, "<p class=\"headline\">Least memory on host: raw, "));
    assert_non_null(strstr(page, "ewest driver calls: "));
    assert_non_null(strstr(page, "memory over bound"));
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        if (strstr(strstr(page, "<main>"), claims[i]))
            fail_msg("the page of a replay has \"%s\"", claims[i]);
    assert_null(strstr(page, "</summary>\n</details>"));
    free(page);
    result_tree_free(&result);
    remove_sandbox(&box);
}

static void wrong_cases_are_named_first(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    struct result_tree result = record_fixture(6);
    write_result(&box, result.root);
    char *path = hide_gnuplot();
    assert_int_equal(report(&box, false, NULL), 0);
    show_gnuplot(path);
    char *page = read_page(&box);
    const char *banner = strstr(page, "class=\"banner bad\"");
    const char *wrong = strstr(page, "<strong>wrong</strong>: "),
               *oom = strstr(page, "<strong>oom</strong>: ");
    const char *machine = strstr(page, "Machine and run");
    assert_true(banner && wrong && oom && machine);
    assert_true(banner < wrong && wrong < oom && oom < machine);
    assert_non_null(strstr(page, "No charts: gnuplot was not installed"));
    free(page);
    result_tree_free(&result);
    remove_sandbox(&box);
}

/* With charts: twice the same names, in one page. */
static void charts_are_images_of_the_page(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    struct result_tree result = record_fixture(6);
    struct error error = {0};
    write_result(&box, result.root);
    const char *files[] = {box.file, box.file};
    const struct report_options options = {.files = files,
                                           .file_count = 2,
                                           .title = "two <files>",
                                           .out = box.out,
                                           .scripts = GAMUT_ROOT "/plots"};
    assert_int_equal(report_make(&options, &error), 0);
    check_page(&box);
    char *page = read_page(&box);
    size_t charts = 0;
    for (const char *at = page; (at = strstr(at, "<figure>")); at++)
        charts++;
    assert_true(charts >= 4 && charts % 2 == 0);
    /* The first file's picture of the answer is beside the verdict, and nowhere else. */
    const char *picture = strstr(page, "src=\"charts/f1/pareto-host.svg\"");
    assert_true(picture && strstr(picture, "<nav") &&
                !strstr(picture + 1, "src=\"charts/f1/pareto-"));
    assert_true(strstr(page, "<div class=\"front\">") < picture);
    assert_non_null(strstr(strstr(page, "<nav"), "src=\"charts/f2/pareto-host.svg\""));
    assert_int_equal(check_charts(&box), charts);
    assert_null(strstr(page, "could not be added"));
    assert_non_null(strstr(page, "<h1>two &lt;files&gt;</h1>"));
    assert_int_equal(
        shell("test -s %s/data/result.json -a -s %s/data/f2-result.json", box.out, box.out), 0);
    assert_int_equal(shell("cmp -s %s %s/data/result.json", box.file, box.out), 0);
    assert_int_equal(shell("ls %s/charts/f1/*.dat >/dev/null", box.out), 0);
    check_links(&box);
    free(page);
    result_tree_free(&result);
    remove_sandbox(&box);
}

static void a_file_without_cases_says_so(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    struct result_tree result = record_fixture(6);
    json_array_clear(json_object_get(result.root, "cases"));
    json_array_clear(json_object_get(result.root, "summary"));
    write_result(&box, result.root);
    assert_int_equal(report(&box, false, NULL), 0);
    check_page(&box);
    char *page = read_page(&box);
    assert_non_null(strstr(page, "Nothing was run"));
    assert_null(strstr(page, "<table"));
    free(page);
    result_tree_free(&result);
    remove_sandbox(&box);
}

/* As many as a file may well have: the page is there, its charts are left out with a word. */
static void three_thousand_cases_make_a_page(void **state)
{
    (void)state;
    enum { CASES = 3000, WAYS = 10 };
    struct sandbox box = make_sandbox();
    struct result_tree result = record_fixture(1);
    json_t *cases = json_object_get(result.root, "cases");
    json_t *model = json_incref(json_array_get(cases, 0));
    json_array_clear(cases);
    for (int i = 0; i < CASES; i++) {
        json_t *one = json_deep_copy(model), *key = json_object_get(one, "key");
        struct case_key words;
        char name[32], id[13];
        snprintf(name, sizeof name, "w%d", i / WAYS);
        tree_put(key, "workload", tree_text(name));
        snprintf(name, sizeof name, "s%d", i % WAYS);
        tree_put(key, "strategy", tree_text(name));
        assert_int_equal(case_key_from_json(key, &words, NULL), 0);
        case_id(&words, id);
        tree_put(one, "id", tree_text(id));
        tree_append(cases, one);
    }
    json_decref(model);
    write_result(&box, result.root);
    assert_int_equal(report(&box, false, NULL), 0);
    char *page = read_page(&box);
    assert_non_null(strstr(page, "3000 cases are too many for a chart"));
    /* What is left out is said, and no ratio leads to a row that is not there. */
    assert_true(strlen(page) < 1000 * 1000);
    assert_non_null(strstr(page, "The first 150 of 300 programs."));
    assert_non_null(strstr(page, "The first 1500 of 3000 rows. gamut print data/"));
    assert_non_null(strstr(page, ">w149<"));
    assert_null(strstr(page, ">w150<"));
    for (const char *at = page; (at = strstr(at, " href=\"#f1-"));) {
        char row[32];
        at += strlen(" href=\"#");
        snprintf(row, sizeof row, " id=\"%.*s\"", (int)strcspn(at, "\""), at);
        if (!strstr(page, row))
            fail_msg("there is no%s", row);
    }
    free(page);
    result_tree_free(&result);
    remove_sandbox(&box);
}

/* The page of a result judged against a base; the caller frees it. */
static char *page_against(const struct sandbox *box, const json_t *base, const json_t *root)
{
    char against[160];
    const char *files[] = {box->file};
    const struct report_options options = {.files = files,
                                           .file_count = 1,
                                           .against = against,
                                           .out = box->out,
                                           .scripts = "/nowhere",
                                           .force = true};
    write_result(box, base);
    snprintf(against, sizeof against, "%s/base.json", box->folder);
    assert_int_equal(rename(box->file, against), 0);
    write_result(box, root);
    char *path = hide_gnuplot();
    assert_int_equal(report_make(&options, NULL), 0);
    show_gnuplot(path);
    check_page(box);
    return read_page(box);
}

/* A base whose first case held a byte less. */
static void the_verdict_is_that_of_compare(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    struct result_tree result = record_fixture(6);
    json_t *base = json_deep_copy(result.root);
    json_t *first = json_array_get(json_object_get(base, "cases"), 0);
    json_t *warm = json_object_get(json_object_get(first, "counters"), "warm");
    tree_put(warm, "peak_reserved_bytes",
             tree_number(tree_get_number(warm, "peak_reserved_bytes") - 1));
    char *page = page_against(&box, base, result.root);
    /* The fixture's failures are in both files, so they are none of the comparison's. */
    const char *word = strstr(page, "<strong class=\"word\">✗ regression: ");
    assert_true(word && strstr(word, " holds 1 B more in ") - word < 80);
    assert_true(word && word < strstr(page, "Compared with the base"));
    assert_null(strstr(page, box.folder)); /* no folder of whoever made it */
    free(page);
    json_decref(base);
    result_tree_free(&result);
    remove_sandbox(&box);
}

/* A base of other programs, and one of which a single program is another. */
static void what_was_not_compared_is_said(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    struct result_tree result = record_fixture(6);
    json_t *base = json_deep_copy(result.root), *one_case;
    size_t i;
    json_array_foreach(json_object_get(result.root, "cases"), i, one_case)
        tree_put(one_case, "program_digest", tree_text("aa"));
    json_array_foreach(json_object_get(base, "cases"), i, one_case)
        tree_put(one_case, "program_digest", tree_text(i == 0 ? "bb" : "aa"));
    char *page = page_against(&box, base, result.root);
    assert_non_null(strstr(page, "<strong class=\"word\">? unsure: "));
    assert_non_null(strstr(page, "cases dropped"));
    assert_non_null(strstr(page, "dropped (another program)"));
    free(page);

    json_array_foreach(json_object_get(base, "cases"), i, one_case)
        tree_put(one_case, "program_digest", tree_text("bb"));
    page = page_against(&box, base, result.root);
    assert_non_null(strstr(page, "✗ incomparable: the files are not comparable"));
    assert_non_null(strstr(page, "gamut compare --force-compare"));
    free(page);

    page = page_against(&box, result.root, result.root);
    assert_null(strstr(page, "incomparable"));
    free(page);
    json_decref(base);
    result_tree_free(&result);
    remove_sandbox(&box);
}

/* ---- the order of the page, and what stands in it -------------------------------------------- */

/* The first character after `text`, searched from `from` on. */
static const char *after(const char *from, const char *text)
{
    const char *found = strstr(from, text);
    if (!found)
        fail_msg("\"%s\" is missing or in the wrong place", text);
    return found + strlen(text);
}

/* The page of a result without charts; the caller frees it. */
static char *page_of(const struct sandbox *box, const char *file)
{
    const struct report_options options = {
        .files = &file, .file_count = 1, .out = box->out, .scripts = "/nowhere", .force = true};
    struct error error = {0};
    char *path = hide_gnuplot();
    if (report_make(&options, &error))
        fail_msg("%s", error.text);
    show_gnuplot(path);
    return read_page(box);
}

/* A result of a whole suite: 28 programs, eight strategies, two devices. */
#define SUITE_RESULT GAMUT_ROOT "/results/6827db66/20261121T182743Z-890706878df1.json.gz"

#define ONE_DEVICE_RESULT GAMUT_ROOT "/results/6827db66/20261120T223717Z-b4de8ff47787.json.gz"

/* The tables are those of gamut compare --by machine; a page of one machine has none. */
static void machines_stand_next_to_each_other(void **state)
{
    (void)state;
    static const char *const order[] = {
        "<li>28 programs on 2 machines: the same configuration is among the fastest everywhere in ",
        "<li>take pool everywhere: at most 1.04 times as long as the fastest",
        "<li>cuda:0: NVIDIA H200, driver 580.159.04, machine 6827db66, ",
        "<h4>The fastest configuration of each program</h4>",
        "<tr><td>radix_sort</td><td>vmm, +5</td><td>tagged, +4</td><td>tlsf</td><td>1.03×</td>",
        "<h4>What a wrong choice costs</h4>",
        "<tr><td>pool</td>",
        "</section>",
        "<section id=\"f1-matrix\">",
    };
    struct sandbox box = make_sandbox();
    char *page = page_of(&box, SUITE_RESULT);
    const char *at =
        after(after(page, "<section id=\"f1-ranking\">"), "<section id=\"all-machines\">");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        at = after(at, order[i]);
    free(page);
    page = page_of(&box, ONE_DEVICE_RESULT);
    assert_null(strstr(page, "all-machines"));
    free(page);
    remove_sandbox(&box);
}

static void the_verdict_comes_first_then_contents_then_sections(void **state)
{
    (void)state;
    static const char *const order[] = {
        "<main>",
        "class=\"banner good\"",
        "<p class=\"headline\">Fastest on cuda:0: pool, ",
        "× raw [",
        "within 2 %",
        "<p class=\"headline\">Fastest on opencl:1: pool, ",
        "cannot be told apart",
        "<dt>changed</dt>",
        "<dt>doubts</dt>",
        "448: 392 ok, 56 skipped; every answer was checked and right",
        "<nav",
        "<a href=\"#f1-ranking\">",
        "<a href=\"#all-machines\">",
        "<a href=\"#f1-matrix\">",
        "<a href=\"#f1-charts\">",
        "<a href=\"#f1-stability\">",
        "<a href=\"#f1-table\">",
        "<a href=\"#f1-machine\">",
        "</nav>",
        "<section id=\"f1-ranking\">",
        "<section id=\"all-machines\">",
        "<section id=\"f1-matrix\">",
        "<section id=\"f1-charts\">",
        "<section id=\"f1-stability\">",
        "<section id=\"f1-failed\">",
        "<section id=\"f1-table\">",
        "<section id=\"f1-machine\">",
        "<section id=\"f1-reproduce\">",
    };
    struct sandbox box = make_sandbox();
    char *page = page_of(&box, SUITE_RESULT);
    const char *at = page;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        at = after(at, order[i]);
    check_page(&box);
    free(page);
    remove_sandbox(&box);
}

/* How often two numbers stand next to each other as the ends of an interval. */
static size_t count_intervals(const char *page, double lo, double hi)
{
    static const char *const between[] = {"–", ", ", " to "};
    size_t count = 0;
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        char words[96];
        snprintf(words, sizeof words, "%.2f%s%.2f", lo, between[i], hi);
        for (const char *at = page; (at = strstr(at, words)); at++)
            count += at == page || !strchr("0123456789.", at[-1]);
    }
    return count;
}

struct interval {
    double lo, hi;
};

/* Every interval that the page may have: of each case, and of each ranked mean. The caller frees
 * it. */
static struct interval *intervals_of(const struct result *result, size_t *count)
{
    struct interval *all = must_alloc((result->case_count + 1024) * sizeof *all);
    struct arena arena = {0};
    const struct answer answer = answer_of(result, NULL, &arena);
    *count = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        const struct result_ratio *ratio = one->speedup ? one->speedup : &one->speedup_over_raw;
        if (ratio->baseline && strcmp(ratio->baseline, one->id) != 0)
            all[(*count)++] = (struct interval){ratio->over.ci_lo, ratio->over.ci_hi};
    }
    for (size_t i = 0; i < answer.device_count; i++)
        for (size_t j = 0; j < answer.devices[i].ranked_count; j++) {
            const struct answer_ranked *ranked = &answer.devices[i].ranking[j];
            if (!ranked->is_baseline)
                all[(*count)++] = (struct interval){ranked->speedup.ci_lo, ranked->speedup.ci_hi};
        }
    arena_free(&arena);
    return all;
}

/* Different cases may have the same rounded interval: then it stands once for each. */
static void a_speedup_stands_in_one_place(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    struct result result;
    size_t count;
    assert_int_equal(result_open(SUITE_RESULT, &result, NULL), 0);
    struct interval *all = intervals_of(&result, &count);
    char *page = page_of(&box, SUITE_RESULT);
    const char *sections = after(page, "</nav>"); /* the verdict repeats the mean of the fastest */
    assert_true(count > 300);
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        char own[64], other[64];
        snprintf(own, sizeof own, "%.2f %.2f", all[i].lo, all[i].hi);
        for (size_t j = 0; j < count; j++) {
            snprintf(other, sizeof other, "%.2f %.2f", all[j].lo, all[j].hi);
            same += strcmp(own, other) == 0;
        }
        const size_t found = count_intervals(sections, all[i].lo, all[i].hi);
        if (found != same)
            fail_msg("%s: of %zu cases, but %zu times in the page", own, same, found);
    }
    free(page);
    free(all);
    result_release(&result);
    remove_sandbox(&box);
}

/* The charts stand beside it, so they add a few lines each. */
static void the_page_of_a_suite_is_below_a_megabyte(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    const char *files[] = {SUITE_RESULT};
    const struct report_options options = {
        .files = files, .file_count = 1, .out = box.out, .scripts = GAMUT_ROOT "/plots"};
    struct error error = {0};
    if (report_make(&options, &error))
        fail_msg("%s", error.text);
    char *page = read_page(&box);
    assert_true(strlen(page) < 500 * 1000);
    assert_null(strstr(page, "data:"));
    for (const char *at = page; (at = strstr(at, "<details")); at++) {
        const char *body = after(at, "</summary>"), *end = strstr(body, "</details>");
        if (strspn(body, " \n\t") == (size_t)(end - body))
            fail_msg("an empty fold-out: %.120s", at);
    }
    free(page);
    check_charts(&box);
    check_links(&box);
    remove_sandbox(&box);
}

static char *read_view(const struct sandbox *box, const char *name)
{
    struct text text = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/views/%s", box->out, name);
    text_read_file(&text, path, NULL);
    return text.data ? text.data : strdup("");
}

static void the_largest_programs_have_pages_of_their_own(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    char *page = page_of(&box, SUITE_RESULT);
    const char *at = after(page, "Programs in detail</h3>");
    at = after(at, "<a href=\"views/f1-1.html\">fft_futhark medium on cuda:0</a>, merge set none: "
                   "196 MiB");
    /* A report runs no program on the host. */
    at = after(at,
               "kmeans medium on cuda:0, merge set none: 160 MiB are requested at the peak. There "
               "is no page of it: kmeans has to be run for it");
    at = after(at, "<a href=\"views/f1-3.html\">srad medium on cuda:0</a>");
    at = after(at, "<a href=\"views/f1-6.html\">srad medium on opencl:1</a>");
    assert_null(strstr(page, "views/f1-7.html"));
    check_links(&box);
    char *view = read_view(&box, "f1-1.html");
    const char *reserved = after(view, "<b style=\"color:#0072b2\">raw</b> ");
    assert_int_equal(strncmp(reserved, "196 MiB at most, measured 196 MiB.", 34), 0);
    free(view);
    free(page);
    remove_sandbox(&box);
}

/* The program is another one than in the file, or the cases are replays: the page says what makes
 * one. */
static void a_program_that_is_not_here_is_named_with_its_command(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    struct result_tree result = record_fixture(1);
    json_t *cases = json_object_get(result.root, "cases"), *one;
    size_t c;
    write_result(&box, result.root);
    char *page = page_of(&box, box.file);
    const char *at = after(page, "There is no page of it: stencil is another program than in the ");
    after(at, "<code>gamut view data/result.json -w stencil -d small -m none --release last-use -D "
              "host</code>");
    free(page);
    json_array_foreach(cases, c, one)
    {
        struct case_key key;
        char id[13];
        tree_put(json_object_get(one, "key"), "dataset", tree_text("recorded"));
        assert_int_equal(case_key_from_json(json_object_get(one, "key"), &key, NULL), 0);
        case_id(&key, id);
        tree_put(one, "id", tree_text(id));
    }
    write_result(&box, result.root);
    page = page_of(&box, box.file);
    after(page, "There is no page of it: the cases are replays of the trace stencil");
    free(page);
    check_links(&box);
    result_tree_free(&result);
    remove_sandbox(&box);
}

/* Every ratio leads to a row, and every row is a case. */
static void a_ratio_leads_to_its_case(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    char *page = page_of(&box, SUITE_RESULT), row[64];
    size_t links = 0;
    for (const char *at = after(page, "</nav>"); (at = strstr(at, "<a href=\"#f1-")); at++) {
        const char *id = at + strlen("<a href=\"#");
        snprintf(row, sizeof row, " id=\"%.*s\"", (int)strcspn(id, "\""), id);
        after(page, row);
        links++;
    }
    assert_int_equal(links, 2 * 392); /* the cases that are ok */
    free(page);
    remove_sandbox(&box);
}

/* ---- the folder ----------------------------------------------------------------------------- */

static void assert_only(const struct sandbox *box, const char *names)
{
    if (shell("cd %s && test \"$(ls -A | tr '\\n' ' ')\" = '%s'", box->folder, names) != 0) {
        shell("ls -A %s >&2", box->folder);
        fail_msg("expected %s", names);
    }
}

static void a_folder_is_a_whole_report_or_left_alone(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    struct result_tree result = record_fixture(1);
    struct error error = {0};
    write_result(&box, result.root);
    char *path = hide_gnuplot();

    mkdir(box.out, 0777); /* empty: fine */
    assert_int_equal(report(&box, false, &error), 0);
    assert_int_equal(report(&box, false, &error), 0); /* a report: replaced */
    show_gnuplot(path);
    assert_only(&box, "report result.json ");

    /* Somebody's own file in a report stays where it is. */
    assert_int_equal(shell("echo mine >%s/notes.txt && touch %s/data/old.json", box.out, box.out),
                     0);
    path = hide_gnuplot();
    assert_int_equal(report(&box, false, &error), 0);
    show_gnuplot(path);
    assert_int_equal(
        shell("grep -q mine %s/notes.txt && test ! -e %s/data/old.json", box.out, box.out), 0);

    /* Something else is no report. */
    assert_int_equal(shell("echo '<html>' >%s/index.html", box.out), 0);
    assert_int_equal(report(&box, false, &error), ERR_USAGE);
    assert_non_null(strstr(error.text, "is not a report of gamut"));
    assert_int_equal(report(&box, true, &error), ERR_USAGE); /* its data/ may be somebody's */
    assert_non_null(strstr(error.text, "does not belong to a report"));
    assert_int_equal(shell("rm -r %s/data %s/charts 2>/dev/null; grep -q '^<html>' %s/index.html",
                           box.out, box.out, box.out),
                     0);
    path = hide_gnuplot();
    assert_int_equal(report(&box, true, &error), 0);
    show_gnuplot(path);
    assert_int_equal(
        shell("grep -q mine %s/notes.txt && grep -q generator %s/index.html", box.out, box.out), 0);
    assert_only(&box, "report result.json ");
    result_tree_free(&result);
    remove_sandbox(&box);
}

static void a_failure_leaves_nothing(void **state)
{
    (void)state;
    struct sandbox box = make_sandbox();
    struct error error = {0};
    assert_int_equal(shell("echo '{' >%s", box.file), 0);
    assert_int_equal(report(&box, false, &error), ERR_PARSE);
    assert_non_null(strstr(error.text, box.file));
    assert_only(&box, "result.json ");

    struct result_tree result = record_fixture(1);
    write_result(&box, result.root);
    assert_int_equal(shell("echo 1 >%s", box.out), 0); /* a file is in the way */
    assert_int_equal(report(&box, true, &error), ERR_IO);
    assert_non_null(strstr(error.text, box.out));
    assert_only(&box, "report result.json ");

    /* A folder where the page is to go: seen only when everything is made. */
    assert_int_equal(shell("rm %s && mkdir -p %s/index.html", box.out, box.out), 0);
    char *path = hide_gnuplot();
    assert_int_equal(report(&box, true, &error), ERR_IO);
    show_gnuplot(path);
    assert_non_null(strstr(error.text, "index.html"));
    assert_only(&box, "report result.json ");
    result_tree_free(&result);
    remove_sandbox(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_into_markup_is_text),
        cmocka_unit_test(whatever_a_file_says_is_text),
        cmocka_unit_test(spoiled_files_give_valid_pages_or_an_error),
        cmocka_unit_test(a_replay_has_no_empty_sections),
        cmocka_unit_test(wrong_cases_are_named_first),
        cmocka_unit_test(charts_are_images_of_the_page),
        cmocka_unit_test(a_file_without_cases_says_so),
        cmocka_unit_test(three_thousand_cases_make_a_page),
        cmocka_unit_test(the_verdict_is_that_of_compare),
        cmocka_unit_test(what_was_not_compared_is_said),
        cmocka_unit_test(machines_stand_next_to_each_other),
        cmocka_unit_test(the_verdict_comes_first_then_contents_then_sections),
        cmocka_unit_test(a_speedup_stands_in_one_place),
        cmocka_unit_test(the_page_of_a_suite_is_below_a_megabyte),
        cmocka_unit_test(the_largest_programs_have_pages_of_their_own),
        cmocka_unit_test(a_program_that_is_not_here_is_named_with_its_command),
        cmocka_unit_test(a_ratio_leads_to_its_case),
        cmocka_unit_test(a_folder_is_a_whole_report_or_left_alone),
        cmocka_unit_test(a_failure_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
