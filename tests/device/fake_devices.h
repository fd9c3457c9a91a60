/* Fake devices with queues, events and memories of their own, for tests of the order in which
 * a group of devices lets commands run.
 *
 * Commands wait in their queues until the test lets some run, from any queue whose head waits for
 * no event: every order that real devices could choose can happen. A memory begins with noise and
 * is filled with noise when it is given back. Misuse is counted: a command whose memory is gone,
 * and a copy from a device that was not opened together with the one that copies.
 */
#pragma once

#include "base/random.h"
#include "device/device.h"

enum { FAKE_DEVICES_MAX = 8, FAKE_DEVICE_QUEUES = 8 };

struct fake_device;

/* All devices of a test. */
struct fake_world {
    struct random random;
    unsigned count;
    struct fake_device *devices[FAKE_DEVICES_MAX];
    bool peers_whole;      /* as device_info says it, of devices added from now on */
    bool has_queues;       /* else all commands are done when the calls return */
    unsigned misuse_count; /* commands on memory that is gone, reads of lost devices, … */
    unsigned stuck_count;  /* waits that nothing can end */
    unsigned wait_count;   /* times that the host waited for commands */
};

/* How a device behaves from now on. */
struct fake_behaviour {
    uint64_t capacity_bytes; /* 0: no limit */
    bool lost;               /* every call fails with ERR_DEVICE_LOST */
    unsigned lost_after;     /* number of commands after which it is lost; 0: never */
};

void fake_world_open(struct fake_world *world, uint64_t seed, bool has_queues);
/* Frees the world, whose devices must all be closed. */
void fake_world_close(struct fake_world *world);
/* Adds a device; its id is "fake:N". Its last owner must close it. */
struct device *fake_world_add(struct fake_world *world);
struct fake_behaviour *fake_behaviour_of(struct device *device);
/* Runs up to `count` commands, in an order drawn at random. */
void fake_world_run(struct fake_world *world, unsigned count);
/* Runs the commands of the device's own queues that need not wait, up to `most` kernels. Returns
 * the number of kernels that it ran. */
unsigned fake_device_run(struct device *device, unsigned most);

/* Counts of the commands that the device has been given. */
struct fake_counts {
    uint64_t peer_copies, reads, writes;
};
const struct fake_counts *fake_counts_of(const struct device *device);
