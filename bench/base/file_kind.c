#include "base/file_kind.h"

#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define AS_TRACE ": gamut advise, fit, replay, view and trace read it"

/* The first that fits is taken. */
static const struct file_kind kinds[] = {
    {"trace", "gamuttrc", .is = "a trace" AS_TRACE ", as a file"},
    {"result", "{", "\"gamut.result\"",
     .is = "a result: gamut print, plot, report, compare and view read it"},
    {"plan", "gamut plan ", .is = "a plan of offsets: the strategy planned:trace=FILE reads it"},
    {"text", "gamut trace 1", .is = "a trace as text" AS_TRACE},
    {"raw", "gamutraw", .is = "a recording of gamut" AS_TRACE},
    {"pytorch", "\x80", .is = "a pickle" AS_TRACE " where PyTorch wrote it"},
    {"nsys", "SQLite format 3", .is = "a database" AS_TRACE " where Nsight Systems wrote it"},
    {"pytorch-csv", "action,addr,size,stream,time_us", .is = "a history of PyTorch" AS_TRACE},
    {"rmm", "Thread,Time,Action,Pointer,Size,Stream", .is = "a log of RMM" AS_TRACE},
    {"xla", "BufferAssignment:", .is = "a buffer assignment of XLA" AS_TRACE},
    {"pytorch-json", "{", "\"device_traces\"", .is = "a PyTorch snapshot" AS_TRACE},
    {"pytorch-json", "{", "\"segments\"", .is = "a PyTorch snapshot" AS_TRACE},
    {"pytorch-json", "[", "\"total_size\"", "\"blocks\"", .is = "a PyTorch snapshot" AS_TRACE},
    {"umpire", "{", "\"kind\":", "\"replay\"", true, "a log of Umpire" AS_TRACE},
    {"umpire", "{", "\"category\":", "\"name\":", true, "a log of Umpire" AS_TRACE},
    {"minimalloc", "", "lower", "upper", true, "a table of lifetimes" AS_TRACE},
    {"kineto", "{", "\"traceEvents\"", .is = "a profile of PyTorch" AS_TRACE},
    {"zip", "PK\3\4",
     .is = "a zip archive, as torch.save writes; gamut does not read it. Write the snapshot as a "
           "pickle: torch.cuda.memory._dump_snapshot(FILE)"},
    {"vma", "{", "\"bufferImageGranularity\"",
     .is = "a state of VulkanMemoryAllocator (vmaBuildStatsString): what is held at one moment, "
           "without the history that a trace needs. Let the program write its requests and frees "
           "in gamut's text form, which docs/traces.md names"},
    {"chakra", "{", "-chakra.",
     .is = "an execution trace of PyTorch (Chakra): operators and their tensors, without the "
           "requests and frees that a trace needs. Record the program with "
           "torch.cuda.memory._record_memory_history(), and write a snapshot: "
           "torch.cuda.memory._dump_snapshot(FILE)"},
    {"ascend", "", "Total Allocated(MB)", NULL, true,
     "a table of Ascend's profiler (operator_memory.csv or memory_record.csv): it lacks the "
     "addresses and the order of frees that a trace needs. Record the program with "
     "torch_npu.npu.memory._record_memory_history(), and write a snapshot: "
     "torch_npu.npu.memory._dump_snapshot(FILE)"},
};

enum { START_BYTES = 1 << 16, LINE_BYTES = 512 };

static bool fits(const struct file_kind *kind, const char *at, size_t length)
{
    if (length < strlen(kind->begins) || memcmp(at, kind->begins, strlen(kind->begins)) != 0)
        return false;
    const char *end = kind->in_line ? memchr(at, '\n', length) : NULL;
    const size_t line = end ? (size_t)(end - at) : length;
    length = kind->in_line && line > LINE_BYTES ? LINE_BYTES : line;
    return (!kind->has || memmem(at, length, kind->has, strlen(kind->has))) &&
           (!kind->and_has || memmem(at, length, kind->and_has, strlen(kind->and_has)));
}

const struct file_kind *file_kind_of(const char *start, size_t length)
{
    const char *end = start + length;
    while (start < end && *start && strchr("# \t\r\n", *start)) {
        const char *line = *start == '#' ? memchr(start, '\n', (size_t)(end - start)) : start;
        start = line ? line + 1 : end;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (fits(&kinds[i], start, (size_t)(end - start)))
            return &kinds[i];
    return NULL;
}

static const struct file_kind *kind_at(const char *path)
{
    char start[START_BYTES];
    struct stat status;
    gzFile file = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? gzopen(path, "rb") : NULL;
    const int length = file ? gzread(file, start, sizeof start) : 0;
    if (file)
        gzclose_r(file);
    return length > 0 ? file_kind_of(start, (size_t)length) : NULL;
}

bool file_is(const char *path, const char *name)
{
    const struct file_kind *kind = kind_at(path);
    return kind && strcmp(kind->name, name) == 0;
}

int file_explain(const char *path, const char *name, int code, struct error *error)
{
    const struct file_kind *kind = code ? kind_at(path) : NULL;
    return kind && strcmp(kind->name, name) != 0
               ? error_set(error, ERR_PARSE, "%s is %s", path, kind->is)
               : code;
}
