/* Devices: what they say of themselves, memory, time and selection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device/device_subjects.h"

/* ---- what a device says of itself ---- */

static void check_info(struct subject *s)
{
    const struct device_info *info = s->device->info;
    assert_string_equal(info->api, s->ops->name);
    assert_true(strlen(info->name) > 0);
    assert_true(info->memory_bytes >= info->max_alloc_bytes && info->max_alloc_bytes > 0);
    assert_true(info->alignment_bytes >= 16);
    assert_int_equal(info->alignment_bytes & (info->alignment_bytes - 1), 0);
    assert_true(info->compute_units > 0);
    assert_true(s->ops->free_bytes(s->device) <= info->memory_bytes);
    assert_non_null(s->ops->summary);
    assert_true(s->ops->copy && s->ops->fill && s->ops->read && s->ops->write && s->ops->sync);
    assert_true(s->ops->mark && s->ops->elapsed_ns && s->ops->launch && s->ops->unbuild);
}

static void info_is_complete(void **state)
{
    (void)state;
    on_each_device(check_info);
}

/* ---- memory ---- */

/* Bytes that differ from place to place and from seed to seed. */
static void scribble(uint8_t *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251 + seed);
}

static void same_bytes(const uint8_t *got, const uint8_t *expected, size_t count, const char *where)
{
    for (size_t i = 0; i < count; i++)
        if (got[i] != expected[i])
            fail_msg("%s: byte %zu is %u, expected %u", where, i, got[i], expected[i]);
}

/* Does the same to device memories and to host arrays, and compares. Sizes on both sides of what
 * the host device moves with several threads, and not of whole pages. */
static void move_bytes(struct subject *s, size_t size)
{
    static const struct {
        uint64_t to, from, less; /* copies size - less bytes from `from` to `to` */
    } copies[] = {{0, 0, 0}, {0, 16, 16}, {100, 3, 200}, {8, 0, 8}, {4, 4, 5}};
    uint8_t *expected = malloc(size), *other = malloc(size), *got = malloc(size);
    assert_true(expected && other && got);
    uint64_t x = allocate(s, size), y = allocate(s, size);
    scribble(other, size, 1);
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        scribble(expected, size, 2);
        ok(s, s->ops->write(s->device, x, 0, other, size, &s->error));
        ok(s, s->ops->write(s->device, y, 0, expected, size, &s->error));
        uint64_t bytes = size - copies[i].less;
        memcpy(expected + copies[i].to, other + copies[i].from, bytes);
        ok(s, s->ops->copy(s->device, y, copies[i].to, x, copies[i].from, bytes, &s->error));
        memset(expected + 5, 0xa5, size - 9);
        ok(s, s->ops->fill(s->device, y, 5, 0xa5, size - 9, &s->error));
        memcpy(expected + 9, "part", 4);
        ok(s, s->ops->write(s->device, y, 9, "part", 4, &s->error));
        memset(got, 0, size);
        ok(s, s->ops->read(s->device, got + 3, y, 3, size - 3, &s->error));
        same_bytes(got + 3, expected + 3, size - 3, s->device->info->id);
    }
    ok(s, s->ops->free(s->device, x, size, &s->error));
    ok(s, s->ops->free(s->device, y, size, &s->error));
    free(expected), free(other), free(got);
}

static void check_memory(struct subject *s)
{
    move_bytes(s, 1000);
    move_bytes(s, (1 << 20) + 4711);
}

static void bytes_go_where_they_should(void **state)
{
    (void)state;
    on_each_device(check_memory);
}

/* The parts of a copy that move_bytes then fills over are seen here: no fill follows. */
static void check_copy(struct subject *s)
{
    enum { SIZE = 3 << 20 };
    uint8_t *bytes = malloc(SIZE), *got = malloc(SIZE);
    assert_true(bytes && got);
    scribble(bytes, SIZE, 3);
    uint64_t x = allocate(s, SIZE), y = allocate(s, SIZE);
    ok(s, s->ops->write(s->device, x, 0, bytes, SIZE, &s->error));
    ok(s, s->ops->fill(s->device, y, 0, 9, SIZE, &s->error));
    ok(s, s->ops->copy(s->device, y, 64, x, 4096, SIZE - 5000, &s->error));
    ok(s, s->ops->read(s->device, got, y, 0, SIZE, &s->error));
    memmove(bytes + 64, bytes + 4096, SIZE - 5000);
    memset(bytes, 9, 64);
    memset(bytes + SIZE - 5000 + 64, 9, 5000 - 64);
    same_bytes(got, bytes, SIZE, s->device->info->id);
    ok(s, s->ops->free(s->device, x, SIZE, &s->error));
    ok(s, s->ops->free(s->device, y, SIZE, &s->error));
    free(bytes), free(got);
}

static void copies_keep_to_their_range(void **state)
{
    (void)state;
    on_each_device(check_copy);
}

static void check_nothing(struct subject *s)
{
    uint64_t x = allocate(s, 8);
    uint8_t byte = 1;
    ok(s, s->ops->write(s->device, x, 0, "12345678", 8, &s->error));
    ok(s, s->ops->write(s->device, x, 8, &byte, 0, &s->error));
    ok(s, s->ops->fill(s->device, x, 8, 0, 0, &s->error));
    ok(s, s->ops->copy(s->device, x, 8, x, 0, 0, &s->error));
    ok(s, s->ops->read(s->device, &byte, x, 8, 0, &s->error));
    assert_int_equal(byte, 1);
    if (s->ops->touch)
        ok(s, s->ops->touch(s->device, x, 8, &s->error));
    ok(s, s->ops->free(s->device, x, 8, &s->error));
}

static void zero_bytes_do_nothing(void **state)
{
    (void)state;
    on_each_device(check_nothing);
}

static void check_too_large(struct subject *s)
{
    uint64_t memory = 0;
    int code = s->ops->alloc(s->device, (uint64_t)1 << 50, &memory, &s->error);
    if (code != ERR_OOM)
        fail_msg("%s: %d: %s", s->device->info->id, code, s->error.text);
    assert_non_null(strstr(s->error.text, "1024 TiB"));
    ok(s, s->ops->sync(s->device, &s->error));
    ok(s, s->ops->free(s->device, allocate(s, 4096), 4096, &s->error)); /* it still works */
}

static void too_large_is_out_of_memory(void **state)
{
    (void)state;
    on_each_device(check_too_large);
}

/* The operating system would promise more, and kill the process that uses it. */
static void the_host_promises_no_more_than_it_has(void **state)
{
    (void)state;
    struct subject s = {0};
    ok(&s, device_open("host", &s.device, &s.error));
    s.ops = s.device->ops;
    uint64_t all = s.device->info->memory_bytes, memory[2] = {0};
    if (s.ops->alloc(s.device, all - 4096, &memory[0], &s.error) == 0) {
        assert_int_equal(s.ops->alloc(s.device, 8192, &memory[1], &s.error), ERR_OOM);
        assert_non_null(strstr(s.error.text, "8.00 KiB"));
        ok(&s, s.ops->free(s.device, memory[0], all - 4096, &s.error));
    }
    ok(&s, s.ops->free(s.device, allocate(&s, 8192), 8192, &s.error));
    s.ops->close(s.device);
}

/* ---- time ---- */

static void check_time(struct subject *s)
{
    const uint64_t size = 8 << 20;
    uint64_t x = allocate(s, size), y = allocate(s, size), nothing = 1, ns = 0;
    ok(s, s->ops->fill(s->device, x, 0, 1, size, &s->error));
    ok(s, s->ops->fill(s->device, y, 0, 1, size, &s->error));
    for (int copies = 0; copies <= 1; copies++) {
        ok(s, s->ops->mark(s->device, MARK_START, &s->error));
        for (int i = 0; i < 10 * copies; i++)
            ok(s, s->ops->copy(s->device, y, 0, x, 0, size, &s->error));
        ok(s, s->ops->mark(s->device, MARK_END, &s->error));
        ok(s, s->ops->sync(s->device, &s->error));
        ok(s, s->ops->elapsed_ns(s->device, copies ? &ns : &nothing, &s->error));
    }
    /* 160 MB moved: more than 10 µs at 16 TB/s, less than a minute on anything. */
    if (ns < 10000 || ns > 60000000000)
        fail_msg("%s: ten copies took %llu ns", s->device->info->id, (unsigned long long)ns);
    assert_true(nothing < ns);
    ok(s, s->ops->free(s->device, x, size, &s->error));
    ok(s, s->ops->free(s->device, y, size, &s->error));
}

static void marks_measure_device_time(void **state)
{
    (void)state;
    on_each_device(check_time);
}

/* More commands than stand behind one gate of a device that is held back, reads in between, and one
 * more than there is room for. */
static void check_profile(struct subject *s)
{
    enum { ENTRIES = 450, LONG = 7 };
    const uint64_t size = 8 << 20;
    uint64_t x = allocate(s, size), y = allocate(s, size), elapsed = 0, sum = 0, few = 0;
    static uint64_t ns[ENTRIES];
    unsigned count = 0;
    bool marked;
    char byte;
    ok(s, s->ops->fill(s->device, x, 0, 1, size, &s->error));
    ok(s, s->ops->fill(s->device, y, 0, 1, size, &s->error));
    ok(s, s->ops->sync(s->device, &s->error));
    ok(s, s->ops->profile->begin(s->device, ENTRIES, &s->error));
    ok(s, s->ops->mark(s->device, MARK_START, &s->error));
    for (unsigned i = 0; i <= ENTRIES; i++) {
        ok(s, s->ops->profile->start(s->device, &s->error));
        ok(s, s->ops->copy(s->device, y, 0, x, 0, i == LONG ? size : 64, &s->error));
        ok(s, s->ops->profile->stop(s->device, &s->error));
        if (i % 100 == 99)
            ok(s, s->ops->read(s->device, &byte, y, 0, 1, &s->error));
    }
    ok(s, s->ops->mark(s->device, MARK_END, &s->error));
    ok(s, s->ops->profile->end(s->device, ns, &count, &marked, &s->error));
    ok(s, s->ops->elapsed_ns(s->device, &elapsed, &s->error));
    assert_int_equal(count, ENTRIES);
    for (unsigned i = 0; i < ENTRIES; i++) {
        sum += ns[i];
        few += ns[i] < ns[LONG];
    }
    if (few < ENTRIES * 9 / 10)
        fail_msg("%s: 8 MiB took %llu ns, longer than %llu of %d copies of 64 bytes",
                 s->device->info->id, (unsigned long long)ns[LONG], (unsigned long long)few,
                 ENTRIES);
    assert_true(ns[LONG] > 500);
    assert_true(sum <= elapsed);
    /* A profile that failed is ended like any other; then nothing is noted any more. */
    ok(s, s->ops->profile->begin(s->device, 1, &s->error));
    ok(s, s->ops->profile->start(s->device, &s->error));
    ok(s, s->ops->profile->end(s->device, NULL, &count, &marked, &s->error));
    ok(s, s->ops->copy(s->device, y, 0, x, 0, 64, &s->error));
    ok(s, s->ops->sync(s->device, &s->error));
    ok(s, s->ops->free(s->device, x, size, &s->error));
    ok(s, s->ops->free(s->device, y, size, &s->error));
}

static void profiles_tell_the_time_of_each_command(void **state)
{
    (void)state;
    on_each_device(check_profile);
}

static void the_copy_rate_is_plausible(void **state)
{
    (void)state;
    struct subject s = {0};
    ok(&s, device_open("host", &s.device, &s.error));
    double rate = 0;
    ok(&s, device_copy_rate(s.device, &rate, &s.error));
    assert_true(rate > 1e7 && rate < 1e14);
    s.device->ops->close(s.device);
}

/* ---- selection ---- */

struct matches {
    size_t count;
    char ids[8][96];
};

static void keep_match(void *context, const struct device_info *info, const char *why_not)
{
    struct matches *m = context;
    assert_non_null(info);
    assert_null(why_not);
    if (m->count < 8)
        snprintf(m->ids[m->count], sizeof m->ids[0], "%s", info->id);
    m->count++;
}

static void the_host_can_always_be_selected(void **state)
{
    (void)state;
    const char *const selectors[] = {"host", "h*"};
    for (size_t i = 0; i < 2; i++) {
        struct matches m = {0};
        assert_int_equal(device_select(selectors[i], keep_match, &m, NULL), 0);
        assert_int_equal(m.count, 1);
        assert_string_equal(m.ids[0], "host");
    }
    struct matches all = {0}, best = {0};
    assert_int_equal(device_select("all", keep_match, &all, NULL), 0);
    assert_string_equal(all.ids[0], "host");
    assert_int_equal(device_select("best", keep_match, &best, NULL), 0);
    assert_int_equal(best.count, 1);
    assert_true(all.count == 1 || strcmp(best.ids[0], "host") != 0);
}

static void keep_info(void *context, const struct device_info *info, const char *why_not)
{
    (void)why_not;
    *(struct device_info *)context = *info;
}

static void opencl_is_selected_by_number_and_name(void **state)
{
    (void)state;
    struct device_info first;
    struct error error;
    if (device_select("opencl:0", keep_info, &first, &error))
        skip();
    char by_name[256], by_platform[256], *upper = by_platform;
    snprintf(by_name, sizeof by_name, "opencl:%.8s", first.name);
    snprintf(by_platform, sizeof by_platform, "opencl:%.8s", first.platform);
    for (upper += strlen("opencl:"); *upper; upper++)
        if (*upper >= 'a' && *upper <= 'z')
            *upper -= 'a' - 'A';
    const char *const selectors[] = {"opencl", "opencl:0", by_name, by_platform, "opencl:*"};
    for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++) {
        struct matches m = {0};
        if (device_select(selectors[i], keep_match, &m, &error))
            fail_msg("%s: %s", selectors[i], error.text);
        assert_string_equal(m.ids[0], "opencl:0");
    }
}

static void an_unknown_selector_says_what_there_is(void **state)
{
    (void)state;
    static const struct {
        const char *selector, *says;
    } cases[] = {
        {"opncl", "did you mean 'opencl'?"}, {"hots", "did you mean 'host'?"},
        {"bset", "did you mean 'best'?"},    {"opencl:99", "'opencl:99'"},
        {"opencl:ZX81", "'opencl:ZX81'"},    {"opencl:", "'opencl:'"},
        {"", "no device matches ''"},        {"quantum", "no device matches 'quantum'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct matches m = {0};
        struct error error = {0};
        assert_int_equal(device_select(cases[i].selector, keep_match, &m, &error), ERR_NOT_FOUND);
        assert_int_equal(m.count, 0);
        if (!strstr(error.text, cases[i].says) || !strstr(error.text, "\n  host "))
            fail_msg("'%s' gives: %s", cases[i].selector, error.text);
    }
    struct device *device = NULL;
    assert_int_equal(device_open("tape:0", &device, NULL), ERR_NOT_FOUND);
    assert_true(device_open("opencl:99", &device, NULL) < 0);
    assert_true(device_open("cuda:99", &device, NULL) < 0);
}

static void note_reason(void *context, const struct device_info *info, const char *why_not)
{
    assert_null(info);
    *(const char **)context = why_not;
}

static void an_api_that_is_not_built_in_says_so(void **state)
{
    (void)state;
    const struct device_ops absent = {.name = "absent", .missing = "build it with its headers"};
    const char *reason = NULL;
    device_enumerate(&absent, note_reason, &reason);
    assert_string_equal(reason, absent.missing);
}

int main(void)
{
    print_missing_devices();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info_is_complete),
        cmocka_unit_test(bytes_go_where_they_should),
        cmocka_unit_test(copies_keep_to_their_range),
        cmocka_unit_test(zero_bytes_do_nothing),
        cmocka_unit_test(too_large_is_out_of_memory),
        cmocka_unit_test(the_host_promises_no_more_than_it_has),
        cmocka_unit_test(marks_measure_device_time),
        cmocka_unit_test(profiles_tell_the_time_of_each_command),
        cmocka_unit_test(the_copy_rate_is_plausible),
        cmocka_unit_test(the_host_can_always_be_selected),
        cmocka_unit_test(opencl_is_selected_by_number_and_name),
        cmocka_unit_test(an_unknown_selector_says_what_there_is),
        cmocka_unit_test(an_api_that_is_not_built_in_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
