#include "run/replay/replay_snapshot.h"

#include "trace/export.h"

static void hear_event(void *context, const struct trace_event *event, const struct block *block,
                       const struct replay_state *state)
{
    (void)state;
    pytorch_snapshot_event(
        context, event,
        block ? &(struct pytorch_block){block->memory, block->offset, block->size} : NULL);
}

static void hear_source(void *context, enum source_event event, uint64_t memory, uint64_t offset,
                        uint64_t bytes)
{
    static const enum pytorch_memory calls[] = {
        [SOURCE_HELD] = PYTORCH_SEGMENT_ALLOC,
        [SOURCE_GIVEN_BACK] = PYTORCH_SEGMENT_FREE,
        [SOURCE_MAPPED] = PYTORCH_SEGMENT_MAP,
        [SOURCE_UNMAPPED] = PYTORCH_SEGMENT_UNMAP,
    };
    pytorch_snapshot_memory(context, calls[event], memory, offset, bytes);
}

int replay_to_snapshot(struct trace_reader *reader, const struct replay_options *options, FILE *out,
                       struct replay_outcome *outcome, struct error *error)
{
    struct pytorch_snapshot *snapshot = pytorch_snapshot_begin(reader, out);
    const struct source_listener source = {snapshot, hear_source};
    const struct replay_listener listener = {snapshot, hear_event, &source};
    int code = replay_trace(reader, options, &listener, outcome, error);
    int written = pytorch_snapshot_end(snapshot, code ? NULL : error);
    return code ? code : written;
}
