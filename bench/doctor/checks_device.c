/* The checks of devices: what every API tells, and what NVML adds for NVIDIA's GPUs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "doctor/doctor.h"

/* ---- every device ---------------------------------------------------------------------------- */

static void check_api(const struct doctor_facts *facts, const struct doctor_api *api,
                      struct doctor_rows *rows)
{
    struct doctor_row *row = doctor_row(rows, "api", api->name);
    const bool is_broken = strcmp(api->name, "cuda") == 0 && facts->has_nvidia_node;
    if (*facts->no_devices)
        doctor_found(row, DOCTOR_FAIL, "mend or unload that driver", "%s", facts->no_devices);
    else if (api->device_count)
        doctor_found(row, DOCTOR_PASS, NULL, "%zu %s", api->device_count,
                     api->device_count == 1 ? "device" : "devices");
    else
        doctor_found(row, is_broken ? DOCTOR_WARN : DOCTOR_INFO,
                     is_broken ? "NVIDIA's driver is loaded (/dev/nvidiactl): mend its user part"
                               : NULL,
                     "no device: %s", api->why_not);
}

static void check_device(const struct doctor_device *device, struct doctor_row *row)
{
    const struct record_device *info = &device->device;
    const uint64_t all = info->memory_bytes, left = info->memory_free_start_bytes;
    char all_text[32], left_text[32];
    if (*device->failure) {
        doctor_found(row, DOCTOR_FAIL, "leave it out with -D, or mend the driver", "%s: %s",
                     info->name, device->failure);
        return;
    }
    text_bytes(all_text, all);
    text_bytes(left_text, left);
    /* A driver keeps a few percent to itself; more than a tenth is somebody else's. */
    const bool is_shared = strcmp(info->kind, "gpu") == 0 && left && left < all / 10 * 9;
    doctor_found(row, is_shared ? DOCTOR_WARN : DOCTOR_PASS,
                 is_shared ? "another process holds the rest: end it, or expect oom" : NULL,
                 "%s%s%s%s%s, %s, %s free", info->name, *info->platform ? ", " : "", info->platform,
                 *info->driver ? ", driver " : "", info->driver, all_text,
                 left ? left_text : "unknown how much is");
}

static void check_noise(const struct doctor_noise *noise, struct doctor_row *row)
{
    static const double old_days = 30; /* updates and neighbours come and go */
    if (!noise->known)
        doctor_found(row, DOCTOR_INFO, "gamut run --aa measures it", "none yet");
    else if (noise->age_days > old_days)
        doctor_found(row, DOCTOR_WARN, "gamut run --aa measures it anew",
                     "%.1f %% of wall time, of %s: %.0f days old", noise->floor * 100,
                     noise->measured, noise->age_days);
    else
        doctor_found(row, DOCTOR_PASS, NULL, "%.1f %% of wall time, of %s", noise->floor * 100,
                     noise->measured);
}

/* ---- one GPU of NVIDIA's --------------------------------------------------------------------- */

static const char *number(char out[24], int64_t value)
{
    if (value == NVML_UNKNOWN)
        return "unknown";
    snprintf(out, 24, "%" PRId64, value);
    return out;
}

static void check_clocks(const struct nvml_gpu *g, struct doctor_row *row)
{
    char sm[24], sm_most[24], memory[24], memory_most[24], application[24];
    const int64_t asked = g->sm_application_mhz, usual = g->sm_application_default_mhz;
    const bool is_set = asked != NVML_UNKNOWN && usual != NVML_UNKNOWN && asked != usual;
    if (g->sm_mhz == NVML_UNKNOWN && g->sm_most_mhz == NVML_UNKNOWN) {
        doctor_found(row, DOCTOR_WARN, "look at the rounds of a result for drift",
                     "unknown: NVML does not tell here");
        return;
    }
    /* There is no call that tells whether `nvidia-smi -lgc` is in force. */
    doctor_found(row, is_set ? DOCTOR_PASS : DOCTOR_INFO,
                 is_set ? NULL
                        : "for the steadiest times lock them, as root: nvidia-smi -lgc MHZ,MHZ",
                 "SM %s of %s MHz now, memory %s of %s; application clock %s MHz%s; whether they "
                 "are locked is unknown",
                 number(sm, g->sm_mhz), number(sm_most, g->sm_most_mhz),
                 number(memory, g->memory_mhz), number(memory_most, g->memory_most_mhz),
                 number(application, asked), is_set ? " (set)" : "");
}

/* Reasons that slow a measurement down; idling, and a clock that was asked for, do not. */
static const struct {
    enum nvml_throttle bit;
    bool is_severe; /* the hardware cut the clock to protect itself: by half and more */
    const char *name;
} throttles[] = {
    {NVML_POWER_CAP, false, "power limit"},
    {NVML_HARDWARE_SLOWDOWN, true, "hardware slowdown"},
    {NVML_SYNC_BOOST, false, "sync boost"},
    {NVML_THERMAL, false, "temperature"},
    {NVML_HARDWARE_THERMAL, true, "temperature (hardware)"},
    {NVML_POWER_BRAKE, true, "power brake"},
    {NVML_DISPLAY_CLOCKS, false, "display clocks"},
};
enum { THROTTLES = sizeof throttles / sizeof *throttles };

static void check_throttle(const struct nvml_gpu *g, struct doctor_row *row)
{
    char celsius[24];
    struct text reasons = {0};
    bool is_severe = false;
    if (g->throttle_reasons == NVML_UNKNOWN) {
        doctor_found(row, DOCTOR_INFO, NULL, "unknown: NVML does not tell here");
        return;
    }
    for (size_t i = 0; i < THROTTLES; i++)
        if (g->throttle_reasons & throttles[i].bit) {
            text_add(&reasons, "%s%s", reasons.length ? ", " : "", throttles[i].name);
            is_severe |= throttles[i].is_severe;
        }
    if (reasons.length)
        doctor_found(row, is_severe ? DOCTOR_FAIL : DOCTOR_WARN,
                     is_severe ? "see to cooling and power supply before measuring"
                               : "wait until it is over, or lock a lower clock",
                     "the clock is held down by: %s; %s C", reasons.data,
                     number(celsius, g->temperature_celsius));
    else
        doctor_found(row, DOCTOR_PASS, NULL, "none, %s C", number(celsius, g->temperature_celsius));
    text_free(&reasons);
}

static void check_power(const struct nvml_gpu *g, struct doctor_row *row)
{
    const int64_t limit = g->power_limit_mw, usual = g->power_limit_default_mw;
    if (limit == NVML_UNKNOWN) {
        doctor_found(row, DOCTOR_INFO, NULL, "unknown: NVML does not tell here");
        return;
    }
    const bool is_low = usual != NVML_UNKNOWN && limit < usual;
    doctor_found(row, is_low ? DOCTOR_WARN : DOCTOR_PASS,
                 is_low ? "long kernels will run slower than on another such GPU" : NULL,
                 "limit %.0f W%s", (double)limit / 1e3,
                 is_low                  ? ", below the default"
                 : usual == NVML_UNKNOWN ? ", default unknown"
                                         : ", the default");
}

static void check_ecc(const struct nvml_gpu *g, struct doctor_row *row)
{
    char errors[24];
    if (g->ecc == NVML_UNKNOWN)
        doctor_found(row, DOCTOR_INFO, NULL, "unknown, or the GPU has none");
    else if (g->ecc_uncorrected_errors > 0)
        doctor_found(row, DOCTOR_FAIL, "reset the GPU; if it comes again, have it replaced",
                     "%s uncorrected memory errors since the driver was loaded",
                     number(errors, g->ecc_uncorrected_errors));
    else if (g->ecc_after_reboot != g->ecc && g->ecc_after_reboot != NVML_UNKNOWN)
        doctor_found(row, DOCTOR_WARN, "restart before comparing with later runs",
                     "%s now, %s after the next restart", g->ecc ? "on" : "off",
                     g->ecc_after_reboot ? "on" : "off");
    else
        doctor_found(row, DOCTOR_PASS, NULL, "%s, uncorrected errors: %s", g->ecc ? "on" : "off",
                     number(errors, g->ecc_uncorrected_errors));
}

static void check_mig(const struct nvml_gpu *g, struct doctor_row *row)
{
    if (g->mig == NVML_UNKNOWN)
        doctor_found(row, DOCTOR_INFO, NULL, "unknown, or the GPU cannot be divided");
    else if (g->mig)
        doctor_found(row, DOCTOR_WARN, "compare only with the same slice, its neighbours idle",
                     "on: numbers are those of a slice of the GPU");
    else
        doctor_found(row, DOCTOR_PASS, NULL, "off");
}

static void check_persistence(const struct nvml_gpu *g, struct doctor_row *row)
{
    if (g->persistence == NVML_UNKNOWN)
        doctor_found(row, DOCTOR_INFO, NULL, "unknown: NVML does not tell here");
    else if (g->persistence)
        doctor_found(row, DOCTOR_PASS, NULL, "on");
    else
        doctor_found(row, DOCTOR_INFO, "as root: nvidia-smi -pm 1",
                     "off: the driver may be loaded anew for each round, which takes seconds");
}

static void check_processes(const struct nvml_gpu *g, struct doctor_row *row)
{
    const int64_t compute = g->compute_processes, graphics = g->graphics_processes;
    const int64_t known = (compute > 0 ? compute : 0) + (graphics > 0 ? graphics : 0);
    char busy[24];
    if (known > 0)
        doctor_found(row, DOCTOR_WARN, "see nvidia-smi; wait until they have ended",
                     "%" PRId64 " on this GPU, which was busy for %s %% of the time", known,
                     number(busy, g->busy_percent));
    else if (g->busy_percent > 0) /* they may be outside of this container */
        doctor_found(
            row, DOCTOR_WARN,
            "look again in a second; if it stays, somebody outside of this container uses it",
            "none to be seen, but the GPU was busy for %s %% of the time",
            number(busy, g->busy_percent));
    else if (compute == NVML_UNKNOWN)
        doctor_found(row, DOCTOR_INFO, NULL, "unknown: NVML does not tell here");
    else
        doctor_found(row, DOCTOR_PASS, NULL, "none, the GPU was busy for %s %% of the time",
                     number(busy, g->busy_percent));
}

static const struct {
    const char *name;
    void (*check)(const struct nvml_gpu *gpu, struct doctor_row *row);
} gpu_checks[] = {
    {"clocks", check_clocks},
    {"throttling", check_throttle},
    {"power", check_power},
    {"ecc", check_ecc},
    {"mig", check_mig},
    {"persistence", check_persistence},
    {"processes", check_processes},
};
enum { GPU_CHECKS = sizeof gpu_checks / sizeof *gpu_checks };

/* ---- all ------------------------------------------------------------------------------------- */

void doctor_check_devices(const struct doctor_facts *facts, struct doctor_rows *rows)
{
    for (size_t i = 0; i < facts->api_count; i++)
        check_api(facts, &facts->apis[i], rows);
    for (size_t i = 0; i < facts->device_count; i++)
        check_device(&facts->devices[i], doctor_row(rows, "device", facts->devices[i].device.id));
    for (size_t i = 0; i < facts->device_count; i++)
        check_noise(&facts->devices[i].noise,
                    doctor_row(rows, "noise floor", facts->devices[i].device.id));
    if (*facts->nvml_why_not)
        doctor_found(
            doctor_row(rows, "nvml", ""), facts->has_nvidia_node ? DOCTOR_WARN : DOCTOR_INFO,
            facts->has_nvidia_node ? "mount or install libnvidia-ml.so.1" : NULL,
            "clocks, limits and other processes of GPUs are unknown: %s", facts->nvml_why_not);
    for (size_t i = 0; i < facts->gpu_count; i++)
        for (size_t c = 0; c < GPU_CHECKS; c++) {
            char subject[32];
            snprintf(subject, sizeof subject, "gpu %u", facts->gpus[i].index);
            gpu_checks[c].check(&facts->gpus[i], doctor_row(rows, gpu_checks[c].name, subject));
        }
}
