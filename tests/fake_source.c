#include "tests/fake_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"

static void write_down(struct fake_source *fake, char what, uint64_t bytes)
{
    text_add(&fake->log, "%s%c%llu", fake->log.length ? " " : "", what, (unsigned long long)bytes);
}

static int inject(struct fake_source *fake, const struct fake_refusal *refusal, uint64_t call,
                  struct error *error)
{
    if (refusal->at == 0 || call < refusal->at || (call > refusal->at && !refusal->onwards))
        return 0;
    fake->injected_count++;
    return error_set(error, refusal->code, "the fake driver fails call %llu, as it was told to",
                     (unsigned long long)call);
}

static int fake_alloc(void *context, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct fake_source *fake = context;
    int code = inject(fake, &fake->alloc_refusal, ++fake->alloc_calls, error);
    if (code == 0 && fake->capacity_bytes &&
        (bytes > fake->capacity_bytes || fake->live_bytes > fake->capacity_bytes - bytes))
        code = error_set(error, ERR_OOM, "the fake driver has no %llu bytes left",
                         (unsigned long long)bytes);
    if (code) {
        write_down(fake, '?', bytes);
        return code;
    }
    write_down(fake, '+', bytes);
    if (fake->live_count == fake->live_capacity) {
        fake->live_capacity = fake->live_capacity ? 2 * fake->live_capacity : 16;
        fake->live = must_realloc(fake->live, fake->live_capacity * sizeof *fake->live);
    }
    *memory = ++fake->next_handle;
    fake->live[fake->live_count++] = (struct fake_memory){.handle = *memory, .bytes = bytes};
    fake->live_bytes += bytes;
    return 0;
}

static int fake_touch(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct fake_source *fake = context;
    if (fake_source_bytes(fake, memory) != bytes)
        fake->misuse_count++;
    write_down(fake, '*', bytes);
    return inject(fake, &fake->touch_refusal, ++fake->touch_calls, error);
}

static int fake_free(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct fake_source *fake = context;
    write_down(fake, '-', bytes);
    size_t i = 0;
    while (i < fake->live_count && fake->live[i].handle != memory)
        i++;
    if (i == fake->live_count || fake->live[i].bytes != bytes) {
        fake->misuse_count++;
        return error_set(error, ERR_DEVICE, "the fake driver knows no memory %llu of %llu bytes",
                         (unsigned long long)memory, (unsigned long long)bytes);
    }
    fake->live[i] = fake->live[--fake->live_count];
    fake->live_bytes -= bytes;
    int code = inject(fake, &fake->free_refusal, ++fake->free_calls, error);
    fake->failed_frees += code != 0;
    return code;
}

static const struct source_ops fake_ops = {
    .alloc = fake_alloc, .touch = fake_touch, .free = fake_free};

void fake_source_open(struct fake_source *fake, uint64_t alignment, bool can_split)
{
    *fake = (struct fake_source){0};
    fake->source = (struct source){
        .ops = &fake_ops, .context = fake, .alignment = alignment, .can_split = can_split};
}

void fake_source_close(struct fake_source *fake)
{
    free(fake->live);
    text_free(&fake->log);
}

void fake_source_allocator(struct fake_source *fake, const char *spec, struct allocator *allocator)
{
    const struct allocator_ops *ops;
    struct option_values options;
    struct error error = {0};
    if (allocator_parse(spec, &ops, &options, &error) ||
        allocator_open(allocator, ops, &options, &fake->source, &error))
        fail_msg("%s: %s", spec, error.text);
}

uint64_t fake_source_bytes(const struct fake_source *fake, uint64_t handle)
{
    for (size_t i = 0; i < fake->live_count; i++)
        if (fake->live[i].handle == handle)
            return fake->live[i].bytes;
    return 0;
}
