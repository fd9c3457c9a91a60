#include "cli/recording.h"

#include <stdlib.h>

#include "base/arena.h"
#include "record/tree.h"

json_t *record_flags(const struct flag *flags, const struct flag_value *values)
{
    json_t *record = tree_object();
    for (const struct flag *f = flags; f->name; f++) {
        const struct flag_value *value = &values[f - flags];
        if (f->type == FLAG_SWITCH)
            tree_put(record, f->name, json_boolean(value->number));
        else if (f->type == FLAG_COUNT)
            tree_put(record, f->name, tree_count(value->number));
        else if (value->text)
            tree_put(record, f->name, tree_text(value->text));
    }
    return record;
}

void record_devices(struct result *result, const struct found_device *devices, size_t count)
{
    struct record_device *records = must_alloc(count * sizeof *records);
    struct nvml_api nvml;
    struct nvml_gpu *gpus = NULL;
    size_t gpu_count = 0;
    if (nvml_load(&nvml, NULL) == 0)
        nvml_survey(&nvml, &gpus, &gpu_count, NULL);
    for (size_t i = 0; i < count; i++) {
        device_to_record(&devices[i], &records[i]);
        records[i].gpu = nvml_find(gpus, gpu_count, devices[i].info.bus_id);
    }
    result_set_devices(result, records, count);
    free(records);
    free(gpus);
}
