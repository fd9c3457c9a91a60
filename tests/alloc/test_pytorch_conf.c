/* What stands in PYTORCH_CUDA_ALLOC_CONF is the same strategy as its translation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/registry.h"

static void words_are_options(void **state)
{
    (void)state;
    static const struct {
        const char *conf, *same;
    } cases[] = {
        {"caching:conf={}", "caching"},
        {"caching:conf={expandable_segments:True}", "vmm"},
        {"vmm:conf={expandable_segments:False}", "caching"},
        {"vmm:conf={max_split_size_mb:64}", "vmm:max_split=64MiB"},
        {"caching:conf={expandable_segments:True,max_split_size_mb:64}", "vmm:max_split=64MiB"},
        {"caching:conf={max_split_size_mb:64, max_non_split_rounding_mb:32}",
         "caching:max_split=64MiB:rounding=32MiB"},
        {"caching:conf={roundup_power2_divisions:4}", "caching:divisions=4"},
        {"caching:conf={roundup_power2_divisions:[256:1,512:2,1024:4,>:8]}",
         "caching:divisions={256:1,512:2,1024:4,>:8}"},
        {"caching:conf={roundup_power2_divisions:[1:0,>:8],max_split_size_mb:20}",
         "caching:divisions={1:1,>:8}:max_split=20MiB"},
        {"caching:conf={garbage_collection_threshold:0.6}", "caching:gc=0.6"},
        {"caching:conf={garbage_collection_threshold:0.6,expandable_segments:True}", "vmm"},
        {"caching:conf={backend:native}", "caching"},
        {"caching:conf={backend:cudaMallocAsync,max_split_size_mb:64}", "stream:threshold=max"},
        {"caching:conf={pinned_use_background_threads:True,per_process_memory_fraction:1.0}",
         "caching"},
        {"caching:conf={per_process_memory_fraction:1.0,expandable_segments:True}",
         "vmm:limit=fraction"},
        {"caching:divisions=2:conf={roundup_power2_divisions:4}:kind=pinned",
         "caching:divisions=4:kind=pinned"},
        {"caching:conf={roundup_power2_divisions:4}:divisions=2", "caching:divisions=2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct allocator_ops *ops, *same_ops;
        struct option_values values, same_values;
        struct error error = {0};
        if (allocator_parse(cases[i].conf, &ops, &values, &error) ||
            allocator_parse(cases[i].same, &same_ops, &same_values, &error))
            fail_msg("%s: %s", cases[i].conf, error.text);
        assert_string_equal(ops->name, same_ops->name);
        if (memcmp(&values, &same_values, sizeof values) != 0)
            fail_msg("%s is not %s", cases[i].conf, cases[i].same);
    }
}

static void other_words_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *conf, *message;
    } cases[] = {
        {"max_split_mb:64", "has no word 'max_split_mb' (did you mean max_split_size_mb?)"},
        {"max_split_size_mb", "'max_split_size_mb' is no setting, expected word:value"},
        {"max_split_size_mb:19", "max_split_size_mb is '19', expected MiB, at least 20"},
        {"expandable_segments:yes", "expandable_segments is 'yes', expected True or False"},
        {"garbage_collection_threshold:1.5", "expected a number between 0 and 1"},
        {"roundup_power2_divisions:3", "divisions is '3', expected a power of two, or a list"},
        {"roundup_power2_divisions:[3:2]", "divisions is '3:2', expected a power of two"},
        {"roundup_power2_divisions:[1:2,4:3]", "divisions is '1:2,4:3', expected"},
        {"per_process_memory_fraction:0.5", "give its product with 0.5 as --mem-limit"},
        {"backend:jemalloc", "backend is 'jemalloc', expected native or cudaMallocAsync"},
        {"large_segment_size_mb:64", "gamut knows how PyTorch works with 20 alone"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct allocator_ops *ops;
        struct option_values values;
        struct error error = {0};
        struct text spec = {0};
        text_add(&spec, "caching:conf={%s}", cases[i].conf);
        int code = allocator_parse(spec.data, &ops, &values, &error);
        if (code != ERR_USAGE || !strstr(error.text, cases[i].message))
            fail_msg("%s: code %d, %s", cases[i].conf, code, error.text);
        text_free(&spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_options),
        cmocka_unit_test(other_words_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
