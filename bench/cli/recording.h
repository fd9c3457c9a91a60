/* Result files that commands make: the flags and devices in them, and where they go. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "alloc/allocator.h"
#include "cli/flags.h"
#include "results/facts/atlas.h"
#include "results/file/draft.h"
#include "results/file/result_file.h"
#include "results/file/shard.h"
#include "run/rounds/devices.h"

/* The flags of a command as they took effect, as a JSON object, so that a file says how to make it
 * again. The caller owns it. */
json_t *record_flags(const struct flag *flags, const struct flag_value *values);

/* Writes all devices that were found into the result, and marks the selected ones as used. */
void record_devices(struct result_draft *draft, const struct found_device *devices, size_t count);

/* The sources of a strategy's policy: an array of objects with the members of struct
 * allocator_origin; null is unknown. The caller owns it. */
json_t *origins_of(const struct allocator_ops *strategy);

/* Writes the result to its file, with the origins of its cases' strategies. If that is impossible,
 * because the disk is full or another file has taken its place, says on stderr what is kept and
 * writes it elsewhere (result_file_move). ERR_IO: there is no room either. */
int save_or_move(struct result_file *file, struct result_draft *draft, struct error *error);

/* Reads the atlas of a name or a result file (atlas_path); of several, that of cuda:0. The caller
 * frees it in any case. ERR_IO, ERR_PARSE; ERR_NOT_FOUND: it has none. */
int recorded_atlas(const char *path, struct atlas *atlas, struct error *error);

/* Prints "gamut: WHAT" on stderr, with the name of the file if it is `saved`. Returns the exit code
 * of a command that was interrupted or could not save; else EXIT_OK. */
int report_end(const char *what, const struct result_file *file, bool saved, bool interrupted);
/* Ends a command that has cases: says on stderr how many ended in which way and, if they are
 * `saved`, in which file, and returns the exit code. */
int report_cases(const struct result *result, const struct result_file *file, bool saved,
                 bool interrupted);

/* The items that a command does: all, or those of its shard that are not done yet. */
struct work {
    struct shard_item *items; /* `count` of them; owned by the caller */
    size_t count;
    bool *own;            /* for each item: whether it is to be done */
    size_t done_count;    /* items that an earlier try has done */
    unsigned first_round; /* the number of the first round to be made */
};

/* Fills in work->own, which the caller frees, and begins the result's file: a new one, or the one
 * that an earlier try of the same shard has left, which replaces *result. ERR_USAGE: --shard is no
 * shard, is given without --out, or the file is no earlier try of it; ERR_IO. */
int begin_work(struct result_draft *draft, struct result_file *file,
               const struct command_line *line, struct work *work, struct error *error);

/* A result file that a command makes, and the devices that were found. */
struct recording {
    struct result_draft draft;
    struct result_file file;
    uint64_t saved_ns, saving_ns; /* when it was saved last, and how long that took */
    struct found_device *devices; /* selected ones first */
    size_t device_count;
};

/* Begins a command that measures devices one by one: finds them, and makes a result without
 * measurements. recording_start is to follow. The command must have the flag device; it may have
 * seed, rounds, out, force, results and no-save. ERR_USAGE where flags contradict each other, a
 * device is a group or no word for one, ERR_IO where the file exists, ERR_NOT_FOUND where there is
 * no such device. */
int recording_open(struct recording *recording, const struct command_line *line,
                   struct error *error);
/* The same for replays without a device: the result has a dry device of this capacity (0: no
 * limit), with the prices of `atlas` (or NULL). */
int recording_open_dry(struct recording *recording, const struct command_line *line,
                       uint64_t capacity_bytes, const struct atlas *atlas, struct error *error);
/* begin_work for a recording. `work` may be NULL: there is no list that could be divided. */
int recording_start(struct recording *recording, const struct command_line *line, struct work *work,
                    struct error *error);
/* Writes the file if the last time is long ago, compared with the time that writing takes: after a
 * kill most of the work is in the file. What fails is left to the next save. */
void recording_save_now_and_then(struct recording *recording);
/* Writes the file as it is so far, with save_or_move; nothing if there is none. ERR_IO. */
int recording_save(struct recording *recording, struct error *error);
/* Writes into the file how the run ended. ERR_IO. */
int recording_finish(struct recording *recording, bool interrupted, bool failed,
                     struct error *error);
/* Frees what recording_open made; also after it failed. */
void recording_free(struct recording *recording);
