/* A driver in front of the drivers. A loader of any age loads this library as a driver (OCL_ICD_VENDORS, or a
 * folder of .icd files that the application's loader reads). The library loads the drivers that stand in
 * GAMUT_OPENCL_VENDORS (/etc/OpenCL/vendors), shows their platforms as they are, and puts the layer's entries
 * into their tables, so that all objects that a driver makes come here first.
 *
 * A driver that gives its objects other tables than its platforms is not seen.
 */
#include "capture/layer_opencl.h"

#include <CL/cl_ext.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLATFORMS_MOST = 32, ENTRIES = sizeof(cl_icd_dispatch) / sizeof(void *) };

typedef void *(CL_API_CALL *find_function)(const char *name);
typedef cl_int(CL_API_CALL *list_function)(cl_uint count, cl_platform_id *platforms,
                                           cl_uint *count_needed);

static cl_platform_id platforms[PLATFORMS_MOST];
static cl_uint platform_count;
static find_function first_find; /* of the first driver: serves names that no platform goes with */

/* The table that an object begins with. */
static cl_icd_dispatch *table_of(void *object)
{
    return *(cl_icd_dispatch **)object;
}

/* Makes the pages of a driver's table writable: most drivers have it among their constants. */
static int unprotect(void *table)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)table / page * page,
                    end = (uintptr_t)table + sizeof(cl_icd_dispatch);
    return mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE);
}

static cl_icd_dispatch originals[LAYER_DRIVERS_MOST];
static void *taken[LAYER_DRIVERS_MOST]; /* the drivers' tables, which have the layer's entries */

void front_give_back(void)
{
    for (unsigned i = 0; i < LAYER_DRIVERS_MOST && taken[i]; i++) {
        memcpy(taken[i], &originals[i], sizeof originals[i]);
        taken[i] = NULL;
    }
}

static void take_over(cl_icd_dispatch *table, const char *via)
{
    unsigned i = 0;
    while (i < LAYER_DRIVERS_MOST && taken[i] && taken[i] != table)
        i++;
    if (i == LAYER_DRIVERS_MOST || taken[i] || unprotect(table) != 0)
        return;
    memcpy(&originals[i], table, sizeof originals[i]);
    const cl_icd_dispatch *layer = layer_entries(table, &originals[i], via);
    taken[i] = table;
    for (unsigned e = 0; layer && e < ENTRIES; e++) {
        void *entry;
        memcpy(&entry, (const char *)layer + e * sizeof entry, sizeof entry);
        if (entry)
            memcpy((char *)table + e * sizeof entry, &entry, sizeof entry);
    }
}

static void load_driver(const char *library, const char *via)
{
    void *driver = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    find_function find = NULL;
    list_function list = NULL;
    if (driver)
        *(void **)&find = dlsym(driver, "clGetExtensionFunctionAddress");
    if (find)
        *(void **)&list = find("clIcdGetPlatformIDsKHR");
    cl_uint count = 0;
    if (!list || list(0, NULL, &count) != CL_SUCCESS || !count ||
        count > PLATFORMS_MOST - platform_count ||
        list(count, platforms + platform_count, NULL) != CL_SUCCESS)
        return;
    if (!first_find)
        first_find = find;
    for (cl_uint i = 0; i < count; i++)
        take_over(table_of(platforms[platform_count + i]), via);
    platform_count += count;
}

static void load_icd_file(const char *path, const char *via)
{
    char library[2048] = "";
    FILE *file = fopen(path, "re");
    if (file && fgets(library, sizeof library, file)) {
        library[strcspn(library, "\r\n")] = 0;
        if (*library)
            load_driver(library, via);
    }
    if (file)
        fclose(file);
}

static void load_drivers(const char *via)
{
    const char *folder = getenv("GAMUT_OPENCL_VENDORS");
    if (!folder || !*folder)
        folder = "/etc/OpenCL/vendors";
    struct dirent **files;
    const int count = scandir(folder, &files, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *ending = strrchr(files[i]->d_name, '.');
        char path[4096];
        if (ending && strcmp(ending, ".icd") == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, files[i]->d_name);
            load_icd_file(path, via);
        }
        free(files[i]);
    }
    if (count >= 0)
        free(files);
}

/* Loaders that read neither OPENCL_LAYERS nor OCL_ICD_VENDORS use the same drivers. With LD_PRELOAD the drivers'
 * tables are changed before the application begins. */
__attribute__((constructor)) static void begin_of_process(void)
{
    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, "_opencl.so") && getenv(layer_own.variable))
        load_drivers("preload");
}

static void load_drivers_once(void)
{
    load_drivers("icd");
}

static cl_int CL_API_CALL list_platforms(cl_uint count, cl_platform_id *list, cl_uint *count_needed)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_drivers_once);
    if (!platform_count)
        return CL_PLATFORM_NOT_FOUND_KHR;
    for (cl_uint i = 0; list && i < count && i < platform_count; i++)
        list[i] = platforms[i];
    if (count_needed)
        *count_needed = platform_count;
    return CL_SUCCESS;
}

/* What a loader asks a driver for. */
EXPORTED CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        return (void *)(uintptr_t)list_platforms;
    return first_find ? first_find(name) : NULL;
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *list,
                                                                cl_uint *count_needed)
{
    return list_platforms(count, list, count_needed);
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform,
                                                           cl_platform_info name, size_t size,
                                                           void *value, size_t *size_needed)
{
    return platform
               ? table_of(platform)->clGetPlatformInfo(platform, name, size, value, size_needed)
               : CL_INVALID_PLATFORM;
}
