/* Blocks: a name gets one from an allocator and holds a reference on it, and the release policy
 * says when it drops the reference. A block is freed with its last reference. */
#include "run/execute/executor.h"

int blocks_trim(struct executor *e)
{
    int code = 0;
    for (int s = 0; s < SPACES; s++)
        ALSO(code, e->allocators[s] ? allocator_trim(e->allocators[s]) : 0);
    return code;
}

/* Trims all allocators and asks again. One space may be out of memory because another one has spare
 * memory: all share one capacity, and often one physical memory. */
static int ask_again(struct executor *e, struct allocator *allocator,
                     const struct alloc_request *request, struct block *block)
{
    bool alone = true;
    for (int s = 0; s < SPACES; s++)
        alone &= !e->allocators[s] || e->allocators[s] == allocator;
    int code = alone ? ERR_OOM : blocks_trim(e);
    return code ? code : allocator_alloc(allocator, request, block);
}

/* ---- a block of its own --------------------------------------------------------------------- */

/* Asks the allocator of the name's space for block `b`, and accounts for what it got. */
static int blocks_ask(struct executor *e, int name, const struct expr *size,
                      struct source_position at, int b)
{
    struct held_block *held = &e->blocks[b];
    struct allocator *allocator = e->allocators[e->spaces[name]];
    int64_t bytes;
    TRY(execute_block_bytes(e, name, size, at, &bytes));
    const struct name *n = &e->fun->names[name];
    if (!allocator)
        return program_error(e->program, e->error, ERR_UNSUPPORTED, at,
                             "'%s' is in %s memory, for which this run has no allocator", n->text,
                             space_name(n->space));
    const struct alloc_request request = {
        .size = (uint64_t)bytes, .alignment = e->block_alignment, .tag = n->text};
    run_log_begin_call(e->trace);
    int code = allocator_alloc(allocator, &request, &held->block);
    if (code == ERR_OOM)
        code = ask_again(e, allocator, &request, &held->block);
    if (!code) /* before the trace, so that its listener sees it */
        e->counts.live_bytes += request.size;
    if (e->counts.live_bytes > e->counts.peak_live_bytes)
        e->counts.peak_live_bytes = e->counts.live_bytes;
    run_log_alloc(e->trace, (unsigned)b, code ? NULL : &held->block, &request);
    if (code)
        return error_set(e->error, code, "block '%s' of %lld bytes: %s", request.tag,
                         (long long)bytes, allocator->source->error.text);
    held->allocator = allocator;
    held->requested = request.size;
    held->tag = request.tag;
    return 0;
}

/* The first spare block becomes the name's. */
static void blocks_take(struct executor *e, int name)
{
    const int b = e->free_block;
    struct held_block *block = &e->blocks[b];
    e->free_block = block->next_free;
    block->holders = block->uses = 1;
    e->block_of[name] = e->use_of[name] = b;
}

/* A fresh block has no contents: a group of devices need not move any, and a program that reads
 * what it never wrote gets 0xff bytes in a poisoned run. */
static int blocks_clear(struct executor *e, int name, const struct held_block *held)
{
    const uint64_t memory = block_memory(&held->block), offset = block_offset(&held->block);
    const uint64_t bytes = held->requested;
    int code = 0;
    if (e->is_device_group && bytes)
        code = e->device->ops->discard(e->device, memory, offset, bytes, e->error);
    if (!code && e->poison && bytes && e->has_arrays[name])
        code = e->device->ops->fill(e->device, memory, offset, 0xff, bytes, e->error);
    return code;
}

int blocks_alloc(struct executor *e, int name, const struct expr *size, struct source_position at)
{
    TRY(blocks_holds(e, name) ? blocks_release(e, name) : 0);
    const int b = e->free_block;
    TRY(blocks_ask(e, name, size, at, b));
    blocks_take(e, name);
    return blocks_clear(e, name, &e->blocks[b]);
}

/* ---- references ----------------------------------------------------------------------------- */

void blocks_add_reference(struct executor *e, int block)
{
    if (block == NO_BLOCK)
        return;
    e->blocks[block].holders++;
    e->blocks[block].uses++;
}

void blocks_hold(struct executor *e, int name, int block)
{
    e->block_of[name] = e->use_of[name] = block;
}

static void recycle(struct executor *e, int b)
{
    if (e->blocks[b].holders || e->blocks[b].uses)
        return;
    e->blocks[b].next_free = e->free_block;
    e->free_block = b;
}

static void end_use(struct executor *e, int name)
{
    const int b = e->use_of[name];
    if (b == NO_BLOCK)
        return;
    e->use_of[name] = NO_BLOCK;
    if (--e->blocks[b].uses == 0) {
        e->counts.live_bytes -= e->blocks[b].requested;
        recycle(e, b);
    }
}

static int end_hold(struct executor *e, int name)
{
    int b = e->block_of[name];
    if (b == NO_BLOCK)
        return 0;
    struct held_block *block = &e->blocks[b];
    e->block_of[name] = NO_BLOCK;
    if (--block->holders)
        return 0;
    run_log_begin_call(e->trace);
    int code = allocator_free(block->allocator, &block->block, block->tag, block->requested);
    run_log_free(e->trace, (unsigned)(block - e->blocks));
    if (code)
        error_set(e->error, code, "giving back block '%s': %s", block->tag,
                  block->allocator->source->error.text);
    recycle(e, b);
    return code;
}

int blocks_last_use(struct executor *e, int name)
{
    end_use(e, name);
    return e->policy == RELEASE_LAST_USE ? end_hold(e, name) : 0;
}

int blocks_release(struct executor *e, int name)
{
    end_use(e, name);
    return end_hold(e, name);
}

void blocks_free_all(struct executor *e)
{
    for (unsigned n = 0; n < e->fun->name_count; n++)
        e->block_of[n] = e->use_of[n] = NO_BLOCK;
    e->free_block = NO_BLOCK;
    for (unsigned b = e->block_capacity; b-- > 0;) {
        struct held_block *block = &e->blocks[b];
        if (block->holders) {
            run_log_begin_call(e->trace);
            allocator_free(block->allocator, &block->block, block->tag, block->requested);
            run_log_free(e->trace, b);
        }
        *block = (struct held_block){.next_free = e->free_block};
        e->free_block = (int)b;
    }
}
