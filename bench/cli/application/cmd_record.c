/* gamut record: runs an application and writes its use of device memory as a trace. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"
#include "cli/application/application.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/traces.h"
#include "trace/import.h"
#include "trace/raw.h"
#include "trace/trace.h"

enum { VIA_CUDA = APPLICATION_VIA_COUNT }; /* in addition to the ways of OpenCL */

static const struct flag flags[] = {
    {"out", 'o', FLAG_TEXT,
     .help = "the trace to write; default: APPLICATION.trace. Further processes of the application "
             "become FILE-PROCESS.trace"},
    FLAG_FORCE,
    {"via", 0, FLAG_CHOICE, .value = "HOW", .fallback = "auto", .choices = APPLICATION_VIA "|cuda",
     .help =
         "how gamut gets between the application and its driver. OpenCL: as a layer of the loader; "
         "as a driver in front of the drivers (icd), for loaders without layers; or by preloading, "
         "for loaders that know neither, which opens the drivers in every process. cuda: by CUPTI. "
         "auto: whichever the application uses, a layer where the loader knows them"},
    {"times", 0, FLAG_SWITCH,
     .help = "also record when the device works for each command, as gamut trace waits needs it; "
             "this slows the application"},
    {"anonymous", 0, FLAG_SWITCH,
     .help = "leave out the names of kernels, call sites and the command line"},
    FLAGS_END,
};

struct recording {
    const struct command_line *line;
    struct arena arena;
    const char *out, *folder;  /* the trace; the raw files, until they are traces */
    const char *opencl, *cuda; /* the libraries; NULL: not used */
    struct raw_file {
        char *path;
        struct raw_head head;
        uint64_t bytes;
    } * files;
    unsigned count, capacity;
    bool has_out; /* a process has the name of --out */
};

/* ---- before ---- */

static int find_libraries(struct recording *r, struct error *error)
{
    const uint64_t via = flag_number(r->line, "via");
    if (via != VIA_CUDA)
        r->opencl = application_library(&r->arena, "libgamut_record_opencl.so");
    if (via == APPLICATION_VIA_AUTO || via == VIA_CUDA)
        r->cuda = application_library(&r->arena, "libgamut_record_cuda.so");
    if (r->opencl || r->cuda)
        return 0;
    return error_set(
        error, ERR_UNSUPPORTED,
        "libgamut_record_%s.so is not beside gamut: build it with `make`, on a machine "
        "with the headers of %s",
        via == VIA_CUDA ? "cuda" : "opencl", via == VIA_CUDA ? "CUDA and CUPTI" : "OpenCL");
}

static int choose_out(struct recording *r, struct error *error)
{
    r->out = flag_text(r->line, "out");
    if (!r->out)
        r->out = arena_printf(&r->arena, "%s" TRACE_SUFFIX, text_file_name(r->line->program[0]));
    if (!flag_is_given(r->line, "force") && access(r->out, F_OK) == 0)
        return error_set(error, ERR_USAGE, "%s: the file is there: name another, or --force",
                         r->out);
    return application_folder(&r->arena, r->out, &r->folder, error);
}

/* Phases come from NVTX, which has room for one tool. */
static void set_cuda_environment(const struct recording *r)
{
    const char *tool = getenv("NVTX_INJECTION64_PATH");
    setenv("CUDA_INJECTION64_PATH", r->cuda, 1);
    if (tool && *tool)
        fprintf(stderr, "gamut: phases of NVTX are not recorded: NVTX_INJECTION64_PATH names %s\n",
                tool);
    else
        setenv("NVTX_INJECTION64_PATH", r->cuda, 1);
}

static int set_environment(struct recording *r, struct error *error)
{
    const uint64_t via = flag_number(r->line, "via");
    setenv("GAMUT_RECORD", r->folder, 1);
    setenv("GAMUT_RECORD_OPTIONS",
           arena_printf(&r->arena, "%s%s", flag_number(r->line, "times") ? "times," : "",
                        flag_number(r->line, "anonymous") ? "anonymous," : ""),
           1);
    if (r->cuda)
        set_cuda_environment(r);
    return r->opencl ? application_inject(&r->arena, r->opencl, (enum application_via)via,
                                          r->folder, error)
                     : 0;
}

/* ---- after ---- */

/* The process that began first, and did something, has the name of --out. */
static int by_begin(const void *left, const void *right)
{
    const struct raw_file *a = left, *b = right;
    if (a->head.began_realtime_ns != b->head.began_realtime_ns)
        return a->head.began_realtime_ns < b->head.began_realtime_ns ? -1 : 1;
    return strcmp(a->path, b->path);
}

static int find_files(struct recording *r, struct error *error)
{
    DIR *folder = opendir(r->folder);
    if (!folder)
        return error_set(error, ERR_IO, "%s: %s", r->folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 4, ".raw") != 0)
            continue;
        r->files = must_grow(r->files, r->count, &r->capacity, sizeof *r->files);
        struct raw_file *f = &r->files[r->count];
        *f = (struct raw_file){.path = arena_printf(&r->arena, "%s/%s", r->folder, entry->d_name)};
        FILE *file = fopen(f->path, "re");
        struct stat status;
        const bool is_read = file && fread(&f->head, sizeof f->head, 1, file) == 1 &&
                             fstat(fileno(file), &status) == 0;
        if (is_read && !f->head.devices)
            unlink(f->path); /* a process that named phases and used no device */
        else if (is_read) {
            f->bytes = (uint64_t)status.st_size;
            r->count++;
        }
        if (file)
            fclose(file);
    }
    closedir(folder);
    if (r->count)
        qsort(r->files, r->count, sizeof *r->files, by_begin);
    return 0;
}

static const char *how(const struct recording *r, const char *via)
{
    if (strcmp(via, "preload") == 0)
        return "its place in the drivers' tables";
    if (strcmp(via, "icd") == 0)
        return flag_number(r->line, "via") == APPLICATION_VIA_ICD
                   ? "the driver in front"
                   : "the driver in front, since the application's loader has no layers";
    return strcmp(via, "cupti") == 0 ? "CUPTI" : "the layer of OpenCL";
}

static void say_trace(const struct recording *r, const struct raw_file *file,
                      const struct imported *trace)
{
    char bytes[32];
    fprintf(stderr,
            "gamut: wrote %s: %" PRIu64 " events, %" PRIu64 " blocks, at most %s at once; by %s\n",
            trace->path, trace->totals.events, trace->totals.blocks,
            text_bytes(bytes, trace->totals.peak_bytes), how(r, file->head.via));
    struct trace_reader *reader;
    struct error error = {0};
    if (trace_open(trace->path, &reader, &error) == 0) {
        traces_say_unseen(trace_reader_info(reader), stderr);
        trace_close(reader);
    }
}

/* A trace without events is kept only where no process has any: a program that starts others often
 * looks for devices itself. */
static int make_trace(struct recording *r, const struct raw_file *file, struct error *error)
{
    const char *out = !r->has_out
                          ? r->out
                          : arena_printf(&r->arena, "%.*s-%" PRIu64 "%s", (int)trace_stem(r->out),
                                         r->out, file->head.process, TRACE_SUFFIX);
    const bool may_drop = r->has_out || file + 1 < r->files + r->count;
    struct import_report report;
    const int code =
        import_log(file->path, "raw", out, flag_number(r->line, "force"), &report, error);
    for (unsigned i = 0; !code && i < report.trace_count; i++) {
        const struct imported *trace = &report.traces[i];
        if (!trace->totals.events && may_drop) {
            unlink(trace->path);
            continue;
        }
        say_trace(r, file, trace);
        r->has_out = true;
    }
    import_report_free(&report);
    if (!code)
        unlink(file->path);
    return code;
}

static int make_traces(struct recording *r, struct error *error)
{
    const unsigned first = r->count;
    TRY(find_files(r, error));
    if (!r->count)
        return error_set(error, ERR_UNSUPPORTED, "nothing was recorded: the application %s",
                         !r->opencl ? "made no call of CUDA"
                         : flag_number(r->line, "via") == APPLICATION_VIA_PRELOAD
                             ? "made no call of OpenCL in a way that gamut sees"
                             : "made no call of CUDA, and none of OpenCL in a way that gamut sees; "
                               "for a loader of its own try --via preload");
    for (unsigned i = first; i < r->count; i++)
        TRY(make_trace(r, &r->files[i], error));
    return 0;
}

static int record_application(struct recording *r, int *exit_code, struct error *error)
{
    int status = 0;
    TRY(find_libraries(r, error));
    TRY(choose_out(r, error));
    int code = set_environment(r, error);
    THEN(code, application_run(r->line->program, &status, error));
    THEN(code, make_traces(r, error));
    *exit_code = application_exit_code(status, code, error);
    if (application_outlived(*exit_code))
        (void)make_traces(r, NULL);
    /* Raw files that became no trace stay, and the folder with them. */
    if (!application_remove(&r->arena, r->folder))
        fprintf(stderr, "gamut: what was recorded is in %s; `gamut trace import` reads it\n",
                r->folder);
    return 0;
}

static int run_record(const struct command_line *line)
{
    struct recording r = {.line = line};
    struct error error = {0};
    int exit_code;
    const int code = record_application(&r, &exit_code, &error);
    free(r.files);
    arena_free(&r.arena);
    return code ? application_exit_code(0, code, &error) : exit_code;
}

const struct command command_record = {
    .name = "record",
    .summary = "run an application, unmodified, and write what it does with device memory",
    .arguments = "-- APPLICATION [ARGUMENTS]",
    .takes_program = true,
    .flags = flags,
    .run = run_record,
};
