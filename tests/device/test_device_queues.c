/* Devices: more than one queue, and memory that the host can address. */
#include <stdlib.h>
#include <string.h>

#include "tests/device/device_subjects.h"

enum { SIZE = 1 << 20 };

static void all_bytes_are(struct subject *s, uint64_t memory, uint8_t byte)
{
    uint8_t *got = malloc(SIZE);
    assert_non_null(got);
    ok(s, s->ops->read(s->device, got, memory, 0, SIZE, &s->error));
    for (size_t i = 0; i < SIZE; i++)
        if (got[i] != byte)
            fail_msg("%s: byte %zu is %u, expected %u", s->device->info->id, i, got[i], byte);
    free(got);
}

/* Each queue fills a memory of its own; after a wait for a queue the host sees the result. */
static void check_queues(struct subject *s)
{
    enum { QUEUES = 4 };
    uint64_t memory[QUEUES];
    if (!s->ops->queues)
        return;
    for (unsigned q = 0; q < QUEUES; q++)
        memory[q] = allocate(s, SIZE);
    for (unsigned q = QUEUES; q-- > 0;) {
        ok(s, s->ops->queues->use(s->device, q, &s->error));
        ok(s, s->ops->fill(s->device, memory[q], 0, 0xee, SIZE, &s->error));
        ok(s, s->ops->fill(s->device, memory[q], 0, (uint8_t)(10 + q), SIZE, &s->error));
    }
    for (unsigned q = 0; q < QUEUES; q++) {
        ok(s, s->ops->queues->sync(s->device, q, &s->error));
        all_bytes_are(s, memory[q], (uint8_t)(10 + q)); /* read through queue 0 */
    }
    for (unsigned q = 0; q < QUEUES; q++) {
        ok(s, s->ops->queues->use(s->device, q, &s->error));
        ok(s, s->ops->fill(s->device, memory[q], 0, (uint8_t)(20 + q), SIZE, &s->error));
    }
    ok(s, s->ops->sync(s->device, &s->error)); /* of all queues */
    ok(s, s->ops->queues->use(s->device, 0, &s->error));
    for (unsigned q = 0; q < QUEUES; q++) {
        all_bytes_are(s, memory[q], (uint8_t)(20 + q));
        ok(s, s->ops->free(s->device, memory[q], SIZE, &s->error));
    }
    assert_int_equal(s->ops->queues->use(s->device, DEVICE_QUEUES_MAX, &s->error), ERR_INTERNAL);
    assert_int_equal(s->ops->queues->sync(s->device, DEVICE_QUEUES_MAX, &s->error), ERR_INTERNAL);
    ok(s, s->ops->queues->sync(s->device, DEVICE_QUEUES_MAX - 1, &s->error)); /* never used */
}

static void queues_are_separate(void **state)
{
    (void)state;
    on_each_device(check_queues);
}

static void bytes_come_and_go(struct subject *s, uint64_t memory, uint64_t other)
{
    uint8_t wrote[300], got[300];
    for (size_t i = 0; i < sizeof wrote; i++)
        wrote[i] = (uint8_t)(i * 7);
    ok(s, s->ops->fill(s->device, memory, 0, 7, SIZE, &s->error));
    ok(s, s->ops->copy(s->device, other, 0, memory, 0, SIZE, &s->error));
    all_bytes_are(s, other, 7);
    ok(s, s->ops->write(s->device, memory, 1001, wrote, sizeof wrote, &s->error));
    ok(s, s->ops->copy(s->device, other, 5, memory, 1001, sizeof wrote, &s->error));
    ok(s, s->ops->read(s->device, got, other, 5, sizeof got, &s->error));
    assert_memory_equal(got, wrote, sizeof got);
    ok(s, s->ops->read(s->device, got, other, 4, 1, &s->error)); /* its neighbours stand */
    ok(s, s->ops->read(s->device, got + 1, other, 5 + sizeof wrote, 1, &s->error));
    assert_true(got[0] == 7 && got[1] == 7);
}

/* Memory of every kind is used by all commands, alone and together with the device's own. */
static void use_host_memory(struct subject *s, enum driver_memory kind)
{
    uint64_t memory = 0, other = 0, own;
    void *host = NULL;
    int code = s->ops->host_memory->alloc(s->device, kind, SIZE, &memory, NULL, &s->error);
    if (code == ERR_UNSUPPORTED) {
        assert_true(strlen(s->error.text) > 0);
        return;
    }
    ok(s, code);
    ok(s, s->ops->host_memory->alloc(s->device, kind, SIZE, &other, &host, &s->error));
    assert_true(memory != 0 && other != 0 && host != NULL);
    own = allocate(s, SIZE);
    bytes_come_and_go(s, memory, other);
    bytes_come_and_go(s, own, other);
    bytes_come_and_go(s, memory, own);
    if (kind != MEMORY_COARSE_SVM) {
        ok(s, s->ops->fill(s->device, other, 0, 3, SIZE, &s->error));
        ok(s, s->ops->sync(s->device, &s->error));
        assert_int_equal(((uint8_t *)host)[SIZE - 1], 3);
        memset(host, 8, SIZE);
        all_bytes_are(s, other, 8);
    }
    if (s->ops->touch)
        ok(s, s->ops->touch(s->device, memory, SIZE, &s->error));
    ok(s, s->ops->fill(s->device, other, 0, 9, SIZE, &s->error)); /* freed while in use */
    ok(s, s->ops->host_memory->free(s->device, kind, memory, SIZE, &s->error));
    ok(s, s->ops->host_memory->free(s->device, kind, other, SIZE, &s->error));
    ok(s, s->ops->free(s->device, own, SIZE, &s->error));
    ok(s, s->ops->sync(s->device, &s->error));
}

static void check_host_memory(struct subject *s)
{
    if (!s->ops->host_memory)
        return;
    for (unsigned queue = 0; queue < 2; queue++) { /* with one queue, and where there are two */
        ok(s, s->ops->queues->use(s->device, queue, &s->error));
        for (int kind = MEMORY_PINNED; kind <= MEMORY_MANAGED; kind++)
            use_host_memory(s, (enum driver_memory)kind);
    }
}

static void host_memory_is_memory(void **state)
{
    (void)state;
    on_each_device(check_host_memory);
}

/* What the host has written into pinned memory is what is copied, each time anew, and what is
 * copied into it is there once the device has been waited for. */
static void check_pinned_copies(struct subject *s)
{
    uint64_t pinned, own = 0;
    void *host;
    uint8_t got;
    if (!s->ops->host_memory)
        return;
    own = allocate(s, SIZE);
    ok(s, s->ops->host_memory->alloc(s->device, MEMORY_PINNED, SIZE, &pinned, &host, &s->error));
    for (uint8_t round = 1; round < 20; round++) {
        uint8_t *words = host;
        memset(words, round, SIZE);
        ok(s, s->ops->copy(s->device, own, 0, pinned, 0, SIZE, &s->error));
        ok(s, s->ops->read(s->device, &got, own, SIZE - 1, 1, &s->error));
        assert_int_equal(got, round);
        ok(s, s->ops->fill(s->device, own, 0, (uint8_t)(100 + round), SIZE, &s->error));
        ok(s, s->ops->copy(s->device, pinned, 1, own, 0, SIZE - 1, &s->error));
        ok(s, s->ops->sync(s->device, &s->error));
        assert_true(words[0] == round && words[1] == 100 + round && words[SIZE - 1] == 100 + round);
    }
    ok(s, s->ops->host_memory->free(s->device, MEMORY_PINNED, pinned, SIZE, &s->error));
    ok(s, s->ops->free(s->device, own, SIZE, &s->error));
}

static void pinned_memory_is_copied_as_it_is(void **state)
{
    (void)state;
    on_each_device(check_pinned_copies);
}

/* What commands of the current queue have written into pinned memory is what the host loads, each
 * time anew: at any place, in a part of it too, while other queues work elsewhere. */
static void check_loads(struct subject *s)
{
    uint64_t pinned, own, part = 0;
    const uint64_t offset = s->device->info->alignment_bytes;
    uint8_t got[3];
    if (!s->ops->load)
        return;
    own = allocate(s, SIZE);
    if (s->ops->host_memory)
        ok(s, s->ops->host_memory->alloc(s->device, MEMORY_PINNED, SIZE, &pinned, NULL, &s->error));
    else
        pinned = allocate(s, SIZE); /* it has no other memory than the host's */
    for (unsigned queue = 0; queue < (s->ops->queues ? 2 : 1); queue++) {
        if (s->ops->queues)
            ok(s, s->ops->queues->use(s->device, queue, &s->error));
        for (uint8_t round = 1; round < 20; round++) {
            ok(s, s->ops->fill(s->device, own, 0, round, SIZE, &s->error));
            ok(s, s->ops->fill(s->device, pinned, 0, (uint8_t)(100 + round), SIZE, &s->error));
            ok(s, s->ops->copy(s->device, pinned, 1001, own, 0, 1, &s->error));
            ok(s, s->ops->load(s->device, got, pinned, 1000, sizeof got, &s->error));
            assert_true(got[0] == 100 + round && got[1] == round && got[2] == 100 + round);
            ok(s, s->ops->load(s->device, got, pinned, SIZE - 1, 1, &s->error));
            assert_int_equal(got[0], 100 + round);
        }
        ok(s, s->ops->load(s->device, got, pinned, 0, 0, &s->error));
    }
    if (s->ops->sub_buffers) {
        ok(s, s->ops->sub_buffers->create(s->device, pinned, offset, 100, &part, &s->error));
        ok(s, s->ops->fill(s->device, part, 7, 5, 1, &s->error));
        ok(s, s->ops->load(s->device, got, part, 7, 1, &s->error));
        assert_int_equal(got[0], 5);
        ok(s, s->ops->sub_buffers->release(s->device, part, 100, &s->error));
    }
    ok(s, s->ops->sync(s->device, &s->error));
    if (s->ops->queues)
        ok(s, s->ops->queues->use(s->device, 0, &s->error));
    if (s->ops->host_memory)
        ok(s, s->ops->host_memory->free(s->device, MEMORY_PINNED, pinned, SIZE, &s->error));
    else
        ok(s, s->ops->free(s->device, pinned, SIZE, &s->error));
    ok(s, s->ops->free(s->device, own, SIZE, &s->error));
}

static void pinned_memory_is_loaded(void **state)
{
    (void)state;
    on_each_device(check_loads);
}

/* Commands on a part are commands on the memory behind it; the part may go while they run, and a
 * part that comes later may have its handle. */
static void check_sub_buffers(struct subject *s)
{
    if (!s->ops->sub_buffers)
        return;
    const uint64_t offset = 3 * s->device->info->alignment_bytes, bytes = 1001;
    uint64_t memory = allocate(s, SIZE), other = allocate(s, SIZE), part = 0;
    uint8_t got[3];
    ok(s, s->ops->fill(s->device, memory, 0, 1, SIZE, &s->error));
    for (uint8_t round = 2; round < 20; round++) {
        ok(s, s->ops->sub_buffers->create(s->device, memory, offset, bytes, &part, &s->error));
        ok(s, s->ops->fill(s->device, part, 0, round, bytes, &s->error));
        ok(s, s->ops->copy(s->device, other, 0, part, bytes - 1, 1, &s->error));
        ok(s, s->ops->sub_buffers->release(s->device, part, bytes, &s->error));
        ok(s, s->ops->read(s->device, got, memory, offset + bytes - 2, 3, &s->error));
        assert_true(got[0] == round && got[1] == round && got[2] == 1);
        ok(s, s->ops->read(s->device, got, other, 0, 1, &s->error));
        assert_int_equal(got[0], round);
    }
    assert_true(s->ops->sub_buffers->create(s->device, memory, 1, bytes, &part, &s->error) < 0);
    assert_non_null(strstr(s->error.text, "MISALIGNED"));
    ok(s, s->ops->free(s->device, memory, SIZE, &s->error));
    ok(s, s->ops->free(s->device, other, SIZE, &s->error));
}

static void sub_buffers_are_parts(void **state)
{
    (void)state;
    on_each_device(check_sub_buffers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_are_separate),
        cmocka_unit_test(host_memory_is_memory),
        cmocka_unit_test(pinned_memory_is_copied_as_it_is),
        cmocka_unit_test(pinned_memory_is_loaded),
        cmocka_unit_test(sub_buffers_are_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
