/* Gets the layer's entries into an application.
 *
 * Loaders that know layers call clGetLayerInfo and clInitLayer. A loader of any age loads this
 * library as a driver (OCL_ICD_VENDORS, or a folder of .icd files that the application's loader
 * reads). The library then loads the drivers of the folder GAMUT_OPENCL_VENDORS
 * (/etc/OpenCL/vendors), shows their platforms as they are, and puts the layer's entries into their
 * tables, so that all objects that a driver makes come here first.
 *
 * A driver that gives its objects other tables than its platforms is not seen.
 */
#include "inside/opencl_layer.h"

#include <CL/cl_ext.h>
#include <CL/cl_layer.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Functions that loaders find by name; all others are hidden, so that none takes the place of
 * another. */
#define EXPORTED __attribute__((visibility("default"))) CL_API_ENTRY

enum { PLATFORMS_MOST = 32 };

typedef void *(CL_API_CALL *find_function)(const char *name);
typedef cl_int(CL_API_CALL *list_function)(cl_uint count, cl_platform_id *platforms,
                                           cl_uint *count_needed);

static const struct opencl_listener *listener;
static cl_icd_dispatch originals[OPENCL_DRIVERS_MOST]; /* of the tables that have the entries */
static cl_platform_id platforms[PLATFORMS_MOST];
static cl_uint platform_count;
static find_function first_find; /* of the first driver: serves names that no platform goes with */

static bool is_layer(void)
{
    return opencl_nexts[0].table && !opencl_nexts[0].own;
}

/* ---- as a layer ---- */

EXPORTED cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value,
                                           size_t *size_needed)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const bool is_version = name == CL_LAYER_API_VERSION;
    if (!is_version && name != CL_LAYER_NAME)
        return CL_INVALID_VALUE;
    const size_t needed = is_version ? sizeof version : strlen(listener->name) + 1;
    if (value && size < needed)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, is_version ? (const void *)&version : listener->name, needed);
    if (size_needed)
        *size_needed = needed;
    return CL_SUCCESS;
}

EXPORTED cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target,
                                        cl_uint *count_needed, const cl_icd_dispatch **layer)
{
    static const cl_icd_dispatch nothing;
    static cl_icd_dispatch next;
    if (!target || !layer || !count_needed)
        return CL_INVALID_VALUE;
    const size_t known = sizeof next / sizeof(void *);
    *count_needed = (cl_uint)known;
    *layer = &nothing;
    if (is_layer())
        return CL_SUCCESS;
    /* This loader may also have been given the driver in front: the layer goes first. */
    for (unsigned i = 0; i < OPENCL_DRIVERS_MOST && opencl_nexts[i].own; i++)
        *opencl_nexts[i].own = originals[i];
    memset(opencl_nexts, 0, sizeof opencl_nexts);
    if (!listener->begin("layer"))
        return CL_SUCCESS;
    /* An older loader has a shorter table: the entries after its end are NULL. */
    memcpy(&next, target, (count < known ? count : known) * sizeof(void *));
    opencl_nexts[0].table = &next;
    *layer = opencl_entries(listener);
    return CL_SUCCESS;
}

/* ---- in front of the drivers ---- */

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

static void take_over(cl_icd_dispatch *table, const char *via)
{
    unsigned i = 0;
    while (i < OPENCL_DRIVERS_MOST && opencl_nexts[i].own && opencl_nexts[i].own != table)
        i++;
    if (i == OPENCL_DRIVERS_MOST || opencl_nexts[i].own || is_layer() || unprotect(table) != 0 ||
        !listener->begin(via))
        return;
    originals[i] = *table;
    opencl_nexts[i] = (struct opencl_next){table, &originals[i]};
    opencl_put_entries(table, opencl_entries(listener));
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
    for (cl_uint i = 0; i < platform_count; i++)
        if (platforms[i] == platforms[platform_count])
            return; /* the driver is named twice */
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
    /* Some loaders take drivers from this variable too. */
    const char *names = getenv("OCL_ICD_FILENAMES");
    char *list = strdup(names ? names : ""), *rest = list, *name;
    while (list && (name = strsep(&rest, ":")))
        if (*name)
            load_driver(name, via);
    free(list);
}

/* Loaders that read neither OPENCL_LAYERS nor OCL_ICD_VENDORS use the same drivers. With LD_PRELOAD
 * the drivers' tables are changed before the application begins. */
void opencl_listen(const struct opencl_listener *given)
{
    const char *preload = getenv("LD_PRELOAD");
    listener = given;
    if (preload && strstr(preload, "_opencl.so") && getenv(listener->variable))
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

/* A loader asks each driver for this function. */
EXPORTED void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        return (void *)(uintptr_t)list_platforms;
    return first_find ? first_find(name) : NULL;
}

EXPORTED cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *list,
                                                   cl_uint *count_needed)
{
    return list_platforms(count, list, count_needed);
}

EXPORTED cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info name,
                                              size_t size, void *value, size_t *size_needed)
{
    return platform
               ? table_of(platform)->clGetPlatformInfo(platform, name, size, value, size_needed)
               : CL_INVALID_PLATFORM;
}
