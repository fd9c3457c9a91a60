/* Facts of a GPU that NVIDIA's management library (NVML) reports and a driver API does not: clocks,
 * limits, errors, other processes. Nothing here changes a setting.
 *
 * Its header is in few toolkits, so the functions in use are declared here, by their documented
 * signatures. Every fact is optional: it is NVML_UNKNOWN where the library, the GPU or a container
 * does not report it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { NVML_OK = 0, NVML_INSUFFICIENT_SIZE = 7 };

struct nvml_use {
    unsigned gpu, memory; /* percent of the last sample period in which they were busy */
};
struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32]; /* "00000000:18:00.0" */
};

/* The first three are required. All return 0 (NVML_OK) or a code of NVML's. */
#define NVML_FUNCTION_LIST(X)                                                                      \
    X(nvmlInit_v2, (void))                                                                         \
    X(nvmlDeviceGetCount_v2, (unsigned *count))                                                    \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned index, void **gpu))                                 \
    X(nvmlShutdown, (void))                                                                        \
    X(nvmlDeviceGetName, (void *gpu, char *name, unsigned size))                                   \
    X(nvmlDeviceGetPciInfo_v3, (void *gpu, struct nvml_pci *pci))                                  \
    X(nvmlDeviceGetClockInfo, (void *gpu, int domain, unsigned *mhz))                              \
    X(nvmlDeviceGetMaxClockInfo, (void *gpu, int domain, unsigned *mhz))                           \
    X(nvmlDeviceGetApplicationsClock, (void *gpu, int domain, unsigned *mhz))                      \
    X(nvmlDeviceGetDefaultApplicationsClock, (void *gpu, int domain, unsigned *mhz))               \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, (void *gpu, unsigned long long *reasons))         \
    X(nvmlDeviceGetTemperature, (void *gpu, int sensor, unsigned *celsius))                        \
    X(nvmlDeviceGetEnforcedPowerLimit, (void *gpu, unsigned *milliwatts))                          \
    X(nvmlDeviceGetPowerManagementDefaultLimit, (void *gpu, unsigned *milliwatts))                 \
    X(nvmlDeviceGetEccMode, (void *gpu, int *now, int *after_reboot))                              \
    X(nvmlDeviceGetMigMode, (void *gpu, unsigned *now, unsigned *after_reset))                     \
    X(nvmlDeviceGetPersistenceMode, (void *gpu, int *on))                                          \
    X(nvmlDeviceGetUtilizationRates, (void *gpu, struct nvml_use *use))                            \
    X(nvmlDeviceGetComputeRunningProcesses, (void *gpu, unsigned *count, void *none))              \
    X(nvmlDeviceGetGraphicsRunningProcesses, (void *gpu, unsigned *count, void *none))

#define NVML_FUNCTION(name, parameters) int(*name) parameters;
struct nvml_api {
    NVML_FUNCTION_LIST(NVML_FUNCTION)
};

/* Bits of nvmlDeviceGetCurrentClocksThrottleReasons: why the clock is not at its highest. */
enum nvml_throttle {
    NVML_IDLE = 0x1,
    NVML_APPLICATION_CLOCKS = 0x2,
    NVML_POWER_CAP = 0x4,
    NVML_HARDWARE_SLOWDOWN = 0x8,
    NVML_SYNC_BOOST = 0x10,
    NVML_THERMAL = 0x20,
    NVML_HARDWARE_THERMAL = 0x40,
    NVML_POWER_BRAKE = 0x80,
    NVML_DISPLAY_CLOCKS = 0x100,
};

enum { NVML_UNKNOWN = -1 };

/* The facts by their names in JSON, one number each. Clocks are in MHz, power in milliwatts,
 * switches 0 or 1. The application clock is the one that was requested; NVML does not report that a
 * clock was locked. Settings stay until they are changed, states do not. */
#define NVML_SETTING_LIST(X)                                                                       \
    X(ecc)                                                                                         \
    X(mig)                                                                                         \
    X(persistence)                                                                                 \
    X(power_limit_mw)                                                                              \
    X(power_limit_default_mw)                                                                      \
    X(sm_application_mhz)                                                                          \
    X(sm_application_default_mhz)                                                                  \
    X(sm_most_mhz)                                                                                 \
    X(memory_most_mhz)
#define NVML_STATE_LIST(X)                                                                         \
    X(sm_mhz)                                                                                      \
    X(memory_mhz)                                                                                  \
    X(throttle_reasons)                                                                            \
    X(temperature_celsius)                                                                         \
    X(busy_percent)                                                                                \
    X(compute_processes)                                                                           \
    X(graphics_processes)
#define NVML_FACT_LIST(X) NVML_SETTING_LIST(X) NVML_STATE_LIST(X)

struct nvml_gpu {
    unsigned index; /* the number that nvidia-smi gives it */
    char name[96];
    char bus_id[32];          /* "" where unknown */
#define X(fact) int64_t fact; /* or NVML_UNKNOWN */
    NVML_FACT_LIST(X)
#undef X
};

/* Opens libnvidia-ml.so.1, which stays loaded; optional functions that it lacks are NULL.
 * ERR_UNSUPPORTED, and why, where there is none or it is too old. */
int nvml_load(struct nvml_api *api, struct error *error);

/* Reads every GPU; the caller frees *gpus. Takes milliseconds and starts no work on a GPU.
 * ERR_UNSUPPORTED where the library does not answer. */
int nvml_survey(const struct nvml_api *api, struct nvml_gpu **gpus, size_t *count,
                struct error *error);

/* The GPU with this PCI bus id, in the form of device_info.bus_id; NULL: none is known there. */
const struct nvml_gpu *nvml_find(const struct nvml_gpu *gpus, size_t count, const char *bus_id);
