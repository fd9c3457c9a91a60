#include "device/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

enum { DOMAIN_SM = 1, DOMAIN_MEMORY = 2 };
enum { SENSOR_GPU = 0 };

static const char library_name[] = "libnvidia-ml.so.1";

int nvml_load(struct nvml_api *api, struct error *error)
{
#define FUNCTION(name, parameters) {#name, offsetof(struct nvml_api, name)},
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {NVML_FUNCTION_LIST(FUNCTION)};
    *api = (struct nvml_api){0};
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return error_set(error, ERR_UNSUPPORTED, "%s", dlerror());
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].name);
        memcpy((char *)api + functions[i].offset, &found, sizeof found);
    }
    if (!api->nvmlInit_v2 || !api->nvmlDeviceGetCount_v2 || !api->nvmlDeviceGetHandleByIndex_v2)
        return error_set(error, ERR_UNSUPPORTED, "%s is too old: it has no nvmlInit_v2",
                         library_name);
    return 0;
}

/* A fact is stored where the function is there and answers. */
#define ASK(api, function, ...) ((api)->function && (api)->function(__VA_ARGS__) == NVML_OK)

static void read_number(int (*get)(void *, unsigned *), void *gpu, int64_t *fact)
{
    unsigned value;
    if (get && get(gpu, &value) == NVML_OK)
        *fact = value;
}

static void read_number_of(int (*get)(void *, int, unsigned *), void *gpu, int which, int64_t *fact)
{
    unsigned value;
    if (get && get(gpu, which, &value) == NVML_OK)
        *fact = value;
}

/* Given no room for the list, the library only counts, and returns an error if there are any. */
static void count_processes(int (*get)(void *, unsigned *, void *), void *gpu, int64_t *fact)
{
    unsigned count = 0;
    int code = get ? get(gpu, &count, NULL) : -1;
    if (code == NVML_OK || code == NVML_INSUFFICIENT_SIZE)
        *fact = count;
}

static void read_clocks(const struct nvml_api *api, void *gpu, struct nvml_gpu *g)
{
    unsigned long long reasons;
    read_number_of(api->nvmlDeviceGetClockInfo, gpu, DOMAIN_SM, &g->sm_mhz);
    read_number_of(api->nvmlDeviceGetClockInfo, gpu, DOMAIN_MEMORY, &g->memory_mhz);
    read_number_of(api->nvmlDeviceGetMaxClockInfo, gpu, DOMAIN_SM, &g->sm_most_mhz);
    read_number_of(api->nvmlDeviceGetMaxClockInfo, gpu, DOMAIN_MEMORY, &g->memory_most_mhz);
    read_number_of(api->nvmlDeviceGetApplicationsClock, gpu, DOMAIN_SM, &g->sm_application_mhz);
    read_number_of(api->nvmlDeviceGetDefaultApplicationsClock, gpu, DOMAIN_SM,
                   &g->sm_application_default_mhz);
    if (ASK(api, nvmlDeviceGetCurrentClocksThrottleReasons, gpu, &reasons))
        g->throttle_reasons = (int64_t)reasons;
}

static void read_settings(const struct nvml_api *api, void *gpu, struct nvml_gpu *g)
{
    int now, later;
    unsigned slices, slices_later;
    read_number_of(api->nvmlDeviceGetTemperature, gpu, SENSOR_GPU, &g->temperature_celsius);
    read_number(api->nvmlDeviceGetEnforcedPowerLimit, gpu, &g->power_limit_mw);
    read_number(api->nvmlDeviceGetPowerManagementDefaultLimit, gpu, &g->power_limit_default_mw);
    if (ASK(api, nvmlDeviceGetEccMode, gpu, &now, &later))
        g->ecc = now;
    if (ASK(api, nvmlDeviceGetMigMode, gpu, &slices, &slices_later))
        g->mig = slices;
    if (ASK(api, nvmlDeviceGetPersistenceMode, gpu, &now))
        g->persistence = now;
}

static void read_load(const struct nvml_api *api, void *gpu, struct nvml_gpu *g)
{
    struct nvml_use use;
    if (ASK(api, nvmlDeviceGetUtilizationRates, gpu, &use))
        g->busy_percent = use.gpu;
    count_processes(api->nvmlDeviceGetComputeRunningProcesses, gpu, &g->compute_processes);
    count_processes(api->nvmlDeviceGetGraphicsRunningProcesses, gpu, &g->graphics_processes);
}

static void read_gpu(const struct nvml_api *api, unsigned index, struct nvml_gpu *g)
{
    void *gpu;
    struct nvml_pci pci;
    *g = (struct nvml_gpu){.index = index,
#define X(fact) .fact = NVML_UNKNOWN,
                           NVML_FACT_LIST(X)
#undef X
    };
    if (api->nvmlDeviceGetHandleByIndex_v2(index, &gpu) != NVML_OK)
        return;
    if (!ASK(api, nvmlDeviceGetName, gpu, g->name, sizeof g->name))
        g->name[0] = 0;
    if (ASK(api, nvmlDeviceGetPciInfo_v3, gpu, &pci))
        snprintf(g->bus_id, sizeof g->bus_id, "%.31s", pci.bus_id);
    read_clocks(api, gpu, g);
    read_settings(api, gpu, g);
    read_load(api, gpu, g);
}

int nvml_survey(const struct nvml_api *api, struct nvml_gpu **gpus, size_t *count,
                struct error *error)
{
    unsigned found = 0;
    *gpus = NULL;
    *count = 0;
    int code = api->nvmlInit_v2();
    if (code != NVML_OK)
        return error_set(error, ERR_UNSUPPORTED,
                         "NVML does not start (code %d): is NVIDIA's driver loaded?", code);
    code = api->nvmlDeviceGetCount_v2(&found);
    if (code == NVML_OK) {
        *gpus = must_alloc(found * sizeof **gpus);
        *count = found;
        for (unsigned i = 0; i < found; i++)
            read_gpu(api, i, &(*gpus)[i]);
    }
    if (api->nvmlShutdown)
        api->nvmlShutdown();
    return code == NVML_OK
               ? 0
               : error_set(error, ERR_UNSUPPORTED, "NVML does not count GPUs (code %d)", code);
}

/* NVML writes the domain with eight digits, CUDA with four. */
const struct nvml_gpu *nvml_find(const struct nvml_gpu *gpus, size_t count, const char *bus_id)
{
    const size_t length = strlen(bus_id);
    for (size_t i = 0; i < count && length; i++) {
        const size_t own = strlen(gpus[i].bus_id);
        if (own >= length && strcasecmp(gpus[i].bus_id + own - length, bus_id) == 0)
            return &gpus[i];
    }
    return NULL;
}
