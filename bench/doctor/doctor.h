/* `gamut doctor`: is this machine fit for measurements? Each check answers with one sentence.
 *
 * Three steps share only these structs: doctor_collect gathers facts, doctor_check makes a row of
 * each check, doctor_print and doctor_json print the rows. A check is a function of the facts
 * alone. Nothing here changes a setting, writes a file or asks a question. A fact that cannot be
 * found out is reported as unknown and never guessed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "device/nvml.h"
#include "results/facts/context.h"

/* The result of a check. DOCTOR_FAIL: measurements would be wrong or could not be kept.
 * DOCTOR_WARN: they would be noisier or fewer than they could be. */
enum doctor_status { DOCTOR_PASS, DOCTOR_INFO, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_STATUSES };
/* "pass", "info", "warn", "fail". */
const char *doctor_status_name(enum doctor_status status);

/* ---- facts ----------------------------------------------------------------------------------- */

struct doctor_api {
    char name[16];
    size_t device_count;
    char why_not[1000]; /* why it has no device; "" if it has some */
};

struct doctor_device {
    struct record_device device;
    char bus_id[32];    /* as in struct device_info */
    char failure[1000]; /* why it cannot be used; "" if it can */
};

/* A program that gamut starts. */
struct doctor_program {
    char command[128]; /* the command that starts it; "" if none was found */
    char version[128]; /* the first line of --version; "" if it does not start */
};

/* The folder of result files; if it does not exist, the nearest existing folder above it. */
struct doctor_folder {
    char path[512];
    bool exists;        /* the folder of result files itself exists */
    char why_not[256];  /* why no file can be written there; "" if one can */
    int64_t free_bytes; /* -1: unknown */
};

struct doctor_facts {
    char build[16], cflags[128]; /* of this binary; "" if unknown */
    struct record_host host;
    size_t api_count, device_count, gpu_count;
    struct doctor_api *apis;
    char no_devices[1000]; /* why the search for devices failed; "" if it did not */
    struct doctor_device *devices;
    struct nvml_gpu *gpus;   /* NVIDIA GPUs that gamut can use */
    char nvml_why_not[1000]; /* why NVML gives no facts; "" if it does */
    bool has_nvidia_node;    /* /dev/nvidiactl: NVIDIA's kernel driver is loaded */
    struct doctor_folder results;
    struct doctor_program gnuplot, compiler;
    char scripts[512]; /* the folder of the charts' scripts; "" if it does not exist */
};

/* Collects all facts, in a second or a few; opens each device in a process of its own. `results`
 * is the folder of result files. Cannot fail: a failure is a fact too. The caller calls
 * doctor_free. */
void doctor_collect(const char *results, struct doctor_facts *facts);
/* Frees what the facts own. */
void doctor_free(struct doctor_facts *facts);

/* The parts of doctor_collect follow, for tests. */

/* Looks at a folder without making it or anything in it. */
void doctor_collect_folder(const char *path, struct doctor_folder *folder);
/* Copies the first line that `command --version` prints to `out`. false, and "", if the command
 * does not start or fails. The shell splits `command` into words. */
bool doctor_program_version(const char *command, char *out, size_t size);
/* Removes the GPUs that are not among the devices (CUDA_VISIBLE_DEVICES hides them). If no GPU can
 * be matched with a device, all stay. */
void doctor_keep_usable_gpus(struct doctor_facts *facts);

/* ---- checks ---------------------------------------------------------------------------------- */

struct doctor_row {
    enum doctor_status status;
    const char *check;
    char subject[96]; /* what was checked: "cuda:0"; "" if there is only one */
    char found[1200]; /* what the check found */
    char advice[256]; /* what to do; "" for nothing */
};

struct doctor_rows {
    size_t count;
    struct doctor_row *row;
    size_t counts[DOCTOR_STATUSES];
};

/* Runs all checks, in the order of the output. The caller calls doctor_rows_free. */
void doctor_check(const struct doctor_facts *facts, struct doctor_rows *rows);
/* Frees the rows. */
void doctor_rows_free(struct doctor_rows *rows);

/* ---- output ---------------------------------------------------------------------------------- */

/* Prints a line for each row, then how many checks failed or gave a warning. */
void doctor_print(const struct doctor_rows *rows, FILE *out);
/* {"schema": "gamut.doctor/2", "verdict": …, "checks": […]}; the caller owns it. */
json_t *doctor_json(const struct doctor_rows *rows);
