/* What stands in PYTORCH_CUDA_ALLOC_CONF is the same strategy as its translation. */
#include <string.h>

#include "alloc/pytorch_conf.h"
#include "alloc/registry.h"
#include "tests/base/cmocka.h"

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
        {"caching:conf={roundup_power2_divisions:[>:8]}", "caching:divisions={1:1,>:8}"},
        {"caching:conf={large_segment_size_mb:32}", "caching:large_segment=32MiB"},
        {"caching:conf={large_segment_size_mb:12,expandable_segments:True}",
         "vmm:large_chunk=12MiB"},
        {"caching:conf={max_split_size_mb:16,large_segment_size_mb:12}",
         "caching:max_split=16MiB:large_segment=12MiB"},
        {"caching:conf={expandable_segments:True,expandable_segments_reserve:0.5}",
         "vmm:reserve=0.5"},
        {"caching:conf={expandable_segments:True,expandable_segments_reserve:40G,"
         "expandable_segments_reserve_by_class:[a:0.5,b:8G]}",
         "vmm:reserve=40G"},
        {"caching:conf={expandable_segments:True,expandable_segments_reserve:many}", "vmm"},
        {"caching:conf={expandable_segments_reserve:0.5,throw_on_cudamalloc_oom:True}", "caching"},
        {"caching:version=2.11:conf={large_segment_size_mb:32}",
         "caching:large_segment=32MiB:version=2.11"},
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
        {"max_split_size_mb:19", "max_split_size_mb is '19', expected MiB, at least 20 as large"},
        {"expandable_segments:yes", "expandable_segments is 'yes', expected True or False"},
        {"garbage_collection_threshold:1.5", "expected a number between 0 and 1"},
        {"roundup_power2_divisions:3", "divisions is '3', expected a power of two, or a list"},
        {"roundup_power2_divisions:[3:2]", "divisions is '[3:2]', expected a power of two"},
        {"roundup_power2_divisions:[1:2,4:3]", "divisions is '[1:2,4:3]', expected"},
        {"per_process_memory_fraction:0.5", "give its product with 0.5 as --mem-limit"},
        {"backend:jemalloc", "backend is 'jemalloc', expected native or cudaMallocAsync"},
        {"large_segment_size_mb:10", "large_segment_size_mb is '10', expected MiB, more than 10"},
        {"max_split_size_mb:24,large_segment_size_mb:32",
         "max_split_size_mb is '24', expected MiB, at least 32 as large_segment_size_mb"},
        {"max_non_split_rounding_mb:11,large_segment_size_mb:12", "at least 12"},
        {"large_segment_size_mb:32}:version={2.10",
         "large_segment_size_mb is new in PyTorch 2.11, and version is 2.10"},
        {"}:version={2.16",
         "option version is '2.16' (did you mean 2.10?), expected one of newest|2.9"},
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

/* What stands in a recording is played without what gamut does not know, which the notes name. */
static void recordings_are_never_refused(void **state)
{
    (void)state;
    static const struct {
        const char *recorded, *spec, *notes;
    } cases[] = {
        {"raw", "raw", ""},
        {"caching", "caching", ""},
        {"caching:conf={max_split_size_mb:64}", "caching:conf={max_split_size_mb:64}", ""},
        {"caching:conf={a:[b:1,c:2], max_split_size_mb:64,d:3}:kind=pinned",
         "caching:conf={max_split_size_mb:64}:kind=pinned",
         "gamut does not know 'a' of PYTORCH_CUDA_ALLOC_CONF: replays are without it, and hold "
         "something else if it changes device memory\ngamut does not know 'd'"},
        {"caching:conf={max_split_size_mb:16,large_segment_size_mb:12}",
         "caching:conf={max_split_size_mb:16,large_segment_size_mb:12}", ""},
        {"caching:conf={max_split_size_mb:3}", "caching",
         "max_split_size_mb is '3', expected MiB, at least 20 as large_segment_size_mb; replays"},
        {"caching:conf={large_segment_size_mb:3,backend:native}", "caching:conf={backend:native}",
         "large_segment_size_mb is '3', expected MiB, more than 10; replays are without it"},
        {"caching:conf={large_segment_size_mb:64,max_split_size_mb:32,large_segment_size_mb:x,"
         "large_segment_size_mb:32}",
         "caching:conf={large_segment_size_mb:64,max_split_size_mb:32,large_segment_size_mb:32}",
         "large_segment_size_mb is 'x', expected MiB, more than 10; replays are without it"},
        {"caching:conf={nothing}", "caching", "does not know 'nothing'"},
        {"caching:conf={backend}", "caching", "'backend' is no setting, expected word:value"},
        {"caching:conf={roundup_power2_divisions:[3}", "caching", "roundup_power2_divisions is"},
        {"caching:conf={per_process_memory_fraction:0.5,expandable_segments:True}",
         "caching:conf={per_process_memory_fraction:1,expandable_segments:True}",
         "give its product with 0.5 as --mem-limit"},
        {"caching:conf={pinned_num_register_threads:4,throw_on_cudamalloc_oom:True}",
         "caching:conf={pinned_num_register_threads:4,throw_on_cudamalloc_oom:True}",
         "pinned_num_register_threads changes nothing: it is about pinned memory of the host\n"
         "throw_on_cudamalloc_oom changes nothing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct allocator_ops *ops;
        struct option_values values;
        struct error error = {0};
        struct text spec = {0}, notes = {0};
        pytorch_recorded(cases[i].recorded, &spec, &notes);
        text_add(&notes, "%s", "");
        assert_string_equal(spec.data, cases[i].spec);
        if (!*cases[i].notes ? *notes.data : !strstr(notes.data, cases[i].notes))
            fail_msg("%s: %s", cases[i].recorded, notes.data);
        if (allocator_parse(spec.data, &ops, &values, &error))
            fail_msg("%s: %s", spec.data, error.text);
        text_free(&spec);
        text_free(&notes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_options),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(recordings_are_never_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
