#include "tests/replay/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/planned/plans.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "replay/plan.h"
#include "replay/owners.h"
#include "replay/replay.h"

enum { DISTANCE = 20 }; /* requests that a deviation lasts */

static void must(int code, const struct error *error)
{
    if (code == 0)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

void requests_add(struct requests *p, const struct step *step)
{
    p->steps = must_grow(p->steps, p->count, &p->capacity, sizeof *p->steps);
    p->steps[p->count++] = *step;
    if (!step->marks && step->block >= p->block_count)
        p->block_count = step->block + 1;
}

void requests_finish(struct requests *p)
{
    uint64_t live = 0;
    p->peak_bytes = 0;
    for (unsigned i = 0; i < p->count; i++) {
        const struct step *s = &p->steps[i];
        live = s->marks ? live : s->frees ? live - s->size : live + s->size;
        p->peak_bytes = live > p->peak_bytes ? live : p->peak_bytes;
    }
}

void requests_free(struct requests *p)
{
    free(p->steps);
    *p = (struct requests){0};
}

void requests_read(const char *path, struct requests *p)
{
    struct trace_reader *reader;
    struct trace_event e;
    struct error error;
    struct step *slots = NULL;
    unsigned slot_count = 0;
    *p = (struct requests){0};
    must(trace_open(path, &reader, &error), &error);
    while (trace_next(reader, &e, &error) > 0) {
        const bool takes = e.kind == TRACE_held || e.kind == TRACE_alloc;
        if (takes && e.slot >= slot_count) {
            slots = must_realloc(slots, (2 * e.slot + 64) * sizeof *slots);
            slot_count = 2 * e.slot + 64;
        }
        if (takes) {
            slots[e.slot] =
                (struct step){.block = p->block_count, .queue = e.queue, .size = e.bytes};
            requests_add(p, &slots[e.slot]);
        } else if (e.kind == TRACE_done) {
            slots[e.slot].frees = true;
            requests_add(p, &slots[e.slot]);
        } else if (e.kind == TRACE_begin) {
            requests_add(p, &(struct step){.marks = true});
        }
    }
    trace_close(reader);
    free(slots);
    requests_finish(p);
}

void requests_write(const struct requests *p, const char *path)
{
    struct trace_info info = {.source = "test", .time_unit_ns = 1};
    struct trace_writer *writer;
    struct error error;
    unsigned *slots = must_alloc((p->block_count + 1) * sizeof *slots), steps = 0;
    info.knows[TRACE_KNOWS_frees] = info.knows[TRACE_KNOWS_phases] = true;
    must(trace_create(path, &info, &writer, &error), &error);
    for (unsigned q = 0; q < 4; q++) {
        char name[16];
        snprintf(name, sizeof name, "%u", q);
        trace_queue(writer, name);
    }
    for (unsigned i = 0; i < p->count; i++) {
        const struct step *s = &p->steps[i];
        struct trace_event e = {.kind = s->marks   ? TRACE_begin
                                        : s->frees ? TRACE_free
                                                   : TRACE_alloc,
                                .queue = s->queue};
        char name[32];
        snprintf(name, sizeof name, "step %u", steps);
        if (s->marks) {
            steps++;
            e.name = trace_name(writer, name);
        } else {
            if (!s->frees) {
                slots[s->block] = trace_take_slot(writer);
                e.bytes = s->size;
            }
            e.slot = slots[s->block];
        }
        trace_put(writer, &e);
    }
    must(trace_finish(writer, true, NULL, &error), &error);
    free(slots);
}

/* ---- made-up programs ---- */

enum { LAYERS = 24, UNIT = 64 << 10 };

struct maker {
    struct requests *p;
    unsigned queue;
};

static struct step make_block(struct maker *m, uint64_t size)
{
    const struct step made = {.block = m->p->block_count, .queue = m->queue, .size = size};
    requests_add(m->p, &made);
    return made;
}

static void free_block(struct maker *m, struct step *made)
{
    made->frees = true;
    if (made->size)
        requests_add(m->p, made);
    *made = (struct step){0};
}

static uint64_t weight(unsigned layer)
{
    return (uint64_t)(1 + layer % 7) * 5 * UNIT;
}

static void make_iteration(struct maker *m, const struct made_up *what, unsigned i, unsigned shape,
                           struct step gradients[LAYERS], struct step caches[LAYERS])
{
    struct step kept[LAYERS];
    for (unsigned l = 0; l < LAYERS; l++)
        free_block(m, &gradients[l]);
    for (unsigned l = 0; l < LAYERS; l++) {
        struct step temporary = make_block(m, (uint64_t)(3 + shape) * (1 + l % 3) * 4 * UNIT);
        kept[l] = make_block(m, (uint64_t)(5 + 2 * shape) * (1 + l % 5) * UNIT);
        free_block(m, &temporary);
        if (what->grows) {
            const struct step cache = make_block(m, (uint64_t)(i + 1) * UNIT);
            free_block(m, &caches[l]);
            caches[l] = cache;
        }
    }
    for (unsigned l = LAYERS; l-- > 0;) {
        if (!what->grows)
            gradients[l] = make_block(m, weight(l));
        free_block(m, &kept[l]);
    }
    for (unsigned l = 0; l < LAYERS && i < what->queues && !what->grows; l++)
        make_block(m, weight(l));
}

void requests_make(const struct made_up *what, struct requests *p)
{
    struct random random = {what->seed};
    struct step gradients[ALLOCATOR_QUEUES_MAX][LAYERS] = {{{0}}};
    struct step caches[LAYERS] = {{0}};
    struct maker m = {.p = p};
    *p = (struct requests){0};
    for (unsigned l = 0; l < LAYERS; l++)
        make_block(&m, weight(l));
    for (unsigned i = 0; i < what->iterations; i++) {
        const unsigned shape = what->takes_turns ? (unsigned)(what->seed + i) % what->shapes
                                                 : (unsigned)random_below(&random, what->shapes);
        m.queue = i % what->queues;
        requests_add(p, &(struct step){.marks = true});
        make_iteration(&m, what, i, shape, gradients[m.queue], caches);
    }
    requests_finish(p);
}

/* ---- deviations ---- */

/* Frees that come later than recorded, by the number of the request before which they come. */
struct later {
    struct step step;
    unsigned at;
};

struct change {
    const struct requests *from;
    struct requests *to;
    struct random random;
    struct later *later; /* a queue: ascending `at` */
    unsigned later_count, later_capacity, later_done, request;
    uint64_t *sizes; /* by block; 0: left out */
};

static void emit_later(struct change *c)
{
    while (c->later_done < c->later_count && c->later[c->later_done].at <= c->request)
        requests_add(c->to, &c->later[c->later_done++].step);
}

static void free_later(struct change *c, const struct step *step, unsigned distance)
{
    c->later = must_grow(c->later, c->later_count, &c->later_capacity, sizeof *c->later);
    c->later[c->later_count] = (struct later){*step, c->request + distance};
    c->later[c->later_count++].step.frees = true;
}

static void insert(struct change *c, uint64_t bytes, unsigned queue, unsigned life)
{
    const struct step extra = {.block = c->to->block_count, .queue = queue, .size = bytes};
    requests_add(c->to, &extra);
    if (life)
        free_later(c, &extra, life);
}

static void request(struct change *c, struct step s, enum deviation kind, bool hit)
{
    if (hit && kind == DEVIATE_inserted)
        insert(c, s.size, s.queue, DISTANCE);
    if (hit && (kind == DEVIATE_larger || kind == DEVIATE_smaller))
        s.size = kind == DEVIATE_larger ? s.size + s.size / 8 + 1 : s.size - s.size / 8;
    c->sizes[s.block] = hit && kind == DEVIATE_dropped ? 0 : s.size;
    if (c->sizes[s.block])
        requests_add(c->to, &s);
    c->request++;
    emit_later(c);
}

void requests_deviate(const struct requests *p, enum deviation kind, double share, uint64_t seed,
                      struct requests *changed)
{
    struct change c = {.from = p, .to = changed, .random = {seed}};
    *changed = (struct requests){.block_count = p->block_count};
    c.sizes = must_alloc((p->block_count + 1) * sizeof *c.sizes);
    for (unsigned i = 0; i < p->count; i++) {
        struct step s = p->steps[i];
        const bool hit = (double)random_below(&c.random, 1000000) < share * 1e6;
        const struct step *next = i + 1 < p->count ? &p->steps[i + 1] : NULL;
        if (s.marks) {
            requests_add(changed, &s);
        } else if (!s.frees) {
            if (hit && kind == DEVIATE_swapped && next && !next->frees && !next->marks) {
                request(&c, *next, kind, false);
                i++;
            }
            request(&c, s, kind, hit);
        } else if (c.sizes[s.block]) {
            s.size = c.sizes[s.block];
            if (hit && kind == DEVIATE_delayed)
                free_later(&c, &s, DISTANCE);
            else
                requests_add(changed, &s);
        }
    }
    c.request = UINT32_MAX;
    emit_later(&c);
    free(c.later);
    free(c.sizes);
    requests_finish(changed);
}

void requests_insert(const struct requests *p, unsigned first, unsigned period, uint64_t bytes,
                     unsigned life, struct requests *changed)
{
    struct change c = {.from = p, .to = changed};
    *changed = (struct requests){.block_count = p->block_count};
    for (unsigned i = 0; i < p->count; i++) {
        const struct step *s = &p->steps[i];
        if (!s->marks && !s->frees) {
            if (c.request >= first && (c.request - first) % period == 0)
                insert(&c, bytes, s->queue, life);
            c.request++;
            requests_add(changed, s);
            emit_later(&c);
        } else {
            requests_add(changed, s);
        }
    }
    c.request = UINT32_MAX;
    emit_later(&c);
    free(c.later);
    requests_finish(changed);
}

/* ---- serving ---- */

static void released(void *context, uint64_t memory, uint64_t offset, uint64_t bytes)
{
    owners_forget(context, memory, offset, bytes);
}

static void serve_step(struct allocator *allocator, const struct step *s, struct block *blocks)
{
    const struct alloc_request request = {
        .size = s->size, .alignment = 1, .tag = "", .queue = s->queue};
    if (s->marks)
        allocator_mark(allocator, "step 1");
    else if (s->frees)
        must(allocator_free(allocator, &blocks[s->block], "", s->size), &allocator->source->error);
    else
        must(allocator_alloc(allocator, &request, &blocks[s->block]), &allocator->source->error);
}

void requests_serve(const struct requests *p, const char *spec, bool check, struct served *served)
{
    const struct dry_device device = replay_device(0, NULL);
    struct dry *dry = dry_open(&device);
    struct allocator allocator;
    struct allocator_plans plans = {.make = plan_of_trace};
    struct option_values values;
    const struct allocator_ops *ops;
    struct owners owners;
    struct error error;
    struct block *blocks = must_alloc((p->block_count + 1) * sizeof *blocks);
    *served = (struct served){0};
    must(allocator_parse_planned(&plans, spec, &ops, &values, &error), &error);
    must(allocator_open(&allocator, ops, &values, dry_source(dry), &error), &error);
    owners_open(&owners);
    if (check)
        dry_on_release(dry, released, &owners);
    const uint64_t start = clock_ns();
    for (unsigned i = 0; i < p->count; i++) {
        const struct step *s = &p->steps[i];
        if (check && s->frees)
            owners_give(&owners, &blocks[s->block]);
        serve_step(&allocator, s, blocks);
        if (!check)
            continue;
        const char *wrong =
            s->frees || s->marks ? NULL : owners_take(&owners, &blocks[s->block], s->queue);
        served->wrong = served->wrong ? served->wrong : wrong;
        served->broken += allocator_check(&allocator);
    }
    served->ns = 2 * (double)(clock_ns() - start) / p->count;
    served->peak_reserved_bytes = dry_source(dry)->counts.peak_reserved_bytes;
    served->end_reserved_bytes = dry_source(dry)->counts.reserved_bytes;
    const struct source_counts *c = &dry_source(dry)->counts;
    served->driver_calls = c->alloc_count + c->free_count + c->map_count + c->unmap_count;
    for (unsigned q = 0; q < ALLOCATOR_QUEUES_MAX && ops == &allocator_planned; q++)
        if (allocator.states[q])
            planned_count(allocator.states[q], &served->planned);
    allocator_close(&allocator);
    dry_close(dry);
    allocator_plans_free(&plans);
    owners_close(&owners);
    free(blocks);
}
