/* Fuzz target for every file that a stranger may have written: fuzz_files --kind=NAME, where NAME
 * is an importer, "any" (the file says which) or one of `kinds` below. Whatever the bytes, a reader
 * ends with a message or with what the file has. A log that is imported gives a trace that reads to
 * its end, and whose text gives the same trace again. libFuzzer bounds the time and the memory of
 * each input. Traces damaged under right checksums are fuzz_trace's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/planned/offset_plan.h"
#include "base/arena.h"
#include "base/text.h"
#include "replay/waits.h"
#include "results/compare/gates.h"
#include "results/file/draft.h"
#include "results/file/result.h"
#include "run/select/suite.h"
#include "trace/import.h"
#include "trace/lifetime_table.h"
#include "trace/raw.h"
#include "trace/text.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/dev/shm/gamut-fuzz-XXXXXX", file[64], made[64], text[64];

static void give_up(const char *why, const struct error *error)
{
    fprintf(stderr, "%s: %s\n", why, error->text);
    abort();
}

static FILE *must_open(const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out)
        give_up("the fuzzer itself", &(struct error){.text = "no memory in /dev/shm"});
    return out;
}

/* ---- readers ---- */

/* Reads a trace to its end; also as text, as JSON, and for who waited. */
static int read_trace(const char *path, struct trace_totals *totals, struct error *error)
{
    struct trace_reader *reader;
    struct trace_event event;
    struct waits waits;
    TRY(trace_open(path, &reader, error));
    int code;
    while ((code = trace_next(reader, &event, error)) > 0)
        continue;
    *totals = *trace_reader_totals(reader);
    FILE *out = must_open(text);
    if (trace_print(reader, out, error) != code)
        give_up("what is read is not printed, or the other way round", error);
    fclose(out);
    out = must_open("/dev/null");
    if (trace_rewind(reader, error) || trace_export_perfetto(reader, out, error) != code)
        give_up("what is read is not exported, or the other way round", error);
    fclose(out);
    if (!code) {
        if (waits_read(reader, &waits, error) == ERR_INTERNAL)
            give_up("who waited", error);
        waits_free(&waits);
    }
    trace_close(reader);
    return code;
}

static void check_log(const char *path, const char *importer, uint64_t digest);

/* Reads a trace, and the text of it. */
static int read_twice(const char *path, struct error *error)
{
    struct trace_totals totals;
    TRY(read_trace(path, &totals, error));
    check_log(text, "text", totals.digest);
    return 0;
}

static int read_log(const char *path, const char *importer, struct error *error)
{
    if (strcmp(importer, "any") == 0)
        importer = NULL;
    struct import_report report;
    struct error wrong = {0};
    int code = import_log(path, importer, made, true, &report, error);
    for (unsigned i = 0; i < report.trace_count; i++) {
        if (!code && read_twice(report.traces[i].path, &wrong))
            give_up("an imported trace is not read", &wrong);
        unlink(report.traces[i].path);
    }
    import_report_free(&report);
    return code;
}

/* Imports the text of a trace, which must give the same trace. */
static void check_log(const char *path, const char *importer, uint64_t digest)
{
    struct import_report report;
    struct error error = {0};
    struct text again = {0};
    text_add(&again, "%s/again.trace", folder);
    if (import_log(path, importer, again.data, true, &report, &error))
        give_up("the text of a trace is not read", &error);
    if (report.traces[0].totals.digest != digest)
        give_up("the text of a trace gives another trace", &error);
    import_report_free(&report);
    text_free(&again);
}

static int read_lifetimes(const char *path, struct error *error)
{
    struct lifetime_table table;
    TRY(lifetime_table_read_file(path, &table, error));
    FILE *out = must_open(text);
    if (table.offset)
        lifetime_table_write(&table, table.offset, out);
    fclose(out);
    lifetime_table_free(&table);
    return 0;
}

static int read_plan(const char *path, struct error *error)
{
    struct offset_plan plan;
    TRY(plan_read(path, &plan, error));
    if (plan_write(&plan, text, true, error))
        give_up("a plan that was read is not written", error);
    plan_free(&plan);
    if (plan_read(text, &plan, error))
        give_up("a plan that was written is not read", error);
    plan_free(&plan);
    return 0;
}

static int read_result(const char *path, struct error *error)
{
    struct result result;
    TRY(result_open(path, &result, error));
    FILE *out = must_open(text);
    const int code = result_print(&result, out, error);
    fclose(out);
    result_release(&result);
    return code;
}

static int read_suite(const char *path, struct error *error)
{
    static struct catalogue catalogue;
    struct suite suite;
    if (!catalogue.entry_count && catalogue_open(&catalogue, error))
        give_up("the catalogue", error);
    TRY(suite_open(path, &catalogue, &suite, error));
    suite_close(&suite);
    return 0;
}

static int read_gates(const char *path, struct error *error)
{
    struct gates gates = gates_default(0.01);
    return gates_add_file(&gates, path, error);
}

static const struct kind {
    const char *name;
    int (*read)(const char *path, struct error *error);
} kinds[] = {{"trace", read_twice},   {"lifetimes", read_lifetimes}, {"plan", read_plan},
             {"result", read_result}, {"suite", read_suite},         {"gates", read_gates}};
static struct kind kind = {"text", NULL};

/* ---- inputs ---- */

static void clean(void)
{
    struct text command = {0};
    text_add(&command, "rm -r %s", folder);
    if (system(command.data))
        perror(folder);
    text_free(&command);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    for (int i = 1; i < *argc; i++)
        if (strncmp((*argv)[i], "--kind=", 7) == 0)
            kind.name = (*argv)[i] + 7;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, kind.name) == 0)
            kind = kinds[i];
    if (!mkdtemp(folder))
        give_up("the fuzzer itself", &(struct error){.text = "no folder in /dev/shm"});
    snprintf(file, sizeof file, "%s/file.json", folder);
    snprintf(made, sizeof made, "%s/made.trace", folder);
    snprintf(text, sizeof text, "%s/text", folder);
    return atexit(clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t nothing[RAW_CHUNK_BYTES];
    struct error error = {0};
    FILE *out = must_open(file);
    fwrite(data, 1, size, out);
    if (strcmp(kind.name, "raw") == 0 && size > RAW_HEAD_BYTES) /* recordings have whole chunks */
        fwrite(nothing, 1, -(size - RAW_HEAD_BYTES) % RAW_CHUNK_BYTES, out);
    fclose(out);
    const int code = kind.read ? kind.read(file, &error) : read_log(file, kind.name, &error);
    if (code && !*error.text)
        give_up("a refusal without a message", &error);
    return 0;
}
