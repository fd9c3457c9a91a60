/* Collects the facts. Those of the host are read in results/facts/context.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"
#include "device/device.h"
#include "device/host_build.h"
#include "doctor/doctor.h"
#include "run/rounds/devices.h"

/* ---- devices --------------------------------------------------------------------------------- */

/* Copies the reason why an API has no device from the survey's text, "NAME: SENTENCE\n" (the
 * sentence may have several lines). */
static void why_missing(const char *missing, const char *api, char *out, size_t size)
{
    const size_t length = strlen(api);
    for (const char *line = missing; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, api, length) == 0 && line[length] == ':') {
            snprintf(out, size, "%.*s", (int)strcspn(line + length + 2, "\n"), line + length + 2);
            return;
        }
    }
}

static void collect_apis(const struct found_device *found, size_t count, const char *missing,
                         struct doctor_facts *facts)
{
    const struct device_ops *const *ops = device_api_list(&facts->api_count);
    facts->apis = must_alloc(facts->api_count * sizeof *facts->apis);
    for (size_t a = 0; a < facts->api_count; a++) {
        struct doctor_api *api = &facts->apis[a];
        snprintf(api->name, sizeof api->name, "%s", ops[a]->name);
        for (size_t i = 0; i < count; i++)
            api->device_count += strcmp(found[i].info.api, api->name) == 0;
        why_missing(missing, api->name, api->why_not, sizeof api->why_not);
    }
}

/* Opens each device in a process of its own: one that fails does not hide the others. */
static void open_device(const struct found_device *found, struct doctor_device *device)
{
    struct found_device *opened;
    size_t count;
    struct error error = {0};
    device_to_record(found, &device->device);
    snprintf(device->bus_id, sizeof device->bus_id, "%s", found->info.bus_id);
    if (devices_find(found->info.id, false, &opened, &count, NULL, &error)) {
        snprintf(device->failure, sizeof device->failure, "%.999s", error.text);
        return;
    }
    device_to_record(&opened[0], &device->device); /* the selected one comes first */
    free(opened);
}

static void collect_devices(struct doctor_facts *facts)
{
    struct found_device *found;
    struct text missing = {0};
    struct error error = {0};
    if (devices_find("", false, &found, &facts->device_count, &missing, &error))
        snprintf(facts->no_devices, sizeof facts->no_devices, "%.999s", error.text);
    collect_apis(found, facts->device_count, missing.length ? missing.data : "", facts);
    facts->devices = must_alloc(facts->device_count * sizeof *facts->devices);
    for (size_t i = 0; i < facts->device_count; i++)
        open_device(&found[i], &facts->devices[i]);
    text_free(&missing);
    free(found);
}

void doctor_keep_usable_gpus(struct doctor_facts *facts)
{
    size_t usable = 0;
    for (size_t g = 0; g < facts->gpu_count; g++) {
        struct nvml_gpu *gpu = &facts->gpus[g];
        bool is_usable = false;
        for (size_t d = 0; d < facts->device_count; d++)
            is_usable |= nvml_find(gpu, 1, facts->devices[d].bus_id) != NULL;
        if (!is_usable)
            continue;
        struct nvml_gpu other = facts->gpus[usable];
        facts->gpus[usable++] = *gpu;
        *gpu = other;
    }
    if (usable)
        facts->gpu_count = usable;
}

/* ---- the folder of results ------------------------------------------------------------------- */

/* Shortens a path to the folder above. */
static void go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        strcpy(path, ".");
    else
        slash[slash == path] = 0;
}

void doctor_collect_folder(const char *path, struct doctor_folder *folder)
{
    struct stat status;
    struct statfs system;
    char nearest[sizeof folder->path];
    *folder = (struct doctor_folder){.exists = true, .free_bytes = -1};
    snprintf(folder->path, sizeof folder->path, "%s", path);
    snprintf(nearest, sizeof nearest, "%s", *path ? path : ".");
    while (stat(nearest, &status) != 0 && errno == ENOENT && strcmp(nearest, ".") != 0) {
        folder->exists = false;
        go_up(nearest);
    }
    int why = stat(nearest, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
    if (!why && access(nearest, W_OK | X_OK) != 0)
        why = errno;
    if (why)
        snprintf(folder->why_not, sizeof folder->why_not, "%s", strerror(why));
    if (statfs(nearest, &system) == 0)
        folder->free_bytes = (int64_t)system.f_bavail * (int64_t)system.f_bsize;
}

/* ---- programs -------------------------------------------------------------------------------- */

bool doctor_program_version(const char *command, char *out, size_t size)
{
    char line[1024];
    snprintf(line, sizeof line, "%s --version </dev/null 2>/dev/null", command);
    out[0] = 0;
    FILE *output = popen(line, "r");
    if (output && fgets(out, (int)size, output))
        out[strcspn(out, "\n")] = 0;
    while (output && fgetc(output) != EOF)
        ; /* a program that meets a closed pipe may fail */
    if (!output || pclose(output) != 0)
        out[0] = 0;
    return *out;
}

/* Finds gnuplot, the scripts of the charts, and the compiler of the host device. */
static void doctor_collect_programs(struct doctor_facts *facts)
{
    struct doctor_program *gnuplot = &facts->gnuplot, *compiler = &facts->compiler;
    snprintf(gnuplot->command, sizeof gnuplot->command, "gnuplot");
    doctor_program_version(gnuplot->command, gnuplot->version, sizeof gnuplot->version);
    struct text scripts = {0};
    text_own_folder(&scripts, "plots");
    if (access(scripts.data, R_OK) == 0)
        snprintf(facts->scripts, sizeof facts->scripts, "%s", scripts.data);
    text_free(&scripts);
    const char *commands[4];
    host_compilers(commands);
    for (const char **c = commands; *c && !*compiler->version; c++) {
        const bool is_there =
            doctor_program_version(*c, compiler->version, sizeof compiler->version);
        if (is_there || !commands[1]) /* $CC alone is named even if it does not start */
            snprintf(compiler->command, sizeof compiler->command, "%s", *c);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

void doctor_collect(const char *results, struct doctor_facts *facts)
{
    const struct record_tool tool = context_tool();
    struct nvml_api api;
    struct error error = {0};
    *facts = (struct doctor_facts){0};
    context_read_host("", &facts->host); /* host and GPUs first: the rest makes load */
    if (nvml_load(&api, &error) || nvml_survey(&api, &facts->gpus, &facts->gpu_count, &error))
        snprintf(facts->nvml_why_not, sizeof facts->nvml_why_not, "%.999s", error.text);
    facts->has_nvidia_node = access("/dev/nvidiactl", F_OK) == 0;
    snprintf(facts->build, sizeof facts->build, "%s", tool.build);
    snprintf(facts->cflags, sizeof facts->cflags, "%s", tool.cflags);
    doctor_collect_folder(results, &facts->results);
    doctor_collect_programs(facts);
    collect_devices(facts);
    doctor_keep_usable_gpus(facts);
}

void doctor_free(struct doctor_facts *facts)
{
    free(facts->apis);
    free(facts->devices);
    free(facts->gpus);
    *facts = (struct doctor_facts){0};
}
