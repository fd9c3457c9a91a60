#include "tests/trace/trace_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/base/cmocka.h"
#include "trace/text.h"

/* In memory where that is possible: each trace that is written waits for its disk. */
static char folder[] = "/dev/shm/gamut-trace-XXXXXX";

int trace_folder_make(void **state)
{
    (void)state;
    if (mkdtemp(folder))
        return 0;
    strcpy(folder, "/tmp/gamut-trace-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

int trace_folder_remove(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

const char *trace_path(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

void write_bytes(const char *name, const char *bytes, size_t length)
{
    FILE *file = fopen(trace_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

void read_bytes(const char *name, struct text *bytes)
{
    struct error error = {0};
    if (text_read_file(bytes, trace_path(name), &error))
        fail_msg("%s", error.text);
}

static const char *trace_name_in_folder(const char *name)
{
    char file[160];
    snprintf(file, sizeof file, "%s.trace", name);
    return trace_path(file);
}

int import_bytes(const char *name, const char *bytes, size_t length, struct import_report *report,
                 struct error *error)
{
    write_bytes("log", bytes, length);
    return import_log(trace_path("log"), NULL, trace_name_in_folder(name), true, report, error);
}

void import_good(const char *name, const char *log)
{
    struct import_report report;
    struct error error = {0};
    if (import_bytes(name, log, strlen(log), &report, &error))
        fail_msg("%s", error.text);
    import_report_free(&report);
}

static struct trace_reader *open_good(const char *name)
{
    struct trace_reader *reader;
    struct error error = {0};
    if (trace_open(trace_name_in_folder(name), &reader, &error))
        fail_msg("%s", error.text);
    return reader;
}

char *events_of(const char *name)
{
    struct trace_reader *reader = open_good(name);
    struct error error = {0};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    int code = trace_print(reader, out, &error);
    fclose(out);
    trace_close(reader);
    if (code)
        fail_msg("%s", error.text);
    const char *events = strchr(strchr(text, '\n') + 1, '\n') + 1;
    memmove(text, events, strlen(events) + 1);
    return text;
}

char *info_of(const char *name)
{
    struct trace_reader *reader = open_good(name);
    json_t *json = trace_info_to_json(trace_reader_info(reader));
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    trace_close(reader);
    return text;
}

struct trace_totals totals_of(const char *name)
{
    struct trace_reader *reader = open_good(name);
    struct trace_event event;
    struct error error = {0};
    int more;
    while ((more = trace_next(reader, &event, &error)) > 0)
        continue;
    if (more)
        fail_msg("%s", error.text);
    struct trace_totals totals = *trace_reader_totals(reader);
    trace_close(reader);
    return totals;
}
