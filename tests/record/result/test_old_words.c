/* Kept result files with words that the format has replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/tree.h"
#include "record/result/experiment_result.h"
#include "record/result/result.h"

static json_t *load(const char *path)
{
    struct error error = {0};
    json_t *root = NULL;
    if (result_load(path, &root, &error))
        fail_msg("%s", error.text);
    return root;
}

static void a_kept_experiment_has_methods(void **state)
{
    (void)state;
    json_t *root = load("results/6827db66/20261121T193539Z-6733acbf8b57.json.gz");
    const json_t *experiment = json_array_get(json_object_get(root, "experiments"), 0);
    size_t i, heaps = 0;
    json_t *row;
    struct text words = {0};
    json_array_foreach(json_object_get(experiment, "rows"), i, row)
    {
        assert_true(*experiment_word(row, "method"));
        assert_string_equal(experiment_word(row, "way"), "");
        heaps += strcmp(experiment_word(row, "method"), "heap") == 0;
    }
    assert_int_equal(heaps, 1);
    experiment_row_words(experiment, json_array_get(json_object_get(experiment, "rows"), 0),
                         &words);
    assert_memory_equal(words.data, "method=", strlen("method="));
    text_free(&words);
    json_decref(root);
}

static void a_kept_atlas_has_methods(void **state)
{
    (void)state;
    json_t *root = load("results/6827db66/20261121T182536Z-890706878df1.json.gz");
    struct atlas atlas;
    struct error error = {0};
    assert_int_equal(atlas_of_result(root, "cuda:0", &atlas, &error), 0);
    assert_non_null(atlas_find(&atlas, "raw", "alloc"));
    assert_non_null(atlas_find(&atlas, "stream:threshold=max", "free_sync"));
    atlas_free(&atlas);
    json_decref(root);
}

/* The sessions of a run were its parts. */
static void a_kept_run_has_sessions(void **state)
{
    (void)state;
    json_t *root = load("results/6827db66/20261121T182743Z-890706878df1.json.gz");
    const json_t *run = json_object_get(root, "run");
    const json_t *sessions = json_object_get(run, "sessions");
    assert_int_equal(json_array_size(sessions), 1);
    assert_int_equal(tree_get_number(json_array_get(sessions, 0), "rounds"), 6);
    assert_null(json_object_get(run, "parts"));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_experiment_has_methods),
        cmocka_unit_test(a_kept_atlas_has_methods),
        cmocka_unit_test(a_kept_run_has_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
