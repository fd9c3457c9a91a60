/* The file of a run that measures: no other run's results are lost by it, and its own are not lost
 * by others.
 *
 * A new file is created exclusively, and locked (flock) as long as the run lasts. A run that adds
 * rounds to a file waits for its lock, and has it until it ends: two that measure at the same time
 * would disturb each other. The lock belongs to the file that has the name: after it is replaced, a
 * process that waited takes the lock of the new one.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "results/file/draft.h"

/* {0}: none. */
struct result_file {
    struct text path;
    bool is_held;   /* the file was written: this run alone writes it */
    int held;       /* if is_held: the file as it was written last, locked */
    bool has_moved; /* a later part of the result is not where it was asked for */
};

/* Whether a command that writes to `path` has to refuse it, as far as that is known before its
 * work: it exists (unless `replace`), or it is no plain file. ERR_IO. */
int result_file_check(const char *path, bool replace, struct error *error);

/* Writes the result to a new file; with `replace` it takes the place of an older one. ERR_IO, also
 * if there is a file or if another run writes it. */
int result_file_create(struct result_file *file, struct result_draft *draft, const char *path,
                       bool replace, struct error *error);

/* Writes the result to a new file with the name of result_path. If runs start in the same second,
 * the names of the later ones have _02, _03, … added. ERR_IO. */
int result_file_create_in(struct result_file *file, struct result_draft *draft, const char *folder,
                          struct error *error);

/* Goes on with the file that an earlier try of a shard has left: locks it, and adds a session to
 * what it has. *result, which has run.shard and its devices, is replaced by the file's; it stays as
 * it is where the file is of another machine, whose rounds are dropped, which stderr says. A round
 * that was interrupted is dropped. *first_round: the next. ERR_USAGE where the file is of another
 * shard, list, build or other options; ERR_IO also while another process writes it. */
int result_file_resume(struct result_file *file, struct result_draft *draft, const char *path,
                       unsigned *first_round, struct error *error);

/* Waits until no other run writes the file, loads it, adds a session to it (draft_continue) and
 * writes it. ERR_USAGE if the file is not that of the run `like`; errors of result_open and
 * draft_continue. */
int result_file_continue(struct result_file *file, struct result_draft *draft, const char *path,
                         const struct result *like, unsigned rounds, struct error *error);

/* Writes what has been measured. Nothing if there is no file. ERR_IO; ERR_USAGE if the file of
 * another run has taken its place. */
int result_file_save(struct result_file *file, struct result_draft *draft, struct error *error);

/* After a failed save: writes the result to a new file of the same name in $TMPDIR (/tmp), or else
 * in the working folder, and goes on there. ERR_IO: there is no room either. */
int result_file_move(struct result_file *file, struct result_draft *draft, struct error *error);

/* Gives up the lock and frees the path. */
void result_file_close(struct result_file *file);
