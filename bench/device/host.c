/* The host as a device: memory is fresh pages, kernels are C functions run on all cores.
 *
 * Work is divided among the cores only where it is expected to take longer than starting a team of
 * threads; a kernel's own earlier runs say how long an item takes. All commands are done when they
 * return, so device time is the time spent inside kernels, copies and fills.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/arena.h"
#include "base/clock.h"
#include "base/sort.h"
#include "base/text.h"
#include "device/device.h"
#include "device/host_build.h"
#include "device/list.h"

enum {
    /* Threads that sleep between launches wake in about 10 µs. Three times that much work is worth
     * a team. */
    WORTH_A_TEAM_NS = 30000,
    /* From this size on several threads move bytes faster than one does. */
    WORTH_A_TEAM_BYTES = 1 << 20,
    PAGE_BYTES = 4096,
    FIRST_CHUNK = PAGE_BYTES, /* a chunk's handle is its offset in the chunk file, and not 0 */
};

struct host_device {
    struct device base;
    struct device_info info;
    uint64_t held_bytes; /* bytes of raw memory and of chunks */
    uint64_t busy_ns;    /* in kernels, copies and fills so far */
    uint64_t mark_ns[2];
    uint64_t *profile_ns; /* NULL but between profile_begin and profile_end */
    unsigned profile_most, profile_count;
    uint64_t profile_start_ns;
    unsigned threads;
    int chunk_file;            /* all chunks lie in this file that has no name; 0: not made yet */
    uint64_t chunk_file_bytes; /* its size; places are not used again */
};

struct host_kernel_state {
    host_kernel_function *run;
    double item_ns; /* time of an item on one core, from earlier launches; 0: not launched yet */
};

struct device_program {
    void *library; /* NULL for kernels that were built in */
    size_t kernel_count;
    struct host_kernel_state kernels[];
};

static struct host_device *self(struct device *device)
{
    return (struct host_device *)device;
}

static void *address(uint64_t memory, uint64_t offset)
{
    return (char *)(uintptr_t)memory + offset;
}

/* A contiguous share [begin, end) of some work. */
typedef void share_function(const void *work, int64_t begin, int64_t end);

static void divide_work(int64_t count, bool team, share_function *run, const void *work)
{
#ifdef _OPENMP
    if (team) {
#pragma omp parallel
        {
            int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
            int64_t begin = count / threads * me + (me < count % threads ? me : count % threads);
            int64_t end = begin + count / threads + (me < count % threads);
            if (begin < end)
                run(work, begin, end);
        }
        return;
    }
#endif
    run(work, 0, count);
}

/* ---- describing this machine ---- */

/* The rest of the first line of a file that starts with `key`, less blanks and colons in front. */
static bool line_value(const char *path, const char *key, char *value, size_t size)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool found = false;
    char line[512];
    while (!found && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0) {
            const char *start = line + strlen(key);
            start += strspn(start, " \t:");
            snprintf(value, size, "%.*s", (int)strcspn(start, "\n"), start);
            found = true;
        }
    fclose(file);
    return found;
}

/* The physical memory, or less where a container is allowed less. */
static uint64_t memory_bytes(void)
{
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE), limit;
    char value[64];
    if (line_value("/sys/fs/cgroup/memory.max", "", value, sizeof value) &&
        text_to_u64(value, &limit) && limit < physical)
        return limit;
    return physical;
}

static uint64_t last_level_cache_bytes(void)
{
    for (int index = 3; index >= 2; index--) {
        char path[80], value[64];
        uint64_t bytes;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        if (line_value(path, "", value, sizeof value) && text_to_bytes(value, &bytes))
            return bytes;
    }
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static unsigned usable_cores(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        return (unsigned)CPU_COUNT(&cores);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

static void describe(struct device_info *info)
{
    struct utsname machine;
    uname(&machine);
    *info = (struct device_info){
        .id = "host",
        .api = "host",
        .kind = DEVICE_CPU,
        .language = KERNEL_HOST_C,
        .memory_bytes = memory_bytes(),
        .max_alloc_bytes = memory_bytes(),
        .alignment_bytes = PAGE_BYTES,
        .l2_bytes = last_level_cache_bytes(),
        .compute_units = usable_cores(),
        .has_f64 = true,
        .can_split = true,
    };
    snprintf(info->arch, sizeof info->arch, "%.63s", machine.machine);
    if (!line_value("/proc/cpuinfo", "model name", info->name, sizeof info->name))
        snprintf(info->name, sizeof info->name, "%.60s processor", machine.machine);
#ifdef _OPENMP
    snprintf(info->platform, sizeof info->platform, "OpenMP, %d threads", omp_get_max_threads());
#else
    snprintf(info->platform, sizeof info->platform, "one thread (built without OpenMP)");
#endif
}

static void enumerate(device_found *found, void *context)
{
    struct device_info info;
    describe(&info);
    found(context, &info, NULL);
}

static int open_device(const char *id, struct device **device, struct error *error)
{
    if (strcmp(id, "host") != 0)
        return error_set(error, ERR_NOT_FOUND, "'%s': there is one host device, 'host'", id);
    struct host_device *d = must_alloc(sizeof *d);
    d->base = (struct device){&device_host, &d->info};
    describe(&d->info);
#ifdef _OPENMP
    d->threads = (unsigned)omp_get_max_threads();
#else
    d->threads = 1;
#endif
    *device = &d->base;
    return 0;
}

static void close_device(struct device *device)
{
    if (self(device)->chunk_file > 0)
        close(self(device)->chunk_file);
    free(device);
}

static uint64_t free_bytes(struct device *device)
{
    char kib[64];
    const bool is_known = line_value("/proc/meminfo", "MemAvailable", kib, sizeof kib);
    return is_known ? strtoull(kib, NULL, 10) * 1024 : 0;
}

/* ---- memory ---- */

/* Whether `bytes` more can be promised. The kernel promises more pages than there are and kills the
 * process that then uses them. */
static bool has_room(const struct host_device *d, uint64_t bytes)
{
    return bytes <= d->info.memory_bytes - d->held_bytes;
}

/* Returns ERR_OOM; `call` is the function that found no memory, `why` its reason. */
static int refuse_memory(struct host_device *d, const char *call, uint64_t bytes, const char *why,
                         struct error *error)
{
    char asked[64], held[64], all[64], available[32];
    return error_set(error, ERR_OOM, "%s of %s: %s (%s held, %s in all, %s available now)", call,
                     text_bytes_exact(asked, bytes), why, text_bytes_exact(held, d->held_bytes),
                     text_bytes_exact(all, d->info.memory_bytes),
                     text_bytes(available, free_bytes(&d->base)));
}

static int alloc(struct device *device, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct host_device *d = self(device);
    if (!has_room(d, bytes))
        return refuse_memory(d, "mmap", bytes, "more than the machine has", error);
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return refuse_memory(d, "mmap", bytes, strerror(errno), error);
    d->held_bytes += bytes;
    *memory = (uint64_t)(uintptr_t)pages;
    return 0;
}

static int call_failed(const char *call, uint64_t bytes, struct error *error)
{
    return error_set(error, ERR_DEVICE, "%s of %llu bytes: %s", call, (unsigned long long)bytes,
                     strerror(errno));
}

static int vm_unreserve(void *context, uint64_t range, uint64_t bytes, struct error *error)
{
    return munmap(address(range, 0), bytes) == 0 ? 0 : call_failed("munmap", bytes, error);
}

static int release(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    self(device)->held_bytes -= bytes;
    return vm_unreserve(device, memory, bytes, error);
}

/* A copy or a fill, in shares of whole pages so that no two threads write to one cache line. */
struct transfer {
    char *to;
    const char *from; /* NULL: fill */
    uint64_t bytes;
    uint8_t byte;
};

static void transfer_share(const void *work, int64_t begin, int64_t end)
{
    const struct transfer *t = work;
    uint64_t first = (uint64_t)begin * PAGE_BYTES;
    uint64_t last = smaller((uint64_t)end * PAGE_BYTES, t->bytes);
    if (t->from)
        memcpy(t->to + first, t->from + first, last - first);
    else
        memset(t->to + first, t->byte, last - first);
}

static void transfer(struct device *device, const struct transfer *t)
{
    if (t->bytes == 0)
        return;
    uint64_t start = clock_ns();
    int64_t pages = (int64_t)((t->bytes + PAGE_BYTES - 1) / PAGE_BYTES);
    divide_work(pages, t->bytes >= WORTH_A_TEAM_BYTES, transfer_share, t);
    self(device)->busy_ns += clock_ns() - start;
}

static void touch_share(const void *work, int64_t begin, int64_t end)
{
    volatile char *pages = *(char *const *)work;
    for (int64_t i = begin; i < end; i++)
        pages[i * PAGE_BYTES] = 0;
}

static int touch(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    void *pages = address(memory, 0);
    divide_work((int64_t)((bytes + PAGE_BYTES - 1) / PAGE_BYTES), bytes >= WORTH_A_TEAM_BYTES,
                touch_share, &pages);
    return 0;
}

static int read_memory(struct device *device, void *host, uint64_t memory, uint64_t offset,
                       uint64_t bytes, struct error *error)
{
    transfer(device,
             &(struct transfer){.to = host, .from = address(memory, offset), .bytes = bytes});
    return 0;
}

static int write_memory(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                        uint64_t bytes, struct error *error)
{
    transfer(device,
             &(struct transfer){.to = address(memory, offset), .from = host, .bytes = bytes});
    return 0;
}

static int copy(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                uint64_t from_offset, uint64_t bytes, struct error *error)
{
    transfer(device, &(struct transfer){.to = address(to, to_offset),
                                        .from = address(from, from_offset),
                                        .bytes = bytes});
    return 0;
}

/* All memories of the host lie in one address space. */
static int peer_copy(struct device *device, uint64_t to, uint64_t to_offset, struct device *of,
                     uint64_t from, uint64_t from_offset, uint64_t bytes, struct error *error)
{
    return copy(device, to, to_offset, from, from_offset, bytes, error);
}

static const struct device_peer_ops peer_ops = {.copy = peer_copy};

static int fill(struct device *device, uint64_t memory, uint64_t offset, uint8_t byte,
                uint64_t bytes, struct error *error)
{
    transfer(device,
             &(struct transfer){.to = address(memory, offset), .byte = byte, .bytes = bytes});
    return 0;
}

/* ---- virtual memory ---- */

/* A range is addresses without access, a chunk is a piece of a file in memory, and mapping lays the
 * piece over the addresses. A use of bytes that are not mapped, or not accessible yet, ends the
 * program, as it should. */

static int vm_info(void *context, struct driver_vm_info *info, struct error *error)
{
    *info = (struct driver_vm_info){.granularity_bytes = PAGE_BYTES,
                                    .memory_bytes = self(context)->info.memory_bytes};
    return 0;
}

static int vm_reserve(void *context, uint64_t bytes, uint64_t *range, struct error *error)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *pages = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
    if (pages == MAP_FAILED)
        return refuse_memory(self(context), "reserving addresses", bytes, strerror(errno), error);
    *range = (uint64_t)(uintptr_t)pages;
    return 0;
}

static int open_chunk_file(struct host_device *d, struct error *error)
{
    if (d->chunk_file > 0)
        return 0;
    int file = memfd_create("gamut chunks", MFD_CLOEXEC);
    if (file < 0)
        return error_set(error, ERR_DEVICE, "memfd_create: %s", strerror(errno));
    d->chunk_file = file;
    d->chunk_file_bytes = FIRST_CHUNK;
    return 0;
}

static int vm_create(void *context, uint64_t bytes, uint64_t *chunk, struct error *error)
{
    struct host_device *d = self(context);
    TRY(open_chunk_file(d, error));
    if (!has_room(d, bytes))
        return refuse_memory(d, "a chunk", bytes, "more than the machine has", error);
    if (ftruncate(d->chunk_file, (off_t)(d->chunk_file_bytes + bytes)) != 0)
        return refuse_memory(d, "ftruncate", bytes, strerror(errno), error);
    *chunk = d->chunk_file_bytes;
    d->chunk_file_bytes += bytes;
    d->held_bytes += bytes;
    return 0;
}

static int vm_release(void *context, uint64_t chunk, uint64_t bytes, struct error *error)
{
    struct host_device *d = self(context);
    d->held_bytes -= bytes;
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (fallocate(d->chunk_file, mode, (off_t)chunk, (off_t)bytes) != 0)
        return call_failed("fallocate", bytes, error);
    return 0;
}

static int vm_map(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *error)
{
    void *mapped = mmap(address(range, offset), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                        self(context)->chunk_file, (off_t)chunk);
    return mapped == MAP_FAILED ? call_failed("mmap", bytes, error) : 0;
}

static int vm_access(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                     struct error *error)
{
    return mprotect(address(range, offset), bytes, PROT_READ | PROT_WRITE) == 0
               ? 0
               : call_failed("mprotect", bytes, error);
}

static int vm_unmap(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                    struct error *error)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    void *pages = mmap(address(range, offset), bytes, PROT_NONE, flags, -1, 0);
    return pages == MAP_FAILED ? call_failed("mmap", bytes, error) : 0;
}

static const struct driver_vm_ops vm_ops = {DRIVER_VM_OPS};

/* ---- kernels ---- */

static int find_kernel(const struct kernel_source *source, size_t i, void *library,
                       host_kernel_function **run, struct error *error)
{
    const char *name = source->kernel_names[i];
    if (!library) {
        if (strcmp(source->host_kernels[i].name, name) != 0)
            return error_set(error, ERR_INTERNAL, "%s: built-in kernel %zu is '%s', not '%s'",
                             source->name, i, source->host_kernels[i].name, name);
        *run = source->host_kernels[i].run;
        return 0;
    }
    char symbol[256];
    snprintf(symbol, sizeof symbol, "gamut_host_%s", name);
    void *found = dlsym(library, symbol);
    if (!found)
        return error_set(error, ERR_BUILD, "%s: the compiled text has no function %s", source->name,
                         symbol);
    memcpy(run, &found, sizeof found); /* C has no cast from a data to a function pointer */
    return 0;
}

static void unbuild(struct device *device, struct device_program *program)
{
    if (program->library)
        dlclose(program->library);
    free(program);
}

static int build(struct device *device, const struct kernel_source *source,
                 struct device_program **program, struct error *error)
{
    void *library = NULL;
    TRY(source->host_kernels ? 0 : host_build(source->name, source->text, &library, error));
    int code = 0;
    struct device_program *p = must_alloc(sizeof *p + source->kernel_count * sizeof p->kernels[0]);
    p->library = library;
    p->kernel_count = source->kernel_count;
    for (size_t i = 0; i < source->kernel_count && !code; i++)
        code = find_kernel(source, i, library, &p->kernels[i].run, error);
    if (code)
        unbuild(device, p);
    else
        *program = p;
    return code;
}

struct kernel_run {
    host_kernel_function *run;
    const union launch_value *arguments;
};

static void kernel_share(const void *work, int64_t begin, int64_t end)
{
    const struct kernel_run *k = work;
    k->run(k->arguments, begin, end);
}

/* Learns how long an item takes. The time of a team includes its start, and any time may include an
 * interruption. So a team's time counts only if it is below the known one, and a single thread's
 * only up to twice the known one: else one slow start would keep a small kernel on a team for ever.
 */
static void learn_time(struct host_kernel_state *k, double item_ns, bool team)
{
    if (k->item_ns == 0 || item_ns < k->item_ns)
        k->item_ns = item_ns;
    else if (!team)
        k->item_ns = item_ns < 2 * k->item_ns ? item_ns : 2 * k->item_ns;
}

static int launch(struct device *device, struct device_program *program, size_t kernel,
                  const struct launch *launch, size_t argument_count,
                  const enum launch_arg_kind *kinds, const union launch_value *arguments,
                  struct error *error)
{
    struct host_device *d = self(device);
    struct host_kernel_state *k = &program->kernels[kernel];
    const int64_t *extent = launch->extent;
    bool outer_is_first = launch->rank == 1 || launch->group_items > 0;
    int64_t outer = outer_is_first ? extent[0] : extent[1] * extent[2];
    double items = (double)extent[0] * (double)extent[1] * (double)extent[2];
    if (launch->group_items > 0)
        items *= launch->group_items;

    double guess_ns = items * (k->item_ns > 0 ? k->item_ns : 1);
    bool team = outer > 1 && guess_ns >= WORTH_A_TEAM_NS;
    uint64_t start = clock_ns();
    divide_work(outer, team, kernel_share, &(struct kernel_run){k->run, arguments});
    uint64_t ns = clock_ns() - start;
    learn_time(k, (double)ns * (team ? d->threads : 1) / items, team);
    d->busy_ns += ns;
    return 0;
}

static int sync_device(struct device *device, struct error *error)
{
    return 0;
}

static int mark(struct device *device, enum device_mark which, struct error *error)
{
    self(device)->mark_ns[which] = self(device)->busy_ns;
    return 0;
}

static int elapsed_ns(struct device *device, uint64_t *ns, struct error *error)
{
    *ns = self(device)->mark_ns[MARK_END] - self(device)->mark_ns[MARK_START];
    return 0;
}

/* ---- each command's time ---- */

static int profile_begin(struct device *device, unsigned most, struct error *error)
{
    struct host_device *d = self(device);
    d->profile_ns = must_alloc(most * sizeof *d->profile_ns);
    d->profile_most = most;
    d->profile_count = 0;
    return 0;
}

static int profile_start(struct device *device, struct error *error)
{
    self(device)->profile_start_ns = self(device)->busy_ns;
    return 0;
}

static int profile_stop(struct device *device, struct error *error)
{
    struct host_device *d = self(device);
    if (d->profile_count < d->profile_most)
        d->profile_ns[d->profile_count++] = d->busy_ns - d->profile_start_ns;
    return 0;
}

static int profile_end(struct device *device, uint64_t *ns, unsigned *count, bool *marked,
                       struct error *error)
{
    struct host_device *d = self(device);
    if (ns && d->profile_count)
        memcpy(ns, d->profile_ns, d->profile_count * sizeof *ns);
    *count = d->profile_count;
    *marked = false;
    free(d->profile_ns);
    d->profile_ns = NULL;
    return 0;
}

static const struct device_profile_ops profile_ops = {
    .begin = profile_begin, .start = profile_start, .stop = profile_stop, .end = profile_end};

const struct device_ops device_host = {
    .name = "host",
    .summary = "this machine's processor: kernels are C functions, run on all cores",
    .enumerate = enumerate,
    .open = open_device,
    .close = close_device,
    .free_bytes = free_bytes,
    .alloc = alloc,
    .free = release,
    .touch = touch,
    .read = read_memory,
    .load = read_memory, /* all memory is the host's */
    .write = write_memory,
    .copy = copy,
    .fill = fill,
    .build = build,
    .unbuild = unbuild,
    .launch = launch,
    .sync = sync_device,
    .mark = mark,
    .elapsed_ns = elapsed_ns,
    .peers = &peer_ops,
    .profile = &profile_ops,
    .vm = &vm_ops,
};
