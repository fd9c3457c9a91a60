#include <stdio.h>

#include "base/text.h"

char *text_bytes(char out[32], uint64_t bytes)
{
    static const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(out, 32,
             unit == 0     ? "%.0f %s"
             : value < 10  ? "%.2f %s"
             : value < 100 ? "%.1f %s"
                           : "%.0f %s",
             value, units[unit]);
    return out;
}
