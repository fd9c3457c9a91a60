#include "replay/ages.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/pytorch_conf.h"
#include "base/arena.h"
#include "base/sort.h"

enum { NONE = UINT32_MAX, COLLECTIONS_MOST = 1000 }; /* later ones say nothing of the start */

struct segment {
    uint64_t address, bytes, live;
    uint64_t free_since; /* searches when it became wholly free */
    unsigned pool;
    unsigned start;   /* its place in `starts`, if it has been free since the start; else NONE */
    bool is_released; /* by the current run of releases */
};

/* A memory that was wholly free at the start: until how many collections had been. */
struct start {
    uint64_t address, age;
    unsigned free_until, released_by; /* released_by: the collection; NONE: none */
};

/* A collection: wholly free large segments whose age is known. */
struct collection {
    uint64_t searches, count, age_sum, left_most; /* left_most: age of the oldest that was left */
};

struct finding {
    struct segment *segments; /* by address */
    unsigned segment_count, segment_capacity;
    struct start *starts;
    unsigned start_count, start_capacity;
    struct collection collections[COLLECTIONS_MOST];
    unsigned collection_count;
    uint64_t *address_of; /* by slot */
    unsigned slot_capacity;
    uint64_t searches;
    bool began, is_trimmed, ends_at_done;
    bool has_run, has_others; /* a run of releases; one that no collection makes is in it */
};

/* ---- segments ---- */

static struct segment *segment_of(struct finding *f, uint64_t address)
{
    unsigned i;
    FIND_PLACE(i, f->segment_count, f->segments[i].address + f->segments[i].bytes <= address);
    return i < f->segment_count && f->segments[i].address <= address ? &f->segments[i] : NULL;
}

static void add_segment(struct finding *f, const struct trace_event *e)
{
    unsigned i;
    FIND_PLACE(i, f->segment_count, f->segments[i].address < e->address);
    f->segments =
        must_grow(f->segments, f->segment_count, &f->segment_capacity, sizeof *f->segments);
    memmove(f->segments + i + 1, f->segments + i, (f->segment_count++ - i) * sizeof *f->segments);
    f->segments[i] = (struct segment){.address = e->address,
                                      .bytes = e->bytes,
                                      .pool = e->pool,
                                      .free_since = f->searches,
                                      .start = NONE};
}

static void drop_released(struct finding *f)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < f->segment_count; i++)
        if (!f->segments[i].is_released)
            f->segments[kept++] = f->segments[i];
    f->segment_count = kept;
}

static bool can_be_collected(const struct segment *s)
{
    return s->live == 0 && s->pool == 0 && s->bytes > PYTORCH_SMALL_SEGMENT_BYTES;
}

/* ---- what was collected ---- */

/* The start is over: notes what is wholly free. Blocks may stand before their memory. */
static void begin(struct finding *f)
{
    f->began = true;
    for (unsigned slot = 0; slot < f->slot_capacity; slot++) {
        struct segment *s = segment_of(f, f->address_of[slot]);
        if (s)
            s->live++;
    }
    for (unsigned i = 0; i < f->segment_count; i++) {
        struct segment *s = &f->segments[i];
        if (!can_be_collected(s))
            continue;
        f->starts = must_grow(f->starts, f->start_count, &f->start_capacity, sizeof *f->starts);
        f->starts[f->start_count] =
            (struct start){.address = s->address, .free_until = NONE, .released_by = NONE};
        s->start = f->start_count++;
    }
}

/* The request that collects is a search too. A small one is not, but then all ages are one less,
 * and the least age is the same. */
static void note_collection(struct finding *f)
{
    struct collection *c = &f->collections[f->collection_count];
    *c = (struct collection){.searches = f->searches + 1};
    for (unsigned i = 0; i < f->segment_count; i++) {
        const struct segment *s = &f->segments[i];
        const uint64_t age = c->searches - s->free_since;
        if (!can_be_collected(s))
            continue;
        if (s->start != NONE) {
            if (s->is_released)
                f->starts[s->start].released_by = f->collection_count;
            continue;
        }
        c->count++;
        c->age_sum += age;
        if (!s->is_released && age > c->left_most)
            c->left_most = age;
    }
    f->collection_count++;
}

static void end_run(struct finding *f, const struct trace_event *next)
{
    if (f->has_run && next->kind == TRACE_driver_alloc && !f->has_others && !f->is_trimmed &&
        f->collection_count < COLLECTIONS_MOST)
        note_collection(f);
    if (f->has_run)
        drop_released(f);
    f->has_run = f->has_others = false;
    f->is_trimmed = next->kind == TRACE_trim;
}

/* ---- events ---- */

static void use(struct finding *f, const struct trace_event *e)
{
    f->address_of = must_reach(f->address_of, e->slot, &f->slot_capacity, sizeof *f->address_of);
    f->address_of[e->slot] = e->address;
    if (!f->began)
        return;
    struct segment *s = segment_of(f, e->address);
    f->searches += e->bytes > PYTORCH_SMALL_MOST_BYTES && e->pool == 0;
    if (!s)
        return;
    s->live++;
    if (s->start != NONE)
        f->starts[s->start].free_until = f->collection_count;
    s->start = NONE;
}

static void end_use(struct finding *f, unsigned slot)
{
    struct segment *s = slot < f->slot_capacity ? segment_of(f, f->address_of[slot]) : NULL;
    if (s && s->live && --s->live == 0)
        s->free_since = f->searches;
}

static void take(struct finding *f, const struct trace_event *e)
{
    if (e->kind == TRACE_driver_free) {
        struct segment *s = segment_of(f, e->address);
        f->has_run = true;
        f->has_others |= !s || !can_be_collected(s);
        if (s)
            s->is_released = true;
        return;
    }
    end_run(f, e);
    if (e->kind == TRACE_start)
        begin(f);
    else if (e->kind == TRACE_driver_alloc)
        add_segment(f, e);
    else if (e->kind == TRACE_held || e->kind == TRACE_alloc)
        use(f, e);
    else if (e->kind == TRACE_done || (e->kind == TRACE_free && !f->ends_at_done))
        end_use(f, e->slot);
}

/* ---- the least ages ---- */

/* The least age at the start of the memory that collection `at` released, so that what it left is
 * younger than the average. What it released is then older than that: it has been free for longer
 * than what was used since the start. Ages of what later ones released are known. */
static uint64_t least_age(const struct finding *f, unsigned at)
{
    const struct collection *c = &f->collections[at];
    double sum = (double)c->age_sum, left_most = (double)c->left_most;
    double count = (double)c->count, released = 0;
    for (unsigned i = 0; i < f->start_count; i++) {
        const struct start *s = &f->starts[i];
        if (s->free_until <= at || s->released_by < at)
            continue;
        count++;
        if (s->released_by == at) {
            released++;
            continue;
        }
        const double age = (double)(c->searches + s->age);
        sum += age;
        left_most = age > left_most ? age : left_most;
    }
    const double now = (double)c->searches;
    const double age = (left_most * count - sum) / released - now + 1;
    return age > 0 ? (uint64_t)age : 0;
}

static void find_ages(struct finding *f)
{
    for (unsigned at = f->collection_count; at-- > 0;) {
        bool any = false;
        for (unsigned i = 0; i < f->start_count; i++)
            any |= f->starts[i].released_by == at;
        const uint64_t age = any ? least_age(f, at) : 0;
        for (unsigned i = 0; i < f->start_count; i++)
            if (f->starts[i].released_by == at)
                f->starts[i].age = age;
    }
}

int ages_find(struct trace_reader *reader, struct ages *ages, struct error *error)
{
    struct finding *f = must_alloc(sizeof *f);
    struct trace_event event;
    f->ends_at_done = trace_reader_info(reader)->knows[TRACE_KNOWS_done];
    int more = trace_rewind(reader, error);
    while (!more && (more = trace_next(reader, &event, error)) > 0) {
        take(f, &event);
        more = 0;
    }
    find_ages(f);
    *ages = (struct ages){.count = f->start_count};
    ages->memories = must_alloc((f->start_count + 1) * sizeof *ages->memories);
    for (unsigned i = 0; i < f->start_count; i++)
        ages->memories[i] = (struct ages_memory){f->starts[i].address, f->starts[i].age};
    free(f->segments);
    free(f->starts);
    free(f->address_of);
    free(f);
    return more;
}

uint64_t ages_of(const struct ages *ages, uint64_t address)
{
    unsigned i;
    FIND_PLACE(i, ages->count, ages->memories[i].address < address);
    return i < ages->count && ages->memories[i].address == address ? ages->memories[i].age : 0;
}

void ages_free(struct ages *ages)
{
    free(ages->memories);
    *ages = (struct ages){0};
}
