/* The checks of the host, of this binary, and of what gamut needs beside a device. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "doctor/doctor.h"

static const double busy_load = 0.5; /* a CPU; above it a run shares its CPUs with somebody */
/* Most of the built-in workloads at `medium`, several of them at `large`, hold less on the host. */
static const uint64_t enough_memory = 4ull << 30;
static const int64_t enough_disk = 256ll << 20; /* a hundred result files */
static const uint64_t slow_timer_ns = 200;      /* a read of the clock that goes into the kernel */

/* ---- the host -------------------------------------------------------------------------------- */

static void check_governor(const struct doctor_facts *facts, struct doctor_row *row)
{
    const char *governor = facts->host.governor;
    if (!*governor)
        doctor_found(row, DOCTOR_INFO, NULL,
                     "unknown: the CPU's clock can't be read (container or virtual machine)");
    else if (strcmp(governor, "performance") == 0)
        doctor_found(row, DOCTOR_PASS, NULL, "%s", governor);
    else
        doctor_found(row, DOCTOR_WARN, "as root: cpupower frequency-set -g performance",
                     "%s: the CPU's clock follows its load", governor);
}

static void check_turbo(const struct doctor_facts *facts, struct doctor_row *row)
{
    if (facts->host.turbo < 0)
        doctor_found(row, DOCTOR_INFO, NULL, "unknown");
    else if (facts->host.turbo)
        doctor_found(row, DOCTOR_INFO, "for the steadiest host times switch it off",
                     "on: the CPU's clock depends on how many cores work, and on heat");
    else
        doctor_found(row, DOCTOR_PASS, NULL, "off");
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
        doctor_found(row, DOCTOR_INFO, NULL, "unknown");
    else if (load > busy_load * cpus)
        doctor_found(row, DOCTOR_WARN, "wait until the machine is idle",
                     "%.2f in the last minute on %.3g CPUs", load, cpus);
    else
        doctor_found(row, DOCTOR_PASS, NULL, "%.2f in the last minute on %.3g CPUs", load, cpus);
}

static void check_cpus(const struct doctor_facts *facts, struct doctor_row *row)
{
    const struct record_host *host = &facts->host;
    const double quota = host->limits.cpu_quota, throttled = host->limits.throttled_periods;
    char past[64] = "";
    if (!isnan(throttled))
        snprintf(past, sizeof past, "; it ran out in %.0f %% of all periods", throttled * 100);
    if (!isnan(quota) && (!host->cpus || quota < host->cpus))
        doctor_found(row, DOCTOR_WARN, "raise it, or set OMP_NUM_THREADS no higher",
                     "the container may use %.3g of %u: beyond that it is stopped for a part of "
                     "every period%s",
                     quota, host->cpus, past);
    else if (host->usable_cpus && host->usable_cpus < host->cpus)
        doctor_found(row, DOCTOR_PASS, NULL, "%u of %u (affinity)", host->usable_cpus, host->cpus);
    else if (host->cpus)
        doctor_found(row, DOCTOR_PASS, NULL, "%u, no limit", host->cpus);
    else
        doctor_found(row, DOCTOR_INFO, NULL, "unknown");
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
        doctor_found(row, DOCTOR_INFO, NULL, "unknown");
        return;
    }
    doctor_found(row, left < enough_memory ? DOCTOR_WARN : DOCTOR_PASS,
                 left < enough_memory ? "large datasets may not fit: use -d small" : NULL,
                 "%s of %s free%s", text_bytes(left_text, left),
                 text_bytes(all_text, is_limited ? limit : host->memory_bytes),
                 is_limited ? " (the container's limit)" : "");
}

static void check_timer(const struct doctor_facts *facts, struct doctor_row *row)
{
    const bool is_slow = facts->timer_ns > slow_timer_ns;
    const char *source = facts->host.clocksource;
    doctor_found(row, is_slow ? DOCTOR_WARN : DOCTOR_PASS,
                 is_slow ? "choose a clock source that needs no system call, such as tsc" : NULL,
                 "a reading takes %llu ns, its smallest step is %llu ns%s%s",
                 (unsigned long long)facts->timer_ns, (unsigned long long)facts->timer_step_ns,
                 *source ? ", source " : "", source);
}

/* Settings of the drivers that change times; the others are only told. */
static void check_environment(const struct doctor_facts *facts, struct doctor_row *row)
{
    static const char *const slowing[] = {"CUDA_LAUNCH_BLOCKING", "CUDA_INJECTION64_PATH",
                                          "POCL_DEBUG"};
    struct text set = {0};
    const char *name, *slows = NULL;
    json_t *value;
    json_object_foreach(facts->env, name, value)
        text_add(&set, "%s%s=%s", set.length ? " " : "", name, json_string_value(value));
    for (size_t i = 0; i < sizeof slowing / sizeof *slowing && !slows; i++) {
        const char *text = json_string_value(json_object_get(facts->env, slowing[i]));
        if (text && *text && strcmp(text, "0") != 0)
            slows = slowing[i];
    }
    char advice[96];
    snprintf(advice, sizeof advice, "unset %s: it slows every command down", slows ? slows : "");
    doctor_found(row,
                 slows        ? DOCTOR_WARN
                 : set.length ? DOCTOR_INFO
                              : DOCTOR_PASS,
                 slows ? advice : NULL, "%s",
                 set.length ? set.data : "nothing set for the drivers");
    text_free(&set);
}

/* ---- files and programs ---------------------------------------------------------------------- */

/* Filesystems of other machines, and of memory. */
static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static void check_results(const struct doctor_facts *facts, struct doctor_row *row)
{
    static const char *const remote[] = {"nfs",  "cifs", "smb2", "fuse", "lustre",
                                         "gpfs", "ceph", "afs",  "9p",   NULL};
    static const char *const passing[] = {"tmpfs", "ramfs", NULL};
    const struct doctor_folder *f = &facts->results;
    const char *advice = NULL;
    char left[32] = "unknown";
    if (*f->why_not) {
        doctor_found(row, DOCTOR_FAIL, "set GAMUT_RESULTS, or name a folder with --results",
                     "%s: %s", f->path, f->why_not);
        return;
    }
    if (f->free_bytes >= 0)
        text_bytes(left, (uint64_t)f->free_bytes);
    if (f->free_bytes >= 0 && f->free_bytes < enough_disk)
        advice = "make room: files are replaced after each round, and need twice their size";
    else if (is_one_of(f->filesystem, remote))
        advice = "a local folder is written faster, and is there when the network is not";
    else if (is_one_of(f->filesystem, passing))
        advice = "what is in memory is gone after a restart: copy what you keep";
    doctor_found(row, advice ? DOCTOR_WARN : DOCTOR_PASS, advice, "%s: %s, %s%s%s free", f->path,
                 f->exists ? "writable" : "will be made", f->filesystem, *f->filesystem ? ", " : "",
                 left);
}

static void check_gnuplot(const struct doctor_facts *facts, struct doctor_row *row)
{
    static const char install[] = "apt install gnuplot-nox";
    const char *version = facts->gnuplot.version;
    int major, minor;
    if (!*version)
        doctor_found(row, DOCTOR_WARN, install, "not installed: no charts");
    else if (sscanf(version, "gnuplot %d.%d", &major, &minor) != 2)
        doctor_found(row, DOCTOR_WARN, install, "of an unknown version: %s", version);
    else if (major < 5 || (major == 5 && minor < 2))
        doctor_found(row, DOCTOR_WARN, install, "%s: 5.2 or later is needed", version);
    else if (!*facts->scripts)
        doctor_found(row, DOCTOR_WARN, "run gamut from its tree, or make install",
                     "%s, but the scripts of the charts are not beside this binary", version);
    else
        doctor_found(row, DOCTOR_PASS, NULL, "%s", version);
}

static void check_compiler(const struct doctor_facts *facts, struct doctor_row *row)
{
    const struct doctor_program *compiler = &facts->compiler;
    if (*compiler->version)
        doctor_found(row, DOCTOR_PASS, NULL, "%s: %s", compiler->command, compiler->version);
    else
        doctor_found(row, DOCTOR_WARN,
                     *compiler->command ? "unset CC, or install it" : "apt install gcc",
                     "%s%snone: the host device runs no programs but those built in",
                     compiler->command, *compiler->command ? " does not start; " : "");
}

/* ---- this binary ----------------------------------------------------------------------------- */

static void check_revision(const struct doctor_facts *facts, struct doctor_row *row)
{
    if (!*facts->git_rev || strcmp(facts->git_rev, "unknown") == 0)
        doctor_found(row, DOCTOR_WARN, "build in a clone, so that results say what made them",
                     "unknown: built outside of git");
    else if (facts->git_dirty > 0)
        doctor_found(row, DOCTOR_WARN, "commit before measuring what you want to keep",
                     "%s, with changes that are in no commit", facts->git_rev);
    else
        doctor_found(row, DOCTOR_PASS, NULL, "%s%s", facts->git_rev,
                     facts->git_dirty < 0 ? ", changed or not is unknown" : "");
}

static void check_build(const struct doctor_facts *facts, struct doctor_row *row)
{
    const bool is_release = strcmp(facts->build, "release") == 0;
    if (!is_release)
        doctor_found(row, DOCTOR_FAIL, "make FLAVOUR=release before measuring times",
                     "%s: allocators check themselves, times mean nothing",
                     *facts->build ? facts->build : "unknown");
    else if (strstr(facts->cflags, "-O0"))
        doctor_found(row, DOCTOR_FAIL, "build with -O2 before measuring times", "release, but %s",
                     facts->cflags);
    else
        doctor_found(row, DOCTOR_PASS, NULL, "release, %s", facts->cflags);
}

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*check)(const struct doctor_facts *facts, struct doctor_row *row);
} checks[] = {
    {"governor", check_governor},
    {"turbo", check_turbo},
    {"load", check_load},
    {"cpus", check_cpus},
    {"memory", check_memory},
    {"timer", check_timer},
    {"environment", check_environment},
    {"results", check_results},
    {"gnuplot", check_gnuplot},
    {"compiler", check_compiler},
    {"revision", check_revision},
    {"build", check_build},
};
enum { CHECKS = sizeof checks / sizeof *checks };

void doctor_check_host(const struct doctor_facts *facts, struct doctor_rows *rows)
{
    for (size_t i = 0; i < CHECKS; i++)
        checks[i].check(facts, doctor_row(rows, checks[i].name, ""));
}
