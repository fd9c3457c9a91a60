/* The pace of the host: how long a memory's life takes now, against the same life in the atlas.
 *
 * Where a machine is shared, a processor slows down while its neighbours work, and every call of
 * the driver takes up to half as long again, for a tenth of a second or for several. The atlas
 * waits for full pace, as far as it has time (atlas_measure.c). The cost model multiplies the
 * atlas's prices by the pace at the time of the samples (run/predict/predict.h). The life knows
 * nothing of the program that is predicted: a memory is allocated, a copy of 256 bytes uses it, and
 * it is freed.
 */
#pragma once

#include "device/device.h"
#include "results/facts/atlas.h"

enum { PACE_SIZES = 2, PACE_LIVES = 8 };
/* Ascending: one that a driver cuts from a page, and one that gets pages of its own. */
extern const uint64_t pace_sizes[PACE_SIZES];

struct pace {
    bool is_known;             /* false: all factors are 1 */
    double factor[PACE_SIZES]; /* time now over time in the atlas */
};

/* Lets a memory live `lives` times, at most PACE_LIVES, while the device is idle and another small
 * one is alive. *ns receives the host time of the three calls: the median of the later half of the
 * lives. */
int pace_life(struct device *device, uint64_t bytes, unsigned lives, uint64_t *ns,
              struct error *error);
/* The pace at which lives of pace_sizes take ns. Unknown if the atlas has no price of a life. */
struct pace pace_against(const struct atlas *atlas, const uint64_t ns[PACE_SIZES]);
/* The factor at a size: between pace_sizes on a straight line over the size's logarithm, else that
 * of the nearer one. 0 bytes: of calls without a size. */
double pace_at(const struct pace *pace, uint64_t bytes);
