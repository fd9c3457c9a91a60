/* What every command that writes a result file says in it of its flags and of the devices. */
#ifndef GAMUT_CLI_RECORDING_H
#define GAMUT_CLI_RECORDING_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/flags.h"
#include "record/result/result.h"
#include "run/rounds/devices.h"

/* The flags as they took effect, so that a file says how to make it again; the caller owns it. */
json_t *record_flags(const struct flag *flags, const struct flag_value *values);

/* All devices found, those selected as used. */
void record_devices(struct result *result, const struct found_device *devices, size_t count);

/* A result file that is made by a command, where it goes, and the devices that it is of. */
struct recording {
    struct result result;
    struct text path;             /* "" for none */
    struct found_device *devices; /* selected ones first */
    size_t device_count;
};

struct recording_facts {
    const struct command_line *line;
    const char *devices; /* --device */
    const char *out;     /* --out, or NULL */
    bool force, no_save; /* --force, --no-save */
    const char *results; /* --results */
    uint64_t seed;
    unsigned rounds;
};

/* What a command that measures devices one by one begins with: finds them, and puts a result
 * without measurements on disk. ERR_USAGE where flags contradict each other or a device is a group,
 * ERR_IO where the file exists, ERR_NOT_FOUND where there is no such device. */
int recording_open(struct recording *recording, const struct recording_facts *facts,
                   struct error *error);
int recording_save(struct recording *recording, struct error *error);
/* Says how the run ended, and saves. */
int recording_finish(struct recording *recording, bool interrupted, bool failed,
                     struct error *error);
void recording_free(struct recording *recording);

#endif
