/* Levels of detail against the exact bytes: sums at each moment, the peak at each level, and each
 * block in one chunk. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/random.h"
#include "pages/levels.h"
#include "tests/base/cmocka.h"

enum { LIVE = 3000 };

struct shape {
    const char *name;
    uint32_t moments, first, last;
    unsigned mean_life; /* of most blocks; some live much longer */
    uint64_t seed;
};

/* One event a moment: a birth, or the death of a block. As many blocks as fit. */
static void make_blocks(const struct shape *shape, struct view_blocks *blocks, uint64_t *exact)
{
    struct random random = {shape->seed};
    unsigned *live = must_alloc(LIVE * sizeof *live), live_count = 0;
    uint64_t bytes = 0;
    *blocks = (struct view_blocks){0};
    exact[0] = 0;
    for (uint32_t m = 1; m <= shape->moments; m++) {
        const uint64_t chance = random_below(&random, 1000);
        const unsigned full = live_count * 1000 / (shape->mean_life + 1);
        if (live_count == 0 || (live_count < LIVE && chance > full)) {
            const uint64_t size = random_below(&random, 4) == 0 ? random_below(&random, 1 << 24)
                                                                : 512 * random_below(&random, 64);
            blocks->items =
                must_grow(blocks->items, blocks->count, &blocks->capacity, sizeof *blocks->items);
            blocks->items[blocks->count] = (struct view_block){size, m, shape->moments + 1, 0, 0};
            live[live_count++] = blocks->count++;
            bytes += size;
        } else {
            /* The newest go first, but for one in eight. */
            const unsigned i = random_below(&random, 8)
                                   ? live_count - 1
                                   : (unsigned)random_below(&random, live_count);
            struct view_block *dead = &blocks->items[live[i]];
            dead->died = m;
            bytes -= dead->bytes;
            live[i] = live[--live_count];
        }
        exact[m] = bytes;
    }
    free(live);
}

static bool in_window(const struct shape *shape, const struct view_block *b)
{
    return b->died > shape->first && b->born <= shape->last;
}

/* Each block that exists in the window is in one chunk, whose moments have all of its own. */
static void check_once(const struct shape *shape, const struct view_blocks *blocks,
                       const struct view_levels *levels)
{
    unsigned char *seen = must_alloc(blocks->count + 1);
    unsigned begin = 0, level = 0;
    for (unsigned c = 0; c < levels->chunk_count; c++) {
        const struct view_chunk *chunk = &levels->chunks[c];
        assert_true(chunk->level >= level && chunk->level < levels->level_count);
        assert_int_equal(chunk->begin, begin);
        assert_true(chunk->count > 0);
        level = chunk->level;
        begin += chunk->count;
        for (unsigned i = chunk->begin; i < begin; i++) {
            const struct view_block *b = &blocks->items[levels->order[i]];
            assert_false(seen[levels->order[i]]);
            seen[levels->order[i]] = true;
            assert_true(in_window(shape, b));
            assert_true((b->born < shape->first ? shape->first : b->born) >= chunk->first);
            assert_true((b->died > shape->last ? shape->last : b->died - 1) <= chunk->last);
        }
    }
    assert_int_equal(begin, levels->block_count);
    for (unsigned b = 0; b < blocks->count; b++)
        assert_int_equal(seen[b], in_window(shape, &blocks->items[b]));
    free(seen);
}

/* At a moment, the blocks of the chunks that overlap it have the exact bytes; with fewer levels
 * never more. */
static void check_sums(const struct shape *shape, const struct view_blocks *blocks,
                       const struct view_levels *levels, const uint64_t *exact)
{
    const uint32_t step = (shape->last - shape->first) / 97 + 1;
    for (uint32_t m = shape->first; m <= shape->last; m += step) {
        uint64_t sum = 0;
        for (unsigned c = 0; c < levels->chunk_count; c++) {
            const struct view_chunk *chunk = &levels->chunks[c];
            if (chunk->first > m || chunk->last < m)
                continue;
            for (unsigned i = chunk->begin; i < chunk->begin + chunk->count; i++) {
                const struct view_block *b = &blocks->items[levels->order[i]];
                sum += b->born <= m && m < b->died ? b->bytes : 0;
            }
            assert_true(sum <= exact[m]);
        }
        assert_true(sum == exact[m]);
    }
}

static double area_of(const struct shape *shape, const struct view_block *b)
{
    const uint32_t born = b->born < shape->first ? shape->first : b->born;
    const uint32_t died = b->died > shape->last ? shape->last + 1 : b->died;
    return (double)b->bytes * (double)(died - born);
}

/* No block below the root is larger than the root's LEVELS_TOP largest. */
static void check_root(const struct shape *shape, const struct view_blocks *blocks,
                       const struct view_levels *levels)
{
    unsigned roots = 0, larger;
    double largest_below = 0;
    for (unsigned c = 0; c < levels->chunk_count; c++)
        for (unsigned i = levels->chunks[c].begin;
             i < levels->chunks[c].begin + levels->chunks[c].count; i++) {
            const double area = area_of(shape, &blocks->items[levels->order[i]]);
            roots += levels->chunks[c].level == 0;
            if (levels->chunks[c].level > 0 && area > largest_below)
                largest_below = area;
        }
    larger = 0;
    for (unsigned c = 0; c < levels->chunk_count && levels->chunks[c].level == 0; c++)
        for (unsigned i = levels->chunks[c].begin;
             i < levels->chunks[c].begin + levels->chunks[c].count; i++)
            larger += area_of(shape, &blocks->items[levels->order[i]]) >= largest_below;
    assert_true(roots >= (levels->block_count < LEVELS_TOP ? levels->block_count : LEVELS_TOP));
    assert_true(larger >= (levels->block_count < LEVELS_TOP ? levels->block_count : LEVELS_TOP));
}

/* Each bucket has the most of its moments and one that has them; each level the peak. */
static void check_summary(const struct shape *shape, const uint64_t *exact)
{
    struct view_summary summary;
    uint64_t peak = 0;
    summary_open(&summary, shape->first, shape->last);
    for (uint32_t m = 0; m <= shape->moments; m++)
        summary_add(&summary, m, 10 * (uint64_t)m, exact[m]);
    summary_finish(&summary);
    for (uint32_t m = shape->first; m <= shape->last; m++)
        peak = exact[m] > peak ? exact[m] : peak;
    assert_true(summary.levels[summary.level_count - 1].count <= SUMMARY_TOP);
    for (unsigned l = 0; l < summary.level_count; l++) {
        const struct view_level *level = &summary.levels[l];
        uint64_t found = 0;
        for (uint32_t i = 0; i < level->count; i++) {
            const struct view_bucket *b = &level->buckets[i];
            const uint64_t from = shape->first + (uint64_t)i * level->stride;
            uint64_t to = from + level->stride - 1, most = 0;
            to = to > shape->last ? shape->last : to;
            for (uint64_t m = from; m <= to; m++)
                most = exact[m] > most ? exact[m] : most;
            assert_true(b->requested == most && exact[b->at] == most);
            assert_true(b->at >= from && b->at <= to && b->time_ns == 10 * from);
            found = most > found ? most : found;
        }
        assert_true(found == peak);
    }
    summary_free(&summary);
}

static void test_levels(void **state)
{
    static const struct shape shapes[] = {
        {"one event", 1, 0, 1, 10, 1},
        {"a leaf", 1500, 0, 1500, 100, 2},
        {"short lives", 300000, 0, 300000, 20, 3},
        {"long lives", 300000, 0, 300000, 3000, 4},
        {"a window", 300000, 100001, 170000, 3000, 5},
        {"buckets of several moments", 2500000, 0, 2500000, 300, 6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        uint64_t *exact = must_alloc((shapes[i].moments + 1) * sizeof *exact);
        struct view_blocks blocks;
        struct view_levels levels;
        make_blocks(&shapes[i], &blocks, exact);
        levels_make(&levels, &blocks, shapes[i].first, shapes[i].last);
        check_once(&shapes[i], &blocks, &levels);
        check_sums(&shapes[i], &blocks, &levels, exact);
        check_root(&shapes[i], &blocks, &levels);
        check_summary(&shapes[i], exact);
        levels_free(&levels);
        free(blocks.items);
        free(exact);
    }
}

/* Many pieces of memory can come and go at one moment, in one leaf: it has all that no node above
 * took. */
static void test_crowded_leaf(void **state)
{
    static const struct shape shapes[] = {{"the only leaf", 1000, 0, 1000, 0, 0},
                                          {"one of many", 40000, 0, 40000, 0, 0}};
    enum { CROWD = 30000 };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct view_blocks blocks = {.count = CROWD,
                                     .items = must_alloc(CROWD * sizeof *blocks.items)};
        struct view_levels levels;
        for (unsigned b = 0; b < CROWD; b++)
            blocks.items[b] = (struct view_block){512 * (b % 7 + 1), 700, 702, 0, 0};
        levels_make(&levels, &blocks, shapes[i].first, shapes[i].last);
        assert_int_equal(levels.block_count, CROWD);
        check_once(&shapes[i], &blocks, &levels);
        assert_true(levels.level_count * LEVELS_TOP < CROWD);
        levels_free(&levels);
        free(blocks.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels),
                                       cmocka_unit_test(test_crowded_leaf)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
