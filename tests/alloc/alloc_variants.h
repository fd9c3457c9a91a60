/* Every strategy with every option that changes what it does, small enough for tests. */
#pragma once

enum {
    VARIANT_OVERLAPS = 1, /* hands the same bytes out twice, on purpose */
    VARIANT_RELEASES = 2, /* gives spare memory back before a request fails */
    VARIANT_UNDOES = 4,   /* makes several driver calls a request, and undoes them if one fails */
    VARIANT_COARSE = 8,   /* takes 2 MiB at a time */
    VARIANT_SUB_BUFFERS = 16, /* every block has a handle of its own */
    VARIANT_LIMITED = 32,     /* refuses requests for which the source has memory */
    VARIANT_STACK = 64,       /* only the last block may be freed */
};

struct alloc_variant {
    const char *spec;
    unsigned flags;
};

/* A plan of random requests with the sizes of test_alloc_trace and test_alloc_queues, on three
 * queues; the last 60 of each repeat. */
#define RANDOM_PLAN GAMUT_ROOT "/tests/alloc/random.plan"

static const struct alloc_variant alloc_variants[] = {
    {"null", VARIANT_OVERLAPS},
    {"raw", 0},
    {"raw:first_use=resident", 0},
    {"raw:kind=pinned", 0},
    {"raw:handle=sub_buffer", VARIANT_SUB_BUFFERS},
    {"pool", VARIANT_RELEASES},
    {"pool:handle=sub_buffer", VARIANT_RELEASES | VARIANT_SUB_BUFFERS},
    {"pool:leading_bits=0", VARIANT_RELEASES},
    {"pool:leading_bits=7:first_use=resident", VARIANT_RELEASES},
    {"tagged", 0},
    {"tagged:release=yes", VARIANT_RELEASES},
    {"tagged:steal=yes", 0},
    {"tagged:release=yes:steal=yes", VARIANT_RELEASES},
    {"tagged:policy=v1c", VARIANT_RELEASES},
    {"tagged:policy=v1c:steal=yes", VARIANT_RELEASES},
    {"tagged:policy=v2", VARIANT_RELEASES},
    {"tagged:policy=v2:steal=yes", VARIANT_RELEASES},
    {"tagged:policy=v3", VARIANT_RELEASES},
    {"tagged:policy=v4", VARIANT_RELEASES},
    {"bufalloc", VARIANT_RELEASES},
    {"bufalloc:region=64KiB", VARIANT_RELEASES},
    {"bufalloc:region=64KiB:strategy=tight", VARIANT_RELEASES},
    {"bufalloc:region=64KiB:split=yes", VARIANT_RELEASES},
    {"bufalloc:region=64KiB:strategy=tight:split=yes", VARIANT_RELEASES},
    {"bufalloc:region=64KiB:handle=sub_buffer", VARIANT_RELEASES | VARIANT_SUB_BUFFERS},
    {"bufalloc:region=64KiB:split=yes:chunks=8", VARIANT_RELEASES},
    {"bufalloc:region=16KiB:chunks=2", VARIANT_RELEASES},
    {"tlsf", VARIANT_RELEASES},
    {"tlsf:parent=64KiB:kind=managed", VARIANT_RELEASES},
    {"tlsf:parent=64KiB:kind=pinned:handle=sub_buffer", VARIANT_RELEASES | VARIANT_SUB_BUFFERS},
    {"tlsf:parent=64KiB", VARIANT_RELEASES},
    {"tlsf:parent=64KiB:strategy=min_time", VARIANT_RELEASES},
    {"tlsf:parent=64KiB:strategy=min_memory", VARIANT_RELEASES},
    {"tlsf:parent=32KiB:dedicated=never:empty=3", VARIANT_RELEASES},
    {"tlsf:parent=16KiB:empty=0", VARIANT_RELEASES},
    {"tlsf:parent=64KiB:follow=vma", 0},
    {"tlsf:parent=64KiB:follow=vma_linear", 0},
    {"tlsf:parent=1MiB:follow=vma_linear:upper=8KiB", VARIANT_COARSE | VARIANT_LIMITED},
    {"caching", VARIANT_RELEASES},
    {"caching:small_segment=8KiB:large_segment=32KiB", VARIANT_RELEASES},
    {"caching:small_segment=8KiB:large_segment=32KiB:handle=sub_buffer",
     VARIANT_RELEASES | VARIANT_SUB_BUFFERS},
    {"caching:small_segment=16KiB:large_segment=20KiB:divisions=4", VARIANT_RELEASES},
    {"caching:small_segment=8KiB:large_segment=20KiB:max_split=24KiB", VARIANT_RELEASES},
    {"caching:small_segment=8KiB:large_segment=32KiB:proposal=191302", VARIANT_RELEASES},
    {"caching:small_segment=8KiB:large_segment=32KiB:proposal=186232", VARIANT_RELEASES},
    {"bfc", VARIANT_RELEASES | VARIANT_COARSE},
    {"bfc:start=4KiB:waste=3KiB", VARIANT_RELEASES},
    {"bfc:start=4KiB:collect=no", 0},
    {"bfc:extend=exact", VARIANT_RELEASES},
    {"bfc:start=1MiB:lower=2KiB", VARIANT_COARSE | VARIANT_LIMITED},
    {"cupy", VARIANT_RELEASES},
    {"cupy:limit=16MiB", VARIANT_RELEASES},
    {"rmm", 0},
    {"rmm:initial=8KiB", 0},
    {"rmm:max=16MiB", VARIANT_COARSE},
    {"rmm:least_bin=1KiB:bins=4KiB:bin_blocks=2", VARIANT_COARSE},
    {"arena", VARIANT_COARSE},
    {"arena:size=16MiB:superblock=8KiB", VARIANT_COARSE},
    {"arena:size=768KiB:superblock=128KiB", VARIANT_COARSE | VARIANT_LIMITED},
    {"blocks:start=1MiB:most=2MiB", VARIANT_COARSE},
    {"blocks:start=3KiB:most=8KiB", 0},
    {"buddy", VARIANT_COARSE},
    {"buddy:heap=8KiB", 0},
    {"ggml", VARIANT_RELEASES},
    {"ggml:buffers=3", VARIANT_RELEASES},
    {"ggml:pool=virtual:range=16MiB", VARIANT_STACK},
    {"stream", VARIANT_RELEASES},
    {"stream:threshold=max", VARIANT_RELEASES},
    {"stream:threshold=20KiB:opportunistic=no", VARIANT_RELEASES},
    {"vmm", VARIANT_RELEASES | VARIANT_UNDOES | VARIANT_COARSE},
    {"vmm:small=4KiB:small_chunk=4KiB:large_chunk=8KiB", VARIANT_RELEASES | VARIANT_UNDOES},
    {"vmm:small=600:small_chunk=1KiB:large_chunk=2KiB", VARIANT_RELEASES | VARIANT_UNDOES},
    {"vmm:small=0:large_chunk=3KiB", VARIANT_RELEASES | VARIANT_UNDOES},
    {"vmm:limit=fraction", VARIANT_RELEASES | VARIANT_UNDOES | VARIANT_COARSE},
    {"vmm:small=4KiB:small_chunk=4KiB:large_chunk=8KiB:limit=fraction",
     VARIANT_RELEASES | VARIANT_UNDOES},
    {"planned:trace=" RANDOM_PLAN, VARIANT_RELEASES | VARIANT_UNDOES | VARIANT_COARSE},
    {"planned:trace=" RANDOM_PLAN ":handle=sub_buffer", VARIANT_RELEASES | VARIANT_SUB_BUFFERS},
};
enum { ALLOC_VARIANT_COUNT = sizeof alloc_variants / sizeof *alloc_variants };
