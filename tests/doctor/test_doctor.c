/* Each check of `gamut doctor` as a function of the facts, and how rows are printed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "tests/doctor/doctor_fixture.h"
#include "tests/base/golden.h"

/* What is done to a machine on which every check passes. */
#define CHANGE(name, ...)                                                                          \
    static void name(struct doctor_facts *f)                                                       \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#define SET(place, text) snprintf(place, sizeof(place), "%s", text)

CHANGE(nothing, (void)f)
CHANGE(no_opencl, SET(f->apis[1].name, "opencl"); f->apis[1].device_count = 0;
       SET(f->apis[1].why_not, "install a driver"))
CHANGE(broken_cuda, f->apis[1].device_count = 0; SET(f->apis[1].why_not, "no libcuda"))
CHANGE(no_cuda, broken_cuda(f); f->has_nvidia_node = false)
CHANGE(crashing_driver, SET(f->no_devices, "the process that asked for the devices died"))
CHANGE(lost_device, SET(f->devices[1].failure, "cuCtxCreate: lost"))
CHANGE(full_device, f->devices[1].device.memory_free_start_bytes = 100ull << 30)
CHANGE(nearly_full_device, f->devices[1].device.memory_free_start_bytes = 126ull << 30)
CHANGE(full_cpu, f->devices[0].device.memory_free_start_bytes = 30ull << 30)
CHANGE(silent_device, f->devices[1].device.memory_free_start_bytes = 0)
CHANGE(no_nvml, f->gpu_count = 0; SET(f->nvml_why_not, "no libnvidia-ml.so.1"))
CHANGE(no_nvidia, no_nvml(f); f->has_nvidia_node = false)
CHANGE(free_clocks, f->gpus[0].sm_application_mhz = 1980)
CHANGE(unknown_application_clock, f->gpus[0].sm_application_mhz = NVML_UNKNOWN)
CHANGE(unknown_clocks, f->gpus[0].sm_mhz = f->gpus[0].sm_most_mhz = NVML_UNKNOWN)
CHANGE(busy_clock, f->gpus[0].throttle_reasons = NVML_APPLICATION_CLOCKS)
CHANGE(hot, f->gpus[0].throttle_reasons = NVML_IDLE | NVML_THERMAL | NVML_POWER_CAP)
CHANGE(burning, f->gpus[0].throttle_reasons = NVML_HARDWARE_THERMAL)
CHANGE(braked, f->gpus[0].throttle_reasons = NVML_POWER_BRAKE)
CHANGE(unknown_throttle, f->gpus[0].throttle_reasons = NVML_UNKNOWN)
CHANGE(shared_gpu, f->gpus[0].compute_processes = 2; f->gpus[0].graphics_processes = 1)
CHANGE(secretly_shared, f->gpus[0].busy_percent = 35)
CHANGE(processes_unknown,
       f->gpus[0].compute_processes = f->gpus[0].graphics_processes = NVML_UNKNOWN;
       f->gpus[0].busy_percent = NVML_UNKNOWN)
CHANGE(powersave, SET(f->host.governor, "powersave"))
CHANGE(governor_unknown, SET(f->host.governor, ""))
CHANGE(loaded, f->host.load1 = 4.5)
CHANGE(half_loaded, f->host.load1 = 4)
CHANGE(loaded_share, f->host.load1 = 2; f->host.usable_cpus = 3)
CHANGE(loaded_quota, f->host.load1 = 1; f->host.limits.cpu_quota = 1.5)
CHANGE(load_unknown, f->host.load1 = NAN)
CHANGE(affine, f->host.usable_cpus = 2)
CHANGE(limited, f->host.limits.cpu_quota = 2.5; f->host.limits.throttled_periods = 0.25)
CHANGE(limited_beyond, f->host.limits.cpu_quota = 16)
CHANGE(cpus_unknown, f->host.cpus = f->host.usable_cpus = 0)
CHANGE(little_memory, f->host.memory_available_bytes = 3ull << 30)
CHANGE(memory_limit, f->host.limits.memory_bytes = 8ull << 30;
       f->host.limits.memory_used_bytes = 5ull << 30)
CHANGE(wide_memory_limit, f->host.limits.memory_bytes = 600ull << 30)
CHANGE(memory_used_up, f->host.limits.memory_bytes = f->host.limits.memory_used_bytes = 1 << 20)
CHANGE(memory_unknown, f->host.memory_available_bytes = 0)
CHANGE(read_only, SET(f->results.why_not, "Read-only file system"))
CHANGE(new_results, f->results.exists = false)
CHANGE(unknown_room, f->results.free_bytes = -1)
CHANGE(full_disk, f->results.free_bytes = 1 << 20)
CHANGE(no_gnuplot, SET(f->gnuplot.version, ""))
CHANGE(old_gnuplot, SET(f->gnuplot.version, "gnuplot 5.1 patchlevel 1"))
CHANGE(new_gnuplot, SET(f->gnuplot.version, "gnuplot 6.0 patchlevel 0"))
CHANGE(odd_gnuplot, SET(f->gnuplot.version, "help"))
CHANGE(no_scripts, SET(f->scripts, ""))
CHANGE(no_compiler, f->compiler = (struct doctor_program){"", ""})
CHANGE(wrong_compiler, f->compiler = (struct doctor_program){"gc", ""})
CHANGE(debug_build, SET(f->build, "debug"))
CHANGE(unoptimised, SET(f->cflags, "-O0 -g"))

static const struct {
    void (*change)(struct doctor_facts *facts);
    const char *check, *subject;
    enum doctor_status status;
    const char *found, *advice; /* parts of them; advice NULL: there is none */
} table[] = {
    /* clang-format off */
    {nothing, "api", "cuda", DOCTOR_PASS, "1 device", NULL},
    {no_opencl, "api", "opencl", DOCTOR_INFO, "no device: install a driver", NULL},
    {no_cuda, "api", "cuda", DOCTOR_INFO, "no device: no libcuda", NULL},
    {broken_cuda, "api", "cuda", DOCTOR_WARN, "no device: no libcuda", "user-space part"},
    {crashing_driver, "api", "host", DOCTOR_FAIL, "died", "mend"},
    {nothing, "device", "cuda:0", DOCTOR_PASS, "A GPU, CUDA 13.0, driver 580.65, 140 GiB, 139 GiB free", NULL},
    {lost_device, "device", "cuda:0", DOCTOR_FAIL, "cuCtxCreate: lost", "-D"},
    {full_device, "device", "cuda:0", DOCTOR_WARN, "100 GiB free", "another process"},
    {nearly_full_device, "device", "cuda:0", DOCTOR_PASS, "126 GiB free", NULL},
    {full_cpu, "device", "host", DOCTOR_PASS, "30.0 GiB free", NULL},
    {silent_device, "device", "cuda:0", DOCTOR_PASS, "unknown", NULL},
    {no_nvml, "nvml", "", DOCTOR_WARN, "no libnvidia-ml", "libnvidia-ml"},
    {no_nvidia, "nvml", "", DOCTOR_INFO, "no libnvidia-ml", NULL},
    {nothing, "clocks", "gpu 0", DOCTOR_PASS, "SM 1410 of 1980 MHz now, memory 3201 of 3201; application clock 1410 MHz (set)", NULL},
    {free_clocks, "clocks", "gpu 0", DOCTOR_INFO, "application clock 1980 MHz; whether they are locked is unknown", "-lgc"},
    {unknown_application_clock, "clocks", "gpu 0", DOCTOR_INFO, "application clock unknown", "-lgc"},
    {unknown_clocks, "clocks", "gpu 0", DOCTOR_WARN, "unknown", "drift"},
    {nothing, "throttling", "gpu 0", DOCTOR_PASS, "none, 31 C", NULL},
    {busy_clock, "throttling", "gpu 0", DOCTOR_PASS, "none", NULL},
    {hot, "throttling", "gpu 0", DOCTOR_WARN, "power limit, temperature; 31 C", "wait"},
    {burning, "throttling", "gpu 0", DOCTOR_FAIL, "temperature (hardware)", "cooling"},
    {braked, "throttling", "gpu 0", DOCTOR_FAIL, "power brake", "cooling"},
    {unknown_throttle, "throttling", "gpu 0", DOCTOR_INFO, "unknown", NULL},
    {nothing, "processes", "gpu 0", DOCTOR_PASS, "none, the GPU was busy for 0 %", NULL},
    {shared_gpu, "processes", "gpu 0", DOCTOR_WARN, "3 on this GPU", "nvidia-smi"},
    {secretly_shared, "processes", "gpu 0", DOCTOR_WARN, "busy for 35 %", "container"},
    {processes_unknown, "processes", "gpu 0", DOCTOR_INFO, "unknown", NULL},
    {nothing, "governor", "", DOCTOR_PASS, "performance", NULL},
    {powersave, "governor", "", DOCTOR_WARN, "powersave", "cpupower"},
    {governor_unknown, "governor", "", DOCTOR_INFO, "unknown", NULL},
    {nothing, "load", "", DOCTOR_PASS, "0.25 in the last minute on 8 CPUs", NULL},
    {loaded, "load", "", DOCTOR_WARN, "4.50", "wait"},
    {half_loaded, "load", "", DOCTOR_PASS, "4.00", NULL},
    {loaded_share, "load", "", DOCTOR_WARN, "on 3 CPUs", "wait"},
    {loaded_quota, "load", "", DOCTOR_WARN, "on 1.5 CPUs", "wait"},
    {load_unknown, "load", "", DOCTOR_INFO, "unknown", NULL},
    {nothing, "cpus", "", DOCTOR_PASS, "8, no limit", NULL},
    {affine, "cpus", "", DOCTOR_PASS, "2 of 8 (affinity)", NULL},
    {limited, "cpus", "", DOCTOR_WARN, "2.5 of 8: beyond that it is stopped for a part of every period; it ran out in 25 % of all", "OMP_NUM_THREADS"},
    {limited_beyond, "cpus", "", DOCTOR_PASS, "8, no limit", NULL},
    {cpus_unknown, "cpus", "", DOCTOR_INFO, "unknown", NULL},
    {nothing, "memory", "", DOCTOR_PASS, "60.0 GiB of 64.0 GiB free", NULL},
    {little_memory, "memory", "", DOCTOR_WARN, "3.00 GiB of 64.0 GiB free", "-d small"},
    {memory_limit, "memory", "", DOCTOR_WARN, "3.00 GiB of 8.00 GiB free (the container's limit)", "-d small"},
    {wide_memory_limit, "memory", "", DOCTOR_PASS, "60.0 GiB of 64.0 GiB free", NULL},
    {memory_used_up, "memory", "", DOCTOR_WARN, "0 B of 1.00 MiB free", "-d small"},
    {memory_unknown, "memory", "", DOCTOR_INFO, "unknown", NULL},
    {nothing, "results", "", DOCTOR_PASS, "results: writable, 100 GiB free", NULL},
    {read_only, "results", "", DOCTOR_FAIL, "results: Read-only file system", "GAMUT_RESULTS"},
    {new_results, "results", "", DOCTOR_PASS, "will be made", NULL},
    {unknown_room, "results", "", DOCTOR_PASS, "writable, unknown free", NULL},
    {full_disk, "results", "", DOCTOR_WARN, "1.00 MiB free", "make room"},
    {nothing, "gnuplot", "", DOCTOR_PASS, "gnuplot 5.4 patchlevel 4", NULL},
    {no_gnuplot, "gnuplot", "", DOCTOR_WARN, "not installed", "apt install"},
    {old_gnuplot, "gnuplot", "", DOCTOR_WARN, "5.2 or later", "apt install"},
    {new_gnuplot, "gnuplot", "", DOCTOR_PASS, "gnuplot 6.0", NULL},
    {odd_gnuplot, "gnuplot", "", DOCTOR_WARN, "unknown version: help", "apt install"},
    {no_scripts, "gnuplot", "", DOCTOR_WARN, "scripts", "make install"},
    {nothing, "compiler", "", DOCTOR_PASS, "cc: cc (A Distribution) 12.2.0", NULL},
    {no_compiler, "compiler", "", DOCTOR_WARN, "none", "apt install gcc"},
    {wrong_compiler, "compiler", "", DOCTOR_WARN, "gc does not start", "unset CC"},
    {nothing, "build", "", DOCTOR_PASS, "release, -O2 -g", NULL},
    {debug_build, "build", "", DOCTOR_FAIL, "debug", "FLAVOUR=release"},
    {unoptimised, "build", "", DOCTOR_FAIL, "-O0", "-O2"},
    /* clang-format on */
};

static const struct doctor_row *find(const struct doctor_rows *rows, const char *check,
                                     const char *subject)
{
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->row[i].check, check) == 0 && strcmp(rows->row[i].subject, subject) == 0)
            return &rows->row[i];
    fail_msg("no row '%s %s'", check, subject);
    return NULL;
}

static void has_part(const char *text, const char *part, size_t row)
{
    if (!strstr(text, part))
        fail_msg("row %zu of the table: '%s' lacks '%s'", row, text, part);
}

static void a_check_says_what_the_facts_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct doctor_facts facts = fit_machine();
        struct doctor_rows rows;
        table[i].change(&facts);
        doctor_check(&facts, &rows);
        const struct doctor_row *row = find(&rows, table[i].check, table[i].subject);
        if (row->status != table[i].status)
            fail_msg("row %zu of the table: %s, expected %s: %s %s: %s", i,
                     doctor_status_name(row->status), doctor_status_name(table[i].status),
                     row->check, row->subject, row->found);
        has_part(row->found, table[i].found, i);
        has_part(row->advice, table[i].advice ? table[i].advice : "", i);
        assert_int_equal(*row->advice != 0, table[i].advice != NULL);
        doctor_rows_free(&rows);
    }
}

/* So that no check is forgotten above, and no fact of one machine speaks for another check. */
static void every_check_is_tried_and_passes_on_a_fit_machine(void **state)
{
    (void)state;
    struct doctor_facts facts = fit_machine();
    struct doctor_rows rows;
    doctor_check(&facts, &rows);
    for (size_t i = 0; i < rows.count; i++) {
        bool is_tried = false;
        for (size_t t = 0; t < sizeof table / sizeof *table; t++)
            is_tried |=
                table[t].change != nothing && strcmp(table[t].check, rows.row[i].check) == 0;
        if (!is_tried || rows.row[i].status != DOCTOR_PASS)
            fail_msg("%s: tried %d, %s", rows.row[i].check, is_tried, rows.row[i].found);
    }
    assert_int_equal(rows.counts[DOCTOR_PASS], rows.count);
    doctor_rows_free(&rows);
}

static void an_unfit(struct doctor_facts *facts)
{
    *facts = fit_machine();
    lost_device(facts);
    SET(facts->devices[1].failure, "cuCtxCreate: an error\nof two lines");
    free_clocks(facts);
    shared_gpu(facts);
    unknown_throttle(facts);
    limited(facts);
    load_unknown(facts);
    read_only(facts);
}

static void rows_are_printed_as_a_table(void **state)
{
    (void)state;
    struct doctor_facts facts;
    struct doctor_rows rows;
    char *text;
    size_t size;
    an_unfit(&facts);
    doctor_check(&facts, &rows);
    FILE *out = open_memstream(&text, &size);
    doctor_print(&rows, out);
    fclose(out);
    golden_check("doctor.txt", text);
    free(text);
    doctor_rows_free(&rows);
}

static void rows_are_printed_as_json(void **state)
{
    (void)state;
    struct doctor_facts facts;
    struct doctor_rows rows;
    char *text;
    size_t size;
    an_unfit(&facts);
    doctor_check(&facts, &rows);
    json_t *json = doctor_json(&rows);
    FILE *out = open_memstream(&text, &size);
    json_dumpf(json, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    fclose(out);
    golden_check("doctor.json", text);
    free(text);
    json_decref(json);
    doctor_rows_free(&rows);
}

static void the_verdict_is_that_of_the_worst_row(void **state)
{
    static const struct {
        void (*change)(struct doctor_facts *facts);
        const char *verdict;
    } cases[] = {
        {nothing, "pass"}, {governor_unknown, "pass"}, {no_gnuplot, "warn"}, {read_only, "fail"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct doctor_facts facts = fit_machine();
        struct doctor_rows rows;
        cases[i].change(&facts);
        doctor_check(&facts, &rows);
        json_t *json = doctor_json(&rows);
        assert_string_equal(json_string_value(json_object_get(json, "verdict")), cases[i].verdict);
        json_decref(json);
        doctor_rows_free(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_check_says_what_the_facts_are),
        cmocka_unit_test(every_check_is_tried_and_passes_on_a_fit_machine),
        cmocka_unit_test(rows_are_printed_as_a_table),
        cmocka_unit_test(rows_are_printed_as_json),
        cmocka_unit_test(the_verdict_is_that_of_the_worst_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
