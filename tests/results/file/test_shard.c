/* The split of a list into shards. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "results/file/shard.h"
#include "tests/base/cmocka.h"

enum { ITEMS_MOST = 300, TRIES = 200 };

struct list {
    size_t count;
    struct shard_item items[ITEMS_MOST];
    char units[ITEMS_MOST][24];
};

/* Random items in random units; some cost nothing, some as much as all others. */
static void make_list(struct random *random, struct list *list)
{
    list->count = random_below(random, ITEMS_MOST + 1);
    const uint64_t units = 1 + random_below(random, ITEMS_MOST);
    for (size_t i = 0; i < list->count; i++) {
        struct shard_item *item = &list->items[i];
        char description[32];
        snprintf(description, sizeof description, "item %zu", i);
        shard_id(description, item->id);
        snprintf(list->units[i], sizeof list->units[i], "unit %llu",
                 (unsigned long long)random_below(random, units));
        item->unit = list->units[i];
        item->cost = random_u64(random) >> (64 - random_below(random, 30) - 1);
        if (random_below(random, 100) == 0)
            item->cost = UINT64_MAX / 2;
        if (random_below(random, 10) == 0)
            item->cost = 0;
    }
}

static void shuffle(struct random *random, struct list *list, size_t *place)
{
    for (size_t i = 0; i < list->count; i++)
        place[i] = i;
    for (size_t i = list->count; i > 1; i--) {
        const size_t j = random_below(random, i), swap = place[i - 1];
        place[i - 1] = place[j];
        place[j] = swap;
    }
    struct shard_item *copy = must_alloc(sizeof list->items);
    memcpy(copy, list->items, sizeof list->items);
    for (size_t i = 0; i < list->count; i++)
        list->items[i] = copy[place[i]];
    free(copy);
}

/* The shard of each item, by its first place in the list. Each has exactly one. */
static void shards_of(const struct list *list, unsigned of, const size_t *place, unsigned *shards)
{
    bool own[ITEMS_MOST];
    memset(shards, 0, ITEMS_MOST * sizeof *shards);
    for (unsigned number = 1; number <= of; number++) {
        shard_split((struct shard){number, of}, list->items, list->count, own);
        for (size_t i = 0; i < list->count; i++) {
            if (!own[i])
                continue;
            assert_int_equal(shards[place[i]], 0);
            shards[place[i]] = number;
        }
    }
    for (size_t i = 0; i < list->count; i++)
        assert_in_range(shards[place[i]], 1, of);
}

static void each_item_is_in_one_shard_in_any_order(void **state)
{
    (void)state;
    struct random random = {1};
    struct list *list = must_alloc(sizeof *list);
    size_t place[ITEMS_MOST];
    unsigned shards[ITEMS_MOST], again[ITEMS_MOST];
    for (int i = 0; i < TRIES; i++) {
        const unsigned of = 1 + (unsigned)random_below(&random, 40);
        make_list(&random, list);
        for (size_t k = 0; k < list->count; k++)
            place[k] = k;
        shards_of(list, of, place, shards);
        shuffle(&random, list, place);
        shards_of(list, of, place, again);
        assert_memory_equal(shards, again, sizeof shards);
    }
    free(list);
}

static void a_unit_stays_together(void **state)
{
    (void)state;
    struct random random = {2};
    struct list *list = must_alloc(sizeof *list);
    size_t place[ITEMS_MOST];
    unsigned shards[ITEMS_MOST];
    for (int i = 0; i < TRIES / 4; i++) {
        make_list(&random, list);
        for (size_t k = 0; k < list->count; k++)
            place[k] = k;
        shards_of(list, 7, place, shards);
        for (size_t a = 0; a < list->count; a++)
            for (size_t b = 0; b < a; b++)
                if (strcmp(list->items[a].unit, list->items[b].unit) == 0)
                    assert_int_equal(shards[a], shards[b]);
    }
    free(list);
}

/* A shard exceeds the mean by no more than its largest unit: the last that it got came when it had
 * least. */
static void shards_cost_the_same(void **state)
{
    (void)state;
    struct random random = {3};
    struct list *list = must_alloc(sizeof *list);
    bool own[ITEMS_MOST];
    for (unsigned of = 1; of < 50; of++) {
        uint64_t all = 0, largest = 0, fullest = 0;
        list->count = ITEMS_MOST;
        for (size_t i = 0; i < list->count; i++) {
            struct shard_item *item = &list->items[i];
            snprintf(list->units[i], sizeof list->units[i], "%zu", i);
            *item = (struct shard_item){.unit = list->units[i],
                                        .cost = 1 + random_below(&random, 1000)};
            all += item->cost;
            largest = item->cost > largest ? item->cost : largest;
        }
        for (unsigned number = 1; number <= of; number++) {
            uint64_t cost = 0;
            shard_split((struct shard){number, of}, list->items, list->count, own);
            for (size_t i = 0; i < list->count; i++)
                cost += own[i] ? list->items[i].cost : 0;
            fullest = cost > fullest ? cost : fullest;
        }
        assert_true(fullest <= all / of + largest);
    }
    free(list);
}

static void a_list_has_one_digest_in_any_order(void **state)
{
    (void)state;
    struct shard_item items[3] = {{.id = "000000000001"}, {.id = "0000000000ff"}, {.id = "1"}};
    const bool own[3] = {true, false, true};
    const struct shard shard = {1, 2};
    struct shard_item swapped[3] = {items[1], items[0], items[0]};
    struct result one = {0}, other = {0}, twice = {0};
    shard_set(&one, shard, items, 2, own);
    shard_set(&other, shard, swapped, 2, own);
    shard_set(&twice, shard, swapped, 3, own);
    assert_string_equal(one.run.shard->list, other.run.shard->list);
    assert_string_not_equal(one.run.shard->list, twice.run.shard->list);
    assert_int_equal(one.run.shard->own, 1);
    result_release(&one);
    result_release(&other);
    result_release(&twice);
}

static void a_shard_is_k_of_n(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",    "3",   "3/",    "/3",   "0/3",      "4/3", "-1/3",
                                        "1/0", "a/b", "1/2/3", " 1/2", "1/100001", "1 /2"};
    struct shard shard;
    struct error error;
    assert_int_equal(shard_parse("3/10", &shard, &error), 0);
    assert_int_equal(shard.number, 3);
    assert_int_equal(shard.of, 10);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(shard_parse(wrong[i], &shard, &error), ERR_USAGE);
        assert_non_null(strstr(error.text, "expected K/N"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_is_in_one_shard_in_any_order),
        cmocka_unit_test(a_unit_stays_together),
        cmocka_unit_test(shards_cost_the_same),
        cmocka_unit_test(a_list_has_one_digest_in_any_order),
        cmocka_unit_test(a_shard_is_k_of_n),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
