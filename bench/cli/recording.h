/* What every command that writes a result file says in it of its flags and of the devices. */
#ifndef GAMUT_CLI_RECORDING_H
#define GAMUT_CLI_RECORDING_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/flags.h"
#include "record/result.h"
#include "run/wire.h"

/* The flags as they took effect, so that a file says how to make it again; the caller owns it. */
json_t *record_flags(const struct flag *flags, const struct flag_value *values);

/* All devices found, those selected as used. */
void record_devices(struct result *result, const struct found_device *devices, size_t count);

/* A result file that is made by a command, and where it goes. */
struct recording {
    struct result result;
    struct text path; /* "" for none */
};

struct recording_facts {
    const struct command_line *line;
    const char *out;     /* --out, or NULL */
    bool force, no_save; /* --force, --no-save */
    const char *results; /* --results */
    uint64_t seed;
    unsigned rounds;
};

/* Whether the file may be made: ERR_USAGE where flags contradict each other, ERR_IO where it
 * exists. */
int recording_check(const struct recording_facts *facts, struct error *error);
/* A result without measurements, with its devices, is on disk from here on. */
int recording_begin(struct recording *recording, const struct recording_facts *facts,
                    const struct found_device *devices, size_t count, struct error *error);
int recording_save(struct recording *recording, struct error *error);
void recording_free(struct recording *recording);

#endif
