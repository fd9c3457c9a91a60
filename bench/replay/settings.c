#include "replay/settings.h"

#include <string.h>

#include "alloc/registry.h"

/* ---- PyTorch: PYTORCH_CUDA_ALLOC_CONF ---- */

#define PYTORCH_SPLITS   "0|32MiB|64MiB|128MiB|256MiB|512MiB"
#define PYTORCH_SEGMENTS "20MiB|12MiB|16MiB|32MiB"
#define PYTORCH_CONF     "PYTORCH_CUDA_ALLOC_CONF"

/* Its cudaMallocAsync backend is left out: what the driver's pool holds depends on how far the
 * device lags, which no log says. Collection by age is too, because it needs a limit. */
static const struct family pytorch_families[] = {
    {"caching", PYTORCH_CONF "=", "", "unset " PYTORCH_CONF},
    {"vmm", PYTORCH_CONF "=expandable_segments:True", "", NULL},
    {0},
};
/* The first two are of PyTorch 2.11 and newer, where max_split is no less than they are. */
static const struct knob pytorch_knobs[] = {
    {"caching", "large_segment", PYTORCH_SEGMENTS, ",large_segment_size_mb:"},
    {"vmm", "large_chunk", PYTORCH_SEGMENTS, ",large_segment_size_mb:"},
    {"caching", "max_split", PYTORCH_SPLITS, ",max_split_size_mb:"},
    {"caching", "divisions", "1|2|4|8", ",roundup_power2_divisions:"},
    {"vmm", "max_split", PYTORCH_SPLITS, ",max_split_size_mb:"},
    {"vmm", "divisions", "1|2|4|8", ",roundup_power2_divisions:"},
    {0},
};

/* ---- RMM: memory resources ---- */

/* cuMemAllocAsync's pool is left out here too. */
static const struct family rmm_families[] = {
    {"raw", "rmm.mr.CudaMemoryResource()", "", NULL},
    /* Without words about its start it takes half of the device. */
    {"rmm", "rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=0)", "",
     NULL},
    {0},
};
static const struct knob no_knobs[] = {{0}};

/* ---- PyOpenCL: memory pools ---- */

static const struct family pyopencl_families[] = {
    {"raw", "no pool (pyopencl.array without an allocator)", "", NULL},
    {"pool", "pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue)", ")", NULL},
    {0},
};
static const struct knob pyopencl_knobs[] = {
    {"pool", "leading_bits", "4|2|3|5|6", ", leading_bits_in_bin_id="},
    {0},
};

/* ---- an unmodified program: gamut serve ---- */

/* The strategy that keeps what it has, so that a program in a loop calls the driver no more. */
static const struct family served_families[] = {
    {"caching", "gamut serve -s caching --", "", NULL},
    {0},
};

/* ---- any other: the strategies of gamut ---- */

static const struct knob gamut_knobs[] = {
    {"pool", "leading_bits", "4|2|3|5|6", NULL},
    {"tagged", "policy", "v1|v2|v4", NULL},
    {"bufalloc", "region", "256MiB|16MiB|64MiB|1GiB", NULL},
    {"bufalloc", "strategy", "wasteful|tight", NULL},
    {"bufalloc", "split", "no|yes", NULL},
    {"tlsf", "parent", "256MiB|16MiB|64MiB|1GiB", NULL},
    {"tlsf", "strategy", "balanced|min_memory", NULL},
    {"caching", "max_split", PYTORCH_SPLITS, NULL},
    {"caching", "divisions", "1|2|4|8", NULL},
    {"vmm", "large_chunk", "20MiB|2MiB", NULL},
    {"stream", "threshold", "0|max", NULL},
    {0},
};

static const struct application applications[] = {
    {"pytorch", "PyTorch", "caching", pytorch_families, pytorch_knobs + 2},
    {"pytorch-2.11", "PyTorch", "caching", pytorch_families, pytorch_knobs},
    {"rmm", "RMM", "raw", rmm_families, no_knobs},
    {"pyopencl", "PyOpenCL", "raw", pyopencl_families, pyopencl_knobs},
    {"serve", "gamut record", "raw", served_families, no_knobs},
    {"gamut", NULL, "raw", NULL, gamut_knobs},
};
enum { APPLICATIONS = sizeof applications / sizeof *applications };

const struct application *application_find(const char *name, const char *source)
{
    for (size_t i = 0; i < APPLICATIONS; i++) {
        const struct application *a = &applications[i];
        if (strcmp(name, "auto") ? strcmp(name, a->name) == 0
                                 : !a->source || !strncmp(source, a->source, strlen(a->source)))
            return a;
    }
    return NULL;
}

/* Whether the strategy of `spec` has an option: "vmm" before ':' and its table. */
static bool has_option(const char *spec, const char *option)
{
    const struct allocator_ops *ops;
    struct option_values values;
    if (allocator_parse(spec, &ops, &values, NULL) || !ops->options)
        return false;
    for (const struct option_spec *o = ops->options; o->name; o++)
        if (strcmp(o->name, option) == 0)
            return true;
    return false;
}

static void add_knobs(const struct application *application, struct allocator_setting *setting)
{
    const size_t length = strcspn(setting->family.spec, ":");
    for (const struct knob *k = application->knobs; k->strategy; k++)
        if (strlen(k->strategy) == length &&
            strncmp(k->strategy, setting->family.spec, length) == 0 &&
            has_option(setting->family.spec, k->option) && setting->knob_count < SETTING_KNOBS_MAX)
            setting->at[setting->knob_count++].knob = k;
}

bool application_setting(const struct application *application, size_t i,
                         struct allocator_setting *setting)
{
    *setting = (struct allocator_setting){0};
    if (application->families) {
        for (size_t k = 0; k < i; k++)
            if (!application->families[k].spec)
                return false;
        setting->family = application->families[i];
    } else {
        size_t count, seen = 0;
        const struct allocator_ops *const *list = allocator_list(&count);
        for (size_t k = 0; k < count && !setting->family.spec; k++)
            if (!list[k]->harness_only && !list[k]->serves_plan && seen++ == i)
                setting->family = (struct family){.spec = list[k]->name};
    }
    if (!setting->family.spec)
        return false;
    add_knobs(application, setting);
    return true;
}

/* The i-th of "a|b|c". */
static const char *nth(const char *list, unsigned i, size_t *length)
{
    for (; i > 0; i--)
        list = strchr(list, '|') + 1;
    *length = strcspn(list, "|");
    return list;
}

unsigned knob_value_count(const struct knob *knob)
{
    unsigned count = 1;
    for (const char *at = knob->values; (at = strchr(at, '|')); at++)
        count++;
    return count;
}

void setting_spec(const struct allocator_setting *setting, struct text *out)
{
    text_add(out, "%s", setting->family.spec);
    for (unsigned i = 0; i < setting->knob_count; i++) {
        size_t length;
        const struct knob *knob = setting->at[i].knob;
        const char *value = nth(knob->values, setting->at[i].value, &length);
        if (setting->at[i].value)
            text_add(out, ":%s=%.*s", knob->option, (int)length, value);
    }
}

void setting_words(const struct allocator_setting *setting, struct text *out)
{
    const struct family *family = &setting->family;
    bool is_plain = family->plain != NULL;
    for (unsigned i = 0; i < setting->knob_count; i++)
        is_plain = is_plain && setting->at[i].value == 0;
    if (!family->head)
        setting_spec(setting, out);
    else
        text_add(out, "%s", is_plain ? family->plain : family->head);
    if (!family->head || is_plain)
        return;
    for (unsigned i = 0; i < setting->knob_count; i++) {
        size_t length;
        const struct knob *knob = setting->at[i].knob;
        const char *value = nth(knob->values, setting->at[i].value, &length);
        const bool is_first = out->data[out->length - 1] == '=';
        if (setting->at[i].value) /* digits; the application's unit is in its word */
            text_add(out, "%s%.*s", knob->word + is_first, (int)strspn(value, "0123456789"), value);
    }
    text_add(out, "%s", family->tail);
}
