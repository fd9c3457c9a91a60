#include "results/facts/context.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/tree.h"

/* The Makefile defines these; a build by hand does not. */
#ifndef GAMUT_VERSION
#define GAMUT_VERSION "unknown"
#endif
#ifndef GAMUT_GIT_REV
#define GAMUT_GIT_REV ""
#endif
#ifndef GAMUT_CFLAGS
#define GAMUT_CFLAGS ""
#endif
#ifndef GAMUT_BUILD
#define GAMUT_BUILD "unknown"
#endif

extern char **environ;

JSON_STRUCT(, record_tool, struct record_tool, JSON_FIELD(STRING, struct record_tool, version),
            JSON_FIELD(STRING_OR_NULL, struct record_tool, git_rev),
            JSON_FIELD(BOOLEAN_OR_NULL, struct record_tool, git_dirty),
            JSON_FIELDS(STRING_OR_NULL, struct record_tool, compiler, cflags, build));

JSON_STRUCT(, clock_cost, struct clock_cost,
            JSON_FIELDS(STRING_OR_NULL, struct clock_cost, counter, why_not),
            JSON_FIELDS(NUMBER, struct clock_cost, span_ns, system_span_ns));

struct record_tool context_tool(void)
{
    return (struct record_tool){
        .version = GAMUT_VERSION,
        .git_rev = *GAMUT_GIT_REV ? GAMUT_GIT_REV : NULL,
#ifdef GAMUT_GIT_DIRTY
        .git_dirty = GAMUT_GIT_DIRTY,
#else
        .git_dirty = -1,
#endif
#ifdef __clang__
        .compiler = __VERSION__,
#else
        .compiler = "gcc " __VERSION__,
#endif
        .cflags = GAMUT_CFLAGS,
        .build = GAMUT_BUILD,
    };
}

json_t *context_env(void)
{
    static const char *prefixes[] = {"CUDA_", "OCL_", "POCL_", "OMP_"};
    json_t *env = tree_object();
    for (char **variable = environ; *variable; variable++) {
        const char *equals = strchr(*variable, '=');
        for (size_t i = 0; equals && i < sizeof prefixes / sizeof *prefixes; i++) {
            if (strncmp(*variable, prefixes[i], strlen(prefixes[i])) != 0)
                continue;
            char name[128];
            snprintf(name, sizeof name, "%.*s", (int)(equals - *variable), *variable);
            tree_put(env, name, tree_text(equals + 1));
        }
    }
    return env;
}

/* Copies the text after `key` and its separator from the first line of the file that starts with
 * key; for key "" the whole first line. False if there is no such line. */
static bool read_fact(const char *path, const char *key, char *out, size_t size)
{
    char line[512];
    bool found = false;
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        char *value = line + strlen(key);
        if (*key)
            value += strspn(value, " \t:=");
        value[strcspn(value, "\n")] = 0;
        size_t length = strlen(value);
        if (*key && length >= 2 && value[0] == '"' && value[length - 1] == '"') {
            value[length - 1] = 0;
            value++;
        }
        snprintf(out, size, "%s", value);
        found = *value;
    }
    fclose(file);
    return found;
}

/* Leaves `out` empty if the file or the fact is missing. */
static void read_text(const char *root, const char *path, const char *key, char *out, size_t size)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    if (!read_fact(full, key, out, size))
        out[0] = 0;
}

/* -1 if there is no number. */
static int64_t read_count(const char *root, const char *path, const char *key)
{
    char text[512];
    int64_t value;
    read_text(root, path, key, text, sizeof text);
    return sscanf(text, "%" SCNd64, &value) == 1 ? value : -1;
}

/* Intel's driver says whether turbo is off, the others whether it is on. */
static int read_turbo(const char *root)
{
    int64_t off = read_count(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", "");
    int64_t on = read_count(root, "/sys/devices/system/cpu/cpufreq/boost", "");
    return off >= 0 ? off == 0 : on >= 0 ? on != 0 : -1;
}

/* ---- control groups -------------------------------------------------------------------------- */

/* The second version has all files of a group in one folder, the first a tree for each controller.
 * A limit that is not set reads "max" in the second and as a number beyond all memory in the first.
 */
struct cgroup {
    struct text path;
    size_t mount_length; /* bytes of `path` that lead to the root group */
};

/* The first number of a file of a folder, or of its line that starts with `key`. */
static bool cgroup_number(const struct cgroup *cgroup, const char *file, const char *key,
                          double *out)
{
    struct text path = {0}, text = {0};
    text_add(&path, "%s/%s", cgroup->path.data, file);
    bool found = text_read_file(&text, path.data, NULL) == 0 && text.data;
    const char *at = found ? text.data : "";
    while (*key && *at && !(strncmp(at, key, strlen(key)) == 0 && at[strlen(key)] == ' ')) {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    char *end;
    at += *at ? strlen(key) : 0;
    double value = strtod(at, &end);
    found = end != at && isfinite(value);
    if (found)
        *out = value;
    text_free(&path);
    text_free(&text);
    return found;
}

/* The group of this process in a tree, below its mount. Controller "" is the second version's. */
static bool find_group(const char *root, const char *controller, struct cgroup *cgroup)
{
    struct text path = {0}, text = {0};
    char *line, *rest;
    bool found = false;
    text_add(&path, "%s/proc/self/cgroup", root);
    rest = text_read_file(&text, path.data, NULL) == 0 ? text.data : NULL;
    while (!found && rest && (line = strsep(&rest, "\n"))) { /* "4:cpu,cpuacct:/service" */
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL, *name;
        if (!group)
            continue;
        *group++ = 0;
        names++;
        found = !*controller && !*names;
        while (*controller && !found && (name = strsep(&names, ",")))
            found = strcmp(name, controller) == 0;
        if (found) {
            text_add(&cgroup->path, "%s/sys/fs/cgroup%s%s", root, *controller ? "/" : "",
                     controller);
            cgroup->mount_length = cgroup->path.length;
            text_add(&cgroup->path, "%s", strcmp(group, "/") == 0 ? "" : group);
        }
    }
    text_free(&path);
    text_free(&text);
    return found;
}

/* One group up; false at the root. */
static bool go_up(struct cgroup *cgroup)
{
    char *slash = strrchr(cgroup->path.data + cgroup->mount_length, '/');
    if (!slash)
        return false;
    *slash = 0;
    cgroup->path.length = (size_t)(slash - cgroup->path.data);
    return true;
}

static void take_cpus(const struct cgroup *cgroup, double quota_us, double period_us,
                      struct cgroup_limits *limits)
{
    double cpus = quota_us / period_us, periods, throttled;
    if (!(cpus > 0) || cpus >= limits->cpu_quota) /* -1: no limit */
        return;
    limits->cpu_quota = cpus;
    if (cgroup_number(cgroup, "cpu.stat", "nr_periods", &periods) && periods > 0 &&
        cgroup_number(cgroup, "cpu.stat", "nr_throttled", &throttled))
        limits->throttled_periods = throttled / periods;
}

static void take_memory(const struct cgroup *cgroup, double bytes, const char *used_file,
                        struct cgroup_limits *limits)
{
    double used, cache;
    if (bytes >= 0x1p60 || (limits->memory_bytes && bytes >= (double)limits->memory_bytes))
        return;
    limits->memory_bytes = (uint64_t)bytes;
    limits->memory_used_bytes = 0;
    if (!cgroup_number(cgroup, used_file, "", &used))
        return;
    if (cgroup_number(cgroup, "memory.stat", "inactive_file", &cache) ||
        cgroup_number(cgroup, "memory.stat", "total_inactive_file", &cache))
        used -= cache < used ? cache : used;
    limits->memory_used_bytes = (uint64_t)used;
}

static void read_second_version(const char *root, struct cgroup_limits *limits)
{
    struct cgroup cgroup = {0};
    double value, period;
    if (find_group(root, "", &cgroup))
        do {
            struct text line = {0};
            struct text path = {0};
            text_add(&path, "%s/cpu.max", cgroup.path.data); /* "200000 100000" */
            if (text_read_file(&line, path.data, NULL) == 0 && line.data &&
                sscanf(line.data, "%lf %lf", &value, &period) == 2)
                take_cpus(&cgroup, value, period, limits);
            text_free(&path);
            text_free(&line);
            if (cgroup_number(&cgroup, "memory.max", "", &value))
                take_memory(&cgroup, value, "memory.current", limits);
        } while (go_up(&cgroup));
    text_free(&cgroup.path);
}

static void read_first_version(const char *root, struct cgroup_limits *limits)
{
    struct cgroup cpu = {0}, memory = {0};
    double value, period;
    if (find_group(root, "cpu", &cpu))
        do {
            if (cgroup_number(&cpu, "cpu.cfs_quota_us", "", &value) &&
                cgroup_number(&cpu, "cpu.cfs_period_us", "", &period))
                take_cpus(&cpu, value, period, limits);
        } while (go_up(&cpu));
    if (find_group(root, "memory", &memory))
        do {
            if (cgroup_number(&memory, "memory.limit_in_bytes", "", &value))
                take_memory(&memory, value, "memory.usage_in_bytes", limits);
        } while (go_up(&memory));
    text_free(&cpu.path);
    text_free(&memory.path);
}

static void read_cgroups(const char *root, struct cgroup_limits *limits)
{
    *limits = (struct cgroup_limits){.cpu_quota = INFINITY, .throttled_periods = NAN};
    read_second_version(root, limits);
    read_first_version(root, limits);
    if (isinf(limits->cpu_quota))
        limits->cpu_quota = NAN;
}

/* ---- the host -------------------------------------------------------------------------------- */

void context_read_host(const char *root, struct record_host *host)
{
    *host = (struct record_host){.turbo = read_turbo(root), .load1 = NAN};
    struct utsname system;
    cpu_set_t usable;
    read_text(root, "/proc/cpuinfo", "model name", host->cpu, sizeof host->cpu);
    if (!*host->cpu)
        read_text(root, "/sys/firmware/devicetree/base/model", "", host->cpu, sizeof host->cpu);
    read_text(root, "/etc/os-release", "PRETTY_NAME", host->os, sizeof host->os);
    read_text(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", host->governor,
              sizeof host->governor);
    read_text(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "",
              host->clocksource, sizeof host->clocksource);
    if (uname(&system) == 0) {
        snprintf(host->kernel, sizeof host->kernel, "%s", system.release);
        snprintf(host->arch, sizeof host->arch, "%.31s", system.machine);
    }
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_bytes > 0)
        host->memory_bytes = (uint64_t)pages * (uint64_t)page_bytes;
    int64_t available_kib = read_count(root, "/proc/meminfo", "MemAvailable");
    host->memory_available_bytes = available_kib > 0 ? (uint64_t)available_kib * 1024 : 0;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    host->cpus = cpus > 0 ? (unsigned)cpus : 0;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0)
        host->usable_cpus = (unsigned)CPU_COUNT(&usable);
    read_cgroups(root, &host->limits);
    if (getloadavg(&host->load1, 1) != 1)
        host->load1 = NAN;
}

static uint64_t rounded_memory(uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    uint64_t step = 1;
    while (step <= bytes / 8)
        step *= 2;
    return (bytes + step / 2) / step * step;
}

struct gpu {
    const char *name;
    uint64_t memory_bytes;
};

static int by_name_and_memory(const void *a, const void *b)
{
    const struct gpu *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    if (names)
        return names;
    return (x->memory_bytes > y->memory_bytes) - (x->memory_bytes < y->memory_bytes);
}

static uint32_t hash_text(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x01000193u; /* FNV-1a, 32 bits */
    return hash;
}

void context_machine_id(const char *cpu, uint64_t memory_bytes, const struct record_device *devices,
                        size_t count, char out[9])
{
    size_t gpus = 0;
    struct gpu *gpu = must_alloc(count * sizeof *gpu);
    for (size_t i = 0; i < count; i++)
        if (strcmp(devices[i].kind, "gpu") == 0)
            gpu[gpus++] = (struct gpu){devices[i].name, rounded_memory(devices[i].memory_bytes)};
    if (gpus)
        qsort(gpu, gpus, sizeof *gpu, by_name_and_memory);

    char text[256];
    uint32_t hash = hash_text(0x811c9dc5u, cpu);
    snprintf(text, sizeof text, "\n%" PRIu64 "\n", rounded_memory(memory_bytes));
    hash = hash_text(hash, text);
    for (size_t i = 0; i < gpus; i++) {
        if (i > 0 && by_name_and_memory(&gpu[i - 1], &gpu[i]) == 0)
            continue;
        snprintf(text, sizeof text, "%s\n%" PRIu64 "\n", gpu[i].name, gpu[i].memory_bytes);
        hash = hash_text(hash, text);
    }
    free(gpu);
    snprintf(out, 9, "%08" PRIx32, hash);
}

JSON_STRUCT(, record_host, struct record_host, JSON_FIELD(TEXT, struct record_host, machine_id),
            JSON_FIELDS(TEXT_OR_NULL, struct record_host, os, kernel, arch, cpu),
            JSON_FIELDS(COUNT_OR_NULL, struct record_host, cpus, usable_cpus),
            JSON_FIELD_AS("cpu_quota", NUMBER, struct record_host, limits.cpu_quota),
            JSON_FIELDS(COUNT_OR_NULL, struct record_host, memory_bytes, memory_available_bytes),
            JSON_FIELD_AS("memory_limit_bytes", COUNT_OR_NULL, struct record_host,
                          limits.memory_bytes),
            JSON_FIELD(TEXT_OR_NULL, struct record_host, governor),
            JSON_FIELD(BOOLEAN_OR_NULL, struct record_host, turbo),
            JSON_FIELD(TEXT_OR_NULL, struct record_host, clocksource),
            JSON_FIELD(NUMBER, struct record_host, load1));

JSON_STRUCT(, record_device, struct record_device, JSON_FIELD(TEXT, struct record_device, id),
            JSON_FIELD_AS("backend", TEXT, struct record_device, api),
            JSON_FIELD(TEXT, struct record_device, name),
            JSON_FIELDS(TEXT_OR_NULL, struct record_device, platform, driver, arch),
            JSON_FIELD(TEXT, struct record_device, kind),
            JSON_FIELDS(COUNT_OR_NULL, struct record_device, memory_bytes, memory_free_start_bytes,
                        max_alloc_bytes, alignment_bytes, l2_bytes, compute_units, max_group_items),
            JSON_FIELDS(BOOLEAN, struct record_device, has_f64, can_split),
            JSON_FIELD(NUMBER, struct record_device, copy_bytes_per_second),
            JSON_FIELD(JSON, struct record_device, settings));

json_t *context_device(const struct record_device *d)
{
    struct record_device device = *d;
    device.copy_bytes_per_second =
        d->copy_bytes_per_second > 0 ? floor(d->copy_bytes_per_second) : NAN;
    return json_of_fields(record_device_fields, &device);
}
