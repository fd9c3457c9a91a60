/* Atlases, traces and predictions for tests of the cost model, small enough to be added up by hand.
 * Times are in microseconds, so that the sums can be read. The first failure ends a test. */
#pragma once

#include "alloc/allocator.h"
#include "run/predict/model.h"

enum { US = 1000, KIB = 1 << 10, MIB = 1 << 20, EVENTS = 4096, USES = 16384, BLOCKS = 64 };

void put_cost(struct atlas *atlas, const char *method, const char *call, uint64_t ns,
              enum atlas_wait waits);
/* A call costs `small_ns` up to 1 MiB, and `large_ns` from 2 MiB on. */
void put_step(struct atlas *atlas, const char *method, const char *call, uint64_t small_ns,
              uint64_t large_ns, enum atlas_wait waits);
struct atlas make_atlas(enum atlas_wait free_waits);
struct run_log make_trace(void);
struct trace_event *add(struct run_log *t, enum trace_kind kind);
void add_use(struct run_log *t, struct trace_event *event, unsigned block);
void add_alloc(struct run_log *t, unsigned block, uint64_t bytes);
void add_free(struct run_log *t, unsigned block);
void add_launch(struct run_log *t, unsigned block, uint64_t call_us, uint64_t device_us);
void add_read(struct run_log *t, unsigned block);
struct run_log one_kernel(void);
struct model model_with(const struct atlas *atlas);
int predict(const struct model *model, const struct run_log *trace, const char *spec,
            struct case_model *out, struct error *error);
struct case_model predicted(const struct atlas *atlas, const struct run_log *trace,
                            const char *spec);
void check_us(const struct case_model *m, uint64_t all, uint64_t driver, uint64_t waiting);
void put_pools(struct atlas *atlas);
struct case_model predicted_of(const struct model *model, const struct run_log *trace,
                               const char *spec);
