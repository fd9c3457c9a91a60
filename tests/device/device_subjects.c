#include "tests/device/device_subjects.h"

#include <stdio.h>

static void print_absence(void *context, const struct device_info *info, const char *why_not)
{
    if (!info)
        print_message("nothing is run on %s: %s\n", (const char *)context, why_not);
}

void print_missing_devices(void)
{
    size_t count;
    const struct device_ops *const *apis = device_api_list(&count);
    for (size_t i = 0; i < count; i++)
        device_enumerate(apis[i], print_absence, (void *)apis[i]->name);
}

static void keep_id(void *context, const struct device_info *info, const char *why_not)
{
    (void)why_not;
    snprintf(context, sizeof info->id, "%s", info->id);
}

void on_each_device(void (*check)(struct subject *))
{
    static const struct {
        const char *selector;
        bool built_in;
    } subjects[] = {{"host", true}, {"host", false}, {"opencl", false}, {"cuda", false}};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        char id[sizeof((struct device_info *)0)->id];
        struct subject s = {.built_in = subjects[i].built_in};
        if (device_select(subjects[i].selector, keep_id, id, NULL))
            continue;
        if (device_open(id, &s.device, &s.error))
            fail_msg("%s: %s", id, s.error.text);
        s.ops = s.device->ops;
        check(&s);
        s.ops->close(s.device);
    }
}

uint64_t allocate(struct subject *s, uint64_t bytes)
{
    uint64_t memory = 0;
    ok(s, s->ops->alloc(s->device, bytes, &memory, &s->error));
    assert_true(memory != 0);
    return memory;
}
