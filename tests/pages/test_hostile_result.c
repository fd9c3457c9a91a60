/* Results whose texts are written to be carried out: every text of a result is replaced by such a
 * one, wherever the reader takes it, and a report with all charts is made. gnuplot is the only
 * program that may start: each payload would leave a file PWN. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/tree.h"
#include "results/show/matrix.h"
#include "results/facts/case.h"
#include "pages/folder.h"
#include "pages/report.h"
#include "tests/base/cmocka.h"
#include "tests/results/show/chart_fixture.h"

/* %s is the text that was there: names that stand in several places stay the same name. */
static const char *const payloads[] = {
    "%s`:>PWN`",
    "%s\";system(\":>PWN\");\"",
    "%s';system(':>PWN');'\\",
    "|:>PWN;%s$(:>PWN);:>PWN\n!:>PWN\nsystem(':>PWN')\n\n",
    "<:>PWN;%s %%s%%n%%d @data {/x:y}~{é\u202e}\xc2\x9b\x1b[31m/../..#",
    "-e `:>PWN`%s'`:>PWN`\"`:>PWN`\"`:>PWN`''`:>PWN`",
};

/* ---- replacing texts ------------------------------------------------------------------------ */

static void collect(const json_t *value, struct labels *texts)
{
    size_t i;
    const char *name;
    json_t *each;
    if (json_is_string(value))
        labels_add(texts, json_string_value(value));
    json_array_foreach((json_t *)value, i, each) collect(each, texts);
    json_object_foreach((json_t *)value, name, each) collect(each, texts);
}

static json_t *replaced(json_t *value, const struct labels *texts, const char *payload)
{
    size_t i;
    const char *name;
    void *next;
    json_t *each;
    if (json_is_string(value) && labels_find(texts, json_string_value(value)) < texts->count) {
        struct text text = {0};
        text_add(&text, payload, json_string_value(value));
        json_t *other = tree_text(text.data);
        text_free(&text);
        return other;
    }
    json_array_foreach(value, i, each) json_array_set_new(value, i, replaced(each, texts, payload));
    json_object_foreach_safe(value, next, name, each)
        json_object_set_new(value, name, replaced(each, texts, payload));
    return json_incref(value);
}

/* A copy of the result with a payload in these texts. Ids follow from keys: a file whose ids do not
 * fit is refused before it is drawn. */
static json_t *hostile_copy(const json_t *root, const struct labels *texts, const char *payload)
{
    json_t *copy = json_deep_copy(root), *all = replaced(copy, texts, payload), *one;
    size_t i;
    json_decref(copy);
    json_array_foreach(json_object_get(all, "cases"), i, one)
    {
        struct case_key key;
        char id[13];
        if (case_key_from_json(json_object_get(one, "key"), &key, NULL) == 0) {
            case_id(&key, id);
            tree_put(one, "id", tree_text(id));
        }
    }
    return all;
}

/* The texts that can be replaced one at a time without the reader refusing the result. Left out are
 * words by which charts find their data: without them there would be no picture to put a text
 * in. */
static struct labels replaceable(const json_t *root, const char *payload)
{
    static const char *const looked_up[] = {
        "alloc",  "free",     "copy",   "command", "none",     "last-use", "isosurface",  "stall",
        "method", "strategy", "chunks", "percent", "overflow", "spin_ns",  "host_work_ns"};
    struct labels all = {0}, taken = {0};
    collect(root, &all);
    for (size_t i = 0; i < all.count; i++) {
        struct labels one = {1, &all.name[i]};
        bool is_looked_up = false;
        for (size_t w = 0; w < sizeof looked_up / sizeof *looked_up; w++)
            is_looked_up |= strcmp(all.name[i], looked_up[w]) == 0;
        if (is_looked_up)
            continue;
        json_t *copy = hostile_copy(root, &one, payload);
        if (result_tree_check(copy, NULL) == 0)
            labels_add(&taken, all.name[i]);
        json_decref(copy);
    }
    labels_free(&all);
    return taken;
}

/* ---- what must not come out ----------------------------------------------------------------- */

static bool is_plain(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return name[strspn(name, letters)] == 0;
}

static int check_file(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type;
    const char *name = path + walk->base;
    if (strcmp(name, "PWN") == 0 || !is_plain(name))
        print_error("%s is there\n", path);
    return strcmp(name, "PWN") == 0 || !is_plain(name);
}

/* The pictures that gnuplot drew for the report. None failed. */
static size_t pictures(const char *report)
{
    struct text page = {0};
    char path[128];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/index.html", report);
    assert_int_equal(text_read_file(&page, path, NULL), 0);
    const char *failed = strstr(page.data, "Not drawn");
    if (failed)
        fail_msg("%.600s", failed);
    for (const char *at = page.data; (at = strstr(at, "<img ")); at++)
        count++;
    text_free(&page);
    return count;
}

static void no_text_is_carried_out(void **state)
{
    const bool has_gnuplot = system("command -v gnuplot >/dev/null 2>&1") == 0;
    struct result_tree result = chart_fixture();
    json_t *devices = json_object_get(json_object_get(result.root, "context"), "devices");
    tree_put(json_array_get(devices, 0), "backend", tree_text("none")); /* a name of few letters */
    (void)state;
    char folder[] = "/tmp/gamut-hostile-XXXXXX", file[64], out[64];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    snprintf(file, sizeof file, "%s/result.json", folder);
    snprintf(out, sizeof out, "%s/report", folder);
    for (size_t p = 0; p < sizeof payloads / sizeof *payloads; p++) {
        struct labels texts = replaceable(result.root, payloads[p]);
        json_t *root = hostile_copy(result.root, &texts, payloads[p]);
        struct error error = {0};
        static const char *const needed[] = {"host", "canny", "small", "pool", "raw", "best"};
        for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
            if (p < 3 && labels_find(&texts, needed[i]) == texts.count)
                fail_msg("%s is not replaced by %s", needed[i], payloads[p]);
        if (result_tree_check(root, &error))
            fail_msg("%s: %s", payloads[p], error.text);
        FILE *written = fopen(file, "w");
        assert_int_equal(result_print_json(root, written, NULL), 0);
        fclose(written);
        const struct report_options options = {.files = (const char *const[]){file},
                                               .file_count = 1,
                                               .out = out,
                                               .scripts = GAMUT_ROOT "/plots",
                                               .force = true};
        if (report_make(&options, &error))
            fail_msg("%s", error.text);
        assert_int_equal(nftw(folder, check_file, 16, FTW_PHYS), 0);
        assert_true(!has_gnuplot || pictures(out) > 10);
        json_decref(root);
        labels_free(&texts);
    }
    assert_int_equal(chdir("/"), 0);
    report_folder_remove(folder);
    result_tree_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_text_is_carried_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
