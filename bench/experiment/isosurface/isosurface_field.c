/* The fields; kernels and reference each compute them in their own way. */
#include "experiment/isosurface/isosurface.h"

struct isosurface_field isosurface_hills(uint32_t window, uint32_t cells, uint64_t seed)
{
    uint32_t octave = 0;
    while (2u << octave <= cells)
        octave++;
    /* The first octave is four chunks wide. At 2500 a cell of height (of 32 in a chunk) seven of
     * ten chunks of a window of ten are empty. */
    return (struct isosurface_field){.top = octave + 2,
                                     .middle = (int32_t)(window * cells / 2),
                                     .slope = (int32_t)(2500 * 32 / cells),
                                     .seed = (uint32_t)(seed ^ seed >> 32)};
}

struct isosurface_field isosurface_ball(uint32_t cells)
{
    return (struct isosurface_field){.middle = (int32_t)(4 * cells), .slope = (int32_t)(3 * cells)};
}
