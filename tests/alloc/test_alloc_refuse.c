/* A driver that fails its k-th call, for every k: nothing leaks, every failure is reported, and
 * what could be served after a release is served. */
#include <string.h>

#include "alloc/registry.h"
#include "base/random.h"
#include "tests/alloc/alloc_variants.h"
#include "tests/alloc/fake_source.h"
#include "tests/base/cmocka.h"

enum { LIVE_MOST = 16, TAG_COUNT = 6, STEP_COUNT = 90 };

/* How the driver fails. */
static const struct failure {
    const char *what;
    int code;
    bool onwards;
    enum {
        FAIL_ALLOC,
        FAIL_TOUCH,
        FAIL_FREE,
        FAIL_ALLOC_AND_FREES,
        FAIL_MAP,
        FAIL_UNMAP,
        FAIL_SYNC,
    } call;
} failures[] = {
    {"alloc is refused once", ERR_OOM, false, FAIL_ALLOC},
    {"alloc is refused from then on", ERR_OOM, true, FAIL_ALLOC},
    {"alloc breaks", ERR_DEVICE, false, FAIL_ALLOC},
    {"memory cannot be made resident", ERR_OOM, false, FAIL_TOUCH},
    {"alloc is refused once, every free breaks", ERR_OOM, false, FAIL_ALLOC_AND_FREES},
    {"free breaks", ERR_DEVICE, false, FAIL_FREE},
    {"free breaks from then on", ERR_DEVICE, true, FAIL_FREE},
    {"addresses or a mapping are refused", ERR_OOM, false, FAIL_MAP},
    {"... from then on", ERR_OOM, true, FAIL_MAP},
    {"mapping breaks", ERR_DEVICE, false, FAIL_MAP},
    {"unmapping breaks", ERR_DEVICE, false, FAIL_UNMAP},
    {"waiting breaks", ERR_DEVICE, false, FAIL_SYNC},
};

struct run {
    const struct alloc_variant *variant;
    const struct failure *failure;
    uint64_t k;
    unsigned step;
    struct fake_source fake;
    struct allocator allocator;
    struct random random;
    struct {
        struct block block;
        const char *tag;
        uint64_t requested;
    } live[LIVE_MOST];
    size_t live_count;
};

#define REQUIRE(run, condition)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s, %s, k=%llu, step %u: %s", (run)->variant->spec, (run)->failure->what,    \
                     (unsigned long long)(run)->k, (run)->step, #condition);                       \
    } while (0)

static void arm(struct run *r)
{
    const struct fake_refusal refusal = {
        .at = r->k, .onwards = r->failure->onwards, .code = r->failure->code};
    switch (r->failure->call) {
    case FAIL_ALLOC_AND_FREES:
        r->fake.free_refusal = (struct fake_refusal){.at = 1, .onwards = true, .code = ERR_DEVICE};
        /* fallthrough */
    case FAIL_ALLOC:
        r->fake.alloc_refusal = refusal;
        break;
    case FAIL_TOUCH:
        r->fake.touch_refusal = refusal;
        break;
    case FAIL_FREE:
        r->fake.free_refusal = refusal;
        break;
    case FAIL_MAP:
        r->fake.map_refusal = refusal;
        break;
    case FAIL_UNMAP:
        r->fake.unmap_refusal = refusal;
        break;
    case FAIL_SYNC:
        r->fake.sync_refusal = refusal;
        break;
    }
}

struct before {
    uint64_t injected_count, failed_frees;
};

static struct before before(const struct run *r)
{
    return (struct before){r->fake.injected_count, r->fake.failed_frees};
}

/* A call of the allocator may fail only with the code of a failure that happened inside it. A
 * driver that is merely out of memory may also be worked around; anything else has to be reported.
 */
static void require_reported(const struct run *r, int code, struct before before)
{
    bool injected = r->fake.injected_count > before.injected_count;
    bool free_failed = r->fake.failed_frees > before.failed_frees;
    if (code) {
        REQUIRE(r, injected && code == (free_failed ? ERR_DEVICE : r->failure->code));
        REQUIRE(r, r->fake.source.error.code == code && r->fake.source.error.text[0]);
    } else {
        REQUIRE(r, !free_failed && (!injected || r->failure->code == ERR_OOM));
    }
}

static char last_call(const struct run *r)
{
    const char *space = strrchr(r->fake.log.data, ' ');
    return space ? space[1] : r->fake.log.data[0];
}

static void step_alloc(struct run *r)
{
    static const char tags[TAG_COUNT];
    uint64_t site = random_below(&r->random, TAG_COUNT);
    struct alloc_request request = {.size = 200 * (site + 1) + random_below(&r->random, 400),
                                    .alignment = 64,
                                    .tag = &tags[site]};
    if (random_below(&r->random, 8) == 0)
        request.size += 20000; /* more than the smallest region of the variants */
    struct block block;
    struct before start = before(r);
    int code = allocator_alloc(&r->allocator, &request, &block);
    require_reported(r, code, start);
    if (code) {
        /* It gave up after a refusal, not after a release, and with nothing left to release. */
        if (r->failure->call == FAIL_ALLOC && !(r->variant->flags & VARIANT_UNDOES))
            REQUIRE(r, last_call(r) == '?');
        if (code == ERR_OOM && (r->variant->flags & VARIANT_RELEASES)) {
            uint64_t reserved_bytes = r->fake.live_bytes;
            allocator_trim(&r->allocator);
            REQUIRE(r, r->fake.live_bytes == reserved_bytes);
        }
        return;
    }
    r->live[r->live_count].block = block;
    r->live[r->live_count].tag = request.tag;
    r->live[r->live_count++].requested = request.size;
}

static void step_free(struct run *r, size_t i)
{
    if (r->variant->flags & VARIANT_STACK)
        i = r->live_count - 1;
    struct block block = r->live[i].block;
    const char *tag = r->live[i].tag;
    uint64_t requested = r->live[i].requested;
    struct before start = before(r);
    r->live[i] = r->live[--r->live_count];
    require_reported(r, allocator_free(&r->allocator, &block, tag, requested), start);
}

static void step_trim(struct run *r)
{
    struct before start = before(r);
    require_reported(r, allocator_trim(&r->allocator), start);
}

/* Returns whether the driver ever came to its k-th call. */
static bool run_until_failure(const struct alloc_variant *variant, const struct failure *failure,
                              uint64_t k)
{
    struct run r = {.variant = variant, .failure = failure, .k = k, .random = {5}};
    fake_source_open(&r.fake, 64, true);
    arm(&r);
    fake_source_allocator(&r.fake, variant->spec, &r.allocator);
    for (r.step = 0; r.step < STEP_COUNT; r.step++) {
        uint64_t choice = random_below(&r.random, 16);
        if (choice == 0)
            step_trim(&r);
        else if (r.live_count == 0 || (choice < 9 && r.live_count < LIVE_MOST))
            step_alloc(&r);
        else
            step_free(&r, random_below(&r.random, r.live_count));
        REQUIRE(&r, allocator_check(&r.allocator) == 0);
    }
    while (r.live_count > 0)
        step_free(&r, 0);
    REQUIRE(&r, allocator_check(&r.allocator) == 0);
    REQUIRE(&r, r.allocator.counts.granted_bytes == 0 && r.allocator.counts.requested_bytes == 0);
    allocator_close(&r.allocator);
    REQUIRE(&r, r.fake.live_count == 0);
    REQUIRE(&r, r.fake.misuse_count == 0);
    REQUIRE(&r, r.fake.source.counts.reserved_bytes == 0);
    uint64_t other_failures = failure->call == FAIL_ALLOC_AND_FREES ? r.fake.failed_frees : 0;
    bool failed = r.fake.injected_count > other_failures;
    fake_source_close(&r.fake);
    return failed;
}

static void test_every_call_fails_once(void **state)
{
    (void)state;
    for (size_t v = 0; v < ALLOC_VARIANT_COUNT; v++)
        for (size_t f = 0; f < sizeof failures / sizeof *failures; f++) {
            uint64_t k = 1;
            while (run_until_failure(&alloc_variants[v], &failures[f], k))
                k++;
            /* Every strategy asks for memory and gives it back, so some k must have been met. */
            if (failures[f].call < FAIL_MAP && failures[f].call != FAIL_TOUCH)
                assert_true(k > 1);
            if (failures[f].call != FAIL_TOUCH && alloc_variants[v].flags & VARIANT_UNDOES)
                assert_true(k > 1);
            if ((failures[f].call == FAIL_MAP || failures[f].call == FAIL_UNMAP) &&
                alloc_variants[v].flags & VARIANT_SUB_BUFFERS)
                assert_true(k > 1);
        }
}

/* A driver with room for one block: what is held must go before another size is refused. */
static void test_served_after_release(void **state)
{
    (void)state;
    for (size_t v = 0; v < ALLOC_VARIANT_COUNT; v++) {
        if (strncmp(alloc_variants[v].spec, "bufalloc", 8) == 0)
            continue; /* keeps its region, and serves both from it */
        if (strncmp(alloc_variants[v].spec, "caching", 7) == 0)
            continue; /* its segments are larger than the driver has */
        if (alloc_variants[v].flags & VARIANT_COARSE)
            continue; /* more than this driver has */
        struct fake_source fake;
        fake_source_open(&fake, 64, true);
        fake.capacity_bytes = 10000;
        struct allocator allocator;
        fake_source_allocator(&fake, alloc_variants[v].spec, &allocator);
        const struct alloc_request first = {.size = 6000, .alignment = 64, .tag = "first"};
        const struct alloc_request second = {.size = 6800, .alignment = 64, .tag = "second"};
        struct block block;
        assert_int_equal(allocator_alloc(&allocator, &first, &block), 0);
        assert_int_equal(allocator_free(&allocator, &block, first.tag, first.size), 0);
        int code = allocator_alloc(&allocator, &second, &block);
        bool holds_and_fails = (strncmp(alloc_variants[v].spec, "tagged", 6) == 0 &&
                                !(alloc_variants[v].flags & VARIANT_RELEASES)) ||
                               strcmp(alloc_variants[v].spec, "rmm") == 0;
        if (code != (holds_and_fails ? ERR_OOM : 0))
            fail_msg("%s: alloc returned %d", alloc_variants[v].spec, code);
        if (code == 0)
            assert_int_equal(allocator_free(&allocator, &block, second.tag, second.size), 0);
        allocator_close(&allocator);
        assert_int_equal(fake.live_count, 0);
        fake_source_close(&fake);
    }
}

/* ---- requests that no device can serve ---- */

/* Around the sizes at which rounding up, doubling or adding overflows 64 or 63 bits; the last ones
 * are below ALLOCATOR_MOST_BYTES, so that the strategy itself has to refuse them. */
static const uint64_t impossible_bytes[] = {
    UINT64_MAX,
    UINT64_MAX - 1,
    UINT64_MAX - 3,
    UINT64_MAX - 511,
    UINT64_MAX - (2 << 20) + 1,
    UINT64_MAX - (2 << 20),
    (UINT64_C(1) << 63) + 1,
    UINT64_C(1) << 63,
    (UINT64_C(1) << 63) - 1,
    ALLOCATOR_MOST_BYTES + 1,
    ALLOCATOR_MOST_BYTES,
    ALLOCATOR_MOST_BYTES - 1,
    (UINT64_C(1) << 44) + 1,
    UINT64_C(1) << 34,
};

/* Fails the test unless the allocator serves 1000 bytes and is sound. */
static void require_serves(struct allocator *allocator, const char *spec)
{
    const struct alloc_request request = {.size = 1000, .alignment = 64, .tag = "possible"};
    struct block block;
    if (allocator_alloc(allocator, &request, &block) != 0 || block.size < 1000 ||
        allocator_free(allocator, &block, request.tag, request.size) != 0 ||
        allocator_check(allocator) != 0)
        fail_msg("%s does not serve after a request that was refused", spec);
}

static void require_refused(struct allocator *allocator, const char *spec,
                            const struct alloc_request *request, int expected)
{
    struct block block;
    const struct error *error = &allocator->source->error;
    allocator->source->error = (struct error){0};
    const uint64_t hit_count = allocator->counts.hit_count;
    const int code = allocator_alloc(allocator, request, &block);
    if (code != expected || error->code != expected || !error->text[0])
        fail_msg("%s: %llu bytes aligned to %llu: code %d, %s", spec,
                 (unsigned long long)request->size, (unsigned long long)request->alignment, code,
                 error->text);
    if (allocator->counts.hit_count != hit_count || allocator_check(allocator) != 0)
        fail_msg("%s: %llu bytes: a hit, or broken", spec, (unsigned long long)request->size);
}

static void refuse_impossible(const char *spec)
{
    struct fake_source fake;
    struct allocator allocator;
    struct block live;
    const struct alloc_request possible = {.size = 3000, .alignment = 64, .tag = "live"};
    const struct alloc_request none = {.size = 0, .alignment = 64, .tag = "none"};
    fake_source_open(&fake, 64, true);
    fake.capacity_bytes = UINT64_C(1) << 30;
    fake_source_allocator(&fake, spec, &allocator);
    assert_int_equal(allocator_alloc(&allocator, &possible, &live), 0);
    for (size_t i = 0; i < sizeof impossible_bytes / sizeof *impossible_bytes; i++) {
        for (uint64_t alignment = 1; alignment <= 64; alignment *= 2) {
            const struct alloc_request request = {
                .size = impossible_bytes[i], .alignment = alignment, .tag = "impossible"};
            require_refused(&allocator, spec, &request, ERR_OOM);
        }
        require_serves(&allocator, spec);
    }
    for (uint64_t alignment = 128; alignment; alignment *= 2) {
        const struct alloc_request request = {
            .size = 1000, .alignment = alignment, .tag = "impossible"};
        require_refused(&allocator, spec, &request, ERR_UNSUPPORTED);
    }
    const struct alloc_request odd = {.size = 1000, .alignment = 48, .tag = "impossible"};
    require_refused(&allocator, spec, &odd, ERR_UNSUPPORTED);
    require_serves(&allocator, spec);
    assert_int_equal(allocator_free(&allocator, &live, possible.tag, possible.size), 0);
    assert_int_equal(allocator_alloc(&allocator, &none, &live), 0);
    assert_int_equal(live.memory + live.size, 0);
    assert_int_equal(allocator_free(&allocator, &live, none.tag, 0), 0);
    allocator_close(&allocator);
    assert_int_equal(fake.live_count + fake.misuse_count, 0);
    fake_source_close(&fake);
}

/* All strategies of the registry, the variants, and options that make strategies ask for much more
 * than the driver has. */
static void impossible_requests_are_refused(void **state)
{
    (void)state;
    static const char *const greedy[] = {
        "tlsf:parent=1TiB",
        "tlsf:parent=1TiB:dedicated=never",
        "tlsf:parent=1TiB:strategy=min_memory:empty=1048576",
        "bufalloc:region=1TiB:strategy=tight:split=yes",
        "caching:large_segment=1TiB:divisions=16",
        "caching:divisions=2:max_split=4611686018427387904",
        "vmm:small=4611686018427387904:small_chunk=512MiB",
        "vmm:small=0:large_chunk=512MiB",
    };
    size_t count;
    const struct allocator_ops *const *list = allocator_list(&count);
    for (size_t i = 0; i < count; i++)
        if (!list[i]->serves_plan)
            refuse_impossible(list[i]->name);
    for (size_t i = 0; i < ALLOC_VARIANT_COUNT; i++)
        refuse_impossible(alloc_variants[i].spec);
    for (size_t i = 0; i < sizeof greedy / sizeof *greedy; i++)
        refuse_impossible(greedy[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_requests_are_refused),
        cmocka_unit_test(test_every_call_fails_once),
        cmocka_unit_test(test_served_after_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
