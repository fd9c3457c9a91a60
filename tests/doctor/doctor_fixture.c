#include "tests/doctor/doctor_fixture.h"

#include <math.h>

struct doctor_facts fit_machine(void)
{
    static struct doctor_api apis[2];
    static struct doctor_device devices[2];
    static struct nvml_gpu gpus[1];
    apis[0] = (struct doctor_api){.name = "host", .device_count = 1};
    apis[1] = (struct doctor_api){.name = "cuda", .device_count = 1};
    devices[0] = (struct doctor_device){
        .device = {.id = "host",
                   .api = "host",
                   .name = "A CPU",
                   .kind = "cpu",
                   .memory_bytes = 64ull << 30,
                   .memory_free_start_bytes = 60ull << 30},
    };
    devices[1] = (struct doctor_device){
        .device = {.id = "cuda:0",
                   .api = "cuda",
                   .name = "A GPU",
                   .platform = "CUDA 13.0",
                   .driver = "580.65",
                   .kind = "gpu",
                   .memory_bytes = 140ull << 30,
                   .memory_free_start_bytes = 139ull << 30},
        .bus_id = "0000:18:00.0",
    };
    gpus[0] = (struct nvml_gpu){
        .name = "A GPU",
        .bus_id = "00000000:18:00.0",
        .sm_mhz = 1410,
        .sm_most_mhz = 1980,
        .sm_application_mhz = 1410,
        .sm_application_default_mhz = 1980,
        .memory_mhz = 3201,
        .memory_most_mhz = 3201,
        .throttle_reasons = NVML_IDLE,
        .temperature_celsius = 31,
        .power_limit_mw = 700000,
        .power_limit_default_mw = 700000,
        .ecc = 1,
        .persistence = 1,
    };
    return (struct doctor_facts){
        .build = "release",
        .cflags = "-O2 -g",
        .host = {.os = "An OS",
                 .cpu = "A CPU",
                 .governor = "performance",
                 .clocksource = "tsc",
                 .turbo = 0,
                 .cpus = 8,
                 .usable_cpus = 8,
                 .memory_bytes = 64ull << 30,
                 .memory_available_bytes = 60ull << 30,
                 .limits = {.cpu_quota = NAN, .throttled_periods = NAN},
                 .load1 = 0.25},
        .api_count = 2,
        .apis = apis,
        .device_count = 2,
        .devices = devices,
        .gpu_count = 1,
        .gpus = gpus,
        .has_nvidia_node = true,
        .results = {.path = "results", .exists = true, .free_bytes = 100ll << 30},
        .gnuplot = {"gnuplot", "gnuplot 5.4 patchlevel 4"},
        .compiler = {"cc", "cc (A Distribution) 12.2.0"},
        .scripts = "/usr/share/gamut/plots",
    };
}
