/* The parts of doctor_collect, for each other and for tests. */
#ifndef GAMUT_DOCTOR_COLLECT_H
#define GAMUT_DOCTOR_COLLECT_H

#include <time.h>

#include "doctor/doctor.h"

/* Looks at a folder without making it or anything in it. */
void doctor_collect_folder(const char *path, struct doctor_folder *folder);
/* gnuplot, its scripts, and the compiler of the host device. */
void doctor_collect_programs(struct doctor_facts *facts);
/* The first line that `command` (one or more words) prints for --version; false where it can't be
 * started or fails. */
bool doctor_program_version(const char *command, char *out, size_t size);
/* {"host": …, "devices": […]}, as a result file's context has them. */
json_t *doctor_context(const struct doctor_facts *facts);
/* Files each entry of a result's `noise` (results/README.md) under its device; `now` is in seconds
 * since 1970. */
void doctor_take_noise(struct doctor_facts *facts, const json_t *noise, time_t now);
/* Leaves out the GPUs that are none of the devices, as CUDA_VISIBLE_DEVICES hides them. Where none
 * of them is known to be one, all stay. */
void doctor_keep_usable_gpus(struct doctor_facts *facts);

#endif
