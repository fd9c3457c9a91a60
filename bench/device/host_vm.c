/* Virtual memory as a GPU's driver offers it, made of the host's: a range is addresses without
 * access, a chunk is a piece of a file in memory, and mapping one lays the piece over the
 * addresses. What a program does wrong with it (a use of what is not mapped, or not yet accessible)
 * ends it, as it should. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/host_device.h"

enum { FIRST_PLACE = HOST_PAGE_BYTES }; /* in the file: a chunk's place is its handle, and not 0 */

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static int failed(const char *call, uint64_t bytes, struct error *error)
{
    return error_set(error, ERR_DEVICE, "%s of %llu bytes: %s", call, (unsigned long long)bytes,
                     strerror(errno));
}

int host_vm_granularity(struct device *device, uint64_t *bytes, struct error *error)
{
    (void)device, (void)error;
    *bytes = HOST_PAGE_BYTES;
    return 0;
}

int host_vm_reserve(struct device *device, uint64_t bytes, uint64_t *address, struct error *error)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *range = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
    if (range == MAP_FAILED)
        return host_refuse(host_self(device), "reserving addresses", bytes, strerror(errno), error);
    *address = (uint64_t)(uintptr_t)range;
    return 0;
}

int host_vm_unreserve(struct device *device, uint64_t address, uint64_t bytes, struct error *error)
{
    (void)device;
    return munmap(pointer(address), bytes) == 0 ? 0 : failed("munmap", bytes, error);
}

static int open_chunk_file(struct host_device *d, struct error *error)
{
    if (d->chunk_file > 0)
        return 0;
    int file = memfd_create("gamut chunks", MFD_CLOEXEC);
    if (file < 0)
        return error_set(error, ERR_DEVICE, "memfd_create: %s", strerror(errno));
    d->chunk_file = file;
    d->chunk_file_bytes = FIRST_PLACE;
    return 0;
}

int host_vm_create(struct device *device, uint64_t bytes, uint64_t *chunk, struct error *error)
{
    struct host_device *d = host_self(device);
    int code = open_chunk_file(d, error);
    if (code)
        return code;
    if (!host_has(d, bytes))
        return host_refuse(d, "a chunk", bytes, "more than the machine has", error);
    if (ftruncate(d->chunk_file, (off_t)(d->chunk_file_bytes + bytes)) != 0)
        return host_refuse(d, "ftruncate", bytes, strerror(errno), error);
    *chunk = d->chunk_file_bytes;
    d->chunk_file_bytes += bytes;
    d->held_bytes += bytes;
    return 0;
}

int host_vm_release(struct device *device, uint64_t chunk, uint64_t bytes, struct error *error)
{
    struct host_device *d = host_self(device);
    d->held_bytes -= bytes;
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (fallocate(d->chunk_file, mode, (off_t)chunk, (off_t)bytes) != 0)
        return failed("fallocate", bytes, error);
    return 0;
}

int host_vm_map(struct device *device, uint64_t address, uint64_t chunk, uint64_t bytes,
                struct error *error)
{
    void *mapped = mmap(pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                        host_self(device)->chunk_file, (off_t)chunk);
    return mapped == MAP_FAILED ? failed("mmap", bytes, error) : 0;
}

int host_vm_access(struct device *device, uint64_t address, uint64_t bytes, struct error *error)
{
    (void)device;
    return mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE) == 0
               ? 0
               : failed("mprotect", bytes, error);
}

int host_vm_unmap(struct device *device, uint64_t address, uint64_t bytes, struct error *error)
{
    (void)device;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    void *range = mmap(pointer(address), bytes, PROT_NONE, flags, -1, 0);
    return range == MAP_FAILED ? failed("mmap", bytes, error) : 0;
}
