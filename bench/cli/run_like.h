/* Repeating a run from its file, and adding rounds to it. */
#ifndef GAMUT_CLI_RUN_LIKE_H
#define GAMUT_CLI_RUN_LIKE_H

#include <jansson.h>

#include "cli/flags.h"
#include "run/select/select.h"
#include "run/rounds/devices.h"

/* A result whose run is to be repeated. */
struct like {
    const char *path;
    json_t *root;     /* NULL: none */
    json_t *left_out; /* "reason" of each case that cannot be repeated, by its id */
};

/* ERR_IO or ERR_PARSE; ERR_USAGE where it has no cases. like_close in any case. */
int like_open(struct like *like, const char *path, struct error *error);
void like_close(struct like *like);

/* Sets those of the command's flags that say how cases are measured (rounds, samples, seed, limits)
 * to what they were, unless they are given. Options that this command does not know are told on
 * stderr. */
int like_flags(const struct like *like, struct command_line *line, struct error *error);

/* Puts into the options of the new result what was selected in the file's: the cases are the same.
 */
void like_selection(const struct like *like, json_t *options);

/* The program files that the run was given, and nothing else, into the selection. */
int like_files(const struct like *like, struct catalogue *catalogue, struct selection *selection,
               struct error *error);

/* The devices of the file's cases that this machine has, or of these the ones that `selectors`
 * names; as devices_find. ERR_NOT_FOUND if there is none. */
int like_devices(const struct like *like, const char *selectors, bool copy_rate,
                 struct found_device **devices, size_t *count, struct error *error);

/* The cases of the file that can be run here, in its order. Of the others like->left_out says why;
 * cases on devices that were not asked for are in neither. `only_ok`: no case that failed.
 * ERR_NOT_FOUND if none is left. */
int like_cases(struct like *like, const struct catalogue *catalogue,
               const struct found_device *devices, size_t device_count, bool narrowed, bool only_ok,
               struct selection *selection, struct error *error);

/* ERR_USAGE where one of the devices is not the one that the file's rounds were made on. */
int like_check_machine(const struct like *like, const struct found_device *devices, size_t count,
                       struct error *error);

/* Tells on stderr which workloads and datasets are not what they were in the file. */
void like_tell_changes(const struct like *like, const json_t *fresh);

#endif
