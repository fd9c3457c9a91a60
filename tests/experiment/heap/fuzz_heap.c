/* Random commands to the device heap's kernels on the host, judged after each: fuzz_heap [--count
 * N]
 * [--seed S] [--policy NAME]. N commands a policy and padding, in runs of a few thousand that go
 * through all kinds of sizes, orders and arenas. What fails is printed with the seed of its run and
 * the number of its command, which is all that it takes to see it again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/heap/heap.h"
#include "tests/experiment/heap/heap_oracle.h"
#include "tests/experiment/heap/heap_stream.h"

enum { RUN_COMMANDS = 4000 };

struct setting {
    struct heap_profile profile;
    uint32_t words, slots;
};

static struct setting random_setting(uint64_t seed)
{
    struct random r = {seed};
    struct setting s = {.profile = {.sizes = random_below(&r, SIZES_KINDS),
                                    .order = random_below(&r, ORDER_KINDS),
                                    .steps = random_below(&r, 4) == 0,
                                    .scale_words = 4 + (uint32_t)random_below(&r, 100),
                                    .strides = random_below(&r, 2),
                                    .mistakes = random_below(&r, 2)},
                        .slots = 1 + (uint32_t)random_below(&r, 128)};
    /* From one that is always full to one that never is. */
    s.words = 10 + (uint32_t)random_below(&r, 2 * (uint64_t)s.profile.scale_words * s.slots + 100);
    return s;
}

static int run(uint64_t seed, enum device_heap_policy policy, enum device_heap_padding padding)
{
    struct setting setting = random_setting(seed);
    struct heap_oracle o;
    struct heap_stream stream;
    struct heap_command c;
    bool good = true;
    oracle_open(&o, policy, padding, setting.words, setting.slots + 1, setting.slots);
    heap_stream_open(&stream, &setting.profile, setting.slots, seed);
    for (unsigned step = 0; step < RUN_COMMANDS && good; step++) {
        c = heap_stream_next(&stream);
        good = c.is_free ? oracle_free(&o, c.slot) : oracle_alloc(&o, c.slot, c.count, c.stride);
        good = good && oracle_walk(&o);
    }
    while (good && heap_stream_drain(&stream, &c))
        good = oracle_free(&o, c.slot) && oracle_walk(&o);
    if (good && oracle_largest_free(&o) != setting.words - 9)
        good = false, strcpy(o.message, "I10: not all of the arena is one free block again");
    if (!good)
        printf("seed %llu, policy %s, padding %d: %s\n", (unsigned long long)seed,
               device_heap_policy_names[policy], padding, o.message);
    heap_stream_close(&stream);
    oracle_close(&o);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    unsigned long long count = 1000000, seed = 1;
    const char *policy_name = NULL;
    for (int i = 1; i < argc; i += 2) {
        char *end = "?";
        if (i + 1 < argc && strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], &end, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], &end, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--policy") == 0)
            policy_name = argv[i + 1], end = "";
        if (*end) {
            fprintf(stderr, "usage: fuzz_heap [--count N] [--seed S] [--policy NAME]\n");
            return 2;
        }
    }
    int failed = 0, ran = 0;
    for (unsigned policy = 0; policy < DEVICE_HEAP_POLICIES; policy++) {
        if (policy_name && strcmp(policy_name, device_heap_policy_names[policy]) != 0)
            continue;
        for (unsigned padding = DEVICE_HEAP_SEED; padding <= DEVICE_HEAP_TIGHT; padding++)
            for (unsigned long long done = 0; done < count / 2; done += RUN_COMMANDS)
                failed += run(seed + done / RUN_COMMANDS, policy, padding);
        ran++;
    }
    printf("fuzz_heap: %llu commands for each of %d policies from seed %llu, %d runs failed\n",
           count, ran, seed, failed);
    return failed || !ran;
}
