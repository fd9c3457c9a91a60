/* Records the memory of a replay (run/execute/memory_record.h). */
#ifndef GAMUT_RUN_REPLAY_REPLAY_MEMORY_H
#define GAMUT_RUN_REPLAY_REPLAY_MEMORY_H

#include <jansson.h>

#include "run/replay/replay.h"

/* What the steps of a record are. Times: only of a trace that knows them, else events. */
enum replay_steps { STEPS_NONE, STEPS_EVENTS, STEPS_TIMES };

struct replay_memory;

/* Opens a record for a replay of this trace; both listeners go to replay_trace. STEPS_NONE: returns
 * NULL, and records nothing. */
struct replay_memory *replay_memory_open(const struct trace_reader *reader,
                                         enum replay_steps steps);
/* NULL of NULL. */
const struct replay_listener *replay_memory_listener(const struct replay_memory *memory);
/* {"step_unit": "event" or "ns", "steps", "timeline", "map"}, before the trace is closed; the caller
 * owns it. NULL of NULL. */
json_t *replay_memory_to_json(struct replay_memory *memory);
void replay_memory_close(struct replay_memory *memory);

#endif
