/* An application that gamut starts with a library inside: what the commands that record and serve
 * one share. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* The ways of a library between an application of OpenCL and its drivers
 * (bench/inside/opencl_layer.h). */
#define APPLICATION_VIA "auto|layer|icd|preload"
enum application_via {
    /* As a layer; in front where the application has a loader of its own without layers; a preload
     * where the machine's loader has none. */
    APPLICATION_VIA_AUTO,
    APPLICATION_VIA_LAYER,
    APPLICATION_VIA_ICD,
    APPLICATION_VIA_PRELOAD,
    APPLICATION_VIA_COUNT,
};

/* The path of a library, which stands in the folder of the program or where `make install` puts it.
 * NULL: it was not built. */
const char *application_library(struct arena *arena, const char *name);
/* Makes a folder for what the application's processes write, whose name begins with `path`, and
 * removes those of applications that were killed together with gamut. ERR_IO. */
int application_folder(struct arena *arena, const char *path, const char **folder,
                       struct error *error);
/* Sets the environment so that the library gets in. ERR_IO. */
int application_inject(struct arena *arena, const char *library, enum application_via via,
                       const char *folder, struct error *error);
/* Runs the application to its end, in a copy of this process. The first process only waits, and
 * goes on if the copy is killed. What stops gamut from the terminal stops the application too, and
 * gamut goes on. *status: as of waitpid. ERR_USAGE: it cannot be started. */
int application_run(char **program, int *status, struct error *error);
/* If processes outlive the application: ends the command with `code`, waits for them, and returns
 * true. They use the folder until then. */
bool application_outlived(int code);
/* Removes the folder, with what application_inject made in it. False: files of others are left in
 * it. */
bool application_remove(struct arena *arena, const char *folder);
/* Prints the error if `code` is one. gamut's exit code is the application's where that is not 0, as
 * with time and nohup. */
int application_exit_code(int status, int code, const struct error *error);
