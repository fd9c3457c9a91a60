#include "tests/merge/pack/pack_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"

struct event {
    int64_t time;
    int is_start;
    size_t buffer;
};

/* At one time, ends before starts. */
static int compare_events(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->is_start - b->is_start;
}

static size_t list_events(const struct pack_buffer *buffers, size_t count, struct event **events)
{
    size_t most = 1, used = 0;
    for (size_t i = 0; i < count; i++)
        most += buffers[i].intervals ? 2 * buffers[i].interval_count : 2;
    *events = must_alloc(most * sizeof **events);
    for (size_t i = 0; i < count; i++) {
        const struct pack_interval whole = {buffers[i].lower, buffers[i].upper};
        const struct pack_interval *life = buffers[i].intervals ? buffers[i].intervals : &whole;
        const size_t lives = buffers[i].intervals ? buffers[i].interval_count : 1;
        for (size_t k = 0; k < lives; k++) {
            if (life[k].lower >= life[k].upper)
                continue;
            (*events)[used++] = (struct event){life[k].lower, 1, i};
            (*events)[used++] = (struct event){life[k].upper, 0, i};
        }
    }
    qsort(*events, used, sizeof **events, compare_events);
    return used;
}

static size_t count_overlaps(const struct pack_buffer *buffers, size_t count, const int64_t *offset)
{
    struct event *events;
    const size_t event_count = list_events(buffers, count, &events);
    size_t *live = must_alloc((count + 1) * sizeof *live), live_count = 0, broken = 0;
    for (size_t e = 0; e < event_count; e++) {
        const size_t b = events[e].buffer;
        if (!events[e].is_start) {
            for (size_t i = 0; i < live_count; i++)
                if (live[i] == b) {
                    live[i] = live[--live_count];
                    break;
                }
            continue;
        }
        for (size_t i = 0; i < live_count; i++)
            broken += offset[b] < offset[live[i]] + buffers[live[i]].size &&
                      offset[live[i]] < offset[b] + buffers[b].size;
        live[live_count++] = b;
    }
    free(events);
    free(live);
    return broken;
}

static int is_ever_alive(const struct pack_buffer *buffer)
{
    int alive = !buffer->intervals && buffer->lower < buffer->upper;
    for (size_t i = 0; buffer->intervals && i < buffer->interval_count; i++)
        alive |= buffer->intervals[i].lower < buffer->intervals[i].upper;
    return alive;
}

size_t pack_check(const struct pack_buffer *buffers, size_t count, const int64_t *offset,
                  int64_t height)
{
    size_t broken = count_overlaps(buffers, count, offset);
    int64_t highest = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t end = is_ever_alive(&buffers[i]) ? offset[i] + buffers[i].size : 0;
        broken += offset[i] < 0 || (buffers[i].alignment && offset[i] % buffers[i].alignment) ||
                  end > height;
        highest = end > highest ? end : highest;
    }
    return broken + (highest != height);
}

void pack_guillotine(uint64_t seed, size_t count, int64_t duration, int64_t height,
                     struct pack_buffer *buffers)
{
    struct random random = {seed};
    buffers[0] = (struct pack_buffer){.upper = duration, .size = height};
    for (size_t made = 1; made < count;) {
        struct pack_buffer *piece = &buffers[random_below(&random, made)];
        const bool in_time = random_below(&random, 2);
        const int64_t length = in_time ? piece->upper - piece->lower : piece->size;
        if (length < 2)
            continue;
        const int64_t cut = 1 + (int64_t)random_below(&random, (uint64_t)length - 1);
        buffers[made] = *piece;
        if (in_time) {
            piece->upper = piece->lower + cut;
            buffers[made].lower = piece->upper;
        } else {
            buffers[made].size = piece->size - cut;
            piece->size = cut;
        }
        made++;
    }
    for (size_t i = count; i-- > 1;) {
        const size_t k = random_below(&random, i + 1);
        const struct pack_buffer other = buffers[k];
        buffers[k] = buffers[i];
        buffers[i] = other;
    }
}

int64_t pack_lower_bound(const struct pack_buffer *buffers, size_t count)
{
    /* Without alignment nothing is rounded, and the bound of the model is that of live bytes. */
    struct pack_buffer *plain = must_alloc((count + 1) * sizeof *plain);
    for (size_t i = 0; i < count; i++) {
        plain[i] = buffers[i];
        plain[i].alignment = 1;
    }
    struct pack_model model;
    pack_model_build(&model, plain, count);
    const int64_t bound = pack_load_bound(model.items, model.count, NULL);
    pack_model_free(&model);
    free(plain);
    return bound;
}

int64_t pack_greedy(const struct pack_buffer *buffers, size_t count, enum pack_order order,
                    enum pack_gap gap, int64_t *offset)
{
    struct pack_model model;
    pack_model_build(&model, buffers, count);
    unsigned *numbers = must_alloc((model.count + 1) * sizeof *numbers);
    int64_t *at = must_alloc((model.count + 1) * sizeof *at);
    int64_t height;
    if (order == PACK_ORDER_COUNT) {
        height = pack_sweep(model.items, model.count, 0, 1, at);
    } else {
        pack_order_fill(model.items, model.count, order, numbers);
        struct pack_run run = {.below = INT64_MAX, .deadline_ns = UINT64_MAX};
        struct pack_placer *placer = pack_placer_open(model.items, model.count);
        height = pack_placer_run(placer, numbers, model.count, gap, &run, at);
        pack_placer_close(placer);
    }
    memset(offset, 0, count * sizeof *offset);
    for (unsigned i = 0; i < model.count; i++)
        offset[model.items[i].source] = at[i];
    free(numbers);
    free(at);
    pack_model_free(&model);
    return height;
}

enum { STEP = 600, LAYERS = 24 }; /* a step's buffers, half of them in the forward pass */

void pack_training(uint64_t seed, size_t count, struct pack_buffer *buffers)
{
    struct random r = {seed};
    const size_t weights = count / 40;
    int64_t layer[LAYERS], batch = 1;
    for (size_t i = 0; i < LAYERS; i++) {
        const uint64_t units = 1 + random_below(&r, 48);
        layer[i] = (int64_t)units << random_below(&r, 6);
    }
    for (size_t i = 0; i < count; i++) {
        struct pack_buffer *b = &buffers[i];
        const int64_t now = (int64_t)i, at = (int64_t)((i - weights) % STEP),
                      mirror = STEP - 1 - at;
        const int64_t turn = at < STEP / 2 ? at : mirror;
        if (i < weights) {
            *b = (struct pack_buffer){.lower = now, .upper = (int64_t)count, .size = 512};
            b->size *= 1 + (int64_t)random_below(&r, 64);
            continue;
        }
        if (at == 0)
            batch = 20 + (int64_t)random_below(&r, 12);
        const bool kept = at < STEP / 2 && random_below(&r, 3) == 0;
        const int64_t life = kept ? mirror - at : 1 + (int64_t)random_below(&r, 6);
        *b = (struct pack_buffer){.lower = now, .upper = now + life};
        b->size = 512 * batch * layer[turn * LAYERS / (STEP / 2)] << random_below(&r, 3);
    }
}
