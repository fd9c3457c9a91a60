/* Fake devices with queues, events and memories of their own, for tests of what a group of devices
 * lets run in which order.
 *
 * Commands wait in their queues until the test lets some run, from any queue whose head waits for
 * no event: every order that real devices could choose can happen. A memory begins with noise, is
 * filled with noise when it is given back, and a command that finds its memory gone is counted, as
 * is a copy from a device that was not opened together with the one that copies.
 */
#ifndef GAMUT_TESTS_FAKE_DEVICES_H
#define GAMUT_TESTS_FAKE_DEVICES_H

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
    unsigned lost_after;     /* so many more commands are taken, then it is lost; 0: never */
};

void fake_world_open(struct fake_world *world, uint64_t seed, bool has_queues);
/* After all its devices were closed. */
void fake_world_close(struct fake_world *world);
/* Adds a device; its id is "fake:N". It is to be closed, by whoever has it in the end. */
struct device *fake_world_add(struct fake_world *world);
struct fake_behaviour *fake_behaviour_of(struct device *device);
/* Runs up to `count` commands, in an order drawn at random. */
void fake_world_run(struct fake_world *world, unsigned count);
/* Runs what can go on in the device's own queues, and stops before one kernel more than `most`.
 * Returns how many kernels it ran. */
unsigned fake_device_run(struct device *device, unsigned most);

/* What the device was asked for so far. */
struct fake_counts {
    uint64_t peer_copies, reads, writes;
};
const struct fake_counts *fake_counts_of(const struct device *device);

#endif
