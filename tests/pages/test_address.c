/* Places on the axis of an address map, and the cells that cover it, against what was in use at
 * each step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/tree.h"
#include "pages/address_places.h"
#include "pages/history.h"
#include "tests/base/cmocka.h"

/* ---- places ---- */

static void add_to(void *context, uint64_t address, uint64_t bytes)
{
    (void)address;
    *(uint64_t *)context += bytes;
}

static void note_address(void *context, uint64_t address, uint64_t bytes)
{
    (void)bytes;
    *(uint64_t *)context = address;
}

static uint64_t address_of(const struct address_places *places, uint64_t memory, uint64_t offset)
{
    uint64_t address = UINT64_MAX;
    places_find(places, memory, offset, 1, note_address, &address);
    return address;
}

static void places_are_where_there_is_room(void **state)
{
    (void)state;
    static struct address_places p;
    uint64_t sum = 0;
    places_open(&p);
    assert_true(places_add(&p, 9, 0, 100, add_to, &sum));
    assert_true(places_add(&p, 5, 0, 50, add_to, &sum));
    assert_true(places_add(&p, 7, 0, 100, add_to, &sum));
    assert_int_equal(address_of(&p, 5, 0), 100);
    assert_int_equal(address_of(&p, 7, 99), 249);
    places_remove(&p, 5, 0, 50, add_to, &sum);
    assert_int_equal(sum, 300);
    assert_true(places_add(&p, 4, 0, 60, add_to, &sum)); /* too long for the gap */
    assert_true(places_add(&p, 3, 0, 40, add_to, &sum)); /* fits */
    assert_int_equal(address_of(&p, 4, 0), 250);
    assert_int_equal(address_of(&p, 3, 0), 100);
    /* Chunks of one range of virtual memory stay side by side where there is room. */
    assert_true(places_add(&p, 8, 1000, 20, add_to, &sum));
    assert_true(places_add(&p, 8, 1020, 20, add_to, &sum));
    assert_int_equal(address_of(&p, 8, 1039), address_of(&p, 8, 1000) + 39);
    /* A part in the middle is given back: the rest stays where it is. */
    const uint64_t first = address_of(&p, 8, 1000);
    sum = 0;
    places_remove(&p, 8, 1010, 20, add_to, &sum);
    assert_int_equal(sum, 20);
    assert_int_equal(address_of(&p, 8, 1005), first + 5);
    assert_int_equal(address_of(&p, 8, 1035), first + 35);
    assert_int_equal(address_of(&p, 8, 1015), UINT64_MAX);
    sum = 0;
    assert_int_equal(places_find(&p, 8, 1000, 40, add_to, &sum), 20);
    assert_int_equal(sum, 20);
}

/* Whatever is held and given back in whatever order, no two bytes have the same address. */
static void places_never_overlap(void **state)
{
    (void)state;
    enum { UNITS = 600, MEMORIES = 8, STEPS = 20000 };
    static struct address_places p;
    static bool held[MEMORIES][UNITS];
    struct random random = {11};
    uint64_t most = 0;
    places_open(&p);
    for (int step = 0; step < STEPS; step++) {
        const uint64_t m = random_below(&random, MEMORIES), first = random_below(&random, UNITS);
        uint64_t bytes = 1 + random_below(&random, UNITS - first), sum = 0, expected = 0;
        if (random_below(&random, 2)) { /* as much as is not held */
            for (uint64_t i = 0; i < bytes; i++)
                if (held[m][first + i])
                    bytes = i;
            if (bytes)
                assert_true(places_add(&p, m + 1, first, bytes, add_to, &sum));
            expected = bytes;
            memset(&held[m][first], true, bytes);
        } else {
            for (uint64_t i = 0; i < bytes; i++)
                expected += held[m][first + i];
            places_remove(&p, m + 1, first, bytes, add_to, &sum);
            memset(&held[m][first], false, bytes);
        }
        assert_int_equal(sum, expected);
        if (step % 500)
            continue;
        static bool taken[4 * MEMORIES * UNITS];
        memset(taken, false, sizeof taken);
        for (uint64_t k = 0; k < MEMORIES; k++)
            for (uint64_t i = 0; i < UNITS; i++) {
                const uint64_t at = address_of(&p, k + 1, i);
                assert_int_equal(at != UINT64_MAX, held[k][i]);
                if (!held[k][i])
                    continue;
                assert_true(at < sizeof taken && !taken[at]);
                taken[at] = true;
                most = at > most ? at : most;
            }
    }
    assert_true(most > UNITS);
    for (uint64_t k = 0; k < MEMORIES; k++) {
        uint64_t sum = 0;
        places_remove(&p, k + 1, 0, UNITS, add_to, &sum);
    }
    assert_int_equal(p.count, 0);
    assert_int_equal(p.tail.address, 0); /* all gaps are joined again */
    assert_null(p.gaps.root);
}

/* ---- cells ---- */

enum { BYTES = 4096, STEPS = 3000, BLOCKS = 12 };

struct span {
    uint64_t from, bytes;
};

static uint64_t overlap(const struct span *span, uint64_t from, uint64_t to)
{
    const uint64_t low = span->from > from ? span->from : from;
    const uint64_t end = span->from + span->bytes, high = end < to ? end : to;
    return low < high ? high - low : 0;
}

static const char *row_text(const json_t *cover, size_t row)
{
    return json_string_value(json_array_get(json_object_get(cover, "most"), row));
}

/* The share of a cell: the digits 0 to e stand for fourteenths, f for all. */
static double share_of(char digit)
{
    const double level = (double)(strchr("0123456789abcdef", digit) - "0123456789abcdef");
    return level == 15 ? 1 : level / 14;
}

/* Whatever the number of steps and rows, a cell says at least what was in use at any of its steps,
 * and some are free and some full. */
static void cells_cover_all_blocks(void **state)
{
    (void)state;
    struct address_cover *cover = malloc(sizeof *cover);
    static struct span spans[STEPS][BLOCKS];
    struct random random = {7};
    cover_open(cover);
    for (uint64_t step = 0; step < STEPS; step++) {
        const size_t i = random_below(&random, BLOCKS);
        cover_advance(cover, step);
        if (step > 0)
            memcpy(spans[step], spans[step - 1], sizeof *spans);
        struct span *span = &spans[step][i];
        if (span->bytes)
            cover_use(cover, span->from, span->bytes, false);
        /* Each block has its own part of the axis; some steps leave it empty. */
        const uint64_t room = BYTES / BLOCKS, from = random_below(&random, room);
        *span = (struct span){i * room + from, random_below(&random, room - from)};
        if (span->bytes)
            cover_use(cover, span->from, span->bytes, true);
    }
    json_t *json = cover_to_json(cover);
    const uint64_t stride = (uint64_t)tree_get_number(json, "stride");
    const uint64_t row_bytes = (uint64_t)tree_get_number(json, "row_bytes");
    const size_t rows = json_array_size(json_object_get(json, "most"));
    assert_int_equal(stride, 32);
    assert_int_equal(row_bytes, 64);
    size_t free_cells = 0, full_cells = 0;
    for (size_t r = 0; r < rows; r++)
        for (uint64_t step = 0; step < STEPS; step++) {
            double used = 0;
            for (size_t i = 0; i < BLOCKS; i++)
                used += (double)overlap(&spans[step][i], r * row_bytes, (r + 1) * row_bytes);
            /* Within its first step a column also has what the step before left. */
            const char most = row_text(json, r)[step / stride];
            assert_true(share_of(most) >= used / (double)row_bytes - 1e-9);
            free_cells += most == '0';
            full_cells += most == 'f';
        }
    assert_true(free_cells > 0 && full_cells > 0);
    json_decref(json);
    free(cover);
}

static void digits_round_up(void **state)
{
    (void)state;
    struct address_cover *cover = malloc(sizeof *cover);
    cover_open(cover);
    cover_use(cover, 63 * 1024, 1024, true); /* rows of 1 KiB */
    cover_use(cover, 0, 1, true);
    cover_use(cover, 1024, 1023, true);
    cover_use(cover, 2048, 1024, true);
    cover_advance(cover, 1);
    json_t *json = cover_to_json(cover);
    assert_int_equal(tree_get_number(json, "row_bytes"), 1024);
    static const char most[] = {'1', 'e', 'f', '0'};
    for (size_t r = 0; r < sizeof most; r++)
        assert_int_equal(row_text(json, r)[1], most[r]);
    json_decref(json);
    free(cover);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_where_there_is_room),
        cmocka_unit_test(places_never_overlap),
        cmocka_unit_test(cells_cover_all_blocks),
        cmocka_unit_test(digits_round_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
