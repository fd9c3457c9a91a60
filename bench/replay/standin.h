/* Kernels that stand in for recorded ones: they use the same blocks, and take as long.
 *
 * Where the record says how long a kernel took, its stand-in writes a word of each page that no
 * command has used (on a device with memory of its own: one word), and spins until that time is
 * over. Where it does not, the stand-in reads and writes all bytes of its blocks once, as a kernel
 * would that waits for memory alone. There is a kernel for each number of blocks, so that a
 * recorder sees the same arguments.
 */
#pragma once

#include "device/device.h"

/* A launch has three arguments a block, and OpenCL promises room for 1024 bytes. */
enum { STANDIN_USES_MAX = 40 };

/* A range of bytes that a launch uses. */
struct standin_use {
    uint64_t memory, offset, bytes;
    bool is_fresh; /* no command has used it */
};

struct standins;
/* Builds the kernels for the numbers of blocks that `wanted` has set, and measures how fast they
 * spin. The caller closes *standins. ERR_BUILD, ERR_OOM, ERR_DEVICE. */
int standins_open(struct device *device, const bool wanted[STANDIN_USES_MAX + 1],
                  struct standins **standins, struct error *error);
/* Launches one in the current queue. device_ns 0: unknown. */
int standins_launch(struct standins *standins, const struct standin_use *uses, unsigned count,
                    uint64_t device_ns, struct error *error);
void standins_close(struct standins *standins);
