#include "record/facts/cgroup.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The second version has all files of a group in one folder, the first a tree for each controller.
 * A limit that is not set reads "max" in the second and as a number beyond all memory in the first.
 */
struct folder {
    struct text path;
    size_t mount_length; /* of the path: where the root group is */
};

/* The first number of a file of a folder, or of its line that starts with `key`. */
static bool read_number(const struct folder *folder, const char *file, const char *key, double *out)
{
    struct text path = {0}, text = {0};
    text_add(&path, "%s/%s", folder->path.data, file);
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
static bool find_group(const char *root, const char *controller, struct folder *folder)
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
            text_add(&folder->path, "%s/sys/fs/cgroup%s%s", root, *controller ? "/" : "",
                     controller);
            folder->mount_length = folder->path.length;
            text_add(&folder->path, "%s", strcmp(group, "/") == 0 ? "" : group);
        }
    }
    text_free(&path);
    text_free(&text);
    return found;
}

/* One group up; false at the root. */
static bool go_up(struct folder *folder)
{
    char *slash = strrchr(folder->path.data + folder->mount_length, '/');
    if (!slash)
        return false;
    *slash = 0;
    folder->path.length = (size_t)(slash - folder->path.data);
    return true;
}

static void take_cpus(const struct folder *folder, double quota_us, double period_us,
                      struct cgroup_limits *limits)
{
    double cpus = quota_us / period_us, periods, throttled;
    if (!(cpus > 0) || cpus >= limits->cpu_quota) /* -1: no limit */
        return;
    limits->cpu_quota = cpus;
    if (read_number(folder, "cpu.stat", "nr_periods", &periods) && periods > 0 &&
        read_number(folder, "cpu.stat", "nr_throttled", &throttled))
        limits->throttled_periods = throttled / periods;
}

static void take_memory(const struct folder *folder, double bytes, const char *used_file,
                        struct cgroup_limits *limits)
{
    double used, cache;
    if (bytes >= 0x1p60 || (limits->memory_bytes && bytes >= (double)limits->memory_bytes))
        return;
    limits->memory_bytes = (uint64_t)bytes;
    limits->memory_used_bytes = 0;
    if (!read_number(folder, used_file, "", &used))
        return;
    if (read_number(folder, "memory.stat", "inactive_file", &cache) ||
        read_number(folder, "memory.stat", "total_inactive_file", &cache))
        used -= cache < used ? cache : used;
    limits->memory_used_bytes = (uint64_t)used;
}

static void read_second_version(const char *root, struct cgroup_limits *limits)
{
    struct folder folder = {0};
    double value, period;
    if (find_group(root, "", &folder))
        do {
            struct text line = {0};
            struct text path = {0};
            text_add(&path, "%s/cpu.max", folder.path.data); /* "200000 100000" */
            if (text_read_file(&line, path.data, NULL) == 0 && line.data &&
                sscanf(line.data, "%lf %lf", &value, &period) == 2)
                take_cpus(&folder, value, period, limits);
            text_free(&path);
            text_free(&line);
            if (read_number(&folder, "memory.max", "", &value))
                take_memory(&folder, value, "memory.current", limits);
        } while (go_up(&folder));
    text_free(&folder.path);
}

static void read_first_version(const char *root, struct cgroup_limits *limits)
{
    struct folder cpu = {0}, memory = {0};
    double value, period;
    if (find_group(root, "cpu", &cpu))
        do {
            if (read_number(&cpu, "cpu.cfs_quota_us", "", &value) &&
                read_number(&cpu, "cpu.cfs_period_us", "", &period))
                take_cpus(&cpu, value, period, limits);
        } while (go_up(&cpu));
    if (find_group(root, "memory", &memory))
        do {
            if (read_number(&memory, "memory.limit_in_bytes", "", &value))
                take_memory(&memory, value, "memory.usage_in_bytes", limits);
        } while (go_up(&memory));
    text_free(&cpu.path);
    text_free(&memory.path);
}

void cgroup_read(const char *root, struct cgroup_limits *limits)
{
    *limits = (struct cgroup_limits){.cpu_quota = INFINITY, .throttled_periods = NAN};
    read_second_version(root, limits);
    read_first_version(root, limits);
    if (isinf(limits->cpu_quota))
        limits->cpu_quota = NAN;
}
