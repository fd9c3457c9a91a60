/* The variables of the environment that a server reads:
 *
 *   GAMUT_SERVE             the strategy and its options, as on the command line: "pool:leading_bits=5" [caching]
 *   GAMUT_SERVE_CAPACITY    the most bytes that a device's server holds: "8GiB" [what the driver has]
 *   GAMUT_SERVE_DEBUG       not "" or "0": blocks are filled, guarded and checked
 *   GAMUT_SERVE_RECORD      a folder that gets a recording of what is served; `gamut trace import` reads it
 *   GAMUT_SERVE_RESULT      a result file that is written when the process ends; `gamut compare` reads it
 *   GAMUT_SERVE_NAME        the program's name in it [that of the process]
 *   GAMUT_SERVE_STATISTICS  a file that gets the statistics when the process ends; "-": standard error
 *
 * In the names of these two files "%p" stands for the number of the process.
 */
#ifndef GAMUT_SERVE_SERVE_SETTINGS_H
#define GAMUT_SERVE_SERVE_SETTINGS_H

#include "run/replay/serving.h"
#include "serve/server.h"

struct serve_settings {
    char strategy[512];                                /* as written */
    struct serve_options options;                      /* without the device's number */
    struct allocator_plans plans;                      /* of the strategy */
    char record[4000], result[4000], statistics[4000]; /* "": none */
    char name[64];
};

/* Reads the environment; `strategy`, unless it is NULL, wins over GAMUT_SERVE. ERR_USAGE says which variable is wrong. Errors
 * of serving_parse. */
int serve_settings_read(const char *strategy, enum serving_api api, struct serve_settings *settings,
                        struct error *error);

#endif
