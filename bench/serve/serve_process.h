/* The server's side of a process: its settings, its servers, and the files that it writes at its
 * end. */
#ifndef GAMUT_SERVE_SERVE_PROCESS_H
#define GAMUT_SERVE_SERVE_PROCESS_H

#include "serve/serve_statistics.h"

/* Reads the settings, once, and has the statistics and the result written when the process ends.
 * `strategy`, unless it is NULL, wins over GAMUT_SERVE; ERR_USAGE where the process serves already.
 * Errors of serve_settings_read. */
int process_begin(const char *strategy, enum serving_api api, struct error *error);
/* After process_begin. */
const struct serve_settings *process_settings(void);
/* Names a server, which lives until the process ends, as does what `served` points to. */
void process_add(const struct served_device *served);
/* Members that an API adds to the statistics. */
void process_adds(void (*add)(json_t *statistics));

/* The statistics as JSON, with "process", its number, and "began_realtime_us"; the caller frees the
 * text with free. */
char *process_statistics(void);
int process_write_result(const char *path, struct error *error);

/* Ends the process with a sentence: with an exit code of gamut where the settings are wrong or
 * cannot be served, because another allocator than the one asked for would go unseen; by SIGABRT
 * otherwise. */
_Noreturn void process_die(const struct error *error);

#endif
