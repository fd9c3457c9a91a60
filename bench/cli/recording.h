/* What every command that writes a result file says in it of its flags and of the devices. */
#ifndef GAMUT_CLI_RECORDING_H
#define GAMUT_CLI_RECORDING_H

#include <jansson.h>

#include "cli/flags.h"
#include "record/result.h"
#include "run/wire.h"

/* The flags as they took effect, so that a file says how to make it again; the caller owns it. */
json_t *record_flags(const struct flag *flags, const struct flag_value *values);

/* All devices found, those selected as used. */
void record_devices(struct result *result, const struct found_device *devices, size_t count);

#endif
