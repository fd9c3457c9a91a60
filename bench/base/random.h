/* Random numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood 2014). The
 * state is one word, and any seed is a good seed. */
#pragma once

#include <stdint.h>

struct random {
    uint64_t state;
};

/* A hash of z: every bit of the result depends on every bit of z. */
static inline uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 64 random bits. */
static inline uint64_t random_u64(struct random *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    return random_mix(r->state);
}

/* Uniform in [0, bound); bound must not be 0. The bias is below 2^-32 for bounds below 2^32. */
static inline uint64_t random_below(struct random *r, uint64_t bound)
{
    return random_u64(r) % bound;
}

/* Uniform in [0, 1), 53 random bits. */
static inline double random_unit(struct random *r)
{
    return (double)(random_u64(r) >> 11) * 0x1p-53;
}

/* A seed for the index-th independent stream of a seed. */
static inline uint64_t random_split(uint64_t seed, uint64_t index)
{
    return random_mix(seed + 0x9e3779b97f4a7c15u * (index + 1));
}
