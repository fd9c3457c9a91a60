/* A group of fake devices with a few buffers and a kernel, for tests of residency. */
#pragma once

#include "tests/device/fake_devices.h"
#include "residency/residency.h"

enum { RIG_BUFFERS = 4, RIG_BYTES_MAX = 96 };
/* If the seed modulo 7 is this, the devices move whole memories. */
enum { RIG_PEERS_WHOLE = 2 };

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

/* Fails the test with the error's text if `code` is not 0. */
void rig_must(int code, const struct error *error);

void rig_open(struct rig *r, uint64_t seed, unsigned count, bool has_queues, const char *residency,
              struct residency_options options);
/* Closes the rig. Fails the test if a wait was stuck or memory was misused. */
void rig_close(struct rig *r);

void rig_add(struct rig *r, unsigned buffer, uint64_t bytes);
void rig_remove(struct rig *r, unsigned buffer);
/* Writes the byte into all of a buffer. */
void rig_put(struct rig *r, unsigned buffer, uint8_t byte);

/* The kernel. Arguments: to, its bytes, from, its bytes, salt, and whether the old contents
 * count. */
void rig_mix(const union launch_value *a, int64_t begin, int64_t end);
/* Launches the kernel on a member; returns the code of the launch. */
int rig_launch(struct rig *r, unsigned member, struct range to, bool keeps, struct range from,
               int64_t salt, struct error *error);
