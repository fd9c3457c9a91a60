#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

/* Returns the size of the unit that the text is in. */
static double print_bytes(char out[32], uint64_t bytes)
{
    static const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double unit_bytes = 1;
    size_t unit = 0;
    while ((double)bytes / unit_bytes >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        unit_bytes *= 1024;
        unit++;
    }
    const double value = (double)bytes / unit_bytes;
    snprintf(out, 32,
             unit == 0     ? "%.0f %s"
             : value < 10  ? "%.2f %s"
             : value < 100 ? "%.1f %s"
                           : "%.0f %s",
             value, units[unit]);
    return unit_bytes;
}

char *text_bytes(char out[32], uint64_t bytes)
{
    print_bytes(out, bytes);
    return out;
}

char *text_bytes_exact(char out[64], uint64_t bytes)
{
    char rounded[32];
    const double unit_bytes = print_bytes(rounded, bytes);
    if (strtod(rounded, NULL) * unit_bytes == (double)bytes)
        snprintf(out, 64, "%s", rounded);
    else
        snprintf(out, 64, "%s (%llu B)", rounded, (unsigned long long)bytes);
    return out;
}
