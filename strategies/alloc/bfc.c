/* bfc: best fit with coalescing, the allocator of TensorFlow and of JAX, and ONNX Runtime's arena.
 *
 *   1. Sizes are multiples of 256 bytes. A region is one memory of the source, cut into chunks.
 *   2. alloc takes the smallest free chunk that is large enough; of equals, the one at the lowest
 *      address. The bins of the original are such an order.
 *   3. The chunk is cut if it is at least twice as large as the request, or if `waste` bytes or
 *      more would be left over. Else it is handed out whole.
 *   4. If there is none, the source is asked for a region. extend=double: of the next size, which
 *      begins with `start`; it doubles until the request fits, or after the region if it fitted
 *      before. extend=exact: of the size of the request. `most` is ONNX Runtime's bound: from there
 *      on a region doubles for a larger request alone; a region that is refused doubles as well.
 *   5. If the source refuses, nine tenths of it are asked for, again and again, as long as that is
 *      enough for the request.
 *   6. Then, with collect=yes, all wholly free regions are given back, and rule 4 is tried again.
 *      Then the request fails.
 *   7. free joins the chunk with free neighbours of its region. Nothing is released otherwise.
 *   8. lower=n is XLA's order from two ends of one region, which has the bytes of the memory limit,
 *      or of `start`. Requests of n bytes and more are of the lower end, others of the upper one. A
 *      request takes the smallest free chunk of its end; of equals, the one that is farthest from
 *      the middle. If there is none, it is cut from the gap between the ends. Chunks of the gap and
 *      of the lower end are always cut, those of the upper end by rule 3 and from above. A chunk
 *      that is freed beside the gap becomes a part of it, together with free ones behind it.
 *
 * Why: few regions, so that large blocks can be made of what small ones leave behind, at the price
 * of chunks that are up to twice as large as asked for.
 *
 * JAX is bfc:collect=no, ONNX Runtime bfc:start=1MiB:most=1GiB:collect=no, and with extend=exact
 * its kSameAsRequested. Departures: the originals know a limit, and cut the last region to what is
 * left of it; here the source's refusals tell. Rule 6 there gives regions back in the order of
 * their addresses, here the smallest first. JAX takes its whole limit at once unless it is told
 * not to: that is not a policy to compare. ONNX Runtime's attempts end at 8 KiB. In XLA the program
 * says which requests are of the lower end: memory of collectives. No trace does.
 *
 * Queues: the originals know one stream or tell streams apart by time stamps; here each queue has
 * an instance of its own.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include "alloc/allocator.h"
#include "alloc/segments.h"

enum { LEAST_BYTES = 256 };

struct bfc {
    struct segments regions;
    uint64_t next_bytes; /* of the next region; 0: as large as the request */
    uint64_t most_bytes; /* to which regions double */
    uint64_t waste_bytes;
    uint64_t lower_bytes; /* 0: one end */
    bool collects;
    struct piece_index chunks;
};

/* A piece's `since`: the end that it belongs to. Where there is one end, that is the lower one. */
enum { LOWER, UPPER, GAP, END_SHIFT = 61 };

enum { OPTION_START, OPTION_EXTEND, OPTION_WASTE, OPTION_COLLECT, OPTION_MOST, OPTION_LOWER };
enum { EXTEND_DOUBLE, EXTEND_EXACT }; /* in the order of the choices */
static const struct option_spec bfc_options[] = {
    [OPTION_START] = {"start", OPTION_BYTES, "2MiB", NULL, 256, UINT64_C(1) << 40,
                      "bytes of the first region"},
    [OPTION_EXTEND] = {"extend", OPTION_CHOICE, "double", "double|exact", 0, 0,
                       "size of a region; double: twice the one before; exact: as requested"},
    [OPTION_WASTE] = {"waste", OPTION_BYTES, "128MiB", NULL, 1, UINT64_C(1) << 40,
                      "bytes left over from which on a chunk is always cut"},
    [OPTION_COLLECT] = {"collect", OPTION_CHOICE, "yes", "no|yes", 0, 0,
                        "give free regions back before a request fails"},
    [OPTION_MOST] = {"most", OPTION_BYTES, "0", NULL, 0, UINT64_C(1) << 50,
                     "bytes up to which a region doubles after one that fitted; 0: no bound"},
    [OPTION_LOWER] = {"lower", OPTION_BYTES, "0", NULL, 0, ALLOCATOR_MOST_BYTES,
                      "one region; requests from this size on are taken from its lower end, others "
                      "from its upper one; 0: regions with one end"},
    {0},
};

static int bfc_init(struct source *source, const struct option_values *options, void **state)
{
    TRY(segments_new(source, "bfc", sizeof(struct bfc), LEAST_BYTES, state));
    const uint64_t *value = options->value;
    struct bfc *b = *state;
    b->regions.pools = &b->chunks;
    b->regions.pool_count = 1;
    b->next_bytes = value[OPTION_EXTEND] == EXTEND_EXACT ? 0 : value[OPTION_START];
    b->waste_bytes = value[OPTION_WASTE];
    b->most_bytes = value[OPTION_MOST] ? value[OPTION_MOST] : ALLOCATOR_MOST_BYTES;
    b->collects = value[OPTION_COLLECT];
    b->lower_bytes = value[OPTION_LOWER];
    if (b->lower_bytes) {
        const uint64_t capacity = source_read_capacity(source);
        b->next_bytes = (capacity ? capacity : value[OPTION_START]) & ~(b->regions.unit - 1);
        b->most_bytes = 0; /* it never doubles */
    }
    return 0;
}

static void put(struct piece *c, uint64_t end)
{
    const uint64_t place = piece_best_fit(c).minor;
    c->since = end;
    piece_put(c, (struct index_key){end << END_SHIFT | c->size, end == UPPER ? ~place : place});
}

/* The chunk for a request of an end: one of its own, or the gap. */
static struct piece *find(const struct bfc *b, uint64_t size, uint64_t end)
{
    struct piece *c = index_from(&b->chunks, (struct index_key){end << END_SHIFT | size, 0});
    if (c && c->since != end)
        c = index_from(&b->chunks, (struct index_key){(uint64_t)GAP << END_SHIFT | size, 0});
    return c;
}

/* Rules 4 and 5. */
static int extend(struct bfc *b, uint64_t size)
{
    if (b->lower_bytes && (b->regions.newest || size > b->next_bytes))
        return error_set(&b->regions.source->error, ERR_OOM,
                         "no room for %llu bytes in the one region of %llu (start)",
                         (unsigned long long)size, (unsigned long long)b->next_bytes);
    const bool fits = size <= b->next_bytes;
    while (b->next_bytes && b->next_bytes < size)
        b->next_bytes *= 2;
    struct piece *c = NULL;
    uint64_t bytes = b->next_bytes ? segments_round(&b->regions, b->next_bytes) : size;
    const uint64_t next_bytes = b->next_bytes * (fits && b->next_bytes < b->most_bytes ? 2 : 1);
    if (b->most_bytes < ALLOCATOR_MOST_BYTES)
        b->next_bytes = next_bytes;
    int code = segment_make(&b->regions, &b->chunks, bytes, &c);
    while (code == ERR_OOM && bytes > size) {
        /* floats there, too */
        const uint64_t less = segments_round(&b->regions, (uint64_t)((float)bytes * 0.9F));
        bytes = less < bytes ? less : bytes - b->regions.unit;
        if (bytes >= size)
            code = segment_make(&b->regions, &b->chunks, bytes, &c);
    }
    TRY(code);
    b->next_bytes = next_bytes;
    put(c, b->lower_bytes ? GAP : LOWER);
    return 0;
}

static int bfc_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct bfc *b = state;
    const uint64_t size = segments_round(&b->regions, request->size);
    const uint64_t end = size >= b->lower_bytes ? LOWER : UPPER;
    struct piece *c = find(b, size, end);
    if (!c) {
        int code = extend(b, size);
        const uint64_t held_bytes = b->regions.held_bytes;
        if (code == ERR_OOM && b->collects) {
            TRY(segments_trim(b));
            if (b->regions.held_bytes < held_bytes)
                code = extend(b, size);
        }
        TRY(code);
        c = find(b, size, end);
    }
    piece_take(c);
    const uint64_t from = c->since;
    const bool is_exact = b->lower_bytes && (from == GAP || end == LOWER);
    if (is_exact ? c->size > size : c->size >= 2 * size || c->size - size >= b->waste_bytes) {
        struct piece *high = piece_split(&b->regions, c, end == UPPER ? c->size - size : size);
        put(end == UPPER ? c : high, from);
        c = end == UPPER ? high : c;
    }
    c->since = end;
    *block = piece_block(c);
    return 0;
}

static int bfc_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct bfc *b = state;
    struct piece *c = block->node;
    const struct piece *next = c->since == LOWER ? c->next : c->prev; /* towards the gap */
    const uint64_t end = b->lower_bytes && (!next || next->since != c->since) ? GAP : c->since;
    put(piece_join(&b->regions, c), end);
    return 0;
}

static const struct allocator_origin bfc_origins[] = {
    {"TensorFlow's and JAX's BFCAllocator", "openxla/xla", "xla/tsl/framework/bfc_allocator.cc",
     "00df9eefeb54", 2026},
    {"ONNX Runtime's BFCArena", "microsoft/onnxruntime", "onnxruntime/core/framework/bfc_arena.cc",
     "009aae13a310", 2023},
    {0},
};

const struct allocator_ops allocator_bfc = {
    .version = ALLOCATOR_API_VERSION,
    .name = "bfc",
    .summary = "best fit with coalescing in regions that double",
    .origins = bfc_origins,
    .options = bfc_options,
    .when_named = true,
    .init = bfc_init,
    .alloc = bfc_alloc,
    .free = bfc_free,
    SEGMENTS_HOOKS,
};
