/* The server's side of a process: its settings, its servers, and the files that it writes at its
 * end. These variables of the environment are its settings:
 *
 *   GAMUT_SERVE             the strategy and its options, such as "pool:leading_bits=5" [caching]
 *   GAMUT_SERVE_CAPACITY    most bytes of a device's server: "8GiB" [what the driver has]
 *   GAMUT_SERVE_DEBUG       not "" or "0": blocks are filled, guarded and checked
 *   GAMUT_SERVE_RECORD      a folder for a recording of what is served (`gamut trace import`)
 *   GAMUT_SERVE_RESULT      a result file, written when the process ends (`gamut compare`)
 *   GAMUT_SERVE_NAME        the program's name in it [that of the process]
 *   GAMUT_SERVE_STATISTICS  a file for the statistics when the process ends; "-": standard error
 *
 * In the names of the result and the statistics "%p" stands for the number of the process,
 * and under OpenCL for "NUMBER-opencl".
 */
#pragma once

#include "replay/serving.h"
#include "inside/server.h"

struct serve_settings {
    char strategy[512];                                /* as written */
    struct serve_options options;                      /* without the device's number */
    struct allocator_plans plans;                      /* of the strategy */
    char record[4000], result[4000], statistics[4000]; /* "": none */
    char name[64];
};

/* A device that is served. */
struct served_device {
    unsigned number;
    struct server *server;
    const struct device_info *info; /* what a result file says of it */
    /* When a freed block may be used again, in the words of a replay: "done", "let-go". */
    const char *release;
};

/* Reads the settings, once, and has the statistics and the result written when the process ends.
 * `strategy`, unless it is NULL, wins over GAMUT_SERVE. ERR_USAGE says which variable is wrong, or
 * that the process serves already. Errors of serving_parse. */
int process_begin(const char *strategy, enum serving_api api, struct error *error);
/* After process_begin. */
const struct serve_settings *process_settings(void);
/* Names a server, which lives until the process ends, as does what `served` points to. */
void process_add(const struct served_device *served);
/* Members that an API adds to the statistics. */
void process_adds(void (*add)(json_t *statistics));

/* {"strategy", "devices": [{"id", "name", "requested_bytes", "reserved_bytes", "live_count",
 * "broken", "counters": {those of a result file}, "serve": {SERVE_LIST}, "planned":
 * {PLANNED_LIST} under that strategy}], "process",
 * "began_realtime_us"}. The caller frees the text with free. */
char *process_statistics(void);
/* Writes a result file with a case for each server. The second server of a device has "#2" after
 * its name, and so on. ERR_IO. */
int process_write_result(const char *path, struct error *error);

/* Ends the process with a sentence: with an exit code of gamut where the settings are wrong or
 * cannot be served, because another allocator than the one asked for would go unseen; by SIGABRT
 * otherwise. */
_Noreturn void process_die(const struct error *error);
