/* `gamut doctor`: what a measurement on this machine would be worth, one sentence a check.
 *
 * In three steps that share nothing but these structs: facts are collected, each check makes one
 * row or a few of them, and rows are printed. A check is a function of the facts alone, and nothing
 * here changes a setting, writes a file or asks a question. What can't be found out is unknown, and
 * said to be, never guessed. */
#ifndef GAMUT_DOCTOR_DOCTOR_H
#define GAMUT_DOCTOR_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "device/nvml.h"
#include "record/facts/context.h"

/* Of a row. DOCTOR_FAIL: what is measured would be wrong, or could not be kept. DOCTOR_WARN: it
 * would be noisier, or less, than it could be. */
enum doctor_status { DOCTOR_PASS, DOCTOR_INFO, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_STATUSES };
const char *doctor_status_name(enum doctor_status status);

/* ---- facts ----------------------------------------------------------------------------------- */

struct doctor_api {
    char name[16];
    size_t device_count;
    char why_not[1000]; /* it has none; "" where it has some */
};

/* How far apart two runs of the same build were on a device, as `gamut run --aa` found last. */
struct doctor_noise {
    bool known;
    double floor;      /* of wall time, as a part of 1 */
    double age_days;   /* NaN: unknown */
    char measured[32]; /* when: "2026-11-21T13:18:03Z" */
};

struct doctor_device {
    struct record_device device;
    char bus_id[32];    /* as in struct device_info */
    char failure[1000]; /* why it can't be used; "" where it can */
    struct doctor_noise noise;
};

/* A program that gamut starts. */
struct doctor_program {
    char command[128]; /* as it is called; "" where none was found */
    char version[128]; /* the first line it prints; "" where it does not start */
};

/* The folder of result files, or, where that is yet to be made, the nearest one above it. */
struct doctor_folder {
    char path[512];
    bool exists;         /* the folder itself does */
    char why_not[256];   /* nothing can be written there; "" where it can */
    char filesystem[24]; /* "ext4", "nfs", …; "" where unknown */
    int64_t free_bytes;  /* -1: unknown */
};

struct doctor_facts {
    char git_rev[48], build[16], cflags[128]; /* of this binary; "" where unknown */
    int git_dirty;                            /* -1: unknown */
    struct record_host host;
    size_t api_count, device_count, gpu_count;
    struct doctor_api *apis;
    char no_devices[1000]; /* why nobody could be asked for devices; "" where they were */
    struct doctor_device *devices;
    struct nvml_gpu *gpus;   /* those of NVIDIA's that gamut can use */
    char nvml_why_not[1000]; /* "" where NVML answers */
    bool has_nvidia_node;    /* /dev/nvidiactl: the kernel's part of NVIDIA's driver is loaded */
    uint64_t timer_ns, timer_step_ns; /* as clock_reading_ns tells */
    struct doctor_folder results;
    struct doctor_program gnuplot, compiler;
    char scripts[512]; /* the folder of the charts' scripts; "" where it is not there */
    json_t *env;       /* as context_env gives it; never NULL */
};

/* Collects everything; devices are opened in processes of their own. Takes a second or a few.
 * `results` is the folder of result files. What fails is a fact too. */
void doctor_collect(const char *results, struct doctor_facts *facts);
void doctor_free(struct doctor_facts *facts);

/* ---- checks ---------------------------------------------------------------------------------- */

struct doctor_row {
    enum doctor_status status;
    const char *check;
    char subject[96]; /* of what: "cuda:0"; "" where there is but one */
    char found[1200]; /* what is the case */
    char advice[256]; /* what to do; "" for nothing */
};

struct doctor_rows {
    size_t count;
    struct doctor_row *row;
    size_t counts[DOCTOR_STATUSES];
};

/* All checks, in the order of the output. doctor_rows_free releases what they made. */
void doctor_check(const struct doctor_facts *facts, struct doctor_rows *rows);
void doctor_rows_free(struct doctor_rows *rows);

/* The checks of devices and of NVIDIA's GPUs (checks_device.c), and the others (checks_host.c). */
void doctor_check_devices(const struct doctor_facts *facts, struct doctor_rows *rows);
void doctor_check_host(const struct doctor_facts *facts, struct doctor_rows *rows);

/* Adds a row with nothing found yet. Valid until the next is added. */
struct doctor_row *doctor_row(struct doctor_rows *rows, const char *check, const char *subject);
/* Fills the row in; advice may be NULL. */
void doctor_found(struct doctor_row *row, enum doctor_status status, const char *advice,
                  const char *found, ...) __attribute__((format(printf, 4, 5)));

/* ---- output ---------------------------------------------------------------------------------- */

void doctor_print(const struct doctor_rows *rows, FILE *out);
/* {"schema": "gamut.doctor/1", "verdict": …, "checks": […], "facts": {…}}; the caller owns it. */
json_t *doctor_json(const struct doctor_facts *facts, const struct doctor_rows *rows);

#endif
