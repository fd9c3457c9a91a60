#include "device/device.h"

/* Groups are 64 items wide where the space is that wide: wider ones gain nothing, and in narrower
 * ones a warp would touch several rows. A narrow space is not padded to 64. */
struct launch_grid launch_gpu_grid(const struct launch *launch, size_t items_max)
{
    struct launch_grid g = {.items = {1, 1, 1}};
    unsigned items = 256, batch = launch->batch ? launch->batch : 1;
    while (items > items_max && items > 1)
        items /= 2;
    unsigned width = launch->rank == 1 ? items : items < 64 ? items : 64;
    if (launch->rank > 1)
        while (width > 1 && width / 2 >= launch->extent[0])
            width /= 2;
    g.items[0] = width;
    g.items[1] = items / width;
    for (unsigned i = 0; i < 3; i++) {
        int64_t points = (int64_t)g.items[i] * (i == (launch->rank > 1) ? batch : 1);
        g.groups[i] = (launch->extent[i] + points - 1) / points;
    }
    return g;
}
