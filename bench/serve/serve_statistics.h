/* Writes what a server did: as JSON, and as a result file like that of a replay. */
#ifndef GAMUT_SERVE_SERVE_STATISTICS_H
#define GAMUT_SERVE_SERVE_STATISTICS_H

#include "serve/serve_settings.h"

/* A device that is served. */
struct served_device {
    unsigned number;
    struct server *server;
    const struct device_info *info; /* what a result file says of it */
    const char
        *release; /* when a freed block may be used again, as a replay says it: "done", "let-go" */
};

/* {"strategy", "devices": [{"id", "name", "requested_bytes", "reserved_bytes", "live_count",
 * "broken", "counters": {those of a result file}, "serve": {SERVE_LIST}}]}; the caller owns it. */
json_t *serve_statistics(const struct serve_settings *settings, const struct served_device *devices,
                         unsigned count, bool checks);
/* Writes a result file with a case for each server; the second one of a device has "#2" after its
 * name, and so on. ERR_IO. */
int serve_write_result(const struct serve_settings *settings, const struct served_device *devices,
                       unsigned count, const char *path, struct error *error);

#endif
