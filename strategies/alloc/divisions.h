/* PyTorch's roundup_power2_divisions: sizes between two powers of two have so many steps.
 *
 * PyTorch has a number of divisions for each of 16 intervals: the first has all sizes below 2 MiB,
 * the i-th those from 2^i MiB on, the last those from 32 GiB on. Here they are 16 nibbles, each the
 * logarithm of a number; 0: sizes of that interval are multiples of the unit.
 * Origin: pytorch/pytorch, c10/core/AllocatorConfig.cpp (0ac7166) and
 * c10/cuda/CUDACachingAllocator.cpp (001074d), round_size.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DIVISION_INTERVALS = 16, DIVISIONS_MOST = 1 << 15 };

/* A number at *text, up to a character of `ends`; false: there is none. */
static inline bool divisions_number(const char **text, const char *ends, uint64_t most,
                                    uint64_t *number)
{
    char *end;
    *number = **text >= '0' && **text <= '9' ? strtoull(*text, &end, 10) : UINT64_MAX;
    if (*number > most || !strchr(ends, *end))
        return false;
    *text = end;
    return true;
}

static inline void divisions_set(uint64_t *divisions, unsigned first, unsigned end, uint64_t number)
{
    const uint64_t log = number > 1 ? 63 - (unsigned)__builtin_clzll(number) : 0;
    for (unsigned i = first; i < end; i++)
        *divisions = (*divisions & ~(UINT64_C(15) << 4 * i)) | log << 4 * i;
}

/* Reads "4" or a list "256:1,512:2,>:8": the first number holds for all sizes up to its interval,
 * '>' for all sizes after the last interval that is named. Intervals between two named ones are not
 * divided. */
static inline bool divisions_parse(const char *text, uint64_t *divisions)
{
    uint64_t interval, number;
    unsigned next = 0;
    *divisions = 0;
    if (!strchr(text, ':')) {
        if (!divisions_number(&text, "", DIVISIONS_MOST, &number) || number & (number - 1))
            return false;
        divisions_set(divisions, 0, DIVISION_INTERVALS, number);
        return true;
    }
    for (bool more = true; more; text += more) {
        const bool is_rest = *text == '>';
        if (is_rest)
            interval = 1, text++;
        else if (!divisions_number(&text, ":", UINT64_MAX - 1, &interval))
            return false;
        if (interval == 0 || interval & (interval - 1) || *text++ != ':' ||
            !divisions_number(&text, ",", DIVISIONS_MOST, &number) || number & (number - 1))
            return false;
        unsigned at = 63 - (unsigned)__builtin_clzll(interval);
        at = at < DIVISION_INTERVALS ? at : DIVISION_INTERVALS - 1;
        next += is_rest && next == 0; /* PyTorch has the first interval named in any case */
        divisions_set(divisions, is_rest || next == 0 ? next : at,
                      is_rest ? (unsigned)DIVISION_INTERVALS : at + 1, number);
        next = is_rest ? next : at + 1;
        more = *text == ',';
    }
    return true;
}

/* The option, for the tables of the strategies that have it. */
#define DIVISIONS_OPTION                                                                           \
    {                                                                                              \
        .name = "divisions", .type = OPTION_OWN, .fallback = "1", .choices = "1|2|4|8|16",         \
        .expected = "a power of two, or a list such as {256:1,512:2,>:8} of MiB and powers",       \
        .parse = divisions_parse,                                                                  \
        .help = "sizes between two powers of two, or a list of them by MiB; 1: multiples of 512 "  \
                "bytes"                                                                            \
    }

/* Rounds a size up; `unit` is a power of two. */
static inline uint64_t divisions_round(uint64_t divisions, uint64_t bytes, uint64_t unit)
{
    if (divisions) {
        const unsigned log = 63 - (unsigned)__builtin_clzll(bytes);
        unsigned interval = log > 20 ? log - 20 : 0;
        interval = interval < DIVISION_INTERVALS ? interval : DIVISION_INTERVALS - 1;
        const unsigned steps_log = divisions >> 4 * interval & 15;
        if (steps_log && bytes > unit << steps_log)
            unit = UINT64_C(1) << (log - steps_log);
    }
    return (bytes + unit - 1) & ~(unit - 1);
}
