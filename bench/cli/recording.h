/* Result files that commands make: the flags and devices in them, and where they go. */
#ifndef GAMUT_CLI_RECORDING_H
#define GAMUT_CLI_RECORDING_H

#include <jansson.h>
#include <stdbool.h>

#include "alloc/allocator.h"
#include "cli/flags.h"
#include "record/facts/atlas.h"
#include "record/result/result.h"
#include "record/result/result_file.h"
#include "run/rounds/devices.h"

/* The flags of a command as they took effect, as a JSON object, so that a file says how to make it
 * again. The caller owns it. */
json_t *record_flags(const struct flag *flags, const struct flag_value *values);

/* Writes all devices that were found into the result, and marks the selected ones as used. */
void record_devices(struct result *result, const struct found_device *devices, size_t count);

/* Where a strategy's policy is from: an array of objects with the members of struct
 * allocator_origin; null is unknown. The caller owns it. */
json_t *origins_of(const struct allocator_ops *strategy);

/* Writes the result to its file, with the origins of its cases' strategies. If that is impossible, because the disk is full or another file has
 * taken its place, says on stderr what is kept and writes it elsewhere (result_file_move). ERR_IO:
 * there is no room either. */
int save_or_move(struct result_file *file, struct result *result, struct error *error);

/* Reads the atlas of a result file; of several, that of cuda:0. The caller frees it in any case.
 * ERR_IO, ERR_PARSE; ERR_NOT_FOUND: it has none. */
int recorded_atlas(const char *path, struct atlas *atlas, struct error *error);

/* Ends a command that has cases: says on stderr how many ended in which way and, if they are `saved`,
 * in which file, and returns the exit code. */
int report_cases(const json_t *root, const struct result_file *file, bool saved, bool interrupted);

/* A result file that a command makes, and the devices that were found. */
struct recording {
    struct result result;
    struct result_file file;
    struct found_device *devices; /* selected ones first */
    size_t device_count;
};

/* Begins a command that measures devices one by one: finds them, and writes a result without
 * measurements. The command must have the flags device, seed, out, force, results and no-save; it may
 * have rounds. ERR_USAGE where flags contradict each other, a device is a group or no word for one, ERR_IO where the file
 * exists, ERR_NOT_FOUND where there is no such device. */
int recording_open(struct recording *recording, const struct command_line *line,
                   struct error *error);
/* The same for a command that needs no device of this machine: the result has `device` alone. */
int recording_open_for(struct recording *recording, const struct command_line *line,
                       const struct record_device *device, struct error *error);
/* Writes the file as it is so far, with save_or_move; nothing if there is none. ERR_IO. */
int recording_save(struct recording *recording, struct error *error);
/* Writes into the file how the run ended. ERR_IO. */
int recording_finish(struct recording *recording, bool interrupted, bool failed,
                     struct error *error);
/* Frees what recording_open made; also after it failed. */
void recording_free(struct recording *recording);

#endif
