/* planned: offsets planned offline from a recording, served in its order.
 *
 *   1. The plan gives each request of the recording a slot: bytes at an offset of one arena, from its
 *      own time until another's. Time is counted in requests. Slots that live at once do not overlap.
 *      After the last request the sequence goes on at the beginning of the loop.
 *   2. The cursor is at the slot of the next request. A request of the slot's size, and of its tag
 *      where both are known, gets the slot, and the cursor moves on. There is no search.
 *   3. A live block that the plan has as freed by now is a stray: freed late, or handed out early. A
 *      slot is not handed out if its bytes are those of a stray. If there are none, all live blocks
 *      are live in the plan too, so the slot at the cursor is free.
 *   4. A request of another size or tag looks for the next slot of its size. If that is at most four
 *      slots ahead, and no live or skipped slot needs its bytes before, it is handed out early. If
 *      three requests in a row find slots in a row, up to 64 ahead, the cursor moves there: the slots
 *      between were left out. Farther ahead, or back at the loop's beginning, it takes eight. A slot
 *      that was left out and is never freed serves the next request of its size.
 *   5. A smaller request that has no slot of its own size gets the slot at the cursor, if at least
 *      half of it is used.
 *   6. All else goes to the fallback (`else`), and the cursor stays: what is inserted shifts nothing.
 *   7. At a mark, the beginning of an iteration, the cursor moves to the plan's next mark. When no
 *      planned block lives, a request that differs begins the sequence again.
 *   8. The arena is one memory, asked for at the first slot that is served. Without a live block in
 *      it, trim gives it back, and so does a request that is refused.
 *
 * Why: a program that repeats itself needs no allocator, only the places found once, and a planner
 * that sees all lifetimes comes close to the least memory. A wrong guess of which request it is costs
 * memory and never data. Source: static planners (STAlloc, openvm's VPMM, PyTorch's
 * CPUProfilingAllocator); rules 3 to 7 are gamut's, and say what those leave open.
 *
 * Queues: a block may be handed out while commands of its last owner still run. They come first,
 * because both are on one in-order queue: each queue has an instance of its own, with a sequence and
 * an arena of its own. The source's free makes released memory safe.
 *
 * Needs: alloc/offset_plan.c alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text.c base/text_bytes.c base/treap.c
 */
#include "alloc/planned.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/slab.h"
#include "base/treap.h"

enum {
    /* The first three were chosen on one program of bench_planned, where they lose least. */
    EARLY =
        4, /* slots ahead that may be handed out early: more take the places of later requests */
    RUN_NEAR = 3, /* requests in a row that say that up to NEAR slots were left out */
    NEAR = 64,
    RUN_FAR = 8,
    TAGS_TRIED = 16, /* slots of one size that are looked at for one of the same tag */
};
#define NO_PLACE UINT32_MAX

/* A slot and its state. */
struct place {
    uint64_t size, offset;
    uint32_t end, tag;
    uint32_t pass; /* number of the pass in which it was last handed out */
    bool live, is_stray;
};

struct stray {
    struct treap_node
        node; /* first: by the end of its bytes. Live blocks do not overlap, so that is
                             * the order of their offsets too */
    uint64_t offset, end;
};

/* The slots of one size. */
struct size_cell {
    uint64_t size; /* 0: unused */
    uint32_t first, first_in_loop;
    uint32_t head, pass; /* head: none before it is still to be served in this pass */
    uint32_t resident;   /* no slot before it that is never freed is without its block */
};

/* A tag of the program; `tag` is its number in the plan, 0 if the plan lacks it. */
struct tag_cell {
    const char *pointer;
    uint32_t tag;
};

struct planned {
    struct source *source;
    const struct offset_plan *plan;
    const struct plan_queue *queue; /* of this instance; NULL until its first request */
    struct place *places;           /* and one without bytes after the last */
    uint32_t *next_of_size;
    uint32_t *ends,
        *ends_of; /* slots in the order of their ends; ends_of[t]: the first of time t */
    uint32_t cursor, pass;
    bool arrived;          /* the slots that end at the cursor's time were looked at */
    uint32_t matched, run; /* the slot found last out of order, and how many were in a row */
    struct treap strays;
    struct slab spare_strays;
    struct size_cell *sizes;
    unsigned size_bits;
    struct tag_cell *tags;
    unsigned tag_bits;
    uint32_t tag_count;
    uint64_t arena, arena_bytes; /* 0: there is none */
    uint32_t refused_pass;       /* the pass in which there was no memory for it */
    uint32_t live_count;
    uint32_t spare_residents; /* slots before the cursor that are never freed and have no block */
    const struct allocator_ops *other; /* the fallback */
    struct option_values other_options;
    void *other_state;
    uint64_t direct_bytes; /* without a fallback: memories that requests got of the driver */
    struct planned_counts counts;
};

enum { OPTION_TRACE, OPTION_ELSE };
static const struct option_spec planned_options[] = {
    [OPTION_TRACE] = {.name = "trace",
                      .type = OPTION_TEXT,
                      .fallback = "",
                      .help = "file of a trace, or of the plan that gamut trace plan made of it"},
    [OPTION_ELSE] = {.name = "else",
                     .type = OPTION_TEXT,
                     .fallback = "caching",
                     .help = "strategy for requests that the plan does not have"},
    {0},
};

/* ---- what the program around provides ---- */

static pthread_mutex_t around_lock = PTHREAD_MUTEX_INITIALIZER;
static planned_plan_maker *plan_maker;
static planned_strategy_finder *strategy_finder;

void planned_use(planned_plan_maker *maker, planned_strategy_finder *finder)
{
    pthread_mutex_lock(&around_lock);
    plan_maker = maker ? maker : plan_maker;
    strategy_finder = finder ? finder : strategy_finder;
    pthread_mutex_unlock(&around_lock);
}

/* Plans by file, which stay until the process ends: each instance of each queue uses them. */
struct known_plan {
    struct known_plan *next;
    char *path;
    struct offset_plan plan;
};
static struct known_plan *known_plans;
static pthread_mutex_t plans_lock = PTHREAD_MUTEX_INITIALIZER;

static int load_plan(const char *path, struct offset_plan *plan, struct error *error)
{
    pthread_mutex_lock(&around_lock);
    planned_plan_maker *maker = plan_maker;
    pthread_mutex_unlock(&around_lock);
    if (!maker || plan_is_file(path))
        return plan_read(path, plan, error);
    TRY(maker(path, plan, error));
    int code = plan_verify(plan, error);
    if (code)
        plan_free(plan);
    return code;
}

/* An empty path: a plan without slots. */
static int find_plan(const char *path, const struct offset_plan **plan, struct error *error)
{
    static const struct offset_plan none = {.unit = 1, .mark = ""};
    *plan = &none;
    if (!path || !*path)
        return 0;
    int code = 0;
    pthread_mutex_lock(&plans_lock);
    struct known_plan *known = known_plans;
    while (known && strcmp(known->path, path) != 0)
        known = known->next;
    if (!known) {
        known = must_alloc(sizeof *known);
        code = load_plan(path, &known->plan, error);
        if (code) {
            free(known);
        } else {
            known->path = must_alloc(strlen(path) + 1);
            strcpy(known->path, path);
            known->next = known_plans;
            known_plans = known;
        }
    }
    pthread_mutex_unlock(&plans_lock);
    *plan = code ? NULL : &known->plan;
    return code;
}

/* Without a finder the driver serves what the plan does not: no strategy is needed for that. */
static int find_other(const struct option_values *options, const struct allocator_ops **ops,
                      struct option_values *values, struct error *error)
{
    const char *spec = option_text(options->value[OPTION_ELSE]);
    pthread_mutex_lock(&around_lock);
    planned_strategy_finder *finder = strategy_finder;
    pthread_mutex_unlock(&around_lock);
    *ops = NULL;
    *values = (struct option_values){{0}, {0}};
    if (!finder || !spec || !*spec)
        return 0;
    int code = finder(spec, ops, values, error);
    if (code)
        error_prefix(error, "planned: option else: ");
    else if (*ops == &allocator_planned || (*ops)->harness_only || (*ops)->opens_pool)
        code = error_set(error, ERR_USAGE,
                         "planned: option else is '%s', which cannot share a source: expected "
                         "another strategy, such as caching, pool or tlsf",
                         spec);
    return code;
}

static int planned_prepare(const struct option_values *options, struct error *error)
{
    const struct allocator_ops *ops;
    const struct offset_plan *plan;
    struct option_values values;
    const char *path = option_text(options->value[OPTION_TRACE]);
    if (!path || !*path)
        return error_set(error, ERR_USAGE,
                         "planned needs a trace: planned:trace=FILE, where FILE is a trace or the "
                         "plan that gamut trace plan made of it");
    TRY(find_other(options, &ops, &values, error));
    int code = find_plan(path, &plan, error);
    if (code)
        error_prefix(error, "planned: ");
    return code;
}

uint64_t planned_digest(const struct option_values *options)
{
    const struct offset_plan *plan;
    struct error error;
    return find_plan(option_text(options->value[OPTION_TRACE]), &plan, &error) ? 0 : plan->digest;
}

/* A plan has common device memory alone. */
static const struct allocator_ops *planned_apart(const struct option_values *options,
                                                 struct option_values *values)
{
    const struct allocator_ops *ops;
    struct error error;
    return find_other(options, &ops, values, &error) ? NULL : ops;
}

/* ---- start ---- */

static int by_range_end(const struct treap_node *left, const struct treap_node *right)
{
    const struct stray *a = (const struct stray *)left, *b = (const struct stray *)right;
    return a->end < b->end ? -1 : a->end > b->end;
}

static int planned_init(struct source *source, const struct option_values *options, void **state)
{
    const struct offset_plan *plan;
    const struct allocator_ops *other;
    struct option_values values;
    TRY(source_requires_split(source, "planned"));
    TRY(find_other(options, &other, &values, &source->error));
    TRY(find_plan(option_text(options->value[OPTION_TRACE]), &plan, &source->error));
    struct planned *p = must_alloc(sizeof *p);
    *p = (struct planned){.source = source,
                          .plan = plan,
                          .other = other,
                          .other_options = values,
                          .pass = 1,
                          .strays.compare = by_range_end,
                          .spare_strays.item_bytes = sizeof(struct stray)};
    int code = other ? other->init(source, &values, &p->other_state) : 0;
    if (code)
        free(p);
    else
        *state = p;
    return code;
}

static struct size_cell *size_cell(const struct planned *p, uint64_t size)
{
    const size_t mask = ((size_t)1 << p->size_bits) - 1;
    size_t i = size * 0x9e3779b97f4a7c15u >> (64 - p->size_bits);
    while (p->sizes[i].size && p->sizes[i].size != size)
        i = (i + 1) & mask;
    return &p->sizes[i];
}

static unsigned bits_for(uint32_t count)
{
    unsigned bits = 4;
    while ((UINT64_C(1) << bits) < 2 * (uint64_t)count + 2)
        bits++;
    return bits;
}

/* Links the slots of each size, backwards, so that the first found is the first in time. */
static void link_sizes(struct planned *p)
{
    p->size_bits = bits_for(p->queue->count);
    p->sizes = must_alloc(sizeof *p->sizes << p->size_bits);
    for (uint32_t i = p->queue->count; i-- > 0;) {
        struct size_cell *cell = size_cell(p, p->places[i].size);
        if (!cell->size)
            *cell = (struct size_cell){
                .size = p->places[i].size, .first = NO_PLACE, .first_in_loop = NO_PLACE};
        p->next_of_size[i] = cell->first;
        cell->first = cell->head = cell->resident = i;
        if (i >= p->queue->loop)
            cell->first_in_loop = i;
    }
}

/* Sorts the slots by their ends. */
static void sort_ends(struct planned *p)
{
    const uint32_t count = p->queue->count;
    uint32_t *of = p->ends_of = must_alloc((count + (size_t)2) * sizeof *of);
    p->ends = must_alloc((count + (size_t)1) * sizeof *p->ends);
    for (uint32_t i = 0; i < count; i++)
        if (p->places[i].end != PLAN_FOREVER)
            of[p->places[i].end + 1]++;
    for (uint32_t t = 0; t <= count; t++)
        of[t + 1] += of[t];
    for (uint32_t i = 0; i < count; i++)
        if (p->places[i].end != PLAN_FOREVER)
            p->ends[of[p->places[i].end]++] = i;
    memmove(of + 1, of, (count + (size_t)1) * sizeof *of);
    of[0] = 0;
}

/* The queue is known at the first request. */
static void open_queue(struct planned *p, unsigned queue)
{
    static const struct plan_queue none;
    p->queue = &none;
    for (unsigned i = 0; i < p->plan->queue_count; i++)
        if (p->plan->queues[i].queue == queue)
            p->queue = &p->plan->queues[i];
    const uint32_t count = p->queue->count;
    p->places = must_alloc((count + (size_t)1) * sizeof *p->places);
    p->next_of_size = must_alloc((count + (size_t)1) * sizeof *p->next_of_size);
    for (uint32_t i = 0; i < count; i++) {
        const struct plan_slot *s = &p->queue->slots[i];
        p->places[i] =
            (struct place){.size = s->size, .offset = s->offset, .end = s->end, .tag = s->tag};
    }
    link_sizes(p);
    sort_ends(p);
    p->tag_bits = 4;
    p->tags = must_alloc(sizeof *p->tags << p->tag_bits);
}

/* ---- tags ---- */

static struct tag_cell *tag_cell(const struct planned *p, const char *pointer)
{
    const size_t mask = ((size_t)1 << p->tag_bits) - 1;
    size_t i = (uint64_t)(uintptr_t)pointer * 0x9e3779b97f4a7c15u >> (64 - p->tag_bits);
    while (p->tags[i].pointer && p->tags[i].pointer != pointer)
        i = (i + 1) & mask;
    return &p->tags[i];
}

static void add_tag(struct planned *p, const char *pointer)
{
    uint32_t tag = 0;
    if (2 * (p->tag_count + 1) > UINT32_C(1) << p->tag_bits) {
        struct tag_cell *old = p->tags;
        const size_t count = (size_t)1 << p->tag_bits++;
        p->tags = must_alloc(sizeof *p->tags << p->tag_bits);
        for (size_t i = 0; i < count; i++)
            if (old[i].pointer)
                *tag_cell(p, old[i].pointer) = old[i];
        free(old);
    }
    for (uint32_t i = 1; i < p->plan->tag_count && !tag && *pointer; i++)
        if (strcmp(p->plan->tags[i], pointer) == 0)
            tag = i;
    p->tag_count++;
    *tag_cell(p, pointer) = (struct tag_cell){pointer, tag};
}

/* The number of a request's tag in the plan; 0: it is not known there. */
static inline uint32_t tag_of(struct planned *p, const char *pointer)
{
    if (!pointer || p->plan->tag_count <= 1)
        return 0;
    if (!tag_cell(p, pointer)->pointer)
        add_tag(p, pointer);
    return tag_cell(p, pointer)->tag;
}

static inline bool agree(uint32_t tag, const struct place *place)
{
    return tag == place->tag || !tag || !place->tag;
}

/* ---- strays ---- */

static bool is_taken(const struct planned *p, uint64_t offset, uint64_t end)
{
    const struct stray key = {.end = offset + 1};
    const struct stray *s = (struct stray *)treap_from(&p->strays, &key.node);
    return s && s->offset < end;
}

static void make_stray(struct planned *p, struct place *place)
{
    struct stray *s = slab_take(&p->spare_strays);
    s->offset = place->offset;
    s->end = place->offset + place->size;
    treap_insert(&p->strays, &s->node);
    place->is_stray = true;
}

static void drop_stray(struct planned *p, struct place *place)
{
    const struct stray key = {.end = place->offset + place->size};
    struct treap_node *node = treap_from(&p->strays, &key.node);
    treap_remove(&p->strays, node);
    slab_give(&p->spare_strays, node);
    place->is_stray = false;
}

/* ---- the cursor ---- */

static void expire(struct planned *p, uint32_t time)
{
    for (uint32_t k = p->ends_of[time]; k < p->ends_of[time + 1]; k++) {
        struct place *place = &p->places[p->ends[k]];
        if (place->live && !place->is_stray)
            make_stray(p, place);
    }
}

/* What should have been freed by the cursor's time, and was not, is a stray from here on. */
static inline void arrive(struct planned *p)
{
    if (p->arrived)
        return;
    p->arrived = true;
    if (p->cursor == p->queue->loop && p->pass > 1)
        expire(p, p->queue->count); /* what ends after the last request of a round */
    if (p->cursor < p->queue->count)
        expire(p, p->cursor);
}

static inline bool is_served(const struct planned *p, uint32_t i)
{
    return p->places[i].pass == p->pass;
}

static inline bool is_spare_resident(const struct place *place)
{
    return place->end == PLAN_FOREVER && !place->live;
}

/* Moves the cursor past its slot, and past those after it that were handed out early. */
static inline void step(struct planned *p)
{
    const uint32_t count = p->queue->count;
    for (;;) {
        p->spare_residents += is_spare_resident(&p->places[p->cursor]);
        p->cursor++;
        p->arrived = false;
        if (p->cursor == count && p->queue->loop < count) {
            p->cursor = p->queue->loop;
            p->pass++;
        }
        if (p->cursor == count || !is_served(p, p->cursor))
            return;
        arrive(p);
        struct place *place = &p->places[p->cursor];
        if (place->is_stray)
            drop_stray(p, place);
    }
}

/* Does the plan have the block of a live slot just before the request of a time? It was handed out
 * before that time, or in the round before. */
static bool lives_at(uint32_t i, const struct place *place, uint32_t time)
{
    if (place->end <= i)
        return i < time || time <= place->end;
    return i < time && time <= place->end;
}

/* Takes the sequence up at another time, in a new pass. */
static void jump(struct planned *p, uint32_t time)
{
    p->cursor = time;
    p->pass++;
    p->arrived = false;
    p->run = 0;
    p->counts.jump_count++;
    p->spare_residents = 0;
    for (uint32_t i = 0; i < p->queue->count; i++) {
        struct place *place = &p->places[i];
        p->spare_residents += i < time && is_spare_resident(place);
        const bool stray = place->live && !lives_at(i, place, time);
        if (stray && !place->is_stray)
            make_stray(p, place);
        else if (!stray && place->is_stray)
            drop_stray(p, place);
    }
}

/* Moves the cursor ahead to a slot of this pass. */
static void skip_to(struct planned *p, uint32_t i)
{
    p->counts.jump_count++;
    p->run = 0;
    while (p->cursor < i) {
        arrive(p);
        step(p);
    }
}

/* ---- requests out of order ---- */

static bool overlap(const struct place *a, const struct place *b)
{
    return a->offset != PLAN_NOT_PLANNED && b->offset != PLAN_NOT_PLANNED &&
           a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

/* Whether a slot ahead can be handed out now: no live block has its bytes, and no slot before it
 * still needs them. What lives at the cursor and at the slot's own time does not overlap it. */
static bool is_ready(const struct planned *p, uint32_t i)
{
    const struct place *place = &p->places[i];
    if (place->offset == PLAN_NOT_PLANNED)
        return true;
    if (place->live || is_taken(p, place->offset, place->offset + place->size))
        return false;
    for (uint32_t t = p->cursor; t < i; t++) {
        if (!is_served(p, t) && overlap(place, &p->places[t]))
            return false;
        for (uint32_t k = p->ends_of[t + 1]; k < p->ends_of[t + 2]; k++)
            if (p->places[p->ends[k]].live && overlap(place, &p->places[p->ends[k]]))
                return false;
    }
    return true;
}

/* The next slot of a size and tag that was not served in this pass. */
static uint32_t next_of(struct planned *p, struct size_cell *cell, uint32_t tag)
{
    if (cell->pass != p->pass) {
        cell->pass = p->pass;
        cell->head = p->cursor < p->queue->loop ? cell->first : cell->first_in_loop;
    }
    uint32_t i = cell->head;
    while (i != NO_PLACE && (i < p->cursor || is_served(p, i)))
        i = p->next_of_size[i];
    cell->head = i;
    for (unsigned tried = 0; i != NO_PLACE && tried < TAGS_TRIED; tried++) {
        if (!is_served(p, i) && agree(tag, &p->places[i]))
            return i;
        i = p->next_of_size[i];
    }
    return NO_PLACE;
}

/* A slot that is never freed and was passed without a request: its bytes are those of no other slot. */
static uint32_t resident_of(const struct planned *p, struct size_cell *cell, uint32_t tag)
{
    uint32_t i = cell->resident;
    while (i < p->cursor && !is_spare_resident(&p->places[i]))
        i = p->next_of_size[i];
    cell->resident = i;
    return i < p->cursor && agree(tag, &p->places[i]) ? i : NO_PLACE;
}

static void note_match(struct planned *p, uint32_t i)
{
    p->run = i == p->matched + 1 ? p->run + 1 : 1;
    p->matched = i;
}

/* Where a request may be in the plan: after the one found last, or the next one of its size, or the
 * first in the loop. */
static uint32_t next_match(struct planned *p, struct size_cell *cell, uint64_t size, uint32_t tag)
{
    const uint32_t follows = p->matched + 1;
    if (follows < p->queue->count && p->places[follows].size == size && !is_served(p, follows) &&
        agree(tag, &p->places[follows]))
        return follows;
    const uint32_t i = next_of(p, cell, tag), first = cell->first_in_loop;
    return i != NO_PLACE                                        ? i
           : first < p->cursor && agree(tag, &p->places[first]) ? first
                                                                : NO_PLACE;
}

/* The slot for a request that is not the one at the cursor; NO_PLACE: none. */
static uint32_t find_place(struct planned *p, const struct alloc_request *request, uint32_t tag)
{
    const struct place *at = &p->places[p->cursor];
    if (!p->live_count && p->queue->count && p->places[0].size == request->size &&
        agree(tag, &p->places[0])) {
        jump(p, 0);
        return 0;
    }
    struct size_cell *cell = size_cell(p, request->size);
    if (!cell->size)
        return at->size > request->size && at->size / 2 <= request->size && agree(tag, at)
                   ? p->cursor
                   : NO_PLACE;
    const uint32_t i = next_match(p, cell, request->size, tag);
    if (i == NO_PLACE)
        return NO_PLACE;
    const bool is_ahead = i >= p->cursor, is_near = is_ahead && i - p->cursor <= NEAR;
    note_match(p, i);
    if (p->run >= (is_near ? RUN_NEAR : RUN_FAR)) {
        if (is_ahead)
            skip_to(p, i);
        else
            jump(p, i);
        return i;
    }
    arrive(p);
    return is_ahead && i - p->cursor <= EARLY && is_ready(p, i) ? i : NO_PLACE;
}

/* ---- requests ---- */

static int trim_other(struct planned *p)
{
    return p->other ? p->other->trim(p->other_state) : 0;
}

static int release_arena(struct planned *p)
{
    const uint64_t arena = p->arena, bytes = p->arena_bytes;
    if (!arena || p->live_count)
        return 0;
    p->arena = p->arena_bytes = 0;
    return source_free(p->source, arena, bytes);
}

static int make_arena(struct planned *p)
{
    if (p->refused_pass == p->pass)
        return ERR_OOM;
    const uint64_t bytes = p->queue->height;
    int code = source_alloc(p->source, bytes, SOURCE_LAZY, &p->arena);
    if (code == ERR_OOM) {
        const uint64_t held = p->source->counts.reserved_bytes;
        TRY(trim_other(p));
        if (p->source->counts.reserved_bytes < held)
            code = source_alloc(p->source, bytes, SOURCE_LAZY, &p->arena);
    }
    if (code == ERR_OOM)
        p->refused_pass = p->pass;
    if (!code)
        p->arena_bytes = bytes;
    else
        p->arena = 0;
    return code;
}

static int ask_other(struct planned *p, const struct alloc_request *request, struct block *block)
{
    if (p->other)
        return p->other->alloc(p->other_state, request, block);
    *block = (struct block){.size = request->size};
    TRY(source_alloc(p->source, request->size, SOURCE_LAZY, &block->memory));
    p->direct_bytes += request->size;
    return 0;
}

/* Serves a request from elsewhere. The arena makes room for it if no block lives in it. */
static int serve_other(struct planned *p, const struct alloc_request *request, struct block *block)
{
    int code = ask_other(p, request, block);
    if (code == ERR_OOM && p->arena && !p->live_count) {
        TRY(release_arena(p));
        code = ask_other(p, request, block);
    }
    return code;
}

#define COUNT(p, name, bytes)                                                                      \
    ((void)(p)->counts.name##_count++, (void)((p)->counts.name##_bytes += (bytes)))

/* A slot that is not handed out: why not. It counts as served, so the cursor passes it. */
static int serve_unplanned(struct planned *p, struct place *place, int code,
                           const struct alloc_request *request, struct block *block)
{
    if (code && code != ERR_OOM)
        return code;
    if (place->offset == PLAN_NOT_PLANNED)
        COUNT(p, left_out, request->size);
    else if (code)
        COUNT(p, no_arena, request->size);
    else
        COUNT(p, busy, request->size);
    return serve_other(p, request, block);
}

/* Hands a slot out if its bytes are free, else serves the request from elsewhere. `passes`: it is the
 * request of the cursor's slot. */
static int serve_place(struct planned *p, uint32_t i, bool passes,
                       const struct alloc_request *request, struct block *block)
{
    struct place *place = &p->places[i];
    arrive(p);
    const bool fits = place->offset != PLAN_NOT_PLANNED && !place->live &&
                      (place->offset & (request->alignment - 1)) == 0 &&
                      !(p->strays.root && is_taken(p, place->offset, place->offset + place->size));
    const int code = fits && !p->arena ? make_arena(p) : 0;
    const bool serves = fits && !code;
    p->places[passes ? p->cursor : i].pass = p->pass;
    if (serves) {
        p->spare_residents -= i < p->cursor && is_spare_resident(place);
        place->live = true;
        p->live_count++;
        if (i != p->cursor && !lives_at(i, place, p->cursor))
            make_stray(p, place);
    }
    if (passes)
        step(p); /* after the block lives: the step may find that it should not any more */
    if (!serves)
        return serve_unplanned(p, place, code, request, block);
    COUNT(p, hit, request->size);
    *block = (struct block){
        .memory = p->arena, .offset = place->offset, .size = place->size, .node = place};
    return 0;
}

/* A request of the size of a spare resident may be the one that was missed. If it is, another slot
 * would be lost for good; if it is not, the resident's is spare again soon. */
static uint32_t spare_resident(struct planned *p, const struct alloc_request *request, uint32_t tag)
{
    struct size_cell *cell = size_cell(p, request->size);
    return cell->size ? resident_of(p, cell, tag) : NO_PLACE;
}

static int planned_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct planned *p = state;
    if (!p->queue)
        open_queue(p, request->queue);
    const struct place *at = &p->places[p->cursor];
    const uint32_t tag = tag_of(p, request->tag);
    const bool is_next = at->size == request->size && agree(tag, at);
    uint32_t i = NO_PLACE;
    if (p->spare_residents && p->live_count && !(is_next && at->end == PLAN_FOREVER))
        i = spare_resident(p, request, tag);
    if (i == NO_PLACE)
        i = is_next ? p->cursor : find_place(p, request, tag);
    if (i != NO_PLACE)
        return serve_place(p, i, is_next || i == p->cursor, request, block);
    at = &p->places[p->cursor];
    if (tag && at->tag == tag && at->size < request->size) {
        /* By its tag it is the slot's request. */
        COUNT(p, larger, request->size);
        arrive(p);
        p->places[p->cursor].pass = p->pass;
        step(p);
    } else {
        COUNT(p, inserted, request->size);
    }
    return serve_other(p, request, block);
}

static int planned_free(void *state, const struct block *block, const char *tag)
{
    struct planned *p = state;
    if (p->arena && block->memory == p->arena) {
        struct place *place = block->node;
        place->live = false;
        p->live_count--;
        if (place->end == PLAN_FOREVER) {
            struct size_cell *cell = size_cell(p, place->size);
            cell->resident = cell->first;
            p->spare_residents += place < &p->places[p->cursor];
        }
        if (place->is_stray)
            drop_stray(p, place);
        return 0;
    }
    if (p->other)
        return p->other->free(p->other_state, block, tag);
    p->direct_bytes -= block->size;
    return source_free(p->source, block->memory, block->size);
}

/* The loop's beginning is also its end. */
static uint32_t nearest_mark(const struct planned *p)
{
    const struct plan_queue *q = p->queue;
    uint32_t nearest = p->cursor, least = UINT32_MAX;
    for (uint32_t i = 0; i < q->mark_count; i++) {
        const uint32_t time = q->marks[i];
        uint32_t distance = time > p->cursor ? time - p->cursor : p->cursor - time;
        if (time == q->loop && q->count - p->cursor < distance)
            distance = q->count - p->cursor;
        if (distance < least) {
            least = distance;
            nearest = time;
        }
    }
    return nearest;
}

static void planned_mark(void *state, const char *name)
{
    struct planned *p = state;
    char mark[128];
    if (!p->queue || !p->queue->mark_count || !*p->plan->mark)
        return;
    plan_mark_name(mark, name);
    if (strcmp(mark, p->plan->mark) != 0)
        return;
    const uint32_t time = nearest_mark(p);
    if (time != p->cursor)
        jump(p, time);
}

static int planned_trim(void *state)
{
    struct planned *p = state;
    int first_failure = trim_other(p);
    int code = release_arena(p);
    p->refused_pass = 0;
    return first_failure ? first_failure : code;
}

/* ---- checks ---- */

static int by_offset(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Live blocks do not overlap. A live block that is no stray is live in the plan, too. */
static unsigned check_places(const struct planned *p)
{
    struct place **live = must_alloc((p->live_count + (size_t)1) * sizeof *live);
    unsigned broken = 0;
    uint32_t count = 0;
    uint64_t strays = 0, members;
    const bool begins_round = p->cursor == p->queue->loop && p->pass > 1 && !p->arrived;
    for (uint32_t i = 0; i < p->queue->count; i++) {
        struct place *place = &p->places[i];
        strays += place->is_stray;
        broken += place->is_stray && !place->live;
        if (!place->live)
            continue;
        broken += !place->is_stray && !lives_at(i, place, p->cursor) &&
                  !(begins_round && place->end == p->queue->count);
        broken += place->offset + place->size > p->arena_bytes;
        if (count < p->live_count)
            live[count] = place;
        count++;
    }
    uint32_t spare = 0;
    for (uint32_t i = 0; i < p->cursor; i++)
        spare += is_spare_resident(&p->places[i]);
    broken += spare != p->spare_residents;
    broken += count != p->live_count;
    if (!broken) {
        qsort(live, count, sizeof *live, by_offset);
        for (uint32_t i = 1; i < count; i++)
            broken += live[i - 1]->offset + live[i - 1]->size > live[i]->offset;
    }
    broken += treap_check(&p->strays, &members);
    free(live);
    return broken + (members != strays);
}

static unsigned planned_check(const void *state)
{
    const struct planned *p = state;
    unsigned broken = p->other ? p->other->check(p->other_state) : 0;
    broken += (p->arena == 0) != (p->arena_bytes == 0) || (p->live_count && !p->arena);
    if (!p->queue)
        return broken;
    broken += p->cursor > p->queue->count;
    broken += p->cursor < p->queue->count && is_served(p, p->cursor);
    return broken + check_places(p);
}

static uint64_t planned_reserved(const void *state)
{
    const struct planned *p = state;
    return p->arena_bytes + (p->other ? p->other->reserved(p->other_state) : p->direct_bytes);
}

static void planned_fini(void *state)
{
    struct planned *p = state;
    p->live_count = 0;
    release_arena(p);
    if (p->other)
        p->other->fini(p->other_state);
    slab_free(&p->spare_strays);
    free(p->places);
    free(p->next_of_size);
    free(p->ends);
    free(p->ends_of);
    free(p->sizes);
    free(p->tags);
    free(p);
}

void planned_count(const void *state, struct planned_counts *counts)
{
    const struct planned *p = state;
#define X(name, help)                                                                              \
    counts->name##_count += p->counts.name##_count;                                                \
    counts->name##_bytes += p->counts.name##_bytes;
    PLANNED_LIST(X)
#undef X
    counts->jump_count += p->counts.jump_count;
    counts->arena_bytes += p->arena_bytes;
    counts->fallback_bytes += planned_reserved(p) - p->arena_bytes;
}

static const struct allocator_origin planned_origins[] = {
    {.what = "gamut's own design: rules 3 to 7"},
    {.what = "STAlloc: planning from a profiled run, arXiv 2507.16274", .year = 2025},
    {.what = "openvm's static planner: recording and replaying allocations, pull request 377",
     .repository = "openvm-org/stark-backend",
     .year = 2026},
    {.what = "PyTorch's CPUProfilingAllocator",
     .repository = "pytorch/pytorch",
     .file = "c10/mobile/CPUProfilingAllocator.cpp"},
    {0},
};

const struct allocator_ops allocator_planned = {
    .version = ALLOCATOR_API_VERSION,
    .name = "planned",
    .summary = "offsets planned from a recording, served in its order without searching",
    .origins = planned_origins,
    .options = planned_options,
    .needs = "trace",
    .queues = QUEUES_APART,
    .prepare = planned_prepare,
    .apart = planned_apart,
    .init = planned_init,
    .alloc = planned_alloc,
    .free = planned_free,
    .mark = planned_mark,
    .trim = planned_trim,
    .check = planned_check,
    .reserved = planned_reserved,
    .fini = planned_fini,
};
