/* A group of fake devices with a few buffers and a kernel, for tests of residency. */
#ifndef GAMUT_TESTS_RESIDENCY_RIG_H
#define GAMUT_TESTS_RESIDENCY_RIG_H

#include "tests/device/fake_devices.h"
#include "residency/residency.h"

enum { RIG_BUFFERS = 4, RIG_BYTES_MAX = 96 };
enum {
    RIG_PEERS_WHOLE = 2
}; /* seeds that are this, modulo 7, have devices that move whole memories */

struct range {
    unsigned buffer;
    uint64_t begin, bytes;
};

struct rig {
    struct fake_world world;
    struct device *group, *members[FAKE_DEVICES_MAX];
    struct device_program *program;
    struct {
        uint64_t handle, bytes;
    } buffers[RIG_BUFFERS];
};

/* The test fails where there is a code. */
void rig_must(int code, const struct error *error);

void rig_open(struct rig *r, uint64_t seed, unsigned count, bool has_queues, const char *residency,
              struct residency_options options);
/* Nothing was stuck, and nothing used as it must not be. */
void rig_close(struct rig *r);

void rig_add(struct rig *r, unsigned buffer, uint64_t bytes);
void rig_remove(struct rig *r, unsigned buffer);
/* Writes the byte into all of a buffer. */
void rig_put(struct rig *r, unsigned buffer, uint8_t byte);

/* The kernel. Arguments: to, its bytes, from, its bytes, salt, whether what was there counts. */
void rig_mix(const union launch_value *a, int64_t begin, int64_t end);
/* Launches it on a member; the code. */
int rig_launch(struct rig *r, unsigned member, struct range to, bool keeps, struct range from,
               int64_t salt, struct error *error);

#endif
