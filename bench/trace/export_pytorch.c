/* The pickle is written as things happen, and the segments at the end. What it may have is what the
 * viewer reads, of which Python's pickle and pickle.c read more (pytorch/pytorch,
 * torch/utils/viz/MemoryViz.js, 00067369):
 *   - of the opcodes of protocol 4, among others no POP; integers of at most eight bytes, as longer
 *     ones cannot be added to others; short batches of items, as each is a call with so many arguments;
 *   - the viewer goes back from the segments at the end, and takes back one entry after the other.
 *     A block must then be in a segment, and a part that was mapped in one piece of memory of the
 *     same stream. So all calls for a memory have the stream of the first one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/slab.h"
#include "base/text.h"
#include "base/treap.h"
#include "trace/export.h"

/* X(name): texts that come often; the memo has each from its first use on. */
#define TEXT_LIST(X)                                                                               \
    X(segment_alloc)                                                                               \
    X(segment_free)                                                                                \
    X(segment_map)                                                                                 \
    X(segment_unmap)                                                                               \
    X(alloc)                                                                                       \
    X(free_requested)                                                                              \
    X(free_completed)                                                                              \
    X(action)                                                                                      \
    X(addr)                                                                                        \
    X(size)                                                                                        \
    X(stream)                                                                                      \
    X(time_us)                                                                                     \
    X(frames)                                                                                      \
    X(filename)                                                                                    \
    X(name)                                                                                        \
    X(line)                                                                                        \
    X(address)                                                                                     \
    X(requested_size)                                                                              \
    X(state)                                                                                       \
    X(active_allocated)                                                                            \
    X(active_pending_free)                                                                         \
    X(inactive)                                                                                    \
    X(device)                                                                                      \
    X(total_size)                                                                                  \
    X(allocated_size)                                                                              \
    X(active_size)                                                                                 \
    X(segment_type)                                                                                \
    X(large)                                                                                       \
    X(segment_pool_id)                                                                             \
    X(is_expandable)                                                                               \
    X(blocks)                                                                                      \
    X(stage)                                                                                       \
    X(START)                                                                                       \
    X(END)

enum text_index {
#define X(name) T_##name,
    TEXT_LIST(X)
#undef X
        TEXTS
};
static const char *const texts[TEXTS] = {
#define X(name) #name,
    TEXT_LIST(X)
#undef X
};

/* Ranges of virtual memory get so many addresses, as their size is not heard of. */
#define RANGE_BYTES (UINT64_C(1) << 40)
#define FIRST_BASE  (UINT64_C(0x7f) << 40)
enum { BATCH = 1000, PAGE_BYTES = 1 << 21 };

/* Where a memory has its addresses. */
struct memory {
    struct treap_node node;
    uint64_t memory, base, stream;
};

/* Bytes that the driver gave; they do not overlap. */
struct extent {
    struct treap_node node;
    uint64_t address, bytes, stream;
    bool expandable;
};

struct live_block {
    uint64_t address, bytes, requested, stream;
    unsigned name;
    bool lives, let_go;
};

struct call {
    enum pytorch_memory call;
    uint64_t memory, offset, bytes;
};

struct phase {
    unsigned name;
    bool begins;
    uint64_t time_us;
};

struct pytorch_snapshot {
    const struct trace_reader *reader;
    FILE *out;
    struct treap memories, extents;
    struct slab memory_items, extent_items;
    uint64_t next_base, entries, memo_count, event_number;
    struct live_block *blocks; /* by slot */
    unsigned block_capacity;
    struct call *calls; /* that wait for their event */
    unsigned call_count, call_capacity;
    struct phase *phases;
    unsigned phase_count, phase_capacity;
    uint64_t *frames; /* by name: index in the memo, + 1 */
    unsigned frame_capacity;
    uint64_t texts[TEXTS]; /* the same for texts */
};

/* ---- values ---- */

static void put(struct pytorch_snapshot *s, unsigned char opcode)
{
    fputc(opcode, s->out);
}

static void put_bytes(struct pytorch_snapshot *s, uint64_t number, unsigned count)
{
    for (; count > 0; count--, number >>= 8)
        fputc((int)(number & 255), s->out);
}

static void put_number(struct pytorch_snapshot *s, uint64_t number)
{
    if (number < 256) {
        put(s, 'K');
        put_bytes(s, number, 1);
    } else if (number < 65536) {
        put(s, 'M');
        put_bytes(s, number, 2);
    } else { /* a number has a sign */
        const unsigned bytes = number > INT64_MAX ? 9 : 8;
        put(s, 0x8a);
        put_bytes(s, bytes, 1);
        put_bytes(s, number, 8);
        put_bytes(s, 0, bytes - 8);
    }
}

static void put_text(struct pytorch_snapshot *s, const char *text, size_t length)
{
    put(s, 'X');
    put_bytes(s, length, 4);
    fwrite(text, 1, length, s->out);
}

/* Puts the value put last into the memo; *index receives its place there, + 1. */
static void memoize(struct pytorch_snapshot *s, uint64_t *index)
{
    put(s, 0x94);
    *index = ++s->memo_count;
}

static void put_memo(struct pytorch_snapshot *s, uint64_t index)
{
    put(s, index <= 256 ? 'h' : 'j');
    put_bytes(s, index - 1, index <= 256 ? 1 : 4);
}

static void put_known(struct pytorch_snapshot *s, enum text_index text)
{
    if (s->texts[text]) {
        put_memo(s, s->texts[text]);
        return;
    }
    put_text(s, texts[text], strlen(texts[text]));
    memoize(s, &s->texts[text]);
}

static void put_member(struct pytorch_snapshot *s, enum text_index key, uint64_t number)
{
    put_known(s, key);
    put_number(s, number);
}

static void put_word(struct pytorch_snapshot *s, enum text_index key, enum text_index word)
{
    put_known(s, key);
    put_known(s, word);
}

static void begin_dict(struct pytorch_snapshot *s)
{
    put(s, '}');
    put(s, '(');
}

static void begin_list(struct pytorch_snapshot *s)
{
    put(s, ']');
    put(s, '(');
}

/* Before each item of a list that may be long: ends a batch that is full. */
static void begin_item(struct pytorch_snapshot *s, uint64_t *count)
{
    if (*count && *count % BATCH == 0) {
        put(s, 'e');
        put(s, '(');
    }
    ++*count;
}

/* "adam.py:182 step" */
static void put_frame(struct pytorch_snapshot *s, const char *text, size_t length)
{
    const char *space = memchr(text, ' ', length);
    const char *colon = space ? memrchr(text, ':', (size_t)(space - text)) : NULL;
    begin_dict(s);
    put_known(s, T_filename);
    put_text(s, text, colon ? (size_t)(colon - text) : 0);
    put_member(s, T_line, colon ? strtoull(colon + 1, NULL, 10) : 0);
    put_known(s, T_name);
    const char *name = colon ? space + 1 : text;
    put_text(s, name, length - (size_t)(name - text));
    put(s, 'u');
}

/* The site as a list of frames; the memo has it from its first use on. */
static void put_frames(struct pytorch_snapshot *s, unsigned name)
{
    put_known(s, T_frames);
    s->frames = must_reach(s->frames, name, &s->frame_capacity, sizeof *s->frames);
    if (s->frames[name]) {
        put_memo(s, s->frames[name]);
        return;
    }
    begin_list(s);
    for (const char *at = trace_name_of(s->reader, name); *at;) {
        const char *next = strstr(at, " < ");
        put_frame(s, at, next ? (size_t)(next - at) : strlen(at));
        at = next ? next + 3 : at + strlen(at);
    }
    put(s, 'e');
    memoize(s, &s->frames[name]);
}

/* ---- memory ---- */

static int by_memory(const struct treap_node *a, const struct treap_node *b)
{
    const uint64_t x = ((const struct memory *)a)->memory, y = ((const struct memory *)b)->memory;
    return x < y ? -1 : x > y;
}

/* By their ends: the first that ends after an address is the one that holds it, or the next. */
static int by_end(const struct treap_node *a, const struct treap_node *b)
{
    const struct extent *x = (const struct extent *)a, *y = (const struct extent *)b;
    const uint64_t left = x->address + x->bytes, right = y->address + y->bytes;
    return left < right ? -1 : left > right;
}

static struct memory *find_memory(struct pytorch_snapshot *s, uint64_t memory)
{
    const struct memory key = {.memory = memory};
    struct memory *found = (struct memory *)treap_from(&s->memories, &key.node);
    return found && found->memory == memory ? found : NULL;
}

/* The addresses and the stream of a memory, which gets `bytes` and `stream` if it is new. */
static struct memory *memory_of(struct pytorch_snapshot *s, uint64_t memory, uint64_t bytes,
                                uint64_t stream)
{
    struct memory *found = find_memory(s, memory);
    if (!found) {
        found = slab_take(&s->memory_items);
        *found = (struct memory){.memory = memory, .base = s->next_base, .stream = stream};
        s->next_base += (bytes + PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES;
        treap_insert(&s->memories, &found->node);
    }
    return found;
}

static void add_extent(struct pytorch_snapshot *s, uint64_t address, uint64_t bytes,
                       uint64_t stream, bool expandable)
{
    struct extent *extent = slab_take(&s->extent_items);
    *extent = (struct extent){
        .address = address, .bytes = bytes, .stream = stream, .expandable = expandable};
    treap_insert(&s->extents, &extent->node);
}

/* Takes [begin, end) out of the extent, which may leave a piece on either side. */
static void cut_extent(struct pytorch_snapshot *s, struct extent *extent, uint64_t begin,
                       uint64_t end)
{
    const struct extent old = *extent;
    treap_remove(&s->extents, &extent->node);
    slab_give(&s->extent_items, extent);
    if (old.address < begin)
        add_extent(s, old.address, begin - old.address, old.stream, old.expandable);
    if (old.address + old.bytes > end)
        add_extent(s, end, old.address + old.bytes - end, old.stream, old.expandable);
}

static void remove_extents(struct pytorch_snapshot *s, uint64_t begin, uint64_t end)
{
    const struct extent key = {.address = begin};
    struct extent *e;
    while ((e = (struct extent *)treap_after(&s->extents, &key.node)) && e->address < end)
        cut_extent(s, e, begin, end);
}

/* ---- entries ---- */

static uint64_t time_us(const struct pytorch_snapshot *s, const struct trace_event *e)
{
    return trace_reader_info(s->reader)->knows[TRACE_KNOWS_times] ? e->time_ns / 1000
                                                                  : s->event_number;
}

static uint64_t stream_of(const struct pytorch_snapshot *s, const struct trace_event *e)
{
    uint64_t stream;
    return text_to_u64(trace_queue_of(s->reader, e->queue), &stream) ? stream : e->queue;
}

static void add_entry(struct pytorch_snapshot *s, enum text_index action, uint64_t address,
                      uint64_t bytes, uint64_t stream, unsigned name, uint64_t at_us)
{
    begin_item(s, &s->entries);
    begin_dict(s);
    put_word(s, T_action, action);
    put_member(s, T_addr, address);
    put_member(s, T_size, bytes);
    put_member(s, T_stream, stream);
    put_member(s, T_time_us, at_us);
    put_frames(s, name);
    put(s, 'u');
}

static void add_call(struct pytorch_snapshot *s, const struct call *c, uint64_t stream,
                     uint64_t at_us)
{
    const bool maps = c->call == PYTORCH_SEGMENT_MAP || c->call == PYTORCH_SEGMENT_UNMAP;
    struct memory *memory = memory_of(s, c->memory, maps ? RANGE_BYTES : c->bytes, stream);
    const uint64_t address = memory->base + c->offset;
    if (c->call == PYTORCH_SEGMENT_ALLOC || c->call == PYTORCH_SEGMENT_MAP)
        add_extent(s, address, c->bytes, memory->stream, maps);
    else
        remove_extents(s, address, address + c->bytes);
    add_entry(s, (enum text_index)(T_segment_alloc + c->call), address, c->bytes, memory->stream, 0,
              at_us);
    if (c->call == PYTORCH_SEGMENT_FREE) { /* another may have the handle next */
        treap_remove(&s->memories, &memory->node);
        slab_give(&s->memory_items, memory);
    }
}

static void add_calls(struct pytorch_snapshot *s, const struct trace_event *e)
{
    for (unsigned i = 0; i < s->call_count; i++)
        add_call(s, &s->calls[i], stream_of(s, e), time_us(s, e));
    s->call_count = 0;
}

static struct live_block *block_at(struct pytorch_snapshot *s, unsigned slot)
{
    s->blocks = must_reach(s->blocks, slot, &s->block_capacity, sizeof *s->blocks);
    return &s->blocks[slot];
}

static void add_alloc(struct pytorch_snapshot *s, const struct trace_event *e,
                      const struct pytorch_block *block)
{
    struct live_block *b = block_at(s, e->slot);
    add_calls(s, e);
    *b = (struct live_block){.lives = block->bytes > 0}; /* PyTorch logs no block without bytes */
    if (!b->lives)
        return;
    const struct memory *memory = memory_of(s, block->memory, block->bytes, stream_of(s, e));
    b->address = memory->base + block->offset;
    b->bytes = block->bytes;
    b->requested = e->bytes;
    b->stream = stream_of(s, e);
    b->name = e->name;
    add_entry(s, T_alloc, b->address, b->requested, b->stream, b->name, time_us(s, e));
}

static void add_free(struct pytorch_snapshot *s, const struct trace_event *e, bool given_back)
{
    struct live_block *b = block_at(s, e->slot);
    if (b->lives && !b->let_go)
        add_entry(s, T_free_requested, b->address, b->requested, b->stream, 0, time_us(s, e));
    b->let_go = true;
    if (b->lives && given_back) {
        add_entry(s, T_free_completed, b->address, b->requested, b->stream, 0, time_us(s, e));
        b->lives = false;
    }
    add_calls(s, e);
}

void pytorch_snapshot_memory(struct pytorch_snapshot *s, enum pytorch_memory call, uint64_t memory,
                             uint64_t offset, uint64_t bytes)
{
    s->calls = must_grow(s->calls, s->call_count, &s->call_capacity, sizeof *s->calls);
    s->calls[s->call_count++] = (struct call){call, memory, offset, bytes};
}

void pytorch_snapshot_event(struct pytorch_snapshot *s, const struct trace_event *e,
                            const struct pytorch_block *block)
{
    s->event_number++;
    if ((e->kind == TRACE_held || e->kind == TRACE_alloc) && block)
        add_alloc(s, e, block);
    else if (e->kind == TRACE_free || e->kind == TRACE_done)
        add_free(s, e, block != NULL);
    else if (e->kind == TRACE_begin || e->kind == TRACE_end) {
        s->phases = must_grow(s->phases, s->phase_count, &s->phase_capacity, sizeof *s->phases);
        s->phases[s->phase_count++] =
            (struct phase){e->name, e->kind == TRACE_begin, time_us(s, e)};
    }
}

struct pytorch_snapshot *pytorch_snapshot_begin(const struct trace_reader *reader, FILE *out)
{
    struct pytorch_snapshot *s = must_alloc(sizeof *s);
    s->reader = reader;
    s->out = out;
    s->memories.compare = by_memory;
    s->extents.compare = by_end;
    s->memory_items.item_bytes = sizeof(struct memory);
    s->extent_items.item_bytes = sizeof(struct extent);
    s->next_base = FIRST_BASE;
    put(s, 0x80);
    put(s, 4);
    begin_dict(s);
    put_text(s, "device_traces", 13);
    begin_list(s); /* of one device */
    begin_list(s);
    return s;
}

/* ---- the end ---- */

static int by_block_address(const void *left, const void *right)
{
    const struct live_block *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void put_block(struct pytorch_snapshot *s, uint64_t address, uint64_t bytes,
                      const struct live_block *live)
{
    begin_dict(s);
    put_member(s, T_address, address);
    put_member(s, T_size, bytes);
    put_member(s, T_requested_size, live ? live->requested : 0);
    put_word(s, T_state,
             !live          ? T_inactive
             : live->let_go ? T_active_pending_free
                            : T_active_allocated);
    put_frames(s, live ? live->name : 0);
    put(s, 'u');
}

/* The blocks that live at the end, by address, and the first that has no segment yet. */
struct last_blocks {
    struct live_block *blocks;
    unsigned count, next;
};

static void put_segment_sums(struct pytorch_snapshot *s, const struct last_blocks *last,
                             uint64_t end)
{
    uint64_t allocated = 0, active = 0, requested = 0;
    for (unsigned i = last->next; i < last->count && last->blocks[i].address < end; i++) {
        const struct live_block *b = &last->blocks[i];
        allocated += b->let_go ? 0 : b->bytes;
        active += b->bytes;
        requested += b->requested;
    }
    put_member(s, T_allocated_size, allocated);
    put_member(s, T_active_size, active);
    put_member(s, T_requested_size, requested);
}

/* Blocks that live, and those between them, up to the end of a segment. */
static void put_blocks(struct pytorch_snapshot *s, struct last_blocks *last, uint64_t begin,
                       uint64_t end)
{
    uint64_t count = 0;
    begin_list(s);
    for (; last->next < last->count && last->blocks[last->next].address < end; last->next++) {
        const struct live_block *b = &last->blocks[last->next];
        if (b->address > begin) {
            begin_item(s, &count);
            put_block(s, begin, b->address - begin, NULL);
        }
        begin_item(s, &count);
        put_block(s, b->address, b->bytes, b);
        begin = b->address + b->bytes;
    }
    if (begin < end) {
        begin_item(s, &count);
        put_block(s, begin, end - begin, NULL);
    }
    put(s, 'e');
}

static void put_segment(struct pytorch_snapshot *s, const struct extent *e, uint64_t end,
                        struct last_blocks *last)
{
    begin_dict(s);
    put_member(s, T_device, 0);
    put_member(s, T_address, e->address);
    put_member(s, T_total_size, end - e->address);
    put_segment_sums(s, last, end);
    put_member(s, T_stream, e->stream);
    put_word(s, T_segment_type, T_large);
    put_known(s, T_segment_pool_id);
    put_number(s, 0);
    put_number(s, 0);
    put(s, 0x86);
    put_known(s, T_is_expandable);
    put(s, e->expandable ? 0x88 : 0x89);
    put_frames(s, 0);
    put_known(s, T_blocks);
    put_blocks(s, last, e->address, end);
    put(s, 'u');
}

static void put_segments(struct pytorch_snapshot *s)
{
    struct last_blocks last = {.blocks = must_alloc((s->block_capacity + 1) * sizeof *last.blocks)};
    uint64_t segments = 0;
    for (unsigned i = 0; i < s->block_capacity; i++)
        if (s->blocks[i].lives)
            last.blocks[last.count++] = s->blocks[i];
    qsort(last.blocks, last.count, sizeof *last.blocks, by_block_address);
    begin_list(s);
    for (struct extent *e = (struct extent *)treap_first(&s->extents); e;) {
        uint64_t end = e->address + e->bytes;
        struct extent *after = (struct extent *)treap_after(&s->extents, &e->node);
        /* Parts of a range that were mapped one after the other are one segment. */
        while (after && e->expandable && after->expandable && after->address == end) {
            end += after->bytes;
            after = (struct extent *)treap_after(&s->extents, &after->node);
        }
        begin_item(s, &segments);
        put_segment(s, e, end, &last);
        e = after;
    }
    put(s, 'e');
    free(last.blocks);
}

static void put_phases(struct pytorch_snapshot *s)
{
    uint64_t count = 0;
    begin_list(s);
    for (unsigned i = 0; i < s->phase_count; i++) {
        const char *name = trace_name_of(s->reader, s->phases[i].name);
        begin_item(s, &count);
        begin_dict(s);
        put_word(s, T_stage, s->phases[i].begins ? T_START : T_END);
        put_known(s, T_name);
        put_text(s, name, strlen(name));
        put_member(s, T_device, 0);
        put_member(s, T_time_us, s->phases[i].time_us);
        put(s, 'u');
    }
    put(s, 'e');
}

int pytorch_snapshot_end(struct pytorch_snapshot *s, struct error *error)
{
    put(s, 'e'); /* the entries */
    put(s, 'e'); /* the devices */
    put_text(s, "segments", 8);
    put_segments(s);
    put_text(s, "external_annotations", 20);
    put_phases(s);
    put_text(s, "allocator_settings", 18);
    put(s, '}');
    put(s, 'u');
    put(s, '.');
    int code =
        fflush(s->out) == 0 && !ferror(s->out)
            ? 0
            : error_set(error, ERR_IO, "the snapshot could not be written: %s", strerror(errno));
    slab_free(&s->memory_items);
    slab_free(&s->extent_items);
    free(s->blocks);
    free(s->calls);
    free(s->phases);
    free(s->frames);
    free(s);
    return code;
}
