/* A 64-bit digest of bytes, which shows whether two answers have the same bits. It has four lanes
 * of multiply and mix, so that hashing keeps up with reading. It is not cryptographic. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/random.h"

/* The digest of `bytes` bytes. Passing the digest of earlier data as `seed` includes that data. */
static inline uint64_t digest_bytes(uint64_t seed, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t lane[4] = {seed, seed + 1, seed + 2, seed + 3};
    size_t rest = bytes;
    for (; rest >= 32; rest -= 32, p += 32)
        for (int i = 0; i < 4; i++) {
            uint64_t word;
            memcpy(&word, p + 8 * i, 8);
            lane[i] = (lane[i] ^ word) * 0x9fb21c651e98df25u;
            lane[i] ^= lane[i] >> 32;
        }
    unsigned char tail[32] = {0};
    if (rest)
        memcpy(tail, p, rest);
    for (int i = 0; i < 4; i++) {
        uint64_t word;
        memcpy(&word, tail + 8 * i, 8);
        lane[i] = random_mix(lane[i] ^ word);
    }
    return random_mix(lane[0] ^
                      random_mix(lane[1] ^ random_mix(lane[2] ^ random_mix(lane[3] ^ bytes))));
}
