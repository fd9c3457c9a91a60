#include "tests/base/cmocka.h"
#include "tests/run/predict/model_fixture.h"
#include "alloc/registry.h"

#include <math.h>
#include <string.h>

/* ---- an atlas ------------------------------------------------------------------------------- */

/* The same at every size: `ns` at 256 B and at 1 GiB. */
void put_cost(struct atlas *atlas, const char *method, const char *call, uint64_t ns,
              enum atlas_wait waits)
{
    struct atlas_curve *curve = atlas_curve_of(atlas, method, call);
    const bool sized =
        strcmp(method, "command") != 0 || strcmp(call, "read") == 0 || strcmp(call, "write") == 0;
    curve->point_count = curve->probe_count = 0;
    for (int i = 0; i < (sized ? 2 : 1); i++)
        atlas_add_point(curve, &(struct atlas_point){.bytes = !sized   ? 0
                                                              : i == 0 ? 256
                                                                       : (uint64_t)1 << 30,
                                                     .sample_count = 1,
                                                     .p50_ns = ns});
    atlas_add_probe(curve, &(struct atlas_probe){.bytes = 4 * KIB, .waits = waits});
}

void put_step(struct atlas *atlas, const char *method, const char *call, uint64_t small_ns,
              uint64_t large_ns, enum atlas_wait waits)
{
    struct atlas_curve *curve = atlas_curve_of(atlas, method, call);
    curve->point_count = curve->probe_count = 0;
    const uint64_t sizes[] = {256, MIB, 2 * MIB, 1024 * MIB};
    for (int i = 0; i < 4; i++)
        atlas_add_point(curve, &(struct atlas_point){.bytes = sizes[i],
                                                     .sample_count = 1,
                                                     .p50_ns = i < 2 ? small_ns : large_ns});
    atlas_add_probe(curve, &(struct atlas_probe){.bytes = 4 * KIB, .waits = waits});
}

/* Much like a GPU: 40 µs to get memory, 30 µs and all that is queued to give it back; 4 µs on the
 * way to an idle device: 10 - 2 - 1 - 3. */
struct atlas make_atlas(enum atlas_wait free_waits)
{
    struct atlas atlas = {.device = "fake:0", .timer_ns = NAN};
    put_cost(&atlas, "raw", "alloc", 40 * US, ATLAS_WAITS_nothing);
    put_cost(&atlas, "raw", "free", 30 * US, free_waits);
    put_cost(&atlas, "command", "launch", 2 * US, ATLAS_WAITS_nothing);
    put_cost(&atlas, "command", "launch_device", 1 * US, ATLAS_WAITS_nothing);
    put_cost(&atlas, "command", "launch_sync", 10 * US, ATLAS_WAITS_own_queue);
    put_cost(&atlas, "command", "sync", 3 * US, ATLAS_WAITS_own_queue);
    put_cost(&atlas, "command", "mark", 0, ATLAS_WAITS_nothing);
    put_cost(&atlas, "command", "mark_device", 0, ATLAS_WAITS_nothing);
    put_cost(&atlas, "command", "read", 8 * US, ATLAS_WAITS_own_queue);
    return atlas;
}

/* ---- traces --------------------------------------------------------------------------------- */

struct run_log make_trace(void)
{
    struct run_log t;
    run_log_open(&t, EVENTS, USES, BLOCKS);
    return t;
}

struct trace_event *add(struct run_log *t, enum trace_kind kind)
{
    assert_true(t->event_count < t->event_capacity);
    struct trace_event *event = &t->events[t->event_count++];
    *event = (struct trace_event){.kind = kind, .uses = t->uses + t->use_count};
    if (t->event_count > 1)
        event->time_ns = event[-1].time_ns + event[-1].call_ns;
    t->run_end = t->event_count;
    return event;
}

void add_use(struct run_log *t, struct trace_event *event, unsigned block)
{
    t->uses[t->use_count++] = (struct trace_use){block, TRACE_READS | TRACE_WRITES};
    event->use_count++;
}

void add_alloc(struct run_log *t, unsigned block, uint64_t bytes)
{
    struct trace_event *event = add(t, TRACE_alloc);
    event->slot = block;
    event->bytes = bytes;
    event->alignment = 256;
    t->names[event->name] = "tag";
}

void add_free(struct run_log *t, unsigned block)
{
    add(t, TRACE_free)->slot = block;
}

void add_launch(struct run_log *t, unsigned block, uint64_t call_us, uint64_t device_us)
{
    struct trace_event *event = add(t, TRACE_launch);
    event->call_ns = call_us * US;
    event->device_ns = device_us * US;
    add_use(t, event, block);
}

void add_read(struct run_log *t, unsigned block)
{
    struct trace_event *event = add(t, TRACE_read);
    event->bytes = 4 * KIB;
    add_use(t, event, block);
}

/* A block that lives in one kernel of 100 µs. */
struct run_log one_kernel(void)
{
    struct run_log t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_free(&t, 0);
    return t;
}

/* ---- predictions ---------------------------------------------------------------------------- */

struct model model_with(const struct atlas *atlas)
{
    const struct dry_device device = {
        .atlas = atlas, .has_pool = true, .can_split = true, .alignment = 256};
    return (struct model){.device = device};
}

int predict(const struct model *model, const struct run_log *trace, const char *spec,
            struct case_model *out, struct error *error)
{
    const struct allocator_ops *ops;
    struct option_values options;
    assert_int_equal(allocator_parse(spec, &ops, &options, error), 0);
    return model_predict(model, trace, ops, &options, out, error);
}

struct case_model predicted(const struct atlas *atlas, const struct run_log *trace,
                            const char *spec)
{
    const struct model model = model_with(atlas);
    struct case_model out;
    struct error error = {0};
    if (predict(&model, trace, spec, &out, &error))
        fail_msg("%s: %s", spec, error.text);
    return out;
}

void check_us(const struct case_model *m, uint64_t all, uint64_t driver, uint64_t waiting)
{
    assert_int_equal(m->predicted_ns, all * US);
    assert_int_equal(m->driver_ns, driver * US);
    assert_int_equal(m->waiting_ns, waiting * US);
}

/* Mapping and giving back cost 50 µs and 41 µs, whatever goes back being one size in this atlas. */
void put_pools(struct atlas *atlas)
{
    static const struct {
        const char *method;
        uint64_t alloc_us, realloc_us, free_us, free_sync_us;
    } methods[] = {{"stream:threshold=0", 50, 3, 2, 46}, {"stream:threshold=max", 9, 4, 1, 5}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        put_cost(atlas, methods[i].method, "alloc", methods[i].alloc_us * US, ATLAS_WAITS_nothing);
        put_cost(atlas, methods[i].method, "realloc", methods[i].realloc_us * US,
                 ATLAS_WAITS_unknown);
        put_cost(atlas, methods[i].method, "free", methods[i].free_us * US, ATLAS_WAITS_nothing);
        put_cost(atlas, methods[i].method, "free_sync", methods[i].free_sync_us * US,
                 ATLAS_WAITS_unknown);
    }
}

struct case_model predicted_of(const struct model *model, const struct run_log *trace,
                               const char *spec)
{
    struct case_model out;
    struct error error = {0};
    if (predict(model, trace, spec, &out, &error))
        fail_msg("%s: %s", spec, error.text);
    return out;
}
