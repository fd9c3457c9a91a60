/* An atlas from beginning to end, in the process that has the device open. */
#include "run/atlas/atlas_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/atlas/atlas_bench.h"

static void take_facts(const struct device_info *info, struct atlas *atlas)
{
    *atlas = (struct atlas){.timer_ns = NAN};
    snprintf(atlas->device, sizeof atlas->device, "%s", info->id);
    snprintf(atlas->name, sizeof atlas->name, "%s", info->name);
    snprintf(atlas->driver, sizeof atlas->driver, "%s", info->driver);
}

int atlas_measure(struct device *device, const struct atlas_options *options,
                  atlas_listener *listener, void *context, struct atlas *atlas, struct error *error)
{
    struct bench b = {.device = device,
                      .ops = device->ops,
                      .options = options,
                      .atlas = atlas,
                      .listener = listener,
                      .context = context};
    struct open_method methods[METHODS_MAX];
    size_t method_count = 0;
    take_facts(device_info(device), atlas);
    bench_say(&b, "building kernels", false);
    int code = bench_open(&b, error);
    if (!code)
        code = commands_prepare(&b, error);
    if (!code)
        code = methods_open(&b, methods, &method_count, error);
    if (!code)
        code = atlas_sizes(&b, methods, method_count, error);
    if (!code)
        code = atlas_probe_waits(&b, methods, method_count, error);
    if (!code)
        code = atlas_live_counts(&b, methods, method_count, error);
    if (code != ERR_DEVICE_LOST) { /* closing what is lost can hang */
        methods_close(&b, methods, method_count);
        bench_close(&b);
    }
    free(b.host);
    return code;
}
