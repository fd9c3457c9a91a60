/* Pools and virtual memory of every device that has them. */
#include <stdlib.h>
#include <string.h>

#include "tests/device/device_subjects.h"

static void write_word(struct subject *s, uint64_t memory, uint64_t offset, uint32_t word)
{
    ok(s, s->ops->write(s->device, memory, offset, &word, sizeof word, &s->error));
}

static uint32_t read_word(struct subject *s, uint64_t memory, uint64_t offset)
{
    uint32_t word = 0;
    ok(s, s->ops->read(s->device, &word, memory, offset, sizeof word, &s->error));
    return word;
}

/* ---- virtual memory ---- */

/* A range of PLACES chunks, in which chunks are moved about. */
enum { PLACES = 4 };
struct vm {
    struct subject *s;
    uint64_t bytes, range; /* of a chunk */
};

static uint64_t create(const struct vm *v)
{
    uint64_t chunk = 0;
    ok(v->s, v->s->ops->vm->create(v->s->device, v->bytes, &chunk, &v->s->error));
    assert_true(chunk != 0);
    return chunk;
}

static void map(const struct vm *v, uint64_t chunk, unsigned place)
{
    uint64_t offset = place * v->bytes;
    ok(v->s, v->s->ops->vm->map(v->s->device, v->range, offset, chunk, v->bytes, &v->s->error));
    ok(v->s, v->s->ops->vm->access(v->s->device, v->range, offset, v->bytes, &v->s->error));
}

static void unmap(const struct vm *v, unsigned place)
{
    uint64_t offset = place * v->bytes;
    ok(v->s, v->s->ops->sync(v->s->device, &v->s->error));
    ok(v->s, v->s->ops->vm->unmap(v->s->device, v->range, offset, v->bytes, &v->s->error));
}

static void release(const struct vm *v, uint64_t chunk)
{
    ok(v->s, v->s->ops->vm->release(v->s->device, chunk, v->bytes, &v->s->error));
}

/* What is written through one place is read through another, because the chunk is the same. */
static void chunks_keep_their_contents(const struct vm *v)
{
    struct subject *s = v->s;
    uint64_t a = create(v), b = create(v);
    map(v, a, 0);
    map(v, b, 1);
    write_word(s, v->range, 64, 1);
    write_word(s, v->range, v->bytes + 64, 2);
    assert_int_equal(read_word(s, v->range, 64), 1);
    write_word(s, v->range, v->bytes - 4, 11);
    write_word(s, v->range, v->bytes, 22);
    /* Across the border of two chunks, and by an address inside the range as well. */
    ok(s, s->ops->fill(s->device, v->range, v->bytes - 2, 0xff, 4, &s->error));
    assert_int_equal(read_word(s, v->range, v->bytes - 4), 0xffff000b);
    assert_int_equal(read_word(s, v->range + v->bytes, 0), 0x0000ffff);
    unmap(v, 0);
    unmap(v, 1);
    map(v, b, 2);
    map(v, a, 3);
    assert_int_equal(read_word(s, v->range, 2 * v->bytes), 0x0000ffff);
    assert_int_equal(read_word(s, v->range, 4 * v->bytes - 4), 0xffff000b);
    assert_int_equal(read_word(s, v->range, 2 * v->bytes + 64), 2);
    assert_int_equal(read_word(s, v->range, 3 * v->bytes + 64), 1);
    unmap(v, 2);
    unmap(v, 3);
    release(v, a);
    release(v, b);
}

/* A place is used again with another chunk, again and again: nothing piles up. */
static void chunks_come_and_go(const struct vm *v)
{
    uint64_t before = v->s->ops->free_bytes(v->s->device);
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t chunk = create(v);
        map(v, chunk, i % PLACES);
        ok(v->s, v->s->ops->fill(v->s->device, v->range, i % PLACES * v->bytes, (uint8_t)i,
                                 v->bytes, &v->s->error));
        assert_int_equal(read_word(v->s, v->range, i % PLACES * v->bytes + v->bytes - 4),
                         i * 0x01010101u);
        unmap(v, i % PLACES);
        release(v, chunk);
    }
    uint64_t after = v->s->ops->free_bytes(v->s->device);
    if (v->s->device->info->kind == DEVICE_GPU) /* the host has other users */
        assert_true(after + v->bytes > before);
}

static void check_vm(struct subject *s)
{
    if (!s->ops->vm) {
        print_message("%s has no virtual memory\n", s->device->info->id);
        return;
    }
    struct driver_vm_info info = {0};
    ok(s, s->ops->vm->info(s->device, &info, &s->error));
    const uint64_t granularity = info.granularity_bytes;
    assert_int_equal(info.memory_bytes, s->device->info->memory_bytes);
    assert_true(granularity >= 4096 && (granularity & (granularity - 1)) == 0);
    struct vm v = {.s = s, .bytes = ((2 << 20) + granularity - 1) / granularity * granularity};
    ok(s, s->ops->vm->reserve(s->device, PLACES * v.bytes, &v.range, &s->error));
    assert_int_equal(v.range % granularity, 0);
    chunks_keep_their_contents(&v);
    chunks_come_and_go(&v);
    uint64_t chunk = 0;
    assert_int_equal(s->ops->vm->create(s->device, (uint64_t)1 << 50, &chunk, &s->error), ERR_OOM);
    assert_non_null(strstr(s->error.text, "1024 TiB"));
    ok(s, s->ops->vm->unreserve(s->device, v.range, PLACES * v.bytes, &s->error));
}

static void chunks_are_mapped_where_they_should(void **state)
{
    (void)state;
    on_each_device(check_vm);
}

/* ---- pools ---- */

static uint64_t reserved(struct subject *s, uint64_t pool, uint64_t *peak_bytes)
{
    uint64_t bytes = 0;
    ok(s, s->ops->pools->reserved(s->device, pool, &bytes, peak_bytes, &s->error));
    return bytes;
}

static uint64_t open_pool(struct subject *s, uint64_t threshold_bytes, uint64_t most_bytes)
{
    const struct driver_pool_options options = {.release_threshold_bytes = threshold_bytes,
                                                .follow_event_dependencies = true};
    uint64_t pool = 0;
    ok(s, s->ops->pools->open(s->device, &options, most_bytes, &pool, &s->error));
    return pool;
}

/* Checks whether the pool keeps freed memory when the host waits. */
static void check_threshold(struct subject *s, uint64_t threshold_bytes)
{
    const uint64_t bytes = 64 << 20;
    uint64_t pool = open_pool(s, threshold_bytes, 0), memory = 0, peak_bytes = 0;
    ok(s, s->ops->pools->alloc(s->device, pool, 0, bytes, &memory, &s->error));
    write_word(s, memory, bytes - 4, 7);
    assert_int_equal(read_word(s, memory, bytes - 4), 7);
    assert_true(reserved(s, pool, &peak_bytes) >= bytes);
    ok(s, s->ops->pools->free(s->device, pool, 0, memory, bytes, &s->error));
    ok(s, s->ops->sync(s->device, &s->error));
    uint64_t kept_bytes = reserved(s, pool, &peak_bytes);
    assert_true(peak_bytes >= bytes);
    assert_true(threshold_bytes ? kept_bytes >= bytes : kept_bytes == 0);
    ok(s, s->ops->pools->trim(s->device, pool, 0, &s->error));
    ok(s, s->ops->pools->reset_peak(s->device, pool, &s->error));
    assert_int_equal(reserved(s, pool, &peak_bytes), 0);
    assert_int_equal(peak_bytes, 0);
    ok(s, s->ops->pools->close(s->device, pool, &s->error));
}

/* The pool refuses beyond its limit, and works after it. */
static void check_limit(struct subject *s)
{
    const uint64_t most_bytes = 128 << 20;
    uint64_t pool = open_pool(s, UINT64_MAX, most_bytes), first = 0, second = 0;
    ok(s, s->ops->pools->alloc(s->device, pool, 0, most_bytes / 2, &first, &s->error));
    assert_int_equal(s->ops->pools->alloc(s->device, pool, 0, most_bytes, &second, &s->error),
                     ERR_OOM);
    ok(s, s->ops->pools->free(s->device, pool, 0, first, most_bytes / 2, &s->error));
    ok(s, s->ops->pools->close(s->device, pool, &s->error));
}

static void check_pool(struct subject *s)
{
    if (!s->ops->pools) {
        print_message("%s has no pool\n", s->device->info->id);
        return;
    }
    check_threshold(s, 0);
    check_threshold(s, UINT64_MAX);
    check_limit(s);
}

static void pools_keep_what_they_are_told_to(void **state)
{
    (void)state;
    on_each_device(check_pool);
}

int main(void)
{
    print_missing_devices();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_mapped_where_they_should),
        cmocka_unit_test(pools_keep_what_they_are_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
