/* The checks. Each is a function of the facts that fills in one row. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "doctor/doctor.h"

/* ---- rows ------------------------------------------------------------------------------------ */

const char *doctor_status_name(enum doctor_status status)
{
    static const char *const names[] = {
        [DOCTOR_PASS] = "pass",
        [DOCTOR_INFO] = "info",
        [DOCTOR_WARN] = "warn",
        [DOCTOR_FAIL] = "fail",
    };
    return names[status];
}

static struct doctor_row *add_row(struct doctor_rows *rows, const char *check, const char *subject)
{
    rows->row = must_realloc(rows->row, (rows->count + 1) * sizeof *rows->row);
    struct doctor_row *row = &rows->row[rows->count++];
    *row = (struct doctor_row){.check = check};
    snprintf(row->subject, sizeof row->subject, "%s", subject);
    return row;
}

__attribute__((format(printf, 4, 5))) static void found(struct doctor_row *row,
                                                        enum doctor_status status,
                                                        const char *advice, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(row->found, sizeof row->found, format, arguments);
    va_end(arguments);
    row->status = status;
    snprintf(row->advice, sizeof row->advice, "%s", advice ? advice : "");
}

/* ---- every device ---------------------------------------------------------------------------- */

static void check_api(const struct doctor_facts *facts, const struct doctor_api *api,
                      struct doctor_row *row)
{
    const bool is_broken = strcmp(api->name, "cuda") == 0 && facts->has_nvidia_node;
    if (*facts->no_devices)
        found(row, DOCTOR_FAIL, "mend or unload that driver", "%s", facts->no_devices);
    else if (api->device_count)
        found(row, DOCTOR_PASS, NULL, "%zu %s", api->device_count,
              api->device_count == 1 ? "device" : "devices");
    else
        found(row, is_broken ? DOCTOR_WARN : DOCTOR_INFO,
              is_broken
                  ? "NVIDIA's kernel driver is loaded (/dev/nvidiactl): repair its user-space part"
                  : NULL,
              "no device: %s", api->why_not);
}

static void check_device(const struct doctor_device *device, struct doctor_row *row)
{
    const struct record_device *info = &device->device;
    const uint64_t all = info->memory_bytes, left = info->memory_free_start_bytes;
    char all_text[32], left_text[32];
    if (*device->failure) {
        found(row, DOCTOR_FAIL, "leave it out with -D, or mend the driver", "%s: %s", info->name,
              device->failure);
        return;
    }
    text_bytes(all_text, all);
    text_bytes(left_text, left);
    /* A driver keeps a few percent to itself. Other processes hold what is beyond a tenth. */
    const bool is_shared = strcmp(info->kind, "gpu") == 0 && left && left < all / 10 * 9;
    found(row, is_shared ? DOCTOR_WARN : DOCTOR_PASS,
          is_shared ? "another process holds the rest: end it, or expect oom" : NULL,
          "%s%s%s%s%s, %s, %s free", info->name, *info->platform ? ", " : "", info->platform,
          *info->driver ? ", driver " : "", info->driver, all_text,
          left ? left_text : "unknown how much is");
}

/* ---- one GPU of NVIDIA's --------------------------------------------------------------------- */

static void nvml_unknown(struct doctor_row *row)
{
    found(row, DOCTOR_INFO, NULL, "unknown: NVML does not report it here");
}

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
        found(row, DOCTOR_WARN, "look at the rounds of a result for drift",
              "unknown: NVML does not report them here");
        return;
    }
    /* NVML has no call that reports whether `nvidia-smi -lgc` is in force. */
    found(row, is_set ? DOCTOR_PASS : DOCTOR_INFO,
          is_set ? NULL : "for the steadiest times lock them, as root: nvidia-smi -lgc MHZ,MHZ",
          "SM %s of %s MHz now, memory %s of %s; application clock %s MHz%s; whether they "
          "are locked is unknown",
          number(sm, g->sm_mhz), number(sm_most, g->sm_most_mhz), number(memory, g->memory_mhz),
          number(memory_most, g->memory_most_mhz), number(application, asked),
          is_set ? " (set)" : "");
}

/* The reasons that slow a measurement down. Idling and a requested clock do not. */
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
        nvml_unknown(row);
        return;
    }
    for (size_t i = 0; i < THROTTLES; i++)
        if (g->throttle_reasons & throttles[i].bit) {
            text_add(&reasons, "%s%s", reasons.length ? ", " : "", throttles[i].name);
            is_severe |= throttles[i].is_severe;
        }
    if (reasons.length)
        found(row, is_severe ? DOCTOR_FAIL : DOCTOR_WARN,
              is_severe ? "check cooling and power supply before measuring"
                        : "wait until it is over, or lock a lower clock",
              "the clock is held down by: %s; %s C", reasons.data,
              number(celsius, g->temperature_celsius));
    else
        found(row, DOCTOR_PASS, NULL, "none, %s C", number(celsius, g->temperature_celsius));
    text_free(&reasons);
}

static void check_processes(const struct nvml_gpu *g, struct doctor_row *row)
{
    const int64_t compute = g->compute_processes, graphics = g->graphics_processes;
    const int64_t known = (compute > 0 ? compute : 0) + (graphics > 0 ? graphics : 0);
    char busy[24];
    if (known > 0)
        found(row, DOCTOR_WARN, "see nvidia-smi; wait until they have ended",
              "%" PRId64 " on this GPU, which was busy for %s %% of the time", known,
              number(busy, g->busy_percent));
    else if (g->busy_percent > 0) /* they may be outside of this container */
        found(
            row, DOCTOR_WARN,
            "look again in a second; if it stays busy, a process outside of this container uses it",
            "none visible, but the GPU was busy for %s %% of the time",
            number(busy, g->busy_percent));
    else if (compute == NVML_UNKNOWN)
        nvml_unknown(row);
    else
        found(row, DOCTOR_PASS, NULL, "none, the GPU was busy for %s %% of the time",
              number(busy, g->busy_percent));
}

static const struct {
    const char *name;
    void (*check)(const struct nvml_gpu *gpu, struct doctor_row *row);
} gpu_checks[] = {
    {"clocks", check_clocks},
    {"throttling", check_throttle},
    {"processes", check_processes},
};

static const double busy_load = 0.5; /* per CPU; above it other processes use the run's CPUs */
/* Most of the built-in workloads at `medium`, several of them at `large`, hold less on the host. */
static const uint64_t enough_memory = 4ull << 30;
static const int64_t enough_disk = 256ll << 20; /* a hundred result files */

/* ---- the host -------------------------------------------------------------------------------- */

static void check_governor(const struct doctor_facts *facts, struct doctor_row *row)
{
    const char *governor = facts->host.governor;
    if (!*governor)
        found(row, DOCTOR_INFO, NULL,
              "unknown: the CPU's clock can't be read (container or virtual machine)");
    else if (strcmp(governor, "performance") == 0)
        found(row, DOCTOR_PASS, NULL, "%s", governor);
    else
        found(row, DOCTOR_WARN, "as root: cpupower frequency-set -g performance",
              "%s: the CPU's clock follows its load", governor);
}

/* CPUs that this process may use at a time; 0: unknown. */
static double usable_cpus(const struct record_host *host)
{
    const double cpus = host->usable_cpus ? host->usable_cpus : host->cpus;
    const double quota = host->limits.cpu_quota;
    return !isnan(quota) && (quota < cpus || cpus == 0) ? quota : cpus;
}

static void check_load(const struct doctor_facts *facts, struct doctor_row *row)
{
    const double load = facts->host.load1, cpus = usable_cpus(&facts->host);
    if (isnan(load) || cpus == 0)
        found(row, DOCTOR_INFO, NULL, "unknown");
    else if (load > busy_load * cpus)
        found(row, DOCTOR_WARN, "wait until the machine is idle",
              "%.2f in the last minute on %.3g CPUs", load, cpus);
    else
        found(row, DOCTOR_PASS, NULL, "%.2f in the last minute on %.3g CPUs", load, cpus);
}

static void check_cpus(const struct doctor_facts *facts, struct doctor_row *row)
{
    const struct record_host *host = &facts->host;
    const double quota = host->limits.cpu_quota, throttled = host->limits.throttled_periods;
    char past[64] = "";
    if (!isnan(throttled))
        snprintf(past, sizeof past, "; it ran out in %.0f %% of all periods", throttled * 100);
    if (!isnan(quota) && (!host->cpus || quota < host->cpus))
        found(row, DOCTOR_WARN, "raise it, or set OMP_NUM_THREADS no higher",
              "the container may use %.3g of %u: beyond that it is stopped for a part of "
              "every period%s",
              quota, host->cpus, past);
    else if (host->usable_cpus && host->usable_cpus < host->cpus)
        found(row, DOCTOR_PASS, NULL, "%u of %u (affinity)", host->usable_cpus, host->cpus);
    else if (host->cpus)
        found(row, DOCTOR_PASS, NULL, "%u, no limit", host->cpus);
    else
        found(row, DOCTOR_INFO, NULL, "unknown");
}

static void check_memory(const struct doctor_facts *facts, struct doctor_row *row)
{
    const struct record_host *host = &facts->host;
    const uint64_t limit = host->limits.memory_bytes, used = host->limits.memory_used_bytes;
    const uint64_t below_limit = limit > used ? limit - used : 0;
    uint64_t left = host->memory_available_bytes;
    const bool is_limited = limit && (!left || below_limit < left);
    char left_text[32], all_text[32];
    if (is_limited)
        left = below_limit;
    if (!left && !is_limited) {
        found(row, DOCTOR_INFO, NULL, "unknown");
        return;
    }
    found(row, left < enough_memory ? DOCTOR_WARN : DOCTOR_PASS,
          left < enough_memory ? "large datasets may not fit: use -d small" : NULL,
          "%s of %s free%s", text_bytes(left_text, left),
          text_bytes(all_text, is_limited ? limit : host->memory_bytes),
          is_limited ? " (the container's limit)" : "");
}

/* ---- files and programs ---------------------------------------------------------------------- */

static void check_results(const struct doctor_facts *facts, struct doctor_row *row)
{
    const struct doctor_folder *f = &facts->results;
    const bool is_full = f->free_bytes >= 0 && f->free_bytes < enough_disk;
    char left[32] = "unknown";
    if (*f->why_not) {
        found(row, DOCTOR_FAIL, "set GAMUT_RESULTS, or name a folder with --results", "%s: %s",
              f->path, f->why_not);
        return;
    }
    if (f->free_bytes >= 0)
        text_bytes(left, (uint64_t)f->free_bytes);
    found(row, is_full ? DOCTOR_WARN : DOCTOR_PASS,
          is_full ? "make room: files are replaced after each round, and need twice their size"
                  : NULL,
          "%s: %s, %s free", f->path, f->exists ? "writable" : "will be made", left);
}

static void check_gnuplot(const struct doctor_facts *facts, struct doctor_row *row)
{
    static const char install[] = "apt install gnuplot-nox";
    const char *version = facts->gnuplot.version;
    int major, minor;
    if (!*version)
        found(row, DOCTOR_WARN, install, "not installed: no charts");
    else if (sscanf(version, "gnuplot %d.%d", &major, &minor) != 2)
        found(row, DOCTOR_WARN, install, "of an unknown version: %s", version);
    else if (major < 5 || (major == 5 && minor < 2))
        found(row, DOCTOR_WARN, install, "%s: 5.2 or later is needed", version);
    else if (!*facts->scripts)
        found(row, DOCTOR_WARN, "run gamut from its tree, or make install",
              "%s, but the scripts of the charts are not next to this binary", version);
    else
        found(row, DOCTOR_PASS, NULL, "%s", version);
}

static void check_compiler(const struct doctor_facts *facts, struct doctor_row *row)
{
    const struct doctor_program *compiler = &facts->compiler;
    if (*compiler->version)
        found(row, DOCTOR_PASS, NULL, "%s: %s", compiler->command, compiler->version);
    else
        found(row, DOCTOR_WARN, *compiler->command ? "unset CC, or install it" : "apt install gcc",
              "%s%snone: the host device can run only the built-in programs", compiler->command,
              *compiler->command ? " does not start; " : "");
}

/* ---- this binary ----------------------------------------------------------------------------- */

static void check_build(const struct doctor_facts *facts, struct doctor_row *row)
{
    const bool is_release = strcmp(facts->build, "release") == 0;
    if (!is_release)
        found(row, DOCTOR_FAIL, "make FLAVOUR=release before measuring times",
              "%s: allocators check themselves, times mean nothing",
              *facts->build ? facts->build : "unknown");
    else if (strstr(facts->cflags, "-O0"))
        found(row, DOCTOR_FAIL, "build with -O2 before measuring times", "release, but %s",
              facts->cflags);
    else
        found(row, DOCTOR_PASS, NULL, "release, %s", facts->cflags);
}

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*check)(const struct doctor_facts *facts, struct doctor_row *row);
} checks[] = {
    {"governor", check_governor}, {"load", check_load},       {"cpus", check_cpus},
    {"memory", check_memory},     {"results", check_results}, {"gnuplot", check_gnuplot},
    {"compiler", check_compiler}, {"build", check_build},
};

void doctor_check(const struct doctor_facts *facts, struct doctor_rows *rows)
{
    *rows = (struct doctor_rows){0};
    for (size_t i = 0; i < facts->api_count; i++)
        check_api(facts, &facts->apis[i], add_row(rows, "api", facts->apis[i].name));
    for (size_t i = 0; i < facts->device_count; i++)
        check_device(&facts->devices[i], add_row(rows, "device", facts->devices[i].device.id));
    if (*facts->nvml_why_not)
        found(add_row(rows, "nvml", ""), facts->has_nvidia_node ? DOCTOR_WARN : DOCTOR_INFO,
              facts->has_nvidia_node ? "mount or install libnvidia-ml.so.1" : NULL,
              "clocks, limits and other processes of GPUs are unknown: %s", facts->nvml_why_not);
    for (size_t i = 0; i < facts->gpu_count; i++)
        for (size_t c = 0; c < sizeof gpu_checks / sizeof *gpu_checks; c++) {
            char subject[32];
            snprintf(subject, sizeof subject, "gpu %u", facts->gpus[i].index);
            gpu_checks[c].check(&facts->gpus[i], add_row(rows, gpu_checks[c].name, subject));
        }
    for (size_t c = 0; c < sizeof checks / sizeof *checks; c++)
        checks[c].check(facts, add_row(rows, checks[c].name, ""));
    for (size_t i = 0; i < rows->count; i++)
        rows->counts[rows->row[i].status]++;
}

void doctor_rows_free(struct doctor_rows *rows)
{
    free(rows->row);
    *rows = (struct doctor_rows){0};
}
