#include "run/select/requirements.h"

#include "base/text.h"
#include "run/select/inputs.h"

static bool needs_f64(const struct fun *fun)
{
    for (unsigned n = 0; n < fun->name_count; n++)
        if (fun->names[n].kind == NAME_ARRAY && fun->names[n].element == ELEMENT_f64)
            return true;
    return false;
}

/* A single device runs all kernels, wherever the program would have them. */
static int check_devices(const struct fun *fun, const struct device_info *device,
                         struct error *error)
{
    for (const struct kernel *k = fun->kernels; k && device->members > 1; k = k->next)
        if (k->on >= device->members)
            return error_set(error, ERR_UNSUPPORTED,
                             "kernel '%s' runs on device %u, %s has devices 0 to %u", k->name,
                             k->on, device->id, device->members - 1);
    return 0;
}

int requirements_check(const struct entry *entry, const struct dataset *dataset,
                       const struct device_info *device, uint64_t capacity_bytes,
                       struct error *error)
{
    if (needs_f64(entry->fun) && !device->has_f64)
        return error_set(error, ERR_UNSUPPORTED, "the device has no 64-bit floats");
    struct input_sizes inputs;
    TRY(check_devices(entry->fun, device, error));
    TRY(inputs_sizes(entry, dataset, &inputs, error));
    const bool limited = capacity_bytes && capacity_bytes < device->memory_bytes;
    const uint64_t most = limited ? capacity_bytes : device->memory_bytes;
    char need[32], have[32];
    if (inputs.total_bytes > most)
        return error_set(error, ERR_UNSUPPORTED, "does not fit: its inputs alone are %s, %s %s",
                         text_bytes(need, inputs.total_bytes),
                         limited ? "the limit is" : "the device has", text_bytes(have, most));
    if (inputs.largest_bytes > device->max_alloc_bytes)
        return error_set(error, ERR_UNSUPPORTED,
                         "does not fit: an input is %s, a single memory of the device at most %s",
                         text_bytes(need, inputs.largest_bytes),
                         text_bytes(have, device->max_alloc_bytes));
    return 0;
}
