/* What the run loop and its workers say to each other: one JSON job on the worker's stdin, one JSON
 * object a line back:
 *
 *   {"start": INDEX}                     the case of that index in the selection begins
 *   {"done": INDEX, "round": {…}}        and has ended; record/result/case_json.h says what a round is
 *   {"done": INDEX, "round": {…}, "lost": true}   and took the device with it: the worker ends
 *   {"device": {…}}                      a device that was found; those selected come first
 *   {"missing": "opencl", "why": "…"}    an API that offers none
 *   {"doing": "…", "atlas": {…}}         how an atlas goes; what is known of it may be left out
 *   {"error": CODE, "text": "…"}         the job could not be done
 */
#ifndef GAMUT_RUN_WIRE_H
#define GAMUT_RUN_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "device/device.h"
#include "record/facts/case.h"
#include "record/facts/context.h"
#include "run/atlas/atlas.h"
#include "run/rounds/measure.h"

/* Where a worker finds the other end of the pipe that its lines go to: not stdout, on which drivers
 * and compilers print. */
enum { WIRE_FD = 3 };

/* Answers to one workload and dataset that were compared with the reference. */
struct known_answers {
    const char *workload, *dataset;
    size_t count;
    uint64_t *digests;
};

struct job_case {
    struct case_key key;
    unsigned index; /* of the case in the selection */
    unsigned slot;
};

/* A job: to list the devices, open those that the selectors name and measure them; to measure the
 * atlas of a device; to measure rows of an experiment; or to run the cases of a round in this
 * order.
 */
struct job {
    const char *devices; /* selectors, "" for none, or NULL: run the cases */
    bool copy_rate;      /* also measure how fast the devices named copy: takes a second each */

    const char *atlas_device; /* its id, or NULL */
    struct atlas_options atlas;

    const json_t *experiment; /* what experiment/rounds.h says, or NULL. Borrowed */

    size_t file_count; /* program files beside those built in */
    const char **files;
    unsigned round;
    struct measure_options options; /* without the digests */
    size_t case_count;
    struct job_case *cases;
    size_t known_count;
    struct known_answers *known;
    json_t *atlases; /* of the devices whose cases are to be predicted; NULL: of none. Borrowed. */
};

/* The caller owns the result; never NULL. */
json_t *job_to_json(const struct job *job);
/* Texts of `job` point into `json`; job_free releases the rest. ERR_INTERNAL if it is no job. */
int job_from_json(json_t *json, struct job *job, struct error *error);
void job_free(struct job *job);

/* A device that was found. */
struct found_device {
    struct device_info info;
    bool selected;
    /* Of selected ones: bytes free now (0: unknown), and the rate of a plain copy in bytes per
     * second (0: not measured). */
    uint64_t free_bytes;
    double copy_rate;
};
json_t *device_to_json(const struct found_device *device);
bool device_from_json(const json_t *json, struct found_device *device);
/* As a result file says it. */
void device_to_record(const struct found_device *found, struct record_device *record);

/* One line on `out`, flushed; drops the reference to json. */
void wire_send(FILE *out, json_t *json);

#endif
