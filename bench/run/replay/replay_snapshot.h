/* A replay as a snapshot of PyTorch (trace/export.h), which PyTorch's viewer shows. */
#ifndef GAMUT_RUN_REPLAY_REPLAY_SNAPSHOT_H
#define GAMUT_RUN_REPLAY_REPLAY_SNAPSHOT_H

#include <stdio.h>

#include "run/replay/replay.h"

/* Replays the trace, and writes what the strategy does with it to `out`. As replay_trace; ERR_IO. */
int replay_to_snapshot(struct trace_reader *reader, const struct replay_options *options, FILE *out,
                       struct replay_outcome *outcome, struct error *error);

#endif
