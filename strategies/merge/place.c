/* Placing: memories go to another space than the device's, where `with=` asks for that.
 *
 *   pinned  A program that asks the device whether to go on reads an element of an array: it waits,
 *           and a copy brings some bytes. What lies in memory of the host, into which the device
 *           writes, is there after the wait, and the host loads it. Kernels reach such memory
 *           across a bus, so it is worth it for what is small.
 *
 * A block stays in its space (the verifier sees to that), and loops and branches pass blocks on. So
 * what moves is a group: all memories that may be one another's block (memory.h). It moves if
 *
 *   R7  nothing of it is the caller's: parameters are in device memory
 *   V2  the sizes of its blocks are known: as numbers, or by a bound that assertions give
 *   P1  none of them is larger than what is worth moving
 *   P2  for each block: all the others of the group may move as well
 *
 *   late    place_late.c
 *
 * It is the last pass of every set: what the passes before have merged goes together, or stays.
 * What the host reads would then stay nearly always, in a large block that it came into by `reuse`
 * or `plan`. So before these a pass of its own, `answers`, moves what may be moved; the others
 * leave it alone there (R8). It comes behind `coalesce`: copies that can be done without go first.
 */
#include <stdlib.h>

#include "merge/analysis.h"
#include "merge/list.h"
#include "merge/place.h"

enum { PINNED_BYTES_MAX = 4096 }; /* a page: answers to questions, not data */

struct placer {
    struct analysis a;
    int *group;           /* by memory name: another one of its group, or itself; a forest */
    struct expr *largest; /* PINNED_BYTES_MAX */
    bool again;           /* `place` will look at what stays */
};

static struct name *name_at(const struct placer *p, int name)
{
    return &p->a.m->fun->names[name];
}

/* ---- groups --------------------------------------------------------------------------------- */

int place_group(int *group, int memory)
{
    while (group[memory] != memory)
        memory = group[memory] = group[group[memory]];
    return memory;
}

static int group_of(const struct placer *p, int memory)
{
    return place_group(p->group, memory);
}

static void find_groups(struct placer *p)
{
    const unsigned names = p->a.m->fun->name_count;
    p->group = must_alloc((names + 1) * sizeof *p->group);
    for (unsigned n = 0; n < names; n++)
        p->group[n] = (int)n;
    for (unsigned n = 0; n < names; n++) {
        const struct memory *of = &p->a.map->of[n];
        for (unsigned i = 0; i < of->actual_count; i++)
            p->group[group_of(p, of->actuals[i])] = group_of(p, (int)n);
    }
}

/* ---- what may move -------------------------------------------------------------------------- */

/* Why a block cannot move, whatever the others do. */
static enum merge_condition refuses(struct placer *p, int block)
{
    const struct memory *of = &p->a.map->of[block];
    const int64_t bytes = p->a.numbers->bytes[block];
    if (of->kind == MEMORY_PARAMETER)
        return merge_checks(p->a.m, CONDITION_foreign) ? CONDITION_foreign : MERGE_ALLOWED;
    if (bytes != UNKNOWN_BYTES)
        return bytes <= PINNED_BYTES_MAX ? MERGE_ALLOWED : CONDITION_too_large;
    return analysis_enough_bytes(&p->a, p->largest, of->alloc->expr, of->position)
               ? MERGE_ALLOWED
               : CONDITION_unknown_size;
}

/* A block of the group that cannot move, or NO_NAME. */
static int obstacle(struct placer *p, int group)
{
    for (unsigned b = 0; b < p->a.map->block_count; b++) {
        int block = p->a.map->blocks[b];
        if (group_of(p, block) == group && refuses(p, block))
            return block;
    }
    return NO_NAME;
}

/* ---- moving --------------------------------------------------------------------------------- */

static void note(struct placer *p, int block, int read, enum merge_condition refused, int other)
{
    const struct memory *of = &p->a.map->of[block];
    struct arena *arena = &p->a.m->program->arena;
    const char *detail = refused == CONDITION_shared
                             ? arena_printf(arena, "'%s'", name_at(p, other)->text)
                             : arena_printf(arena, "the host reads '%s'", name_at(p, read)->text);
    merge_note(p->a.m,
               &(struct merge_event){.action = MERGE_MOVED,
                                     .refused = refused,
                                     .at = of->alloc ? of->alloc->at : name_at(p, block)->at,
                                     .array = NO_NAME,
                                     .from = block,
                                     .into = NO_NAME,
                                     .space = SPACE_PINNED,
                                     .detail = detail});
}

/* Moves the group of the array `read`, or what of it may move where nobody asks for P2. */
static void move_group(struct placer *p, int read)
{
    const int group = group_of(p, name_at(p, read)->memory), other = obstacle(p, group);
    for (unsigned n = 0; n < p->a.o->name_count; n++) {
        const struct memory *of = &p->a.map->of[n];
        if (name_at(p, (int)n)->kind != NAME_MEMORY || group_of(p, (int)n) != group)
            continue;
        if (of->kind == MEMORY_EXISTENTIAL) {
            if (other == NO_NAME)
                name_at(p, (int)n)->space = SPACE_PINNED;
            continue;
        }
        enum merge_condition refused = refuses(p, (int)n);
        if (!refused && other != NO_NAME && merge_checks(p->a.m, CONDITION_shared))
            refused = CONDITION_shared;
        if (!refused || !p->again)
            note(p, (int)n, read, refused, other);
        if (!refused)
            name_at(p, (int)n)->space = SPACE_PINNED;
    }
}

static void move_read_by_host(struct placer *p)
{
    bool *done = must_alloc(p->a.o->name_count + 1); /* by group */
    for (unsigned position = 0; position < p->a.o->position_count; position++) {
        const struct stm *s = p->a.o->at[position];
        if (!s || s->kind != STM_ELEMENT || s->late)
            continue;
        const int memory = name_at(p, s->array)->memory, group = group_of(p, memory);
        if (done[group] || name_at(p, memory)->space != SPACE_DEVICE)
            continue;
        done[group] = true;
        move_group(p, s->array);
    }
    free(done);
}

static void place_all(struct merge *m, bool again)
{
    struct placer p = {.again = again};
    if (!merge_extends(m, EXTENSION_pinned) && !merge_extends(m, EXTENSION_late))
        return;
    analysis_open(&p.a, m, MEMORY_BY_BRANCH);
    p.largest = expr_constant(m->program, PINNED_BYTES_MAX);
    find_groups(&p);
    if (merge_extends(m, EXTENSION_late))
        place_late(&p.a, p.group, again);
    if (merge_extends(m, EXTENSION_pinned))
        move_read_by_host(&p);
    free(p.group);
    analysis_close(&p.a);
}

static int run_answers(struct merge *m, struct error *error)
{
    (void)error;
    place_all(m, true);
    return 0;
}

const struct merge_ops merge_answers = {
    .version = MERGE_VERSION,
    .name = "answers",
    .help = "moves memories to other spaces, where asked for, ahead of reuse and plan",
    .run = run_answers,
};

static int run_place(struct merge *m, struct error *error)
{
    (void)error;
    place_all(m, false);
    return 0;
}

const struct merge_ops merge_place = {
    .version = MERGE_VERSION,
    .name = "place",
    .help = "moves memories to other spaces, where an extension asks for that",
    .run = run_place,
};
