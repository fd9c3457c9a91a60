/* What the tests of traces have in common: a folder, logs as texts, and traces as texts. */
#pragma once

#include <stddef.h>

#include "base/text.h"
#include "trace/import.h"
#include "trace/trace.h"

/* Fixtures for cmocka: a new folder, and its end. */
int trace_folder_make(void **state);
int trace_folder_remove(void **state);
/* The path of a file in the folder, valid for the next seven calls. */
const char *trace_path(const char *name);
void write_bytes(const char *name, const char *bytes, size_t length);
void read_bytes(const char *name, struct text *bytes);

/* Imports a log of these bytes to NAME.trace. */
int import_bytes(const char *name, const char *bytes, size_t length, struct import_report *report,
                 struct error *error);
/* The same for a log that must be good. */
void import_good(const char *name, const char *log);
/* The trace NAME.trace as text without its first two lines, which the caller frees; fails if it
 * does not read to its end. */
char *events_of(const char *name);
/* Its info, as one line of JSON for the caller to free. */
char *info_of(const char *name);
/* Its totals, counted. */
struct trace_totals totals_of(const char *name);
