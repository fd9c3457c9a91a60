/* Where the facts of `gamut doctor` come from: NVML through a fake, control groups and the host
 * through folders made for it, files and programs as they are. */
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/host_build.h"
#include "doctor/doctor.h"
#include "tests/base/cmocka.h"

/* ---- NVML ------------------------------------------------------------------------------------ */

enum { NOT_SUPPORTED = 3 };
static int gpu_0, gpu_1; /* their addresses are the handles */
static bool is_started;

static int fake_init(void)
{
    is_started = true;
    return NVML_OK;
}
static int fake_init_fails(void)
{
    return 9; /* the driver is not loaded */
}
static int fake_shutdown(void)
{
    is_started = false;
    return NVML_OK;
}
static int fake_count(unsigned *count)
{
    *count = 2;
    return NVML_OK;
}
static int fake_handle(unsigned index, void **gpu)
{
    *gpu = index ? &gpu_1 : &gpu_0;
    return NVML_OK;
}
static int fake_handle_of_first(unsigned index, void **gpu)
{
    *gpu = &gpu_0;
    return index ? NOT_SUPPORTED : NVML_OK;
}
static int fake_name(void *gpu, char *name, unsigned size)
{
    snprintf(name, size, gpu == &gpu_1 ? "second" : "first");
    return NVML_OK;
}
static int fake_pci(void *gpu, struct nvml_pci *pci)
{
    snprintf(pci->bus_id, sizeof pci->bus_id,
             gpu == &gpu_1 ? "00000000:3B:00.0" : "00000000:18:00.0");
    return NVML_OK;
}
static int fake_clock(void *gpu, int domain, unsigned *mhz)
{
    (void)gpu;
    *mhz = domain == 1 ? 1410 : 3201;
    return NVML_OK;
}
static int no_clock(void *gpu, int domain, unsigned *mhz)
{
    (void)gpu;
    (void)domain;
    *mhz = 12345; /* what an unsupported call leaves must not be taken */
    return NOT_SUPPORTED;
}
static int fake_throttle(void *gpu, unsigned long long *reasons)
{
    (void)gpu;
    *reasons = NVML_IDLE | NVML_POWER_CAP;
    return NVML_OK;
}
static int fake_watts(void *gpu, unsigned *milliwatts)
{
    (void)gpu;
    *milliwatts = 700000;
    return NVML_OK;
}
static int fake_ecc(void *gpu, int *now, int *after_reboot)
{
    (void)gpu;
    *now = 1;
    *after_reboot = 0;
    return NVML_OK;
}
static int fake_mig(void *gpu, unsigned *now, unsigned *after_reset)
{
    *now = gpu == &gpu_1;
    *after_reset = 0;
    return NVML_OK;
}
static int three_processes(void *gpu, unsigned *count, void *none)
{
    (void)gpu;
    assert_null(none);
    assert_int_equal(*count, 0);
    *count = 3;
    return NVML_INSUFFICIENT_SIZE;
}
static int no_processes(void *gpu, unsigned *count, void *none)
{
    (void)gpu;
    (void)none;
    *count = 0;
    return NVML_OK;
}

static struct nvml_api fake_nvml(void)
{
    return (struct nvml_api){
        .nvmlInit_v2 = fake_init,
        .nvmlShutdown = fake_shutdown,
        .nvmlDeviceGetCount_v2 = fake_count,
        .nvmlDeviceGetHandleByIndex_v2 = fake_handle,
        .nvmlDeviceGetName = fake_name,
        .nvmlDeviceGetPciInfo_v3 = fake_pci,
        .nvmlDeviceGetClockInfo = fake_clock,
        .nvmlDeviceGetApplicationsClock = no_clock,
        .nvmlDeviceGetCurrentClocksThrottleReasons = fake_throttle,
        .nvmlDeviceGetEnforcedPowerLimit = fake_watts,
        .nvmlDeviceGetEccMode = fake_ecc,
        .nvmlDeviceGetMigMode = fake_mig,
        .nvmlDeviceGetComputeRunningProcesses = three_processes,
        .nvmlDeviceGetGraphicsRunningProcesses = no_processes,
    };
}

static void nvml_tells_what_it_knows(void **state)
{
    const struct nvml_api api = fake_nvml();
    struct nvml_gpu *gpus;
    size_t count;
    (void)state;
    assert_int_equal(nvml_survey(&api, &gpus, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_false(is_started);
    const struct nvml_gpu *g = &gpus[1];
    assert_int_equal(g->index, 1);
    assert_string_equal(g->name, "second");
    assert_string_equal(g->bus_id, "00000000:3B:00.0");
    assert_int_equal(g->sm_mhz, 1410);
    assert_int_equal(g->memory_mhz, 3201);
    assert_int_equal(g->throttle_reasons, NVML_IDLE | NVML_POWER_CAP);
    assert_int_equal(g->power_limit_mw, 700000);
    assert_int_equal(g->ecc, 1);
    assert_int_equal(g->mig, 1);
    assert_int_equal(gpus[0].mig, 0);
    assert_int_equal(g->compute_processes, 3);
    assert_int_equal(g->graphics_processes, 0);
    /* Refused, and missing from the library. */
    assert_int_equal(g->sm_application_mhz, NVML_UNKNOWN);
    assert_int_equal(g->sm_most_mhz, NVML_UNKNOWN);
    assert_int_equal(g->temperature_celsius, NVML_UNKNOWN);
    assert_int_equal(g->power_limit_default_mw, NVML_UNKNOWN);
    assert_int_equal(g->persistence, NVML_UNKNOWN);
    assert_int_equal(g->busy_percent, NVML_UNKNOWN);
    free(gpus);
}

static void a_gpu_that_does_not_answer_is_unknown(void **state)
{
    struct nvml_api api = fake_nvml();
    struct nvml_gpu *gpus;
    size_t count;
    (void)state;
    api.nvmlDeviceGetHandleByIndex_v2 = fake_handle_of_first;
    assert_int_equal(nvml_survey(&api, &gpus, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(gpus[0].sm_mhz, 1410);
    assert_int_equal(gpus[1].sm_mhz, NVML_UNKNOWN);
    assert_string_equal(gpus[1].name, "");
    free(gpus);
}

static void nvml_without_a_driver_says_so(void **state)
{
    struct nvml_api api = fake_nvml();
    struct nvml_gpu *gpus;
    size_t count;
    struct error error = {0};
    (void)state;
    api.nvmlInit_v2 = fake_init_fails;
    assert_int_equal(nvml_survey(&api, &gpus, &count, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "code 9"));
    assert_null(gpus);
    assert_int_equal(count, 0);
}

static void only_gpus_that_gamut_can_use_are_kept(void **state)
{
    struct nvml_gpu gpus[2] = {{.index = 0, .bus_id = "00000000:18:00.0"},
                               {.index = 1, .bus_id = "00000000:3B:00.0"}};
    struct doctor_device devices[2] = {{.bus_id = ""}, {.bus_id = "0000:3b:00.0"}};
    struct doctor_facts facts = {
        .gpu_count = 2, .gpus = gpus, .device_count = 2, .devices = devices};
    (void)state;
    doctor_keep_usable_gpus(&facts);
    assert_int_equal(facts.gpu_count, 1);
    assert_int_equal(gpus[0].index, 1);
    assert_int_equal(gpus[1].index, 0);
    /* Without CUDA it is unknown which is which. */
    facts.gpu_count = 2;
    facts.device_count = 1;
    doctor_keep_usable_gpus(&facts);
    assert_int_equal(facts.gpu_count, 2);
}

/* ---- a machine made of files ----------------------------------------------------------------- */

static char machine[64];

/* Writes a file below the machine's root, and the folders above it. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", machine, path);
    for (char *slash = full + strlen(machine) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int make_machine(void **state)
{
    (void)state;
    snprintf(machine, sizeof machine, "/tmp/gamut-machine-XXXXXX");
    return mkdtemp(machine) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static int remove_machine(void **state)
{
    (void)state;
    return nftw(machine, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void the_host_is_read_from_files(void **state)
{
    struct record_host host;
    (void)state;
    context_read_host(machine, &host);
    assert_string_equal(host.cpu, "");
    assert_string_equal(host.governor, "");
    assert_int_equal(host.turbo, -1);
    assert_int_equal(host.memory_available_bytes, 0);
    assert_true(isnan(host.limits.cpu_quota));
    assert_int_equal(host.limits.memory_bytes, 0);

    put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU @ 2 GHz\n");
    put("/proc/meminfo", "MemTotal:  999 kB\nMemAvailable:    2048 kB\n");
    put("/etc/os-release", "NAME=\"Other\"\nPRETTY_NAME=\"An OS 12\"\n");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
    put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    context_read_host(machine, &host);
    assert_string_equal(host.cpu, "A CPU @ 2 GHz");
    assert_string_equal(host.os, "An OS 12");
    assert_string_equal(host.governor, "powersave");
    assert_string_equal(host.clocksource, "hpet");
    assert_int_equal(host.turbo, 1);
    assert_int_equal(host.memory_available_bytes, 2048 * 1024);

    put("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    put("/sys/devices/system/cpu/cpufreq/boost", "1\n");
    context_read_host(machine, &host);
    assert_int_equal(host.turbo, 0);
}

static void amd_says_whether_turbo_is_on(void **state)
{
    struct record_host host;
    (void)state;
    put("/sys/devices/system/cpu/cpufreq/boost", "0\n");
    context_read_host(machine, &host);
    assert_int_equal(host.turbo, 0);
}

static struct cgroup_limits read_limits(void)
{
    struct record_host host;
    context_read_host(machine, &host);
    return host.limits;
}

static void limits_of_the_second_version(void **state)
{
    struct cgroup_limits limits;
    (void)state;
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nnr_periods 200\nnr_throttled 50\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/memory.max", "4000000\n");
    put("/sys/fs/cgroup/a/b/memory.current", "3000000\n");
    put("/sys/fs/cgroup/a/b/memory.stat", "anon 1\ninactive_file 1000000\n");
    put("/sys/fs/cgroup/a/memory.max", "9000000\n");
    limits = read_limits();
    assert_true(limits.cpu_quota == 1.5);
    assert_true(limits.throttled_periods == 0.25);
    assert_int_equal(limits.memory_bytes, 4000000);
    assert_int_equal(limits.memory_used_bytes, 2000000);
    /* In a container the group's own folder is the root. */
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    limits = read_limits();
    assert_true(limits.cpu_quota == 0.5);
    assert_true(isnan(limits.throttled_periods));
    assert_int_equal(limits.memory_bytes, 0);
}

static void limits_of_the_first_version(void **state)
{
    struct cgroup_limits limits;
    (void)state;
    put("/proc/self/cgroup", "4:memory:/a\n1:cpu,cpuacct:/away/from/here\n0::/\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000000\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n");
    limits = read_limits();
    assert_true(limits.cpu_quota == 2.5);
    assert_int_equal(limits.memory_bytes, 5000000);
    assert_int_equal(limits.memory_used_bytes, 1000000);
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    limits = read_limits();
    assert_true(isnan(limits.cpu_quota));
}

/* ---- files and programs ---------------------------------------------------------------------- */

static void the_folder_of_results_is_only_looked_at(void **state)
{
    struct doctor_folder folder;
    char path[128];
    (void)state;
    doctor_collect_folder(machine, &folder);
    assert_string_equal(folder.why_not, "");
    assert_true(folder.exists);
    assert_true(folder.free_bytes >= 0);
    snprintf(path, sizeof path, "%s/new/results", machine);
    doctor_collect_folder(path, &folder);
    assert_string_equal(folder.why_not, "");
    assert_string_equal(folder.path, path);
    assert_false(folder.exists);
    snprintf(path, sizeof path, "%s/new", machine);
    assert_int_not_equal(access(path, F_OK), 0);
    put("/file", "");
    snprintf(path, sizeof path, "%s/file", machine);
    doctor_collect_folder(path, &folder);
    assert_string_equal(folder.why_not, "Not a directory");
    snprintf(path, sizeof path, "%s/file/results", machine);
    doctor_collect_folder(path, &folder);
    assert_string_equal(folder.why_not, "Not a directory");
    assert_int_equal(chmod(machine, 0500), 0);
    snprintf(path, sizeof path, "%s/new", machine);
    doctor_collect_folder(path, &folder);
    if (geteuid() != 0) /* who may do everything */
        assert_string_equal(folder.why_not, "Permission denied");
    assert_int_equal(chmod(machine, 0700), 0);
}

static void a_program_says_its_version(void **state)
{
    char line[64], command[128];
    (void)state;
    put("/good", "#!/bin/sh\nshift\necho \"$@\" 2 words\nyes | head -c 100000\n");
    put("/bad", "#!/bin/sh\necho 1.0\nexit 1\n");
    snprintf(command, sizeof command, "%s/good", machine);
    assert_int_equal(chmod(command, 0700), 0);
    snprintf(command, sizeof command, "%s/good -a  -b", machine);
    assert_true(doctor_program_version(command, line, sizeof line));
    assert_string_equal(line, "-b --version 2 words");
    snprintf(command, sizeof command, "%s/bad", machine);
    assert_int_equal(chmod(command, 0700), 0);
    assert_false(doctor_program_version(command, line, sizeof line));
    assert_string_equal(line, "");
    assert_false(doctor_program_version("/no/such/program", line, sizeof line));
    assert_false(doctor_program_version(" ", line, sizeof line));
}

static void the_compiler_of_the_user_is_the_only_one(void **state)
{
    const char *commands[4];
    char *old = getenv("CC"), *kept = old ? strdup(old) : NULL;
    (void)state;
    setenv("CC", "mycc -O1", 1);
    host_compilers(commands);
    assert_string_equal(commands[0], "mycc -O1");
    assert_null(commands[1]);
    setenv("CC", "", 1);
    host_compilers(commands);
    assert_string_equal(commands[0], "cc");
    assert_null(commands[3]);
    if (kept)
        setenv("CC", kept, 1);
    else
        unsetenv("CC");
    free(kept);
}

#define WITH_MACHINE(test) cmocka_unit_test_setup_teardown(test, make_machine, remove_machine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvml_tells_what_it_knows),
        cmocka_unit_test(a_gpu_that_does_not_answer_is_unknown),
        cmocka_unit_test(nvml_without_a_driver_says_so),
        cmocka_unit_test(only_gpus_that_gamut_can_use_are_kept),
        WITH_MACHINE(the_host_is_read_from_files),
        WITH_MACHINE(amd_says_whether_turbo_is_on),
        WITH_MACHINE(limits_of_the_second_version),
        WITH_MACHINE(limits_of_the_first_version),
        WITH_MACHINE(the_folder_of_results_is_only_looked_at),
        WITH_MACHINE(a_program_says_its_version),
        cmocka_unit_test(the_compiler_of_the_user_is_the_only_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
