/* The lines that TensorFlow logs of its memory, with TF_CPP_MIN_LOG_LEVEL=0 and
 * TF_CPP_MAX_VLOG_LEVEL=1 (or TF_CPP_MIN_VLOG_LEVEL=1 in old versions):
 *
 *     2017-09-21 14:53:23.483412: I tensorflow/core/framework/log_memory.cc:35] __LOG_MEMORY__
 *         MemoryLogTensorAllocation { step_id: 2 kernel_name: "conv" tensor { dtype: DT_FLOAT
 *         shape { dim { size: 1000 } } allocation_description { requested_bytes: 4000
 *         allocated_bytes: 4096 allocator_name: "GPU_0_bfc" allocation_id: 6 ptr: 1109438113536 } } }
 *     ... __LOG_MEMORY__ MemoryLogTensorDeallocation { allocation_id: 6 allocator_name: "GPU_0_bfc" }
 *
 * (each on one line). An allocator is a device, a kernel a call site. A tensor that is an output
 * first was allocated before it was logged, and is one from then on. Fields that are 0 are not
 * logged: allocators that give no ids, as that of the processor often does, cannot be followed, and
 * their tensors are left out. All other lines are ignored.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace/import.h"

static const char mark[] = "__LOG_MEMORY__ ";

struct tensorflow {
    struct import *log;
    struct trace_info info;
    uint64_t first_us;
    bool began;
};

static bool recognises(const char *start, size_t length)
{
    (void)length;
    return strstr(start, mark) != NULL;
}

/* What follows "name: " in a record; NULL: the record lacks it. */
static const char *field(const char *record, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, " %s: ", name);
    const char *at = strstr(record, key);
    return at ? at + strlen(key) : NULL;
}

static uint64_t number_of(const char *record, const char *name)
{
    const char *at = field(record, name);
    return at && *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : 0;
}

/* The text between double quotes, cut to its room; "" if there is none. */
static void text_of(const char *record, const char *name, char out[256])
{
    const char *at = field(record, name);
    const size_t length = at && *at == '"' ? strcspn(at + 1, "\"") : 0;
    snprintf(out, 256, "%.*s", (int)(length < 255 ? length : 255), at ? at + 1 : "");
}

/* "2017-09-21 14:53:23.483412: I ..." */
static bool to_time(const char *line, uint64_t *us)
{
    struct tm t = {0};
    unsigned fraction;
    if (sscanf(line, "%4d-%2d-%2d %2d:%2d:%2d.%6u", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
               &t.tm_min, &t.tm_sec, &fraction) != 7)
        return false;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    const time_t seconds = timegm(&t);
    *us = seconds < 0 ? 0 : (uint64_t)seconds * 1000000 + fraction;
    return true;
}

static uint64_t time_of(struct tensorflow *tf, const char *line)
{
    uint64_t us;
    if (!to_time(line, &us))
        return 0;
    if (!tf->began)
        tf->first_us = us;
    tf->began = true;
    return us > tf->first_us ? (us - tf->first_us) * 1000 : 0;
}

static int read_record(struct tensorflow *tf, const char *line, const char *record,
                       struct error *error)
{
    const bool allocates = strncmp(record, "MemoryLogTensorAllocation ", 26) == 0 ||
                           strncmp(record, "MemoryLogTensorOutput ", 22) == 0 ||
                           strncmp(record, "MemoryLogRawAllocation ", 23) == 0;
    const bool frees = strncmp(record, "MemoryLogTensorDeallocation ", 28) == 0 ||
                       strncmp(record, "MemoryLogRawDeallocation ", 25) == 0;
    const uint64_t id = number_of(record, "allocation_id");
    if (strncmp(record, "MemoryLog", 9) != 0)
        return import_error(tf->log, error, "expected a record MemoryLog..., found '%.40s'",
                            record);
    if ((!allocates && !frees) || id == 0)
        return 0;
    char allocator[256], site[256];
    text_of(record, "allocator_name", allocator);
    text_of(record, "kernel_name", site);
    if (!*site)
        text_of(record, "operation", site);
    if (!*allocator)
        return import_error(tf->log, error, "expected an allocator_name");
    struct import_stream *stream;
    snprintf(tf->info.device, sizeof tf->info.device, "%.100s", allocator);
    tf->info.knows[TRACE_KNOWS_times] |= to_time(line, &(uint64_t){0});
    TRY(import_stream(tf->log, allocator, &tf->info, &stream, error));
    struct trace_writer *w = import_writer(stream);
    struct trace_event e = {.kind = frees ? TRACE_free : TRACE_alloc,
                            .queue = trace_queue(w, "0"),
                            .time_ns = time_of(tf, line)};
    if (frees) {
        import_free(stream, id, &e);
        return 0;
    }
    if (import_find(stream, id))
        return 0; /* an output that was allocated before */
    e.bytes = number_of(record, "requested_bytes");
    e.granted = number_of(record, "allocated_bytes");
    if (!e.bytes)
        e.bytes = number_of(record, "num_bytes");
    e.granted = e.granted ? e.granted : e.bytes;
    e.address = number_of(record, "ptr");
    e.name = trace_name(w, site);
    import_alloc(stream, id, &e);
    return 0;
}

static int import_tensorflow(struct import *log, struct error *error)
{
    struct tensorflow tf = {.log = log,
                            .info = {.source = "TensorFlow __LOG_MEMORY__", .time_unit_ns = 1000}};
    tf.info.knows[TRACE_KNOWS_frees] = tf.info.knows[TRACE_KNOWS_sites] = true;
    tf.info.knows[TRACE_KNOWS_granted] = tf.info.knows[TRACE_KNOWS_addresses] = true;
    char *line;
    int more, code = 0;
    while (!code && (more = import_line(log, &line, error)) != 0) {
        const char *record = more > 0 ? strstr(line, mark) : NULL;
        code = more < 0 ? more
               : record ? read_record(&tf, line, record + sizeof mark - 1, error)
                        : 0;
    }
    return code;
}

const struct importer importer_tensorflow = {
    .name = "tensorflow",
    .summary = "TensorFlow's __LOG_MEMORY__ lines: TF_CPP_MAX_VLOG_LEVEL=1",
    .recognises = recognises,
    .import = import_tensorflow,
};
