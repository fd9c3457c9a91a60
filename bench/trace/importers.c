/* The list of importers, and the import of a log by one of them. */
#include <string.h>

#include "base/file_kind.h"
#include "trace/import.h"

#define IMPORTER(function, name) {name, import_##function},
static const struct importer {
    const char *name;
    int (*import)(struct import *log, struct error *error);
} importers[] = {IMPORTER_LIST(IMPORTER)};
enum { IMPORTERS = sizeof importers / sizeof *importers };

TEXT_NAMES(importer_name, IMPORTERS, importers[i].name)

/* The importer that is named `format`, or that of the log's kind. */
static int choose(struct import *log, const char *format, const struct importer **importer,
                  struct error *error)
{
    size_t length;
    const char *start;
    TRY(import_peek(log, 0, &start, &length, error));
    const struct file_kind *kind = format ? NULL : file_kind_of(start, length);
    const char *name = kind ? kind->name : format;
    for (size_t i = 0; i < IMPORTERS && name; i++)
        if (strcmp(importers[i].name, name) == 0) {
            *importer = &importers[i];
            return 0;
        }
    if (kind)
        return error_set(error, ERR_PARSE, "%s is %s", import_path(log), kind->is);
    if (format)
        return text_unknown(error, format, importer_name, NULL, "there is no importer");
    struct text known = {0};
    for (size_t i = 0; i < IMPORTERS; i++)
        text_add(&known, "%s%s", i ? ", " : "", importers[i].name);
    const int code = import_error(log, error,
                                  "this is no log of a kind that gamut knows; it knows: %s. "
                                  "'gamut help trace' says what makes each",
                                  known.data);
    text_free(&known);
    return code;
}

int import_log(const char *path, const char *format, const char *out, bool replace,
               struct import_report *report, struct error *error)
{
    *report = (struct import_report){0};
    const struct importer *importer = NULL;
    struct import *log;
    TRY(import_open(path, out, &log, error));
    int code = choose(log, format, &importer, error);
    if (!code) {
        report->importer = importer->name;
        code = importer->import(log, error);
    }
    THEN(code, import_finish(log, replace, report, error));
    import_close(log);
    return code;
}
