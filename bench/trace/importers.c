/* The list of importers, and the import of a log by one of them. */
#include <string.h>

#include "base/gzip_file.h"
#include "trace/import.h"
#include "trace/import/list.h"

#define X(name) extern const struct importer importer_##name;
IMPORTER_LIST(X)
#undef X

static const struct importer *const importers[] = {
#define X(name) &importer_##name,
    IMPORTER_LIST(X)
#undef X
};
enum { IMPORTERS = sizeof importers / sizeof *importers };

TEXT_NAMES(importer_name, IMPORTERS, importers[i]->name)

/* Files of other kinds that users take for logs, by a part of their first bytes. */
static const struct {
    const char *part, *what;
} foreign[] = {
    {"PK\3\4", "a zip archive, as torch.save writes; gamut does not read it. Write the snapshot as "
               "a pickle: torch.cuda.memory._dump_snapshot(FILE)"},
    {"\"bufferImageGranularity\"",
     "a state of VulkanMemoryAllocator (vmaBuildStatsString): what is held at one moment, without "
     "the history that a trace needs. Let the program write its requests and frees in gamut's text "
     "form, which docs/traces.md names"},
    {"-chakra.",
     "an execution trace of PyTorch (Chakra): operators and their tensors, without the requests "
     "and frees that a trace needs. Record the program with "
     "torch.cuda.memory._record_memory_history(), and write a snapshot: "
     "torch.cuda.memory._dump_snapshot(FILE)"},
    {"Total Allocated(MB)",
     "a table of Ascend's profiler (operator_memory.csv or memory_record.csv): it lacks the "
     "addresses and the order of frees that a trace needs. Record the program with "
     "torch_npu.npu.memory._record_memory_history(), and write a snapshot: "
     "torch_npu.npu.memory._dump_snapshot(FILE)"},
};

/* The importer that is named `format`, or the first that recognises the log. */
static int choose(const struct import *log, const char *format, const struct importer **importer,
                  struct error *error)
{
    size_t length;
    const char *start = import_start(log, &length);
    for (size_t i = 0; i < IMPORTERS; i++)
        if (format ? strcmp(importers[i]->name, format) == 0
                   : importers[i]->recognises(start, length)) {
            *importer = importers[i];
            return 0;
        }
    if (format)
        return text_unknown(error, format, importer_name, NULL, "there is no importer");
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strstr(start, foreign[i].part))
            return import_error(log, error, "this is %s", foreign[i].what);
    struct text known = {0};
    for (size_t i = 0; i < IMPORTERS; i++)
        text_add(&known, "%s%s", i ? ", " : "", importers[i]->name);
    int code = import_error(log, error,
                            "this is no log of a kind that gamut knows; it knows: %s. 'gamut help "
                            "trace' says what makes each",
                            known.data);
    text_free(&known);
    return gzip_explain_kind(import_path(log), "log", code, error);
}

int import_log(const char *path, const char *format, const char *out, bool replace,
               struct import_report *report, struct error *error)
{
    *report = (struct import_report){0};
    struct import *log;
    TRY(import_open(path, out, &log, error));
    int code = choose(log, format, &report->importer, error);
    THEN(code, report->importer->import(log, error));
    THEN(code, import_finish(log, replace, report, error));
    import_close(log);
    return code;
}
