#include "used_heap.h"

#include <stdio.h>
#include <stdlib.h>

#include "alloc/registry.h"
#include "alloc/source_vm.h"
#include "base/clock.h"

/* ---- the driver ---- */

static int counter_alloc(void *context, uint64_t bytes, uint64_t *memory, struct error *error)
{
    (void)bytes, (void)error;
    *memory = ++*(uint64_t *)context;
    return 0;
}

static int counter_free(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    (void)context, (void)memory, (void)bytes, (void)error;
    return 0;
}

static int counter_sync(void *context, struct error *error)
{
    (void)context, (void)error;
    return 0;
}

static int vm_info(void *context, struct driver_vm_info *info, struct error *error)
{
    (void)context, (void)error;
    *info =
        (struct driver_vm_info){.granularity_bytes = 2 << 20, .memory_bytes = UINT64_C(64) << 30};
    return 0;
}

static int vm_reserve(void *context, uint64_t bytes, uint64_t *range, struct error *error)
{
    return counter_alloc(context, bytes, range, error);
}

static int vm_map(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *error)
{
    (void)context, (void)range, (void)offset, (void)chunk, (void)bytes, (void)error;
    return 0;
}

static int vm_part(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                   struct error *error)
{
    (void)context, (void)range, (void)offset, (void)bytes, (void)error;
    return 0;
}

static const struct source_ops counter_ops = {
    .alloc = counter_alloc, .free = counter_free, .sync = counter_sync};
static const struct driver_vm_ops counter_vm = {.info = vm_info,
                                                .reserve = vm_reserve,
                                                .unreserve = counter_free,
                                                .create = counter_alloc,
                                                .release = counter_free,
                                                .map = vm_map,
                                                .access = vm_part,
                                                .unmap = vm_part};

/* ---- the heap ---- */

static void give_up(const struct error *error)
{
    fprintf(stderr, "used_heap: %s\n", error->text);
    exit(1);
}

static void get(struct used_heap *h, struct used_block *b)
{
    struct alloc_request request = {.size = b->size, .alignment = 1, .tag = b->site};
    if (allocator_alloc(&h->allocator, &request, &b->block))
        give_up(&h->source.error);
}

static void put(struct used_heap *h, const struct used_block *b)
{
    if (allocator_free(&h->allocator, &b->block, b->site, b->size))
        give_up(&h->source.error);
}

static uint64_t random_size(struct random *random)
{
    uint64_t least = UINT64_C(256) << random_below(random, 8);
    return least + random_below(random, least);
}

static void open_allocator(struct used_heap *h, const char *spec)
{
    const struct allocator_ops *ops;
    struct option_values options;
    struct error error = {0};
    h->source = (struct source){.ops = &counter_ops,
                                .vm = &counter_vm,
                                .context = &h->memory_count,
                                .alignment = 256,
                                .can_split = true};
    if (allocator_parse(spec, &ops, &options, &error) ||
        allocator_open(&h->allocator, ops, &options, &h->source, &error))
        give_up(&error);
}

/* The block that the next step frees. A program has its block at hand, so the processor fetches it
 * before. */
static void choose_next(struct used_heap *h)
{
    h->next = &h->live[random_below(&h->random, h->live_count)];
    __builtin_prefetch(h->next, 1);
}

bool used_heap_open(struct used_heap *h, const char *spec, enum heap_use use, size_t live_count,
                    uint64_t deadline_ns)
{
    const size_t count = use == HEAP_MIXED ? live_count + live_count / 2 : live_count;
    *h = (struct used_heap){.use = use, .site_count = count};
    open_allocator(h, spec);
    h->live = arena_alloc(&h->arena, count * sizeof *h->live);
    h->sites = arena_alloc(&h->arena, count);
    while (h->live_count < count && clock_ns() < deadline_ns) {
        struct used_block *b = &h->live[h->live_count];
        b->size = random_size(&h->random);
        b->site = &h->sites[h->live_count++];
        get(h, b);
    }
    if (h->live_count < count)
        return false;
    while (h->live_count > live_count && clock_ns() < deadline_ns) {
        size_t i = random_below(&h->random, h->live_count);
        put(h, &h->live[i]);
        h->live[i] = h->live[--h->live_count];
    }
    choose_next(h);
    return h->live_count == live_count;
}

void used_heap_step(struct used_heap *h)
{
    struct used_block *b = h->next;
    choose_next(h);
    put(h, b);
    if (h->use == HEAP_MIXED) {
        b->size = random_size(&h->random);
        b->site = &h->sites[random_below(&h->random, h->site_count)];
    }
    get(h, b);
}

void used_heap_close(struct used_heap *h)
{
    allocator_close(&h->allocator); /* with live blocks: freeing each could take hours */
    arena_free(&h->arena);
}
