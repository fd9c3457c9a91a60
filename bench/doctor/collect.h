/* The parts of doctor_collect, for each other and for tests. */
#ifndef GAMUT_DOCTOR_COLLECT_H
#define GAMUT_DOCTOR_COLLECT_H

#include "doctor/doctor.h"

/* Looks at a folder without making it or anything in it. */
void doctor_collect_folder(const char *path, struct doctor_folder *folder);
/* gnuplot, its scripts, and the compiler of the host device. */
void doctor_collect_programs(struct doctor_facts *facts);
/* The first line that `command` (one or more words) prints for --version; false where it can't be
 * started or fails. */
bool doctor_program_version(const char *command, char *out, size_t size);
/* Leaves out the GPUs that are none of the devices, as CUDA_VISIBLE_DEVICES hides them. Where none
 * of them is known to be one, all stay. */
void doctor_keep_usable_gpus(struct doctor_facts *facts);

#endif
